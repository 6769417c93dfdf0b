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

/// Least bytes of a segment that are worth two partial results, which are written and read again: about as many.
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

    /// Whether the four results of contiguous segments are as fast one by one: of short ones.
    pub(crate) fn apart_is_as_fast(&self) -> bool {
        let [_, len, _] = self.one_axis(1);
        len * self.problem.dtype().size() < LEAST_BYTES
    }

    /// Plans the four results of contiguous segments from one read.
    pub(crate) fn extremes_together(&mut self, outputs: u64) -> Result<(), Error> {
        self.reduce(&self.both(self.one_axis(outputs)))
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

    /// The step that leaves partial results of both.
    fn both(&self, shape: [u64; 3]) -> Step {
        let problem = self.problem;
        let step = Step {
            beside: Some(self.index_format()),
            acc: Accumulator::Both {
                keys: Keys::new(problem.dtype(), Order::Least, problem.nan_policy(), true),
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
