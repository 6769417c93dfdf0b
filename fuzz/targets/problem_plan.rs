//! Problems, views and plans of any numbers, in buffers that end anywhere, are refused or stay within every limit of
//! the device.

use arbitrary::{Arbitrary, Unstructured};
use support::mixed;
use support::oracle::answers;
use wgreduce::unstable::{Slot, View};
use wgreduce::{
    BufferSplits, Caps, DType, IndexType, NanPolicy, Plan, Problem, ProblemError, reference,
};

#[derive(Arbitrary, Debug)]
struct Asked {
    op: u8,
    dtype: u8,
    shapes: [Vec<Size>; 3],
    inputs: u8,
    axes: [i8; 3],
    axis_count: u8,
    far_axis: Option<i64>,
    flags: [bool; 5],
    index_type: u8,
    binding_bytes: Size,
    workgroups: u16,
    strides: Option<[i32; 4]>,
    offset: Size,
    cuts: [Vec<Size>; 2],
    aligned: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Size {
    Small(u8),
    Middle(u16),
    Large(u32),
    Any(u64),
}

impl Size {
    fn value(self) -> u64 {
        match self {
            Size::Small(n) => u64::from(n % 9),
            Size::Middle(n) => n.into(),
            Size::Large(n) => n.into(),
            Size::Any(n) => n,
        }
    }
}

impl Asked {
    fn problem(&self) -> Result<Problem, ProblemError> {
        let dtype = DType::ALL[usize::from(self.dtype) % DType::ALL.len()];
        let mut shapes = self.shapes.iter().map(|shape| {
            let sizes = shape.iter().take(12).map(|size| size.value());
            sizes.collect::<Vec<u64>>()
        });
        let shape = shapes.next().unwrap_or_default();
        let axes = self.axes.iter().map(|&axis| i64::from(axis % 5));
        let axes: Vec<i64> = axes.take(usize::from(self.axis_count % 4)).collect();
        let axis = self.far_axis.unwrap_or(self.axes[0].into());
        let [keepdims, last, values, noop, ignore] = self.flags;
        let index_type = [IndexType::I64, IndexType::I32, IndexType::U32];
        let index_type = index_type[usize::from(self.index_type) % 3];
        let index = |problem: Problem| {
            let problem = problem.keepdims(keepdims).select_last_index(last);
            problem.index_type(index_type).with_values(values)
        };
        let reduce = |problem: Problem| problem.keepdims(keepdims).noop_with_empty_axes(noop);
        let elementwise = || {
            let others = shapes.take(usize::from(self.inputs % 3));
            std::iter::once(shape.clone())
                .chain(others)
                .collect::<Vec<_>>()
        };
        let problem = match self.op % 10 {
            0 => index(Problem::arg_min(dtype, &shape, axis)?),
            1 => index(Problem::arg_max(dtype, &shape, axis)?),
            2 => reduce(Problem::reduce_min(dtype, &shape, &axes)?),
            3 => reduce(Problem::reduce_max(dtype, &shape, &axes)?),
            4 => Problem::min(dtype, &elementwise())?,
            5 => Problem::max(dtype, &elementwise())?,
            6 => index(Problem::arg_max_abs(dtype, &shape, axis)?),
            7 => reduce(Problem::reduce_max_abs(dtype, &shape, &axes)?),
            9 => {
                let k = u64::from(self.axis_count) * u64::from(self.inputs % 7) / 3;
                let problem = Problem::top_k(dtype, &shape, axis, k)?.largest(values);
                problem.index_type(index_type)
            }
            _ => {
                let problem = Problem::extremes(dtype, &shape, axis)?.keepdims(keepdims);
                problem.select_last_index(last).index_type(index_type)
            }
        };
        let nan = if ignore {
            NanPolicy::Ignore
        } else {
            NanPolicy::Propagate
        };
        let problem = problem.nan(nan);
        let problem = match self.strides {
            Some(strides) => {
                let strides = strides.iter().map(|&stride| stride.into());
                let strides: Vec<i64> = strides.take(problem.inputs()[0].len()).collect();
                problem.strided(0, &strides, self.offset.value())
            }
            None => problem,
        };
        problem.check()?;
        Ok(problem)
    }

    /// Where the first input and the first output continue in another buffer.
    fn cuts(&self) -> BufferSplits {
        let cuts = |sizes: &[Size]| vec![sizes.iter().take(9).map(|s| s.value()).collect()];
        BufferSplits {
            inputs: cuts(&self.cuts[0]),
            outputs: cuts(&self.cuts[1]),
        }
    }
}

pub fn survive(data: &[u8]) {
    let Ok(asked) = Asked::arbitrary(&mut Unstructured::new(data)) else {
        return;
    };
    let Ok(problem) = asked.problem() else {
        return;
    };
    if few(&problem) {
        computed(&problem, asked.offset.value() % 64);
    }
    let caps = Caps::webgpu_default();
    let lowered = caps.lowered(asked.binding_bytes.value(), asked.workgroups.into());
    for caps in [caps, lowered] {
        if let Ok(plan) = Plan::new(&problem, &caps) {
            within(&problem, &plan, &caps);
        }
        let cuts = asked.cuts();
        if let Ok(plan) = Plan::in_pieces(&problem, &caps, &cuts, asked.aligned) {
            within(&problem, &plan, &caps);
            whole(&problem, &plan, &cuts);
        }
    }
}

/// Whether it has few elements, also in the tensors of its views.
fn few(problem: &Problem) -> bool {
    let elements = |shape: &Vec<u64>| shape.iter().copied().fold(1, u64::saturating_mul);
    let read = problem.inputs().iter().map(elements);
    let tensors = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
    let written = problem.outputs().into_iter().map(|o| o.bytes());
    let all = read.chain(tensors).chain(written);
    all.fold(0, u64::saturating_add) < 1 << 14
}

/// Checks that the reference computes what the oracle does.
fn computed(problem: &Problem, seed: u64) {
    let dtype = problem.dtype();
    let input = |i| {
        mixed(
            dtype,
            problem.input_bytes(i) / dtype.size(),
            seed + i as u64,
        )
    };
    let inputs: Vec<Vec<u8>> = (0..problem.inputs().len()).map(input).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let outputs = reference::evaluate(problem, &inputs).expect("inputs that fit");
    assert_eq!(outputs, answers(problem, &inputs), "{problem}");
    assert_eq!(reference::verify(problem, &inputs, &outputs), Ok(()));
}

fn within(problem: &Problem, plan: &Plan, caps: &Caps) {
    assert!(!plan.to_string().is_empty());
    let outputs = problem.outputs();
    let size = |slot| match slot {
        Slot::Input(i) => problem.input_bytes(i),
        Slot::Output(i) => outputs[i].bytes(),
        scratch => plan.slot_bytes(scratch),
    };
    let fits = |view: &View| {
        let end = view.offset.checked_add(view.bytes);
        assert!(
            end.is_some_and(|end| end <= size(view.slot).next_multiple_of(16)),
            "{view:?}"
        );
        assert!(view.bytes <= caps.binding_bytes, "{view:?}");
    };
    for pass in plan.passes() {
        let folds = pass
            .workgroups
            .iter()
            .all(|w| (1..=caps.workgroups).contains(w));
        assert!(folds, "{:?}", pass.workgroups);
        let most = caps.iterations.map_or(u64::MAX, u64::from);
        assert!(pass.iterations <= most, "{}", pass.iterations);
        let zipped = pass.stride_table.iter().flat_map(|(_, views)| views);
        let views = pass.src.iter().chain(&pass.indices).chain(zipped);
        views.chain([&pass.dst]).for_each(fits);
    }
}

/// Checks that no view reaches across the end of a buffer.
fn whole(problem: &Problem, plan: &Plan, cuts: &BufferSplits) {
    let uncut = |view: &View| {
        let (cuts, dtype) = match view.slot {
            Slot::Input(0) => (&cuts.inputs[0], problem.dtype()),
            Slot::Output(0) => (&cuts.outputs[0], problem.outputs()[0].dtype),
            _ => return,
        };
        let (first, end) = (view.offset, view.offset + view.bytes);
        let bytes = |cut: &u64| cut.checked_mul(dtype.size());
        let inside = cuts
            .iter()
            .filter_map(bytes)
            .find(|at| (first + 1..end).contains(at));
        assert_eq!(inside, None, "{view:?}");
    };
    for pass in plan.passes() {
        let zipped = pass.stride_table.iter().flat_map(|(_, views)| views);
        let views = pass.src.iter().chain(&pass.indices).chain(zipped);
        views.chain([&pass.dst]).for_each(uncut);
    }
}
