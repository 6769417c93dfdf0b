//! The fuzzer's way to `targets/problem_plan.rs`, which says what problems and their plans may never do.
#![no_main]

#[path = "../targets/problem_plan.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
