//! A device to measure on: the tool's own buffers, and timed passes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wgreduce::wgpu::{self, BufferUsages as U};
use wgreduce::{Element, Reducer};

use super::walks::median;
use crate::failure::Failure;

/// Host data is uploaded in parts of this size: wgpu makes a staging buffer for each.
const UPLOAD_BYTES: usize = 16 << 20;

pub struct Gpu<'a> {
    pub device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    timer: Option<Timer>,
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

/// What a pass took.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// By the device's own clock, where it has one.
    pub gpu_ns: Option<u64>,
    /// From submission to completion.
    pub wall_ns: u64,
    /// CPU time from an empty encoder to the return of the submission.
    pub call_ns: u64,
}

impl Timing {
    /// The device's time, or the wall time if there is none.
    pub fn ns(&self) -> u64 {
        self.gpu_ns.unwrap_or(self.wall_ns)
    }
}

/// Timings, to take medians of.
#[derive(Default)]
struct Times {
    gpu: Vec<u64>,
    wall: Vec<u64>,
    call: Vec<u64>,
}

impl Times {
    fn push(&mut self, timing: Timing) {
        self.gpu.extend(timing.gpu_ns);
        self.wall.push(timing.wall_ns);
        self.call.push(timing.call_ns);
    }

    fn median(self) -> Timing {
        Timing {
            // Some devices' timestamps never advance.
            gpu_ns: median(self.gpu).filter(|&ns| ns > 0),
            wall_ns: median(self.wall).unwrap_or(0).max(1),
            call_ns: median(self.call).unwrap_or(0).max(1),
        }
    }
}

impl Gpu<'_> {
    pub fn new(reducer: &Reducer) -> Result<Gpu<'_>, Failure> {
        let mut gpu = Gpu {
            device: reducer.device(),
            queue: reducer.queue(),
            timer: None,
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
        Ok(gpu)
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

    /// A storage buffer with this data.
    pub fn upload(&self, data: &[u8]) -> Result<wgpu::Buffer, Failure> {
        let buffer = self.buffer(data.len() as u64, U::STORAGE | U::COPY_DST)?;
        self.write(&buffer, data, UPLOAD_BYTES)?;
        Ok(buffer)
    }

    /// Writes to a buffer's start, `bytes` bytes per submission, and waits.
    pub fn write(&self, buffer: &wgpu::Buffer, data: &[u8], bytes: usize) -> Result<(), Failure> {
        for (i, part) in data.chunks(bytes).enumerate() {
            let at = (i * bytes) as u64;
            // Whole words only.
            let (words, rest) = part.split_at(part.len() / 4 * 4);
            self.queue.write_buffer(buffer, at, words);
            if !rest.is_empty() {
                let mut word = [0; 4];
                word[..rest.len()].copy_from_slice(rest);
                self.queue
                    .write_buffer(buffer, at + words.len() as u64, &word);
            }
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

    /// The first bytes of a buffer.
    pub fn download(&self, buffer: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, Failure> {
        let back = self.buffer(bytes, U::MAP_READ | U::COPY_DST)?;
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, bytes.next_multiple_of(4));
        self.queue.submit([encoder.finish()]);
        self.mapped(&back, bytes)
    }

    /// Runs two passes in turns, as often as asked, and returns the medians of both.
    pub fn measure(
        &self,
        repeats: Repeats,
        record: impl Fn(&mut wgpu::ComputePass<'_>),
        beside: impl Fn(&mut wgpu::ComputePass<'_>),
    ) -> Result<[Timing; 2], Failure> {
        let mut times = [Times::default(), Times::default()];
        let mut run = 0;
        let mut measured = Duration::ZERO;
        while run < repeats.warm_up + repeats.least
            || run < repeats.warm_up + repeats.most && measured < repeats.enough
        {
            let timings = [self.time(&record)?, self.time(&beside)?];
            if run >= repeats.warm_up {
                measured += Duration::from_nanos(timings[0].wall_ns);
                times[0].push(timings[0]);
                times[1].push(timings[1]);
            }
            run += 1;
        }
        Ok(times.map(Times::median))
    }

    /// Runs a pass once.
    pub fn time(&self, record: impl Fn(&mut wgpu::ComputePass<'_>)) -> Result<Timing, Failure> {
        let call = Instant::now();
        let mut encoder = self.encoder();
        let writes = self
            .timer
            .as_ref()
            .map(|timer| wgpu::ComputePassTimestampWrites {
                query_set: &timer.queries,
                beginning_of_pass_write_index: Some(0),
                end_of_pass_write_index: Some(1),
            });
        record(
            &mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("bench"),
                timestamp_writes: writes,
            }),
        );
        let commands = encoder.finish();
        let start = Instant::now();
        self.queue.submit([commands]);
        let call_ns = call.elapsed().as_nanos() as u64;
        self.wait()?;
        let wall_ns = start.elapsed().as_nanos() as u64;
        let gpu_ns = self.timer.as_ref().map(|timer| self.elapsed(timer));
        Ok(Timing {
            gpu_ns: gpu_ns.transpose()?,
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
