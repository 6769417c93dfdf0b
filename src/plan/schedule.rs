//! Planning reductions: from a problem to passes.
//!
//! A problem becomes steps (one per group of neighbouring reduced axes), a step becomes regions (what one
//! binding can see), a region becomes one or two passes: one that leaves partial results, and one that makes
//! results of them. Chooses the steps and their order; `partition.rs` decides how a step is cut.

use crate::kernel::{Accumulator, StoreFormat};
use crate::keys::Keys;
use crate::plan::layout::StridedLayout;
use crate::plan::pass::{Pass, Slot, View};
use crate::plan::step::{Planner, Step, along};
use crate::problem::elements;
use crate::walk::strided::Each;
use crate::{DType, Error, NanPolicy, Op, Order};

impl Planner<'_> {
    pub(crate) fn problem(&mut self) -> Result<(), Error> {
        let problem = self.problem;
        let output = &problem.outputs()[0];
        let outputs = elements(&output.shape);
        if outputs == 0 {
            return Ok(());
        }
        let dtype = problem.dtype();
        if problem.op().is_elementwise() && !problem.is_copy() {
            return self.elementwise();
        }
        if let Some(k) = problem.k() {
            return self.top_k(k.min(problem.reduced_len()));
        }
        if problem.reduced_len() == 0 {
            let nothing = identity(dtype, problem.op());
            return self.fill(0, StoreFormat::value(dtype), nothing, outputs);
        }
        let view = StridedLayout::whole(problem);
        // An axis that repeats one element, or has only one, leaves nothing to compare.
        let single = problem.op().is_index() && view.repeats() && !self.partial;
        let Some(dims) = view.contiguous().filter(|_| !single) else {
            return match problem.op() {
                Op::Extremes => self.extremes(&view, outputs),
                _ => self.view(&view, outputs),
            };
        };
        (self.dims, self.first) = (dims, view.first);
        self.aligned &= (view.first * dtype.size()).is_multiple_of(16);
        match problem.op() {
            Op::Extremes => self.extremes_of_rows(outputs),
            _ if problem.is_copy() => self.copy(outputs),
            op if op.is_index() => self.index(outputs),
            _ => self.values(outputs),
        }
    }

    fn copy(&mut self, n: u64) -> Result<(), Error> {
        let step = Step {
            acc: Accumulator::Raw(8 * self.problem.dtype().size() as u32),
            ..self.step(Slot::Input(0), Slot::Output(0), [n, 1, 1])
        };
        for partition in self.partitions(&step, self.outputs_per_dispatch(step.out))? {
            Each::WHOLE.pass(self, &step, &partition.regions[0], false)?;
        }
        Ok(())
    }

    fn values(&mut self, outputs: u64) -> Result<(), Error> {
        let steps = self.dims.iter().filter(|d| d.reduced).count();
        if steps > 1 && self.problem.op().is_sum() {
            // A sum would be rounded between two steps.
            let step = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
            let layout = StridedLayout::whole(self.problem);
            return self.search(&self.last(step), &layout, None);
        }
        let mut src = Slot::Input(0);
        for done in 0..steps.saturating_sub(1) {
            // The longest first: then the next step has the least to read.
            let reduced = self.dims.iter().enumerate().filter(|(_, d)| d.reduced);
            let longest = reduced.max_by_key(|(i, d)| (d.size, *i));
            let Some(at) = longest.map(|(i, _)| i) else {
                break;
            };
            let dst = Slot::Temp(done % 2);
            self.reduce(&self.step(src, dst, along(&self.dims, at)))?;
            src = dst;
            self.dims.remove(at);
        }
        // Where nothing is reduced, values are still canonicalized.
        let step = self.step(src, Slot::Output(0), self.one_axis(outputs));
        self.reduce(&self.last(step))
    }

    fn index(&mut self, outputs: u64) -> Result<(), Error> {
        let step = self.index_step(self.one_axis(outputs));
        let value = self.value_beside_index();
        for partition in self.partitions(&step, self.results_per_dispatch(&step, value))? {
            let before = self.passes.len();
            self.reduce_partition(&step, &partition, value)?;
            self.hold(before);
        }
        Ok(())
    }

    /// For the passes from number `first` on: results that one of them reads together also leave together.
    fn hold(&mut self, first: usize) {
        let passes = &mut self.passes[first..];
        let read: Vec<View> = passes.iter().filter_map(|p| p.indices).collect();
        let results = |p: &&mut Pass| p.dst.slot == Slot::Output(0);
        for pass in passes.iter_mut().filter(results) {
            let part = pass.dst;
            let end = |v: &View| v.offset + v.bytes;
            let holds = |v: &&View| v.offset <= part.offset && end(&part) <= end(v);
            pass.output_window = read.iter().find(holds).copied();
        }
    }
}

/// The result over an empty set.
pub(crate) fn identity(dtype: DType, op: Op) -> u64 {
    let keys = |order| Keys::new(dtype, order, NanPolicy::Propagate, false);
    match op.order() {
        Some(order) => keys(order).last_element(),
        // Integers have no mean of an empty set.
        None if op == Op::ReduceMean => keys(Order::Least).nan(),
        None => 0,
    }
}
