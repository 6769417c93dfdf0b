//! The golden cases of tests/golden/cases.json: the answers of the ONNX reference implementation.

use serde_json::Value;
use wgreduce::{NanPolicy, Op, Output, Problem};

/// A problem, its inputs, and its one output.
pub struct Case {
    pub problem: Problem,
    pub inputs: Vec<Vec<u8>>,
    pub output: Output,
    pub expected: Vec<u8>,
}

/// All cases of the file.
pub fn cases() -> Vec<Case> {
    parse(include_str!("../golden/cases.json")).unwrap()
}

/// The error of a malformed file.
type Malformed = Box<dyn std::error::Error>;

/// All cases of the text of such a file, which may come from elsewhere.
pub fn parse(text: &str) -> Result<Vec<Case>, Malformed> {
    let golden: Value = serde_json::from_str(text)?;
    let tensors = list(&golden["tensors"])?.iter().map(tensor);
    let tensors: Vec<(Output, Vec<u8>)> = tensors
        .collect::<Option<_>>()
        .ok_or("a tensor is malformed")?;
    let at = |number: &Value| {
        let number = number.as_u64().and_then(|n| usize::try_from(n).ok());
        let tensor = number.and_then(|n| tensors.get(n));
        tensor.ok_or("a case names a tensor that is not there")
    };
    let case = |case: &Value| {
        let inputs = list(&case["in"])?.iter().map(at);
        let inputs: Vec<_> = inputs.collect::<Result<_, _>>()?;
        let shapes: Vec<&Output> = inputs.iter().map(|(output, _)| output).collect();
        let (output, expected) = at(&case["out"])?.clone();
        Ok(Case {
            problem: problem(case, &shapes)?,
            inputs: inputs.iter().map(|(_, bytes)| bytes.clone()).collect(),
            output,
            expected,
        })
    };
    list(&golden["cases"])?.iter().map(case).collect()
}

fn list(value: &Value) -> Result<&Vec<Value>, Malformed> {
    Ok(value.as_array().ok_or("a list is missing")?)
}

fn tensor(tensor: &Value) -> Option<(Output, Vec<u8>)> {
    let hex = tensor[2].as_str()?;
    let shape = tensor[1].as_array()?.iter();
    let dtype = tensor[0].as_str()?.parse().ok()?;
    let shape: Vec<u64> = shape.map(Value::as_u64).collect::<Option<_>>()?;
    let output = Output::new(dtype, shape);
    let byte = |i| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok();
    let bytes = (0..hex.len()).step_by(2).map(byte);
    Some((output, bytes.collect::<Option<_>>()?))
}

fn problem(case: &Value, inputs: &[&Output]) -> Result<Problem, Malformed> {
    let Output { dtype, shape, .. } = inputs.first().ok_or("a case has no input")?;
    let axes = case["axes"].as_array().into_iter().flatten();
    let axes: Vec<i64> = axes.filter_map(Value::as_i64).collect();
    let axis = || axes.first().copied().ok_or("a case has no axis");
    let shapes: Vec<_> = inputs.iter().map(|i| &i.shape).collect();
    let op = Op::ALL.into_iter().find(|op| case["op"] == op.name());
    let mut problem = match op.ok_or("a case has no operator")? {
        Op::ArgMin => Problem::arg_min(*dtype, shape, axis()?)?,
        Op::ArgMax => Problem::arg_max(*dtype, shape, axis()?)?,
        Op::ReduceMin => Problem::reduce_min(*dtype, shape, &axes)?,
        Op::ReduceMax => Problem::reduce_max(*dtype, shape, &axes)?,
        Op::Min => Problem::min(*dtype, &shapes)?,
        _ => Problem::max(*dtype, &shapes)?,
    };
    let options = case.as_object().into_iter().flatten();
    for (name, on) in options.filter_map(|(name, value)| Some((name, value.as_bool()?))) {
        problem = match &name[..] {
            "keepdims" => problem.keepdims(on),
            "select_last_index" => problem.select_last_index(on),
            "noop_with_empty_axes" => problem.noop_with_empty_axes(on),
            "ignore_nan" if on => problem.nan(NanPolicy::Ignore),
            "ignore_nan" => problem,
            other => return Err(format!("unknown option {other}").into()),
        };
    }
    Ok(problem)
}
