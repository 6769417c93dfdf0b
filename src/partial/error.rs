//! What can be wrong with partial results.

use super::bytes::VERSION;
use crate::{IndexType, Op};

/// Why partial results could not be made, merged, finished or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// The problem reduces no axis: Min and Max, or a reduction that copies its input.
    #[error("{op} of this problem reduces nothing: it has no partial results")]
    ReducesNothing {
        /// The operator.
        op: Op,
    },
    /// The operator fuses several ([`Op::Extremes`]).
    #[error("{op} has several results: take the partial results of each of its operators")]
    Fused {
        /// The operator.
        op: Op,
    },
    /// Indices of the part would not fit 63 bits.
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
    /// Partial sums of more elements than a tensor can have.
    #[error(
        "partial sums of {ours} and of {theirs} elements: together more than a tensor of 2^63 - 1 bytes has"
    )]
    TooMany {
        /// Elements of the first.
        ours: u64,
        /// Elements of the one to be merged.
        theirs: u64,
    },
    /// Fewer elements than are wanted: parts are missing.
    #[error("k is {k}, but a segment has only {held} elements: parts are missing")]
    TooFew {
        /// How many are wanted.
        k: u64,
        /// How many there are.
        held: u64,
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
    /// The bytes do not begin with `WGRP`.
    #[error("no partial results: the bytes begin with {found:02x?}")]
    Magic {
        /// The first four bytes, or as many as there are.
        found: Vec<u8>,
    },
    /// The bytes have a layout that this version does not know.
    #[error("partial results of layout {found}; this version reads layout {VERSION}")]
    Version {
        /// Their layout number.
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
    /// A value that no partial result has.
    #[error("partial results with an impossible {what} at byte {at}: {value:#x}")]
    Invalid {
        /// What is wrong.
        what: &'static str,
        /// Its offset in bytes.
        at: u64,
        /// Its value.
        value: u64,
    },
}
