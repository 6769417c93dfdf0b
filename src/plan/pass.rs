//! What a plan is made of: dispatches, the buffers they read and write, and what they cost.
//!
//! Knows kernels and their parameters, but not how passes are planned.

use crate::Caps;
use crate::kernel::params::{Params, StrideTable};
use crate::kernel::{Kernel, StoreFormat};
use crate::plan::limits::STRIDED_COST;
use crate::walk::Walk;

/// A buffer a pass reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// An input of the problem.
    Input(usize),
    /// An output of the problem.
    Output(usize),
    /// Scratch that holds partial results.
    Partials,
    /// Scratch that holds a tensor: between two steps, or a copy of some columns of an input.
    Temp(usize),
}

impl Slot {
    /// All scratch a plan may need.
    pub(crate) const SCRATCH: [Slot; 3] = [Slot::Partials, Slot::Temp(0), Slot::Temp(1)];
}

/// A buffer of scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scratch {
    pub slot: Slot,
    /// Its first byte, from the slot's start.
    pub start: u64,
    pub bytes: u64,
}

impl Scratch {
    /// The buffers of a slot. Partials fit one binding; a tensor between two steps may be several.
    pub(crate) fn of(slot: Slot, bytes: u64, caps: &Caps) -> impl Iterator<Item = Scratch> {
        let most = match slot {
            Slot::Temp(_) => caps.piece_bytes(),
            _ => bytes.max(1),
        };
        let scratch = move |i| Scratch {
            slot,
            start: i * most,
            bytes: most.min(bytes - i * most),
        };
        (0..bytes.div_ceil(most)).map(scratch)
    }
}

/// A range of a slot, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The buffer.
    pub slot: Slot,
    /// Where it begins.
    pub offset: u64,
    /// Its length, as kernels see it.
    pub bytes: u64,
    /// Bytes of an element.
    pub element: u64,
    /// What is read of the slot, where that is only some columns of a matrix; else all of it.
    pub rows: Option<RowParts>,
}

/// Some columns of a matrix. In memory the view spans them, with what lies between; in a stream they are gathered, and
/// are all that the view has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowParts {
    /// Rows of the matrix.
    pub count: u64,
    /// Bytes of the columns in a row.
    pub bytes: u64,
    /// Bytes from a row of the slot to the next.
    pub pitch: u64,
}

impl View {
    /// `count` results of a slot, from number `at` on.
    pub(crate) fn of(slot: Slot, out: StoreFormat, at: u64, count: u64) -> View {
        View::elements(slot, out.bytes(), at, count)
    }

    /// `count` elements of a slot, of so many bytes each, from number `at` on.
    pub(crate) fn elements(slot: Slot, element: u64, at: u64, count: u64) -> View {
        View {
            slot,
            offset: at * element,
            bytes: count * element,
            element,
            rows: None,
        }
    }

    /// Bytes that are read.
    pub(crate) fn read(&self) -> u64 {
        self.rows.map_or(self.bytes, |rows| rows.count * rows.bytes)
    }

    /// The ranges of the slot that are read: first byte and length.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let whole = RowParts {
            count: 1,
            bytes: self.bytes,
            pitch: 0,
        };
        let (at, rows) = (self.offset, self.rows.unwrap_or(whole));
        (0..rows.count).map(move |i| (at + i * rows.pitch, rows.bytes))
    }
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// What runs.
    pub kernel: Kernel,
    /// What is read; `None` for a fill, and where `stride_table` lists it.
    pub src: Option<View>,
    /// Indices that are read (gather).
    pub indices: Option<View>,
    /// What is written.
    pub dst: View,
    /// What is written beside it, result by result.
    pub beside: Vec<View>,
    /// Parameters; the deltas are filled in when buffers are known.
    pub params: Params,
    /// The stride table and the views that it describes: the inputs of an elementwise dispatch, or the source
    /// of a strided view, then the indices that are read with it.
    pub stride_table: Option<(StrideTable, Vec<View>)>,
    /// Workgroups in x, y and z.
    pub workgroups: [u32; 3],
    /// Most iterations of an invocation, over all its loops; [`Caps::iterations`] limits them.
    pub iterations: u64,
    /// The output range that a later pass reads whole; this pass writes part of it.
    pub(crate) output_window: Option<View>,
}

impl Pass {
    /// The kernel's label.
    pub fn label(&self) -> String {
        self.kernel.label()
    }

    /// What is read.
    pub(crate) fn read(&self) -> impl Iterator<Item = &View> {
        let strided = self.stride_table.iter().flat_map(|(_, views)| views);
        self.src.iter().chain(&self.indices).chain(strided)
    }

    /// What is written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &View> {
        std::iter::once(&self.dst).chain(&self.beside)
    }

    /// The output ranges that leave as a whole, once they are complete: what is written, or the window around
    /// it.
    pub(crate) fn results(&self) -> impl Iterator<Item = &View> {
        let outputs = |view: &&View| matches!(view.slot, Slot::Output(_));
        let first = self.output_window.as_ref().unwrap_or(&self.dst);
        std::iter::once(first).chain(&self.beside).filter(outputs)
    }

    /// Bytes read.
    pub fn src_bytes(&self) -> u64 {
        let (p, element) = (&self.params, self.kernel.acc.bytes());
        let read = || -> u64 { self.read().map(View::read).sum() };
        match self.kernel.walk {
            // Its view may span segments that others take.
            Walk::Each(_) | Walk::Top(_) | Walk::Few(_) => {
                u64::from(p.items / p.slices.max(1)) * u64::from(p.len - p.begin) * element
            }
            // An element for each index, or some entries of each list.
            Walk::Gather(_) | Walk::Merge(_) => {
                let items = u64::from(p.items);
                self.read().map(|v| v.read().min(items * v.element)).sum()
            }
            // `Each` takes the rows that are left over.
            Walk::Columns(_) => {
                let left = p.len - p.rows * p.joined;
                read() - read() / u64::from(p.len) * u64::from(left)
            }
            // The results so far are an input, too.
            Walk::Elementwise(text) if text.chained => read() + self.dst.bytes,
            _ => read(),
        }
    }

    /// Bytes written.
    pub fn dst_bytes(&self) -> u64 {
        let p = &self.params;
        // What TopK writes lies between what others write.
        let most = match self.kernel.walk {
            Walk::Merge(_) => u64::from(p.items),
            Walk::Top(_) | Walk::Few(_) => u64::from(p.items) * u64::from(p.entries),
            _ => u64::MAX,
        };
        let bytes = |view: &View| view.bytes.min(most.saturating_mul(view.element));
        self.written().map(bytes).sum()
    }

    /// Its share of [`crate::Tuning::submit_bytes`]: the bytes read, or the bytes written if those are more.
    /// Bytes that are read across rows count four times.
    pub fn cost(&self) -> u64 {
        let p = &self.params;
        let read = match self.kernel.walk {
            // Each element counts as often as it is read.
            Walk::Strided => {
                let element = self.kernel.acc.bytes();
                STRIDED_COST * u64::from(p.items / p.slices.max(1)) * u64::from(p.len) * element
            }
            Walk::Gather(_) => {
                let element = self.read().map(|view| view.element).max().unwrap_or(0);
                STRIDED_COST * u64::from(p.items) * element
            }
            _ if p.pitch <= 1 => self.src_bytes(),
            _ => STRIDED_COST * self.src_bytes(),
        };
        read.max(self.dst_bytes())
    }
}
