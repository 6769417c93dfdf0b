//! A device and what it takes to use it safely: error scopes round every call that can fail,
//! one place that waits, one that notices a lost device.
//!
//! Knows wgpu's rules of life and nothing of reductions.

use crate::Error;
use futures::FutureExt;
use futures::channel::oneshot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::task::{Context as Task, Poll};
use std::time::{Duration, Instant};

/// Who drives the device while somebody waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PollMode {
    /// The waiting thread itself, until its time is up.
    Here(Option<Deadline>),
    /// A thread of the context's own, so that a future completes under any executor.
    Thread,
    /// Whoever owns the device, by polling it.
    Caller,
}

/// Bytes that a future copies before it lets its executor go on with others.
pub(crate) const COPY_BYTES: usize = 1 << 20;

impl PollMode {
    /// Lets an executor go on with other tasks; a thread that waits here has none.
    pub async fn pause(self) {
        let mut paused = matches!(self, PollMode::Here(_));
        let pause = |task: &mut Task<'_>| match std::mem::replace(&mut paused, true) {
            true => Poll::Ready(()),
            false => {
                task.waker().wake_by_ref();
                Poll::Pending
            }
        };
        std::future::poll_fn(pause).await;
    }

    fn in_time(self) -> Result<(), Error> {
        match self {
            PollMode::Here(Some(deadline)) if deadline.left() == Some(Duration::ZERO) => {
                Err(deadline.missed())
            }
            _ => Ok(()),
        }
    }
}

/// A mapping that was asked for.
pub(crate) type BufferMapping = oneshot::Receiver<Result<(), wgpu::BufferAsyncError>>;

/// The time that something is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Option<Instant>,
    given: Duration,
}

impl Deadline {
    /// That time from now on; no clock goes as far as the longest ones.
    pub fn after(given: Duration) -> Deadline {
        let at = Instant::now().checked_add(given);
        Deadline { at, given }
    }

    fn left(&self) -> Option<Duration> {
        Some(self.at?.saturating_duration_since(Instant::now()))
    }

    fn missed(&self) -> Error {
        Error::Timeout {
            seconds: self.given.as_secs_f64(),
        }
    }
}

/// Whether a queue is a device's own. wgpu runs what a queue is told to call once its work is done when
/// that queue's device is polled, and no other. Waits for the work that was submitted before.
pub(crate) fn is_own_queue(device: &wgpu::Device, queue: &wgpu::Queue) -> bool {
    let (called, answer) = mpsc::channel();
    queue.on_submitted_work_done(move || {
        // Who asked may have given up.
        let _ = called.send(());
    });
    for poll in [wgpu::PollType::Poll, wgpu::PollType::wait_indefinitely()] {
        // Of a lost device nothing can be told.
        if device.poll(poll).is_err() || answer.try_recv().is_ok() {
            return true;
        }
    }
    // Another thread that polls may be about to call.
    answer.recv_timeout(Duration::from_millis(200)).is_ok()
}

/// A device, its queue, and its state of health.
pub(crate) struct Context {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    lost: Mutex<Option<String>>,
    waiter: OnceLock<mpsc::Sender<Waiting>>,
}

impl Context {
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Context {
        Context {
            device,
            queue,
            lost: Mutex::new(None),
            waiter: OnceLock::new(),
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

    /// Runs calls that report errors to the device, and returns the first as ours.
    pub fn scoped<T>(
        &self,
        what: &'static str,
        bytes: u64,
        f: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        self.alive()?;
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let value = f();
        // Ready at once outside of a browser.
        let errors = [
            validation.pop().now_or_never(),
            internal.pop().now_or_never(),
            memory.pop().now_or_never(),
        ];
        match errors.into_iter().flatten().flatten().next() {
            None => Ok(value),
            Some(wgpu::Error::OutOfMemory { .. }) => Err(Error::OutOfMemory { what, bytes }),
            Some(other) => Err(self.refused(what, other.to_string())),
        }
    }

    /// The error of a call that the device refused: it may be gone. wgpu's words take several lines, and
    /// here one.
    pub fn refused(&self, what: &'static str, message: String) -> Error {
        let words: Vec<&str> = message.split_whitespace().collect();
        match self.check() {
            Err(lost) => lost,
            Ok(()) => Error::Device {
                what,
                message: words.join(" "),
            },
        }
    }

    /// An error if the device is lost. A lost device reports to no error scope, and its callback
    /// may be the caller's: it is known by the least that it no longer does.
    pub fn check(&self) -> Result<(), Error> {
        self.alive()?;
        let filters = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
        ];
        let scopes = filters.map(|filter| self.device.push_error_scope(filter));
        let probe = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("a sign of life"),
            size: 16,
            usage: wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        let answer = probe.slice(..).get_mapped_range_mut().map(drop);
        // Innermost first; ready at once outside of a browser.
        for scope in scopes.into_iter().rev() {
            scope.pop().now_or_never();
        }
        answer.map_err(|_| self.lose("it no longer answers".into()))
    }

    /// A buffer of at least one vec4.
    pub fn buffer(
        &self,
        what: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        let size = bytes.next_multiple_of(16).max(16);
        let limit = self.device.limits().max_buffer_size;
        if size > limit {
            return Err(Error::Limit {
                what: "a buffer",
                needed: size,
                limit,
            });
        }
        let descriptor = wgpu::BufferDescriptor {
            label: Some(what),
            size,
            usage,
            mapped_at_creation: false,
        };
        self.scoped(what, size, || self.device.create_buffer(&descriptor))
    }

    /// Submits what was recorded.
    pub fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<wgpu::SubmissionIndex, Error> {
        self.scoped("a submission", 0, || self.queue.submit([encoder.finish()]))
    }

    /// An encoder of the library's own.
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

    /// Waits for a mapping: until a submission is done, or else all that came before.
    pub async fn wait_mapped(
        &self,
        mut mapping: BufferMapping,
        after: Option<wgpu::SubmissionIndex>,
        drive: PollMode,
    ) -> Result<(), Error> {
        drive.in_time()?;
        if let Ok(Some(answer)) = mapping.try_recv() {
            return self.mapped(Ok(answer));
        }
        self.drive(drive, after).await?;
        self.mapped(mapping.await)
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

    fn mapped(
        &self,
        answer: Result<Result<(), wgpu::BufferAsyncError>, oneshot::Canceled>,
    ) -> Result<(), Error> {
        match answer {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.refused("a mapping", error.to_string())),
            Err(_) => Err(self.lose("it stopped answering".into())),
        }
    }

    /// Waits here until the device has nothing left to do. What was dropped is then free.
    pub fn wait(&self, deadline: Option<Deadline>) -> Result<(), Error> {
        self.wait_until(None, deadline)
    }

    /// Waits here until a submission is done, the latest if none is named.
    fn wait_until(
        &self,
        after: Option<wgpu::SubmissionIndex>,
        deadline: Option<Deadline>,
    ) -> Result<(), Error> {
        match deadline {
            None => wait(&self.device, after).map_err(|message| self.lose(message)),
            Some(deadline) => self.wait_in_time(after, deadline),
        }
    }

    /// Not by a timeout of wgpu's: in wgpu 30 a wait that is late just when another thread's work
    /// is found done panics, and that work's callbacks are lost with it.
    fn wait_in_time(
        &self,
        after: Option<wgpu::SubmissionIndex>,
        deadline: Deadline,
    ) -> Result<(), Error> {
        let mut told = self.ask_waiter(after);
        let mut pause = Duration::from_micros(10);
        loop {
            match told.try_recv() {
                Ok(None) if deadline.left() == Some(Duration::ZERO) => {
                    return Err(deadline.missed());
                }
                Ok(None) => std::thread::sleep(pause),
                Ok(Some(waited)) => return self.waited(Ok(waited)),
                Err(gone) => return self.waited(Err(gone)),
            }
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Waits for the device, here or on the thread, until a submission is done.
    async fn drive(
        &self,
        drive: PollMode,
        after: Option<wgpu::SubmissionIndex>,
    ) -> Result<(), Error> {
        match drive {
            PollMode::Here(deadline) => self.wait_until(after, deadline),
            PollMode::Caller => Ok(()),
            PollMode::Thread => self.waited(self.ask_waiter(after).await),
        }
    }

    /// Has the thread wait, and is told by it.
    fn ask_waiter(
        &self,
        after: Option<wgpu::SubmissionIndex>,
    ) -> oneshot::Receiver<Result<(), String>> {
        let (tell, told) = oneshot::channel();
        let waiter = self.waiter.get_or_init(|| start_waiter(&self.device));
        // A thread that ended, or never began, drops what is sent to it.
        let _ = waiter.send((tell, after));
        told
    }

    fn waited(&self, told: Result<Result<(), String>, oneshot::Canceled>) -> Result<(), Error> {
        let told = told.unwrap_or_else(|_| Err("it stopped answering".into()));
        told.map_err(|message| self.lose(message))
    }
}

/// To whom the waiter thread says that the device has done a submission, or all until then.
type Waiting = (
    oneshot::Sender<Result<(), String>>,
    Option<wgpu::SubmissionIndex>,
);

/// Starts the thread that waits for the device. It ends with the context that holds the sender,
/// or with the device.
fn start_waiter(device: &wgpu::Device) -> mpsc::Sender<Waiting> {
    let (sender, receiver) = mpsc::channel::<Waiting>();
    let device = device.clone();
    let run = move || {
        while let Ok((waiting, after)) = receiver.recv() {
            let waited = wait(&device, after);
            // Nobody listens if the future was dropped.
            let _ = waiting.send(waited.clone());
            if let Err(message) = waited {
                log::error!("the device is lost: {message}");
                return;
            }
        }
    };
    let name = "wgreduce waiter".to_owned();
    if let Err(e) = std::thread::Builder::new().name(name).spawn(run) {
        log::error!("no waiter thread: {e}");
    }
    sender
}

/// Waits until a submission is done, the latest if none is named. wgpu panics here when the device
/// is lost.
fn wait(
    device: &wgpu::Device,
    submission_index: Option<wgpu::SubmissionIndex>,
) -> Result<(), String> {
    let until = wgpu::PollType::Wait {
        submission_index,
        timeout: None,
    };
    let poll = || device.poll(until);
    match catch_unwind(AssertUnwindSafe(poll)) {
        Ok(waited) => waited.map(drop).map_err(|error| error.to_string()),
        Err(panic) => Err(panic_message(&*panic)),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no reason given").to_owned()
}

/// A lock that a panic elsewhere does not take away: what it guards is always whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdapterChoice;
    use std::task::Waker;

    /// A context on a device whose uncaptured errors panic.
    fn context() -> Context {
        let noop = AdapterChoice::Backend(wgpu::Backend::Noop);
        let adapter =
            pollster::block_on(crate::device::adapter::choose(&noop)).expect("a noop adapter");
        let opened = pollster::block_on(adapter.inner.request_device(&Default::default()));
        let (device, queue) = opened.expect("a device");
        Context::new(device, queue)
    }

    fn mappable(context: &Context) -> wgpu::Buffer {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        context.buffer("a test", 16, usage).expect("a buffer")
    }

    #[test]
    fn a_mapping_that_is_refused_is_an_error() {
        let (context, here) = (context(), PollMode::Here(None));
        let refused = |buffer: &wgpu::Buffer, mode| {
            let mapped = pollster::block_on(context.map(buffer.slice(..), mode, here));
            matches!(
                mapped,
                Err(Error::Device {
                    what: "a mapping",
                    ..
                })
            )
        };
        assert!(refused(&mappable(&context), wgpu::MapMode::Write));
        let buffer = mappable(&context);
        assert!(!refused(&buffer, wgpu::MapMode::Read));
        // It is mapped already.
        assert!(refused(&buffer, wgpu::MapMode::Read));
    }

    #[test]
    fn a_mapping_that_fails_later_is_an_error() {
        let context = context();
        // A waiter of our own: its time can be chosen.
        let (waiter, waiting) = mpsc::channel();
        assert!(context.waiter.set(waiter).is_ok());
        let buffer = mappable(&context);
        let mapping = context.map(buffer.slice(..), wgpu::MapMode::Read, PollMode::Thread);
        let mut mapping = std::pin::pin!(mapping);
        let mut task = Task::from_waker(Waker::noop());
        assert!(mapping.as_mut().poll(&mut task).is_pending());
        buffer.destroy();
        let (tell, _) = waiting.recv().expect("a wait");
        assert_eq!(tell.send(wait(&context.device, None)), Ok(()));
        match mapping.as_mut().poll(&mut task) {
            Poll::Ready(Err(Error::Device {
                what: "a mapping",
                message,
            })) => {
                assert!(!message.is_empty());
            }
            other => panic!("{other:?}"),
        }
        // The device itself is well.
        assert!(context.check().is_ok());
    }

    #[test]
    fn a_waiter_thread_that_is_not_there_loses_the_device_and_hangs_nobody() {
        let context = context();
        assert!(context.waiter.set(mpsc::channel().0).is_ok());
        let buffer = mappable(&context);
        let mapping = context.map(buffer.slice(..), wgpu::MapMode::Read, PollMode::Thread);
        let mapped = pollster::block_on(mapping);
        assert!(
            matches!(mapped, Err(Error::DeviceLost { .. })),
            "{mapped:?}"
        );
        assert!(matches!(context.alive(), Err(Error::DeviceLost { .. })));
    }
}
