//! What differs between a native program and a page in a browser: waiting for the device, receiving its errors
//! and its loss, and the clock. `native.rs` and `web.rs` define the same names.

use std::task::{Context as Task, Poll};

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod web;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use web::*;

/// Who polls the device while a future of the library waits for it. wgpu's futures make no progress without
/// polls. Blocking calls poll by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// A thread of the library, started by the first future that waits, so that futures complete
    /// under any executor. wgpu may run callbacks of other work there.
    #[default]
    Thread,
    /// The application, which must call `wgpu::Device::poll` while futures are pending, as a
    /// frame loop does. There is no thread: without polls, futures never complete.
    Caller,
}

/// Yields to the executor once.
async fn yield_once() {
    let mut yielded = false;
    let pause = |task: &mut Task<'_>| match std::mem::replace(&mut yielded, true) {
        true => Poll::Ready(()),
        false => {
            task.waker().wake_by_ref();
            Poll::Pending
        }
    };
    std::future::poll_fn(pause).await;
}
