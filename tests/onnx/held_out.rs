//! Thousands of models over all operators, opsets and types, each right to the last bit.

use crate::support::*;
use support::oracle::Question;
use support::{Bits, bytes, float_bits};
use wgreduce::onnx::proto::*;
use wgreduce::onnx::{AttributeProto, Operator, Tensor, compare};
use wgreduce::{DType, NanPolicy, Op};

/// A model with its inputs and the outputs it must give.
pub struct Case {
    pub model: ModelProto,
    pub inputs: Vec<Tensor>,
    pub expected: Vec<Tensor>,
}

/// How an operator gets its axes.
#[derive(Clone, Copy, PartialEq)]
enum Axes {
    Default,
    Attribute,
    Input,
    Initializer,
    EmptyName,
}

/// The parts of one node from which a model is made.
struct Sketch {
    op: Op,
    opset: i64,
    data: Vec<Tensor>,
    axes: Vec<i64>,
    how: Axes,
    keepdims: Option<bool>,
    last: Option<bool>,
    noop: Option<bool>,
}

impl Sketch {
    fn random(n: &mut Bits, op: Op, opset: i64, dtype: DType) -> Sketch {
        let shapes = match op.is_elementwise() {
            true => elementwise_shapes(n, opset),
            // A mean of no integers is refused, so no dimension is 0.
            false if op == Op::ReduceMean => {
                let shape = reduction_shape(n, false);
                vec![shape.into_iter().map(|d| d.max(1)).collect()]
            }
            false => vec![reduction_shape(n, op.is_index())],
        };
        let input_since = axes_input_since(op);
        let rank = shapes[0].len();
        let switch = |n: &mut Bits, legal: bool| (legal && n.chance(2)).then(|| n.chance(2));
        let by_axes = !op.is_index() && !op.is_elementwise();
        let mut sketch = Sketch {
            op,
            opset,
            data: shapes.iter().map(|s| random_tensor(n, dtype, s)).collect(),
            axes: Vec::new(),
            how: Axes::Default,
            keepdims: switch(n, !op.is_elementwise()),
            last: switch(n, op.is_index() && opset >= 12),
            noop: switch(n, by_axes && opset >= input_since),
        };
        if op.is_index() {
            sketch.how = *n.pick(&[Axes::Default, Axes::Attribute, Axes::Attribute]);
            if sketch.how == Axes::Attribute {
                sketch.axes = vec![random_axis(n, rank)];
            }
        } else if !op.is_elementwise() {
            sketch.how = match opset < input_since {
                true => *n.pick(&[Axes::Default, Axes::Attribute, Axes::Attribute]),
                false => *n.pick(&[
                    Axes::Default,
                    Axes::EmptyName,
                    Axes::Input,
                    Axes::Input,
                    Axes::Initializer,
                ]),
            };
            if !matches!(sketch.how, Axes::Default | Axes::EmptyName) {
                sketch.axes = random_axes(n, rank);
            }
        }
        sketch
    }

    fn attributes(&self) -> Vec<AttributeProto> {
        let switches = [
            ("keepdims", self.keepdims),
            ("select_last_index", self.last),
            ("noop_with_empty_axes", self.noop),
        ];
        let given =
            |(name, value): (_, Option<bool>)| Some(AttributeProto::int(name, i64::from(value?)));
        let mut attributes: Vec<_> = switches.into_iter().filter_map(given).collect();
        match (self.how, self.op.is_index()) {
            (Axes::Attribute, true) => attributes.push(AttributeProto::int("axis", self.axes[0])),
            (Axes::Attribute, false) => attributes.push(AttributeProto::ints("axes", &self.axes)),
            _ => {}
        }
        attributes
    }

    fn case(&self, n: &mut Bits) -> Case {
        let mut case = Case {
            model: one_node(self.opset, self.op.name(), &self.attributes(), &self.data),
            inputs: self.data.clone(),
            expected: vec![self.expected()],
        };
        let graph = case.model.graph.as_mut().unwrap();
        let axes = tensor(&[self.axes.len() as u64], &self.axes);
        match self.how {
            Axes::Default | Axes::Attribute => return case,
            Axes::EmptyName => graph.node[0].input.push(String::new()),
            Axes::Input => {
                graph.node[0].input.push("axes".into());
                graph.input.push(declare("axes", DType::I64, axes.shape()));
                case.inputs.push(axes);
            }
            Axes::Initializer => {
                graph.node[0].input.push("axes".into());
                graph.initializer.push(either_form(n, &axes, "axes"));
            }
        }
        case
    }

    fn expected(&self) -> Tensor {
        let data = &self.data[0];
        let rank = data.shape().len() as i64;
        let mut reduced = vec![false; rank as usize];
        let (index, none) = (self.op.is_index(), self.axes.is_empty());
        let end = if index { 1 } else { rank };
        let default: Vec<i64> = (0..end).collect();
        let axes = if none { &default } else { &self.axes };
        let noop = self.noop == Some(true) && none;
        if !self.op.is_elementwise() && !noop {
            axes.iter()
                .for_each(|a| reduced[a.rem_euclid(rank) as usize] = true);
        }
        let maps = matches!(self.op, Op::ReduceL1 | Op::ReduceL2 | Op::ReduceSumSquare);
        let question = Question {
            op: self.op,
            dtype: data.dtype(),
            inputs: self.data.iter().map(|t| (t.shape(), t.bytes())).collect(),
            reduced,
            keepdims: noop || self.keepdims.unwrap_or(true),
            last: self.last.unwrap_or(false),
            nan: NanPolicy::Propagate,
            copy: noop && !maps || (self.op.is_elementwise() && self.data.len() == 1),
        };
        let (shape, bytes) = question.answer();
        let dtype = if index { DType::I64 } else { data.dtype() };
        Tensor::new(dtype, &shape, bytes).unwrap()
    }
}

/// The tensor as a message that holds its data in one of the two ways, at random.
pub fn either_form(n: &mut Bits, tensor: &Tensor, name: &str) -> TensorProto {
    match n.chance(2) {
        true => tensor.to_proto(name),
        false => typed_proto(tensor, name),
    }
}

fn reduction_shape(n: &mut Bits, index: bool) -> Vec<u64> {
    let rank = n.below(5).max(u64::from(index));
    // Rarely one long dimension, but not two: 7^4 elements are enough.
    let mut shape: Vec<u64> = (0..rank).map(|_| 1 + n.below(7)).collect();
    if rank > 0 && n.chance(12) {
        shape = vec![2, 300 + n.below(200)];
    } else if !index && rank > 0 && n.chance(8) {
        let at = n.below(rank) as usize;
        shape[at] = 0;
    }
    shape
}

fn elementwise_shapes(n: &mut Bits, opset: i64) -> Vec<Vec<u64>> {
    let rank = n.below(4);
    let zero = n.chance(10);
    let full: Vec<u64> = (0..rank)
        .map(|_| if zero { n.below(2) } else { 1 + n.below(6) })
        .collect();
    let count = 1 + n.below(4);
    let mut shape = |_| match opset < 8 {
        true => full.clone(),
        false => {
            let skip = n.below(rank + 1) as usize;
            full[skip..]
                .iter()
                .map(|&d| if n.chance(3) { 1 } else { d })
                .collect()
        }
    };
    (0..count).map(&mut shape).collect()
}

fn random_axis(n: &mut Bits, rank: usize) -> i64 {
    n.below(2 * rank as u64) as i64 - rank as i64
}

/// Random axes without repeats, in any order, counted from either end.
fn random_axes(n: &mut Bits, rank: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = (0..rank as i64).filter(|_| n.chance(2)).collect();
    for i in (1..axes.len()).rev() {
        axes.swap(i, n.below(i as u64 + 1) as usize);
    }
    axes.iter()
        .map(|a| if n.chance(2) { a - rank as i64 } else { *a })
        .collect()
}

/// Few different values, so that there are ties, among them the values that break kernels: NaNs with
/// several payloads, both zeros and infinities, subnormals, extremes.
fn random_tensor(n: &mut Bits, dtype: DType, shape: &[u64]) -> Tensor {
    let top = 8 * dtype.size() - 1;
    let mask = u64::MAX >> (63 - top);
    let (sign, infinity) = (1u64 << top, float_bits(dtype).0);
    let nans = [
        infinity + 1,
        infinity | infinity >> 1 | 5,
        sign | infinity | 3,
    ];
    let positive = [0, 1, infinity, infinity - 1];
    let float = [positive, positive.map(|x| sign | x)].concat();
    let integer = [0, 1, mask, sign, sign - 1, 2, mask - 1, sign + 1];
    let is_float = dtype.class() == wgreduce::Class::Float;
    let (any, with_nan, special) = (n.chance(3), n.chance(3), n.chance(2));
    let mut element = |_| {
        if dtype == DType::Bool {
            return n.below(2) * (1 + n.below(255) * u64::from(any));
        }
        match is_float {
            true if with_nan && n.chance(9) => *n.pick(&nans),
            true if special => *n.pick(&float),
            false if special => *n.pick(&integer),
            _ if any => (n.draw() << 1 ^ n.draw()) & mask,
            true => (infinity >> 1) & !1 | n.below(4) | (sign * n.below(2)),
            false => n.below(4),
        }
    };
    let count: u64 = shape.iter().product();
    let data = bytes(dtype, (0..count).map(&mut element));
    Tensor::new(dtype, shape, data).unwrap()
}

/// Whether the operator takes the type at that opset; `rules.rs` proves that this is the standard's answer.
fn takes(op: Op, opset: i64, dtype: DType) -> bool {
    let input = wgreduce::onnx::Input {
        dtype,
        shape: &[1],
        data: None,
    };
    Operator::new(op.name(), "", opset, &[])
        .unwrap()
        .problem(&[Some(input)])
        .is_ok()
}

/// Cases of every legal operator, opset and type.
pub fn cases(seed: u64, per_cell: usize) -> Vec<Case> {
    let mut n = Bits::new(seed);
    let mut cases = Vec::new();
    for op in operators() {
        for opset in (1..=22).filter(|v| ![2, 3, 4, 14, 15, 16].contains(v)) {
            for dtype in DType::ALL.into_iter().filter(|&t| takes(op, opset, t)) {
                for _ in 0..per_cell {
                    let sketch = Sketch::random(&mut n, op, opset, dtype);
                    cases.push(sketch.case(&mut n));
                }
            }
        }
    }
    cases
}

fn assert_right(case: &Case) {
    let outputs =
        run(&case.model, &case.inputs).unwrap_or_else(|e| panic!("{e}: {:?}", case.model));
    assert_eq!(outputs.len(), case.expected.len());
    for (output, expected) in outputs.iter().zip(&case.expected) {
        assert_eq!(compare(expected, output), Ok(()), "{:?}", case.model);
        // `compare` ignores the signs of zeros and the bits of NaNs; this test does not.
        assert_eq!(output, expected, "{:?}", case.model);
    }
}

#[test]
fn thousands_of_models_are_right_to_the_last_bit() {
    let cases = cases(1, 8);
    assert!(cases.len() > 5000, "{}", cases.len());
    cases.iter().for_each(assert_right);
    println!("{} models", cases.len());
}

#[test]
fn axes_beyond_65535_are_right() {
    let mut n = Bits::new(2);
    for (op, shape, axis) in [
        (Op::ArgMin, vec![70_000], 0),
        (Op::ArgMax, vec![2, 131_071], 1),
        (Op::ArgMin, vec![65_537, 2], 0),
        (Op::ReduceMin, vec![100_003], -1),
        (Op::ReduceMax, vec![2, 65_536], 1),
        (Op::ReduceMin, vec![70_001, 3], 1),
    ] {
        for (dtype, last) in [
            (DType::F32, false),
            (DType::U64, true),
            (DType::BF16, false),
            (DType::U8, true),
        ] {
            let sketch = Sketch {
                op,
                opset: 13,
                data: vec![random_tensor(&mut n, dtype, &shape)],
                axes: vec![axis],
                how: Axes::Attribute,
                keepdims: None,
                last: op.is_index().then_some(last),
                noop: None,
            };
            assert_right(&sketch.case(&mut n));
        }
    }
}

#[test]
fn chains_of_two_are_right() {
    let mut n = Bits::new(3);
    for round in 0..300 {
        let (first, second) = (*n.pick(&operators()), *n.pick(&operators()));
        let opset = *n.pick(&[13, 18, 20]);
        let dtype = *n.pick(&[DType::F32, DType::F16, DType::I64, DType::BF16, DType::U8]);
        if !takes(first, opset, dtype) {
            continue;
        }
        let a = Sketch::random(&mut n, first, opset, dtype);
        let middle = a.expected();
        let scalar = middle.shape().is_empty();
        let empty = middle.shape().contains(&0);
        let none = second.is_index() && (scalar || empty) || second == Op::ReduceMean && empty;
        if none || !takes(second, opset, middle.dtype()) {
            continue;
        }
        let b = Sketch {
            op: second,
            opset,
            data: vec![middle.clone()],
            axes: vec![],
            how: Axes::Default,
            keepdims: None,
            last: None,
            noop: None,
        };
        let mut case = a.case(&mut n);
        let graph = case.model.graph.as_mut().unwrap();
        graph.node.push(node(second.name(), &["y"], "z"));
        graph.output = vec![declare_open("z", b.expected().dtype())];
        case.expected = vec![b.expected()];
        if round % 2 == 0 {
            let first = declare("y", middle.dtype(), middle.shape());
            graph.output.push(first);
            case.expected.push(middle);
        }
        assert_right(&case);
    }
}
