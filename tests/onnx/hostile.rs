//! Files made to break a reader: each is refused or read, and none panics.

use crate::held_out::cases;
use crate::support::*;
use proptest::prelude::*;
use prost::Message;
use std::sync::LazyLock;
use wgreduce::onnx::proto::*;
use wgreduce::onnx::{AttributeProto, Model, OnnxError, RunError, Tensor};
use wgreduce::{DType, Problem};

/// Models with initializers, chains and all kinds of attributes, as bytes, with inputs.
static SEEDS: LazyLock<Vec<(Vec<u8>, Vec<Tensor>)>> = LazyLock::new(|| {
    let seeds = cases(7, 1).into_iter().step_by(9);
    seeds
        .map(|case| (case.model.encode_to_vec(), case.inputs))
        .collect()
});

/// Reads a model and, if that works, runs it, but evaluates no result above 1 MiB.
fn survive(bytes: &[u8], inputs: &[Tensor]) {
    let Ok(model) = Model::decode(bytes) else {
        return;
    };
    let inputs: Vec<Option<Tensor>> = inputs.iter().cloned().map(Some).collect();
    let result = model.run(&inputs, |problem, data| {
        let wanted: u64 = problem.outputs().iter().map(|o| o.bytes()).sum();
        // Only a mutated initializer could ask for more, by broadcasting.
        match wanted > 1 << 20 {
            true => Err(None),
            false => evaluate(problem, data).map_err(Some),
        }
    });
    match result {
        Ok(outputs) => outputs.iter().for_each(|output| {
            assert_eq!(Tensor::decode(&output.encode("y")).as_ref(), Ok(output));
        }),
        Err(RunError::Evaluate(Some(error))) => panic!("a model posed an unfit problem: {error}"),
        Err(RunError::Onnx(error @ OnnxError::Evaluation { .. })) => panic!("{error}"),
        Err(_) => {}
    }
}

proptest! {
    #![proptest_config(support::property(2000))]

    #[test]
    fn mutated_models_are_refused_or_run(
        seed in 0..1000usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (bytes, inputs) = &SEEDS[seed % SEEDS.len()];
        let mut bytes = bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survive(&bytes, inputs);
    }

    #[test]
    fn mutated_tensors_are_refused_or_backed_by_the_file(
        dtype in 0..13usize,
        typed: bool,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let tensor = zeros(DType::ALL[dtype], &[3, 2]);
        let mut bytes = match typed {
            true => typed_proto(&tensor, "t").encode_to_vec(),
            false => tensor.encode("t"),
        };
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(tensor) = Tensor::decode(&bytes) {
            // A packed number of one byte takes at most eight bytes in memory.
            prop_assert!(tensor.bytes().len() <= bytes.len() * 8);
        }
    }
}

#[test]
fn every_truncation_of_a_model_and_of_a_tensor_is_refused_or_run() {
    let mut refused = 0;
    for (bytes, inputs) in SEEDS.iter().take(20) {
        for length in 0..bytes.len() {
            survive(&bytes[..length], inputs);
            refused += usize::from(Model::decode(&bytes[..length]).is_err());
        }
    }
    assert!(refused > 1000, "{refused}");
    let tensor = tensor(&[2, 3], &[1f32; 6]).encode("t");
    for length in 0..tensor.len() {
        assert!(Tensor::decode(&tensor[..length]).is_err(), "{length}");
    }
}

/// Checks that bytes were refused as no message of a kind.
fn is_no_message<T: std::fmt::Debug>(read: Result<T, OnnxError>, kind: &str) {
    match read {
        Err(OnnxError::Protobuf { what, .. }) => assert_eq!(what, kind),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_length_beyond_the_file_is_refused_without_being_allocated() {
    // Field 9 (raw_data) and field 4 (float_data) claim 2^40 bytes.
    for tag in [0x4a, 0x22] {
        let bytes = [0x10, 1, tag, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 0];
        is_no_message(Tensor::decode(&bytes), "TensorProto");
    }
}

#[test]
fn deep_nesting_and_unknown_fields_do_not_matter() {
    // Nested groups in an unknown field: the protobuf crate limits their depth.
    let nested = [0xfb, 0x07].repeat(100_000);
    is_no_message(Model::decode(&nested), "ModelProto");
    let x = zeros(DType::F32, &[2]);
    let mut unknown = one_node(13, "Min", &[], std::slice::from_ref(&x)).encode_to_vec();
    unknown.extend([0xfa, 0x07, 3, 1, 2, 3]);
    let model = Model::decode(&unknown).unwrap();
    assert_eq!(model.run(&[Some(x.clone())], evaluate).unwrap(), [x]);
}

#[test]
fn names_that_are_no_text_are_refused() {
    let mut bytes = one_node(13, "Min", &[], &[zeros(DType::F32, &[2])]).encode_to_vec();
    let at = bytes.windows(3).position(|w| w == b"Min").unwrap();
    bytes[at] = 0xff;
    is_no_message(Model::decode(&bytes), "ModelProto");
}

#[test]
fn many_nodes_and_many_axes_are_no_trouble() {
    let x = zeros(DType::F32, &[2]);
    let mut long = one_node(13, "Min", &[], std::slice::from_ref(&x));
    let graph = long.graph.as_mut().unwrap();
    let name = |i: usize| if i == 0 { "x0".into() } else { format!("v{i}") };
    let min = |i| node("Min", &[&name(i)], &name(i + 1));
    graph.node = (0..5000).map(min).collect();
    graph.output = vec![named("v5000")];
    let input = std::slice::from_ref(&x);
    assert_eq!(run(&long, input).unwrap(), input);
    let axes = AttributeProto::ints("axes", &[0; 100_000]);
    let many = one_node(13, "ReduceMin", &[axes], std::slice::from_ref(&x));
    let text = "ReduceMin of opset 13: axis 0 names the same dimension as axis 0: axes must differ";
    assert_eq!(told(run(&many, &[x])), text);
}

#[test]
fn many_nodes_that_take_k_are_read_at_once() {
    // If each looked through all others, these would take minutes.
    let x = zeros(DType::F32, &[2]);
    let k = Tensor::new(DType::I64, &[1], 1i64.to_le_bytes().to_vec()).unwrap();
    let mut many = one_node(11, "TopK", &[], &[x.clone(), k.clone()]);
    let graph = many.graph.as_mut().unwrap();
    let top = |i: usize| NodeProto {
        output: vec![format!("v{i}"), format!("i{i}")],
        ..node("TopK", &["x0", "x1"], "")
    };
    graph.node = (0..100_000).map(top).collect();
    graph.output = vec![named("v0")];
    let start = std::time::Instant::now();
    Model::decode(&many.encode_to_vec()).unwrap();
    let took = start.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
}

/// A small file can name one tensor as many inputs, or as the data of many nodes.
#[test]
fn shapes_of_many_dimensions_are_bounded_as_results_are() {
    let limit = (1 << 31) - 1;
    let refused = RunError::Onnx(OnnxError::ResultTooLarge { limit });
    let inputs =
        [&[1; 20_000][..], &[1, 46_340], &[46_340, 1]].map(|shape| zeros(DType::U8, shape));
    let run = |nodes: &[(usize, &str)]| {
        let mut proto = one_node(13, "Min", &[], &inputs);
        let graph = proto.graph.as_mut().unwrap();
        let (long, wide) = ("x0", ["x1", "x2"]);
        let of = |&(count, name): &(usize, &str)| match count {
            0 => node("Min", &wide, name),
            _ => node("Min", &vec![long; count], name),
        };
        graph.node = nodes.iter().map(of).collect();
        graph.output = vec![named("x0")];
        let model = Model::decode(&proto.encode_to_vec()).unwrap();
        // The system does not back zeroed memory that nobody touches.
        let evaluate = |problem: &Problem, _: &[&[u8]]| {
            Ok::<_, String>(vec![vec![0; problem.outputs()[0].bytes() as usize]])
        };
        model.run(&inputs.clone().map(Some), evaluate)
    };
    let right = [inputs[0].clone()];
    assert_eq!(run(&[(100, "a"), (1, "b")]).unwrap(), right);
    assert_eq!(run(&[(13_500, "a")]).unwrap_err(), refused);
    // The elements of `a` leave fewer bytes than the shape of `b` takes.
    assert_eq!(run(&[(0, "a")]).unwrap(), right);
    assert_eq!(run(&[(0, "a"), (1, "b")]).unwrap_err(), refused);
}

#[test]
fn a_tensor_of_very_many_dimensions_runs() {
    let x = zeros(DType::F32, &[1; 1000]);
    let proto = one_node(13, "ReduceMin", &[], std::slice::from_ref(&x));
    assert_eq!(run(&proto, std::slice::from_ref(&x)).unwrap(), [x]);
    let declared = TensorProto {
        dims: vec![1; 100_000],
        data_type: 2,
        ..Default::default()
    };
    assert!(Tensor::decode(&declared.encode_to_vec()).is_err());
}
