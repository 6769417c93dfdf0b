//! Known answers that a device must give before it is trusted: a driver that computes wrongly
//! is found when it is opened, not by its users.

use crate::{DType, Error, Problem, Reducer, reference};

/// Runs the known-answer tests on a reducer; some milliseconds.
///
/// # Errors
/// [`Error::SelfTest`] with the first difference; what a run can give.
pub(crate) async fn run(reducer: &Reducer) -> Result<(), Error> {
    for problem in problems()? {
        let input = data(problem.input_bytes(0) as usize);
        let expected = reference::evaluate(&problem, &[&input])?;
        let actual = reducer.prepare(&problem)?.run_bytes(&[&input]).await?;
        if expected != actual {
            return Err(Error::SelfTest {
                adapter: reducer.adapter_info().name.clone(),
                case: problem.to_string(),
                expected: format!("{:02x?}", expected[0]),
                actual: format!("{:02x?}", actual[0]),
            });
        }
    }
    Ok(())
}

/// One of each kind: rows and columns, key widths, packed results, one axis and several.
fn problems() -> Result<Vec<Problem>, crate::ProblemError> {
    Ok(vec![
        Problem::arg_min(DType::F32, &[2, 3001], 1)?,
        Problem::arg_max(DType::I64, &[130, 6], 0)?.select_last_index(true)?,
        Problem::reduce_max(DType::F16, &[5, 33], &[1])?,
        Problem::reduce_min(DType::I8, &[3, 40, 7], &[0, 2])?,
    ])
}

/// Bytes that no simple pattern gives, always the same.
fn data(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
