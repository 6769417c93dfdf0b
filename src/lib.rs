//! Reductions on any GPU through wgpu.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod problem;
pub mod reference;

pub use error::Error;
pub use problem::{Class, DType, Element, IndexType, NanPolicy, Op, Output, Problem, ProblemError};
pub use wgpu;
