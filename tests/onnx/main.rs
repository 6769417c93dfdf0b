//! The ONNX layer: operators by opset, tensors, models, and the runner of node-test cases.
#![cfg(feature = "onnx")]

mod held_out;
mod hostile;
mod models;
mod oracle;
mod rules;
mod runner;
mod support;
mod tensors;
