//! Running a plan: pipelines, buffers and bind groups, host data up and down, streams.

#[cfg(feature = "ndarray")]
pub(crate) mod array;
pub(crate) mod bind;
#[cfg(not(target_arch = "wasm32"))]
mod blocking;
pub(crate) mod buffers;
pub(crate) mod engine;
pub(crate) mod reducer;
pub(crate) mod reduction;
pub(crate) mod selftest;
pub(crate) mod stream;
pub(crate) mod workspace;
