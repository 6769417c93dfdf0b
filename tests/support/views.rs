//! Strided views, and copies of their elements.

use crate::{value_problem, ways};
use wgreduce::{DType, Problem, ProblemError, reference};

/// A view: its shape, strides and offset, and the number of elements of its tensor.
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

/// A copy of a view's elements, one after another.
pub fn materialised(
    dtype: DType,
    shape: &[u64],
    strides: &[i64],
    offset: u64,
    data: &[u8],
) -> Vec<u8> {
    let size = dtype.size() as usize;
    let n = match shape.contains(&0) {
        true => 0,
        false => shape.iter().product(),
    };
    let mut copy = Vec::new();
    for flat in 0..n {
        let at = position(flat, shape, strides, offset) as usize;
        copy.extend_from_slice(&data[at * size..][..size]);
    }
    copy
}

/// Where element `flat` of a view lies in its tensor.
pub fn position(flat: u64, shape: &[u64], strides: &[i64], offset: u64) -> u64 {
    let (mut rest, mut at) = (flat, offset as i64);
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        at += (rest % size) as i64 * stride;
        rest /= size;
    }
    at as u64
}

/// A problem over a view. The reference must give the same for it as for a copy of the elements.
pub fn viewed(
    plain: &Problem,
    view: &Viewed,
    data: &[u8],
) -> Result<Problem, Box<dyn std::error::Error>> {
    let &(_, strides, first, _) = view;
    let problem = plain.clone().strided(0, strides, first);
    let copy = materialised(problem.dtype(), view.0, strides, first, data);
    let expected = reference::evaluate(plain, &[&copy])?;
    let actual = reference::evaluate(&problem, &[data])?;
    assert_eq!(actual, expected, "{problem}");
    Ok(problem)
}

/// A turn's ways to reduce each axis, sets of axes, and no axis.
pub fn view_problems(dtype: DType, shape: &[u64], turn: u64) -> Result<Vec<Problem>, ProblemError> {
    let mut all = vec![
        value_problem(dtype, shape, &[], turn)?,
        Problem::reduce_min(dtype, shape, &[])?.noop_with_empty_axes(true),
        Problem::min(dtype, &[shape])?,
    ];
    for axis in 0..shape.len() as i64 {
        // An axis of no elements has no index.
        all.extend(ways(dtype, shape, axis, turn).into_iter().flatten());
        all.extend(value_problem(dtype, shape, &[axis, 0], turn + 3));
    }
    Ok(all)
}
