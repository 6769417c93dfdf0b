//! Partial results as bytes, in the layout that [`Partial`] documents. Bytes come from untrusted sources, so
//! everything is checked.

use super::{Kind, Partial, PartialError, Record, sum_words, word};
use crate::problem::elements;
use crate::sums::Sum;
use crate::{Class, DType, IndexType, NanPolicy, Op};

const MAGIC: [u8; 4] = *b"WGRP";
pub(super) const VERSION: u8 = 3;
/// Bytes before the shape.
const HEADER: usize = 16;

/// The operator's number in the layout. A number is never used again.
const fn number(op: Op) -> Option<u8> {
    match op {
        Op::ArgMin => Some(0),
        Op::ArgMax => Some(1),
        Op::ReduceMin => Some(2),
        Op::ReduceMax => Some(3),
        Op::ArgMaxAbs => Some(4),
        Op::ReduceMaxAbs => Some(5),
        Op::ReduceSum => Some(6),
        Op::ReduceMean => Some(7),
        Op::ReduceL1 => Some(8),
        Op::ReduceL2 => Some(9),
        Op::ReduceSumSquare => Some(10),
        Op::TopK => Some(11),
        Op::Min | Op::Max | Op::Extremes => None,
    }
}

impl Partial {
    /// The bytes to send or to store, in the layout that [`Partial`] documents.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = &self.kind;
        let skips = kind.nan == NanPolicy::Ignore;
        let flags = [skips, kind.last, kind.values, self.empty, kind.smallest];
        let flags = flags.iter().rev();
        let flags = flags.fold(0, |all, &flag| 2 * all + u8::from(flag));
        let mut to = MAGIC.to_vec();
        to.extend([
            VERSION,
            number(kind.op).unwrap_or(u8::MAX),
            kind.dtype.code(),
            kind.index.map_or(0, |i| i.dtype().code()),
            flags,
        ]);
        to.extend(&(kind.axis.unwrap_or(0) as u32).to_le_bytes()[..3]);
        to.extend((self.shape.len() as u32).to_le_bytes());
        to.extend(self.shape.iter().flat_map(|d| d.to_le_bytes()));
        if let Some(sum) = kind.sum() {
            to.extend(self.count.to_le_bytes());
            let words = self.totals.iter().flat_map(|total| sum.words(total));
            to.extend(words.flat_map(u32::to_le_bytes));
            return to;
        }
        if kind.axis.is_some() {
            to.extend(self.held.to_le_bytes());
        }
        for record in &self.records {
            to.extend(record.key.to_le_bytes());
            to.extend(record.index.to_le_bytes());
            if kind.values {
                to.extend(record.element.to_le_bytes());
            }
        }
        to
    }

    /// Reads what [`Partial::to_bytes`] wrote. The bytes need not be trusted: memory use is bounded by
    /// their size, and keys, indices, flags, counts and signs are refused if no reduction gives them together, as is
    /// a sum beyond what so many elements of the type can have. A wrong value within these bounds is
    /// not noticed: a checksum must go with the bytes if they can be damaged.
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
        let end = usize::try_from(start).ok();
        let dims = end.and_then(|end| from.get(HEADER..end));
        let dims = dims.ok_or(length(start))?;
        let shape: Vec<u64> = dims.chunks_exact(8).map(word).collect();
        let sum = kind.sum();
        if kind.axis.is_some_and(|axis| axis >= shape.len()) {
            return Err(invalid("axis", 9, kind.axis.unwrap_or(0) as u64));
        }
        // An index has eight bytes.
        if kind.axis.is_some() && elements(&shape).saturating_mul(8) > i64::MAX as u64 {
            return Err(length(u64::MAX));
        }
        let counted = 8 * usize::from(sum.is_some() || kind.axis.is_some());
        let start = HEADER + dims.len() + counted;
        let count = from.get(start - counted..start).map(word);
        let count = count.ok_or(length(start as u64))?;
        // A number that is too large makes the length wrong.
        let records = elements(&kind.shape(&shape, count)).saturating_mul(kind.stride() as u64);
        let expected = records.saturating_add(start as u64);
        if expected != from.len() as u64 {
            return Err(length(expected));
        }
        let mut partial = Partial {
            kind,
            shape,
            empty,
            records: Vec::new(),
            totals: Vec::new(),
            held: if kind.axis.is_some() { count } else { 1 },
            count: if sum.is_some() { count } else { 0 },
        };
        if let Some(axis) = kind.axis
            && (count > partial.shape[axis] || (count == 0) != empty && partial.shape[axis] > 0)
        {
            return Err(invalid("number of records", start - 8, count));
        }
        if let Some(sum) = sum {
            return partial.read_totals(sum, from, start);
        }
        for (i, bytes) in from[start..].chunks_exact(kind.stride()).enumerate() {
            let record = Record {
                key: word(&bytes[..8]),
                index: word(&bytes[8..16]),
                element: word(&bytes[16..]),
            };
            let at = start + i * kind.stride();
            partial.check_record(&record, at)?;
            // Of TopK, the best first, and none twice.
            let first = (i as u64).is_multiple_of(partial.held);
            let before = partial.records.last().filter(|_| !first);
            if before.is_some_and(|before| !kind.better(before, &record)) {
                return Err(invalid("order of records", at, record.key));
            }
            partial.records.push(record);
        }
        Ok(partial)
    }

    /// Reads the partial sums that begin at byte `start`.
    fn read_totals(mut self, sum: Sum, from: &[u8], start: usize) -> Result<Partial, PartialError> {
        if self.count > self.kind.most_elements() || (self.count == 0) != self.empty {
            return Err(invalid("number of elements", start - 8, self.count));
        }
        let (stride, greatest) = (self.kind.stride(), sum.greatest());
        for (i, bytes) in from[start..].chunks_exact(stride).enumerate() {
            let words = sum_words(bytes);
            // A device may set the flag of -0 beside other flags; a partial result must be canonical.
            let total = sum.total(&words).filter(|total| sum.words(total) == words);
            let total = total.filter(|total| !self.empty || *total == sum.nothing());
            let at = start + i * stride;
            let total = total.ok_or_else(|| invalid("partial sum", at, word(&bytes[..8])))?;
            let fault = (!self.empty).then(|| sum.fault(&total, self.count, &greatest));
            if let Some((what, first)) = fault.flatten() {
                return Err(invalid(what, at + 4 * first, words[first].into()));
            }
            self.totals.push(total);
        }
        Ok(self)
    }

    /// Refuses a record that no reduction can give.
    fn check_record(&self, record: &Record, at: usize) -> Result<(), PartialError> {
        let invalid = |what, at, value| Err(invalid(what, at, value));
        let (kind, keys) = (&self.kind, self.kind.keys());
        let all @ [key, index, element] = [record.key, record.index, record.element];
        if self.empty {
            return match all.iter().find(|&&x| x != 0) {
                Some(&value) => invalid("record of no elements", at, value),
                None => Ok(()),
            };
        }
        let most = kind.index.map_or(0, |_| i64::MAX as u64);
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

/// The error of a value that no partial result has, at a byte.
fn invalid(what: &'static str, at: usize, value: u64) -> PartialError {
    let at = at as u64;
    PartialError::Invalid { what, at, value }
}

fn read_kind(header: &[u8; HEADER]) -> Result<(Kind, bool), PartialError> {
    let invalid = |what, at: usize| invalid(what, at, header[at].into());
    let mut ops = Op::ALL.into_iter();
    let op = ops.find(|&op| number(op) == Some(header[5]));
    let op = op.ok_or_else(|| invalid("operator", 5))?;
    let types = [IndexType::I64, IndexType::I32, IndexType::U32];
    let index = types.into_iter().find(|t| t.dtype().code() == header[7]);
    if index.is_some() != op.is_index() || index.is_none() && header[7] != 0 {
        return Err(invalid("index type", 7));
    }
    let flags = header[8];
    let [ignore, last, values, empty, smallest] = [1, 2, 4, 8, 16].map(|flag| flags & flag != 0);
    let dtype = DType::ALL.into_iter().find(|t| t.code() == header[6]);
    let dtype = dtype.filter(|&dtype| !op.is_sum() || dtype != DType::Bool);
    let dtype = dtype.ok_or_else(|| invalid("element type", 6))?;
    // No index points to nothing, and no integer is the mean of nothing.
    let ranked = op == Op::TopK;
    let full = (op.is_index() && !ranked) || op == Op::ReduceMean && dtype.class() != Class::Float;
    let index_alone = last || values;
    let own = match ranked {
        true => values && !last,
        false => !smallest,
    };
    if flags >= 32 || !own || full && empty || index_alone && !op.is_index() {
        return Err(invalid("flag", 8));
    }
    let axis = word(&header[9..HEADER - 4]) as usize;
    if let Some(at) = (9..HEADER - 4).find(|&at| !ranked && header[at] != 0) {
        return Err(invalid("reserved byte", at));
    }
    let kind = Kind {
        op,
        dtype,
        nan: [NanPolicy::Propagate, NanPolicy::Ignore][usize::from(ignore)],
        last,
        index,
        values,
        axis: ranked.then_some(axis),
        smallest,
    };
    Ok((kind, empty))
}
