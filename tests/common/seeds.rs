//! Seeds: the data that tests of results are made of, and its parts.

use wgreduce::{Class, DType};

/// A small, fast and reproducible source of bits.
pub struct Bits(u64);

impl Bits {
    pub fn new(seed: u64) -> Bits {
        Bits(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1
    }
}

/// Kinds of rows: what each is there to catch.
#[derive(Clone, Copy, Debug)]
pub enum Seed {
    /// Any bits: NaNs with payloads and signs, subnormals.
    Random,
    /// Few values, zeros of both signs among them: ties everywhere.
    Ties,
    /// Numbers with some NaNs between.
    Nans,
    /// Only NaNs, of all kinds; for other types only one value.
    AllNan,
    /// Only the largest value (+inf).
    Top,
    /// Only the smallest value (-inf).
    Bottom,
    /// Each element larger than the one before, as far as the type goes.
    Rising,
    /// The reverse.
    Falling,
}

impl Seed {
    pub const ALL: [Seed; 8] = [
        Seed::Random,
        Seed::Ties,
        Seed::Nans,
        Seed::AllNan,
        Seed::Top,
        Seed::Bottom,
        Seed::Rising,
        Seed::Falling,
    ];
}

/// (infinity, quiet NaN, one) of a float type, as bits.
fn float_bits(dtype: DType) -> (u64, u64, u64) {
    match dtype {
        DType::F16 => (0x7c00, 0x7e00, 0x3c00),
        DType::BF16 => (0x7f80, 0x7fc0, 0x3f80),
        DType::F32 => (0x7f80_0000, 0x7fc0_0000, 0x3f80_0000),
        _ => (0x7ff0 << 48, 0x7ff8 << 48, 0x3ff0 << 48),
    }
}

/// The bits of element `i` of `n` of a row.
pub fn element(dtype: DType, seed: Seed, i: u64, n: u64, bits: &mut Bits) -> u64 {
    let width = 8 * dtype.size();
    let ones = u64::MAX >> (64 - width);
    let sign = 1u64 << (width - 1);
    let any = ((bits.next() << 20) ^ bits.next()) & ones;
    let float = dtype.class() == Class::Float;
    let (infinity, nan, one) = float_bits(dtype);
    let (top, bottom) = match dtype.class() {
        Class::Float => (infinity, infinity | sign),
        Class::Signed => (ones ^ sign, sign),
        Class::Unsigned => (ones, 0),
        Class::Bool => (1, 0),
    };
    // NaNs differ in sign and payload.
    let some_nan = (infinity + 1 + any % (nan - infinity)) | (any & sign);
    match seed {
        Seed::Random => any,
        Seed::Ties if float => [0, sign, one, one | sign][any as usize % 4],
        Seed::Ties => [0, 1, ones, 2][any as usize % 4],
        Seed::Nans if float && any.is_multiple_of(61) => some_nan,
        Seed::Nans => any & !(infinity & (ones >> 2)),
        Seed::AllNan if float => some_nan,
        Seed::AllNan => one & ones,
        Seed::Top => top,
        Seed::Bottom => bottom,
        Seed::Rising => i.min(infinity - 1) & ones,
        Seed::Falling => (n - i).min(infinity - 1) & ones,
    }
}

/// Appends an element's bytes.
pub fn push(bytes: &mut Vec<u8>, dtype: DType, element: u64) {
    bytes.extend_from_slice(&element.to_le_bytes()[..dtype.size() as usize]);
}

/// A tensor `[outer, len, inner]` whose segments cycle through all seeds.
pub fn tensor(dtype: DType, [outer, len, inner]: [u64; 3], seed: u64) -> Vec<u8> {
    let mut bits = Bits::new(seed ^ (len << 20) ^ (inner << 8) ^ outer);
    let mut bytes = Vec::with_capacity((outer * len * inner * dtype.size()) as usize);
    for o in 0..outer {
        for i in 0..len {
            for c in 0..inner {
                let kind = Seed::ALL[(o * inner + c + seed) as usize % Seed::ALL.len()];
                push(&mut bytes, dtype, element(dtype, kind, i, len, &mut bits));
            }
        }
    }
    bytes
}

/// The part of a `[outer, len, inner]` tensor that lies in a range of dimension 1.
pub fn part(
    dtype: DType,
    [outer, len, inner]: [u64; 3],
    range: std::ops::Range<u64>,
    data: &[u8],
) -> Vec<u8> {
    let row = (inner * dtype.size()) as usize;
    let rows = |o: u64| {
        let begin = (o * len + range.start) as usize * row;
        &data[begin..begin + (range.end - range.start) as usize * row]
    };
    (0..outer).flat_map(rows).copied().collect()
}

/// Where a length is cut by chance into at most so many parts, none of them empty: 0, cuts, `len`.
pub fn cuts(len: u64, parts: u64, bits: &mut Bits) -> Vec<u64> {
    let mut cuts: Vec<u64> = (1..parts).map(|_| bits.next() % len).collect();
    cuts.extend([0, len]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}
