//! Strided views in memory: their canonical form, parts of it, and windows. A window is what one dispatch
//! sees.
//!
//! Strides are signed here and wrap in the shaders, so that a flipped dimension costs nothing.
//! Knows no kernels; `views.rs` decides how invocations share a window.

use crate::kernel::params::StrideTable;
use crate::plan::limits::dispatches;
use crate::plan::splits::{inside, longest};
use crate::problem::elements;
use crate::{Dim, Error, Problem};

/// A dimension of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub size: u64,
    pub stride: i64,
}

/// The canonical form of a strided input: where its elements lie, by kept and reduced dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StridedLayout {
    /// The element with coordinates 0, from the input's start.
    pub first: u64,
    pub kept: Vec<Axis>,
    pub reduced: Vec<Axis>,
}

impl StridedLayout {
    /// Whether its segments are contiguous, and all begin and end with a whole group of so many elements.
    pub(crate) fn has_whole(&self, group: u64) -> bool {
        let [Axis { size, stride: 1 }] = self.reduced[..] else {
            return false;
        };
        let apart = self.kept.iter().filter(|axis| axis.size > 1);
        let mut places = apart.map(|axis| axis.stride.unsigned_abs());
        [size, self.first].iter().all(|n| n.is_multiple_of(group))
            && places.all(|stride| stride.is_multiple_of(group))
    }

    /// The layout of input 0.
    pub(crate) fn whole(problem: &Problem) -> StridedLayout {
        let shape = &problem.inputs()[0];
        let view = problem.layout(0);
        let mut layout = StridedLayout {
            first: view.map_or(0, |view| view.offset),
            kept: Vec::new(),
            reduced: Vec::new(),
        };
        let mut between = false;
        for (d, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
            let dense = elements(&shape[d + 1..]) as i64;
            let stride = view.map_or(dense, |view| view.strides[d]);
            let axis = Axis { size, stride };
            let reduced = !problem.is_copy() && problem.reduced()[d];
            let inner = problem.k().is_some() && problem.reduced()[..d].contains(&true);
            match reduced {
                true if problem.op().is_index() => layout.reduced.push(axis),
                // In a sum, every repetition counts.
                true if stride == 0 && problem.op().is_sum() => layout.reduced.push(axis),
                // The order of others does not matter: a repeated one is dropped, a flipped one is read from its
                // other end.
                true if stride == 0 => {}
                true => {
                    if stride < 0 {
                        layout.first -= (size - 1) * stride.unsigned_abs();
                    }
                    let stride = stride.abs();
                    layout.reduced.push(Axis { size, stride });
                }
                // Results of TopK lie between those of outer and of inner dimensions.
                false if inner && !between => {
                    between = true;
                    layout.kept.push(axis);
                }
                false => push(&mut layout.kept, axis),
            }
        }
        if !problem.op().is_index() {
            layout.reduced.sort_by_key(|a| std::cmp::Reverse(a.stride));
            for axis in std::mem::take(&mut layout.reduced) {
                push(&mut layout.reduced, axis);
            }
        }
        layout
    }

    /// The dimensions in the order of memory, if the view is a contiguous block and its kept dimensions are
    /// in the order of the output.
    pub(crate) fn contiguous(&self) -> Option<Vec<Dim>> {
        let kept = self.kept.iter().map(|a| (*a, false));
        let reduced = self.reduced.iter().map(|a| (*a, true));
        let mut all: Vec<_> = kept.chain(reduced).collect();
        all.sort_by_key(|(a, _)| std::cmp::Reverse(a.stride));
        let mut next = 1;
        for (axis, _) in all.iter().rev() {
            if axis.stride != next {
                return None;
            }
            next *= axis.size as i64;
        }
        let dim = |(Axis { size, .. }, reduced)| Dim { size, reduced };
        let ordered = self.kept.is_sorted_by(|a, b| a.stride > b.stride);
        ordered.then(|| all.into_iter().map(dim).collect())
    }

    /// Whether each segment is a single element, perhaps repeated.
    pub(crate) fn repeats(&self) -> bool {
        self.reduced.iter().all(|axis| axis.stride == 0)
    }

    /// This view without its reduced dimensions.
    pub(crate) fn without_reduced(&self) -> StridedLayout {
        StridedLayout {
            reduced: Vec::new(),
            ..self.clone()
        }
    }
}

/// Adds a dimension, or merges it into the one before where both are walked as one.
fn push(axes: &mut Vec<Axis>, axis: Axis) {
    match axes.last_mut() {
        Some(before) if axis.stride.checked_mul(axis.size as i64) == Some(before.stride) => {
            before.size *= axis.size;
            before.stride = axis.stride;
        }
        _ => axes.push(axis),
    }
}

/// The distance from the lowest to the highest element of some dimensions.
pub(crate) fn span(axes: &[Axis], sizes: &[u64]) -> u64 {
    let ways = axes.iter().zip(sizes);
    ways.map(|(a, size)| (size - 1) * a.stride.unsigned_abs())
        .sum()
}

/// A part of some dimensions. A part of kept dimensions is contiguous in their C order, because its elements
/// are written one after another.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Its first coordinate's distance from the dimensions' first element.
    pub at: i64,
    /// Its place in the C order.
    pub place: u64,
    pub sizes: Vec<u64>,
}

impl Part {
    pub(crate) fn elements(&self) -> u64 {
        self.sizes.iter().product()
    }

    /// Its coordinates `from..from + count` along dimension `d`.
    fn along(&self, axes: &[Axis], d: usize, from: u64, count: u64) -> Part {
        let behind: u64 = axes[d + 1..].iter().map(|a| a.size).product();
        let mut sizes = self.sizes.clone();
        sizes[d] = count;
        Part {
            at: self.at + from as i64 * axes[d].stride,
            place: self.place + from * behind,
            sizes,
        }
    }

    /// Its parts that fit, in C order. A part takes as many coordinates of the first dimension as fit
    /// together; a coordinate that does not fit alone is divided by the other dimensions. `Err`: an element
    /// that does not fit.
    pub(crate) fn divided<'a>(
        &self,
        axes: &'a [Axis],
        fits: impl Fn(&Part) -> bool + 'a,
    ) -> impl Iterator<Item = Result<Part, Part>> + 'a {
        let mut rest = vec![self.clone()];
        std::iter::from_fn(move || {
            loop {
                let part = rest.pop()?;
                if fits(&part) {
                    return Some(Ok(part));
                }
                let Some(d) = part.sizes.iter().position(|&size| size > 1) else {
                    return Some(Err(part));
                };
                let size = part.sizes[d];
                let count = longest(size, |n| fits(&part.along(axes, d, 0, n)));
                rest.push(part.along(axes, d, count, size - count));
                rest.push(part.along(axes, d, 0, count));
            }
        })
    }
}

/// Cuts dimensions into parts of at most these sizes. All sizes after the first one above 1 are whole
/// dimensions.
fn parts(axes: &[Axis], most: &[u64]) -> Vec<Part> {
    let all = Part {
        at: 0,
        place: 0,
        sizes: axes.iter().map(|a| a.size).collect(),
    };
    let fits = |part: &Part| part.sizes.iter().zip(most).all(|(size, most)| size <= most);
    let parts = all.divided(axes, fits);
    // One element fits.
    parts.flatten().collect()
}

/// Halves the first size above 1.
pub(crate) fn halve(sizes: &mut [u64]) {
    if let Some(size) = sizes.iter_mut().find(|s| **s > 1) {
        *size = size.div_ceil(2);
    }
}

/// How many parts the dimensions are cut into.
pub(crate) fn count(axes: &[Axis], sizes: &[u64]) -> u64 {
    let parts = axes.iter().zip(sizes).map(|(a, s)| a.size.div_ceil(*s));
    parts.fold(1, u64::saturating_mul)
}

/// What one dispatch sees of a view: a part of the outputs and a part of each of their segments.
pub(crate) struct Window<'a> {
    pub layout: &'a StridedLayout,
    pub kept: &'a Part,
    pub reduced: &'a Part,
}

impl<'a> Window<'a> {
    fn new(layout: &'a StridedLayout, kept: &'a Part, reduced: &'a Part) -> Window<'a> {
        Window {
            layout,
            kept,
            reduced,
        }
    }

    /// The windows of some outputs.
    pub(crate) fn all(
        layout: &'a StridedLayout,
        kept: &'a Part,
        reduced: &'a [Part],
    ) -> Vec<Window<'a>> {
        let window = |reduced| Window::new(layout, kept, reduced);
        reduced.iter().map(window).collect()
    }

    /// Whether one buffer holds it.
    fn is_whole(&self, cuts: &[u64]) -> bool {
        let [lowest, _, count] = self.place();
        inside(cuts, &(lowest..lowest + count)).next().is_none()
    }

    /// Its lowest element, counted from the input's start; the distance of its first element from that one;
    /// and how many elements it spans.
    pub(crate) fn place(&self) -> [u64; 3] {
        let first = self.layout.first as i64 + self.kept.at + self.reduced.at;
        let kept = self.layout.kept.iter().zip(&self.kept.sizes);
        let reduced = self.layout.reduced.iter().zip(&self.reduced.sizes);
        let ways = kept.chain(reduced);
        let ways = ways.map(|(a, &size)| (size - 1) as i64 * a.stride);
        let falling = ways.clone().filter(|&way| way < 0);
        let skip: u64 = falling.map(i64::unsigned_abs).sum();
        let all: u64 = ways.map(i64::unsigned_abs).sum();
        [first as u64 - skip, skip, all + 1]
    }

    /// Whether its segments are whole groups of so many contiguous elements; see [`StridedLayout::has_whole`].
    pub(crate) fn has_whole(&self, group: u64) -> bool {
        let (at, len) = (self.reduced.at.unsigned_abs(), self.reduced.elements());
        self.layout.has_whole(group) && at.is_multiple_of(group) && len.is_multiple_of(group)
    }

    /// From an element of a segment along one axis to the next; wraps.
    pub(crate) fn stride(&self) -> u32 {
        self.layout.reduced.first().map_or(0, |a| a.stride) as u32
    }

    /// The stride table of its dimensions above 1, kept ones first, and how many of them are kept.
    pub(crate) fn stride_table(&self, inputs: usize) -> (StrideTable, usize) {
        let mut table = StrideTable::default();
        let mut add = |axes: &[Axis], sizes: &[u64]| {
            for (axis, &size) in axes.iter().zip(sizes).filter(|(_, s)| **s > 1) {
                let mut strides = vec![axis.stride as u32];
                strides.resize(inputs, 0);
                table.shape.push(size as u32);
                table.strides.push(strides);
            }
            table.shape.len()
        };
        let kept = add(&self.layout.kept, &self.kept.sizes);
        add(&self.layout.reduced, &self.reduced.sizes);
        table.starts = vec![0; inputs];
        table.starts[0] = self.place()[1] as u32;
        (table, kept)
    }
}

/// The windows of a view, grouped by their outputs. None reaches across the end of a buffer.
pub(crate) struct Groups<'a> {
    layout: &'a StridedLayout,
    /// Parts of the kept dimensions, in reverse order.
    kept: Vec<Part>,
    /// Parts of the reduced ones.
    reduced: Vec<Part>,
    cuts: &'a [u64],
    tried: u64,
}

impl<'a> Groups<'a> {
    /// Windows of at most these sizes, of the kept and of the reduced dimensions. The input is cut at `cuts`; no window
    /// has outputs from both sides of one of `outputs`.
    pub(crate) fn new(
        layout: &'a StridedLayout,
        [kept, reduced]: [Vec<u64>; 2],
        cuts: &'a [u64],
        outputs: &[u64],
    ) -> Groups<'a> {
        let written = |part: &Part| {
            let range = part.place..part.place + part.elements();
            inside(outputs, &range).next().is_none()
        };
        let all = parts(&layout.kept, &kept);
        let uncut = all.iter().flat_map(|p| p.divided(&layout.kept, &written));
        // No output is in two buffers.
        let mut kept: Vec<Part> = uncut.flatten().collect();
        kept.reverse();
        Groups {
            layout,
            kept,
            reduced: parts(&layout.reduced, &reduced),
            cuts,
            tried: 0,
        }
    }

    /// Some outputs and the parts of their segments, the longest first.
    pub(crate) fn next(&mut self) -> Result<Option<(Part, Vec<Part>)>, Error> {
        while let Some(kept) = self.kept.pop() {
            match self.uncut(&kept)? {
                Ok(mut reduced) => {
                    // The longest writes every partial; the others are merged into these.
                    reduced.sort_by_key(|part| std::cmp::Reverse(part.elements()));
                    return Ok(Some((kept, reduced)));
                }
                Err(element) => self.divide(&kept, &element)?,
            }
        }
        Ok(None)
    }

    /// The parts of segments whose windows lie in one buffer each; `Err`: an element of the segments that no
    /// such window holds.
    fn uncut(&mut self, kept: &Part) -> Result<Result<Vec<Part>, Part>, Error> {
        let Groups { layout, cuts, .. } = *self;
        let mut parts = Vec::new();
        for part in &self.reduced {
            let whole = |reduced: &Part| Window::new(layout, kept, reduced).is_whole(cuts);
            for part in part.divided(&layout.reduced, whole) {
                self.tried += 1;
                dispatches(self.tried)?;
                match part {
                    Ok(part) => parts.push(part),
                    Err(element) => return Ok(Err(element)),
                }
            }
        }
        Ok(Ok(parts))
    }

    /// Divides outputs so that this element of all their segments is in one buffer.
    fn divide(&mut self, kept: &Part, reduced: &Part) -> Result<(), Error> {
        let Groups { layout, cuts, .. } = *self;
        let whole = |kept: &Part| Window::new(layout, kept, reduced).is_whole(cuts);
        let from = self.kept.len();
        for part in kept.divided(&layout.kept, whole) {
            self.tried += 1;
            dispatches(self.tried)?;
            // No element is in two buffers.
            self.kept.extend(part);
        }
        self.kept[from..].reverse();
        Ok(())
    }
}
