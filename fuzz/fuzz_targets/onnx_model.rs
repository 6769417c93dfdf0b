//! The fuzzer's way to `targets/onnx_model.rs`, which says what ONNX models may never do.
#![no_main]

#[path = "../targets/onnx_model.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
