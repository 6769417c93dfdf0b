//! Tensors of several buffers: plans cut by where buffers end, on the host interpreter.

use super::grid::{any_limits, any_problem, any_zip};
use super::interpret::run;
use super::memory::{Check, Memory};
use super::truth::Truth;
use super::views::{any_pair, any_view};
use super::{eager, fake};
use proptest::prelude::*;
use support::grid::{CLASSES, SIZES, class, of_view, tuned, variants};
use wgreduce::unstable::Slot;
use wgreduce::{AdapterClass, BufferSplits, Caps, DType, Error, Plan, Problem};

/// Random cuts of tensors with these numbers of elements, each cut at a multiple of `vecs`.
fn cut(elements: impl Iterator<Item = u64>, chance: &[Vec<u16>], vecs: u64) -> Vec<Vec<u64>> {
    let of = |(n, chance): (u64, &Vec<u16>)| {
        let place = |&c: &u16| u64::from(c) % n.max(1) / vecs * vecs;
        let mut cuts: Vec<u64> = chance.iter().map(place).filter(|&c| c > 0).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    };
    elements.zip(chance).map(of).collect()
}

/// The input ends in its first buffer there.
fn cut_at(at: u64) -> BufferSplits {
    BufferSplits {
        inputs: vec![vec![at]],
        outputs: Vec::new(),
    }
}

/// Plans a problem in pieces and runs the plan.
fn check(
    problem: &Problem,
    caps: &Caps,
    cuts: &BufferSplits,
    aligned: bool,
    step: u64,
) -> Check<Plan> {
    let plan = Plan::in_pieces(problem, caps, cuts, aligned).map_err(|e| e.to_string())?;
    let outputs = problem.outputs();
    let largest = outputs.iter().map(|o| o.dtype.size()).max().unwrap_or(1);
    let shift = match aligned {
        true => [step * 16; 2],
        false => [step * problem.dtype().size(), step * largest],
    };
    let memory = Memory {
        shift,
        cuts,
        ..Memory::of(problem, caps, &plan)
    };
    run(memory, &Truth::new(problem), plan.passes())
        .map_err(|e| format!("{cuts:?}, {shift:?} bytes in: {e}; plan {plan}"))?;
    Ok(plan)
}

fn by_chance(
    problem: &Problem,
    caps: &Caps,
    chance: &[Vec<u16>],
    aligned: bool,
    step: u64,
) -> Check {
    let outputs = problem.outputs();
    let size = outputs.iter().map(|o| o.dtype.size()).min().unwrap_or(1);
    let vecs = match aligned {
        true => 16 / size.min(problem.dtype().size()),
        false => 1,
    };
    // For a view, the elements of the tensor that it lies in.
    let read = 0..problem.inputs().len();
    let read = read.map(|i| problem.input_bytes(i) / problem.dtype().size());
    let written = outputs.iter().map(|o| o.shape.iter().product());
    let (first, second) = chance.split_at(chance.len() - 2);
    let cuts = BufferSplits {
        inputs: cut(read, first, vecs),
        outputs: cut(written, second, vecs),
    };
    check(problem, caps, &cuts, aligned, step).map(drop)
}

fn any_cuts() -> impl Strategy<Value = Vec<Vec<u16>>> {
    let some = prop_oneof![Just(vec![]), prop::collection::vec(any::<u16>(), 0..5)];
    prop::collection::vec(some, 14)
}

/// Both extremes of a tensor, of a view of a contiguous block, and of one with its first dimensions exchanged.
fn any_extremes() -> impl Strategy<Value = Problem> {
    let shape = prop::array::uniform3(prop_oneof![1u64..9, 9u64..40]);
    let dtype = prop::sample::select(SIZES.to_vec());
    let small = |(shape, ..): &([u64; 3], _, _, _, _)| shape.iter().product::<u64>() <= 3000;
    let all = (shape, dtype, 0i64..3, 0..3, 0u64..9).prop_filter("small", small);
    all.prop_map(|(shape, dtype, axis, way, first)| {
        let problem = Problem::extremes(dtype, &shape, axis).expect("a problem");
        let [a, b, c] = shape.map(|n| n as i64);
        let strides = match way {
            0 => return problem,
            1 => [b * c, c, 1],
            _ => [c, a * c, 1],
        };
        problem.strided(0, &strides, first)
    })
}

proptest! {
    #![proptest_config(support::property(5000))]

    #[test]
    fn every_element_reaches_its_output_once_from_any_buffer_to_any(
        problem in prop_oneof![
            3 => any_problem(),
            1 => any_zip(),
            1 => any_extremes(),
            3 => any_view(),
            1 => any_pair(),
        ],
        caps in any_limits(),
        chance in any_cuts(),
        buffer in prop_oneof![Just(1u64 << 28), 2u64..20],
        aligned in any::<bool>(),
        step in 0u64..9,
    ) {
        // The tensor between two steps is kept in buffers of `buffer` vec4.
        let caps = Caps { buffer_bytes: 16 * buffer, ..caps };
        let done = by_chance(&problem, &caps, &chance, aligned, step);
        prop_assert!(done.is_ok(), "{problem} on {caps:?}: {}", done.err().unwrap_or_default());
    }
}

/// The indices of a view whose columns are copied because a buffer ends among them.
#[test]
fn copied_columns_of_a_view_keep_their_indices() {
    let problem = Problem::extremes(DType::U8, &[2, 9, 29], 0).expect("a problem");
    let problem = problem.strided(0, &[261, 29, 1], 0);
    // A dispatch sees a few columns, of which a copy moves less than partial results would.
    let caps = Caps {
        workgroups: 5,
        ..eager(|t| {
            (t.workgroup, t.row_lanes, t.invocations, t.slices) = (1, 1, 0, 0);
            (t.slice_bytes, t.short_rows, t.submit_bytes) = (0, 0, 0);
        })
    };
    let plan = check(&problem, &caps, &cut_at(1), false, 0).expect("a run that ends well");
    let copies = plan.passes().iter().filter(|p| p.dst.slot == Slot::Temp(1));
    assert!(copies.count() > 0, "{plan}");
}

/// Cuts the input at every element in turn, and again so many elements later; and an output.
fn cut_everywhere(problem: &Problem, apart: u64) {
    let caps = eager(|_| ());
    let n = problem.input_bytes(0) / problem.dtype().size();
    let outputs: u64 = problem.outputs()[0].shape.iter().product();
    for at in 1..n {
        let inputs = [at, at + apart].into_iter().filter(|&c| c < n).collect();
        let cuts = BufferSplits {
            inputs: vec![inputs],
            outputs: vec![[at % outputs].into_iter().filter(|&c| c > 0).collect()],
        };
        let done = check(problem, &caps, &cuts, false, at % 3);
        done.unwrap_or_else(|e| panic!("{problem}: {e}"));
    }
}

#[test]
fn only_what_a_buffer_ends_in_is_cut() {
    let caps = Caps::webgpu_default();
    let problem = Problem::arg_min(DType::F32, &[1000, 1000], 0).expect("a problem");
    let plan = check(&problem, &caps, &cut_at(300_500), true, 0).expect("a run that ends well");
    // The rows after the cut, the rows before it, the two parts of the row with the cut, and the pass that finishes
    // them.
    assert_eq!(plan.passes().len(), 5, "{plan}");
    let read = plan.passes()[..4].iter().map(|p| p.src_bytes() / 4);
    assert!(read.eq([699_000, 300_000, 500, 500]), "{plan}");
    let whole = Plan::in_pieces(&problem, &caps, &BufferSplits::default(), true);
    let plain = Plan::new(&problem, &caps).expect("a plan");
    assert_eq!(whole.ok(), Some(plain));
}

#[test]
fn a_buffer_may_end_at_any_element_of_a_tensor_or_view() {
    for dtype in SIZES {
        for shape in [[2, 9, 1], [1, 5, 4], [1, 40, 3], [3, 2, 5], [1, 70, 1]] {
            for problem in variants(dtype, &shape, 1).expect("problems") {
                cut_everywhere(&problem, 7);
            }
        }
        for view in [
            (&[3, 11][..], &[13, 1][..], 2),
            (&[11, 3], &[2, 30], 0),
            (&[11, 3], &[5, -2], 9),
            (&[5, 4], &[1, 1], 0),
            (&[2, 9, 3], &[40, 4, 1], 1),
            (&[2, 6, 3], &[0, 3, -1], 5),
            (&[3, 40], &[60, 1], 0),
        ] {
            for problem in of_view(dtype, &view) {
                cut_everywhere(&problem, 4);
            }
        }
    }
}

#[test]
fn a_view_is_divided_only_where_a_buffer_ends_in_it() {
    let caps = Caps::webgpu_default();
    let planned = |problem: &Problem, strides: &[i64], at: u64| {
        let view = problem.clone().strided(0, strides, 0);
        check(&view, &caps, &cut_at(at), true, 0).expect("a run that ends well")
    };
    // The rows before the end of the buffer, the row with the end in two windows and a finishing pass, and the rows
    // after it.
    let rows = Problem::arg_min(DType::F32, &[40, 50], 1).expect("a problem");
    assert_eq!(planned(&rows, &[64, 1], 64 * 7 + 20).passes().len(), 5);
    // If the buffer ends between two rows, no row is divided.
    assert_eq!(planned(&rows, &[64, 1], 64 * 7).passes().len(), 2);
    // The columns before the end in that row and those after it, each with two windows and a finishing pass.
    let columns = Problem::arg_min(DType::F32, &[40, 50], 0).expect("a problem");
    assert_eq!(planned(&columns, &[64, 1], 64 * 7 + 20).passes().len(), 6);
    assert_eq!(planned(&columns, &[64, 1], 64 * 7).passes().len(), 3);
}

#[test]
fn a_view_that_ends_everywhere_is_refused_with_its_numbers() {
    // The windows slide by one element: nearly all of the 100,000 would be in two buffers.
    let n = 100_000;
    let problem = Problem::reduce_min(DType::U8, &[n, n], &[1]).expect("a problem");
    let view = problem.strided(0, &[1, 1], 0);
    let plan = Plan::in_pieces(&view, &Caps::webgpu_default(), &cut_at(n), true);
    let what = "regions of a step of 65537 exceeds the limit of 65536";
    let refused = matches!(&plan, Err(e @ Error::Limit { .. }) if e.to_string() == what);
    assert!(refused, "{plan:?}");
}

#[test]
fn a_view_that_is_cut_has_no_more_outputs_at_once_than_partials() {
    // A binding holds 32 partials; one dispatch would write the forty outputs directly.
    let caps = fake(128, 16, 100, 16);
    let problem = Problem::reduce_min(DType::U8, &[2, 40], &[0]).expect("a problem");
    let view = problem.strided(0, &[50, 1], 0);
    assert_eq!(Plan::new(&view, &caps).expect("a plan").passes().len(), 1);
    let plan = check(&view, &caps, &cut_at(45), true, 0).expect("a run that ends well");
    // Twice twenty outputs, each with two windows and a finishing pass.
    assert_eq!(plan.passes().len(), 6, "{plan}");
}

#[test]
fn cuts_outside_of_the_tensor_and_repeated_ones_change_nothing() {
    let caps = Caps::webgpu_default();
    let problem = Problem::min(DType::F32, &[[64u64], [64]]).expect("a problem");
    let planned = |cuts: &[u64]| {
        let cuts = BufferSplits {
            inputs: vec![cuts.to_vec(); 3],
            outputs: vec![cuts.to_vec(); 2],
        };
        Plan::in_pieces(&problem, &caps, &cuts, true).expect("a plan")
    };
    assert_eq!(planned(&[67, 16, 0, 16, 64]), planned(&[16]));
    let whole = Plan::new(&problem, &caps).expect("a plan");
    assert_eq!(planned(&[0, 67]), whole);
}

#[test]
fn cuts_inside_of_a_vec4_are_planned_as_buffers_that_begin_anywhere() {
    let caps = Caps::webgpu_default();
    let problem = Problem::min(DType::F32, &[[64u64], [64]]).expect("a problem");
    let planned =
        |at, aligned| Plan::in_pieces(&problem, &caps, &cut_at(at), aligned).expect("a plan");
    assert_eq!(planned(13, true), planned(13, false));
    assert_ne!(planned(16, true), planned(16, false));
}

#[test]
fn results_of_rows_from_a_later_buffer_begin_within_a_vec4() {
    let problem = Problem::arg_max(DType::F32, &[4000, 4], 1).expect("a problem");
    // After 2001 rows, whose indices are no whole vec4.
    for kind in CLASSES {
        check(&problem, &class(kind), &cut_at(8004), true, 1).expect("a run that ends well");
    }
}

#[test]
fn later_buffers_are_not_left_to_few_invocations() {
    let max = Problem::reduce_max(DType::F32, &[400_000, 33], &[0]);
    let row = |n| Problem::arg_min(DType::F32, &[n], 0);
    for (problem, cut) in [
        (max, 8_000_000),
        (row(8_388_609), 4_194_304),
        (row(81_984), 41_024),
        (row(4_079_680), 4_079_616),
    ] {
        let problem = problem.expect("a problem");
        for kind in CLASSES {
            let plan = Plan::in_pieces(&problem, &class(kind), &cut_at(cut), true);
            let plan = plan.unwrap_or_else(|e| panic!("{problem}, {kind:?}: {e}"));
            let most = plan.passes().iter().map(|pass| pass.iterations).max();
            assert!(most < Some(33_000), "{most:?} iterations: {plan}");
        }
    }
}

#[test]
fn rows_of_more_positions_than_fit_below_a_key_are_taken_block_by_block() {
    let caps = tuned(&Caps::typical(AdapterClass::Discrete), |t| {
        (t.workgroup, t.row_lanes, t.invocations) = (1024, 1024, 1);
    });
    let problem = Problem::arg_max(DType::F16, &[3, 65_537], 1).expect("a problem");
    check(&problem, &caps, &BufferSplits::default(), true, 1).expect("a run that ends well");
}

#[test]
fn columns_are_planned_for_few_workgroups() {
    for kind in [AdapterClass::Integrated, AdapterClass::Discrete] {
        for (shape, workgroups) in [([4096, 64], 1), ([2048, 4092], 4)] {
            let caps = class(kind).lowered(u64::MAX, workgroups);
            let problem = Problem::reduce_max(DType::F32, &shape, &[0]).expect("a problem");
            let plan = Plan::new(&problem, &caps);
            assert!(plan.is_ok(), "{problem}, {kind:?}: {plan:?}");
        }
    }
}
