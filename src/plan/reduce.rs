//! From a region and its mapping to a dispatch: kernel, parameters, views, workgroups.
//!
//! Knows how kernels take their work; `partition.rs` and `mapping.rs` choose region and mapping.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{StoreFormat, Walk};
use crate::plan::limits::dispatches;
use crate::plan::mapping::Mapping;
use crate::plan::pass::{RowParts, Slot, View};
use crate::plan::splits::{self, Partition, Region};
use crate::plan::step::{Planner, Step};
use crate::sums::Sum;
use std::ops::Range;

impl Planner<'_> {
    pub(crate) fn reduce(&mut self, step: &Step) -> Result<(), Error> {
        for partition in self.partitions(step, self.outputs_per_dispatch(step.out))? {
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
        let mapping = self.mapping(step, &first);
        if whole && self.is_direct(step, &first, mapping) {
            self.pass(step, &first, mapping, false)?;
            return match value {
                Some(value) => self.gather(step, value, partition, &first),
                None => Ok(()),
            };
        }
        for (i, b) in partition.regions.iter().enumerate() {
            self.partials_pass(step, &first, mapping, b, i > 0)?;
            if let Some(value) = value {
                for run in partition.runs_of(b) {
                    self.finish(step, &first, mapping.parts(), 0, &run)?;
                }
                self.gather(step, value, partition, b)?;
            }
        }
        if value.is_none() {
            for run in &partition.runs {
                self.finish(step, &first, mapping.parts(), 0, run)?;
            }
        }
        Ok(())
    }

    /// The passes over a region that leave its partial results, or merge them with those that are there. `first` is the
    /// first region of the same segments, and `mapping` its own.
    pub(crate) fn partials_pass(
        &mut self,
        step: &Step,
        first: &Region,
        mapping: Mapping,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        let partials = Step {
            dst: Slot::Partials,
            out: self.partial_format(step),
            ..*step
        };
        let own = match b.inner < first.inner {
            _ if !merge && mapping.leaves_partials() => mapping,
            true => Mapping::Each,
            false => self.shortened(&partials, mapping, b),
        };
        let before = self.passes.len();
        self.pass(&partials, b, own, merge)?;
        let all = first.outer * first.inner * mapping.parts();
        // A region that is a part of a row writes the partials of its own columns.
        let skipped = b.out - first.out;
        for pass in &mut self.passes[before..] {
            pass.dst.offset += skipped * partials.out.bytes();
            if step.both {
                pass.dst.bytes = (2 * all - skipped) * partials.out.bytes();
                pass.params.apart = all as u32;
            }
        }
        Ok(())
    }

    /// Whether a region of whole segments needs no partial results.
    pub(crate) fn is_direct(&self, step: &Step, b: &Region, mapping: Mapping) -> bool {
        // Whether results below a word are written as whole words.
        let alone = match mapping {
            Mapping::Each | Mapping::ShallowSums => true,
            Mapping::Rows(_) => true,
            Mapping::Columns(columns) => columns.writes_words(step, b),
            Mapping::SumRows {
                lanes,
                slices,
                slice,
            } => {
                let at_once = |sum| lanes == 1 && vecs_at_once(step, sum, slice, 1) > 0;
                self.are_whole(step, b, lanes * slices) && step.sum.is_some_and(at_once)
            }
            Mapping::Slices { .. } | Mapping::SumColumns { .. } => false,
        };
        !step.both && mapping.parts() == 1 && (alone || step.out.per_word() == 1)
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
            let index_words = step.out.bytes() as u32 / 4;
            let kernel = self.kernel(Walk::Gather { index_words }, value);
            let params = Params {
                items: count as u32,
                ..region_params(b)
            };
            let dst = out_view(Slot::Output(1), value, out, count);
            let mut src = self.src_view(step, b);
            let skipped = (out - b.out) * src.element;
            (src.offset, src.bytes) = (src.offset + skipped, src.bytes - skipped);
            self.push(kernel, Some(src), dst, params, words(value, count), 4)?;
            if let Some(pass) = self.passes.last_mut() {
                pass.indices = Some(out_view(Slot::Output(0), step.out, out, count));
            }
        }
        Ok(())
    }

    pub(crate) fn fill(
        &mut self,
        output: usize,
        out: StoreFormat,
        element: u64,
        n: u64,
    ) -> Result<(), Error> {
        let most = self.outputs_per_dispatch(out);
        dispatches(n.div_ceil(most))?;
        for run in splits::runs(&self.splits.outputs(), 0..n) {
            let mut at = run.start;
            while at < run.end {
                let count = most.min(run.end - at);
                self.fill_range(output, out, element, at, count)?;
                at += count;
            }
        }
        Ok(())
    }

    /// Fills `count` outputs from `at` on, as many as a dispatch takes.
    pub(crate) fn fill_range(
        &mut self,
        output: usize,
        out: StoreFormat,
        element: u64,
        at: u64,
        count: u64,
    ) -> Result<(), Error> {
        let kernel = self.kernel(Walk::Fill, out);
        // An element below 32 bits sits at the top of a word, as in the shaders.
        let shift = 32u64.saturating_sub(8 * out.bytes());
        let params = Params {
            items: count as u32,
            fill: element << shift,
            ..Params::default()
        };
        let dst = out_view(Slot::Output(output), out, at, count);
        self.push(kernel, None, dst, params, words(out, count), 4)
    }

    /// The first pass over a region.
    pub(crate) fn pass(
        &mut self,
        step: &Step,
        b: &Region,
        mapping: Mapping,
        merge: bool,
    ) -> Result<(), Error> {
        match mapping {
            Mapping::Each => self.each(step, b, merge, false),
            Mapping::Slices { slices, slice } => self.slices_pass(step, b, [slices, slice], merge),
            Mapping::Rows(rows) => rows.pass(self, step, b, merge),
            Mapping::Columns(columns) => columns.pass(self, step, b, merge),
            Mapping::SumRows {
                lanes,
                slices,
                slice,
            } => self.sum_rows_pass(step, b, [lanes, slices, slice], merge),
            Mapping::SumColumns { slices, slice } => {
                self.sum_columns_pass(step, b, [slices, slice], merge)
            }
            Mapping::ShallowSums => self.shallow_sums_pass(step, b),
        }
    }

    pub(crate) fn each(
        &mut self,
        step: &Step,
        b: &Region,
        merge: bool,
        raw: bool,
    ) -> Result<(), Error> {
        self.each_of(step, b, dst_view(step, b, 1), merge, raw)
    }

    /// Reduces the segments of a region element by element, to `dst`.
    pub(crate) fn each_of(
        &mut self,
        step: &Step,
        b: &Region,
        dst: View,
        merge: bool,
        raw: bool,
    ) -> Result<(), Error> {
        let (items, src) = (b.outer * b.inner, self.src_view(step, b));
        let words = words(step.out, items);
        let each = u64::from(step.out.per_word()) * step.iterations(b.len) + 1;
        let taken = self.items_per_invocation(words, each);
        let coarsened = taken > 1;
        let walk = Walk::Each {
            raw,
            coarsened,
            sliced: false,
        };
        let kernel = self.kernel_of(step, walk);
        let params = Params {
            items: items as u32,
            coarsening: taken as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let lanes = words.div_ceil(taken);
        self.push(kernel, Some(src), dst, params, lanes, taken * each)
    }

    /// Leaves partial results of parts of segments, element by element.
    fn slices_pass(
        &mut self,
        step: &Step,
        b: &Region,
        [slices, slice]: [u64; 2],
        merge: bool,
    ) -> Result<(), Error> {
        let walk = Walk::Each {
            raw: false,
            coarsened: false,
            sliced: true,
        };
        let kernel = self.kernel_of(step, walk);
        let items = b.outer * b.inner * slices;
        let params = Params {
            items: items as u32,
            slices: slices as u32,
            slice: slice as u32,
            width: b.inner as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (self.src_view(step, b), dst_view(step, b, slices));
        let iterations = step.iterations(slice) + 1;
        self.push(kernel, Some(src), dst, params, items, iterations)
    }

    /// How many of `items` an invocation takes one after the other, at so many iterations each. The device
    /// stays filled, and no invocation loops too long.
    pub(crate) fn items_per_invocation(&self, items: u64, iterations: u64) -> u64 {
        let tuning = &self.caps.tuning;
        let spare = items / tuning.invocations.max(1);
        let most = (self.caps.most_iterations() / iterations).min(tuning.short_rows);
        spare.min(most).max(1)
    }

    fn sum_rows_pass(
        &mut self,
        step: &Step,
        b: &Region,
        [lanes, slices, slice]: [u64; 3],
        merge: bool,
    ) -> Result<(), Error> {
        let items = b.outer * slices;
        let element = u64::from(step.keys.bits() / 8);
        let whole = self.are_whole(step, b, lanes * slices);
        let share = slice.div_ceil(lanes) + 32 / element;
        // The loops over vec4, over blocks of them, and over a row that a window holds count as well.
        let each = step.iterations(share) + share * element / 8 + 2;
        let words = words(step.out, items);
        let each = each * u64::from(step.out.per_word());
        let taken = self.items_per_invocation(words * lanes, each);
        let walk = Walk::SumRows {
            lanes: lanes as u32,
            coarsened: taken > 1 && step.out.per_word() == 1,
            whole,
            vecs: step
                .sum
                .map_or(0, |sum| vecs_at_once(step, sum, slice, lanes)),
        };
        let kernel = self.kernel_of(step, walk);
        let params = Params {
            items: items as u32,
            slices: slices as u32,
            slice: slice as u32,
            coarsening: taken as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (self.src_view(step, b), dst_view(step, b, slices));
        let invocations = words.div_ceil(taken) * lanes;
        self.push(kernel, Some(src), dst, params, invocations, taken * each)
    }

    fn sum_columns_pass(
        &mut self,
        step: &Step,
        b: &Region,
        [slices, slice]: [u64; 2],
        merge: bool,
    ) -> Result<(), Error> {
        let Some(sum) = step.sum else {
            return Ok(());
        };
        let columns = self.sum_columns_of(step, sum, b);
        let in_vec = u64::from(128 / step.keys.bits());
        let walk = Walk::SumColumns {
            runs: (columns / in_vec) as u32,
        };
        let kernel = self.kernel_of(step, walk);
        let lanes = b.inner / columns;
        let invocations = b.outer * slices * lanes;
        let params = Params {
            items: invocations as u32,
            team: lanes as u32,
            slices: slices as u32,
            slice: slice as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (self.src_view(step, b), dst_view(step, b, slices));
        // The loops over vec4, which hold rows of one column or columns, and over blocks of them count as well.
        let vecs = slice / in_vec.min(4);
        let iterations = sum.column_iterations(slice, columns) + 2 * vecs + 1 + columns;
        self.push(kernel, Some(src), dst, params, invocations, iterations)
    }

    fn shallow_sums_pass(&mut self, step: &Step, b: &Region) -> Result<(), Error> {
        let columns = u64::from(128 / step.keys.bits());
        let items = b.outer * b.inner / columns;
        // All rows by windows, and if they do not hold them, by limbs; and the loops over results.
        let each = columns * step.iterations(b.len) + b.len + 3 * columns + 2;
        let taken = self.items_per_invocation(items, each);
        let invocations = items.div_ceil(taken);
        let params = Params {
            items: items as u32,
            team: (b.inner / columns) as u32,
            slices: 1,
            slice: b.len as u32,
            coarsening: taken as u32,
            total: invocations as u32,
            ..region_params(b)
        };
        let kernel = self.kernel_of(step, Walk::ShallowSums);
        let (src, dst) = (self.src_view(step, b), dst_view(step, b, 1));
        self.push(kernel, Some(src), dst, params, invocations, taken * each)
    }

    /// The second pass: makes results of `parts` partials an output, from partial `from` on. `run`: the
    /// outputs of the region that it takes.
    pub(crate) fn finish(
        &mut self,
        step: &Step,
        b: &Region,
        parts: u64,
        from: u64,
        run: &Range<u64>,
    ) -> Result<(), Error> {
        let wg = u64::from(self.caps.workgroup());
        let count = run.end - run.start;
        let groups = self.caps.groups();
        // Invocations share the partials of an output while there are workgroups for it. Only 1, 8, 64 or 256 do,
        // so that another number of partials seldom compiles anything.
        let mut lanes = 1;
        // An invocation alone takes all outputs of a word.
        let each = u64::from(step.out.per_word()) * step.join_iterations(parts) + 1;
        let most = if step.out.per_word() > 1 { wg / 4 } else { wg };
        for more in [8, 64, 256] {
            let fits = more <= most.min(parts / 2) && (count + 4) * more <= groups * wg;
            let idle = count * lanes < self.caps.tuning.invocations;
            if fits && (idle || each > self.caps.most_iterations()) {
                lanes = more;
            }
        }
        if step.sum.is_some_and(|sum| !self.may_share(sum, lanes)) {
            lanes = 1;
        }
        let words = words(step.out, count);
        // Coarsening only where invocations do not share an output.
        let taken = match lanes {
            1 => self.items_per_invocation(words, each),
            _ => 1,
        };
        let format = self.partial_format(step);
        let walk = Walk::Finish {
            lanes: lanes as u32,
            words: match format {
                StoreFormat::Partial(words) => words,
                _ => 0,
            },
        };
        let kernel = self.kernel_of(step, walk);
        let params = Params {
            items: count as u32,
            len: parts as u32,
            inner: b.inner as u32,
            coarsening: taken as u32,
            ..Params::default()
        };
        let partials = b.outer * b.inner * parts - run.start;
        let src = out_view(Slot::Partials, format, from + run.start, partials);
        let dst = out_view(step.dst, step.out, b.out + run.start, count);
        if lanes == 1 {
            let (invocations, iterations) = (words.div_ceil(taken), taken * each);
            return self.push(kernel, Some(src), dst, params, invocations, iterations);
        }
        let ends = lanes.ilog2() + step.out.per_word() + 1;
        let iterations = step.join_iterations(parts.div_ceil(lanes)) + u64::from(ends);
        // A result below a word may begin inside one.
        let outputs = count + u64::from(step.out.per_word()) - 1;
        self.push(kernel, Some(src), dst, params, outputs * lanes, iterations)
    }

    pub(crate) fn src_view(&self, step: &Step, b: &Region) -> View {
        let element = u64::from(step.keys.bits() / 8);
        let read = b.outer * b.len * b.inner;
        let dense = b.pitch == b.inner;
        let narrow = b.inner < step.inner && b.len > 1;
        View {
            slot: step.src,
            offset: (step.at + b.at) * element,
            bytes: match dense {
                true => read,
                false => (b.len - 1) * b.pitch + b.inner,
            } * element,
            element,
            // In a stream, a narrow region that is not dense lies in a window that a wider one has filled.
            rows: (narrow && dense == self.gathers(step)).then_some(RowParts {
                count: b.len,
                bytes: b.inner * element,
                pitch: step.inner * element,
            }),
        }
    }
}

/// How many whole vec4 of a slice each of `lanes` invocations takes, rounded up to a power of two, if an
/// exact sum takes so many at once; else 0.
fn vecs_at_once(step: &Step, sum: Sum, slice: u64, lanes: u64) -> u32 {
    let vecs = (slice * u64::from(step.keys.bits()) / 128).div_ceil(lanes);
    let vecs = vecs.next_power_of_two() as u32;
    match sum.has_windows() && vecs <= sum.block() {
        true => vecs,
        false => 0,
    }
}

pub(crate) fn region_params(b: &Region) -> Params {
    Params {
        len: b.len as u32,
        inner: b.pitch as u32,
        base: b.base,
        ..Params::default()
    }
}

pub(crate) fn out_view(slot: Slot, out: StoreFormat, at: u64, count: u64) -> View {
    View {
        slot,
        offset: at * out.bytes(),
        bytes: count * out.bytes(),
        element: out.bytes(),
        rows: None,
    }
}

/// Where a region's results go: its place in a result, or the start of the partials.
pub(crate) fn dst_view(step: &Step, b: &Region, parts: u64) -> View {
    part_view(step, b, 0..b.outer * b.inner * parts)
}

/// Where some of a region's results go.
pub(crate) fn part_view(step: &Step, b: &Region, part: Range<u64>) -> View {
    let count = part.end - part.start;
    match step.dst {
        Slot::Partials => out_view(step.dst, step.out, part.start, count),
        _ => out_view(step.dst, step.out, b.out + part.start, count),
    }
}

/// Words that results touch, one more where they may begin inside a word.
pub(crate) fn words(out: StoreFormat, count: u64) -> u64 {
    match out.per_word() {
        1 => count,
        n => count.div_ceil(n.into()) + 1,
    }
}
