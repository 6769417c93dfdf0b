//! The operators by their subcommands' names, and the problem that each stands for.
//!
//! `args.rs` knows which options a command has.

use clap::ValueEnum;
use wgreduce::{DType, Op, Problem, ProblemError};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Operator {
    Argmin,
    Argmax,
    ReduceMin,
    ReduceMax,
    Min,
    Max,
    ArgmaxAbs,
    ReduceMaxAbs,
    ReduceSum,
    ReduceMean,
    ReduceL1,
    ReduceL2,
    ReduceSumSquare,
    Topk,
}

impl Operator {
    pub fn op(self) -> Op {
        match self {
            Operator::Argmin => Op::ArgMin,
            Operator::Argmax => Op::ArgMax,
            Operator::ReduceMin => Op::ReduceMin,
            Operator::ReduceMax => Op::ReduceMax,
            Operator::Min => Op::Min,
            Operator::Max => Op::Max,
            Operator::ArgmaxAbs => Op::ArgMaxAbs,
            Operator::ReduceMaxAbs => Op::ReduceMaxAbs,
            Operator::ReduceSum => Op::ReduceSum,
            Operator::ReduceMean => Op::ReduceMean,
            Operator::ReduceL1 => Op::ReduceL1,
            Operator::ReduceL2 => Op::ReduceL2,
            Operator::ReduceSumSquare => Op::ReduceSumSquare,
            Operator::Topk => Op::TopK,
        }
    }

    /// The operator of a name that [`Op::name`] gives.
    pub fn named(name: &str) -> Option<Operator> {
        let all = Operator::value_variants().iter();
        all.copied().find(|o| o.op().name() == name)
    }

    /// The problem over one shape, or over several for min and max. An index operator goes over the first
    /// of the axes, or axis 0, topk over the last; min and max have none. `k` is how many elements topk gives.
    pub fn problem<S: AsRef<[u64]>>(
        self,
        dtype: DType,
        shapes: &[S],
        axes: &[i64],
        k: u64,
    ) -> Result<Problem, ProblemError> {
        let shape = shapes.first().map_or(&[][..], |shape| shape.as_ref());
        let axis = axes.first().copied().unwrap_or(0);
        match self {
            Operator::Argmin => Problem::arg_min(dtype, shape, axis),
            Operator::Argmax => Problem::arg_max(dtype, shape, axis),
            Operator::ArgmaxAbs => Problem::arg_max_abs(dtype, shape, axis),
            Operator::ReduceMin => Problem::reduce_min(dtype, shape, axes),
            Operator::ReduceMax => Problem::reduce_max(dtype, shape, axes),
            Operator::ReduceMaxAbs => Problem::reduce_max_abs(dtype, shape, axes),
            Operator::ReduceSum => Problem::reduce_sum(dtype, shape, axes),
            Operator::ReduceMean => Problem::reduce_mean(dtype, shape, axes),
            Operator::ReduceL1 => Problem::reduce_l1(dtype, shape, axes),
            Operator::ReduceL2 => Problem::reduce_l2(dtype, shape, axes),
            Operator::ReduceSumSquare => Problem::reduce_sum_square(dtype, shape, axes),
            Operator::Topk => {
                let axis = axes.first().copied().unwrap_or(-1);
                Problem::top_k(dtype, shape, axis, k)
            }
            Operator::Min => Problem::min(dtype, shapes),
            Operator::Max => Problem::max(dtype, shapes),
        }
    }

    /// A problem with the options of another one, over other shapes and axes.
    pub fn like<S: AsRef<[u64]>>(
        self,
        problem: &Problem,
        shapes: &[S],
        axes: &[i64],
    ) -> Result<Problem, ProblemError> {
        Ok(self
            .problem(problem.dtype(), shapes, axes, problem.k().unwrap_or(0))?
            .largest(!problem.gives_smallest())
            .nan(problem.nan_policy())
            .keepdims(problem.keeps_dims())
            .select_last_index(problem.selects_last_index())
            .index_type(problem.index_result_type().unwrap_or_default())
            .with_values(problem.gives_values()))
    }
}
