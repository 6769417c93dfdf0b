//! Graphs: names, order, constants, defaults, declared types and shapes, chains.

use crate::support::*;
use wgreduce::DType::*;
use wgreduce::Problem;
use wgreduce::onnx::proto::*;
use wgreduce::onnx::{Model, OnnxError, RunError, Tensor};

fn graph(nodes: Vec<NodeProto>, inputs: Vec<ValueInfoProto>, outputs: &[&str]) -> GraphProto {
    GraphProto {
        node: nodes,
        input: inputs,
        output: outputs.iter().map(|name| named(name)).collect(),
        ..Default::default()
    }
}

fn decode(proto: ModelProto) -> Result<Model, OnnxError> {
    Model::from_proto(proto)
}

fn data() -> Tensor {
    tensor(&[2, 3], &[5f32, 1., 4., 2., 9., 3.])
}

#[test]
fn axes_may_be_computed_by_another_node() {
    let axis = AttributeProto::int("axis", 0);
    let axes = with(node("ArgMax", &["p"], "axes"), &[axis]);
    let nodes = vec![axes, node("ReduceMin", &["x", "axes"], "y")];
    let inputs = vec![declare("p", I32, &[2]), declare("x", F32, &[2, 3])];
    let chain = model(18, graph(nodes, inputs, &["y"]));
    for (p, expected) in [
        ([7, 1], tensor(&[1, 3], &[2f32, 1., 3.])),
        ([1, 7], tensor(&[2, 1], &[1f32, 2.])),
    ] {
        let outputs = run(&chain, &[tensor(&[2], &p), data()]);
        assert_eq!(outputs.unwrap(), [expected]);
    }
}

#[test]
fn an_input_may_have_a_default() {
    let axes = tensor(&[1], &[-1i64]);
    let nodes = vec![node("ReduceMin", &["x", "axes"], "y")];
    let inputs = vec![declare("x", F32, &[2, 3]), declare("axes", I64, &[1])];
    let graph = graph(nodes, inputs, &["y"]);
    for proto in [axes.to_proto("axes"), typed_proto(&axes, "axes")] {
        let mut default = graph.clone();
        default.initializer = vec![proto];
        let default = model(18, default);
        let expected = [tensor(&[2, 1], &[1f32, 2.])];
        assert_eq!(run(&default, &[data()]).unwrap(), expected);
        assert_eq!(run_with(&default, &[Some(data()), None]).unwrap(), expected);
        let other = tensor(&[1], &[0i64]);
        let right = [tensor(&[1, 3], &[2f32, 1., 3.])];
        assert_eq!(run(&default, &[data(), other]).unwrap(), right);
    }
    let told = told(run(&model(18, graph), &[data()]));
    assert_eq!(told, "input \"axes\" is missing and has no default");
}

#[test]
fn outputs_may_be_inputs_or_constants() {
    let mut through = graph(vec![], vec![declare("x", F32, &[2, 3])], &["c", "x"]);
    through.initializer = vec![tensor(&[], &[7u8]).to_proto("c")];
    let outputs = run(&model(13, through), &[data()]).unwrap();
    assert_eq!(outputs, [tensor(&[], &[7u8]), data()]);
}

#[test]
fn a_foreign_node_is_refused_by_name() {
    for (op_type, domain) in [("Constant", ""), ("Relu", ""), ("Min", "custom")] {
        let mut foreign = node(op_type, &[], "y");
        foreign.domain = domain.into();
        let error = decode(model(13, graph(vec![foreign], vec![], &["y"]))).unwrap_err();
        let (op_type, domain) = (op_type.into(), domain.into());
        assert_eq!(error, OnnxError::UnknownOperator { op_type, domain });
    }
}

/// A model of ReduceMin over axes that a `Constant` node gives.
fn with_constant(opset: i64, attributes: &[AttributeProto]) -> ModelProto {
    let constant = with(node("Constant", &[], "axes"), attributes);
    let nodes = vec![constant, node("ReduceMin", &["x", "axes"], "y")];
    let graph = graph(nodes, vec![declare("x", F32, &[2, 3])], &["y"]);
    model(opset, graph)
}

#[test]
fn axes_may_be_a_constant_node() {
    let axes = tensor(&[1], &[1i64]);
    for value in [
        AttributeProto::tensor("value", axes.to_proto("")),
        AttributeProto::tensor("value", typed_proto(&axes, "other")),
        AttributeProto::ints("value_ints", &[-1]),
    ] {
        let outputs = run(&with_constant(18, &[value]), &[data()]).unwrap();
        assert_eq!(outputs, [tensor(&[2, 1], &[1f32, 2.])]);
    }
    // The empty list is all axes.
    let none = AttributeProto::ints("value_ints", &[]);
    let outputs = run(&with_constant(18, &[none]), &[data()]).unwrap();
    assert_eq!(outputs, [tensor(&[1, 1], &[1f32])]);
    // Axes are a list, and this is a number.
    let one = AttributeProto::int("value_int", 1);
    let told = told(run(&with_constant(18, &[one]), &[data()]));
    let text = "axes must be int64 with one dimension, not int64 of shape []";
    assert_eq!(told, format!("ReduceMin of opset 18: {text}"));
}

#[test]
fn constant_nodes_may_be_data_and_outputs() {
    let float = |name: &str, value: f32| AttributeProto {
        name: name.into(),
        f: Some(value),
        r#type: AttributeProto::FLOAT,
        ..Default::default()
    };
    let floats = AttributeProto {
        name: "value_floats".into(),
        floats: vec![4., -1., 2.],
        r#type: AttributeProto::FLOATS,
        ..Default::default()
    };
    let nodes = vec![
        with(node("Constant", &[], "a"), &[float("value_float", 1.5)]),
        with(node("Constant", &[], "b"), &[floats]),
        node("Max", &["x", "a", "b"], "y"),
    ];
    let inputs = vec![declare("x", F32, &[2, 3])];
    let outputs = run(&model(13, graph(nodes, inputs, &["y", "b"])), &[data()]).unwrap();
    let expected = [5f32, 1.5, 4., 4., 9., 3.];
    let right = [tensor(&[2, 3], &expected), tensor(&[3], &[4f32, -1., 2.])];
    assert_eq!(outputs, right);
}

#[test]
fn a_constant_node_without_one_legal_value_is_refused() {
    let ints = || AttributeProto::ints("value_ints", &[1]);
    let value = || AttributeProto::tensor("value", tensor(&[1], &[1i64]).to_proto(""));
    let odd = || AttributeProto::int("value_string", 1);
    let all = "value, value_int, value_ints, value_float, value_floats";
    // Lists of numbers are values since opset 12.
    for (opset, attributes, legal) in [
        (18, vec![], all),
        (18, vec![value(), ints()], all),
        (18, vec![odd()], all),
        (11, vec![ints()], "value"),
    ] {
        let names: Vec<&str> = attributes.iter().map(|a| &*a.name).collect();
        let expected = format!(
            "Constant \"axes\" of opset {opset} has 0 inputs, 1 outputs and the attributes {names:?}; \
             it must have no input, one output and one of {legal}"
        );
        assert_eq!(told(decode(with_constant(opset, &attributes))), expected);
    }
    for (input, output) in [(&["x"][..], &["axes"][..]), (&[], &["axes", "more"])] {
        let mut proto = with_constant(18, &[ints()]);
        let node = &mut proto.graph.as_mut().unwrap().node[0];
        node.input = input.iter().map(|&name| name.into()).collect();
        node.output = output.iter().map(|&name| name.into()).collect();
        let text = told(decode(proto));
        let counts = format!("has {} inputs, {} outputs", input.len(), output.len());
        assert!(text.starts_with("Constant "), "{text}");
        assert!(text.contains(&counts), "{text}");
    }
    let wrong = AttributeProto::int("value_ints", 1);
    let text = "Constant \"axes\" of opset 18: attribute value_ints must be of type INTS";
    assert_eq!(told(decode(with_constant(18, &[wrong]))), text);
    let foreign = TensorProto {
        data_type: 8,
        ..tensor(&[1], &[1i64]).to_proto("s")
    };
    let foreign = AttributeProto::tensor("value", foreign);
    let text = told(decode(with_constant(18, &[foreign])));
    assert!(text.contains("has element type 8 (string)"), "{text}");
}

/// What else is wrong with such a model is not for us to say.
#[test]
fn a_foreign_node_is_told_before_everything_else() {
    let axes = AttributeProto::int("axes", 0);
    let ours = with(node("ArgMin", &["x"], "i"), &[axes]);
    let nodes = vec![ours, node("Softmax", &["nowhere"], "")];
    let mut proto = model(13, graph(nodes, vec![], &["y"]));
    proto.opset_import.clear();
    proto.functions.push(Unread {});
    let text = told(decode(proto));
    let words = "operator Softmax is not supported";
    assert!(text.starts_with(words), "{text}");
}

#[test]
fn the_opset_is_the_one_of_the_default_domain() {
    let inputs = || vec![declare("x", BF16, &[2])];
    let mut proto = model(0, graph(vec![node("Min", &["x"], "y")], inputs(), &["y"]));
    let x = zeros(BF16, &[2]);
    for imports in [
        vec![import("ai.onnx", 13), import("other", 1)],
        vec![import("other", 1), import("", 13)],
    ] {
        proto.opset_import = imports;
        let input = std::slice::from_ref(&x);
        assert_eq!(run(&proto, input).unwrap(), input);
    }
    proto.opset_import = vec![import("", 12), import("other", 13)];
    let text = told(run(&proto, &[x]));
    let start = "Min of opset 12: it does not take bfloat16 (it takes ";
    assert!(text.starts_with(start), "{text}");
    for imports in [vec![], vec![import("other", 13)]] {
        proto.opset_import = imports;
        assert_eq!(decode(proto.clone()).unwrap_err(), OnnxError::NoOpset);
    }
    for domain in ["", "ai.onnx"] {
        proto.opset_import = vec![import("", 13), import(domain, 13)];
        let text = format!("the model imports the domain {domain:?} twice");
        assert_eq!(told(decode(proto.clone())), text);
    }
}

#[test]
fn a_model_without_a_graph_is_refused() {
    assert_eq!(Model::decode(&[]).unwrap_err(), OnnxError::NoGraph);
}

#[test]
fn cyclic_unsorted_and_dangling_names_are_refused() {
    let x = || vec![declare("x", F32, &[2])];
    let early = |nodes: Vec<NodeProto>, name: &str| {
        let text = told(decode(model(13, graph(nodes, x(), &["b"]))));
        let early = format!(" uses {name:?} before it is computed: ");
        assert!(text.contains(&early), "{text}");
    };
    early(vec![node("Min", &["b"], "b")], "b");
    let cycle = vec![node("Min", &["x", "b"], "a"), node("Min", &["a"], "b")];
    early(cycle, "b");
    let unsorted = vec![node("Min", &["a"], "b"), node("Min", &["x"], "a")];
    early(unsorted, "a");
    for (nodes, outputs) in [
        (vec![node("Min", &["x", "nowhere"], "y")], &["y"]),
        (vec![node("Min", &["x"], "y")], &["nowhere"]),
    ] {
        let text = told(decode(model(13, graph(nodes, x(), outputs))));
        let words = " uses \"nowhere\", which nothing defines";
        assert!(text.ends_with(words), "{text}");
    }
}

#[test]
fn a_name_is_defined_once() {
    let x = declare("x", F32, &[2]);
    let min = |output| node("Min", &["x"], output);
    let twice = [
        graph(vec![min("x")], vec![x.clone()], &["x"]),
        graph(vec![min("y"), min("y")], vec![x.clone()], &["y"]),
        graph(vec![min("y")], vec![x.clone(), x.clone()], &["y"]),
        graph(vec![min("y")], vec![x.clone()], &["y", "y"]),
    ];
    for graph in twice {
        let error = decode(model(13, graph)).unwrap_err();
        assert!(matches!(error, OnnxError::DuplicateName { .. }), "{error}");
    }
    let constant = zeros(F32, &[2]).to_proto("c");
    let mut shadowed = graph(vec![min("c")], vec![x.clone()], &["c"]);
    shadowed.initializer = vec![constant.clone()];
    let mut doubled = graph(vec![min("y")], vec![x], &["y"]);
    doubled.initializer = vec![constant.clone(), constant];
    for graph in [shadowed, doubled] {
        let error = decode(model(13, graph)).unwrap_err();
        assert_eq!(error, OnnxError::DuplicateName { name: "c".into() });
    }
}

#[test]
fn what_is_defined_has_a_name() {
    let x = declare("x", F32, &[2]);
    let min = |output| vec![node("Min", &["x"], output)];
    let mut constant = graph(min("y"), vec![x.clone()], &["y"]);
    constant.initializer = vec![zeros(F32, &[2]).to_proto("")];
    for graph in [
        constant,
        graph(min(""), vec![x.clone()], &["x"]),
        graph(min("y"), vec![x.clone()], &["y", ""]),
        graph(min("y"), vec![x, declare("", F32, &[2])], &["y"]),
    ] {
        let error = decode(model(13, graph)).unwrap_err();
        assert!(matches!(error, OnnxError::Unnamed { .. }), "{error}");
    }
}

#[test]
fn a_node_has_one_output() {
    for outputs in [vec![], vec!["y".to_string(), "z".to_string()]] {
        let actual = outputs.len();
        let two = NodeProto {
            output: outputs,
            ..node("Min", &["x"], "")
        };
        let graph = graph(vec![two], vec![declare("x", F32, &[2])], &["x"]);
        let text = format!("Min of opset 13: it has one output, not {actual}");
        assert_eq!(told(decode(model(13, graph))), text);
    }
}

#[test]
fn functions_and_sparse_constants_are_refused() {
    let base = one_node(13, "Min", &[], &[zeros(F32, &[2])]);
    let mut functions = base.clone();
    functions.functions.push(Unread {});
    let mut sparse = base;
    let graph = sparse.graph.as_mut().unwrap();
    graph.sparse_initializer.push(Unread {});
    for (proto, what) in [(functions, "functions"), (sparse, "sparse initializers")] {
        assert_eq!(decode(proto).unwrap_err(), OnnxError::Unsupported { what });
    }
}

#[test]
fn a_bad_initializer_is_refused_by_name() {
    let mut outside = zeros(F32, &[2]).to_proto("c");
    outside.data_location = 1;
    let mut graph = graph(vec![node("Min", &["c"], "y")], vec![], &["y"]);
    graph.initializer = vec![outside];
    let error = decode(model(13, graph)).unwrap_err();
    assert_eq!(error, OnnxError::ExternalData { name: "c".into() });
}

#[test]
fn tensors_must_be_as_declared() {
    let x = || zeros(F32, &[2, 3]);
    let min = one_node(13, "Min", &[], &[x()]);
    let given = |inputs: &[_]| told(run(&min, inputs));
    let output = |y| {
        let mut proto = one_node(13, "ArgMin", &[], &[x()]);
        proto.graph.as_mut().unwrap().output = vec![y];
        run(&proto, &[x()])
    };
    let right = output(declare("y", I64, &[1, 3])).unwrap();
    assert_eq!(right, [zeros(I64, &[1, 3])]);
    let mut default = min.clone();
    let graph = default.graph.as_mut().unwrap();
    graph.initializer = vec![zeros(F32, &[3]).to_proto("x0")];
    let told = [
        given(&[zeros(F64, &[2, 3])]),
        given(&[zeros(F32, &[2, 4])]),
        given(&[zeros(F32, &[2])]),
        given(&[zeros(F32, &[2, 3, 1])]),
        given(&[zeros(F32, &[])]),
        given(&[x(), x()]),
        given(&[]),
        told(run(&default, &[])),
        told(output(declare("y", F32, &[1, 3]))),
        told(output(declare("y", I64, &[3]))),
    ];
    let text = r#"
        "x0" is double, declared as float
        "x0" has shape [2, 4], declared as [2, 3]
        "x0" has shape [2], declared as [2, 3]
        "x0" has shape [2, 3, 1], declared as [2, 3]
        "x0" has shape [], declared as [2, 3]
        the model has 1 inputs but was given 2
        input "x0" is missing and has no default
        "x0" has shape [3], declared as [2, 3]
        "y" is int64, declared as float
        "y" has shape [1, 3], declared as [3]
    "#;
    assert_told(told, text);
}

#[test]
fn open_dimensions_and_open_ranks_take_any_size() {
    let param = DimensionProto {
        value: Some(Dimension::Param("batch".into())),
    };
    let dim = vec![param, DimensionProto { value: None }];
    let ranked = declare_code("x", 1, Some(TensorShapeProto { dim }));
    let build = |x| model(13, graph(vec![node("Max", &["x"], "y")], vec![x], &["y"]));
    for shape in [[2, 3], [0, 7]] {
        let x = zeros(F32, &shape);
        let outputs = run(&build(ranked.clone()), std::slice::from_ref(&x));
        assert_eq!(outputs.unwrap(), [x]);
    }
    let error = run(&build(ranked), &[zeros(F32, &[2])]).unwrap_err();
    assert!(error.to_string().contains("declared as [?, ?]"), "{error}");
    for shape in [&[][..], &[1, 2, 3, 4]] {
        let x = zeros(F32, shape);
        let outputs = run(&build(declare_open("x", F32)), std::slice::from_ref(&x));
        assert_eq!(outputs.unwrap(), [x]);
    }
}

#[test]
fn what_is_declared_must_be_a_tensor_of_a_known_type() {
    let build = |x, y| {
        let mut graph = graph(vec![node("Max", &["x"], "y")], vec![x], &[]);
        graph.output = vec![y];
        told(decode(model(13, graph)))
    };
    let sequence = |name: &str| ValueInfoProto {
        r#type: Some(TypeProto { tensor_type: None }),
        ..named(name)
    };
    let dim = vec![DimensionProto {
        value: Some(Dimension::Value(-2)),
    }];
    let negative = declare_code("x", 1, Some(TensorShapeProto { dim }));
    let told = [
        build(named("x"), named("y")),
        build(sequence("x"), named("y")),
        build(declare_code("x", 0, None), named("y")),
        build(declare_open("x", F32), sequence("y")),
        build(declare_code("x", 8, None), named("y")),
        build(negative, named("y")),
    ];
    let text = r#"
        graph input or output "x" is not declared to be a tensor
        graph input or output "x" is not declared to be a tensor
        graph input or output "x" is not declared to be a tensor
        graph input or output "y" is not declared to be a tensor
        "x" has element type 8 (string), which is not supported
        "x" has a negative dimension: [-2]
    "#;
    assert_told(told, text);
}

#[test]
fn results_that_no_file_could_hold_are_refused_before_they_are_computed() {
    let huge = 1 << 40;
    let nothing = [Tensor::new(F32, &[0, huge], vec![]).unwrap()];
    let axes = AttributeProto::ints("axes", &[0]);
    let reduce = one_node(13, "ReduceMin", &[axes], &nothing);
    let limit = (1 << 31) - 1;
    let error = run(&reduce, &nothing).unwrap_err();
    assert_eq!(error, OnnxError::ResultTooLarge { limit });
    let (row, column) = (zeros(U8, &[1, 50_000]), zeros(U8, &[50_000, 1]));
    let inputs = [row, column];
    let error = run(&one_node(13, "Min", &[], &inputs), &inputs).unwrap_err();
    assert_eq!(error, OnnxError::ResultTooLarge { limit });
}

#[test]
fn an_evaluation_of_another_size_is_refused_and_its_error_is_passed_on() {
    let x = zeros(F32, &[2, 3]);
    let model = decode(one_node(13, "ArgMin", &[], std::slice::from_ref(&x))).unwrap();
    let inputs = [Some(x)];
    for actual in [vec![], vec![23], vec![24, 0]] {
        let answer = actual.iter().map(|&n| vec![0; n]).collect::<Vec<_>>();
        let ran = model.run(&inputs, |_, _| Ok::<_, String>(answer.clone()));
        let text = ran.unwrap_err().to_string();
        let sizes = format!(" was evaluated to {actual:?} bytes instead of [24]");
        assert!(text.ends_with(&sizes), "{text}");
    }
    let error = model.run(&inputs, |_, _| Err("lost")).unwrap_err();
    assert_eq!(error, RunError::Evaluate("lost"));
}

#[test]
fn the_evaluation_is_given_the_problem_and_only_its_inputs() {
    let inputs = [data(), tensor(&[1], &[0i64])];
    let model = decode(one_node(18, "ReduceMax", &[], &inputs)).unwrap();
    let mut seen = 0;
    let given = inputs.clone().map(Some);
    let outputs = model.run(&given, |problem, bytes| {
        assert_eq!(problem, &Problem::reduce_max(F32, &[2, 3], &[0]).unwrap());
        assert_eq!(bytes, [inputs[0].bytes()]);
        seen += 1;
        Ok::<_, String>(vec![vec![7; 12]])
    });
    let right = Tensor::new(F32, &[1, 3], vec![7; 12]).unwrap();
    assert_eq!(outputs.unwrap(), [right]);
    assert_eq!(seen, 1);
    assert_eq!(model.inputs().collect::<Vec<_>>(), ["x0", "x1"]);
    assert_eq!(model.outputs().collect::<Vec<_>>(), ["y"]);
}
