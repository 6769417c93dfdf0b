//! Uploads of host data: chunks of mapped memory that are filled, copied from and mapped again, shared by all
//! runs of a reducer. A stream has chunks of its own.
//!
//! Knows nothing of reductions.

use crate::Error;
use crate::device::context::{BufferMapping, COPY_BYTES, Context, OwnBuffer, lock};
use crate::device::platform::PollMode;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Maximum and minimum size of a chunk.
const CHUNK_BYTES: u64 = 16 << 20;
const LEAST_BYTES: u64 = 4 << 10;
/// Most bytes of idle chunks that are kept.
const KEPT_BYTES: u64 = 64 << 20;
/// Alignment of data in a chunk: a vec4.
const ALIGNMENT: u64 = 16;

/// Idle chunks, the one that has been idle longest first.
#[derive(Default)]
pub(crate) struct Ring {
    idle: Mutex<VecDeque<Chunk>>,
}

/// A buffer that the host fills and the device copies from.
pub(crate) struct Chunk {
    pub buffer: OwnBuffer,
    /// The pending mapping and the submission that it waits for; `None` once the chunk is mapped.
    pending: Option<(BufferMapping, Option<wgpu::SubmissionIndex>)>,
}

impl Chunk {
    pub fn new(context: &Context, bytes: u64) -> Result<Chunk, Error> {
        use wgpu::BufferUsages as U;
        let mut chunk = Chunk {
            buffer: context.buffer("an upload", bytes, U::MAP_WRITE | U::COPY_SRC)?,
            pending: None,
        };
        chunk.reclaim(context, None)?;
        Ok(chunk)
    }

    /// Maps the chunk again once a submission is done.
    pub fn reclaim(
        &mut self,
        context: &Context,
        after: Option<wgpu::SubmissionIndex>,
    ) -> Result<(), Error> {
        let mapping = context.request_map(self.buffer.slice(..), wgpu::MapMode::Write)?;
        self.pending = Some((mapping, after));
        Ok(())
    }

    /// Waits until the host may fill it.
    pub async fn mapped(&mut self, context: &Context, drive: PollMode) -> Result<(), Error> {
        match self.pending.take() {
            Some((mapping, after)) => context.wait_mapped(mapping, after, drive).await,
            None => Ok(()),
        }
    }
}

impl Ring {
    /// An idle or a new chunk for `bytes` bytes, or of the maximum size if that is less.
    fn take(&self, context: &Context, bytes: u64) -> Result<Chunk, Error> {
        let bytes = bytes.clamp(LEAST_BYTES, CHUNK_BYTES).next_power_of_two();
        let most = context.device.limits().max_buffer_size / ALIGNMENT * ALIGNMENT;
        let bytes = bytes.min(most);
        let idle = {
            let mut idle = lock(&self.idle);
            let fits = idle.iter().position(|c| c.buffer.size() >= bytes);
            fits.and_then(|i| idle.remove(i))
        };
        idle.map_or_else(|| Chunk::new(context, bytes), Ok)
    }

    /// Keeps chunks for later uploads.
    fn keep(&self, chunks: impl IntoIterator<Item = Chunk>) {
        let mut idle = lock(&self.idle);
        idle.extend(chunks);
        let mut bytes: u64 = idle.iter().map(|c| c.buffer.size()).sum();
        while bytes > KEPT_BYTES {
            bytes -= idle.pop_front().map_or(bytes, |c| c.buffer.size());
        }
    }

    /// Frees the idle chunks.
    pub fn clear(&self) {
        lock(&self.idle).clear();
    }
}

/// A running upload: the host fills one chunk while the device copies from the other. If an upload is dropped
/// before it is finished, its chunks are freed, not kept.
pub(crate) struct Upload<'a> {
    ring: &'a Ring,
    context: &'a Context,
    drive: PollMode,
    /// The chunks to fill next, in order.
    chunks: VecDeque<Chunk>,
    /// The chunk that is being filled, and the bytes filled so far.
    open: Option<(Chunk, u64)>,
}

impl<'a> Upload<'a> {
    /// Begins an upload of `bytes` bytes, the sum of the buffers' sizes in whole vec4.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Device`].
    pub fn new(
        ring: &'a Ring,
        context: &'a Context,
        drive: PollMode,
        bytes: u64,
    ) -> Result<Upload<'a>, Error> {
        let (mut chunks, mut room) = (VecDeque::new(), 0);
        while room < bytes && chunks.len() < 2 {
            let chunk = ring.take(context, bytes)?;
            room += chunk.buffer.size();
            chunks.push_back(chunk);
        }
        Ok(Upload {
            chunks,
            open: None,
            ring,
            context,
            drive,
        })
    }

    /// Copies data to the start of a buffer whose size is a multiple of a vec4.
    pub async fn push(
        &mut self,
        data: &[u8],
        to: &wgpu::Buffer,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), Error> {
        let mut at = 0;
        while at < data.len() {
            let (chunk, filled) = self.room(encoder).await?;
            let room = (chunk.buffer.size() - filled) as usize;
            let part = &data[at..data.len().min(at + room)];
            for (i, bytes) in part.chunks(COPY_BYTES).enumerate() {
                let begin = filled + (i * COPY_BYTES) as u64;
                write(self.context, &chunk.buffer, begin, bytes)?;
                self.drive.pause().await;
            }
            // Copies move whole words; what is past the data is never read as an element.
            let size = (part.len() as u64).next_multiple_of(4);
            encoder.copy_buffer_to_buffer(&chunk.buffer, filled, to, at as u64, size);
            self.open = Some((chunk, filled + size.next_multiple_of(ALIGNMENT)));
            at += part.len();
        }
        Ok(())
    }

    /// A mapped chunk with room, and the bytes filled so far.
    async fn room(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(Chunk, u64), Error> {
        if let Some((mut chunk, filled)) = self.open.take() {
            if filled < chunk.buffer.size() {
                return Ok((chunk, filled));
            }
            chunk.buffer.unmap();
            let full = std::mem::replace(encoder, self.context.encoder());
            let submitted = self.context.submit(full)?;
            chunk.reclaim(self.context, Some(submitted))?;
            self.chunks.push_back(chunk);
        }
        let mut chunk = match self.chunks.pop_front() {
            Some(chunk) => chunk,
            None => self.ring.take(self.context, CHUNK_BYTES)?,
        };
        chunk.mapped(self.context, self.drive).await?;
        Ok((chunk, 0))
    }

    /// Ends the filling: the encoder's copies may be submitted.
    pub fn finish(&self) {
        if let Some((chunk, _)) = &self.open {
            chunk.buffer.unmap();
        }
    }

    /// Returns the chunks to the ring. `submission` has the last copies.
    pub fn submitted(self, submission: wgpu::SubmissionIndex) -> Result<(), Error> {
        let mut last = self.open.map(|(chunk, _)| chunk);
        if let Some(chunk) = &mut last {
            chunk.reclaim(self.context, Some(submission))?;
        }
        self.ring.keep(self.chunks.into_iter().chain(last));
        Ok(())
    }

    /// [`Upload::submitted`], after waiting for the copies.
    pub async fn arrived(mut self, submission: wgpu::SubmissionIndex) -> Result<(), Error> {
        if let Some((mut chunk, _)) = self.open.take() {
            chunk.reclaim(self.context, Some(submission.clone()))?;
            chunk.mapped(self.context, self.drive).await?;
            self.chunks.push_back(chunk);
        }
        self.submitted(submission)
    }
}

fn write(context: &Context, buffer: &wgpu::Buffer, at: u64, data: &[u8]) -> Result<(), Error> {
    let size = (data.len() as u64).next_multiple_of(ALIGNMENT);
    let mut view = context.mapped(buffer.slice(at..at + size).get_mapped_range_mut())?;
    view.slice(..data.len()).copy_from_slice(data);
    Ok(())
}
