//! Runs `targets/npy.rs` with the fuzzer: .npy files.
#![no_main]

#[path = "../targets/npy.rs"]
mod target;
#[path = "../targets/tool.rs"]
mod tool;

use tool::{failure, tensor};

libfuzzer_sys::fuzz_target!(
    // The fuzzer's own hook ends the process at any panic, even if the reader catches it. Without it an uncaught panic
    // still ends the process; tests/fuzz.rs shows its message.
    init: std::panic::set_hook(Box::new(|_| ())),
    |data: &[u8]| target::survive(data)
);
