//! Files larger than memory: read piece by piece, never held as a whole.
//!
//! Moves pieces between files and the library, which decides on the pieces.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressFinish};
use wgreduce::{Error, Output, Problem, ProblemError, reference};

use crate::args::Common;
use crate::device::Device;
use crate::failure::{Failure, say};
use crate::npy::Source;
use crate::operator::like;
use crate::output::{self, Content, Target};
use crate::print::{self, milliseconds, render};
use crate::request::{Inputs, Request};
use crate::run::plan_line;
use crate::tensor::from_fortran;

/// Whether the data, once on the host and once on the device, is too much for `--memory`.
pub fn is_wanted(problem: &Problem, inputs: &Inputs<'_>, common: &Common) -> bool {
    let read = inputs.iter().map(|(_, input)| input.bytes());
    let written = problem.outputs().into_iter().map(|o| o.bytes());
    let bytes = read.chain(written).fold(0, u64::saturating_add);
    bytes > memory(common) / 4
}

pub fn memory(common: &Common) -> u64 {
    common.memory << 20
}

/// Computes, checks, and writes every output to its path, or prints it.
pub fn run(request: Request<'_>, common: &Common) -> Result<(), Failure> {
    let (paths, printed) = (request.paths(), request.printed());
    let (problem, mut inputs) = (&request.problem, request.inputs);
    let outputs = problem.outputs();
    let fortran = in_fortran_order(&inputs)?;
    // A tensor in Fortran order is one of the reversed shape in C order.
    let problem = &match fortran {
        true => reversed(problem).map_err(Error::from)?,
        false => problem.clone(),
    };
    let places = outputs.iter().zip(paths).enumerate();
    let results = places.map(
        |(i, (output, path))| match printed.contains(&i) || path.is_some() {
            true => held(output, path, common),
            false => Ok(Held::Nothing),
        },
    );
    let mut results = results.collect::<Result<Vec<_>, _>>()?;
    for (path, input) in &mut inputs {
        let spooled = input.spool(output::temporary);
        spooled.map_err(|why| Failure::input(path, why))?;
    }
    let device = Device::open(common)?;
    let told = compute(&device, problem, &mut inputs, &mut results, common)?;
    let mut report = [vec![device.line()], told].concat();
    if common.check {
        check(problem, &mut inputs, &mut results, common)?;
        report.push("check: equal to the CPU reference, byte for byte".into());
    }
    let mut text = String::new();
    for i in printed {
        if let Held::Memory(data) = &mut results[i] {
            let (output, mut data) = (&outputs[i], std::mem::take(data));
            if fortran {
                data = from_fortran(data, &output.shape, output.dtype.size() as usize);
            }
            text += &render(output, &data);
        }
    }
    let written = outputs.iter().zip(&results);
    let targets = written.filter_map(|(tensor, held)| match held {
        Held::Spool(path, file) => {
            let content = Content::Spooled(tensor, fortran, file);
            Some(Target { path, content })
        }
        Held::Memory(_) | Held::Nothing => None,
    });
    output::write(&targets.chain([Target::print(&text)]).collect::<Vec<_>>())?;
    // Said last, so that after a failure the first line is the error.
    if !common.quiet {
        report.iter().for_each(|line| say(line));
    }
    Ok(())
}

/// Where an output is held until all is done: beside its place or, if it is to be printed, here.
fn held(output: &Output, path: Option<&Path>, common: &Common) -> Result<Held, Failure> {
    match (path, output.bytes()) {
        (Some(path), _) => Ok(Held::Spool(path.to_path_buf(), output::spool(path)?)),
        (None, bytes) if bytes <= memory(common) / 4 => Ok(Held::Memory(Vec::new())),
        (None, bytes) => Err(Failure::Request(format!(
            "the result of {bytes} bytes exceeds a quarter of --memory: name a file with -o"
        ))),
    }
}

/// Fills the results, and returns lines for stderr.
pub fn compute(
    device: &Device,
    problem: &Problem,
    inputs: &mut Inputs<'_>,
    results: &mut [Held],
    common: &Common,
) -> Result<Vec<String>, Failure> {
    let bytes = inputs.iter().map(|(_, input)| input.bytes()).sum();
    let start = Instant::now();
    let mut report = Vec::new();
    let write = |output: usize, at: u64, bytes: &[u8]| results[output].write(at, bytes);
    let done = match device {
        Device::Cpu(_) => {
            let bar = bar(bytes, "reducing", common);
            let read = counted(&bar, inputs);
            reference::evaluate_streamed(problem, read, write)
        }
        Device::Gpu(reducer) => {
            let stream = reducer.stream_blocking(problem, memory(common))?;
            report.push(plan_line(problem, stream.plan(), common));
            let bar = bar(stream.read_bytes(), "reducing", common);
            let read = counted(&bar, inputs);
            stream.run_blocking(read, write)
        }
    };
    done.map_err(|e| failure(e, inputs, results))?;
    let time = milliseconds(start.elapsed());
    report.push(format!(
        "time: {time} for {bytes} bytes, read piece by piece"
    ));
    Ok(report)
}

/// Compares the results with the definition, which is computed piece by piece as well.
pub fn check(
    problem: &Problem,
    inputs: &mut Inputs<'_>,
    results: &mut [Held],
    common: &Common,
) -> Result<(), Failure> {
    let outputs = problem.outputs();
    let bytes = inputs.iter().map(|(_, input)| input.bytes()).sum();
    let bar = bar(bytes, "checking", common);
    let mut difference = None;
    let compare = |output: usize, at: u64, expected: &[u8]| {
        if matches!(results[output], Held::Nothing) {
            return Ok(());
        }
        let mut actual = vec![0; expected.len()];
        results[output].read(at, &mut actual)?;
        let Output { dtype, shape, .. } = &outputs[output];
        let part = Output::new(*dtype, [expected.len() as u64 / dtype.size()]);
        match reference::first_difference(&part, expected, &actual) {
            None => Ok(()),
            Some(mut found) => {
                let first = found.index.as_ref().map_or(0, |index| index[0]);
                found.index = Some(coordinates(at / dtype.size() + first, shape));
                difference = Some(format!("--check: {problem}: output {output} {found}"));
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    };
    let done = reference::evaluate_streamed(problem, counted(&bar, inputs), compare);
    match (difference, done) {
        (Some(difference), _) => Err(Failure::Check(difference)),
        (None, done) => done.map_err(|e| failure(e, inputs, results)),
    }
}

/// Where an element is in a tensor.
fn coordinates(mut element: u64, shape: &[u64]) -> Vec<u64> {
    let mut coordinates = vec![0; shape.len()];
    for (at, &size) in coordinates.iter_mut().zip(shape).rev() {
        *at = element % size;
        element /= size;
    }
    coordinates
}

/// A result that grows from its start to its end.
pub enum Held {
    Memory(Vec<u8>),
    /// And what it is for.
    Spool(PathBuf, File),
    /// Nobody asked for it.
    Nothing,
}

impl Held {
    /// The file, of what is held in one.
    pub fn spool(self) -> Option<File> {
        match self {
            Held::Memory(_) | Held::Nothing => None,
            Held::Spool(_, file) => Some(file),
        }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Held::Memory(all) => {
                all.truncate(at as usize);
                all.extend_from_slice(bytes);
                Ok(())
            }
            Held::Spool(_, file) => {
                file.seek(SeekFrom::Start(at))?;
                file.write_all(bytes)
            }
            Held::Nothing => Ok(()),
        }
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Held::Memory(all) => {
                into.copy_from_slice(&all[at as usize..][..into.len()]);
                Ok(())
            }
            Held::Spool(_, file) => {
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(into)
            }
            Held::Nothing => Ok(()),
        }
    }
}

/// Reads from the files and tells the bar.
pub fn counted<'a>(
    bar: &'a ProgressBar,
    inputs: &'a mut Inputs<'_>,
) -> impl FnMut(usize, u64, &mut [u8]) -> io::Result<()> + 'a {
    move |input, at, into| {
        bar.inc(into.len() as u64);
        inputs[input].1.read_at(at, into)
    }
}

/// A bar on a terminal, nothing elsewhere.
pub fn bar(bytes: u64, what: &'static str, common: &Common) -> ProgressBar {
    let form = "{msg} [{wide_bar}] {bytes} of {total_bytes}, {bytes_per_sec} {left}";
    let bar = print::bar(bytes, form, common.quiet).with_message(what);
    bar.with_finish(ProgressFinish::AndClear)
}

/// A failure that names the file.
pub fn failure(error: Error, inputs: &Inputs<'_>, results: &[Held]) -> Failure {
    match error {
        Error::Source { input, error, .. } => {
            Failure::input(inputs[input].0, format_args!("cannot be read: {error}"))
        }
        Error::Sink { output, error, .. } => match &results[output] {
            Held::Spool(path, _) => Failure::file(path, format_args!("cannot be written: {error}")),
            Held::Memory(_) | Held::Nothing => Failure::Request(error.to_string()),
        },
        error => error.into(),
    }
}

/// Whether all inputs are in Fortran order, except those for which the order makes no difference.
pub fn in_fortran_order(inputs: &Inputs<'_>) -> Result<bool, Failure> {
    let fortran = inputs.iter().find(|(_, input)| input.is_fortran());
    let dims = |input: &Source| input.shape().iter().filter(|&&d| d != 1).count();
    let c = inputs
        .iter()
        .find(|(_, input)| !input.is_fortran() && dims(input) > 1);
    match (fortran, c) {
        (Some((path, _)), Some((other, _))) => {
            let why = format!(
                "is in Fortran order and {} is not: in parts, or above --memory, files are read in one order",
                other.display()
            );
            Err(Failure::file(path, why))
        }
        (fortran, _) => Ok(fortran.is_some()),
    }
}

/// The same problem on reversed shapes.
pub fn reversed(problem: &Problem) -> Result<Problem, ProblemError> {
    let rank = problem.outputs()[0].shape.len();
    let shape = |shape: &Vec<u64>| -> Vec<u64> {
        let missing = rank.saturating_sub(shape.len());
        let reversed = shape.iter().rev().copied();
        reversed.chain(vec![1; missing]).collect()
    };
    let shapes: Vec<Vec<u64>> = problem.inputs().iter().map(shape).collect();
    let axes = problem.reduced().iter().rev().enumerate();
    let axes: Vec<i64> = axes.filter(|(_, r)| **r).map(|(i, _)| i as i64).collect();
    like(problem, &shapes, &axes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npy;
    use wgreduce::DType;

    #[test]
    fn a_file_that_is_shortened_meanwhile_is_named_with_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("in.npy");
        let tensor = Output::new(DType::U8, [3000]);
        let file = File::create(&path).expect("a file");
        npy::write(&file, &tensor, &[7; 3000]).expect("room");
        let mut inputs = vec![(&path, npy::open(&path, None).expect("an input"))];
        let length = file.metadata().expect("a length").len();
        file.set_len(length - 1000).expect("a shorter file");
        let problem = Problem::reduce_max(DType::U8, &[3000], &[]).expect("a problem");
        let line = ["wgreduce", "min", "in.npy", "--quiet"].map(Into::into);
        let common = crate::args::parse(line).expect("a request").common;
        let mut results = vec![Held::Memory(Vec::new())];
        let device = Device::Cpu("");
        match compute(&device, &problem, &mut inputs, &mut results, &common) {
            Err(Failure::Request(told)) => assert_eq!(
                told,
                format!(
                    "{}: cannot be read: it is truncated: 2000 bytes of data, 3000 claimed",
                    path.display()
                )
            ),
            other => panic!("{other:?}"),
        }
    }
}
