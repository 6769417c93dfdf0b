//! The operators by magnitude: elements without a sign, and the largest magnitude.

use super::{FLOATS, POLICIES, limits, run};
use wgreduce::{Class, DType, NanPolicy, Problem, ProblemError};

#[test]
fn the_smallest_integer_has_the_largest_magnitude() {
    for dtype in [DType::I8, DType::I16, DType::I32, DType::I64] {
        let (lowest, highest) = limits(dtype);
        let negative = |x: u64| x.wrapping_neg() & (u64::MAX >> (64 - 8 * dtype.size()));
        for (row, index, norm) in [
            ([1, highest, lowest, negative(1)], 2, lowest),
            ([1, highest, negative(highest), 0], 1, highest),
            ([negative(7), 7, 3, negative(6)], 0, 7),
            ([0, 0, negative(1), 1], 2, 1),
            ([0, 0, 0, 0], 0, 0),
        ] {
            let made = Problem::reduce_max_abs(dtype, &[4], &[0]);
            let unsigned = made.as_ref().unwrap().outputs()[0].dtype;
            assert_eq!(unsigned.class(), Class::Unsigned);
            assert_eq!(unsigned.size(), dtype.size());
            assert_eq!(run(made, &[&row]), [[norm]], "{dtype} {row:x?}");
            let made = Problem::arg_max_abs(dtype, &[4], 0).map(|p| p.with_values(true));
            let expected = [[index], [row[index as usize]]];
            assert_eq!(run(made, &[&row]), expected, "{dtype} {row:x?}");
        }
        let ties = Problem::arg_max_abs(dtype, &[4], 0).map(|p| p.select_last_index(true));
        let row = [7, negative(7), negative(7), 6];
        assert_eq!(run(ties, &[&row]), [[2]], "{dtype}");
    }
}

#[test]
fn magnitudes_of_floats_have_no_sign_and_nans_rule_as_elsewhere() {
    for float in &FLOATS {
        let (dtype, sign, inf, one, nan) = float.parts();
        let problem = |policy| Ok(Problem::reduce_max_abs(dtype, &[3], &[0])?.nan(policy));
        let arg = |policy| Ok(Problem::arg_max_abs(dtype, &[3], 0)?.nan(policy));
        for (row, index, norm) in [
            ([one, sign | one, sign | (one + 1)], 2, one + 1),
            ([one, sign | inf, inf], 1, inf),
            ([sign | 1, 1, 0], 0, 1),
            ([sign, 0, sign], 0, 0),
        ] {
            for policy in POLICIES {
                assert_eq!(run(problem(policy), &[&row]), [[norm]], "{dtype} {row:x?}");
                assert_eq!(run(arg(policy), &[&row]), [[index]], "{dtype} {row:x?}");
            }
        }
        for some in float.nans() {
            let row = [sign | inf, some, one];
            for (policy, norm, index) in
                [(NanPolicy::Propagate, nan, 1), (NanPolicy::Ignore, inf, 0)]
            {
                assert_eq!(run(problem(policy), &[&row]), [[norm]], "{dtype} {some:x}");
                assert_eq!(run(arg(policy), &[&row]), [[index]], "{dtype} {some:x}");
                let all = [some; 3];
                assert_eq!(run(problem(policy), &[&all]), [[nan]], "{dtype} {some:x}");
                assert_eq!(run(arg(policy), &[&all]), [[0]], "{dtype} {some:x}");
            }
        }
    }
}

#[test]
fn magnitudes_of_what_has_no_sign_are_the_elements() {
    for dtype in [DType::U8, DType::U16, DType::U32, DType::U64] {
        let row = [3, limits(dtype).1, 5];
        let norm = Problem::reduce_max_abs(dtype, &[3], &[]);
        assert_eq!(run(norm, &[&row]), [[row[1]]], "{dtype}");
        assert_eq!(run(Problem::arg_max_abs(dtype, &[3], 0), &[&row]), [[1]]);
    }
    let norm = Problem::reduce_max_abs(DType::Bool, &[2, 2], &[1]);
    assert_eq!(run(norm, &[&[0, 2, 0, 0]]), [[1, 0]]);
}

#[test]
fn the_norm_of_nothing_is_zero_and_no_element_has_an_index() {
    for dtype in DType::ALL {
        let norm = Problem::reduce_max_abs(dtype, &[2, 0], &[1]);
        assert_eq!(run(norm, &[&[]]), [[0, 0]], "{dtype}");
        let index = Problem::arg_max_abs(dtype, &[2, 0], 1);
        assert!(matches!(index, Err(ProblemError::EmptyAxis { .. })));
    }
}
