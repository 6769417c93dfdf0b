//! Errors of opening devices and running reductions. [`ProblemError`] says what is wrong with a problem itself.

use crate::reference::VerifyError;
use crate::{PartialError, ProblemError};
use std::sync::Arc;

/// Why a device could not be opened or a reduction could not run.
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
    /// There is no adapter, or none matches the request.
    #[error("no adapter {wanted}; there are: {}", list(.available))]
    NoAdapter {
        /// The request in words: `at all`, `number 7`, `named "radeon"`.
        wanted: String,
        /// The adapters that exist, in order.
        available: Vec<String>,
    },
    /// A limit of the device or adapter is below what every reduction needs, or its OpenGL is too old.
    #[error("{device} cannot be used: its {what} is {actual}, at least {needed} is needed")]
    Unsupported {
        /// `the device of ADAPTER`, or `adapter ADAPTER`.
        device: String,
        /// The field of `wgpu::Limits`, or `version of OpenGL's shading language`.
        what: &'static str,
        /// Its value.
        actual: u64,
        /// The least that works.
        needed: u64,
    },
    /// The adapter refused to open a device.
    #[error("adapter {adapter} gave no device: {message}")]
    NoDevice {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        message: String,
    },
    /// The given queue belongs to another device.
    #[error("the queue belongs to another device than the given one, of adapter {adapter}")]
    ForeignQueue {
        /// The name of the device's adapter.
        adapter: String,
    },
    /// A limit is exceeded: the device's, the planner's (65,536 regions of a step, each of which takes a few
    /// dispatches), or the memory given to a stream.
    #[error("{what} of {needed} exceeds the limit of {limit}")]
    Limit {
        /// The limit.
        what: &'static str,
        /// What is needed.
        needed: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The offset alignment of the caps is not a power of two up to 65536.
    #[error("the offset alignment is {alignment}, which is no power of two up to 65536")]
    OffsetAlignment {
        /// The alignment, in bytes.
        alignment: u64,
    },
    /// A field of the tuning that must be a power of two is none.
    #[error("the tuning's {field} is {value}, which is no power of two")]
    Tuning {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: u32,
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
    /// The device refused a call: a buffer was destroyed or belongs to another device, or wgpu reported another
    /// error.
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
    /// The number of buffers is not the number of inputs, outputs or scratch buffers.
    #[error("{actual} {what} buffers were bound where {} are needed, of {needed:?} bytes", .needed.len())]
    BufferCount {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Bytes of each that is needed. For scratch, what [`crate::Reduction::scratch_sizes`] says or, for tensors in
        /// several buffers, [`crate::Reduction::scratch_sizes_in_pieces`].
        needed: Vec<u64>,
        /// Buffers that were given.
        actual: usize,
    },
    /// The slices are smaller than the tensor, or the buffer ends before the tensor's last 4-byte word does.
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
    /// A slice begins inside an element; a scratch slice at an offset that the device cannot bind.
    #[error("{what} {index} begins at byte {offset}, no multiple of {element} bytes")]
    BufferMisaligned {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// Where it begins in the buffer.
        offset: u64,
        /// Bytes of an element; for scratch, the device's alignment of bindings.
        element: u64,
    },
    /// One of several slices ends inside an element.
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
    /// A buffer lacks the usage `STORAGE`.
    #[error("{what} {index} is bound to a buffer without the usage STORAGE")]
    BufferUsage {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
    },
    /// An output or scratch buffer overlaps another tensor, or two slices of it overlap each other.
    #[error("{what} {index} overlaps {other} {other_index}")]
    Aliased {
        /// `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// `input`, `output` or `scratch`.
        other: &'static str,
        /// Its position.
        other_index: usize,
    },
    /// On a page: tensors share a buffer that is written, and their bindings overlap, as these begin at multiples of 256
    /// bytes. A browser refuses such a dispatch, and one that binds a tensor of such a buffer twice.
    #[error(
        "{what} {index} shares a buffer that is written, where its binding overlaps that of {other} {other_index}: on a page each needs a buffer of its own"
    )]
    BindingsOverlap {
        /// `input`, `output` or `scratch`.
        what: &'static str,
        /// Its position.
        index: usize,
        /// `input`, `output` or `scratch`.
        other: &'static str,
        /// Its position.
        other_index: usize,
    },
    /// The caller's function could not read a stream's input.
    #[error("input {input} cannot be read at byte {offset}, {bytes} bytes: {}", one_line(.error))]
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
    /// The caller's function could not write a stream's result.
    #[error("output {output} cannot be written at byte {offset}, {bytes} bytes: {}", one_line(.error))]
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
    /// Partial results could not be made, merged, finished or read.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// The device computes wrong results.
    #[error("the self-test failed on {adapter}: {case}: {difference}")]
    SelfTest {
        /// The adapter's name.
        adapter: String,
        /// What was computed.
        case: String,
        /// The first difference between the device's answer and the right one.
        difference: Box<VerifyError>,
    },
}

impl Error {
    /// What the caller's function said of `bytes` bytes of an input from `offset` on.
    pub(crate) fn source(input: usize, offset: u64, bytes: usize, error: std::io::Error) -> Error {
        Error::Source {
            input,
            offset,
            bytes: bytes as u64,
            error: Arc::new(error),
        }
    }

    /// The same of an output.
    pub(crate) fn sink(output: usize, offset: u64, bytes: usize, error: std::io::Error) -> Error {
        Error::Sink {
            output,
            offset,
            bytes: bytes as u64,
            error: Arc::new(error),
        }
    }

    /// Refuses more than a limit.
    pub(crate) fn within(what: &'static str, needed: u64, limit: u64) -> Result<(), Error> {
        match needed <= limit {
            true => Ok(()),
            false => Err(Error::Limit {
                what,
                needed,
                limit,
            }),
        }
    }
}

/// A message on one line.
pub(crate) fn one_line(message: impl ToString) -> String {
    let text = message.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}
