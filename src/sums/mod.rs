//! How a sum is kept: constants let one arithmetic serve every element type and operator.
//!
//! Sums of integers are kept modulo 2^bits, in a key. All others (of floats, and L2) are exact: a fixed-point number in digits of
//! [`DIGIT_BITS`] bits. It begins with the least bit that an element (or its square) can have, and has room for the sum of as many
//! elements as a tensor can have. `shaders/accumulate/sum.wgsl` is the shaders' part.

mod total;

use crate::{AdapterClass, Class, DType, NanPolicy, Op};
pub(crate) use total::Total;

/// Bits of a digit. The last one of a sum is a whole word, with a sign.
const DIGIT_BITS: u32 = 22;
/// Binades apart that elements of a block may lie at least: of a million normal numbers hardly one is so small.
const SPREAD: u32 = 23;
/// Digits of a count of elements.
const COUNT_DIGITS: u32 = 3;
/// Most iterations for a result: to divide, or to find a root, bit by bit.
const RESULT: u64 = 160;

/// A sum of elements of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    op: Op,
    dtype: DType,
    /// NaNs are not counted.
    skips: bool,
    /// Elements are taken by `unpack2x16float`.
    unpacks: bool,
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
#[derive(Clone, Copy, Default)]
struct Window {
    /// Digits of a window.
    digits: u32,
    /// Sums that it keeps: its digits, or sums of products that become digits with it.
    sums: u32,
    /// Places that these have, one more where a window may begin between places.
    places: u32,
    /// Digits that are kept, below the highest one, which has a sign.
    all: u32,
    /// The greatest exponent of an element.
    exponent_most: i32,
    /// How many exponents a window reaches above the greatest element of its first block.
    margin: u32,
    /// The lowest bit that is a window's first unit: no digit that is kept lies below place 0.
    unit_least: i32,
    /// The exponent of bit 0 in float32, where additions of float32 make digits.
    bit_0: i32,
}

/// Elements or partial sums that are taken one by one, some digits of all of them at a time.
#[derive(Clone, Copy)]
pub(crate) struct OneByOne {
    /// How often each is met.
    passes: u64,
    /// Iterations beside them.
    beside: u64,
}

impl OneByOne {
    /// Iterations to take so many, and to make a result or a partial sum of them.
    pub(crate) fn iterations(self, count: u64) -> u64 {
        self.passes.saturating_mul(count) + self.beside
    }

    /// How many can be taken in so many iterations.
    pub(crate) fn most(self, iterations: u64) -> u64 {
        let left = iterations.saturating_sub(self.beside);
        left.checked_div(self.passes).map_or(u64::MAX, |n| n.max(1))
    }

    /// Their share of so many iterations, if each takes about one before.
    pub(crate) fn share(self, iterations: u64) -> u64 {
        iterations * self.passes / (self.passes + 1)
    }
}

impl Sum {
    /// What the operator sums; `None` if it chooses an element instead.
    pub fn new(op: Op, dtype: DType, nan: NanPolicy) -> Option<Sum> {
        let float = dtype.class() == Class::Float;
        op.is_sum().then_some(Sum {
            op,
            dtype,
            skips: float && nan == NanPolicy::Ignore,
            unpacks: false,
        })
    }

    /// The same as a class of devices takes elements: float16 by `unpack2x16float`, which Mesa's software drivers have only
    /// with 16-bit floats.
    pub(crate) fn on(self, class: AdapterClass) -> Sum {
        Sum {
            unpacks: self.is_half() && class != AdapterClass::Software,
            ..self
        }
    }

    /// Whether elements are taken by `unpack2x16float`.
    pub fn unpacks(self) -> bool {
        self.unpacks
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

    /// Whether it is one of float16.
    fn is_half(self) -> bool {
        self.dtype == DType::F16
    }

    pub(crate) fn bits(self) -> u32 {
        8 * self.dtype.size() as u32
    }

    fn squares(self) -> bool {
        matches!(self.op, Op::ReduceL2 | Op::ReduceSumSquare)
    }

    /// Whether signs do not count, where there are any.
    fn takes_magnitudes(self) -> bool {
        let signs = self.dtype.class() != Class::Unsigned;
        self.squares() || self.op == Op::ReduceL1 && signs
    }

    /// Whether the number of elements is a part of the sum: skipped ones do not count.
    pub(crate) fn counts(self) -> bool {
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

    /// Digits of an exact sum; 0 for a sum modulo 2^bits.
    pub fn digits(self) -> u32 {
        if !self.is_float() && self.op != Op::ReduceL2 {
            return 0;
        }
        // At most 2^63 bytes of elements; and a sign.
        let elements = 64 - self.dtype.size().ilog2();
        let bits = self.number_bits() + elements;
        (bits - 31).div_ceil(DIGIT_BITS) + 1
    }

    /// Whether it is exact, in digits; any other is kept modulo 2^bits.
    pub fn is_exact(self) -> bool {
        self.digits() > 0
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

    /// Whether additions of float32 make digits of elements, not integers.
    pub(crate) fn splits_floats(self) -> bool {
        // A square of float32 has too many bits.
        let squared = self.squares() && self.dtype == DType::F32;
        self.is_float() && !squared && self.dtype != DType::F64
    }

    /// Whether so much is done with an element that FXC takes seconds for the text of many.
    pub(crate) fn is_long(self) -> bool {
        self.counts() || self.is_float() && self.squares()
    }

    /// Most bytes of a long row, or of some rows, that an invocation may read at once.
    pub(crate) fn most_bytes(self) -> u64 {
        match (self.is_long(), self.squares(), self.dtype) {
            (false, ..) => u64::MAX,
            (true, true, DType::F32) | (true, false, _) => 64,
            _ => 32,
        }
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
    fn window(self) -> Window {
        if !self.splits_floats() {
            // One window holds every integer. Of floats one begins an exponent above the greatest of a block.
            let float = u32::from(self.is_float());
            let near = self.places() * (SPREAD + float) + self.magnitude();
            let digits = near.min(self.number_bits()).div_ceil(DIGIT_BITS).max(2);
            let products = if self.squares() { digits - 1 } else { 0 };
            return Window {
                digits,
                sums: digits + products,
                places: digits + float,
                all: digits + float,
                unit_least: (DIGIT_BITS * (digits + float - 2)) as i32,
                exponent_most: (1 << self.format().exponent) - 2,
                margin: float,
                ..Window::default()
            };
        }
        let Format { exponent, mantissa } = self.format();
        let squares = self.squares();
        let (digits, places, all) = match (self.dtype, squares) {
            // One window holds every number.
            (DType::F16, false) => (2, 2, 2),
            (DType::F16, true) => (4, 4, 4),
            // The places of two windows; of one window of each of two blocks, one place apart or two.
            (DType::BF16, false) => (1, 2, 3),
            _ => (2, 3, 5),
        };
        let [digit, bits] = [DIGIT_BITS, self.magnitude()].map(|n| n as i32);
        let below = digit * (digits as i32 - 1);
        // Bit 0 is the least one that an element, or its square, can have.
        let element = 3 - (1 << (exponent - 1)) - mantissa as i32;
        let bit_0 = 127 + self.places() as i32 * element;
        // What is left of a zero is scaled up for each digit but one, and stays below half a unit.
        let zero = below + 2 - bit_0;
        // Squares that two windows hold are no subnormal numbers.
        let normal = 2 * below + digit + 1 - bit_0;
        let least = if squares { normal } else { zero };
        // The greatest element begins 22 bits above the unit; with M, 24 bits above it, it is finite.
        let most = (230 - bit_0 + digit - bits) / self.places() as i32 + 1;
        Window {
            digits,
            sums: digits,
            places,
            all,
            bit_0,
            unit_least: least.max(digit * (all as i32 - 2)),
            exponent_most: most.min((1 << exponent) - 2),
            // A window of float32 keeps 18 exponents below these. Others have less room.
            margin: if self.dtype == DType::F32 { 2 } else { 0 },
        }
    }

    /// Words, from the highest bit of a sum on, that a result is made of: two hold more bits than any type has, four the
    /// radicand of a float64, and the quotient of one by a count.
    fn leading(self) -> u32 {
        let divided = matches!(self.op, Op::ReduceL2 | Op::ReduceMean);
        if divided && self.bits() == 64 { 4 } else { 2 }
    }

    /// Elements that are taken one by one.
    pub(crate) fn elements(self) -> OneByOne {
        let (bits, digits) = (self.number_bits(), self.window().all);
        // Of floats it is asked before which digits they have.
        let asked = self.is_float().into();
        self.one_by_one(asked, bits.div_ceil(DIGIT_BITS * digits), digits)
    }

    /// Elements that are taken again where blocks do not hold them. Integers always are held.
    pub(crate) fn again(self) -> OneByOne {
        let elements = self.elements();
        OneByOne {
            passes: if self.is_float() { elements.passes } else { 0 },
            ..elements
        }
    }

    /// Partial sums, which invocations may share.
    pub(crate) fn partials(self) -> OneByOne {
        let digits = self.joined_digits();
        self.one_by_one(1, self.digits().div_ceil(digits), digits)
    }

    /// What is met `asked` times before so many digits of it are taken in each of some windows.
    fn one_by_one(self, asked: u64, windows: u32, digits: u32) -> OneByOne {
        // An empty window for the last carries. Its digits, the steps of a team, and the ends of these loops, at most.
        let window = 3 * u64::from(digits) + 12;
        OneByOne {
            passes: u64::from(windows) + asked,
            // And to begin with nothing, and to end with a result or a partial sum.
            beside: u64::from(windows + 1) * window + RESULT + 6 * u64::from(self.digits()),
        }
    }

    /// Most iterations to add a block of so many loads to a sum: a loop over them where a window of floats does not hold them; as
    /// many digits as two sums may be apart, and what ends the loops.
    pub(crate) fn block_iterations(self, loads: u64) -> u64 {
        let again = if self.splits_floats() { loads + 1 } else { 0 };
        again + 2 * u64::from(self.window().all + 2)
    }

    /// Bytes of workgroup memory of an invocation that leaves a sum to its team.
    pub(crate) fn placed_bytes(self) -> u32 {
        // The place of the highest digit, whether it is far, the signs, the count, the highest digit and those below.
        4 * (4 + self.count_digits() + self.window().all)
    }

    /// The same of one that leaves a sum of partial sums.
    pub(crate) fn joined_bytes(self) -> u32 {
        4 * (2 + self.count_digits() + self.joined_digits())
    }

    /// Digits of partial sums that are taken at a time: all of those that have few, and as many as a result is made of.
    fn joined_digits(self) -> u32 {
        (self.window().all + 1).max((32 * self.joined_words()).div_ceil(DIGIT_BITS))
    }

    /// Words that the result of partial sums is made of. Tensors of any size have partial sums: the count of a mean may have two
    /// words.
    fn joined_words(self) -> u32 {
        if self.is_mean() { 4 } else { self.leading() }
    }

    fn count_digits(self) -> u32 {
        if self.counts() { COUNT_DIGITS } else { 0 }
    }

    /// Words of a partial sum, a power of two. An exact one has flags, the digits of the count, and digits.
    pub fn partial_words(self) -> u32 {
        match self.digits() {
            0 => 4,
            digits => (1 + self.count_digits() + digits).next_power_of_two(),
        }
    }

    /// The names that the directives in the shaders use for the terms of a sum modulo 2^bits.
    pub(crate) fn term_names(self) -> Vec<(&'static str, u32)> {
        vec![
            ("SIGNED", (self.dtype.class() == Class::Signed).into()),
            ("SQUARES", self.squares().into()),
            ("MAGNITUDES", (self.op == Op::ReduceL1).into()),
            ("MEAN", self.is_mean().into()),
            ("NO_ELEMENT", 0),
        ]
    }

    /// The names that the directives in the shaders use for an exact sum.
    pub(crate) fn names(self) -> Vec<(&'static str, u32)> {
        let Format { exponent, mantissa } = self.format();
        let float = self.is_float();
        let flag = u32::from;
        let infinity = (1u32 << exponent) - 1;
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
            ("SUM_DIGITS", self.digits()),
            ("COUNTS", self.count_digits()),
            ("PARTIAL_WORDS", self.partial_words()),
            // The digits that a partial sum has at least, the highest of which has a sign.
            ("NEAR", self.window().all + 1),
            ("PLACES", self.places()),
            ("EXPONENT", exponent),
            ("INFINITY", infinity),
            ("INFINITE", infinity << (31 - exponent)),
            ("MANTISSA", mantissa),
            ("ZERO_PLACE", zero_place),
            // Quiet: the highest bit of the fraction.
            (
                "NAN_BITS",
                infinity << (31 - exponent) | 1 << 30 >> exponent,
            ),
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

    /// The names that the directives in the shaders use where partial sums become a result. `teams`: whether invocations share it.
    pub(crate) fn joining_names(self, teams: bool) -> Vec<(&'static str, u32)> {
        vec![
            ("LEADING", self.joined_words()),
            ("W", self.joined_digits()),
            ("JOINS", 1),
            ("STRIDED", 0),
            ("BY_VEC", 0),
            ("ONE_BY_ONE", 1),
            ("TEAMS", teams.into()),
        ]
    }

    /// The names that the directives in the shaders use for elements: taken one by one wherever they are (`strided`), or in
    /// blocks, of which those that are too far apart are taken again. `teams`: whether invocations share a sum.
    pub(crate) fn digit_names(self, strided: bool, teams: bool) -> Vec<(&'static str, u32)> {
        let window = self.window();
        // Sums of products of two pieces stay below 2^31.
        let (piece, room) = match window.sums > window.digits {
            true => (DIGIT_BITS / 2, 512 / window.digits),
            false => (DIGIT_BITS, 256),
        };
        vec![
            ("STRIDED", strided.into()),
            ("TEAMS", (teams && self.is_float()).into()),
            ("ONE_BY_ONE", (strided || self.is_float()).into()),
            ("N", window.digits),
            ("S", window.sums),
            ("PIECE", piece),
            ("ROOM", room),
            ("G", window.places),
            ("W", window.all),
            ("BIT_0", window.bit_0 as u32),
            ("UNIT_LEAST", window.unit_least as u32),
            ("EXPONENT_MOST", window.exponent_most as u32),
            ("MARGIN", window.margin),
            ("HALF", self.is_half().into()),
            ("BY_FLOATS", self.splits_floats().into()),
            ("UNPACKS", self.unpacks.into()),
            // Whether looks tell sizes, and whether there is a second window.
            ("SIZES", (self.is_float() && !self.unpacks).into()),
            ("WIDE", (self.splits_floats() && !self.is_half()).into()),
            ("MAGNITUDE", self.magnitude()),
            ("WORDS_OF", self.magnitude().div_ceil(32)),
            ("LEADING", self.leading()),
            ("JOINS", 0),
            // The lowest element of a word.
            ("MASK_0", u32::MAX >> (32 - self.bits().min(32))),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_a_block_of_near_integers_anywhere_and_lies_within_the_sum() {
        let all = DType::ALL.into_iter().filter(|&t| t != DType::Bool);
        for (dtype, op) in all.flat_map(|t| Op::SUMS.map(|op| (t, op))) {
            let sum = Sum::new(op, dtype, NanPolicy::Propagate).expect("a sum");
            if !sum.is_exact() {
                continue;
            }
            // The place of the greatest number has another one above it, which carries go to.
            let (window, whole) = (sum.window(), sum.number_bits());
            assert!(whole.div_ceil(DIGIT_BITS) < sum.digits(), "{op} {dtype}");
            assert!(window.all <= sum.digits(), "{op} {dtype}");
            // The place of the greatest bits, of which `all` digits are kept.
            let top = window.unit_least as u32 / DIGIT_BITS + 1;
            let fixed = window.places == window.digits;
            assert!(fixed || top >= window.all - 1, "{op} {dtype}");
            if sum.splits_floats() {
                continue;
            }
            let (bits, mantissa) = (DIGIT_BITS * window.digits, sum.format().mantissa);
            let places = if sum.squares() { 2 } else { 1 };
            // It begins an exponent above the greatest element.
            let near = places * (mantissa + 23 + 1);
            assert!(bits >= near.min(whole), "{op} {dtype}: {bits} bits");
        }
    }

    #[test]
    fn units_and_what_is_left_of_elements_are_no_subnormal_numbers() {
        let halves = [DType::F16, DType::BF16].map(|t| (t, Op::ReduceSumSquare));
        let all = [DType::F16, DType::BF16, DType::F32].map(|t| (t, Op::ReduceSum));
        for (dtype, op) in all.into_iter().chain(halves) {
            let sum = Sum::new(op, dtype, NanPolicy::Propagate).expect("a sum");
            assert!(sum.splits_floats(), "{op} {dtype}");
            let window = sum.window();
            let [digits, all] = [window.digits, window.all].map(|n| 22 * n as i32);
            let fixed = window.places == window.digits;
            // The lowest first unit, and its exponent in float32.
            let unit = if fixed { all - 22 } else { window.unit_least };
            let exponent = unit + window.bit_0;
            assert!(exponent - digits + 22 >= 1, "{op} {dtype}: the last unit");
            // A zero is scaled up for each digit but one; half a unit is more.
            assert!(exponent > digits - 22 + 1, "{op} {dtype}: a zero");
            if fixed {
                assert!(all >= sum.number_bits() as i32, "{op} {dtype}");
                continue;
            }
            // Both windows are kept.
            assert!(all > 2 * digits, "{op} {dtype}");
            // An element at the greatest exponent is less than 2^22 units, of which M is 2^23 and more.
            let places = sum.places() as i32;
            let bits = |exponent: i32| places * (exponent - 1) + sum.magnitude() as i32;
            let most = bits(window.exponent_most) - 22 + window.bit_0;
            assert!(most + 23 < 254, "{op} {dtype}: {most}");
            assert!(most + 23 + 2 >= 253 - places, "{op} {dtype}: {most}");
        }
    }
}
