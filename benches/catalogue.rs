//! The cases that are measured and tested: which operator, element type and shapes, by name.

use std::borrow::Cow;
use std::fmt;

use super::noise::{Noise, noise};
use wgreduce::{Class, DType, Op, Problem, ProblemError};

/// One thing to measure. Name, operator and element type together are unique.
#[derive(Clone, Debug)]
pub struct Case {
    /// Stands for the shapes and axes.
    pub name: Cow<'static, str>,
    pub op: Op,
    pub dtype: DType,
    pub shapes: Vec<Vec<u64>>,
    /// Reduced axes; none for Min.
    pub axes: Vec<i64>,
    /// How many elements of each segment TopK takes; 0 for other operators.
    pub k: u64,
    /// Whether `bench --quick` runs it.
    pub quick: bool,
}

type Shape = (&'static str, &'static [u64], &'static [i64]);

/// Of an input of float32 in A to E and Min, as they are named here.
pub const BYTES: u64 = 64 << 20;

/// The shapes that peers were measured with. Here for every element type; types of 64 bits at
/// half the reduced length, so that the bytes stay.
const PEERS: [Shape; 6] = [
    ("A", &[1, 1 << 24], &[1]),
    ("B", &[4096, 4096], &[1]),
    ("C", &[4096, 4096], &[0]),
    ("D", &[1 << 20, 16], &[1]),
    ("E", &[64, 512, 512], &[1]),
    ("F", &[1_000_000, 3], &[0]),
];

/// A, B and C with elements of all exponents, which a sum takes longest for.
const WIDE_NAMES: [&str; 3] = ["A-wide", "B-wide", "C-wide"];

/// More shapes, float32 only. Indices have one axis: of several only the minimum is taken.
const SHAPES: [Shape; 27] = [
    ("huge", &[1, 1 << 28], &[1]),
    ("huge-rows", &[1 << 14, 1 << 14], &[1]),
    ("vocab1", &[1, 129_280], &[1]),
    ("vocab8", &[8, 151_936], &[1]),
    ("flat", &[1, 1_215_488], &[1]),
    ("rows8", &[1 << 20, 8], &[1]),
    ("columns8", &[300_000, 8], &[0]),
    ("rows3", &[1_000_000, 3], &[1]),
    // Scores of ten classes; of 21 classes a pixel, and an odd number of pixels; channels.
    ("rows10", &[1_600_000, 10], &[1]),
    ("classes21", &[2, 21, 512, 512], &[1]),
    ("classes21-odd", &[1, 21, 513, 513], &[1]),
    ("channels64", &[1024, 64, 128], &[1]),
    ("middle50", &[50, 10_000, 50], &[1]),
    ("cube512-0", &[512, 512, 512], &[0]),
    ("cube512-1", &[512, 512, 512], &[1]),
    ("cube512-2", &[512, 512, 512], &[2]),
    ("odd4095", &[32, 512, 4095], &[2]),
    ("pixels151", &[1, 513, 513, 151], &[3]),
    ("cube100-0", &[100, 100, 100], &[0]),
    ("cube100-1", &[100, 100, 100], &[1]),
    ("cube100-2", &[100, 100, 100], &[2]),
    ("scattered02", &[64, 128, 64, 32], &[0, 2]),
    ("scattered024", &[8, 16, 8, 16, 64], &[0, 2, 4]),
    // Above the 128 MiB of one binding under WebGPU's default limits.
    ("over-binding-0", &[4500, 8000], &[0]),
    ("over-binding-1", &[4500, 8000], &[1]),
    ("short-axis", &[4, 3_000_000], &[0]),
    ("tiny", &[8, 1000], &[1]),
];

/// TopK of the shape of that name, how many elements, and whether it is quick.
const TOP: [(&str, Shape, u64, bool); 6] = [
    ("A-k100", PEERS[0], 100, false),
    ("B-k8", PEERS[1], 8, true),
    ("B-k64", PEERS[1], 64, false),
    ("C-k10", PEERS[2], 10, false),
    ("D-k3", PEERS[3], 3, true),
    ("vocab8-k50", ("", &[8, 151_936], &[1]), 50, true),
];

const FLAT: &[u64] = &[1 << 24];

/// Inputs of Min, float32; and whether they are quick.
const ELEMENTWISE: [(&str, &[&[u64]], bool); 5] = [
    ("pair", &[FLAT; 2], true),
    ("three", &[FLAT; 3], false),
    ("eight", &[FLAT; 8], false),
    ("matrix-row", &[&[4096, 4096], &[4096]], true),
    ("matrix-column", &[&[4096, 4096], &[4096, 1]], false),
];

/// Small cases cost nothing: all of them are quick.
const QUICK_BYTES: u64 = 6 << 20;

/// All cases, in the order of measurement.
pub fn catalogue() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in &PEERS {
        for dtype in DType::ALL {
            cases.push(peer(shape, Op::ArgMin, dtype));
            cases.push(peer(shape, Op::ReduceMin, dtype));
        }
    }
    for shape in &PEERS {
        let types = DType::ALL.into_iter().filter(|&t| t != DType::Bool);
        cases.extend(types.map(|dtype| peer(shape, Op::ReduceSum, dtype)));
    }
    for shape in &PEERS[..2] {
        for op in [Op::ReduceMean, Op::ReduceL2] {
            cases.push(reduction(shape, op, DType::F32));
        }
    }
    for (name, shape) in WIDE_NAMES.into_iter().zip(&PEERS) {
        let wide = (name, shape.1, shape.2);
        cases.push(Case {
            quick: true,
            ..reduction(&wide, Op::ReduceSum, DType::F32)
        });
    }
    for shape @ (_, _, axes) in &SHAPES {
        if axes.len() == 1 {
            cases.push(reduction(shape, Op::ArgMin, DType::F32));
        }
        cases.push(reduction(shape, Op::ReduceMin, DType::F32));
    }
    for (name, shape, k, quick) in TOP {
        for dtype in [DType::F32, DType::F16] {
            cases.push(Case {
                name: name.into(),
                k,
                quick: quick && dtype == DType::F32,
                ..reduction(&shape, Op::TopK, dtype)
            });
        }
    }
    cases.extend(ELEMENTWISE.map(|(name, shapes, quick)| Case {
        name: name.into(),
        op: Op::Min,
        dtype: DType::F32,
        shapes: shapes.iter().map(|s| s.to_vec()).collect(),
        axes: Vec::new(),
        k: 0,
        quick,
    }));
    cases
}

fn reduction(&(name, shape, axes): &Shape, op: Op, dtype: DType) -> Case {
    let bytes = shape.iter().product::<u64>() * dtype.size();
    Case {
        name: name.into(),
        op,
        dtype,
        shapes: vec![shape.to_vec()],
        axes: axes.to_vec(),
        k: 0,
        quick: bytes <= QUICK_BYTES,
    }
}

fn peer(shape: &Shape, op: Op, dtype: DType) -> Case {
    use DType::{BF16, F16, F32, F64, I32, I64, U8};
    let mut case = reduction(shape, op, dtype);
    if dtype.size() == 8 {
        case.shapes[0][case.axes[0] as usize] /= 2;
    }
    case.quick = match op {
        Op::ArgMin => [F32, I32, F64, I64, F16, BF16, U8].contains(&dtype),
        Op::ReduceSum => [F32, I32, F16].contains(&dtype),
        _ => [F32, I32].contains(&dtype),
    };
    case
}

impl Case {
    pub fn problem(&self) -> Result<Problem, ProblemError> {
        let (dtype, shape) = (self.dtype, &self.shapes[0]);
        match self.op {
            Op::ArgMin => Problem::arg_min(dtype, shape, self.axes[0]),
            Op::ArgMax => Problem::arg_max(dtype, shape, self.axes[0]),
            Op::ReduceMin => Problem::reduce_min(dtype, shape, &self.axes),
            Op::ReduceMax => Problem::reduce_max(dtype, shape, &self.axes),
            Op::ReduceSum => Problem::reduce_sum(dtype, shape, &self.axes),
            Op::ReduceMean => Problem::reduce_mean(dtype, shape, &self.axes),
            Op::ReduceL2 => Problem::reduce_l2(dtype, shape, &self.axes),
            Op::TopK => Problem::top_k(dtype, shape, self.axes[0], self.k),
            Op::Min => Problem::min(dtype, &self.shapes),
            _ => Problem::max(dtype, &self.shapes),
        }
    }

    /// The case with inputs of this many bytes, a multiple of 1 MiB, if it has a shape of A to F or is one of Min. They keep their
    /// proportions, but other than with [`BYTES`] each type and F have as many bytes as float32.
    pub fn with_bytes(mut self, bytes: u64) -> Case {
        if bytes == BYTES {
            return self;
        }
        let n = bytes / self.dtype.size().min(4);
        let rows = 1 << (n.ilog2() / 2);
        let columns = n / rows;
        let name = self.name.trim_end_matches("-wide");
        self.shapes = match name.split_once("-k").map_or(name, |(shape, _)| shape) {
            "A" => vec![vec![1, n]],
            "B" | "C" => vec![vec![rows, columns]],
            "D" => vec![vec![n / 16, 16]],
            "E" => vec![vec![n / (512 * 512), 512, 512]],
            "F" => vec![vec![n / 4, 3]],
            "pair" | "three" | "eight" => vec![vec![n]; self.shapes.len()],
            "matrix-row" => vec![vec![rows, columns], vec![columns]],
            "matrix-column" => vec![vec![rows, columns], vec![rows, 1]],
            _ => return self,
        };
        if self.dtype.size() == 8 {
            self.shapes[0][self.axes[0] as usize] /= 2;
        }
        self
    }

    /// The tool's command for the operator.
    pub fn command(&self) -> &'static str {
        match self.op {
            Op::ArgMin => "argmin",
            Op::ArgMax => "argmax",
            Op::ReduceMin => "reduce-min",
            Op::ReduceMax => "reduce-max",
            Op::ReduceSum => "reduce-sum",
            Op::ReduceMean => "reduce-mean",
            Op::ReduceL2 => "reduce-l2",
            Op::TopK => "topk",
            Op::Min => "min",
            _ => "max",
        }
    }

    /// What its elements are like: floats are finite, of either sign. Those to be summed are spread evenly, unless the
    /// case is named otherwise.
    pub fn noise(&self) -> Noise {
        let sum = self.op.is_sum() && !WIDE_NAMES.contains(&&*self.name);
        let left_out = match (self.dtype.class(), self.dtype.size()) {
            (Class::Float, _) if sum => return Noise::Even(self.dtype),
            // Without the exponent's highest bit there is no NaN and no infinity.
            (Class::Float, 2) => 0x4000_4000_4000_4000,
            (Class::Float, 4) => 0x4000_0000_4000_0000,
            (Class::Float, _) => 1 << 62,
            (Class::Bool, _) => !0x0101_0101_0101_0101,
            _ => 0,
        };
        Noise::Words(!left_out)
    }

    /// Reproducible noise for every input.
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        let bytes = |shape: &Vec<u64>| shape.iter().product::<u64>() * self.dtype.size();
        let inputs = self.shapes.iter().map(bytes).zip(1..);
        inputs
            .map(|(bytes, seed)| noise(bytes as usize, seed, self.noise()))
            .collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { name, dtype, .. } = self;
        write!(f, "{name} {} {dtype}", self.command())
    }
}
