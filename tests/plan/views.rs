//! Plans of strided views: which of them are contiguous, and runs on the host interpreter.

use super::grid::{Break, check, devices, input, last, reduction, refused, shorten, source, table};
use super::memory::limits;
use super::{fake, walks};
use proptest::prelude::*;
use proptest::sample::Index;
use support::grid::{SIZES, class, views};
use support::taken;
use wgreduce::unstable::{Accumulator, Slot};
use wgreduce::{AdapterClass, Caps, DType, Error, Plan, Problem};

#[test]
fn every_element_of_a_view_reaches_its_outputs_over_the_grid() {
    let mut failures = Vec::new();
    for (name, caps) in devices() {
        for dtype in SIZES {
            let mut problems = views(dtype);
            problems.retain(|problem| taken(("views", &name, problem)));
            for problem in problems {
                if let Err(e) = check(&problem, &caps, &[1]) {
                    failures.push(format!("{name}: {problem}: {e}"));
                }
            }
        }
    }
    failures.truncate(8);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Views of up to five dimensions with any small strides, and the ways to reduce them.
pub fn any_view() -> impl Strategy<Value = Problem> {
    let dim = (prop_oneof![3 => 1u64..6, 1 => 1u64..40], -12i64..40);
    let dims = prop::collection::vec(dim, 0..6);
    let few = |dims: &Vec<(u64, i64)>| dims.iter().map(|d| d.0).product::<u64>() <= 1500;
    let dtype = prop::sample::select(DType::ALL.to_vec());
    let dims = dims.prop_filter("small", few);
    (dims, dtype, any::<u8>(), any::<Index>(), 0u64..9).prop_filter_map(
        "a valid problem",
        |(dims, dtype, bits, axis, more)| {
            let (shape, strides): (Vec<u64>, Vec<i64>) = dims.into_iter().unzip();
            let problem = reduction(dtype, &shape, bits, axis)?;
            Some(problem.strided(0, &strides, back(&shape, &strides) + more))
        },
    )
}

/// How far a view reaches back from its first element.
fn back(shape: &[u64], strides: &[i64]) -> u64 {
    let ways = shape.iter().zip(strides);
    let back: i64 = ways.map(|(&n, &s)| -((n as i64 - 1) * s).min(0)).sum();
    back as u64
}

/// Min of a view and a tensor, or of two views.
pub fn any_pair() -> impl Strategy<Value = Problem> {
    let dim = (1u64..12, any::<bool>(), -9i64..20, -2i64..3);
    let dims = prop::collection::vec(dim, 0..5);
    let few = |dims: &Vec<(u64, bool, i64, i64)>| dims.iter().map(|d| d.0).product::<u64>() <= 1500;
    let dims = dims.prop_filter("small", few);
    let dtype = prop::sample::select(DType::ALL.to_vec());
    (dims, dtype, any::<bool>(), 0u64..40).prop_map(|(dims, dtype, both, more)| {
        let whole: Vec<u64> = dims.iter().map(|d| d.0).collect();
        let other: Vec<u64> = dims.iter().map(|d| if d.1 { d.0 } else { 1 }).collect();
        let strides: Vec<i64> = dims.iter().map(|d| d.2).collect();
        let short: Vec<i64> = dims.iter().map(|d| 8 * d.3).collect();
        let problem = Problem::min(dtype, &[&whole, &other]).expect("a problem");
        let first = back(&whole, &strides) + more;
        let problem = problem.strided(0, &strides, first);
        match both {
            true => problem.strided(1, &short, back(&other, &short)),
            false => problem,
        }
    })
}

fn viewed(problem: Problem, strides: &[i64], offset: u64) -> Vec<&'static str> {
    plain(&problem.strided(0, strides, offset))
}

fn plain(problem: &Problem) -> Vec<&'static str> {
    walks(&Plan::new(problem, &class(AdapterClass::Integrated)).expect("a plan"))
}

#[test]
fn a_contiguous_view_takes_the_kernels_of_the_tensor_that_it_is() {
    let arg = |shape: &[u64], axis| Problem::arg_min(DType::F32, shape, axis).expect("a problem");
    let max = |shape: &[u64], axes: &[i64]| {
        Problem::reduce_max(DType::F32, shape, axes).expect("a problem")
    };
    // A part of a longer tensor.
    let rows = plain(&arg(&[100, 4096], 1));
    assert_eq!(viewed(arg(&[100, 4096], 1), &[4096, 1], 4096), rows);
    // A transposed matrix: its rows are columns, its columns rows.
    assert_eq!(viewed(arg(&[4096, 100], 0), &[1, 4096], 0), rows);
    let columns = plain(&arg(&[4096, 100], 0));
    assert_eq!(viewed(arg(&[100, 4096], 1), &[1, 100], 0), columns);
    // Reduced dimensions in any order, flipped, repeated.
    let all = plain(&max(&[1 << 20], &[]));
    let mixed = max(&[1 << 8, 7, 1 << 12], &[]);
    assert_eq!(viewed(mixed, &[-1, 0, 1 << 8], (1 << 8) - 1), all);
    let middle = plain(&max(&[64, 50, 30], &[1]));
    assert_eq!(viewed(max(&[50, 64, 30], &[0]), &[30, 1500, 1], 0), middle);
    // A transposed result is not contiguous.
    assert_eq!(viewed(max(&[4, 50, 6], &[1]), &[1, 24, 4], 0)[0], "strided");
}

#[test]
fn a_repeated_axis_is_not_searched() {
    let arg = Problem::arg_max(DType::F16, &[30, 4], 0).expect("a problem");
    let values = arg.clone().with_values(true);
    assert_eq!(viewed(arg.clone(), &[0, 1], 2), ["fill"]);
    assert_eq!(viewed(values.clone(), &[0, 1], 2), ["fill", "strided"]);
    let last = arg.select_last_index(true);
    let last = last.strided(0, &[0, 1], 2);
    let plan = Plan::new(&last, &class(AdapterClass::Integrated)).expect("a plan");
    assert_eq!(plan.passes()[0].params.fill, 29);
    assert_eq!(viewed(values, &[5, 3], 0), ["strided", "strided_gather"]);
    let rows = Problem::arg_max(DType::F16, &[4, 30], 0).expect("a problem");
    let rows = rows.with_values(true);
    assert_eq!(viewed(rows, &[30, 1], 1).last(), Some(&"gather"));
}

#[test]
fn strides_in_whole_vec4_are_taken_by_vec4() {
    let pair = |strides: &[i64], offset| {
        let shapes: [&[u64]; 2] = [&[6, 32], &[32]];
        let problem = Problem::min(DType::F32, &shapes).expect("a problem");
        viewed(problem, strides, offset)
    };
    assert_eq!(pair(&[48, 1], 16), ["elementwise_vecs"]);
    assert_eq!(pair(&[-48, 1], 240), ["elementwise_vecs"]);
    assert_eq!(pair(&[4, 0], 3), ["elementwise_vecs"]);
    assert_eq!(pair(&[48, 1], 1), ["elementwise_words"]);
    assert_eq!(pair(&[47, 1], 0), ["elementwise_words"]);
    assert_eq!(pair(&[48, 2], 0), ["elementwise_words"]);
    // A copy of a contiguous view takes the kernel of a tensor; another copy reads by strides.
    let copy = Problem::min(DType::F32, &[[300]]).expect("a copy");
    assert_eq!(viewed(copy.clone(), &[1], 5), ["each"]);
    assert_eq!(viewed(copy, &[2], 5), ["strided"]);
}

#[test]
fn long_segments_of_a_view_are_shared_and_finished() {
    let problem = Problem::arg_min(DType::F32, &[3, 1 << 20], 1).expect("a problem");
    assert_eq!(viewed(problem, &[1 << 22, 2], 0), ["strided", "finish"]);
}

#[test]
fn long_segments_whose_results_share_a_word_are_shared_where_outputs_fill_the_device() {
    let shape = [40, 1 << 12, 150];
    let caps = class(AdapterClass::Software);
    for problem in [Problem::reduce_min, Problem::reduce_sum] {
        let problem = problem(DType::I8, &shape, &[0, 2]);
        let problem = problem.expect("a problem");
        let strides = [151 << 12, 151, 1];
        let view = problem.strided(0, &strides, 0);
        let plan = Plan::new(&view, &caps).unwrap_or_else(|e| panic!("{view}: {e}"));
        assert_eq!(walks(&plan).last(), Some(&"finish"), "{plan}");
    }
}

#[test]
fn tensors_and_views_of_any_rank_are_planned() {
    let caps = class(AdapterClass::Integrated);
    for rank in [8, 9, 11] {
        let shape = vec![2; rank];
        let axes: Vec<i64> = (0..rank as i64).step_by(2).collect();
        let strides: Vec<i64> = (0..rank).map(|d| 3i64.pow(d as u32) / 2 + 1).collect();
        // No two dimensions merge.
        let view = Problem::reduce_min(DType::F32, &shape, &axes);
        let view = view.map(|p| p.strided(0, &strides, 0));
        for problem in [
            view,
            Problem::reduce_sum(DType::F32, &shape, &axes),
            Problem::reduce_l2(DType::I8, &shape, &axes),
            Problem::reduce_mean(DType::F64, &shape, &axes),
            Problem::reduce_max(DType::I64, &shape, &axes),
        ] {
            let problem = problem.expect("a problem");
            let done = check(&problem, &caps, &[0, 3]);
            done.unwrap_or_else(|e| panic!("{problem}: {e}"));
        }
    }
    // More dimensions than a stride table has: some are counted by the host.
    let rank = 40;
    let strides: Vec<i64> = (0..rank).map(|d| if d == 39 { 1 } else { 0 }).collect();
    let axes: Vec<i64> = (0..rank).step_by(2).collect();
    let problem = Problem::reduce_sum(DType::F32, &vec![2; rank as usize], &axes);
    let problem = problem.map(|p| p.strided(0, &strides, 0)).expect("a view");
    let plan = Plan::new(&problem, &caps).expect("a plan");
    for pass in plan.passes() {
        limits(pass, &caps).unwrap_or_else(|e| panic!("{plan}: {e}"));
    }
}

#[test]
fn windows_cover_a_view_that_exceeds_a_binding() {
    // A transposed sub-matrix that spans almost 4 GiB, under bindings of 128 MiB.
    let caps = class(AdapterClass::Integrated);
    let problem = Problem::arg_max(DType::F32, &[30_000, 30_000], 0).expect("a problem");
    let problem = problem.strided(0, &[1, 32_768], 0);
    let plan = Plan::new(&problem, &caps).expect("a plan");
    let views = plan.passes().iter().filter_map(|p| p.stride_table.as_ref());
    let seen: Vec<u64> = views.map(|(_, views)| views[0].bytes).collect();
    assert!(seen.len() > 20, "{plan}");
    assert!(seen.iter().all(|&bytes| bytes <= caps.binding_bytes));
    // Windows overlap only in what the view skips between rows.
    assert!(seen.iter().sum::<u64>() < problem.input_bytes(0) + (1 << 20));
}

#[test]
fn extremes_are_read_once_and_finished_twice() {
    for (shape, axis) in [([1, 1 << 20], 1), ([4096, 3000], 1), ([300, 4096], 0)] {
        for kind in support::grid::CLASSES {
            let problem = Problem::extremes(DType::U8, &shape, axis).expect("a problem");
            let plan = Plan::new(&problem, &class(kind)).expect("a plan");
            let reads = walks(&plan);
            let read = if axis == 1 { "rows" } else { "columns" };
            assert_eq!(reads[0], read, "{plan}");
            assert_eq!(reads[1..], ["finish"; 2], "{plan}");
            assert_eq!(plan.passes()[0].src_bytes(), problem.input_bytes(0));
            // Each extreme has partials of its own, from which its value and its index are made.
            let of: Vec<_> = plan.passes()[1..].iter().map(|p| p.src).collect();
            assert_ne!(of[0], of[1], "{plan}");
            let written = plan.passes()[1..].iter();
            let written = written.map(|p| (p.dst.slot, p.beside[0].slot));
            let [least, greatest] = [0, 1].map(|i| (Slot::Output(i), Slot::Output(2 + i)));
            assert!(written.eq([least, greatest]), "{plan}");
            // Two partials of 16 bytes for at least 256.
            let partials = plan.passes()[0].dst.bytes;
            assert!(8 * partials <= problem.input_bytes(0) + 4096, "{plan}");
        }
    }
    // Partials of short segments would cost more than reading the segments four times.
    let short = Problem::extremes(DType::U8, &[4096, 30], 1).expect("a problem");
    assert!(!plain(&short).contains(&"finish"));
    let one = Problem::extremes(DType::U8, &[5, 1], 1).expect("a problem");
    // Every second element of a row.
    let second = Problem::extremes(DType::U8, &[3, 300], 1).expect("a problem");
    assert_eq!(viewed(second, &[600, 2], 0)[0], "strided");
    assert_eq!(plain(&one), ["strided", "fill", "strided", "fill"]);
}

/// With the source there are five storage buffers, or six where its words are bound too.
#[test]
fn four_results_of_rows_are_written_at_once_where_a_device_binds_them() {
    let caps = class(AdapterClass::Discrete);
    let walks_on = |storage_buffers, dtype, shape: &[u64]| {
        let caps = Caps {
            storage_buffers,
            ..caps.clone()
        };
        let problem = Problem::extremes(dtype, shape, 1).expect("a problem");
        let plan = Plan::new(&problem, &caps).expect("a plan");
        let passes = plan.passes().iter();
        let moved: u64 = passes.map(|p| p.src_bytes() + p.dst_bytes()).sum();
        let outputs: u64 = problem.outputs().iter().map(|o| o.bytes()).sum();
        let at_once = moved == problem.input_bytes(0) + outputs;
        assert_eq!(at_once, plan.passes().len() == 1, "{plan}");
        (plan.passes().len(), plan.passes()[0].beside.len())
    };
    let rows = [4096, 16];
    for dtype in [DType::F32, DType::I64] {
        assert_eq!(walks_on(5, dtype, &rows), (1, 3));
        assert_eq!(walks_on(4, dtype, &rows), (3, 0));
    }
    // Rows of vec4 and of what lies before and behind them.
    assert_eq!(walks_on(6, DType::F32, &[1024, 20_001]), (1, 3));
    assert_eq!(walks_on(5, DType::F32, &[1024, 20_001]), (3, 0));
    // Results below a word may begin anywhere in one.
    assert_eq!(walks_on(8, DType::F16, &rows), (3, 0));
    // A row in slices.
    assert_eq!(walks_on(8, DType::F32, &[1, 1 << 20]), (3, 0));
}

#[test]
fn broken_plans_of_extremes_are_refused() {
    let breaks: &[(&str, Break)] = &[
        ("shorter parts", |all| {
            let p = &mut all[0].params;
            // Columns count wide rows.
            match p.rows {
                0 => p.slice -= 1,
                _ => p.slice_rows -= 1,
            }
        }),
        ("a base", |all| all[0].params.base += 1),
        ("no merge", |all| all[1].params.merge = 0),
        ("the smallest for the largest", |all| {
            let last = all.len() - 1;
            all[last].kernel.acc = all[last - 1].kernel.acc;
        }),
        ("one of both", |all| {
            if let Accumulator::Both { keys, last } = all[0].kernel.acc {
                all[0].kernel.acc = Accumulator::Index { keys, last };
            }
        }),
        ("partials in one place", |all| all[0].params.apart -= 1),
        ("an index for a value", |all| {
            last(all).beside[0].slot = Slot::Output(0)
        }),
        ("another's index", |all| {
            let index = &mut last(all).beside[0];
            (index.offset, index.bytes) = (index.element, index.bytes - index.element);
        }),
        ("a value alone", |all| last(all).kernel.beside = None),
        ("partials of the other", |all| source(last(all)).offset = 0),
    ];
    let caps = Caps {
        binding_bytes: 1000,
        offset_alignment: 16,
        ..class(AdapterClass::Software)
    };
    // Rows; columns that are no whole vec4; every second element of rows.
    for (shape, strides, axis) in [
        ([2, 300], [300, 1], 1),
        ([2, 300], [1, 2], 1),
        ([2, 300], [600, 2], 1),
    ] {
        let problem = Problem::extremes(DType::F32, &shape, axis).expect("a problem");
        let problem = problem.strided(0, &strides, 0);
        let plan = check(&problem, &caps, &[0]).expect("a run that ends well");
        assert!(plan.passes().iter().any(|p| p.params.merge == 1), "{plan}");
        refused(&problem, &caps, &plan, breaks);
    }
}

/// Tests the interpreter on views: it must refuse plans that are slightly wrong.
#[test]
fn broken_plans_of_views_are_refused() {
    let breaks: &[(&str, Break)] = &[
        ("a shorter segment", |all| all[0].params.len -= 1),
        ("shorter parts", |all| all[0].params.slice -= 1),
        ("another step", |all| all[0].params.step += 1),
        ("a base", |all| all[0].params.base += 1),
        ("a base less", |all| all[3].params.base = 0),
        ("no merge", |all| all[3].params.merge = 0),
        ("too much merge", |all| all[0].params.merge = 1),
        ("an iteration less", |all| all[0].iterations = 1),
        ("another start", |all| table(all, 0).starts[0] += 1),
        ("another stride", |all| table(all, 0).strides[0][0] += 1),
        ("another size", |all| table(all, 0).shape[0] += 1),
        ("a kept dimension less", |all| all[0].params.kept_dims -= 1),
        ("a shorter view", |all| shorten(input(&mut all[0], 0))),
        ("a view elsewhere", |all| input(&mut all[3], 0).offset -= 4),
        ("indices elsewhere", |all| input(last(all), 1).offset += 8),
    ];
    let caps = fake(2000, 16, 65_535, 16);
    let problem = Problem::arg_min(DType::F32, &[6, 130], 1).expect("a problem");
    let problem = problem.with_values(true);
    let problem = problem.strided(0, &[-2, 9], 20);
    let plan = check(&problem, &caps, &[0]).expect("a run that ends well");
    assert!(plan.passes().iter().any(|p| p.params.merge == 1), "{plan}");
    assert!(plan.passes().iter().any(|p| p.dst.slot == Slot::Partials));
    refused(&problem, &caps, &plan, breaks);
}

/// A window leaves partials, is finished and picked from.
#[test]
fn a_view_whose_windows_take_too_many_dispatches_is_refused_with_their_number() {
    let caps = Caps::webgpu_default();
    let far = |rows: u64, values| {
        let problem = Problem::arg_max(DType::BF16, &[rows], 0).expect("a problem");
        let problem = problem.with_values(values);
        problem.strided(0, &[1 << 28], 0)
    };
    let plan = Plan::new(&far(21_845, true), &caps).expect("a plan");
    assert_eq!(plan.passes().len(), 3 * 21_845);
    let refused = Plan::new(&far(21_846, true), &caps);
    assert!(matches!(
        refused,
        Err(Error::Limit { needed, limit, .. }) if (needed, limit) == (65_538, 65_536)
    ));
    assert!(Plan::new(&far(21_846, false), &caps).is_ok());
}

#[test]
fn inputs_that_span_all_of_memory_together_are_planned_one_element_at_a_time() {
    let mut problem = Problem::min(DType::U8, &[[2], [2], [2]]).expect("a problem");
    for input in 0..3 {
        problem = problem.strided(input, &[i64::MAX - 1], 0);
    }
    let plan = Plan::new(&problem, &Caps::webgpu_default()).expect("a plan");
    assert_eq!(plan.passes().len(), 2, "{plan}");
}
