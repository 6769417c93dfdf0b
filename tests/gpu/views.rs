//! Views against the same problem on a copy of their elements.
//!
//! Keeps the list of views that other subjects take as well.

use super::common::tensor;
use super::pieces::streamed;
use super::{same, tiny, tuned, variants};
use libtest_mimic::Failed;
use wgreduce::{DType, IndexType, NanPolicy, Partial, Problem, ProblemError, Reducer};

/// A view: its shape, strides and offset, and the elements of the tensor it is in.
pub type Viewed = (&'static [u64], &'static [i64], u64, u64);

pub const VIEWS: &[Viewed] = &[
    // Contiguous, and a transposed matrix, which is contiguous after all.
    (&[6, 50], &[50, 1], 3, 320),
    (&[50, 6], &[1, 50], 8, 310),
    (&[7, 5, 40], &[5, 1, 35], 1, 1401),
    // Sub-matrices, every second column, every third row.
    (&[9, 70], &[83, 1], 5, 800),
    (&[9, 40], &[83, 2], 0, 747),
    (&[40, 17], &[60, 1], 16, 2400),
    // Broadcast: rows, columns, everything.
    (&[4, 30], &[0, 1], 2, 40),
    (&[30, 4], &[1, 0], 2, 40),
    (&[3, 40], &[0, 0], 1, 2),
    (&[3, 1, 40], &[0, 7, 0], 1, 2),
    // Flipped, overlapping.
    (&[5, 61], &[61, -1], 60, 305),
    (&[5, 61], &[-61, 1], 244, 305),
    (&[20, 30], &[1, 1], 0, 49),
    (&[8, 33], &[4, 3], 7, 140),
    // Four and five dimensions that do not merge.
    (&[3, 5, 4, 6], &[1, 100, 3, 13], 9, 600),
    (&[2, 3, 4, 5, 6], &[7, 200, -19, 41, 1], 100, 1100),
    // Long segments, long results, one element, none.
    (&[1, 3001], &[0, 2], 0, 6001),
    (&[3001, 2], &[3, 1], 1, 9003),
    (&[2, 1500], &[1, 2], 0, 3000),
    (&[1, 1], &[9, 9], 4, 5),
    (&[0, 3], &[1, 1], 9, 0),
    (&[], &[], 3, 4),
];

/// The elements of a view, one after another.
pub fn materialised(dtype: DType, &(shape, strides, offset, _): &Viewed, data: &[u8]) -> Vec<u8> {
    let size = dtype.size() as usize;
    let n: u64 = shape.iter().product();
    let mut copy = Vec::new();
    for flat in 0..n {
        let (mut rest, mut at) = (flat, offset as i64);
        for (&size, &stride) in shape.iter().zip(strides).rev() {
            at += (rest % size) as i64 * stride;
            rest /= size;
        }
        copy.extend_from_slice(&data[at as usize * size..][..size]);
    }
    copy
}

/// A problem over a view, of which the reference gives what it gives on a copy of the elements.
pub fn viewed(plain: &Problem, view: &Viewed, data: &[u8]) -> Result<Problem, Failed> {
    let &(_, strides, first, _) = view;
    let problem = plain.clone().strided(0, strides, first)?;
    let copy = materialised(problem.dtype(), view, data);
    let expected = wgreduce::reference::evaluate(plain, &[&copy])?;
    let actual = wgreduce::reference::evaluate(&problem, &[data])?;
    assert_eq!(actual, expected, "{problem}");
    Ok(problem)
}

fn check_view(
    reducer: &Reducer,
    plain: &Problem,
    view: &Viewed,
    data: &[u8],
    offset: u64,
) -> Result<(), Failed> {
    same(reducer, &viewed(plain, view, data)?, &[data], offset)
}

/// All ways to reduce each axis and sets of axes, and no axis.
pub fn view_problems(dtype: DType, shape: &[u64]) -> Result<Vec<Problem>, ProblemError> {
    let mut all = vec![
        Problem::reduce_min(dtype, shape, &[])?,
        Problem::reduce_max(dtype, shape, &[])?.nan(NanPolicy::Ignore),
        Problem::reduce_min(dtype, shape, &[])?.noop_with_empty_axes(true)?,
        Problem::min(dtype, &[shape])?,
    ];
    for axis in 0..shape.len() as i64 {
        if let Ok(variants) = variants(dtype, shape, axis) {
            all.extend(variants);
        }
        if let Ok(arg) = Problem::arg_max(dtype, shape, axis) {
            all.push(arg.clone().with_values(true)?);
            let last = arg.select_last_index(true)?.nan(NanPolicy::Ignore);
            all.push(last.with_values(true)?.index_type(IndexType::I32)?);
        }
        all.extend(Problem::reduce_max(dtype, shape, &[axis, 0]));
        all.extend(Problem::reduce_max_abs(dtype, shape, &[axis, 0]));
    }
    Ok(all)
}

pub fn views(reducer: &Reducer) -> Result<(), Failed> {
    let abreast = tuned(reducer, |t| {
        (t.chunked, t.invocations) = (!t.chunked, 1 << 14)
    });
    let tiny = tiny(reducer);
    for view in VIEWS {
        views_by_other_ways(reducer, view)?;
        for dtype in DType::ALL {
            let data = tensor(dtype, [1, view.3, 1], view.2);
            for (i, problem) in view_problems(dtype, view.0)?.iter().enumerate() {
                let offset = [0, dtype.size(), 48][i % 3];
                let reducer = if i % 4 == 0 { &abreast } else { reducer };
                check_view(reducer, problem, view, &data, offset)?;
            }
        }
        for dtype in [DType::F32, DType::F64, DType::Bool] {
            // Windows of some elements: many dispatches for a long view.
            if view.0.iter().product::<u64>() > 400 {
                continue;
            }
            let data = tensor(dtype, [1, view.3, 1], view.2);
            for problem in view_problems(dtype, view.0)? {
                check_view(&tiny, &problem, view, &data, 0)?;
            }
        }
    }
    Ok(())
}

/// Views from host data that goes on behind them, as streams, and as partial results.
fn views_by_other_ways(reducer: &Reducer, view: &Viewed) -> Result<(), Failed> {
    let mut data = tensor(DType::F16, [1, view.3, 1], 1);
    data.extend([0; 40]);
    for plain in view_problems(DType::F16, view.0)? {
        let problem = plain.strided(0, view.1, view.2)?;
        let expected = wgreduce::reference::evaluate(&problem, &[&data])?;
        let actual = reducer.prepare(&problem)?.run_bytes_blocking(&[&data])?;
        assert_eq!(actual, expected, "{problem}");
        streamed(reducer, &problem, std::slice::from_ref(&data), 20_000)
            .map_err(|e| format!("{problem}: {e}"))?;
        if !problem.is_copy() {
            let ours = reducer
                .shard(&problem, 1 << 20)?
                .run_bytes_blocking(7, &data)?;
            assert_eq!(
                ours,
                Partial::from_reference(&problem, 7, &data)?,
                "{problem}"
            );
        }
    }
    Ok(())
}
