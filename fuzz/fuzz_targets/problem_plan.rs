//! Runs `targets/problem_plan.rs` with the fuzzer: problems and their plans.
#![no_main]

#[path = "../targets/problem_plan.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
