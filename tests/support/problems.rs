//! The ways to ask for a reduction, and the choice of some of them.
//!
//! A pipeline takes far longer to compile than to run, and each type and option needs another one. So the suite tries a
//! few ways for one type of each size, over all shapes: a *turn*. The long suite takes another turn each time.

use wgreduce::{DType, IndexType, NanPolicy, Op, Order, Problem, ProblemError};

pub const ORDERS: [Order; 3] = [Order::Least, Order::Greatest, Order::GreatestMagnitude];
pub const POLICIES: [NanPolicy; 2] = [NanPolicy::Propagate, NanPolicy::Ignore];
const INDEX_TYPES: [IndexType; 3] = [IndexType::I64, IndexType::I32, IndexType::U32];

/// After so many turns each type has met every way, all equally often.
pub const TURNS: u64 = 12 * 36;

/// A type of each size.
pub fn types(turn: u64) -> [DType; 4] {
    use DType::*;
    // The ways repeat after 36 turns and the types after 12: each time the ways begin anew, the types move on by one.
    let turn = (turn + turn / 36) as usize;
    [
        [U8, I8, Bool][turn % 3],
        [F16, I16, BF16, U16][turn % 4],
        [F32, I32, F32, U32][(turn + 1) % 4],
        [I64, F64, U64][(turn + 1) % 3],
    ]
}

/// One of the 36 ways to ask for an index.
pub fn index_problem(
    dtype: DType,
    shape: &[u64],
    axis: i64,
    way: u64,
) -> Result<Problem, ProblemError> {
    let op = [Op::ArgMin, Op::ArgMax, Op::ArgMaxAbs][(way % 3) as usize];
    let problem = problem_of(op, dtype, shape, &[axis])?;
    let (last, nan, index) = (way / 3 % 2, way / 6 % 2, way / 12 % 3);
    let problem = problem.select_last_index(last == 1);
    Ok(problem
        .nan(POLICIES[nan as usize])
        .index_type(INDEX_TYPES[index as usize]))
}

/// One of the six ways to ask for a value.
pub fn value_problem(
    dtype: DType,
    shape: &[u64],
    axes: &[i64],
    way: u64,
) -> Result<Problem, ProblemError> {
    let op = [Op::ReduceMin, Op::ReduceMax, Op::ReduceMaxAbs][(way % 3) as usize];
    let problem = problem_of(op, dtype, shape, axes)?;
    Ok(problem.nan(POLICIES[(way / 3 % 2) as usize]))
}

/// A turn's ways to reduce a dimension: an index, an index with values, and a value.
pub fn ways(
    dtype: DType,
    shape: &[u64],
    axis: i64,
    turn: u64,
) -> Result<Vec<Problem>, ProblemError> {
    // Seven has no factor in common with the number of ways: for each size, every way has its turn.
    let way = 7 * turn + 10 * u64::from(dtype.size().ilog2());
    let index = index_problem(dtype, shape, axis, way)?;
    Ok(vec![
        index.clone().keepdims(turn.is_multiple_of(2)),
        index.with_values(true),
        value_problem(dtype, shape, &[axis], way)?,
    ])
}

/// Both extremes and their indices, in one of the ways to ask for them.
pub fn extremes(dtype: DType, shape: &[u64], axis: i64, way: u64) -> Result<Problem, ProblemError> {
    let problem = Problem::extremes(dtype, shape, axis)?.nan(POLICIES[(way % 2) as usize]);
    let problem = problem.select_last_index(way / 2 % 2 == 1);
    Ok(problem.index_type(INDEX_TYPES[(way / 4 % 3) as usize]))
}

/// One of the twelve ways to ask for the best elements.
pub fn top_problem(
    dtype: DType,
    shape: &[u64],
    axis: i64,
    k: u64,
    way: u64,
) -> Result<Problem, ProblemError> {
    Ok(Problem::top_k(dtype, shape, axis, k)?
        .largest(way.is_multiple_of(2))
        .nan(POLICIES[(way / 2 % 2) as usize])
        .index_type(INDEX_TYPES[(way / 4 % 3) as usize]))
}

/// A problem over one tensor by its operator, with the default options. An operator with one axis takes the first of them.
pub fn problem_of(
    op: Op,
    dtype: DType,
    shape: &[u64],
    axes: &[i64],
) -> Result<Problem, ProblemError> {
    match op {
        Op::ArgMin => Problem::arg_min(dtype, shape, axes[0]),
        Op::ArgMax => Problem::arg_max(dtype, shape, axes[0]),
        Op::ArgMaxAbs => Problem::arg_max_abs(dtype, shape, axes[0]),
        Op::Extremes => Problem::extremes(dtype, shape, axes[0]),
        Op::TopK => Problem::top_k(dtype, shape, axes[0], 1),
        Op::ReduceMin => Problem::reduce_min(dtype, shape, axes),
        Op::ReduceMax => Problem::reduce_max(dtype, shape, axes),
        Op::ReduceMaxAbs => Problem::reduce_max_abs(dtype, shape, axes),
        Op::ReduceSum => Problem::reduce_sum(dtype, shape, axes),
        Op::ReduceMean => Problem::reduce_mean(dtype, shape, axes),
        Op::ReduceL1 => Problem::reduce_l1(dtype, shape, axes),
        Op::ReduceL2 => Problem::reduce_l2(dtype, shape, axes),
        Op::ReduceSumSquare => Problem::reduce_sum_square(dtype, shape, axes),
        Op::Min => Problem::min(dtype, &[shape]),
        Op::Max => Problem::max(dtype, &[shape]),
        other => panic!("{other} has no problem here"),
    }
}

/// One of the ten ways to ask for a sum.
pub fn sum_problem(
    dtype: DType,
    shape: &[u64],
    axes: &[i64],
    way: u64,
) -> Result<Problem, ProblemError> {
    let problem = problem_of(Op::SUMS[(way % 5) as usize], dtype, shape, axes)?;
    Ok(problem.nan(POLICIES[(way / 5 % 2) as usize]))
}

/// The types that have sums.
pub fn summed() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|&t| t != DType::Bool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_type_meets_every_way_in_some_turn() {
        let shape = [4, 9];
        for dtype in DType::ALL {
            let mut met = [const { BTreeSet::new() }; 4];
            let mut keepdims = BTreeSet::new();
            for turn in (0..TURNS).filter(|&turn| types(turn).contains(&dtype)) {
                let mut problems = ways(dtype, &shape, 1, turn).expect("problems");
                keepdims.insert(problems[0].keeps_dims());
                problems.push(extremes(dtype, &shape, 1, turn).expect("a problem"));
                for (met, problem) in met.iter_mut().zip(&problems) {
                    let options = (problem.nan_policy(), problem.selects_last_index());
                    let index = problem.index_result_type();
                    met.insert(format!("{} {options:?} {index:?}", problem.op()));
                }
            }
            assert_eq!(met.map(|ways| ways.len()), [36, 36, 6, 12], "{dtype}");
            assert_eq!(keepdims.len(), 2, "{dtype}");
        }
    }
}
