//! Shared by the tests: problems, data, devices, and the comparison of a device with the reference.

pub mod cards;
#[path = "../../benches/catalogue.rs"]
pub mod catalogue;
mod data;
pub mod device;
pub mod exact;
pub mod golden;
pub mod grid;
#[path = "../../benches/kernel.rs"]
pub mod kernel;
pub mod kernels;
#[path = "../../benches/noise.rs"]
pub mod noise;
pub mod noop;
pub mod oracle;
mod problems;
mod share;
pub mod views;

pub use data::*;
pub use problems::*;
pub use share::*;

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};
use std::path::{Path, PathBuf};

/// How a property is tried: with the run's share of `cases`. A run that takes all keeps failures beside the source.
pub fn property(cases: u32) -> Config {
    let beside = FileFailurePersistence::WithSource("regressions");
    Config {
        cases: (u64::from(cases) / one_of()).max(1) as u32,
        failure_persistence: all().then(|| Box::new(beside) as _),
        rng_seed: RngSeed::Fixed(seed()),
        ..Config::default()
    }
}

/// A file or folder of the project.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
