//! Tensors in pieces: in several buffers, as parts that are merged, as streams.

use super::elementwise::{TOGETHER, together};
use super::{data_for, same, same_from_host, slices, takes, takes_case, takes_one_of, turn};
use libtest_mimic::Failed;
use support::device::{buffer, contents, differs_in_pieces};
use support::views::{VIEWS, view_problems, viewed};
use support::{Bits, POLICIES, cuts, drawn, mixed, part, tensor, types, ways};
use wgreduce::wgpu::{Buffer, BufferSlice, BufferUsages};
use wgreduce::{
    BufferSplits, Buffers, Caps, DType, IndexType, Partial, Problem, ProblemError, Reducer,
    Reduction,
};

/// Inputs and outputs in buffers that end anywhere, for every operator and type.
pub fn several_buffers(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    for dtype in types(turn) {
        for problem in problems_to_cut(dtype, turn)? {
            if takes(reducer, "several buffers", &problem) {
                let seed = drawn(&problem);
                let inputs = data_for(&problem, seed);
                in_pieces(reducer, &problem, &slices(&inputs), seed)?;
            }
        }
        views_to_cut(reducer, dtype, turn)?;
        // The caller's scratch, in several buffers.
        let between = Problem::reduce_max(dtype, &[6, 300, 8], &[0, 2])?;
        if takes(reducer, "small buffers", &between) {
            let inputs = data_for(&between, turn);
            same(&small_buffers(reducer), &between, &slices(&inputs), 0)?;
        }
    }
    Ok(())
}

/// The same device with buffers of 17 vec4.
fn small_buffers(reducer: &Reducer) -> Reducer {
    reducer.with_caps(Caps {
        buffer_bytes: 272,
        ..reducer.caps().clone()
    })
}

/// Checks a problem on tensors that are cut at random, by a seed, and on host data.
pub fn in_pieces(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    seed: u64,
) -> Result<(), Failed> {
    let bits = &mut Bits::new(seed);
    // Every third has whole vec4s only, which other kernels take.
    let (vecs, offset) = match bits.below(3) {
        0 => (16, 48),
        _ => (1, 8 * bits.below(5)),
    };
    let size = problem.dtype().size();
    let read = (0..inputs.len()).map(|i| problem.input_bytes(i) / size);
    let outputs = problem.outputs().into_iter();
    let written = outputs.map(|o| o.shape.iter().product());
    let cuts = BufferSplits {
        inputs: read.map(|n| cut(n, vecs, bits)).collect(),
        outputs: written.map(|n| cut(n, vecs, bits)).collect(),
    };
    let small = reducer.with_caps(reducer.caps().lowered(2048, 9));
    let reducer = *bits.pick(&[reducer, &small]);
    if let Some(e) = differs_in_pieces(reducer, problem, inputs, &cuts, offset) {
        return Err(e.into());
    }
    same_from_host(&small_buffers(reducer).prepare_blocking(problem)?, inputs)
}

/// Views of one input and of several.
fn views_to_cut(reducer: &Reducer, dtype: DType, turn: u64) -> Result<(), Failed> {
    for view in VIEWS.iter().filter(|view| view.3 <= 900) {
        let mut problems = view_problems(dtype, view.0, turn)?;
        let axes = 0..view.0.len() as i64;
        problems.extend(axes.flat_map(|axis| Problem::extremes(dtype, view.0, axis)));
        for plain in problems {
            if takes_one_of(reducer, 5, "views to cut", &plain, view) {
                let seed = drawn((view, &plain));
                let data = mixed(dtype, view.3, seed);
                let problem = viewed(&plain, view, &data).map_err(|e| e.to_string())?;
                in_pieces(reducer, &problem, &[&data], seed)?;
            }
        }
    }
    for views in TOGETHER {
        let (problems, data) = together(dtype, views, turn)?;
        for problem in problems {
            if takes_one_of(reducer, 2, "views in pieces", &problem, ()) {
                in_pieces(reducer, &problem, &slices(&data), drawn(&problem))?;
            }
        }
    }
    Ok(())
}

/// Problems of every kind.
fn problems_to_cut(dtype: DType, turn: u64) -> Result<Vec<Problem>, ProblemError> {
    let mut problems = Vec::new();
    for shape in [[3, 200, 1], [40, 8, 1], [2, 30, 5], [1, 3, 90]] {
        problems.extend(ways(dtype, &shape, 1, turn)?);
        problems.push(Problem::extremes(dtype, &shape, 1)?);
    }
    problems.push(Problem::extremes(dtype, &[2, 1100, 1], 1)?);
    problems.push(Problem::reduce_min(dtype, &[6, 70, 8], &[0, 2])?);
    problems.push(Problem::reduce_min(dtype, &[90, 0], &[1])?);
    problems.push(Problem::max(dtype, &[&[500u64][..]])?);
    let wide: &[u64] = &[24, 32];
    for with in [&[24, 32][..], &[32], &[24, 1], &[]] {
        problems.push(Problem::min(dtype, &[wide, with, wide])?);
    }
    Ok(problems)
}

/// Up to three random cuts of a tensor, each at a multiple of `vecs` elements.
pub fn cut(n: u64, vecs: u64, bits: &mut Bits) -> Vec<u64> {
    let mut cuts = cuts(n.max(1), 1 + bits.draw() % 4, bits);
    cuts.iter_mut().for_each(|c| *c = *c / vecs * vecs);
    cuts.dedup();
    cuts.retain(|&c| c > 0 && c < n);
    cuts
}

/// A tensor of 2^32 + 3 elements in many pieces, which are the same buffer except for the first and the last.
/// Extremes and ties are at both ends, so that only a 64-bit index tells them apart.
pub fn beyond_32_bits(reducer: &Reducer) -> Result<(), Failed> {
    let n = (1u64 << 32) + 3;
    // Pieces as large as bindings and the driver allow, and some elements at either end.
    let piece = reducer.caps().binding_bytes.min(1 << 27) - 1024;
    let end = 64;
    // The least are at 2 and n - 1, the greatest at 1 and n - 2.
    let rest = (n - end) % piece;
    let first = bytes_of(reducer, end, &[(1, 200), (2, 7)]);
    let same = bytes_of(reducer, piece, &[]);
    let ends = [(rest - 2, 200), (rest - 1, 7)];
    let last = bytes_of(reducer, rest.next_multiple_of(4), &ends);
    let mut slices = vec![first.slice(..)];
    slices.extend((0..(n - end) / piece).map(|_| same.slice(..)));
    slices.push(last.slice(..rest));
    let cases = [
        (true, true, n - 1, 7),
        (true, false, 2, 7),
        (false, true, n - 2, 200),
        (false, false, 1, 200),
    ];
    for (least, last, winner, value) in cases {
        if !takes_case(reducer, 1, ("beyond 32 bits", least, last)) {
            continue;
        }
        let problem = match least {
            true => Problem::arg_min(DType::U8, &[n], 0)?,
            false => Problem::arg_max(DType::U8, &[n], 0)?,
        };
        let problem = problem.select_last_index(last).with_values(true);
        let result = winner_of(reducer, &reducer.prepare_blocking(&problem)?, &slices)?;
        if result != (winner, value) {
            return Err(format!("{problem}: {result:?}, not {winner} and {value}").into());
        }
    }
    Ok(())
}

/// A buffer of bytes of 100, apart from the changed ones.
fn bytes_of(reducer: &Reducer, size: u64, changed: &[(u64, u8)]) -> Buffer {
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    let buffer = buffer(reducer, size, usage);
    let mut bytes = vec![100; size as usize];
    for &(at, byte) in changed {
        bytes[at as usize] = byte;
    }
    for (chunk, at) in bytes.chunks(1 << 24).zip((0..).step_by(1 << 24)) {
        reducer.queue().write_buffer(&buffer, at, chunk);
    }
    buffer
}

/// The index and the value of a reduction of one output.
fn winner_of(
    reducer: &Reducer,
    reduction: &Reduction,
    slices: &[BufferSlice<'_>],
) -> Result<(u64, u8), Failed> {
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let [index, value] = [usage; 2].map(|usage| buffer(reducer, 16, usage));
    let outputs = [index.slice(..).into(), value.slice(..).into()];
    let bound = reduction.bind(Buffers::new(&[slices.into()], &outputs))?;
    let (device, queue) = (reducer.device(), reducer.queue());
    for part in 0..bound.parts() {
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.encode_part(part, &mut encoder);
        queue.submit([encoder.finish()]);
    }
    let [index, value] = [contents(reducer, &index)?, contents(reducer, &value)?];
    Ok((bytemuck::pod_read_unaligned(&index[..8]), value[0]))
}

/// Parts cut at random, reduced by the device or by the reference, and merged in any order.
pub fn shards(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    for dtype in types(turn) {
        for shape in [[8, 57, 1], [1, 900, 8], [3, 20, 5], [8, 1, 1]] {
            let input = tensor(dtype, shape, turn);
            let mut wholes = ways(dtype, &shape, 1, turn)?;
            wholes.push(Problem::reduce_max_abs(dtype, &shape, &[1])?);
            wholes.push(Problem::arg_max_abs(dtype, &shape, 1)?.with_values(true));
            for whole in wholes {
                let drawn = drawn(&whole);
                let whole = whole.nan(POLICIES[drawn as usize % 2]);
                if takes(reducer, "shards", &whole) {
                    let mut bits = Bits::new(drawn);
                    let done = shard(reducer, &whole, shape, &input, &mut bits);
                    done.map_err(|e| format!("{whole}: {}", e.message().unwrap_or_default()))?;
                }
            }
        }
    }
    Ok(())
}

pub fn shard(
    reducer: &Reducer,
    whole: &Problem,
    shape: [u64; 3],
    input: &[u8],
    bits: &mut Bits,
) -> Result<(), Failed> {
    let dtype = whole.dtype();
    let mut all: Option<Partial> = None;
    let cuts = cuts(shape[1], 7, bits);
    let mut ranges: Vec<_> = cuts.windows(2).map(|w| w[0]..w[1]).collect();
    while !ranges.is_empty() {
        let range = ranges.swap_remove(bits.draw() as usize % ranges.len());
        let data = part(dtype, shape, range.clone(), input);
        let problem = resized(whole, [shape[0], range.end - range.start, shape[2]])?;
        // Lists of a segment take more than a partial result.
        let least = if whole.k().is_some() { 600_000 } else { 20_000 };
        let memory = [least, 1 << 30][bits.draw() as usize % 2];
        let ours = reducer.shard_blocking(&problem, memory)?;
        let ours = match range.start.is_multiple_of(2) {
            true => ours.run_bytes_blocking(range.start, &data)?,
            false => pollster::block_on(ours.run_bytes(range.start, &data))?,
        };
        let theirs = Partial::from_reference(&problem, range.start, &data)?;
        if ours != theirs {
            return Err(format!("elements {range:?} of dimension 1 differ").into());
        }
        let either = if bits.draw() & 1 == 0 { ours } else { theirs };
        match &mut all {
            Some(all) => all.merge(&either)?,
            None => all = Some(either),
        }
    }
    let all = all.map(|all| all.finish()).transpose()?;
    match all == Some(wgreduce::reference::evaluate(whole, &[input])?) {
        true => Ok(()),
        false => Err("the merged parts differ from the whole".into()),
    }
}

/// The same problem over dimension 1 of another shape.
fn resized(problem: &Problem, shape: [u64; 3]) -> Result<Problem, ProblemError> {
    let dtype = problem.dtype();
    let resized = match problem.k() {
        Some(k) => Problem::top_k(dtype, &shape, 1, k),
        None => support::problem_of(problem.op(), dtype, &shape, &[1]),
    }?;
    Ok(resized
        .nan(problem.nan_policy())
        .largest(!problem.gives_smallest())
        .keepdims(problem.keeps_dims())
        .index_type(problem.index_result_type().unwrap_or_default())
        .select_last_index(problem.selects_last_index())
        .with_values(problem.gives_values()))
}

/// Data that is read and written piece by piece, with memory bounds from the least to plenty.
pub fn streams(reducer: &Reducer) -> Result<(), Failed> {
    streams_of(reducer, turn())?;
    broken_streams(reducer)
}

fn streams_of(reducer: &Reducer, turn: u64) -> Result<(), Failed> {
    let alignment = reducer.caps().offset_alignment;
    for dtype in types(turn) {
        let mut problems = Vec::new();
        for shape in [[3, 500, 1], [300, 9, 1], [2, 60, 7], [1, 3, 700], [5, 1, 3]] {
            problems.extend(ways(dtype, &shape, 1, turn)?);
        }
        // Values beside indices, where lines leave a rest to one more dispatch, and to two.
        for shape in [[1, 3, 5003], [700, 5, 3], [1101, 3, 1]] {
            let fused = Problem::arg_max(dtype, &shape, 1)?.with_values(true);
            problems.extend([fused.clone(), fused.index_type(IndexType::I32)]);
        }
        let scattered = [12u64, 5, 9];
        problems.push(Problem::reduce_min(dtype, &scattered, &[0, 2])?);
        problems.push(Problem::reduce_max(dtype, &[40, 0], &[1])?);
        problems.push(Problem::reduce_max_abs(dtype, &[40, 0], &[1])?);
        problems.push(Problem::reduce_max_abs(dtype, &scattered, &[0, 2])?);
        problems.push(Problem::max(dtype, &[&[900u64][..]])?);
        problems.push(Problem::extremes(dtype, &[3, 200, 2], 1)?);
        problems.push(Problem::extremes(dtype, &[70, 20], 1)?);
        problems.push(Problem::extremes(dtype, &[2, 1100], 1)?);
        // Views: a transposed matrix, every third column from the last backwards, a repeated row.
        problems.push(Problem::arg_min(dtype, &[30, 40], 0)?.strided(0, &[1, 30], 7));
        problems.push(Problem::reduce_max(dtype, &[20, 9], &[1])?.strided(0, &[27, -3], 26));
        problems.push(Problem::min(dtype, &[[8, 50], [8, 50]])?.strided(1, &[0, 1], 3));
        let wide: &[u64] = &[30, 40];
        for with in [&[30, 40][..], &[40], &[30, 1], &[]] {
            problems.push(Problem::min(dtype, &[wide, with, wide])?);
        }
        for problem in problems {
            if !takes(reducer, "streams", &problem) {
                continue;
            }
            let drawn = drawn(&problem);
            let inputs = data_for(&problem, drawn);
            let memory = [24 * (alignment + 16), 40_000, 1 << 30][drawn as usize % 3];
            streamed(reducer, &problem, &inputs, memory)
                .map_err(|e| format!("{problem} in {memory} bytes: {e}"))?;
        }
    }
    Ok(())
}

/// An error of the caller's functions ends the run, and the next run works as before.
fn broken_streams(reducer: &Reducer) -> Result<(), Failed> {
    use std::io::{Error as IoError, ErrorKind};
    let input = mixed(DType::U8, 50_000, 1);
    let problem = Problem::max(DType::U8, &[[50_000u64]])?;
    let stream = reducer.stream_blocking(&problem, 30_000)?;
    let fails = |failing: u64, at: u64| match at >= failing {
        true => Err(IoError::new(ErrorKind::StorageFull, "no more")),
        false => Ok(()),
    };
    let run = |source: u64, sink: u64| {
        let read = |_, at: u64, into: &mut [u8]| {
            into.copy_from_slice(&input[at as usize..][..into.len()]);
            fails(source, at)
        };
        stream.run_blocking(read, |_, at, _| fails(sink, at))
    };
    for (source, sink, whose) in [(20_000, u64::MAX, "input 0"), (u64::MAX, 9_000, "output 0")] {
        let error = run(source, sink).expect_err("a failing function");
        let error = error.to_string();
        assert!(error.starts_with(whose), "{error}");
        assert!(error.ends_with("no more"), "{error}");
        run(u64::MAX, u64::MAX)?;
    }
    streamed(reducer, &problem, std::slice::from_ref(&input), 30_000)?;
    // Hardly any of the memory is left unused.
    let rows = Problem::arg_max(DType::F32, &[900, 1000], 1)?;
    for memory in [1_900_000, 2_300_000, 2_900_000] {
        let used = reducer.stream_blocking(&rows, memory)?.memory();
        let right = memory / 10 * 9 + 1..=memory;
        assert!(right.contains(&used), "{used} of {memory}");
    }
    // The tensors between two passes must fit as well.
    let scattered = Problem::reduce_min(DType::F64, &[4, 9000, 5], &[0, 2])?;
    let refused = reducer.stream_blocking(&scattered, 100_000);
    let told = refused.expect_err("too little memory").to_string();
    assert!(told.ends_with("the limit of 100000"), "{told}");
    Ok(())
}

pub fn streamed(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[Vec<u8>],
    memory: u64,
) -> Result<(), String> {
    let data = slices(inputs);
    let expected = wgreduce::reference::evaluate(problem, &data).map_err(|e| e.to_string())?;
    let stream = reducer.stream_blocking(problem, memory);
    let stream = stream.map_err(|e| e.to_string())?;
    if stream.memory() > memory {
        return Err(format!("takes {} bytes", stream.memory()));
    }
    // Runs twice, as a stream can be run again.
    for blocking in [true, false] {
        let mut outputs = vec![Vec::new(); expected.len()];
        let mut read = 0;
        let source = |input: usize, at: u64, into: &mut [u8]| {
            read += into.len() as u64;
            into.copy_from_slice(&data[input][at as usize..][..into.len()]);
            Ok(())
        };
        let sink = |output: usize, at: u64, bytes: &[u8]| {
            let output: &mut Vec<u8> = &mut outputs[output];
            assert_eq!(output.len() as u64, at, "bytes come in order, each once");
            output.extend_from_slice(bytes);
            Ok(())
        };
        let run = match blocking {
            true => stream.run_blocking(source, sink),
            false => pollster::block_on(stream.run(source, sink)),
        };
        run.map_err(|e| e.to_string())?;
        if outputs != expected {
            return Err(format!("differs; plan {}", stream.plan()));
        }
        if read != stream.read_bytes() {
            return Err(format!("{read} bytes read, not {}", stream.read_bytes()));
        }
    }
    Ok(())
}
