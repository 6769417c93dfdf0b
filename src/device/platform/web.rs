//! A page in a browser: the browser drives the device, and says later what went wrong.

use super::Polling;
use crate::Error;
use crate::device::context::{Context, lock};
use futures::FutureExt;
use futures::future::LocalBoxFuture;
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

    /// Lets an executor go on with other tasks.
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

/// A page has no way to ask. A queue of another device fails at the first submission.
pub(crate) fn is_own_queue(_: &wgpu::Device, _: &wgpu::Queue) -> bool {
    true
}

/// Errors that the browser has yet to tell.
pub(crate) struct Platform {
    open: Mutex<Vec<Scopes>>,
}

/// What a call was, the bytes it asked for, and the first error of its scopes.
type Scopes = LocalBoxFuture<'static, Option<(wgpu::Error, &'static str, u64)>>;

impl Platform {
    /// Listens for the loss of a device; so may others.
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

impl Context {
    /// Keeps the scopes, which are given from the innermost on, until the browser answers.
    pub fn closed(
        &self,
        scopes: [wgpu::ErrorScopeGuard; 3],
        what: &'static str,
        bytes: u64,
    ) -> Result<(), Error> {
        let scopes = scopes.map(wgpu::ErrorScopeGuard::pop);
        let first = async move {
            for scope in scopes {
                if let Some(error) = scope.await {
                    return Some((error, what, bytes));
                }
            }
            None
        };
        let mut open = lock(&self.platform.open);
        open.push(first.boxed_local());
        // Those that were answered well are done with: a program may never wait.
        let mut failed = None;
        open.retain_mut(|scopes| match scopes.now_or_never() {
            Some(answer) => {
                failed = failed.take().or(answer);
                false
            }
            None => true,
        });
        drop(open);
        self.told(failed)
    }

    /// Waits until the browser has answered all scopes, and gives the first error.
    pub async fn settled(&self) -> Result<(), Error> {
        let open = std::mem::take(&mut *lock(&self.platform.open));
        let mut failed = None;
        for scopes in open {
            let answer = scopes.await;
            failed = failed.or(answer);
        }
        self.told(failed)
    }

    fn told(&self, failed: Option<(wgpu::Error, &'static str, u64)>) -> Result<(), Error> {
        match failed {
            None => Ok(()),
            Some((error, what, bytes)) => Err(self.reported(error, what, bytes)),
        }
    }

    /// An error with its cause: calls fail on a lost device before the browser tells that it is lost.
    pub async fn explained(&self, error: Error) -> Error {
        if !matches!(error, Error::Device { .. }) {
            return error;
        }
        // What was said before comes before the answer to this.
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        scope.pop().await;
        self.alive().err().unwrap_or(error)
    }

    /// The browser tells of a lost device.
    pub fn answers(&self) -> bool {
        true
    }

    /// What was dropped the browser frees when it likes.
    pub fn reclaim(&self) -> Result<(), Error> {
        Ok(())
    }

    pub async fn drive(&self, _: PollMode, _: Option<wgpu::SubmissionIndex>) -> Result<(), Error> {
        Ok(())
    }
}
