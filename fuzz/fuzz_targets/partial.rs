//! The fuzzer's way to `targets/partial.rs`, which says what partial results from elsewhere may never do.
#![no_main]

#[path = "../targets/partial.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
