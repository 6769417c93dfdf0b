//! The effect of a NaN on values, indices and copies, under both policies.

use super::{FLOATS, Float, POLICIES, VALUE_OPS, check_rows, each_float, limits, problem_of, run};
use wgreduce::{DType, NanPolicy, Op, Problem};

#[test]
fn a_nan_wins_or_is_ignored() {
    for float in &FLOATS {
        let Float { dtype, one, .. } = *float;
        let (canonical, sign) = ([float.nan; 2], float.sign);
        let (lo, hi) = limits(dtype);
        let nans = float.nans();
        for (i, x) in nans.into_iter().enumerate() {
            let y = nans[(i + 1) % nans.len()];
            let only = (&[x, y, x][..], canonical, [[0, 2]; 2]);
            let propagated = [
                (&[hi, one, x, sign, lo][..], canonical, [[2; 2]; 2]),
                (&[x, lo, hi], canonical, [[0; 2]; 2]),
                (&[hi, lo, x], canonical, [[2; 2]; 2]),
                (&[lo, hi, x, lo, y, hi], canonical, [[2, 4]; 2]),
                only,
            ];
            check_rows(dtype, NanPolicy::Propagate, &propagated);
            let ignored = [
                (&[x, 0, one][..], [0, one], [[1; 2], [2; 2]]),
                (&[one, x, 0], [0, one], [[2; 2], [0; 2]]),
                (&[hi, one, x], [one, hi], [[1; 2], [0; 2]]),
                (&[x, y, sign], [sign; 2], [[2; 2]; 2]),
                (&[x, lo, hi, y, lo, hi, x], [lo, hi], [[1, 4], [2, 5]]),
                // Not even the worst number loses to it.
                (&[hi, x, hi], [hi; 2], [[0, 2]; 2]),
                (&[lo, x, lo], [lo; 2], [[0, 2]; 2]),
                only,
            ];
            check_rows(dtype, NanPolicy::Ignore, &ignored);
        }
    }
}

#[test]
fn one_nan_becomes_canonical_in_a_reduction_of_length_1_and_at_rank_0() {
    for (float, op) in each_float(&[Op::ReduceMin, Op::ReduceMax]) {
        for nan in float.nans() {
            for policy in POLICIES {
                for shape in [&[][..], &[1], &[1, 1]] {
                    let problem = problem_of(op, float.dtype, shape, &[]).map(|p| p.nan(policy));
                    assert_eq!(run(problem, &[&[nan]]), [[float.nan]]);
                }
                // Also if only one of two axes is reduced.
                let problem = problem_of(op, float.dtype, &[2, 1], &[1]).map(|p| p.nan(policy));
                assert_eq!(run(problem, &[&[nan, 0]]), [[float.nan, 0]]);
            }
        }
    }
}

#[test]
fn a_noop_and_min_or_max_of_one_input_copy_bits() {
    for (float, op) in each_float(&VALUE_OPS) {
        let nans = float.nans();
        let problem = problem_of(op, float.dtype, &[5], &[]);
        let problem = problem.map(|p| p.noop_with_empty_axes(!op.is_elementwise()));
        assert_eq!(run(problem, &[&nans]), [nans]);
    }
    let noop = Problem::reduce_max(DType::Bool, &[3], &[]).unwrap();
    let noop = noop.noop_with_empty_axes(true);
    assert_eq!(run(Ok(noop), &[&[7, 0, 1]]), [[7, 0, 1]]);
    let copy = Problem::min(DType::Bool, &[[3]]);
    assert_eq!(run(copy, &[&[7, 0, 1]]), [[7, 0, 1]]);
}
