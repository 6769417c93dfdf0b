//! The device: which adapters there are, and what it takes to use one safely. Knows nothing of reductions.

pub(crate) mod adapter;
pub(crate) mod context;
pub(crate) mod platform;
pub(crate) mod staging;
