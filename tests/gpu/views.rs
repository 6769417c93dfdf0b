//! Compares views with the same problem on a copy of their elements.

use super::pieces::streamed;
use super::{same, takes_one_of, tiny, tuned, turn};
use libtest_mimic::Failed;
use support::views::{VIEWS, Viewed, view_problems, viewed};
use support::{drawn, mixed, types};
use wgreduce::{DType, Partial, Problem, Reducer};

fn check_view(
    reducer: &Reducer,
    plain: &Problem,
    view: &Viewed,
    seed: u64,
    offset: u64,
) -> Result<(), Failed> {
    let data = mixed(plain.dtype(), view.3, seed);
    let problem = viewed(plain, view, &data).map_err(|e| e.to_string())?;
    same(reducer, &problem, &[&data], offset)
}

pub fn views(reducer: &Reducer) -> Result<(), Failed> {
    let abreast = tuned(reducer, |t| t.invocations = 1 << 14);
    let tiny = tiny(reducer);
    let turn = turn();
    for view in VIEWS {
        views_by_other_ways(reducer, view, turn)?;
        for dtype in types(turn) {
            for problem in view_problems(dtype, view.0, turn)? {
                if takes_one_of(reducer, 1, "views", &problem, view) {
                    let drawn = drawn((view, &problem));
                    let offset = [0, dtype.size(), 48][drawn as usize % 3];
                    let mapped = [&abreast, reducer][usize::from(drawn / 3 % 4 > 0)];
                    check_view(mapped, &problem, view, drawn >> 4, offset)?;
                }
            }
        }
        // Windows hold a few elements, so a long view takes many dispatches.
        if view.0.iter().product::<u64>() > 400 {
            continue;
        }
        for dtype in [DType::F32, DType::F64, DType::Bool] {
            for problem in view_problems(dtype, view.0, turn)? {
                if takes_one_of(reducer, 1, "tiny views", &problem, view) {
                    check_view(&tiny, &problem, view, drawn(&problem), 0)?;
                }
            }
        }
    }
    Ok(())
}

/// Views of host data that goes on after their end, as streams, and as partial results.
fn views_by_other_ways(reducer: &Reducer, view: &Viewed, turn: u64) -> Result<(), Failed> {
    let mut data = mixed(DType::F16, view.3, turn);
    data.extend([0; 40]);
    for plain in view_problems(DType::F16, view.0, turn)? {
        // The type has its turn among those above as well.
        if !takes_one_of(reducer, 2, "views by other ways", &plain, view) {
            continue;
        }
        let problem = plain.strided(0, view.1, view.2);
        let expected = wgreduce::reference::evaluate(&problem, &[&data])?;
        let reduction = reducer.prepare_blocking(&problem)?;
        let actual = reduction.run_bytes_blocking(&[&data])?;
        assert_eq!(actual, expected, "{problem}");
        streamed(reducer, &problem, std::slice::from_ref(&data), 20_000)
            .map_err(|e| format!("{problem}: {e}"))?;
        if !problem.is_copy() {
            let shard = reducer.shard_blocking(&problem, 1 << 20)?;
            let ours = shard.run_bytes_blocking(7, &data)?;
            let theirs = Partial::from_reference(&problem, 7, &data)?;
            assert_eq!(ours, theirs, "{problem}");
        }
    }
    Ok(())
}
