//! Planning both extremes and their indices, from one read where that pays.
//!
//! Rows that need no finishing are written at once, if a device binds their four results. Else a first pass leaves two
//! partial results for each part of a segment, one of the least element and one of the greatest. Each is finished by a
//! pass of its own, which writes a value and its index, so four storage buffers are enough. Views are cut and walked as
//! in `views.rs`, contiguous segments as in `reduce.rs`. Where that is as fast, four steps read the input instead.

use crate::kernel::Accumulator;
use crate::keys::Keys;
use crate::plan::layout::StridedLayout;
use crate::plan::pass::Slot;
use crate::plan::step::{Planner, Step};
use crate::{Error, Order};

/// Least bytes of a segment that are worth two partial results, which are written and read again: about as many. No fewer, or
/// partial results of whole segments could outgrow a binding that holds the input.
const LEAST_BYTES: u64 = 32;

impl Planner<'_> {
    /// Plans both extremes of every segment and their indices, from one read.
    pub(crate) fn extremes(&mut self, layout: &StridedLayout, outputs: u64) -> Result<(), Error> {
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
        self.search(&self.both([outputs, 1, 1]), layout, None)
    }

    /// Plans the four results of contiguous segments: from one read, or one by one where that is as fast, of short ones.
    pub(crate) fn extremes_of_rows(&mut self, outputs: u64) -> Result<(), Error> {
        let shape = self.one_axis(outputs);
        if shape[1] * self.problem.dtype().size() >= LEAST_BYTES {
            return self.reduce(&self.both(shape));
        }
        let problem = self.problem;
        let value = self.step(Slot::Input(0), Slot::Output(0), shape);
        for i in 0..4 {
            let order = [Order::Least, Order::Greatest][i % 2];
            let index = i >= 2;
            let keys = Keys::new(problem.dtype(), order, problem.nan_policy(), index);
            let mut step = Step {
                dst: Slot::Output(i),
                acc: Accumulator::Value(keys),
                ..value
            };
            if index {
                (step.out, step.acc) = (self.index_format(), self.index_of(keys));
            }
            self.reduce(&step)?;
        }
        Ok(())
    }

    /// The step that leaves partial results of both.
    fn both(&self, shape: [u64; 3]) -> Step {
        let problem = self.problem;
        let step = Step {
            beside: Some(self.index_format()),
            acc: Accumulator::Both {
                keys: Keys::of_sides(problem.dtype(), Order::Least, problem.nan_policy(), true),
                last: problem.selects_last_index(),
            },
            ..self.step(Slot::Input(0), Slot::Output(0), shape)
        };
        Step {
            out: self.partial_format(&step),
            ..step
        }
    }
}
