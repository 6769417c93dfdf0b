//! A reduction with its buffers: bind groups and parameters, ready to be recorded.
//!
//! Everything that can be refused about buffers is refused here; recording cannot fail.

use crate::context::Context;
use crate::cuts::Cuts;
use crate::params;
use crate::plan::{Pass, Scratch, Slot, View};
use crate::{Error, Plan, Problem};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Where a tensor is, in C order. Made of a slice, `buffer.slice(..).into()`, or of the slices
/// that hold it one after another, `(&slices[..]).into()`: above the device's `max_buffer_size` it
/// takes several buffers.
///
/// A slice begins at any multiple of the element's size, in a buffer with the usage `STORAGE`; all
/// but the last hold whole elements.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    slices: Slices<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Slices<'a> {
    One(wgpu::BufferSlice<'a>),
    Several(&'a [wgpu::BufferSlice<'a>]),
}

impl<'a> From<wgpu::BufferSlice<'a>> for Tensor<'a> {
    fn from(slice: wgpu::BufferSlice<'a>) -> Tensor<'a> {
        Tensor {
            slices: Slices::One(slice),
        }
    }
}

impl<'a> From<&'a [wgpu::BufferSlice<'a>]> for Tensor<'a> {
    fn from(slices: &'a [wgpu::BufferSlice<'a>]) -> Tensor<'a> {
        Tensor {
            slices: Slices::Several(slices),
        }
    }
}

impl<'a> Tensor<'a> {
    fn slices(&self) -> &[wgpu::BufferSlice<'a>] {
        match &self.slices {
            Slices::One(slice) => std::slice::from_ref(slice),
            Slices::Several(slices) => slices,
        }
    }
}

/// The caller's buffers for [`crate::Reduction::bind`]. The library never changes a byte outside
/// of the slices of outputs and scratch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffers<'a> {
    /// A tensor an input.
    pub inputs: &'a [Tensor<'a>],
    /// A tensor an output, in buffers that are none of the inputs'.
    pub outputs: &'a [Tensor<'a>],
    /// Where partial results go: a slice for each of [`crate::Reduction::scratch_sizes`], each in
    /// a buffer of its own with the usage `STORAGE`, beginning at a multiple of the device's
    /// `min_storage_buffer_offset_alignment`. `None`: the library allocates what is needed.
    ///
    /// What is in it does not matter, before or after: reductions that run on one queue may
    /// share it.
    pub scratch: Option<&'a [wgpu::BufferSlice<'a>]>,
}

/// A range of a buffer that holds some bytes of a slot of the plan.
#[derive(Clone)]
pub(crate) struct Piece {
    pub buffer: wgpu::Buffer,
    /// The slot's first byte in it, and where that is in the buffer.
    pub start: u64,
    pub offset: u64,
    pub bytes: u64,
}

/// A compiled pass: what a plan's pass became on a device.
pub(crate) struct Compiled {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

struct Dispatch {
    compiled: Arc<Compiled>,
    group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

/// A reduction bound to buffers. Recording it fails never, allocates nothing and touches no
/// queue; it may be recorded any number of times.
///
/// A `Bound` keeps its buffers alive, but not whole: where the caller destroys one, or has it
/// mapped, at the time of a submit, it is that submit of the caller's that wgpu refuses, with an
/// error of the caller's device. Nothing else can surface at its `finish` or `submit`.
///
/// What a driver's watchdog would take for a hang, if it came in one submit, is cut into
/// [`Bound::parts`]; most work is one part. Whoever has several submits each by itself:
///
/// ```
/// # fn submit(device: &wgpu::Device, queue: &wgpu::Queue, bound: &wgreduce::Bound) {
/// # use wgreduce::wgpu;
/// for part in 0..bound.parts() {
///     let mut encoder = device.create_command_encoder(&Default::default());
///     bound.encode_part(part, &mut encoder);
///     queue.submit([encoder.finish()]);
/// }
/// # }
/// ```
pub struct Bound {
    dispatches: Vec<Dispatch>,
    parts: Vec<std::ops::Range<usize>>,
}

impl Bound {
    /// Records the reduction as a compute pass of its own.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        self.record(&mut compute_pass(encoder, None));
    }

    /// Records one part and, where asked for, when it begins and ends.
    pub(crate) fn encode_timed(
        &self,
        part: usize,
        encoder: &mut wgpu::CommandEncoder,
        times: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        self.record_part(part, &mut compute_pass(encoder, times));
    }

    /// Records the reduction into a compute pass that is open. It leaves its own pipeline and
    /// bind group 0 set.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        record(&self.dispatches, pass);
    }

    /// Parts that the work is cut into so that none exceeds [`crate::Tuning::submit_bytes`]; none
    /// if there is nothing to do.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Records one part as [`Bound::encode`] records all. Parts belong in order, each of them once;
    /// there is nothing to record from [`Bound::parts`] on.
    pub fn encode_part(&self, part: usize, encoder: &mut wgpu::CommandEncoder) {
        self.encode_timed(part, encoder, None);
    }

    /// Records one part as [`Bound::record`] records all.
    pub fn record_part(&self, part: usize, pass: &mut wgpu::ComputePass<'_>) {
        let dispatches = self
            .parts
            .get(part)
            .map(|part| &self.dispatches[part.clone()]);
        record(dispatches.unwrap_or_default(), pass);
    }

    /// Dispatches that are recorded.
    pub fn dispatches(&self) -> usize {
        self.dispatches.len()
    }
}

fn compute_pass<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) -> wgpu::ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some("wgreduce"),
        timestamp_writes,
    })
}

fn record(dispatches: &[Dispatch], pass: &mut wgpu::ComputePass<'_>) {
    for dispatch in dispatches {
        let [x, y, z] = dispatch.workgroups;
        pass.set_pipeline(&dispatch.compiled.pipeline);
        pass.set_bind_group(0, &dispatch.group, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bound({} dispatches)", self.dispatches.len())
    }
}

/// The caller's tensors, fit for use.
pub(crate) struct Tensors {
    inputs: Vec<Vec<Piece>>,
    outputs: Vec<Vec<Piece>>,
}

impl Tensors {
    pub(crate) fn new(problem: &Problem, buffers: Buffers<'_>) -> Result<Tensors, Error> {
        let size = problem.dtype().size();
        let input = |i| (problem.input_bytes(i), size);
        let wanted = (0..problem.inputs().len()).map(input).collect::<Vec<_>>();
        let inputs = pieces("input", buffers.inputs, &wanted)?;
        let wanted = problem.outputs().into_iter();
        let wanted: Vec<_> = wanted.map(|o| (o.bytes(), o.dtype.size())).collect();
        let outputs = pieces("output", buffers.outputs, &wanted)?;
        let tensors = Tensors { inputs, outputs };
        for (i, own) in tensors.outputs.iter().enumerate() {
            let others = tensors.outputs[..i].iter().chain(&tensors.inputs).flatten();
            let shared = own.iter().filter(|p| p.bytes > 0).any(|p| {
                let mut others = others.clone();
                others.any(|other| other.buffer == p.buffer)
            });
            let overlaps = |(j, p): (usize, &Piece)| own[..j].iter().any(|q| p.overlaps(q));
            if shared || own.iter().enumerate().any(overlaps) {
                return Err(Error::Aliased { output: i });
            }
        }
        Ok(tensors)
    }

    /// Where tensors go on in another buffer.
    pub(crate) fn cuts(&self, problem: &Problem) -> Cuts {
        let cut = |pieces: &Vec<Piece>, size: u64| {
            let starts = pieces.iter().skip(1).map(|p| p.start / size);
            starts.collect::<Vec<u64>>()
        };
        let outputs = self.outputs.iter().zip(problem.outputs());
        Cuts {
            inputs: self
                .inputs
                .iter()
                .map(|p| cut(p, problem.dtype().size()))
                .collect(),
            outputs: outputs.map(|(p, o)| cut(p, o.dtype.size())).collect(),
        }
    }

    /// Whether all buffers' data begins at multiples of 16 bytes, of the buffer and the tensor.
    pub(crate) fn are_aligned(&self) -> bool {
        let mut pieces = self.inputs.iter().chain(&self.outputs).flatten();
        pieces.all(|p| p.offset.is_multiple_of(16) && p.start.is_multiple_of(16))
    }
}

impl Piece {
    fn overlaps(&self, other: &Piece) -> bool {
        let end = |p: &Piece| p.offset + p.bytes;
        let apart = end(self) <= other.offset || end(other) <= self.offset;
        self.buffer == other.buffer && !apart
    }
}

/// Binds a compiled plan to buffers.
pub(crate) fn bind(
    context: &Context,
    plan: &Plan,
    compiled: &[Arc<Compiled>],
    scratch: &[Scratch],
    tensors: Tensors,
    given: Option<&[wgpu::BufferSlice<'_>]>,
) -> Result<Bound, Error> {
    let alignment = offset_alignment(context);
    let places = Places::new(context, scratch, alignment, tensors, given)?;
    Ok(Bound {
        parts: plan.parts().to_vec(),
        ..bind_passes(context, plan.passes(), compiled, &places)?
    })
}

/// Binds some passes, each of whose views lies within one piece, as one part.
pub(crate) fn bind_passes(
    context: &Context,
    passes: &[Pass],
    compiled: &[Arc<Compiled>],
    places: &Places,
) -> Result<Bound, Error> {
    let alignment = offset_alignment(context);
    let limits = context.device.limits();
    let stride = u64::from(limits.min_uniform_buffer_offset_alignment).max(params::BYTES);
    if passes.is_empty() {
        return Ok(Bound {
            dispatches: Vec::new(),
            parts: Vec::new(),
        });
    }
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let blocks = Blocks::new(passes, stride);
    let uniforms = context.buffer("parameters", blocks.bytes, usage)?;
    let mut words = vec![0u32; blocks.bytes as usize / 4];
    let mut dispatches = Vec::with_capacity(passes.len());
    for ((pass, compiled), &at) in passes.iter().zip(compiled).zip(&blocks.starts) {
        let seen = Seen::new(pass, places, alignment);
        seen.write(pass, at, stride, &mut words);
        let entries: Vec<_> = pass
            .kernel
            .bindings()
            .iter()
            .map(|&binding| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(match seen.range(pass, binding) {
                    Some(range) => range.binding(),
                    None => wgpu::BufferBinding {
                        buffer: &uniforms,
                        offset: at + u64::from(binding) * stride,
                        size: NonZeroU64::new(block_bytes(binding)),
                    },
                }),
            })
            .collect();
        let descriptor = wgpu::BindGroupDescriptor {
            label: None,
            layout: &compiled.layout,
            entries: &entries,
        };
        let create = || context.device.create_bind_group(&descriptor);
        dispatches.push(Dispatch {
            group: context.scoped("a bind group", 0, create)?,
            compiled: compiled.clone(),
            workgroups: pass.workgroups,
        });
    }
    let write = || {
        let bytes = bytemuck::cast_slice(&words);
        context.queue.write_buffer(&uniforms, 0, bytes);
    };
    context.scoped("parameters", 4 * words.len() as u64, write)?;
    let parts = std::iter::once(0..dispatches.len()).collect();
    Ok(Bound { dispatches, parts })
}

/// What bindings begin at a multiple of; at least a vec4.
pub(crate) fn offset_alignment(context: &Context) -> u64 {
    let limits = context.device.limits();
    u64::from(limits.min_storage_buffer_offset_alignment).max(16)
}

/// Bytes of the uniform block at a binding: 0, and 1 of elementwise passes.
fn block_bytes(binding: u32) -> u64 {
    match binding {
        0 => params::BYTES,
        _ => params::ZIP_BYTES,
    }
}

/// Where each pass' uniform blocks begin in their buffer.
struct Blocks {
    starts: Vec<u64>,
    bytes: u64,
}

impl Blocks {
    fn new(passes: &[Pass], stride: u64) -> Blocks {
        let mut bytes = 0;
        let mut starts = Vec::with_capacity(passes.len());
        for pass in passes {
            starts.push(bytes);
            bytes += stride;
            if pass.zip.is_some() {
                bytes += params::ZIP_BYTES.next_multiple_of(stride);
            }
        }
        Blocks { starts, bytes }
    }
}

/// What a pass' bindings cover.
struct Seen<'a> {
    src: Option<Range<'a>>,
    indices: Option<Range<'a>>,
    dst: Range<'a>,
    zipped: Vec<Range<'a>>,
}

impl<'a> Seen<'a> {
    fn new(pass: &Pass, places: &'a Places, alignment: u64) -> Seen<'a> {
        let range = |view: &View| places.range(view, alignment);
        let views = pass.zip.iter().flat_map(|(_, views)| views);
        Seen {
            src: pass.src.as_ref().map(range),
            indices: pass.indices.as_ref().map(range),
            dst: range(&pass.dst),
            zipped: views.map(range).collect(),
        }
    }

    /// What storage a binding covers; none for a uniform block.
    fn range(&self, pass: &Pass, binding: u32) -> Option<&Range<'a>> {
        match binding {
            0 => None,
            2 => Some(&self.dst),
            _ if pass.zip.is_some() => {
                // The one view may be bound twice: as words and as vec4.
                let input = (binding as usize).checked_sub(3)?;
                self.zipped.get(input).or(self.zipped.first())
            }
            1 => self.indices.as_ref().or(self.src.as_ref()),
            _ => self.src.as_ref(),
        }
    }

    /// Writes the parameters, with the distances that alignment leaves.
    fn write(&self, pass: &Pass, at: u64, stride: u64, words: &mut [u32]) {
        let mut block = pass.params;
        block.src_delta = self.src.as_ref().map_or(0, |r| r.delta);
        block.dst_delta = self.dst.delta;
        if let Some(indices) = &self.indices {
            block.slice = indices.delta;
        }
        let at = at as usize / 4;
        words[at..at + params::WORDS].copy_from_slice(&block.words());
        if let Some((zip, _)) = &pass.zip {
            let mut zip = zip.clone();
            let starts = zip.starts.iter_mut().zip(&self.zipped);
            starts.for_each(|(start, range)| *start += range.delta);
            let at = at + stride as usize / 4;
            words[at..at + params::ZIP_WORDS].copy_from_slice(&zip.words());
        }
    }
}

/// A binding that covers a view, and how many elements it begins before it.
struct Range<'a> {
    buffer: &'a wgpu::Buffer,
    offset: u64,
    bytes: u64,
    delta: u32,
}

impl Range<'_> {
    fn binding(&self) -> wgpu::BufferBinding<'_> {
        wgpu::BufferBinding {
            buffer: self.buffer,
            offset: self.offset,
            size: NonZeroU64::new(self.bytes),
        }
    }
}

/// Where the plan's slots are, all that its passes name: inputs and outputs in pieces, one after
/// another.
pub(crate) struct Places {
    pub inputs: Vec<Vec<Piece>>,
    pub outputs: Vec<Vec<Piece>>,
    scratch: HashMap<Slot, Vec<Piece>>,
}

impl Places {
    fn new(
        context: &Context,
        scratch: &[Scratch],
        alignment: u64,
        Tensors { inputs, outputs }: Tensors,
        given: Option<&[wgpu::BufferSlice<'_>]>,
    ) -> Result<Places, Error> {
        let places = match given {
            None => Places::scratch(context, scratch)?,
            Some(given) => {
                let tensors = inputs.iter().chain(&outputs).flatten();
                let taken = tensors.filter(|p| p.bytes > 0).map(|p| &p.buffer).collect();
                let pieces = placed_scratch(scratch, given, alignment, taken)?;
                Places::of_scratch(scratch, pieces)
            }
        };
        Ok(Places {
            inputs,
            outputs,
            ..places
        })
    }

    /// Scratch of the library's own, and no inputs and outputs yet.
    pub(crate) fn scratch(context: &Context, needed: &[Scratch]) -> Result<Places, Error> {
        let allocated = |scratch: &Scratch| -> Result<Piece, Error> {
            let usage = wgpu::BufferUsages::STORAGE;
            Ok(Piece {
                buffer: context.buffer("scratch", scratch.bytes, usage)?,
                start: scratch.start,
                offset: 0,
                bytes: scratch.bytes,
            })
        };
        let pieces = needed.iter().map(allocated).collect::<Result<_, _>>()?;
        Ok(Places::of_scratch(needed, pieces))
    }

    /// A piece for each buffer of scratch, and no inputs and outputs yet.
    fn of_scratch(needed: &[Scratch], pieces: Vec<Piece>) -> Places {
        let mut scratch: HashMap<Slot, Vec<Piece>> = HashMap::new();
        for (needed, piece) in needed.iter().zip(pieces) {
            scratch.entry(needed.slot).or_default().push(piece);
        }
        Places {
            inputs: Vec::new(),
            outputs: Vec::new(),
            scratch,
        }
    }

    /// The piece that holds a byte of a slot.
    fn piece(&self, slot: Slot, byte: u64) -> &Piece {
        match slot {
            Slot::Input(i) => of(&self.inputs[i], byte),
            Slot::Output(i) => of(&self.outputs[i], byte),
            // A plan's scratch is what its passes name.
            scratch => of(&self.scratch[&scratch], byte),
        }
    }

    fn range(&self, view: &View, alignment: u64) -> Range<'_> {
        let piece = self.piece(view.slot, view.offset);
        let begin = piece.offset + view.offset - piece.start;
        let mut offset = begin / alignment * alignment;
        // Shaders see at least a vec4 where the buffer has one.
        if begin + view.bytes - offset < 16 && offset >= alignment {
            offset -= alignment;
        }
        let end = (begin + view.bytes).next_multiple_of(4).max(offset + 16);
        // Bindings end with a word, whatever the size of a foreign buffer.
        let end = end.min(piece.buffer.size() / 4 * 4);
        Range {
            buffer: &piece.buffer,
            offset,
            bytes: end - offset,
            delta: ((begin - offset) / view.element) as u32,
        }
    }
}

/// The last piece that begins at or before a byte; the first begins at 0.
fn of(pieces: &[Piece], byte: u64) -> &Piece {
    let after = pieces.partition_point(|p| p.start <= byte);
    &pieces[after.max(1) - 1]
}

/// The caller's scratch, if it is fit for use beside the buffers that are taken.
fn placed_scratch<'a>(
    needed: &[Scratch],
    given: &'a [wgpu::BufferSlice<'a>],
    alignment: u64,
    mut taken: Vec<&'a wgpu::Buffer>,
) -> Result<Vec<Piece>, Error> {
    let tensors: Vec<Tensor<'_>> = given.iter().map(|&slice| slice.into()).collect();
    let wanted: Vec<_> = needed.iter().map(|s| (s.bytes, alignment)).collect();
    let found = pieces("scratch", &tensors, &wanted)?.into_iter().flatten();
    for (index, slice) in given.iter().enumerate() {
        if taken.contains(&slice.buffer()) {
            return Err(Error::AliasedScratch { index });
        }
        taken.push(slice.buffer());
    }
    let placed = |(piece, needed): (Piece, &Scratch)| Piece {
        start: needed.start,
        ..piece
    };
    Ok(found.zip(needed).map(placed).collect())
}

/// Checks tensors against what the problem has: (bytes, bytes of an element) each.
fn pieces(
    what: &'static str,
    tensors: &[Tensor<'_>],
    wanted: &[(u64, u64)],
) -> Result<Vec<Vec<Piece>>, Error> {
    if tensors.len() != wanted.len() {
        return Err(Error::BufferCount {
            what,
            expected: wanted.len(),
            actual: tensors.len(),
        });
    }
    let checked = |(i, (tensor, &(bytes, element))): (usize, (&Tensor<'_>, _))| {
        let slices = tensor.slices();
        let actual: u64 = slices.iter().map(wgpu::BufferSlice::size).sum();
        if actual < bytes || slices.is_empty() {
            return Err(Error::BufferTooSmall {
                what,
                index: i,
                needed: bytes,
                actual,
            });
        }
        let mut start = 0;
        let mut pieces = Vec::new();
        for slice in slices {
            // What follows the tensor's last byte is left alone.
            if start < bytes || pieces.is_empty() {
                let size = slice.size().min(bytes - start);
                pieces.push(piece((what, i), slice, start, size, element)?);
                start += size;
            }
            if start < bytes && !start.is_multiple_of(element) {
                return Err(Error::BufferBreak {
                    what,
                    index: i,
                    at: start,
                    element,
                });
            }
        }
        Ok(pieces)
    };
    tensors
        .iter()
        .zip(wanted)
        .enumerate()
        .map(checked)
        .collect()
}

/// Checks a slice that holds `bytes` of a tensor from `start` on.
fn piece(
    (what, index): (&'static str, usize),
    slice: &wgpu::BufferSlice<'_>,
    start: u64,
    bytes: u64,
    element: u64,
) -> Result<Piece, Error> {
    let (buffer, offset) = (slice.buffer(), slice.offset());
    if offset % element != 0 {
        return Err(Error::BufferMisaligned {
            what,
            index,
            offset,
            element,
        });
    }
    if bytes > 0 && !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(Error::BufferUsage { what, index });
    }
    // Shaders see whole words.
    if (offset + bytes).next_multiple_of(4) > buffer.size() {
        return Err(Error::BufferTooSmall {
            what,
            index,
            needed: (offset + bytes).next_multiple_of(4) - offset,
            actual: buffer.size() - offset,
        });
    }
    Ok(Piece {
        buffer: buffer.clone(),
        start,
        offset,
        bytes,
    })
}
