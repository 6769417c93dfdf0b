//! Both extremes and their indices, from one read or, of short segments, four.
//!
//! `tests/reference` compares the reference's extremes with separate operators.

use super::pieces::streamed;
use super::walks::of_class;
use super::{check_all, check_data, same, takes, tiny, tuned, turn};
use libtest_mimic::Failed;
use support::views::VIEWS;
use support::{drawn, extremes as problem, mixed, types, zeros};
use wgreduce::{AdapterClass, Class, DType, NanPolicy, Problem, Reducer};

pub fn extremes(reducer: &Reducer) -> Result<(), Failed> {
    let sliced = tuned(reducer, |t| {
        (t.invocations, t.slice_bytes) = (1 << 14, 256);
    });
    let few = tuned(reducer, |t| (t.workgroup, t.row_lanes) = (16, 4));
    let gpu = of_class(reducer, AdapterClass::Discrete);
    for dtype in types(turn()) {
        contiguous([reducer, &sliced, &few, &gpu], dtype)?;
        for shape in [&[][..], &[1], &[3, 0], &[0, 3]] {
            let input = mixed(dtype, shape.iter().product(), 3);
            for axis in 0..2 {
                if let Ok(problem) = Problem::extremes(dtype, shape, axis) {
                    same(reducer, &problem, &[&input], 0)?;
                }
            }
        }
        of_views(reducer, dtype)?;
    }
    Ok(())
}

/// Rows, columns and shapes in between, by reducers that map them differently.
fn contiguous(reducers: [&Reducer; 4], dtype: DType) -> Result<(), Failed> {
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
    for shape in shapes {
        let first = drawn((dtype, shape)) % 12;
        for way in [first, first + 7] {
            let problem = problem(dtype, &shape, 1, way)?.keepdims(way % 2 == 0);
            if !takes(reducers[0], "extremes", &problem) {
                continue;
            }
            let reducer = reducers[drawn(&problem) as usize % 4];
            let zeros = || signed_zeros(&problem, shape);
            check_all(reducer, std::slice::from_ref(&problem), shape)?;
            check_data(reducer, &problem, 0, zeros())?;
            if shape.iter().product::<u64>() < 300 {
                check_all(&tiny, std::slice::from_ref(&problem), shape)?;
                check_data(&tiny, &problem, 0, zeros())?;
            }
        }
    }
    Ok(())
}

/// Data in which a value differs from another by the sign of a zero alone; none of types without one.
fn signed_zeros(problem: &Problem, shape: [u64; 3]) -> impl Iterator<Item = Vec<u8>> {
    let (dtype, ignored) = (problem.dtype(), problem.nan_policy() == NanPolicy::Ignore);
    let data = (dtype.class() == Class::Float).then(|| zeros(dtype, shape, ignored));
    data.into_iter()
}

fn of_views(reducer: &Reducer, dtype: DType) -> Result<(), Failed> {
    for view in VIEWS {
        let data = mixed(dtype, view.3, drawn(view));
        for axis in 0..view.0.len() as i64 {
            let Ok(plain) = problem(dtype, view.0, axis, drawn((dtype, view, axis))) else {
                continue;
            };
            let problem = plain.strided(0, view.1, view.2);
            if !takes(reducer, "extremes", &problem) {
                continue;
            }
            same(reducer, &problem, &[&data], dtype.size())?;
            for zeros in signed_zeros(&problem, [1, view.3, 1]) {
                same(reducer, &problem, &[&zeros], dtype.size())?;
            }
            if dtype.size() == 2 {
                streamed(reducer, &problem, std::slice::from_ref(&data), 40_000)
                    .map_err(|e| format!("{problem}: {e}"))?;
            }
        }
    }
    Ok(())
}
