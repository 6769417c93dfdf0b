//! The sums with expected results by hand: at least a row for every rule.

use super::{FLOATS, Float, INTEGERS, POLICIES, limits, run};
use NanPolicy::{Ignore, Propagate};
use Op::{ReduceL1, ReduceL2, ReduceMean, ReduceSum, ReduceSumSquare};
use half::{bf16, f16};
use support::problem_of;
use wgreduce::{Class, DType, NanPolicy, Op, ProblemError};

/// The result of a row.
fn of(op: Op, dtype: DType, nan: NanPolicy, row: &[u64]) -> u64 {
    let problem = problem_of(op, dtype, &[row.len() as u64], &[0]).map(|p| p.nan(nan));
    run(problem, &[row])[0][0]
}

/// The results of all five sums, in the order of [`Op::SUMS`].
fn all(dtype: DType, nan: NanPolicy, row: &[u64]) -> [u64; 5] {
    Op::SUMS.map(|op| of(op, dtype, nan, row))
}

/// The bits of a number that every float type can hold.
fn bits(dtype: DType, number: f32) -> u64 {
    match dtype {
        DType::BF16 => {
            let short = bf16::from_f32(number);
            assert_eq!(short.to_f32(), number);
            short.to_bits().into()
        }
        DType::F16 => {
            let short = f16::from_f32(number);
            assert_eq!(short.to_f32(), number);
            short.to_bits().into()
        }
        DType::F32 => number.to_bits().into(),
        DType::F64 => f64::from(number).to_bits(),
        other => panic!("{other} is no float"),
    }
}

impl Float {
    /// The least positive number.
    fn least(&self) -> u64 {
        1
    }

    /// The greatest finite number.
    fn most(&self) -> u64 {
        self.inf - 1
    }

    /// Bits of a fraction.
    fn fraction(&self) -> u32 {
        self.inf.trailing_zeros()
    }

    /// 2^exponent.
    fn power(&self, exponent: i64) -> u64 {
        let exponents = (self.one >> self.fraction()) as i64 + exponent;
        (exponents as u64) << self.fraction()
    }
}

/// The results for integers, in a type wide enough for all of them.
fn integers(dtype: DType, row: &[i128]) -> [i128; 5] {
    let size = 8 * dtype.size();
    let row: Vec<u64> = row.iter().map(|&x| x as u64).collect();
    let unused = 128 - size;
    all(dtype, Propagate, &row).map(|bits| match dtype.class() {
        Class::Signed => (i128::from(bits) << unused) >> unused,
        _ => i128::from(bits),
    })
}

#[test]
fn sums_of_small_numbers() {
    for float in &FLOATS {
        let dtype = float.dtype;
        let row = [3.0, -4.0, 12.0, 0.0].map(|x| bits(dtype, x));
        let expected = [11.0, 2.75, 19.0, 13.0, 169.0].map(|x| bits(dtype, x));
        assert_eq!(all(dtype, Propagate, &row), expected, "{dtype}");
        let pair = [-3.0, 4.0].map(|x| bits(dtype, x));
        let expected = [1.0, 0.5, 7.0, 5.0, 25.0].map(|x| bits(dtype, x));
        assert_eq!(all(dtype, Propagate, &pair), expected, "{dtype}");
    }
    for dtype in INTEGERS {
        // 170 does not fit in int8; its root is 13.04.
        let squares = if dtype == DType::I8 { 170 - 256 } else { 170 };
        let expected = [20, 5, 20, 13, squares];
        assert_eq!(integers(dtype, &[3, 4, 12, 1]), expected, "{dtype}");
    }
}

// S1: exact, rounded once.

#[test]
fn what_cancels_leaves_what_is_left() {
    for float in &FLOATS {
        let (sign, most, least) = (float.sign, float.most(), float.least());
        let row = [most, least, sign | most];
        assert_eq!(of(ReduceSum, float.dtype, Propagate, &row), least);
        let row = [least, most, float.one, sign | most, sign | float.one];
        assert_eq!(of(ReduceSum, float.dtype, Propagate, &row), least);
        let row = [sign | most, sign | least, most, 0];
        let sum = of(ReduceSum, float.dtype, Propagate, &row);
        assert_eq!(sum, sign | least);
        // An intermediate sum may exceed the largest number.
        let row = [most, most, sign | most];
        assert_eq!(of(ReduceSum, float.dtype, Propagate, &row), most);
    }
}

#[test]
fn a_tie_goes_to_the_even_number_and_the_least_bit_breaks_it() {
    for float in &FLOATS {
        let (dtype, sign, _, one, _) = float.parts();
        let half = float.power(-i64::from(float.fraction()) - 1);
        let next = one + 1;
        for (row, expected) in [
            (&[one, half][..], one),
            (&[one, half, 1], next),
            (&[one, half, sign | 1], one),
            (&[next, half], one + 2),
            (&[next, half, sign | 1], next),
            (&[next, half, 1], one + 2),
            (&[one, half - 1], one),
            (&[one, half + 1], next),
            (&[one, half, half], next),
        ] {
            let sum = of(ReduceSum, dtype, Propagate, row);
            assert_eq!(sum, expected, "{dtype} {row:x?}");
            let negative: Vec<u64> = row.iter().map(|bits| bits ^ sign).collect();
            let sum = of(ReduceSum, dtype, Propagate, &negative);
            assert_eq!(sum, sign | expected, "{dtype} {negative:x?}");
            let l1 = of(ReduceL1, dtype, Propagate, &[row[0] | sign]);
            assert_eq!(l1, row[0]);
        }
    }
}

#[test]
fn past_the_largest_number_is_infinity() {
    for float in &FLOATS {
        let (dtype, sign, most, inf) = (float.dtype, float.sign, float.most(), float.inf);
        // Half of the step from the largest number to the next one.
        let greatest =
            (float.inf >> float.fraction()) as i64 - 1 - (float.one >> float.fraction()) as i64;
        let half = float.power(greatest - i64::from(float.fraction()) - 1);
        for (row, expected) in [
            (&[most, most][..], inf),
            (&[most, half], inf),
            (&[most, half, sign | 1], most),
            (&[most, half - 1], most),
        ] {
            assert_eq!(of(ReduceSum, dtype, Propagate, row), expected, "{dtype}");
            let negative: Vec<u64> = row.iter().map(|bits| bits ^ sign).collect();
            let sum = of(ReduceSum, dtype, Propagate, &negative);
            assert_eq!(sum, sign | expected, "{dtype}");
        }
        // The sum of a mean and the squares of a root may exceed the largest number.
        assert_eq!(of(ReduceMean, dtype, Propagate, &[most; 5]), most);
        assert_eq!(of(ReduceL2, dtype, Propagate, &[sign | most]), most);
        assert_eq!(of(ReduceL2, dtype, Propagate, &[most, 1]), most);
        assert_eq!(of(ReduceL2, dtype, Propagate, &[most, most]), inf);
        assert_eq!(of(ReduceSumSquare, dtype, Propagate, &[most]), inf);
    }
}

#[test]
fn subnormals_count() {
    for float in &FLOATS {
        let &Float { dtype, sign, .. } = float;
        let one = |op, row: &[u64]| of(op, dtype, Propagate, row);
        assert_eq!(one(ReduceSum, &[1, 2, 3]), 6);
        assert_eq!(one(ReduceSum, &[1, sign | 3]), sign | 2);
        assert_eq!(one(ReduceL1, &[1, sign | 3]), 4);
        assert_eq!(one(ReduceL2, &[3, sign | 4]), 5);
        // 2.24 and 1.41 are rounded to the nearest.
        assert_eq!(one(ReduceL2, &[1, 2]), 2);
        assert_eq!(one(ReduceL2, &[1, 1]), 1);
        assert_eq!(one(ReduceMean, &[1, 0, 0]), 0);
        // Halves go to the even number.
        assert_eq!(one(ReduceMean, &[1, 0]), 0);
        assert_eq!(one(ReduceMean, &[3, 0]), 2);
        assert_eq!(one(ReduceMean, &[2, 3]), 2);
        assert_eq!(one(ReduceMean, &[2, 0, 0]), 1);
        // The square is far below the least number.
        assert_eq!(one(ReduceSumSquare, &[1, sign | 5]), 0);
        // The largest subnormal plus the least is the first normal number.
        let normal = 1 << float.fraction();
        assert_eq!(one(ReduceSum, &[normal - 1, 1]), normal);
    }
}

#[test]
fn a_division_is_rounded_once() {
    for float in &FLOATS {
        let (dtype, one) = (float.dtype, float.one);
        // (1 + next) / 2 is a tie; (1 + next + next) / 3 is not.
        assert_eq!(of(ReduceMean, dtype, Propagate, &[one, one + 1]), one);
        let row = [one, one + 1, one + 1];
        assert_eq!(of(ReduceMean, dtype, Propagate, &row), one + 1);
        // A far smaller element breaks the tie.
        let row = [one, one + 1, 1, 0];
        let expected = one - (1 << float.fraction());
        assert_eq!(of(ReduceMean, dtype, Propagate, &row), expected + 1);
        let row = [one, one + 1, 0, 0];
        assert_eq!(of(ReduceMean, dtype, Propagate, &row), expected);
    }
    // 1 / 3 and 2 / 3 to the last bit.
    let third = |row: [f64; 3]| {
        let row = row.map(f64::to_bits);
        f64::from_bits(of(ReduceMean, DType::F64, Propagate, &row))
    };
    assert_eq!(third([1.0, 0.0, 0.0]), 1.0 / 3.0);
    assert_eq!(third([1.0, -3.0, 0.0]), -2.0 / 3.0);
}

#[test]
fn a_root_is_rounded_once() {
    let root = |row: &[f64]| {
        let row: Vec<u64> = row.iter().map(|x| x.to_bits()).collect();
        f64::from_bits(of(ReduceL2, DType::F64, Propagate, &row))
    };
    // The square root of the standard library is right for an exact sum.
    assert_eq!(root(&[1.0, 1.0]), 2f64.sqrt());
    assert_eq!(root(&[1.0, -1.0, 1.0]), 3f64.sqrt());
    let large = 2f64.powi(600);
    assert_eq!(root(&[3.0 * large, 4.0 * large]), 5.0 * large);
    assert_eq!(root(&[2f64.powi(-600); 4]), 2f64.powi(-599));
    // sqrt(1 + 2^-1000) is just above 1.
    assert_eq!(root(&[1.0, 2f64.powi(-500)]), 1.0);
    assert_eq!(root(&[1.0 + f64::EPSILON]), 1.0 + f64::EPSILON);
    // The middle between 1 and the next number is 1 + 2^-53. Its square is 1 + 2^-52 + 2^-106.
    let [a, b] = [-26, -53].map(|exponent| 2f64.powi(exponent));
    assert_eq!(root(&[1.0, a]), 1.0);
    assert_eq!(root(&[1.0, a, b]), 1.0);
    assert_eq!(root(&[1.0, a, b, 2f64.powi(-500)]), 1.0 + f64::EPSILON);
    assert_eq!(root(&[1.0, a, b, f64::from_bits(1)]), 1.0 + f64::EPSILON);
}

#[test]
fn ones_beyond_what_the_type_counts_are_counted() {
    for (n, expected) in [
        (1 << 24, 16_777_216f32),
        ((1 << 24) + 1, 16_777_216.0),
        ((1 << 24) + 3, 16_777_220.0),
    ] {
        // One element, repeated.
        let problem = |op| {
            let problem = problem_of(op, DType::F32, &[n], &[0]);
            problem.map(|p| p.strided(0, &[0], 0))
        };
        let one = [u64::from(1f32.to_bits())];
        let sum = run(problem(ReduceSum), &[&one])[0][0];
        assert_eq!(sum, u64::from(expected.to_bits()), "{n}");
        let mean = run(problem(ReduceMean), &[&one])[0][0];
        assert_eq!(mean, one[0], "{n}");
    }
    for (dtype, one, expected) in [
        (DType::F16, 0x3c00, 0x7c00),
        (DType::BF16, 0x3f80, 0x4789),
        (DType::U16, 1, 4464),
    ] {
        let problem = problem_of(ReduceSum, dtype, &[70_000], &[0]).map(|p| p.strided(0, &[0], 0));
        // 70,000 is infinite in float16, 70,144 in bfloat16, and wraps to 4464 in uint16.
        assert_eq!(run(problem, &[&[one]])[0][0], expected, "{dtype}");
        let problem = problem_of(ReduceMean, dtype, &[70_000], &[0]).map(|p| p.strided(0, &[0], 0));
        let mean = if dtype == DType::U16 { 0 } else { one };
        assert_eq!(run(problem, &[&[one]])[0][0], mean, "{dtype}");
    }
}

// S2 to S4, S8: NaN, infinities, zeros, nothing.

#[test]
fn sums_of_special_numbers() {
    for float in &FLOATS {
        let (dtype, sign, inf, one, nan) = float.parts();
        let check = |policy, rows: &[(&[u64], [u64; 5])]| {
            for (row, expected) in rows {
                assert_eq!(all(dtype, policy, row), *expected, "{dtype} {row:x?}");
            }
        };
        let (none, minus) = ([0, nan, 0, 0, 0], [sign, sign, 0, 0, 0]);
        for policy in POLICIES {
            let rows = [
                (&[][..], none),
                (&[one, inf], [inf; 5]),
                (&[inf, sign | one, inf], [inf; 5]),
                (&[sign | inf, one], [sign | inf, sign | inf, inf, inf, inf]),
                (&[inf, one, sign | inf], [nan, nan, inf, inf, inf]),
                // A sum is -0 only of -0.
                (&[sign], minus),
                (&[sign; 9], minus),
                (&[0, 0], [0; 5]),
                (&[sign, 0, sign], [0; 5]),
            ];
            check(policy, &rows);
            for op in [ReduceSum, ReduceMean] {
                assert_eq!(of(op, dtype, policy, &[sign | one, one]), 0);
                assert_eq!(of(op, dtype, policy, &[sign, one, sign | one, sign]), 0);
            }
        }
        let [a, b] = [-3.0, 4.0].map(|x| bits(dtype, x));
        let without = [1.0, 0.5, 7.0, 5.0, 25.0].map(|x| bits(dtype, x));
        for x in float.nans() {
            let anywhere = [&[x, inf, 0][..], &[one, x, 0], &[one, inf, x], &[x]];
            check(Propagate, &anywhere.map(|row| (row, [nan; 5])));
            // Ignored NaNs are neither summed nor counted.
            let rows = [
                (&[x, a, b][..], without),
                (&[a, x, b], without),
                (&[a, b, x], without),
                (&[x, x], none),
                (&[x, sign, x], minus),
            ];
            check(Ignore, &rows);
        }
        // A result that is not zero keeps its sign when it is rounded to zero.
        assert_eq!(of(ReduceMean, dtype, Propagate, &[sign | 1, 0, 0]), sign);
        assert_eq!(of(ReduceMean, dtype, Propagate, &[1, sign, sign]), 0);
    }
}

// S5 to S7: integers.

#[test]
fn integer_sums_wrap() {
    for dtype in INTEGERS {
        let (least, most) = limits(dtype);
        let sum = |op, row: &[u64]| of(op, dtype, Propagate, row);
        assert_eq!(sum(ReduceSum, &[most, 1]), least, "{dtype}");
        let minus_one = u64::MAX >> (64 - 8 * dtype.size());
        if dtype.class() == Class::Signed {
            assert_eq!(sum(ReduceSum, &[least, minus_one]), most);
            assert_eq!(sum(ReduceL1, &[least]), least);
            assert_eq!(sum(ReduceL1, &[most, 1]), least);
            assert_eq!(sum(ReduceL1, &[minus_one, minus_one, 1]), 3);
        }
        assert_eq!(sum(ReduceSumSquare, &[minus_one, minus_one]), 2);
        // The square of a number whose lower half is 0 wraps to 0.
        let half = 1 << (4 * dtype.size());
        assert_eq!(sum(ReduceSumSquare, &[half, 3]), 9, "{dtype}");
    }
    // Carries out of 32 bits.
    let row = [1 << 31; 3];
    assert_eq!(integers(DType::U32, &row)[0], 1 << 31);
    assert_eq!(integers(DType::I64, &row)[0], 3 << 31);
    assert_eq!(integers(DType::I32, &row)[0], -(1 << 31));
}

#[test]
fn integer_means_are_of_the_wrapped_sum_and_truncate() {
    let mean = |dtype, row: &[i128]| integers(dtype, row)[1];
    for dtype in [DType::I8, DType::I16, DType::I32, DType::I64] {
        assert_eq!(mean(dtype, &[-7, 2]), -2, "{dtype}");
        assert_eq!(mean(dtype, &[7, -2]), 2, "{dtype}");
        assert_eq!(mean(dtype, &[-1, 0, 0]), 0, "{dtype}");
    }
    assert_eq!(mean(DType::I8, &[100, 100]), -28);
    assert_eq!(mean(DType::U8, &[200, 100]), 22);
    assert_eq!(mean(DType::I8, &[-128]), -128);
    let half = i128::from(i64::MIN / 2);
    assert_eq!(mean(DType::I64, &[i64::MAX.into(), 1]), half);
    assert_eq!(mean(DType::U64, &[u64::MAX.into()]), u64::MAX.into());
    assert_eq!(mean(DType::U64, &[u64::MAX.into(), 3]), 1);
}

#[test]
fn integer_norms_are_floors_and_saturate() {
    let norm = |dtype, row: &[i128]| integers(dtype, row)[3];
    for dtype in INTEGERS {
        assert_eq!(norm(dtype, &[3, 4]), 5, "{dtype}");
        assert_eq!(norm(dtype, &[1, 1]), 1, "{dtype}");
        assert_eq!(norm(dtype, &[1; 8]), 2, "{dtype}");
        assert_eq!(norm(dtype, &[1; 9]), 3, "{dtype}");
    }
    // The sum of squares does not wrap: 20,000.
    assert_eq!(norm(DType::U8, &[100, 100]), 141);
    assert_eq!(norm(DType::I8, &[100, 100]), 127);
    assert_eq!(norm(DType::I8, &[-128]), 127);
    assert_eq!(norm(DType::I8, &[-127]), 127);
    assert_eq!(norm(DType::I64, &[i64::MIN.into()]), i64::MAX.into());
    assert_eq!(norm(DType::I64, &[i64::MAX.into()]), i64::MAX.into());
    assert_eq!(norm(DType::U64, &[u64::MAX.into()]), u64::MAX.into());
    assert_eq!(norm(DType::U64, &[u64::MAX.into(); 2]), u64::MAX.into());
    // 2^63.5, rounded down; then the norm of that number alone.
    let root = 13_043_817_825_332_782_212;
    assert_eq!(norm(DType::U64, &[1 << 63, 1 << 63]), root);
    assert_eq!(norm(DType::U64, &[root]), root);
}

// S8: nothing to reduce.

#[test]
fn of_no_integers_the_sums_are_zero_and_the_mean_is_none() {
    for dtype in INTEGERS {
        for op in Op::SUMS.into_iter().filter(|&op| op != ReduceMean) {
            let problem = problem_of(op, dtype, &[2, 0, 2], &[1]);
            assert_eq!(run(problem, &[&[]]), [[0; 4]]);
        }
        let (axis, op, shape) = (-2, ReduceMean, vec![2, 0, 2]);
        let refused = problem_of(op, dtype, &shape, &[0, axis]);
        let error = ProblemError::EmptyAxis { op, axis, shape };
        assert!(error.to_string().ends_with("no element to average"));
        assert_eq!(refused, Err(error));
        // A result without elements needs no input.
        let problem = problem_of(op, dtype, &[2, 0, 2], &[0]);
        assert_eq!(run(problem, &[&[]]), [[0; 0]]);
    }
}

// S9: no axes, no reduction.

#[test]
fn without_a_reduction_each_element_is_its_own() {
    let noop = |op, dtype, row: &[u64]| {
        let problem = problem_of(op, dtype, &[row.len() as u64, 1], &[]);
        let problem = problem.map(|p| p.keepdims(false).noop_with_empty_axes(true));
        let problem = problem.unwrap();
        assert_eq!(problem.outputs()[0].shape, [row.len() as u64, 1]);
        run(Ok(problem), &[row]).swap_remove(0)
    };
    for float in &FLOATS {
        let (dtype, sign, inf, one, nan) = float.parts();
        let two = bits(dtype, 2.0);
        let four = bits(dtype, 4.0);
        let row = [sign | two, one, sign, 1, sign | inf, nan | 1];
        for op in [ReduceSum, ReduceMean] {
            assert_eq!(noop(op, dtype, &row), row);
        }
        for op in [ReduceL1, ReduceL2] {
            assert_eq!(noop(op, dtype, &row), [two, one, 0, 1, inf, nan]);
        }
        let squares = noop(ReduceSumSquare, dtype, &row);
        assert_eq!(squares, [four, one, 0, 0, inf, nan]);
    }
    for dtype in INTEGERS.into_iter().filter(|t| t.class() == Class::Signed) {
        let (least, most) = limits(dtype);
        let row = [least, most, 3];
        for op in [ReduceSum, ReduceMean] {
            assert_eq!(noop(op, dtype, &row), row);
        }
        assert_eq!(noop(ReduceL1, dtype, &row), row);
        assert_eq!(noop(ReduceL2, dtype, &row), [most, most, 3]);
        assert_eq!(noop(ReduceSumSquare, dtype, &row), [0, 1, 9]);
    }
    // With axes, the option has no effect.
    let given = problem_of(ReduceSum, DType::I32, &[3], &[0]).map(|p| p.noop_with_empty_axes(true));
    assert_eq!(run(given, &[&[1, 2, 3]]), [[6]]);
}

// S10: bool.

#[test]
fn truth_values_have_no_sum() {
    for op in Op::SUMS {
        let dtype = DType::Bool;
        let error = ProblemError::NoSum { op, dtype };
        let words = format!("{op} takes no bool");
        assert!(error.to_string().starts_with(&words), "{error}");
        assert_eq!(problem_of(op, dtype, &[2], &[0]), Err(error));
    }
}
