//! Partial results: the result of a part of every segment, to be merged with the other parts.
//!
//! Orders candidates; `sums` knows how sums are kept. Devices and the CPU give the same partial results, so each
//! part may be reduced anywhere.

mod bytes;
mod error;
pub(crate) mod shard;

pub use error::PartialError;
pub use shard::Shard;

use crate::keys::Keys;
use crate::problem::elements;
use crate::sums::{Sum, Total};
use crate::{
    DType, Error, IndexType, NanPolicy, Op, Order, Output, Problem, plan::schedule, reference,
};

/// The result of a part of every segment. For each output it has the order-preserving key of the best element so far and
/// its index in the whole segment. For TopK it has those of the best elements in order, and for sums the exact sum.
///
/// Merging is associative and commutative, also for ties and NaNs. A tensor may be cut along the
/// reduced axis in any way, and the parts merged in any order: the result is that of the whole, byte for byte.
/// Merge a part of a sum or of TopK only once: it counts as often as it is merged. A part of TopK may have fewer elements
/// than are wanted of the whole.
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
/// | 4 | the layout: 3 |
/// | 5 | the operator: 0 ArgMin, 1 ArgMax, 2 ReduceMin, 3 ReduceMax, 4 ArgMaxAbs, 5 ReduceMaxAbs, 6 ReduceSum, 7 ReduceMean, 8 ReduceL1, 9 ReduceL2, 10 ReduceSumSquare, 11 TopK |
/// | 6 | the element type, by its number in ONNX's `TensorProto.DataType` |
/// | 7 | the index type, likewise; 0 for value operators |
/// | 8 | flags: 1 NaN is ignored, 2 the last of equals wins, 4 with values, 8 of no elements, 16 TopK of the smallest |
/// | 9..12 | TopK: the axis; else 0 |
/// | 12..16 | the rank of the output |
/// | 8 each | the output's dimensions |
/// | 16 or 24 each | per output, in C order: key, index and, with values, the element's bits |
///
/// For TopK, 8 bytes after the dimensions give the number of records of each segment. The records of one segment after
/// the other follow, the best first. In the dimensions k stands in place of the length of the axis.
///
/// For sums, 8 bytes after the dimensions give the number of elements of each output. The words of a partial sum follow
/// for each output. A sum of integers modulo 2^bits has four words: the sum, extended to 64 bits, and 0. Any other sum
/// has these words, with zeros after them up to a power of two:
///
/// - flags: 1 NaN, 2 +infinity, 4 -infinity, 8 -0 and nothing else, 16 anything but -0 and NaN;
/// - for a mean that ignores NaNs, three digits that count the numbers;
/// - digits of 22 bits, the least first. The last one is a whole word with a sign. Digit 0 begins with the least bit
///   that an element, or a square, can have.
///
/// The key is what [`crate::unstable::Keys::key`] gives; the smallest wins. The index counts from the start of
/// the whole segment; value operators have 0. Without elements, all fields are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    kind: Kind,
    shape: Vec<u64>,
    /// There were no elements: the records mean nothing.
    empty: bool,
    records: Vec<Record>,
    /// TopK: records of each segment; they lie side by side.
    held: u64,
    /// For sums, instead of records.
    totals: Vec<Total>,
    /// For sums: elements of each output.
    count: u64,
}

/// What must be equal to merge partial results, besides the output's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    op: Op,
    dtype: DType,
    nan: NanPolicy,
    last: bool,
    /// For index operators, the index type.
    index: Option<IndexType>,
    values: bool,
    /// For TopK, the axis, and whether the smallest are wanted.
    axis: Option<usize>,
    smallest: bool,
}

/// The best element so far of an output.
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
        Ok(Kind {
            op,
            dtype: problem.dtype(),
            nan: problem.nan_policy(),
            last: problem.selects_last_index(),
            index: problem.index_result_type(),
            values: problem.gives_values() || op == Op::TopK,
            axis: problem.k().and(problem.axis()),
            smallest: problem.gives_smallest(),
        })
    }

    fn keys(&self) -> Keys {
        let zeros_tie = self.index.is_some();
        let order = match self.smallest {
            true => Some(Order::Least),
            false => self.op.order(),
        };
        match order {
            Some(order) => Keys::new(self.dtype, order, self.nan, zeros_tie),
            None => Keys::of_bits(8 * self.dtype.size() as u32),
        }
    }

    /// How sums are kept; `None` for other operators.
    fn sum(&self) -> Option<Sum> {
        Sum::new(self.op, self.dtype, self.nan)
    }

    /// Bytes of a record or partial sum.
    fn stride(&self) -> usize {
        match self.sum() {
            Some(sum) => 4 * sum.partial_words() as usize,
            None if self.values => 24,
            None => 16,
        }
    }

    /// The shape of the records for outputs of a shape: TopK has as many as are held in place of k.
    fn shape(&self, outputs: &[u64], held: u64) -> Vec<u64> {
        let mut shape = outputs.to_vec();
        if let Some(axis) = self.axis {
            shape[axis] = held;
        }
        shape
    }

    /// Elements that a tensor can have.
    fn most_elements(&self) -> u64 {
        i64::MAX as u64 / self.dtype.size()
    }

    /// Whether `a` is better than `b`: a total order, so that merging is commutative.
    fn better(&self, a: &Record, b: &Record) -> bool {
        let place = |r: &Record| if self.last { !r.index } else { r.index };
        (a.key, place(a), a.element) < (b.key, place(b), b.element)
    }
}

impl Partial {
    /// The partial result of a part, by the CPU reference. `problem` describes the part alone; `offset`
    /// is where the part begins along the reduced axis of the whole. Value operators ignore `offset`.
    ///
    /// # Errors
    /// [`PartialError::ReducesNothing`], [`PartialError::Fused`], [`PartialError::Offset`];
    /// [`crate::ProblemError`] when the input does not fit the problem.
    pub fn from_reference(problem: &Problem, offset: u64, input: &[u8]) -> Result<Partial, Error> {
        problem.check_part()?;
        problem.check_inputs(&[input.len() as u64])?;
        let mut partial = Partial::none(problem, offset)?;
        let Kind { dtype, index, .. } = partial.kind;
        let size = dtype.size() as usize;
        if let Some(sum) = partial.kind.sum() {
            reference::for_each_segment(problem, |output, positions| {
                let total = &mut partial.totals[output];
                for at in positions {
                    sum.take(total, word(&input[at as usize * size..][..size]));
                }
            });
            return Ok(partial);
        }
        let mut outputs = reference::evaluate(&problem.clone().of_part(), &[input])?;
        if partial.empty {
            return Ok(partial);
        }
        if partial.kind.axis.is_some() {
            // As index operators have them.
            outputs.swap(0, 1);
        }
        let keys = partial.kind.keys();
        let last = outputs.len() - 1;
        for i in 0..partial.records.len() {
            let at = partial.place(i);
            let bits = word(&outputs[last][at * size..][..size]);
            let record = &mut partial.records[i];
            record.key = keys.key(bits);
            record.element = if partial.kind.values { bits } else { 0 };
            if index.is_some() {
                record.index = offset + word(&outputs[0][8 * at..][..8]);
            }
        }
        Ok(partial)
    }

    /// Reads records that a device wrote; `at` is their first byte among all records. Refuses sums that no device leaves.
    fn take(&mut self, offset: u64, at: u64, bytes: &[u8]) -> Result<(), PartialError> {
        let Kind { dtype, index, .. } = self.kind;
        if let Some(sum) = self.kind.sum() {
            let stride = self.kind.stride();
            let totals = self.totals[at as usize / stride..].iter_mut();
            for (total, bytes) in totals.zip(bytes.chunks_exact(stride)) {
                let mut words = sum_words(bytes);
                if !sum.is_exact() {
                    // The words after the key are an index, which a sum does not have.
                    words[2..].fill(0);
                }
                *total = sum.left(&words).ok_or(PartialError::Invalid {
                    what: "partial sum of a device",
                    at,
                    value: words[0].into(),
                })?;
            }
            return Ok(());
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
        Ok(())
    }

    /// A partial result whose records are to be filled in.
    fn none(problem: &Problem, offset: u64) -> Result<Partial, PartialError> {
        let kind = Kind::of(problem)?;
        let len = problem.reduced_len();
        let end = offset.saturating_add(len);
        if kind.index.is_some() && end > i64::MAX as u64 {
            return Err(PartialError::Offset { offset, len });
        }
        let shape = problem.outputs().swap_remove(0).shape;
        let held = problem.k().map_or(1, |k| k.min(len));
        let outputs = elements(&kind.shape(&shape, held)) as usize;
        let (records, totals, count) = match kind.sum() {
            Some(sum) => (Vec::new(), vec![sum.nothing(); outputs], len),
            None => (vec![Record::default(); outputs], Vec::new(), 0),
        };
        Ok(Partial {
            records,
            held,
            totals,
            count,
            empty: len == 0,
            shape,
            kind,
        })
    }

    /// Whether this can be the partial result of a problem, whose elements are in a range along the reduced axis of
    /// the whole: operator, type, options and output shape are the same, no index is outside the range, a sum has
    /// as many elements, and it is empty only if there are none. The elements need not be neighbours in the range:
    /// `problem` is then as long as all of them together.
    pub fn is_of(&self, problem: &Problem, range: &std::ops::Range<u64>) -> bool {
        let same = Kind::of(problem).is_ok_and(|kind| kind == self.kind);
        let shape = &problem.outputs()[0].shape;
        let nothing = problem.reduced_len() == 0 || range.is_empty();
        let inside = |record: &Record| range.contains(&record.index);
        let counted = self.kind.sum().is_none() || self.count == problem.reduced_len();
        let held = problem.k().map_or(1, |k| k.min(problem.reduced_len()));
        same && counted
            && held == self.held
            && *shape == self.shape
            && self.empty == nothing
            && (self.kind.index.is_none() || self.records.iter().all(inside))
    }

    /// The outputs of the problem.
    pub fn outputs(&self) -> Vec<Output> {
        let output = |dtype| Output::new(dtype, &self.shape[..]);
        let kind = &self.kind;
        let values = kind.index.is_none() || kind.values;
        let values = values.then_some(kind.op.value_type(kind.dtype));
        let all = kind.index.map(IndexType::dtype).into_iter().chain(values);
        let mut all: Vec<Output> = all.map(output).collect();
        if kind.axis.is_some() {
            all.swap(0, 1);
        }
        all
    }

    /// The partial result of some outputs alone, by their numbers in C order. Its shape is `[outputs.len()]`. For TopK the
    /// numbers are those of segments, and the shape is `[outputs.len(), k]`. Several processes can so share the merging of
    /// large partial results: each merges such pieces.
    ///
    /// # Panics
    /// If there are fewer outputs.
    pub fn slice(&self, outputs: std::ops::Range<u64>) -> Partial {
        let range = |each: u64| (outputs.start * each) as usize..(outputs.end * each) as usize;
        let (records, totals) = match self.kind.sum() {
            Some(_) => (Vec::new(), self.totals[range(1)].to_vec()),
            None => (self.records[range(self.held)].to_vec(), Vec::new()),
        };
        let mut kind = self.kind;
        let mut shape = vec![outputs.end - outputs.start];
        if let Some(axis) = kind.axis {
            shape.push(self.shape[axis]);
            kind.axis = Some(1);
        }
        Partial {
            kind,
            shape,
            records,
            totals,
            ..*self
        }
    }

    /// Merges another part into this one. Parts may come in any order and, except for sums and TopK, more than once.
    ///
    /// # Errors
    /// [`PartialError::Different`], [`PartialError::TooMany`]; this is unchanged then.
    pub fn merge(&mut self, other: &Partial) -> Result<(), PartialError> {
        self.check_same(other)?;
        if other.empty {
            return Ok(());
        }
        if let Some(sum) = self.kind.sum() {
            let (ours, theirs) = (self.count, other.count);
            let count = ours.checked_add(theirs);
            let count = count.filter(|&n| n <= self.kind.most_elements());
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
        if let Some(axis) = self.kind.axis {
            self.merge_lists(other, self.shape[axis]);
            return Ok(());
        }
        for (ours, theirs) in self.records.iter_mut().zip(&other.records) {
            if self.kind.better(theirs, ours) {
                *ours = *theirs;
            }
        }
        Ok(())
    }

    /// Merges lists of both: the best `k` of each segment.
    fn merge_lists(&mut self, other: &Partial, k: u64) {
        let held = self.held.saturating_add(other.held).min(k);
        if held == 0 {
            return;
        }
        let [ours, theirs] = [&*self, other].map(|one| one.records.chunks(one.held as usize));
        let mut merged = Vec::with_capacity(ours.len() * held as usize);
        for (ours, theirs) in ours.zip(theirs) {
            let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
            let next = || match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) if self.kind.better(b, a) => theirs.next(),
                (Some(_), _) => ours.next(),
                _ => theirs.next(),
            };
            merged.extend(std::iter::from_fn(next).take(held as usize));
        }
        (self.records, self.held) = (merged, held);
    }

    /// Where record `i` is among results.
    fn place(&self, i: usize) -> usize {
        let Some(axis) = self.kind.axis else { return i };
        let inner = elements(&self.shape[axis + 1..]);
        let (segment, rank) = (i as u64 / self.held, i as u64 % self.held);
        ((segment / inner * self.held + rank) * inner + segment % inner) as usize
    }

    fn check_same(&self, other: &Partial) -> Result<(), PartialError> {
        let all = |partial: &Partial| {
            let kind = &partial.kind;
            let index = kind.index.map(|index| index.dtype().to_string());
            [
                ("the operator", kind.op.to_string()),
                ("the element type", kind.dtype.to_string()),
                ("the NaN policy", format!("{:?}", kind.nan)),
                ("select_last_index", kind.last.to_string()),
                ("the index type", index.unwrap_or("none".into())),
                ("the axis", format!("{:?}", kind.axis)),
                ("smallest", kind.smallest.to_string()),
                ("the presence of values", kind.values.to_string()),
                ("the output's shape", format!("{:?}", partial.shape)),
            ]
        };
        let mut pairs = all(self).into_iter().zip(all(other));
        match pairs.find(|(ours, theirs)| ours != theirs) {
            None => Ok(()),
            Some(((what, ours), (_, theirs))) => {
                Err(PartialError::Different { what, ours, theirs })
            }
        }
    }

    /// The result once all parts are merged: the bytes of each of [`Partial::outputs`].
    ///
    /// # Errors
    /// [`PartialError::Index`] when an index does not fit its type; [`PartialError::TooFew`] when parts of TopK are
    /// missing.
    pub fn finish(&self) -> Result<Vec<Vec<u8>>, PartialError> {
        let Kind { op, dtype, .. } = self.kind;
        let (keys, size) = (self.kind.keys(), dtype.size() as usize);
        if let Some(sum) = self.kind.sum() {
            let mut bytes = Vec::with_capacity(self.totals.len() * size);
            let totals = self.totals.iter();
            totals.for_each(|total| sum.write(total, self.count, &mut bytes));
            return Ok(vec![bytes]);
        }
        let Some(index_type) = self.kind.index else {
            let nothing = schedule::identity(dtype, op);
            let element = |r: &Record| match self.empty {
                true => nothing,
                false => keys.element(r.key),
            };
            return Ok(vec![bytes(self.records.iter().map(element), size)]);
        };
        if let Some(axis) = self.kind.axis {
            let (k, held) = (self.shape[axis], self.held);
            if held < k {
                return Err(PartialError::TooFew { k, held });
            }
        }
        // In the order of results.
        let mut records = self.records.clone();
        for (i, record) in self.records.iter().enumerate() {
            records[self.place(i)] = *record;
        }
        let most = index_type.greatest();
        if let Some(output) = records.iter().position(|r| r.index > most) {
            return Err(PartialError::Index {
                index: records[output].index,
                output: output as u64,
                index_type,
            });
        }
        let indices = records.iter().map(|r| r.index);
        let mut outputs = vec![bytes(indices, index_type.dtype().size() as usize)];
        if self.kind.values {
            outputs.push(bytes(records.iter().map(|r| r.element), size));
        }
        if self.kind.axis.is_some() {
            outputs.swap(0, 1);
        }
        Ok(outputs)
    }
}

/// A number of up to 8 bytes.
pub(crate) fn word(bytes: &[u8]) -> u64 {
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
