//! The fuzzer's way to `targets/tensor.rs`, which says what ONNX tensors may never do.
#![no_main]

#[path = "../targets/tensor.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::survive(data));
