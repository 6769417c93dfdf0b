//! Fill: the same element everywhere. Nothing is read.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Recipe, Resource, StoreFormat, fragments};
use crate::plan::limits::dispatches;
use crate::plan::pass::{Slot, View};
use crate::plan::splits;
use crate::plan::step::{Planner, words};
use crate::walk::Walk;

impl Planner<'_> {
    /// Fills `n` results with an element.
    pub(crate) fn fill(
        &mut self,
        output: usize,
        out: StoreFormat,
        element: u64,
        n: u64,
    ) -> Result<(), Error> {
        let most = self.outputs_per_dispatch(out);
        dispatches(n.div_ceil(most))?;
        let kernel = self.raw_kernel(out, Walk::Fill);
        // An element below 32 bits sits at the top of a word, as in the shaders.
        let shift = 32u64.saturating_sub(8 * out.bytes());
        for run in splits::runs(&self.splits.outputs(), 0..n) {
            for at in run.clone().step_by(most as usize) {
                let count = most.min(run.end - at);
                let params = Params {
                    items: count as u32,
                    fill: element << shift,
                    ..Params::default()
                };
                let dst = View::of(Slot::Output(output), out, at, count);
                self.push(kernel, None, dst, params, words(out, count), 4)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn recipe() -> Recipe {
    Recipe {
        fragments: fragments!("store/values" "walk/fill"),
        bindings: vec![Resource::Params, Resource::Destination],
        ..Recipe::default()
    }
}
