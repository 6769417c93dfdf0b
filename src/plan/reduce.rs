//! From a partition to its passes: one that gives results, or some that leave partial results and one that makes
//! results of them. `partition.rs` has chosen the regions and their walk.

use crate::Error;
use crate::kernel::StoreFormat;
use crate::plan::pass::Slot;
use crate::plan::splits::{Partition, Region};
use crate::plan::step::{Planner, Step};
use crate::walk::Mapping;
use crate::walk::strided::Each;

impl Planner<'_> {
    pub(crate) fn reduce(&mut self, step: &Step) -> Result<(), Error> {
        for partition in self.partitions(step, self.results_per_dispatch(step, None))? {
            self.reduce_partition(step, &partition, None)?;
        }
        Ok(())
    }

    /// Reduces a partition. With `value` it also gathers the elements that the indices point to, as values of
    /// that format. It gathers after each region what leads so far, so that a stream reads each region once.
    pub(crate) fn reduce_partition(
        &mut self,
        step: &Step,
        partition: &Partition,
        value: Option<StoreFormat>,
    ) -> Result<(), Error> {
        if partition.copied {
            let (step, columns) = self.copied(step, partition)?;
            return self.reduce_partition(&step, &columns, value);
        }
        let first = partition.regions[0];
        let whole = partition.regions.len() == 1 && partition.runs.len() == 1;
        let mapping = partition.mapping;
        let parts = mapping.parts();
        let direct = Step {
            out: self.results_of(step)[0].out,
            ..*step
        };
        if whole && mapping.is_direct(self, &direct, &first) {
            mapping.pass(self, &direct, &first, false)?;
            return match value {
                Some(value) => self.gather(step, value, partition, &first),
                None => Ok(()),
            };
        }
        for (i, b) in partition.regions.iter().enumerate() {
            self.partials_pass(step, partition, b, i > 0)?;
            if let Some(value) = value {
                self.finish(step, &first, parts, &partition.runs_of(b))?;
                self.gather(step, value, partition, b)?;
            }
        }
        match value {
            Some(_) => Ok(()),
            None => self.finish(step, &first, parts, &partition.runs),
        }
    }

    /// The step that leaves partial results of another.
    pub(crate) fn partials_of(&self, step: Step) -> Step {
        Step {
            dst: Slot::Partials,
            out: self.partial_format(&step),
            ..step
        }
    }

    /// The passes over a region of a partition that leave its partial results, or merge them with those that are there.
    fn partials_pass(
        &mut self,
        step: &Step,
        partition: &Partition,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        let (first, mapping) = (partition.regions[0], partition.mapping);
        let partials = self.partials_of(*step);
        let own = match b.inner < first.inner {
            _ if !merge && mapping.leaves_partials() => mapping,
            true => Mapping::Each(Each::WHOLE),
            false => mapping.shortened(self, &partials, b),
        };
        let before = self.passes.len();
        own.pass(self, &partials, b, merge)?;
        let all = first.outer * first.inner * mapping.parts();
        // A region that is a part of a row writes the partials of its own columns.
        let skipped = b.out - first.out;
        for pass in &mut self.passes[before..] {
            pass.dst.offset += skipped * partials.out.bytes();
            if step.acc.is_both() {
                pass.dst.bytes = (2 * all - skipped) * partials.out.bytes();
                pass.params.apart = all as u32;
            }
        }
        Ok(())
    }
}
