//! The effect of a NaN on values, indices and copies, under both policies.

use super::{POLICIES, VALUE_OPS, each_float, ends, limits, problem_of, run, value};
use wgreduce::{DType, NanPolicy, Op, Problem};

#[test]
fn a_nan_anywhere_makes_the_value_the_canonical_nan() {
    for (float, op) in each_float(&VALUE_OPS) {
        for nan in float.nans() {
            for at in 0..5 {
                let mut set = [float.inf, float.one, 0, float.sign, float.sign | float.inf];
                set[at] = nan;
                let value = value(op, float.dtype, NanPolicy::Propagate, &set);
                assert_eq!(value, float.nan, "{op} {} {nan:#x} at {at}", float.dtype);
            }
        }
    }
}

#[test]
fn an_ignored_nan_leaves_the_value_to_the_others() {
    for (float, op) in each_float(&VALUE_OPS) {
        for nan in float.nans() {
            for (min, set) in [
                (0, [nan, 0, float.one]),
                (0, [float.one, nan, 0]),
                (float.one, [float.inf, float.one, nan]),
                (float.sign, [nan, nan, float.sign]),
            ] {
                let max = match op.is_max() {
                    true if min == float.one => float.inf,
                    true if min == 0 => float.one,
                    _ => min,
                };
                let value = value(op, float.dtype, NanPolicy::Ignore, &set);
                assert_eq!(value, max, "{op} {} {set:x?}", float.dtype);
            }
        }
    }
}

#[test]
fn only_nan_gives_the_canonical_nan_under_both_policies() {
    for (float, op) in each_float(&VALUE_OPS) {
        let [a, b, c, d, e] = float.nans();
        for policy in POLICIES {
            for set in [[b, c], [c, d], [d, e], [e, a]] {
                assert_eq!(
                    value(op, float.dtype, policy, &set),
                    float.nan,
                    "{op} {set:x?}"
                );
            }
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

#[test]
fn the_index_is_that_of_the_first_nan_or_of_the_last() {
    for (float, op) in each_float(&[Op::ArgMin, Op::ArgMax]) {
        let (lo, hi) = limits(float.dtype);
        for nan in float.nans() {
            for (row, first, last) in [
                (&[lo, hi, nan, lo, nan, hi][..], 2, 4),
                (&[nan, lo, hi], 0, 0),
                (&[hi, lo, nan], 2, 2),
                (&[nan, nan, nan], 0, 2),
            ] {
                let ends = ends(op, float.dtype, NanPolicy::Propagate, row);
                assert_eq!(ends, [first, last], "{op} {} {row:x?}", float.dtype);
            }
        }
    }
}

#[test]
fn an_ignored_nan_is_no_index_unless_there_is_nothing_else() {
    for (float, op) in each_float(&[Op::ArgMin, Op::ArgMax]) {
        let (lo, hi) = limits(float.dtype);
        let (best, worst) = if op.is_max() { (hi, lo) } else { (lo, hi) };
        for nan in float.nans() {
            for (row, first, last) in [
                (&[nan, worst, best, nan, best, nan][..], 2, 4),
                (&[worst, nan, worst], 0, 2),
                (&[nan, worst, nan], 1, 1),
                (&[nan, nan, nan], 0, 2),
                (&[nan], 0, 0),
            ] {
                let ends = ends(op, float.dtype, NanPolicy::Ignore, row);
                assert_eq!(ends, [first, last], "{op} {} {row:x?}", float.dtype);
            }
        }
    }
}
