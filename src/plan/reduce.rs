//! From a region and its mapping to a dispatch: kernel, parameters, views, workgroups.
//!
//! Knows how kernels take their work; `partition.rs` and `mapping.rs` choose region and mapping.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Family, StoreFormat, Walk};
use crate::plan::limits::dispatches;
use crate::plan::mapping::{
    BLOCK_BYTES, ColumnMapping, Mapping, TEAM, column_ends, column_lanes, column_rows, in_vecs,
    panels,
};
use crate::plan::pass::{RowParts, Slot, View};
use crate::plan::splits::{self, Partition, Region};
use crate::plan::step::{Planner, Step};
use crate::sums::Sum;
use std::ops::Range;

/// Most vec4 of a row that an invocation takes at once, without a loop, to find its best element.
const ROW_VECS: u64 = 4;

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
        let partials = Step {
            dst: Slot::Partials,
            out: self.partial_format(step),
            ..*step
        };
        for (i, b) in partition.regions.iter().enumerate() {
            let own = match b.inner < first.inner {
                true => Mapping::Each,
                false => self.shortened(step, mapping, b),
            };
            self.pass(&partials, b, own, i > 0)?;
            // A region that is a part of a row writes the partials of its own columns.
            if let Some(pass) = self.passes.last_mut() {
                pass.dst.offset += (b.out - first.out) * partials.out.bytes();
            }
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

    /// Whether a region of whole segments needs no partial results.
    pub(crate) fn is_direct(&self, step: &Step, b: &Region, mapping: Mapping) -> bool {
        // Whether an invocation takes all segments whose results share a word.
        let alone = match mapping {
            Mapping::Each | Mapping::Lines(_) => true,
            Mapping::Rows {
                lanes,
                slices,
                slice,
            } => match step.sum {
                Some(sum) => lanes == 1 && vecs_at_once(step, sum, slice, 1) > 0,
                None => {
                    let words = b.outer / u64::from(step.out.per_word());
                    let filled = words >= self.caps.tuning.invocations;
                    let whole = self.are_whole(step, b, lanes * slices);
                    whole && (filled || self.is_short(step, b))
                }
            },
            Mapping::Columns(_) | Mapping::Thin => false,
        };
        mapping.parts() == 1 && (alone || step.out.per_word() == 1)
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
        let lines = matches!(mapping, Mapping::Lines(_));
        debug_assert!(
            !lines || !merge && !step.out.is_partial(),
            "lines are results"
        );
        // Leftover columns of a later matrix would begin with the first one's partials.
        debug_assert!(mapping != Mapping::Thin || b.outer == 1, "of one matrix");
        match mapping {
            Mapping::Each => self.each(step, b, merge, false),
            Mapping::Lines(_) if step.sum.is_some() => self.shallow_sums_pass(step, b),
            Mapping::Lines(family) => self.lines_pass(step, b, family, merge),
            Mapping::Thin => self.lines_pass(step, b, Family::Shallow, merge),
            Mapping::Rows {
                lanes,
                slices,
                slice,
            } => self.rows_pass(step, b, [lanes, slices, slice], merge),
            Mapping::Columns(wide) => self.columns_pass(step, b, wide, merge),
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
    fn each_of(
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
        let kernel = self.kernel_of(step, Walk::Each { raw, coarsened });
        let params = Params {
            items: items as u32,
            coarsening: taken as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let lanes = words.div_ceil(taken);
        self.push(kernel, Some(src), dst, params, lanes, taken * each)
    }

    /// How many of `items` an invocation takes one after the other, at so many iterations each. The device
    /// stays filled, and no invocation loops too long.
    fn items_per_invocation(&self, items: u64, iterations: u64) -> u64 {
        let tuning = &self.caps.tuning;
        let spare = items / tuning.invocations.max(1);
        let most = (self.caps.most_iterations() / iterations).min(tuning.short_rows);
        spare.min(most).max(1)
    }

    fn lines_pass(
        &mut self,
        step: &Step,
        b: &Region,
        family: Family,
        merge: bool,
    ) -> Result<(), Error> {
        let element = u64::from(step.keys.bits() / 8);
        let segments = 16 / element;
        let unaligned = family == Family::Shallow && !in_vecs(b, element);
        // `lanes` invocations share a panel, and each takes `runs` vec4 of its row; `team` such groups take
        // neighbouring panels. A line of small rows counts as a panel.
        let unrolled = self.unrolls(b.len);
        let (lanes, runs, team) = match family {
            // Longer rows: an invocation alone reads long stretches.
            Family::SmallRows => (1, 1, if unrolled { TEAM } else { 1 }),
            Family::Panels => (TEAM, panels(b.inner / segments, element).0, 1),
            _ => (1, self.abreast(b, element, unaligned), TEAM),
        };
        let abreast = runs.max(1);
        let lines = b.outer * b.inner / segments;
        if lines == 0 {
            return self.each(step, b, merge, false);
        }
        let width = b.pitch / segments;
        let slices = width.div_ceil(lanes * abreast);
        let items = match family {
            Family::Panels => b.outer * slices,
            _ => lines.div_ceil(abreast),
        };
        // Unaligned lines may be taken element by element; the loop over their places counts as well.
        let each = 1 + match unaligned {
            true => abreast * (b.len + segments + 1),
            false => b.len,
        };
        let each = each + u64::from(step.out.is_partial()) * abreast * segments;
        let taken = self.items_per_invocation(items * lanes, each);
        let coarsened = taken > 1;
        let walk = match family {
            Family::SmallRows => Walk::SmallRows {
                unrolled: if unrolled { b.len as u32 } else { 0 },
                coarsened,
            },
            _ => Walk::Panels {
                lanes: lanes as u32,
                runs: runs as u32,
                unaligned,
                coarsened,
            },
        };
        let kernel = self.kernel_of(step, walk);
        let params = Params {
            items: items as u32,
            slices: slices as u32,
            coarsening: taken as u32,
            width: width as u32,
            team: team as u32,
            total: lines as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let written = lines * segments;
        let (src, to) = (self.src_view(step, b), part_view(step, b, 0..written));
        let invocations = items.div_ceil(team * taken) * team * lanes;
        self.push(kernel, Some(src), to, params, invocations, taken * each)?;
        self.rest(step, b, written, merge)
    }

    /// Lines of shallow columns that an invocation takes at once; 0: one, element by element.
    fn abreast(&self, b: &Region, element: u64, unaligned: bool) -> u64 {
        let width = b.pitch * element / 16;
        let several = self.caps.long_strips();
        // Most panels must lie in one matrix. SwiftShader reads two vec4 no faster than four words.
        let by_vec = width >= 5 * TEAM && (several || !self.caps.tuning.strips);
        match unaligned {
            true if !by_vec => 0,
            true if several => 4,
            false if several && width.is_multiple_of(2) => 2,
            _ => 1,
        }
    }

    /// Reduces the outputs of a region from number `done` on: the last columns of a matrix, then whole
    /// matrices.
    fn rest(&mut self, step: &Step, b: &Region, done: u64, merge: bool) -> Result<(), Error> {
        let (matrix, column) = (done / b.inner, done % b.inner);
        let from = |matrix: u64, outer: u64| Region {
            at: b.at + matrix * b.len * b.inner,
            out: b.out + matrix * b.inner,
            outer,
            ..*b
        };
        if column > 0 {
            let one = from(matrix, 1);
            let columns = Region {
                at: one.at + column,
                inner: b.inner - column,
                ..one
            };
            let to = part_view(step, &one, column..b.inner);
            self.each_of(step, &columns, to, merge, false)?;
        }
        let next = matrix + u64::from(column > 0);
        match next < b.outer {
            true => self.each(step, &from(next, b.outer - next), merge, false),
            false => Ok(()),
        }
    }

    fn rows_pass(
        &mut self,
        step: &Step,
        b: &Region,
        [lanes, slices, slice]: [u64; 3],
        merge: bool,
    ) -> Result<(), Error> {
        let items = b.outer * slices;
        let element = u64::from(step.keys.bits() / 8);
        let blocks = (slice * element).div_ceil(BLOCK_BYTES * lanes);
        let whole = self.are_whole(step, b, lanes * slices);
        let each = match step.sum {
            Some(_) => {
                let share = slice.div_ceil(lanes) + 32 / element;
                // The loops over vec4, over blocks of them, and over a row that a window holds count as well.
                step.iterations(share) + share * element / 8 + 2
            }
            None if whole => blocks + 1,
            // Besides the blocks: two trees, the elements around whole vec4, and the item itself.
            None => blocks + 2 * u64::from(lanes.ilog2()) + (32 / element).div_ceil(lanes) + 1,
        };
        let words = words(step.out, items);
        let each = each * u64::from(step.out.per_word());
        let taken = self.items_per_invocation(words * lanes, each);
        let vecs = match step.sum {
            Some(sum) => vecs_at_once(step, sum, slice, lanes),
            None if whole && b.len * element <= ROW_VECS * 16 => {
                (b.len * element / 16).next_power_of_two() as u32
            }
            None => 0,
        };
        let walk = Walk::Rows {
            lanes: lanes as u32,
            blocked: self.caps.tuning.blocked && !whole,
            coarsened: taken > 1 && step.out.per_word() == 1,
            whole,
            vecs,
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

    fn columns_pass(
        &mut self,
        step: &Step,
        b: &Region,
        wide: ColumnMapping,
        merge: bool,
    ) -> Result<(), Error> {
        let ColumnMapping {
            vecs,
            fold,
            slices,
            slice,
            shared,
        } = wide;
        if let Some(sum) = step.sum {
            return self.sum_columns_pass(step, sum, b, wide, merge);
        }
        let element = u64::from(step.keys.bits() / 8);
        let width = fold * b.inner * element / 16;
        let invocations = b.outer * slices * self.column_invocations(&wide, width);
        let (items, lanes) = match shared {
            1 => (invocations, column_lanes(vecs, width)),
            // Workgroups.
            _ => {
                let wg = u64::from(self.caps.workgroup());
                (invocations / wg, wg / shared)
            }
        };
        // Matrices of whole wide rows all begin with a vec4 if the first does.
        let begins = self.aligned && ((step.at + b.at) * element).is_multiple_of(16);
        let walk = Walk::Columns {
            runs: vecs as u32,
            ragged: !(begins && b.len.is_multiple_of(fold)),
            shared: shared > 1,
        };
        let kernel = self.kernel_of(step, walk);
        let params = Params {
            items: items as u32,
            slices: (slices * shared) as u32,
            slice: slice as u32,
            width: width as u32,
            team: lanes as u32,
            total: (b.len * b.inner) as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        // Four planes at most, each merged by halves.
        let merges = 4 * u64::from(shared.ilog2());
        let iterations = slice.div_ceil(column_rows(vecs)) + column_ends(vecs, element) + merges;
        let (src, dst) = (self.src_view(step, b), dst_view(step, b, slices * fold));
        self.push(kernel, Some(src), dst, params, invocations, iterations)
    }

    fn sum_columns_pass(
        &mut self,
        step: &Step,
        sum: Sum,
        b: &Region,
        wide: ColumnMapping,
        merge: bool,
    ) -> Result<(), Error> {
        let columns = self.sum_columns_of(step, sum, b);
        let in_vec = u64::from(128 / step.keys.bits());
        let walk = Walk::Columns {
            runs: (columns / in_vec) as u32,
            ragged: false,
            shared: false,
        };
        let kernel = self.kernel_of(step, walk);
        let lanes = b.inner / columns;
        let invocations = b.outer * wide.slices * lanes;
        let params = Params {
            items: invocations as u32,
            team: lanes as u32,
            slices: wide.slices as u32,
            slice: wide.slice as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (self.src_view(step, b), dst_view(step, b, wide.slices));
        // The loops over vec4, which hold rows of one column or columns, and over blocks of them count as well.
        let vecs = wide.slice / in_vec.min(4);
        let iterations = sum.column_iterations(wide.slice, columns) + 2 * vecs + 1 + columns;
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
        // Invocations share the partials of an output while there are workgroups for it. Only 1, 8 or 64 do,
        // so that another number of partials seldom compiles anything.
        let mut lanes = 1;
        // An invocation alone takes all outputs of a word.
        let each = u64::from(step.out.per_word()) * step.join_iterations(parts) + 1;
        while lanes * 8 <= (wg / 4).min(parts / 2)
            && (count + 4) * lanes * 8 <= groups * wg
            && (count * lanes < self.caps.tuning.invocations || each > self.caps.most_iterations())
        {
            lanes *= 8;
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

fn region_params(b: &Region) -> Params {
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
fn dst_view(step: &Step, b: &Region, parts: u64) -> View {
    part_view(step, b, 0..b.outer * b.inner * parts)
}

/// Where some of a region's results go.
fn part_view(step: &Step, b: &Region, part: Range<u64>) -> View {
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
