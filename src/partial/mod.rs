//! Partial results: what a part of the segments contributes, to be merged with the other parts.
//!
//! Keeps the order of candidates; how sums are kept, `sums.rs` knows. Devices and the CPU give the same partial
//! results, so that parts may be reduced wherever they are.

mod bytes;
mod error;
pub(crate) mod shard;

pub use error::PartialError;
pub use shard::Shard;

use crate::keys::Keys;
use crate::problem::elements;
use crate::sums::{Sum, Total};
use crate::{DType, Error, IndexType, NanPolicy, Op, Output, Problem, plan::schedule, reference};

/// The best of a part of every segment: for each output the order-preserving key of the best
/// element so far and its index in the whole segment. Of a sum, what it is exactly.
///
/// Merging is associative and commutative, also across ties and NaNs, so that the parts of a
/// tensor, cut along the reduced axis anyhow and reduced anywhere, give the result of the whole
/// byte for byte in whatever order they are merged. A part of a sum counts as often as it is merged.
///
/// ```
/// use wgreduce::{DType, Element, Partial, Problem};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let data = [3.0f32, 1.0, 2.0, 1.0, 5.0];
/// let part = |range: std::ops::Range<usize>| {
///     let problem = Problem::arg_min(DType::F32, &[range.len() as u64], 0)?;
///     let bytes = f32::bytes(&data[range.clone()]);
///     Partial::from_reference(&problem, range.start as u64, bytes)
/// };
/// let mut all = part(2..5)?;
/// all.merge(&part(0..2)?)?;
/// assert_eq!(i64::from_bytes(&all.finish()?[0]), [1]);
/// # Ok(())
/// # }
/// ```
///
/// # Layout
///
/// [`Partial::to_bytes`] writes, little endian:
///
/// | bytes | what |
/// |---|---|
/// | 0..4 | `WGRP` |
/// | 4 | the layout: 1 |
/// | 5 | the operator: 0 ArgMin, 1 ArgMax, 2 ReduceMin, 3 ReduceMax, 4 ArgMaxAbs, 5 ReduceMaxAbs, 6 ReduceSum, 7 ReduceMean, 8 ReduceL1, 9 ReduceL2, 10 ReduceSumSquare |
/// | 6 | the element type, by its number in ONNX's `TensorProto.DataType` |
/// | 7 | the index type, likewise; 0 for value operators |
/// | 8 | flags: 1 NaN is ignored, 2 the last of equals wins, 4 with values, 8 of no elements |
/// | 9..12 | 0 |
/// | 12..16 | the rank of the output |
/// | 8 each | the output's dimensions |
/// | 16 or 24 each | per output, in C order: key, index and, with values, the element's bits |
///
/// Of sums, behind the dimensions, 8 bytes tell how many elements each output has taken, and per output come the
/// words of a partial sum as the shaders keep it. Those of integers modulo 2^bits are four: the sum, extended to 64
/// bits, and 0. All others are as many words as hold a word of flags (1 NaN, 2 +infinity, 4 -infinity, 8 -0 and nothing else, 16
/// anything but -0 and NaN), limbs of 24 bits, the least first and the last with a sign, and, of a mean without its NaNs,
/// three limbs of how many there were; up to a power of two 0 follows. Limb 0 begins with the least bit
/// that an element, or a square, can have.
///
/// The key is what [`crate::unstable::Keys::key`] gives: the smallest wins. The index counts from the start of
/// the whole; value operators have 0. Of no elements all are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    kind: Kind,
    shape: Vec<u64>,
    /// Of no elements: the records mean nothing.
    empty: bool,
    records: Vec<Record>,
    /// Of sums, instead of records.
    totals: Vec<Total>,
    /// Elements that each output has taken.
    count: u64,
}

/// What must be equal for partial results to belong together, besides the output's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    op: Op,
    dtype: DType,
    nan: NanPolicy,
    last: bool,
    /// Of index operators, the index type.
    index: Option<IndexType>,
    values: bool,
}

/// The best so far of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Record {
    key: u64,
    index: u64,
    /// With values: the element's bits.
    element: u64,
}

impl Kind {
    fn of(problem: &Problem) -> Result<Kind, PartialError> {
        let op = problem.op();
        if op.is_elementwise() || problem.is_copy() {
            return Err(PartialError::ReducesNothing { op });
        }
        if op == Op::Extremes {
            return Err(PartialError::Fused { op });
        }
        let outputs = problem.outputs();
        let index = match outputs[0].dtype {
            DType::I32 => IndexType::I32,
            DType::U32 => IndexType::U32,
            _ => IndexType::I64,
        };
        Ok(Kind {
            op,
            dtype: problem.dtype(),
            nan: problem.nan_policy(),
            last: problem.selects_last_index(),
            index: op.is_index().then_some(index),
            values: outputs.len() > 1,
        })
    }

    fn keys(&self) -> Keys {
        let zeros_tie = self.index.is_some();
        match self.op.order() {
            Some(order) => Keys::new(self.dtype, order, self.nan, zeros_tie),
            None => Keys::of_bits(8 * self.dtype.size() as u32),
        }
    }

    /// What is summed, if it is.
    fn sum(&self) -> Option<Sum> {
        Sum::new(self.op, self.dtype, self.nan)
    }

    /// Bytes of a record.
    fn stride(&self) -> usize {
        match self.sum() {
            Some(sum) => 4 * sum.partial_words() as usize,
            None if self.values => 24,
            None => 16,
        }
    }

    /// Whether the first is preferred. A total order, so that merging commutes whatever is merged.
    fn better(&self, a: &Record, b: &Record) -> bool {
        let place = |r: &Record| if self.last { !r.index } else { r.index };
        (a.key, place(a), a.element) < (b.key, place(b), b.element)
    }
}

impl Partial {
    /// The partial result of a part, by the CPU reference. `problem` is the part's own; `offset`
    /// is where the part begins along the reduced axis of the whole, which value operators do
    /// not need.
    ///
    /// # Errors
    /// [`PartialError::ReducesNothing`], [`PartialError::Offset`]; [`crate::ProblemError`] when
    /// the input is not that of the problem.
    pub fn from_reference(problem: &Problem, offset: u64, input: &[u8]) -> Result<Partial, Error> {
        let mut partial = Partial::none(problem, offset)?;
        let Kind { dtype, index, .. } = partial.kind;
        if let Some(sum) = partial.kind.sum() {
            let totals = &mut partial.totals;
            reference::each_element(problem, input, |output, element| {
                sum.take(&mut totals[output], element);
            })?;
            return Ok(partial);
        }
        let problem = match index {
            None => problem.clone(),
            Some(_) => problem
                .clone()
                .index_type(IndexType::I64)?
                .with_values(true)?,
        };
        let outputs = reference::evaluate(&problem, &[input])?;
        if partial.empty {
            return Ok(partial);
        }
        let keys = partial.kind.keys();
        let last = outputs.len() - 1;
        let elements = outputs[last].chunks_exact(dtype.size() as usize);
        for (record, element) in partial.records.iter_mut().zip(elements) {
            let bits = word(element);
            record.key = keys.key(bits);
            record.element = if partial.kind.values { bits } else { 0 };
        }
        if index.is_some() {
            let indices = outputs[0].chunks_exact(8).map(word);
            let records = partial.records.iter_mut().zip(indices);
            records.for_each(|(record, i)| record.index = offset + i);
        }
        Ok(partial)
    }

    /// Takes records that a device wrote, from that byte of all of them on.
    fn take(&mut self, offset: u64, at: u64, bytes: &[u8]) {
        let Kind { dtype, index, .. } = self.kind;
        if let Some(sum) = self.kind.sum() {
            let stride = self.kind.stride();
            let totals = self.totals[at as usize / stride..].iter_mut();
            for (total, bytes) in totals.zip(bytes.chunks_exact(stride)) {
                let mut words = sum_words(bytes);
                if !sum.is_exact() {
                    // Behind them lies the place of an element, which a sum has not.
                    words[2..].fill(0);
                }
                *total = sum.total(&words).unwrap_or_else(|| sum.nothing());
            }
            return;
        }
        let places = self.records[at as usize / 16..].iter_mut();
        for (record, bytes) in places.zip(bytes.chunks_exact(16)) {
            let key = word(&bytes[..8]);
            // Below 64 bits a key is the first of two words.
            record.key = if dtype.size() < 8 { key << 32 } else { key };
            if index.is_some() {
                record.index = word(&bytes[8..]) + offset;
            }
        }
    }

    /// A partial result whose records are to be filled in.
    fn none(problem: &Problem, offset: u64) -> Result<Partial, PartialError> {
        let kind = Kind::of(problem)?;
        let len = problem.reduced_len();
        let end = offset
            .checked_add(len)
            .filter(|&end| end <= i64::MAX as u64);
        if kind.index.is_some() && end.is_none() {
            return Err(PartialError::Offset { offset, len });
        }
        let shape = problem.outputs().swap_remove(0).shape;
        let outputs = elements(&shape) as usize;
        let (records, totals, count) = match kind.sum() {
            Some(sum) => (Vec::new(), vec![sum.nothing(); outputs], len),
            None => (vec![Record::default(); outputs], Vec::new(), 0),
        };
        Ok(Partial {
            records,
            totals,
            count,
            empty: len == 0,
            shape,
            kind,
        })
    }

    /// Whether this can be of a problem's elements in a range along the reduced axis: the same
    /// operator, type, options and output shape, no index outside of the range, and no elements only
    /// where there are none.
    pub fn is_of(&self, problem: &Problem, range: &std::ops::Range<u64>) -> bool {
        let same = Kind::of(problem).is_ok_and(|kind| kind == self.kind);
        let shape = &problem.outputs()[0].shape;
        let nothing = problem.reduced_len() == 0 || range.is_empty();
        let inside = |record: &Record| range.contains(&record.index);
        // Merged, it may have parts that are apart.
        let counted = self.kind.sum().is_none() || self.count <= problem.reduced_len();
        same && counted
            && *shape == self.shape
            && self.empty == nothing
            && (self.kind.index.is_none() || self.records.iter().all(inside))
    }

    /// The outputs of the problem.
    pub fn outputs(&self) -> Vec<Output> {
        let output = |dtype| Output {
            dtype,
            shape: self.shape.clone(),
        };
        let Kind {
            op, index, dtype, ..
        } = self.kind;
        let values = (index.is_none() || self.kind.values).then_some(op.value_type(dtype));
        let all = index.map(IndexType::dtype).into_iter().chain(values);
        all.map(output).collect()
    }

    /// Takes another part in. Parts may come in any order and, but for sums, more than once.
    ///
    /// # Errors
    /// [`PartialError::Different`], [`PartialError::TooMany`]; nothing has changed then.
    pub fn merge(&mut self, other: &Partial) -> Result<(), PartialError> {
        self.check_same(other)?;
        if other.empty {
            return Ok(());
        }
        if let Some(sum) = self.kind.sum() {
            let (ours, theirs) = (self.count, other.count);
            let count = ours.checked_add(theirs).filter(|&n| n <= i64::MAX as u64);
            self.count = count.ok_or(PartialError::TooMany { ours, theirs })?;
            let totals = self.totals.iter_mut().zip(&other.totals);
            totals.for_each(|(ours, theirs)| sum.join(ours, theirs));
            self.empty = false;
            return Ok(());
        }
        if self.empty {
            self.clone_from(other);
            return Ok(());
        }
        for (ours, theirs) in self.records.iter_mut().zip(&other.records) {
            if self.kind.better(theirs, ours) {
                *ours = *theirs;
            }
        }
        Ok(())
    }

    fn check_same(&self, other: &Partial) -> Result<(), PartialError> {
        let (a, b) = (&self.kind, &other.kind);
        let index = |kind: &Kind| match kind.index {
            Some(index) => index.dtype().to_string(),
            None => "none".into(),
        };
        let shape = |partial: &Partial| format!("{:?}", partial.shape);
        let nan = |kind: &Kind| format!("{:?}", kind.nan);
        let pairs = [
            ("the operator", a.op.to_string(), b.op.to_string()),
            ("the element type", a.dtype.to_string(), b.dtype.to_string()),
            ("the NaN policy", nan(a), nan(b)),
            ("select_last_index", a.last.to_string(), b.last.to_string()),
            ("the index type", index(a), index(b)),
            (
                "the presence of values",
                a.values.to_string(),
                b.values.to_string(),
            ),
            ("the output's shape", shape(self), shape(other)),
        ];
        match pairs.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            None => Ok(()),
            Some((what, ours, theirs)) => Err(PartialError::Different { what, ours, theirs }),
        }
    }

    /// The result, if these are all parts: the bytes of each of [`Partial::outputs`].
    ///
    /// # Errors
    /// [`PartialError::Index`] when an index does not fit its type.
    pub fn finish(&self) -> Result<Vec<Vec<u8>>, PartialError> {
        let Kind { op, dtype, .. } = self.kind;
        let (keys, size) = (self.kind.keys(), dtype.size() as usize);
        if let Some(sum) = self.kind.sum() {
            let elements = self.totals.iter().map(|t| sum.element(t, self.count));
            return Ok(vec![bytes(elements, size)]);
        }
        let Some(index_type) = self.kind.index else {
            let nothing = schedule::identity(dtype, op);
            let element = |r: &Record| {
                if self.empty {
                    nothing
                } else {
                    keys.element(r.key)
                }
            };
            return Ok(vec![bytes(self.records.iter().map(element), size)]);
        };
        let most = match index_type {
            IndexType::I64 => i64::MAX as u64,
            IndexType::I32 => i32::MAX as u64,
            IndexType::U32 => u32::MAX.into(),
        };
        if let Some(output) = self.records.iter().position(|r| r.index > most) {
            return Err(PartialError::Index {
                index: self.records[output].index,
                output: output as u64,
                index_type,
            });
        }
        let indices = self.records.iter().map(|r| r.index);
        let mut outputs = vec![bytes(indices, index_type.dtype().size() as usize)];
        if self.kind.values {
            outputs.push(bytes(self.records.iter().map(|r| r.element), size));
        }
        Ok(outputs)
    }
}

/// A number of up to 8 bytes.
fn word(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

/// Words of 4 bytes.
fn sum_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| word(w) as u32).collect()
}

/// The low bytes of numbers, one after another.
fn bytes(words: impl Iterator<Item = u64>, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(words.size_hint().0 * size);
    words.for_each(|w| bytes.extend(&w.to_le_bytes()[..size]));
    bytes
}
