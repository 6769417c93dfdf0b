//! Min and Max of broadcast inputs, and of views of them.
//!
//! Covers every way that inputs may lie under an output, but no reductions.

use super::{data_for, same, slices, takes, takes_case, tiny, turn};
use libtest_mimic::Failed;
use support::views::{Viewed, materialised};
use support::{drawn, mixed, types};
use wgreduce::{Caps, DType, NanPolicy, Problem, Reducer};

pub fn broadcast(reducer: &Reducer) -> Result<(), Failed> {
    let cases: &[&[&[u64]]] = &[
        &[&[7], &[7]],
        &[&[16], &[16]],
        &[&[1000], &[1000], &[1000]],
        &[&[33, 64], &[64]],
        &[&[33, 64], &[33, 1]],
        &[&[33, 64], &[1], &[]],
        &[&[33, 63], &[63]],
        &[&[3, 8832], &[3, 1]],
        &[&[3, 8832], &[8832], &[3, 8832]],
        &[&[3, 1, 5], &[4, 1]],
        &[&[2, 3, 4, 16], &[1, 3, 1, 16], &[4, 1], &[2, 1, 1, 1]],
        &[&[5, 1, 7, 1, 3], &[1, 6, 1, 2, 1]],
        &[&[1], &[1]],
        &[&[], &[]],
        &[&[0, 3], &[1, 3]],
        &[
            &[2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2],
            &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1],
        ],
    ];
    for shapes in cases {
        for dtype in types(turn()) {
            let min = Problem::min(dtype, shapes)?;
            let max = Problem::max(dtype, shapes)?;
            let ignoring = [&min, &max].map(|p| p.clone().nan(NanPolicy::Ignore));
            for problem in [&min, &ignoring[1], &max, &ignoring[0]] {
                if takes(reducer, "broadcast", problem) {
                    for (seed, offset) in (drawn(problem)..).zip([0, dtype.size(), 48]) {
                        let inputs = data_for(problem, seed);
                        same(reducer, problem, &slices(&inputs), offset)?;
                    }
                }
            }
        }
    }
    let mut types = types(turn()).into_iter();
    types.try_for_each(|dtype| many_inputs(reducer, dtype))
}

/// More inputs than one dispatch can bind.
fn many_inputs(reducer: &Reducer, dtype: DType) -> Result<(), Failed> {
    // A dispatch takes three or six, so the next one has them in another order.
    let shapes = (0..11).map(|i| [[40, 16], [1, 16], [40, 1], [40, 16]][i % 4]);
    let problem = Problem::max(dtype, &shapes.collect::<Vec<_>>())?;
    let inputs = data_for(&problem, 1);
    let caps = Caps {
        storage_buffers: 4,
        ..reducer.caps().clone()
    };
    for reducer in [reducer, &reducer.with_caps(caps)] {
        let case = ("many inputs", reducer.caps().storage_buffers, dtype);
        if takes_case(reducer, 1, case) {
            same(reducer, &problem, &slices(&inputs), 0)?;
        }
    }
    Ok(())
}

/// Inputs that are views: where everything is in whole vec4s, and every other way.
pub const TOGETHER: &[&[Viewed]] = &[
    &[
        (&[6, 32], &[48, 1], 16, 400),
        (&[6, 32], &[32, 1], 0, 192),
        (&[32], &[0], 5, 6),
    ],
    &[(&[6, 32], &[-48, 1], 240, 400), (&[6, 1], &[-1, 0], 9, 10)],
    &[(&[37], &[-1], 36, 37), (&[37], &[2], 1, 74)],
    &[(&[5, 7], &[1, 5], 0, 35), (&[5, 7], &[7, 1], 3, 38)],
    &[(&[3, 1, 5], &[1, 9, 3], 2, 17), (&[4, 1], &[2, 0], 0, 7)],
    &[
        (&[300], &[1], 16, 330),
        (&[300], &[1], 1, 301),
        (&[1], &[5], 3, 4),
    ],
    &[(&[20, 20], &[1, 1], 0, 39), (&[20], &[0], 0, 1)],
    &[(&[0, 3], &[1, 1], 5, 0), (&[3], &[1], 0, 3)],
];

/// Min and Max of views, and their data; the reference must give the same results on copies.
pub fn together(
    dtype: DType,
    views: &[Viewed],
    seed: u64,
) -> Result<([Problem; 2], Vec<Vec<u8>>), Failed> {
    let data = (seed..).zip(views).map(|(seed, v)| mixed(dtype, v.3, seed));
    let data: Vec<Vec<u8>> = data.collect();
    let copy = |(v, d): (&Viewed, &Vec<u8>)| materialised(dtype, v.0, v.1, v.2, d);
    let copies: Vec<_> = views.iter().zip(&data).map(copy).collect();
    let shapes: Vec<&[u64]> = views.iter().map(|v| v.0).collect();
    let viewed = |plain: Problem| -> Result<Problem, Failed> {
        let mut problem = plain.clone();
        for (i, view) in views.iter().enumerate() {
            problem = problem.strided(i, view.1, view.2);
        }
        let expected = wgreduce::reference::evaluate(&plain, &slices(&copies))?;
        let viewed = wgreduce::reference::evaluate(&problem, &slices(&data))?;
        assert_eq!(viewed, expected, "{problem}");
        Ok(problem)
    };
    let [min, max] = [Problem::min(dtype, &shapes)?, Problem::max(dtype, &shapes)?];
    Ok(([viewed(min)?, viewed(max)?], data))
}

/// Min and Max of views.
pub fn of_views(reducer: &Reducer) -> Result<(), Failed> {
    let tiny = tiny(reducer);
    for views in TOGETHER {
        for dtype in types(turn()) {
            let (problems, data) = together(dtype, views, drawn((dtype, views)))?;
            for problem in problems {
                if takes(reducer, "views together", &problem) {
                    for offset in [0, dtype.size()] {
                        same(reducer, &problem, &slices(&data), offset)?;
                    }
                    same(&tiny, &problem, &slices(&data), 0)?;
                }
            }
        }
    }
    Ok(())
}
