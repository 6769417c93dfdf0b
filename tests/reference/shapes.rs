//! Shapes and types of results: sets without elements, dimensions of 0, scalars, views, scattered axes, broadcast
//! inputs, the types of outputs; and inputs that do not fit.

use super::{FLOATS, Float, VALUE_OPS, limits, problem_of, run, to_bytes, value};
use wgreduce::reference::evaluate;
use wgreduce::{DType, IndexType, NanPolicy, Op, Problem, ProblemError};

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
            let problem = problem.map(|p| p.select_last_index(last));
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
        // A NaN is both extremes, in canonical form, or is ignored.
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
        let problem = Problem::arg_min(DType::U8, shape, axis).map(|p| p.with_values(true));
        run(problem.map(|p| p.strided(0, strides, offset)), &[&data])
    };
    // Transposed: columns of [2, 4].
    assert_eq!(arg(&[4, 2], 1, &[1, 4], 0), [[1, 0, 1, 0], [3, 1, 2, 3]]);
    // Every second element of a row, flipped, from inside the tensor.
    assert_eq!(arg(&[2, 2], 1, &[4, -2], 3), [[1, 0], [1, 6]]);
    // One element for all places, and overlapping windows.
    assert_eq!(arg(&[2, 3], 1, &[0, 0], 6), [[0, 0], [2, 2]]);
    assert_eq!(arg(&[3, 3], 1, &[1, 1], 2), [[1, 0, 2], [3, 3, 2]]);
    let strided = |p: Problem, strides: &[i64], offset| p.strided(0, strides, offset);
    let max = Problem::reduce_max(DType::U8, &[2, 3], &[0]);
    let max = max.map(|p| strided(p, &[3, 1], 1));
    assert_eq!(run(max, &[&data]), [[3, 9, 3]]);
    let copy = Problem::min(DType::U8, &[[2, 2]]).map(|p| strided(p, &[-1, 2], 1));
    assert_eq!(run(copy, &[&data]), [[1, 3, 7, 9]]);
    // The stride of a dimension of 1 has no effect.
    let pair = Problem::min(DType::U8, &[&[2, 1][..], &[3]]);
    let pair = pair.map(|p| p.strided(0, &[2, 99], 0).strided(1, &[-1], 2));
    assert_eq!(run(pair, &[&data, &data]), [[7, 1, 7, 9, 1, 7]]);
    let sum = Problem::reduce_sum(DType::U8, &[1, 3, 1], &[1]);
    let sum = sum.map(|p| p.strided(0, &[i64::MAX, 1, i64::MIN], 1));
    assert_eq!(run(sum, &[&data]), [[13]]);
}

#[test]
fn a_zero_sized_dimension_that_is_kept_gives_an_empty_output() {
    let empty: [u64; 0] = [];
    for dtype in DType::ALL {
        assert_eq!(
            run(problem_of(Op::ReduceMin, dtype, &[0, 3], &[1]), &[&[]]),
            [empty]
        );
        assert_eq!(
            run(
                problem_of(Op::ReduceMax, dtype, &[2, 0, 0], &[0, 1]),
                &[&[]]
            ),
            [empty]
        );
        let problem = problem_of(Op::ArgMax, dtype, &[3, 0], &[0]).map(|p| p.with_values(true));
        assert_eq!(run(problem, &[&[]]), [empty, empty]);
        let problem = Problem::min(dtype, &[&[0, 3][..], &[1], &[1, 1]]);
        assert_eq!(run(problem, &[&[], &[1], &[1]]), [empty]);
    }
    // The other dimensions do not matter, whatever they are.
    let shape = [0, u64::MAX, u64::MAX, 3];
    assert_eq!(
        run(Problem::reduce_min(DType::F64, &shape, &[3]), &[&[]]),
        [empty]
    );
}

#[test]
fn the_strides_of_no_elements_do_not_matter() {
    let far = |p: Problem| p.strided(0, &[1, i64::MAX], u64::MAX);
    let min = |shape: &[u64], axes: &[i64]| Problem::reduce_min(DType::U8, shape, axes);
    let sum = |shape: &[u64], axes: &[i64]| Problem::reduce_sum(DType::U8, shape, axes);
    let huge = [0, 4, 1u64 << 61];
    assert_eq!(run(min(&huge, &[0, 2]), &[&[]]), [[255; 4]]);
    assert_eq!(run(sum(&huge, &[0, 2]), &[&[]]), [[0; 4]]);
    assert_eq!(run(min(&[0, 4], &[0]).map(far), &[&[]]), [[255; 4]]);
    assert_eq!(run(sum(&[0, 4], &[0]).map(far), &[&[]]), [[0; 4]]);
}

#[test]
fn a_scalar_reduces_to_itself_and_its_index_is_0() {
    for dtype in DType::ALL {
        let (_, hi) = limits(dtype);
        for op in [Op::ReduceMin, Op::ReduceMax] {
            assert_eq!(run(problem_of(op, dtype, &[], &[]), &[&[hi]]), [[hi]]);
        }
        for axis in [0, -1] {
            for op in [Op::ArgMin, Op::ArgMax] {
                for last in [false, true] {
                    let problem = problem_of(op, dtype, &[], &[axis]).map(|p| p.with_values(true));
                    let problem = problem.map(|p| p.select_last_index(last));
                    assert_eq!(run(problem, &[&[hi]]), [[0], [hi]]);
                }
            }
        }
    }
}

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
    // Also over a length of 1 and at rank 0.
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
        let problem = problem.clone().index_type(index_type);
        assert_eq!(evaluate(&problem, &[&row]).unwrap(), [bytes]);
    }
}

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
