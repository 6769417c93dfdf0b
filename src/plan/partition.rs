//! Cutting a step into regions, each as much as one binding, one dispatch and one submit can take.
//!
//! Keeps how limits and where buffers end become regions, and what a dispatch may read and write.
//! Which steps there are the schedule decides; of the mapping it asks only what a region would need.

use crate::kernel::StoreFormat;
use crate::plan::mapping::Mapping;
use crate::plan::schedule::{Planner, Step};
use crate::plan::splits;
use crate::plan::{MAX_ITERATIONS, Slot};
use crate::{Caps, Error};
use std::ops::Range;

/// Most elements that a dispatch sees, so that its arithmetic stays within 32 bits.
pub(crate) const MAX_REGION: u64 = 1 << 30;
/// Most regions of a step: 8 TiB in bindings of 128 MiB.
const MAX_DISPATCHES: u64 = 1 << 16;
/// Least budget of a submit: a vec4 of every input of a dispatch, and some more.
const LEAST_SUBMIT: u64 = 1024;
/// How much longer bytes take that are read across rows.
pub(crate) const STRIDED_COST: u64 = 4;
/// Least invocations of a workgroup: the outputs of 8 bits that share a word.
const LEAST_WORKGROUP: u32 = 4;

/// A part of a step that one binding can see: contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// First element, from the step's first.
    pub at: u64,
    /// First output, from the result's start.
    pub out: u64,
    pub outer: u64,
    pub len: u64,
    pub inner: u64,
    /// Place of its first element in the segments.
    pub base: u64,
}

/// Regions whose outputs are the same: the parts of their segments.
pub(crate) struct Partition {
    /// None is longer than the first; what is narrower is a part of a row.
    pub regions: Vec<Region>,
    /// The outputs, from the group's first, in runs that one buffer holds each.
    pub runs: Vec<Range<u64>>,
}

impl Partition {
    /// Regions, and where all outputs of the step are cut.
    pub(crate) fn of(regions: Vec<Region>, cuts: &[u64]) -> Partition {
        let first = regions[0];
        let outputs = first.out..first.out + first.outer * first.inner;
        let from = |run: Range<u64>| run.start - first.out..run.end - first.out;
        let runs = splits::runs(cuts, outputs).into_iter().map(from).collect();
        Partition { regions, runs }
    }

    pub(crate) fn outputs(&self) -> u64 {
        self.regions[0].outer * self.regions[0].inner
    }
}

impl Planner<'_> {
    /// BufferSplits a step into regions of at most `written` outputs, grouped by their outputs, where
    /// limits and buffers end.
    pub(crate) fn partitions(&self, step: &Step, written: u64) -> Result<Vec<Partition>, Error> {
        let partitions = self.regions(step, written)?;
        let results = step.outer * step.inner;
        let input = self.ends(step.src, results * step.len)?;
        let outputs = self.ends(step.dst, results)?;
        if input.is_empty() && outputs.is_empty() {
            return Ok(partitions);
        }
        let from = |cut: u64| cut.checked_sub(step.at);
        let input: Vec<u64> = input.into_iter().filter_map(from).collect();
        let partitions = splits::cut(partitions, &input, &outputs, self.caps.records());
        dispatches(partitions.iter().map(|g| g.regions.len() as u64).sum())?;
        Ok(partitions)
    }

    /// Where a tensor goes on in another buffer.
    fn ends(&self, slot: Slot, elements: u64) -> Result<Vec<u64>, Error> {
        match slot {
            Slot::Input(i) => Ok(self.splits.input(i).to_vec()),
            Slot::Output(_) => Ok(self.splits.outputs()),
            Slot::Records => Ok(Vec::new()),
            Slot::Temp(_) => {
                let most = self.caps.piece_bytes() / self.problem.dtype().size();
                let buffers = elements.div_ceil(most);
                dispatches(buffers)?;
                Ok((1..buffers).map(|i| i * most).collect())
            }
        }
    }

    /// BufferSplits a step into regions that bindings and dispatches can take: between its matrices or, where
    /// one is too much, through its segments.
    fn regions(&self, step: &Step, written: u64) -> Result<Vec<Partition>, Error> {
        let &Step { len, inner, .. } = step;
        let element = u64::from(step.keys.bits() / 8);
        let seen = self.caps.elements(element).min(MAX_REGION);
        let seen = seen.min(self.caps.budget(inner > 1) / element);
        // Iterations of an invocation that takes its segments alone.
        let alone = MAX_ITERATIONS / u64::from(2 * step.out.per_word());
        let whole = len
            .checked_mul(inner)
            .is_some_and(|m| m <= seen && inner <= written);
        let one = Region {
            at: 0,
            out: 0,
            outer: 1,
            len,
            inner,
            base: 0,
        };
        let too_long = len > alone && self.mapping(step, &one) == Mapping::Each;
        if whole && !too_long {
            let most = (seen / (len * inner)).min(written / inner);
            return self.matrices(step, &one, most.min(step.outer));
        }
        let columns = seen.min(written).min(self.caps.records()).min(inner);
        let rows = match columns == inner {
            true => (seen / inner).min(if too_long { alone } else { u64::MAX }),
            false => 1,
        };
        parts(step, rows, columns)
    }

    /// Regions of whole matrices, of which `one` is the first: of `most` at most.
    fn matrices(&self, step: &Step, one: &Region, most: u64) -> Result<Vec<Partition>, Error> {
        let &Step {
            outer, len, inner, ..
        } = step;
        let most = self.fitting(step, one, most);
        dispatches(outer.div_ceil(most))?;
        let matrices = |o: u64| Region {
            at: o * len * inner,
            out: o * inner,
            outer: most.min(outer - o),
            ..*one
        };
        let begins = (0..outer.div_ceil(most)).map(|i| i * most);
        Ok(begins
            .map(|o| Partition::of(vec![matrices(o)], &[]))
            .collect())
    }

    /// How many matrices at most a dispatch may take, of `most` that bindings allow.
    fn fitting(&self, step: &Step, one: &Region, most: u64) -> u64 {
        let parts_of = |outer| self.mapping(step, &Region { outer, ..*one }).parts();
        let records = self.caps.records();
        let groups = self.caps.groups();
        let mut most = most;
        // More matrices need fewer parts each: halving ends at what fits.
        while most > 1 {
            let outputs = most * one.inner;
            let parts = parts_of(most);
            let direct = parts == 1 && step.out.per_word() == 1;
            let fits_records = direct || outputs * parts <= records;
            let matrices = Region {
                outer: most,
                ..*one
            };
            let lanes = self.lanes(step, &matrices);
            if fits_records && lanes.div_ceil(u64::from(self.caps.workgroup())) <= groups {
                break;
            }
            most /= 2;
        }
        // Regions begin with a line, and share no word of small outputs.
        match most {
            16.. if most < step.outer && self.line_family(step, one).is_some() => most / 16 * 16,
            4.. if most < step.outer => most / 4 * 4,
            _ => most,
        }
    }

    /// Outputs that one dispatch of an invocation a word can write.
    pub(crate) fn outputs_per_dispatch(&self, out: StoreFormat) -> u64 {
        let wg = u64::from(self.caps.workgroup());
        let words = self.caps.groups() * wg;
        // Some are kept for results that begin inside a word.
        let words = words.saturating_sub(3).max(1);
        let seen = self.caps.elements(out.bytes()).min(MAX_REGION);
        words.min(seen).min(self.caps.budget(false) / out.bytes())
    }
}

impl Caps {
    /// Refuses limits below what every plan needs, and those that no device has. `buffers` are the least
    /// storage buffers of a kernel.
    pub(crate) fn suffice(&self, buffers: u64) -> Result<(), Error> {
        let alignment = self.offset_alignment;
        if !(alignment.is_power_of_two() && alignment <= 1 << 16) {
            return Err(Error::OffsetAlignment { alignment });
        }
        let needs = [
            ("a storage binding", alignment + 16, self.binding_bytes),
            ("a buffer", 16, self.buffer_bytes),
            ("workgroups of a dispatch", 1, self.workgroups.into()),
            (
                "a workgroup",
                LEAST_WORKGROUP.into(),
                self.invocations.into(),
            ),
            (
                "bytes of workgroup memory",
                (16 * LEAST_WORKGROUP).into(),
                self.workgroup_bytes.into(),
            ),
            (
                "storage buffers of a shader",
                buffers,
                self.storage_buffers.into(),
            ),
        ];
        match needs.into_iter().find(|&(_, needed, limit)| needed > limit) {
            None => Ok(()),
            Some((what, needed, limit)) => Err(Error::Limit {
                what,
                needed,
                limit,
            }),
        }
    }

    /// The workgroup size to plan with: tuning's, within the limits, a power of two.
    pub(crate) fn workgroup(&self) -> u32 {
        // Kernels take up to 16 bytes of workgroup memory an invocation.
        let most = self.invocations.min(self.workgroup_bytes / 16);
        let wg = self.tuning.workgroup.min(most).max(LEAST_WORKGROUP);
        1 << wg.ilog2()
    }

    /// Workgroups of a dispatch. No dimension needs more than devices have.
    pub(crate) fn groups(&self) -> u64 {
        u64::from(self.workgroups.min(1 << 16)).pow(2)
    }

    /// Elements that a binding surely holds, wherever in a buffer they begin.
    pub(crate) fn elements(&self, bytes: u64) -> u64 {
        let binding = self.binding_bytes / 4 * 4;
        let usable = binding.saturating_add(bytes);
        let usable = usable.saturating_sub(self.offset_alignment);
        usable.min(binding) / bytes
    }

    /// Bytes that a dispatch may read or write: the submit budget. Strided reads cost four times as much.
    pub(crate) fn budget(&self, apart: bool) -> u64 {
        let bytes = self.tuning.submit_bytes.max(LEAST_SUBMIT);
        if apart { bytes / STRIDED_COST } else { bytes }
    }

    /// Records that a dispatch may read or write.
    pub(crate) fn records(&self) -> u64 {
        self.binding_bytes.min(self.budget(false)) / StoreFormat::Partial.bytes()
    }
}

/// Regions of parts of segments, which meet in records: of as many rows and columns at most.
fn parts(step: &Step, rows: u64, columns: u64) -> Result<Vec<Partition>, Error> {
    let &Step {
        outer, len, inner, ..
    } = step;
    let parts = inner.div_ceil(columns).saturating_mul(len.div_ceil(rows));
    dispatches(outer.saturating_mul(parts))?;
    let begins = |end: u64, by: u64| (0..end.div_ceil(by)).map(move |i| i * by);
    let part = |o: u64, c: u64, l: u64| Region {
        at: (o * len + l) * inner + c,
        out: o * inner + c,
        outer: 1,
        len: rows.min(len - l),
        inner: columns.min(inner - c),
        base: l,
    };
    let segments = (0..outer).flat_map(|o| begins(inner, columns).map(move |c| (o, c)));
    let group = |(o, c)| begins(len, rows).map(|l| part(o, c, l)).collect();
    Ok(segments.map(|s| Partition::of(group(s), &[])).collect())
}

/// Refuses what would take forever to plan.
pub(crate) fn dispatches(needed: u64) -> Result<(), Error> {
    match needed <= MAX_DISPATCHES {
        true => Ok(()),
        false => Err(Error::Limit {
            what: "dispatches of a plan",
            needed,
            limit: MAX_DISPATCHES,
        }),
    }
}
