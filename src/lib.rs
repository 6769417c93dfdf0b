//! ONNX's ArgMin, ArgMax, ReduceMin, ReduceMax, Min, Max and sums (ReduceSum, ReduceMean, ReduceL1, ReduceL2,
//! ReduceSumSquare) on any GPU that wgpu reaches, for all thirteen element types (sums: all but bool), with the same
//! bits on every adapter. Sums of floats are exact and rounded once.
//!
//! A [`Problem`] says what to compute, a [`Plan`] which dispatches do it under a device's [`Caps`],
//! a [`Reduction`] is the plan compiled, a [`BoundReduction`] the reduction with its buffers. There are
//! three ways in, by what the caller has.
//!
//! # One call: host data in, host data out
//!
//! ```
//! use wgreduce::{AdapterChoice, DType, Problem, Reducer};
//! # fn main() -> Result<(), wgreduce::Error> {
//! # if matches!(Reducer::open_blocking(&AdapterChoice::Auto), Err(wgreduce::Error::NoAdapter { .. })) { return Ok(()); }
//! let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
//! let problem = Problem::arg_max(DType::F32, &[2, 3], -1)?;
//! let winners: Vec<i64> = reducer.run_blocking(&problem, &[0.5f32, 9.0, 2.0, 7.0, 1.0, 7.0])?;
//! assert_eq!(winners, [1, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Planned once, run often
//!
//! [`Reducer::prepare`] plans and compiles; runs then reuse pipelines and buffers. Every run, `open` and
//! `prepare` have twins that block and that do not; those futures complete under any executor. Other calls
//! return at once but for `new` and `close`, which wait for the device, and `bind`, `stream` and `shard`, which may
//! compile.
//!
//! ```
//! # use wgreduce::{AdapterChoice, DType, Error, Problem, Reducer};
//! # async fn frames(reducer: &Reducer, frames: &[Vec<f32>]) -> Result<(), Error> {
//! let reduction = reducer.prepare(&Problem::reduce_min(DType::F32, &[480, 640], &[0, 1])?)?;
//! for frame in frames {
//!     let darkest: Vec<f32> = reduction.run(frame).await?;
//!     println!("{}", darkest[0]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Inside the caller's own frame
//!
//! [`Reducer::new`] takes a device and a queue, [`Reduction::bind`] slices of buffers that are
//! there, at any offset; [`BoundReduction::encode`] records into an encoder that is open, and neither fails
//! nor allocates nor touches the queue.
//!
//! ```
//! # use wgreduce::{Buffers, DType, Error, Problem, Reducer, wgpu};
//! # fn frame(device: &wgpu::Device, queue: &wgpu::Queue, logits: &wgpu::Buffer,
//! #     tokens: &wgpu::Buffer, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
//! let reducer = Reducer::new(device, queue)?;
//! let reduction = reducer.prepare(&Problem::arg_max(DType::F16, &[8, 151_936], 1)?)?;
//! let bound = reduction.bind(Buffers {
//!     inputs: &[logits.slice(..).into()],
//!     outputs: &[tokens.slice(..).into()],
//!     scratch: None, // or slices of the caller's own buffers
//! })?;
//! bound.encode(encoder);
//! # Ok(())
//! # }
//! ```
//!
//! # What else is here
//!
//! [`Problem::strided`] takes views of larger tensors without a copy, [`Problem::extremes`] gives
//! minimum, maximum and the indices of both, from one read where that pays.
//! [`mod@reference`] is the definition of every result, on the CPU; [`reference::verify`] compares
//! a device's with it. [`Reducer::stream`] takes data larger than memory piece by piece, within a set
//! bound; [`Reducer::shard`] makes a [`Partial`] of a part of a tensor, and partial results merge in
//! any order, wherever they come from. A [`Tensor`] may lie in several buffers. [`adapters`] lists what is there. With the feature `onnx`, `wgreduce::onnx` takes operators by name and opset, and models.
//!
//! wgpu's rules apply to what is shared: results depend on no optional feature, the caller's error
//! handlers stay untouched, and a lost device is [`Error::DeviceLost`]. Waiting for a future uses a
//! thread of the library's own, started by the first that needs it; wgpu may run callbacks of other
//! work there. [`Polling::Caller`] does without it.
//!
//! With the feature `webgpu` all that does not block runs in a browser, on `wasm32-unknown-unknown`;
//! there nothing is `Send`, and the browser drives the device (`docs/web.md`).
//!
//! The folder `examples` shows each of this at work: `one_call`, `planned`, `own_encoder`,
//! `sampling` for a language model's logits, `batching` of a thousand small reductions,
//! `cross_check` of somebody else's results, `exact_sum` beside two that depend on the order.

#![forbid(unsafe_code)]
// A page has one thread; elsewhere all of it is Send and Sync.
#![cfg_attr(target_arch = "wasm32", allow(clippy::arc_with_non_send_sync))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod caps;
mod device;
mod error;
mod kernel;
mod keys;
#[cfg(feature = "onnx")]
#[cfg_attr(docsrs, doc(cfg(feature = "onnx")))]
pub mod onnx;
mod partial;
mod plan;
mod problem;
pub mod reference;
mod run;
mod sums;
mod tuning;

pub use caps::Caps;
#[cfg(not(target_arch = "wasm32"))]
pub use device::adapter::adapters_blocking;
pub use device::adapter::{AdapterChoice, AdapterEntry, adapters};
pub use device::platform::Polling;
pub use error::Error;
pub use half;
#[cfg(feature = "ndarray")]
#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
pub use ndarray;
pub use partial::{Partial, PartialError, Shard};
pub use plan::Plan;
pub use plan::splits::BufferSplits;
pub use problem::{
    Class, DType, Dim, Element, IndexType, InputLayout, NanPolicy, Op, Order, Output, Problem,
    ProblemError, ProblemOptions, UnknownName,
};
pub use run::bind::BoundReduction;
pub use run::buffers::{Buffers, Tensor};
pub use run::reducer::Reducer;
pub use run::reduction::{Outputs, Reduction};
pub use run::stream::StreamedReduction;
pub use run::workspace::Times;
pub use tuning::{AdapterClass, Tuning};
pub use wgpu;

/// What plans are made of: for tests, measurements and those who read a plan. Not part of what versions
/// promise: any release may change it.
pub mod unstable {
    pub use crate::kernel::params::{Params, StrideTable};
    pub use crate::kernel::{Elementwise, Family, Kernel, StoreFormat, Unit, Walk};
    pub use crate::keys::Keys;
    pub use crate::plan::{MAX_ITERATIONS, Pass, Slot, View};
    pub use crate::sums::Sum;
}

/// The README's examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/tuning.md")]
pub struct Readme;
