//! Planning reductions of strided views: from shape and strides to windows, and how each is shared.
//!
//! The schedule plans a view that is a contiguous block, possibly transposed, as a tensor: the order of its
//! reduced dimensions does not matter, and its kept ones need only keep theirs. Kernels take other views
//! element by element and find each by its strides, window by window. A window is what one binding of one
//! buffer can see.

use crate::kernel::Accumulator;
use crate::kernel::params::{Params, STRIDE_DIMS};
use crate::plan::layout::{Axis, Groups, StridedLayout, Window, count, halve, span};
use crate::plan::limits::{MAX_REGION, dispatches};
use crate::plan::pass::{Slot, View};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step};
use crate::walk::Walk;
use crate::{AdapterClass, Error};
use std::slice::from_ref;

/// Least elements of a part, where a segment is shared.
const LEAST_PART: u64 = 64;
/// Least bytes of a part that leaves two partials.
const LEAST_PART_BYTES: u64 = 256;
/// Neighbouring invocations that read neighbouring elements of a segment.
pub(crate) const ABREAST: u64 = 32;
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

impl Window<'_> {
    /// Its results, as the region that `finish` takes.
    pub(crate) fn results(&self, share: Share) -> Region {
        let outer = self.kept.elements() / share.inner;
        Region {
            out: self.kept.place,
            ..Region::new(outer, self.reduced.elements(), share.inner)
        }
    }
}

impl Planner<'_> {
    /// Plans a problem whose input is no contiguous block.
    pub(crate) fn view(&mut self, layout: &StridedLayout, outputs: u64) -> Result<(), Error> {
        let problem = self.problem;
        let mut values = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
        let raw = Accumulator::Raw(values.acc.bits());
        if problem.is_copy() {
            values.acc = raw;
        }
        if !problem.op().is_index() {
            return self.search(&self.last(values), layout, None);
        }
        let index = self.index_step([outputs, 1, 1]);
        let picked = self.value_beside_index().map(|out| Step {
            dst: Slot::Output(1),
            out,
            acc: raw,
            ..index
        });
        // There is nothing to compare.
        if !self.partial && layout.repeats() {
            self.fill(0, index.out, self.only_index(), outputs)?;
            return picked.map_or(Ok(()), |step| {
                self.search(&step, &layout.without_reduced(), None)
            });
        }
        self.search(&index, layout, picked)
    }

    /// The sizes of windows that bindings, dispatches and partials can take: of the kept and of the
    /// reduced dimensions. Each window takes so many `passes`. Of both extremes all results are partials first.
    pub(crate) fn windows(
        &self,
        layout: &StridedLayout,
        step: &Step,
        written: u64,
        passes: u64,
    ) -> Result<[Vec<u64>; 2], Error> {
        let sizes = |axes: &[Axis]| axes.iter().map(|a| a.size).collect::<Vec<_>>();
        let (mut kept, mut reduced) = (sizes(&layout.kept), sizes(&layout.reduced));
        let element = self.problem.dtype().size();
        let budget = self.caps.budget(true) / element;
        let seen = self.caps.elements(element).min(MAX_REGION).min(budget);
        let room = self.parts_per_dispatch(step);
        let both = step.acc.is_both();
        loop {
            let (outputs, len): (u64, u64) = (kept.iter().product(), reduced.iter().product());
            let spans = [span(&layout.kept, &kept), span(&layout.reduced, &reduced)];
            let least = self.least_parts(step, layout.reduced.len(), len);
            let several = count(&layout.reduced, &reduced) > 1 || !self.splits.input(0).is_empty();
            let leaves_partials = both || least > 1 || several;
            // A view that repeats elements reads more than it spans.
            let long = outputs.saturating_mul(len) > budget;
            let crowded = long || leaves_partials && outputs * least > room;
            let dims = [&kept, &reduced].map(|sizes| sizes.iter().filter(|s| **s > 1).count());
            let of_kept = if dims[0] + dims[1] > STRIDE_DIMS {
                // Only where a dimension repeats elements do so many fit in a binding.
                dims[0] > dims[1]
            } else if spans[0] + spans[1] + 1 > seen {
                spans[0] >= spans[1]
            } else if outputs > written.min(MAX_REGION) || crowded && outputs > 1 {
                true
            } else if len > MAX_REGION || crowded || least > self.most_parts(step) {
                false
            } else {
                break;
            };
            halve(if of_kept { &mut kept } else { &mut reduced });
        }
        let all = count(&layout.kept, &kept).saturating_mul(count(&layout.reduced, &reduced));
        dispatches(all.saturating_mul(passes))?;
        Ok([kept, reduced])
    }

    /// Shares a window's segments among as many invocations as fill the device.
    pub(crate) fn share(
        &self,
        layout: &StridedLayout,
        step: &Step,
        outputs: u64,
        len: u64,
    ) -> Share {
        let stride = |axes: &[Axis]| axes.last().map_or(u64::MAX, |a| a.stride.unsigned_abs());
        // Neighbouring invocations take neighbouring outputs, or neighbouring elements of one.
        let across = stride(&layout.kept) <= stride(&layout.reduced);
        let blocked = across || self.caps.class == AdapterClass::Software;
        let room = self.parts_per_dispatch(step) / outputs.max(1);
        let least = match step.acc.is_both() {
            true => LEAST_PART.max(LEAST_PART_BYTES / self.problem.dtype().size()),
            false => LEAST_PART,
        };
        let most = (len / least).min(room).min(self.most_parts(step)).max(1);
        let wanted = self.slices(outputs, most);
        let abreast = if blocked { 1 } else { ABREAST.min(most) };
        let needed = self.least_parts(step, layout.reduced.len(), len);
        let parts = wanted.max(abreast).max(needed);
        let slice = len.div_ceil(parts);
        let parts = len.div_ceil(slice);
        Share {
            parts,
            slice,
            step: if blocked { 1 } else { parts },
            inner: if across { outputs } else { 1 },
        }
    }

    /// Plans the reduction of a view, or a copy of its elements. `picked`: then the elements that the indices point to.
    pub(crate) fn search(
        &mut self,
        step: &Step,
        layout: &StridedLayout,
        picked: Option<Step>,
    ) -> Result<(), Error> {
        let written = self.results_per_dispatch(step, picked.map(|value| value.out));
        // With values, each window is reduced, finished and picked from.
        let passes = if picked.is_some() { 3 } else { 1 };
        let sizes = self.windows(layout, step, written, passes)?;
        let outputs = self.splits.outputs();
        let mut groups = Groups::new(layout, sizes, self.splits.input(0), &outputs);
        while let Some((kept, reduced)) = groups.next()? {
            let windows = Window::all(layout, &kept, &reduced);
            self.search_group(step, &windows, picked)?;
        }
        Ok(())
    }

    /// Plans the windows of the same outputs. After each window it picks the elements that the indices point
    /// to, as [`Planner::reduce_partition`] does.
    fn search_group(
        &mut self,
        step: &Step,
        windows: &[Window<'_>],
        picked: Option<Step>,
    ) -> Result<(), Error> {
        let first = &windows[0];
        let (outputs, len) = (first.kept.elements(), first.reduced.elements());
        let share = self.share(first.layout, step, outputs, len);
        let both = step.acc.is_both();
        let direct = windows.len() == 1 && share.parts == 1 && !both;
        // Where the first pass writes.
        let written = match direct {
            true => *step,
            false => self.partials_of(*step),
        };
        let place = if direct { first.kept.place } else { 0 };
        let results = if both { 2 * outputs } else { outputs };
        let dst = View::of(written.dst, written.out, place, results * share.parts);
        let kernel = self.kernel_of(&written, Walk::Strided);
        let run = 0..outputs;
        for (i, window) in windows.iter().enumerate() {
            self.window(kernel, window, share, dst, i > 0)?;
            if !direct && (picked.is_some() || i + 1 == windows.len()) {
                self.finish(step, &first.results(share), share.parts, from_ref(&run))?;
            }
            if let Some(value) = picked {
                let all = |step: &Step| View::of(step.dst, step.out, first.kept.place, outputs);
                self.gather_window(all(&value), all(step), window, Params::default())?;
            }
        }
        Ok(())
    }
}
