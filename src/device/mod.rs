//! Adapters, and the safe use of a device. Knows nothing of reductions.

pub(crate) mod adapter;
pub(crate) mod context;
pub(crate) mod platform;
pub(crate) mod staging;
