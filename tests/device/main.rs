//! The library's calls to a device, by wgpu's own trace of a noop device: calls and buffers are counted, and
//! futures run under executors of all kinds. Needs no adapter.

mod executors;
mod latency;
mod noop;
mod steady;
