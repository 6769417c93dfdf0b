//! Eight threads share one reducer for a while. They mix shapes, types and operators with failures of
//! all kinds. Every result is compared with the reference, and memory is watched.
//!
//! Each adapter takes a few seconds. WGREDUCE_SOAK_SECONDS=600 makes it longer; `-- --nocapture vulkan`
//! selects one adapter and prints the figures. Without an adapter, the trial shows as ignored.

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use support::device::{buffer, differs};
use support::{Bits, taken, tensor};
use wgreduce::wgpu::BufferUsages;
use wgreduce::{
    AdapterChoice, Buffers, DType, Error, Problem, ProblemError, Reducer, Reduction,
    adapters_blocking, reference,
};

const THREADS: u64 = 8;

fn main() {
    let arguments = Arguments::from_args();
    let mut adapters = adapters_blocking().unwrap_or_default();
    adapters.retain(|adapter| adapter.refusal().is_none());
    let mut trials = Vec::new();
    for adapter in &adapters {
        let named = format!("soak::{}_{}", adapter.info.backend, adapter.info.name);
        let named = named.replace(|c: char| !c.is_alphanumeric() && c != ':', "_");
        let index = adapter.index;
        trials.push(Trial::test(named, move || soak(index)));
    }
    if adapters.is_empty() {
        trials.push(Trial::test("soak::no_adapter", || Ok(())).with_ignored_flag(true));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A problem, its data and the expected outputs.
struct Task {
    problem: Problem,
    input: Vec<u8>,
    expected: Vec<Vec<u8>>,
}

impl Task {
    fn compare(&self, outputs: &[Vec<u8>]) -> Result<(), String> {
        match *outputs == self.expected {
            true => Ok(()),
            false => Err(format!("{} gave a wrong result", self.problem)),
        }
    }
}

fn tasks() -> Result<Vec<Task>, ProblemError> {
    let shapes = [
        [9, 130, 1],
        [1, 20_011, 1],
        [3, 67, 24],
        [2, 300, 5],
        [40, 3, 3],
        [700, 8, 1],
    ];
    let mut tasks = Vec::new();
    for (dtype, shape) in DType::ALL.into_iter().flat_map(|d| shapes.map(|s| (d, s))) {
        let input = tensor(dtype, shape, 21);
        for problem in [
            Problem::arg_min(dtype, &shape, 1)?,
            Problem::arg_max(dtype, &shape, 1)?.select_last_index(true),
            Problem::arg_max(dtype, &shape, 1)?.with_values(true),
            Problem::reduce_min(dtype, &shape, &[1])?,
            Problem::reduce_max(dtype, &shape, &[0, 2])?,
        ] {
            if !taken(("soak", &problem)) {
                continue;
            }
            let expected = reference::evaluate(&problem, &[&input])?;
            let input = input.clone();
            tasks.push(Task {
                problem,
                input,
                expected,
            });
        }
    }
    Ok(tasks)
}

type Step = fn(&Reducer, &Task) -> Result<(), String>;

/// The steps that threads choose from; a step that is listed more often is chosen more often.
const STEPS: &[(&str, Step)] = &[
    ("run", run),
    ("run", run),
    ("run", run),
    ("awaited", awaited),
    ("awaited", awaited),
    ("bound", bound),
    ("streamed", streamed),
    ("tiny limits", tiny),
    ("dropped halfway", dropped),
    ("wrong length", wrong_length),
    ("wrong buffer", wrong_buffer),
    ("too large", too_large),
    ("no time", no_time),
];

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn prepared(reducer: &Reducer, task: &Task) -> Result<Reduction, String> {
    reducer.prepare_blocking(&task.problem).map_err(text)
}

fn run(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let reduction = prepared(reducer, task)?;
    for _ in 0..2 {
        let outputs = reduction.run_bytes_blocking(&[&task.input]).map_err(text)?;
        task.compare(&outputs)?;
    }
    Ok(())
}

fn awaited(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let reduction = prepared(reducer, task)?;
    let outputs = pollster::block_on(reduction.run_bytes(&[&task.input]));
    task.compare(&outputs.map_err(text)?)
}

/// Runs in the caller's buffers, between guards.
fn bound(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let offset = task.problem.dtype().size();
    differs(reducer, &task.problem, &[&task.input], offset).map_or(Ok(()), Err)
}

/// Runs as a stream that may take 64 KiB of memory.
fn streamed(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let stream = reducer.stream_blocking(&task.problem, 1 << 16);
    let stream = stream.map_err(text)?;
    let sizes = task.expected.iter().map(Vec::len);
    let mut outputs: Vec<Vec<u8>> = sizes.map(|bytes| vec![0; bytes]).collect();
    let read = |_, at: u64, into: &mut [u8]| {
        into.copy_from_slice(&task.input[at as usize..][..into.len()]);
        Ok(())
    };
    let write = |output: usize, at: u64, part: &[u8]| {
        outputs[output][at as usize..][..part.len()].copy_from_slice(part);
        Ok(())
    };
    stream.run_blocking(read, write).map_err(text)?;
    task.compare(&outputs)
}

fn tiny(reducer: &Reducer, task: &Task) -> Result<(), String> {
    run(&reducer.with_caps(reducer.caps().lowered(4096, 3)), task)
}

fn dropped(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let reduction = prepared(reducer, task)?;
    let inputs = [task.input.as_slice()];
    let mut future = Box::pin(reduction.run_bytes(&inputs));
    let mut context = Context::from_waker(Waker::noop());
    let _ = future.as_mut().poll(&mut context);
    drop(future);
    task.compare(&reduction.run_bytes_blocking(&inputs).map_err(text)?)
}

fn wrong_length(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let short = &task.input[1..];
    match prepared(reducer, task)?.run_bytes_blocking(&[short]) {
        Err(Error::Problem(ProblemError::InputBytes { .. })) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn wrong_buffer(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let [input, output] = [16, 1 << 20].map(|n| buffer(reducer, n, BufferUsages::STORAGE));
    let count = task.problem.outputs().len();
    let outputs = vec![output.slice(..).into(); count];
    let inputs = [input.slice(..).into()];
    let buffers = Buffers::new(&inputs, &outputs);
    match prepared(reducer, task)?.bind(buffers) {
        Err(Error::BufferTooSmall { .. }) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// The result is too large for any device.
fn too_large(reducer: &Reducer, _: &Task) -> Result<(), String> {
    let problem = Problem::reduce_min(DType::U8, &[0, 1 << 44], &[0]).map_err(text)?;
    let made = reducer.prepare_blocking(&problem);
    match made.and_then(|r| r.run_bytes_blocking(&[&[]])) {
        Err(Error::Limit { .. } | Error::OutOfMemory { .. }) => Ok(()),
        other => Err(format!("{:?}", other.map(drop))),
    }
}

fn no_time(reducer: &Reducer, task: &Task) -> Result<(), String> {
    let reduction = prepared(&reducer.with_timeout(Duration::ZERO), task)?;
    match reduction.run_bytes_blocking(&[&task.input]) {
        Ok(outputs) => task.compare(&outputs),
        Err(Error::Timeout { .. }) => Ok(()),
        Err(other) => Err(text(other)),
    }
}

/// The results that all threads share.
#[derive(Default)]
struct Record {
    done: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

fn soak(index: usize) -> Result<(), Failed> {
    let seconds = std::env::var("WGREDUCE_SOAK_SECONDS").unwrap_or("4".into());
    let seconds: f64 = seconds.parse()?;
    let reducer = Reducer::open_blocking(&AdapterChoice::Index(index))?;
    let tasks = tasks()?;
    // Every kind of kernel runs once first, so that compiled and cached things are in memory.
    for task in &tasks {
        run(&reducer, task)?;
        tiny(&reducer, task)?;
        bound(&reducer, task)?;
        streamed(&reducer, task)?;
    }
    let begin = Instant::now();
    let record = Mutex::new(Record::default());
    let mut resident = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (reducer, tasks, record) = (&reducer, &tasks, &record);
            scope.spawn(move || work(reducer, tasks, record, thread, begin, seconds));
        }
        for tenth in 1..=10 {
            let until = Duration::from_secs_f64(seconds * f64::from(tenth) / 10.0);
            std::thread::sleep(until.saturating_sub(begin.elapsed()));
            resident.push(resident_mib());
        }
    });
    let record = record.into_inner()?;
    let total: u64 = record.done.values().sum();
    let info = reducer.adapter_info();
    let (name, backend) = (&info.name, info.backend);
    println!("{name} ({backend}), {THREADS} threads, {seconds} s");
    println!("{total} steps: {:?}", record.done);
    println!("wrong: {}", record.wrong.len());
    println!("resident after each tenth, MiB: {resident:?}");
    if let Some(wrong) = record.wrong.first() {
        return Err(format!("{} wrong, the first: {wrong}", record.wrong.len()).into());
    }
    let done = |name: &&str| !record.done.contains_key(name);
    let mut names = STEPS.iter().map(|s| s.0);
    if let Some(missing) = names.find(done).filter(|_| total > 1000) {
        return Err(format!("never done: {missing}").into());
    }
    // Memory may not grow in the second half, apart from what an allocator holds back.
    let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let (first, second) = resident.split_at(5);
    match most(second) <= most(first) * 5 / 4 + 64 {
        true => Ok(()),
        false => Err(format!("memory grows: {resident:?} MiB").into()),
    }
}

fn work(
    reducer: &Reducer,
    tasks: &[Task],
    record: &Mutex<Record>,
    thread: u64,
    begin: Instant,
    seconds: f64,
) {
    let mut bits = Bits::new(thread + 1);
    while begin.elapsed().as_secs_f64() < seconds {
        let task = &tasks[bits.draw() as usize % tasks.len()];
        let (name, step) = STEPS[bits.draw() as usize % STEPS.len()];
        let result = step(reducer, task);
        let Ok(mut record) = record.lock() else {
            return;
        };
        *record.done.entry(name).or_default() += 1;
        let told = |wrong| format!("{name}: {}: {wrong}", task.problem);
        record.wrong.extend(result.err().map(told));
    }
}

/// The resident memory of this process in MiB; 0 if it is unknown.
fn resident_mib() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|p| p.parse().ok());
    (pages.unwrap_or(0u64) * 4096) >> 20
}
