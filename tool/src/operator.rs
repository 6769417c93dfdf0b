//! The operators by their subcommands' names, and the problem that each stands for.
//!
//! `args.rs` knows which options a command has.

use wgreduce::{DType, Op, Problem, ProblemError};

/// The subcommands that are operators.
pub const OPERATORS: [(&str, Op); 14] = [
    ("argmin", Op::ArgMin),
    ("argmax", Op::ArgMax),
    ("reduce-min", Op::ReduceMin),
    ("reduce-max", Op::ReduceMax),
    ("min", Op::Min),
    ("max", Op::Max),
    ("argmax-abs", Op::ArgMaxAbs),
    ("reduce-max-abs", Op::ReduceMaxAbs),
    ("reduce-sum", Op::ReduceSum),
    ("reduce-mean", Op::ReduceMean),
    ("reduce-l1", Op::ReduceL1),
    ("reduce-l2", Op::ReduceL2),
    ("reduce-sum-square", Op::ReduceSumSquare),
    ("topk", Op::TopK),
];

/// Whether a subcommand is an operator.
pub fn is_operator(command: &str) -> bool {
    OPERATORS.iter().any(|(name, _)| *name == command)
}

/// The problem over one shape, or over several for min and max. An index operator goes over the first
/// of the axes, or axis 0, topk over the last; min and max have none. `k` is how many elements topk gives.
pub fn problem<S: AsRef<[u64]>>(
    op: Op,
    dtype: DType,
    shapes: &[S],
    axes: &[i64],
    k: u64,
) -> Result<Problem, ProblemError> {
    let shape = shapes.first().map_or(&[][..], |shape| shape.as_ref());
    let axis = axes.first().copied().unwrap_or(0);
    match op {
        Op::ArgMin => Problem::arg_min(dtype, shape, axis),
        Op::ArgMax => Problem::arg_max(dtype, shape, axis),
        Op::ArgMaxAbs => Problem::arg_max_abs(dtype, shape, axis),
        Op::ReduceMin => Problem::reduce_min(dtype, shape, axes),
        Op::ReduceMax => Problem::reduce_max(dtype, shape, axes),
        Op::ReduceMaxAbs => Problem::reduce_max_abs(dtype, shape, axes),
        Op::ReduceSum => Problem::reduce_sum(dtype, shape, axes),
        Op::ReduceMean => Problem::reduce_mean(dtype, shape, axes),
        Op::ReduceL1 => Problem::reduce_l1(dtype, shape, axes),
        Op::ReduceL2 => Problem::reduce_l2(dtype, shape, axes),
        Op::ReduceSumSquare => Problem::reduce_sum_square(dtype, shape, axes),
        Op::TopK => {
            let axis = axes.first().copied().unwrap_or(-1);
            Problem::top_k(dtype, shape, axis, k)
        }
        Op::Min => Problem::min(dtype, shapes),
        // No subcommand has another one.
        _ => Problem::max(dtype, shapes),
    }
}

/// A problem with the operator and the options of another one, over other shapes and axes.
pub fn like<S: AsRef<[u64]>>(
    other: &Problem,
    shapes: &[S],
    axes: &[i64],
) -> Result<Problem, ProblemError> {
    let k = other.k().unwrap_or(0);
    Ok(problem(other.op(), other.dtype(), shapes, axes, k)?
        .largest(!other.gives_smallest())
        .nan(other.nan_policy())
        .keepdims(other.keeps_dims())
        .select_last_index(other.selects_last_index())
        .index_type(other.index_result_type().unwrap_or_default())
        .with_values(other.gives_values()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_poses_its_own_problem() {
        for (name, op) in OPERATORS {
            let problem = problem(op, DType::F32, &[[2]], &[0], 1).expect(name);
            assert_eq!(problem.op(), op, "{name}");
            assert_eq!(like(&problem, &[[3]], &[0]).expect(name).op(), op);
        }
    }
}
