//! Operators by opset: every cell of the standard's table, and every way to be refused.

use crate::support::*;
use std::error::Error;
use wgreduce::DType::{self, *};
use wgreduce::onnx::{AttributeProto, Input, NodeError, OnnxError, Operator, Tensor};
use wgreduce::{Op, Problem, ProblemError};

/// The newest opset that the tests use; the operators last changed in opset 20.
const NEWEST: i64 = 26;

const FLOATS: [DType; 3] = [F16, F32, F64];
const ALL_INTEGERS: [DType; 8] = [I8, I16, I32, I64, U8, U16, U32, U64];

/// The standard's type lists, written from its text and not from the library's table.
fn is_legal(op: Op, opset: i64, dtype: DType) -> bool {
    let integer = ALL_INTEGERS.contains(&dtype);
    FLOATS.contains(&dtype)
        || match op {
            Op::ArgMin | Op::ArgMax => integer || (dtype == BF16 && opset >= 13),
            Op::ReduceMin | Op::ReduceMax => match dtype {
                I32 | I64 | U32 | U64 => true,
                I8 | U8 => opset >= 12,
                BF16 => opset >= 13,
                Bool => opset >= 20,
                _ => false,
            },
            Op::ReduceSum | Op::ReduceMean | Op::ReduceL1 | Op::ReduceL2 | Op::ReduceSumSquare => {
                matches!(dtype, I32 | I64 | U32 | U64) || (dtype == BF16 && opset >= 13)
            }
            _ => (integer && opset >= 12) || (dtype == BF16 && opset >= 13),
        }
}

fn attempt(
    op: Op,
    opset: i64,
    attributes: &[AttributeProto],
    inputs: &[Tensor],
) -> Result<Tensor, OnnxError> {
    let outputs = run(&one_node(opset, op.name(), attributes, inputs), inputs)?;
    Ok(outputs.into_iter().next().unwrap())
}

#[test]
fn every_operator_runs_in_every_opset_on_its_types_and_refuses_the_others_by_name() {
    let (mut legal, mut refused) = (0, 0);
    for op in operators() {
        for opset in 1..=NEWEST {
            for dtype in DType::ALL {
                let input = zeros(dtype, &[2, 3]);
                match attempt(op, opset, &[], std::slice::from_ref(&input)) {
                    Ok(output) => {
                        assert!(is_legal(op, opset, dtype), "{op} {opset} {dtype} ran");
                        assert_eq!(output, of_zeros(op, dtype), "{op} {opset} {dtype}");
                        legal += 1;
                    }
                    Err(error) => {
                        assert!(!is_legal(op, opset, dtype), "{op} {opset} {dtype}: {error}");
                        assert_names(&error, op, opset, dtype);
                        refused += 1;
                    }
                }
            }
        }
    }
    assert_eq!(legal + refused, 11 * NEWEST * 13);
    assert!(legal > 1000 && refused > 400, "{legal}, {refused}");
}

/// The result of a 2x3 tensor of zeros, with ONNX's defaults.
fn of_zeros(op: Op, dtype: DType) -> Tensor {
    match op {
        Op::ArgMin | Op::ArgMax => zeros(I64, &[1, 3]),
        Op::Min | Op::Max => zeros(dtype, &[2, 3]),
        _ => zeros(dtype, &[1, 1]),
    }
}

fn assert_names(error: &OnnxError, op: Op, opset: i64, dtype: DType) {
    let OnnxError::Node { what, .. } = error else {
        panic!("{op} {opset} {dtype}: {error}");
    };
    match what {
        NodeError::IllegalType { dtype: t, legal } if *t == dtype => {
            assert!(!legal.contains(&dtype));
        }
        other => panic!("{op} {opset} {dtype}: {other:?}"),
    }
    let text = error.to_string();
    let name = dtype.onnx_name();
    let start = format!("{op} of opset {opset}: it does not take {name} (it takes ");
    assert!(text.starts_with(&start), "{text}");
}

#[test]
fn a_higher_opset_means_the_newest_version_at_or_below_it() {
    let others = &Op::SUMS[1..];
    let versions: [(&[Op], &[i64]); 5] = [
        (&[Op::ArgMin, Op::ArgMax], &[1, 11, 12, 13]),
        (&[Op::ReduceMin, Op::ReduceMax], &[1, 11, 12, 13, 18, 20]),
        (&[Op::Min, Op::Max], &[1, 6, 8, 12, 13]),
        (&[Op::ReduceSum], &[1, 11, 13]),
        (others, &[1, 11, 13, 18]),
    ];
    for (ops, since) in versions {
        for (op, opset) in ops.iter().flat_map(|op| (1..=NEWEST).map(move |v| (op, v))) {
            let operator = Operator::new(op.name(), "", opset, &[]).unwrap();
            let newest = since.iter().copied().filter(|v| *v <= opset).max();
            assert_eq!(Some(operator.since()), newest, "{op} {opset}");
            assert_eq!((operator.op(), operator.opset()), (*op, opset));
        }
    }
}

#[test]
fn an_opset_before_the_first_is_refused() {
    for opset in [0, -1, i64::MIN] {
        let error = Operator::new("Min", "", opset, &[]).unwrap_err();
        assert_eq!(error, OnnxError::NoVersion { op: Op::Min, opset });
    }
    assert_eq!(Operator::new("Min", "", i64::MAX, &[]).unwrap().since(), 13);
}

#[test]
fn only_our_operators_of_the_default_domain_exist() {
    for domain in ["", "ai.onnx"] {
        assert_eq!(Operator::new("Max", domain, 13, &[]).unwrap().op(), Op::Max);
    }
    for (op_type, domain) in [
        ("Constant", ""),
        ("argmin", ""),
        ("Extremes", ""),
        ("ArgMaxAbs", ""),
        ("ReduceMaxAbs", ""),
        ("", ""),
        ("Min", "ai.onnx.ml"),
        ("Min", "com.microsoft"),
    ] {
        let error = Operator::new(op_type, domain, 13, &[]).unwrap_err();
        let (op_type, domain) = (op_type.to_string(), domain.to_string());
        assert!(error.to_string().contains(&op_type) && error.to_string().contains(&domain));
        assert_eq!(error, OnnxError::UnknownOperator { op_type, domain });
    }
}

/// The attributes of each operator by opset, from the standard's text.
fn has_attribute(op: Op, opset: i64, attribute: &str) -> bool {
    match (op, attribute) {
        (Op::ArgMin | Op::ArgMax, "axis") => true,
        (Op::ArgMin | Op::ArgMax, "select_last_index") => opset >= 12,
        (Op::Min | Op::Max, "consumed_inputs") => opset < 6,
        (Op::Min | Op::Max, _) => false,
        (_, "keepdims") => true,
        (Op::ArgMin | Op::ArgMax, _) => false,
        (_, "axes") => opset < axes_input_since(op),
        (_, "noop_with_empty_axes") => opset >= axes_input_since(op),
        _ => false,
    }
}

#[test]
fn every_attribute_is_known_exactly_where_the_standard_has_it() {
    let attributes = [
        AttributeProto::int("axis", 0),
        AttributeProto::ints("axes", &[0]),
        AttributeProto::int("keepdims", 1),
        AttributeProto::int("select_last_index", 0),
        AttributeProto::int("noop_with_empty_axes", 0),
        AttributeProto::ints("consumed_inputs", &[0]),
        AttributeProto::int("alpha", 0),
        AttributeProto::int("Axis", 0),
        AttributeProto::int("", 0),
    ];
    for op in operators() {
        for opset in 1..=NEWEST {
            for attribute in &attributes {
                let name = &attribute.name;
                let made = Operator::new(op.name(), "", opset, std::slice::from_ref(attribute));
                let legal = has_attribute(op, opset, name);
                assert_eq!(made.is_ok(), legal, "{op} {opset} {name}");
                let Err(error) = made else { continue };
                let text = error.to_string();
                let start = format!("{op} of opset {opset}: it has no attribute {name:?}");
                assert!(text.starts_with(&start), "{text}");
            }
        }
    }
}

#[test]
fn attributes_of_another_type_are_refused() {
    let changed = |change: fn(&mut AttributeProto)| {
        let mut axis = AttributeProto::int("axis", 1);
        change(&mut axis);
        axis
    };
    for wrong in [
        changed(|a| {
            (a.i, a.f, a.r#type) = (None, Some(1.0), AttributeProto::FLOAT);
        }),
        changed(|a| {
            (a.i, a.s, a.r#type) = (None, Some(b"1".to_vec()), AttributeProto::STRING);
        }),
        AttributeProto::ints("axis", &[1]),
        // Two values, the name of another type, nothing at all, and a reference.
        changed(|a| a.f = Some(1.0)),
        changed(|a| a.r#type = AttributeProto::FLOAT),
        named_attribute("axis"),
        changed(|a| a.ref_attr_name = "outer".into()),
    ] {
        let made = Operator::new("ArgMax", "", 13, std::slice::from_ref(&wrong));
        let expected = "ArgMax of opset 13: attribute axis must be of type INT";
        assert_eq!(told(made), expected, "{wrong:?}");
    }
}

fn named_attribute(name: &str) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        ..Default::default()
    }
}

#[test]
fn an_attribute_without_its_type_is_read_by_its_value() {
    let untyped = AttributeProto {
        i: Some(1),
        ..named_attribute("axis")
    };
    let operator = Operator::new("ArgMin", "", 1, &[untyped]).unwrap();
    let problem = operator.problem(&[Some(input(F32, &[4, 5]))]).unwrap();
    assert_eq!(problem, Problem::arg_min(F32, &[4, 5], 1).unwrap());
}

#[test]
fn a_switch_is_zero_or_one() {
    for (op, attribute) in [
        (Op::ArgMin, "keepdims"),
        (Op::ArgMax, "select_last_index"),
        (Op::ReduceMin, "noop_with_empty_axes"),
    ] {
        let new = |value| {
            let switch = AttributeProto::int(attribute, value);
            Operator::new(op.name(), "", 20, &[switch])
        };
        assert!(new(0).is_ok() && new(1).is_ok());
        for value in [2, -1, i64::MAX] {
            let refused = format!("attribute {attribute} must be 0 or 1, not {value}");
            assert_eq!(told(new(value)), format!("{op} of opset 20: {refused}"));
        }
    }
}

fn input(dtype: DType, shape: &[u64]) -> Input<'_> {
    Input {
        dtype,
        shape,
        data: None,
    }
}

#[test]
fn axes_are_an_input_from_opset_18_and_of_reduce_sum_from_13() {
    let inputs = [zeros(F32, &[2, 3]), tensor(&[1], &[0i64])];
    for op in operators()
        .into_iter()
        .filter(|op| op.name().starts_with("Reduce"))
    {
        for opset in 1..=NEWEST {
            let ran = attempt(op, opset, &[], &inputs);
            if opset >= axes_input_since(op) {
                assert_eq!(ran.unwrap(), zeros(F32, &[1, 3]));
            } else {
                let refused = format!("{op} of opset {opset}: it takes one input, not 2");
                assert_eq!(told(ran), refused);
            }
        }
    }
}

#[test]
fn a_mean_of_no_integers_runs_if_nothing_is_reduced() {
    let (op, opset) = (Op::ReduceMean, 18);
    let data = [zeros(I32, &[2, 0])];
    let noop = AttributeProto::int("noop_with_empty_axes", 1);
    assert_eq!(attempt(op, opset, &[noop], &data).unwrap(), data[0]);
    // A mean of no floats is NaN.
    let floats = [zeros(F32, &[2, 0]), tensor(&[1], &[1i64])];
    let output = attempt(op, opset, &[], &floats).unwrap();
    let nans = [0x7fc0_0000u32; 2].map(f32::from_bits);
    assert_eq!(output, tensor(&[2, 1], &nans));
}

#[test]
fn axes_out_of_range_are_refused_as_written() {
    let data = [zeros(F32, &[2, 3])];
    for axis in [2, -3, i64::MIN, i64::MAX] {
        for (op, opset, attribute) in [
            (Op::ArgMin, 11, AttributeProto::int("axis", axis)),
            (Op::ReduceMax, 1, AttributeProto::ints("axes", &[0, axis])),
        ] {
            let error = attempt(op, opset, &[attribute], &data).unwrap_err();
            let what = ProblemError::AxisOutOfRange { axis, rank: 2 }.into();
            assert_eq!(error, OnnxError::Node { op, opset, what });
            let text = format!("{op} of opset {opset}: axis {axis} is out of range for rank 2");
            assert!(error.to_string().starts_with(&text), "{error}");
            let within = error.source().and_then(Error::source);
            assert!(within.is_some_and(<dyn Error>::is::<ProblemError>));
        }
    }
}

#[test]
fn index_operators_need_a_dimension_and_an_element() {
    for opset in 1..=NEWEST {
        let of = |op, shape: &[u64]| told(attempt(op, opset, &[], &[zeros(F32, shape)]));
        let scalar = "it needs an input with at least one dimension";
        let expected = format!("ArgMin of opset {opset}: {scalar}");
        assert_eq!(of(Op::ArgMin, &[]), expected);
        let empty = "ArgMax over axis 0 of shape [0, 3]: the axis has no element to point to";
        let expected = format!("ArgMax of opset {opset}: {empty}");
        assert_eq!(of(Op::ArgMax, &[0, 3]), expected);
    }
}

#[test]
fn min_and_max_broadcast_only_from_opset_8() {
    let inputs = [
        tensor(&[2, 2], &[1f32, 5., 3., 7.]),
        tensor(&[2], &[4f32, 4.]),
    ];
    for opset in 1..=NEWEST {
        let ran = attempt(Op::Min, opset, &[], &inputs);
        if opset >= 8 {
            assert_eq!(ran.unwrap(), tensor(&[2, 2], &[1f32, 4., 3., 4.]));
        } else {
            let refused = "it does not broadcast: input 1 has shape [2], the first input [2, 2]";
            assert_eq!(told(ran), format!("Min of opset {opset}: {refused}"));
        }
        let equal = [inputs[0].clone(), inputs[0].clone()];
        assert_eq!(attempt(Op::Max, opset, &[], &equal).unwrap(), inputs[0]);
    }
}

#[test]
fn consumed_inputs_of_the_first_min_change_nothing() {
    let inputs = [tensor(&[2], &[1f32, 5.]), tensor(&[2], &[4f32, 2.])];
    for consumed in [&[0, 1][..], &[], &[7, -1, 3]] {
        let attribute = AttributeProto::ints("consumed_inputs", consumed);
        let output = attempt(Op::Min, 5, &[attribute], &inputs).unwrap();
        assert_eq!(output, tensor(&[2], &[1f32, 2.]));
    }
}

#[test]
fn attributes_that_do_not_fit_are_refused_by_name() {
    let new = |op, opset, attributes: &[_]| told(Operator::new(op, "", opset, attributes));
    let [axis, axes] = ["axis", "axes"].map(|name| AttributeProto::int(name, 1));
    let last = AttributeProto::int("select_last_index", 1);
    let list = AttributeProto::ints("axes", &[0]);
    let told = [
        new("ArgMin", 11, &[last]),
        new("ReduceMax", 18, &[list]),
        new("ArgMin", 13, &[axis.clone(), axis]),
        new("ReduceMin", 13, &[axes]),
    ];
    let text = r#"
        ArgMin of opset 11: it has no attribute "select_last_index" (versions [12, 13] have it)
        ReduceMax of opset 18: it has no attribute "axes" (versions [1, 11, 12, 13] have it)
        ArgMin of opset 13: attribute axis is given twice
        ReduceMin of opset 13: attribute axes must be of type INTS
    "#;
    assert_told(told, text);
}

#[test]
fn inputs_that_do_not_fit_are_refused_with_what_is_wrong() {
    let refused = |op, opset, inputs: &[_]| told(attempt(op, opset, &[], inputs));
    let data = || zeros(F32, &[2, 3]);
    let [two, three] = [[2], [3]].map(|shape| zeros(F32, &shape));
    let told = [
        refused(Op::ReduceMin, 20, &[data(), tensor(&[1], &[0i32])]),
        refused(Op::ReduceMin, 20, &[data(), tensor(&[], &[0i64])]),
        refused(Op::ReduceMin, 20, &[data(), tensor(&[1, 1], &[0i64])]),
        refused(Op::ReduceMin, 18, &[data(), tensor(&[2], &[1i64, -1])]),
        refused(Op::ReduceMean, 18, &[zeros(I32, &[2, 0])]),
        refused(Op::Min, 13, &[two.clone(), zeros(F64, &[2])]),
        refused(Op::Min, 13, &[two, three]),
        refused(Op::ArgMin, 20, &[]),
        refused(Op::ArgMin, 20, &[data(), data()]),
        refused(Op::ReduceMin, 20, &[]),
        refused(Op::ReduceMin, 20, &[data(), data(), data()]),
        refused(Op::Max, 20, &[]),
    ];
    let text = "
        ReduceMin of opset 20: axes must be int64 with one dimension, not int32 of shape [1]
        ReduceMin of opset 20: axes must be int64 with one dimension, not int64 of shape []
        ReduceMin of opset 20: axes must be int64 with one dimension, not int64 of shape [1, 1]
        ReduceMin of opset 18: axis -1 names the same dimension as axis 1: axes must differ
        ReduceMean of opset 18: \
        ReduceMean over axis 1 of shape [2, 0]: the axis has no element to average
        Min of opset 13: input 1 is double, the first input float
        Min of opset 13: input 1 of shape [3] does not broadcast with [2] \
        (dimensions must be equal or 1, aligned at the last)
        ArgMin of opset 20: it takes one input, not 0
        ArgMin of opset 20: it takes one input, not 2
        ReduceMin of opset 20: it takes one or two inputs, not 0
        ReduceMin of opset 20: it takes one or two inputs, not 3
        Max of opset 20: it takes at least one input, not 0
    ";
    assert_told(told, text);
    let many = vec![data(); 40];
    assert_eq!(attempt(Op::Max, 20, &[], &many).unwrap(), data());
}

#[test]
fn an_absent_input_may_be_only_at_the_end_and_axes_must_be_known() {
    let data = Some(input(F32, &[2, 3]));
    let axes = |shape, data| {
        let dtype = I64;
        Some(Input { dtype, shape, data })
    };
    let [reduce, min] = ["ReduceMin", "Min"].map(|op| Operator::new(op, "", 18, &[]).unwrap());
    let all = Problem::reduce_min(F32, &[2, 3], &[]).unwrap();
    assert_eq!(reduce.problem(&[data, None]).unwrap(), all);
    let told = [
        told(reduce.problem(&[None, axes(&[0], Some(&[]))])),
        told(min.problem(&[data, None, data])),
        told(min.problem(&[None])),
        told(reduce.problem(&[data, axes(&[2], None)])),
        told(reduce.problem(&[data, axes(&[2], Some(&[0; 15]))])),
    ];
    let text = "
        ReduceMin of opset 18: input 0 must not be absent
        Min of opset 18: input 1 must not be absent
        Min of opset 18: it takes at least one input, not 0
        ReduceMin of opset 18: the values of the axes must be known, 16 bytes
        ReduceMin of opset 18: the values of the axes must be known, 16 bytes
    ";
    assert_told(told, text);
}
