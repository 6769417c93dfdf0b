//! Planning both extremes and their indices, from one read where that pays.
//!
//! Rows that need no finishing are written at once, if a device binds their four results. Else a first pass leaves two
//! partial results for each part of a segment, one of the least element and one of the greatest. Each is finished by a
//! pass of its own, which writes a value and its index, so four storage buffers are enough. Views are cut and walked as
//! in `views.rs`, contiguous segments as in `reduce.rs`. Where that is as fast, four steps read the input instead.

use crate::kernel::{Accumulator, StoreFormat};
use crate::keys::Keys;
use crate::plan::layout::{Groups, StridedLayout, Window};
use crate::plan::pass::{Slot, View};
use crate::plan::splits::Partition;
use crate::plan::step::{Planner, Step};
use crate::walk::Walk;
use crate::{Error, Order};

/// Least bytes of a segment that are worth two partial results, which are written and read again: about as many.
const LEAST_BYTES: u64 = 32;

impl Planner<'_> {
    /// Plans both extremes of every segment and their indices, from one read.
    pub(crate) fn extremes(&mut self, layout: &StridedLayout, outputs: u64) -> Result<(), Error> {
        let sides = self.sides(outputs);
        if layout.repeats() {
            // Both extremes are the only element, canonicalized.
            let value = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
            for i in 0..2 {
                let dst = Slot::Output(i);
                let step = Step { dst, ..value };
                self.search(&step, &layout.without_reduced(), None)?;
                self.fill(2 + i, self.index_format(), self.only_index(), outputs)?;
            }
            return Ok(());
        }
        let both = self.both(&sides[0]);
        let sizes = self.windows(layout, &both, self.most_written(), 1)?;
        let mut groups = Groups::new(layout, sizes, self.splits);
        while let Some((kept, reduced)) = groups.next()? {
            let windows = Window::all(layout, &kept, &reduced);
            self.extremes_group(&sides, &windows)?;
        }
        Ok(())
    }

    /// Outputs whose values and indices a dispatch can write.
    fn most_written(&self) -> u64 {
        let value = StoreFormat::value(self.problem.dtype());
        let index = self.outputs_per_dispatch(self.index_format());
        self.outputs_per_dispatch(value).min(index)
    }

    /// Whether the four results of contiguous segments are as fast one by one: of short ones.
    pub(crate) fn apart_is_as_fast(&self) -> bool {
        let [_, len, _] = self.one_axis(1);
        len * self.problem.dtype().size() < LEAST_BYTES
    }

    /// Plans the four results of contiguous segments from one read.
    pub(crate) fn extremes_together(&mut self, outputs: u64) -> Result<(), Error> {
        let [outer, len, inner] = self.one_axis(outputs);
        let sides = self.sides(outputs).map(|step| Step {
            outer,
            len,
            inner,
            ..step
        });
        let both = self.both(&sides[0]);
        for partition in self.partitions(&both, self.most_written())? {
            self.together(&both, &sides, &partition)?;
        }
        Ok(())
    }

    fn together(
        &mut self,
        both: &Step,
        sides: &[Step; 2],
        partition: &Partition,
    ) -> Result<(), Error> {
        if partition.copied {
            let (both, columns) = self.copied(both, partition)?;
            return self.together(&both, sides, &columns);
        }
        let first = &partition.regions[0];
        let mapping = partition.mapping;
        let whole = partition.regions.len() == 1 && partition.runs.len() == 1;
        let results = Step {
            out: sides[0].out,
            ..*both
        };
        if whole && mapping.is_direct(self, &results, first) {
            return mapping.pass(self, &results, first, false);
        }
        for (i, b) in partition.regions.iter().enumerate() {
            self.partials_pass(both, first, mapping, b, i > 0)?;
        }
        let parts = mapping.parts();
        let apart = first.outer * first.inner * parts;
        for (i, step) in (0..).zip(sides) {
            for run in &partition.runs {
                self.finish(step, first, parts, i * apart, run)?;
            }
        }
        Ok(())
    }

    /// Plans the four results one by one.
    pub(crate) fn extremes_apart(&mut self, outputs: u64) -> Result<(), Error> {
        let shape = self.one_axis(outputs);
        let value = self.step(Slot::Input(0), Slot::Output(0), shape);
        for i in 0..4 {
            let order = [Order::Least, Order::Greatest][i % 2];
            let index = i >= 2;
            let keys = Keys::new(
                self.problem.dtype(),
                order,
                self.problem.nan_policy(),
                index,
            );
            let (out, acc) = match index {
                true => (self.index_format(), self.index_of(keys)),
                false => (value.out, Accumulator::Value(keys)),
            };
            let dst = Slot::Output(i);
            self.reduce(&Step {
                dst,
                out,
                acc,
                ..value
            })?;
        }
        Ok(())
    }

    /// The least and the greatest as steps, each a value with its index.
    fn sides(&self, outputs: u64) -> [Step; 2] {
        let problem = self.problem;
        let value = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
        [(0, Order::Least), (1, Order::Greatest)].map(|(i, order)| {
            let keys = Keys::of_sides(problem.dtype(), order, problem.nan_policy(), true);
            Step {
                dst: Slot::Output(i),
                beside: Some(self.index_format()),
                acc: self.index_of(keys),
                ..value
            }
        })
    }

    /// Plans the windows of the same outputs: first the partials of both extremes, then the results.
    fn extremes_group(&mut self, sides: &[Step; 2], windows: &[Window<'_>]) -> Result<(), Error> {
        let first = &windows[0];
        let (outputs, len) = (first.kept.elements(), first.reduced.elements());
        let both = self.both(&sides[0]);
        let share = self.share(first.layout, &both, outputs, len);
        let partials = outputs * share.parts;
        let kernel = self.kernel_of(&both, Walk::Strided);
        let dst = View::of(Slot::Partials, both.out, 0, 2 * partials);
        for (i, window) in windows.iter().enumerate() {
            self.window(kernel, window, share, dst, i > 0)?;
        }
        for (i, step) in (0..).zip(sides) {
            let results = first.results(share);
            self.finish(step, &results, share.parts, i * partials, &(0..outputs))?;
        }
        Ok(())
    }

    /// The step that leaves partial results of both, from that of the least.
    fn both(&self, least: &Step) -> Step {
        let problem = self.problem;
        Step {
            out: self.partial_format(least),
            acc: Accumulator::Both {
                keys: Keys::new(problem.dtype(), Order::Least, problem.nan_policy(), true),
                last: problem.selects_last_index(),
            },
            ..*least
        }
    }
}
