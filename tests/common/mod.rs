//! What the tests of results share: the comparison of a device with the reference.

mod seeds;

pub use seeds::*;
use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{Buffers, Problem, Reducer, reference};

/// What outputs are filled with before a run, and what stands round them.
const POISON: u8 = 0xa5;

/// Solves a problem on a device, from and to buffers like a caller's own: inputs that end with
/// the data, `offset` bytes into the buffer; outputs poisoned, with guards on both sides.
/// Returns what differs from the reference.
pub fn differs(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    offset: u64,
) -> Option<String> {
    let expected = reference::evaluate(problem, inputs).expect("the reference");
    let reduction = match reducer.prepare(problem) {
        Ok(reduction) => reduction,
        Err(e) => return Some(format!("{problem}: {e}")),
    };
    let result = run_bound(reducer, &reduction, inputs, offset);
    for (i, (output, got)) in problem.outputs().iter().zip(result).enumerate() {
        let got = match got {
            Ok(got) => got,
            Err(e) => return Some(format!("{problem}, output {i}: {e}")),
        };
        if let Some(d) = reference::first_difference(output, &expected[i], &got) {
            let plan = reduction.plan();
            return Some(format!("{problem}, output {i}, {d}; plan {plan}"));
        }
    }
    None
}

fn run_bound(
    reducer: &Reducer,
    reduction: &wgreduce::Reduction,
    inputs: &[&[u8]],
    offset: u64,
) -> Vec<Result<Vec<u8>, String>> {
    let (device, queue) = (reducer.device(), reducer.queue());
    let problem = reduction.problem();
    let outputs = problem.outputs();
    let buffer = |size: u64, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let sources: Vec<wgpu::Buffer> = inputs
        .iter()
        .map(|data| {
            let mut bytes = vec![POISON; offset as usize];
            bytes.extend_from_slice(data);
            bytes.resize(bytes.len().next_multiple_of(4).max(4), POISON);
            let source = buffer(bytes.len() as u64, storage);
            queue.write_buffer(&source, 0, &bytes);
            source
        })
        .collect();
    // The slice begins a guard's length in, and a guard follows it.
    let guard = offset.next_multiple_of(8).max(8);
    let places: Vec<(wgpu::Buffer, wgpu::Buffer, u64)> = outputs
        .iter()
        .map(|o| {
            let begin = guard + offset / o.dtype.size() * o.dtype.size();
            let size = (begin + o.bytes() + guard).next_multiple_of(4);
            let target = buffer(size, storage);
            queue.write_buffer(&target, 0, &vec![POISON; size as usize]);
            let back = buffer(size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            (target, back, begin)
        })
        .collect();
    let ins: Vec<_> = sources.iter().map(|b| b.slice(offset..).into()).collect();
    let outs: Vec<_> = places
        .iter()
        .map(|(b, _, begin)| b.slice(*begin..).into())
        .collect();
    let bound = match reduction.bind(Buffers {
        inputs: &ins,
        outputs: &outs,
    }) {
        Ok(bound) => bound,
        Err(e) => return outputs.iter().map(|_| Err(e.to_string())).collect(),
    };
    // Twice: the second run meets dirty scratch and records of the first.
    for _ in 0..2 {
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.encode(&mut encoder);
        for (target, back, _) in &places {
            encoder.copy_buffer_to_buffer(target, 0, back, 0, back.size());
        }
        queue.submit([encoder.finish()]);
    }
    for (_, back, _) in &places {
        back.slice(..)
            .map_async(wgpu::MapMode::Read, |r| r.expect("mapped"));
    }
    device
        .poll(wgpu::PollType::wait_indefinitely())
        .expect("polled");
    let check = |((_, back, begin), output): (&(_, wgpu::Buffer, u64), &wgreduce::Output)| {
        let view = back.slice(..).get_mapped_range().expect("mapped");
        let (begin, end) = (*begin as usize, (begin + output.bytes()) as usize);
        let guards = view[..begin].iter().chain(&view[end..]);
        match guards.into_iter().all(|&b| b == POISON) {
            true => Ok(view[begin..end].to_vec()),
            false => Err("bytes outside of the output were written".to_owned()),
        }
    };
    places.iter().zip(&outputs).map(check).collect()
}
