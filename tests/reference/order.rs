//! Which element wins: zeros, ties, and every type over its full width.

use super::{
    FLOATS, Float, INTEGERS, POLICIES, check_rows, each_float, ends, limits, problem_of, run, value,
};
use wgreduce::{Class, DType, NanPolicy, Op};

#[test]
fn negative_zero_is_below_positive_zero_in_values_and_ties_for_the_index() {
    for &Float { dtype, sign, .. } in &FLOATS {
        for policy in POLICIES {
            let rows = [
                (&[0, sign][..], [sign, 0], [[0, 1]; 2]),
                (&[sign, 0], [sign, 0], [[0, 1]; 2]),
                (&[0, sign, 0], [sign, 0], [[0, 2]; 2]),
                (&[sign, 0, sign], [sign, 0], [[0, 2]; 2]),
            ];
            check_rows(dtype, policy, &rows);
        }
    }
}

#[test]
fn ties_go_to_the_lowest_index_or_to_the_highest_on_request() {
    for dtype in DType::ALL {
        let (lo, hi) = limits(dtype);
        for (op, best, worst) in [(Op::ArgMin, lo, hi), (Op::ArgMax, hi, lo)] {
            let row = [worst, best, worst, best, best, worst];
            let ends = ends(op, dtype, NanPolicy::Propagate, &row);
            assert_eq!(ends, [1, 4], "{op} {dtype}");
            // The same down the columns of a matrix, whose second column is reversed.
            let columns: Vec<u64> = (0..6).flat_map(|i| [row[i], row[5 - i]]).collect();
            for (last, expected) in [(false, [1, 1]), (true, [4, 4])] {
                let problem = problem_of(op, dtype, &[6, 2], &[-2]);
                let problem = problem.map(|p| p.select_last_index(last));
                assert_eq!(run(problem, &[&columns]), [expected], "{op} {dtype}");
            }
        }
    }
}

#[test]
fn the_fused_value_is_the_bits_of_the_element_at_the_index() {
    for (float, op) in each_float(&[Op::ArgMin, Op::ArgMax]) {
        let [_, _, nan, _, other] = float.nans();
        let minus = float.sign;
        let fused = |last| {
            let problem = problem_of(op, float.dtype, &[3, 2], &[1]).map(|p| p.with_values(true));
            let problem = problem.map(|p| p.select_last_index(last));
            run(problem, &[&[nan, other, 0, minus, minus, 0]])
        };
        let dtype = float.dtype;
        let right = [[0, 0, 0], [nan, 0, minus]];
        assert_eq!(fused(false), right, "{op} {dtype}");
        let right = [[1, 1, 1], [other, minus, 0]];
        assert_eq!(fused(true), right, "{op} {dtype}");
    }
}

/// Checks that every element of a list is below all later ones, for values and indices.
fn assert_ascending(dtype: DType, list: &[u64]) {
    for (i, &low) in list.iter().enumerate() {
        for &high in &list[i + 1..] {
            for (op, winner) in [(Op::ReduceMin, low), (Op::Max, high)] {
                for set in [[low, high], [high, low]] {
                    let value = value(op, dtype, NanPolicy::Propagate, &set);
                    assert_eq!(value, winner, "{op} {dtype} {low:x} {high:x}");
                }
            }
            for (op, at) in [(Op::ArgMin, 0), (Op::ArgMax, 1)] {
                let there = ends(op, dtype, NanPolicy::Propagate, &[low, high]);
                let back = ends(op, dtype, NanPolicy::Propagate, &[high, low]);
                let expected = ([at; 2], [1 - at; 2]);
                assert_eq!((there, back), expected, "{op} {dtype} {low:x} {high:x}");
            }
        }
    }
}

#[test]
fn floats_are_ordered_from_infinity_to_infinity_subnormals_included() {
    for float in &FLOATS {
        let Float { sign, inf, one, .. } = *float;
        // The least subnormals, one in the middle, the greatest one, the least normal number.
        let normal = inf & (!inf + 1);
        let subnormal = [1, 2, normal / 2, normal - 1];
        let positive = [&subnormal[..], &[normal, one, one + 1, inf - 1, inf]].concat();
        let negative = positive.iter().rev().map(|p| sign | p);
        let ascending = negative.chain([0]).chain(positive.iter().copied());
        assert_ascending(float.dtype, &ascending.collect::<Vec<_>>());
    }
}

#[test]
fn integers_are_ordered_over_their_full_width() {
    for dtype in INTEGERS {
        let (one, bits) = (1i128, 8 * dtype.size());
        let (least, most) = match dtype.class() {
            Class::Signed => (-one << (bits - 1), (one << (bits - 1)) - 1),
            _ => (0, (one << bits) - 1),
        };
        // Around zero, both ends, and what a narrower type or a float would take for another.
        let powers = [0, 7, 8, 15, 16, 24, 31, 32, 53, 63].map(|power| one << power);
        let edges = [least, most].into_iter().chain(powers);
        let near = edges.flat_map(|edge| [edge - 1, edge, edge + 1, -edge - 1, -edge]);
        let mut all: Vec<i128> = near.filter(|x| (least..=most).contains(x)).collect();
        all.sort_unstable();
        all.dedup();
        let ones = u64::MAX >> (64 - bits);
        let all: Vec<u64> = all.into_iter().map(|x| x as u64 & ones).collect();
        assert_ascending(dtype, &all);
    }
}

#[test]
fn bytes_that_are_true_tie_for_the_index() {
    let row = [0, 7, 1, 255, 0];
    let ends = |op| ends(op, DType::Bool, NanPolicy::Propagate, &row);
    assert_eq!(ends(Op::ArgMax), [1, 3]);
    assert_eq!(ends(Op::ArgMin), [0, 4]);
}
