//! Partial results: what a part of the segments contributes, to be merged with the other parts.
//!
//! Keeps the order of candidates and how they are written to bytes. Devices and the CPU reference
//! give the same partial results, so that parts may be reduced wherever they are.

use crate::context::Drive;
use crate::kernel::Keys;
use crate::problem::elements;
use crate::stream::Stream;
use crate::{
    DType, Error, IndexType, NanPolicy, Op, Output, Plan, Problem, Reducer, reference, schedule,
};
use std::io;

const MAGIC: [u8; 4] = *b"WGRP";
/// Operators by their number in the layout.
const OPS: [Op; 6] = [
    Op::ArgMin,
    Op::ArgMax,
    Op::ReduceMin,
    Op::ReduceMax,
    Op::ArgMaxAbs,
    Op::ReduceMaxAbs,
];
const VERSION: u8 = 1;
/// Bytes before the shape.
const HEADER: usize = 16;

/// Why partial results could not be made, merged, finished or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// An operator, or an option of it, that combines nothing along an axis.
    #[error("{op} of this problem reduces nothing: it has no partial results")]
    ReducesNothing {
        /// The operator.
        op: Op,
    },
    /// An operator with results of several kinds.
    #[error("{op} has several results: take the partial results of each of its operators")]
    Fused {
        /// The operator.
        op: Op,
    },
    /// A part whose indices would not fit 63 bits.
    #[error("a part of {len} elements at offset {offset} goes beyond 2^63 - 1")]
    Offset {
        /// Where the part begins in its segments.
        offset: u64,
        /// Elements of the part along the axis.
        len: u64,
    },
    /// Partial results of problems that differ in more than the length of their segments.
    #[error("partial results of another problem: {what} is {theirs}, not {ours}")]
    Different {
        /// In what they differ.
        what: &'static str,
        /// What the first has.
        ours: String,
        /// What the one to be merged has.
        theirs: String,
    },
    /// An index that the problem's index type cannot hold.
    #[error("index {index} of output {output} does not fit {}", .index_type.dtype())]
    Index {
        /// The index.
        index: u64,
        /// The output element that has it.
        output: u64,
        /// The type.
        index_type: IndexType,
    },
    /// Bytes that do not begin like partial results.
    #[error("no partial results: the bytes begin with {found:02x?}")]
    Magic {
        /// The first four bytes, or as many as there are.
        found: Vec<u8>,
    },
    /// Bytes of a layout that this version does not know.
    #[error("partial results of layout {found}; this version reads layout {VERSION}")]
    Version {
        /// The layout they claim.
        found: u8,
    },
    /// More or fewer bytes than the header says.
    #[error("partial results of {actual} bytes where their header says {expected}")]
    Length {
        /// What the header says, or its own size.
        expected: u64,
        /// Bytes that are there.
        actual: u64,
    },
    /// Bytes that no partial result has.
    #[error("partial results with an impossible {what} at byte {at}: {value:#x}")]
    Invalid {
        /// What is wrong.
        what: &'static str,
        /// Where.
        at: u64,
        /// What is there.
        value: u64,
    },
}

/// The best of a part of every segment: for each output the order-preserving key of the best
/// element so far and its index in the whole segment.
///
/// Merging is associative and commutative, also across ties and NaNs, so that the parts of a
/// tensor, cut along the reduced axis anyhow and reduced anywhere, give the result of the whole
/// byte for byte in whatever order they are merged.
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
/// | 5 | the operator: 0 ArgMin, 1 ArgMax, 2 ReduceMin, 3 ReduceMax, 4 ArgMaxAbs, 5 ReduceMaxAbs |
/// | 6 | the element type, by its number in ONNX's `TensorProto.DataType` |
/// | 7 | the index type, likewise; 0 for value operators |
/// | 8 | flags: 1 NaN is ignored, 2 the last of equals wins, 4 with values, 8 of no elements |
/// | 9..12 | 0 |
/// | 12..16 | the rank of the output |
/// | 8 each | the output's dimensions |
/// | 16 or 24 each | per output, in C order: key, index and, with values, the element's bits |
///
/// The key is what [`crate::Keys::key`] gives: the smallest wins. The index counts from the start of
/// the whole; value operators have 0. Of no elements all are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    kind: Kind,
    shape: Vec<u64>,
    /// Of no elements: the records mean nothing.
    empty: bool,
    records: Vec<Record>,
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
        Keys::new(self.dtype, self.op.order(), self.nan, zeros_tie)
    }

    /// Bytes of a record.
    fn stride(&self) -> usize {
        if self.values { 24 } else { 16 }
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
        Ok(Partial {
            records: vec![Record::default(); elements(&shape) as usize],
            empty: len == 0,
            shape,
            kind,
        })
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

    /// Takes another part in. Parts may come in any order, and more than once.
    ///
    /// # Errors
    /// [`PartialError::Different`]; nothing has changed then.
    pub fn merge(&mut self, other: &Partial) -> Result<(), PartialError> {
        self.check_same(other)?;
        if other.empty {
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
        fn text(x: &dyn std::fmt::Debug) -> String {
            format!("{x:?}")
        }
        let pairs = [
            ("the operator", text(&a.op), text(&b.op)),
            ("the element type", text(&a.dtype), text(&b.dtype)),
            ("the NaN policy", text(&a.nan), text(&b.nan)),
            ("select_last_index", text(&a.last), text(&b.last)),
            ("the index type", text(&a.index), text(&b.index)),
            ("the presence of values", text(&a.values), text(&b.values)),
            ("the output's shape", text(&self.shape), text(&other.shape)),
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
        let Some(index_type) = self.kind.index else {
            let nothing = schedule::identity(dtype, op.order());
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

    /// The bytes to send or to store; [`Partial`] tells their layout.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Kind {
            op,
            dtype,
            nan,
            last,
            index,
            values,
        } = self.kind;
        let flags = [nan == NanPolicy::Ignore, last, values, self.empty];
        let flags = flags
            .iter()
            .rev()
            .fold(0, |all, &flag| 2 * all + u8::from(flag));
        let mut to = MAGIC.to_vec();
        to.extend([
            VERSION,
            OPS.iter()
                .position(|&o| o == op)
                .map_or(u8::MAX, |i| i as u8),
            dtype.code(),
            index.map_or(0, |i| i.dtype().code()),
            flags,
        ]);
        to.resize(HEADER - 4, 0);
        to.extend((self.shape.len() as u32).to_le_bytes());
        to.extend(self.shape.iter().flat_map(|d| d.to_le_bytes()));
        for record in &self.records {
            to.extend(record.key.to_le_bytes());
            to.extend(record.index.to_le_bytes());
            if values {
                to.extend(record.element.to_le_bytes());
            }
        }
        to
    }

    /// Reads what [`Partial::to_bytes`] wrote. The bytes may come from anywhere: nothing is
    /// allocated beyond their size, and only what a reduction can have is accepted.
    ///
    /// # Errors
    /// [`PartialError::Magic`], [`PartialError::Version`], [`PartialError::Length`],
    /// [`PartialError::Invalid`].
    pub fn from_bytes(from: &[u8]) -> Result<Partial, PartialError> {
        if !from.starts_with(&MAGIC) {
            let found = from.iter().take(4).copied().collect();
            return Err(PartialError::Magic { found });
        }
        let length = |expected: u64| PartialError::Length {
            expected,
            actual: from.len() as u64,
        };
        let header = from.first_chunk::<HEADER>();
        let header = header.ok_or(length(HEADER as u64))?;
        if header[4] != VERSION {
            return Err(PartialError::Version { found: header[4] });
        }
        let (kind, empty) = read_kind(header)?;
        let start = HEADER as u64 + 8 * word(&header[HEADER - 4..]);
        let dims = usize::try_from(start)
            .ok()
            .and_then(|end| from.get(HEADER..end));
        let dims = dims.ok_or(length(start))?;
        let shape: Vec<u64> = dims.chunks_exact(8).map(word).collect();
        let start = HEADER + dims.len();
        let records = match shape.contains(&0) {
            true => Some(0),
            false => shape.iter().try_fold(1, |n: u64, &d| n.checked_mul(d)),
        };
        let expected = records
            .and_then(|n| n.checked_mul(kind.stride() as u64))
            .and_then(|n| n.checked_add(start as u64));
        if expected != Some(from.len() as u64) {
            return Err(length(expected.unwrap_or(u64::MAX)));
        }
        let mut partial = Partial {
            kind,
            shape,
            empty,
            records: Vec::new(),
        };
        for (i, bytes) in from[start..].chunks_exact(kind.stride()).enumerate() {
            let record = Record {
                key: word(&bytes[..8]),
                index: word(&bytes[8..16]),
                element: word(&bytes[16..]),
            };
            let at = (start + i * kind.stride()) as u64;
            partial.check_record(&record, at)?;
            partial.records.push(record);
        }
        Ok(partial)
    }

    /// Refuses a record that no reduction gives.
    fn check_record(&self, record: &Record, at: u64) -> Result<(), PartialError> {
        let invalid = |what, at, value| Err(PartialError::Invalid { what, at, value });
        let (kind, keys) = (&self.kind, self.kind.keys());
        let &Record {
            key,
            index,
            element,
        } = record;
        if self.empty {
            return match [key, index, element].iter().find(|&&x| x != 0) {
                Some(&value) => invalid("record of no elements", at, value),
                None => Ok(()),
            };
        }
        let most = if kind.index.is_some() {
            i64::MAX as u64
        } else {
            0
        };
        let bits = 8 * kind.dtype.size();
        match () {
            () if keys.key(keys.element(key)) != key => invalid("key", at, key),
            () if index > most => invalid("index", at + 8, index),
            () if kind.values
                && (bits < 64 && element >> bits != 0 || keys.key(element) != key) =>
            {
                invalid("element", at + 16, element)
            }
            () => Ok(()),
        }
    }
}

fn read_kind(header: &[u8; HEADER]) -> Result<(Kind, bool), PartialError> {
    let invalid = |what, at: usize| PartialError::Invalid {
        what,
        at: at as u64,
        value: header[at].into(),
    };
    let dtype = |n| DType::ALL.into_iter().find(|&t| t.code() == n);
    let op = OPS.get(usize::from(header[5])).copied();
    let op = op.ok_or_else(|| invalid("operator", 5))?;
    let types = [IndexType::I64, IndexType::I32, IndexType::U32];
    let index = match (op.is_index(), header[7]) {
        (false, 0) => None,
        (true, n) => types.into_iter().find(|t| t.dtype().code() == n),
        _ => return Err(invalid("index type", 7)),
    };
    if index.is_some() != op.is_index() {
        return Err(invalid("index type", 7));
    }
    let flags = header[8];
    let [ignore, last, values, empty] = [1, 2, 4, 8].map(|flag| flags & flag != 0);
    let legal = match op.is_index() {
        true => !empty,
        false => !last && !values,
    };
    if flags >= 16 || !legal {
        return Err(invalid("flag", 8));
    }
    if let Some(at) = (9..HEADER - 4).find(|&at| header[at] != 0) {
        return Err(invalid("reserved byte", at));
    }
    let kind = Kind {
        op,
        dtype: dtype(header[6]).ok_or_else(|| invalid("element type", 6))?,
        nan: if ignore {
            NanPolicy::Ignore
        } else {
            NanPolicy::Propagate
        },
        last,
        index,
        values,
    };
    Ok((kind, empty))
}

/// A number of up to 8 bytes.
fn word(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

/// The low bytes of numbers, one after another.
fn bytes(words: impl Iterator<Item = u64>, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(words.size_hint().0 * size);
    words.for_each(|w| bytes.extend(&w.to_le_bytes()[..size]));
    bytes
}

/// A part of a tensor, prepared: its reduction on the device gives a [`Partial`].
#[derive(Debug)]
pub struct Shard {
    stream: Stream,
    problem: Problem,
}

impl Reducer {
    /// Prepares a part of a tensor, whose own problem is given. Its data is streamed as by
    /// [`Reducer::stream`], in at most `memory` bytes; the partial result comes on top.
    ///
    /// # Errors
    /// [`PartialError::ReducesNothing`]; what [`Reducer::stream`] gives.
    pub fn shard(&self, problem: &Problem, memory: u64) -> Result<Shard, Error> {
        Kind::of(problem)?;
        Ok(Shard {
            stream: Stream::new(self, memory, |caps| Plan::partial(problem, caps))?,
            problem: problem.clone(),
        })
    }
}

impl Shard {
    /// Bytes that a run reads, but for those of values.
    pub fn read_bytes(&self) -> u64 {
        self.stream.read_bytes()
    }

    /// Runs. `offset` is where the part begins along the reduced axis of the whole, which value
    /// operators do not need; `read` fills a slice with the part's bytes from an offset on. Values
    /// are read one by one at the end.
    ///
    /// # Errors
    /// [`PartialError::Offset`]; what [`Stream::run`] gives.
    pub async fn run(
        &self,
        offset: u64,
        read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<Partial, Error> {
        self.run_on(offset, read, self.stream.reducer.there()).await
    }

    /// [`Shard::run`], in the calling thread.
    ///
    /// # Errors
    /// As [`Shard::run`]; [`Error::Timeout`] where [`Reducer::with_timeout`] set one.
    pub fn run_blocking(
        &self,
        offset: u64,
        read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<Partial, Error> {
        pollster::block_on(self.run_on(offset, read, self.stream.reducer.here()))
    }

    async fn run_on(
        &self,
        offset: u64,
        mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
        drive: Drive,
    ) -> Result<Partial, Error> {
        let mut partial = Partial::none(&self.problem, offset)?;
        if partial.empty {
            return Ok(partial);
        }
        let take = |_, at: u64, bytes: &[u8]| {
            partial.take(offset, at, bytes);
            Ok(())
        };
        let run = self
            .stream
            .run_on(|_, at, into| read(at, into), take, drive);
        run.await?;
        if partial.kind.values {
            self.read_values(&mut partial, offset, &mut read)?;
        }
        Ok(partial)
    }

    /// [`Shard::run`] on data in memory.
    ///
    /// # Errors
    /// [`crate::ProblemError`] when the input is not the problem's; what [`Shard::run`] gives.
    pub async fn run_bytes(&self, offset: u64, input: &[u8]) -> Result<Partial, Error> {
        self.problem.check_inputs(&[input.len() as u64])?;
        self.run(offset, part_of(input)).await
    }

    /// [`Shard::run_blocking`] on data in memory.
    ///
    /// # Errors
    /// As [`Shard::run_bytes`].
    pub fn run_bytes_blocking(&self, offset: u64, input: &[u8]) -> Result<Partial, Error> {
        self.problem.check_inputs(&[input.len() as u64])?;
        self.run_blocking(offset, part_of(input))
    }

    fn read_values(
        &self,
        partial: &mut Partial,
        offset: u64,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        let size = self.problem.dtype().size();
        let shape = &self.problem.inputs()[0];
        let axis = self.problem.reduced().iter().position(|&r| r);
        // A scalar is a row of one.
        let (len, inner) = axis.map_or((1, 1), |a| (shape[a], elements(&shape[a + 1..])));
        for (o, record) in (0u64..).zip(&mut partial.records) {
            let (outer, column) = (o / inner, o % inner);
            let flat = (outer * len + record.index - offset) * inner + column;
            let at = self.problem.position(0, flat) * size;
            let mut bytes = [0; 8];
            read(at, &mut bytes[..size as usize]).map_err(|error| Error::Source {
                input: 0,
                offset: at,
                bytes: size,
                error: std::sync::Arc::new(error),
            })?;
            record.element = word(&bytes);
        }
        Ok(())
    }
}

/// Reads data that is in memory.
fn part_of(input: &[u8]) -> impl FnMut(u64, &mut [u8]) -> io::Result<()> {
    |at, into| {
        into.copy_from_slice(&input[at as usize..][..into.len()]);
        Ok(())
    }
}
