//! The operators' commands: files in, a file or a print out.
//!
//! What the operators' commands have in common. Knows no file formats.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use wgreduce::reference::{self, VerifyError};
use wgreduce::{Error, Problem, ProblemError, Reducer, Times};

use crate::args::{Command, Common, Elementwise, Index, IndexOptions, Output, Reduce, Share};
use crate::device::Device;
use crate::failure::{Failure, say, write_stdout};
use crate::npy::{self, Source};
use crate::operator::Operator;
use crate::output::{self, Content, Target};
use crate::part;
use crate::print::render;
use crate::stream::{self, Inputs};
use crate::tensor::{Tensor, fits_memory};

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
            _ => return Ok(None),
        };
        let mut request = request?;
        if request.share.is_none() {
            let paths = [request.output, request.values].into_iter().flatten();
            if let Some(path) = paths.into_iter().find(|path| part::file::is_named(path)) {
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
        match (&args.values, &args.output.output) {
            (Some(values), Some(output)) if output::is_same(values, output) => {
                let why = "is asked for twice, by -o and --values";
                return Err(Failure::output(values, why));
            }
            (Some(values), None) if output::is_stdout(values) => {
                let why = "cannot hold the values and the indices: name a file with -o";
                return Err(Failure::output(values, why));
            }
            _ => {}
        }
        let input = npy::open(&args.input, common.dtype)?;
        let options = &args.options;
        let problem = operator
            .problem(input.dtype(), &[input.shape()], &[args.axis])
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

    /// The operators named `reduce-`.
    fn reduce(
        operator: Operator,
        args: &'a Reduce,
        common: &Common,
    ) -> Result<Request<'a>, Failure> {
        let input = npy::open(&args.input, common.dtype)?;
        let axes = args.axes.as_ref().map_or(&[][..], |axes| &axes.0);
        let problem = operator
            .problem(input.dtype(), &[input.shape()], axes)
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
        let problem = operator.problem(dtype, &shapes, &[]).map_err(|e| match e {
            ProblemError::NotBroadcastable { input, .. } => Failure::input(&args.inputs[input], e),
            e => Failure::from(Error::from(e)),
        })?;
        let inputs = args.inputs.iter().zip(inputs).collect();
        Ok(Request::new(operator, problem, inputs, &args.output))
    }

    /// Computes, checks, and writes every output to its path; the first one, if it has none, to
    /// stdout.
    pub fn run(self, common: &Common) -> Result<(), Failure> {
        if let Some(share) = self.share {
            return part::run(self, share, common);
        }
        if stream::is_wanted(&self.problem, &self.inputs, common) {
            return stream::run(self, common);
        }
        let read = |(path, input): (&PathBuf, Source)| {
            input.read().map_err(|why| Failure::input(path, why))
        };
        let inputs: Vec<Tensor> = self
            .inputs
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()?;
        let outputs = self.problem.outputs();
        let data: Vec<&[u8]> = inputs.iter().map(|i| i.data.as_slice()).collect();
        let (results, report) = {
            let _spinner = spinner(&self.problem, common);
            let device = Device::open(common)?;
            compute(&device, self.problem, &data, common)?
        };

        let asked = outputs.iter().zip(&results).zip([self.output, self.values]);
        let targets = asked.clone().filter_map(|((tensor, data), path)| {
            let path = path.as_deref()?;
            let content = Content::Tensor(tensor, data);
            Some(Target { path, content })
        });
        output::write(&targets.collect::<Vec<_>>())?;
        let printed = asked.take(1).filter(|(_, path)| path.is_none());
        for ((tensor, data), _) in printed {
            write_stdout(&render(tensor, data))?;
        }
        // Said last, so that after a failure the first line is the error.
        if !common.quiet {
            report.iter().for_each(|line| say(line));
        }
        Ok(())
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

/// The outputs, checked if that was asked for, and the lines for stderr.
pub fn compute(
    device: &Device,
    problem: Problem,
    inputs: &[&[u8]],
    common: &Common,
) -> Result<(Vec<Vec<u8>>, Vec<String>), Failure> {
    let problem = problem.nan(common.nan.into());
    if !fits_memory(&problem.outputs()) {
        let why = format!("the result of {problem} does not fit in memory");
        return Err(Failure::Request(why));
    }
    let mut report = vec![device.line()];
    let results = match device {
        Device::Cpu(_) => {
            let start = Instant::now();
            let results = reference::evaluate(&problem, inputs).map_err(Error::from)?;
            report.push(format!("time: {}", milliseconds(start.elapsed())));
            results
        }
        Device::Gpu(reducer) => compute_on(reducer, &problem, inputs, &mut report)?,
    };
    if common.check {
        check(&problem, inputs, &results)?;
        report.push("check: equal to the CPU reference, byte for byte".into());
    }
    Ok((results, report))
}

fn compute_on(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    report: &mut Vec<String>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let reduction = reducer.prepare_blocking(problem)?;
    let (results, times) = reduction.run_timed_blocking(inputs)?;
    let plan = reduction.plan().to_string();
    report.push(format!(
        "plan: {}",
        plan.lines().collect::<Vec<_>>().join("; ")
    ));
    report.push(time_line(&times));
    Ok(results)
}

fn time_line(times: &Times) -> String {
    let upload = milliseconds(times.upload);
    let readback = milliseconds(times.readback);
    let gpu = match times.gpu {
        Some(gpu) => milliseconds(gpu),
        None => format!("{} (wall, no timestamps)", milliseconds(times.wall)),
    };
    format!("time: upload {upload}, gpu {gpu}, readback {readback}")
}

pub fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Compares what the GPU gave with the definition.
fn check(problem: &Problem, inputs: &[&[u8]], results: &[Vec<u8>]) -> Result<(), Failure> {
    reference::verify(problem, inputs, results).map_err(|e| match e {
        VerifyError::Problem(e) => Failure::from(Error::from(e)),
        difference => Failure::Check(format!("--check: {problem}: {difference}")),
    })
}

/// Shows on a terminal that something is going on.
fn spinner(problem: &Problem, common: &Common) -> Option<ProgressBar> {
    if common.quiet {
        return None;
    }
    let spinner = ProgressBar::new_spinner().with_message(problem.to_string());
    spinner.enable_steady_tick(Duration::from_millis(100));
    Some(spinner.with_finish(indicatif::ProgressFinish::AndClear))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgreduce::DType;

    #[test]
    fn a_wrong_result_fails_the_check_and_is_named() {
        let problem = Problem::arg_max(DType::U8, &[2, 3], 1).expect("a problem");
        let data = [1, 9, 2, 5, 5, 0];
        let right = [1i64, 0].map(i64::to_le_bytes).concat();
        assert!(check(&problem, &[&data], &[right]).is_ok());
        let wrong = [1i64, 1].map(i64::to_le_bytes).concat();
        match check(&problem, &[&data], &[wrong]) {
            Err(Failure::Check(words)) => {
                let place = "--check: ArgMax uint8 [2, 3] axes [1]: output 0 at [1, 0]: expected 0";
                assert!(words.starts_with(place), "{words}");
            }
            other => panic!("{other:?}"),
        }
    }
}
