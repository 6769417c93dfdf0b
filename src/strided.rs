//! Planning reductions of strided views: from shape and strides to dispatches.
//!
//! A view that is a contiguous block after all, possibly transposed, is left to the schedule: its
//! order of the reduced dimensions means nothing, and its kept ones need only keep theirs.
//! What is left goes through kernels that take element by element and find each by its strides,
//! window by window: a window is what one binding can see. Strides are signed here and wrap in
//! the shaders, so that a flipped dimension costs nothing.

use crate::boxes::{Box3, MAX_BOX, dispatches};
use crate::kernel::{Family, Kernel, Keys, Out};
use crate::params::{Params, ZIP_DIMS, Zip};
use crate::passes::{out_view, words};
use crate::plan::{MAX_ITERATIONS, Slot, View};
use crate::schedule::{Planner, Step};
use crate::{DType, Dim, Error, Problem};

/// Least elements of a part of a segment that is shared.
const LEAST_PART: u64 = 64;
/// Invocations that read a run of neighbouring elements abreast.
pub(crate) const ABREAST: u64 = 32;

/// Bytes that an iteration over a contiguous segment takes: four vec4.
pub(crate) const ROW_BLOCK: u64 = 64;
/// A dimension of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub size: u64,
    pub stride: i64,
}

/// The canonical form of a strided input: where its elements lie, by kept and reduced dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lie {
    /// The element with coordinates 0, from the input's start.
    pub first: u64,
    pub kept: Vec<Axis>,
    pub reduced: Vec<Axis>,
}

impl Lie {
    /// The windows of a part of the kept dimensions: their outputs are the same.
    pub(crate) fn windows<'a>(&'a self, kept: &'a Part, reduced: &'a [Part]) -> Vec<Window<'a>> {
        let window = |reduced| Window {
            lie: self,
            kept,
            reduced,
        };
        reduced.iter().map(window).collect()
    }

    /// How input 0 lies; `None` for a tensor in C order.
    pub(crate) fn of(problem: &Problem) -> Option<Lie> {
        let layout = problem.layout(0)?;
        let shape = &problem.inputs()[0];
        let mut lie = Lie {
            first: layout.offset,
            kept: Vec::new(),
            reduced: Vec::new(),
        };
        for (d, (&size, &stride)) in shape.iter().zip(&layout.strides).enumerate() {
            let reduced = !problem.is_copy() && problem.reduced()[d];
            match reduced {
                _ if size == 1 => {}
                true if problem.op().is_index() => lie.reduced.push(Axis { size, stride }),
                true => lie.unordered(Axis { size, stride }),
                false => push(&mut lie.kept, Axis { size, stride }),
            }
        }
        if !problem.op().is_index() {
            lie.reduced.sort_by_key(|a| std::cmp::Reverse(a.stride));
            let sorted = std::mem::take(&mut lie.reduced);
            sorted.into_iter().for_each(|a| push(&mut lie.reduced, a));
        }
        Some(lie)
    }

    /// Adds a reduced dimension whose order means nothing: a repeated one is met once, a flipped
    /// one from its other end.
    fn unordered(&mut self, axis: Axis) {
        if axis.stride < 0 {
            self.first -= (axis.size - 1) * axis.stride.unsigned_abs();
        }
        if axis.stride != 0 {
            self.reduced.push(Axis {
                size: axis.size,
                stride: axis.stride.abs(),
            });
        }
    }

    /// The dimensions in the order of memory, if that is a contiguous block whose kept ones are in
    /// the order of the output.
    pub(crate) fn contiguous(&self) -> Option<Vec<Dim>> {
        let kept = self.kept.iter().map(|a| (*a, false));
        let mut all: Vec<_> = kept
            .chain(self.reduced.iter().map(|a| (*a, true)))
            .collect();
        let falls = |pair: &[Axis]| pair[0].stride > pair[1].stride;
        all.sort_by_key(|(a, _)| std::cmp::Reverse(a.stride));
        let mut next = 1;
        for (axis, _) in all.iter().rev() {
            if axis.stride != next {
                return None;
            }
            next *= axis.size as i64;
        }
        let dim = |(axis, reduced): (Axis, bool)| Dim {
            size: axis.size,
            reduced,
        };
        let ordered = self.kept.windows(2).all(falls);
        ordered.then(|| all.into_iter().map(dim).collect())
    }

    /// Refuses more dimensions than kernels take.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (needed, limit) = (self.kept.len() + self.reduced.len(), ZIP_DIMS);
        match needed <= limit {
            true => Ok(()),
            false => Err(Error::Limit {
                what: "merged dimensions of a strided view",
                needed: needed as u64,
                limit: limit as u64,
            }),
        }
    }

    /// How input 0 lies, also where it is a tensor in C order.
    pub(crate) fn whole(problem: &Problem) -> Lie {
        let plain = || {
            let dims = problem.inputs()[0].iter().zip(problem.reduced());
            let mut lie = Lie {
                first: 0,
                kept: Vec::new(),
                reduced: Vec::new(),
            };
            let mut next = 1;
            for (&size, &reduced) in dims.rev().filter(|(size, _)| **size > 1) {
                let axes = if reduced {
                    &mut lie.reduced
                } else {
                    &mut lie.kept
                };
                axes.insert(0, Axis { size, stride: next });
                next *= size as i64;
            }
            let kept = std::mem::take(&mut lie.kept);
            kept.into_iter().for_each(|a| push(&mut lie.kept, a));
            lie
        };
        Lie::of(problem).unwrap_or_else(plain)
    }

    /// Whether the elements of a segment are one, however often it is repeated.
    pub(crate) fn repeats(&self) -> bool {
        self.reduced.iter().all(|axis| axis.stride == 0)
    }

    /// The elements of this view without its reduced dimensions.
    pub(crate) fn without_reduced(&self) -> Lie {
        Lie {
            reduced: Vec::new(),
            ..self.clone()
        }
    }
}

/// Adds a dimension, or makes the one before longer where both are walked as one.
fn push(axes: &mut Vec<Axis>, axis: Axis) {
    match axes.last_mut() {
        Some(before) if axis.stride.checked_mul(axis.size as i64) == Some(before.stride) => {
            before.size *= axis.size;
            before.stride = axis.stride;
        }
        _ => axes.push(axis),
    }
}

/// Elements from the first to the last of some dimensions, less one.
fn span(axes: &[Axis], sizes: &[u64]) -> u64 {
    let ways = axes.iter().zip(sizes);
    ways.map(|(a, size)| (size - 1) * a.stride.unsigned_abs())
        .sum()
}

/// A part of some dimensions: contiguous in their C order.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Its first coordinate's distance from the dimensions' first element.
    pub at: i64,
    /// Its place in the C order.
    place: u64,
    pub sizes: Vec<u64>,
}

impl Part {
    pub(crate) fn elements(&self) -> u64 {
        self.sizes.iter().product()
    }
}

/// Cuts dimensions into parts of at most these sizes, of which all after the first above one
/// are whole.
pub(crate) fn parts(axes: &[Axis], sizes: &[u64]) -> Vec<Part> {
    let mut all = vec![Part {
        at: 0,
        place: 0,
        sizes: Vec::new(),
    }];
    for (axis, &most) in axes.iter().zip(sizes) {
        let mut longer = Vec::new();
        for part in &all {
            let mut from = 0;
            while from < axis.size {
                let count = most.min(axis.size - from);
                let mut sizes = part.sizes.clone();
                sizes.push(count);
                longer.push(Part {
                    at: part.at + from as i64 * axis.stride,
                    place: part.place * axis.size + from,
                    sizes,
                });
                from += count;
            }
        }
        all = longer;
    }
    all
}

/// Halves the first dimension that can be.
fn halve(sizes: &mut [u64]) {
    if let Some(size) = sizes.iter_mut().find(|s| **s > 1) {
        *size = size.div_ceil(2);
    }
}

/// How many parts the dimensions are cut into.
fn count(axes: &[Axis], sizes: &[u64]) -> u64 {
    let parts = axes.iter().zip(sizes).map(|(a, s)| a.size.div_ceil(*s));
    parts.fold(1, u64::saturating_mul)
}

/// How the elements of a segment are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Invocations a segment, each of at most `slice` elements, `step` apart.
    pub parts: u64,
    pub slice: u64,
    pub step: u64,
    /// Outputs whose parts lie side by side.
    pub inner: u64,
}

/// What a window is and where its results go.
pub(crate) struct Window<'a> {
    pub lie: &'a Lie,
    pub kept: &'a Part,
    pub reduced: &'a Part,
}

impl Window<'_> {
    /// Its lowest element from the input's start, the first one's distance from that, and how
    /// many it spans.
    fn place(&self) -> [u64; 3] {
        let first = self.lie.first as i64 + self.kept.at + self.reduced.at;
        let below = |axes: &[Axis], sizes: &[u64]| -> u64 {
            let falling = axes.iter().zip(sizes).filter(|(a, _)| a.stride < 0);
            falling
                .map(|(a, size)| (size - 1) * a.stride.unsigned_abs())
                .sum()
        };
        let skip =
            below(&self.lie.kept, &self.kept.sizes) + below(&self.lie.reduced, &self.reduced.sizes);
        let all =
            span(&self.lie.kept, &self.kept.sizes) + span(&self.lie.reduced, &self.reduced.sizes);
        [first as u64 - skip, skip, all + 1]
    }

    /// The box of its results, as records are finished.
    pub(crate) fn results(&self, share: Share) -> Box3 {
        Box3 {
            at: 0,
            out: self.kept.place,
            outer: self.kept.elements() / share.inner,
            len: self.reduced.elements(),
            inner: share.inner,
            base: 0,
        }
    }

    /// The dimensions that are left, kept ones first, and how many of them are kept.
    fn zip(&self, inputs: usize) -> (Zip, usize) {
        let mut zip = Zip::default();
        let mut add = |axes: &[Axis], sizes: &[u64]| {
            for (axis, &size) in axes.iter().zip(sizes).filter(|(_, s)| **s > 1) {
                let mut strides = vec![axis.stride as u32];
                strides.resize(inputs, 0);
                zip.shape.push(size as u32);
                zip.strides.push(strides);
            }
            zip.shape.len()
        };
        let kept = add(&self.lie.kept, &self.kept.sizes);
        add(&self.lie.reduced, &self.reduced.sizes);
        zip.starts = vec![0; inputs];
        zip.starts[0] = self.place()[1] as u32;
        (zip, kept)
    }
}

impl Planner<'_> {
    /// Plans a problem whose input is no contiguous block.
    pub(crate) fn view(&mut self, lie: &Lie, outputs: u64) -> Result<(), Error> {
        lie.check()?;
        let problem = self.problem;
        let values = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
        if !problem.op().is_index() {
            return self.search(&self.last(values), lie, problem.is_copy(), None);
        }
        let result = problem.outputs();
        let index = self.last(Step {
            out: match result[0].dtype {
                DType::I64 => Out::Index64,
                _ => Out::Index32,
            },
            keys: Keys::new(
                problem.dtype(),
                problem.op().order(),
                problem.nan_policy(),
                true,
            ),
            index: true,
            ..values
        });
        let picked = Step {
            dst: Slot::Output(1),
            out: values.out,
            index: false,
            ..index
        };
        let picked = (result.len() == 2 && !self.partial).then_some(picked);
        // Along an axis that repeats one element, or has one only, there is nothing to compare.
        if !self.partial && lie.repeats() {
            let last = problem.selects_last_index();
            let only = if last { problem.reduced_len() - 1 } else { 0 };
            self.fill(0, index.out, only, outputs)?;
            return picked.map_or(Ok(()), |step| {
                self.search(&step, &lie.without_reduced(), true, None)
            });
        }
        self.search(&index, lie, false, picked)
    }

    /// Parts of all outputs that a window may have: as many as there are invocations, and records
    /// in a binding, twice as many for both extremes.
    pub(crate) fn room(&self, both: bool) -> u64 {
        let lanes = self.caps.groups() * u64::from(self.caps.workgroup());
        let records = match both {
            true => {
                // Those of one extreme are also bound apart, from anywhere.
                let apart = self.caps.elements(Out::Record.bytes());
                apart.min(self.caps.records() / 2)
            }
            false => self.caps.records(),
        };
        records.min(lanes)
    }

    /// The sizes of windows that bindings, dispatches and records can take: of the kept and of the
    /// reduced dimensions. For `both` extremes all results are records first.
    pub(crate) fn windows(
        &self,
        lie: &Lie,
        out: Out,
        written: u64,
        both: bool,
    ) -> Result<[Vec<u64>; 2], Error> {
        let sizes = |axes: &[Axis]| axes.iter().map(|a| a.size).collect::<Vec<_>>();
        let (mut kept, mut reduced) = (sizes(&lie.kept), sizes(&lie.reduced));
        let element = self.problem.dtype().size();
        let budget = self.caps.budget(true) / element;
        let seen = self.caps.elements(element).min(MAX_BOX).min(budget);
        let room = self.room(both);
        loop {
            let (outputs, len): (u64, u64) = (kept.iter().product(), reduced.iter().product());
            let spans = [span(&lie.kept, &kept), span(&lie.reduced, &reduced)];
            let least = self.least_parts(lie, out, len);
            let recorded = both || least > 1 || count(&lie.reduced, &reduced) > 1;
            // Of a view that repeats elements more are read than it spans.
            let long = outputs.saturating_mul(len) > budget;
            let crowded = long || recorded && outputs * least > room;
            if spans[0] + spans[1] + 1 > seen {
                let kept_more = spans[0] >= spans[1];
                halve(if kept_more { &mut kept } else { &mut reduced });
            } else if outputs > written.min(MAX_BOX) || crowded && outputs > 1 {
                halve(&mut kept);
            } else if len > MAX_BOX || crowded {
                halve(&mut reduced);
            } else {
                break;
            }
        }
        let all = count(&lie.kept, &kept).saturating_mul(count(&lie.reduced, &reduced));
        dispatches(all)?;
        Ok([kept, reduced])
    }

    /// Elements that one invocation may take: its iterations count those over dimensions.
    fn most_elements(&self, lie: &Lie, out: Out) -> u64 {
        let dims = lie.reduced.len().max(1) as u64;
        (MAX_ITERATIONS / 2) / (dims * u64::from(out.per_word()))
    }

    /// Invocations that a segment of that length needs at least.
    fn least_parts(&self, lie: &Lie, out: Out, len: u64) -> u64 {
        match len <= self.most_elements(lie, out) {
            true => 1,
            false => len.div_ceil(self.most_elements(lie, Out::Record)),
        }
    }

    /// Shares a window's segments among as many invocations as fill the device.
    pub(crate) fn share(&self, lie: &Lie, out: Out, outputs: u64, len: u64, both: bool) -> Share {
        let step = |axes: &[Axis]| axes.last().map_or(u64::MAX, |a| a.stride.unsigned_abs());
        // Neighbouring invocations take neighbouring outputs, or neighbouring elements of one.
        let across = step(&lie.kept) <= step(&lie.reduced);
        let chunked = across || self.caps.tuning.chunked;
        let room = self.room(both) / outputs.max(1);
        let most = (len / LEAST_PART).min(room).max(1);
        let wanted = self.slices(outputs, most);
        let abreast = if chunked { 1 } else { ABREAST.min(most) };
        let parts = wanted.max(abreast).max(self.least_parts(lie, out, len));
        let slice = len.div_ceil(parts);
        let parts = len.div_ceil(slice);
        Share {
            parts,
            slice,
            step: if chunked { 1 } else { parts },
            inner: if across { outputs } else { 1 },
        }
    }

    /// Plans the search for extremes, or a copy of the elements as they are; then the elements
    /// that the indices point to, if they are wanted.
    pub(crate) fn search(
        &mut self,
        step: &Step,
        lie: &Lie,
        raw: bool,
        picked: Option<Step>,
    ) -> Result<(), Error> {
        let mut written = self.outputs_per_dispatch(step.out);
        if let Some(value) = picked {
            // The indices must fit a binding as well.
            let bytes = step.out.bytes().max(value.out.bytes());
            let indices = self.caps.elements(step.out.bytes());
            let near = indices.min(self.caps.budget(true) / bytes);
            written = written.min(self.outputs_per_dispatch(value.out)).min(near);
        }
        let [kept, reduced] = self.windows(lie, step.out, written, false)?;
        let boxes = parts(&lie.reduced, &reduced);
        for kept in parts(&lie.kept, &kept) {
            let windows = lie.windows(&kept, &boxes);
            self.search_group(step, &windows, raw)?;
            if let Some(value) = picked {
                for window in &windows {
                    self.pick(&value, step.out, window)?;
                }
            }
        }
        Ok(())
    }

    /// Plans windows whose outputs are the same.
    fn search_group(
        &mut self,
        step: &Step,
        windows: &[Window<'_>],
        raw: bool,
    ) -> Result<(), Error> {
        let first = &windows[0];
        let (outputs, len) = (first.kept.elements(), first.reduced.elements());
        let share = self.share(first.lie, step.out, outputs, len, false);
        let direct = windows.len() == 1 && share.parts == 1;
        let dst = match direct {
            true => out_view(step.dst, step.out, first.kept.place, outputs),
            false => out_view(Slot::Records, Out::Record, 0, outputs * share.parts),
        };
        let kernel = Kernel {
            family: Family::Strided,
            keys: step.keys,
            out: if direct { step.out } else { Out::Record },
            index: step.index,
            raw,
            ..self.kernel(self.caps.workgroup())
        };
        for (i, window) in windows.iter().enumerate() {
            self.window(kernel, window, share, dst, i > 0)?;
        }
        match direct {
            true => Ok(()),
            false => self.finish(step, &first.results(share), share.parts, 0, &(0..outputs)),
        }
    }

    /// Plans a dispatch over a window.
    pub(crate) fn window(
        &mut self,
        kernel: Kernel,
        window: &Window<'_>,
        share: Share,
        dst: View,
        merge: bool,
    ) -> Result<(), Error> {
        let (outputs, len) = (window.kept.elements(), window.reduced.elements());
        let (zip, kept) = window.zip(1);
        let (across, inner) = match kernel.family {
            Family::ExtremeColumns => {
                let pairs = self.column_pairs(window);
                (pairs, pairs)
            }
            _ => (outputs, share.inner),
        };
        let items = across * share.parts;
        let dims = zip.shape.len() as u64;
        let params = Params {
            items: items as u32,
            lanes: kept as u32,
            total: dims as u32,
            len: len as u32,
            inner: inner as u32,
            slices: share.parts as u32,
            slice: share.slice as u32,
            width: share.step as u32,
            merge: merge.into(),
            base: window.reduced.place,
            ..Params::default()
        };
        let iterations = match kernel.family {
            // Blocks, up to three vec4, and as many of a block to find each extreme.
            Family::ExtremeRows => {
                let bytes = share.slice * u64::from(kernel.keys.bits() / 8);
                bytes.div_ceil(ROW_BLOCK * share.step) + 11 + dims
            }
            // Blocks, up to three rows, and each column of two vec4 sought twice in four rows.
            Family::ExtremeColumns => {
                let columns = 2 * u64::from(128 / kernel.keys.bits());
                share.slice / 4 + 4 + columns * 9 + dims
            }
            _ => {
                let reduced = (dims - kept as u64).max(1);
                u64::from(kernel.out.per_word()) * (share.slice * reduced + dims + 1)
            }
        };
        let lanes = words(kernel.out, items);
        let src = self.window_view(window);
        self.push(kernel, None, dst, params, lanes, iterations)?;
        if let Some(pass) = self.plan.passes.last_mut() {
            pass.zip = Some((zip, vec![src]));
        }
        Ok(())
    }

    /// Plans the elements of a window that indices point to.
    fn pick(&mut self, step: &Step, index: Out, window: &Window<'_>) -> Result<(), Error> {
        let (zip, kept) = window.zip(2);
        let outputs = window.kept.elements();
        let kernel = Kernel {
            family: Family::StridedGather,
            out: step.out,
            index_words: index.bytes() as u32 / 4,
            inputs: 2,
            ..self.kernel(self.caps.workgroup())
        };
        let params = Params {
            items: outputs as u32,
            lanes: kept as u32,
            len: window.reduced.elements() as u32,
            slice: window.lie.reduced[0].stride as u32,
            base: window.reduced.place,
            ..Params::default()
        };
        let place = window.kept.place;
        let dst = out_view(step.dst, step.out, place, outputs);
        let indices = out_view(Slot::Output(0), index, place, outputs);
        let views = vec![self.window_view(window), indices];
        let iterations = u64::from(step.out.per_word()) * (kept as u64 + 2);
        let lanes = words(step.out, outputs);
        self.push(kernel, None, dst, params, lanes, iterations)?;
        if let Some(pass) = self.plan.passes.last_mut() {
            pass.zip = Some((zip, views));
        }
        Ok(())
    }

    fn window_view(&self, window: &Window<'_>) -> View {
        let element = self.problem.dtype().size();
        let [lowest, _, count] = window.place();
        View {
            slot: Slot::Input(0),
            offset: lowest * element,
            bytes: count * element,
            element,
        }
    }
}
