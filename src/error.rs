//! What can go wrong between a valid problem and its result.
//!
//! Keeps the words; what is wrong with a problem itself is [`ProblemError`]'s to say.

use crate::reference::VerifyError;
use crate::{PartialError, ProblemError};
use std::sync::Arc;

/// Why a device could not be opened or a reduction not be run.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The problem, or the data given for it, is not valid.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// No wgpu backend is compiled in for this platform.
    #[error(
        "no GPU backend is compiled in: enable a feature of wgreduce (vulkan, metal, dx12, gles)"
    )]
    NoBackend,
    /// No adapter, or none that fits the request.
    #[error("no adapter {wanted}; there are: {}", list(.available))]
    NoAdapter {
        /// The request in words: `at all`, `number 7`, `named "radeon"`.
        wanted: String,
        /// The adapters that exist, in order.
        available: Vec<String>,
    },
    /// The device, or the adapter that was to be opened, lacks what every reduction needs.
    #[error("{device} cannot be used: its {what} is {actual}, at least {needed} is needed")]
    Unsupported {
        /// `the device of ADAPTER`, or `adapter ADAPTER`.
        device: String,
        /// The field of [`wgpu::Limits`].
        what: &'static str,
        /// What it has.
        actual: u64,
        /// The least that works.
        needed: u64,
    },
    /// The adapter gave no device.
    #[error("adapter {adapter} gave no device: {message}")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        message: String,
    },
    /// The queue given with a device is another device's.
    #[error("the queue is not that of the device, which is of adapter {adapter}")]
    ForeignQueue {
        /// The name of the device's adapter.
        adapter: String,
    },
    /// What is needed exceeds a limit: of the device, of plans (65,536 dispatches), or the memory that a
    /// stream may take.
    #[error("{what} of {needed} exceeds the limit of {limit}")]
    Limit {
        /// The limit.
        what: &'static str,
        /// What is needed.
        needed: u64,
        /// What is allowed.
        limit: u64,
    },
    /// Caps with an offset alignment that no device has.
    #[error("an offset alignment of {alignment}, which is no power of two up to 65536")]
    OffsetAlignment {
        /// The alignment, in bytes.
        alignment: u64,
    },
    /// The device ran out of memory; it can still be used.
    #[error("out of device memory: {what} of {bytes} bytes")]
    OutOfMemory {
        /// What was to be allocated.
        what: &'static str,
        /// Its bytes.
        bytes: u64,
    },
    /// The device is lost. Open a new one.
    #[error("the device is lost: {message}")]
    DeviceLost {
        /// What the driver said.
        message: String,
    },
    /// The device refused a call: a buffer was destroyed or is another device's, or it said what this
    /// library did not foresee.
    #[error("the device refused {what}: {message}")]
    Device {
        /// The call.
        what: &'static str,
        /// What wgpu said.
        message: String,
    },
    /// The device did not finish in time; it may still be working.
    #[error("the device did not finish within {seconds} s")]
    Timeout {
        /// The time that was allowed.
        seconds: f64,
    },
    /// Another number of buffers than the problem has inputs or outputs, or its reduction needs.
    #[error("{actual} {what} buffers were bound where the problem has {expected}")]
    BufferCount {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// The problem's.
        expected: usize,
        /// The call's.
        actual: usize,
    },
    /// A slice that does not hold its tensor, in whole words of its buffer.
    #[error("{what} {index} is bound to {actual} bytes where {needed} are needed")]
    BufferTooSmall {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes there.
        actual: u64,
    },
    /// A slice that begins inside an element.
    #[error("{what} {index} begins at byte {offset}, no multiple of {element} bytes")]
    BufferMisaligned {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// Where it begins in the buffer.
        offset: u64,
        /// Bytes of an element; of scratch the device's alignment of bindings.
        element: u64,
    },
    /// A slice of several that ends inside an element.
    #[error(
        "{what} {index} goes on in another buffer at byte {at}, inside an element of {element} bytes"
    )]
    BufferBreak {
        /// `input` or `output`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// Bytes of the tensor before the break.
        at: u64,
        /// Bytes of an element.
        element: u64,
    },
    /// A buffer that shaders may not use.
    #[error("{what} {index} is bound to a buffer without the usage STORAGE")]
    BufferUsage {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
    },
    /// An output or scratch with bytes that something else has, too, or that one of its own slices has.
    #[error("{what} {index} overlaps {other} {other_index}")]
    Aliased {
        /// `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// `input`, `output` or `scratch`.
        other: &'static str,
        /// The position of that.
        other_index: usize,
    },
    /// Data of a stream that could not be read.
    #[error("input {input} cannot be read at byte {offset}, {bytes} bytes: {}", line(.error))]
    Source {
        /// Position of the input.
        input: usize,
        /// Where in its data.
        offset: u64,
        /// Bytes that were asked for.
        bytes: u64,
        /// What the caller's function said.
        #[source]
        error: Arc<std::io::Error>,
    },
    /// A result of a stream that could not be handed over.
    #[error("output {output} cannot be written at byte {offset}, {bytes} bytes: {}", line(.error))]
    Sink {
        /// Position of the output.
        output: usize,
        /// Where in its data.
        offset: u64,
        /// Bytes that were handed over.
        bytes: u64,
        /// What the caller's function said.
        #[source]
        error: Arc<std::io::Error>,
    },
    /// Partial results that do not belong together, or are none.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// The device computes wrongly.
    #[error("the self-test failed on {adapter}: {case}: {difference}")]
    SelfTest {
        /// The adapter's name.
        adapter: String,
        /// What was computed.
        case: String,
        /// In what the device's answer differs from the right one.
        difference: Box<VerifyError>,
    },
}

/// The words of an error on one line.
fn line(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}
