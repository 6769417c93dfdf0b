//! What limits on bindings cost: plans of tensors just below and just above them, on the host interpreter and by the
//! bytes that they move.

use super::fake;
use super::interpret::run;
use super::memory::Memory;
use super::truth::Truth;
use proptest::prelude::*;
use support::grid::{CLASSES, SIZES, class, tuned};
use support::sum_problem;
use wgreduce::unstable::Pass;
use wgreduce::{AdapterClass, Caps, Class, DType, IndexType, Plan, Problem};

/// The ways to reduce dimension 1 of a shape.
fn ways(dtype: DType, shape: &[u64]) -> Vec<Problem> {
    let index = Problem::arg_max(dtype, shape, 1);
    let values = Problem::arg_min(dtype, shape, 1).map(|p| p.with_values(true));
    let narrow = Problem::arg_min(dtype, shape, 1).map(|p| p.index_type(IndexType::I32));
    let least = Problem::reduce_min(dtype, shape, &[1]);
    let all = [index, values, narrow, least].map(|p| p.expect("a problem"));
    let mut all = all.to_vec();
    if dtype != DType::Bool {
        all.extend((0..5).map(|way| sum_problem(dtype, shape, &[1], way).expect("a sum")));
    }
    all
}

/// Bytes that a plan reads and writes, of which a gather reads an element for each index.
fn moved(plan: &Plan) -> u64 {
    let read = |p: &Pass| match p.indices {
        Some(indices) => indices.bytes + p.dst.bytes,
        None => p.src_bytes(),
    };
    plan.passes().iter().map(|p| read(p) + p.dst_bytes()).sum()
}

/// The same per byte of the input and the outputs.
fn share(problem: &Problem, plan: &Plan) -> f64 {
    let written: u64 = problem.outputs().iter().map(|o| o.bytes()).sum();
    moved(plan) as f64 / (problem.input_bytes(0) + written) as f64
}

/// A plan in memory, and one for a stream.
fn plans(problem: &Problem, caps: &Caps) -> [Plan; 2] {
    let plans = [Plan::new(problem, caps), Plan::streamed(problem, caps)];
    plans.map(|plan| plan.expect("a plan"))
}

fn shares(problem: &Problem, caps: &Caps) -> [f64; 2] {
    plans(problem, caps).map(|plan| share(problem, &plan))
}

/// Rows of a matrix that is just too large for a binding are still seen by one that begins at the first and ends at the
/// last, for all but a few columns.
#[test]
fn a_matrix_just_above_a_limit_moves_little_more_than_a_smaller_one() {
    let bindings = |kind| [1 << 27, (1 << 31) - 4].map(|binding| (kind, binding));
    for (kind, binding_bytes) in CLASSES.into_iter().flat_map(bindings) {
        let caps = Caps {
            binding_bytes,
            ..class(kind)
        };
        for dtype in DType::ALL {
            // A dispatch sees no more elements, whatever its binding does.
            let seen = (binding_bytes / dtype.size()).min(1 << 30);
            for len in [2, 3, 4, 8, 20, 32, 64, 100, 200, 255] {
                let inner = seen / len / 64 * 64;
                // Rows that are whole vec4, and rows that are not.
                for (small, around) in [
                    (inner / 4 / 64 * 64, vec![inner - 64, inner + 128]),
                    (inner / 4 / 64 * 64 + 1, vec![inner - 63, inner + 129]),
                ] {
                    let small = ways(dtype, &[1, len, small]);
                    let shares = small.iter().map(|p| shares(p, &caps));
                    let shares: Vec<[f64; 2]> = shares.collect();
                    for inner in around {
                        let problems = ways(dtype, &[1, len, inner]);
                        for (problem, least) in problems.iter().zip(&shares) {
                            for (plan, least) in plans(problem, &caps).iter().zip(least) {
                                let times = share(problem, plan) / least;
                                assert!(times <= 1.5, "{times:.2} times on {caps:?}: {plan}");
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Rows of which a binding holds few: partial results, or a copy where they would be more.
#[test]
fn matrices_of_which_no_binding_sees_all_rows_move_at_most_three_times_their_bytes() {
    for caps in [Caps::typical(AdapterClass::Software), discrete()] {
        for dtype in SIZES {
            let seen = (caps.binding_bytes / dtype.size()).min(1 << 30);
            for (len, held) in [3, 9, 40, 300].into_iter().zip([1, 2, 3, 10]) {
                let inner = (seen / (held + 1)).next_multiple_of(64);
                let small = ways(dtype, &[1, len, seen / len / 4 / 64 * 64]);
                let problems = ways(dtype, &[1, len, inner]);
                for (problem, small) in problems.iter().zip(&small) {
                    let least = shares(small, &caps).into_iter().zip([3.1, 1.3]);
                    for (plan, (least, most)) in plans(problem, &caps).iter().zip(least) {
                        let times = share(problem, plan) / least;
                        assert!(times <= most, "{times:.2} times: {plan}");
                    }
                }
            }
        }
    }
}

fn discrete() -> Caps {
    Caps::typical(AdapterClass::Discrete)
}

#[test]
fn outputs_and_partial_sums_above_a_binding_cut_columns() {
    for (problem, most) in [
        (Problem::arg_min(DType::U8, &[4, 1 << 28], 0), 1.3),
        (Problem::reduce_sum(DType::F64, &[32, 524_288], &[0]), 1.5),
        (Problem::reduce_sum(DType::F32, &[32, 8_388_608], &[0]), 1.5),
        (Problem::reduce_sum(DType::F16, &[64, 4_194_304], &[0]), 1.5),
        (Problem::reduce_l2(DType::BF16, &[64, 4_194_304], &[0]), 3.0),
        (Problem::arg_max(DType::U8, &[32, 33_554_432], 0), 1.5),
    ] {
        let problem = problem.expect("a problem");
        for caps in [discrete(), class(AdapterClass::Software)] {
            // A window of a stream has 32 MiB.
            let caps = caps.lowered(32 << 20, caps.workgroups);
            let [_, plan] = plans(&problem, &caps);
            let share = share(&problem, &plan);
            assert!(share <= most, "{share:.2} times: {plan}");
        }
        let [plan, _] = plans(&problem, &discrete());
        let share = share(&problem, &plan);
        assert!(share <= most, "{share:.2} times: {plan}");
    }
}

#[test]
fn a_driver_without_a_limit_on_iterations_sums_a_gigabyte_in_two_dispatches() {
    for (dtype, elements) in [
        (DType::F32, 1 << 28),
        (DType::F64, 1 << 27),
        (DType::BF16, 1 << 29),
    ] {
        let problem = Problem::reduce_sum(dtype, &[elements], &[0]).expect("a problem");
        let [plan, _] = plans(&problem, &discrete());
        assert_eq!(plan.passes().len(), 2, "{plan}");
        let [mesa, _] = plans(&problem, &class(AdapterClass::Software));
        assert!(mesa.passes().len() > 8, "{mesa}");
    }
    // Columns of which there are few, and columns of whole rows: enough workgroups for 132 multiprocessors.
    for (dtype, shape) in [
        (DType::F32, [1 << 26, 3]),
        (DType::BF16, [1 << 26, 3]),
        (DType::F64, [1 << 25, 3]),
        (DType::F32, [16_384, 16_384]),
        (DType::F64, [16_384, 8192]),
        (DType::F16, [16_384, 16_384]),
    ] {
        let problem = Problem::reduce_sum(dtype, &shape, &[0]).expect("a problem");
        let [plan, _] = plans(&problem, &discrete());
        let [x, y, _] = plan.passes()[0].workgroups;
        assert!(x * y >= 264, "{plan}");
    }
}

#[test]
fn sums_of_columns_of_every_length_stay_within_a_driver_s_iterations() {
    let mesa = class(AdapterClass::Software);
    let short = Caps {
        long_kernels: false,
        ..mesa.clone()
    };
    for (dtype, inner) in [(DType::F32, 2), (DType::BF16, 2), (DType::BF16, 33)] {
        for len in (1201..5000).step_by(2) {
            let problem = Problem::reduce_sum(dtype, &[2, len, inner], &[1]).expect("a problem");
            for caps in [&mesa, &short] {
                let plan = Plan::new(&problem, caps);
                assert!(plan.is_ok(), "{problem}: {:?}", plan.err());
            }
        }
    }
}

#[test]
fn the_workgroups_of_a_grid_lie_in_rows_of_one_length() {
    // One workgroup more than a row of a grid may have.
    let problem = Problem::arg_min(DType::F32, &[65_536 * 256, 16], 1).expect("a problem");
    let plan = Plan::new(&problem, &discrete()).expect("a plan");
    assert_eq!(plan.passes()[0].workgroups, [32_768, 2, 1], "{plan}");
}

proptest! {
    #![proptest_config(support::property(4000))]

    #[test]
    fn every_element_reaches_its_output_once_where_limits_cut_columns(
        (outer, len) in (1u64..3, 2u64..40),
        inner in prop_oneof![64u64..400, (1u64..7).prop_map(|lines| 64 * lines + 1)],
        dtype in prop::sample::select(SIZES.to_vec()),
        way in 0usize..11,
        (binding, alignment) in prop::sample::select(vec![(512, 16), (1024, 256), (2048, 32), (4096, 16)]),
        wg in prop::sample::select(vec![4u32, 32]),
        small in any::<bool>(),
    ) {
        let shape = [outer, len, inner];
        let mut ways = ways(dtype, &shape);
        // The second step of these reads what the first one has left, as the columns of a matrix.
        let few = len % 7 + 2;
        for problem in [
            Problem::reduce_max(dtype, &[few, inner, few + 1], &[0, 2]),
            Problem::reduce_max_abs(dtype, &[2, few, inner, few + 1], &[1, 3]),
        ] {
            ways.push(problem.expect("a problem"));
        }
        let problem = ways.swap_remove(way);
        let binding = binding * dtype.size();
        let mut caps = fake(binding, alignment, 1000, wg);
        if small {
            caps.long_kernels = false;
        }
        for plan in &plans(&problem, &caps) {
            let done = run(Memory::of(&problem, &caps, plan), &Truth::new(&problem), plan.passes());
            prop_assert!(done.is_ok(), "{}: {}; {}", problem, done.err().unwrap_or_default(), plan);
        }
    }
}

/// Rows of integers are in no danger of being far, so that only their blocks and what comes after them count.
#[test]
fn long_rows_of_integers_have_a_plan_whatever_the_limit_on_iterations() {
    let caps = Caps::typical(AdapterClass::Software);
    let alone = tuned(&caps, |t| (t.invocations, t.slices) = (1, 1));
    let integers = support::summed().filter(|t| t.class() != Class::Float);
    for dtype in integers {
        for caps in [&caps, &alone] {
            for n in [15_613_953, 16_000_000, 16_777_216, 40_000_000] {
                let problem = Problem::reduce_l2(dtype, &[n], &[0]).expect("a problem");
                Plan::new(&problem, caps).unwrap_or_else(|e| panic!("{problem}: {e}"));
            }
        }
    }
}
