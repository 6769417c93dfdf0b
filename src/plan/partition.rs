//! Cutting a step into regions, each as much as one binding, one dispatch and one submit can take.
//!
//! Turns limits and the ends of buffers into regions. The schedule decides which steps there are, `walk::choose`
//! how a region is walked.

use crate::Error;
use crate::kernel::Accumulator;
use crate::plan::limits::{MAX_REGION, dispatches};
use crate::plan::pass::Slot;
use crate::plan::splits::{self, Ends, Partition, Region};
use crate::plan::step::{Planner, Step};
use crate::walk::strided::Each;
use crate::walk::{self, Mapping};
use std::ops::Range;

/// Least bytes of a row that a stream reads at once: a page of a file, or less where partial results are more than
/// four times what is read.
const LEAST_PIECES: [u64; 2] = [4096, 512];
/// Rows from which columns that a binding spans are cut instead: their results are copied.
const MOST_SPANNED_ROWS: u64 = 256;
/// Columns of a region that takes only some are a multiple of this: whole lines for every walk.
const COLUMNS_GRAIN: u64 = 64;
/// Most dispatches of a plan that copy rows of columns.
const MOST_COPIES: u64 = 1 << 15;

/// How all rows of some columns come into one binding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A stream puts them together.
    Gathered,
    /// It sees what lies between as well.
    Spanned,
    /// Other dispatches put them together.
    Copied,
}

impl Planner<'_> {
    /// Cuts a step into regions of at most `written` outputs, grouped by their outputs, where
    /// limits and buffers end.
    pub(crate) fn partitions(&self, step: &Step, written: u64) -> Result<Vec<Partition>, Error> {
        let partitions = self.regions(step, written)?;
        let input = self.source_ends(step)?;
        let outputs = self.ends(step.dst, step.outer * step.inner)?;
        if input.is_empty() && outputs.is_empty() {
            return Ok(partitions);
        }
        let ends = Ends {
            input: &input,
            outputs: &outputs,
            most: self.partials(step),
            choose: &|b| walk::choose(self, step, b),
        };
        let partitions = ends.cut(partitions);
        dispatches(partitions.iter().map(|g| g.regions.len() as u64).sum())?;
        Ok(partitions)
    }

    /// Where a step's source continues in another buffer, from the step's first element.
    fn source_ends(&self, step: &Step) -> Result<Vec<u64>, Error> {
        let ends = self.ends(step.src, step.outer * step.len * step.inner)?;
        let ends = ends.into_iter().filter_map(|end| end.checked_sub(step.at));
        Ok(ends.collect())
    }

    /// Where a tensor continues in another buffer.
    fn ends(&self, slot: Slot, elements: u64) -> Result<Vec<u64>, Error> {
        match slot {
            Slot::Input(i) => Ok(self.splits.input(i).to_vec()),
            Slot::Output(_) => Ok(self.splits.outputs()),
            Slot::Partials => Ok(Vec::new()),
            Slot::Temp(_) => {
                let most = self.caps.piece_bytes() / self.problem.dtype().size();
                let buffers = elements.div_ceil(most);
                dispatches(buffers)?;
                Ok((1..buffers).map(|i| i * most).collect())
            }
        }
    }

    /// Cuts a step into regions that bindings and dispatches can take: between its matrices or, where
    /// one is too much, through its segments.
    fn regions(&self, step: &Step, written: u64) -> Result<Vec<Partition>, Error> {
        let &Step { len, inner, .. } = step;
        let element = step.acc.bytes();
        let seen = self.caps.elements(element).min(MAX_REGION);
        let seen = seen.min(self.caps.budget(inner > 1) / element);
        let alone = self.alone(step);
        let one = Region::new(1, len, inner);
        let of_len = |len: u64| {
            let len = len.min(seen / inner).max(1);
            walk::choose(self, step, &Region { len, ..one })
        };
        // By the walk of a segment that several invocations share.
        let reach = of_len(len.min(alone.saturating_mul(4))).reach(self, step);
        let too_long = len > alone && of_len(len.min(reach)).is_each();
        let whole = len * inner <= seen && inner <= written && len <= reach;
        if whole && !too_long {
            let most = (seen / (len * inner)).min(written / inner);
            return self.matrices(step, &one, most.min(step.outer));
        }
        let columns = seen.min(written).min(self.partials(step)).min(inner);
        let rows = match columns == inner {
            true => (seen / inner).min(if too_long { alone } else { reach }),
            false => 1,
        };
        // Whole lines, so that every region begins like the first one.
        let rows = grained(rows).max(rows.min(COLUMNS_GRAIN));
        let part = Region::new(1, rows.min(len), columns);
        match self.columns_apart(step, &part, written)? {
            Some(apart) => Ok(apart),
            None => self.segments(step, rows, columns),
        }
    }

    /// Elements of a segment that one invocation may take, beside those of the results in the same word.
    pub(crate) fn alone(&self, step: &Step) -> u64 {
        step.most_elements(self.caps.most_iterations() / 2 / u64::from(step.out.per_word()))
    }

    /// Least invocations for a segment of that length along so many dimensions, over which it iterates as well. One alone
    /// takes all segments whose results share a word; several leave a partial result each.
    pub(crate) fn least_parts(&self, step: &Step, dims: usize, len: u64) -> u64 {
        let each = |most: u64| (most / dims.max(1) as u64).max(1);
        match len <= each(self.alone(step)) {
            true => 1,
            false => {
                let shared = step.most_elements(self.caps.most_iterations() / 2);
                len.div_ceil(each(shared)).max(2)
            }
        }
    }

    /// Regions of all rows of some columns, if regions like `part`, of some rows, would leave partial results that are
    /// more than an eighth of what is read.
    fn columns_apart(
        &self,
        step: &Step,
        part: &Region,
        written: u64,
    ) -> Result<Option<Vec<Partition>>, Error> {
        let &Step {
            outer, len, inner, ..
        } = step;
        let element = step.acc.bytes();
        let parts = len.div_ceil(part.len);
        let partials = parts.saturating_mul(walk::choose(self, step, part).parts());
        // Each is written, and read by the next region or by the last pass; with values also by a pass of its own.
        let values = self.value_beside_index().is_some();
        let times = if values { 4 } else { 2 };
        let moved = partials.saturating_mul(times * self.partial_format(step).bytes());
        if len == 1 || inner == 1 || moved <= len * element / 8 {
            return Ok(None);
        }
        let seen = self.caps.elements(element).min(MAX_REGION);
        let cut = !self.source_ends(step)?.is_empty();
        let regions = parts.saturating_mul(inner.div_ceil(part.inner)).max(4);
        let ways: &[Way] = match self.gathers(step) {
            true => &[Way::Gathered],
            false => &[Way::Spanned, Way::Copied],
        };
        for &way in ways {
            let (possible, most, pieces) = match way {
                Way::Gathered => (true, seen / len, 2 * regions),
                // A binding sees what lies between its first column and its last.
                Way::Spanned => {
                    let most = seen.saturating_sub((len - 1) * inner);
                    (!cut && len < MOST_SPANNED_ROWS, most, 2 * regions)
                }
                // A copy is written and read.
                Way::Copied => {
                    let pays = step.src == Slot::Input(0) && moved > 2 * len * element;
                    let most = seen.min(self.caps.piece_bytes() / element) / len;
                    (pays, most, MOST_COPIES / len / outer)
                }
            };
            let region = |width| Region {
                inner: width,
                pitch: if way == Way::Spanned { inner } else { width },
                len,
                ..*part
            };
            let most = most
                .min(written)
                .min(self.caps.budget(true) / element / len);
            let most = self.direct(step, grained(most.min(inner)), region);
            let least = LEAST_PIECES[usize::from(moved > 4 * len * element)];
            let small = way == Way::Gathered && most * element < least;
            if !possible || most == 0 || small || inner.div_ceil(most) > pieces {
                continue;
            }
            let pieces = inner.div_ceil(most);
            let width = inner.div_ceil(pieces).next_multiple_of(COLUMNS_GRAIN);
            dispatches(outer.saturating_mul(pieces + 1))?;
            let outputs = self.ends(step.dst, outer * inner)?;
            let runs = (0..outer).flat_map(|o| splits::runs(&outputs, o * inner..(o + 1) * inner));
            let taken = runs.flat_map(|run| grained_parts(run, width));
            let columns = taken.map(|columns| Region {
                at: columns.start / inner * (len - 1) * inner + columns.start,
                out: columns.start,
                ..region(columns.end - columns.start)
            });
            let alone = columns.map(|region| Partition {
                copied: way == Way::Copied,
                ..Partition::of(vec![region], &[], walk::choose(self, step, &region))
            });
            return Ok(Some(alone.collect()));
        }
        Ok(None)
    }

    /// How many columns, at most `most`, one dispatch can take whole; 0 if none. `region` makes one of so many.
    fn direct(&self, step: &Step, most: u64, region: impl Fn(u64) -> Region) -> u64 {
        let one = region(most.max(1));
        let mapping = walk::choose(self, step, &one);
        if mapping.is_each() && one.len > self.alone(step) || one.len > mapping.reach(self, step) {
            return 0;
        }
        match mapping.is_direct(self, step, &one) {
            true => most,
            false => {
                let partials = self.partials(step);
                grained(most.min(partials / mapping.parts()))
            }
        }
    }

    /// Copies some columns of an input, row by row, to a tensor of their own. Returns the step and the partition that
    /// take them from there.
    pub(crate) fn copied(
        &mut self,
        step: &Step,
        columns: &Partition,
    ) -> Result<(Step, Partition), Error> {
        let first = columns.regions[0];
        // Rows begin with a word, of any type.
        let pitch = first.inner.next_multiple_of(COLUMNS_GRAIN);
        // Where a chain of steps leaves something, it is in the other one.
        let dst = Slot::Temp(1);
        let copy = Step {
            acc: Accumulator::Raw(step.acc.bits()),
            at: step.at,
            ..self.step(step.src, dst, [first.inner, 1, 1])
        };
        let cuts = self.source_ends(step)?;
        for row in 0..first.len {
            let at = first.at + row * step.inner;
            for run in splits::runs(&cuts, at..at + first.inner) {
                let part = Region {
                    at: run.start,
                    out: row * pitch + run.start - at,
                    ..Region::new(run.end - run.start, 1, 1)
                };
                Each::WHOLE.pass(self, &copy, &part, false)?;
            }
        }
        let step = Step {
            src: dst,
            at: 0,
            outer: 1,
            inner: pitch,
            ..*step
        };
        let region = Region {
            at: 0,
            pitch,
            ..first
        };
        let mapping = walk::choose(self, &step, &region);
        Ok((step, Partition::of(vec![region], &[], mapping)))
    }

    /// Regions of at most `most` whole matrices; `one` is the first matrix.
    fn matrices(&self, step: &Step, one: &Region, most: u64) -> Result<Vec<Partition>, Error> {
        let &Step {
            outer, len, inner, ..
        } = step;
        let (most, mapping) = self.fitting(step, one, most);
        dispatches(outer.div_ceil(most))?;
        let matrices = |o: u64| Region {
            at: o * len * inner,
            out: o * inner,
            outer: most.min(outer - o),
            ..*one
        };
        let partition = |b: Region| {
            // Others may begin within a unit.
            let mapping = match b.at == one.at {
                true => mapping,
                false => walk::choose(self, step, &b),
            };
            Partition::of(vec![b], &[], mapping)
        };
        let begins = (0..outer.div_ceil(most)).map(|i| i * most);
        Ok(begins.map(matrices).map(partition).collect())
    }

    /// How many matrices a dispatch may take, and how it walks them; bindings allow `most`.
    fn fitting(&self, step: &Step, one: &Region, most: u64) -> (u64, Mapping) {
        let partials = self.partials(step);
        let invocations = self.caps.most_invocations();
        let of = |outer| {
            let b = Region { outer, ..*one };
            (walk::choose(self, step, &b), b)
        };
        let fits = |(mapping, b): &(Mapping, Region)| {
            let parts = mapping.parts();
            let direct = parts == 1 && step.out.per_word() == 1;
            let fits_partials = direct || b.outer * b.inner * parts <= partials;
            fits_partials && mapping.invocations(self, step, b) <= invocations
        };
        let mut chosen = of(most);
        // More matrices need fewer parts each: halving ends at what fits.
        while chosen.1.outer > 1 && !fits(&chosen) {
            chosen = of(chosen.1.outer / 2);
        }
        let most = chosen.1.outer;
        // Regions begin with a line, and share no word of small outputs.
        let grain = match most {
            16.. => 16,
            4.. => 4,
            _ => 1,
        };
        match most / grain * grain {
            fewer if fewer < most && most < step.outer => (fewer, of(fewer).0),
            _ => (most, chosen.0),
        }
    }

    /// Regions of parts of segments, merged through partials: of at most so many rows and columns.
    fn segments(&self, step: &Step, rows: u64, columns: u64) -> Result<Vec<Partition>, Error> {
        let &Step {
            outer, len, inner, ..
        } = step;
        let parts = inner.div_ceil(columns).saturating_mul(len.div_ceil(rows));
        dispatches(outer.saturating_mul(parts))?;
        let begins = |end: u64, by: u64| (0..end.div_ceil(by)).map(move |i| i * by);
        let part = |o: u64, c: u64, l: u64| Region {
            at: (o * len + l) * inner + c,
            out: o * inner + c,
            base: l,
            ..Region::new(1, rows.min(len - l), columns.min(inner - c))
        };
        let segments = (0..outer).flat_map(|o| begins(inner, columns).map(move |c| (o, c)));
        let partition = |(o, c)| {
            let regions: Vec<_> = begins(len, rows).map(|l| part(o, c, l)).collect();
            let mapping = walk::choose(self, step, &regions[0]);
            Partition::of(regions, &[], mapping)
        };
        Ok(segments.map(partition).collect())
    }
}

/// The largest multiple of the grain that is not larger.
fn grained(columns: u64) -> u64 {
    columns / COLUMNS_GRAIN * COLUMNS_GRAIN
}

/// A range in parts of at most `width`, a multiple of the grain. What is left of a grain goes by itself.
fn grained_parts(run: Range<u64>, width: u64) -> impl Iterator<Item = Range<u64>> {
    let whole = run.start + grained(run.end - run.start);
    let parts = (run.start..whole).step_by(width as usize);
    let parts = parts.map(move |at| at..whole.min(at + width));
    let rest = std::iter::once(whole..run.end);
    parts.chain(rest).filter(|part| !part.is_empty())
}
