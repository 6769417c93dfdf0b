//! The operators' commands: files in, a file or a print out.
//!
//! Says what handles a request: `part`, `stream` or, if all fits in memory, this file. Knows no file formats.

use std::path::PathBuf;
use std::time::Instant;

use indicatif::ProgressFinish;
use wgreduce::reference::{self, VerifyError};
use wgreduce::{Error, Plan, Problem, Times};

use crate::args::Common;
use crate::device::Device;
use crate::failure::{Failure, number_of, say};
use crate::npy::Source;
use crate::output::{self, Content, Target};
use crate::part;
use crate::print::{milliseconds, render, spinner};
use crate::request::Request;
use crate::stream;
use crate::tensor::fits_memory;

/// Computes, checks, and writes every output to its path, or prints it.
pub fn run(request: Request<'_>, common: &Common) -> Result<(), Failure> {
    if let Some(share) = request.share {
        return part::run(request, share, common);
    }
    if stream::is_wanted(&request.problem, &request.inputs, common) {
        return stream::run(request, common);
    }
    let (paths, printed) = (request.paths(), request.printed());
    let read =
        |(path, input): (&PathBuf, Source)| input.read().map_err(|why| Failure::input(path, why));
    let inputs = request.inputs.into_iter().map(read);
    let inputs: Vec<Vec<u8>> = inputs.collect::<Result<_, _>>()?;
    let outputs = request.problem.outputs();
    let data: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let (results, report) = {
        let spinner = spinner(common.quiet).with_message(request.problem.to_string());
        let _spinner = spinner.with_finish(ProgressFinish::AndClear);
        let device = Device::open(common)?;
        compute(&device, request.problem, &data, common)?
    };

    let asked = outputs.iter().zip(&results).zip(paths);
    let targets = asked.filter_map(|((tensor, data), path)| {
        let content = Content::Tensor(tensor, data);
        path.map(|path| Target { path, content })
    });
    let text = printed.iter().map(|&i| render(&outputs[i], &results[i]));
    let text: String = text.collect();
    output::write(&targets.chain([Target::print(&text)]).collect::<Vec<_>>())?;
    // Said last, so that after a failure the first line is the error.
    if !common.quiet {
        report.iter().for_each(|line| say(line));
    }
    Ok(())
}

/// The outputs, checked if that was asked for, and the lines for stderr.
pub fn compute(
    device: &Device,
    problem: Problem,
    inputs: &[&[u8]],
    common: &Common,
) -> Result<(Vec<Vec<u8>>, Vec<String>), Failure> {
    let problem = problem.nan(common.nan);
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
        Device::Gpu(reducer) => {
            let reduction = reducer.prepare_blocking(&problem)?;
            let (results, times) = reduction.run_timed_blocking(inputs)?;
            report.push(plan_line(&problem, reduction.plan(), common));
            report.push(time_line(&times));
            results
        }
    };
    if common.check {
        check(&problem, inputs, &results)?;
        report.push("check: equal to the CPU reference, byte for byte".into());
    }
    Ok((results, report))
}

/// How much is dispatched; with `--verbose` what.
pub fn plan_line(problem: &Problem, plan: &Plan, common: &Common) -> String {
    match common.verbose {
        true => format!("plan: {plan}"),
        false => format!(
            "plan: {problem}: {}",
            number_of(plan.passes().len(), "dispatch")
        ),
    }
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

/// Compares what the GPU gave with the definition.
fn check(problem: &Problem, inputs: &[&[u8]], results: &[Vec<u8>]) -> Result<(), Failure> {
    reference::verify(problem, inputs, results).map_err(|e| match e {
        VerifyError::Problem(e) => Failure::from(Error::from(e)),
        difference => Failure::Check(format!("--check: {problem}: {difference}")),
    })
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
