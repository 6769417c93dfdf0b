//! Both extremes and their indices from one read, against each of them alone.

use super::common::tensor;
use super::pieces::streamed;
use super::views::VIEWS;
use super::{same, tiny, tuned};
use libtest_mimic::Failed;
use wgreduce::{DType, Family, IndexType, NanPolicy, Problem, ProblemError, Reducer};

/// All four results of the same problem, from operators of their own.
fn separately(fused: &Problem, shape: &[u64], axis: i64) -> Result<[Problem; 4], ProblemError> {
    let (dtype, nan) = (fused.dtype(), fused.nan_policy());
    let last = fused.selects_last_index();
    let axes: &[i64] = if shape.is_empty() { &[] } else { &[axis] };
    let index = match fused.outputs()[2].dtype {
        DType::I32 => IndexType::I32,
        _ => IndexType::I64,
    };
    let arg = |p: Problem| p.index_type(index)?.select_last_index(last);
    let all = [
        Problem::reduce_min(dtype, shape, axes)?,
        Problem::reduce_max(dtype, shape, axes)?,
        arg(Problem::arg_min(dtype, shape, axis)?)?,
        arg(Problem::arg_max(dtype, shape, axis)?)?,
    ];
    Ok(all.map(|p| p.nan(nan)))
}

/// Checks a fused problem against the reference, and this against four separate reductions.
fn fused(
    reducer: &Reducer,
    problem: &Problem,
    axis: i64,
    data: &[u8],
    offset: u64,
) -> Result<(), Failed> {
    let expected = wgreduce::reference::evaluate(problem, &[data])?;
    for (one, expected) in separately(problem, &problem.inputs()[0], axis)?
        .into_iter()
        .zip(expected)
    {
        let one = match problem.layout(0) {
            Some(layout) => one.strided(0, &layout.strides, layout.offset)?,
            None => one,
        };
        assert_eq!(
            wgreduce::reference::evaluate(&one, &[data])?,
            [expected],
            "{one} of {problem}"
        );
    }
    same(reducer, problem, &[data], offset)
}

pub fn extremes(reducer: &Reducer) -> Result<(), Failed> {
    let abreast = tuned(reducer, |t| {
        (t.chunked, t.invocations) = (!t.chunked, 1 << 14);
        t.force = Some(Family::ExtremeRows);
    });
    let single = tuned(reducer, |t| t.force = Some(Family::Extremes));
    for dtype in DType::ALL {
        contiguous([reducer, &abreast, &single], dtype)?;
        for shape in [&[][..], &[1], &[3, 0], &[0, 3]] {
            let input = tensor(dtype, [shape.iter().product(), 1, 1], 3);
            for axis in 0..2 {
                if let Ok(problem) = Problem::extremes(dtype, shape, axis) {
                    fused(reducer, &problem, axis, &input, 0)?;
                }
            }
        }
    }
    for dtype in [DType::F16, DType::F32, DType::I64, DType::Bool] {
        of_views(reducer, dtype)?;
    }
    Ok(())
}

/// Rows, columns and what lies between, by reducers that map them differently.
fn contiguous(reducers: [&Reducer; 3], dtype: DType) -> Result<(), Failed> {
    let tiny = tiny(reducers[0]);
    let shapes = [
        [1, 1, 1],
        [5, 1, 3],
        [9, 33, 1],
        [3, 129, 1],
        [1, 5000, 1],
        [1500, 19, 1],
        [1, 37, 24],
        [1, 300, 5],
        [2, 67, 16],
        [2, 40, 6],
        [3, 7, 70],
        [1, 900, 160],
    ];
    for (i, shape) in shapes.into_iter().enumerate() {
        let input = tensor(dtype, shape, 29);
        let plain = Problem::extremes(dtype, &shape, 1)?;
        let other = plain.clone().select_last_index(true)?.keepdims(false)?;
        let other = other.nan(NanPolicy::Ignore).index_type(IndexType::I32)?;
        for (j, problem) in [plain, other].into_iter().enumerate() {
            let offset = [0, dtype.size(), 48][i % 3];
            fused(reducers[(i + 2 * j) % 3], &problem, 1, &input, offset)?;
            if shape.iter().product::<u64>() < 300 {
                fused(&tiny, &problem, 1, &input, 0)?;
            }
        }
    }
    Ok(())
}

fn of_views(reducer: &Reducer, dtype: DType) -> Result<(), Failed> {
    for view in VIEWS {
        let data = tensor(dtype, [1, view.3, 1], view.2);
        for axis in 0..view.0.len() as i64 {
            let Ok(plain) = Problem::extremes(dtype, view.0, axis) else {
                continue;
            };
            let problem = plain.strided(0, view.1, view.2)?;
            fused(reducer, &problem, axis, &data, dtype.size())?;
            if dtype == DType::F16 {
                streamed(reducer, &problem, std::slice::from_ref(&data), 40_000)
                    .map_err(|e| format!("{problem}: {e}"))?;
            }
        }
    }
    Ok(())
}
