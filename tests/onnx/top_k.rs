//! TopK by opset: types, attributes, where k comes from, and every way to be refused.

use crate::support::*;
use wgreduce::DType::{self, *};
use wgreduce::ProblemError;
use wgreduce::onnx::proto::GraphProto;
use wgreduce::onnx::{AttributeProto, OnnxError, Operator, Tensor};

const NEWEST: i64 = 26;

/// A model of one TopK node, whose k is an input from opset 10 on.
fn top_k(
    opset: i64,
    attributes: &[AttributeProto],
    data: Tensor,
    k: Tensor,
) -> Result<Vec<Tensor>, OnnxError> {
    let mut inputs = vec![data, k];
    if opset < 10 {
        inputs.pop();
    }
    let mut proto = one_node(opset, "TopK", attributes, &inputs);
    let graph = proto.graph.as_mut().unwrap();
    graph.node[0].output = vec!["values".into(), "indices".into()];
    graph.output = vec![named("values"), named("indices")];
    run(&proto, &inputs)
}

fn k(k: i64) -> Tensor {
    tensor(&[1], &[k])
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto::int(name, value)
}

#[test]
fn every_opset_takes_its_types_and_attributes() {
    for opset in 1..=NEWEST {
        for dtype in DType::ALL {
            let integer = !matches!(dtype, F16 | F32 | F64 | BF16 | Bool);
            let legal = matches!(dtype, F16 | F32 | F64)
                || (integer && opset >= 11)
                || (dtype == BF16 && opset >= 24);
            let attributes = match opset < 10 {
                true => vec![int("k", 2)],
                false => vec![],
            };
            match top_k(opset, &attributes, zeros(dtype, &[2, 3]), k(2)) {
                Ok(outputs) => {
                    assert!(legal, "{opset} {dtype} ran");
                    // The last axis, and of equal elements the first ones.
                    let indices = tensor(&[2, 2], &[0i64, 1, 0, 1]);
                    assert_eq!(outputs, [zeros(dtype, &[2, 2]), indices], "{opset} {dtype}");
                }
                Err(error) => {
                    assert!(!legal, "{opset} {dtype}: {error}");
                    let (text, name) = (error.to_string(), dtype.onnx_name());
                    let start = format!("TopK of opset {opset}: it does not take {name} (");
                    assert!(text.starts_with(&start), "{text}");
                }
            }
        }
        for (name, since, until) in [
            ("axis", 1, NEWEST),
            ("largest", 11, NEWEST),
            ("sorted", 11, NEWEST),
            ("k", 1, 9),
            ("keepdims", 0, 0),
            ("select_last_index", 0, 0),
        ] {
            let mut attributes = vec![int(name, 1)];
            if opset < 10 && name != "k" {
                attributes.push(int("k", 1));
            }
            let made = Operator::new("TopK", "", opset, &attributes);
            let legal = (since..=until).contains(&opset);
            assert_eq!(made.is_ok(), legal, "{opset} {name}");
        }
    }
}

#[test]
fn axis_direction_and_order_are_the_nodes() {
    let data = || tensor(&[2, 3], &[5.0f32, -1.0, 5.0, 0.0, 7.0, -2.0]);
    let run =
        |attributes: &[AttributeProto], of: i64| top_k(11, attributes, data(), k(of)).unwrap();
    let largest = [
        tensor(&[2, 2], &[5.0f32, 5.0, 7.0, 0.0]),
        tensor(&[2, 2], &[0i64, 2, 1, 0]),
    ];
    assert_eq!(run(&[], 2), largest);
    // An unsorted result may have any order, and has the sorted one.
    assert_eq!(run(&[int("sorted", 0)], 2), largest);
    let smallest = [
        tensor(&[1, 3], &[0.0f32, -1.0, -2.0]),
        tensor(&[1, 3], &[1i64, 0, 1]),
    ];
    assert_eq!(run(&[int("axis", 0), int("largest", 0)], 1), smallest);
    assert_eq!(run(&[int("axis", -2), int("largest", 0)], 1), smallest);
    assert_eq!(run(&[], 0), [zeros(F32, &[2, 0]), zeros(I64, &[2, 0])]);
}

#[test]
fn k_is_an_initializer_a_constant_or_an_input() {
    let data = tensor(&[4], &[3i32, 1, 4, 1]);
    let expected = [tensor(&[2], &[4i32, 3]), tensor(&[2], &[2i64, 0])];
    let graph = |constants: GraphProto| {
        let mut top = node("TopK", &["x", "k"], "values");
        top.output.push("indices".into());
        let mut nodes = constants.node;
        nodes.push(top);
        GraphProto {
            node: nodes,
            input: vec![declare("x", I32, &[4])],
            output: vec![named("values"), named("indices")],
            initializer: constants.initializer,
            ..Default::default()
        }
    };
    let initializer = GraphProto {
        initializer: vec![typed_proto(&k(2), "k")],
        ..Default::default()
    };
    let proto = model(11, graph(initializer));
    assert_eq!(run(&proto, std::slice::from_ref(&data)).unwrap(), expected);
    let ints = AttributeProto::ints("value_ints", &[2]);
    let constant = GraphProto {
        node: vec![with(node("Constant", &[], "k"), &[ints])],
        ..Default::default()
    };
    let proto = model(13, graph(constant));
    assert_eq!(run(&proto, std::slice::from_ref(&data)).unwrap(), expected);
    assert_eq!(top_k(11, &[], data.clone(), k(2)).unwrap(), expected);
    let scalar = tensor(&[], &[2i64]);
    assert_eq!(top_k(11, &[], data.clone(), scalar).unwrap(), expected);
    // What a node computes is not known before it ran.
    let computed = GraphProto {
        node: vec![node("ArgMax", &["x"], "k")],
        ..Default::default()
    };
    let told = told(run(&model(13, graph(computed)), &[data]));
    let text = "K must be a constant or an input, not \"k\", which a node computes";
    assert_eq!(told, format!("TopK of opset 13: {text}"));
}

#[test]
fn what_does_not_fit_is_told_with_its_numbers() {
    let data = || zeros(F32, &[2, 3]);
    let refused = |attributes: &[_], k| told(top_k(11, attributes, data(), k));
    let one = zeros(F32, &[3]);
    let mut proto = one_node(11, "TopK", &[], std::slice::from_ref(&one));
    let outputs = told(run(&proto, std::slice::from_ref(&one)));
    let node = &mut proto.graph.as_mut().unwrap().node[0];
    node.output.push("indices".into());
    let told = [
        refused(&[], k(4)),
        refused(&[int("axis", 0)], k(-1)),
        told(top_k(1, &[int("k", i64::MIN)], data(), k(0))),
        refused(&[], tensor(&[2], &[1i64, 1])),
        refused(&[], tensor(&[1, 1], &[1i64])),
        refused(&[], tensor(&[1], &[1i32])),
        refused(&[], tensor::<i64>(&[0], &[])),
        told(Operator::new("TopK", "", 9, &[])),
        told(top_k(11, &[], zeros(F32, &[]), k(1))),
        outputs,
        told(run(&proto, &[one])),
    ];
    let text = "
        TopK of opset 11: k is 4, more than the 3 elements of the axis
        TopK of opset 11: k is -1 for an axis of 2 elements, and must be 0 or more
        TopK of opset 1: k is -9223372036854775808 for an axis of 3 elements, and must be 0 or more
        TopK of opset 11: K must be one int64 of a known value, not int64 of shape [2]
        TopK of opset 11: K must be one int64 of a known value, not int64 of shape [1, 1]
        TopK of opset 11: K must be one int64 of a known value, not int32 of shape [1]
        TopK of opset 11: K must be one int64 of a known value, not int64 of shape [0]
        TopK of opset 9: it needs the attribute k
        TopK of opset 11: it needs an input with at least one dimension
        TopK of opset 11: it has two outputs, not 1
        TopK of opset 11: it takes two inputs, not 1
    ";
    assert_told(told, text);
    // The axis is checked before k.
    for axis in [2, -3, i64::MAX, i64::MIN] {
        for of in [-1, 1] {
            let out = ProblemError::AxisOutOfRange { axis, rank: 2 };
            let told = refused(&[int("axis", axis)], k(of));
            assert_eq!(told, format!("TopK of opset 11: {out}"));
        }
    }
}
