//! Runs `targets/onnx_model.rs` with the fuzzer: ONNX models.
#![no_main]

#[path = "../targets/onnx_model.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
