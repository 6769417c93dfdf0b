//! The planner: from a problem and a device's limits to dispatches.
//!
//! Pure: the same problem and caps give the same plan, on any machine, without a device.
//! None of it knows of WGSL or of wgpu's objects. How a region is walked, and the passes of a walk, are in `src/walk`. A file
//! uses only those above it:
//!
//! | file | decides |
//! |---|---|
//! | `limits` `pass` `splits` | nothing: what devices allow, what a dispatch is, where buffers end |
//! | `step` `layout` | nothing: what the planner shares, how views lie |
//! | `partition` | which regions a step is cut into |
//! | `reduce` | the passes of a step of contiguous elements |
//! | `elementwise` `views` | the parts of Min and Max, and the windows of views |
//! | `extremes` | the passes that give the four results of extremes |
//! | `top` | the passes of TopK |
//! | `schedule` | which steps a problem takes |

pub(crate) mod elementwise;
mod extremes;
pub(crate) mod layout;
pub(crate) mod limits;
mod partition;
pub(crate) mod pass;
pub(crate) mod reduce;
pub(crate) mod schedule;
pub(crate) mod splits;
pub(crate) mod step;
mod top;
pub(crate) mod views;

pub(crate) use pass::Scratch;
pub use pass::{Pass, RowParts, Slot, View};

use crate::kernel::StoreFormat;
use crate::sums::Sum;
use crate::{Caps, Error, Problem};
use splits::BufferSplits;
use std::fmt;
use std::ops::Range;
use step::Planner;

/// The dispatches that solve a problem, in order.
///
/// ```
/// use wgreduce::{Caps, DType, Plan, Problem};
/// let problem = Problem::arg_max(DType::F32, &[1, 1 << 24], 1)?;
/// let plan = Plan::new(&problem, &Caps::webgpu_default())?;
/// assert_eq!(plan.passes().len(), 2); // slices of the row, then their winners
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    problem: String,
    pub(crate) passes: Vec<Pass>,
    /// Bytes of each scratch slot that passes use; 0 of the others.
    scratch: [u64; Slot::SCRATCH.len()],
    parts: Vec<Range<usize>>,
}

impl Plan {
    /// Plans a problem.
    ///
    /// # Errors
    /// [`Error::Limit`] when the device allows no dispatch that would do; [`Error::OffsetAlignment`] for
    /// caps that no device has; [`Error::Tuning`] as [`Tuning::check`](crate::Tuning::check); [`Error::Problem`] as
    /// [`Problem::check`].
    pub fn new(problem: &Problem, caps: &Caps) -> Result<Plan, Error> {
        Plan::of(Planner::new(problem, caps, &BufferSplits::default()))
    }

    /// Plans a problem whose tensors are cut into several buffers. `aligned`: their data begins at a multiple
    /// of 16 bytes of each buffer; else anywhere.
    pub fn in_pieces(
        problem: &Problem,
        caps: &Caps,
        splits: &BufferSplits,
        aligned: bool,
    ) -> Result<Plan, Error> {
        let splits = splits.in_order(problem);
        let aligned = aligned && splits.are_aligned(problem);
        Plan::of(Planner {
            aligned,
            ..Planner::new(problem, caps, &splits)
        })
    }

    /// Plans a problem whose inputs are read in windows, each just before its pass, as [`Reducer::stream`] does: some
    /// columns of a matrix can be gathered.
    ///
    /// # Errors
    /// Those of [`Plan::new`].
    ///
    /// [`Reducer::stream`]: crate::Reducer::stream
    pub fn streamed(problem: &Problem, caps: &Caps) -> Result<Plan, Error> {
        Plan::of(Planner {
            streamed: true,
            ..Planner::new(problem, caps, &BufferSplits::default())
        })
    }

    /// The same for partial results instead of results: a key and an index (16 bytes), or a partial sum.
    pub(crate) fn partial(problem: &Problem, caps: &Caps) -> Result<Plan, Error> {
        Plan::of(Planner {
            partial: true,
            streamed: true,
            ..Planner::new(problem, caps, &BufferSplits::default())
        })
    }

    fn of(mut planner: Planner<'_>) -> Result<Plan, Error> {
        let Planner { problem, caps, .. } = planner;
        match planner.partial {
            true => problem.check_part()?,
            false => problem.check()?,
        }
        caps.suffice(if problem.op().is_elementwise() { 2 } else { 4 })?;
        let sum = Sum::new(problem.op(), problem.dtype(), problem.nan_policy());
        if let Some(sum) = sum.filter(|sum| sum.is_exact()) {
            caps.hold(StoreFormat::PartialSum(sum.partial_words()))?;
        }
        planner.problem()?;
        let passes = planner.passes;
        Ok(Plan {
            problem: problem.to_string(),
            scratch: Slot::SCRATCH.map(|slot| used(&passes, slot)),
            parts: parts(&passes, caps.budget(false)),
            passes,
        })
    }

    /// The dispatches, in order: of the module [`crate::unstable`], which semantic versioning does not cover.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The passes of each part that is to be submitted by itself, in order.
    pub fn parts(&self) -> &[Range<usize>] {
        &self.parts
    }

    /// Bytes of all scratch buffers together.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().sum()
    }

    /// Bytes of one scratch slot; 0 if it is not used.
    pub fn slot_bytes(&self, slot: Slot) -> u64 {
        let i = Slot::SCRATCH.iter().position(|&s| s == slot);
        i.map_or(0, |i| self.scratch[i])
    }

    /// The buffers of scratch that passes use, under the caps of the plan.
    pub(crate) fn scratch(&self, caps: &Caps) -> Vec<Scratch> {
        let all = Slot::SCRATCH.into_iter().zip(self.scratch);
        let buffers = all.flat_map(|(slot, bytes)| Scratch::of(slot, bytes, caps));
        buffers.collect()
    }
}

/// Bytes of a slot that passes read or write, in whole vec4.
fn used(passes: &[Pass], slot: Slot) -> u64 {
    let views = passes.iter().flat_map(|p| p.read().chain([&p.dst]));
    let ends = views.filter(|v| v.slot == slot).map(|v| v.offset + v.bytes);
    ends.max().unwrap_or(0).next_multiple_of(16)
}

/// Groups passes into parts: each takes as many as the budget allows, at least one.
fn parts(passes: &[Pass], budget: u64) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut left = 0;
    for (i, cost) in passes.iter().map(Pass::cost).enumerate() {
        match parts.last_mut() {
            Some(part) if cost <= left => part.end = i + 1,
            _ => {
                left = budget;
                parts.push(i..i + 1);
            }
        }
        left = left.saturating_sub(cost);
    }
    parts
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.problem)?;
        if self.passes.is_empty() {
            return write!(f, " nothing to do");
        }
        const SHOWN: usize = 6;
        for pass in self.passes.iter().take(SHOWN) {
            let [x, y, _] = pass.workgroups;
            write!(f, " {} on {x}x{y}", pass.label())?;
            write!(f, " (read {} B,", pass.src_bytes())?;
            write!(f, " write {} B,", pass.dst_bytes())?;
            write!(f, " {} iterations)", pass.iterations)?;
        }
        if self.passes.len() > SHOWN {
            write!(f, " and {} more", self.passes.len() - SHOWN)?;
        }
        write!(f, "; scratch {} B", self.scratch_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn a_partial_mean_is_planned_as_the_partial_sum_that_it_is() {
        let caps = Caps::webgpu_default().lowered(4096, 3);
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let shape = [3, 10_000];
            let sum = Problem::reduce_sum(dtype, &shape, &[1]).expect("a problem");
            let mean = Problem::reduce_mean(dtype, &shape, &[1]).expect("a problem");
            let [sum, mean] = [sum, mean].map(|p| Plan::partial(&p, &caps).expect("a plan"));
            let seen = |plan: &Plan| {
                let passes = plan.passes().iter();
                let seen = passes.map(|p| (p.kernel, p.workgroups, p.iterations));
                seen.collect::<Vec<_>>()
            };
            let mut passes = sum.passes().iter();
            assert!(passes.any(|p| p.kernel.walk.name() == "finish"));
            assert_eq!(seen(&mean), seen(&sum), "{dtype}");
        }
    }
}
