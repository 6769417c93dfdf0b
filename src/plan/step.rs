//! What all parts of the planner share: the problem under its limits, its steps, and the passes so far.
//!
//! Decides nothing about them.

use crate::kernel::params::Params;
use crate::kernel::{Accumulator, Kernel, StoreFormat};
use crate::keys::Keys;
use crate::plan::limits::{MAX_DISPATCHES, MAX_PARTS, MAX_REGION};
use crate::plan::pass::{Pass, RowParts, Slot, View};
use crate::plan::splits::{BufferSplits, Region};
use crate::sums::Sum;
use crate::walk::Walk;
use crate::{Caps, Dim, Error, IndexType, Op, Order, Problem};

/// The reduction of one group of neighbouring dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub src: Slot,
    pub dst: Slot,
    pub out: StoreFormat,
    /// The indices that are written beside values, if any are.
    pub beside: Option<StoreFormat>,
    pub acc: Accumulator,
    /// First element, from the source's start.
    pub at: u64,
    pub outer: u64,
    pub len: u64,
    pub inner: u64,
}

impl Step {
    /// What its kernels make.
    fn made(&self) -> Accumulator {
        match self.out.is_partial() {
            true => self.acc.partial(),
            false => self.acc,
        }
    }

    /// Iterations of an invocation that takes so many elements one by one and writes what it has.
    pub(crate) fn iterations(&self, elements: u64) -> u64 {
        let sum = self.made().sum();
        sum.map_or(elements + 1, |sum| sum.elements().iterations(elements))
    }

    /// Elements that an invocation may take one by one in so many iterations.
    pub(crate) fn most_elements(&self, iterations: u64) -> u64 {
        let sum = self.made().sum();
        sum.map_or(iterations, |sum| sum.elements().most(iterations))
    }

    /// Partial results that an invocation may join in so many iterations.
    pub(crate) fn most_joined(&self, iterations: u64) -> u64 {
        let sum = self.made().sum();
        sum.map_or(iterations, |sum| sum.partials().most(iterations))
    }

    /// Iterations of an invocation that makes a result of so many partial ones.
    pub(crate) fn join_iterations(&self, parts: u64) -> u64 {
        let sum = self.made().sum();
        sum.map_or(parts + 2, |sum| sum.partials().iterations(parts))
    }
}

pub(crate) struct Planner<'a> {
    pub caps: &'a Caps,
    pub problem: &'a Problem,
    /// Whether data begins at a multiple of 16 bytes.
    pub aligned: bool,
    /// The canonical form of a reduction of contiguous elements.
    pub dims: Vec<Dim>,
    /// Its first element, from the input's start.
    pub first: u64,
    /// Whether partial results are wanted, for [`crate::Partial`].
    pub partial: bool,
    /// Whether what a pass reads of the input is put together just before it.
    pub streamed: bool,
    /// Where buffers end.
    pub splits: &'a BufferSplits,
    /// The dispatches so far.
    pub passes: Vec<Pass>,
}

impl<'a> Planner<'a> {
    /// A planner of results, from and to memory that begins at multiples of 16 bytes.
    pub(crate) fn new(
        problem: &'a Problem,
        caps: &'a Caps,
        splits: &'a BufferSplits,
    ) -> Planner<'a> {
        Planner {
            caps,
            problem,
            aligned: true,
            dims: Vec::new(),
            first: 0,
            partial: false,
            streamed: false,
            splits,
            passes: Vec::new(),
        }
    }

    /// A step over elements of the problem's type that gives values of it.
    pub(crate) fn step(&self, src: Slot, dst: Slot, [outer, len, inner]: [u64; 3]) -> Step {
        let dtype = self.problem.dtype();
        Step {
            src,
            dst,
            out: StoreFormat::value(dtype),
            beside: None,
            acc: self.value(),
            at: if src == Slot::Input(0) { self.first } else { 0 },
            outer,
            len,
            inner,
        }
    }

    /// Whether some columns of a step's source can be gathered for a pass.
    pub(crate) fn gathers(&self, step: &Step) -> bool {
        self.streamed && step.src == Slot::Input(0)
    }

    /// What a value of the problem is made of.
    pub(crate) fn value(&self) -> Accumulator {
        let (problem, dtype) = (self.problem, self.problem.dtype());
        let nan = problem.nan_policy();
        let sum = Sum::new(problem.op(), dtype, nan);
        match (sum, problem.order()) {
            (Some(sum), _) if sum.is_exact() => Accumulator::Sum(sum.on(self.caps.class)),
            (Some(sum), _) => Accumulator::terms(sum),
            (None, order) => {
                let order = order.unwrap_or(Order::Least);
                Accumulator::Value(Keys::new(dtype, order, nan, false))
            }
        }
    }

    /// What an index of the problem is made of, in an order.
    pub(crate) fn index_of(&self, keys: Keys) -> Accumulator {
        Accumulator::Index {
            keys,
            last: self.problem.selects_last_index(),
        }
    }

    /// The canonical form along one axis; its length is 1 where nothing is reduced.
    pub(crate) fn one_axis(&self, outputs: u64) -> [u64; 3] {
        let axis = self.dims.iter().position(|d| d.reduced);
        axis.map_or([outputs, 1, 1], |at| along(&self.dims, at))
    }

    /// Most partial results of a step that a binding holds.
    pub(crate) fn partials(&self, step: &Step) -> u64 {
        let partial = self.partial_format(step);
        match step.acc.is_both() {
            // Those of one extreme are also bound alone, at any offset.
            true => (self.caps.elements(partial.bytes())).min(self.caps.partials(partial) / 2),
            false => self.caps.partials(partial),
        }
    }

    /// Most parts of all segments, of each of which an invocation leaves a partial result.
    pub(crate) fn parts_per_dispatch(&self, step: &Step) -> u64 {
        self.partials(step).min(self.caps.most_invocations())
    }

    /// The format of a step's partial results.
    pub(crate) fn partial_format(&self, step: &Step) -> StoreFormat {
        if let Some(sum) = step.acc.sum() {
            return StoreFormat::PartialSum(sum.partial_words());
        }
        // The host reads one format of all types.
        if self.partial {
            return StoreFormat::Partial(4);
        }
        // What is left of both extremes is a value and an index.
        let index = step.acc.has_index() || self.problem.op() == Op::Extremes;
        // A word of ones is no index, but a place that loses every tie.
        let near = self.problem.reduced_len() <= u64::from(u32::MAX);
        let index_words = match (index, near) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 2,
        };
        let words = step.acc.bits().div_ceil(32) + index_words;
        StoreFormat::Partial(words.next_power_of_two())
    }

    /// The step that gives the results, or partial results where those are wanted.
    pub(crate) fn last(&self, step: Step) -> Step {
        match self.partial {
            true => Step {
                out: self.partial_format(&step),
                ..step
            },
            false => step,
        }
    }

    /// The steps that make results of a step's partial results: itself, or one for each extreme, a value with its index.
    pub(crate) fn results_of(&self, step: &Step) -> Vec<Step> {
        let problem = self.problem;
        let side = |i| {
            let order = [Order::Least, Order::Greatest][i];
            let keys = Keys::of_sides(problem.dtype(), order, problem.nan_policy(), true);
            Step {
                dst: Slot::Output(i),
                out: StoreFormat::value(problem.dtype()),
                acc: self.index_of(keys),
                ..*step
            }
        };
        match step.acc.is_both() {
            true => vec![side(0), side(1)],
            false => vec![*step],
        }
    }

    /// A kernel that writes elements as they are.
    pub(crate) fn raw_kernel(&self, out: StoreFormat, walk: Walk) -> Kernel {
        Kernel {
            walk,
            acc: Accumulator::Raw(8 * out.bytes() as u32),
            out,
            beside: None,
            workgroup: self.caps.workgroup(),
        }
    }

    /// A kernel of a step.
    pub(crate) fn kernel_of(&self, step: &Step, walk: Walk) -> Kernel {
        Kernel {
            walk,
            acc: step.made(),
            out: step.out,
            beside: step.beside.filter(|_| !step.out.is_partial()),
            workgroup: self.caps.workgroup(),
        }
    }

    /// How many slices fill the device, at most `most`.
    pub(crate) fn slices(&self, invocations: u64, most: u64) -> u64 {
        let tuning = &self.caps.tuning;
        let wanted = tuning.invocations.div_ceil(invocations.max(1));
        wanted.min(most).min(tuning.slices).clamp(1, MAX_PARTS)
    }

    /// How many of `items` an invocation takes one after the other, at so many iterations each. The device
    /// stays filled, and no invocation loops too long.
    pub(crate) fn items_per_invocation(&self, items: u64, iterations: u64) -> u64 {
        let tuning = &self.caps.tuning;
        let spare = items / tuning.invocations.max(1);
        // All invocations of a workgroup count on, past the last of four outputs a word, within 32 bits.
        let counted = u64::from(u32::MAX) / (4 * u64::from(self.caps.workgroup()));
        let most = (self.caps.most_iterations() / iterations).min(tuning.short_rows);
        spare.min(most).min(counted).max(1)
    }

    /// Outputs that a dispatch can write, with a word for each invocation.
    pub(crate) fn outputs_per_dispatch(&self, out: StoreFormat) -> u64 {
        // A few words are reserved for results that begin inside a word.
        let words = self.caps.most_invocations().saturating_sub(3).max(1);
        let seen = self.caps.elements(out.bytes()).min(MAX_REGION);
        words.min(seen).min(self.caps.budget(false) / out.bytes())
    }

    /// Most results that a dispatch may write. With `value` they are indices by which elements of that format are
    /// then gathered, so both must fit a binding.
    pub(crate) fn results_per_dispatch(&self, step: &Step, value: Option<StoreFormat>) -> u64 {
        let Step { out, beside, .. } = self.results_of(step)[0];
        let most = |out| self.outputs_per_dispatch(out);
        let written = beside.map_or(u64::MAX, most).min(most(out));
        let Some(value) = value else {
            return written;
        };
        let near = self.caps.budget(true) / out.bytes().max(value.bytes());
        let read = self.caps.elements(out.bytes()).min(near);
        written.min(read).min(self.outputs_per_dispatch(value))
    }

    /// How indices are written.
    pub(crate) fn index_format(&self) -> StoreFormat {
        match self.problem.index_result_type() {
            Some(IndexType::I32 | IndexType::U32) => StoreFormat::Index32,
            _ => StoreFormat::Index64,
        }
    }

    /// How the elements that indices point to are written, if they are wanted.
    pub(crate) fn value_beside_index(&self) -> Option<StoreFormat> {
        let wanted = self.problem.gives_values() && !self.partial;
        wanted.then(|| StoreFormat::value(self.problem.dtype()))
    }

    /// The index in a segment that repeats one element: the first, or the last if that wins.
    pub(crate) fn only_index(&self) -> u64 {
        match self.problem.selects_last_index() {
            true => self.problem.reduced_len() - 1,
            false => 0,
        }
    }

    /// The step that finds the indices of an index operator.
    pub(crate) fn index_step(&self, shape: [u64; 3]) -> Step {
        let problem = self.problem;
        let order = problem.order().unwrap_or(Order::Least);
        let keys = Keys::new(problem.dtype(), order, problem.nan_policy(), true);
        self.last(Step {
            out: self.index_format(),
            acc: self.index_of(keys),
            ..self.step(Slot::Input(0), Slot::Output(0), shape)
        })
    }

    /// Adds a pass, and gives it to whoever has more to say.
    pub(crate) fn push(
        &mut self,
        kernel: Kernel,
        src: Option<View>,
        dst: View,
        params: Params,
        invocations: u64,
        iterations: u64,
    ) -> Result<&mut Pass, Error> {
        let most = u64::from(self.caps.workgroups);
        let groups = invocations.div_ceil(u64::from(kernel.workgroup));
        // Rows of the grid are alike: the last one of 65,536 workgroups would else be nearly all idle.
        let y = groups.div_ceil(most).max(1);
        let x = groups.div_ceil(y);
        let number = self.passes.len();
        Error::within("dispatches of a plan", number as u64 + 1, MAX_DISPATCHES)?;
        let what = "loop iterations of an invocation";
        Error::within(what, iterations, self.caps.most_iterations())?;
        Error::within("workgroups of a dispatch", groups, most * most)?;
        let [needed, limit] = [kernel.workgroup_bytes(), self.caps.workgroup_bytes];
        Error::within("bytes of workgroup memory", needed.into(), limit.into())?;
        let fill = match kernel.acc.is_mean() {
            // What the sum is divided by.
            true => self.problem.reduced_len(),
            false => params.fill,
        };
        let params = Params {
            grid: x as u32,
            fill,
            ..params
        };
        let [at, count] = [dst.offset, dst.bytes].map(|n| n / dst.element);
        let beside = |(i, out)| View::of(Slot::Output(i), out, at, count);
        // Both extremes have four outputs: their values, then their indices.
        let outputs = match (kernel.beside, dst.slot) {
            (Some(index), _) if kernel.acc.is_both() => {
                vec![(1, kernel.out), (2, index), (3, index)]
            }
            // TopK has values and their indices.
            (Some(index), _) if self.problem.k().is_some() => vec![(1, index)],
            (Some(index), Slot::Output(i)) => vec![(2 + i, index)],
            _ => Vec::new(),
        };
        self.passes.push(Pass {
            kernel,
            src,
            indices: None,
            dst,
            beside: outputs.into_iter().map(beside).collect(),
            params,
            stride_table: None,
            workgroups: [x as u32, y as u32, 1],
            iterations,
            output_window: None,
        });
        Ok(&mut self.passes[number])
    }

    /// What a region reads.
    pub(crate) fn src_view(&self, step: &Step, b: &Region) -> View {
        let element = step.acc.bytes();
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

/// The canonical form along one dimension.
pub(crate) fn along(dims: &[Dim], at: usize) -> [u64; 3] {
    let product = |dims: &[Dim]| dims.iter().map(|d| d.size).product();
    [&dims[..at], &dims[at..=at], &dims[at + 1..]].map(product)
}

/// The parameters of a region.
pub(crate) fn region_params(b: &Region) -> Params {
    Params {
        len: b.len as u32,
        pitch: b.pitch as u32,
        base: b.base,
        ..Params::default()
    }
}

/// Where the first `count` results of a region go: its place in a result, or the start of the partials.
pub(crate) fn dst_view(step: &Step, b: &Region, count: u64) -> View {
    let at = if step.dst == Slot::Partials { 0 } else { b.out };
    View::of(step.dst, step.out, at, count)
}

/// Words that results touch, one more where they may begin inside a word.
pub(crate) fn words(out: StoreFormat, count: u64) -> u64 {
    match out.per_word() {
        1 => count,
        n => count.div_ceil(n.into()) + 1,
    }
}
