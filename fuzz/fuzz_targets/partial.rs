//! Runs `targets/partial.rs` with the fuzzer: partial results from elsewhere.
#![no_main]

#[path = "../targets/partial.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
