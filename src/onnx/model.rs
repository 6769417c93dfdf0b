//! Models: a graph of our operators, checked when it is read, then run node by node.
//!
//! Keeps what a graph may be; who evaluates a node, and where, the caller's closure decides.

use super::proto::{AttributeProto, Dimension, DimensionProto, GraphProto, ModelProto, NodeProto};
use super::proto::{OperatorSetIdProto, TensorShapeProto, TypeProto, ValueInfoProto};
use super::rules::{has_type, is_default_domain, operator};
use super::tensor::{self, Tensor};
use super::{Difference, Input, NodeError, OnnxError, Operator, compare, compare_close};
use crate::{DType, Element, Op, Problem};
use prost::Message;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The most bytes of results of one run, and of their shapes. A protobuf message, and so an ONNX file, cannot be
/// larger, but a small file can ask for more by broadcasting, by reducing nothing, or by many nodes and inputs of
/// many dimensions.
const RESULT_LIMIT: u64 = i32::MAX as u64;

/// A model whose operators, attributes and names are legal.
#[derive(Clone, Debug)]
pub struct Model {
    constants: HashMap<String, Tensor>,
    inputs: Vec<Declared>,
    outputs: Vec<Declared>,
    nodes: Vec<Node>,
}

/// A graph input or output; `None` if the graph does not say.
#[derive(Clone, Debug)]
struct Declared {
    name: String,
    dtype: Option<DType>,
    shape: Option<Vec<Option<u64>>>,
}

#[derive(Clone, Debug)]
struct Node {
    operator: Operator,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Why a model did not run: it does not fit its inputs, or the evaluation failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The model or its inputs are not valid.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// The closure's error.
    #[error("{0}")]
    Evaluate(E),
}

impl Model {
    /// Reads a `ModelProto`.
    ///
    /// # Errors
    /// [`OnnxError::UnknownOperator`] if a node is neither of our operators nor a `Constant` for one, whatever else
    /// is wrong with the graph; other errors if the bytes are not a `ModelProto`, if an opset or attribute is not
    /// supported, if a name is defined twice or used before its definition, or if data lies outside the file.
    pub fn decode(bytes: &[u8]) -> Result<Model, OnnxError> {
        let what = "ModelProto";
        let proto = ModelProto::decode(bytes);
        let proto = proto.map_err(|source| OnnxError::Protobuf { what, source })?;
        Model::from_proto(proto)
    }

    /// The model of a message.
    pub fn from_proto(proto: ModelProto) -> Result<Model, OnnxError> {
        let graph = proto.graph.ok_or(OnnxError::NoGraph)?;
        if let Some(node) = foreign(&graph) {
            return Err(OnnxError::UnknownOperator {
                op_type: node.op_type.clone(),
                domain: node.domain.clone(),
            });
        }
        let unsupported = [
            ("functions", proto.functions.len()),
            ("sparse initializers", graph.sparse_initializer.len()),
        ];
        if let Some(&(what, _)) = unsupported.iter().find(|u| u.1 > 0) {
            return Err(OnnxError::Unsupported { what });
        }
        let opset = opset(&proto.opset_import)?;
        let mut constants = HashMap::new();
        let mut nodes = Vec::new();
        for node in &graph.node {
            match is_constant(node) {
                true => {
                    let (name, tensor) = constant(node, opset)?;
                    constants.insert(name, tensor);
                }
                false => nodes.push(Node::new(node, opset)?),
            }
        }
        check_names(&graph)?;
        let computed: HashSet<&str> = nodes.iter().flat_map(Node::results).collect();
        nodes.iter().try_for_each(|node| node.check_k(&computed))?;
        for proto in graph.initializer {
            constants.insert(proto.name.clone(), Tensor::from_proto(proto)?);
        }
        let model = Model {
            constants,
            inputs: declared(graph.input)?,
            outputs: declared(graph.output)?,
            nodes,
        };
        match model.inputs.iter().find(|i| i.dtype.is_none()) {
            Some(Declared { name, .. }) => Err(OnnxError::NotATensor { name: name.clone() }),
            None => Ok(model),
        }
    }

    /// Names of the graph's inputs, in order, including those that have a default.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &str> {
        self.inputs.iter().map(|i| i.name.as_str())
    }

    /// Names of the graph's outputs, in order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = &str> {
        self.outputs.iter().map(|o| o.name.as_str())
    }

    /// Computes the graph's outputs, in order. `inputs` are the graph's, in order; an input that is
    /// `None` or missing at the end takes its default. `evaluate` computes the outputs of one problem from the
    /// bytes of its inputs.
    ///
    /// # Errors
    /// [`RunError::Onnx`] if an input or intermediate result is illegal for its operator or differs from the graph's
    /// declaration; [`RunError::Evaluate`] with the first error of `evaluate`.
    pub fn run<E>(
        &self,
        inputs: &[Option<Tensor>],
        mut evaluate: impl FnMut(&Problem, &[&[u8]]) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Vec<Tensor>, RunError<E>> {
        let mut values = self.start(inputs)?;
        let mut room = RESULT_LIMIT;
        for node in &self.nodes {
            // The empty name has no value.
            let value = |name: &String| values.get(name.as_str()).map(Cow::as_ref);
            let given: Vec<Option<&Tensor>> = node.inputs.iter().map(value).collect();
            // Its problem has copies of their shapes.
            let shapes = given.iter().flatten().map(|tensor| tensor.shape());
            reserve(room, shapes.map(shape_bytes))?;
            let problem = node.problem(&given)?;
            let outputs = problem.outputs().into_iter();
            let bytes = outputs.flat_map(|o| [o.bytes(), shape_bytes(&o.shape)]);
            room = reserve(room, bytes)?;
            let data = given.into_iter().flatten().take(problem.inputs().len());
            let data: Vec<&[u8]> = data.map(Tensor::bytes).collect();
            let result = evaluate(&problem, &data).map_err(RunError::Evaluate)?;
            let results = results_of(&problem, result)?;
            values.extend(node.results().zip(results.into_iter().map(Cow::Owned)));
        }
        let mut outputs = Vec::new();
        for output in &self.outputs {
            // Removed, not copied: the names of outputs differ.
            let tensor = values.remove(output.name.as_str());
            let tensor = tensor.ok_or_else(|| undefined("the graph's output", &output.name))?;
            output.check(&tensor)?;
            outputs.push(tensor.into_owned());
        }
        Ok(outputs)
    }

    /// Compares one of this model's outputs with the expected one: by [`compare()`](super::compare()), or by
    /// [`compare_close`] if the model has a sum.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self, expected: &Tensor, actual: &Tensor) -> Result<(), Difference> {
        match self.nodes.iter().any(|node| node.operator.op().is_sum()) {
            true => compare_close(expected, actual),
            false => compare(expected, actual),
        }
    }

    /// The values before the first node runs: constants and inputs.
    fn start<'a>(&'a self, inputs: &'a [Option<Tensor>]) -> Result<Values<'a>, OnnxError> {
        if inputs.len() > self.inputs.len() {
            return Err(OnnxError::TooManyInputs {
                expected: self.inputs.len(),
                actual: inputs.len(),
            });
        }
        let constants = self.constants.iter();
        let mut values: Values<'_> = constants
            .map(|(n, t)| (n.as_str(), Cow::Borrowed(t)))
            .collect();
        for (i, declared) in self.inputs.iter().enumerate() {
            let name = declared.name.as_str();
            let given = inputs.get(i).and_then(Option::as_ref);
            let tensor = given.or_else(|| self.constants.get(name));
            let tensor = tensor.ok_or_else(|| OnnxError::MissingInput { name: name.into() })?;
            declared.check(tensor)?;
            values.insert(name, Cow::Borrowed(tensor));
        }
        Ok(values)
    }
}

type Values<'a> = HashMap<&'a str, Cow<'a, Tensor>>;

fn shape_bytes(shape: &[u64]) -> u64 {
    size_of_val(shape) as u64
}

/// The bytes that are left.
fn reserve(room: u64, mut taken: impl Iterator<Item = u64>) -> Result<u64, OnnxError> {
    let left = taken.try_fold(room, u64::checked_sub);
    left.ok_or(OnnxError::ResultTooLarge {
        limit: RESULT_LIMIT,
    })
}

/// The outputs of an evaluation.
fn results_of(problem: &Problem, result: Vec<Vec<u8>>) -> Result<Vec<Tensor>, OnnxError> {
    let outputs = problem.outputs();
    let expected: Vec<u64> = outputs.iter().map(|o| o.bytes()).collect();
    let actual: Vec<u64> = result.iter().map(|r| r.len() as u64).collect();
    if expected != actual {
        return Err(OnnxError::Evaluation {
            problem: problem.to_string(),
            expected,
            actual,
        });
    }
    let tensors = outputs.iter().zip(result);
    tensors
        .map(|(output, bytes)| Tensor::new(output.dtype, &output.shape, bytes))
        .collect()
}

impl Node {
    fn new(proto: &NodeProto, opset: i64) -> Result<Node, OnnxError> {
        let operator = Operator::new(&proto.op_type, &proto.domain, opset, &proto.attribute)?;
        let expected = if operator.op() == Op::TopK { 2 } else { 1 };
        let actual = proto.output.len();
        match actual == expected {
            true => Ok(Node {
                operator,
                inputs: proto.input.clone(),
                outputs: proto.output.clone(),
            }),
            false => Err(operator.refused(NodeError::OutputCount { actual, expected })),
        }
    }

    /// The names of its results.
    fn results(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(String::as_str)
    }

    /// Refuses TopK whose number of elements another node computes: the shapes would depend on data.
    fn check_k(&self, computed: &HashSet<&str>) -> Result<(), OnnxError> {
        match self.inputs.get(1).cloned() {
            Some(name) if self.operator.op() == Op::TopK && computed.contains(name.as_str()) => {
                Err(self.operator.refused(NodeError::ComputedK { name }))
            }
            _ => Ok(()),
        }
    }

    fn problem(&self, given: &[Option<&Tensor>]) -> Result<Problem, OnnxError> {
        let inputs = given.iter().map(|tensor| {
            tensor.map(|tensor| Input {
                dtype: tensor.dtype(),
                shape: tensor.shape(),
                data: Some(tensor.bytes()),
            })
        });
        self.operator.problem(&inputs.collect::<Vec<_>>())
    }
}

fn is_constant(node: &NodeProto) -> bool {
    is_default_domain(&node.domain) && node.op_type == "Constant"
}

/// The first node that is not ours. A `Constant` is, in a graph that has one of our operators to take it.
fn foreign(graph: &GraphProto) -> Option<&NodeProto> {
    let ours = |node: &NodeProto| operator(&node.op_type, &node.domain).is_some();
    let some = graph.node.iter().any(ours);
    let known = |node: &NodeProto| ours(node) || (some && is_constant(node));
    graph.node.iter().find(|node| !known(node))
}

/// The output of a `Constant` node and its value. Values other than tensors exist since opset 12.
fn constant(node: &NodeProto, opset: i64) -> Result<(String, Tensor), OnnxError> {
    const FORMS: [(&str, i32, &str); 5] = [
        ("value", AttributeProto::TENSOR, "TENSOR"),
        ("value_int", AttributeProto::INT, "INT"),
        ("value_ints", AttributeProto::INTS, "INTS"),
        ("value_float", AttributeProto::FLOAT, "FLOAT"),
        ("value_floats", AttributeProto::FLOATS, "FLOATS"),
    ];
    let legal = if opset < 12 { &FORMS[..1] } else { &FORMS };
    let name = node.output.first().unwrap_or(&node.name).clone();
    let form = |proto: &AttributeProto| legal.iter().find(|form| form.0 == proto.name);
    let found = match (&node.input[..], &node.output[..], &node.attribute[..]) {
        ([], [_], [proto]) => form(proto).map(|form| (form, proto)),
        _ => None,
    };
    let Some((&(attribute, code, expected), proto)) = found else {
        return Err(OnnxError::Constant {
            name,
            opset,
            inputs: node.input.len(),
            outputs: node.output.len(),
            attributes: node.attribute.iter().map(|a| a.name.clone()).collect(),
            legal: legal.iter().map(|form| form.0).collect(),
        });
    };
    if !has_type(proto, code) {
        return Err(OnnxError::ConstantType {
            name,
            opset,
            attribute,
            expected,
        });
    }
    let tensor = match code {
        AttributeProto::TENSOR => Tensor::from_proto(proto.t.clone().unwrap_or_default())?,
        AttributeProto::INT => of(&[], &[proto.i.unwrap_or(0)])?,
        AttributeProto::FLOAT => of(&[], &[proto.f.unwrap_or(0.0)])?,
        AttributeProto::INTS => of(&[proto.ints.len() as u64], &proto.ints)?,
        _ => of(&[proto.floats.len() as u64], &proto.floats)?,
    };
    Ok((name, tensor))
}

/// A tensor of typed elements.
fn of<T: Element>(shape: &[u64], elements: &[T]) -> Result<Tensor, OnnxError> {
    Tensor::new(T::DTYPE, shape, T::bytes(elements).to_vec())
}

impl Declared {
    fn new(proto: ValueInfoProto) -> Result<Declared, OnnxError> {
        let name = proto.name;
        let tensor = match proto.r#type {
            Some(TypeProto { tensor_type: None }) => return Err(OnnxError::NotATensor { name }),
            Some(TypeProto { tensor_type }) => tensor_type.unwrap_or_default(),
            None => Default::default(),
        };
        let dtype = match tensor.elem_type {
            0 => None,
            code => Some(tensor::dtype(&name, code)?),
        };
        let size = |dim: DimensionProto| match dim.value {
            Some(Dimension::Value(size)) => tensor::dimensions(&name, &[size]).map(|n| Some(n[0])),
            Some(Dimension::Param(_)) | None => Ok(None),
        };
        let sizes = |shape: TensorShapeProto| -> Result<Vec<_>, OnnxError> {
            shape.dim.into_iter().map(size).collect()
        };
        let shape = tensor.shape.map(sizes).transpose()?;
        Ok(Declared { name, dtype, shape })
    }

    fn check(&self, tensor: &Tensor) -> Result<(), OnnxError> {
        let actual = tensor.dtype();
        if let Some(declared) = self.dtype.filter(|&d| d != actual) {
            return Err(OnnxError::DeclaredType {
                name: self.name.clone(),
                declared,
                actual,
            });
        }
        let actual = tensor.shape();
        let fits = |declared: &Vec<Option<u64>>| {
            let mut pairs = declared.iter().zip(actual);
            declared.len() == actual.len() && pairs.all(|(d, a)| d.is_none_or(|d| d == *a))
        };
        match &self.shape {
            Some(declared) if !fits(declared) => Err(OnnxError::DeclaredShape {
                name: self.name.clone(),
                declared: declared.clone(),
                actual: actual.to_vec(),
            }),
            _ => Ok(()),
        }
    }
}

fn declared(protos: Vec<ValueInfoProto>) -> Result<Vec<Declared>, OnnxError> {
    protos.into_iter().map(Declared::new).collect()
}

/// The opset of ONNX's own domain.
fn opset(imports: &[OperatorSetIdProto]) -> Result<i64, OnnxError> {
    let mut opsets = HashMap::new();
    for import in imports {
        let domain = match import.domain.as_str() {
            domain if is_default_domain(domain) => "",
            domain => domain,
        };
        if opsets.insert(domain, import.version).is_some() {
            let domain = import.domain.clone();
            return Err(OnnxError::DuplicateOpset { domain });
        }
    }
    opsets.get("").copied().ok_or(OnnxError::NoOpset)
}

/// Refuses a graph in which a name is defined twice, or used where it is not defined (yet).
fn check_names(graph: &GraphProto) -> Result<(), OnnxError> {
    let inputs = unique("a graph input", graph.input.iter().map(|i| &i.name))?;
    let constants = graph.initializer.iter().map(|i| &i.name);
    let constants = unique("an initializer", constants)?;
    unique("a graph output", graph.output.iter().map(|o| &o.name))?;
    let computed = graph.node.iter().flat_map(|n| &n.output);
    let computed = unique("a node's output", computed)?;
    // An initializer may be the default of an input, so these two may share names.
    let mut known = &inputs | &constants;
    if let Some(&name) = known.intersection(&computed).next() {
        return Err(OnnxError::DuplicateName { name: name.clone() });
    }
    for node in &graph.node {
        let user = || format!("{} {:?}", node.op_type, node.name);
        let mut used = node.input.iter().filter(|name| !name.is_empty());
        if let Some(name) = used.find(|name| !known.contains(name)) {
            return Err(match computed.contains(name) {
                true => OnnxError::UsedTooEarly {
                    user: user(),
                    name: name.clone(),
                },
                false => undefined(&user(), name),
            });
        }
        known.extend(&node.output);
    }
    let mut outputs = graph.output.iter().map(|o| &o.name);
    match outputs.find(|name| !known.contains(name)) {
        Some(name) => Err(undefined("the graph's output", name)),
        None => Ok(()),
    }
}

fn undefined(user: &str, name: &str) -> OnnxError {
    OnnxError::UndefinedName {
        user: user.into(),
        name: name.into(),
    }
}

fn unique<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Result<BTreeSet<&'a String>, OnnxError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(OnnxError::Unnamed { what });
        }
        if !seen.insert(name) {
            return Err(OnnxError::DuplicateName { name: name.clone() });
        }
    }
    Ok(seen)
}
