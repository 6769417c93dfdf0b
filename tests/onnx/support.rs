//! Builders of tensors and models, and a source of numbers that repeats on every run.

use prost::Message;
use std::path::PathBuf;
use wgreduce::onnx::proto::*;
use wgreduce::onnx::{Model, OnnxError, RunError, Tensor};
pub use wgreduce::reference::evaluate;
use wgreduce::{DType, Element, Op};

/// The operators of ONNX that have one output: all but TopK.
pub fn operators() -> Vec<Op> {
    let one = |op: &Op| op.is_in_onnx() && *op != Op::TopK;
    Op::ALL.into_iter().filter(one).collect()
}

/// The first opset in which a reduction takes its axes as an input, by the standard's text.
pub fn axes_input_since(op: Op) -> i64 {
    if op == Op::ReduceSum { 13 } else { 18 }
}

/// A tensor of typed elements.
pub fn tensor<T: Element>(shape: &[u64], elements: &[T]) -> Tensor {
    Tensor::new(T::DTYPE, shape, T::bytes(elements).to_vec()).unwrap()
}

/// A tensor of zeros.
pub fn zeros(dtype: DType, shape: &[u64]) -> Tensor {
    let bytes = shape.iter().product::<u64>() * dtype.size();
    Tensor::new(dtype, shape, vec![0; bytes as usize]).unwrap()
}

/// The standard's type codes, independent of the library's.
pub const CODES: [(DType, i32); 13] = [
    (DType::F32, 1),
    (DType::U8, 2),
    (DType::I8, 3),
    (DType::U16, 4),
    (DType::I16, 5),
    (DType::I32, 6),
    (DType::I64, 7),
    (DType::Bool, 9),
    (DType::F16, 10),
    (DType::F64, 11),
    (DType::U32, 12),
    (DType::U64, 13),
    (DType::BF16, 16),
];

pub fn code(dtype: DType) -> i32 {
    CODES.iter().find(|c| c.0 == dtype).unwrap().1
}

/// A message with the tensor's elements in the field of its type instead of `raw_data`.
pub fn typed_proto(tensor: &Tensor, name: &str) -> TensorProto {
    let mut proto = TensorProto {
        dims: tensor.shape().iter().map(|&d| d as i64).collect(),
        data_type: code(tensor.dtype()),
        name: name.into(),
        ..Default::default()
    };
    let bytes = tensor.bytes();
    match tensor.dtype() {
        DType::F32 => proto.float_data = f32::from_bytes(bytes),
        DType::F64 => proto.double_data = f64::from_bytes(bytes),
        DType::I64 => proto.int64_data = i64::from_bytes(bytes),
        DType::U64 => proto.uint64_data = u64::from_bytes(bytes),
        DType::U32 => proto.uint64_data = widen::<u32, _>(bytes),
        DType::I32 => proto.int32_data = i32::from_bytes(bytes),
        DType::I16 => proto.int32_data = widen::<i16, _>(bytes),
        DType::I8 => proto.int32_data = widen::<i8, _>(bytes),
        DType::U8 | DType::Bool => proto.int32_data = widen::<u8, _>(bytes),
        DType::U16 | DType::F16 | DType::BF16 => proto.int32_data = widen::<u16, _>(bytes),
        other => panic!("no field for {other}"),
    }
    proto
}

fn widen<T: Element, W: From<T>>(bytes: &[u8]) -> Vec<W> {
    T::from_bytes(bytes).into_iter().map(W::from).collect()
}

/// A graph input or output with its type and shape declared.
pub fn declare(name: &str, dtype: DType, shape: &[u64]) -> ValueInfoProto {
    let dim = |&d: &u64| DimensionProto {
        value: Some(Dimension::Value(d as i64)),
    };
    let shape = TensorShapeProto {
        dim: shape.iter().map(dim).collect(),
    };
    declare_code(name, code(dtype), Some(shape))
}

/// A graph input or output of an open shape.
pub fn declare_open(name: &str, dtype: DType) -> ValueInfoProto {
    declare_code(name, code(dtype), None)
}

pub fn declare_code(name: &str, elem_type: i32, shape: Option<TensorShapeProto>) -> ValueInfoProto {
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto { tensor_type }),
    }
}

/// A graph output with only a name.
pub fn named(name: &str) -> ValueInfoProto {
    ValueInfoProto {
        name: name.into(),
        r#type: None,
    }
}

pub fn node(op_type: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op_type.into(),
        input: inputs.iter().map(|&i| i.into()).collect(),
        output: vec![output.into()],
        ..Default::default()
    }
}

pub fn with(mut node: NodeProto, attributes: &[AttributeProto]) -> NodeProto {
    node.attribute = attributes.to_vec();
    node
}

pub fn import(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto {
        domain: domain.into(),
        version,
    }
}

pub fn model(opset: i64, graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: 8,
        opset_import: vec![import("", opset)],
        graph: Some(graph),
        ..Default::default()
    }
}

/// A model of one node: inputs `x0`, `x1`, ... of the given tensors' types, output `y`.
pub fn one_node(
    opset: i64,
    op_type: &str,
    attributes: &[AttributeProto],
    inputs: &[Tensor],
) -> ModelProto {
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("x{i}")).collect();
    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
    let declared = names.iter().zip(inputs);
    let declared = declared.map(|(n, t)| declare(n, t.dtype(), t.shape()));
    let graph = GraphProto {
        node: vec![with(node(op_type, &refs, "y"), attributes)],
        input: declared.collect(),
        output: vec![named("y")],
        ..Default::default()
    };
    model(opset, graph)
}

/// Reads the model from its bytes and runs it on the reference.
pub fn run(proto: &ModelProto, inputs: &[Tensor]) -> Result<Vec<Tensor>, OnnxError> {
    let inputs: Vec<Option<Tensor>> = inputs.iter().cloned().map(Some).collect();
    run_with(proto, &inputs)
}

/// Like [`run`], with inputs that may be missing.
pub fn run_with(proto: &ModelProto, inputs: &[Option<Tensor>]) -> Result<Vec<Tensor>, OnnxError> {
    let model = Model::decode(&proto.encode_to_vec())?;
    match model.run(inputs, evaluate) {
        Ok(outputs) => Ok(outputs),
        Err(RunError::Onnx(error)) => Err(error),
        Err(other) => panic!("the reference refused what the model posed: {other}"),
    }
}

/// What a refusal tells.
pub fn told<T: std::fmt::Debug>(result: Result<T, OnnxError>) -> String {
    result.unwrap_err().to_string()
}

/// Compares what refusals tell with the lines of a text.
#[track_caller]
pub fn assert_told<const N: usize>(told: [String; N], text: &str) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    assert_eq!(lines.collect::<Vec<_>>(), told);
}

/// An empty folder for one test, inside the build's folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("onnx").join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    std::fs::create_dir_all(&path).unwrap();
    path
}
