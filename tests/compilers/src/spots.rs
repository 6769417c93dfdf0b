//! Problems to run, with their data and the expected results: the golden cases, and for every walk rows and
//! columns in which one element wins, anywhere.

use support::golden;
use support::grid::{elementwise, variants, views};
use support::{Seed, drawn, mixed, tensor};
use wgreduce::{DType, NanPolicy, Problem, reference};

/// `[outer, len, inner]`; the middle is reduced. Every walk of contiguous tensors takes some of these under
/// one of the classes.
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

/// Shapes whose best elements are wanted, and how many.
const TOPS: [([u64; 3], u64); 5] = [
    ([40, 16, 1], 3),
    ([3, 129, 1], 20),
    ([2, 5000, 1], 40),
    ([1, 5000, 1], 2000),
    ([2, 300, 9], 10),
];

/// The types whose problems are made here; the golden cases have all types.
const TYPES: [DType; 4] = [DType::F16, DType::I64, DType::F32, DType::U8];

/// A problem with inputs and expected outputs.
pub struct Spot {
    pub problem: Problem,
    pub inputs: Vec<Vec<u8>>,
    pub expected: Vec<Vec<u8>>,
}

impl Spot {
    pub fn new(problem: &Problem, inputs: Vec<Vec<u8>>) -> Result<Spot, String> {
        let slices: Vec<&[u8]> = inputs.iter().map(|data| &data[..]).collect();
        let expected = reference::evaluate(problem, &slices).map_err(|e| e.to_string())?;
        Ok(Spot {
            problem: problem.clone(),
            inputs,
            expected,
        })
    }
}

/// All element types, those with the most work first.
pub fn types() -> Vec<DType> {
    let others = DType::ALL.into_iter().filter(|t| !TYPES.contains(t));
    TYPES.into_iter().chain(others).collect()
}

/// Calls `call` with every problem of an element type: with a seed, and what makes its data.
pub fn each(
    dtype: DType,
    mut call: impl FnMut(&Problem, u64, &dyn Fn() -> Vec<Vec<u8>>) -> Result<(), String>,
) -> Result<(), String> {
    // The bits of a NaN are the reference's, as ONNX leaves them open.
    for case in golden::cases() {
        if case.problem.dtype() == dtype {
            let seed = drawn(&case.inputs);
            call(&case.problem, seed, &|| case.inputs.clone())?;
        }
    }
    if !TYPES.contains(&dtype) {
        return Ok(());
    }
    for shape in SHAPES {
        let mut problems = variants(dtype, &shape, 1).map_err(|e| e.to_string())?;
        problems.extend(Problem::extremes(dtype, &shape, 1));
        let ignoring = problems[2].clone().nan(NanPolicy::Ignore);
        problems.push(ignoring);
        for problem in problems {
            // Segments of all kinds, first single winners, then others.
            for seed in [0, Seed::ALL.len() as u64, drawn((dtype, shape))] {
                call(&problem, seed, &|| vec![tensor(dtype, shape, seed)])?;
            }
        }
    }
    for (shape, k) in TOPS {
        let problem = Problem::top_k(dtype, &shape, 1, k).map_err(|e| e.to_string())?;
        for (seed, largest) in [(0, true), (drawn((dtype, shape)), false)] {
            let problem = problem.clone().largest(largest);
            call(&problem, seed, &|| vec![tensor(dtype, shape, seed)])?;
        }
    }
    for problem in views(dtype).iter().chain(&elementwise(dtype)) {
        let seed = drawn(problem);
        let input = |i| {
            let n = problem.input_bytes(i) / dtype.size();
            mixed(dtype, n, seed + i as u64)
        };
        call(problem, seed, &|| {
            (0..problem.inputs().len()).map(input).collect()
        })?;
    }
    Ok(())
}

/// Rows that every class takes by many invocations or in slices.
pub fn rows() -> Result<Vec<Spot>, String> {
    let shape = [3, 70_001, 1];
    let problem = Problem::arg_min(DType::I32, &shape, 1).map_err(|e| e.to_string())?;
    let spot = |seed| Spot::new(&problem, vec![tensor(DType::I32, shape, seed)]);
    (0..6).map(spot).collect()
}

/// Sums of float16 by rows, several rows an invocation and columns, with subnormal numbers among the elements.
pub fn subnormal_halves() -> Result<Vec<Spot>, String> {
    let spot = |shape: [u64; 3]| {
        let problem = Problem::reduce_sum(DType::F16, &shape, &[1]).map_err(|e| e.to_string())?;
        let element = |i: u64| {
            let bits = drawn(i) as u16;
            // One of eight is small.
            let small = if bits & 7 == 0 { 0x83ff } else { 0x8fff };
            (bits >> 3).wrapping_mul(0x2f35) & small
        };
        let data = (0..shape.iter().product()).flat_map(|i| element(i).to_le_bytes());
        Spot::new(&problem, vec![data.collect()])
    };
    [[3, 4000, 1], [300, 8, 1], [1, 600, 256]]
        .into_iter()
        .map(spot)
        .collect()
}
