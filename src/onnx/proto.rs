//! The protobuf messages of an ONNX file that models of our operators need.
//!
//! Fields that are not listed here are skipped. Names and tags are ONNX's; an absent number reads as 0, as ONNX
//! defines it.

use prost::{Message, Oneof};

/// A message of which only the presence matters.
#[derive(Clone, PartialEq, Message)]
pub struct Unread {}

/// A model: a graph and the operator sets its nodes are written for.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// Version of the file format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// The graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// An operator set for each domain that is used.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Operators that the model defines itself.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<Unread>,
}

/// A version of the operators of one domain.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    /// Empty or `ai.onnx` for ONNX's own.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// The opset.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// Nodes in an order in which they can be computed, and the names that come in and go out.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// The operators.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// The graph's name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants, and defaults of inputs of the same name.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// What the caller gives.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// What the caller gets.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Constants in a sparse form.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<Unread>,
}

/// An operator with its inputs and outputs, by name.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// Names of the inputs; an empty name is an absent input.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the outputs.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// The node's name.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The operator's name.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// The attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Empty or `ai.onnx` for ONNX's own operators.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// A named value of one of several types.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// The attribute's name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A number with a fraction.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A text.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// Several numbers with a fraction.
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    /// Several integers.
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    /// Which of the types it is: [`AttributeProto::INT`], ...
    #[prost(int32, tag = "20")]
    pub r#type: i32,
    /// Inside a function: the function's attribute that gives the value.
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
}

impl AttributeProto {
    /// The `type` of a number with a fraction.
    pub const FLOAT: i32 = 1;
    /// The `type` of an integer.
    pub const INT: i32 = 2;
    /// The `type` of a text.
    pub const STRING: i32 = 3;
    /// The `type` of a tensor.
    pub const TENSOR: i32 = 4;
    /// The `type` of several numbers with a fraction.
    pub const FLOATS: i32 = 6;
    /// The `type` of several integers.
    pub const INTS: i32 = 7;

    /// An attribute that is one integer.
    pub fn int(name: &str, value: i64) -> AttributeProto {
        AttributeProto {
            name: name.into(),
            i: Some(value),
            r#type: AttributeProto::INT,
            ..Default::default()
        }
    }

    /// An attribute that is a tensor.
    pub fn tensor(name: &str, value: TensorProto) -> AttributeProto {
        AttributeProto {
            name: name.into(),
            t: Some(value),
            r#type: AttributeProto::TENSOR,
            ..Default::default()
        }
    }

    /// An attribute that is a list of integers.
    pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
        AttributeProto {
            name: name.into(),
            ints: values.to_vec(),
            r#type: AttributeProto::INTS,
            ..Default::default()
        }
    }
}

/// The name and type of a graph's input or output.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// The name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// A type; only tensors are read.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// Present if it is a tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// Element type and shape of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// The element type's code.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// The shape; absent if even the rank is open.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape whose dimensions may be open.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    /// The dimensions.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// A dimension: a number, a name, or neither.
#[derive(Clone, PartialEq, Message)]
pub struct DimensionProto {
    /// Number or name.
    #[prost(oneof = "Dimension", tags = "1, 2")]
    pub value: Option<Dimension>,
}

/// What is known of a dimension.
#[derive(Clone, PartialEq, Oneof)]
pub enum Dimension {
    /// Its size.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A name for a size that is open.
    #[prost(string, tag = "2")]
    Param(String),
}

/// A tensor with its data, which is in `raw_data` or in the field for its element type.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// The shape.
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    /// The element type's code.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Present if this is only a part of a tensor.
    #[prost(message, optional, tag = "3")]
    pub segment: Option<Unread>,
    /// Elements of `float`.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of the integers up to `int32`, of `bool`, and the bits of 16-bit floats.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of a type that none of our operators takes.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_data: Vec<Vec<u8>>,
    /// Elements of `int64`.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// The tensor's name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Elements of any type, little-endian.
    #[prost(bytes = "vec", optional, tag = "9")]
    pub raw_data: Option<Vec<u8>>,
    /// Elements of `double`.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of `uint32` and `uint64`.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Where data outside the file is.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<Unread>,
    /// 1 if the data is outside the file.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}
