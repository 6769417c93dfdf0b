//! Data for tests of results.
//!
//! A wrong element must change a result, wherever it is. So single winners lie on both sides of
//! every border (of a vec4, an invocation, a slice, a window: all of them multiples of powers of two),
//! and no tensor that decides a test is constant.

use std::ops::Range;
use wgreduce::{Class, DType, Order};

/// A small, fast and reproducible source of bits.
pub struct Bits(u64);

impl Bits {
    pub fn new(seed: u64) -> Bits {
        Bits(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n.max(1)
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// The kind of a segment's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seed {
    /// Any bits: NaNs with payloads and signs, subnormals.
    Random,
    /// Any numbers, no NaN: hardly two alike if the type is wide enough.
    Numbers,
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
    /// One least and one greatest element among middling ones.
    Spot,
    /// Two equal least and two equal greatest ones.
    SpotTie,
    /// One NaN among numbers; for other types as `Spot`.
    SpotNan,
    /// Middling elements, and now and then a least, a greatest or a NaN.
    Sparse,
}

impl Seed {
    /// The kinds through which segments cycle: in half of them the winner may be anywhere.
    pub const ALL: [Seed; 14] = [
        Seed::Spot,
        Seed::Random,
        Seed::SpotTie,
        Seed::Ties,
        Seed::SpotNan,
        Seed::Nans,
        Seed::Spot,
        Seed::AllNan,
        Seed::Numbers,
        Seed::Top,
        Seed::SpotTie,
        Seed::Rising,
        Seed::Falling,
        Seed::Bottom,
    ];

    /// The kinds in which every element may decide.
    const MIXED: [Seed; 4] = [Seed::Numbers, Seed::Sparse, Seed::Nans, Seed::Ties];
}

/// Where a segment has its winners.
#[derive(Clone, Copy, Debug, Default)]
struct Winners {
    least: [u64; 2],
    greatest: [u64; 2],
}

impl Winners {
    /// `first` is the position in the tensor of the first of `n` elements.
    fn of(seed: Seed, first: u64, n: u64, bits: &mut Bits) -> Winners {
        let mut pair = || {
            let one = place(first, n, bits);
            match seed {
                Seed::SpotTie => [one, place(first, n, bits)],
                _ => [one; 2],
            }
        };
        Winners {
            least: pair(),
            greatest: pair(),
        }
    }
}

/// A position among `n` elements: at an end, anywhere, or just before or after a border.
fn place(first: u64, n: u64, bits: &mut Bits) -> u64 {
    if n == 0 {
        return 0;
    }
    let last = n - 1;
    // Borders of the tensor for even choices, of the segment for odd ones.
    let choice = bits.below(8);
    let start = if choice.is_multiple_of(2) { first } else { 0 };
    let unit = 1 << bits.below(u64::from(n.ilog2()) + 1);
    let border = (start + bits.below(n)).next_multiple_of(unit) - start;
    match choice {
        0 => last.saturating_sub(bits.below(4)),
        1 => bits.below(4).min(last),
        2 | 3 => bits.below(n),
        4 | 5 => border.min(last),
        _ => border.clamp(1, n) - 1,
    }
}

/// (infinity, quiet NaN, one) of a float type, as bits.
pub const fn float_bits(dtype: DType) -> (u64, u64, u64) {
    match dtype {
        DType::F16 => (0x7c00, 0x7e00, 0x3c00),
        DType::BF16 => (0x7f80, 0x7fc0, 0x3f80),
        DType::F32 => (0x7f80_0000, 0x7fc0_0000, 0x3f80_0000),
        _ => (0x7ff0 << 48, 0x7ff8 << 48, 0x3ff0 << 48),
    }
}

/// The least and the greatest element of a type: the infinities of a float.
pub fn limits(dtype: DType) -> (u64, u64) {
    let ones = u64::MAX >> (64 - 8 * dtype.size());
    let sign = ones ^ (ones >> 1);
    let infinity = float_bits(dtype).0;
    match dtype.class() {
        Class::Float => (infinity | sign, infinity),
        Class::Signed => (sign, ones ^ sign),
        Class::Unsigned => (0, ones),
        Class::Bool => (0, 1),
    }
}

/// A middling element, and the least and the greatest element of a segment of middling ones. The greatest has the
/// greatest magnitude. For bool, `parity` tells which value is rare.
fn middling(dtype: DType, any: u64, parity: bool) -> [u64; 3] {
    let width = 8 * dtype.size();
    let ones = u64::MAX >> (64 - width);
    let (infinity, _, one) = float_bits(dtype);
    // The lowest bit of the exponent: a factor of two.
    let double = 1 << infinity.trailing_zeros();
    match dtype.class() {
        Class::Float => {
            let sign = 1 << (width - 1);
            let middle = [0, sign, one, one | sign, one + 1, one + double][any as usize % 6];
            [middle, (one + 2 * double) | sign, one + 3 * double]
        }
        Class::Signed => [(any % 5).wrapping_sub(2) & ones, ones - 99, 101],
        Class::Unsigned => [100 + any % 5, 7, 200],
        Class::Bool if parity => [1, 0, 1],
        Class::Bool => [0, 0, 1],
    }
}

/// The bits of element `i` of `n`.
fn element(dtype: DType, seed: Seed, i: u64, n: u64, at: &Winners, bits: &mut Bits) -> u64 {
    let width = 8 * dtype.size();
    let ones = u64::MAX >> (64 - width);
    let sign = 1u64 << (width - 1);
    let any = ((bits.draw() << 20) ^ bits.draw()) & ones;
    let float = dtype.class() == Class::Float;
    let (infinity, nan, one) = float_bits(dtype);
    let (bottom, top) = limits(dtype);
    // NaNs differ in sign and payload.
    let some_nan = (infinity + 1 + any % (nan - infinity)) | (any & sign);
    let number = match float {
        true => any & !(infinity & (ones >> 2)),
        false => any,
    };
    let parity = (at.least[0] + at.greatest[0]).is_multiple_of(2);
    let [middle, least, greatest] = middling(dtype, any, parity);
    match seed {
        Seed::Random => any,
        Seed::Numbers => number,
        Seed::Ties if float => [0, sign, one, one | sign][any as usize % 4],
        Seed::Ties => [0, 1, ones, 2][any as usize % 4],
        Seed::Nans if float && any.is_multiple_of(61) => some_nan,
        Seed::Nans => number,
        Seed::AllNan if float => some_nan,
        Seed::AllNan => one & ones,
        Seed::Top => top,
        Seed::Bottom => bottom,
        Seed::Rising => i.min(infinity - 1) & ones,
        Seed::Falling => (n - i).min(infinity - 1) & ones,
        Seed::SpotNan if float && i == at.least[0] => some_nan,
        Seed::SpotNan if float => number,
        Seed::Spot | Seed::SpotTie | Seed::SpotNan => match i {
            i if at.least.contains(&i) => least,
            i if at.greatest.contains(&i) => greatest,
            _ => middle,
        },
        Seed::Sparse => match bits.below(97) {
            0 if float => some_nan,
            1..4 => least,
            4..7 => greatest,
            _ => middle,
        },
    }
}

/// The bytes of elements of a type, given as bits.
pub fn bytes(dtype: DType, elements: impl Iterator<Item = u64>) -> Vec<u8> {
    let size = dtype.size() as usize;
    let mut bytes = Vec::with_capacity(elements.size_hint().0 * size);
    elements.for_each(|bits| bytes.extend_from_slice(&bits.to_le_bytes()[..size]));
    bytes
}

/// A tensor `[outer, len, inner]` whose segments cycle through all seeds; `seed` is that of the first one.
pub fn tensor(dtype: DType, [outer, len, inner]: [u64; 3], seed: u64) -> Vec<u8> {
    let mut bits = Bits::new(seed ^ (len << 20) ^ (inner << 8) ^ outer);
    let mut all = Vec::with_capacity((outer * len * inner) as usize);
    for o in 0..outer {
        let mut segment = |c: u64| {
            let kind = Seed::ALL[(o * inner + c + seed) as usize % Seed::ALL.len()];
            (kind, Winners::of(kind, o * len, len, &mut bits))
        };
        let segments: Vec<(Seed, Winners)> = (0..inner).map(&mut segment).collect();
        for i in 0..len {
            for (kind, at) in &segments {
                all.push(element(dtype, *kind, i, len, at, &mut bits));
            }
        }
    }
    bytes(dtype, all.into_iter())
}

/// Segments of `len` elements, rows or columns: in turn, every position is once the least and once the greatest.
pub fn diagonal(dtype: DType, [segments, len]: [u64; 2], rows: bool) -> Vec<u8> {
    let mut bits = Bits::new(len);
    let element = |i: u64| {
        let (segment, at) = match rows {
            true => (i / len, i % len),
            false => (i % segments, i / segments),
        };
        // For bool, one value is rare in the first half of the segments, the other in the second.
        let [middle, least, greatest] = middling(dtype, bits.draw(), 2 * segment < segments);
        match at {
            at if at == segment % len => least,
            at if at == (segment + len / 2) % len => greatest,
            _ => middle,
        }
    };
    bytes(dtype, (0..segments * len).map(element))
}

/// A tensor `[outer, len, inner]` of zeros and ones of one sign a segment, some with a single zero of the other sign;
/// `nans`: and of NaNs of both signs.
pub fn zeros(dtype: DType, [outer, len, inner]: [u64; 3], nans: bool) -> Vec<u8> {
    let mut bits = Bits::new(len ^ (inner << 8));
    let (infinity, nan, one) = float_bits(dtype);
    let sign = 1 << (8 * dtype.size() - 1);
    let element = |i: u64| {
        let (segment, at) = (i / (len * inner) * inner + i % inner, i / inner % len);
        let side = if segment.is_multiple_of(2) { 0 } else { sign };
        let other = (segment / 2).is_multiple_of(2) && at == (segment * 7 + len / 2) % len;
        match bits.below(8) {
            _ if other => side ^ sign,
            0 if nans => nan,
            // Nothing but the lowest bit tells it from infinity.
            1 if nans => infinity | sign | 1,
            3 | 4 => one | side,
            _ => side,
        }
    };
    bytes(dtype, (0..outer * len * inner).map(element))
}

/// Rows of which every third has only the best value of its type, the others only the worst, and no NaN.
pub fn worst(dtype: DType, order: Order, [rows, len]: [u64; 2]) -> Vec<u8> {
    let (bottom, top) = limits(dtype);
    let [best, worst] = match order {
        Order::Least => [bottom, top],
        Order::Greatest => [top, bottom],
        _ => [top, 0],
    };
    let element = |i: u64| match i / len % 3 {
        0 => best,
        _ => worst,
    };
    bytes(dtype, (0..rows * len).map(element))
}

/// The seeds with which the segments of a tensor are together of every kind.
pub fn seeds([outer, _, inner]: [u64; 3]) -> impl Iterator<Item = u64> {
    let kinds = Seed::ALL.len() as u64;
    (0..kinds).step_by((outer * inner).clamp(1, kinds) as usize)
}

/// `n` elements to be read in any order: each may decide.
pub fn mixed(dtype: DType, n: u64, seed: u64) -> Vec<u8> {
    let mut bits = Bits::new(seed ^ (n << 8));
    let kind = Seed::MIXED[seed as usize % Seed::MIXED.len()];
    // For bool, one value is rare: otherwise every long segment would hold both.
    let at = Winners {
        least: [seed / 4; 2],
        ..Winners::default()
    };
    let kind = match dtype {
        DType::Bool => Seed::Sparse,
        _ => kind,
    };
    let elements = (0..n).map(|i| element(dtype, kind, i, n, &at, &mut bits));
    bytes(dtype, elements)
}

/// The part of a `[outer, len, inner]` tensor that lies in a range of dimension 1.
pub fn part(
    dtype: DType,
    [outer, len, inner]: [u64; 3],
    range: Range<u64>,
    data: &[u8],
) -> Vec<u8> {
    let row = (inner * dtype.size()) as usize;
    let rows = |o: u64| {
        let begin = (o * len + range.start) as usize * row;
        &data[begin..begin + (range.end - range.start) as usize * row]
    };
    (0..outer).flat_map(rows).copied().collect()
}

/// Random cuts of a length into at most `parts` parts, none of them empty: 0, cuts, `len`.
pub fn cuts(len: u64, parts: u64, bits: &mut Bits) -> Vec<u64> {
    let mut cuts: Vec<u64> = (1..parts).map(|_| bits.below(len)).collect();
    cuts.extend([0, len]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// The number of kinds of [`summands`].
pub const SUMMANDS: u64 = 12;

/// Elements to be summed, of a kind that the seed chooses: with few exponents or all, pairs that cancel, subnormals,
/// close to the largest, zeros, with infinities and NaNs or NaNs alone, ever larger, ties with little beside them. The
/// element that decides may be anywhere.
pub fn summands(dtype: DType, n: u64, seed: u64) -> Vec<u8> {
    let mut bits = Bits::new(seed ^ 0x5eed);
    let width = 8 * dtype.size();
    if dtype.class() != Class::Float {
        let element = |_| {
            let any = (bits.draw() << 20) ^ bits.draw();
            // Any numbers, small ones, or those at the ends of the range.
            match seed % 3 {
                0 => any,
                1 => (any as i64 >> 60) as u64,
                _ => [1 << (width - 1), !0, (1 << (width - 1)) - 1][(any % 3) as usize],
            }
        };
        return bytes(dtype, (0..n).map(element));
    }
    let (infinity, _, _) = float_bits(dtype);
    let sign = 1 << (width - 1);
    let least_normal = infinity & infinity.wrapping_neg();
    let one = (infinity >> 1) & infinity;
    let mut last = 0;
    let digits = u64::from(least_normal.ilog2()) + 1;
    // Limbs that a sum's leading bits may be in.
    let rooms = infinity / least_normal / 24;
    let special = (0..3).map(|_| bits.below(2 * n.max(1))).collect::<Vec<_>>();
    let element = |i: u64| {
        let any = (bits.draw() << 20) ^ bits.draw();
        let negative = any & sign;
        let magnitude = any & (sign - 1);
        last = match seed % SUMMANDS {
            // Around 1, as most data is.
            0 => negative | (one + magnitude % (4 * least_normal)),
            1 => negative | (magnitude % infinity),
            // Pairs that cancel, except for the last element of an odd number.
            2 if i % 2 == 1 => last ^ sign,
            2 => magnitude % infinity,
            3 => negative | (magnitude % (2 * least_normal)),
            // Close to the largest; the first half is negative.
            4 => {
                let signed = if 2 * i < n { sign } else { negative };
                signed | (infinity - 1 - magnitude % least_normal)
            }
            5 => sign,
            // Half of them zeros, as after a ReLU; the others fill a digit to its highest bits.
            6 if any & 8 == 0 => 0,
            6 => (24 * (1 + n % rooms) - 3) * least_normal + magnitude % (4 * least_normal),
            7 if special.contains(&i) => match any >> 8 & 3 {
                0 => infinity + 1 + magnitude % (least_normal - 1),
                1 => infinity,
                2 => infinity | sign,
                _ => sign,
            },
            7 => negative | (magnitude % infinity),
            // -0, with a few +0 anywhere and some more in the second half.
            8 if special.contains(&i) || 2 * i > n && any >> 8 & 15 == 0 => 0,
            8 => sign,
            // Ever larger.
            9 => negative | (infinity / n * i + magnitude % least_normal),
            // Nothing but NaNs.
            10 => negative | (infinity + 1 + magnitude % (least_normal - 1)),
            // A large number, half of its last bit, the least number, and zeros.
            _ => match any >> 8 & 7 {
                0 => infinity - 8 * least_normal,
                1 => infinity - (8 + digits) * least_normal,
                2 => negative | 1,
                _ => 0,
            },
        };
        last
    };
    bytes(dtype, (0..n).map(element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgreduce::{Problem, reference};

    #[test]
    fn a_long_row_is_decided_in_all_its_parts() {
        const LEN: u64 = 4096;
        for dtype in DType::ALL {
            let problem = Problem::arg_min(dtype, &[LEN], 0).expect("a problem");
            let mut parts = [0; 8];
            for seed in 0..400 {
                let row = tensor(dtype, [1, LEN, 1], seed);
                let winner = reference::evaluate(&problem, &[&row]).expect("a winner");
                let winner: u64 = bytemuck::pod_read_unaligned(&winner[0]);
                parts[(winner * 8 / LEN) as usize] += 1;
            }
            assert!(parts.iter().all(|&n| n >= 4), "{dtype}: {parts:?}");
        }
    }

    #[test]
    fn winners_lie_on_both_sides_of_borders() {
        let mut bits = Bits::new(1);
        // Uniform places would give 4000 / unit.
        let places: Vec<u64> = (0..4000).map(|_| place(0, 4096, &mut bits)).collect();
        for unit in [16, 64, 256, 1024] {
            for side in [0, unit - 1] {
                let there = places.iter().filter(|&place| place % unit == side).count() as u64;
                assert!(there > 2 * 4000 / unit, "{there} at {side} of {unit}");
            }
        }
    }

    #[test]
    fn no_eighth_of_flat_data_is_constant() {
        for dtype in DType::ALL {
            for seed in 0..8 {
                let data = mixed(dtype, 2000, seed);
                let parts = data.chunks(data.len() / 8);
                let varied = |part: &[u8]| {
                    part.chunks(dtype.size() as usize)
                        .any(|e| *e != part[..e.len()])
                };
                assert!(parts.into_iter().all(varied), "{dtype} {seed}");
            }
        }
    }
}
