//! Sums in Rust, for partial results: the arithmetic of the shaders, element by element.
//!
//! Knows how a partial sum's words are read and written; the constants are `Sum`'s. The reference rounds.

use super::{DIGIT_BITS, Format, Sum};
use crate::reference::sums as reference;
use crate::{Class, Op};

/// A sum of a part of the elements, as the shaders keep it: the words of a partial result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// Of an exact sum: which special elements were met.
    flags: u32,
    /// Of a mean that skips NaNs: elements that count.
    count: u64,
    /// The digits; of a sum modulo 2^bits two words.
    digits: Vec<u32>,
}

const NAN: u32 = 1;
const PLUS_INFINITY: u32 = 2;
const MINUS_INFINITY: u32 = 4;
const MINUS_ZERO: u32 = 8;
const OTHER: u32 = 16;
const KINDS: u32 = 2 * OTHER - 1;
/// All digits are there, not some neighbouring ones, the place of whose lowest the bits from `PLACE_SHIFT` on have.
const WHOLE: u32 = 2 * OTHER;
const PLACE_SHIFT: u32 = 8;
const DIGIT: u32 = (1 << DIGIT_BITS) - 1;

impl Sum {
    /// The sum of nothing.
    pub(crate) fn nothing(self) -> Total {
        Total {
            digits: vec![0; self.digits().max(2) as usize],
            ..Total::default()
        }
    }

    /// From the words that a device left; `None` if no sum can have them. See `shaders/accumulate/partial_sum.wgsl`.
    pub(crate) fn left(self, words: &[u32]) -> Option<Total> {
        if !self.is_exact() {
            return self.total(words);
        }
        let mut total = self.nothing();
        let (&header, words) = words.split_first()?;
        let (count, words) = words.split_at_checked(self.count_digits() as usize)?;
        total.meet(header & KINDS);
        total.count = number(count);
        let (first, digits) = match header & WHOLE {
            0 => (header >> PLACE_SHIFT, self.window().all + 1),
            _ => (0, self.digits()),
        };
        if first + digits > self.digits() {
            return None;
        }
        for (place, &digit) in (first..).zip(words.get(..digits as usize)?) {
            self.carry(&mut total, place as usize, i64::from(digit as i32));
        }
        Some(total)
    }

    /// From the words of a partial result; `None` if no sum can have them.
    pub(crate) fn total(self, words: &[u32]) -> Option<Total> {
        let mut total = self.nothing();
        if !self.is_exact() {
            let (low, rest) = words.split_at_checked(2)?;
            total.digits.copy_from_slice(low);
            total.set_low(self.cut(total.low()));
            return rest.iter().all(|&w| w == 0).then_some(total);
        }
        let (&flags, words) = words.split_first()?;
        let (count, words) = words.split_at_checked(self.count_digits() as usize)?;
        let (digits, rest) = words.split_at_checked(self.digits() as usize)?;
        total.meet(flags);
        total.count = number(count);
        total.digits.copy_from_slice(digits);
        // The last ones are whole words.
        let carried = |digits: &[u32]| digits.iter().rev().skip(1).all(|&digit| digit <= DIGIT);
        let flags = if self.is_float() { KINDS } else { 0 };
        let valid = carried(count) && carried(digits) && total.flags <= flags;
        (valid && rest.iter().all(|&w| w == 0)).then_some(total)
    }

    /// Why no `count` elements (one or more) have this sum: what is wrong, and the first of its words.
    ///
    /// A sum within its bounds may still be one that no elements have: which sums a few elements can have is not
    /// asked. `greatest` is [`Sum::greatest`].
    pub(crate) fn fault(
        self,
        total: &Total,
        count: u64,
        greatest: &Total,
    ) -> Option<(&'static str, usize)> {
        let (size, flags) = ("size of a partial sum", "flags of a partial sum");
        if !self.is_exact() {
            // Modulo 2^bits two elements may have any sum, and one at most half of them: its magnitude.
            let least = u64::MAX << (self.bits() - 1);
            let beyond = (total.low() as i64) < 0 && total.low() != least;
            let one = self.op == Op::ReduceL1 && self.takes_magnitudes() && count == 1;
            return (one && beyond).then_some((size, 0));
        }
        let digits = &total.digits;
        // The words before the digits.
        let before = 1 + self.count_digits() as usize;
        let taken = if self.counts() { total.count } else { count };
        if taken > count {
            return Some(("count of numbers", 1));
        }
        let met = |flag| total.flags & flag != 0;
        let met_one = |flag| i128::from(met(flag));
        let infinities = met_one(PLUS_INFINITY) + met_one(MINUS_INFINITY);
        let special = met_one(NAN) + infinities;
        // What no other flag stands for.
        let plain = met(MINUS_ZERO) || met(OTHER) && infinities == 0;
        let finite = i128::from(taken) - special;
        let any = digits.iter().any(|&digit| digit != 0);
        let wrong = finite < i128::from(plain)
            || met(NAN) && self.skips
            || met(MINUS_INFINITY) && self.takes_magnitudes()
            || (infinities > 0 || any) && !met(OTHER)
            // Every element sets a flag, except a NaN that is ignored.
            || total.flags == 0 && taken > 0 && (!self.skips || self.counts());
        if self.is_float() && wrong {
            return Some((flags, 0));
        }
        let top = digits.len() - 1;
        let negative = (digits[top] as i32) < 0;
        if negative && self.takes_magnitudes() {
            return Some(("sign of a partial sum", before + top));
        }
        // What is left of the greatest sum, from digit to digit.
        let left = (0..=top).fold(0, |carry, i| {
            // The last one has a sign.
            let digit = i128::from(digits[i] as i32);
            let own = if negative { -digit } else { digit };
            (carry >> DIGIT_BITS) + finite * i128::from(greatest.digits[i]) - own
        });
        (left < 0).then_some((size, before + top))
    }

    /// An exact sum of one element, of the greatest finite magnitude.
    pub(crate) fn greatest(self) -> Total {
        let Format { exponent, mantissa } = self.format();
        let (magnitude, place) = match self.dtype.class() {
            Class::Float => ((1 << mantissa) - 1, (1 << exponent) - 3),
            Class::Signed => (1 << (mantissa - 1), 0),
            _ => (u64::MAX >> (64 - mantissa), 0),
        };
        let mut total = self.nothing();
        if self.is_exact() {
            self.add(&mut total, magnitude, false, place);
        }
        total
    }

    /// The words of a partial result.
    pub(crate) fn words(self, total: &Total) -> Vec<u32> {
        let mut words = Vec::new();
        if self.is_exact() {
            words.push(total.flags);
            let digit = |i| (total.count >> (DIGIT_BITS * i)) as u32 & DIGIT;
            words.extend((0..self.count_digits()).map(digit));
        }
        words.extend(&total.digits);
        words.resize(self.partial_words() as usize, 0);
        words
    }

    /// Adds an element.
    pub(crate) fn take(self, total: &mut Total, element: u64) {
        let extended = self.cut(element);
        let magnitude = match self.dtype.class() {
            Class::Signed => (extended as i64).unsigned_abs(),
            _ => element,
        };
        if !self.is_exact() {
            let term = match self.op {
                Op::ReduceL1 => magnitude,
                Op::ReduceSumSquare => extended.wrapping_mul(extended),
                _ => extended,
            };
            let sum = total.low().wrapping_add(term);
            total.set_low(self.cut(sum));
            return;
        }
        if !self.is_float() {
            self.add(total, magnitude, false, 0);
            return;
        }
        let Format { exponent, mantissa } = self.format();
        let (infinity, fraction) = ((1u64 << exponent) - 1, (1u64 << (mantissa - 1)) - 1);
        let negative = element >> (self.bits() - 1) == 1;
        let field = element >> (mantissa - 1) & infinity;
        let fraction = element & fraction;
        let nan = field == infinity && fraction != 0;
        total.meet(match (field == infinity, fraction == 0, negative) {
            (true, false, _) if self.skips => 0,
            (true, false, _) => NAN,
            (true, true, true) if !self.takes_magnitudes() => MINUS_INFINITY | OTHER,
            (true, true, _) => PLUS_INFINITY | OTHER,
            (false, true, true) if field == 0 => MINUS_ZERO,
            _ => OTHER,
        });
        total.count += u64::from(self.counts() && !nan);
        if field < infinity {
            let hidden = if field > 0 { 1 << (mantissa - 1) } else { 0 };
            let place = (field.max(1) - 1) as u32;
            self.add(total, fraction | hidden, negative, place);
        }
    }

    /// The bits of an element, or of a sum modulo 2^bits, that count, extended.
    fn cut(self, sum: u64) -> u64 {
        let unused = 64 - self.bits();
        match self.dtype.class() {
            Class::Signed => (((sum << unused) as i64) >> unused) as u64,
            _ => sum << unused >> unused,
        }
    }

    /// Adds a magnitude, or its square, times 2^place.
    fn add(self, total: &mut Total, magnitude: u64, negative: bool, place: u32) {
        let (mut left, place) = match self.squares() {
            true => (u128::from(magnitude) * u128::from(magnitude), 2 * place),
            false => (magnitude.into(), place),
        };
        let negative = negative && !self.takes_magnitudes();
        let mut at = (place / DIGIT_BITS) as usize;
        let mut off = place % DIGIT_BITS;
        while left > 0 {
            // The part that falls into this digit.
            let piece = i64::from((left << off) as u32 & DIGIT);
            self.carry(total, at, if negative { -piece } else { piece });
            left >>= DIGIT_BITS - off;
            (at, off) = (at + 1, 0);
        }
    }

    /// Adds to a digit and carries on. The last digit takes every carry.
    fn carry(self, total: &mut Total, first: usize, piece: i64) {
        let last = total.digits.len() - 1;
        let mut carry = piece;
        for digit in &mut total.digits[first..last] {
            let x = i64::from(*digit) + carry;
            *digit = x as u32 & DIGIT;
            carry = x >> DIGIT_BITS;
        }
        total.digits[last] = total.digits[last].wrapping_add(carry as u32);
    }

    /// Adds another part.
    pub(crate) fn join(self, total: &mut Total, other: &Total) {
        total.meet(other.flags);
        if !self.is_exact() {
            let sum = total.low().wrapping_add(other.low());
            total.set_low(self.cut(sum));
            return;
        }
        total.count = total.count.wrapping_add(other.count);
        for (at, &digit) in other.digits.iter().enumerate() {
            // The last one has a sign.
            self.carry(total, at, i64::from(digit as i32));
        }
    }

    /// Appends the bytes of the result, if `count` elements were taken.
    pub(crate) fn write(self, total: &Total, count: u64, bytes: &mut Vec<u8>) {
        let met = |flag| total.flags & flag != 0;
        let mut sum = reference::Sum::nothing(self.op, self.dtype);
        sum.count = if self.counts() { total.count } else { count };
        sum.nan = met(NAN);
        sum.infinity = met(PLUS_INFINITY);
        sum.negative_infinity = met(MINUS_INFINITY);
        sum.only_negative_zeros = met(MINUS_ZERO) && !met(OTHER) && !self.takes_magnitudes();
        if self.is_exact() {
            let places = (0..).step_by(DIGIT_BITS as usize);
            for (place, &digit) in places.zip(&total.digits) {
                // The last one has a sign.
                let digit = digit as i32;
                sum.add_bits(digit < 0, digit.unsigned_abs().into(), place);
            }
        } else {
            sum.add_bits(false, total.low(), 0);
        }
        sum.write(bytes);
    }
}

impl Total {
    /// Records what was met. -0 is recorded only as long as nothing else was met, so that a partial result
    /// does not depend on how it was made.
    fn meet(&mut self, flags: u32) {
        self.flags |= flags;
        if self.flags & OTHER != 0 {
            self.flags &= !MINUS_ZERO;
        }
    }

    /// A sum modulo 2^bits.
    fn low(&self) -> u64 {
        u64::from(self.digits[1]) << 32 | u64::from(self.digits[0])
    }

    fn set_low(&mut self, sum: u64) {
        self.digits = vec![sum as u32, (sum >> 32) as u32];
    }
}

/// The number that digits are, the least first.
fn number(digits: &[u32]) -> u64 {
    let up = |n: u64, &digit: &u32| n.wrapping_shl(DIGIT_BITS).wrapping_add(digit.into());
    digits.iter().rev().fold(0, up)
}
