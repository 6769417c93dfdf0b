//! What the tests of results share: the comparison of a device with the reference.

mod seeds;

pub use seeds::*;
use wgreduce::wgpu::{self, BufferSlice, BufferUsages};
use wgreduce::{Buffers, Cuts, Problem, Reducer, reference};

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
    let reduction = match reducer.prepare(problem) {
        Ok(reduction) => reduction,
        Err(e) => return Some(format!("{problem}: {e}")),
    };
    let outputs = match run_bound(reducer, &reduction, inputs, offset) {
        Ok(outputs) => outputs,
        Err(e) => return Some(format!("{problem}: {e}")),
    };
    let difference = reference::verify(problem, inputs, &outputs).err()?;
    let plan = reduction.plan();
    Some(format!("{problem}: {difference}; plan {plan}"))
}

/// A buffer of the caller's, poisoned, in which the library has a part.
struct Guarded {
    buffer: wgpu::Buffer,
    back: wgpu::Buffer,
    begin: u64,
    bytes: u64,
}

impl Guarded {
    /// A buffer that ends a guard's length behind the part, in whole words.
    fn new(reducer: &Reducer, begin: u64, bytes: u64, guard: u64) -> Guarded {
        let size = (begin + bytes + guard).next_multiple_of(4);
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let guarded = Guarded {
            buffer: buffer(reducer, size, storage),
            back: buffer(
                reducer,
                size,
                BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            ),
            begin,
            bytes,
        };
        let poison = vec![POISON; size as usize];
        reducer.queue().write_buffer(&guarded.buffer, 0, &poison);
        guarded
    }

    fn slice(&self) -> BufferSlice<'_> {
        self.buffer.slice(self.begin..self.begin + self.bytes)
    }

    fn read_back(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.copy_buffer_to_buffer(&self.buffer, 0, &self.back, 0, self.back.size());
        encoder.map_buffer_on_submit(&self.back, wgpu::MapMode::Read, .., |r| r.expect("mapped"));
    }

    /// What is in the part, if nothing was written round it.
    fn contents(&self) -> Result<Vec<u8>, String> {
        let view = self.back.slice(..).get_mapped_range().expect("mapped");
        let (begin, end) = (self.begin as usize, (self.begin + self.bytes) as usize);
        let guards = view[..begin].iter().chain(&view[end..]);
        match guards.into_iter().all(|&b| b == POISON) {
            true => Ok(view[begin..end].to_vec()),
            false => Err("bytes outside of the slice were written".to_owned()),
        }
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

/// [`differs`] with tensors of several buffers, each of which begins `offset` bytes in.
pub fn differs_in_pieces(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    cuts: &Cuts,
    offset: u64,
) -> Option<String> {
    match run_in_pieces(reducer, problem, inputs, cuts, offset) {
        Ok(outputs) => reference::verify(problem, inputs, &outputs)
            .err()
            .map(|difference| format!("{problem} cut at {cuts:?}: {difference}")),
        Err(e) => Some(format!("{problem} cut at {cuts:?}: {e}")),
    }
}

/// The byte ranges between cuts of a tensor.
fn ranges(cuts: &[Vec<u64>], i: usize, size: u64, bytes: u64) -> Vec<std::ops::Range<u64>> {
    let cuts = cuts.get(i).into_iter().flatten().map(|c| c * size);
    let ends: Vec<u64> = [0].into_iter().chain(cuts).chain([bytes]).collect();
    ends.windows(2).map(|w| w[0]..w[1]).collect()
}

fn run_in_pieces(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    cuts: &Cuts,
    offset: u64,
) -> Result<Vec<Vec<u8>>, String> {
    let guarded = |range: std::ops::Range<u64>| {
        Guarded::new(reducer, offset, range.end - range.start, offset.max(8))
    };
    let source = |(i, data): (usize, &&[u8])| {
        let ranges = ranges(&cuts.inputs, i, problem.dtype().size(), data.len() as u64);
        let source = |range: std::ops::Range<u64>| {
            let source = guarded(range.clone());
            let mut bytes = vec![POISON; offset as usize];
            bytes.extend_from_slice(&data[range.start as usize..range.end as usize]);
            bytes.resize(source.buffer.size() as usize, POISON);
            reducer.queue().write_buffer(&source.buffer, 0, &bytes);
            source
        };
        ranges.into_iter().map(source).collect::<Vec<_>>()
    };
    let sources: Vec<Vec<Guarded>> = inputs.iter().enumerate().map(source).collect();
    let target = |(i, o): (usize, wgreduce::Output)| {
        let ranges = ranges(&cuts.outputs, i, o.dtype.size(), o.bytes());
        ranges.into_iter().map(guarded).collect::<Vec<_>>()
    };
    let outputs = problem.outputs().into_iter().enumerate();
    let targets: Vec<Vec<Guarded>> = outputs.map(target).collect();
    let reduction = reducer.prepare(problem).map_err(|e| e.to_string())?;
    let (ins, outs) = (slices_of(&sources), slices_of(&targets));
    let bound = reduction.bind(Buffers {
        inputs: &ins.iter().map(|s| s.as_slice().into()).collect::<Vec<_>>(),
        outputs: &outs.iter().map(|s| s.as_slice().into()).collect::<Vec<_>>(),
        scratch: None,
    });
    let bound = bound.map_err(|e| e.to_string())?;
    submit(reducer, |encoder| {
        bound.encode(encoder);
        // Again, with what the first run left in records.
        bound.encode(encoder);
    });
    read_back(reducer, targets.iter().flatten());
    let whole = |pieces: &Vec<Guarded>| {
        let contents = pieces.iter().map(Guarded::contents);
        Ok(contents.collect::<Result<Vec<_>, _>>()?.concat())
    };
    targets.iter().map(whole).collect()
}

fn slices_of(tensors: &[Vec<Guarded>]) -> Vec<Vec<BufferSlice<'_>>> {
    let slices = tensors.iter();
    slices
        .map(|pieces| pieces.iter().map(Guarded::slice).collect())
        .collect()
}

/// From data `offset` bytes into a buffer, three times: with scratch of the library's own, which the
/// second run finds dirty, and then with the caller's, the parts submitted one by one.
fn run_bound(
    reducer: &Reducer,
    reduction: &wgreduce::Reduction,
    inputs: &[&[u8]],
    offset: u64,
) -> Result<Vec<Vec<u8>>, String> {
    let source = |data: &&[u8]| source(reducer, data, offset);
    let sources: Vec<wgpu::Buffer> = inputs.iter().map(source).collect();
    // The slice begins a guard's length in, and a guard follows it; without an offset all data
    // begins with a vec4, which plans may rely on.
    let guard = match offset {
        0 => 16,
        _ => offset.next_multiple_of(8),
    };
    let target = |o: wgreduce::Output| {
        let begin = guard + offset / o.dtype.size() * o.dtype.size();
        Guarded::new(reducer, begin, o.bytes(), guard)
    };
    let outputs = reduction.problem().outputs().into_iter();
    let targets: Vec<Guarded> = outputs.map(target).collect();
    let alignment = reducer
        .device()
        .limits()
        .min_storage_buffer_offset_alignment;
    let place = |bytes| Guarded::new(reducer, alignment.into(), bytes, 16);
    let placed: Vec<Guarded> = reduction.scratch_sizes().into_iter().map(place).collect();
    let ins: Vec<_> = sources.iter().map(|b| b.slice(offset..).into()).collect();
    let outs = targets.iter().map(|t| t.buffer.slice(t.begin..).into());
    let outs: Vec<_> = outs.collect();
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
    for bound in [&own, &own] {
        submit(reducer, |encoder| bound.encode(encoder));
    }
    for part in 0..callers.parts() {
        submit(reducer, |encoder| callers.encode_part(part, encoder));
    }
    read_back(reducer, targets.iter().chain(&placed));
    for scratch in &placed {
        scratch.contents().map_err(|e| format!("scratch: {e}"))?;
    }
    targets.iter().map(Guarded::contents).collect()
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

fn submit(reducer: &Reducer, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder = reducer.device().create_command_encoder(&Default::default());
    record(&mut encoder);
    reducer.queue().submit([encoder.finish()]);
}

/// Copies buffers to where they can be read, and waits for all that was submitted.
fn read_back<'a>(reducer: &Reducer, all: impl Iterator<Item = &'a Guarded>) {
    submit(reducer, |encoder| {
        all.for_each(|guarded| guarded.read_back(encoder))
    });
    let waited = reducer.device().poll(wgpu::PollType::wait_indefinitely());
    waited.expect("polled");
}
