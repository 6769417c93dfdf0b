//! `wgreduce onnx`: test cases in the layout of ONNX's backend tests.

use crate::args::{Common, Onnx};
use crate::failure::Failure;

pub fn run(_args: &Onnx, _common: &Common) -> Result<(), Failure> {
    Err(Failure::Request("not yet".into()))
}
