//! Where a plan's tensors and scratch are: the caller's slices, checked, and buffers of the library's.
//!
//! Keeps what is wrong with slices, and which bytes of which buffer a view is. Knows nothing of
//! kernels.

use crate::device::context::{Context, OwnBuffer};
use crate::plan::splits::BufferSplits;
use crate::plan::{Scratch, Slot, View};
use crate::{Error, Problem};
use std::collections::HashMap;
use std::num::NonZeroU64;

/// Where a tensor is, in C order. Made of a slice, `buffer.slice(..).into()`, or of the slices
/// that hold it one after another, `(&slices[..]).into()`: above the device's `max_buffer_size` it
/// takes several buffers.
///
/// A slice begins at any multiple of the element's size, in a buffer with the usage `STORAGE`; all
/// but the last hold whole elements. The buffer, not the slice, must reach to the end of the tensor's
/// last word of 4 bytes.
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

    /// Its slices, which must hold so many bytes, those of an element together.
    fn pieces(
        &self,
        (what, index): (&'static str, usize),
        (bytes, element): (u64, u64),
    ) -> Result<Vec<Piece>, Error> {
        let slices = self.slices();
        let actual: u64 = slices.iter().map(wgpu::BufferSlice::size).sum();
        if actual < bytes {
            return Err(Error::BufferTooSmall {
                what,
                index,
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
                pieces.push(piece((what, index), slice, start, size, element)?);
                start += size;
            }
            if start < bytes && !start.is_multiple_of(element) {
                return Err(Error::BufferBreak {
                    what,
                    index,
                    at: start,
                    element,
                });
            }
        }
        Ok(pieces)
    }
}

/// The caller's buffers for [`crate::Reduction::bind`]. The library never changes a byte outside
/// of the slices of outputs and scratch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffers<'a> {
    /// A tensor an input.
    pub inputs: &'a [Tensor<'a>],
    /// A tensor an output. Inputs, outputs and scratch may lie in one buffer, apart from each other, so
    /// that nothing is reduced in place: kernels then bind what they read as writable storage, and are
    /// compiled for it once. What counts are the bytes of a tensor, not those of a slice beyond it; of a
    /// view all from its first element to its last.
    pub outputs: &'a [Tensor<'a>],
    /// Where partial results go: a slice for each of [`crate::Reduction::scratch_sizes`], in buffers with
    /// the usage `STORAGE`, beginning at a multiple of the device's
    /// `min_storage_buffer_offset_alignment`. `None`: the library allocates what is needed.
    ///
    /// What is in it does not matter, before or after: reductions that run on one queue may
    /// share it.
    pub scratch: Option<&'a [wgpu::BufferSlice<'a>]>,
}

impl<'a> Buffers<'a> {
    /// Inputs and outputs; the library allocates the scratch.
    pub fn new(inputs: &'a [Tensor<'a>], outputs: &'a [Tensor<'a>]) -> Buffers<'a> {
        Buffers {
            inputs,
            outputs,
            scratch: None,
        }
    }

    /// The same with scratch of the caller's.
    #[must_use]
    pub fn with_scratch(self, scratch: &'a [wgpu::BufferSlice<'a>]) -> Buffers<'a> {
        Buffers {
            scratch: Some(scratch),
            ..self
        }
    }
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
        let mut taken: Vec<Named<'_>> = named("input", &tensors.inputs).collect();
        for output in named("output", &tensors.outputs) {
            output.check(&taken)?;
            taken.push(output);
        }
        Ok(tensors)
    }

    /// Whether a buffer that is written holds something else, too: another tensor, or scratch.
    pub(crate) fn share_buffers(&self, scratch: Option<&[wgpu::BufferSlice<'_>]>) -> bool {
        let inputs = self.inputs.iter().flatten().map(|p| &p.buffer);
        let outputs = self
            .outputs
            .iter()
            .map(|pieces| pieces.iter().map(|p| &p.buffer));
        let scratch = scratch.unwrap_or_default().iter().map(|s| s.buffer());
        let mut all: Vec<&wgpu::Buffer> = inputs.collect();
        for output in outputs {
            if output.clone().any(|buffer| all.contains(&buffer)) {
                return true;
            }
            all.extend(output);
        }
        for buffer in scratch {
            if all.contains(&buffer) {
                return true;
            }
            all.push(buffer);
        }
        false
    }

    /// Where tensors go on in another buffer.
    pub(crate) fn cuts(&self, problem: &Problem) -> BufferSplits {
        let cut = |pieces: &Vec<Piece>, size: u64| {
            let starts = pieces.iter().skip(1).map(|p| p.start / size);
            starts.collect::<Vec<u64>>()
        };
        let outputs = self.outputs.iter().zip(problem.outputs());
        BufferSplits {
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

/// A piece, with what it is of.
struct Named<'a> {
    what: &'static str,
    index: usize,
    piece: &'a Piece,
}

fn named<'a>(what: &'static str, all: &'a [Vec<Piece>]) -> impl Iterator<Item = Named<'a>> {
    all.iter().enumerate().flat_map(move |(index, pieces)| {
        let piece = move |piece| Named { what, index, piece };
        pieces.iter().map(piece)
    })
}

impl Named<'_> {
    /// Refuses what is written and overlaps something else.
    fn check(&self, others: &[Named<'_>]) -> Result<(), Error> {
        match others.iter().find(|other| self.piece.overlaps(other.piece)) {
            None => Ok(()),
            Some(other) => Err(Error::Aliased {
                what: self.what,
                index: self.index,
                other: other.what,
                other_index: other.index,
            }),
        }
    }
}

impl Piece {
    fn overlaps(&self, other: &Piece) -> bool {
        let end = |p: &Piece| p.offset + p.bytes;
        let apart = end(self) <= other.offset || end(other) <= self.offset;
        self.buffer == other.buffer && !apart && self.bytes > 0 && other.bytes > 0
    }
}

/// What bindings begin at a multiple of; at least a vec4.
pub(crate) fn offset_alignment(context: &Context) -> u64 {
    let limits = context.device.limits();
    u64::from(limits.min_storage_buffer_offset_alignment).max(16)
}

/// A binding that covers a view, and how many elements it begins before it.
pub(crate) struct BoundRange<'a> {
    buffer: &'a wgpu::Buffer,
    offset: u64,
    bytes: u64,
    pub delta: u32,
}

impl BoundRange<'_> {
    pub(crate) fn binding(&self) -> wgpu::BufferBinding<'_> {
        wgpu::BufferBinding {
            buffer: self.buffer,
            offset: self.offset,
            size: NonZeroU64::new(self.bytes),
        }
    }
}

/// Where the plan's slots are, all that its passes name: inputs and outputs in pieces, one after
/// another.
pub(crate) struct BufferTable {
    pub inputs: Vec<Vec<Piece>>,
    pub outputs: Vec<Vec<Piece>>,
    scratch: HashMap<Slot, Vec<Piece>>,
    /// What scratch is not the caller's.
    pub own: Vec<OwnBuffer>,
}

impl BufferTable {
    pub(crate) fn new(
        context: &Context,
        scratch: &[Scratch],
        alignment: u64,
        Tensors { inputs, outputs }: Tensors,
        given: Option<&[wgpu::BufferSlice<'_>]>,
    ) -> Result<BufferTable, Error> {
        let places = match given {
            None => BufferTable::scratch(context, scratch)?,
            Some(given) => {
                let tensors = named("input", &inputs).chain(named("output", &outputs));
                let pieces = placed_scratch(scratch, given, alignment, tensors.collect())?;
                BufferTable::of_scratch(scratch, pieces)
            }
        };
        Ok(BufferTable {
            inputs,
            outputs,
            ..places
        })
    }

    /// Scratch of the library's own, and no inputs and outputs yet.
    pub(crate) fn scratch(context: &Context, needed: &[Scratch]) -> Result<BufferTable, Error> {
        let allocate =
            |s: &Scratch| context.buffer("scratch", s.bytes, wgpu::BufferUsages::STORAGE);
        let own: Vec<OwnBuffer> = needed.iter().map(allocate).collect::<Result<_, _>>()?;
        let piece = |(scratch, buffer): (&Scratch, &OwnBuffer)| Piece {
            buffer: wgpu::Buffer::clone(buffer),
            start: scratch.start,
            offset: 0,
            bytes: scratch.bytes,
        };
        let pieces = needed.iter().zip(&own).map(piece).collect();
        Ok(BufferTable {
            own,
            ..BufferTable::of_scratch(needed, pieces)
        })
    }

    /// A piece for each buffer of scratch, and no inputs and outputs yet.
    fn of_scratch(needed: &[Scratch], pieces: Vec<Piece>) -> BufferTable {
        let mut scratch: HashMap<Slot, Vec<Piece>> = HashMap::new();
        for (needed, piece) in needed.iter().zip(pieces) {
            scratch.entry(needed.slot).or_default().push(piece);
        }
        BufferTable {
            inputs: Vec::new(),
            outputs: Vec::new(),
            scratch,
            own: Vec::new(),
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

    /// What a binding must cover for a view.
    pub(crate) fn range(&self, view: &View, alignment: u64) -> BoundRange<'_> {
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
        BoundRange {
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

/// The caller's scratch, if it is fit for use beside the tensors.
fn placed_scratch(
    needed: &[Scratch],
    given: &[wgpu::BufferSlice<'_>],
    alignment: u64,
    tensors: Vec<Named<'_>>,
) -> Result<Vec<Piece>, Error> {
    let given: Vec<Tensor<'_>> = given.iter().map(|&slice| slice.into()).collect();
    let wanted: Vec<_> = needed.iter().map(|s| (s.bytes, alignment)).collect();
    let found = pieces("scratch", &given, &wanted)?;
    let mut taken = tensors;
    for scratch in named("scratch", &found) {
        scratch.check(&taken)?;
        taken.push(scratch);
    }
    let placed = |(piece, needed): (Piece, &Scratch)| Piece {
        start: needed.start,
        ..piece
    };
    Ok(found
        .into_iter()
        .flatten()
        .zip(needed)
        .map(placed)
        .collect())
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
    let all = tensors.iter().zip(wanted).enumerate();
    let checked = all.map(|(i, (tensor, &wanted))| tensor.pieces((what, i), wanted));
    checked.collect()
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
