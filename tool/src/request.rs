//! What an operator's command asks for: the problem over the inputs, and where the results go.
//!
//! Reads the inputs' headers. Knows not how the problem is solved.

use std::path::{Path, PathBuf};

use wgreduce::{Error, Op, Problem, ProblemError};

use crate::args::{Command, Common, Elementwise, Index, IndexOptions, Output, Reduce, Share, Top};
use crate::failure::Failure;
use crate::npy::{self, Source};
use crate::operator::Operator;
use crate::output;

pub type Inputs<'a> = Vec<(&'a PathBuf, Source)>;

/// What an operator's command asks for.
pub struct Request<'a> {
    pub operator: Operator,
    pub problem: Problem,
    pub inputs: Inputs<'a>,
    pub output: &'a Option<PathBuf>,
    pub values: &'a Option<PathBuf>,
    /// Reduce only this part.
    pub share: Option<Share>,
}

impl<'a> Request<'a> {
    /// The request of a command, if it is an operator's. The inputs' headers are read.
    pub fn of(command: &'a Command, common: &Common) -> Result<Option<Request<'a>>, Failure> {
        let request = match command {
            Command::Argmin(args) => Request::index(Operator::Argmin, args, common),
            Command::Argmax(args) => Request::index(Operator::Argmax, args, common),
            Command::ReduceMin(args) => Request::reduce(Operator::ReduceMin, args, common),
            Command::ReduceMax(args) => Request::reduce(Operator::ReduceMax, args, common),
            Command::Min(args) => Request::elementwise(Operator::Min, args, common),
            Command::Max(args) => Request::elementwise(Operator::Max, args, common),
            Command::ArgmaxAbs(args) => Request::index(Operator::ArgmaxAbs, args, common),
            Command::ReduceMaxAbs(args) => Request::reduce(Operator::ReduceMaxAbs, args, common),
            Command::ReduceSum(args) => Request::reduce(Operator::ReduceSum, args, common),
            Command::ReduceMean(args) => Request::reduce(Operator::ReduceMean, args, common),
            Command::ReduceL1(args) => Request::reduce(Operator::ReduceL1, args, common),
            Command::ReduceL2(args) => Request::reduce(Operator::ReduceL2, args, common),
            Command::ReduceSumSquare(args) => {
                Request::reduce(Operator::ReduceSumSquare, args, common)
            }
            Command::Topk(args) => Request::top(args, common),
            _ => return Ok(None),
        };
        let mut request = request?;
        if request.share.is_none() {
            let paths = [request.output, request.values].into_iter().flatten();
            if let Some(path) = paths.into_iter().find(|path| output::is_part(path)) {
                let why = "a result is an .npy file; --part I/N writes parts";
                return Err(Failure::file(path, why));
            }
        }
        request.problem = request.problem.nan(common.nan.into());
        Ok(Some(request))
    }

    fn new(
        operator: Operator,
        problem: Problem,
        inputs: Inputs<'a>,
        to: &'a Output,
    ) -> Request<'a> {
        Request {
            operator,
            problem,
            inputs,
            output: &to.output,
            values: &None,
            share: to.part,
        }
    }

    /// `argmin`, `argmax` and `argmax-abs`.
    fn index(operator: Operator, args: &'a Index, common: &Common) -> Result<Request<'a>, Failure> {
        apart(&args.values, &args.output.output)?;
        let input = npy::open(&args.input, common.dtype)?;
        let options = &args.options;
        let problem = operator
            .problem(input.dtype(), &[input.shape()], &[args.axis], 0)
            .map(|p| with_options(p, options).keepdims(args.keepdims.keepdims))
            .map(|p| p.with_values(args.values.is_some()))
            .and_then(checked)
            .map_err(|e| Failure::input(&args.input, e))?;
        let inputs = vec![(&args.input, input)];
        let request = Request::new(operator, problem, inputs, &args.output);
        Ok(Request {
            values: &args.values,
            ..request
        })
    }

    /// `topk`.
    fn top(args: &'a Top, common: &Common) -> Result<Request<'a>, Failure> {
        apart(&args.values, &args.output.output)?;
        let input = npy::open(&args.input, common.dtype)?;
        let operator = Operator::Topk;
        let problem = operator
            .problem(input.dtype(), &[input.shape()], &[args.axis], args.wanted.k)
            .map(|p| p.largest(!args.wanted.smallest))
            .map(|p| p.index_type(args.index_type.into()))
            .and_then(checked)
            .map_err(|e| Failure::input(&args.input, e))?;
        let inputs = vec![(&args.input, input)];
        let request = Request::new(operator, problem, inputs, &args.output);
        Ok(Request {
            values: &args.values,
            ..request
        })
    }

    /// Where each of the problem's outputs goes.
    pub fn paths(&self) -> [&'a Option<PathBuf>; 2] {
        in_order(&self.problem, [self.output, self.values])
    }

    /// The numbers of the outputs that are printed, in that order.
    pub fn printed(&self) -> Vec<usize> {
        let indices = usize::from(self.operator.op() == Op::TopK);
        let mut printed = Vec::new();
        if self.output.is_none() {
            printed.push(indices);
            if indices == 1 && self.values.is_none() {
                printed.push(0);
            }
        }
        printed
    }

    /// The operators named `reduce-`.
    fn reduce(
        operator: Operator,
        args: &'a Reduce,
        common: &Common,
    ) -> Result<Request<'a>, Failure> {
        let input = npy::open(&args.input, common.dtype)?;
        let axes = args.axes.as_ref().map_or(&[][..], |axes| &axes.0);
        let problem = operator
            .problem(input.dtype(), &[input.shape()], axes, 0)
            .map(|p| p.keepdims(args.keepdims.keepdims))
            .and_then(checked)
            .map_err(|e| Failure::input(&args.input, e))?;
        let inputs = vec![(&args.input, input)];
        Ok(Request::new(operator, problem, inputs, &args.output))
    }

    /// `min` and `max`.
    fn elementwise(
        operator: Operator,
        args: &'a Elementwise,
        common: &Common,
    ) -> Result<Request<'a>, Failure> {
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
        let problem = operator
            .problem(dtype, &shapes, &[], 0)
            .map_err(|e| match e {
                ProblemError::NotBroadcastable { input, .. } => {
                    Failure::input(&args.inputs[input], e)
                }
                e => Failure::from(Error::from(e)),
            })?;
        let inputs = args.inputs.iter().zip(inputs).collect();
        Ok(Request::new(operator, problem, inputs, &args.output))
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
fn apart(values: &Option<PathBuf>, output: &Option<PathBuf>) -> Result<(), Failure> {
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
        .index_type(options.index_type.into())
}

/// Options are checked before data is read.
fn checked(problem: Problem) -> Result<Problem, ProblemError> {
    problem.check()?;
    Ok(problem)
}
