//! ONNX's ArgMin, ArgMax, ReduceMin, ReduceMax, Min, Max, TopK and sums (ReduceSum, ReduceMean, ReduceL1, ReduceL2,
//! ReduceSumSquare) on any GPU that wgpu supports, for all thirteen element types (sums: all but bool). Results are
//! bit-identical on every adapter. Sums of floats are exact and rounded once.
//!
//! A [`Problem`] says what to compute. A [`Plan`] lists the dispatches that compute it under a device's [`Caps`].
//! A [`Reduction`] is a compiled plan, and a [`BoundReduction`] is a reduction with its buffers. There are
//! three ways to use the crate.
//!
//! # One call: host data in, host data out
//!
//! ```
//! use wgreduce::{AdapterChoice, DType, Problem, Reducer};
//! # fn main() -> Result<(), wgreduce::Error> {
//! # if matches!(Reducer::open_blocking(&AdapterChoice::Auto), Err(wgreduce::Error::NoAdapter { .. })) { return Ok(()); }
//! let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
//! let problem = Problem::arg_max(DType::F32, &[2, 3], -1)?;
//! // The slice's element type must be the problem's: without a suffix, Rust's numbers are f64.
//! let winners: Vec<i64> = reducer.run_blocking(&problem, &[0.5f32, 9.0, 2.0, 7.0, 1.0, 7.0])?;
//! assert_eq!(winners, [1, 0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Plan once, run often
//!
//! [`Reducer::prepare`] plans and compiles. Runs then reuse pipelines and buffers. A call that may wait is a future, which
//! completes under any executor: `open`, `prepare`, `stream`, `shard`, all runs. Each has a twin that blocks, named
//! `run_blocking` and so on. Other calls return at once, except `new` and `close`, which wait for the device, and
//! `bind`, which may compile.
//!
//! ```
//! # use wgreduce::{AdapterChoice, DType, Error, Problem, Reducer};
//! # async fn frames(reducer: &Reducer, frames: &[Vec<f32>]) -> Result<(), Error> {
//! let problem = Problem::reduce_min(DType::F32, &[480, 640], &[0, 1])?;
//! let reduction = reducer.prepare(&problem).await?;
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
//! [`Reducer::new`] uses the caller's device and queue. [`Reduction::bind`] binds slices of existing buffers, which
//! have the usage `STORAGE`, at any element ([`Buffers`] has all usages). [`BoundReduction::encode`] records into the
//! caller's encoder. It never fails, allocates no GPU memory and does not touch the queue.
//!
//! ```
//! # use wgreduce::{Buffers, DType, Error, Problem, Reducer, wgpu};
//! # fn frame(device: &wgpu::Device, queue: &wgpu::Queue, logits: &wgpu::Buffer,
//! #     tokens: &wgpu::Buffer, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
//! let reducer = Reducer::new(device, queue)?;
//! let reduction = reducer.prepare_blocking(&Problem::arg_max(DType::F16, &[8, 151_936], 1)?)?;
//! let bound = reduction.bind(Buffers::new(&[logits.slice(..).into()], &[tokens.slice(..).into()]))?;
//! bound.encode(encoder);
//! # Ok(())
//! # }
//! ```
//!
//! # What else is here
//!
//! - [`Problem::strided`] reads views of larger tensors without a copy.
//! - [`Problem::extremes`] gives minimum, maximum and the indices of both. It reads the data once where that pays.
//! - [`mod@reference`] defines every result, on the CPU; [`reference::verify`] compares a device's results with it.
//! - [`Reducer::stream`] reduces data larger than memory piece by piece, within a given amount of memory.
//! - [`Reducer::shard`] makes a [`Partial`] of a part of a tensor. Partial results from anywhere merge in any order.
//! - A [`Tensor`] may lie in several buffers. [`adapters`] lists the adapters.
//! - With the feature `onnx`, `wgreduce::onnx` reads models, and operators by name and opset.
//!
//! Results depend on no optional wgpu feature, the caller's error handlers stay untouched, and a lost device is
//! reported as [`Error::DeviceLost`]. The library waits for futures on a thread of its own, which the first
//! future that needs it starts; wgpu may run callbacks of other work there. [`Polling::Caller`] avoids the thread.
//!
//! With the feature `webgpu`, everything that does not block runs in a browser, on `wasm32-unknown-unknown`.
//! There nothing is `Send`, and the browser drives the device (`docs/web.md`).
//!
//! The folder `examples` has a program for each of these: `one_call`, `planned`, `own_buffers` (the caller's buffers,
//! and the result read back), `own_encoder` (between two shaders of an application), `sampling` (a language model's
//! logits), `batching` (a thousand small reductions), `nearest` (TopK), `shards` (two devices, one tensor),
//! `cross_check` (checks another program's results), `exact_sum` (next to sums that depend on the order),
//! `pipeline_cache` (keeps what a driver compiled).

#![forbid(unsafe_code)]
// A page has one thread; elsewhere these types are Send and Sync.
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
mod walk;

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
    ProblemError, UnknownName,
};
pub use run::bind::BoundReduction;
pub use run::buffers::{Buffers, Tensor};
pub use run::reducer::Reducer;
pub use run::reduction::{Outputs, Reduction};
pub use run::stream::StreamedReduction;
pub use run::workspace::Times;
pub use tuning::{AdapterClass, Tuning};
pub use wgpu;

/// The parts of a plan, for tests, measurements and inspection. Not covered by semantic versioning: any release
/// may change it.
pub mod unstable {
    pub use crate::kernel::params::{Params, StrideTable};
    pub use crate::kernel::{Accumulator, Kernel, Resource, Source, StoreFormat};
    pub use crate::keys::Keys;
    pub use crate::plan::{Pass, RowParts, Slot, View};
    pub use crate::sums::Sum;
    pub use crate::walk::Walk;
    pub use crate::walk::columns::ColumnsText;
    pub use crate::walk::elementwise::ElementwiseText;
    pub use crate::walk::finish::FinishText;
    pub use crate::walk::gather::GatherText;
    pub use crate::walk::rows::RowsText;
    pub use crate::walk::strided::EachText;
    pub use crate::walk::top::{FewText, MergeText, TopText};
}

/// Runs the examples of the README and of `docs/tuning.md` as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/tuning.md")]
pub struct Readme;
