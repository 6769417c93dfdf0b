//! The oracle against the specification: what the ONNX reference implementation answered, then
//! every rule of the operators by hand. Elements are written as bits throughout.

#[path = "golden/mod.rs"]
mod golden;

use half::{bf16, f16};
use std::collections::BTreeSet;
use wgreduce::reference::{Difference, VerifyError, evaluate, first_difference, verify};
use wgreduce::{Class, DType, Element, IndexType, NanPolicy, Op, Output, Problem, ProblemError};

type Made = Result<Problem, ProblemError>;

/// A float type and its notable bits.
struct Float {
    dtype: DType,
    sign: u64,
    inf: u64,
    one: u64,
    /// The canonical NaN.
    nan: u64,
}

static FLOATS: [Float; 4] = [
    Float {
        dtype: DType::BF16,
        sign: 0x8000,
        inf: 0x7f80,
        one: 0x3f80,
        nan: 0x7fc0,
    },
    Float {
        dtype: DType::F16,
        sign: 0x8000,
        inf: 0x7c00,
        one: 0x3c00,
        nan: 0x7e00,
    },
    Float {
        dtype: DType::F32,
        sign: 0x8000_0000,
        inf: 0x7f80_0000,
        one: 0x3f80_0000,
        nan: 0x7fc0_0000,
    },
    Float {
        dtype: DType::F64,
        sign: 1 << 63,
        inf: 0x7ff0_0000_0000_0000,
        one: 0x3ff0_0000_0000_0000,
        nan: 0x7ff8_0000_0000_0000,
    },
];

impl Float {
    /// NaN of both signs, quiet and signalling, with and without payload.
    fn nans(&self) -> [u64; 5] {
        let Float { sign, inf, nan, .. } = *self;
        [nan, sign | nan, nan | 5, inf | 1, sign | inf | 2]
    }
}

const VALUE_OPS: [Op; 4] = [Op::ReduceMin, Op::ReduceMax, Op::Min, Op::Max];
const POLICIES: [NanPolicy; 2] = [NanPolicy::Propagate, NanPolicy::Ignore];

/// The limits of a type, infinities for floats: what every other number lies between.
fn limits(dtype: DType) -> (u64, u64) {
    match dtype {
        DType::BF16 => (0xff80, 0x7f80),
        DType::F16 => (0xfc00, 0x7c00),
        DType::F32 => (0xff80_0000, 0x7f80_0000),
        DType::F64 => (0xfff0_0000_0000_0000, 0x7ff0_0000_0000_0000),
        DType::I8 => (0x80, 0x7f),
        DType::I16 => (0x8000, 0x7fff),
        DType::I32 => (0x8000_0000, 0x7fff_ffff),
        DType::I64 => (0x8000_0000_0000_0000, 0x7fff_ffff_ffff_ffff),
        DType::U8 => (0, 0xff),
        DType::U16 => (0, 0xffff),
        DType::U32 => (0, 0xffff_ffff),
        DType::U64 => (0, 0xffff_ffff_ffff_ffff),
        DType::Bool => (0, 1),
        other => panic!("no limits for {other}"),
    }
}

fn to_bytes(dtype: DType, bits: &[u64]) -> Vec<u8> {
    let size = dtype.size() as usize;
    let elements = bits.iter().map(|b| b.to_le_bytes());
    elements.flat_map(|b| b.into_iter().take(size)).collect()
}

fn to_bits(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let elements = bytes.chunks_exact(dtype.size() as usize);
    let bits = elements.map(|e| e.iter().rev().fold(0, |bits, &b| bits << 8 | u64::from(b)));
    bits.collect()
}

/// All outputs of a problem, bits in and out.
fn run(problem: Made, inputs: &[&[u64]]) -> Vec<Vec<u64>> {
    let problem = problem.unwrap();
    let inputs: Vec<_> = inputs
        .iter()
        .map(|i| to_bytes(problem.dtype(), i))
        .collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(|i| &i[..]).collect();
    let results = evaluate(&problem, &inputs).unwrap();
    let outputs = problem.outputs();
    assert_eq!(results.len(), outputs.len());
    let pairs = outputs.iter().zip(&results);
    pairs.map(|(o, r)| to_bits(o.dtype, r)).collect()
}

fn reduce(op: Op, dtype: DType, shape: &[u64], axes: &[i64]) -> Made {
    match op.is_max() {
        true => Problem::reduce_max(dtype, shape, axes),
        false => Problem::reduce_min(dtype, shape, axes),
    }
}

fn arg(op: Op, dtype: DType, shape: &[u64], axis: i64) -> Made {
    match op.is_max() {
        true => Problem::arg_max(dtype, shape, axis),
        false => Problem::arg_min(dtype, shape, axis),
    }
}

fn elementwise(op: Op, dtype: DType, shapes: &[Vec<u64>]) -> Made {
    match op.is_max() {
        true => Problem::max(dtype, shapes),
        false => Problem::min(dtype, shapes),
    }
}

/// The value of a set of elements; Min and Max take them as as many scalar inputs.
fn value(op: Op, dtype: DType, nan: NanPolicy, set: &[u64]) -> u64 {
    if op.is_elementwise() {
        let problem = elementwise(op, dtype, &vec![vec![]; set.len()]).map(|p| p.nan(nan));
        let inputs: Vec<&[u64]> = set.chunks(1).collect();
        return run(problem, &inputs)[0][0];
    }
    let problem = reduce(op, dtype, &[set.len() as u64], &[0]).map(|p| p.nan(nan));
    run(problem, &[set])[0][0]
}

/// The first and the last index of the extreme of a row.
fn ends(op: Op, dtype: DType, nan: NanPolicy, row: &[u64]) -> [u64; 2] {
    [false, true].map(|last| {
        let problem = arg(op, dtype, &[row.len() as u64], 0);
        let problem = problem.and_then(|p| p.nan(nan).select_last_index(last));
        run(problem, &[row])[0][0]
    })
}

// Against the ONNX reference implementation.

/// NumPy leaves the sign of a zero and the bits of a NaN open.
fn blind(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    macro_rules! blind {
        ($t:ty) => {{
            let values = <$t>::from_bytes(bytes).into_iter();
            let values = values.map(|x| match x.is_nan() {
                true => <$t>::NAN,
                false if x == <$t>::default() => <$t>::default(),
                false => x,
            });
            <$t>::bytes(&values.collect::<Vec<_>>()).to_vec()
        }};
    }
    match dtype {
        DType::BF16 => blind!(bf16),
        DType::F16 => blind!(f16),
        DType::F32 => blind!(f32),
        DType::F64 => blind!(f64),
        _ => bytes.to_vec(),
    }
}

#[test]
fn agrees_with_the_onnx_reference_implementation() {
    let cases = golden::cases();
    let mut seen = BTreeSet::new();
    for case in &cases {
        let golden::Case {
            problem,
            inputs,
            output,
            expected,
        } = case;
        assert_eq!(problem.outputs().len(), 1, "{problem}");
        assert_eq!(&problem.outputs()[0], output, "{problem}");
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let actual = &evaluate(problem, &inputs).unwrap()[0];
        let difference = match problem.is_copy() {
            true => first_difference(output, expected, actual),
            false => {
                let [expected, actual] = [expected, actual].map(|b| blind(output.dtype, b));
                first_difference(output, &expected, &actual)
            }
        };
        assert_eq!(difference, None, "{problem}");
        seen.insert((problem.op(), problem.dtype()));
    }
    // All but ArgMin and ArgMax of bool, which NumPy has but ONNX does not.
    assert_eq!(seen.len(), 6 * 13 - 2);
    assert_eq!(cases.len(), 2820);
}

// Rules 1 to 3: NaN.

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
                    let problem = reduce(op, float.dtype, shape, &[]).map(|p| p.nan(policy));
                    assert_eq!(run(problem, &[&[nan]]), [[float.nan]]);
                }
                // Also where the reduced axis is another one.
                let problem = reduce(op, float.dtype, &[2, 1], &[1]).map(|p| p.nan(policy));
                assert_eq!(run(problem, &[&[nan, 0]]), [[float.nan, 0]]);
            }
        }
    }
}

#[test]
fn a_noop_and_min_or_max_of_one_input_copy_bits() {
    for (float, op) in each_float(&VALUE_OPS) {
        let nans = float.nans();
        let problem = match op.is_elementwise() {
            true => elementwise(op, float.dtype, &[vec![5]]),
            false => reduce(op, float.dtype, &[5], &[]).and_then(|p| p.noop_with_empty_axes(true)),
        };
        assert_eq!(run(problem, &[&nans]), [nans]);
    }
    let noop = Problem::reduce_max(DType::Bool, &[3], &[]).unwrap();
    let noop = noop.noop_with_empty_axes(true);
    assert_eq!(run(noop, &[&[7, 0, 1]]), [[7, 0, 1]]);
    let copy = Problem::min(DType::Bool, &[[3]]);
    assert_eq!(run(copy, &[&[7, 0, 1]]), [[7, 0, 1]]);
}

#[test]
fn a_noop_with_axes_still_reduces() {
    let problem = Problem::reduce_min(DType::U8, &[2, 2], &[1]).unwrap();
    let problem = problem.noop_with_empty_axes(true);
    assert_eq!(run(problem, &[&[3, 2, 4, 5]]), [[2, 4]]);
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

// Rules 4 to 7: zeros, ties, fused values.

#[test]
fn negative_zero_is_below_positive_zero_in_values() {
    for (float, op) in each_float(&VALUE_OPS) {
        let expected = if op.is_max() { 0 } else { float.sign };
        for set in [&[0, float.sign][..], &[float.sign, 0], &[0, float.sign, 0]] {
            for policy in POLICIES {
                let value = value(op, float.dtype, policy, set);
                assert_eq!(value, expected, "{op} {} {set:x?}", float.dtype);
            }
        }
    }
}

#[test]
fn zeros_of_both_signs_tie_for_the_index() {
    for (float, op) in each_float(&[Op::ArgMin, Op::ArgMax]) {
        for row in [[0, float.sign, 0], [float.sign, 0, float.sign]] {
            let ends = ends(op, float.dtype, NanPolicy::Propagate, &row);
            assert_eq!(ends, [0, 2], "{op} {} {row:x?}", float.dtype);
        }
    }
}

#[test]
fn ties_go_to_the_lowest_index_or_to_the_highest_on_request() {
    for dtype in DType::ALL {
        let (lo, hi) = limits(dtype);
        for (op, best, worst) in [(Op::ArgMin, lo, hi), (Op::ArgMax, hi, lo)] {
            let row = [worst, best, worst, best, best, worst];
            assert_eq!(
                ends(op, dtype, NanPolicy::Propagate, &row),
                [1, 4],
                "{op} {dtype}"
            );
            // The same down the columns of a matrix, whose second column is reversed.
            let columns: Vec<u64> = (0..6).flat_map(|i| [row[i], row[5 - i]]).collect();
            for (last, expected) in [(false, [1, 1]), (true, [4, 4])] {
                let problem = arg(op, dtype, &[6, 2], -2);
                let problem = problem.and_then(|p| p.select_last_index(last));
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
            let problem = arg(op, float.dtype, &[3, 2], 1).and_then(|p| p.with_values(true));
            let problem = problem.and_then(|p| p.select_last_index(last));
            run(problem, &[&[nan, other, 0, minus, minus, 0]])
        };
        assert_eq!(
            fused(false),
            [[0, 0, 0], [nan, 0, minus]],
            "{op} {}",
            float.dtype
        );
        assert_eq!(
            fused(true),
            [[1, 1, 1], [other, minus, 0]],
            "{op} {}",
            float.dtype
        );
    }
    for dtype in DType::ALL {
        let (lo, hi) = limits(dtype);
        let problem = Problem::arg_max(dtype, &[2, 3, 2], 1).and_then(|p| p.with_values(true));
        let cube = [lo, hi, hi, lo, lo, lo, lo, lo, lo, hi, hi, lo];
        let expected = [vec![1, 0, 2, 1], vec![hi, hi, hi, hi]];
        assert_eq!(run(problem, &[&cube]), expected, "{dtype}");
    }
}

#[test]
fn the_fused_value_of_a_bool_is_its_byte() {
    let problem = Problem::arg_max(DType::Bool, &[4], 0).and_then(|p| p.with_values(true));
    assert_eq!(run(problem, &[&[0, 7, 1, 255]]), [[1], [7]]);
}

#[test]
fn the_fused_value_of_only_ignored_nan_is_the_nan_at_the_index() {
    for (float, op) in each_float(&[Op::ArgMin, Op::ArgMax]) {
        let [_, a, b, _, _] = float.nans();
        for (last, expected) in [(false, [[0], [a]]), (true, [[1], [b]])] {
            let problem = arg(op, float.dtype, &[2], 0).and_then(|p| p.with_values(true));
            let problem = problem.and_then(|p| p.nan(NanPolicy::Ignore).select_last_index(last));
            assert_eq!(run(problem, &[&[a, b]]), expected);
        }
    }
}

// Rules 8 to 10: the whole range of every type.

#[test]
fn a_row_of_one_extreme_value_gives_a_real_index_and_that_value() {
    for dtype in DType::ALL {
        let (lo, hi) = limits(dtype);
        for extreme in [lo, hi] {
            for policy in POLICIES {
                for op in [Op::ArgMin, Op::ArgMax] {
                    let ends = ends(op, dtype, policy, &[extreme; 5]);
                    assert_eq!(ends, [0, 4], "{op} {dtype} {extreme:x}");
                }
                for op in VALUE_OPS {
                    let value = value(op, dtype, policy, &[extreme; 5]);
                    assert_eq!(value, extreme, "{op} {dtype}");
                }
            }
        }
    }
}

/// Checks that every element of a list is below the next, for every operator.
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
        // The least subnormals, one in the middle of the range, the least normal number.
        let normal = inf & (!inf + 1);
        let positive = [
            1,
            2,
            normal / 2,
            normal - 1,
            normal,
            one,
            one + 1,
            inf - 1,
            inf,
        ];
        let negative = positive.iter().rev().map(|p| sign | p);
        let ascending: Vec<u64> = negative.chain([0]).chain(positive).collect();
        assert_ascending(float.dtype, &ascending);
    }
}

#[test]
fn integers_are_ordered_over_their_full_width() {
    assert_ascending(DType::I8, &[0x80, 0x81, 0xff, 0, 1, 0x7f]);
    assert_ascending(DType::U8, &[0, 1, 0x7f, 0x80, 0xff]);
    assert_ascending(
        DType::I16,
        &[0x8000, 0x80ff, 0xff00, 0xffff, 0, 0xff, 0x100, 0x7fff],
    );
    assert_ascending(DType::U16, &[0, 0xff, 0x100, 0x7fff, 0x8000, 0xffff]);
    // Neighbours that are one float, or that differ only above or below bit 32.
    let i32s = [
        0x8000_0000,
        0x8000_0001,
        0xffff_ffff,
        0,
        0x100_0000,
        0x100_0001,
        0x7fff_ffff,
    ];
    assert_ascending(DType::I32, &i32s);
    let u32s = [
        0,
        0x100_0000,
        0x100_0001,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_fffe,
        0xffff_ffff,
    ];
    assert_ascending(DType::U32, &u32s);
    let low = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let high = [
        1 << 32,
        1 << 53,
        (1 << 53) + 1,
        0x7fff_ffff_0000_0000,
        i64::MAX as u64,
    ];
    let negative = [
        1 << 63,
        (1 << 63) + 1,
        u64::MAX << 32,
        u64::MAX - 1,
        u64::MAX,
    ];
    assert_ascending(DType::I64, &[&negative[..], &low, &high].concat());
    assert_ascending(DType::U64, &[&low[..], &high, &negative].concat());
}

// Rules 11 to 13 and 16: empty sets, zero-sized dimensions, scalars.

#[test]
fn extremes_are_the_values_and_the_indices_of_four_operators() {
    for Float {
        dtype,
        sign,
        inf,
        one,
        nan,
    } in &FLOATS
    {
        let extremes = |last, policy, row: &[u64]| {
            let problem = Problem::extremes(*dtype, &[row.len() as u64], 0);
            let problem = problem.and_then(|p| p.select_last_index(last));
            run(problem.map(|p| p.nan(policy)), &[row]).concat()
        };
        let propagate = |last, row: &[u64]| extremes(last, NanPolicy::Propagate, row);
        // Zeros tie for the indices, not for the values.
        let zeros = [0, *sign, 0, *sign];
        assert_eq!(propagate(false, &zeros), [*sign, 0, 0, 0]);
        assert_eq!(propagate(true, &zeros), [*sign, 0, 3, 3]);
        let row = [*one, sign | one, *one, sign | inf, *inf, sign | inf];
        assert_eq!(propagate(false, &row), [sign | inf, *inf, 3, 4]);
        assert_eq!(propagate(true, &row), [sign | inf, *inf, 5, 4]);
        // A NaN is both extremes, in its one form, or none.
        let row = [*one, nan | sign | 1, 0, *nan];
        assert_eq!(propagate(false, &row), [*nan, *nan, 1, 1]);
        assert_eq!(propagate(true, &row), [*nan, *nan, 3, 3]);
        assert_eq!(extremes(false, NanPolicy::Ignore, &row), [0, *one, 2, 0]);
        let only = [*nan, nan | 1];
        assert_eq!(extremes(true, NanPolicy::Ignore, &only), [*nan, *nan, 1, 1]);
    }
    let bytes = Problem::extremes(DType::Bool, &[2, 3], 1);
    let expected = [vec![0, 1], vec![1, 1], vec![1, 0], vec![0, 0]];
    assert_eq!(run(bytes, &[&[7, 0, 2, 5, 1, 255]]), expected);
    let columns = Problem::extremes(DType::I8, &[2, 2], 0);
    let expected = [vec![0x80, 3], vec![4, 3], vec![1, 0], vec![0, 0]];
    assert_eq!(run(columns, &[&[4, 3, 0x80, 3]]), expected);
}

#[test]
fn a_view_is_read_where_its_strides_lead() {
    let data: Vec<u64> = vec![7, 1, 9, 3, 3, 8, 2, 6];
    let arg = |shape: &[u64], axis, strides: &[i64], offset| {
        let problem = Problem::arg_min(DType::U8, shape, axis).and_then(|p| p.with_values(true));
        run(
            problem.and_then(|p| p.strided(0, strides, offset)),
            &[&data],
        )
    };
    // Transposed: columns of [2, 4].
    assert_eq!(arg(&[4, 2], 1, &[1, 4], 0), [[1, 0, 1, 0], [3, 1, 2, 3]]);
    // Every second of a row, flipped, from inside.
    assert_eq!(arg(&[2, 2], 1, &[4, -2], 3), [[1, 0], [1, 6]]);
    // One element for all, and overlapping windows.
    assert_eq!(arg(&[2, 3], 1, &[0, 0], 6), [[0, 0], [2, 2]]);
    assert_eq!(arg(&[3, 3], 1, &[1, 1], 2), [[1, 0, 2], [3, 3, 2]]);
    let strided = |p: Problem, strides: &[i64], offset| p.strided(0, strides, offset);
    let max = Problem::reduce_max(DType::U8, &[2, 3], &[0]);
    let max = max.and_then(|p| strided(p, &[3, 1], 1));
    assert_eq!(run(max, &[&data]), [[3, 9, 3]]);
    let copy = Problem::min(DType::U8, &[[2, 2]]).and_then(|p| strided(p, &[-1, 2], 1));
    assert_eq!(run(copy, &[&data]), [[1, 3, 7, 9]]);
    // A dimension of one stands still, whatever its stride.
    let pair = Problem::min(DType::U8, &[&[2, 1][..], &[3]]);
    let pair = pair.and_then(|p| p.strided(0, &[2, 99], 0)?.strided(1, &[-1], 2));
    assert_eq!(run(pair, &[&data, &data]), [[7, 1, 7, 9, 1, 7]]);
}

#[test]
fn an_empty_set_gives_the_identity_of_every_type() {
    for dtype in DType::ALL {
        let (lo, hi) = limits(dtype);
        for (op, identity) in [(Op::ReduceMin, hi), (Op::ReduceMax, lo)] {
            for policy in POLICIES {
                let reduce = |shape, axes| reduce(op, dtype, shape, axes).map(|p| p.nan(policy));
                assert_eq!(run(reduce(&[0], &[]), &[&[]]), [[identity]], "{op} {dtype}");
                assert_eq!(run(reduce(&[2, 0, 3], &[1]), &[&[]]), [[identity; 6]]);
                assert_eq!(run(reduce(&[2, 0, 3], &[-1, 1]), &[&[]]), [[identity; 2]]);
            }
        }
    }
}

#[test]
fn a_zero_sized_dimension_that_is_kept_gives_an_empty_output() {
    let empty: [u64; 0] = [];
    for dtype in DType::ALL {
        assert_eq!(
            run(reduce(Op::ReduceMin, dtype, &[0, 3], &[1]), &[&[]]),
            [empty]
        );
        assert_eq!(
            run(reduce(Op::ReduceMax, dtype, &[2, 0, 0], &[0, 1]), &[&[]]),
            [empty]
        );
        let problem = arg(Op::ArgMax, dtype, &[3, 0], 0).and_then(|p| p.with_values(true));
        assert_eq!(run(problem, &[&[]]), [empty, empty]);
        let problem = Problem::min(dtype, &[&[0, 3][..], &[1], &[1, 1]]);
        assert_eq!(run(problem, &[&[], &[1], &[1]]), [empty]);
    }
    // Nothing is computed from the other dimensions, whatever they are.
    let shape = [0, u64::MAX, u64::MAX, 3];
    assert_eq!(
        run(Problem::reduce_min(DType::F64, &shape, &[3]), &[&[]]),
        [empty]
    );
}

#[test]
fn a_scalar_reduces_to_itself_and_its_index_is_0() {
    for dtype in DType::ALL {
        let (_, hi) = limits(dtype);
        for op in [Op::ReduceMin, Op::ReduceMax] {
            assert_eq!(run(reduce(op, dtype, &[], &[]), &[&[hi]]), [[hi]]);
        }
        for axis in [0, -1] {
            for op in [Op::ArgMin, Op::ArgMax] {
                for last in [false, true] {
                    let problem = arg(op, dtype, &[], axis).and_then(|p| p.with_values(true));
                    let problem = problem.and_then(|p| p.select_last_index(last));
                    assert_eq!(run(problem, &[&[hi]]), [[0], [hi]]);
                }
            }
        }
    }
}

// Rules 17 to 19: bool, index types, one result.

#[test]
fn any_byte_but_zero_is_true_and_true_is_written_as_1() {
    for op in VALUE_OPS {
        let set = |set: &[u64]| value(op, DType::Bool, NanPolicy::Propagate, set);
        let mixed = u64::from(op.is_max());
        assert_eq!(
            [set(&[7, 0]), set(&[0, 255]), set(&[0, 0])],
            [mixed, mixed, 0],
            "{op}"
        );
        assert_eq!([set(&[7, 255]), set(&[128, 1])], [1, 1], "{op}");
    }
    // Over a length of 1 and at rank 0 as well.
    assert_eq!(
        run(Problem::reduce_min(DType::Bool, &[2, 1], &[1]), &[&[7, 0]]),
        [[1, 0]]
    );
    assert_eq!(
        run(Problem::reduce_max(DType::Bool, &[], &[]), &[&[7]]),
        [[1]]
    );
}

#[test]
fn bytes_that_are_true_tie_for_the_index() {
    let row = [0, 7, 1, 255, 0];
    assert_eq!(
        ends(Op::ArgMax, DType::Bool, NanPolicy::Propagate, &row),
        [1, 3]
    );
    assert_eq!(
        ends(Op::ArgMin, DType::Bool, NanPolicy::Propagate, &row),
        [0, 4]
    );
}

#[test]
fn an_index_is_written_in_the_type_that_was_asked_for() {
    let mut row = [0; 300];
    row[299] = 1;
    let problem = Problem::arg_max(DType::I8, &[300], 0).unwrap();
    let row = to_bytes(DType::I8, &row);
    for (index_type, bytes) in [
        (IndexType::I64, &[43, 1, 0, 0, 0, 0, 0, 0][..]),
        (IndexType::I32, &[43, 1, 0, 0]),
        (IndexType::U32, &[43, 1, 0, 0]),
    ] {
        let problem = problem.clone().index_type(index_type).unwrap();
        assert_eq!(evaluate(&problem, &[&row]).unwrap(), [bytes]);
    }
}

#[test]
fn the_bits_of_a_value_do_not_depend_on_the_order_or_the_shape() {
    for (float, op) in each_float(&[Op::ReduceMin, Op::ReduceMax]) {
        let Float { sign, one, .. } = *float;
        let [a, b, c, d, e] = float.nans();
        for policy in POLICIES {
            for mut set in [
                [0, sign, 0, sign, sign, 0],
                [a, b, c, d, e, b],
                [e, sign, 0, one, one, d],
            ] {
                let expected = value(op, float.dtype, policy, &set);
                for _ in 0..set.len() {
                    set.rotate_left(1);
                    for shape in [&[6][..], &[2, 3], &[3, 1, 2]] {
                        let problem = reduce(op, float.dtype, shape, &[]).map(|p| p.nan(policy));
                        assert_eq!(run(problem, &[&set]), [[expected]], "{op} {set:x?}");
                    }
                }
            }
        }
    }
}

// Layout: scattered axes and broadcasting, by hand as well as by NumPy.

#[test]
fn scattered_axes_leave_the_dimension_between_them() {
    let cube: Vec<u64> = (0..2 * 3 * 4).collect();
    for axes in [[0, 2], [2, 0], [-3, -1]] {
        let max = Problem::reduce_max(DType::I32, &[2, 3, 4], &axes);
        assert_eq!(run(max, &[&cube]), [[15, 19, 23]]);
        let min = Problem::reduce_min(DType::U64, &[2, 3, 4], &axes);
        assert_eq!(run(min, &[&cube]), [[0, 4, 8]]);
    }
}

#[test]
fn inputs_broadcast_at_the_last_dimension() {
    let problem = Problem::min(DType::U8, &[&[3, 1][..], &[2], &[]]);
    assert_eq!(
        run(problem, &[&[1, 5, 9], &[4, 7], &[6]]),
        [[1, 1, 4, 5, 4, 6]]
    );
}

// What evaluate refuses.

#[test]
fn inputs_that_are_not_the_problems_are_refused() {
    let problem = Problem::max(DType::F32, &[[2], [1]]).unwrap();
    let [eight, four] = [&[0; 8][..], &[0; 4]];
    let refused = evaluate(&problem, &[eight]).unwrap_err();
    let (op, expected, actual) = (Op::Max, 2, 1);
    assert_eq!(
        refused,
        ProblemError::InputCount {
            op,
            expected,
            actual
        }
    );
    let refused = evaluate(&problem, &[eight, eight]).unwrap_err();
    let expected = ProblemError::InputBytes {
        input: 1,
        dtype: DType::F32,
        shape: vec![1],
        expected: 4,
        actual: 8,
    };
    assert_eq!(refused, expected);
    assert!(evaluate(&problem, &[eight, four]).is_ok());
}

// The comparator, which must find what is planted.

fn output(dtype: DType, shape: &[u64]) -> Output {
    let shape = shape.to_vec();
    Output { dtype, shape }
}

#[test]
fn a_planted_difference_is_found_wherever_it_is() {
    for dtype in DType::ALL {
        let output = output(dtype, &[2, 3, 4]);
        let size = dtype.size() as usize;
        let expected = vec![1; 24 * size];
        assert_eq!(first_difference(&output, &expected, &expected), None);
        for byte in 0..expected.len() {
            let mut actual = expected.clone();
            actual[byte] ^= 0x80;
            let at = byte / size;
            let index = [at / 12, at / 4 % 3, at % 4].map(|c| c as u64).to_vec();
            let difference = first_difference(&output, &expected, &actual).unwrap();
            assert_eq!(difference.index, Some(index), "{dtype} byte {byte}");
            assert_ne!(difference.expected, difference.actual);
        }
    }
}

#[test]
fn the_first_of_several_differences_is_shown_as_values_and_bits() {
    let output = output(DType::F32, &[2, 2]);
    let expected = to_bytes(DType::F32, &[0, 0x3fc0_0000, 0x7fc0_0000, 0]);
    let actual = to_bytes(DType::F32, &[0, 0xbfc0_0000, 0x7fc0_0001, 1]);
    let difference = first_difference(&output, &expected, &actual).unwrap();
    let text = "at [0, 1]: expected 1.5 (0x3fc00000), got -1.5 (0xbfc00000)";
    assert_eq!(difference.to_string(), text);
}

#[test]
fn equal_values_of_other_bits_differ() {
    for (dtype, expected, actual, shown) in [
        (
            DType::F64,
            0,
            1 << 63,
            ["0.0 (0x0000000000000000)", "-0.0 (0x8000000000000000)"],
        ),
        (DType::F16, 0x7e00, 0xfe01, ["NaN (0x7e00)", "NaN (0xfe01)"]),
        (
            DType::BF16,
            0x3f80,
            0x3f81,
            ["1.0 (0x3f80)", "1.0078125 (0x3f81)"],
        ),
        (DType::Bool, 1, 7, ["true (0x01)", "true (0x07)"]),
        (DType::I8, 0xff, 0x7f, ["-1 (0xff)", "127 (0x7f)"]),
    ] {
        let [expected, actual] = [expected, actual].map(|bits| to_bytes(dtype, &[bits]));
        let difference = first_difference(&output(dtype, &[]), &expected, &actual);
        let [expected, actual] = shown.map(String::from);
        let index = Some(vec![]);
        assert_eq!(
            difference,
            Some(Difference {
                index,
                expected,
                actual
            })
        );
    }
}

#[test]
fn a_wrong_length_on_either_side_is_a_difference() {
    let output = output(DType::U16, &[3]);
    let [six, four, none] = [&[0; 6][..], &[0; 4], &[]];
    assert_eq!(first_difference(&output, six, six), None);
    for (expected, actual) in [(six, four), (four, six), (four, four)] {
        let difference = first_difference(&output, expected, actual).unwrap();
        assert_eq!(difference.to_string(), "expected 6 bytes, got 4 bytes");
    }
    let difference = first_difference(&output, none, none).unwrap();
    assert_eq!(difference.to_string(), "expected 6 bytes, got 0 bytes");
}

#[test]
fn outputs_are_verified_to_the_bit_with_the_output_and_the_place_that_differ() {
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).and_then(|p| p.with_values(true));
    let problem = problem.unwrap();
    let input = f32::bytes(&[3.0, -0.0, 0.0, 5.0, 4.0, 5.0]);
    let right = evaluate(&problem, &[input]).unwrap();
    assert_eq!(verify(&problem, &[input], &right), Ok(()));
    for (output, bytes) in right.iter().enumerate() {
        for bit in 0..8 * bytes.len() {
            let mut wrong = right.clone();
            wrong[output][bit / 8] ^= 1 << (bit % 8);
            let element = bytes.len() as u64 / 2;
            let found = match verify(&problem, &[input], &wrong) {
                Err(VerifyError::Different { output, difference }) => (output, difference.index),
                other => panic!("{other:?}"),
            };
            let row = bit as u64 / 8 / element;
            assert_eq!(found, (output, Some(vec![row, 0])), "bit {bit}");
        }
    }
    let wrong = [i64::bytes(&[1, 1]), f32::bytes(&[0.0, 4.0])];
    let wrong = verify(&problem, &[input], &wrong).unwrap_err().to_string();
    let text = "output 1 at [0, 0]: expected -0.0 (0x80000000), got 0.0 (0x00000000)";
    assert_eq!(wrong, text);
}

#[test]
fn what_cannot_be_verified_is_no_success() {
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).unwrap();
    let input = f32::bytes(&[0.0; 6]);
    let right = evaluate(&problem, &[input]).unwrap();
    let count = |actual| VerifyError::OutputCount {
        expected: 1,
        actual,
    };
    let none: &[&[u8]] = &[];
    assert_eq!(verify(&problem, &[input], none), Err(count(0)));
    let two = [&right[0], &right[0]];
    assert_eq!(verify(&problem, &[input], &two), Err(count(2)));
    match verify(&problem, &[&input[..20]], &right) {
        Err(VerifyError::Problem(ProblemError::InputBytes { actual, .. })) => {
            assert_eq!(actual, 20);
        }
        other => panic!("{other:?}"),
    }
    let short = verify(&problem, &[input], &[&right[0][..8]]).unwrap_err();
    let text = "output 0: expected 16 bytes, got 8 bytes";
    assert_eq!(short.to_string(), text);
}

fn each_float(ops: &[Op]) -> impl Iterator<Item = (&'static Float, Op)> {
    FLOATS
        .iter()
        .flat_map(|float| ops.iter().map(move |&op| (float, op)))
}

// Magnitudes.

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
            let made = Problem::arg_max_abs(dtype, &[4], 0).and_then(|p| p.with_values(true));
            let expected = [[index], [row[index as usize]]];
            assert_eq!(run(made, &[&row]), expected, "{dtype} {row:x?}");
        }
        let ties = Problem::arg_max_abs(dtype, &[4], 0).and_then(|p| p.select_last_index(true));
        let row = [7, negative(7), negative(7), 6];
        assert_eq!(run(ties, &[&row]), [[2]], "{dtype}");
    }
}

#[test]
fn magnitudes_of_floats_have_no_sign_and_nans_rule_as_elsewhere() {
    for float in &FLOATS {
        let Float {
            dtype,
            sign,
            inf,
            one,
            nan,
        } = *float;
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
