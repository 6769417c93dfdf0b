//! The fuzzer's way to `targets/npy.rs`, which says what .npy files may never do.
#![no_main]

#[path = "../targets/npy.rs"]
mod target;
#[path = "../targets/tool.rs"]
mod tool;

use tool::{failure, tensor};

libfuzzer_sys::fuzz_target!(
    // The fuzzer's own hook ends the process at any panic, also at those that the reader catches.
    // One that it does not catch ends it still; what it says, tests/fuzz.rs tells.
    init: std::panic::set_hook(Box::new(|_| ())),
    |data: &[u8]| target::survive(data)
);
