//! Sums in big integers. Nothing is rounded: the nearest float is found by comparing the exact value with the middle
//! between neighbours.

use num_bigint::{BigInt, BigUint};
use std::cmp::Ordering;
use wgreduce::{Class, DType, NanPolicy, Op};

/// The unit of float values: the least subnormal of float64, 2^-1074.
const UNIT: i64 = -1074;

/// A float type: the number of bits of its fraction, and of all.
#[derive(Clone, Copy)]
struct Float {
    fraction: u32,
    bits: u32,
}

impl Float {
    fn of(dtype: DType) -> Option<Float> {
        let (fraction, bits) = match dtype {
            DType::BF16 => (7, 16),
            DType::F16 => (10, 16),
            DType::F32 => (23, 32),
            DType::F64 => (52, 64),
            _ => return None,
        };
        Some(Float { fraction, bits })
    }

    fn infinity(self) -> u64 {
        ((1 << (self.bits - 1 - self.fraction)) - 1) << self.fraction
    }

    /// The value of bits without a sign, in units; infinity is the number after the largest.
    fn value(self, bits: u64) -> BigUint {
        let bias = (1i64 << (self.bits - 2 - self.fraction)) - 1;
        let exponent = (bits >> self.fraction) as i64;
        let fraction = bits & ((1 << self.fraction) - 1);
        let hidden = u64::from(exponent > 0) << self.fraction;
        let mantissa = fraction | hidden;
        let lowest = exponent.max(1) - bias - i64::from(self.fraction);
        BigUint::from(mantissa) << (lowest - UNIT)
    }

    /// The nearest bits to a value; `compare` compares twice that value with its argument.
    fn nearest(self, compare: impl Fn(&BigUint) -> Ordering) -> u64 {
        // Whether the result is above `bits`; a tie goes to the even one.
        let beyond = |bits: u64| {
            let twice = self.value(bits) + self.value(bits + 1);
            match compare(&twice) {
                Ordering::Less => false,
                Ordering::Equal => bits % 2 == 1,
                Ordering::Greater => true,
            }
        };
        let (mut low, mut high) = (0, self.infinity());
        while low < high {
            let middle = low + (high - low) / 2;
            match beyond(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// The bytes of a sum's result over these elements.
pub fn sum(op: Op, dtype: DType, nan: NanPolicy, elements: &[&[u8]]) -> Vec<u8> {
    let bits = elements.iter().map(|element| {
        let bytes = element.iter().rev();
        bytes.fold(0u64, |bits, &byte| bits << 8 | u64::from(byte))
    });
    let bits: Vec<u64> = bits.collect();
    let result = match Float::of(dtype) {
        Some(float) => float_sum(op, float, nan, bits),
        None => integer_sum(op, dtype, &bits),
    };
    result.to_le_bytes()[..dtype.size() as usize].to_vec()
}

fn float_sum(op: Op, float: Float, nan: NanPolicy, mut bits: Vec<u64>) -> u64 {
    let sign = 1 << (float.bits - 1);
    let infinity = float.infinity();
    let canonical = infinity | 1 << (float.fraction - 1);
    let is_nan = |bits: &u64| bits & !sign > infinity;
    if nan == NanPolicy::Ignore {
        bits.retain(|bits| !is_nan(bits));
    }
    let signed = matches!(op, Op::ReduceSum | Op::ReduceMean);
    if !signed {
        bits.iter_mut().for_each(|bits| *bits &= !sign);
    }
    let has = |what: u64| bits.contains(&what);
    if bits.iter().any(is_nan)
        || has(infinity) && has(sign | infinity)
        || op == Op::ReduceMean && bits.is_empty()
    {
        return canonical;
    }
    for infinity in [infinity, sign | infinity] {
        if has(infinity) {
            return infinity;
        }
    }
    let value = |bits: &u64| {
        let value = BigInt::from(float.value(bits & !sign));
        if bits & sign == 0 { value } else { -value }
    };
    let squares = matches!(op, Op::ReduceL2 | Op::ReduceSumSquare);
    let exact: BigInt = match squares {
        true => bits.iter().map(|b| value(b) * value(b)).sum(),
        false => bits.iter().map(value).sum(),
    };
    let count = bits.len();
    let only_negative_zeros = count > 0 && bits.iter().all(|&b| b == sign);
    let negative = exact < BigInt::ZERO || only_negative_zeros;
    let exact = exact.magnitude();
    let nearest = float.nearest(|twice| match op {
        Op::ReduceMean => (exact * 2u8).cmp(&(twice * count)),
        Op::ReduceL2 => (exact * 4u8).cmp(&(twice * twice)),
        Op::ReduceSumSquare => (exact * 2u8).cmp(&(twice << -UNIT)),
        _ => (exact * 2u8).cmp(twice),
    });
    if negative { sign | nearest } else { nearest }
}

fn integer_sum(op: Op, dtype: DType, bits: &[u64]) -> u64 {
    let size = 8 * dtype.size() as u32;
    let modulus = 1i128 << size;
    let signed = dtype.class() == Class::Signed;
    let value = |bits: i128| match signed && bits >= modulus / 2 {
        true => bits - modulus,
        false => bits,
    };
    let values = bits.iter().map(|&bits| BigInt::from(value(bits.into())));
    let exact: BigInt = match op {
        Op::ReduceL1 => values.map(|v| BigInt::from(v.magnitude().clone())).sum(),
        Op::ReduceL2 | Op::ReduceSumSquare => values.map(|v| &v * &v).sum(),
        _ => values.sum(),
    };
    let wrapped = ((&exact % modulus) + modulus) % modulus;
    let wrapped = i128::try_from(&wrapped).expect("a remainder");
    let result = match op {
        Op::ReduceMean => value(wrapped) / bits.len() as i128,
        Op::ReduceL2 => {
            let most = if signed { modulus / 2 - 1 } else { modulus - 1 };
            i128::try_from(exact.sqrt()).map_or(most, |root| root.min(most))
        }
        _ => wrapped,
    };
    result as u64
}

/// Random numbers from a float type's whole range: about half of `n`, and the negatives of most of them, shuffled, so
/// that the sum is made of the lowest bits of a few. Other types get random bits.
pub fn cancelling(dtype: DType, n: usize, draw: &mut impl FnMut() -> u64) -> Vec<u64> {
    let Some(float) = Float::of(dtype) else {
        return (0..n).map(|_| draw() ^ draw() << 1).collect();
    };
    let sign = 1 << (float.bits - 1);
    let mut all = Vec::new();
    while all.len() < n {
        let one = draw() % float.infinity();
        all.push(one);
        if !draw().is_multiple_of(16) {
            // Sometimes off by a little.
            all.push(sign | one.saturating_sub(u64::from(draw().is_multiple_of(4))));
        }
    }
    all.truncate(n);
    for i in (1..n).rev() {
        all.swap(i, draw() as usize % (i + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn values_are_those_of_the_float_types() {
        let values = |dtype: DType, step, wide: fn(u64) -> f64| {
            let [narrow, double] = [dtype, DType::F64].map(|t| Float::of(t).expect("a float"));
            for bits in (0..narrow.infinity()).step_by(step) {
                let value = double.value(wide(bits).to_bits());
                assert_eq!(narrow.value(bits), value, "{dtype} {bits:x}");
            }
        };
        values(DType::F16, 7, |x| f16::from_bits(x as u16).to_f64());
        values(DType::BF16, 7, |x| bf16::from_bits(x as u16).to_f64());
        values(DType::F32, 99_991, |x| f64::from(f32::from_bits(x as u32)));
    }

    #[test]
    fn the_nearest_float_is_that_of_the_language() {
        // Conversion to f32 rounds to nearest, ties to even.
        let [single, double] = [DType::F32, DType::F64].map(|t| Float::of(t).expect("a float"));
        let mut bits = crate::Bits::new(3);
        for _ in 0..2000 {
            // Doubles in and around the range of f32, half of them at a float or at a middle between floats.
            let middle = bits.draw().is_multiple_of(2);
            let exponent = 1023 - 160 + bits.below(300);
            let fraction = bits.draw() >> 11 & if middle { !0 << 28 } else { !0 };
            let x = f64::from_bits(exponent << 52 | fraction & ((1 << 52) - 1));
            let exact = double.value(x.to_bits()) * 2u8;
            let nearest = single.nearest(|twice| exact.cmp(twice));
            assert_eq!(nearest, u64::from((x as f32).to_bits()), "{x:e}");
        }
    }
}
