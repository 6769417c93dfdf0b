//! What a native program and a page in a browser do differently: waiting for the device, learning of its
//! errors and of its loss, and telling the time. Two files with the same names in them.

use std::task::{Context as Task, Poll};

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod web;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use web::*;

/// Who polls the device while a future of the library waits for it; wgpu's futures do not move
/// otherwise. Blocking calls poll by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// A thread of the library's own, started by the first future that waits: futures complete
    /// under any executor. wgpu may run callbacks of other work there.
    #[default]
    Thread,
    /// The application, which calls [`wgpu::Device::poll`] as long as futures are pending, as a
    /// frame loop does. There is no thread; where nobody polls, futures never complete.
    Caller,
}

/// Lets an executor go on with other tasks.
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
