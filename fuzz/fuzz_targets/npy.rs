//! The fuzzer's way to `targets/npy.rs`, which says what .npy files may never do.
#![no_main]

#[path = "../targets/npy.rs"]
mod target;
#[path = "../targets/tool.rs"]
mod tool;

use tool::{failure, tensor};

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
