//! Why a problem is refused. The rules themselves are in `Problem`.

use super::{DType, IndexType, Op};

/// Why a problem was refused. Carries the numbers, and the axis as the caller wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// An axis outside `[-rank, rank - 1]`.
    #[error("axis {axis} is out of range for rank {rank}{}", legal_axes(*.axis, *.rank))]
    AxisOutOfRange {
        /// As the caller wrote it.
        axis: i64,
        /// Dimensions of the input.
        rank: usize,
    },
    /// Two axes that name the same dimension.
    #[error("axis {axis} names the same dimension as axis {first}: axes must differ")]
    DuplicateAxis {
        /// The second mention, as the caller wrote it.
        axis: i64,
        /// The first mention, as the caller wrote it.
        first: i64,
    },
    /// An index operator, or a mean of integers, over an axis without elements.
    #[error(
        "{op} over axis {axis} of shape {shape:?}: the axis has no element {}",
        if .op.is_sum() { "to average" } else { "to point to" }
    )]
    EmptyAxis {
        /// The operator.
        op: Op,
        /// As the caller wrote it.
        axis: i64,
        /// The input's shape.
        shape: Vec<u64>,
    },
    /// More elements of an axis are wanted than it has.
    #[error("k is {k}, more than the {len} elements of the axis")]
    MoreThanAll {
        /// How many are wanted.
        k: u64,
        /// Elements along the axis.
        len: u64,
    },
    /// A sum of bool: ONNX has none, and does not say whether true + true would be 2 or true.
    #[error("{op} takes no {dtype}: truth values have no sum; as uint8 they can be counted")]
    NoSum {
        /// The operator.
        op: Op,
        /// The element type.
        dtype: DType,
    },
    /// A shape whose bytes do not fit 63 bits; of a result of the reference where memory has 32 bits, 31 bits.
    #[error("a {dtype} tensor of shape {shape:?} has more than 2^{} - 1 bytes", isize::BITS - 1)]
    TooLarge {
        /// The offending shape, of an input or of the output.
        shape: Vec<u64>,
        /// Its element type.
        dtype: DType,
    },
    /// An axis too long for the requested index type.
    #[error("an axis of {len} elements needs indices that {} cannot hold", .index_type.dtype())]
    IndexRange {
        /// Elements along the axis.
        len: u64,
        /// The requested type.
        index_type: IndexType,
    },
    /// An option the operator does not have.
    #[error("{op} has no option {option}")]
    NoSuchOption {
        /// The operator.
        op: Op,
        /// The option's name.
        option: &'static str,
    },
    /// Min or Max without an input.
    #[error("{op} needs at least one input")]
    NoInputs {
        /// The operator.
        op: Op,
    },
    /// Shapes that do not broadcast together.
    #[error(
        "input {input} of shape {shape:?} does not broadcast with {with:?} \
         (dimensions must be equal or 1, aligned at the last)"
    )]
    NotBroadcastable {
        /// Position of the input that does not fit.
        input: usize,
        /// Its shape.
        shape: Vec<u64>,
        /// What the inputs before it broadcast to.
        with: Vec<u64>,
    },
    /// A view of an input that the problem does not have.
    #[error("there is no input {input}: {op} has {inputs} here")]
    NoSuchInput {
        /// The operator.
        op: Op,
        /// Position of the input that is not there.
        input: usize,
        /// Inputs of the problem.
        inputs: usize,
    },
    /// The number of strides is not the number of dimensions.
    #[error("input {input} of shape {shape:?} was given {strides} strides")]
    StrideCount {
        /// Position of the input.
        input: usize,
        /// Its shape.
        shape: Vec<u64>,
        /// Strides that were given.
        strides: usize,
    },
    /// A view that reads before the first or after the last element of its tensor.
    #[error(
        "input {input}, shape {shape:?} with strides {strides:?} from element {offset}, reaches \
         from element {first} to {last} where {}",
        there_are(*.elements)
    )]
    ViewOutOfRange {
        /// Position of the input.
        input: usize,
        /// The view's shape.
        shape: Vec<u64>,
        /// Its strides in elements.
        strides: Vec<i64>,
        /// Its offset in elements.
        offset: u64,
        /// Lowest element it reads, clamped to 64 bits.
        first: i64,
        /// Highest element it reads, clamped to 64 bits.
        last: i64,
        /// Elements of the tensor; when the problem is made, the most that a tensor can have.
        elements: u64,
    },
    /// The call has more or fewer inputs than the problem.
    #[error("{op} was given {actual} inputs where the problem has {expected}")]
    InputCount {
        /// The operator.
        op: Op,
        /// Inputs of the problem.
        expected: usize,
        /// Inputs of the call.
        actual: usize,
    },
    /// The call wants more or fewer outputs than the problem has; for example a single result where the problem
    /// gives indices and values.
    #[error("{op} gives {expected} outputs where the call takes {actual}")]
    OutputCount {
        /// The operator.
        op: Op,
        /// Outputs of the problem.
        expected: usize,
        /// Outputs of the call.
        actual: usize,
    },
    /// An output that the problem does not have.
    #[error("there is no output {output}: {op} has {outputs}")]
    NoSuchOutput {
        /// The operator.
        op: Op,
        /// The position asked for.
        output: usize,
        /// Outputs of the problem.
        outputs: usize,
    },
    /// Input data of the wrong size.
    #[error("input {input} has {actual} bytes where {dtype} of shape {shape:?} takes {expected}")]
    InputBytes {
        /// Position of the input.
        input: usize,
        /// Element type of the problem.
        dtype: DType,
        /// Shape of that input.
        shape: Vec<u64>,
        /// Bytes the problem wants.
        expected: u64,
        /// Bytes that were given.
        actual: u64,
    },
    /// The array's shape is not the input's.
    #[error("input {input} is of shape {expected:?} in the problem but {actual:?} in the call")]
    InputShape {
        /// Position of the input.
        input: usize,
        /// The problem's.
        expected: Vec<u64>,
        /// The call's.
        actual: Vec<u64>,
    },
    /// The data's element type is not the problem's.
    #[error(
        "{what} is {expected} ({}) in the problem but {actual} ({}) in the call",
        .expected.rust_name(), .actual.rust_name()
    )]
    ElementType {
        /// `input 0`, `output 0`.
        what: String,
        /// The problem's.
        expected: DType,
        /// The call's.
        actual: DType,
    },
}

/// A name of no element type or operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} is called {name:?}; there are: {}", .names.join(", "))]
pub struct UnknownName {
    /// `element type`, `operator`.
    pub what: &'static str,
    /// The text.
    pub name: String,
    /// The valid names.
    pub names: Vec<&'static str>,
}

fn there_are(elements: u64) -> String {
    match elements {
        0 => "there is none".into(),
        n => format!("there are 0 to {}", n - 1),
    }
}

fn legal_axes(axis: i64, rank: usize) -> String {
    let (least, most) = (-(rank as i128), rank as i128 - 1);
    match rank {
        0 => " (a scalar has no axis)".into(),
        _ => {
            let nearest = i128::from(axis).clamp(least, most);
            format!(" (legal: {least}..={most}, the nearest: {nearest})")
        }
    }
}
