//! Planning Min and Max: from broadcast shapes to elementwise dispatches.
//!
//! Shapes are merged to as few dimensions as possible. Where everything is whole vec4, an invocation writes
//! several vec4 of outputs along one dimension. Otherwise, and for the remainder at the end, it writes an output
//! word. More inputs than a dispatch can bind are chained: the next dispatch combines its inputs with
//! the output so far, in place.

use crate::kernel::StoreFormat;
use crate::kernel::params::{STRIDE_DIMS, StrideTable};
use crate::plan::limits::{MAX_REGION, dispatches};
use crate::plan::pass::{Slot, View};
use crate::plan::splits::{inside, longest};
use crate::plan::step::Planner;
use crate::problem::elements;
use crate::{Error, Problem};

/// A dimension of the output, and the stride of each input along it. Both count units: vec4 for an input (or
/// the output) that is accessed by vec4, else elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dim {
    pub size: u64,
    pub strides: Vec<i64>,
}

impl Dim {
    /// How far an input moves from the first coordinate to the last.
    fn way(&self, input: usize) -> i64 {
        (self.size - 1) as i64 * self.strides[input]
    }
}

/// A contiguous part of the output that one dispatch writes.
pub(crate) struct Part<'a> {
    pub dims: Vec<Dim>,
    /// First output, and each input's element with coordinates 0, in their units.
    pub out: u64,
    pub starts: Vec<i64>,
    pub unit: &'a Unit,
}

/// What an invocation writes and what it reads of each input. `elements`: elements in an output unit.
/// `splat`: inputs that are read by element although the output is written by vec4.
pub(crate) struct Unit {
    pub elements: u64,
    pub splat: Vec<bool>,
}

impl Unit {
    /// Whether an invocation writes vec4, not a word.
    pub fn is_vec(&self) -> bool {
        self.elements > 1
    }

    fn input(&self, i: usize) -> u64 {
        if self.splat[i] { 1 } else { self.elements }
    }
}

impl<'a> Part<'a> {
    /// Its coordinates `from..from + count` along the first dimension.
    fn taken(&self, from: u64, count: u64) -> Part<'a> {
        let inner: u64 = self.dims[1..].iter().map(|d| d.size).product();
        let strides = self.starts.iter().zip(&self.dims[0].strides);
        let mut dims = self.dims.clone();
        dims[0].size = count;
        Part {
            dims,
            out: self.out + from * inner,
            starts: strides.map(|(at, s)| at + from as i64 * s).collect(),
            unit: self.unit,
        }
    }

    /// The range of an input that is read; elements have `size` bytes.
    pub fn input(&self, i: usize, size: u64) -> View {
        let first = (self.starts[i] - back(&self.dims, i)) as u64;
        let element = size * self.unit.input(i);
        let ways = self.dims.iter().map(|d| d.way(i).unsigned_abs());
        View::elements(Slot::Input(i), element, first, ways.sum::<u64>() + 1)
    }

    /// The range of the output that is written.
    pub fn output(&self, size: u64) -> View {
        let element = size * self.unit.elements;
        let outputs = self.dims.iter().map(|d| d.size).product();
        View::elements(Slot::Output(0), element, self.out, outputs)
    }
}

impl Planner<'_> {
    /// Plans Min or Max of two or more inputs.
    pub(crate) fn elementwise(&mut self) -> Result<(), Error> {
        let problem = self.problem;
        let dims = merged(problem);
        let in_vec = 16 / problem.dtype().size();
        let words = Unit {
            elements: 1,
            splat: vec![false; problem.inputs().len()],
        };
        let offset = |i| problem.layout(i).map_or(0, |l| l.offset as i64);
        let origin: Vec<i64> = (0..problem.inputs().len()).map(offset).collect();
        let last = dims.last().map_or(1, |d| d.size);
        let by_words = !self.aligned || last < in_vec || !by_whole_vecs(&dims, &origin, in_vec);
        let whole = Part {
            out: 0,
            starts: origin,
            unit: &words,
            dims,
        };
        if by_words {
            return self.parts(whole);
        }
        let dims = &whole.dims;
        let strides = &dims[dims.len() - 1].strides;
        let vecs = Unit {
            elements: in_vec,
            splat: strides.iter().map(|&s| s == 0).collect(),
        };
        let units = whole.starts.iter().enumerate();
        let begin = units.map(|(i, at)| at / vecs.input(i) as i64);
        self.parts(Part {
            dims: by_vec(dims, &vecs),
            out: 0,
            starts: begin.collect(),
            unit: &vecs,
        })?;
        // A flat tensor may end inside a vec4.
        match last % in_vec {
            0 => Ok(()),
            left => self.parts(whole.taken(last - left, left)),
        }
    }

    /// Cuts a part along its first dimension above 1, again and again, until bindings and dispatches can take what is
    /// left and no buffer ends in it, and plans that. A unit always fits: [`crate::Caps::suffice`].
    fn parts(&mut self, part: Part<'_>) -> Result<(), Error> {
        let (inputs, bound) = (self.problem.inputs().len(), self.most_inputs());
        let (mut rest, mut planned) = (vec![part], 0);
        while let Some(mut part) = rest.pop() {
            let first = part.dims.iter().position(|d| d.size > 1);
            part.dims.drain(..first.unwrap_or(part.dims.len() - 1));
            let size = part.dims[0].size;
            let known = planned + rest.len() as u64;
            if !self.fits(&part) {
                let most = longest(size, |n| self.fits(&part.taken(0, n)));
                let count = size.div_ceil(most);
                dispatches(known + count)?;
                let pieces = (0..count).map(|i| part.taken(i * most, most.min(size - i * most)));
                rest.extend(pieces.rev());
            } else if self.is_cut(&part) {
                let most = longest(size, |n| !self.is_cut(&part.taken(0, n)));
                dispatches(known + 2)?;
                rest.extend([part.taken(most, size - most), part.taken(0, most)]);
            } else {
                // Each dispatch takes as many inputs as it can bind.
                for first in (0..inputs).step_by(bound) {
                    self.chained(&part, first..inputs.min(first + bound))?;
                }
                planned += 1;
            }
        }
        Ok(())
    }

    /// Whether one dispatch can take a part whole.
    fn fits(&self, part: &Part<'_>) -> bool {
        let size = self.problem.dtype().size();
        let read = (0..part.starts.len()).map(|i| part.input(i, size));
        let read: Vec<View> = read.collect();
        let View { bytes, element, .. } = part.output(size);
        let written = match part.unit.is_vec() {
            // An invocation writes a whole vec4 there.
            true => self.outputs_per_dispatch(StoreFormat::Value32),
            false => self.outputs_per_dispatch(StoreFormat::value(self.problem.dtype())),
        };
        let written = written.min(self.caps.elements(element));
        let budget = self.caps.budget(false);
        let seen = |v: &View| v.bytes / v.element <= self.caps.elements(v.element).min(MAX_REGION);
        let within = bytes <= budget && self.most_read(&read, bytes) <= budget;
        let outputs = bytes / element;
        within && outputs <= written && read.iter().all(seen) && part.dims.len() <= STRIDE_DIMS
    }

    /// Most bytes that a dispatch reads of some inputs. All but the first of a chain read what is `written`, too.
    fn most_read(&self, inputs: &[View], written: u64) -> u64 {
        let sum = |(place, chunk): (usize, &[View])| {
            let again = if place > 0 { written } else { 0 };
            let bytes = chunk.iter().map(|view| view.bytes);
            bytes.fold(again, u64::saturating_add)
        };
        let chunks = inputs.chunks(self.most_inputs()).enumerate();
        chunks.map(sum).max().unwrap_or(0)
    }

    /// Inputs that a dispatch can bind.
    fn most_inputs(&self) -> usize {
        (self.caps.storage_buffers as usize - 1).clamp(1, StrideTable::OUTPUT)
    }

    /// Whether a part reaches across the end of a buffer.
    fn is_cut(&self, part: &Part<'_>) -> bool {
        let size = self.problem.dtype().size();
        let across = |cuts: &[u64], view: View| {
            let range = view.offset / size..(view.offset + view.bytes) / size;
            inside(cuts, &range).next().is_some()
        };
        let read = |i: usize| across(self.splits.input(i), part.input(i, size));
        let written = || across(&self.splits.outputs(), part.output(size));
        !self.splits.is_empty() && (written() || (0..part.starts.len()).any(read))
    }
}

/// Units that lie before an input's element with coordinates 0.
pub(crate) fn back(dims: &[Dim], input: usize) -> i64 {
    dims.iter().map(|d| -d.way(input).min(0)).sum()
}

/// Whether the rows of the output, and of all inputs that vary along them, are whole vec4. A single row may
/// end inside a vec4.
fn by_whole_vecs(dims: &[Dim], origin: &[i64], in_vec: u64) -> bool {
    let Some((last, outer)) = dims.split_last() else {
        return false;
    };
    let whole = |x: i64| x.unsigned_abs().is_multiple_of(in_vec);
    let fits = |i: usize| match last.strides[i] {
        0 => true,
        1 => whole(origin[i]) && outer.iter().all(|d| whole(d.strides[i])),
        _ => false,
    };
    let rows = outer.is_empty() || last.size.is_multiple_of(in_vec);
    rows && (0..origin.len()).all(fits)
}

/// The dimensions with the last one counted in vec4; its remainder is dropped. The strides of inputs that are
/// read by vec4 count vec4, too.
fn by_vec(dims: &[Dim], unit: &Unit) -> Vec<Dim> {
    let mut dims = dims.to_vec();
    let last = dims.len() - 1;
    // Along the last dimension the stride stays: vec4 follow one another.
    for dim in &mut dims[..last] {
        for (i, stride) in dim.strides.iter_mut().enumerate() {
            *stride /= unit.input(i) as i64;
        }
    }
    dims[last].size /= unit.elements;
    dims
}

/// The output's dimensions with each input's strides. Dimensions of size 1 are dropped, and neighbours that
/// every input walks as one are merged. At least one dimension is left.
fn merged(problem: &Problem) -> Vec<Dim> {
    let output = &problem.outputs()[0].shape;
    let inputs = problem.inputs();
    let mut dims: Vec<Dim> = Vec::new();
    for (d, &size) in output.iter().enumerate().filter(|(_, size)| **size > 1) {
        let stride = |(i, shape): (usize, &Vec<u64>)| {
            let own = (d + shape.len()).checked_sub(output.len());
            match (own.filter(|&d| shape[d] != 1), problem.layout(i)) {
                (Some(d), Some(layout)) => layout.strides[d],
                (Some(d), None) => elements(&shape[d + 1..]) as i64,
                (None, _) => 0,
            }
        };
        let strides: Vec<i64> = inputs.iter().enumerate().map(stride).collect();
        let over = |s: &i64| s.checked_mul(size as i64);
        let over: Option<Vec<i64>> = strides.iter().map(over).collect();
        match dims.last_mut() {
            Some(before) if over.as_ref() == Some(&before.strides) => {
                before.size *= size;
                before.strides = strides;
            }
            _ => dims.push(Dim { size, strides }),
        }
    }
    if dims.is_empty() {
        let strides = vec![0; inputs.len()];
        dims.push(Dim { size: 1, strides });
    }
    dims
}
