//! The golden cases of tests/golden/cases.json: what the ONNX reference implementation answered.

use serde_json::Value;
use wgreduce::{NanPolicy, Op, Output, Problem, ProblemError};

/// A problem, its inputs, and its one output.
pub struct Case {
    pub problem: Problem,
    pub inputs: Vec<Vec<u8>>,
    pub output: Output,
    pub expected: Vec<u8>,
}

/// All cases of the file.
pub fn cases() -> Vec<Case> {
    parse(include_str!("../golden/cases.json"))
}

/// All cases of the text of such a file.
pub fn parse(text: &str) -> Vec<Case> {
    let golden: Value = serde_json::from_str(text).unwrap();
    let tensors = golden["tensors"].as_array().unwrap().iter();
    let tensors: Vec<(Output, Vec<u8>)> = tensors.map(tensor).collect();
    let at = |number: &Value| &tensors[number.as_u64().unwrap() as usize];
    let case = |case: &Value| {
        let inputs: Vec<_> = case["in"].as_array().unwrap().iter().map(at).collect();
        let shapes: Vec<&Output> = inputs.iter().map(|(output, _)| output).collect();
        let (output, expected) = at(&case["out"]).clone();
        Case {
            problem: problem(case, &shapes).unwrap(),
            inputs: inputs.iter().map(|(_, bytes)| bytes.clone()).collect(),
            output,
            expected,
        }
    };
    golden["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(case)
        .collect()
}

fn tensor(tensor: &Value) -> (Output, Vec<u8>) {
    let hex = tensor[2].as_str().unwrap();
    let shape = tensor[1].as_array().unwrap().iter();
    let dtype = tensor[0].as_str().unwrap().parse().unwrap();
    let shape: Vec<u64> = shape.map(|d| d.as_u64().unwrap()).collect();
    let output = Output::new(dtype, shape);
    let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
    (output, (0..hex.len()).step_by(2).map(byte).collect())
}

fn problem(case: &Value, inputs: &[&Output]) -> Result<Problem, ProblemError> {
    let Output { dtype, shape, .. } = inputs[0];
    let axes = case["axes"].as_array().into_iter().flatten();
    let axes: Vec<i64> = axes.map(|a| a.as_i64().unwrap()).collect();
    let shapes: Vec<_> = inputs.iter().map(|i| &i.shape).collect();
    let op = Op::ALL.into_iter().find(|op| case["op"] == op.name());
    let mut problem = match op.unwrap() {
        Op::ArgMin => Problem::arg_min(*dtype, shape, axes[0])?,
        Op::ArgMax => Problem::arg_max(*dtype, shape, axes[0])?,
        Op::ReduceMin => Problem::reduce_min(*dtype, shape, &axes)?,
        Op::ReduceMax => Problem::reduce_max(*dtype, shape, &axes)?,
        Op::Min => Problem::min(*dtype, &shapes)?,
        _ => Problem::max(*dtype, &shapes)?,
    };
    let options = case.as_object().unwrap().iter();
    for (name, on) in options.filter_map(|(name, value)| Some((name, value.as_bool()?))) {
        problem = match &name[..] {
            "keepdims" => problem.keepdims(on)?,
            "select_last_index" => problem.select_last_index(on)?,
            "noop_with_empty_axes" => problem.noop_with_empty_axes(on)?,
            "ignore_nan" if on => problem.nan(NanPolicy::Ignore),
            "ignore_nan" => problem,
            other => panic!("unknown option {other}"),
        };
    }
    Ok(problem)
}
