//! What the library asks of a device, by wgpu's own records of a noop device: calls counted,
//! buffers counted, and futures under executors of all kinds. Needs no adapter.

mod executors;
mod latency;
mod noop;
mod steady;
