//! Runs `targets/npy.rs` with the fuzzer: .npy files.
#![no_main]

#[path = "../targets/npy.rs"]
mod target;
#[path = "../targets/tool.rs"]
mod tool;

use tool::{failure, header, tensor};

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
