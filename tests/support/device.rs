//! The comparison of a device with the reference, byte for byte.

use crate::grid;
use std::ops::Range;
use wgreduce::wgpu::{self, BufferSlice, BufferUsages};
use wgreduce::{
    BoundReduction, BufferSplits, Buffers, Problem, Reducer, Reduction, Tensor, Tuning, reference,
};

/// The byte that fills outputs before every run, and the guards around them.
const POISON: u8 = 0xa5;
/// Bytes before and after an output.
const GUARD: u64 = 16;

/// The same device with a changed tuning.
pub fn tuned(reducer: &Reducer, change: impl FnOnce(&mut Tuning)) -> Reducer {
    reducer.with_caps(grid::tuned(reducer.caps(), change))
}

/// Solves a problem on a device, in buffers like a caller's own: inputs that end with the data, `offset` bytes into the
/// buffer; poisoned outputs with guards on both sides. Returns the difference from the reference.
pub fn differs(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    offset: u64,
) -> Option<String> {
    differs_in_pieces(reducer, problem, inputs, &BufferSplits::default(), offset)
}

/// [`differs`] with tensors of several buffers, in each of which the data begins `offset` bytes in.
pub fn differs_in_pieces(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    cuts: &BufferSplits,
    offset: u64,
) -> Option<String> {
    match reducer.prepare_blocking(problem) {
        Ok(reduction) => bound_differs(reducer, &reduction, inputs, cuts, offset),
        Err(e) => Some(format!("{problem}: {e}")),
    }
}

/// [`differs`] with a prepared reduction, for many inputs.
pub fn reduction_differs(
    reducer: &Reducer,
    reduction: &Reduction,
    inputs: &[&[u8]],
    offset: u64,
) -> Option<String> {
    bound_differs(reducer, reduction, inputs, &BufferSplits::default(), offset)
}

fn bound_differs(
    reducer: &Reducer,
    reduction: &Reduction,
    inputs: &[&[u8]],
    cuts: &BufferSplits,
    offset: u64,
) -> Option<String> {
    let (problem, plan) = (reduction.problem(), reduction.plan());
    let difference = match run_bound(reducer, reduction, inputs, cuts, offset) {
        Ok(runs) => runs_differ(problem, inputs, &runs)?,
        Err(e) => e,
    };
    Some(format!("{problem}: {difference}; {cuts:?}, plan {plan}"))
}

/// Compares the first run with the reference, and each later run with the first.
fn runs_differ(problem: &Problem, inputs: &[&[u8]], runs: &[Vec<Vec<u8>>]) -> Option<String> {
    let Some((first, later)) = runs.split_first() else {
        return Some("nothing ran".into());
    };
    if let Err(difference) = reference::verify(problem, inputs, first) {
        return Some(difference.to_string());
    }
    let wrong = later.iter().position(|outputs| outputs != first)?;
    Some(format!("run {} differs from the first", wrong + 1))
}

/// A caller's buffer, of which the library has a part.
struct Guarded {
    buffer: wgpu::Buffer,
    back: wgpu::Buffer,
    begin: u64,
    bytes: u64,
}

impl Guarded {
    /// A poisoned buffer that ends a guard's length after the part, in whole words.
    fn new(reducer: &Reducer, begin: u64, bytes: u64) -> Guarded {
        let size = (begin + bytes + GUARD).next_multiple_of(4);
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let map = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let guarded = Guarded {
            buffer: buffer(reducer, size, storage),
            back: buffer(reducer, size, map),
            begin,
            bytes,
        };
        guarded.poison(reducer);
        guarded
    }

    fn poison(&self, reducer: &Reducer) {
        let poison = vec![POISON; self.buffer.size() as usize];
        reducer.queue().write_buffer(&self.buffer, 0, &poison);
    }

    fn slice(&self) -> BufferSlice<'_> {
        self.buffer.slice(self.begin..self.begin + self.bytes)
    }

    /// The bytes of the part, if nothing was written around it.
    fn contents(&self) -> Result<Vec<u8>, String> {
        let view = self.back.slice(..).get_mapped_range().expect("mapped");
        let (begin, end) = (self.begin as usize, (self.begin + self.bytes) as usize);
        let guards = view[..begin].iter().chain(&view[end..]);
        let contents = match guards.into_iter().all(|&b| b == POISON) {
            true => Ok(view[begin..end].to_vec()),
            false => Err("bytes outside of the slice were written".to_owned()),
        };
        drop(view);
        self.back.unmap();
        contents
    }
}

/// A buffer on the device of a reducer.
pub fn buffer(reducer: &Reducer, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    reducer.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// What a buffer holds.
pub fn contents(reducer: &Reducer, buffer: &wgpu::Buffer) -> Result<Vec<u8>, String> {
    let (device, size) = (reducer.device(), buffer.size());
    let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
    let back = self::buffer(reducer, size, usage);
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, size);
    encoder.map_buffer_on_submit(&back, wgpu::MapMode::Read, .., |r| r.expect("mapped"));
    reducer.queue().submit([encoder.finish()]);
    let waited = device.poll(wgpu::PollType::wait_indefinitely());
    waited.map_err(|e| e.to_string())?;
    let mapped = back.slice(..).get_mapped_range();
    Ok(mapped.map_err(|e| e.to_string())?.to_vec())
}

/// Poisons the buffers, submits a reduction, whole or by its parts, and returns the contents.
fn run(
    reducer: &Reducer,
    targets: &[Vec<Guarded>],
    scratch: &[Guarded],
    bound: &BoundReduction,
    by_part: bool,
) -> Result<Vec<Vec<u8>>, String> {
    let written = || targets.iter().flatten();
    written().for_each(|target| target.poison(reducer));
    let submit = |record: &dyn Fn(&mut wgpu::CommandEncoder)| {
        let mut encoder = reducer.device().create_command_encoder(&Default::default());
        record(&mut encoder);
        reducer.queue().submit([encoder.finish()]);
    };
    match by_part {
        true => (0..bound.parts()).for_each(|i| submit(&|e| bound.encode_part(i, e))),
        false => submit(&|e| bound.encode(e)),
    }
    submit(&|encoder| {
        for Guarded { buffer, back, .. } in written().chain(scratch) {
            encoder.copy_buffer_to_buffer(buffer, 0, back, 0, back.size());
            encoder.map_buffer_on_submit(back, wgpu::MapMode::Read, .., |r| r.expect("mapped"));
        }
    });
    let waited = reducer.device().poll(wgpu::PollType::wait_indefinitely());
    waited.map_err(|e| e.to_string())?;
    for scratch in scratch {
        scratch.contents().map_err(|e| format!("scratch: {e}"))?;
    }
    let whole = |pieces: &Vec<Guarded>| {
        let contents = pieces.iter().map(Guarded::contents);
        Ok(contents.collect::<Result<Vec<_>, String>>()?.concat())
    };
    targets.iter().map(whole).collect()
}

/// The outputs of three runs from data `offset` bytes into its buffers, which are as many as the cuts make: two with the
/// library's scratch, which is dirty in the second, and one with the caller's scratch and its parts submitted one by one.
fn run_bound(
    reducer: &Reducer,
    reduction: &Reduction,
    inputs: &[&[u8]],
    cuts: &BufferSplits,
    offset: u64,
) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let problem = reduction.problem();
    let sources = inputs.iter().enumerate().map(|(i, data)| {
        let ranges = ranges(&cuts.inputs, i, problem.dtype().size(), data.len() as u64);
        let piece = |r: Range<u64>| &data[r.start as usize..r.end as usize];
        let pieces = ranges.into_iter().map(piece);
        pieces
            .map(|piece| (source(reducer, piece, offset), piece.len() as u64))
            .collect::<Vec<_>>()
    });
    let sources: Vec<Vec<(wgpu::Buffer, u64)>> = sources.collect();
    let targets = problem.outputs().into_iter().enumerate().map(|(i, o)| {
        // Without an offset all data begins at a vec4, and plans may rely on it.
        let begin = (GUARD + offset).next_multiple_of(o.dtype.size());
        let ranges = ranges(&cuts.outputs, i, o.dtype.size(), o.bytes());
        let target = |r: Range<u64>| Guarded::new(reducer, begin, r.end - r.start);
        ranges.into_iter().map(target).collect::<Vec<_>>()
    });
    let targets: Vec<Vec<Guarded>> = targets.collect();
    let sizes = reduction.scratch_sizes_in_pieces(cuts);
    let sizes = sizes.map_err(|e| e.to_string())?.into_iter();
    let alignment = reducer.caps().offset_alignment;
    let place = |bytes| Guarded::new(reducer, alignment, bytes);
    let placed: Vec<Guarded> = sizes.map(place).collect();
    let ins = sources.iter().map(|pieces| {
        let pieces = pieces.iter();
        slices(pieces.map(|(buffer, bytes)| (buffer, offset, *bytes)))
    });
    let ins: Vec<Vec<BufferSlice<'_>>> = ins.collect();
    let outs = targets
        .iter()
        .map(|pieces| slices(pieces.iter().map(|g| (&g.buffer, g.begin, g.bytes))));
    let outs: Vec<Vec<BufferSlice<'_>>> = outs.collect();
    let (ins, outs) = (tensors(&ins), tensors(&outs));
    let scratch: Vec<_> = placed.iter().map(Guarded::slice).collect();
    let bound = |scratch| {
        let buffers = Buffers {
            inputs: &ins,
            outputs: &outs,
            scratch,
        };
        reduction.bind(buffers).map_err(|e| e.to_string())
    };
    let (own, callers) = (bound(None)?, bound(Some(&scratch[..]))?);
    let runs = [(&own, false), (&own, false), (&callers, true)].into_iter();
    runs.map(|(bound, by_part)| run(reducer, &targets, &placed, bound, by_part))
        .collect()
}

/// The byte ranges between cuts of a tensor.
fn ranges(cuts: &[Vec<u64>], i: usize, size: u64, bytes: u64) -> Vec<Range<u64>> {
    let cuts = cuts.get(i).into_iter().flatten().map(|c| c * size);
    let ends: Vec<u64> = [0].into_iter().chain(cuts).chain([bytes]).collect();
    ends.windows(2).map(|w| w[0]..w[1]).collect()
}

/// The slices of a tensor's pieces: buffer, first byte and length of each. The last may be longer than the tensor.
fn slices<'a>(pieces: impl Iterator<Item = (&'a wgpu::Buffer, u64, u64)>) -> Vec<BufferSlice<'a>> {
    let mut pieces = pieces.peekable();
    let mut slices = Vec::new();
    while let Some((buffer, begin, bytes)) = pieces.next() {
        slices.push(match pieces.peek() {
            Some(_) => buffer.slice(begin..begin + bytes),
            None => buffer.slice(begin..),
        });
    }
    slices
}

fn tensors<'a>(all: &'a [Vec<BufferSlice<'a>>]) -> Vec<Tensor<'a>> {
    all.iter().map(|slices| slices.as_slice().into()).collect()
}

/// A buffer that ends with the data, which begins `offset` bytes in.
fn source(reducer: &Reducer, data: &[u8], offset: u64) -> wgpu::Buffer {
    let mut bytes = vec![POISON; offset as usize];
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(4).max(4), POISON);
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    let source = buffer(reducer, bytes.len() as u64, usage);
    reducer.queue().write_buffer(&source, 0, &bytes);
    source
}
