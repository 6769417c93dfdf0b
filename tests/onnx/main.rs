//! The ONNX layer: operators by opset, tensors, models, and the runner of node-test cases.

mod held_out;
mod hostile;
mod models;
mod rules;
mod runner;
mod support;
mod tensors;
mod top_k;
