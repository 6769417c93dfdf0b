//! A page in a browser: the browser drives the device and reports errors later.

use super::Polling;
use crate::Error;
use crate::device::context::{Context, lock};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
pub(crate) use web_time::Instant;

/// The browser drives the device while somebody waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollMode;

impl PollMode {
    pub fn of(_: Polling) -> PollMode {
        PollMode
    }

    /// For short waits.
    pub const SHORT: PollMode = PollMode;

    /// Yields to the executor.
    pub async fn pause(self) {
        super::yield_once().await;
    }

    pub fn in_time(self) -> Result<(), Error> {
        Ok(())
    }
}

/// The adapter that the browser offers.
pub(crate) async fn find(descriptor: wgpu::InstanceDescriptor) -> Vec<wgpu::Adapter> {
    let backends = descriptor.backends;
    wgpu::Instance::new(descriptor)
        .enumerate_adapters(backends)
        .await
}

/// A page cannot check this. A queue of another device fails at the first submission.
pub(crate) fn is_own_queue(_: &wgpu::Device, _: &wgpu::Queue) -> Result<bool, String> {
    Ok(true)
}

/// The error of a call, the call's name, and the bytes it asked for.
type Failed = (wgpu::Error, &'static str, u64);

/// Error scopes that the browser has not answered yet, in the order of the calls.
#[derive(Default)]
struct Open {
    /// The first error so far.
    failed: Option<Failed>,
    scopes: VecDeque<LocalBoxFuture<'static, Option<Failed>>>,
}

/// Keeps the scopes of calls until the browser answers.
pub(crate) struct Platform {
    /// Scopes of the future that is being polled, or of calls outside any future.
    open: Mutex<Open>,
}

impl Platform {
    /// Sets the device-lost callback. In a browser, others may set one, too.
    pub fn new(device: &wgpu::Device, lost: &Arc<Mutex<Option<String>>>) -> Platform {
        let lost = lost.clone();
        device.set_device_lost_callback(move |_, message| {
            lock(&lost).get_or_insert(message);
        });
        Platform {
            open: Mutex::default(),
        }
    }
}

/// Whether a call may succeed with an invalid object, whose error [`Context::settled`] reports.
pub(crate) const ERRORS_COME_LATER: bool = true;

/// Whether bindings of a dispatch may overlap in a buffer that it writes.
pub(crate) const BINDINGS_MAY_OVERLAP: bool = false;

/// Frees a buffer once the submitted work is done, because the browser's garbage collector may take long.
pub(crate) fn free(buffer: &wgpu::Buffer) {
    buffer.destroy();
}

impl Context {
    /// The error scopes of a call. There is none for internal errors, such as a kernel that a driver refuses: wgpu
    /// 30 panics if a browser reports one. The object is then invalid, and using it is a validation error.
    pub fn scopes(&self) -> [wgpu::ErrorScopeGuard; 2] {
        let filters = [
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Validation,
        ];
        filters.map(|filter| self.device.push_error_scope(filter))
    }

    /// Keeps the scopes until the browser answers.
    pub fn closed(
        &self,
        [memory, validation]: [wgpu::ErrorScopeGuard; 2],
        what: &'static str,
        bytes: u64,
    ) -> Result<(), Error> {
        // Innermost first.
        let scopes = [validation.pop(), memory.pop()];
        let first = async move {
            for scope in scopes {
                if let Some(error) = scope.await {
                    return Some((error, what, bytes));
                }
            }
            None
        };
        let mut open = lock(&self.platform.open);
        open.scopes.push_back(first.boxed_local());
        // Drop answered scopes here: a program may never call `settled`.
        while let Some(answer) = open.scopes.front_mut().and_then(FutureExt::now_or_never) {
            open.scopes.pop_front();
            open.failed = open.failed.take().or(answer);
        }
        Ok(())
    }

    /// Runs a future and returns the first error of the calls it makes, and of no other call.
    pub async fn apart<T>(&self, run: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut run = std::pin::pin!(run);
        let mut own = Open::default();
        let ended = std::future::poll_fn(|task| {
            let mut exchange = || std::mem::swap(&mut own, &mut *lock(&self.platform.open));
            exchange();
            let polled = run.as_mut().poll(task);
            exchange();
            polled
        });
        let ended = ended.await;
        let answers = self.answered(own).await;
        match ended.and_then(|value| answers.map(|()| value)) {
            Err(error) => Err(self.explained(error).await),
            ok => ok,
        }
    }

    /// Waits until the browser has answered the scopes of this future, or of the calls outside any future, and
    /// returns the first error.
    pub async fn settled(&self) -> Result<(), Error> {
        let open = std::mem::take(&mut *lock(&self.platform.open));
        self.answered(open).await
    }

    async fn answered(&self, open: Open) -> Result<(), Error> {
        let mut failed = open.failed;
        for scopes in open.scopes {
            let answer = scopes.await;
            failed = failed.or(answer);
        }
        match failed {
            None => Ok(()),
            Some((error, what, bytes)) => {
                Err(self.explained(self.reported(error, what, bytes)).await)
            }
        }
    }

    /// An error with its cause: calls fail on a lost device before the browser reports the loss.
    async fn explained(&self, error: Error) -> Error {
        if !matches!(error, Error::Device { .. }) {
            return error;
        }
        // The browser answers in order, so a loss is reported before the answer to this scope.
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        scope.pop().await;
        self.alive().err().unwrap_or(error)
    }

    /// Always true: the browser reports a lost device.
    pub fn answers(&self) -> bool {
        true
    }

    /// Does nothing: the browser frees dropped objects by itself.
    pub fn reclaim(&self) -> Result<(), Error> {
        Ok(())
    }

    pub async fn drive(&self, _: PollMode, _: Option<wgpu::SubmissionIndex>) -> Result<(), Error> {
        Ok(())
    }
}
