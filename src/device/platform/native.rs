//! Native programs: blocking calls wait in their thread, futures by another thread or the caller's polls. Errors
//! are known at once.

use super::Polling;
use crate::Error;
use crate::device::context::{Context, lock};
use futures::FutureExt;
use futures::channel::oneshot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;
pub(crate) use std::time::Instant;

/// Who drives the device while somebody waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PollMode {
    /// The waiting thread itself, until its time is up.
    Here(Option<Deadline>),
    /// A thread of the context, so that a future completes under any executor.
    Thread,
    /// Whoever owns the device, by polling it.
    Caller,
}

impl PollMode {
    pub fn of(polling: Polling) -> PollMode {
        match polling {
            Polling::Thread => PollMode::Thread,
            Polling::Caller => PollMode::Caller,
        }
    }

    /// For waits that are too short for a thread.
    pub const SHORT: PollMode = PollMode::Here(None);

    /// Yields to the executor; does nothing if the calling thread waits.
    pub async fn pause(self) {
        if !matches!(self, PollMode::Here(_)) {
            super::yield_once().await;
        }
    }

    pub fn in_time(self) -> Result<(), Error> {
        match self {
            PollMode::Here(Some(deadline)) => deadline.in_time(),
            _ => Ok(()),
        }
    }
}

/// A point in time until which a call may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Option<Instant>,
    given: Duration,
}

impl Deadline {
    /// A deadline `given` from now; none if that overflows the clock.
    pub fn after(given: Duration) -> Deadline {
        let at = Instant::now().checked_add(given);
        Deadline { at, given }
    }

    /// An error once it is over.
    fn in_time(&self) -> Result<(), Error> {
        match self.at.is_some_and(|at| at <= Instant::now()) {
            false => Ok(()),
            true => Err(Error::Timeout {
                seconds: self.given.as_secs_f64(),
            }),
        }
    }
}

/// Backends with their instance and its adapters.
type Kept = (wgpu::Backends, wgpu::Instance, Vec<wgpu::Adapter>);

/// What this process has found.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The adapters of some backends, found once in a process and kept with their instance.
///
/// Dropping the last instance unloads the driver, and Mesa's software drivers (22.3.6, Vulkan and
/// OpenGL) then crash one process in twenty when it exits on a busy machine. Also, OpenGL adapters
/// of different instances share a context but no lock: in wgpu 30, two threads that use a device
/// of each panic.
pub(crate) async fn find(descriptor: wgpu::InstanceDescriptor) -> Vec<wgpu::Adapter> {
    let mut kept = lock(&KEPT);
    let backends = descriptor.backends;
    if let Some((_, _, found)) = kept.iter().find(|(b, _, _)| *b == backends) {
        return found.clone();
    }
    let instance = wgpu::Instance::new(descriptor);
    // Ready at once.
    let found = pollster::block_on(instance.enumerate_adapters(backends));
    kept.push((backends, instance, found.clone()));
    found
}

/// Whether a queue belongs to a device. wgpu runs a queue's `on_submitted_work_done` callback only when the
/// queue's own device is polled. Waits for the work that was submitted before.
///
/// # Errors
/// Why the device cannot be polled.
pub(crate) fn is_own_queue(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<bool, String> {
    let (called, answer) = mpsc::channel();
    queue.on_submitted_work_done(move || {
        // The receiver may be gone.
        let _ = called.send(());
    });
    for until in [wgpu::PollType::Poll, wgpu::PollType::wait_indefinitely()] {
        poll(device, until)?;
        if answer.try_recv().is_ok() {
            return Ok(true);
        }
    }
    // Another polling thread may be about to run the callback.
    Ok(answer.recv_timeout(Duration::from_millis(200)).is_ok())
}

/// The thread that waits for a device.
#[derive(Default)]
pub(crate) struct Platform {
    waiter: OnceLock<mpsc::Sender<Waiting>>,
}

impl Platform {
    /// Sets no device-lost callback, because the caller may have one; see [`Context::answers`].
    pub fn new(_: &wgpu::Device, _: &Arc<Mutex<Option<String>>>) -> Platform {
        Platform::default()
    }
}

/// Whether a call may succeed with an invalid object, whose error [`Context::settled`] reports.
pub(crate) const ERRORS_COME_LATER: bool = false;

/// Whether bindings of a dispatch may overlap in a buffer that it writes.
pub(crate) const BINDINGS_MAY_OVERLAP: bool = true;

/// Does nothing: wgpu frees a dropped buffer once the device has finished its work.
pub(crate) fn free(_: &wgpu::Buffer) {}

impl Context {
    /// The error scopes of a call.
    pub fn scopes(&self) -> [wgpu::ErrorScopeGuard; 3] {
        let filters = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::Validation,
        ];
        filters.map(|filter| self.device.push_error_scope(filter))
    }

    /// The first error of scopes.
    pub fn closed(
        &self,
        scopes: [wgpu::ErrorScopeGuard; 3],
        what: &'static str,
        bytes: u64,
    ) -> Result<(), Error> {
        match errors(scopes).into_iter().flatten().next() {
            None => Ok(()),
            Some(error) => Err(self.reported(error, what, bytes)),
        }
    }

    /// Runs the future: errors always belong to the call that caused them.
    pub async fn apart<T>(&self, run: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        run.await
    }

    /// Errors are known at once.
    pub async fn settled(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the device still maps a new buffer. A lost device fails to, but reports its loss to no error scope,
    /// and the device-lost callback may be the caller's.
    pub fn answers(&self) -> bool {
        let scopes = self.scopes();
        let probe = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("a sign of life"),
            size: 16,
            // Mapped itself: any other goes through wgpu's staging, where a device without memory is lost.
            usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        let answers = probe.slice(..).get_mapped_range_mut().is_ok();
        // Without memory for it the device is as well as before.
        let [_, _, no_memory] = errors(scopes);
        answers || no_memory.is_some()
    }

    /// Waits until dropped buffers are freed.
    pub fn reclaim(&self) -> Result<(), Error> {
        self.wait_until(None, None)
    }

    /// Waits in this thread until submission `after`, or the latest if `None`, is done.
    pub fn wait_until(
        &self,
        after: Option<wgpu::SubmissionIndex>,
        deadline: Option<Deadline>,
    ) -> Result<(), Error> {
        let Some(deadline) = deadline else {
            return wait(&self.device, after).map_err(|message| self.lose(message));
        };
        // Not by wgpu's timeout: in wgpu 30, a wait that times out just when another thread's work
        // completes panics, and that work's callbacks are lost.
        let mut told = self.ask_waiter(after);
        let mut pause = Duration::from_micros(10);
        loop {
            if let Some(waited) = told.try_recv().transpose() {
                return self.waited(waited);
            }
            deadline.in_time()?;
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }

    /// Waits until a submission is done, in this thread or by the waiter thread. Returns at once if the caller polls.
    pub async fn drive(
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

    /// Asks the waiter thread to wait; it answers through the channel.
    fn ask_waiter(
        &self,
        after: Option<wgpu::SubmissionIndex>,
    ) -> oneshot::Receiver<Result<(), String>> {
        let (tell, told) = oneshot::channel();
        let waiter = &self.platform.waiter;
        let waiter = waiter.get_or_init(|| start_waiter(&self.device));
        // If the thread ended or never started, the request is dropped.
        let _ = waiter.send((tell, after));
        told
    }

    fn waited(&self, told: Result<Result<(), String>, oneshot::Canceled>) -> Result<(), Error> {
        let told = told.unwrap_or_else(|_| Err("it stopped answering".into()));
        told.map_err(|message| self.lose(message))
    }
}

/// The errors of [`Context::scopes`], the innermost scope's first. They are ready at once.
fn errors([memory, internal, validation]: [wgpu::ErrorScopeGuard; 3]) -> [Option<wgpu::Error>; 3] {
    [validation, internal, memory].map(|scope| scope.pop().now_or_never().flatten())
}

/// A request to the waiter thread: where to answer, and the submission to wait for (the latest if `None`).
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

/// Waits until a submission, or the latest if `None`, is done.
fn wait(
    device: &wgpu::Device,
    submission_index: Option<wgpu::SubmissionIndex>,
) -> Result<(), String> {
    let until = wgpu::PollType::Wait {
        submission_index,
        timeout: None,
    };
    poll(device, until)
}

/// Polls a device. wgpu panics here when the device is lost.
fn poll(device: &wgpu::Device, until: wgpu::PollType) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(|| device.poll(until))) {
        Ok(waited) => waited.map(drop).map_err(|error| error.to_string()),
        Err(panic) => Err(panic_message(&*panic)),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no reason given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdapterChoice;
    use crate::device::context::OwnBuffer;
    use std::task::{Context as Task, Poll, Waker};

    /// A context on a device whose uncaptured errors panic.
    fn context() -> Context {
        let noop = AdapterChoice::Backend(wgpu::Backend::Noop);
        let found = pollster::block_on(crate::device::adapter::choose(&noop));
        let (adapters, _) = found.expect("a noop adapter");
        let opened = pollster::block_on(adapters[0].inner.request_device(&Default::default()));
        let (device, queue) = opened.expect("a device");
        Context::new(device, queue)
    }

    #[test]
    fn adapters_are_found_once_a_process() {
        for _ in 0..3 {
            context();
        }
        let kept = lock(&KEPT);
        let noop = kept.iter().filter(|kept| kept.0 == wgpu::Backends::NOOP);
        assert_eq!(noop.count(), 1);
    }

    fn mappable(context: &Context) -> OwnBuffer {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        context.buffer("a test", 16, usage).expect("a buffer")
    }

    #[test]
    fn a_mapping_that_is_refused_is_an_error() {
        let (context, here) = (context(), PollMode::Here(None));
        let refused = |buffer: &wgpu::Buffer, mode| {
            let mapped = pollster::block_on(context.map(buffer.slice(..), mode, here));
            let told = mapped.map_err(|error| error.to_string());
            told.is_err_and(|told| told.starts_with("the device refused a mapping:"))
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
        assert!(context.platform.waiter.set(waiter).is_ok());
        let buffer = mappable(&context);
        let mapping = context.map(buffer.slice(..), wgpu::MapMode::Read, PollMode::Thread);
        let mut mapping = std::pin::pin!(mapping);
        let mut task = Task::from_waker(Waker::noop());
        assert!(mapping.as_mut().poll(&mut task).is_pending());
        buffer.destroy();
        let (tell, _) = waiting.recv().expect("a wait");
        assert_eq!(tell.send(wait(&context.device, None)), Ok(()));
        match mapping.as_mut().poll(&mut task) {
            Poll::Ready(Err(Error::Device { what, message })) => {
                assert_eq!(what, "a mapping");
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
        assert!(context.platform.waiter.set(mpsc::channel().0).is_ok());
        let buffer = mappable(&context);
        let mapping = context.map(buffer.slice(..), wgpu::MapMode::Read, PollMode::Thread);
        let mapped = pollster::block_on(mapping);
        let lost = matches!(mapped, Err(Error::DeviceLost { .. }));
        assert!(lost, "{mapped:?}");
        assert!(matches!(context.alive(), Err(Error::DeviceLost { .. })));
    }
}
