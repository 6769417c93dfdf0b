//! The sums: exact, rounded once.
//!
//! Defines sums, means and norms in whole numbers wide enough to be exact. It must not know how a device
//! adds: it decomposes, adds and rounds numbers by itself.

use super::{Running, bits};
use crate::{Class, DType, NanPolicy, Op, Problem};

/// An exact running sum.
pub(crate) struct Sum {
    op: Op,
    dtype: DType,
    ignore_nan: bool,
    /// The sum of the finite elements is the sum of `limbs[i] * 2^(64 i + lowest)`. Each element adds less than
    /// 2^64 to a limb, and there are less than 2^63 elements, so no limb overflows.
    limbs: Vec<i128>,
    /// The exponent of the lowest bit.
    lowest: i32,
    /// Elements, without skipped NaNs.
    pub count: u64,
    pub nan: bool,
    pub infinity: bool,
    pub negative_infinity: bool,
    pub only_negative_zeros: bool,
}

/// The magnitude of an element.
enum Number {
    Nan,
    Infinity,
    /// `mantissa * 2^exponent`.
    Finite(u64, i32),
}

impl Number {
    /// Whether an element has a sign, and its magnitude.
    fn of(dtype: DType, bytes: &[u8]) -> (bool, Number) {
        let bits = bits(bytes);
        let Some(format) = Format::of(dtype) else {
            // Shifting up and back extends the sign.
            let up = 64 - 8 * bytes.len();
            let value = (bits << up) as i64 >> up;
            let negative = dtype.class() == Class::Signed && value < 0;
            let mantissa = if negative { value.unsigned_abs() } else { bits };
            return (negative, Number::Finite(mantissa, 0));
        };
        let negative = bits & format.zero(true) != 0;
        let fraction = bits & ((1 << format.fraction) - 1);
        let infinity = format.infinity(false);
        let number = match bits & infinity {
            exponent if exponent == infinity && fraction == 0 => Number::Infinity,
            exponent if exponent == infinity => Number::Nan,
            // Zeros and subnormals have no leading 1.
            0 => Number::Finite(fraction, format.lowest()),
            exponent => {
                let exponent = format.lowest() + (exponent >> format.fraction) as i32 - 1;
                Number::Finite(fraction | 1 << format.fraction, exponent)
            }
        };
        (negative, number)
    }
}

impl Sum {
    pub(super) fn new(problem: &Problem) -> Sum {
        Sum {
            ignore_nan: problem.nan_policy() == NanPolicy::Ignore,
            ..Sum::nothing(problem.op(), problem.dtype())
        }
    }

    /// The sum of nothing, to which all elements are added.
    pub(crate) fn nothing(op: Op, dtype: DType) -> Sum {
        let format = Format::of(dtype);
        let times = if squares(op) { 2 } else { 1 };
        let lowest = times * format.map_or(0, Format::lowest);
        let end = times * format.map_or(64, |format| format.greatest() + 1);
        Sum {
            op,
            dtype,
            ignore_nan: false,
            // A number may lie across two words, and its zeros across one more.
            limbs: vec![0; (end - lowest) as usize / 64 + 3],
            lowest,
            count: 0,
            nan: false,
            infinity: false,
            negative_infinity: false,
            only_negative_zeros: true,
        }
    }

    /// Adds `magnitude * 2^place`, or subtracts it if `negative`. The place is counted from the lowest bit that a term can have.
    pub(crate) fn add_bits(&mut self, negative: bool, magnitude: u64, place: usize) {
        let shifted = u128::from(magnitude) << (place % 64);
        let halves = [shifted as u64, (shifted >> 64) as u64];
        for (limb, half) in self.limbs[place / 64..].iter_mut().zip(halves) {
            let half = i128::from(half);
            *limb += if negative { -half } else { half };
        }
    }

    /// Appends the bytes of the result.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        let bits = match Format::of(self.dtype) {
            Some(format) => self.float(format),
            None => self.integer(),
        };
        bytes.extend(&bits.to_le_bytes()[..self.dtype.size() as usize]);
    }

    fn float(&self, format: Format) -> u64 {
        let nothing = self.count == 0;
        let opposed = self.infinity && self.negative_infinity;
        if self.nan || opposed || nothing && self.op == Op::ReduceMean {
            return format.nan();
        }
        if self.infinity || self.negative_infinity {
            return format.infinity(self.negative_infinity);
        }
        let (negative, words) = self.magnitude();
        if words.is_empty() {
            return format.zero(self.only_negative_zeros && !nothing);
        }
        match self.op {
            Op::ReduceMean => {
                // 128 bits behind the point leave 65 of the quotient or more.
                let dividend = [&[0, 0], &words[..]].concat();
                let (quotient, rest) = divide(&dividend, self.count);
                format.round(negative, &quotient, self.lowest - 128, rest != 0)
            }
            Op::ReduceL2 => {
                // The root of the highest 127 or 128 bits is the first 64 bits of the whole root.
                let words = [&[0, 0], &words[..]].concat();
                let below = bit_len(&words).next_multiple_of(2) - 128;
                let highest = bits_from(&words, below);
                let root = highest.isqrt();
                let inexact = root * root != highest || any_below(&words, below);
                let lowest = (self.lowest - 128 + below as i32) / 2;
                format.round(false, &[root as u64], lowest, inexact)
            }
            _ => format.round(negative, &words, self.lowest, false),
        }
    }

    fn integer(&self) -> u64 {
        let bits = 8 * self.dtype.size() as u32;
        let signed = self.dtype.class() == Class::Signed;
        let (negative, words) = self.magnitude();
        let low = words.first().copied().unwrap_or(0);
        let wrapped = if negative { low.wrapping_neg() } else { low };
        match self.op {
            Op::ReduceL2 => {
                let most = u128::from(u64::MAX >> (64 - bits + u32::from(signed)));
                let root = match bit_len(&words) {
                    0..=128 => bits_from(&words, 0).isqrt(),
                    _ => most,
                };
                root.min(most) as u64
            }
            Op::ReduceMean => {
                // Shifting up and back extends the sign.
                let up = wrapped << (64 - bits);
                let value = match signed {
                    true => i128::from(up as i64 >> (64 - bits)),
                    false => i128::from(up >> (64 - bits)),
                };
                // Problems refuse the mean of no integers.
                (value / i128::from(self.count.max(1))) as u64
            }
            _ => wrapped,
        }
    }

    /// Sign and magnitude; the words begin with the lowest, and the highest is not 0.
    fn magnitude(&self) -> (bool, Vec<u64>) {
        let mut words = Vec::with_capacity(self.limbs.len() + 1);
        let mut carry = 0;
        for &limb in &self.limbs {
            let limb = limb + carry;
            words.push(limb as u64);
            carry = limb >> 64;
        }
        words.push(carry as u64);
        let negative = carry < 0;
        if negative {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        while words.last() == Some(&0) {
            words.pop();
        }
        (negative, words)
    }
}

impl Running for Sum {
    fn add(&mut self, input: &[u8], at: usize) {
        let size = self.dtype.size() as usize;
        let (negative, number) = Number::of(self.dtype, &input[at * size..][..size]);
        if self.ignore_nan && matches!(number, Number::Nan) {
            return;
        }
        self.count += 1;
        let negative = negative && matches!(self.op, Op::ReduceSum | Op::ReduceMean);
        match number {
            Number::Nan => self.nan = true,
            Number::Infinity if negative => self.negative_infinity = true,
            Number::Infinity => self.infinity = true,
            Number::Finite(mantissa, exponent) => {
                self.only_negative_zeros &= negative && mantissa == 0;
                if squares(self.op) {
                    let square = u128::from(mantissa) * u128::from(mantissa);
                    let place = (2 * exponent - self.lowest) as usize;
                    self.add_bits(negative, square as u64, place);
                    self.add_bits(negative, (square >> 64) as u64, place + 64);
                } else {
                    self.add_bits(negative, mantissa, (exponent - self.lowest) as usize);
                }
            }
        }
    }

    fn finish(&mut self, outputs: &mut [Vec<u8>]) {
        self.write(&mut outputs[0]);
        *self = Sum {
            ignore_nan: self.ignore_nan,
            ..Sum::nothing(self.op, self.dtype)
        };
    }
}

fn squares(op: Op) -> bool {
    matches!(op, Op::ReduceL2 | Op::ReduceSumSquare)
}

/// A float type, by its bits.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    /// Bits after the leading 1 of a number.
    fraction: u32,
}

impl Format {
    /// `None` for integers.
    fn of(dtype: DType) -> Option<Format> {
        let (bits, fraction) = match dtype {
            DType::BF16 => (16, 7),
            DType::F16 => (16, 10),
            DType::F32 => (32, 23),
            DType::F64 => (64, 52),
            _ => return None,
        };
        Some(Format { bits, fraction })
    }

    /// The exponent of the greatest numbers' leading 1.
    fn greatest(self) -> i32 {
        (1 << (self.bits - self.fraction - 2)) - 1
    }

    /// The exponent of the least normal number.
    fn least(self) -> i32 {
        1 - self.greatest()
    }

    /// The exponent of the least number of all.
    fn lowest(self) -> i32 {
        self.least() - self.fraction as i32
    }

    fn zero(self, negative: bool) -> u64 {
        u64::from(negative) << (self.bits - 1)
    }

    fn infinity(self, negative: bool) -> u64 {
        let exponents = (1 << (self.bits - 1 - self.fraction)) - 1;
        self.zero(negative) | exponents << self.fraction
    }

    fn nan(self) -> u64 {
        self.infinity(false) | 1 << (self.fraction - 1)
    }

    /// `magnitude * 2^exponent`, which is not 0, to the nearest number, of two the even one.
    /// `inexact`: and less than 2^exponent more; the magnitude then has two bits more than the format.
    fn round(self, negative: bool, magnitude: &[u64], exponent: i32, inexact: bool) -> u64 {
        let leading = exponent + bit_len(magnitude) as i32 - 1;
        if leading > self.greatest() {
            return self.infinity(negative);
        }
        // Subnormals share the exponent of the least normal numbers.
        let scale = leading.max(self.least());
        let lowest = scale - self.fraction as i32;
        let mut mantissa = match u32::try_from(lowest - exponent) {
            Err(_) => (bits_from(magnitude, 0) as u64) << (exponent - lowest),
            Ok(0) => bits_from(magnitude, 0) as u64,
            Ok(below) => {
                let below = below as usize;
                let kept = bits_from(magnitude, below) as u64;
                let half = bits_from(magnitude, below - 1) & 1 == 1;
                let more = inexact || any_below(magnitude, below - 1);
                kept + u64::from(half && (more || kept & 1 == 1))
            }
        };
        // The leading 1 of a normal number counts its exponent up, and so does a carry into it.
        mantissa += ((scale - self.least()) as u64) << self.fraction;
        self.zero(negative) | mantissa
    }
}

fn bit_len(words: &[u64]) -> usize {
    let highest = words.iter().rposition(|&word| word != 0);
    highest.map_or(0, |at| 64 * (at + 1) - words[at].leading_zeros() as usize)
}

/// 128 bits, from one on.
fn bits_from(words: &[u64], bit: usize) -> u128 {
    let word = |i: usize| u128::from(words.get(bit / 64 + i).copied().unwrap_or(0));
    let low = word(0) | word(1) << 64;
    match bit % 64 {
        0 => low,
        shift => low >> shift | word(2) << (128 - shift),
    }
}

/// Whether one of the lowest bits is set.
fn any_below(words: &[u64], bits: usize) -> bool {
    let whole = words.len().min(bits / 64);
    let last = words.get(bits / 64).copied().unwrap_or(0);
    words[..whole].iter().any(|&word| word != 0) || last & ((1 << (bits % 64)) - 1) != 0
}

/// Quotient and rest.
fn divide(words: &[u64], by: u64) -> (Vec<u64>, u64) {
    let mut quotient = words.to_vec();
    let mut rest = 0;
    for word in quotient.iter_mut().rev() {
        let dividend = u128::from(rest) << 64 | u128::from(*word);
        *word = (dividend / u128::from(by)) as u64;
        rest = (dividend % u128::from(by)) as u64;
    }
    (quotient, rest)
}
