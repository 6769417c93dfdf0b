//! Reductions on any GPU through wgpu.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adapter;
mod bound;
mod caps;
mod context;
mod elementwise;
mod error;
mod kernel;
#[cfg(feature = "onnx")]
pub mod onnx;
mod params;
mod plan;
mod problem;
mod reducer;
pub mod reference;
mod selftest;

pub use adapter::{Adapter, AdapterChoice, adapters, adapters_blocking};
pub use bound::{Bound, Buffers};
pub use caps::{AdapterClass, Caps, Tuning};
pub use error::Error;
pub use kernel::{Family, Kernel, Keys, Out};
pub use params::{Params, Zip};
pub use plan::{MAX_ITERATIONS, Pass, Plan, Slot, View};
pub use problem::{
    Class, DType, Dim, Element, IndexType, NanPolicy, Op, Output, Problem, ProblemError,
};
pub use reducer::{Reducer, Reduction, Times};
pub use wgpu;

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
