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
pub mod views;

pub use data::*;
pub use problems::*;

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};
use std::path::{Path, PathBuf};

/// Whether the long suite runs: WGREDUCE_SUITE=all.
pub fn all() -> bool {
    std::env::var("WGREDUCE_SUITE").is_ok_and(|suite| suite == "all")
}

/// Whether a case of a product is tried: in the plain suite one of four. `place` is the sum of the case's indices, so
/// every value of each dimension is tried with some values of the others.
pub fn picked(place: usize) -> bool {
    all() || place.is_multiple_of(4)
}

/// The seed of random tests: WGREDUCE_SEED, or always the same.
pub fn seed() -> u64 {
    let seed = std::env::var("WGREDUCE_SEED").unwrap_or("1".into());
    seed.parse().expect("WGREDUCE_SEED is a number")
}

/// How a property is tried: with `cases` cases in the long suite, which also keeps failures beside the source, and with
/// a fifth of them in the plain one.
pub fn property(cases: u32) -> Config {
    let beside = FileFailurePersistence::WithSource("regressions");
    Config {
        cases: if all() { cases } else { cases / 5 },
        failure_persistence: all().then(|| Box::new(beside) as _),
        rng_seed: RngSeed::Fixed(seed()),
        ..Config::default()
    }
}

/// A file or folder of the project.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
