//! `wgreduce bench`: verifies the cases of the catalogue, then times them and the device's
//! ceilings.

#[path = "../../../../benches/catalogue.rs"]
mod catalogue;
mod ceiling;
mod gpu;
mod html;
mod report;

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use wgreduce::wgpu::{Buffer, BufferUsages};
use wgreduce::{Buffers, Error, Output, Problem, Reducer, Reduction, reference};

use crate::args::{Bench, Common};
use crate::device::Device;
use crate::failure::{Failure, say, write_stdout};
use crate::output::{self, Content, Target};
use catalogue::{Case, catalogue};
use ceiling::{Ceiling, Kind};
use gpu::{Gpu, Repeats};
use report::{Report, Row};

/// Cases between two rounds of the ceilings.
const CASES_A_ROUND: usize = 4;
const FULL: Repeats = Repeats {
    warm_up: 2,
    least: 5,
    most: 15,
    enough: Duration::from_millis(500),
};
const QUICK: Repeats = Repeats {
    most: 7,
    enough: Duration::from_millis(250),
    ..FULL
};

pub fn run(args: &Bench, common: &Common) -> Result<(), Failure> {
    if common.dtype.is_some() {
        let why = "bench has no option --dtype; --filter takes a type's name";
        return Err(Failure::Request(why.into()));
    }
    let cases = chosen(args)?;
    // Asked before minutes are spent.
    for path in args.json.iter().chain(&args.html) {
        output::check_writable(path)?;
    }
    let device = Device::open(common)?;
    let Device::Gpu(reducer) = &device else {
        let why = format!("bench needs a GPU adapter ({})", device.line());
        return Err(Failure::Request(why));
    };
    let report = measure(reducer, &cases, args, common)?;
    write_files(&report, args)?;
    if !common.quiet {
        say(&device.line());
    }
    write_stdout(&report.text())?;
    match report.rows.iter().all(|row| row.measured.is_ok()) {
        true => Ok(()),
        false => Err(Failure::Cases),
    }
}

fn write_files(report: &Report, args: &Bench) -> Result<(), Failure> {
    let json = report.json();
    let html = match args.html {
        Some(_) => html::page(report).map_err(Failure::Check)?,
        None => String::new(),
    };
    let files = [(&args.json, &json), (&args.html, &html)];
    let targets = files.into_iter().filter_map(|(path, text)| {
        let content = Content::Text(text);
        path.as_deref().map(|path| Target { path, content })
    });
    output::write(&targets.collect::<Vec<_>>())
}

/// The cases that are asked for; at least one.
fn chosen(args: &Bench) -> Result<Vec<Case>, Failure> {
    let mut cases = catalogue();
    cases.retain(|case| case.quick || !args.quick);
    if let Some(text) = &args.filter {
        cases.retain(|case| case.to_string().contains(text));
        if cases.is_empty() {
            let why = format!("--filter {text}: no case has this in its name, operator and type");
            return Err(Failure::Request(why));
        }
    }
    Ok(cases)
}

fn measure(
    reducer: &Reducer,
    cases: &[Case],
    args: &Bench,
    common: &Common,
) -> Result<Report, Failure> {
    let gpu = Gpu::new(reducer)?;
    let progress = progress(cases.len(), common);
    let repeats = if args.quick { QUICK } else { FULL };
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    let mut lines = Vec::new();
    for cases in cases.chunk_by(|a, b| compared_with(a) == compared_with(b)) {
        let mut ceiling = Ceiling::new(&gpu, compared_with(&cases[0]))?;
        for cases in cases.chunks(CASES_A_ROUND) {
            let begin = rows.len();
            for case in cases {
                progress.set_message(case.to_string());
                match row(reducer, &gpu, case, repeats, common) {
                    Ok(row) => rows.push(row),
                    Err(Failure::Request(why)) => left_out.push(format!("{case}: {why}")),
                    Err(failure) => return Err(failure),
                }
                progress.inc(1);
            }
            let gbps = ceiling.measure()?;
            for row in &mut rows[begin..] {
                row.ceiling_gbps = gbps;
            }
        }
        lines.push(ceiling.line());
    }
    progress.finish_and_clear();
    match (rows.is_empty(), left_out.first()) {
        (true, Some(why)) => Err(Failure::Request(why.clone())),
        _ => Ok(Report {
            info: reducer.adapter_info().clone(),
            rows,
            ceilings: lines,
            left_out,
        }),
    }
}

fn compared_with(case: &Case) -> Kind {
    match case.op.is_elementwise() {
        true => Kind::Copy,
        false => Kind::Read,
    }
}

/// Verifies a case and, if it is right, times it. A wrong request is one that exceeds the
/// device's limits.
fn row(
    reducer: &Reducer,
    gpu: &Gpu,
    case: &Case,
    repeats: Repeats,
    common: &Common,
) -> Result<Row, Failure> {
    let problem = case.problem().map_err(Error::from)?;
    let problem = problem.nan(common.nan.into());
    let reduction = reducer.prepare(&problem)?;
    let outputs = problem.outputs();
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let targets = outputs.iter().map(|o| gpu.buffer(o.bytes(), storage));
    let targets: Vec<Buffer> = targets.collect::<Result<_, _>>()?;
    let inputs = case.inputs();
    let sources = inputs.iter().map(|data| gpu.upload(data));
    let sources: Vec<Buffer> = sources.collect::<Result<_, _>>()?;
    let bound = reduction.bind(Buffers {
        inputs: &sources
            .iter()
            .map(|b| b.slice(..).into())
            .collect::<Vec<_>>(),
        outputs: &targets
            .iter()
            .map(|b| b.slice(..).into())
            .collect::<Vec<_>>(),
        scratch: None,
    })?;
    let (expected, cpu) = reference(&problem, &inputs)?;
    gpu.time(|pass| bound.record(pass))?;
    let measured = match first_difference(gpu, &outputs, &expected, &targets)? {
        Some(difference) => Err(difference),
        None => Ok(gpu.measure(repeats, |pass| bound.record(pass))?),
    };
    let inputs = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
    Ok(Row {
        case: case.clone(),
        plan: labels(&reduction),
        bytes: inputs.chain(outputs.iter().map(Output::bytes)).sum(),
        measured,
        cpu_ns: cpu.as_nanos() as u64,
        ceiling_gbps: 0.0,
    })
}

/// What should come out, and how long the reference took for it.
fn reference(problem: &Problem, inputs: &[Vec<u8>]) -> Result<(Vec<Vec<u8>>, Duration), Failure> {
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let start = Instant::now();
    let expected = reference::evaluate(problem, &inputs).map_err(Error::from)?;
    Ok((expected, start.elapsed()))
}

/// Where the device's results differ from what was expected.
fn first_difference(
    gpu: &Gpu,
    outputs: &[Output],
    expected: &[Vec<u8>],
    targets: &[Buffer],
) -> Result<Option<String>, Failure> {
    for ((output, expected), target) in outputs.iter().zip(expected).zip(targets) {
        let actual = gpu.download(target, output.bytes())?;
        if let Some(difference) = reference::first_difference(output, expected, &actual) {
            return Ok(Some(difference.to_string()));
        }
    }
    Ok(None)
}

/// Kernels and grids, a dispatch each.
fn labels(reduction: &Reduction) -> Vec<String> {
    let passes = reduction.plan().passes().iter();
    let label = |pass: &wgreduce::Pass| {
        let [x, y, _] = pass.workgroups;
        format!("{} on {x}x{y}", pass.label())
    };
    passes.map(label).collect()
}

/// A bar on a terminal, nothing elsewhere.
fn progress(len: usize, common: &Common) -> ProgressBar {
    if common.quiet {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} (about {eta} left)");
    let bar = ProgressBar::new(len as u64);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
