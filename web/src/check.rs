//! Checks that this browser's GPU gives the right bytes: for all golden cases, and for a tensor by each interface.

#[expect(
    dead_code,
    reason = "the tests have the file built in; a page fetches it"
)]
#[path = "../../tests/support/golden.rs"]
mod golden;

use crate::{Failure, mapped};
use serde::{Deserialize, Serialize};
use wgreduce::onnx::{Model, Tensor};
use wgreduce::wgpu::{Buffer, BufferDescriptor, BufferSlice, BufferUsages as U};
use wgreduce::{
    AdapterChoice, BoundReduction, Buffers, DType, Element, Error, Partial, Problem, Reducer,
    reference,
};

/// Rows and columns of the tensor that is reduced through every interface.
const ROWS: usize = 3000;
const COLUMNS: usize = 500;
/// Bytes that a stream or a shard may use: about a sixth of the tensor.
const MEMORY: u64 = 1 << 20;
/// Cases that are no golden ones and not ONNX's: the last ones below.
const INTERFACES: usize = 7;

/// How many cases of each kind were run, and which failed.
#[derive(Serialize)]
pub struct Checked {
    golden: usize,
    onnx: usize,
    interfaces: usize,
    failed: Vec<String>,
}

/// One of ONNX's node tests, with its data in hexadecimal digits.
#[derive(Deserialize)]
struct Official {
    name: String,
    model: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Runs every golden case of the text `cases` and compares all bytes with those of the CPU reference, which the tests
/// compare with the file: ONNX does not say which NaN comes out. Then runs ONNX's own cases, of the text `official`,
/// and one tensor through every interface. `progress` gets the number of finished cases and of all.
pub async fn run(
    reducer: &Reducer,
    cases: &str,
    official: &str,
    mut progress: impl FnMut(usize, usize),
) -> Result<Checked, Failure> {
    let cases =
        golden::parse(cases).map_err(|e| format!("the page's cases.json cannot be used: {e}"))?;
    let official: Vec<Official> = serde_json::from_str(official)
        .map_err(|e| format!("the page's onnx.json cannot be used: {e}"))?;
    let all = cases.len() + official.len() + INTERFACES;
    let mut failed = Vec::new();
    let mut done = 0;
    let mut judge = |what: &str, verdict: Result<(), Failure>| {
        failed.extend(verdict.err().map(|error| format!("{what}: {error}")));
        done += 1;
        progress(done, all);
    };
    for case in &cases {
        let inputs: Vec<&[u8]> = case.inputs.iter().map(Vec::as_slice).collect();
        let verdict = golden(reducer, &case.problem, &inputs).await;
        judge(&case.problem.to_string(), verdict);
    }
    for case in &official {
        judge(&case.name, case.check(reducer).await);
    }
    judge("a stream", streamed(reducer).await);
    judge("shards", shards(reducer).await);
    judge("the caller's encoder", own_encoder(reducer).await);
    judge("two runs at once", at_once(reducer).await);
    judge("a refused binding", refused_binding(reducer).await);
    judge("one buffer for all", one_buffer(reducer).await);
    judge("the best elements", best(reducer).await);
    Ok(Checked {
        golden: cases.len(),
        onnx: official.len(),
        interfaces: INTERFACES,
        failed,
    })
}

impl Official {
    /// The CPU reference must give ONNX's outputs, and the device the reference's outputs for each node.
    async fn check(&self, reducer: &Reducer) -> Result<(), Failure> {
        let tensor = |digits: &String| Ok::<_, Failure>(Tensor::decode(&bytes(digits)?)?);
        let inputs = self.inputs.iter().map(|digits| tensor(digits).map(Some));
        let inputs: Vec<_> = inputs.collect::<Result<_, _>>()?;
        let mut nodes = Vec::new();
        let model = Model::decode(&bytes(&self.model)?)?;
        let outputs = model.run(&inputs, |problem, data| {
            let owned: Vec<Vec<u8>> = data.iter().map(|data| data.to_vec()).collect();
            nodes.push((problem.clone(), owned));
            reference::evaluate(problem, data)
        })?;
        if outputs.len() != self.outputs.len() {
            return Err(format!("{} outputs, not {}", outputs.len(), self.outputs.len()).into());
        }
        for (expected, actual) in self.outputs.iter().zip(&outputs) {
            model.compare(&tensor(expected)?, actual)?;
        }
        for (problem, data) in &nodes {
            let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            golden(reducer, problem, &data).await?;
        }
        Ok(())
    }
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Result<Vec<u8>, Failure> {
    let byte = |i| {
        Ok(u8::from_str_radix(
            digits.get(i..i + 2).ok_or("half a byte")?,
            16,
        )?)
    };
    (0..digits.len()).step_by(2).map(byte).collect()
}

async fn golden(reducer: &Reducer, problem: &Problem, inputs: &[&[u8]]) -> Result<(), Failure> {
    let outputs = reducer.run_bytes(problem, inputs).await?;
    Ok(reference::verify(problem, inputs, &outputs)?)
}

/// Scores with many ties, and the problem to find the greatest of each column.
fn tensor() -> Result<(Problem, Vec<f32>), Error> {
    let score = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as f32;
    let data = (0..(ROWS * COLUMNS) as u64).map(score).collect();
    let problem = Problem::arg_max(DType::F32, &[ROWS as u64, COLUMNS as u64], 0)?;
    Ok((problem.keepdims(false), data))
}

/// The best elements by every walk: of random bytes, and of few values.
async fn best(reducer: &Reducer) -> Result<(), Failure> {
    for (dtype, shape, axis, k) in [
        (DType::F32, [4, 3000], 1, 40),
        (DType::F32, [2, 3000], 1, 2000),
        (DType::U8, [2, 5000], 1, 100),
        (DType::I64, [300, 20], 0, 7),
        (DType::F16, [1000, 16], 1, 3),
    ] {
        let problem = Problem::top_k(dtype, &shape, axis, k)?;
        let n = problem.input_bytes(0);
        let random = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        let all: Vec<u8> = (0..n).map(random).collect();
        let few: Vec<u8> = (0..n).map(|i| random(i) & 0x81).collect();
        golden(reducer, &problem, &[&all]).await?;
        golden(reducer, &problem.largest(false), &[&few]).await?;
    }
    Ok(())
}

async fn streamed(reducer: &Reducer) -> Result<(), Failure> {
    let (problem, data) = tensor()?;
    let bytes = f32::bytes(&data);
    let mut output = vec![0; 8 * COLUMNS];
    let stream = reducer.stream(&problem, MEMORY).await?;
    let read = |_, at: u64, into: &mut [u8]| {
        into.copy_from_slice(&bytes[at as usize..][..into.len()]);
        Ok(())
    };
    let write = |_, at: u64, bytes: &[u8]| {
        output[at as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    };
    stream.run(read, write).await?;
    Ok(reference::verify(&problem, &[bytes], &[output])?)
}

async fn shards(reducer: &Reducer) -> Result<(), Failure> {
    let (problem, data) = tensor()?;
    let part = async |rows: std::ops::Range<usize>| {
        let shape = [rows.len() as u64, COLUMNS as u64];
        let own = Problem::arg_max(DType::F32, &shape, 0)?.keepdims(false);
        let data = &data[rows.start * COLUMNS..rows.end * COLUMNS];
        let shard = reducer.shard(&own, MEMORY).await?;
        shard.run_bytes(rows.start as u64, f32::bytes(data)).await
    };
    // The later rows first, and the others as bytes, as from another page.
    let mut merged = part(1700..ROWS).await?;
    merged.merge(&Partial::from_bytes(&part(0..1700).await?.to_bytes())?)?;
    Ok(reference::verify(
        &problem,
        &[f32::bytes(&data)],
        &merged.finish()?,
    )?)
}

fn buffer(reducer: &Reducer, size: u64, usage: U) -> Buffer {
    reducer.device().create_buffer(&BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

async fn own_encoder(reducer: &Reducer) -> Result<(), Failure> {
    let (problem, data) = tensor()?;
    let scores = buffer(reducer, problem.input_bytes(0), U::STORAGE | U::COPY_DST);
    let winners = buffer(reducer, 8 * COLUMNS as u64, U::STORAGE | U::COPY_SRC);
    reducer.queue().write_buffer(&scores, 0, f32::bytes(&data));
    let reducer = Reducer::new(reducer.device(), reducer.queue())?;
    let reduction = reducer.prepare(&problem).await?;
    let bound = reduction.bind(Buffers::new(
        &[scores.slice(..).into()],
        &[winners.slice(..).into()],
    ))?;
    reducer.settled().await?;
    let output = recorded(&reducer, &bound, winners.slice(..)).await?;
    Ok(reference::verify(
        &problem,
        &[f32::bytes(&data)],
        &[output],
    )?)
}

/// The bytes of `output` once the reduction has run in an encoder of the caller's.
async fn recorded(
    reducer: &Reducer,
    bound: &BoundReduction,
    output: BufferSlice<'_>,
) -> Result<Vec<u8>, Failure> {
    let bytes = output.size();
    let back = buffer(reducer, bytes, U::MAP_READ | U::COPY_DST);
    let mut encoder = reducer.device().create_command_encoder(&Default::default());
    bound.encode(&mut encoder);
    encoder.copy_buffer_to_buffer(output.buffer(), output.offset(), &back, 0, bytes);
    reducer.queue().submit([encoder.finish()]);
    mapped(&back).await
}

async fn at_once(reducer: &Reducer) -> Result<(), Failure> {
    let (problem, data) = tensor()?;
    let least = Problem::reduce_min(DType::F32, &[ROWS as u64, COLUMNS as u64], &[1])?;
    let bytes = [f32::bytes(&data)];
    let (winners, worst) = futures::join!(
        reducer.run_bytes(&problem, &bytes),
        reducer.run_bytes(&least, &bytes)
    );
    reference::verify(&problem, &bytes, &winners?)?;
    Ok(reference::verify(&least, &bytes, &worst?)?)
}

/// Tensors of one buffer, whose bindings overlap or do not.
async fn one_buffer(reducer: &Reducer) -> Result<(), Failure> {
    let problem = Problem::arg_max(DType::F32, &[1, 4], 1)?;
    let data = f32::bytes(&[1.0, 3.0, 2.0, 0.0]);
    let arena = buffer(reducer, 520, U::STORAGE | U::COPY_DST | U::COPY_SRC);
    reducer.queue().write_buffer(&arena, 0, data);
    let reduction = reducer.prepare(&problem).await?;
    let bind = |output| {
        let tensors = [arena.slice(..16).into(), arena.slice(output..).into()];
        reduction.bind(Buffers::new(&tensors[..1], &tensors[1..]))
    };
    let told = bind(16).err();
    let output = recorded(reducer, &bind(512)?, arena.slice(512..)).await?;
    reference::verify(&problem, &[data], &[output])?;
    match told {
        Some(Error::BindingsOverlap {
            what: "input",
            index: 0,
            other: "output",
            other_index: 0,
        }) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

/// A binding of another device's buffers is an error that only `settled` returns, and only once.
async fn refused_binding(reducer: &Reducer) -> Result<(), Failure> {
    let other = Reducer::open(&AdapterChoice::Auto).await?;
    let [scores, winners] = [16; 2].map(|bytes| buffer(&other, bytes, U::STORAGE));
    let problem = Problem::arg_max(DType::F32, &[1, 4], 1)?;
    let reduction = reducer.prepare(&problem).await?;
    reduction.bind(Buffers::new(
        &[scores.slice(..).into()],
        &[winners.slice(..).into()],
    ))?;
    golden(reducer, &problem, &[f32::bytes(&[1.0, 3.0, 2.0, 0.0])]).await?;
    let told = [reducer.settled().await, reducer.settled().await];
    other.device().destroy();
    match told {
        [
            Err(Error::Device {
                what: "a bind group",
                ..
            }),
            Ok(()),
        ] => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}
