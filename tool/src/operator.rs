//! The operators by their subcommands' names, and the problem that each stands for.
//!
//! Keeps which operators the tool has; what else a command takes, `args.rs` knows.

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
        }
    }

    /// The problem over one shape or, of min and max, several. An index operator takes the first
    /// of the axes, or axis 0; min and max take none.
    pub fn problem<S: AsRef<[u64]>>(
        self,
        dtype: DType,
        shapes: &[S],
        axes: &[i64],
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
            Operator::Min => Problem::min(dtype, shapes),
            Operator::Max => Problem::max(dtype, shapes),
        }
    }
}
