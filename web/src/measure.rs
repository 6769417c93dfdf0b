//! Measures the cases of the catalogue on this browser's GPU, each alternating with the fastest plain kernel.
//!
//! Times come from the GPU's clock if the browser gives access, or else from the page's; both are coarse on purpose, so
//! a case is recorded many times into one submission.

#[expect(dead_code, reason = "the tool asks more of it")]
#[path = "../../benches/catalogue.rs"]
mod catalogue;
#[path = "../../benches/kernel.rs"]
mod kernel;
#[path = "../../benches/noise.rs"]
mod noise;
#[expect(dead_code, reason = "the tool asks more of it")]
#[path = "../../benches/walks.rs"]
mod walks;

#[expect(dead_code, reason = "the tool asks more of it")]
#[path = "../../tool/src/bench/charts.rs"]
mod charts;

use crate::{Failure, mapped};
use catalogue::{BYTES, Case, catalogue};
use noise::Noise;
use serde_json::{Value, json};
use std::hint::black_box;
use walks::{Kind, Plain, fastest, median};
use web_time::Instant;
use wgreduce::wgpu::{self, BufferUsages as U};
use wgreduce::{
    BoundReduction, Buffers, Element, Output, Plan, Problem, Reducer, Tensor, reference,
};

/// The time that a submission should take: a hundred steps of the coarsest clocks.
const ENOUGH_NS: u64 = 20_000_000;
/// Most times that a case is recorded into one submission.
const MOST: u64 = 4096;
/// Submissions of a case, each alternating with one of the ceiling.
const ROUNDS: usize = 5;
/// Submissions of every walk that may be the ceiling.
const CEILING_ROUNDS: usize = 3;
/// Repetitions of work that the CPU does alone.
const CPU_REPEATS: u32 = 200;

/// Measures the quick cases that have `filter` in their name, operator and type. `progress` gets the number of finished
/// cases, of all cases, and the next case, and returns whether to stop before that. Returns rows as `wgreduce bench
/// --json` writes them; a case that failed has no time, but an `error`.
pub async fn run(
    reducer: &Reducer,
    filter: &str,
    mut progress: impl FnMut(usize, usize, &str) -> bool,
) -> Result<Vec<Value>, Failure> {
    let mut cases = catalogue();
    cases.retain(|case| case.quick && case.to_string().contains(filter));
    cases.sort_by_key(|case| case.op.is_elementwise());
    if cases.is_empty() {
        return Err(format!("no case has “{filter}” in its name, operator and type").into());
    }
    let gpu = Gpu::new(reducer);
    let mut rows = Vec::new();
    for of_kind in cases.chunk_by(|a, b| Kind::of(a.op) == Kind::of(b.op)) {
        if progress(rows.len(), cases.len(), "the ceiling") {
            return Ok(rows);
        }
        let ceiling = gpu.told(Ceiling::new(&gpu, Kind::of(of_kind[0].op))).await;
        for case in of_kind {
            if progress(rows.len(), cases.len(), &case.to_string()) {
                return Ok(rows);
            }
            let measured = match &ceiling {
                Ok(ceiling) => gpu.told(row(reducer, &gpu, ceiling, case)).await,
                Err(error) => Err(format!("the ceiling: {error}").into()),
            };
            rows.push(measured.unwrap_or_else(|error| failed(case, &error.to_string())));
        }
    }
    progress(rows.len(), cases.len(), "");
    Ok(rows)
}

/// The row of a case that could not be measured.
fn failed(case: &Case, error: &str) -> Value {
    json!({
        "case": case.name,
        "op": case.command(),
        "dtype": case.dtype.name(),
        "shape": case.shapes[0],
        "inputs": case.shapes,
        "axes": case.axes,
        "backend": "webgpu",
        "verified": false,
        "error": error,
    })
}

async fn row(
    reducer: &Reducer,
    gpu: &Gpu<'_>,
    ceiling: &Ceiling,
    case: &Case,
) -> Result<Value, Failure> {
    let problem = case.problem()?;
    let inputs = case.inputs();
    let sources: Vec<Held> = inputs.iter().map(|data| gpu.upload(data)).collect();
    let outputs = problem.outputs();
    let target = |output: &Output| gpu.buffer(output.bytes(), U::STORAGE | U::COPY_SRC);
    let targets: Vec<Held> = outputs.iter().map(target).collect();
    let reduction = reducer.prepare(&problem).await?;
    let bound = reduction.bind(Buffers {
        inputs: &whole(&sources),
        outputs: &whole(&targets),
        scratch: None,
    })?;
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let start = Instant::now();
    let expected = reference::evaluate(&problem, &inputs)?;
    let cpu_ns = start.elapsed().as_nanos() as u64;
    let record = |pass: &mut wgpu::ComputePass<'_>| bound.record(pass);
    let mut difference: Option<String> = None;
    gpu.time(1, record).await?;
    for ((output, expected), target) in outputs.iter().zip(&expected).zip(&targets) {
        let actual = gpu.download(target, output.bytes()).await?;
        let found = reference::first_difference(output, expected, &actual);
        difference = difference.or(found.map(|found| format!("wrong: {found}")));
    }
    // A wrong result is not timed.
    let timing = match difference {
        Some(_) => None,
        None => Some(
            gpu.in_turns(record, |pass| ceiling.plain.record(pass))
                .await?,
        ),
    };
    let sizes = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
    let bytes: u64 = sizes.chain(outputs.iter().map(Output::bytes)).sum();
    let gbps = timing.map(|[own, _]| bytes as f64 / own.ns() as f64);
    let at_best = timing.map(|[_, beside]| ceiling.kind.moved(BYTES) as f64 / beside.ns() as f64);
    let passes = reduction.plan().passes().iter();
    let label = |pass: &wgreduce::unstable::Pass| {
        let [x, y, _] = pass.workgroups;
        format!("{} on {x}x{y}", pass.label())
    };
    Ok(json!({
        "case": case.name,
        "op": case.command(),
        "dtype": case.dtype.name(),
        "shape": case.shapes[0],
        "inputs": case.shapes,
        "axes": case.axes,
        "backend": "webgpu",
        "plan": passes.map(label).collect::<Vec<_>>(),
        "bytes": bytes,
        "gpu_ns": timing.and_then(|[own, _]| own.gpu_ns),
        "wall_ns": timing.map(|[own, _]| own.wall_ns),
        "gbps": gbps,
        "ceiling_gbps": at_best,
        "ratio": gbps.zip(at_best).map(|(own, best)| own / best),
        "verified": difference.is_none(),
        "error": difference,
        "cpu_ns": cpu_ns,
        "plan_ns": plan_ns(reducer, &problem),
        "encode_ns": encode_ns(reducer, &bound),
        "timed_by": match gpu.timer {
            Some(_) => "timestamps",
            None => "the page's, by many in one submission",
        },
    }))
}

/// Charts of the shares of the ceiling, in SVG: a matrix by shape and type for each operator that ran on several types,
/// and bars for the others.
pub fn shares(rows: &[Value]) -> Result<String, Failure> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let distinct = |rows: &[&Value], name: &str| {
        let mut all = Vec::new();
        for found in rows.iter().map(|row| text(row, name)) {
            if !all.contains(&found) {
                all.push(found);
            }
        }
        all
    };
    let key = |row: &Value| [text(row, "op"), text(row, "case")];
    let is_of_several =
        |row: &&Value| rows.iter().filter(|other| key(other) == key(row)).count() > 1;
    let (several, single): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(is_of_several);
    let mut page = String::new();
    for op in distinct(&several, "op") {
        let of_op: Vec<&Value> = several
            .iter()
            .filter(|row| row["op"] == *op)
            .copied()
            .collect();
        let (names, dtypes) = (distinct(&of_op, "case"), distinct(&of_op, "dtype"));
        let share = |(name, dtype): (&String, &String)| {
            let is = |row: &&&Value| row["case"] == **name && row["dtype"] == **dtype;
            of_op.iter().find(is)?["ratio"].as_f64()
        };
        let cells = names
            .iter()
            .flat_map(|name| dtypes.iter().map(move |dtype| (name, dtype)));
        let matrix = charts::Matrix {
            title: format!("Share of the ceiling: {op}, by shape and type"),
            shares: cells.map(share).collect(),
            rows: names.clone(),
            columns: dtypes.clone(),
        };
        page += &format!("<h3>{}</h3>\n{}", matrix.title, matrix.figure()?);
    }
    let bar = |row: &&Value| {
        Some(charts::Bar {
            name: format!(
                "{} {} {}",
                text(row, "case"),
                text(row, "op"),
                text(row, "dtype")
            ),
            value: 100.0 * row["ratio"].as_f64()?,
            figures: format!("{:.2} GB/s", row["gbps"].as_f64()?),
            colour: charts::COLOURS[0],
        })
    };
    let bars: Vec<charts::Bar> = single.iter().filter_map(bar).collect();
    if !bars.is_empty() {
        let chart = charts::bars(&bars, Some(100.0), "%")?;
        page += &format!("<h3>Share of the ceiling: more shapes</h3>\n{chart}");
    }
    Ok(page)
}

/// Nanoseconds to plan once, the mean of many: the page's clock is too coarse for one.
fn plan_ns(reducer: &Reducer, problem: &Problem) -> u64 {
    repeated(|| {
        // The plan was made before, so this cannot fail.
        let _ = black_box(Plan::new(problem, reducer.caps()));
    })
}

fn encode_ns(reducer: &Reducer, bound: &BoundReduction) -> u64 {
    let mut encoder = reducer.device().create_command_encoder(&Default::default());
    repeated(|| bound.encode(&mut encoder))
}

fn repeated(mut once: impl FnMut()) -> u64 {
    let start = Instant::now();
    (0..CPU_REPEATS).for_each(|_| once());
    (start.elapsed() / CPU_REPEATS).as_nanos() as u64
}

fn whole(buffers: &[Held]) -> Vec<Tensor<'_>> {
    buffers.iter().map(|held| held.0.slice(..).into()).collect()
}

/// A buffer that is destroyed when it is dropped: the page's garbage collector may free it late.
struct Held(wgpu::Buffer);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

/// The time of a submission, or of one pass of many in it.
#[derive(Clone, Copy)]
struct Timing {
    gpu_ns: Option<u64>,
    wall_ns: u64,
}

impl Timing {
    fn ns(&self) -> u64 {
        self.gpu_ns.unwrap_or(self.wall_ns)
    }

    /// The median time of one of `many` passes.
    fn median(times: &[Timing], many: u64) -> Timing {
        let gpu = times.iter().filter_map(|t| Some(t.gpu_ns? / many));
        let wall = times.iter().map(|t| t.wall_ns / many).collect();
        let gpu = gpu.collect();
        Timing {
            // A clock that shows no time measures nothing.
            gpu_ns: median(gpu).filter(|&ns| ns > 0),
            wall_ns: median(wall).unwrap_or(0).max(1),
        }
    }
}

/// The device, and the way to read its clock.
struct Gpu<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    timer: Option<wgpu::QuerySet>,
    /// Two timestamps.
    ticks: Held,
}

impl Gpu<'_> {
    fn new(reducer: &Reducer) -> Gpu<'_> {
        let (device, queue) = (reducer.device(), reducer.queue());
        let descriptor = wgpu::QuerySetDescriptor {
            label: Some("measure"),
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        };
        let has_clock = device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        Gpu {
            device,
            queue,
            timer: has_clock.then(|| device.create_query_set(&descriptor)),
            ticks: held(device, 16, U::QUERY_RESOLVE | U::COPY_SRC),
        }
    }

    fn buffer(&self, bytes: u64, usage: U) -> Held {
        held(self.device, bytes, usage)
    }

    fn upload(&self, data: &[u8]) -> Held {
        let buffer = self.buffer(data.len() as u64, U::STORAGE | U::COPY_DST);
        // `write_buffer` takes whole words only.
        let (words, rest) = data.split_at(data.len() / 4 * 4);
        self.queue.write_buffer(&buffer.0, 0, words);
        if !rest.is_empty() {
            let mut word = [0; 4];
            word[..rest.len()].copy_from_slice(rest);
            self.queue
                .write_buffer(&buffer.0, words.len() as u64, &word);
        }
        buffer
    }

    /// The first bytes of a buffer, after all submitted work is done.
    async fn download(&self, buffer: &Held, bytes: u64) -> Result<Vec<u8>, Failure> {
        let back = self.buffer(bytes, U::MAP_READ | U::COPY_DST);
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(&buffer.0, 0, &back.0, 0, back.0.size());
        self.queue.submit([encoder.finish()]);
        let mut all = mapped(&back.0).await?;
        all.truncate(bytes as usize);
        Ok(all)
    }

    /// Runs a future, and returns the device's errors, which no call below does: invalid work measures nothing.
    async fn told<T>(&self, run: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let ended = run.await;
        let (validation, memory) = (validation.pop(), memory.pop());
        match (memory.await, validation.await) {
            (Some(_), _) => Err("the device is out of memory".into()),
            (None, Some(error)) => Err(error.into()),
            (None, None) => ended,
        }
    }

    /// Records a pass `many` times into one submission, and returns the time of all.
    async fn time(
        &self,
        many: u64,
        record: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<Timing, Failure> {
        let mut encoder = self.encoder();
        let writes = self
            .timer
            .as_ref()
            .map(|query_set| wgpu::ComputePassTimestampWrites {
                query_set,
                beginning_of_pass_write_index: Some(0),
                end_of_pass_write_index: Some(1),
            });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("measure"),
            timestamp_writes: writes,
        });
        (0..many).for_each(|_| record(&mut pass));
        drop(pass);
        if let Some(timer) = &self.timer {
            encoder.resolve_query_set(timer, 0..2, &self.ticks.0, 0);
        }
        let start = Instant::now();
        self.queue.submit([encoder.finish()]);
        // This download ends when the work is done, even if the ticks are not used.
        let ticks = u64::from_bytes(&self.download(&self.ticks, 16).await?);
        let wall = start.elapsed().as_nanos() as u64;
        let period = f64::from(self.queue.get_timestamp_period());
        let gpu = |_: &wgpu::QuerySet| (ticks[1].saturating_sub(ticks[0]) as f64 * period) as u64;
        Ok(Timing {
            gpu_ns: self.timer.as_ref().map(gpu),
            wall_ns: wall,
        })
    }

    /// How many times a pass must run to take long enough for the clocks. A coarse clock may not see the first run.
    async fn enough(&self, record: impl Fn(&mut wgpu::ComputePass<'_>)) -> Result<u64, Failure> {
        let mut many = 1;
        loop {
            let took = self.time(many, &record).await?.ns();
            if took >= ENOUGH_NS / 2 || many == MOST {
                return Ok(many);
            }
            let wanted = (many * ENOUGH_NS).div_ceil(took.max(1));
            many = wanted.clamp(2 * many, 16 * many).min(MOST);
        }
    }

    /// The medians of two passes that alternate.
    async fn in_turns(
        &self,
        own: impl Fn(&mut wgpu::ComputePass<'_>),
        beside: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<[Timing; 2], Failure> {
        let many = [self.enough(&own).await?, self.enough(&beside).await?];
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            times[0].push(self.time(many[0], &own).await?);
            times[1].push(self.time(many[1], &beside).await?);
        }
        Ok([0, 1].map(|i| Timing::median(&times[i], many[i])))
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }
}

fn held(device: &wgpu::Device, bytes: u64, usage: U) -> Held {
    Held(device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("measure"),
        size: bytes.next_multiple_of(16).max(16),
        usage,
        mapped_at_creation: false,
    }))
}

/// The fastest plain kernel of a kind.
struct Ceiling {
    kind: Kind,
    plain: Plain,
    _buffers: [Held; 2],
}

impl Ceiling {
    /// Measures all walks, round by round.
    async fn new(gpu: &Gpu<'_>, kind: Kind) -> Result<Ceiling, Failure> {
        let buffers = [BYTES, kind.written(BYTES)].map(|bytes| gpu.buffer(bytes, U::STORAGE));
        let [src, dst] = &buffers;
        let device = (gpu.device, gpu.queue);
        noise::fill(device, &src.0, BYTES, 0, Noise::Words(u64::MAX));
        let of = |walk| Plain::new(gpu.device, kind, walk, BYTES, [&src.0, &dst.0]);
        let mut all: Vec<Plain> = kind.walks(BYTES).map(of).collect();
        let mut many = Vec::new();
        for plain in &all {
            // The first run includes compilation and first touches.
            gpu.time(1, |pass| plain.record(pass)).await?;
            many.push(gpu.enough(|pass| plain.record(pass)).await?);
        }
        let mut times = vec![Vec::new(); all.len()];
        for _ in 0..CEILING_ROUNDS {
            for ((plain, &many), times) in all.iter().zip(&many).zip(&mut times) {
                let timing = gpu.time(many, |pass| plain.record(pass)).await?;
                times.push((timing.ns() / many).max(1));
            }
        }
        let times: Vec<&[u64]> = times.iter().map(Vec::as_slice).collect();
        Ok(Ceiling {
            kind,
            plain: all.swap_remove(fastest(&times)),
            _buffers: buffers,
        })
    }
}
