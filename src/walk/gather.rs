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
    fn gathers_as(&self, value: StoreFormat, indices: &View, strided: bool) -> Kernel {
        let text = GatherText {
            index_words: indices.element as u32 / 4,
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
            let indices = View::of(Slot::Output(0), step.out, out, count);
            let kernel = self.gathers_as(value, &indices, false);
            let params = Params {
                items: count as u32,
                ..region_params(b)
            };
            let dst = View::of(Slot::Output(1), value, out, count);
            let mut src = self.src_view(step, b);
            let skipped = (out - b.out) * src.element;
            (src.offset, src.bytes) = (src.offset + skipped, src.bytes - skipped);
            let pass = self.push(kernel, Some(src), dst, params, words(value, count), 4)?;
            pass.indices = Some(indices);
        }
        Ok(())
    }

    /// Gathers the elements of a view's window that indices point to. `params`: what tells which index is whose.
    pub(crate) fn gather_window(
        &mut self,
        dst: View,
        indices: View,
        window: &Window<'_>,
        params: Params,
    ) -> Result<(), Error> {
        let (table, kept) = window.stride_table(2);
        let value = StoreFormat::value(self.problem.dtype());
        let kernel = self.gathers_as(value, &indices, true);
        let items = dst.bytes / dst.element;
        let params = Params {
            items: items as u32,
            kept_dims: kept as u32,
            len: window.reduced.elements() as u32,
            stride: window.stride(),
            base: window.reduced.place,
            ..params
        };
        let views = vec![self.window_view(window), indices];
        let iterations = u64::from(value.per_word()) * (kept as u64 + 2);
        let invocations = words(value, items);
        let pass = self.push(kernel, None, dst, params, invocations, iterations)?;
        pass.stride_table = Some((table, views));
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
                fragments!("access/segments" "walk/gather"),
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
                ("INDEX_WORDS", self.index_words),
            ],
            ..Recipe::default()
        }
    }
}
