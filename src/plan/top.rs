//! Planning TopK: each window leaves lists of its best elements; these are merged, round after round, until each segment has one, whose
//! indices are written. Then the elements that they point to are gathered. Where a window leaves one list, it is written as results.

use crate::Error;
use crate::kernel::StoreFormat;
use crate::plan::layout::{Groups, Part, StridedLayout, Window, count, halve};
use crate::plan::limits::dispatches;
use crate::plan::pass::Slot;
use crate::plan::splits::{runs, sorted};
use crate::plan::step::{Planner, Step};
use crate::problem::elements;
use crate::walk::top::{GROUP, Lists, Merged, Ranked, Round, WHOLE};
use std::ops::Range;

impl Planner<'_> {
    /// Plans the `k` best elements of every segment.
    pub(crate) fn top_k(&mut self, k: u64) -> Result<(), Error> {
        if k == 0 {
            return Ok(());
        }
        let problem = self.problem;
        let layout = StridedLayout::whole(problem);
        let len = problem.reduced_len();
        let outputs = elements(&problem.inputs()[0]) / len;
        // Partial results lie segment by segment, and so does one result of each.
        let inner = match self.partial || k == 1 {
            true => 1,
            false => problem.inner(),
        };
        let step = Step {
            dst: Slot::Output(if self.partial { 0 } else { 1 }),
            ..self.index_step([outputs, 1, 1])
        };
        let lists = Lists::of(self, &layout, k);
        let value = (!self.partial).then(|| StoreFormat::value(problem.dtype()));
        let written = self.results_per_dispatch(&step, value);
        let [kept, mut reduced] = self.windows(&layout, &step, (written / k).max(1), 4)?;
        // The lists of a window's segment are bound at once.
        let most = self.most_entries(&step);
        let needed = |sizes: &[u64]| {
            let parts = lists.parts(sizes.iter().product());
            Round::of(lists, parts).most_items(k)
        };
        while needed(&reduced) > most && reduced.iter().any(|&size| size > lists.slice) {
            halve(&mut reduced);
        }
        // Windows of long segments begin with whole vec4.
        if let [size] = &mut reduced[..]
            && (WHOLE..len).contains(size)
        {
            *size -= *size % WHOLE;
        }
        dispatches(count(&layout.reduced, &reduced))?;
        let lists = lists.of_windows(reduced.iter().product());
        // Results of an output are not side by side: where their buffers end cuts no window.
        let mut groups = Groups::new(&layout, [kept, reduced], self.splits.input(0), &[]);
        // Runs of outputs whose values are still to be gathered.
        let mut left: Vec<Range<u64>> = Vec::new();
        while let Some((kept, reduced)) = groups.next()? {
            let parts = |part: &Part| lists.parts(part.elements());
            let all = Round::of(lists, reduced.iter().map(parts).sum());
            let each = most / all.most_items(k);
            let fits = |part: &Part| part.elements() <= each.max(1);
            // One output fits.
            for kept in kept.divided(&layout.kept, fits).flatten() {
                let windows = Window::all(&layout, &kept, &reduced);
                let ranked = Ranked::new(kept.place, kept.elements(), inner, k);
                if self.top_group(&step, &windows, lists, &ranked, written)? {
                    continue;
                }
                let end = ranked.first + ranked.outputs;
                match left.last_mut() {
                    Some(run) if run.end == ranked.first => run.end = end,
                    _ => left.push(ranked.first..end),
                }
            }
        }
        self.gather_left(&step, &layout, &left, inner, k)
    }

    /// Gathers the values of runs of outputs whose indices are there.
    fn gather_left(
        &mut self,
        step: &Step,
        layout: &StridedLayout,
        left: &[Range<u64>],
        inner: u64,
        k: u64,
    ) -> Result<(), Error> {
        if left.is_empty() {
            return Ok(());
        }
        let value = StoreFormat::value(self.problem.dtype());
        let written = self.results_per_dispatch(step, Some(value));
        // A dispatch looks at all results of its range, so windows have whole rows of them.
        let sizes = self.windows(layout, step, (written / k).max(inner), 1)?;
        let ends: Vec<u64> = left.iter().flat_map(|run| [run.start, run.end]).collect();
        let mut groups = Groups::new(layout, sizes, self.splits.input(0), &ends);
        while let Some((kept, reduced)) = groups.next()? {
            if !left.iter().any(|run| run.contains(&kept.place)) {
                continue;
            }
            let windows = Window::all(layout, &kept, &reduced);
            let ranked = Ranked::new(kept.place, kept.elements(), inner, k);
            for range in self.ranges(&ranked, written)? {
                self.gather_best(step.out, &windows, &range)?;
            }
        }
        Ok(())
    }

    /// Most entries of lists that a binding, a buffer and a dispatch hold.
    fn most_entries(&self, step: &Step) -> u64 {
        let format = self.partial_format(step);
        let piece = self.caps.piece_bytes() / format.bytes();
        let bound = self.partials(step).min(piece);
        bound.min(self.caps.most_invocations())
    }

    /// Plans the windows of the same outputs. A dispatch writes `written` results at most. Returns whether values are
    /// there, which in a stream they are before the results leave.
    fn top_group(
        &mut self,
        step: &Step,
        windows: &[Window<'_>],
        lists: Lists,
        ranked: &Ranked,
        written: u64,
    ) -> Result<bool, Error> {
        let parts = |w: &Window<'_>| lists.parts(w.reduced.elements());
        let all: u64 = windows.iter().map(parts).sum();
        let ranges = self.ranges(ranked, written)?;
        let value = StoreFormat::value(self.problem.dtype());
        let now = self.streamed && !self.partial;
        if let (1, [range]) = (all, &ranges[..]) {
            // Values that share a word are gathered.
            let beside = !self.partial && value.per_word() == 1;
            let both = Step {
                dst: Slot::Output(0),
                out: value,
                beside: Some(step.out),
                ..*step
            };
            let step = if beside { &both } else { step };
            self.top_pass(step, &windows[0], lists, None, range)?;
            if now && !beside {
                self.gather_best(step.out, windows, range)?;
            }
            return Ok(self.partial || beside || now);
        }
        let most = self.most_entries(step) / ranked.outputs;
        let round = match &batches(windows, lists, ranked.k, most)?[..] {
            [windows] => self.leave_lists(step, windows, lists, ranked)?,
            batches => self.keep_lists(step, batches, lists, ranked, most)?,
        };
        // Each range takes its ranks of one list.
        let last = if ranges.len() > 1 { 1 } else { GROUP };
        let round = self.merge_to(last, step, round, ranked)?;
        for range in ranges {
            self.merge_pass(step, round, &range, Merged::Results)?;
            if now {
                self.gather_best(step.out, windows, &range)?;
            }
        }
        Ok(self.partial || now)
    }

    /// Leaves the lists of windows.
    fn leave_lists(
        &mut self,
        step: &Step,
        windows: &[Window<'_>],
        lists: Lists,
        ranked: &Ranked,
    ) -> Result<Round, Error> {
        let parts = |w: &Window<'_>| lists.parts(w.reduced.elements());
        let all = windows.iter().map(parts).sum();
        let mut before = 0;
        for window in windows {
            self.top_pass(step, window, lists, Some([before, all]), ranked)?;
            before += parts(window);
        }
        Ok(Round::of(lists, all))
    }

    /// Merges lists until so many are left of each output, at most.
    fn merge_to(
        &mut self,
        most: u64,
        step: &Step,
        mut round: Round,
        ranked: &Ranked,
    ) -> Result<Round, Error> {
        while round.lists > most {
            let to = match round.slot {
                Slot::Temp(0) => Slot::Partials,
                _ => Slot::Temp(0),
            };
            round = self.merge_pass(step, round, ranked, Merged::Lists(to))?;
        }
        Ok(round)
    }

    /// Leaves a list of each batch of windows, of as many entries as are wanted. When as many are kept as are merged at once, or as
    /// have room in `most` entries, they become one.
    fn keep_lists(
        &mut self,
        step: &Step,
        batches: &[&[Window<'_>]],
        lists: Lists,
        ranked: &Ranked,
        most: u64,
    ) -> Result<Round, Error> {
        let mut kept = Round {
            lists: 0,
            entries: ranked.k,
            slot: Slot::Temp(1),
        };
        for windows in batches {
            if kept.lists == GROUP.min(most / ranked.k) {
                let one = Merged::Lists(Slot::Temp(0));
                let one = self.merge_pass(step, kept, ranked, one)?;
                self.merge_pass(step, one, ranked, Merged::Kept(0))?;
                kept.lists = 1;
            }
            let round = self.leave_lists(step, windows, lists, ranked)?;
            let round = self.merge_to(GROUP, step, round, ranked)?;
            self.merge_pass(step, round, ranked, Merged::Kept(kept.lists))?;
            kept.lists += 1;
        }
        Ok(kept)
    }

    /// The ranges of results that a dispatch can write, in one buffer each, that hold results of these outputs.
    fn ranges(&self, ranked: &Ranked, written: u64) -> Result<Vec<Ranked>, Error> {
        let all = ranked.results.clone();
        let (results, most) = (all.end - all.start, u32::MAX.into());
        Error::within("results of segments side by side", results, most)?;
        dispatches(results.div_ceil(written))?;
        let ends = (all.start..all.end).step_by(written as usize).skip(1);
        let cuts = sorted(self.splits.outputs().into_iter().chain(ends));
        let ranges = runs(&cuts, all);
        // In a stream a range leaves once it is complete, and partial results are written at once.
        let whole = self.partial || self.streamed && !ranked.has_rows();
        if whole && ranges.len() > 1 {
            Error::within("results of segments side by side", results, written)?;
        }
        let ranges = ranges.into_iter().map(|results| ranked.within(results));
        Ok(ranges.filter(|range| !range.ranks.is_empty()).collect())
    }
}

/// Neighbouring windows whose lists have room in `most` entries. If all do not, they are windows of one output.
fn batches<'a, 'w>(
    windows: &'a [Window<'w>],
    lists: Lists,
    k: u64,
    most: u64,
) -> Result<Vec<&'a [Window<'w>]>, Error> {
    let needed = |parts| Round::of(lists, parts).most_items(k);
    let what = "entries of an output's lists";
    let (mut batches, mut first, mut held) = (Vec::new(), 0, 0);
    for (i, window) in windows.iter().enumerate() {
        let parts = lists.parts(window.reduced.elements());
        if i > first && needed(held + parts) > most {
            batches.push(&windows[first..i]);
            (first, held) = (i, 0);
        }
        held += parts;
        Error::within(what, needed(held), most)?;
    }
    batches.push(&windows[first..]);
    if batches.len() > 1 {
        Error::within(what, 2 * k, most)?;
    }
    Ok(batches)
}
