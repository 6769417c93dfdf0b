//! Planning reductions: from a problem to passes.
//!
//! A problem becomes steps (one per group of neighbouring reduced axes), a step becomes boxes
//! (what one binding can see), a box becomes one or two passes: partial results as records,
//! and records to results.

use crate::cuts::{self, Cuts};
use crate::kernel::{Family, Kernel, Keys, Out};
use crate::lie::Lie;
use crate::params::Params;
use crate::passes::{out_view, words};
use crate::plan::{MAX_ITERATIONS, Plan, Slot};
use crate::problem::elements;
use crate::{Caps, DType, Dim, Error, Op, Order, Problem};
use std::ops::Range;

/// Most elements that a dispatch sees, so that its arithmetic stays within 32 bits.
pub(crate) const MAX_BOX: u64 = 1 << 30;
/// Most parts of a segment that tuning may ask for: an invocation may have to take them all.
const MAX_PARTS: u64 = MAX_ITERATIONS / 2;
/// Most boxes of a step: 8 TiB in bindings of 128 MiB.
const MAX_DISPATCHES: u64 = 1 << 16;
/// Elements a loop iteration of rows takes from memory, in bytes: four vec4.
pub(crate) const BLOCK_BYTES: u64 = 64;
/// Rows a loop iteration of columns takes; where there are few, it takes one.
pub(crate) const BLOCK_ROWS: u64 = 4;
const FEW_ROWS: u64 = 16;
/// Invocations of strips and bands that read neighbouring vec4, and vec4 that each takes of a
/// wide row: of strips, and of bands twice as many.
pub(crate) const TEAM: u64 = 8;
pub(crate) const RUNS: u64 = 8;
/// Most vec4 of a wide row of bands.
const BAND: u64 = 2 * RUNS * TEAM;
/// Least budget of a submit: a vec4 of every input of a dispatch, and some more.
const LEAST_SUBMIT: u64 = 1024;
/// How much longer bytes take that are read across rows.
pub(crate) const APART: u64 = 4;
/// Least invocations of a workgroup: the outputs of 8 bits that share a word.
const LEAST_WORKGROUP: u32 = 4;

/// One group of reduced dimensions between what comes before and after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub src: Slot,
    pub dst: Slot,
    pub out: Out,
    pub keys: Keys,
    /// First element, from the source's start.
    pub at: u64,
    pub outer: u64,
    pub len: u64,
    pub inner: u64,
    pub index: bool,
}

/// A part of a step that one binding can see: contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Box3 {
    /// First element, from the step's first.
    pub at: u64,
    /// First output, from the result's start.
    pub out: u64,
    pub outer: u64,
    pub len: u64,
    pub inner: u64,
    /// Place of its first element in the segments.
    pub base: u64,
}

/// Boxes whose outputs are the same: the parts of their segments.
pub(crate) struct Group {
    /// None is longer than the first; what is narrower is a part of a row.
    pub boxes: Vec<Box3>,
    /// The outputs, from the group's first, in runs that one buffer holds each.
    pub runs: Vec<Range<u64>>,
}

impl Group {
    /// Boxes, and where all outputs of the step are cut.
    pub(crate) fn of(boxes: Vec<Box3>, cuts: &[u64]) -> Group {
        let first = boxes[0];
        let outputs = first.out..first.out + first.outer * first.inner;
        let from = |run: Range<u64>| run.start - first.out..run.end - first.out;
        let runs = cuts::runs(cuts, outputs).into_iter().map(from).collect();
        Group { boxes, runs }
    }

    fn outputs(&self) -> u64 {
        self.boxes[0].outer * self.boxes[0].inner
    }
}

/// How a box is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Geometry {
    Each,
    Short,
    Rows { lanes: u64, slices: u64, slice: u64 },
    Columns(Wide),
}

/// How columns are mapped: `fold` rows side by side make a wide row, of which a slice has so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    pub family: Family,
    pub fold: u64,
    pub slices: u64,
    pub slice: u64,
}

impl Geometry {
    /// Records an output takes.
    fn parts(self) -> u64 {
        match self {
            Geometry::Each | Geometry::Short => 1,
            Geometry::Rows { slices, .. } => slices,
            Geometry::Columns(wide) => wide.slices * wide.fold,
        }
    }
}

pub(crate) struct Planner<'a> {
    pub caps: &'a Caps,
    pub problem: &'a Problem,
    pub aligned: bool,
    /// The canonical form of a reduction of contiguous elements.
    pub dims: Vec<Dim>,
    /// Its first element, from the input's start.
    pub first: u64,
    /// Whether the result is records, for [`crate::Partial`].
    pub partial: bool,
    /// Where buffers end.
    pub cuts: &'a Cuts,
    pub plan: Plan,
}

impl Planner<'_> {
    pub(crate) fn problem(&mut self) -> Result<(), Error> {
        let problem = self.problem;
        let output = &problem.outputs()[0];
        let outputs = elements(&output.shape);
        if outputs == 0 {
            return Ok(());
        }
        self.least()?;
        let dtype = problem.dtype();
        if problem.op().is_elementwise() && !problem.is_copy() {
            return self.elementwise();
        }
        if problem.op() == Op::Extremes {
            self.dims = problem.dims();
            if problem.layout(0).is_none() && self.short_segments() {
                return self.extremes_apart(outputs);
            }
            return self.extremes(&Lie::whole(problem), outputs);
        }
        if problem.reduced_len() == 0 && !problem.is_copy() {
            let nothing = identity(dtype, problem.op().order());
            return self.fill(0, Out::value(dtype), nothing, outputs);
        }
        self.dims = problem.dims();
        if let Some(view) = Lie::of(problem) {
            let Some(dims) = view.contiguous() else {
                return self.view(&view, outputs);
            };
            (self.dims, self.first) = (dims, view.first);
            self.aligned &= (view.first * dtype.size()).is_multiple_of(16);
        }
        if problem.is_copy() {
            return self.copy(outputs);
        }
        match problem.op().is_index() {
            true => self.index(outputs),
            false => self.values(outputs),
        }
    }

    /// Refuses limits below what every plan needs.
    fn least(&self) -> Result<(), Error> {
        let caps = self.caps;
        let needs = [
            (
                "a storage binding",
                caps.offset_alignment + 16,
                caps.binding_bytes,
            ),
            (
                "a workgroup",
                LEAST_WORKGROUP.into(),
                caps.invocations.into(),
            ),
            (
                "bytes of workgroup memory",
                (16 * LEAST_WORKGROUP).into(),
                caps.workgroup_bytes.into(),
            ),
        ];
        match needs.into_iter().find(|&(_, needed, limit)| needed > limit) {
            None => Ok(()),
            Some((what, needed, limit)) => Err(Error::Limit {
                what,
                needed,
                limit,
            }),
        }
    }

    fn copy(&mut self, n: u64) -> Result<(), Error> {
        let step = Step {
            index: false,
            ..self.step(Slot::Input(0), Slot::Output(0), [n, 1, 1])
        };
        for group in self.groups(&step, self.outputs_per_dispatch(step.out))? {
            self.each(&step, &group.boxes[0], step.dst, step.out, false, true)?;
        }
        Ok(())
    }

    /// A step over elements of the problem's type that gives values of it.
    pub(crate) fn step(&self, src: Slot, dst: Slot, [outer, len, inner]: [u64; 3]) -> Step {
        let (problem, dtype) = (self.problem, self.problem.dtype());
        Step {
            src,
            dst,
            out: Out::value(dtype),
            keys: Keys::new(dtype, problem.op().order(), problem.nan_policy(), false),
            at: if src == Slot::Input(0) { self.first } else { 0 },
            outer,
            len,
            inner,
            index: false,
        }
    }

    /// The canonical form along one axis; its length is 1 where nothing is reduced.
    pub(crate) fn one_axis(&self, outputs: u64) -> [u64; 3] {
        let dims = &self.dims;
        let product = |dims: &[Dim]| dims.iter().map(|d| d.size).product();
        match dims.iter().position(|d| d.reduced) {
            None => [outputs, 1, 1],
            Some(at) => [
                product(&dims[..at]),
                dims[at].size,
                product(&dims[at + 1..]),
            ],
        }
    }

    fn values(&mut self, outputs: u64) -> Result<(), Error> {
        let mut dims = self.dims.clone();
        let mut src = Slot::Input(0);
        let groups = dims.iter().filter(|d| d.reduced).count();
        if groups == 0 {
            // Nothing is combined, but values still get their one form.
            let step = self.step(src, Slot::Output(0), [outputs, 1, 1]);
            return self.reduce(&self.last(step));
        }
        for done in 0..groups {
            // The longest first: what is left to read shrinks fastest.
            let reduced = dims.iter().enumerate().filter(|(_, d)| d.reduced);
            let longest = reduced.max_by_key(|(i, d)| (d.size, *i));
            let Some(at) = longest.map(|(i, _)| i) else {
                break;
            };
            let product = |dims: &[Dim]| dims.iter().map(|d| d.size).product();
            let shape: [u64; 3] = [
                product(&dims[..at]),
                dims[at].size,
                product(&dims[at + 1..]),
            ];
            let dst = match done + 1 == groups {
                true => Slot::Output(0),
                false => Slot::Temp(done % 2),
            };
            let step = self.step(src, dst, shape);
            match done + 1 == groups {
                true => self.reduce(&self.last(step))?,
                false => self.reduce(&step)?,
            }
            src = dst;
            dims.remove(at);
        }
        Ok(())
    }

    fn index(&mut self, outputs: u64) -> Result<(), Error> {
        let problem = self.problem;
        let result = problem.outputs();
        let out = match result[0].dtype {
            DType::I64 => Out::Index64,
            _ => Out::Index32,
        };
        let shape = self.one_axis(outputs);
        let dtype = problem.dtype();
        let step = self.last(Step {
            out,
            keys: Keys::new(dtype, problem.op().order(), problem.nan_policy(), true),
            index: true,
            ..self.step(Slot::Input(0), Slot::Output(0), shape)
        });
        let value = Out::value(dtype);
        let values = result.len() == 2 && !self.partial;
        let mut written = self.outputs_per_dispatch(step.out);
        if values {
            // Values are gathered by the indices, which must fit a binding as well.
            let near = self.caps.budget(true) / out.bytes().max(value.bytes());
            let indices = self.caps.elements(out.bytes()).min(near);
            written = written.min(self.outputs_per_dispatch(value)).min(indices);
        }
        for group in self.groups(&step, written)? {
            let (first, count) = (group.boxes[0].out, group.outputs());
            match shape[1] > 1 || self.partial {
                true => self.reduce_group(&step, &group)?,
                false => self.fill_range(0, out, 0, first, count)?,
            }
            if values {
                self.gather(&step, value, &group)?;
            }
        }
        Ok(())
    }

    /// The step that gives the result: records where those are wanted.
    pub(crate) fn last(&self, step: Step) -> Step {
        match self.partial {
            true => Step {
                out: Out::Record,
                ..step
            },
            false => step,
        }
    }

    pub(crate) fn fill(
        &mut self,
        output: usize,
        out: Out,
        element: u64,
        n: u64,
    ) -> Result<(), Error> {
        let most = self.outputs_per_dispatch(out);
        dispatches(n.div_ceil(most))?;
        for run in cuts::runs(&self.cuts.outputs(), 0..n) {
            let mut at = run.start;
            while at < run.end {
                let count = most.min(run.end - at);
                self.fill_range(output, out, element, at, count)?;
                at += count;
            }
        }
        Ok(())
    }

    /// Fills `count` outputs from `at` on, as many as a dispatch takes.
    fn fill_range(
        &mut self,
        output: usize,
        out: Out,
        element: u64,
        at: u64,
        count: u64,
    ) -> Result<(), Error> {
        let kernel = Kernel {
            family: Family::Fill,
            out,
            ..self.kernel(self.caps.workgroup())
        };
        // Below a word the element sits at the top, as the shaders have it.
        let shift = 32u64.saturating_sub(8 * out.bytes());
        let params = Params {
            items: count as u32,
            fill: element << shift,
            ..Params::default()
        };
        let dst = out_view(Slot::Output(output), out, at, count);
        self.push(kernel, None, dst, params, words(out, count), 4)
    }

    /// The values of a group, by its indices.
    fn gather(&mut self, step: &Step, value: Out, group: &Group) -> Result<(), Error> {
        let first = group.boxes[0].out;
        let runs = |b: &Box3| {
            let (begin, end) = (b.out - first, b.out - first + b.outer * b.inner);
            let runs = group.runs.clone().into_iter();
            let within = runs.map(move |r| r.start.max(begin)..r.end.min(end));
            within.filter(|r| !r.is_empty())
        };
        let all = group
            .boxes
            .iter()
            .flat_map(|b| runs(b).map(move |r| (b, r)));
        for (b, run) in all {
            let (out, count) = (first + run.start, run.end - run.start);
            let kernel = Kernel {
                family: Family::Gather,
                out: value,
                index_words: step.out.bytes() as u32 / 4,
                ..self.kernel(self.caps.workgroup())
            };
            let params = Params {
                items: count as u32,
                len: b.len as u32,
                inner: b.inner as u32,
                base: b.base,
                ..Params::default()
            };
            let dst = out_view(Slot::Output(1), value, out, count);
            let mut src = self.src_view(step, b);
            let skipped = (out - b.out) * src.element;
            (src.offset, src.bytes) = (src.offset + skipped, src.bytes - skipped);
            self.push(kernel, Some(src), dst, params, words(value, count), 4)?;
            let indices = out_view(Slot::Output(0), step.out, out, count);
            if let Some(pass) = self.plan.passes.last_mut() {
                pass.indices = Some(indices);
            }
        }
        Ok(())
    }

    /// A kernel of the problem, to be completed.
    pub(crate) fn kernel(&self, workgroup: u32) -> Kernel {
        let problem = self.problem;
        let (dtype, index) = (problem.dtype(), problem.op().is_index());
        Kernel {
            family: Family::Each,
            keys: Keys::new(dtype, problem.op().order(), problem.nan_policy(), index),
            out: Out::Record,
            workgroup,
            lanes: 1,
            chunked: false,
            several: false,
            index,
            last: problem.selects_last_index(),
            raw: false,
            truth: false,
            index_words: 2,
            inputs: 1,
            splat: 0,
            still: 0,
        }
    }

    pub(crate) fn reduce(&mut self, step: &Step) -> Result<(), Error> {
        for group in self.groups(step, self.outputs_per_dispatch(step.out))? {
            self.reduce_group(step, &group)?;
        }
        Ok(())
    }

    fn reduce_group(&mut self, step: &Step, group: &Group) -> Result<(), Error> {
        let first = group.boxes[0];
        let whole = group.boxes.len() == 1 && group.runs.len() == 1;
        let geometry = self.geometry(step, &first);
        let alone = matches!(geometry, Geometry::Each | Geometry::Short);
        let subword = step.out.per_word() > 1 && !alone;
        if whole && geometry.parts() == 1 && !subword {
            return self.pass(step, &first, geometry, step.dst, step.out, false);
        }
        for (i, b) in group.boxes.iter().enumerate() {
            let geometry = match b.inner < first.inner {
                true => Geometry::Each,
                false => self.shortened(step, geometry, b),
            };
            self.pass(step, b, geometry, Slot::Records, Out::Record, i > 0)?;
            // A part of a row has the records of its own columns.
            if let Some(pass) = self.plan.passes.last_mut() {
                pass.dst.offset += (b.out - first.out) * Out::Record.bytes();
            }
        }
        for run in &group.runs {
            self.finish(step, &first, geometry.parts(), 0, run)?;
        }
        Ok(())
    }

    /// The same mapping for another part of the same segments, which may be shorter.
    fn shortened(&self, step: &Step, geometry: Geometry, b: &Box3) -> Geometry {
        let element = u64::from(step.keys.bits() / 8);
        let whole = (b.at * element).is_multiple_of(16) && (b.len * element).is_multiple_of(16);
        match geometry {
            // Buffers may end anywhere; a vec4 may be more than there is.
            _ if b.len * b.inner * element < 16 => Geometry::Each,
            Geometry::Short if !whole => Geometry::Each,
            _ => shortened(geometry, b),
        }
    }

    /// Cuts a step into boxes of at most `written` outputs, grouped by their outputs, where
    /// limits and buffers end.
    fn groups(&self, step: &Step, written: u64) -> Result<Vec<Group>, Error> {
        let groups = self.boxes(step, written)?;
        if self.cuts.is_empty() {
            return Ok(groups);
        }
        let input = match step.src {
            Slot::Input(i) => self.cuts.input(i),
            _ => &[],
        };
        let from = |&cut: &u64| cut.checked_sub(step.at);
        let input: Vec<u64> = input.iter().filter_map(from).collect();
        let outputs = match step.dst {
            Slot::Output(_) => self.cuts.outputs(),
            _ => Vec::new(),
        };
        let groups = cuts::cut(groups, &input, &outputs, self.caps.records());
        dispatches(groups.iter().map(|g| g.boxes.len() as u64).sum())?;
        Ok(groups)
    }

    /// Cuts a step into boxes that bindings and dispatches can take.
    fn boxes(&self, step: &Step, written: u64) -> Result<Vec<Group>, Error> {
        let &Step {
            outer, len, inner, ..
        } = step;
        let element = u64::from(step.keys.bits() / 8);
        let seen = self.caps.elements(element).min(MAX_BOX);
        let seen = seen.min(self.caps.budget(inner > 1) / element);
        // Iterations of an invocation that takes its segments alone.
        let alone = MAX_ITERATIONS / u64::from(2 * step.out.per_word());
        let mut groups = Vec::new();
        let whole = len
            .checked_mul(inner)
            .is_some_and(|m| m <= seen && inner <= written);
        let one = Box3 {
            at: 0,
            out: 0,
            outer: 1,
            len,
            inner,
            base: 0,
        };
        let alone_too_long = len > alone && self.geometry(step, &one) == Geometry::Each;
        if whole && !alone_too_long {
            let mut most = (seen / (len * inner)).min(written / inner).min(outer);
            most = self.fitting(step, &one, most);
            dispatches(outer.div_ceil(most))?;
            let mut o = 0;
            while o < outer {
                let count = most.min(outer - o);
                let boxes = vec![Box3 {
                    at: o * len * inner,
                    out: o * inner,
                    outer: count,
                    ..one
                }];
                groups.push(Group::of(boxes, &[]));
                o += count;
            }
            return Ok(groups);
        }
        // Segments are cut: their parts meet in records.
        let records = self.caps.records();
        let columns = seen.min(written).min(records).min(inner);
        let rows = match columns == inner {
            true => (seen / inner).min(if alone_too_long { alone } else { u64::MAX }),
            false => 1,
        };
        let parts = inner.div_ceil(columns).saturating_mul(len.div_ceil(rows));
        dispatches(outer.saturating_mul(parts))?;
        for o in 0..outer {
            let mut c = 0;
            while c < inner {
                let width = columns.min(inner - c);
                let mut boxes = Vec::new();
                let mut l = 0;
                while l < len {
                    let count = rows.min(len - l);
                    boxes.push(Box3 {
                        at: (o * len + l) * inner + c,
                        out: o * inner + c,
                        outer: 1,
                        len: count,
                        inner: width,
                        base: l,
                    });
                    l += count;
                }
                groups.push(Group::of(boxes, &[]));
                c += width;
            }
        }
        Ok(groups)
    }

    /// How many matrices at most a dispatch may take, of `most` that bindings allow.
    fn fitting(&self, step: &Step, one: &Box3, most: u64) -> u64 {
        let parts_of = |outer| self.geometry(step, &Box3 { outer, ..*one }).parts();
        let records = self.caps.records();
        let groups = self.caps.groups();
        let mut most = most;
        // More matrices need fewer parts each: halving ends at what fits.
        while most > 1 {
            let outputs = most * one.inner;
            let parts = parts_of(most);
            let direct = parts == 1 && step.out.per_word() == 1;
            let fits_records = direct || outputs * parts <= records;
            let lanes = self.lanes(
                step,
                &Box3 {
                    outer: most,
                    ..*one
                },
            );
            if fits_records && lanes.div_ceil(u64::from(self.caps.workgroup())) <= groups {
                break;
            }
            most /= 2;
        }
        // Whole words of small outputs, so that boxes share none.
        match most {
            4.. if most < step.outer => most / 4 * 4,
            _ => most,
        }
    }

    /// Invocations a box takes.
    fn lanes(&self, step: &Step, b: &Box3) -> u64 {
        let outputs = b.outer * b.inner;
        match self.geometry(step, b) {
            Geometry::Each | Geometry::Short => outputs,
            Geometry::Rows { lanes, slices, .. } => outputs * slices * lanes,
            Geometry::Columns(wide) => {
                let element = u64::from(step.keys.bits() / 8);
                let width = b.inner * wide.fold * element / 16;
                b.outer * wide.slices * column_lanes(wide.family, width)
            }
        }
    }

    /// Chooses how a box is mapped.
    fn geometry(&self, step: &Step, b: &Box3) -> Geometry {
        let tuning = &self.caps.tuning;
        let element = u64::from(step.keys.bits() / 8);
        // Below one vec4 there is nothing to bind as such.
        if b.outer * b.len * b.inner * element < 16 || b.len == 1 {
            return Geometry::Each;
        }
        // Rows of whole vec4, also where bindings cut them.
        let vecs = |len: u64| (len * element).is_multiple_of(16);
        let whole = vecs(step.len) && vecs(b.len) && vecs(b.at) && self.aligned;
        let short = whole && b.len * element / 16 < MAX_ITERATIONS / 64;
        let short = short.then_some(Geometry::Short);
        let rows = self.rows(b, element);
        let columns = self.columns(step, b);
        let chosen = match (tuning.force, b.inner) {
            (Some(Family::Each), _) => None,
            (Some(Family::ShortRows), 1) if short.is_some() => short,
            (Some(Family::Rows), 1) => rows,
            (Some(family), _) if family.is_columns() => columns,
            (_, 1) if b.len * element <= tuning.short_row_bytes && short.is_some() => short,
            (_, 1) if b.len * element > tuning.each_row_bytes => rows,
            (_, 2..) if b.len >= tuning.each_column_len => columns,
            _ => None,
        };
        chosen.unwrap_or(Geometry::Each)
    }

    /// Slices that fill the device, of `most` that make sense.
    pub(crate) fn slices(&self, invocations: u64, most: u64) -> u64 {
        let tuning = &self.caps.tuning;
        let wanted = tuning.invocations.div_ceil(invocations.max(1));
        wanted.min(most).min(tuning.slices).clamp(1, MAX_PARTS)
    }

    fn rows(&self, b: &Box3, element: u64) -> Option<Geometry> {
        let tuning = &self.caps.tuning;
        let bytes = b.len * element;
        let wg = u64::from(self.caps.workgroup());
        let most = wg.min(tuning.row_lanes.into()).max(1);
        let lanes = (bytes / tuning.lane_bytes.max(1)).clamp(1, most);
        let lanes = 1 << lanes.ilog2();
        let filled = self.slices(b.outer * lanes, bytes / tuning.slice_bytes.max(1));
        // A block an iteration, and a few for edges and trees.
        let longest = lanes * BLOCK_BYTES * (MAX_ITERATIONS - 64);
        let slices = filled.max(bytes.div_ceil(longest));
        // Whole vec4 blocks, so that slices of an aligned row are aligned.
        let slice = match slices {
            1 => b.len,
            _ => b
                .len
                .div_ceil(slices)
                .next_multiple_of(BLOCK_BYTES / element),
        };
        let slices = b.len.div_ceil(slice);
        let records = self.caps.records();
        let groups = self.caps.groups();
        let fits = slices <= records && (slices * lanes).div_ceil(wg) <= groups;
        fits.then_some(Geometry::Rows {
            lanes,
            slices,
            slice,
        })
    }

    /// Rows of `pitch` bytes to lay side by side, so that they make whole vec4 and are wide
    /// enough, and the family for them; none where a segment is too short for it.
    fn fold(&self, len: u64, pitch: u64, element: u64) -> Option<(Family, u64)> {
        let tuning = &self.caps.tuning;
        let least = 16 / gcd(pitch, 16);
        let vecs = least * pitch / 16;
        let most = ((len / 2).min(MAX_PARTS / 4) / least).max(u64::from(least == 1));
        // Records of rows side by side must not cost more than an eighth of what is read.
        let worth = (len * element / (8 * Out::Record.bytes()) / least).max(1);
        let band = (BAND / vecs).min(worth).clamp(1, most.max(1));
        let forced = tuning.force.filter(|family| family.is_columns());
        let family = match forced {
            _ if !self.caps.long_kernels => Family::Columns,
            Some(Family::Bands) if vecs > BAND => Family::Strips,
            // A row an iteration: the longest segments would fall into too many slices.
            Some(Family::Bands) | None if len / MAX_ITERATIONS > MAX_PARTS / 8 => Family::Columns,
            Some(family) => family,
            None if !self.caps.long_strips() => Family::Columns,
            None if vecs > BAND => Family::Strips,
            None if band * vecs * 2 < BAND => Family::Columns,
            None => Family::Bands,
        };
        let times = match family {
            Family::Columns if self.caps.long_strips() => 1,
            Family::Columns => (tuning.wide_bytes / 16)
                .div_ceil(vecs)
                .clamp(1, most.max(1)),
            Family::Bands => band,
            _ => 1,
        };
        (most > 0).then_some((family, least * times))
    }

    fn columns(&self, step: &Step, b: &Box3) -> Option<Geometry> {
        let element = u64::from(step.keys.bits() / 8);
        let pitch = b.inner * element;
        let (family, fold) = self.fold(b.len, pitch, element)?;
        let width = fold * pitch / 16;
        // One more for a matrix that begins inside a vec4.
        let rows = b.len.div_ceil(fold) + 1;
        let groups = self.caps.groups();
        let wg = u64::from(self.caps.workgroup());
        let records = self.caps.records();
        let room = records / (fold * b.inner).max(1);
        // Records of a slice cost their bytes; a slice must be worth them.
        let worth = rows * element / 64;
        let lanes = column_lanes(family, width);
        let most = worth.min(room).min(MAX_PARTS / fold);
        let filled = self.slices(b.outer * lanes * lane_vecs(family), most);
        let longest = column_rows(family) * (MAX_ITERATIONS - 64 - column_ends(family, element));
        let slices = filled.max(rows.div_ceil(longest));
        let slice = rows.div_ceil(slices);
        let slices = rows.div_ceil(slice);
        // Results that share words come from records, too.
        let direct = fold == 1 && slices == 1 && step.out.per_word() == 1;
        let fits = (direct || slices <= room) && (lanes * slices).div_ceil(wg) <= groups;
        fits.then_some(Geometry::Columns(Wide {
            family,
            fold,
            slices,
            slice,
        }))
    }

    /// Outputs that one dispatch of an invocation a word can write.
    pub(crate) fn outputs_per_dispatch(&self, out: Out) -> u64 {
        let wg = u64::from(self.caps.workgroup());
        let words = self.caps.groups() * wg;
        // Some are kept for results that begin inside a word.
        let words = words.saturating_sub(3).max(1);
        let seen = self.caps.elements(out.bytes()).min(MAX_BOX);
        words.min(seen).min(self.caps.budget(false) / out.bytes())
    }
}

impl Caps {
    /// The workgroup size to plan with: tuning's, within the limits, a power of two.
    pub(crate) fn workgroup(&self) -> u32 {
        // Kernels take up to 16 bytes of workgroup memory an invocation.
        let most = self.invocations.min(self.workgroup_bytes / 16);
        let wg = self.tuning.workgroup.min(most).max(LEAST_WORKGROUP);
        1 << wg.ilog2()
    }

    /// Workgroups of a dispatch. No dimension needs more than devices have.
    pub(crate) fn groups(&self) -> u64 {
        u64::from(self.workgroups.min(1 << 16)).pow(2)
    }

    /// Elements that a binding surely holds, wherever in a buffer they begin.
    pub(crate) fn elements(&self, bytes: u64) -> u64 {
        let binding = self.binding_bytes / 4 * 4;
        let usable = binding.saturating_add(bytes);
        let usable = usable.saturating_sub(self.offset_alignment);
        usable.min(binding) / bytes
    }
}

/// Vec4 of a wide row that a lane takes.
fn lane_vecs(family: Family) -> u64 {
    match family {
        Family::Strips => RUNS,
        Family::Bands => 2 * RUNS,
        _ => 1,
    }
}

/// Lanes that share a wide row of that many vec4.
pub(crate) fn column_lanes(family: Family, width: u64) -> u64 {
    match family {
        Family::Strips => width.div_ceil(TEAM * RUNS) * TEAM,
        Family::Bands => TEAM,
        _ => width,
    }
}

/// Wide rows that an iteration takes.
pub(crate) fn column_rows(family: Family) -> u64 {
    match family {
        Family::Bands => 1,
        _ => BLOCK_ROWS,
    }
}

/// Iterations that a lane of columns needs beside: for few rows, and to write its results, each
/// of which is looked for in its block of rows.
pub(crate) fn column_ends(family: Family, element: u64) -> u64 {
    lane_vecs(family) * ((16 / element) * (BLOCK_ROWS + 1) + 1) + FEW_ROWS
}

impl Caps {
    /// Bytes that a dispatch may read or write of what one submit may, nearby or far apart.
    pub(crate) fn budget(&self, apart: bool) -> u64 {
        let bytes = self.tuning.submit_bytes.max(LEAST_SUBMIT);
        if apart { bytes / APART } else { bytes }
    }

    /// Records that a dispatch may read or write.
    pub(crate) fn records(&self) -> u64 {
        self.binding_bytes.min(self.budget(false)) / Out::Record.bytes()
    }
}

/// Refuses what would take forever to plan.
pub(crate) fn dispatches(needed: u64) -> Result<(), Error> {
    match needed <= MAX_DISPATCHES {
        true => Ok(()),
        false => Err(Error::Limit {
            what: "dispatches of a plan",
            needed,
            limit: MAX_DISPATCHES,
        }),
    }
}

/// The same mapping for another part of the same segments, which may be shorter.
fn shortened(geometry: Geometry, b: &Box3) -> Geometry {
    match geometry {
        Geometry::Each | Geometry::Short => geometry,
        Geometry::Rows { lanes, slice, .. } => Geometry::Rows {
            lanes,
            slices: b.len.div_ceil(slice),
            slice,
        },
        Geometry::Columns(wide) => Geometry::Columns(Wide {
            slices: (b.len.div_ceil(wide.fold) + 1).div_ceil(wide.slice),
            ..wide
        }),
    }
}

/// The result over an empty set.
pub(crate) fn identity(dtype: DType, order: Order) -> u64 {
    // The key that every other replaces is the last in the order: the identity by its bits.
    let bits = 8 * dtype.size();
    let ones = u64::MAX >> (64 - bits);
    let sign = 1u64 << (bits - 1);
    let max = match order {
        Order::Least => false,
        Order::Greatest => true,
        Order::GreatestMagnitude => return 0,
    };
    match (dtype, max) {
        (DType::F16, false) => 0x7c00,
        (DType::F16, true) => 0xfc00,
        (DType::BF16, false) => 0x7f80,
        (DType::BF16, true) => 0xff80,
        (DType::F32, false) => 0x7f80_0000,
        (DType::F32, true) => 0xff80_0000,
        (DType::F64, false) => 0x7ff0 << 48,
        (DType::F64, true) => 0xfff0 << 48,
        (DType::Bool, _) => (!max).into(),
        (DType::U8 | DType::U16 | DType::U32 | DType::U64, false) => ones,
        (DType::U8 | DType::U16 | DType::U32 | DType::U64, true) => 0,
        (_, false) => ones ^ sign,
        (_, true) => sign,
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
