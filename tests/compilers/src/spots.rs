//! Problems that are run, with their data and what must come of it: the golden cases, and for every
//! family rows and columns in which one element wins, anywhere.

use crate::kernels::problems::{elementwise, variants, views};
use golden::Case;
use seeds::{Bits, Seed, element, push, tensor};
use wgreduce::{DType, NanPolicy, Problem, reference};

#[path = "../../golden/mod.rs"]
#[allow(dead_code, reason = "of what is shared, a part is used here")]
mod golden;
#[path = "../../common/seeds.rs"]
#[allow(dead_code, reason = "of what is shared, a part is used here")]
mod seeds;

/// `[outer, len, inner]`, of which the middle is reduced: shapes that every family of contiguous
/// tensors takes under one of the classes.
const SHAPES: [[u64; 3]; 19] = [
    [3, 70_001, 1],
    [300, 1000, 1],
    [900, 259, 1],
    [1500, 16, 1],
    [700, 128, 1],
    [3000, 3, 1],
    [2000, 10, 1],
    [5000, 2, 1],
    [1, 5000, 3],
    [2, 700, 16],
    [3, 150, 40],
    [3, 200, 260],
    [2, 90, 512],
    [1, 300, 1100],
    [70, 40, 128],
    [1, 7, 4099],
    [5, 9, 256],
    [1, 3, 70_000],
    [40, 3, 3],
];

/// The types whose problems are made here; the golden cases are of all.
const TYPES: [DType; 4] = [DType::F16, DType::I64, DType::F32, DType::U8];

/// A problem with inputs and expected outputs.
pub struct Spot {
    pub problem: Problem,
    pub inputs: Vec<Vec<u8>>,
    pub expected: Vec<Vec<u8>>,
}

/// All element types, those with most to do first.
pub fn types() -> Vec<DType> {
    let others = DType::ALL.into_iter().filter(|t| !TYPES.contains(t));
    TYPES.into_iter().chain(others).collect()
}

/// Calls back with every problem of an element type.
pub fn each(dtype: DType, mut call: impl FnMut(Spot) -> Result<(), String>) -> Result<(), String> {
    let mut call = |problem: &Problem, inputs: Vec<Vec<u8>>| {
        let slices: Vec<&[u8]> = inputs.iter().map(|data| &data[..]).collect();
        let expected = reference::evaluate(problem, &slices).map_err(|e| e.to_string())?;
        let problem = problem.clone();
        call(Spot {
            problem,
            inputs,
            expected,
        })
    };
    // The bits of a NaN are the reference's, which ONNX's leaves open.
    for Case {
        problem, inputs, ..
    } in golden::cases()
    {
        if problem.dtype() == dtype {
            call(&problem, inputs)?;
        }
    }
    if !TYPES.contains(&dtype) {
        return Ok(());
    }
    for (shape, number) in SHAPES.into_iter().zip(0..) {
        let mut problems = variants(dtype, &shape, 1).map_err(|e| e.to_string())?;
        problems.extend(Problem::extremes(dtype, &shape, 1));
        let ignoring = problems[2].clone().nan(NanPolicy::Ignore);
        problems.push(ignoring);
        for problem in problems {
            let least = problem.op().name().contains("Min");
            for shift in 0..2 {
                call(&problem, vec![winners(dtype, shape, least, shift)])?;
            }
            call(&problem, vec![tensor(dtype, shape, number)])?;
        }
    }
    for (problem, seed) in views(dtype).iter().chain(&elementwise(dtype)).zip(0..) {
        let inputs = (0..problem.inputs().len()).map(|i| {
            let len = problem.input_bytes(i) / dtype.size();
            tensor(dtype, [1, len.max(1), 1], seed + i as u64)[..(len * dtype.size()) as usize]
                .to_vec()
        });
        call(problem, inputs.collect())?;
    }
    Ok(())
}

/// Rows that every class takes by many invocations or in slices.
pub fn rows() -> Result<Vec<Spot>, String> {
    let shape = [3, 70_001, 1];
    let problem = Problem::arg_min(DType::I32, &shape, 1).map_err(|e| e.to_string())?;
    let spot = |shift| {
        let data = winners(DType::I32, shape, true, shift);
        let expected = reference::evaluate(&problem, &[&data]).map_err(|e| e.to_string())?;
        let (problem, inputs) = (problem.clone(), vec![data]);
        Ok(Spot {
            problem,
            inputs,
            expected,
        })
    };
    (0..6).map(spot).collect()
}

/// A tensor of equal elements, but for one a segment, which wins; over the segments it is everywhere,
/// and with each shift elsewhere.
fn winners(dtype: DType, [outer, len, inner]: [u64; 3], least: bool, shift: u64) -> Vec<u8> {
    let mut bits = Bits::new(shift);
    let mut at = |seed| element(dtype, seed, 0, 1, &mut bits);
    let (loser, winner) = match least {
        true => (at(Seed::Top), at(Seed::Bottom)),
        false => (at(Seed::Bottom), at(Seed::Top)),
    };
    // The first shift puts winners at both ends.
    let place = |segment: u64| match shift {
        0 => (len - 1) * (segment % 2),
        _ => (segment * 7 + shift * 40_503) % len,
    };
    let mut bytes = Vec::with_capacity((outer * len * inner * dtype.size()) as usize);
    for o in 0..outer {
        for i in 0..len {
            for c in 0..inner {
                let wins = place(o * inner + c) == i;
                push(&mut bytes, dtype, if wins { winner } else { loser });
            }
        }
    }
    bytes
}
