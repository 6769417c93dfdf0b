//! The planner: from a problem and a device's limits to dispatches.
//!
//! Pure: the same problem and caps give the same plan, on any machine, without a device.
//! What a plan is, is told here; `schedule.rs`, `elementwise.rs`, `strided.rs` and `extremes.rs`
//! make it, with `regions.rs`, `mapping.rs` and `reduce.rs` for what they share. None knows of WGSL or of wgpu's objects.

mod elementwise;
mod extremes;
pub(crate) mod layout;
mod mapping;
mod partition;
mod reduce;
pub(crate) mod schedule;
pub(crate) mod splits;
mod strided;

use crate::kernel::params::{Params, StrideTable};
use crate::kernel::{Elementwise, Kernel, Unit, Walk};
use crate::{Caps, Error, Problem};
use partition::STRIDED_COST;
use schedule::Planner;
use splits::BufferSplits;
use std::fmt;
use std::ops::Range;

/// Most iterations of an invocation, summed over its loops. Mesa's software rasterisers stop
/// every loop after 65,535 and report nothing.
pub const MAX_ITERATIONS: u64 = 32_768;

/// A buffer a pass reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// An input of the problem.
    Input(usize),
    /// An output of the problem.
    Output(usize),
    /// Scratch that holds records of partial results.
    Records,
    /// Scratch that holds a tensor between two steps.
    Temp(usize),
}

impl Slot {
    /// All scratch a plan may need.
    pub(crate) const SCRATCH: [Slot; 3] = [Slot::Records, Slot::Temp(0), Slot::Temp(1)];
}

/// A buffer of scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scratch {
    pub slot: Slot,
    /// Its first byte, from the slot's start.
    pub start: u64,
    pub bytes: u64,
}

impl Scratch {
    /// The buffers of a slot. Records fit one binding; a tensor between two steps may be several.
    pub(crate) fn of(slot: Slot, bytes: u64, caps: &Caps) -> impl Iterator<Item = Scratch> {
        let most = match slot {
            Slot::Temp(_) => caps.piece_bytes(),
            _ => bytes.max(1),
        };
        let scratch = move |i| Scratch {
            slot,
            start: i * most,
            bytes: most.min(bytes - i * most),
        };
        (0..bytes.div_ceil(most)).map(scratch)
    }
}

/// A range of a slot, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The buffer.
    pub slot: Slot,
    /// Where it begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Bytes of an element.
    pub element: u64,
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// What runs.
    pub kernel: Kernel,
    /// What is read; nothing by a fill.
    pub src: Option<View>,
    /// Indices that are read (gather).
    pub indices: Option<View>,
    /// What is written.
    pub dst: View,
    /// Parameters; the deltas are filled in when buffers are known.
    pub params: Params,
    /// The inputs of an elementwise dispatch and how they lie under the output; or how a strided
    /// view lies in its source, and indices that are read beside it.
    pub stride_table: Option<(StrideTable, Vec<View>)>,
    /// Workgroups in x, y and z.
    pub workgroups: [u32; 3],
    /// Most loop iterations of an invocation.
    pub iterations: u64,
    /// The output range that a later pass reads whole; this pass writes part of it.
    pub(crate) output_window: Option<View>,
}

impl Pass {
    /// The kernel's label.
    pub fn label(&self) -> String {
        self.kernel.label()
    }

    /// What is read.
    fn read(&self) -> impl Iterator<Item = &View> {
        let strided = self.stride_table.iter().flat_map(|(_, views)| views);
        self.src.iter().chain(&self.indices).chain(strided)
    }

    /// The results that are whole, and may leave, only together with what is written.
    pub(crate) fn result(&self) -> &View {
        self.output_window.as_ref().unwrap_or(&self.dst)
    }

    /// Bytes read.
    pub fn src_bytes(&self) -> u64 {
        let (p, element) = (&self.params, u64::from(self.kernel.keys.bits() / 8));
        match self.kernel.walk {
            // Its view may span columns that others take.
            Walk::Each { .. } => u64::from(p.items) * u64::from(p.len) * element,
            _ => self.read().map(|v| v.bytes).sum(),
        }
    }

    /// Bytes written.
    pub fn dst_bytes(&self) -> u64 {
        self.dst.bytes
    }

    /// What it takes of [`crate::Tuning::submit_bytes`]: the bytes read, four times where they
    /// are read across rows, or the bytes written if those are more.
    pub fn cost(&self) -> u64 {
        let in_order = match self.kernel.walk {
            Walk::Elementwise(Elementwise { unit, .. }) => unit == Unit::Strip,
            walk => matches!(walk, Walk::Finish { .. }),
        };
        let strided = matches!(self.kernel.walk, Walk::Strided { .. }) || self.kernel.is_extremes();
        let rows = self.params.inner <= 1 || in_order;
        let read = match &self.indices {
            // An element for each, however often it is read.
            _ if strided => {
                let (p, element) = (&self.params, u64::from(self.kernel.keys.bits() / 8));
                STRIDED_COST * u64::from(p.items / p.slices) * u64::from(p.len) * element
            }
            // An element for each, wherever it is.
            Some(indices) => STRIDED_COST * indices.bytes.max(self.dst.bytes),
            None if rows => self.src_bytes(),
            None => STRIDED_COST * self.src_bytes(),
        };
        read.max(self.dst.bytes)
    }
}

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
    /// [`Error::Limit`] when the device allows no dispatch that would do.
    pub fn new(problem: &Problem, caps: &Caps) -> Result<Plan, Error> {
        Plan::of(problem, caps, true, false, &BufferSplits::default())
    }

    /// Plans a problem whose tensors are cut into several buffers. `aligned`: their data begins at
    /// a multiple of 16 bytes of each; else anywhere.
    ///
    /// # Errors
    /// [`Error::Limit`] as from [`Plan::new`].
    pub fn in_pieces(
        problem: &Problem,
        caps: &Caps,
        splits: &BufferSplits,
        aligned: bool,
    ) -> Result<Plan, Error> {
        let splits = splits.in_order();
        let aligned = aligned && splits.are_aligned(problem);
        Plan::of(problem, caps, aligned, false, &splits)
    }

    /// Plans for records instead of a result: 16 bytes an output, of a key and an index.
    pub(crate) fn partial(problem: &Problem, caps: &Caps) -> Result<Plan, Error> {
        Plan::of(problem, caps, true, true, &BufferSplits::default())
    }

    /// Plans for buffers that begin at a multiple of 16 bytes, or (not `aligned`) anywhere.
    pub(crate) fn for_buffers(
        problem: &Problem,
        caps: &Caps,
        aligned: bool,
    ) -> Result<Plan, Error> {
        Plan::in_pieces(problem, caps, &BufferSplits::default(), aligned)
    }

    fn of(
        problem: &Problem,
        caps: &Caps,
        aligned: bool,
        partial: bool,
        splits: &BufferSplits,
    ) -> Result<Plan, Error> {
        caps.suffice(if problem.op().is_elementwise() { 2 } else { 4 })?;
        let mut planner = Planner {
            caps,
            problem,
            aligned,
            dims: Vec::new(),
            first: 0,
            partial,
            splits,
            plan: Plan {
                problem: problem.to_string(),
                passes: Vec::new(),
                scratch: Default::default(),
                parts: Vec::new(),
            },
        };
        planner.problem()?;
        let mut plan = planner.plan;
        plan.scratch = Slot::SCRATCH.map(|slot| plan.used(slot));
        plan.parts = parts(&plan.passes, caps.budget(false));
        debug_assert!(plan.passes.iter().all(|p| p.iterations <= MAX_ITERATIONS));
        Ok(plan)
    }

    /// The dispatches, in order.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The passes of each part that is to be submitted by itself, in order.
    pub fn parts(&self) -> &[Range<usize>] {
        &self.parts
    }

    /// Bytes of scratch: of all scratch buffers together.
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

    /// Bytes of a slot that passes read or write, in whole vec4.
    fn used(&self, slot: Slot) -> u64 {
        let views = self.passes.iter().flat_map(|p| p.read().chain([&p.dst]));
        let ends = views.filter(|v| v.slot == slot).map(|v| v.offset + v.bytes);
        ends.max().unwrap_or(0).next_multiple_of(16)
    }
}

/// As many passes at once as the budget allows, and at least one.
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
