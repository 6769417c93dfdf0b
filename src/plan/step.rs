//! What all parts of the planner share: the problem under its limits, its steps, and the passes so far.
//!
//! Decides nothing about either.

use crate::kernel::params::Params;
use crate::kernel::{Kernel, StoreFormat, Walk};
use crate::keys::Keys;
use crate::plan::limits::MAX_REGION;
use crate::plan::pass::{MAX_ITERATIONS, Pass, Slot, View};
use crate::plan::splits::BufferSplits;
use crate::{Caps, Dim, Error, Order, Problem};

/// One group of reduced dimensions between what comes before and after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub src: Slot,
    pub dst: Slot,
    pub out: StoreFormat,
    pub keys: Keys,
    /// First element, from the source's start.
    pub at: u64,
    pub outer: u64,
    pub len: u64,
    pub inner: u64,
    pub index: bool,
}

pub(crate) struct Planner<'a> {
    pub caps: &'a Caps,
    pub problem: &'a Problem,
    pub aligned: bool,
    /// The canonical form of a reduction of contiguous elements.
    pub dims: Vec<Dim>,
    /// Its first element, from the input's start.
    pub first: u64,
    /// Whether the result is records, for [`crate::Partial`].
    pub partial: bool,
    /// Where buffers end.
    pub splits: &'a BufferSplits,
    /// The dispatches so far.
    pub passes: Vec<Pass>,
}

impl Planner<'_> {
    /// A step over elements of the problem's type that gives values of it.
    pub(crate) fn step(&self, src: Slot, dst: Slot, [outer, len, inner]: [u64; 3]) -> Step {
        let (problem, dtype) = (self.problem, self.problem.dtype());
        Step {
            src,
            dst,
            out: StoreFormat::value(dtype),
            keys: Keys::new(
                dtype,
                problem.op().order().unwrap_or(Order::Least),
                problem.nan_policy(),
                false,
            ),
            at: if src == Slot::Input(0) { self.first } else { 0 },
            outer,
            len,
            inner,
            index: false,
        }
    }

    /// The canonical form along one axis; its length is 1 where nothing is reduced.
    pub(crate) fn one_axis(&self, outputs: u64) -> [u64; 3] {
        let dims = &self.dims;
        let product = |dims: &[Dim]| dims.iter().map(|d| d.size).product();
        match dims.iter().position(|d| d.reduced) {
            None => [outputs, 1, 1],
            Some(at) => [
                product(&dims[..at]),
                dims[at].size,
                product(&dims[at + 1..]),
            ],
        }
    }

    /// The step that gives the result: records where those are wanted.
    pub(crate) fn last(&self, step: Step) -> Step {
        match self.partial {
            true => Step {
                out: StoreFormat::Partial,
                ..step
            },
            false => step,
        }
    }

    /// A kernel of the problem.
    pub(crate) fn kernel(&self, walk: Walk, out: StoreFormat) -> Kernel {
        let problem = self.problem;
        let (dtype, index) = (problem.dtype(), problem.op().is_index());
        Kernel {
            walk,
            keys: Keys::new(
                dtype,
                problem.op().order().unwrap_or(Order::Least),
                problem.nan_policy(),
                index,
            ),
            out,
            workgroup: self.caps.workgroup(),
            index,
            last: problem.selects_last_index(),
        }
    }

    /// A kernel of a step.
    pub(crate) fn kernel_of(&self, step: &Step, walk: Walk, out: StoreFormat) -> Kernel {
        Kernel {
            keys: step.keys,
            index: step.index,
            ..self.kernel(walk, out)
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

    pub(crate) fn push(
        &mut self,
        kernel: Kernel,
        src: Option<View>,
        dst: View,
        params: Params,
        invocations: u64,
        iterations: u64,
    ) -> Result<(), Error> {
        let most = u64::from(self.caps.workgroups);
        let groups = invocations.div_ceil(u64::from(kernel.workgroup));
        let x = groups.min(most);
        let y = groups.div_ceil(x.max(1));
        if iterations > MAX_ITERATIONS {
            return Err(Error::Limit {
                what: "loop iterations of an invocation",
                needed: iterations,
                limit: MAX_ITERATIONS,
            });
        }
        if y > most {
            return Err(Error::Limit {
                what: "workgroups of a dispatch",
                needed: groups,
                limit: most * most,
            });
        }
        if kernel.workgroup_bytes() > self.caps.workgroup_bytes {
            return Err(Error::Limit {
                what: "bytes of workgroup memory",
                needed: kernel.workgroup_bytes().into(),
                limit: self.caps.workgroup_bytes.into(),
            });
        }
        let params = Params {
            grid: x as u32,
            ..params
        };
        self.passes.push(Pass {
            kernel: kernel.canonical(),
            src,
            indices: None,
            dst,
            params,
            stride_table: None,
            workgroups: [x as u32, y as u32, 1],
            iterations,
            output_window: None,
        });
        Ok(())
    }
}
