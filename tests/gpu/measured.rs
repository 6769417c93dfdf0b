//! The cases of `bench`, which must be right before they are fast.

use super::{same, slices, takes_case};
use libtest_mimic::Failed;
use std::collections::BTreeSet;
use support::catalogue::{Case, catalogue};
use support::device::{buffer, contents};
use support::noise::{Noise, fill, noise};
use wgreduce::wgpu::BufferUsages;
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

/// The device's noise of every kind is the host's: in one binding and in several, and where an invocation makes several
/// words.
pub fn made(reducer: &Reducer) -> Result<(), Failed> {
    let kinds: BTreeSet<Noise> = catalogue().iter().map(Case::noise).collect();
    let small = kinds.into_iter().map(|kind| (kind, 3 << 18, 1 << 18));
    let large = (Noise::Words(u64::MAX), 33 << 20, 64 << 20);
    for (seed, (kind, bytes, most)) in (1..).zip(small.chain([large])) {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let buffer = buffer(reducer, bytes + 48, usage);
        let device = (reducer.device(), reducer.queue());
        fill(device, &buffer, most, seed, kind);
        let made = contents(reducer, &buffer)?;
        let expected = noise(bytes as usize + 48, seed, kind);
        let mut both = made.iter().zip(&expected);
        if let Some(at) = both.position(|(made, expected)| made != expected) {
            return Err(format!("{kind:?} of seed {seed} differs at byte {at} of {bytes}").into());
        }
    }
    Ok(())
}
