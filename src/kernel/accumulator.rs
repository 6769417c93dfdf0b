//! What an invocation keeps of the elements that it meets.

use crate::keys::Keys;
use crate::sums::Sum;

/// What is kept of the elements. The shaders' accumulators keep it in registers, in workgroup memory and in partial results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Accumulator {
    /// Elements of so many bits as they are: nothing is compared or added.
    Raw(u32),
    /// The least key.
    Value(Keys),
    /// The sum of terms, modulo 2^bits.
    Terms(Sum),
    /// The least key and where it is: of equals the first one or the last.
    Index {
        /// The order of the elements.
        keys: Keys,
        /// Whether the last of equals wins.
        last: bool,
    },
    /// The least and the greatest key, and where they are.
    Both {
        /// The order that prefers the least.
        keys: Keys,
        /// Whether the last of equals wins.
        last: bool,
    },
    /// An exact sum.
    Sum(Sum),
}

impl Accumulator {
    /// A sum of integers modulo 2^bits.
    pub fn terms(sum: Sum) -> Accumulator {
        Accumulator::Terms(sum.of_terms())
    }

    /// Bits of an element: 8, 16, 32 or 64.
    pub fn bits(self) -> u32 {
        match self {
            Accumulator::Raw(bits) => bits,
            Accumulator::Terms(sum) | Accumulator::Sum(sum) => sum.bits(),
            Accumulator::Value(keys)
            | Accumulator::Index { keys, .. }
            | Accumulator::Both { keys, .. } => keys.bits(),
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits() / 8)
    }

    /// What elements count as. Where they do not count, as plain numbers.
    pub(super) fn keys(self) -> Keys {
        match self {
            Accumulator::Value(keys)
            | Accumulator::Index { keys, .. }
            | Accumulator::Both { keys, .. } => keys,
            _ => Keys::of_bits(self.bits()),
        }
    }

    /// The exact sum, if it is one.
    pub fn sum(self) -> Option<Sum> {
        match self {
            Accumulator::Sum(sum) => Some(sum),
            _ => None,
        }
    }

    /// Whether it keeps a place.
    pub fn has_index(self) -> bool {
        matches!(self, Accumulator::Index { .. } | Accumulator::Both { .. })
    }

    /// Whether it keeps both extremes.
    pub fn is_both(self) -> bool {
        matches!(self, Accumulator::Both { .. })
    }

    /// Whether elements are added modulo 2^bits.
    pub fn are_terms(self) -> bool {
        matches!(self, Accumulator::Terms(_))
    }

    /// Whether the last of equals wins.
    pub(crate) fn prefers_last(self) -> bool {
        matches!(
            self,
            Accumulator::Index { last: true, .. } | Accumulator::Both { last: true, .. }
        )
    }

    /// Whether the result is divided by the number of elements.
    pub(crate) fn is_mean(self) -> bool {
        match self {
            Accumulator::Terms(sum) | Accumulator::Sum(sum) => sum.is_mean(),
            _ => false,
        }
    }

    /// The same where partial results are written: what is made of a sum at the end does not count.
    pub fn partial(self) -> Accumulator {
        match self {
            Accumulator::Terms(sum) => Accumulator::terms(sum.partial()),
            Accumulator::Sum(sum) => Accumulator::Sum(sum.partial()),
            _ => self,
        }
    }

    /// The names that the directives in the shaders use.
    pub(super) fn names(self) -> Vec<(&'static str, u32)> {
        let mut names = vec![
            ("INDEX", self.has_index().into()),
            ("BOTH", self.is_both().into()),
            ("TERMS", self.are_terms().into()),
            ("EXACT", self.sum().is_some().into()),
        ];
        names.extend(self.keys().names());
        if let Accumulator::Terms(sum) = self {
            names.extend(sum.term_names());
        }
        names.extend(self.sum().iter().flat_map(|sum| sum.names()));
        names
    }
}
