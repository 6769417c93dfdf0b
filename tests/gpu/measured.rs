//! The cases of `bench`, which must be right before they are fast.

use super::{same, slices, takes_case};
use libtest_mimic::Failed;
use support::catalogue::{Case, catalogue};
use wgreduce::{Plan, Reducer};

/// Plans each case of `bench` as it is, and runs it with its long dimensions cut.
pub fn measured(reducer: &Reducer) -> Result<(), Failed> {
    for case in catalogue() {
        Plan::new(&case.problem()?, reducer.caps()).map_err(|e| format!("{case}: {e}"))?;
        if !takes_case(reducer, 1, ("measured", case.to_string())) {
            continue;
        }
        let case = shrunk(case);
        let inputs = case.inputs();
        same(reducer, &case.problem()?, &slices(&inputs), 0)?;
    }
    Ok(())
}

/// The case with its longest dimension halved, in all inputs, until it has at most 1 MiB.
fn shrunk(mut case: Case) -> Case {
    while case.shapes[0].iter().product::<u64>() * case.dtype.size() > 1 << 20 {
        let longest = case.shapes[0].iter().max().copied();
        for size in case.shapes.iter_mut().flatten() {
            if Some(*size) == longest {
                // Odd sizes stay odd.
                *size = (*size / 2) | (*size % 2);
            }
        }
    }
    case
}
