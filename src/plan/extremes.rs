//! Planning both extremes and their indices, from one read where that pays.
//!
//! A first pass leaves two partial results for each part of a segment: one of the least element, one of the
//! greatest. Each of the four results is finished from one of them, so four storage buffers are enough. Views
//! are cut and walked as in `views.rs`, contiguous segments as in `reduce.rs`.
//! Where that is as fast, four steps read the input instead.

use crate::kernel::Accumulator;
use crate::keys::Keys;
use crate::plan::layout::{Groups, StridedLayout, Window};
use crate::plan::pass::{Slot, View};
use crate::plan::splits::Partition;
use crate::plan::step::{Planner, Step};
use crate::walk::Walk;
use crate::{Error, Order};

/// Least bytes of a segment that are worth two partial results: these, and reading them again for each of the four
/// results, cost as much as reading so many bytes three times more.
const LEAST_BYTES: u64 = 32;

impl Planner<'_> {
    /// Plans both extremes of every segment and their indices, from one read.
    pub(crate) fn extremes(&mut self, layout: &StridedLayout, outputs: u64) -> Result<(), Error> {
        let steps = self.sides(outputs);
        if layout.repeats() {
            // Both extremes are the only element, canonicalized.
            let value = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
            for i in 0..2 {
                let dst = Slot::Output(i);
                let step = Step { dst, ..value };
                self.search(&step, &layout.without_reduced(), None)?;
                self.fill(2 + i, steps[2].out, self.only_index(), outputs)?;
            }
            return Ok(());
        }
        let written = steps.map(|step| self.outputs_per_dispatch(step.out));
        let written = written.into_iter().min().unwrap_or(1);
        let sizes = self.windows(layout, &self.partial_step(&steps), written, 1)?;
        let mut groups = Groups::new(layout, sizes, self.splits);
        while let Some((kept, reduced)) = groups.next()? {
            let windows = Window::all(layout, &kept, &reduced);
            self.extremes_group(&steps, &windows)?;
        }
        Ok(())
    }

    /// Whether the four results of contiguous segments are as fast one by one: of short ones.
    pub(crate) fn apart_is_as_fast(&self) -> bool {
        let [_, len, _] = self.one_axis(1);
        len * self.problem.dtype().size() < LEAST_BYTES
    }

    /// Plans the four results of contiguous segments from one read.
    pub(crate) fn extremes_together(&mut self, outputs: u64) -> Result<(), Error> {
        let [outer, len, inner] = self.one_axis(outputs);
        let steps = self.sides(outputs).map(|step| Step {
            outer,
            len,
            inner,
            ..step
        });
        let both = self.partial_step(&steps);
        let written = steps.map(|step| self.outputs_per_dispatch(step.out));
        let written = written.into_iter().min().unwrap_or(1);
        for partition in self.partitions(&both, written)? {
            self.together(&both, &steps, &partition)?;
        }
        Ok(())
    }

    fn together(
        &mut self,
        both: &Step,
        steps: &[Step; 4],
        partition: &Partition,
    ) -> Result<(), Error> {
        if partition.copied {
            let (both, columns) = self.copied(both, partition)?;
            return self.together(&both, steps, &columns);
        }
        let first = &partition.regions[0];
        let mapping = partition.mapping;
        for (i, b) in partition.regions.iter().enumerate() {
            self.partials_pass(both, first, mapping, b, i > 0)?;
        }
        let parts = mapping.parts();
        let apart = first.outer * first.inner * parts;
        for (i, step) in (0..).zip(steps) {
            for run in &partition.runs {
                self.finish(step, first, parts, i % 2 * apart, run)?;
            }
        }
        Ok(())
    }

    /// Plans the four results one by one.
    pub(crate) fn extremes_apart(&mut self, outputs: u64) -> Result<(), Error> {
        let [outer, len, inner] = self.one_axis(outputs);
        let dtype = self.problem.dtype();
        for (i, step) in (0..).zip(self.sides(outputs)) {
            let order = [Order::Least, Order::Greatest][i % 2];
            let index = step.acc.has_index();
            let keys = Keys::new(dtype, order, self.problem.nan_policy(), index);
            self.reduce(&Step {
                acc: self.side(keys, index),
                outer,
                len,
                inner,
                ..step
            })?;
        }
        Ok(())
    }

    /// The results of both extremes as steps: their values, then their indices.
    fn sides(&self, outputs: u64) -> [Step; 4] {
        let problem = self.problem;
        let value = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
        [
            (0, Order::Least, false),
            (1, Order::Greatest, false),
            (2, Order::Least, true),
            (3, Order::Greatest, true),
        ]
        .map(|(i, order, index)| {
            let keys = Keys::of_sides(problem.dtype(), order, problem.nan_policy(), index);
            Step {
                dst: Slot::Output(i),
                out: match index {
                    true => self.index_format(),
                    false => value.out,
                },
                acc: self.side(keys, index),
                ..value
            }
        })
    }

    fn side(&self, keys: Keys, index: bool) -> Accumulator {
        match index {
            true => self.index_of(keys),
            false => Accumulator::Value(keys),
        }
    }

    /// Plans the windows of the same outputs: first the partials of both extremes, then the results.
    fn extremes_group(&mut self, steps: &[Step; 4], windows: &[Window<'_>]) -> Result<(), Error> {
        let first = &windows[0];
        let (outputs, len) = (first.kept.elements(), first.reduced.elements());
        let both = self.partial_step(steps);
        let share = self.share(first.layout, &both, outputs, len);
        let partials = outputs * share.parts;
        let kernel = self.kernel_of(&both, Walk::Strided);
        let dst = View::of(Slot::Partials, both.out, 0, 2 * partials);
        for (i, window) in windows.iter().enumerate() {
            self.window(kernel, window, share, dst, i > 0)?;
        }
        for (i, step) in (0..).zip(steps) {
            let from = i % 2 * partials;
            let results = first.results(share);
            self.finish(step, &results, share.parts, from, &(0..outputs))?;
        }
        Ok(())
    }

    /// The step that leaves partial results of both.
    fn partial_step(&self, steps: &[Step; 4]) -> Step {
        let problem = self.problem;
        Step {
            out: self.partial_format(&steps[2]),
            acc: Accumulator::Both {
                keys: Keys::of_sides(problem.dtype(), Order::Least, problem.nan_policy(), true),
                last: problem.selects_last_index(),
            },
            ..steps[2]
        }
    }
}
