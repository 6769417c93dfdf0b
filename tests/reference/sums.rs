//! The sums by hand: a row for every rule.

use super::{FLOATS, run};
use half::{bf16, f16};
use wgreduce::{Class, DType, NanPolicy, Op, Problem, ProblemError, ProblemOptions};

const INTEGERS: [DType; 8] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

pub(super) fn reduce(
    op: Op,
    dtype: DType,
    shape: &[u64],
    axes: &[i64],
) -> Result<Problem, ProblemError> {
    match op {
        Op::ReduceSum => Problem::reduce_sum(dtype, shape, axes),
        Op::ReduceMean => Problem::reduce_mean(dtype, shape, axes),
        Op::ReduceL1 => Problem::reduce_l1(dtype, shape, axes),
        Op::ReduceL2 => Problem::reduce_l2(dtype, shape, axes),
        Op::ReduceSumSquare => Problem::reduce_sum_square(dtype, shape, axes),
        other => panic!("{other} is no sum"),
    }
}

/// The result of a row.
fn of(op: Op, dtype: DType, nan: NanPolicy, row: &[u64]) -> u64 {
    let problem = reduce(op, dtype, &[row.len() as u64], &[0]).nan(nan);
    run(problem, &[row])[0][0]
}

/// The results of all five, in the order of [`Op::SUMS`].
fn all(dtype: DType, nan: NanPolicy, row: &[u64]) -> [u64; 5] {
    Op::SUMS.map(|op| of(op, dtype, nan, row))
}

/// Bits of a number that every float type has.
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

/// The results of integers, wide enough for all of them.
fn integers(dtype: DType, row: &[i128]) -> [i128; 5] {
    let size = 8 * dtype.size();
    let row: Vec<u64> = row.iter().map(|&x| x as u64).collect();
    let unused = 128 - size;
    all(dtype, NanPolicy::Propagate, &row).map(|bits| match dtype.class() {
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
        assert_eq!(all(dtype, NanPolicy::Propagate, &row), expected, "{dtype}");
        let pair = [-3.0, 4.0].map(|x| bits(dtype, x));
        let expected = [1.0, 0.5, 7.0, 5.0, 25.0].map(|x| bits(dtype, x));
        assert_eq!(all(dtype, NanPolicy::Propagate, &pair), expected, "{dtype}");
    }
    for dtype in INTEGERS {
        // 170 is past int8; its root is 13 and something.
        let squares = if dtype == DType::I8 { 170 - 256 } else { 170 };
        let expected = [20, 5, 20, 13, squares];
        assert_eq!(integers(dtype, &[3, 4, 12, 1]), expected, "{dtype}");
    }
}
