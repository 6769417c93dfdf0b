//! Tensors of more than 2^32 elements, planned but not run: their parts cover them, and no number of a dispatch exceeds
//! 32 bits.

use super::grid::any_tuning;
use super::memory::limits;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use support::grid::{CLASSES, class};
use support::problem_of;
use wgreduce::unstable::{Pass, Slot, Walk};
use wgreduce::{AdapterClass, Caps, DType, Error, Op, Plan, Problem, Tuning, reference};

const BEYOND: u64 = (1 << 32) + 3;

/// Bindings from WebGPU's default to those of a GPU without a limit.
fn devices() -> Vec<Caps> {
    let bindings = [1 << 27, (1 << 31) - 4, (1 << 32) - 4, 1 << 40];
    let each = |binding_bytes| {
        CLASSES.map(|kind| Caps {
            binding_bytes,
            ..class(kind)
        })
    };
    let unlimited = Caps::new(&wgreduce::wgpu::Limits::unlimited(), CLASSES[0]);
    let limited = bindings.into_iter().flat_map(each);
    limited.chain([unlimited]).collect()
}

/// Elements of the input that a pass reads, as [begin, end).
fn range(pass: &Pass) -> Option<(u64, u64)> {
    let view = pass.src.filter(|v| matches!(v.slot, Slot::Input(_)))?;
    let begin = view.offset / view.element;
    Some((begin, begin + view.bytes / view.element))
}

#[test]
fn tensors_beyond_32_bits_are_covered_once_with_the_right_bases() {
    let start = Instant::now();
    for caps in devices() {
        for dtype in [DType::U8, DType::F32, DType::F64] {
            for [outer, len, inner] in [
                [1, BEYOND, 1],
                [BEYOND, 1, 1],
                [1, 3, 1 << 31],
                [1, 1 << 31, 3],
                [3, 1 << 31, 1],
                [1 << 31, 3, 1],
                [1 << 16, 5, 1 << 15],
                [5, (1 << 30) + 1, 5],
            ] {
                let shape = [outer, len, inner];
                for problem in [
                    Problem::arg_min(dtype, &shape, 1),
                    Problem::reduce_max(dtype, &shape, &[1]),
                ] {
                    let problem = problem.expect("a problem");
                    let plan = Plan::new(&problem, &caps)
                        .unwrap_or_else(|e| panic!("{problem} on {caps:?}: {e}"));
                    if len > 1 || !problem.op().is_index() {
                        covered(&plan, [outer, len, inner], &caps);
                    }
                }
            }
        }
    }
    // Hundreds of plans; a debug build on a busy machine takes much longer than a release build.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "planning took {took:?}");
}

fn covered(plan: &Plan, shape: [u64; 3], caps: &Caps) {
    let [outer, len, inner] = match shape {
        [outer, 1, inner] => [outer * inner, 1, 1],
        other => other,
    };
    let mut ranges = Vec::new();
    let mut outputs = Vec::new();
    let mut several = None;
    let scratch = plan.slot_bytes(Slot::Partials);
    assert!(scratch <= caps.binding_bytes, "{scratch} B: {plan}");
    for pass in plan.passes() {
        limits(pass, caps).unwrap_or_else(|e| panic!("{plan}: {e}"));
        let p = &pass.params;
        // Numbers that a kernel computes past the last slice must not wrap either.
        let sliced = u64::from(p.slice) * u64::from(p.slices);
        let beyond = match pass.kernel.walk.name() {
            "rows" => sliced,
            "finish" if pass.kernel.workgroup_bytes() == 0 && pass.kernel.workgroup <= 1 << 16 => {
                let [x, y, _] = pass.workgroups.map(u64::from);
                let lanes = x * y * u64::from(pass.kernel.workgroup);
                lanes * u64::from(p.coarsening) * u64::from(pass.kernel.out.per_word())
            }
            _ => 0,
        };
        assert!(beyond < 1 << 32, "{plan}");
        if pass.dst.slot == Slot::Output(0) {
            outputs.push((pass.dst.offset, pass.dst.offset + pass.dst.bytes));
        }
        let Some((begin, end)) = range(pass) else {
            continue;
        };
        match pass.kernel.walk {
            Walk::Rows(text) if text.rows > 0 => several = Some((begin, end)),
            Walk::Columns(_) => several = Some((begin, end)),
            // The last rows of a region, which are no whole units.
            Walk::Each { .. } if several.is_some_and(|s| s.0 <= begin && end <= s.1) => continue,
            _ => {}
        }
        // A row of columns that are copied.
        if matches!(pass.dst.slot, Slot::Temp(_)) {
            ranges.push((begin, end));
            continue;
        }
        // Some columns of all rows.
        if let Some((view, rows)) = pass.src.and_then(|view| Some((view, view.rows?))) {
            let [width, pitch] = [rows.bytes, rows.pitch].map(|b| b / view.element);
            assert_eq!((rows.count, pitch, p.base), (len, inner, 0), "{plan}");
            ranges.extend((0..len).map(|i| (begin + i * pitch, begin + i * pitch + width)));
            continue;
        }
        // The region matches the pass's parameters, and begins where its base says.
        assert!(end - begin <= 1 << 30, "{plan}");
        let matrix = u64::from(p.len) * u64::from(p.pitch);
        assert_eq!((end - begin) % matrix, 0, "{plan}");
        assert_eq!(begin % (len * inner) / inner, p.base, "{plan}");
        assert!(end - begin == matrix || p.base == 0 && matrix == len * inner);
        ranges.push((begin, end));
    }
    ranges.sort_unstable();
    outputs.sort_unstable();
    let tiles = |ranges: &[(u64, u64)], n| {
        let chained = ranges.windows(2).all(|w| w[0].1 == w[1].0);
        chained && ranges.first().map(|r| r.0) == Some(0) && ranges.last().map(|r| r.1) == Some(n)
    };
    assert!(tiles(&ranges, outer * len * inner), "{plan}: {ranges:?}");
    let bytes = outputs.last().map_or(0, |r| r.1);
    assert!(tiles(&outputs, bytes), "{plan}: {outputs:?}");
    let element = plan.passes().last().map_or(1, |p| p.dst.element);
    assert_eq!(bytes / element, outer * inner);
}

/// A dimension of any magnitude, at most two away from a power of two.
fn any_dim() -> impl Strategy<Value = u64> {
    (0u32..34, 0u64..5).prop_map(|(power, more)| ((1 << power) + more).saturating_sub(2).max(1))
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, ..support::property(3000) })]

    #[test]
    fn any_tuning_plans_any_size(
        shape in prop::array::uniform3(any_dim()),
        dtype in prop::sample::select(support::grid::SIZES.to_vec()),
        tuning in any_tuning(),
        index in any::<bool>(),
        device in any::<prop::sample::Index>(),
    ) {
        let elements: u128 = shape.iter().map(|&d| u128::from(d)).product();
        prop_assume!(elements < 1 << 35);
        // If one invocation took each segment, however long, a plan would need too many dispatches.
        prop_assume!(!tuning.each);
        let devices = devices();
        // Submits of a few bytes would be too many.
        let submit_bytes = tuning.submit_bytes.max(1 << 28);
        let caps = devices[device.index(devices.len())].tuned(Tuning { submit_bytes, ..tuning });
        let problem = match index {
            true => Problem::arg_max(dtype, &shape, 1),
            false => Problem::reduce_min(dtype, &shape, &[1]),
        };
        let plan = Plan::new(&problem.expect("a problem"), &caps);
        let plan = plan.map_err(|e| TestCaseError::fail(e.to_string()))?;
        if shape[1] > 1 || !index {
            covered(&plan, shape, &caps);
        }
    }
}

#[test]
fn tunings_that_ask_for_one_invocation_plan_any_size() {
    // All invocations of the last workgroup count on, past the last output.
    let many_outputs = Tuning {
        invocations: 1,
        short_rows: u64::MAX,
        ..Tuning::of(AdapterClass::Discrete)
    };
    // Where a driver limits iterations and invocations do not share an output, one takes all parts of a segment.
    let many_parts = Tuning {
        workgroup: 4,
        row_lanes: 1,
        short_rows: 0,
        invocations: 1,
        slice_bytes: 1,
        slices: 1,
        ..Tuning::of(CLASSES[0])
    };
    for (tuning, op, dtype, shape) in [
        (&many_outputs, Op::ArgMax, DType::I64, [1, 6, 67_108_862]),
        (&many_outputs, Op::ArgMax, DType::I64, [3, 7, 67_108_863]),
        (&many_parts, Op::ReduceMin, DType::F16, [1, 268_435_454, 2]),
        (&many_parts, Op::ReduceMin, DType::U8, [1, 536_870_909, 1]),
        (&many_parts, Op::ReduceMin, DType::F16, [3, 268_435_455, 1]),
    ] {
        let problem = problem_of(op, dtype, &shape, &[1]).expect("a problem");
        for device in devices() {
            let caps = device.tuned(tuning.clone());
            let plan = Plan::new(&problem, &caps).expect("a plan");
            covered(&plan, shape, &caps);
        }
    }
}

#[test]
fn one_huge_tensor_is_planned_in_milliseconds() {
    let caps = Caps::webgpu_default();
    for shape in [[BEYOND, 1], [3, 1 << 31], [1 << 31, 3]] {
        let problem = Problem::arg_min(DType::F32, &shape, 0).expect("a problem");
        let start = Instant::now();
        let plan = Plan::new(&problem, &caps).expect("a plan");
        let took = start.elapsed();
        assert!(took < Duration::from_millis(100), "{plan}: {took:?}");
    }
}

#[test]
fn a_tensor_of_a_million_dimensions_is_planned_and_computed_at_once() {
    let mut shape = vec![1; 1_000_000];
    shape[500_000] = 7;
    let start = Instant::now();
    for problem in [
        Problem::arg_max(DType::F32, &shape, 500_000),
        Problem::reduce_sum(DType::F32, &shape, &[0, 500_000]),
        Problem::top_k(DType::F32, &shape, 500_000, 3),
    ] {
        let problem = problem.expect("a problem");
        let plan = Plan::new(&problem, &class(CLASSES[0]));
        assert!(plan.is_ok(), "{plan:?}");
        let computed = reference::evaluate(&problem, &[&[0; 28]]);
        assert!(computed.is_ok(), "{computed:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn absurd_tensors_are_refused_and_not_planned_forever() {
    let caps = Caps::webgpu_default();
    for shape in [
        [1 << 62, 1],
        [1, 1 << 62],
        [1 << 31, 1 << 31],
        [(1 << 31) + 1, (1 << 31) - 1],
        [3, 1 << 60],
        [1 << 60, 3],
    ] {
        for axis in [0, 1] {
            let problem = Problem::reduce_min(DType::U8, &shape, &[axis]).expect("a problem");
            let start = Instant::now();
            let plan = Plan::new(&problem, &caps);
            assert!(matches!(plan, Err(Error::Limit { .. })), "{problem}");
            assert!(start.elapsed() < Duration::from_secs(1), "{problem}");
        }
    }
}

/// A stream of the longest row: the values of each region are gathered while the region is there.
#[test]
fn as_many_regions_as_a_plan_can_have_are_planned_at_once() {
    let start = Instant::now();
    let problem = Problem::arg_max(DType::F32, &[1, 1 << 39], 1).expect("a problem");
    let problem = problem.with_values(true);
    let caps = class(CLASSES[0]).lowered(33 << 20, 65_535);
    let plan = Plan::new(&problem, &caps).expect("a plan");
    assert!(plan.passes().len() > 2 * 60_000, "{plan}");
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "planning took {took:?}");
}
