//! The problems that plans are checked with: shapes, axes and views that planning treats differently, and the ways to
//! reduce them.

use crate::sum_problem;
use wgreduce::{AdapterClass, Caps, DType, IndexType, Problem, ProblemError, Tuning};

/// WebGPU's default limits with the tuning of a class.
pub fn class(class: AdapterClass) -> Caps {
    Caps::new(&wgreduce::wgpu::Limits::default(), class)
}

/// The same limits with a changed tuning.
pub fn tuned(caps: &Caps, change: impl FnOnce(&mut Tuning)) -> Caps {
    let mut caps = caps.clone();
    change(&mut caps.tuning);
    caps
}

pub const CLASSES: [AdapterClass; 3] = [
    AdapterClass::Software,
    AdapterClass::Integrated,
    AdapterClass::Discrete,
];

/// The ways to reduce an axis of a tensor that differ for the planner.
pub fn variants(dtype: DType, shape: &[u64], axis: i64) -> Result<Vec<Problem>, ProblemError> {
    Ok(vec![
        Problem::arg_min(dtype, shape, axis)?,
        Problem::arg_max(dtype, shape, axis)?
            .select_last_index(true)
            .index_type(IndexType::I32),
        Problem::arg_max(dtype, shape, axis)?.with_values(true),
        Problem::arg_min(dtype, shape, axis)?
            .with_values(true)
            .index_type(IndexType::U32),
        Problem::reduce_max(dtype, shape, &[axis])?,
        Problem::reduce_max_abs(dtype, shape, &[axis])?,
    ])
}

/// A type of each size.
pub const SIZES: [DType; 4] = [DType::U8, DType::F16, DType::F32, DType::I64];

/// `[outer, len, inner]`; the middle is reduced.
const SHAPES: &[[u64; 3]] = &[
    [1, 1, 1],
    [7, 1, 1],
    // Rows of which an invocation takes several.
    [1030, 2, 1],
    [3, 1, 6],
    [1, 2, 1],
    [5, 3, 1],
    [40, 3, 1],
    [9, 16, 1],
    [3, 67, 1],
    [2, 150, 1],
    [1, 515, 1],
    [33, 31, 1],
    [70, 16, 1],
    [41, 32, 1],
    [9, 80, 1],
    [1, 2, 2],
    [1, 5, 40],
    [1, 3, 16],
    [1, 2, 64],
    [1, 37, 3],
    [1, 300, 5],
    [2, 33, 4],
    [2, 67, 24],
    [3, 9, 7],
    [3, 40, 5],
    [40, 3, 3],
    [5, 9, 13],
    [1, 7, 129],
    [150, 5, 1],
    [131, 21, 1],
    [3, 30, 48],
    [70, 25, 16],
    [2, 23, 270],
    [2, 3, 650],
    // Matrices of narrow elements that begin within words.
    [3, 265, 7],
    [2, 161, 2],
];

/// Shapes and reduced axes, in one group of neighbours or in several.
const SCATTERED: &[(&[u64], &[i64])] = &[
    (&[], &[]),
    (&[5], &[]),
    (&[1, 1], &[1]),
    (&[0, 3], &[0]),
    (&[0, 3], &[1]),
    (&[2, 0, 3], &[1]),
    (&[7, 0], &[1]),
    (&[6, 8, 10], &[0, 2]),
    (&[6, 8, 10], &[0, 1, 2]),
    (&[3, 4, 5, 6, 7], &[0, 2, 4]),
    (&[3, 4, 5, 6, 7], &[1, 3]),
    (&[3, 4, 1, 6, 7], &[-1, -3, 0]),
    (&[2, 30, 2, 20], &[0, 3]),
    (&[1, 1, 12, 1, 33], &[3, 4]),
];

/// Shapes of the inputs of Min and Max.
const ZIPPED: &[&[&[u64]]] = &[
    &[&[], &[]],
    &[&[1], &[1, 1, 1]],
    &[&[5], &[5]],
    &[&[37], &[37], &[37]],
    &[&[64], &[]],
    &[&[67], &[1], &[67]],
    &[&[3, 64], &[64]],
    &[&[3, 64], &[3, 1]],
    &[&[3, 64], &[1, 64], &[3, 1], &[]],
    &[&[48], &[5, 1], &[2, 1, 48]],
    &[&[7, 5], &[5]],
    &[&[7, 5], &[7, 1]],
    &[&[7, 1], &[1, 5]],
    &[&[16, 1], &[1, 16]],
    &[&[2, 3, 4, 16], &[3, 1, 16]],
    &[&[2, 3, 4, 16], &[2, 1, 4, 1], &[3, 1, 1]],
    &[&[2, 1, 3, 1, 2, 1, 5], &[1, 2, 1, 2, 1, 3, 1]],
    &[&[0, 3], &[1]],
    &[&[0, 3], &[1, 1]],
    &[&[1, 257], &[3, 1]],
    &[&[2, 33, 32], &[33, 1], &[2, 1, 32]],
    &[&[5, 1008], &[1008]],
    &[&[2, 3, 1008], &[3, 1], &[2, 1, 1008]],
    &[&[2100], &[2100]],
    // Nine and ten dimensions that cannot be merged.
    &[&[2, 1, 2, 1, 2, 1, 2, 1, 3], &[1, 2, 1, 2, 1, 2, 1, 2, 1]],
    &[
        &[2, 1, 2, 1, 2, 1, 2, 1, 2, 1],
        &[1, 2, 1, 2, 1, 2, 1, 2, 1, 16],
        &[2, 2, 1, 1, 2, 2, 1, 1, 2, 1],
    ],
];

/// Min of these shapes, and Max of eleven inputs that repeat them.
fn zips(dtype: DType, shapes: &[&[u64]]) -> Vec<Problem> {
    let eleven: Vec<_> = shapes.iter().cycle().take(11).collect();
    vec![
        Problem::min(dtype, shapes).expect("a problem"),
        Problem::max(dtype, &eleven).expect("a problem"),
    ]
}

/// Every reduction of the lists above.
pub fn reductions(dtype: DType) -> Vec<Problem> {
    let mut all = Vec::new();
    for shape in SHAPES {
        all.extend(variants(dtype, shape, 1).expect("a problem"));
    }
    for &(shape, axes) in SCATTERED {
        all.push(Problem::reduce_min(dtype, shape, axes).expect("a problem"));
        let none = Problem::reduce_min(dtype, shape, &[]).expect("a problem");
        all.push(none.noop_with_empty_axes(true));
    }
    all
}

/// A sum for each entry of the lists here, each in the next way: the planner tells sums apart by their accumulator.
pub fn sums(dtype: DType) -> Vec<Problem> {
    let mut ways = 0..;
    let mut sum =
        |shape: &[u64], axes: &[i64]| sum_problem(dtype, shape, axes, ways.next().unwrap_or(0) * 3);
    let mut all: Vec<_> = SHAPES.iter().map(|shape| sum(shape, &[1])).collect();
    all.extend(SCATTERED.iter().map(|&(shape, axes)| sum(shape, axes)));
    for (shape, _) in SCATTERED {
        all.push(sum(shape, &[]).map(|p| p.noop_with_empty_axes(true)));
    }
    for (shape, strides, offset) in VIEWS {
        for axis in 0..shape.len() as i64 {
            let viewed = |p: Problem| p.strided(0, strides, *offset);
            all.push(sum(shape, &[axis]).map(viewed));
        }
    }
    // Integers have no mean over an empty axis.
    all.into_iter().flatten().collect()
}

/// Every Min and Max of the lists above.
pub fn elementwise(dtype: DType) -> Vec<Problem> {
    let all = ZIPPED.iter().flat_map(|shapes| zips(dtype, shapes));
    all.collect()
}

/// Shape, strides and offset.
pub type View = (&'static [u64], &'static [i64], u64);

const VIEWS: &[View] = &[
    (&[6, 5], &[5, 1], 3),
    (&[5, 6], &[1, 5], 16),
    (&[7, 5, 4], &[5, 1, 35], 1),
    (&[9, 10], &[13, 1], 5),
    (&[9, 10], &[23, 2], 0),
    (&[40, 7], &[1, 50], 2),
    (&[4, 30], &[0, 1], 2),
    (&[30, 4], &[1, 0], 2),
    (&[3, 40], &[0, 0], 1),
    (&[5, 11], &[11, -1], 10),
    (&[5, 11], &[-11, 1], 44),
    (&[20, 30], &[1, 1], 0),
    (&[3, 5, 4, 6], &[1, 100, 3, 13], 9),
    (&[2, 3, 4, 3, 2], &[7, 50, -19, 41, 1], 100),
    (&[1, 300], &[0, 2], 0),
    (&[300, 2], &[3, 1], 1),
    (&[1, 1], &[9, 9], 4),
    (&[0, 3], &[1, 1], 9),
    (&[], &[], 3),
];

/// The ways to reduce each axis of a view, all of them, or none.
pub fn of_view(dtype: DType, &(shape, strides, offset): &View) -> Vec<Problem> {
    let mut all = vec![
        Problem::reduce_min(dtype, shape, &[]).expect("a problem"),
        Problem::max(dtype, &[shape]).expect("a copy"),
    ];
    for axis in 0..shape.len() as i64 {
        all.extend(variants(dtype, shape, axis).into_iter().flatten());
        all.extend(Problem::extremes(dtype, shape, axis));
        all.extend(Problem::reduce_min(dtype, shape, &[0, axis]));
    }
    let viewed = |p: Problem| p.strided(0, strides, offset);
    all.into_iter().map(viewed).collect()
}

/// Every reduction of the views above.
pub fn views(dtype: DType) -> Vec<Problem> {
    VIEWS.iter().flat_map(|view| of_view(dtype, view)).collect()
}
