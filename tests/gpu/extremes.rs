//! Both extremes and their indices, from one read or four.
//!
//! `tests/reference` compares the reference's extremes with separate operators.

use super::pieces::streamed;
use super::{check_all, same, some, tiny, tuned, turns};
use libtest_mimic::Failed;
use support::views::VIEWS;
use support::{extremes as problem, mixed, types};
use wgreduce::unstable::Family;
use wgreduce::{DType, Problem, Reducer};

pub fn extremes(reducer: &Reducer) -> Result<(), Failed> {
    let abreast = tuned(reducer, |t| {
        (t.blocked, t.invocations) = (!t.blocked, 1 << 14);
        t.force = Some(Family::ExtremeRows);
    });
    let single = tuned(reducer, |t| t.force = Some(Family::Extremes));
    for turn in turns() {
        for dtype in types(turn) {
            contiguous([reducer, &abreast, &single], dtype, turn)?;
            for shape in [&[][..], &[1], &[3, 0], &[0, 3]] {
                let input = mixed(dtype, shape.iter().product(), 3);
                for axis in 0..2 {
                    if let Ok(problem) = Problem::extremes(dtype, shape, axis) {
                        same(reducer, &problem, &[&input], 0)?;
                    }
                }
            }
            of_views(reducer, dtype, turn)?;
        }
    }
    Ok(())
}

/// Rows, columns and shapes in between, by reducers that map them differently.
fn contiguous(reducers: [&Reducer; 3], dtype: DType, turn: u64) -> Result<(), Failed> {
    let tiny = tiny(reducers[0]);
    let shapes = [
        [1, 1, 1],
        [5, 1, 3],
        [9, 33, 1],
        [3, 129, 1],
        [1, 5000, 1],
        [1500, 19, 1],
        [1, 37, 24],
        [1, 9, 16],
        [1, 300, 5],
        [2, 67, 16],
        [2, 40, 6],
        [3, 7, 70],
        [1, 900, 160],
    ];
    let place = dtype.size().ilog2() as usize;
    for (i, shape) in some(reducers[0], place, shapes.into_iter().enumerate()) {
        for way in some(reducers[0], i / 2, [turn, turn + 7]) {
            let problem = problem(dtype, &shape, 1, way)?.keepdims(way % 2 == 0)?;
            check_all(
                reducers[(i + way as usize) % 3],
                std::slice::from_ref(&problem),
                shape,
            )?;
            if shape.iter().product::<u64>() < 300 {
                check_all(&tiny, &[problem], shape)?;
            }
        }
    }
    Ok(())
}

fn of_views(reducer: &Reducer, dtype: DType, turn: u64) -> Result<(), Failed> {
    let views = (turn..).zip(VIEWS);
    for (v, view) in some(reducer, dtype.size().ilog2() as usize, views) {
        let data = mixed(dtype, view.3, v);
        for axis in 0..view.0.len() as i64 {
            let Ok(plain) = problem(dtype, view.0, axis, v) else {
                continue;
            };
            let problem = plain.strided(0, view.1, view.2)?;
            same(reducer, &problem, &[&data], dtype.size())?;
            if dtype.size() == 2 {
                streamed(reducer, &problem, std::slice::from_ref(&data), 40_000)
                    .map_err(|e| format!("{problem}: {e}"))?;
            }
        }
    }
    Ok(())
}
