//! Where a plan's tensors and scratch are: the caller's slices, checked, and the library's own buffers.
//!
//! Checks slices, and maps a view to bytes of a buffer. Knows nothing of kernels.

use crate::device::context::{Context, OwnBuffer};
use crate::plan::splits::BufferSplits;
use crate::plan::{Scratch, Slot, View};
use crate::{Error, Problem};
use std::collections::HashMap;
use std::num::NonZeroU64;

/// The memory of a tensor, in C order: one slice, `buffer.slice(..).into()`, or several that hold it one after
/// another, `(&slices[..]).into()`. A tensor larger than the device's `max_buffer_size` needs several buffers.
///
/// A slice may begin at any multiple of the element's size. All slices but the last hold whole elements. The buffer,
/// not the slice, must extend to the end of the tensor's last 4-byte word.
///
/// A buffer needs the usage `STORAGE`, for an input too. [`Buffers`] has the usages that
/// copies to and from the host add.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// Its only slice, or else all of them.
    one: Option<wgpu::BufferSlice<'a>>,
    several: &'a [wgpu::BufferSlice<'a>],
}

impl<'a> From<wgpu::BufferSlice<'a>> for Tensor<'a> {
    fn from(slice: wgpu::BufferSlice<'a>) -> Tensor<'a> {
        Tensor {
            one: Some(slice),
            several: &[],
        }
    }
}

impl<'a> From<&'a [wgpu::BufferSlice<'a>]> for Tensor<'a> {
    fn from(slices: &'a [wgpu::BufferSlice<'a>]) -> Tensor<'a> {
        Tensor {
            one: None,
            several: slices,
        }
    }
}

impl Tensor<'_> {
    /// Its slices, which must hold `bytes` bytes and split no element.
    fn pieces(&self, name: Name, (bytes, element): (u64, u64)) -> Result<Vec<Piece>, Error> {
        let (what, index) = name;
        let slices = || self.one.iter().chain(self.several);
        let actual: u64 = slices().map(wgpu::BufferSlice::size).sum();
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
        for slice in slices() {
            // Bytes after the tensor's last one are not used.
            if start < bytes || pieces.is_empty() {
                let size = slice.size().min(bytes - start);
                pieces.push(piece(name, slice, start, size, element)?);
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
/// the slices of outputs and scratch.
///
/// The library asks for the usage `STORAGE` alone. The caller's own copies ask for more:
///
/// | buffer | usages |
/// |---|---|
/// | inputs, outputs, scratch | `STORAGE` |
/// | an input that `wgpu::Queue::write_buffer` or a copy fills | also `COPY_DST` |
/// | an output that a copy reads | also `COPY_SRC` |
/// | the buffer that the caller maps to read a result | `COPY_DST` and `MAP_READ`; the library never sees it |
///
/// ```no_run
/// use wgreduce::wgpu::{BufferDescriptor, BufferUsages};
/// use wgreduce::{AdapterChoice, Buffers, DType, Error, Problem, Reducer};
/// # fn main() -> Result<(), Error> {
/// let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
/// let buffer = |size, usage| {
///     let mapped_at_creation = false;
///     reducer.device().create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation })
/// };
/// let scores = buffer(24, BufferUsages::STORAGE | BufferUsages::COPY_DST);
/// let winners = buffer(16, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
/// let reduction = reducer.prepare_blocking(&Problem::arg_max(DType::F32, &[2, 3], 1)?)?;
/// let bound = reduction.bind(Buffers::new(&[scores.slice(..).into()], &[winners.slice(..).into()]))?;
/// # let _ = bound;
/// # Ok(())
/// # }
/// ```
///
/// The example `own_buffers` is the whole program: it writes the input, records, and reads the result back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffers<'a> {
    /// One tensor per input.
    pub inputs: &'a [Tensor<'a>],
    /// One tensor per output. Inputs, outputs and scratch may lie in one buffer but must not overlap: nothing is
    /// reduced in place. If they share a buffer, kernels bind their inputs as writable storage and are compiled for
    /// it once. Only a tensor's own bytes count, not the rest of its slice. The bytes of a view are all from the start
    /// of the larger tensor to the view's highest element.
    pub outputs: &'a [Tensor<'a>],
    /// Scratch for partial results: one slice for each of [`crate::Reduction::scratch_sizes`], in buffers with
    /// the usage `STORAGE`, beginning at a multiple of [`crate::Caps::offset_alignment`] of the reducer's caps. For
    /// tensors in several buffers, one for each of [`crate::Reduction::scratch_sizes_in_pieces`]. `None`: the library
    /// allocates it.
    ///
    /// Its contents do not matter before or after a run, so reductions on one queue may share it.
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

    /// The same with the caller's scratch.
    #[must_use]
    pub fn with_scratch(self, scratch: &'a [wgpu::BufferSlice<'a>]) -> Buffers<'a> {
        Buffers {
            scratch: Some(scratch),
            ..self
        }
    }
}

/// How errors name a tensor: `input`, `output` or `scratch`, and its position.
type Name = (&'static str, usize);

/// A range of a buffer that holds some bytes of a slot of the plan.
pub(crate) struct Piece {
    pub name: Name,
    pub buffer: wgpu::Buffer,
    /// The first byte of the slot that it holds, and that byte's offset in the buffer.
    pub start: u64,
    pub offset: u64,
    pub bytes: u64,
}

/// The caller's tensors, fit for use; a stream has none.
#[derive(Default)]
pub(crate) struct Tensors {
    inputs: Vec<Vec<Piece>>,
    outputs: Vec<Vec<Piece>>,
}

impl Tensors {
    pub(crate) fn new(problem: &Problem, buffers: Buffers<'_>) -> Result<Tensors, Error> {
        let [read, written] = problem.sizes();
        let inputs = pieces("input", buffers.inputs, &read)?;
        let outputs = pieces("output", buffers.outputs, &written)?;
        refuse_aliases(inputs.iter().flatten().collect(), &outputs)?;
        Ok(Tensors { inputs, outputs })
    }

    /// Whether a buffer that is written also holds another tensor or scratch.
    pub(crate) fn share_buffers(&self, scratch: Option<&[wgpu::BufferSlice<'_>]>) -> bool {
        let inputs = self.inputs.iter().flatten().map(|p| &p.buffer);
        let outputs = self.outputs.iter();
        let outputs = outputs.map(|pieces| pieces.iter().map(|p| &p.buffer).collect());
        let scratch = scratch.unwrap_or_default().iter().map(|s| vec![s.buffer()]);
        let mut all: Vec<&wgpu::Buffer> = inputs.collect();
        for written in outputs.chain(scratch) {
            if written.iter().any(|buffer| all.contains(buffer)) {
                return true;
            }
            all.extend(written);
        }
        false
    }

    /// The elements at which tensors continue in another buffer.
    pub(crate) fn cuts(&self, problem: &Problem) -> BufferSplits {
        let [read, written] = problem.sizes();
        let cut = |(pieces, (_, element)): (&Vec<Piece>, (u64, u64))| {
            let starts = pieces.iter().skip(1).map(|p| p.start / element);
            starts.collect::<Vec<u64>>()
        };
        BufferSplits {
            inputs: self.inputs.iter().zip(read).map(cut).collect(),
            outputs: self.outputs.iter().zip(written).map(cut).collect(),
        }
    }

    /// Whether every piece begins at a multiple of 16 bytes, both in its buffer and in its tensor.
    pub(crate) fn are_aligned(&self) -> bool {
        let mut pieces = self.inputs.iter().chain(&self.outputs).flatten();
        pieces.all(|p| p.offset.is_multiple_of(16) && p.start.is_multiple_of(16))
    }
}

/// Refuses written pieces that overlap others, or one another.
fn refuse_aliases<'a>(mut others: Vec<&'a Piece>, written: &'a [Vec<Piece>]) -> Result<(), Error> {
    for piece in written.iter().flatten() {
        if let Some(other) = others.iter().find(|other| piece.overlaps(other)) {
            let ((what, index), (other, other_index)) = (piece.name, other.name);
            return Err(Error::Aliased {
                what,
                index,
                other,
                other_index,
            });
        }
        others.push(piece);
    }
    Ok(())
}

impl Piece {
    fn overlaps(&self, other: &Piece) -> bool {
        let end = |p: &Piece| p.offset + p.bytes;
        let apart = end(self) <= other.offset || end(other) <= self.offset;
        self.buffer == other.buffer && !apart && self.bytes > 0 && other.bytes > 0
    }
}

/// A binding that covers a view; it begins `delta` elements before the view.
pub(crate) struct BoundRange<'a> {
    piece: &'a Piece,
    offset: u64,
    bytes: u64,
    pub delta: u32,
}

impl<'a> BoundRange<'a> {
    fn overlaps(&self, other: &BoundRange<'_>) -> bool {
        let apart =
            self.offset + self.bytes <= other.offset || other.offset + other.bytes <= self.offset;
        self.piece.buffer == other.piece.buffer && !apart
    }

    pub(crate) fn binding(self) -> wgpu::BufferBinding<'a> {
        wgpu::BufferBinding {
            buffer: &self.piece.buffer,
            offset: self.offset,
            size: NonZeroU64::new(self.bytes),
        }
    }
}

/// Where the slots are that the plan's passes name.
pub(crate) struct BufferTable {
    /// The pieces of each, in order.
    pub pieces: HashMap<Slot, Vec<Piece>>,
    /// Of the bindings' offsets.
    alignment: u64,
    /// The scratch that the library allocated.
    pub own: Vec<OwnBuffer>,
}

impl BufferTable {
    /// The caller's tensors, and scratch: the given, or the library's own.
    pub(crate) fn new(
        context: &Context,
        needed: &[Scratch],
        alignment: u64,
        tensors: Tensors,
        given: Option<&[wgpu::BufferSlice<'_>]>,
    ) -> Result<BufferTable, Error> {
        let allocate =
            |s: &Scratch| context.buffer("scratch", s.bytes, wgpu::BufferUsages::STORAGE);
        let own: Vec<OwnBuffer> = match given {
            None => needed.iter().map(allocate).collect::<Result<_, _>>()?,
            Some(_) => Vec::new(),
        };
        let slices: Vec<_> = own.iter().map(|buffer| buffer.slice(..)).collect();
        let scratch = placed_scratch(needed, given.unwrap_or(&slices), alignment, &tensors)?;
        let inputs = (0..).map(Slot::Input).zip(tensors.inputs);
        let outputs = (0..).map(Slot::Output).zip(tensors.outputs);
        let mut pieces: HashMap<Slot, Vec<Piece>> = inputs.chain(outputs).collect();
        for (needed, piece) in needed.iter().zip(scratch) {
            pieces.entry(needed.slot).or_default().push(piece);
        }
        Ok(BufferTable {
            pieces,
            alignment,
            own,
        })
    }

    /// The range to bind for a view.
    pub(crate) fn range(&self, view: &View) -> BoundRange<'_> {
        let alignment = self.alignment;
        // A plan lists all scratch that its passes name.
        let piece = of(&self.pieces[&view.slot], view.offset);
        let begin = piece.offset + view.offset - piece.start;
        let mut offset = begin / alignment * alignment;
        // Shaders see at least a vec4 where the buffer has one.
        if begin + view.bytes - offset < 16 && offset >= alignment {
            offset -= alignment;
        }
        let end = (begin + view.bytes).next_multiple_of(4).max(offset + 16);
        // Bindings end at a whole word, even if the caller's buffer does not.
        let end = end.min(piece.buffer.size() / 4 * 4);
        BoundRange {
            piece,
            offset,
            bytes: end - offset,
            delta: ((begin - offset) / view.element) as u32,
        }
    }

    /// Refuses bindings of a dispatch that overlap in a buffer.
    pub(crate) fn refuse_overlaps<'a>(
        &self,
        views: impl Iterator<Item = &'a View>,
    ) -> Result<(), Error> {
        let mut bound: Vec<BoundRange<'_>> = Vec::new();
        for view in views {
            let range = self.range(view);
            if let Some(other) = bound.iter().find(|other| range.overlaps(other)) {
                let ((what, index), (other, other_index)) = (range.piece.name, other.piece.name);
                return Err(Error::BindingsOverlap {
                    what,
                    index,
                    other,
                    other_index,
                });
            }
            bound.push(range);
        }
        Ok(())
    }
}

/// The last piece that begins at or before a byte. The first piece begins at 0.
fn of(pieces: &[Piece], byte: u64) -> &Piece {
    let after = pieces.partition_point(|p| p.start <= byte);
    &pieces[after.max(1) - 1]
}

/// The pieces of scratch, checked against the tensors.
fn placed_scratch(
    needed: &[Scratch],
    given: &[wgpu::BufferSlice<'_>],
    alignment: u64,
    tensors: &Tensors,
) -> Result<Vec<Piece>, Error> {
    let given: Vec<Tensor<'_>> = given.iter().map(|&slice| slice.into()).collect();
    let wanted: Vec<_> = needed.iter().map(|s| (s.bytes, alignment)).collect();
    let found = pieces("scratch", &given, &wanted)?;
    let tensors = tensors.inputs.iter().chain(&tensors.outputs).flatten();
    refuse_aliases(tensors.collect(), &found)?;
    let placed = |(piece, needed): (Piece, &Scratch)| Piece {
        start: needed.start,
        ..piece
    };
    let found = found.into_iter().flatten().zip(needed);
    Ok(found.map(placed).collect())
}

/// Checks tensors against `wanted`: (bytes, bytes of an element) for each.
fn pieces(
    what: &'static str,
    tensors: &[Tensor<'_>],
    wanted: &[(u64, u64)],
) -> Result<Vec<Vec<Piece>>, Error> {
    if tensors.len() != wanted.len() {
        return Err(Error::BufferCount {
            what,
            needed: wanted.iter().map(|(bytes, _)| *bytes).collect(),
            actual: tensors.len(),
        });
    }
    let all = tensors.iter().zip(wanted).enumerate();
    let checked = all.map(|(i, (tensor, &wanted))| tensor.pieces((what, i), wanted));
    checked.collect()
}

/// Checks a slice that holds `bytes` of a tensor from `start` on.
fn piece(
    name: Name,
    slice: &wgpu::BufferSlice<'_>,
    start: u64,
    bytes: u64,
    element: u64,
) -> Result<Piece, Error> {
    let (what, index) = name;
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
        name,
        buffer: buffer.clone(),
        start,
        offset,
        bytes,
    })
}
