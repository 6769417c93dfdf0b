//! How a sum is kept: constants let one arithmetic serve every element type and operator.
//!
//! Defines the number format of partial sums in Rust; the shaders' part is `shaders/accumulate/sum_*.wgsl`
//! and `shaders/elements/terms*.wgsl`. Sums of integers are kept modulo 2^bits, in a key. All others (of
//! floats, and L2) are exact: a fixed-point number in limbs of [`LIMB_BITS`] bits. It begins with the least
//! bit that an element (or its square) can have, and has room for the sum of as many elements as a tensor can
//! have.

use crate::{Class, DType, NanPolicy, Op};

/// Bits of a limb. The last one is a whole word, with a sign.
pub(crate) const LIMB_BITS: u32 = 24;
/// Bits of a digit.
const DIGIT_BITS: u32 = 22;
/// Binades apart that elements of a block may lie at least: of a million normal numbers hardly one is so small.
const SPREAD: u32 = 30;
/// The exponent of infinities in float32.
const FLOAT_INFINITY: i32 = 255;
/// Limbs of a count of elements.
const COUNT_LIMBS: u32 = 3;
/// Elements that a limb takes between carries: each adds less than 2^25, as does a window beside them.
const TAKES: u64 = 60;
/// Most iterations for a result: to divide, or to find a root, bit by bit.
const RESULT: u64 = 160;
/// Most iterations beside the elements of a window: over its digits, those that are kept, and a team.
const WINDOW: u64 = 32;

/// A sum of elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    op: Op,
    dtype: DType,
    /// NaNs are not counted.
    skips: bool,
}

/// How a float's bits are divided.
#[derive(Clone, Copy)]
struct Format {
    /// Bits of the exponent.
    exponent: u32,
    /// Bits of the mantissa, with the hidden one.
    mantissa: u32,
}

/// How elements become digits; `shaders/accumulate/digits.wgsl` explains them.
#[derive(Clone, Copy)]
struct Digits {
    /// Digits of a window.
    window: u32,
    /// Digits that are kept, below the highest one, which has a sign.
    all: u32,
    /// The exponent of digit 0 in float32; wraps below 0. Only where additions of float32 make digits.
    unit: u32,
    /// The first digit of a window is one of these.
    least: u32,
    most: u32,
}

impl Sum {
    /// What the operator sums; `None` if it chooses an element instead.
    pub fn new(op: Op, dtype: DType, nan: NanPolicy) -> Option<Sum> {
        let float = dtype.class() == Class::Float;
        op.is_sum().then_some(Sum {
            op,
            dtype,
            skips: float && nan == NanPolicy::Ignore,
        })
    }

    /// The same for partial sums, which know nothing of divisions and roots.
    pub(crate) fn partial(self) -> Sum {
        let op = match self.op {
            Op::ReduceMean if !self.counts() => Op::ReduceSum,
            Op::ReduceL2 if self.is_float() => Op::ReduceSumSquare,
            op => op,
        };
        Sum { op, ..self }
    }

    /// Whether it is one of floats.
    pub fn is_float(self) -> bool {
        self.dtype.class() == Class::Float
    }

    pub(crate) fn bits(self) -> u32 {
        8 * self.dtype.size() as u32
    }

    fn squares(self) -> bool {
        matches!(self.op, Op::ReduceL2 | Op::ReduceSumSquare)
    }

    /// Whether the number of elements is a part of the sum: skipped ones do not count.
    fn counts(self) -> bool {
        self.op == Op::ReduceMean && self.skips
    }

    /// Whether the result is divided by the number of elements.
    pub(crate) fn is_mean(self) -> bool {
        self.op == Op::ReduceMean
    }

    fn format(self) -> Format {
        let (exponent, mantissa) = match self.dtype {
            DType::F16 => (5, 11),
            DType::BF16 => (8, 8),
            DType::F32 => (8, 24),
            DType::F64 => (11, 53),
            // The magnitude alone.
            dtype => (0, 8 * dtype.size() as u32),
        };
        Format { exponent, mantissa }
    }

    /// Limbs of an exact sum; 0 for a sum modulo 2^bits.
    pub fn limbs(self) -> u32 {
        if !self.is_float() && self.op != Op::ReduceL2 {
            return 0;
        }
        // At most 2^63 bytes of elements; and a sign.
        let elements = 64 - self.dtype.size().ilog2();
        let bits = self.number_bits() + elements;
        (bits - 31).div_ceil(LIMB_BITS) + 1
    }

    /// Whether it is exact, in limbs; any other is kept modulo 2^bits.
    pub fn is_exact(self) -> bool {
        self.limbs() > 0
    }

    /// The same for the terms of a sum modulo 2^bits: signs matter only for magnitudes and means.
    pub(crate) fn of_terms(self) -> Sum {
        let op = match self.op {
            Op::ReduceL1 if !self.takes_magnitudes() => Op::ReduceSum,
            op => op,
        };
        let dtype = match (op, self.dtype) {
            (Op::ReduceL1 | Op::ReduceMean, dtype) => dtype,
            (_, DType::I8) => DType::U8,
            (_, DType::I16) => DType::U16,
            (_, DType::I32) => DType::U32,
            (_, DType::I64) => DType::U64,
            (_, dtype) => dtype,
        };
        Sum { op, dtype, ..self }
    }

    /// Words of workgroup memory in which a team adds its sums: limbs and flags.
    pub(crate) fn shared_words(self) -> u32 {
        self.limbs() + self.count_limbs() + 1
    }

    /// Pieces of 24 bits of a magnitude or its square.
    fn pieces(self) -> u32 {
        let digits = self.format().mantissa.div_ceil(12);
        if self.squares() {
            digits
        } else {
            digits.div_ceil(2)
        }
    }

    /// Whether additions of float32 make digits of elements, not integers.
    pub(crate) fn splits_floats(self) -> bool {
        self.is_float() && !self.squares() && self.dtype != DType::F64
    }

    /// Exponents of a sum for each one of an element.
    fn places(self) -> u32 {
        if self.squares() { 2 } else { 1 }
    }

    /// Bits of an element's magnitude, or of its square.
    fn magnitude(self) -> u32 {
        self.places() * self.format().mantissa
    }

    /// Bits of the greatest number, from the least bit that an element can have.
    fn number_bits(self) -> u32 {
        // The highest exponent belongs to infinities; the two lowest share a place.
        let exponents = (1u32 << self.format().exponent).saturating_sub(3);
        self.places() * exponents + self.magnitude()
    }

    /// How elements become digits.
    fn digits(self) -> Digits {
        if !self.splits_floats() {
            let near = self.places() * SPREAD + self.magnitude() + DIGIT_BITS - 1;
            let bits = near.min(self.number_bits());
            let window = bits.div_ceil(DIGIT_BITS).max(2);
            return Digits {
                window,
                all: window,
                unit: 0,
                least: window - 1,
                most: (self.number_bits().div_ceil(DIGIT_BITS) - 1).max(window - 1),
            };
        }
        let Format { exponent, mantissa } = self.format();
        let bits = DIGIT_BITS as i32;
        let window = if self.dtype == DType::F32 { 3 } else { 2 };
        // The unit of digit 0 is the least bit that an element can have.
        let unit = 130 - (1 << (exponent - 1)) - mantissa as i32;
        let (least, most) = match self.dtype {
            // One window holds every number.
            DType::F16 => (1, 1),
            // What is left of 0 is scaled up for each digit but one, and must stay below the unit; M must be finite.
            _ => (
                (bits * (window - 1) + 1 - unit) / bits + 1,
                (FLOAT_INFINITY - 1 - (bits + 1) - unit) / bits,
            ),
        };
        Digits {
            window: window as u32,
            all: if least == most { 2 } else { 2 * window as u32 },
            unit: unit as u32,
            least: least as u32,
            most: most as u32,
        }
    }

    /// Words, from the highest bit of a sum on, that a result is made of: two hold more bits than any type has, four the
    /// radicand of a float64, and the quotient of one by a count.
    fn leading(self) -> u32 {
        let divided = matches!(self.op, Op::ReduceL2 | Op::ReduceMean);
        if divided && self.bits() == 64 { 4 } else { 2 }
    }

    /// How often all elements are taken again where digits do not hold them: by as many digits as a sum has.
    fn windows(self) -> u32 {
        match self.is_float() {
            true => self.number_bits().div_ceil(DIGIT_BITS * self.digits().all),
            false => 0,
        }
    }

    /// Iterations beside the elements: of all windows, of an empty one for the last carries, and of the result.
    fn beside_again(self) -> u64 {
        u64::from(self.windows() + 1) * WINDOW + self.end_iterations()
    }

    /// Iterations to take so many elements again where digits do not hold them, and to make a result of them.
    pub(crate) fn again_iterations(self, elements: u64) -> u64 {
        u64::from(self.windows()) * elements + self.beside_again()
    }

    /// Elements that can be taken again in so many iterations.
    pub(crate) fn most_again(self, iterations: u64) -> u64 {
        let left = iterations.saturating_sub(self.beside_again());
        match u64::from(self.windows()) {
            0 => u64::MAX,
            windows => (left / windows).max(1),
        }
    }

    /// The share of so many iterations for elements that are taken again, if they take about one each before.
    pub(crate) fn again_share(self, iterations: u64) -> u64 {
        let windows = u64::from(self.windows());
        iterations * windows / (windows + 1)
    }

    /// Most iterations to add a block of so many loads to a sum: two windows of all loads, as many digits as two sums may be
    /// apart, and what ends the loops.
    pub(crate) fn block_iterations(self, loads: u64) -> u64 {
        2 * (loads + 1) + 2 * u64::from(self.digits().all + 2)
    }

    /// Bytes of workgroup memory of an invocation that leaves a sum to its team.
    pub(crate) fn placed_bytes(self) -> u32 {
        // The place of the highest digit, whether it is far, a count, the signs, the highest digit and those below.
        4 * (5 + self.digits().all)
    }

    fn count_limbs(self) -> u32 {
        if self.counts() { COUNT_LIMBS } else { 0 }
    }

    /// Words of a partial sum, a power of two. An exact one has flags, limbs, and the limbs of the count.
    pub fn partial_words(self) -> u32 {
        match self.limbs() {
            0 => 4,
            limbs => (1 + limbs + self.count_limbs()).next_power_of_two(),
        }
    }

    /// Iterations to take so many elements one by one.
    pub(crate) fn take_iterations(self, elements: u64) -> u64 {
        let limbs = u64::from(self.limbs() + self.count_limbs());
        elements.saturating_add(elements / TAKES * limbs)
    }

    /// Elements that can be taken one by one in so many iterations, beside beginning and end.
    pub(crate) fn most_elements(self, iterations: u64) -> u64 {
        let limbs = u64::from(self.limbs() + self.count_limbs());
        let left = iterations.saturating_sub(self.end_iterations());
        (left * TAKES / (TAKES + limbs)).max(1)
    }

    /// Iterations to take a partial sum.
    pub(crate) fn join_iterations(self) -> u64 {
        let limbs = u64::from(self.limbs() + self.count_limbs());
        limbs + limbs.div_ceil(TAKES) + 1
    }

    /// Iterations to begin with nothing and to end with a result or a partial sum.
    pub(crate) fn end_iterations(self) -> u64 {
        RESULT + 8 * u64::from(self.limbs() + self.count_limbs())
    }

    /// The names that the directives in the shaders use for the terms of a sum modulo 2^bits.
    pub(crate) fn term_names(self) -> Vec<(&'static str, u32)> {
        vec![
            ("SIGNED", (self.dtype.class() == Class::Signed).into()),
            ("SQUARES", self.squares().into()),
            ("MAGNITUDES", (self.op == Op::ReduceL1).into()),
            ("MEAN", self.is_mean().into()),
        ]
    }

    /// The names that the directives in the shaders use for an exact sum.
    pub(crate) fn names(self) -> Vec<(&'static str, u32)> {
        let Format { exponent, mantissa } = self.format();
        let float = self.is_float();
        let flag = u32::from;
        let infinity = (1u32 << exponent) - 1;
        // The fraction's bits in the word that has the sign.
        let fraction = if self.bits() == 64 { 20 } else { mantissa - 1 };
        // Sums of squares count in squares of the least subnormal.
        let zero_place = match (self.squares(), self.op) {
            (true, Op::ReduceSumSquare) => (1u32 << (exponent.max(1) - 1)) + mantissa - 3,
            _ => 0,
        };
        vec![
            ("FLOATS", flag(float)),
            ("SIGNED", flag(self.dtype.class() == Class::Signed)),
            ("SQUARES", flag(self.squares())),
            ("MAGNITUDES", flag(self.takes_magnitudes())),
            ("MEAN", flag(self.is_mean())),
            ("ROOT", flag(self.op == Op::ReduceL2)),
            ("SKIPS", flag(self.skips)),
            ("LIMBS", self.limbs()),
            ("COUNTS", self.count_limbs()),
            ("PARTIAL_WORDS", self.partial_words()),
            ("TAKES", TAKES as u32),
            ("TERM_PIECES", self.pieces()),
            // Of an element at the top of a word.
            ("FRACTION", (1u32 << (31 - exponent.max(1))) - 1),
            ("DIGITS", mantissa.div_ceil(12)),
            ("PLACES", self.places()),
            ("EXPONENT", exponent),
            ("INFINITY", infinity),
            ("INFINITE", infinity << (31 - exponent)),
            ("MANTISSA", mantissa),
            ("TOP_FRACTION", fraction),
            ("ZERO_PLACE", zero_place),
            // Quiet: the highest bit of the fraction.
            (
                "NAN_BITS",
                ((infinity << 1) | 1) << fraction.clamp(1, 30) >> 1,
            ),
            ("SIGN_BIT", 1 << (self.bits().min(32) - 1)),
            // What adds nothing, of all elements of a word, or of the upper one: -0, or a whole 0.
            (
                "NO_ELEMENT",
                match (float, self.bits()) {
                    (false, _) => 0,
                    (_, 16) => 0x8000_8000,
                    _ => 1 << 31,
                },
            ),
        ]
    }

    /// The names that the directives in the shaders use for digits.
    pub(crate) fn digit_names(self) -> Vec<(&'static str, u32)> {
        let digits = self.digits();
        vec![
            ("N", digits.window),
            ("W", digits.all),
            ("UNIT_0", digits.unit),
            ("TOP_LEAST", digits.least),
            ("TOP_MOST", digits.most),
            ("WINDOWS", self.windows()),
            ("HALF", (self.dtype == DType::F16).into()),
            ("BY_FLOATS", self.splits_floats().into()),
            ("MAGNITUDE", self.magnitude()),
            ("WORDS_OF", self.magnitude().div_ceil(32)),
            ("LEADING", self.leading()),
            // The digits that these words are made of, and the highest one.
            (
                "KEPT",
                1 + digits.all.min((32 * self.leading()).div_ceil(DIGIT_BITS)),
            ),
            // The lowest element of a word.
            ("MASK_0", u32::MAX >> (32 - self.bits().min(32))),
        ]
    }
}

/// A sum of a part of the elements, as the shaders keep it: the words of a partial result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// Of an exact sum: which special elements were met.
    flags: u32,
    /// The limbs, then those of the count; of a sum modulo 2^bits two words.
    limbs: Vec<u32>,
}

const NAN: u32 = 1;
const PLUS_INFINITY: u32 = 2;
const MINUS_INFINITY: u32 = 4;
const MINUS_ZERO: u32 = 8;
const OTHER: u32 = 16;
const LIMB: i64 = (1 << LIMB_BITS) - 1;

impl Sum {
    /// The sum of nothing.
    pub(crate) fn nothing(self) -> Total {
        let words = match self.limbs() {
            0 => 2,
            limbs => limbs + self.count_limbs(),
        };
        Total {
            flags: 0,
            limbs: vec![0; words as usize],
        }
    }

    /// From the words of a partial result; `None` if no sum can have them.
    pub(crate) fn total(self, words: &[u32]) -> Option<Total> {
        let mut total = self.nothing();
        let limbs = total.limbs.len();
        let (kept, rest) = match self.limbs() {
            0 => words.split_at_checked(limbs)?,
            _ => {
                let (&flags, words) = words.split_first()?;
                total.meet(flags);
                words.split_at_checked(limbs)?
            }
        };
        total.limbs.copy_from_slice(kept);
        if !self.is_exact() {
            total.set_low(self.cut(total.low()));
        }
        let last = |i: usize| i + 1 == self.limbs() as usize || i + 1 == limbs;
        let whole = |(i, &limb): (usize, &u32)| last(i) || limb >> LIMB_BITS == 0;
        let carried = !self.is_exact() || total.limbs.iter().enumerate().all(whole);
        let flags = if self.is_float() { 2 * OTHER } else { 1 };
        (carried && total.flags < flags && rest.iter().all(|&w| w == 0)).then_some(total)
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
        let (limbs, counted) = total.limbs.split_at(self.limbs() as usize);
        let taken = match self.counts() {
            true => counted
                .iter()
                .rev()
                .fold(0, |n, &limb| n << LIMB_BITS | u128::from(limb)),
            false => count.into(),
        };
        if taken > count.into() {
            return Some(("count of numbers", 1 + limbs.len()));
        }
        let met = |flag| total.flags & flag != 0;
        let met_one = |flag| i128::from(met(flag));
        let infinities = met_one(PLUS_INFINITY) + met_one(MINUS_INFINITY);
        let special = met_one(NAN) + infinities;
        // What no other flag stands for.
        let plain = met(MINUS_ZERO) || met(OTHER) && infinities == 0;
        let finite = taken as i128 - special;
        let any = limbs.iter().any(|&limb| limb != 0);
        let wrong = finite < i128::from(plain)
            || met(NAN) && self.skips
            || met(MINUS_INFINITY) && self.takes_magnitudes()
            || (infinities > 0 || any) && !met(OTHER)
            // Every element sets a flag, except a NaN that is ignored.
            || total.flags == 0 && taken > 0 && (!self.skips || self.counts());
        if self.is_float() && wrong {
            return Some((flags, 0));
        }
        let top = limbs.len() - 1;
        let negative = (limbs[top] as i32) < 0;
        if negative && self.takes_magnitudes() {
            return Some(("sign of a partial sum", 1 + top));
        }
        // What is left of the greatest sum, from limb to limb.
        let left = (0..=top).fold(0, |carry, i| {
            let limb = match i == top {
                true => i128::from(limbs[i] as i32),
                false => i128::from(limbs[i]),
            };
            let own = if negative { -limb } else { limb };
            (carry >> LIMB_BITS) + finite * i128::from(greatest.limbs[i]) - own
        });
        (left < 0).then_some((size, 1 + top))
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
        let mut words = match self.limbs() {
            0 => Vec::new(),
            _ => vec![total.flags],
        };
        words.extend(&total.limbs);
        words.resize(self.partial_words() as usize, 0);
        words
    }

    /// Adds an element.
    pub(crate) fn take(self, total: &mut Total, element: u64) {
        let bits = self.bits();
        let extended = match self.dtype.class() {
            Class::Signed => ((element << (64 - bits)) as i64) >> (64 - bits),
            _ => element as i64,
        };
        if !self.is_exact() {
            let term = match self.op {
                Op::ReduceL1 if self.takes_magnitudes() => extended.unsigned_abs(),
                Op::ReduceSumSquare => extended.wrapping_mul(extended) as u64,
                _ => extended as u64,
            };
            let sum = total.low().wrapping_add(term);
            total.set_low(self.cut(sum));
            return;
        }
        if !self.is_float() {
            let magnitude = match self.dtype.class() {
                Class::Signed => extended.unsigned_abs(),
                _ => element,
            };
            self.add(total, magnitude, false, 0);
            return;
        }
        let Format { exponent, mantissa } = self.format();
        let (infinity, fraction) = ((1u64 << exponent) - 1, (1u64 << (mantissa - 1)) - 1);
        let negative = element >> (bits - 1) == 1;
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
        if self.counts() && !nan {
            self.carry(total, self.limbs() as usize, 1, true);
        }
        if field < infinity {
            let hidden = if field > 0 { 1 << (mantissa - 1) } else { 0 };
            let place = (field.max(1) - 1) as u32;
            self.add(total, fraction | hidden, negative, place);
        }
    }

    /// Whether signs do not count, where there are any.
    fn takes_magnitudes(self) -> bool {
        let signs = self.dtype.class() != Class::Unsigned;
        self.squares() || self.op == Op::ReduceL1 && signs
    }

    /// The bits of a sum modulo 2^bits that count, extended.
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
        let mut at = (place / LIMB_BITS) as usize;
        let mut off = place % LIMB_BITS;
        while left > 0 {
            // The part that falls into this limb.
            let piece = (left << off) as i64 & LIMB;
            self.carry(total, at, piece, negative);
            left >>= LIMB_BITS - off;
            (at, off) = (at + 1, 0);
        }
    }

    /// Adds to a limb and carries on. The last limb of the sum, or of the count, takes every carry.
    fn carry(self, total: &mut Total, first: usize, piece: i64, negative: bool) {
        let limbs = self.limbs() as usize;
        let last = if first < limbs {
            limbs
        } else {
            total.limbs.len()
        } - 1;
        // A count only rises.
        let negative = negative && first < limbs;
        let mut carry = if negative { -piece } else { piece };
        for limb in &mut total.limbs[first..last] {
            let x = i64::from(*limb) + carry;
            *limb = (x & LIMB) as u32;
            carry = x >> LIMB_BITS;
        }
        total.limbs[last] = total.limbs[last].wrapping_add(carry as u32);
    }

    /// Adds another part.
    pub(crate) fn join(self, total: &mut Total, other: &Total) {
        total.meet(other.flags);
        if !self.is_exact() {
            let sum = total.low().wrapping_add(other.low());
            total.set_low(self.cut(sum));
            return;
        }
        for (at, &limb) in other.limbs.iter().enumerate() {
            // The last one has a sign.
            let piece = match at + 1 == self.limbs() as usize {
                true => i64::from(limb as i32),
                false => i64::from(limb),
            };
            self.carry(total, at, piece, false);
        }
    }

    /// The result's bits, if `count` elements were taken.
    pub(crate) fn element(self, total: &Total, count: u64) -> u64 {
        if !self.is_exact() {
            let sum = total.low();
            let mean = match (self.op, self.dtype.class()) {
                (Op::ReduceMean, Class::Signed) => {
                    i128::from(sum as i64) / i128::from(count.max(1))
                }
                (Op::ReduceMean, _) => i128::from(sum / count.max(1)),
                _ => i128::from(sum),
            };
            return mean as u64 & (u64::MAX >> (64 - self.bits()));
        }
        let (limbs, counted) = total.limbs.split_at(self.limbs() as usize);
        let top = limbs.len() - 1;
        let negative = (limbs[top] as i32) < 0;
        let magnitude = Wide::of(limbs, negative);
        if !self.is_float() {
            let most =
                u64::MAX >> (64 - self.bits() + u32::from(self.dtype.class() == Class::Signed));
            let root = magnitude.root(None).bits;
            return root.map_or(most, |root| root.min(most));
        }
        let counted = counted
            .iter()
            .rev()
            .fold(0, |n, &limb| n << LIMB_BITS | u64::from(limb));
        let count = if self.counts() { counted } else { count };
        self.float(total.flags, negative, &magnitude, count)
    }

    fn float(self, flags: u32, negative: bool, magnitude: &Wide, count: u64) -> u64 {
        let Format { exponent, mantissa } = self.format();
        let infinity = ((1u64 << exponent) - 1) << (mantissa - 1);
        let sign = |negative: bool| u64::from(negative) << (self.bits() - 1);
        let nan = infinity | 1 << (mantissa - 2);
        let both = PLUS_INFINITY | MINUS_INFINITY;
        if flags & NAN != 0 || flags & both == both || self.is_mean() && count == 0 {
            return nan;
        }
        if flags & both != 0 {
            return infinity | sign(flags & MINUS_INFINITY != 0);
        }
        if magnitude.is_zero() {
            let minus = flags & (MINUS_ZERO | OTHER) == MINUS_ZERO;
            return sign(minus && !self.takes_magnitudes());
        }
        let wanted = mantissa + 2;
        let leading = match self.op {
            Op::ReduceL2 => magnitude.root(Some(wanted)),
            Op::ReduceMean => magnitude.quotient(count, wanted),
            _ => magnitude.quotient(1, wanted),
        };
        let zero_place = match self.op {
            Op::ReduceSumSquare => (1i64 << (exponent - 1)) + i64::from(mantissa) - 3,
            _ => 0,
        };
        // Rounded to nearest, ties to even.
        let bits = leading.bits.unwrap_or(0);
        let top = leading.place + i64::from(63 - bits.leading_zeros());
        let unit = (top - i64::from(mantissa) + 1).max(zero_place);
        let down = (unit - leading.place).min(65) as u32;
        let bits = u128::from(bits);
        let (kept, lost) = (bits >> down, bits & ((1 << down) - 1));
        let half = 1u128 << (down - 1);
        let up = lost > half || lost == half && (leading.rest || kept & 1 == 1);
        let field = (unit - zero_place) as u64;
        let rounded = (kept as u64 + u64::from(up))
            .saturating_add(field.min(1 << exponent) << (mantissa - 1));
        rounded.min(infinity) | sign(negative && !self.takes_magnitudes())
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
        u64::from(self.limbs[1]) << 32 | u64::from(self.limbs[0])
    }

    fn set_low(&mut self, sum: u64) {
        self.limbs = vec![sum as u32, (sum >> 32) as u32];
    }
}

/// The bits of a magnitude, the least first.
struct Wide(Vec<bool>);

/// The leading bits of a result: `bits` times 2^place, and whether anything is left below.
struct Leading {
    /// `None`: more than 64.
    bits: Option<u64>,
    place: i64,
    rest: bool,
}

impl Wide {
    fn of(limbs: &[u32], negative: bool) -> Wide {
        let top = limbs.len() - 1;
        let mut bits = Vec::new();
        let mut borrow = 0;
        for (i, &limb) in limbs.iter().enumerate() {
            let signed = if i == top {
                i64::from(limb as i32)
            } else {
                i64::from(limb)
            };
            let x = if negative { -signed } else { signed } + borrow;
            let width = if i == top { 33 } else { LIMB_BITS };
            bits.extend((0..width).map(|b| x >> b & 1 == 1));
            borrow = if i == top { 0 } else { x >> LIMB_BITS };
        }
        while bits.last() == Some(&false) {
            bits.pop();
        }
        Wide(bits)
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn bit(&self, place: i64) -> u128 {
        let bit = usize::try_from(place).ok().and_then(|i| self.0.get(i));
        u128::from(bit == Some(&true))
    }

    fn any_below(&self, place: i64) -> bool {
        let end = usize::try_from(place).unwrap_or(0).min(self.0.len());
        self.0[..end].contains(&true)
    }

    /// Divided, to so many bits.
    fn quotient(&self, by: u64, wanted: u32) -> Leading {
        let (mut place, mut bits, mut rest) = (self.0.len() as i64, 0u64, 0u128);
        while 64 - bits.leading_zeros() < wanted {
            place -= 1;
            rest = rest << 1 | self.bit(place);
            let fits = rest >= by.into();
            rest -= if fits { by.into() } else { 0 };
            bits = bits << 1 | u64::from(fits);
        }
        Leading {
            bits: Some(bits),
            place,
            rest: rest > 0 || self.any_below(place),
        }
    }

    /// The root, to so many bits, or to all of a whole number.
    fn root(&self, wanted: Option<u32>) -> Leading {
        let pairs = self.0.len().div_ceil(2) as i64;
        let last = wanted.map_or(0, |wanted| pairs - i64::from(wanted));
        let (mut bits, mut rest) = (0u128, 0u128);
        for pair in (last..pairs).rev() {
            rest = rest << 2 | self.bit(2 * pair + 1) << 1 | self.bit(2 * pair);
            let fits = rest > 4 * bits;
            rest -= if fits { 4 * bits + 1 } else { 0 };
            bits = bits << 1 | u128::from(fits);
        }
        Leading {
            bits: u64::try_from(bits).ok(),
            place: last,
            rest: rest > 0 || self.any_below(2 * last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_integers_holds_a_block_anywhere_and_lies_within_the_limbs() {
        let all = DType::ALL.into_iter().filter(|&t| t != DType::Bool);
        for (dtype, op) in all.flat_map(|t| Op::SUMS.map(|op| (t, op))) {
            let sum = Sum::new(op, dtype, NanPolicy::Propagate).expect("a sum");
            if !sum.is_exact() || sum.splits_floats() {
                continue;
            }
            let digits = sum.digits();
            let (bits, mantissa) = (DIGIT_BITS * digits.window, sum.format().mantissa);
            let (places, magnitude) = if sum.squares() {
                (2, 2 * mantissa)
            } else {
                (1, mantissa)
            };
            // The highest bit may be the lowest of its digit.
            let near = magnitude + places * 30 + DIGIT_BITS - 1;
            let whole = sum.number_bits();
            assert!(bits >= near.min(whole), "{op} {dtype}: {bits} bits");
            // The highest digit holds the greatest number, and the limbs a digit above it.
            assert!(DIGIT_BITS * (digits.most + 1) >= whole, "{op} {dtype}");
            assert!(
                DIGIT_BITS * (digits.most + 2) <= LIMB_BITS * sum.limbs(),
                "{op} {dtype}"
            );
        }
    }

    #[test]
    fn units_and_what_is_left_of_elements_are_no_subnormal_numbers() {
        for dtype in [DType::F16, DType::BF16, DType::F32] {
            let sum = Sum::new(Op::ReduceSum, dtype, NanPolicy::Propagate).expect("a sum");
            assert!(sum.splits_floats(), "{dtype}");
            let digits = sum.digits();
            let exponent = |digit: u32| (22 * digit).wrapping_add(digits.unit) as i32;
            let last = digits.least + 1 - digits.window;
            assert!(exponent(last) >= 1, "{dtype}: the last unit");
            // A zero is scaled up for each digit but one; half a unit is more.
            let zero = 22 * (digits.window as i32 - 1);
            assert!(exponent(digits.least) > zero + 1, "{dtype}: a zero");
            assert!(exponent(digits.most) + 23 < 255, "{dtype}: M");
            // The greatest exponent that a window holds: all of float16, others up to 2^109 at least.
            let held = exponent(digits.most) + 21 - 127;
            assert!(
                held >= if dtype == DType::F16 { 15 } else { 108 },
                "{dtype}: {held}"
            );
        }
    }

    #[test]
    fn the_shaders_division_by_24_is_right_for_every_place() {
        for place in 0..4400u32 {
            assert_eq!((place * 2731) >> 16, place / 24);
        }
    }
}
