//! The CPU reference against the specification: the answers of the ONNX reference implementation, then every rule of
//! the operators by hand. Elements are written as bits throughout.
//!
//! This file holds the notable bits of every type and the shortest ways to ask the reference.

mod magnitudes;
mod nans;
mod numpy;
mod order;
mod second;
mod shapes;
mod sums;
mod verify;

use support::{POLICIES, bytes, float_bits, limits, problem_of};
use wgreduce::reference::evaluate;
use wgreduce::{DType, NanPolicy, Op, Problem, ProblemError};

type Made = Result<Problem, ProblemError>;

/// A float type and its notable bits.
struct Float {
    dtype: DType,
    sign: u64,
    inf: u64,
    one: u64,
    /// The canonical NaN.
    nan: u64,
}

static FLOATS: [Float; 4] = [
    Float::of(DType::BF16),
    Float::of(DType::F16),
    Float::of(DType::F32),
    Float::of(DType::F64),
];

impl Float {
    const fn of(dtype: DType) -> Float {
        let (inf, nan, one) = float_bits(dtype);
        Float {
            dtype,
            sign: 1 << (8 * dtype.size() - 1),
            inf,
            one,
            nan,
        }
    }

    /// All fields, in their order.
    fn parts(&self) -> (DType, u64, u64, u64, u64) {
        (self.dtype, self.sign, self.inf, self.one, self.nan)
    }

    /// NaN of both signs, quiet and signalling, with and without payload.
    fn nans(&self) -> [u64; 5] {
        let Float { sign, inf, nan, .. } = *self;
        [nan, sign | nan, nan | 5, inf | 1, sign | inf | 2]
    }
}

const INTEGERS: [DType; 8] = {
    use DType::{I8, I16, I32, I64, U8, U16, U32, U64};
    [I8, I16, I32, I64, U8, U16, U32, U64]
};

const VALUE_OPS: [Op; 4] = [Op::ReduceMin, Op::ReduceMax, Op::Min, Op::Max];

fn to_bytes(dtype: DType, bits: &[u64]) -> Vec<u8> {
    bytes(dtype, bits.iter().copied())
}

fn to_bits(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let elements = bytes.chunks_exact(dtype.size() as usize);
    let bits = elements.map(|e| e.iter().rev().fold(0, |bits, &b| bits << 8 | u64::from(b)));
    bits.collect()
}

/// All outputs of a problem; inputs and outputs are bits.
fn run(problem: Made, inputs: &[&[u64]]) -> Vec<Vec<u64>> {
    let problem = problem.unwrap();
    let inputs: Vec<_> = inputs
        .iter()
        .map(|i| to_bytes(problem.dtype(), i))
        .collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(|i| &i[..]).collect();
    let results = evaluate(&problem, &inputs).unwrap();
    let outputs = problem.outputs();
    assert_eq!(results.len(), outputs.len());
    let pairs = outputs.iter().zip(&results);
    pairs.map(|(o, r)| to_bits(o.dtype, r)).collect()
}

fn elementwise(op: Op, dtype: DType, shapes: &[Vec<u64>]) -> Made {
    match op.is_max() {
        true => Problem::max(dtype, shapes),
        false => Problem::min(dtype, shapes),
    }
}

/// The value of a set of elements; for Min and Max each element is a scalar input.
fn value(op: Op, dtype: DType, nan: NanPolicy, set: &[u64]) -> u64 {
    if op.is_elementwise() {
        let problem = elementwise(op, dtype, &vec![vec![]; set.len()]).map(|p| p.nan(nan));
        let inputs: Vec<&[u64]> = set.chunks(1).collect();
        return run(problem, &inputs)[0][0];
    }
    let problem = problem_of(op, dtype, &[set.len() as u64], &[0]).map(|p| p.nan(nan));
    run(problem, &[set])[0][0]
}

/// The first and the last index of the extreme of a row.
fn ends(op: Op, dtype: DType, nan: NanPolicy, row: &[u64]) -> [u64; 2] {
    [false, true].map(|last| {
        let problem = problem_of(op, dtype, &[row.len() as u64], &[0]);
        let problem = problem.map(|p| p.nan(nan).select_last_index(last));
        run(problem, &[row])[0][0]
    })
}

/// A row, its least and its greatest value, and the first and the last index of each.
type Row<'a> = (&'a [u64], [u64; 2], [[u64; 2]; 2]);

/// Compares the values and the indices of rows, by every operator.
fn check_rows(dtype: DType, nan: NanPolicy, rows: &[Row<'_>]) {
    for (row, values, indices) in rows {
        for op in VALUE_OPS {
            let value = value(op, dtype, nan, row);
            let expected = values[usize::from(op.is_max())];
            assert_eq!(value, expected, "{op} {dtype} {nan:?} {row:x?}");
        }
        for (op, expected) in [Op::ArgMin, Op::ArgMax].iter().zip(indices) {
            let ends = ends(*op, dtype, nan, row);
            assert_eq!(ends, *expected, "{op} {dtype} {nan:?} {row:x?}");
        }
    }
}

fn each_float(ops: &[Op]) -> impl Iterator<Item = (&'static Float, Op)> {
    FLOATS
        .iter()
        .flat_map(|float| ops.iter().map(move |&op| (float, op)))
}
