//! What an element counts as where elements are compared: an order-preserving key. Constants let one
//! arithmetic serve every element type, order and rule for NaN.
//!
//! Defines keys in Rust. The shaders' part is `shaders/elements/keys32.wgsl` and `keys64.wgsl`.

use crate::{Class, DType, NanPolicy, Order};

/// The constants that turn an element type's bits into keys of which the least wins.
///
/// Each is written at the top of 64 bits, whatever the element's size, so that arithmetic modulo 2^64 here is
/// the shaders' modulo 2^32 or 2^64. `shaders/elements/keys32.wgsl` explains each. Complementing before the
/// NaNs are placed finds the largest element with the same kernels. NaNs can go to either end of the order,
/// because they lie together across the wrap of the sign-flipped bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys {
    bits: u32,
    sign: u64,
    /// What a set sign flips, and then adds, on the way back.
    unsign: u64,
    unstep: u64,
    flip: u64,
    /// What a set sign takes off.
    step: u64,
    rot: u64,
    keep: u64,
    /// Of signed magnitudes the bits that count, which the sign is not; else all.
    taken: u64,
    floor: u64,
    ceil: u64,
    zero: u64,
    zero_to: u64,
    /// Of floats: the NaN that is written, and infinity.
    nan: Option<(u64, u64)>,
}

impl Keys {
    /// The keys of a type, for the smallest or the largest element or magnitude. Where zeros tie (for an
    /// index), -0 and +0 share a key.
    pub fn new(dtype: DType, order: Order, nan: NanPolicy, zeros_tie: bool) -> Keys {
        let keys = Keys::of_sides(dtype, order, nan, zeros_tie);
        // Signed magnitudes of 64 bits would cost a borrow more than telling zeros apart does.
        if zeros_tie && keys.bits < 64 {
            keys.clean()
        } else {
            keys
        }
    }

    /// The same where values are made of the keys as well as indices: zeros tie only in canonical keys.
    pub fn of_sides(dtype: DType, order: Order, nan: NanPolicy, zeros_tie: bool) -> Keys {
        let (largest, magnitude) = (order.prefers_larger(), order.compares_magnitudes());
        let plain = Keys::of_bits(8 * dtype.size() as u32);
        let Keys { bits, keep, .. } = plain;
        let (unit, top) = (1u64 << (64 - bits), 1u64 << 63);
        let flip = if largest { keep } else { 0 };
        let plain = Keys { flip, ..plain };
        match dtype.class() {
            Class::Unsigned => plain,
            // A negative number is its magnitude's complement, plus one.
            Class::Signed if magnitude => Keys {
                sign: keep,
                step: unit,
                ..plain
            },
            Class::Signed => Keys {
                flip: flip ^ top,
                ..plain
            },
            // Any true is one key.
            Class::Bool if largest => Keys {
                floor: keep - unit,
                ..plain
            },
            Class::Bool => Keys {
                ceil: unit,
                ..plain
            },
            Class::Float => {
                let (infinity, nan_bits) = match dtype {
                    DType::F16 => (0x7c00 << 48, 0x7e00 << 48),
                    DType::F64 => (0x7ff0 << 48, 0x7ff8 << 48),
                    _ => (0x7f80 << 48, 0x7fc0 << 48),
                };
                match magnitude {
                    true => plain.magnitudes(infinity, nan_bits, nan),
                    false => plain.floats(infinity, nan_bits, nan, zeros_tie),
                }
            }
        }
    }

    /// The keys of floats, by sign and magnitude.
    fn floats(self, infinity: u64, nan_bits: u64, nan: NanPolicy, zeros_tie: bool) -> Keys {
        let Keys { keep, .. } = self;
        let (unit, top) = (1u64 << (64 - self.bits), 1 << 63);
        // NaNs lie above +inf and, wrapping, below -inf, whose key is keep - infinity;
        // complementing maps this range onto itself.
        let below = keep - infinity;
        let (rot, floor, ceil) = match nan {
            NanPolicy::Propagate => {
                let rot = infinity + unit;
                (rot, (below - unit).wrapping_sub(rot), u64::MAX)
            }
            NanPolicy::Ignore => (below, 0, (infinity + unit).wrapping_sub(below)),
        };
        // -0 and +0 are neighbours, around the wrap of the order.
        let zeros = match zeros_tie {
            true => (keep.wrapping_sub(rot), 0u64.wrapping_sub(rot)),
            false => (0, 0),
        };
        Keys {
            sign: keep & !top,
            unsign: keep & !top,
            rot,
            floor,
            ceil,
            zero: zeros.0,
            zero_to: zeros.1,
            nan: Some((nan_bits, infinity)),
            ..self
        }
    }

    /// The keys of floats whose zeros share a key: the signed magnitude, counted from an end of the order.
    fn clean(self) -> Keys {
        let signed = self.nan.filter(|_| self.unsign != 0);
        let Some((_, infinity)) = signed else {
            return self;
        };
        // In 32 bits: the one between complement and negative lies below the element.
        let (all, one) = (u64::MAX << 32, 1 << 32);
        let unit = 1u64 << (64 - self.bits);
        let skips = self.ceil != u64::MAX;
        // From the first NaN above infinity on, or from -infinity.
        let beyond = infinity + unit;
        let (rot, floor, ceil) = match skips {
            true => (infinity.wrapping_neg(), 0, beyond + infinity),
            false => (beyond, beyond.wrapping_mul(2).wrapping_neg(), u64::MAX),
        };
        let largest = self.flip != 0;
        Keys {
            taken: self.keep >> 1 & self.keep,
            sign: all,
            unstep: unit,
            flip: if largest { all } else { 0 },
            step: if largest { one } else { all },
            rot: if largest { rot.wrapping_sub(one) } else { rot },
            floor,
            ceil,
            zero: 0,
            zero_to: 0,
            ..self
        }
    }

    /// The keys of a float's magnitudes, complemented. Infinity has the least key of the numbers, with the
    /// NaNs below it; zero has the greatest.
    fn magnitudes(self, infinity: u64, nan_bits: u64, nan: NanPolicy) -> Keys {
        let unit = 1u64 << (64 - self.bits);
        let least = self.keep - infinity;
        let (rot, floor, ceil) = match nan {
            NanPolicy::Propagate => (0, least - unit, u64::MAX),
            // Rotated, the NaNs lie beyond zero.
            NanPolicy::Ignore => (least, 0, infinity + unit),
        };
        Keys {
            sign: 1 << 63,
            rot,
            floor,
            ceil,
            nan: Some((nan_bits, infinity)),
            ..self
        }
    }

    /// The key of NaNs, at an end of the order: the last one where they are ignored.
    fn nan_key(&self) -> u64 {
        match self.ceil {
            u64::MAX => self.floor,
            ceil => ceil,
        }
    }

    /// The keys of elements of so many bits that are only copied: of unsigned integers, the least first.
    pub(crate) fn of_bits(bits: u32) -> Keys {
        Keys {
            bits,
            keep: u64::MAX << (64 - bits),
            taken: u64::MAX,
            ceil: u64::MAX,
            ..Keys::default()
        }
    }

    /// The names that the directives in the shaders use.
    pub(crate) fn names(&self) -> Vec<(&'static str, u32)> {
        vec![
            // Drivers do not see that a bound has no effect.
            ("FLOORED", (self.floor != 0).into()),
            ("CEILED", (self.ceil != u64::MAX).into()),
            ("ZEROS", (self.zero != self.zero_to).into()),
            ("KEEP", (self.keep >> 32) as u32),
        ]
    }

    /// What a key in this order, which prefers the least, is subtracted from to become one in the opposite order.
    fn turning(&self) -> u64 {
        let unit = 1 << (64 - self.bits);
        self.rot.wrapping_mul(2).wrapping_add(unit).wrapping_neg()
    }

    /// Bits of an element: 8, 16, 32 or 64.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The canonical key of an element, as the shaders compute it; below 64 bits it sits at the top.
    pub fn key(&self, element: u64) -> u64 {
        let b = element << (64 - self.bits);
        let (sign, step) = match b >> 63 {
            1 => (self.sign, self.step),
            _ => (0, 0),
        };
        let turned = b & self.taken ^ sign ^ self.flip;
        let k = turned.wrapping_sub(self.rot.wrapping_add(step)) & self.keep;
        let c = k.max(self.floor).min(self.ceil);
        if c == self.zero { self.zero_to } else { c }
    }

    /// The element of a canonical key.
    pub fn element(&self, key: u64) -> u64 {
        let b = key.wrapping_add(self.rot) ^ self.flip;
        let top = 1 << 63;
        let bits = match self.nan {
            Some((bits, _)) if key == self.nan_key() => bits,
            _ if b & top == 0 => b & self.keep,
            _ => (b ^ self.unsign).wrapping_add(self.unstep) & self.keep,
        };
        bits >> (64 - self.bits)
    }

    /// The element that every other one replaces: the last in the order.
    pub(crate) fn last_element(&self) -> u64 {
        self.element(self.keep.min(self.ceil))
    }

    /// The NaN that is written; 0 of types that have none.
    pub(crate) fn nan(&self) -> u64 {
        self.nan.map_or(0, |(bits, _)| bits >> (64 - self.bits))
    }

    /// The values of the shaders' overrides, of which each declares some.
    pub(crate) fn constants(&self) -> Vec<(&'static str, u32)> {
        let (nan_key, nan_bits) = self.nan.map_or((0, 0), |(bits, _)| (self.nan_key(), bits));
        // High words, and low ones, which shaders of 64 bits declare.
        let words = [
            ("SIGN", "SIGN_LO", self.sign),
            ("UNSIGN", "UNSIGN_LO", self.unsign),
            ("FLIP", "FLIP_LO", self.flip),
            ("ROT", "ROT_LO", self.rot),
            ("FLOOR", "FLOOR_LO", self.floor),
            ("CEIL", "CEIL_LO", self.ceil),
            ("ZERO", "ZERO_LO", self.zero),
            ("ZERO_TO", "ZERO_TO_LO", self.zero_to),
            ("NAN_KEY", "NAN_KEY_LO", nan_key),
            ("STEP", "STEP_LO", self.step),
            ("TURN", "TURN_LO", self.turning()),
        ];
        let mut all = vec![
            ("IS_FLOAT", self.nan.is_some() as u32),
            ("NAN_BITS", (nan_bits >> 32) as u32),
            ("TAKEN", (self.taken >> 32) as u32),
        ];
        all.extend(words.map(|(name, _, x)| (name, (x >> 32) as u32)));
        all.extend(words.map(|(_, name, x)| (name, x as u32)));
        if self.bits < 32 {
            all.extend(self.word_constants());
        }
        all
    }

    /// The same for all elements of a word at once. A signed magnitude is counted from the middle of the element's
    /// range, so that nothing is carried from one element to the next.
    fn word_constants(&self) -> [(&'static str, u32); 5] {
        let top = |x: u64| (x >> (64 - self.bits)) as u32;
        let all = |x: u32| x * (u32::MAX / ((1 << self.bits) - 1));
        let half = 1u32 << (self.bits - 1);
        let rot = (self.rot >> 32) as u32;
        let signed = self.taken >> 63 == 0;
        let (taken, sign, flip, step, rot) = match (signed, self.flip) {
            (true, 0) => (u32::MAX, half - 1, half, 1, rot),
            // `step` and `rot` of the whole word have the one between complement and negative.
            (true, _) => (u32::MAX, half - 1, half - 1, u32::MAX, rot.wrapping_add(1)),
            (false, _) => {
                let [sign, flip, step] = [self.sign, self.flip, self.step].map(top);
                (all(top(self.taken)), sign, flip, step.wrapping_neg(), rot)
            }
        };
        let middle = if signed { flip << (32 - self.bits) } else { 0 };
        [
            ("WORD_TAKEN", taken),
            ("WORD_SIGN", sign),
            ("WORD_FLIP", all(flip)),
            ("WORD_STEP", step),
            ("WORD_ROT", rot.wrapping_add(middle)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;
    use crate::{DType, NanPolicy, Order};

    /// The keys of both extremes: turned, they are those of the greatest.
    #[test]
    fn turned_keys_prefer_the_greatest() {
        for dtype in DType::ALL.into_iter().filter(|t| t.size() <= 2) {
            for nan in [NanPolicy::Propagate, NanPolicy::Ignore] {
                let [least, greatest] = [Order::Least, Order::Greatest]
                    .map(|order| Keys::of_sides(dtype, order, nan, true));
                let all = 0..1u64 << (8 * dtype.size());
                let turned = |x| least.turning().wrapping_sub(least.key(x)) & least.keep;
                let mut pairs: Vec<_> = all.map(|x| (turned(x), greatest.key(x), x)).collect();
                pairs.sort_unstable();
                for pair in pairs.windows(2) {
                    let [a, b] = [pair[0], pair[1]];
                    let same = a.0.cmp(&b.0) == a.1.cmp(&b.1);
                    assert!(same, "{dtype} {nan:?} {a:x?} {b:x?}");
                }
                for &(key, _, x) in &pairs {
                    let back = least.turning().wrapping_sub(key) & least.keep;
                    assert_eq!(back, least.key(x), "{dtype} {nan:?} {x:x}");
                }
            }
        }
    }
}
