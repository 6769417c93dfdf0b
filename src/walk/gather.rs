//! Gather: the elements that indices point to, of a contiguous tensor or of a view.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Kernel, Recipe, Resource, StoreFormat, fragments};
use crate::plan::layout::Window;
use crate::plan::pass::{Slot, View};
use crate::plan::splits::{Partition, Region};
use crate::plan::step::{Planner, Step, region_params, words};
use crate::walk::Walk;

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GatherText {
    /// Words of an index: 1 or 2.
    pub index_words: u32,
    /// Whether the elements are those of a strided view.
    pub strided: bool,
    /// Whether there are several indices for each output.
    pub best: bool,
}

impl Planner<'_> {
    pub(crate) fn gathers_as(
        &self,
        index: StoreFormat,
        value: StoreFormat,
        strided: bool,
    ) -> Kernel {
        let text = GatherText {
            index_words: index.bytes() as u32 / 4,
            strided,
            best: self.problem.k().is_some(),
        };
        self.raw_kernel(value, Walk::Gather(text))
    }

    /// Gathers the elements of a region that the indices of its outputs point to.
    pub(crate) fn gather(
        &mut self,
        step: &Step,
        value: StoreFormat,
        partition: &Partition,
        b: &Region,
    ) -> Result<(), Error> {
        for run in partition.runs_of(b) {
            let (out, count) = (partition.regions[0].out + run.start, run.end - run.start);
            let kernel = self.gathers_as(step.out, value, false);
            let params = Params {
                items: count as u32,
                ..region_params(b)
            };
            let dst = View::of(Slot::Output(1), value, out, count);
            let mut src = self.src_view(step, b);
            let skipped = (out - b.out) * src.element;
            (src.offset, src.bytes) = (src.offset + skipped, src.bytes - skipped);
            self.push(kernel, Some(src), dst, params, words(value, count), 4)?;
            if let Some(pass) = self.passes.last_mut() {
                pass.indices = Some(View::of(Slot::Output(0), step.out, out, count));
            }
        }
        Ok(())
    }

    /// Gathers the elements of a view's window that indices point to.
    pub(crate) fn gather_window(
        &mut self,
        dst: Slot,
        value: StoreFormat,
        index: StoreFormat,
        window: &Window<'_>,
    ) -> Result<(), Error> {
        let (table, kept) = window.stride_table(2);
        let outputs = window.kept.elements();
        let kernel = self.gathers_as(index, value, true);
        let params = Params {
            items: outputs as u32,
            kept_dims: kept as u32,
            len: window.reduced.elements() as u32,
            stride: window.layout.reduced[0].stride as u32,
            base: window.reduced.place,
            ..Params::default()
        };
        let place = window.kept.place;
        let dst = View::of(dst, value, place, outputs);
        let indices = View::of(Slot::Output(0), index, place, outputs);
        let views = vec![self.window_view(window), indices];
        let iterations = u64::from(value.per_word()) * (kept as u64 + 2);
        let invocations = words(value, outputs);
        self.push(kernel, None, dst, params, invocations, iterations)?;
        if let Some(pass) = self.passes.last_mut() {
            pass.stride_table = Some((table, views));
        }
        Ok(())
    }
}

impl GatherText {
    pub(crate) fn recipe(self) -> Recipe {
        use Resource::{Destination, Indices, Params, StrideTable, View, Words};
        let (fragments, bindings, indices) = match self.strided {
            true => (
                fragments!("access/stride_table" "access/view" "walk/gather"),
                vec![Params, StrideTable, Destination, View(0), View(1)],
                View(1),
            ),
            false => (
                fragments!("walk/gather"),
                vec![Params, Indices, Destination, Words],
                Indices,
            ),
        };
        Recipe {
            fragments,
            bindings,
            names: vec![
                ("STRIDED", self.strided.into()),
                ("BEST", self.best.into()),
                ("INDICES", indices.number()),
            ],
            constants: vec![("INDEX_WORDS", self.index_words)],
            ..Recipe::default()
        }
    }
}
