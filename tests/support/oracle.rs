//! A second implementation of the operators: element by element over coordinates, on values wide enough for every type.
//! Shares nothing with the library but the names of types and operators.

use crate::views::materialised;
use crate::{exact, float_bits, limits};
use half::{bf16, f16};
use wgreduce::{Class, DType, NanPolicy, Op, Problem};

/// The bytes of every output of a problem.
pub fn answers(problem: &Problem, inputs: &[&[u8]]) -> Vec<Vec<u8>> {
    let dtype = problem.dtype();
    let copy = |(i, data): (usize, &&[u8])| {
        let shape = &problem.inputs()[i];
        match problem.layout(i) {
            Some(at) => materialised(dtype, shape, &at.strides, at.offset, data),
            None => data.to_vec(),
        }
    };
    let copies: Vec<Vec<u8>> = inputs.iter().enumerate().map(copy).collect();
    let shapes = problem.inputs().iter().map(Vec::as_slice);
    let inputs = shapes.zip(copies.iter().map(Vec::as_slice));
    let question = |op| Question {
        op,
        dtype,
        inputs: inputs.clone().collect(),
        reduced: problem.reduced().to_vec(),
        keepdims: true,
        last: problem.selects_last_index(),
        nan: problem.nan_policy(),
        copy: problem.is_copy(),
    };
    let outputs = problem.outputs();
    if problem.op() == Op::Extremes {
        let [min, max] = [Op::ReduceMin, Op::ReduceMax].map(|op| question(op).answer().1);
        let [first, second] = [Op::ArgMin, Op::ArgMax].map(|op| question(op).indices());
        let size = outputs[2].dtype.size();
        return vec![min, max, narrow(&first, size), narrow(&second, size)];
    }
    if let Some(k) = problem.k() {
        let op = [Op::ArgMax, Op::ArgMin][usize::from(problem.gives_smallest())];
        return question(op).top(k, outputs[1].dtype.size());
    }
    let question = question(problem.op());
    let indices = || narrow(&question.indices(), outputs[0].dtype.size());
    match outputs.len() {
        2 => vec![indices(), question.elements()],
        _ if problem.op().is_index() => vec![indices()],
        _ => vec![question.answer().1],
    }
}

/// Indices as integers of `size` bytes.
fn narrow(indices: &[u64], size: u64) -> Vec<u8> {
    let bytes = |i: &u64| i.to_le_bytes().into_iter().take(size as usize);
    indices.iter().flat_map(bytes).collect()
}

/// A node in the terms of the standard, axes already resolved.
pub struct Question<'a> {
    pub op: Op,
    pub dtype: DType,
    pub inputs: Vec<(&'a [u64], &'a [u8])>,
    /// Which dimensions are reduced.
    pub reduced: Vec<bool>,
    pub keepdims: bool,
    pub last: bool,
    pub nan: NanPolicy,
    /// Whether the result is a copy.
    pub copy: bool,
}

/// An element's value.
#[derive(Clone, Copy)]
pub enum Wide {
    Float(f64),
    Integer(i128),
}

impl Wide {
    pub fn read(dtype: DType, bytes: &[u8]) -> Wide {
        fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.try_into().unwrap()
        }
        match dtype {
            DType::BF16 => Wide::Float(bf16::from_le_bytes(array(bytes)).to_f64()),
            DType::F16 => Wide::Float(f16::from_le_bytes(array(bytes)).to_f64()),
            DType::F32 => Wide::Float(f32::from_le_bytes(array(bytes)).into()),
            DType::F64 => Wide::Float(f64::from_le_bytes(array(bytes))),
            DType::I8 => Wide::Integer(i8::from_le_bytes(array(bytes)).into()),
            DType::I16 => Wide::Integer(i16::from_le_bytes(array(bytes)).into()),
            DType::I32 => Wide::Integer(i32::from_le_bytes(array(bytes)).into()),
            DType::I64 => Wide::Integer(i64::from_le_bytes(array(bytes)).into()),
            DType::U8 => Wide::Integer(bytes[0].into()),
            DType::U16 => Wide::Integer(u16::from_le_bytes(array(bytes)).into()),
            DType::U32 => Wide::Integer(u32::from_le_bytes(array(bytes)).into()),
            DType::U64 => Wide::Integer(u64::from_le_bytes(array(bytes)).into()),
            DType::Bool => Wide::Integer((bytes[0] != 0).into()),
            other => panic!("no such type here: {other}"),
        }
    }

    pub fn is_nan(self) -> bool {
        matches!(self, Wide::Float(v) if v.is_nan())
    }

    /// Whether it is smaller; with `signs`, -0 is smaller than +0.
    pub fn below(self, other: Wide, signs: bool) -> bool {
        match (self, other) {
            (Wide::Float(a), Wide::Float(b)) if a == 0.0 && b == 0.0 => {
                signs && a.is_sign_negative() && b.is_sign_positive()
            }
            (Wide::Float(a), Wide::Float(b)) => a < b,
            (Wide::Integer(a), Wide::Integer(b)) => a < b,
            _ => panic!("one type at a time"),
        }
    }

    pub fn magnitude(self) -> Wide {
        match self {
            Wide::Float(x) => Wide::Float(x.abs()),
            Wide::Integer(x) => Wide::Integer(x.abs()),
        }
    }
}

impl Question<'_> {
    /// Shape and bytes of the answer.
    pub fn answer(&self) -> (Vec<u64>, Vec<u8>) {
        let (shape, bytes) = self.inputs[0];
        if self.copy {
            return (shape.to_vec(), bytes.to_vec());
        }
        match self.op.is_elementwise() {
            true => self.elementwise(),
            false => self.reduction(),
        }
    }

    fn elementwise(&self) -> (Vec<u64>, Vec<u8>) {
        let rank = self.inputs.iter().map(|i| i.0.len()).max().unwrap();
        let aligned: Vec<Vec<u64>> = self.inputs.iter().map(|i| align(i.0, rank)).collect();
        let shape: Vec<u64> = (0..rank)
            .map(|d| broadcast(aligned.iter().map(|s| s[d])))
            .collect();
        let mut out = Vec::new();
        for at in coordinates(&shape) {
            let sets = self.inputs.iter().zip(&aligned).map(|((_, bytes), shape)| {
                let at = at.iter().zip(shape);
                let at = at.map(|(&i, &n)| if n == 1 { 0 } else { i });
                let at: Vec<u64> = at.collect();
                self.element(bytes, offset(&at, shape))
            });
            out.extend(self.value(&sets.collect::<Vec<_>>()));
        }
        (shape, out)
    }

    fn reduction(&self) -> (Vec<u64>, Vec<u8>) {
        let shape = self.inputs[0].0;
        let mut out = Vec::new();
        self.segments(|set| match self.op.is_index() {
            true => out.extend((self.index(set) as i64).to_le_bytes()),
            false if self.op.is_sum() => out.extend(exact::sum(self.op, self.dtype, self.nan, set)),
            false => out.extend(self.value(set)),
        });
        let dims = shape.iter().zip(&self.reduced);
        let dims = dims.filter(|(_, r)| self.keepdims || !**r);
        (dims.map(|(&d, &r)| if r { 1 } else { d }).collect(), out)
    }

    fn indices(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.segments(|set| all.push(self.index(set) as u64));
        all
    }

    /// The elements that the indices point to.
    fn elements(&self) -> Vec<u8> {
        let mut all = Vec::new();
        self.segments(|set| all.extend(set[self.index(set)]));
        all
    }

    /// The best elements of each segment and their indices of `size` bytes: the best of those that are left, again and again.
    fn top(&self, k: u64, size: u64) -> Vec<Vec<u8>> {
        let shape = self.inputs[0].0;
        if k == 0 || shape.contains(&0) {
            return vec![Vec::new(); 2]; // The other dimensions may have any size.
        }
        let mut all = Vec::new();
        self.segments(|set| {
            let mut left: Vec<usize> = (0..set.len()).collect();
            for _ in 0..k {
                let rest: Vec<&[u8]> = left.iter().map(|&i| set[i]).collect();
                let index = left.remove(self.index(&rest));
                all.push((index as u64, set[index].to_vec()));
            }
        });
        let axis = self.reduced.iter().position(|&reduced| reduced);
        let inner: u64 = axis.map_or(1, |axis| shape[axis + 1..].iter().product());
        // Rank by rank of a row of segments.
        let rows = all.chunks((k * inner) as usize).flat_map(|row| {
            let at = |i: u64| row[(i % inner * k + i / inner) as usize].clone();
            (0..k * inner).map(at)
        });
        let (indices, elements): (Vec<u64>, Vec<Vec<u8>>) = rows.unzip();
        vec![elements.concat(), narrow(&indices, size)]
    }

    /// Calls a function with the elements of each segment.
    fn segments(&self, mut each: impl FnMut(&[&[u8]])) {
        let (shape, bytes) = self.inputs[0];
        let part = |reduced: bool| -> Vec<u64> {
            let dims = shape.iter().zip(&self.reduced);
            dims.map(|(&d, &r)| if r == reduced { d } else { 1 })
                .collect()
        };
        let (kept, within) = (part(false), part(true));
        for outer in coordinates(&kept) {
            let set: Vec<&[u8]> = coordinates(&within)
                .map(|inner| {
                    let at: Vec<u64> = outer.iter().zip(inner).map(|(&o, i)| o + i).collect();
                    self.element(bytes, offset(&at, shape))
                })
                .collect();
            each(&set);
        }
    }

    fn element<'a>(&self, bytes: &'a [u8], at: u64) -> &'a [u8] {
        let size = self.dtype.size() as usize;
        &bytes[at as usize * size..][..size]
    }

    fn better(&self, a: Wide, b: Wide, signs: bool) -> bool {
        match self.op.is_max() {
            true => b.below(a, signs),
            false => a.below(b, signs),
        }
    }

    fn index(&self, set: &[&[u8]]) -> usize {
        let values: Vec<Wide> = set.iter().map(|e| self.read(e)).collect();
        let nan = |v: &Wide| v.is_nan();
        let nans = match (self.last, self.nan) {
            _ if values.iter().all(nan) => Some(if self.last { set.len() - 1 } else { 0 }),
            (_, NanPolicy::Ignore) => None,
            (true, _) => values.iter().rposition(nan),
            (false, _) => values.iter().position(nan),
        };
        nans.unwrap_or_else(|| {
            let numbers = values.iter().enumerate().filter(|(_, v)| !v.is_nan());
            let mut best = values.iter().position(|v| !v.is_nan()).unwrap_or(0);
            for (i, &value) in numbers {
                let ties = !self.better(values[best], value, false);
                if self.better(value, values[best], false) || (self.last && ties) {
                    best = i;
                }
            }
            best
        })
    }

    fn value(&self, set: &[&[u8]]) -> Vec<u8> {
        let read = |e: &[u8]| self.read(e);
        let numbers: Vec<&[u8]> = set.iter().copied().filter(|e| !read(e).is_nan()).collect();
        let nans = numbers.len() < set.len();
        if nans && (numbers.is_empty() || self.nan == NanPolicy::Propagate) {
            return nan(self.dtype);
        }
        let Some(&first) = numbers.first() else {
            return self.of_nothing();
        };
        let best = numbers.iter().fold(first, |best, e| {
            match self.better(read(e), read(best), true) {
                true => e,
                false => best,
            }
        });
        match (self.dtype.class(), self.by_magnitude()) {
            (Class::Bool, _) => vec![u8::from(best[0] != 0)],
            (Class::Float, true) => {
                let mut bytes = best.to_vec();
                bytes[best.len() - 1] &= 0x7f;
                bytes
            }
            (Class::Signed, true) => match read(best) {
                Wide::Integer(x) => x.to_le_bytes()[..best.len()].to_vec(),
                Wide::Float(_) => panic!("a float of an integer type"),
            },
            _ => best.to_vec(),
        }
    }

    fn by_magnitude(&self) -> bool {
        matches!(self.op, Op::ArgMaxAbs | Op::ReduceMaxAbs)
    }

    fn read(&self, element: &[u8]) -> Wide {
        let value = Wide::read(self.dtype, element);
        match self.by_magnitude() {
            true => value.magnitude(),
            false => value,
        }
    }

    /// The identity: no element loses to it.
    fn of_nothing(&self) -> Vec<u8> {
        let size = self.dtype.size() as usize;
        if self.by_magnitude() {
            return vec![0; size];
        }
        let (least, greatest) = limits(self.dtype);
        let identity = if self.op.is_max() { least } else { greatest };
        identity.to_le_bytes()[..size].to_vec()
    }
}

fn nan(dtype: DType) -> Vec<u8> {
    float_bits(dtype).1.to_le_bytes()[..dtype.size() as usize].to_vec()
}

fn align(shape: &[u64], rank: usize) -> Vec<u64> {
    [vec![1; rank - shape.len()], shape.to_vec()].concat()
}

fn broadcast(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(1, |all, size| if all == 1 { size } else { all })
}

fn offset(at: &[u64], shape: &[u64]) -> u64 {
    at.iter().zip(shape).fold(0, |sum, (i, n)| sum * n + i)
}

/// All coordinates of a shape, in C order.
pub fn coordinates(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let count = match shape.contains(&0) {
        true => 0,
        false => shape.iter().product(),
    };
    let shape = shape.to_vec();
    (0..count).map(move |mut at| {
        let digits = shape.iter().rev().map(|n| {
            let digit = at % n;
            at /= n;
            digit
        });
        let mut digits: Vec<u64> = digits.collect();
        digits.reverse();
        digits
    })
}
