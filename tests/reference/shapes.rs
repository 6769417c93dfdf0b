//! Sets without elements, dimensions of 0, scalars, views, bytes that are true; and inputs that do not fit.

use super::{VALUE_OPS, limits, problem_of, run, value};
use wgreduce::reference::evaluate;
use wgreduce::{DType, NanPolicy, Op, Problem};

#[test]
fn a_view_is_read_where_its_strides_lead() {
    let data: Vec<u64> = vec![7, 1, 9, 3, 3, 8, 2, 6];
    // Every second element of a row, flipped, from inside the tensor.
    let arg = Problem::arg_min(DType::U8, &[2, 2], 1).map(|p| p.with_values(true));
    let arg = arg.map(|p| p.strided(0, &[4, -2], 3));
    assert_eq!(run(arg, &[&data]), [[1, 0], [1, 6]]);
    let copy = Problem::min(DType::U8, &[[2, 2]]).map(|p| p.strided(0, &[-1, 2], 1));
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
        let problem = problem_of(Op::ArgMax, dtype, &[3, 0], &[0]).map(|p| p.with_values(true));
        assert_eq!(run(problem, &[&[]]), [empty, empty]);
    }
    // The other dimensions do not matter, whatever they are.
    let shape = [0, u64::MAX, u64::MAX, 3];
    let problem = Problem::reduce_min(DType::F64, &shape, &[3]);
    assert_eq!(run(problem, &[&[]]), [empty]);
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
        let sets = [set(&[7, 0]), set(&[0, 255]), set(&[0, 0])];
        assert_eq!(sets, [mixed, mixed, 0], "{op}");
        assert_eq!([set(&[7, 255]), set(&[128, 1])], [1, 1], "{op}");
    }
    // Also over a length of 1 and at rank 0.
    let problem = Problem::reduce_min(DType::Bool, &[2, 1], &[1]);
    assert_eq!(run(problem, &[&[7, 0]]), [[1, 0]]);
    let problem = Problem::reduce_max(DType::Bool, &[], &[]);
    assert_eq!(run(problem, &[&[7]]), [[1]]);
}

#[test]
fn inputs_that_are_not_the_problems_are_refused() {
    let problem = Problem::max(DType::F32, &[[2], [1]]).unwrap();
    let [eight, four] = [&[0; 8][..], &[0; 4]];
    let refused = |inputs: &[&[u8]]| evaluate(&problem, inputs).unwrap_err().to_string();
    let few = "Max was given 1 inputs where the problem has 2";
    assert_eq!(refused(&[eight]), few);
    let long = "input 1 has 8 bytes where float32 of shape [1] takes 4";
    assert_eq!(refused(&[eight, eight]), long);
    assert!(evaluate(&problem, &[eight, four]).is_ok());
}
