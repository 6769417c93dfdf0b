//! ONNX's own node tests, on the reference and on every adapter. `scripts/onnx_cases.py` writes them.

use libtest_mimic::Failed;
use std::fmt::Display;
use std::path::PathBuf;
use support::root;
use wgreduce::{Problem, Reducer, reference};
use wgreduce_tool::onnx::{Outcome, discover};

/// The number of cases for our operators.
const CASES: usize = 135;

/// The folder of the cases: WGREDUCE_ONNX_CASES, or the project's own.
pub fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("WGREDUCE_ONNX_CASES").map(PathBuf::from);
    let own = Some(root(".onnx-cases")).filter(|path| path.exists());
    named.or(own)
}

pub fn official(reducer: &Reducer) -> Result<(), Failed> {
    passes(|problem, inputs| {
        let reduction = reducer.prepare_blocking(problem)?;
        reduction.run_bytes_blocking(inputs)
    })
}

pub fn official_by_reference() -> Result<(), Failed> {
    passes(reference::evaluate)
}

fn passes<E: Display>(
    mut evaluate: impl FnMut(&Problem, &[&[u8]]) -> Result<Vec<Vec<u8>>, E>,
) -> Result<(), Failed> {
    let folder = folder().ok_or("no official cases here")?;
    let cases = discover(&folder)?;
    for case in &cases {
        match case.run(&mut evaluate).outcome {
            Outcome::Passed => {}
            other => return Err(format!("{}: {other:?}", case.name()).into()),
        }
    }
    match cases.len() {
        CASES => Ok(()),
        found => Err(format!("{found} cases in {}, not {CASES}", folder.display()).into()),
    }
}
