//! What an operator's command asks for: the problem over the inputs, and where the results go.
//!
//! Reads the inputs' headers. Knows not how the problem is solved.

use std::path::{Path, PathBuf};

use wgreduce::{Error, Op, Problem, ProblemError};

use crate::args::{
    Common, Elementwise, Index, IndexOptions, OperatorCommand, Output, Reduce, Share, Top,
};
use crate::failure::Failure;
use crate::npy::{self, Source};
use crate::operator;
use crate::output;

pub type Inputs<'a> = Vec<(&'a PathBuf, Source)>;

/// What an operator's command asks for.
pub struct Request<'a> {
    pub problem: Problem,
    pub inputs: Inputs<'a>,
    pub output: Option<&'a Path>,
    pub values: Option<&'a Path>,
    /// Reduce only this part.
    pub share: Option<Share>,
}

impl<'a> Request<'a> {
    /// The request of a command. The inputs' headers are read.
    pub fn of(command: &'a OperatorCommand, common: &Common) -> Result<Request<'a>, Failure> {
        use OperatorCommand::*;
        let mut request = match command {
            Argmin(args) => Request::index(Op::ArgMin, args, common),
            Argmax(args) => Request::index(Op::ArgMax, args, common),
            ReduceMin(args) => Request::reduce(Op::ReduceMin, args, common),
            ReduceMax(args) => Request::reduce(Op::ReduceMax, args, common),
            Min(args) => Request::elementwise(Op::Min, args, common),
            Max(args) => Request::elementwise(Op::Max, args, common),
            ArgmaxAbs(args) => Request::index(Op::ArgMaxAbs, args, common),
            ReduceMaxAbs(args) => Request::reduce(Op::ReduceMaxAbs, args, common),
            ReduceSum(args) => Request::reduce(Op::ReduceSum, args, common),
            ReduceMean(args) => Request::reduce(Op::ReduceMean, args, common),
            ReduceL1(args) => Request::reduce(Op::ReduceL1, args, common),
            ReduceL2(args) => Request::reduce(Op::ReduceL2, args, common),
            ReduceSumSquare(args) => Request::reduce(Op::ReduceSumSquare, args, common),
            Topk(args) => Request::top(args, common),
        }?;
        if request.share.is_none() {
            let paths = [request.output, request.values].into_iter().flatten();
            if let Some(path) = paths.into_iter().find(|path| output::is_part(path)) {
                let why = "a result is an .npy file; --part I/N writes parts";
                return Err(Failure::file(path, why));
            }
        }
        request.problem = request.problem.nan(common.nan);
        Ok(request)
    }

    fn new(problem: Problem, inputs: Inputs<'a>, to: &'a Output) -> Request<'a> {
        Request {
            problem,
            inputs,
            output: to.output.as_deref(),
            values: None,
            share: to.part,
        }
    }

    /// `argmin`, `argmax` and `argmax-abs`.
    fn index(op: Op, args: &'a Index, common: &Common) -> Result<Request<'a>, Failure> {
        let values = args.values.as_deref();
        apart(values, args.output.output.as_deref())?;
        let input = npy::open(&args.input, common.dtype)?;
        let options = &args.options;
        let problem = operator::problem(op, input.dtype(), &[input.shape()], &[args.axis], 0)
            .map(|p| with_options(p, options).keepdims(args.keepdims.keepdims))
            .map(|p| p.with_values(values.is_some()))
            .and_then(checked)
            .map_err(|e| Failure::input(&args.input, e))?;
        let inputs = vec![(&args.input, input)];
        let request = Request::new(problem, inputs, &args.output);
        Ok(Request { values, ..request })
    }

    /// `topk`.
    fn top(args: &'a Top, common: &Common) -> Result<Request<'a>, Failure> {
        let values = args.values.as_deref();
        apart(values, args.output.output.as_deref())?;
        let input = npy::open(&args.input, common.dtype)?;
        let k = args.k;
        let problem = operator::problem(Op::TopK, input.dtype(), &[input.shape()], &[args.axis], k)
            .map(|p| p.largest(!args.smallest))
            .map(|p| p.index_type(args.index_type))
            .and_then(checked)
            .map_err(|e| Failure::input(&args.input, e))?;
        let inputs = vec![(&args.input, input)];
        let request = Request::new(problem, inputs, &args.output);
        Ok(Request { values, ..request })
    }

    /// Where each of the problem's outputs goes.
    pub fn paths(&self) -> [Option<&'a Path>; 2] {
        in_order(&self.problem, [self.output, self.values])
    }

    /// The numbers of the outputs that are printed, in that order.
    pub fn printed(&self) -> Vec<usize> {
        match (self.output, self.values, self.problem.op()) {
            (Some(_), _, _) => vec![],
            (None, None, Op::TopK) => vec![1, 0],
            (None, Some(_), Op::TopK) => vec![1],
            (None, _, _) => vec![0],
        }
    }

    /// The operators named `reduce-`.
    fn reduce(op: Op, args: &'a Reduce, common: &Common) -> Result<Request<'a>, Failure> {
        let input = npy::open(&args.input, common.dtype)?;
        let axes = args.axes.as_deref().unwrap_or_default();
        let problem = operator::problem(op, input.dtype(), &[input.shape()], axes, 0)
            .map(|p| p.keepdims(args.keepdims.keepdims))
            .and_then(checked)
            .map_err(|e| Failure::input(&args.input, e))?;
        let inputs = vec![(&args.input, input)];
        Ok(Request::new(problem, inputs, &args.output))
    }

    /// `min` and `max`.
    fn elementwise(op: Op, args: &'a Elementwise, common: &Common) -> Result<Request<'a>, Failure> {
        let stdin = args.inputs.iter().filter(|path| path.as_os_str() == "-");
        if let times @ 2.. = stdin.count() {
            let why = format!("can be read once, and is given {times} times");
            return Err(Failure::input(Path::new("-"), why));
        }
        let inputs = args.inputs.iter().map(|path| npy::open(path, common.dtype));
        let inputs: Vec<Source> = inputs.collect::<Result<_, _>>()?;
        let dtype = inputs[0].dtype();
        if let Some(odd) = inputs.iter().position(|i| i.dtype() != dtype) {
            let first = args.inputs[0].display();
            let why = format!("holds {}, but {first} holds {dtype}", inputs[odd].dtype());
            return Err(Failure::input(&args.inputs[odd], why));
        }
        let shapes: Vec<&[u64]> = inputs.iter().map(Source::shape).collect();
        let problem = operator::problem(op, dtype, &shapes, &[], 0).map_err(|e| match e {
            ProblemError::NotBroadcastable { input, .. } => Failure::input(&args.inputs[input], e),
            e => Failure::from(Error::from(e)),
        })?;
        let inputs = args.inputs.iter().zip(inputs).collect();
        Ok(Request::new(problem, inputs, &args.output))
    }
}

/// What belongs to the result and to the values, in the order of the outputs.
pub fn in_order<T>(problem: &Problem, [result, values]: [T; 2]) -> [T; 2] {
    match problem.op() {
        Op::TopK => [values, result],
        _ => [result, values],
    }
}

/// Refuses one place for the values and the indices.
pub fn apart(values: Option<&Path>, output: Option<&Path>) -> Result<(), Failure> {
    match (values, output) {
        (Some(values), Some(output)) if output::is_same(values, output) => {
            let why = "is asked for twice, by -o and --values";
            Err(Failure::output(values, why))
        }
        (Some(values), None) if output::is_stdout(values) => {
            let why = "cannot hold the values and the indices: name a file with -o";
            Err(Failure::output(values, why))
        }
        _ => Ok(()),
    }
}

/// What `plan` shares with the commands that run.
pub fn with_options(problem: Problem, options: &IndexOptions) -> Problem {
    problem
        .select_last_index(options.select_last_index)
        .index_type(options.index_type)
}

/// Options are checked before data is read.
fn checked(problem: Problem) -> Result<Problem, ProblemError> {
    problem.check()?;
    Ok(problem)
}
