//! The operators by opset: versions, types, attributes and inputs, as the standard's tables have them.
//!
//! `Problem` checks shapes and axes. No data is kept here.

use super::proto::AttributeProto;
use super::{NodeError, OnnxError};
use crate::{DType, Op, Problem};

use Attribute::*;
use Inputs::*;

/// A version of some operators: a row of the standard's change log.
#[derive(Debug)]
struct Version {
    ops: &'static [Op],
    since: i64,
    types: &'static [&'static [DType]],
    attributes: &'static [Attribute],
    inputs: Inputs,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Attribute {
    Axis,
    Axes,
    Keepdims,
    SelectLastIndex,
    NoopWithEmptyAxes,
    /// A hint for memory reuse in early ONNX; it never changed the result.
    ConsumedInputs,
    K,
    Largest,
    /// The result is sorted either way: the standard leaves the order open.
    Sorted,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Inputs {
    /// One tensor.
    Data,
    /// One tensor, and optionally the axes.
    DataAndAxes,
    /// One tensor, and how many elements.
    DataAndK,
    /// One or more, all of one shape.
    Equal,
    /// One or more, broadcast against each other.
    Broadcast,
}

const ARG: &[Op] = &[Op::ArgMin, Op::ArgMax];
const REDUCE: &[Op] = &[Op::ReduceMin, Op::ReduceMax];
const ELEMENT: &[Op] = &[Op::Min, Op::Max];
const SUM: &[Op] = &[Op::ReduceSum];
const OTHER: &[Op] = &[
    Op::ReduceMean,
    Op::ReduceL1,
    Op::ReduceL2,
    Op::ReduceSumSquare,
];
const TOP: &[Op] = &[Op::TopK];

const FLOAT: &[DType] = &[DType::F16, DType::F32, DType::F64];
const WIDE: &[DType] = &[DType::I32, DType::I64, DType::U32, DType::U64];
const INT16: &[DType] = &[DType::I16, DType::U16];
const INT8: &[DType] = &[DType::I8, DType::U8];
const BF16: &[DType] = &[DType::BF16];
const BOOL: &[DType] = &[DType::Bool];

/// The whole standard for these operators.
#[rustfmt::skip]
const VERSIONS: [Version; 26] = [
    //   operators  since  element types                           attributes                          inputs
    row( ARG,       1,     &[FLOAT, WIDE, INT16, INT8],            &[Axis, Keepdims],                  Data        ),
    row( ARG,       11,    &[FLOAT, WIDE, INT16, INT8],            &[Axis, Keepdims],                  Data        ),
    row( ARG,       12,    &[FLOAT, WIDE, INT16, INT8],            &[Axis, Keepdims, SelectLastIndex], Data        ),
    row( ARG,       13,    &[FLOAT, WIDE, INT16, INT8, BF16],      &[Axis, Keepdims, SelectLastIndex], Data        ),
    row( REDUCE,    1,     &[FLOAT, WIDE],                         &[Axes, Keepdims],                  Data        ),
    row( REDUCE,    11,    &[FLOAT, WIDE],                         &[Axes, Keepdims],                  Data        ),
    row( REDUCE,    12,    &[FLOAT, WIDE, INT8],                   &[Axes, Keepdims],                  Data        ),
    row( REDUCE,    13,    &[FLOAT, WIDE, INT8, BF16],             &[Axes, Keepdims],                  Data        ),
    row( REDUCE,    18,    &[FLOAT, WIDE, INT8, BF16],             &[Keepdims, NoopWithEmptyAxes],     DataAndAxes ),
    row( REDUCE,    20,    &[FLOAT, WIDE, INT8, BF16, BOOL],       &[Keepdims, NoopWithEmptyAxes],     DataAndAxes ),
    row( ELEMENT,   1,     &[FLOAT],                               &[ConsumedInputs],                  Equal       ),
    row( ELEMENT,   6,     &[FLOAT],                               &[],                                Equal       ),
    row( ELEMENT,   8,     &[FLOAT],                               &[],                                Broadcast   ),
    row( ELEMENT,   12,    &[FLOAT, WIDE, INT16, INT8],            &[],                                Broadcast   ),
    row( ELEMENT,   13,    &[FLOAT, WIDE, INT16, INT8, BF16],      &[],                                Broadcast   ),
    row( SUM,       1,     &[FLOAT, WIDE],                         &[Axes, Keepdims],                  Data        ),
    row( SUM,       11,    &[FLOAT, WIDE],                         &[Axes, Keepdims],                  Data        ),
    row( SUM,       13,    &[FLOAT, WIDE, BF16],                   &[Keepdims, NoopWithEmptyAxes],     DataAndAxes ),
    row( OTHER,     1,     &[FLOAT, WIDE],                         &[Axes, Keepdims],                  Data        ),
    row( OTHER,     11,    &[FLOAT, WIDE],                         &[Axes, Keepdims],                  Data        ),
    row( OTHER,     13,    &[FLOAT, WIDE, BF16],                   &[Axes, Keepdims],                  Data        ),
    row( OTHER,     18,    &[FLOAT, WIDE, BF16],                   &[Keepdims, NoopWithEmptyAxes],     DataAndAxes ),
    row( TOP,       1,     &[FLOAT],                               &[Axis, K],                         Data        ),
    row( TOP,       10,    &[FLOAT],                               &[Axis],                            DataAndK    ),
    row( TOP,       11,    &[FLOAT, WIDE, INT16, INT8],            &[Axis, Largest, Sorted],           DataAndK    ),
    row( TOP,       24,    &[FLOAT, WIDE, INT16, INT8, BF16],      &[Axis, Largest, Sorted],           DataAndK    ),
];

const fn row(
    ops: &'static [Op],
    since: i64,
    types: &'static [&'static [DType]],
    attributes: &'static [Attribute],
    inputs: Inputs,
) -> Version {
    Version {
        ops,
        since,
        types,
        attributes,
        inputs,
    }
}

impl Attribute {
    const fn name(self) -> &'static str {
        match self {
            Axis => "axis",
            Axes => "axes",
            Keepdims => "keepdims",
            SelectLastIndex => "select_last_index",
            NoopWithEmptyAxes => "noop_with_empty_axes",
            ConsumedInputs => "consumed_inputs",
            K => "k",
            Largest => "largest",
            Sorted => "sorted",
        }
    }

    /// Its value: one integer, which may be a flag, or several.
    fn values(self, proto: &AttributeProto) -> Result<Vec<i64>, NodeError> {
        let attribute = self.name();
        let several = matches!(self, Axes | ConsumedInputs);
        let (wanted, expected) = match several {
            true => (AttributeProto::INTS, "INTS"),
            false => (AttributeProto::INT, "INT"),
        };
        if !has_type(proto, wanted) {
            return Err(NodeError::AttributeType {
                attribute,
                expected,
            });
        }
        match proto.i.unwrap_or(0) {
            _ if several => Ok(proto.ints.clone()),
            value if matches!(self, Axis | K) || matches!(value, 0 | 1) => Ok(vec![value]),
            value => Err(NodeError::AttributeValue { attribute, value }),
        }
    }
}

impl Inputs {
    /// The least number of inputs, and the most if there is a limit.
    fn limits(self) -> (usize, Option<usize>) {
        match self {
            Data => (1, Some(1)),
            DataAndAxes => (1, Some(2)),
            DataAndK => (2, Some(2)),
            Equal | Broadcast => (1, None),
        }
    }
}

/// An operator of a certain opset with its attributes, all legal.
#[derive(Clone, Debug)]
pub struct Operator {
    op: Op,
    opset: i64,
    version: &'static Version,
    /// The attributes that the node has, and their values.
    given: Vec<(Attribute, Vec<i64>)>,
}

/// What an operator needs to know about an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub shape: &'a [u64],
    /// The elements, little-endian: needed only for an input of axes, or of how many elements TopK gives.
    pub data: Option<&'a [u8]>,
}

impl Operator {
    /// The operator `op_type` of `domain` (empty or `ai.onnx`) as of `opset`: its newest version
    /// at or below that.
    ///
    /// # Errors
    /// If the operator or opset is unknown, or an attribute has an illegal name, type or value.
    pub fn new(
        op_type: &str,
        domain: &str,
        opset: i64,
        attributes: &[AttributeProto],
    ) -> Result<Operator, OnnxError> {
        let op = operator(op_type, domain).ok_or_else(|| OnnxError::UnknownOperator {
            op_type: op_type.into(),
            domain: domain.into(),
        })?;
        let version = versions(op).rfind(|v| v.since <= opset);
        let version = version.ok_or(OnnxError::NoVersion { op, opset })?;
        let mut operator = Operator {
            op,
            opset,
            version,
            given: Vec::new(),
        };
        match operator.set_all(attributes) {
            Ok(()) => Ok(operator),
            Err(what) => Err(operator.refused(what)),
        }
    }

    fn set_all(&mut self, attributes: &[AttributeProto]) -> Result<(), NodeError> {
        for proto in attributes {
            let attribute = self.attribute(&proto.name)?;
            if self.given(attribute).is_some() {
                let attribute = attribute.name();
                return Err(NodeError::DuplicateAttribute { attribute });
            }
            self.given.push((attribute, attribute.values(proto)?));
        }
        let attribute = K.name();
        match self.version.attributes.contains(&K) && self.given(K).is_none() {
            true => Err(NodeError::MissingAttribute { attribute }),
            false => Ok(()),
        }
    }

    /// The values of an attribute, if the node has it.
    fn given(&self, attribute: Attribute) -> Option<&[i64]> {
        let given = self.given.iter().find(|given| given.0 == attribute);
        given.map(|(_, values)| &values[..])
    }

    /// The value of an attribute; the standard's default if the node does not have it.
    fn value(&self, attribute: Attribute, default: i64) -> i64 {
        self.given(attribute).map_or(default, |values| values[0])
    }

    /// The same of a flag.
    fn is_set(&self, attribute: Attribute, default: bool) -> bool {
        self.value(attribute, default.into()) == 1
    }

    /// The operator.
    pub fn op(&self) -> Op {
        self.op
    }

    /// The opset given to [`Operator::new`].
    pub fn opset(&self) -> i64 {
        self.opset
    }

    /// The opset that introduced the version in use.
    pub fn since(&self) -> i64 {
        self.version.since
    }

    fn attribute(&self, name: &str) -> Result<Attribute, NodeError> {
        let named = |v: &Version| v.attributes.iter().copied().find(|a| a.name() == name);
        named(self.version).ok_or_else(|| NodeError::UnknownAttribute {
            attribute: name.into(),
            versions: versions(self.op)
                .filter(|v| named(v).is_some())
                .map(|v| v.since)
                .collect(),
        })
    }

    /// The problem for these inputs, in the node's order; `None` is an absent input. The problem's inputs are
    /// the first of them, without the axes and without TopK's number of elements.
    ///
    /// # Errors
    /// If the number of inputs, their types or shapes, or the axes are illegal.
    pub fn problem(&self, inputs: &[Option<Input<'_>>]) -> Result<Problem, OnnxError> {
        self.posed(inputs).map_err(|what| self.refused(what))
    }

    /// An error of this operator.
    pub(super) fn refused(&self, what: NodeError) -> OnnxError {
        let (op, opset) = (self.op, self.opset);
        OnnxError::Node { op, opset, what }
    }

    fn posed(&self, inputs: &[Option<Input<'_>>]) -> Result<Problem, NodeError> {
        let inputs = self.present(inputs)?;
        let (data, beside) = match self.version.inputs {
            DataAndAxes | DataAndK => inputs.split_at(1),
            Data | Equal | Broadcast => (&inputs[..], &[][..]),
        };
        self.check_types(data)?;
        self.check_shapes(data)?;
        let mut axes = self.given(Axes).unwrap_or_default().to_vec();
        let mut k = self.value(K, 0);
        match beside {
            [input] if self.version.inputs == DataAndK => k = self.k(input)?,
            [input] => axes = self.axes(input)?,
            _ => {}
        }
        match u64::try_from(k) {
            Ok(k) => self.pose(data, &axes, k),
            Err(_) => Err(NodeError::NegativeK {
                k,
                len: self.pose(data, &axes, 0)?.reduced_len(),
            }),
        }
    }

    fn pose(&self, data: &[Input<'_>], axes: &[i64], k: u64) -> Result<Problem, NodeError> {
        let Input { dtype, shape, .. } = data[0];
        let shapes: Vec<&[u64]> = data.iter().map(|input| input.shape).collect();
        let keepdims = self.is_set(Keepdims, true);
        let problem = match self.op {
            Op::TopK => Problem::top_k(dtype, shape, self.value(Axis, -1), k)?
                .largest(self.is_set(Largest, true)),
            op if op.is_elementwise() => Problem::elementwise(op, dtype, &shapes)?,
            op if op.is_index() => Problem::arg(op, dtype, shape, self.value(Axis, 0))?
                .keepdims(keepdims)
                .select_last_index(self.is_set(SelectLastIndex, false)),
            op => Problem::reduce(op, dtype, shape, axes)?
                .keepdims(keepdims)
                .noop_with_empty_axes(self.is_set(NoopWithEmptyAxes, false)),
        };
        problem.check()?;
        Ok(problem)
    }

    /// The inputs, without absent ones at the end.
    fn present<'a>(&self, inputs: &[Option<Input<'a>>]) -> Result<Vec<Input<'a>>, NodeError> {
        let last = inputs.iter().rposition(Option::is_some);
        let actual = last.map_or(0, |i| i + 1);
        let (least, most) = self.version.inputs.limits();
        if actual < least || most.is_some_and(|most| actual > most) {
            return Err(NodeError::InputCount {
                actual,
                least,
                most,
            });
        }
        let inputs = inputs[..actual].iter().enumerate();
        inputs
            .map(|(input, i)| i.ok_or(NodeError::AbsentInput { input }))
            .collect()
    }

    fn check_types(&self, data: &[Input<'_>]) -> Result<(), NodeError> {
        let first = data[0].dtype;
        for (input, &Input { dtype, .. }) in data.iter().enumerate() {
            let legal = self.version.types.concat();
            if !legal.contains(&dtype) {
                return Err(NodeError::IllegalType { dtype, legal });
            }
            if dtype != first {
                return Err(NodeError::MixedTypes {
                    input,
                    dtype,
                    first,
                });
            }
        }
        Ok(())
    }

    fn check_shapes(&self, data: &[Input<'_>]) -> Result<(), NodeError> {
        let first = data[0].shape;
        // The core accepts a scalar as a row of one, but the standard's range of axes [-r, r-1] is empty.
        if self.op.is_index() && first.is_empty() {
            return Err(NodeError::Scalar);
        }
        let equal = self.version.inputs == Equal;
        let differs = |i: &Input<'_>| equal && i.shape != first;
        match data.iter().position(differs) {
            None => Ok(()),
            Some(input) => Err(NodeError::UnequalShapes {
                input,
                shape: data[input].shape.to_vec(),
                first: first.to_vec(),
            }),
        }
    }

    /// How many elements are wanted.
    fn k(&self, input: &Input<'_>) -> Result<i64, NodeError> {
        let k = match (input.dtype, input.shape, input.data) {
            (DType::I64, [] | [1], Some(data)) => data.try_into().ok(),
            _ => None,
        };
        k.map(i64::from_le_bytes).ok_or_else(|| NodeError::KInput {
            dtype: input.dtype,
            shape: input.shape.to_vec(),
        })
    }

    fn axes(&self, input: &Input<'_>) -> Result<Vec<i64>, NodeError> {
        let (DType::I64, &[count]) = (input.dtype, input.shape) else {
            let (dtype, shape) = (input.dtype, input.shape.to_vec());
            return Err(NodeError::AxesInput { dtype, shape });
        };
        let expected = count.saturating_mul(DType::I64.size());
        match input.data {
            Some(data) if data.len() as u64 == expected => {
                let (elements, _) = data.as_chunks();
                Ok(elements.iter().map(|e| i64::from_le_bytes(*e)).collect())
            }
            _ => Err(NodeError::AxesData { expected }),
        }
    }
}

/// The operator of that name, if ONNX and this crate have it.
pub(super) fn operator(op_type: &str, domain: &str) -> Option<Op> {
    let ours = is_default_domain(domain);
    operators().find(|op| ours && op.name() == op_type)
}

/// The operators that ONNX and this crate have.
pub(super) fn operators() -> impl Iterator<Item = Op> {
    Op::ALL.into_iter().filter(|op| op.is_in_onnx())
}

/// Whether a domain is ONNX's own.
pub(super) fn is_default_domain(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

fn versions(op: Op) -> impl DoubleEndedIterator<Item = &'static Version> {
    VERSIONS.iter().filter(move |v| v.ops.contains(&op))
}

/// Whether an attribute has the wanted type and no value of another. Early ONNX files do not write the type;
/// a value that is not written is 0 or empty.
pub(super) fn has_type(proto: &AttributeProto, wanted: i32) -> bool {
    let others = [
        (AttributeProto::FLOAT, proto.f.is_some()),
        (AttributeProto::INT, proto.i.is_some()),
        (AttributeProto::STRING, proto.s.is_some()),
        (AttributeProto::TENSOR, proto.t.is_some()),
        (AttributeProto::FLOATS, !proto.floats.is_empty()),
        (AttributeProto::INTS, !proto.ints.is_empty()),
    ];
    let written = |t: i32| others.contains(&(t, true));
    let typed = proto.r#type == wanted || (proto.r#type == 0 && written(wanted));
    let other = others.iter().any(|&(t, set)| set && t != wanted);
    typed && !other && proto.ref_attr_name.is_empty()
}
