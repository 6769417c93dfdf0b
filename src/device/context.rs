//! A device and its safe use: error scopes around every call that can fail, and one place that detects a lost
//! device. The differences between a native program and a page are in `platform`.
//!
//! Knows nothing of reductions.

use crate::Error;
use crate::device::platform::{self, Platform, PollMode};
use crate::error::one_line;
use futures::channel::oneshot;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a future copies before it yields to its executor.
pub(crate) const COPY_BYTES: usize = 1 << 20;

/// A mapping that was asked for.
pub(crate) type BufferMapping = oneshot::Receiver<Result<(), wgpu::BufferAsyncError>>;

/// A buffer of the library, freed when this is dropped, even if bind groups still refer to it.
pub(crate) struct OwnBuffer {
    buffer: wgpu::Buffer,
    outlived: bool,
}

impl OwnBuffer {
    /// Keeps the buffer as long as something refers to it.
    pub fn outlive(mut self) {
        self.outlived = true;
    }
}

impl Deref for OwnBuffer {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Drop for OwnBuffer {
    fn drop(&mut self) {
        if !self.outlived {
            platform::free(&self.buffer);
        }
    }
}

/// A device, its queue, and whether it is lost.
pub(crate) struct Context {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    lost: Arc<Mutex<Option<String>>>,
    pub(super) platform: Platform,
}

impl Context {
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Context {
        let lost = Arc::default();
        Context {
            platform: Platform::new(&device, &lost),
            device,
            queue,
            lost,
        }
    }

    /// Remembers that the device is lost.
    pub fn lose(&self, message: String) -> Error {
        let mut lost = lock(&self.lost);
        let message = lost.get_or_insert(message).clone();
        Error::DeviceLost { message }
    }

    /// An error if the device is known to be lost.
    pub fn alive(&self) -> Result<(), Error> {
        match lock(&self.lost).clone() {
            Some(message) => Err(Error::DeviceLost { message }),
            None => Ok(()),
        }
    }

    /// Runs wgpu calls in error scopes, and returns their first error.
    pub fn scoped<T>(
        &self,
        what: &'static str,
        bytes: u64,
        f: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        self.alive()?;
        let scopes = self.scopes();
        let value = f();
        self.closed(scopes, what, bytes)?;
        Ok(value)
    }

    /// Converts an error that the device reported.
    pub(super) fn reported(&self, error: wgpu::Error, what: &'static str, bytes: u64) -> Error {
        match error {
            wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { what, bytes },
            other => self.refused(what, other),
        }
    }

    /// The error of a call that the device refused, perhaps because it is lost. Puts wgpu's message on one line.
    pub fn refused(&self, what: &'static str, message: impl ToString) -> Error {
        match self.check() {
            Err(lost) => lost,
            Ok(()) => Error::Device {
                what,
                message: one_line(message),
            },
        }
    }

    /// An error if the device is lost.
    pub fn check(&self) -> Result<(), Error> {
        self.alive()?;
        match self.answers() {
            true => Ok(()),
            false => Err(self.lose("it no longer answers".into())),
        }
    }

    /// A buffer of at least one vec4.
    pub fn buffer(
        &self,
        what: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<OwnBuffer, Error> {
        let size = bytes.next_multiple_of(16).max(16);
        Error::within("a buffer", size, self.device.limits().max_buffer_size)?;
        let descriptor = wgpu::BufferDescriptor {
            label: Some(what),
            size,
            usage,
            mapped_at_creation: false,
        };
        let create = || self.device.create_buffer(&descriptor);
        Ok(OwnBuffer {
            buffer: self.scoped(what, size, create)?,
            outlived: false,
        })
    }

    pub fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<wgpu::SubmissionIndex, Error> {
        self.scoped("a submission", 0, || self.queue.submit([encoder.finish()]))
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        let descriptor = wgpu::CommandEncoderDescriptor {
            label: Some("wgreduce"),
        };
        self.device.create_command_encoder(&descriptor)
    }

    /// Maps a slice once the work that uses it is done.
    pub async fn map(
        &self,
        slice: wgpu::BufferSlice<'_>,
        mode: wgpu::MapMode,
        drive: PollMode,
    ) -> Result<(), Error> {
        let mapping = self.request_map(slice, mode)?;
        self.wait_mapped(mapping, None, drive).await
    }

    /// Waits for a mapping that is ready once submission `after` is done, or all earlier ones if it is `None`.
    pub async fn wait_mapped(
        &self,
        mut mapping: BufferMapping,
        after: Option<wgpu::SubmissionIndex>,
        drive: PollMode,
    ) -> Result<(), Error> {
        drive.in_time()?;
        let answer = match mapping.try_recv() {
            Ok(Some(answer)) => Ok(answer),
            _ => {
                self.drive(drive, after).await?;
                mapping.await
            }
        };
        self.settled().await?;
        match answer {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.refused("a mapping", error)),
            Err(_) => Err(self.lose("it stopped answering".into())),
        }
    }

    /// A range of mapped memory, or wgpu's error.
    pub fn mapped<T>(&self, range: Result<T, wgpu::MapRangeError>) -> Result<T, Error> {
        range.map_err(|error| self.refused("a mapped range", error))
    }

    /// Asks for a slice to be mapped once the work that uses it is done.
    pub fn request_map(
        &self,
        slice: wgpu::BufferSlice<'_>,
        mode: wgpu::MapMode,
    ) -> Result<BufferMapping, Error> {
        let (done, mapping) = oneshot::channel();
        self.scoped("a mapping", 0, || {
            slice.map_async(mode, move |result| {
                // Nobody listens if the future was dropped.
                let _ = done.send(result);
            });
        })?;
        Ok(mapping)
    }
}

/// Locks, ignoring poison: the guarded data is always consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
