//! Reductions on any GPU through wgpu.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod caps;
mod error;
mod kernel;
mod params;
mod plan;
mod problem;
pub mod reference;

pub use caps::{AdapterClass, Caps, Tuning};
pub use error::Error;
pub use kernel::{Family, Kernel, Keys, Out};
pub use params::Params;
pub use plan::{MAX_ITERATIONS, Pass, Plan, Slot, View};
pub use problem::{Class, DType, Element, IndexType, NanPolicy, Op, Output, Problem, ProblemError};
pub use wgpu;
