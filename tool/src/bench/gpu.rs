//! A device to measure on: the tool's own buffers, and timed passes.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wgreduce::wgpu::{self, BufferUsages as U};
use wgreduce::{Element, Reducer};

use super::kernel::{Kernel, uniform};
use super::noise::{Noise, fill};
use super::walks::median;
use crate::failure::Failure;

/// What runs between two timestamps takes at least this long, by repetition.
pub const BATCH: Duration = Duration::from_millis(5);
/// Most repetitions.
const MOST: u64 = 4096;
/// Calls that are timed one by one where a batch is more than one.
const SINGLES: usize = 5;

/// Processors whose clock has at least this share of its height are at their height.
pub const FULL_CLOCK: f64 = 0.95;
/// How long the clock is measured.
const CLOCK_TIME: Duration = Duration::from_millis(1);
/// Before the clock's height is known. An H200's needs 350 ms of load to come back.
const FIRST_LOAD: Duration = Duration::from_millis(500);
/// Devices may have come down for good.
const LONGEST_LOAD: Duration = Duration::from_millis(700);

pub struct Gpu<'a> {
    pub device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    timer: Option<Timer>,
    clock: Option<Clock>,
}

/// What tells the clock of the processors: a kernel that no memory slows down.
struct Clock {
    chain: Kernel,
    many: u64,
    best_ns: Cell<u64>,
    /// Whether there was a load already.
    loaded: Cell<bool>,
}

/// Enough invocations to fill a device, each with a chain of dependent integer operations that no compiler shortens.
fn chain() -> String {
    let step = "x = (x ^ (x >> 7u)) * 747796405u;\n";
    format!(
        "@group(0) @binding(0) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
var x = id.x + 1u;
for (var i = 0u; i < 32u; i += 1u) {{
{}}}
if (x == 1u) {{ found[0] = id.x; }}
}}
",
        step.repeat(16)
    )
}

/// A pair of timestamps and the way to read them.
struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    back: wgpu::Buffer,
}

/// Another device of the same adapter, with 64-bit integers in shaders; `None` if the adapter has none, as on
/// OpenGL. The reductions do not need them.
pub fn with_wide_integers(reducer: &Reducer) -> Option<Reducer> {
    let info = reducer.adapter_info();
    if info.backend == wgpu::Backend::Gl {
        return None;
    }
    let backends = wgpu::Backends::from(info.backend);
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // As the reducer's own instance.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let mut descriptor = descriptor.with_env();
    descriptor.backends = backends;
    let found = wgpu::Instance::new(descriptor).enumerate_adapters(backends);
    let adapters = pollster::block_on(found);
    let adapter = adapters.into_iter().find(|a| a.get_info() == *info)?;
    let opened = adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("bench"),
        required_features: wgpu::Features::SHADER_INT64
            | adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
        required_limits: adapter.limits(),
        ..Default::default()
    });
    let (device, queue) = pollster::block_on(opened).ok()?;
    Reducer::new(&device, &queue).ok()
}

/// How often a measurement is repeated: `least` to `most` times, until it has taken `enough` in all.
#[derive(Clone, Copy)]
pub struct Repeats {
    pub warm_up: usize,
    pub least: usize,
    pub most: usize,
    pub enough: Duration,
}

/// What a pass took, with all that was recorded into it.
#[derive(Clone, Copy)]
pub struct Run {
    gpu_ns: Option<u64>,
    wall_ns: u64,
    call_ns: u64,
}

impl Run {
    /// The device's time, or the wall time if there is none.
    fn ns(&self) -> u64 {
        self.gpu_ns.unwrap_or(self.wall_ns).max(1)
    }
}

/// What something takes; medians.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Once among many in a row, by the device's own clock, where it has one.
    pub gpu_ns: Option<u64>,
    /// Alone, by the same clock.
    pub single_gpu_ns: Option<u64>,
    /// Alone, from submission to completion.
    pub wall_ns: u64,
    /// Alone: CPU time from an empty encoder to the return of the submission; a page in a browser does not know it.
    pub call_ns: Option<u64>,
    /// What older versions did not save.
    pub spread: Option<Spread>,
}

/// The least and the greatest that were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Of [`Timing::ns`].
    pub ns: [u64; 2],
    /// Of the share of what was timed beside, each divided by the median.
    pub share: [f64; 2],
}

impl Timing {
    /// `beside` took so many nanoseconds after each of the batches.
    fn of(batches: &[Run], many: u64, singles: &[Run], beside: &[u64]) -> Timing {
        let of = |runs: &[Run], ns: fn(&Run) -> Option<u64>| {
            median(runs.iter().filter_map(ns).collect())
        };
        let timed: Vec<u64> = batches.iter().filter_map(|run| run.gpu_ns).collect();
        let ns: Vec<u64> = match timed.is_empty() {
            true => singles.iter().map(|run| run.wall_ns.max(1)).collect(),
            false => timed.iter().map(|ns| (ns / many).max(1)).collect(),
        };
        let turns = batches.iter().zip(beside);
        let shares: Vec<f64> = turns
            .map(|(run, &ns)| ns as f64 / run.ns() as f64)
            .collect();
        Timing {
            gpu_ns: of(batches, |run| run.gpu_ns).map(|ns| (ns / many).max(1)),
            single_gpu_ns: of(singles, |run| run.gpu_ns),
            wall_ns: of(singles, |run| Some(run.wall_ns)).unwrap_or(0).max(1),
            call_ns: of(singles, |run| Some(run.call_ns)),
            spread: Spread::of(ns, shares),
        }
    }

    /// The device's time, or the wall time if there is none.
    pub fn ns(&self) -> u64 {
        self.gpu_ns.unwrap_or(self.wall_ns)
    }
}

impl Spread {
    /// None of nothing.
    fn of(mut ns: Vec<u64>, mut shares: Vec<f64>) -> Option<Spread> {
        ns.sort_unstable();
        shares.sort_by(f64::total_cmp);
        let median = shares.get(shares.len() / 2)?;
        Some(Spread {
            ns: [*ns.first()?, *ns.last()?],
            share: [shares.first()? / median, shares.last()? / median],
        })
    }
}

impl Gpu<'_> {
    /// If it has timestamps, the clock of its processors can be watched.
    pub fn new(reducer: &Reducer, watch: bool) -> Result<Gpu<'_>, Failure> {
        let mut gpu = Gpu {
            device: reducer.device(),
            queue: reducer.queue(),
            timer: None,
            clock: None,
        };
        let features = gpu.device.features();
        if features.contains(wgpu::Features::TIMESTAMP_QUERY) {
            gpu.timer = Some(Timer {
                queries: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                    label: Some("bench"),
                    ty: wgpu::QueryType::Timestamp,
                    count: 2,
                }),
                resolved: gpu.buffer(16, U::QUERY_RESOLVE | U::COPY_SRC)?,
                back: gpu.buffer(16, U::MAP_READ | U::COPY_DST)?,
            });
        }
        if watch && gpu.timer.is_some() {
            let found = gpu.buffer(4, U::STORAGE)?;
            let chain = Kernel::new(gpu.device, chain(), &[found.as_entire_binding()], 512);
            gpu.clock = Some(Clock {
                many: gpu.batch(CLOCK_TIME, |pass| chain.record(pass))?,
                chain,
                best_ns: Cell::new(u64::MAX),
                loaded: Cell::new(false),
            });
        }
        Ok(gpu)
    }

    /// The clock of the processors, as a share of the highest that was seen; none if it is not watched.
    pub fn clock(&self) -> Result<Option<f64>, Failure> {
        let Some(clock) = &self.clock else {
            return Ok(None);
        };
        let ns = self.time(clock.many, |pass| clock.chain.record(pass))?.ns();
        clock.best_ns.update(|best| best.min(ns));
        Ok(Some(clock.best_ns.get() as f64 / ns as f64))
    }

    /// Loads the device with a pass, without a break, until its clock is at its height or seems to stay below.
    pub fn warm(&self, record: impl Fn(&mut wgpu::ComputePass<'_>)) -> Result<(), Failure> {
        let Some(clock) = &self.clock else {
            return Ok(());
        };
        let least = match clock.loaded.replace(true) {
            true => Duration::ZERO,
            false => FIRST_LOAD,
        };
        let start = Instant::now();
        let mut many = 0;
        loop {
            let low = self.clock()?.is_some_and(|share| share < FULL_CLOCK);
            let loaded = start.elapsed();
            if loaded >= least && (!low || loaded >= LONGEST_LOAD) {
                return Ok(());
            }
            if many == 0 {
                many = self.batch(BATCH, &record)?;
            }
            self.time(4 * many, &record)?;
        }
    }

    /// A storage buffer with noise of a seed.
    pub fn noise(&self, bytes: u64, seed: u32, noise: Noise) -> Result<wgpu::Buffer, Failure> {
        let buffer = self.buffer(bytes, U::STORAGE)?;
        self.fill(&buffer, seed, noise);
        Ok(buffer)
    }

    /// Fills a storage buffer with noise of a seed.
    pub fn fill(&self, buffer: &wgpu::Buffer, seed: u32, noise: Noise) {
        let device = (self.device, self.queue);
        fill(device, buffer, self.binding_bytes(), seed, noise);
    }

    /// A buffer of at least `bytes` bytes. A size above the device's limit is an error of the request.
    pub fn buffer(&self, bytes: u64, usage: U) -> Result<wgpu::Buffer, Failure> {
        let size = bytes.next_multiple_of(16).max(16);
        let limit = self.device.limits().max_buffer_size;
        if size > limit {
            let why = format!("needs a buffer of {size} bytes, and the device's limit is {limit}");
            return Err(Failure::Request(why));
        }
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("bench"),
            size,
            usage,
            mapped_at_creation: false,
        });
        match pollster::block_on(memory.pop()) {
            None => Ok(buffer),
            Some(_) => Err(Failure::Request(format!(
                "the device has no memory for a buffer of {size} bytes"
            ))),
        }
    }

    /// Writes whole words to a buffer's start, `bytes` bytes per submission, and waits.
    pub fn write(&self, buffer: &wgpu::Buffer, data: &[u8], bytes: usize) -> Result<(), Failure> {
        for (i, part) in data.chunks(bytes).enumerate() {
            self.queue.write_buffer(buffer, (i * bytes) as u64, part);
            self.queue.submit([]);
            self.wait()?;
        }
        Ok(())
    }

    /// Writes to a buffer's start through the mapped buffers of `ring` in turn, and waits.
    pub fn stage(
        &self,
        buffer: &wgpu::Buffer,
        data: &[u8],
        ring: &[wgpu::Buffer],
    ) -> Result<(), Failure> {
        let bytes = ring[0].size();
        for (i, part) in data.chunks(bytes as usize).enumerate() {
            let chunk = &ring[i % ring.len()];
            let ready = Arc::new(AtomicBool::new(false));
            let seen = ready.clone();
            chunk.map_async(wgpu::MapMode::Write, .., move |_| {
                seen.store(true, Ordering::Release);
            });
            // Waits for this buffer's last copy, not for the other's.
            while !ready.load(Ordering::Acquire) {
                self.poll(wgpu::PollType::Poll)?;
            }
            match chunk.get_mapped_range_mut(..) {
                Ok(mut view) => view.slice(..part.len()).copy_from_slice(part),
                Err(e) => return Err(Failure::Device(format!("writing a buffer: {e}"))),
            }
            chunk.unmap();
            let mut encoder = self.encoder();
            encoder.copy_buffer_to_buffer(chunk, 0, buffer, i as u64 * bytes, part.len() as u64);
            self.queue.submit([encoder.finish()]);
        }
        self.wait()
    }

    /// Whether the device has memory for so many buffers of this size at once.
    pub fn has_room(&self, buffers: usize, bytes: u64) -> bool {
        let all = (0..buffers).map(|_| self.buffer(bytes, U::STORAGE));
        all.collect::<Result<Vec<_>, _>>().is_ok()
    }

    /// Most bytes of a binding.
    pub fn binding_bytes(&self) -> u64 {
        self.device.limits().max_storage_buffer_binding_size
    }

    pub fn uniform(&self, words: [u32; 4]) -> wgpu::Buffer {
        uniform(self.device, self.queue, words)
    }

    /// The first bytes of a buffer.
    pub fn download(&self, buffer: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, Failure> {
        let back = self.buffer(bytes, U::MAP_READ | U::COPY_DST)?;
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, bytes.next_multiple_of(4));
        self.queue.submit([encoder.finish()]);
        self.mapped(&back, bytes)
    }

    /// Runs something in turns with something beside, as often as asked, each as often in a row as it takes. Returns
    /// what it took, and the nanoseconds of what is beside.
    pub fn measure(
        &self,
        repeats: Repeats,
        record: impl Fn(&mut wgpu::ComputePass<'_>),
        beside: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<(Timing, u64), Failure> {
        let many = [self.batch(BATCH, &record)?, self.batch(BATCH, &beside)?];
        let (mut batches, mut besides) = (Vec::new(), Vec::new());
        let mut run = 0;
        let mut measured = Duration::ZERO;
        while run < repeats.warm_up + repeats.least
            || run < repeats.warm_up + repeats.most && measured < repeats.enough
        {
            let own = self.time(many[0], &record)?;
            let other = self.time(many[1], &beside)?;
            if run >= repeats.warm_up {
                measured += Duration::from_nanos(own.wall_ns);
                batches.push(own);
                besides.push(other.ns() / many[1]);
            }
            run += 1;
        }
        let mut singles = batches.clone();
        if many[0] > 1 {
            let alone = (0..SINGLES).map(|_| self.time(1, &record));
            singles = alone.collect::<Result<_, _>>()?;
        }
        let timing = Timing::of(&batches, many[0], &singles, &besides);
        Ok((timing, median(besides).unwrap_or(0).max(1)))
    }

    /// How often something must be recorded into a pass to take this long, found by trying. Once without timestamps.
    pub fn batch(
        &self,
        least: Duration,
        record: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<u64, Failure> {
        let least = least.as_nanos() as u64;
        let mut many = 1;
        loop {
            let ns = self.time(many, &record)?.ns();
            if ns >= least || many == MOST || self.timer.is_none() {
                return Ok(many);
            }
            // A fifth more, lest the next try is just too short.
            let wanted = many * least * 6 / 5 / ns;
            many = wanted.clamp(many + 1, 64 * many).min(MOST);
        }
    }

    /// Nanoseconds of something among `many` in one pass.
    pub fn batch_ns(
        &self,
        many: u64,
        record: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<u64, Failure> {
        Ok((self.time(many, record)?.ns() / many).max(1))
    }

    /// Runs a pass once, in which something is recorded `many` times.
    pub fn time(
        &self,
        many: u64,
        record: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<Run, Failure> {
        let call = Instant::now();
        let mut encoder = self.encoder();
        let timer = self.timer.as_ref();
        let writes = timer.map(|timer| wgpu::ComputePassTimestampWrites {
            query_set: &timer.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("bench"),
            timestamp_writes: writes,
        });
        (0..many).for_each(|_| record(&mut pass));
        drop(pass);
        let commands = encoder.finish();
        let start = Instant::now();
        self.queue.submit([commands]);
        let call_ns = call.elapsed().as_nanos() as u64;
        self.wait()?;
        let wall_ns = start.elapsed().as_nanos() as u64;
        let gpu_ns = timer.map(|timer| self.elapsed(timer));
        Ok(Run {
            // Some devices' timestamps never advance.
            gpu_ns: gpu_ns.transpose()?.filter(|&ns| ns > 0),
            wall_ns,
            call_ns,
        })
    }

    /// Nanoseconds between the timestamps of the last pass.
    fn elapsed(&self, timer: &Timer) -> Result<u64, Failure> {
        let mut encoder = self.encoder();
        encoder.resolve_query_set(&timer.queries, 0..2, &timer.resolved, 0);
        encoder.copy_buffer_to_buffer(&timer.resolved, 0, &timer.back, 0, 16);
        self.queue.submit([encoder.finish()]);
        let ticks: Vec<u64> = Element::from_bytes(&self.mapped(&timer.back, 16)?);
        let ticks = ticks[1].saturating_sub(ticks[0]) as f64;
        Ok((ticks * f64::from(self.queue.get_timestamp_period())) as u64)
    }

    pub fn submit(&self, encoder: wgpu::CommandEncoder) {
        self.queue.submit([encoder.finish()]);
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&Default::default())
    }

    fn mapped(&self, buffer: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, Failure> {
        // If the mapping fails, the range below is an error.
        buffer.map_async(wgpu::MapMode::Read, .., |_| ());
        self.wait()?;
        let data = match buffer.get_mapped_range(..) {
            Ok(view) => view[..bytes as usize].to_vec(),
            Err(e) => return Err(Failure::Device(format!("reading a buffer: {e}"))),
        };
        buffer.unmap();
        Ok(data)
    }

    /// Waits until the device is idle.
    fn wait(&self) -> Result<(), Failure> {
        self.poll(wgpu::PollType::wait_indefinitely())
    }

    /// wgpu panics here when the device is lost.
    fn poll(&self, how: wgpu::PollType) -> Result<(), Failure> {
        let poll = || self.device.poll(how);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Ok(_)) => Ok(()),
            _ => Err(Failure::Device("the device is lost".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_once_and_a_single_call_by_itself() {
        let run = |gpu_ns, wall_ns| Run {
            gpu_ns,
            wall_ns,
            call_ns: 7,
        };
        let batches = [4000, 4400, 9000].map(|ns| run(Some(ns), 10_000));
        let singles = [300, 150, 200].map(|ns| run(Some(ns), 2 * ns));
        let timing = Timing::of(&batches, 40, &singles, &[80, 88, 90]);
        assert_eq!(
            (timing.gpu_ns, timing.single_gpu_ns),
            (Some(110), Some(200))
        );
        assert_eq!(
            (timing.wall_ns, timing.call_ns, timing.ns()),
            (400, Some(7), 110)
        );
        let spread = timing.spread.expect("a spread");
        assert_eq!(spread.ns, [100, 225]);
        // The last turn had half the share of the others.
        assert_eq!(spread.share, [0.5, 1.0]);
        // Without timestamps the wall's clock counts.
        let singles = [run(None, 500), run(None, 600)];
        let timing = Timing::of(&singles[..1], 1, &singles, &[500]);
        assert_eq!(timing.spread.map(|spread| spread.ns), Some([500, 600]));
        let timing = Timing::of(&singles[..1], 1, &singles[..1], &[500]);
        assert_eq!((timing.gpu_ns, timing.single_gpu_ns), (None, None));
        assert_eq!(timing.ns(), 500);
    }
}
