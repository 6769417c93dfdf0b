//! Why a model, a tensor or an operator was refused. The rules themselves are in the other files.

use super::rules;
use crate::{DType, Op, ProblemError};

/// Why a model, a tensor or an operator was refused, with names and numbers as the file has them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// An operator that this crate does not have.
    #[error("operator {op_type}{} is not supported (supported: {})", of_domain(.domain), operators())]
    UnknownOperator {
        /// The node's `op_type`.
        op_type: String,
        /// The node's domain.
        domain: String,
    },
    /// An opset before the operator's first version.
    #[error("{op} does not exist in opset {opset}")]
    NoVersion {
        /// The operator.
        op: Op,
        /// The model's opset.
        opset: i64,
    },
    /// Attributes, inputs or outputs that an operator does not have in its opset.
    #[error("{op} of opset {opset}: {what}")]
    Node {
        /// The operator.
        op: Op,
        /// The model's opset.
        opset: i64,
        /// What is wrong.
        #[source]
        what: NodeError,
    },
    /// The bytes are not a protobuf message of the expected kind.
    #[error("this is no {what}: {source}")]
    Protobuf {
        /// The kind: `ModelProto`, `TensorProto`.
        what: &'static str,
        /// The decoder's error.
        source: prost::DecodeError,
    },
    /// An element type that is none of the thirteen.
    #[error("{name:?} has element type {code} ({}), which is not supported", code_name(*.code))]
    ElementType {
        /// The tensor, input or output.
        name: String,
        /// The type's code in the file.
        code: i32,
    },
    /// A dimension below zero.
    #[error("{name:?} has a negative dimension: {dims:?}")]
    NegativeDimension {
        /// The tensor, input or output.
        name: String,
        /// The dimensions in the file.
        dims: Vec<i64>,
    },
    /// A shape whose bytes do not fit 63 bits.
    #[error("{name:?} of shape {shape:?} has more than 2^63 - 1 bytes")]
    TooLarge {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// More or less data than the shape says.
    #[error(
        "{name:?} has {actual} {unit} in {field} where {} of shape {shape:?} takes {expected}",
        .dtype.onnx_name()
    )]
    DataLength {
        /// The tensor.
        name: String,
        /// Its element type.
        dtype: DType,
        /// Its shape.
        shape: Vec<u64>,
        /// Where its data is.
        field: &'static str,
        /// `bytes` or `elements`.
        unit: &'static str,
        /// How many there must be.
        expected: u64,
        /// How many there are.
        actual: u64,
    },
    /// Data in `raw_data` and in the field of its element type as well.
    #[error("{name:?} has data in raw_data and in {field}, where only one of them may have any")]
    TwoDataFields {
        /// The tensor.
        name: String,
        /// The element type's field.
        field: &'static str,
    },
    /// Data in a field that its element type does not use.
    #[error("{name:?} has data in {field}, where {} has none", .dtype.onnx_name())]
    DataField {
        /// The tensor.
        name: String,
        /// Its element type.
        dtype: DType,
        /// The field.
        field: &'static str,
    },
    /// A number its element type cannot hold.
    #[error("{name:?} has element {index} = {value}, which {} cannot hold", .dtype.onnx_name())]
    ValueRange {
        /// The tensor.
        name: String,
        /// Its element type.
        dtype: DType,
        /// Position of the element.
        index: usize,
        /// The number.
        value: i128,
    },
    /// A tensor whose data is in another file.
    #[error("{name:?} has its data outside the file, which is not supported")]
    ExternalData {
        /// The tensor.
        name: String,
    },
    /// A part of a tensor.
    #[error("{name:?} is a segment of a tensor, which is not supported")]
    Segment {
        /// The tensor.
        name: String,
    },
    /// A model without a graph.
    #[error("the model has no graph")]
    NoGraph,
    /// A model that does not say its opset.
    #[error("the model imports no opset of the domain ai.onnx")]
    NoOpset,
    /// A domain with two opsets.
    #[error("the model imports the domain {domain:?} twice")]
    DuplicateOpset {
        /// The domain.
        domain: String,
    },
    /// A part of the standard that is not supported.
    #[error("the model has {what}, which are not supported")]
    Unsupported {
        /// The part, in words.
        what: &'static str,
    },
    /// An input or output that is no tensor, or an input of an undeclared type.
    #[error("graph input or output {name:?} is not declared to be a tensor")]
    NotATensor {
        /// The input or output.
        name: String,
    },
    /// An empty name where something is defined.
    #[error("{what} without a name")]
    Unnamed {
        /// What has no name, in words.
        what: &'static str,
    },
    /// A name that is defined twice.
    #[error("{name:?} is defined twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A name that nothing defines.
    #[error("{user} uses {name:?}, which nothing defines")]
    UndefinedName {
        /// Who uses it, in words.
        user: String,
        /// The name.
        name: String,
    },
    /// A name that is used before its node: the nodes are in the wrong order or form a cycle.
    #[error("{user} uses {name:?} before it is computed: nodes out of order, or a cycle")]
    UsedTooEarly {
        /// Who uses it, in words.
        user: String,
        /// The name.
        name: String,
    },
    /// A `Constant` node without exactly one value, or with inputs or several outputs.
    #[error(
        "Constant {name:?} of opset {opset} has {inputs} inputs, {outputs} outputs and the attributes {attributes:?}; \
         it must have no input, one output and one of {}", .legal.join(", ")
    )]
    Constant {
        /// The node's output, or its name if it has none.
        name: String,
        /// The model's opset.
        opset: i64,
        /// Inputs of the node.
        inputs: usize,
        /// Outputs of the node.
        outputs: usize,
        /// Its attributes.
        attributes: Vec<String>,
        /// Those that may hold its value in this opset.
        legal: Vec<&'static str>,
    },
    /// A value of a `Constant` node that has another type than its attribute.
    #[error("Constant {name:?} of opset {opset}: attribute {attribute} must be of type {expected}")]
    ConstantType {
        /// The node's output.
        name: String,
        /// The model's opset.
        opset: i64,
        /// The attribute.
        attribute: &'static str,
        /// The type it must have, by ONNX's name.
        expected: &'static str,
    },
    /// More inputs than the graph has.
    #[error("the model has {expected} inputs but was given {actual}")]
    TooManyInputs {
        /// Inputs of the graph.
        expected: usize,
        /// Inputs that were given.
        actual: usize,
    },
    /// An input without a value.
    #[error("input {name:?} is missing and has no default")]
    MissingInput {
        /// The input.
        name: String,
    },
    /// A tensor of another type than the graph declares.
    #[error("{name:?} is {}, declared as {}", .actual.onnx_name(), .declared.onnx_name())]
    DeclaredType {
        /// The input or output.
        name: String,
        /// The graph's type.
        declared: DType,
        /// The tensor's.
        actual: DType,
    },
    /// A tensor of another shape than the graph declares.
    #[error("{name:?} has shape {actual:?}, declared as {}", open_shape(.declared))]
    DeclaredShape {
        /// The input or output.
        name: String,
        /// The graph's shape, open dimensions as `None`.
        declared: Vec<Option<u64>>,
        /// The tensor's.
        actual: Vec<u64>,
    },
    /// Results that no ONNX file could hold, or shapes of as many bytes.
    #[error("the results and shapes take more than {limit} bytes, the most an ONNX file holds")]
    ResultTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The outputs of an evaluation have the wrong number or size.
    #[error("{problem} was evaluated to {actual:?} bytes instead of {expected:?}")]
    Evaluation {
        /// The problem, in words.
        problem: String,
        /// Bytes of each output, as they should be.
        expected: Vec<u64>,
        /// Bytes of each output, as they are.
        actual: Vec<u64>,
    },
}

/// What is wrong with an operator's attributes, inputs or outputs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// An element type the operator does not take in this opset.
    #[error("it does not take {} (it takes {})", .dtype.onnx_name(), names(.legal))]
    IllegalType {
        /// The refused type.
        dtype: DType,
        /// The types it takes.
        legal: Vec<DType>,
    },
    /// Inputs of different element types.
    #[error("input {input} is {}, the first input {}", .dtype.onnx_name(), .first.onnx_name())]
    MixedTypes {
        /// Position of the input that differs.
        input: usize,
        /// Its type.
        dtype: DType,
        /// The first input's type.
        first: DType,
    },
    /// An attribute the operator does not have in this opset.
    #[error("it has no attribute {attribute:?}{}", having(.versions))]
    UnknownAttribute {
        /// The attribute.
        attribute: String,
        /// The versions of the operator that have it.
        versions: Vec<i64>,
    },
    /// An attribute that must be given.
    #[error("it needs the attribute {attribute}")]
    MissingAttribute {
        /// The attribute.
        attribute: &'static str,
    },
    /// An attribute given twice.
    #[error("attribute {attribute} is given twice")]
    DuplicateAttribute {
        /// The attribute.
        attribute: &'static str,
    },
    /// An attribute whose value has another type.
    #[error("attribute {attribute} must be of type {expected}")]
    AttributeType {
        /// The attribute.
        attribute: &'static str,
        /// The type it must have, by ONNX's name.
        expected: &'static str,
    },
    /// A flag that is neither 0 nor 1.
    #[error("attribute {attribute} must be 0 or 1, not {value}")]
    AttributeValue {
        /// The attribute.
        attribute: &'static str,
        /// Its value.
        value: i64,
    },
    /// Too few or too many inputs.
    #[error("it takes {}, not {actual}", count(*.least, *.most))]
    InputCount {
        /// Inputs of the node.
        actual: usize,
        /// The least it takes.
        least: usize,
        /// The most it takes; `None` if there is no limit.
        most: Option<usize>,
    },
    /// An input that must be there has the empty name.
    #[error("input {input} must not be absent")]
    AbsentInput {
        /// Position of the input.
        input: usize,
    },
    /// An axes input that is not a one-dimensional `int64` tensor.
    #[error("axes must be int64 with one dimension, not {} of shape {shape:?}", .dtype.onnx_name())]
    AxesInput {
        /// Type of the axes.
        dtype: DType,
        /// Shape of the axes.
        shape: Vec<u64>,
    },
    /// An axes input without its values, or with more or fewer than its shape says.
    #[error("the values of the axes must be known, {expected} bytes")]
    AxesData {
        /// Bytes of the axes by their shape.
        expected: u64,
    },
    /// A number of elements that is not one `int64` whose value is known.
    #[error("K must be one int64 of a known value, not {} of shape {shape:?}", .dtype.onnx_name())]
    KInput {
        /// Type of the input.
        dtype: DType,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// A number of elements that a node computes.
    #[error("K must be a constant or an input, not {name:?}, which a node computes")]
    ComputedK {
        /// The name of K.
        name: String,
    },
    /// Less than no elements.
    #[error("k is {k} for an axis of {len} elements, and must be 0 or more")]
    NegativeK {
        /// How many are wanted.
        k: i64,
        /// Elements along the axis.
        len: u64,
    },
    /// An index operator on a scalar.
    #[error("it needs an input with at least one dimension")]
    Scalar,
    /// Different shapes in an opset without broadcasting.
    #[error("it does not broadcast: input {input} has shape {shape:?}, the first input {first:?}")]
    UnequalShapes {
        /// Position of the input that differs.
        input: usize,
        /// Its shape.
        shape: Vec<u64>,
        /// The first input's shape.
        first: Vec<u64>,
    },
    /// The problem is refused: axes, broadcasting or sizes.
    #[error("{0}")]
    Problem(#[from] ProblemError),
    /// A node with too few or too many outputs.
    #[error("it has {}, not {actual}", outputs(*.expected))]
    OutputCount {
        /// Outputs of the node.
        actual: usize,
        /// How many it must have.
        expected: usize,
    },
}

fn of_domain(domain: &str) -> String {
    match domain {
        "" => String::new(),
        domain => format!(" of domain {domain:?}"),
    }
}

fn operators() -> String {
    let names: Vec<&str> = rules::operators().map(Op::name).collect();
    names.join(", ")
}

fn names(types: &[DType]) -> String {
    let names: Vec<&str> = types.iter().map(|t| t.onnx_name()).collect();
    names.join(", ")
}

fn having(versions: &[i64]) -> String {
    match versions {
        [] => String::new(),
        versions => format!(" (versions {versions:?} have it)"),
    }
}

fn count(least: usize, most: Option<usize>) -> &'static str {
    match (least, most) {
        (2, _) => "two inputs",
        (_, Some(1)) => "one input",
        (_, Some(_)) => "one or two inputs",
        (_, None) => "at least one input",
    }
}

fn outputs(count: usize) -> &'static str {
    match count {
        2 => "two outputs",
        _ => "one output",
    }
}

fn open_shape(dims: &[Option<u64>]) -> String {
    let text = dims.iter().map(|d| d.map_or("?".into(), |d| d.to_string()));
    format!("[{}]", text.collect::<Vec<String>>().join(", "))
}

fn code_name(code: i32) -> &'static str {
    match code {
        0 => "undefined",
        8 => "string",
        14 => "complex64",
        15 => "complex128",
        17..=20 => "an 8-bit float",
        21 | 22 => "a 4-bit integer",
        _ => "unknown here",
    }
}
