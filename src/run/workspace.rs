//! Runs from host data: upload, work and readback with reusable buffers, and the time of each.
//!
//! Orders uploads, submits and mappings; the bound reduction knows what is computed.

use crate::device::context::{COPY_BYTES, Context, OwnBuffer};
use crate::device::platform::{Instant, PollMode};
use crate::device::staging::Upload;
use crate::run::bind::BoundReduction;
use crate::run::buffers::{Buffers, Tensor};
use crate::{Element, Error, Problem};
use std::ops::Range;
use std::time::Duration;

/// How long the phases of a run took. A device without timestamps is not waited for between the work and the results.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Times {
    /// Host data to the device.
    pub upload: Duration,
    /// The work on the device, by its timestamps; `None` if it has none.
    pub gpu: Option<Duration>,
    /// From the submission of the work to its completion; without timestamps, until the results are on the host.
    pub wall: Duration,
    /// Results to the host; zero without timestamps, where `wall` has it.
    pub readback: Duration,
}

/// The buffers of a run from host data.
pub(crate) struct Workspace {
    /// Per tensor, one or more buffers.
    inputs: Vec<Vec<OwnBuffer>>,
    outputs: Vec<Vec<OwnBuffer>>,
    readback: Vec<Vec<OwnBuffer>>,
    bound: BoundReduction,
    timer: Option<Timer>,
}

/// A pair of timestamps and the way to read them.
struct Timer {
    queries: wgpu::QuerySet,
    resolved: OwnBuffer,
    readback: OwnBuffer,
}

impl Workspace {
    /// Buffers for a problem, none larger than `most` bytes, bound by `bind`.
    pub(crate) fn new(
        context: &Context,
        problem: &Problem,
        most: u64,
        bind: impl FnOnce(Buffers<'_>) -> Result<BoundReduction, Error>,
    ) -> Result<Workspace, Error> {
        use wgpu::BufferUsages as U;
        let buffers = |what, sizes: &[(u64, u64)], usage| {
            let tensor = |&(bytes, _): &(u64, u64)| {
                let count = bytes.div_ceil(most).max(1);
                let make = |i: u64| context.buffer(what, most.min(bytes - i * most), usage);
                (0..count).map(make).collect::<Result<Vec<_>, _>>()
            };
            sizes.iter().map(tensor).collect::<Result<Vec<_>, _>>()
        };
        let [read, written] = problem.sizes();
        let inputs = buffers("an input", &read, U::STORAGE | U::COPY_DST)?;
        let outputs = buffers("an output", &written, U::STORAGE | U::COPY_SRC)?;
        let readback = buffers("a readback buffer", &written, U::MAP_READ | U::COPY_DST)?;
        let (from, to) = (slices(&inputs), slices(&outputs));
        let from: Vec<Tensor<'_>> = from.iter().map(|s| s.as_slice().into()).collect();
        let to: Vec<Tensor<'_>> = to.iter().map(|s| s.as_slice().into()).collect();
        let bound = bind(Buffers::new(&from, &to))?;
        Ok(Workspace {
            readback,
            bound,
            timer: Timer::new(context)?,
            inputs,
            outputs,
        })
    }

    /// Uploads the inputs, runs, and reads the outputs back; if `timed`, waits after each phase.
    /// `upload` begins an upload of a number of bytes.
    pub(crate) async fn run<'a>(
        &self,
        context: &Context,
        problem: &Problem,
        inputs: &[&[u8]],
        drive: PollMode,
        timed: bool,
        upload: impl FnOnce(u64) -> Result<Upload<'a>, Error>,
    ) -> Result<(Vec<Vec<u8>>, Times), Error> {
        let mut times = Times::default();
        let start = Instant::now();
        let mut encoder = context.encoder();
        let sent = self.uploaded(problem, inputs, upload, &mut encoder).await?;
        let mut sent = Some(sent);
        if timed {
            let copies = context.submit(std::mem::replace(&mut encoder, context.encoder()))?;
            if let Some(sent) = sent.take() {
                sent.arrived(copies).await?;
            }
        }
        times.upload = start.elapsed();

        let work = Instant::now();
        let timer = self.timer.as_ref().filter(|_| timed);
        self.encode_parts(context, timer, &mut encoder)?;
        if let Some(timer) = timer {
            timer.resolve(&mut encoder);
            context.submit(encoder)?;
            times.gpu = Some(timer.read(context, drive).await?);
            times.wall = work.elapsed();
            encoder = context.encoder();
        }
        let start = Instant::now();
        let results = self.outputs.iter().flatten();
        for (from, to) in results.zip(self.readback.iter().flatten()) {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size());
        }
        let done = context.submit(encoder)?;
        if let Some(sent) = sent {
            sent.submitted(done.clone())?;
        }
        let outputs = self.read_back(context, problem, &done, drive).await?;
        match timer {
            Some(_) => times.readback = start.elapsed(),
            None => times.wall = work.elapsed(),
        }
        Ok((outputs, times))
    }

    /// Uploads the inputs; the encoder has the last copies and is not yet submitted.
    async fn uploaded<'a>(
        &self,
        problem: &Problem,
        inputs: &[&[u8]],
        upload: impl FnOnce(u64) -> Result<Upload<'a>, Error>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Upload<'a>, Error> {
        let buffers = self.inputs.iter().flatten();
        let mut upload = upload(buffers.map(|b| b.size()).sum())?;
        for (i, (data, buffers)) in inputs.iter().zip(&self.inputs).enumerate() {
            // A view needs its tensor only up to the highest element it reads.
            let mut data = &data[..problem.input_bytes(i) as usize];
            for buffer in buffers {
                let (piece, rest) = data.split_at(data.len().min(buffer.size() as usize));
                upload.push(piece, buffer, encoder).await?;
                data = rest;
            }
        }
        upload.finish();
        Ok(upload)
    }

    /// Records all parts and submits all but the last, which stays in the encoder.
    fn encode_parts(
        &self,
        context: &Context,
        timer: Option<&Timer>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), Error> {
        let parts = self.bound.parts();
        for part in 0..parts {
            if part > 0 {
                context.submit(std::mem::replace(encoder, context.encoder()))?;
            }
            let times = timer.and_then(|t| t.writes(part == 0, part + 1 == parts));
            self.bound.encode_timed(part, encoder, times);
        }
        Ok(())
    }

    /// Reads the readback buffers once the submission is done.
    async fn read_back(
        &self,
        context: &Context,
        problem: &Problem,
        done: &wgpu::SubmissionIndex,
        drive: PollMode,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let mut outputs = Vec::new();
        let tensors = problem.outputs().into_iter();
        for (buffers, output) in self.readback.iter().zip(tensors) {
            let mut bytes = Vec::with_capacity(output.bytes() as usize);
            for buffer in buffers {
                let mapping = context.request_map(buffer.slice(..), wgpu::MapMode::Read)?;
                let after = Some(done.clone());
                context.wait_mapped(mapping, after, drive).await?;
                let left = output.bytes() - bytes.len() as u64;
                let end = left.min(buffer.size());
                for at in (0..end).step_by(COPY_BYTES) {
                    let part = at..end.min(at + COPY_BYTES as u64);
                    append(&mut bytes, context, buffer, part)?;
                    drive.pause().await;
                }
                buffer.unmap();
            }
            outputs.push(bytes);
        }
        Ok(outputs)
    }
}

/// The slices of each tensor.
fn slices(tensors: &[Vec<OwnBuffer>]) -> Vec<Vec<wgpu::BufferSlice<'_>>> {
    let tensors = tensors.iter();
    tensors
        .map(|buffers| buffers.iter().map(|b| b.slice(..)).collect())
        .collect()
}

/// Appends a part of a mapped buffer that begins at a multiple of 16 bytes.
fn append(
    bytes: &mut Vec<u8>,
    context: &Context,
    buffer: &wgpu::Buffer,
    part: Range<u64>,
) -> Result<(), Error> {
    let whole = part.start..part.end.next_multiple_of(16);
    let view = context.mapped(buffer.slice(whole).get_mapped_range())?;
    bytes.extend_from_slice(&view[..(part.end - part.start) as usize]);
    Ok(())
}

impl Timer {
    fn new(context: &Context) -> Result<Option<Timer>, Error> {
        use wgpu::BufferUsages as U;
        let features = context.device.features();
        if !features.contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let descriptor = wgpu::QuerySetDescriptor {
            label: Some("wgreduce"),
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        };
        let create = || context.device.create_query_set(&descriptor);
        Ok(Some(Timer {
            queries: context.scoped("timestamps", 16, create)?,
            resolved: context.buffer("timestamps", 16, U::QUERY_RESOLVE | U::COPY_SRC)?,
            readback: context.buffer("timestamps", 16, U::MAP_READ | U::COPY_DST)?,
        }))
    }

    /// The timestamps of a compute pass: the first pass writes its beginning, the last its end.
    fn writes(&self, first: bool, last: bool) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        (first || last).then_some(wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: first.then_some(0),
            end_of_pass_write_index: last.then_some(1),
        })
    }

    fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readback, 0, 16);
    }

    async fn read(&self, context: &Context, drive: PollMode) -> Result<Duration, Error> {
        let slice = self.readback.slice(..);
        context.map(slice, wgpu::MapMode::Read, drive).await?;
        let mut bytes = Vec::new();
        append(&mut bytes, context, &self.readback, 0..16)?;
        self.readback.unmap();
        let ticks: Vec<u64> = Element::from_bytes(&bytes);
        let ticks = ticks[1].saturating_sub(ticks[0]) as f64;
        let nanos = ticks * f64::from(context.queue.get_timestamp_period());
        Ok(Duration::from_nanos(nanos as u64))
    }
}
