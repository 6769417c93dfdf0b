//! Runs `targets/tensor.rs` with the fuzzer: ONNX tensors.
#![no_main]

#[path = "../targets/tensor.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
