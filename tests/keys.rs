//! The order-preserving keys: all values of the small types, boundaries of the large ones.

use std::cmp::Ordering;
use support::oracle::Wide;
use support::{ORDERS, POLICIES, all, float_bits};
use wgreduce::unstable::Keys;
use wgreduce::{Class, DType, NanPolicy, Order};

/// Bit patterns of a type: all of them up to 16 bits; beyond, the boundaries and their neighbours.
fn patterns(dtype: DType) -> Vec<u64> {
    let bits = 8 * dtype.size();
    if bits <= 16 {
        return (0..1 << bits).collect();
    }
    let ones = u64::MAX >> (64 - bits);
    let float = if bits == 32 { DType::F32 } else { DType::F64 };
    let (infinity, nan, one) = float_bits(float);
    let floats = [0, 1 << infinity.trailing_zeros(), infinity, nan, one];
    let others = [ones >> 1, 1 << 32, (1 << 32) - 1, 0x0123_4567_89ab_cdef];
    let mut all: Vec<u64> = Vec::new();
    for seed in floats.into_iter().chain(others) {
        for step in [0u64, 1, 2, u64::MAX, u64::MAX - 1] {
            let x = seed.wrapping_add(step) & ones;
            all.extend([x, x ^ (1 << (bits - 1)), !x & ones]);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// An element's value.
fn wide(dtype: DType, bits: u64) -> Wide {
    Wide::read(dtype, &bits.to_le_bytes()[..dtype.size() as usize])
}

fn is_nan(dtype: DType, bits: u64) -> bool {
    wide(dtype, bits).is_nan()
}

/// Compares two elements by an order: the one that the order prefers comes first. -0 is below +0 unless zeros tie.
fn prefer(dtype: DType, order: Order, a: u64, b: u64, zeros_tie: bool) -> Ordering {
    let (a, b) = (wide(dtype, a), wide(dtype, b));
    let (low, high) = match order {
        Order::Least => (a, b),
        Order::Greatest => (b, a),
        Order::GreatestMagnitude => (b.magnitude(), a.magnitude()),
        other => panic!("{other:?} has no rule here"),
    };
    match (low.below(high, !zeros_tie), high.below(low, !zeros_tie)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// The bits of the distance from zero.
fn magnitude(dtype: DType, bits: u64) -> u64 {
    match wide(dtype, bits).magnitude() {
        Wide::Integer(x) => x as u64,
        Wide::Float(_) => bits & !(1 << (8 * dtype.size() - 1)),
    }
}

/// Calls `check` with every (type, order, policy, zeros tie) and its keys.
fn each_kind(mut check: impl FnMut(DType, Order, NanPolicy, bool, Keys)) {
    for dtype in DType::ALL {
        for order in ORDERS {
            for nan in POLICIES {
                for tie in [false, true] {
                    for keys in [Keys::new, Keys::of_sides] {
                        check(dtype, order, nan, tie, keys(dtype, order, nan, tie));
                    }
                }
            }
        }
    }
}

#[test]
fn keys_order_as_the_elements_do() {
    each_kind(|dtype, order, _, tie, keys| {
        let mut all = patterns(dtype);
        all.retain(|&b| !is_nan(dtype, b));
        all.sort_by(|&a, &b| prefer(dtype, order, a, b, tie));
        for pair in all.windows(2) {
            let by_value = prefer(dtype, order, pair[0], pair[1], tie);
            let by_key = keys.key(pair[0]).cmp(&keys.key(pair[1]));
            assert_eq!(by_key, by_value, "{dtype} {order:?} {tie} {pair:x?}");
        }
    });
}

#[test]
fn nans_share_the_key_at_the_end_their_policy_gives_them() {
    each_kind(|dtype, order, nan, tie, keys| {
        let (nans, numbers): (Vec<u64>, Vec<u64>) =
            patterns(dtype).into_iter().partition(|&b| is_nan(dtype, b));
        let shared = keys.key(float_bits(dtype).1);
        assert!(nans.iter().all(|&x| keys.key(x) == shared), "{dtype}");
        for y in numbers.into_iter().filter(|_| !nans.is_empty()) {
            let nan_first = shared < keys.key(y);
            let wins = nan == NanPolicy::Propagate;
            assert_eq!(nan_first, wins, "{dtype} {order:?} {nan:?} {tie} {y:x}");
            assert_ne!(shared, keys.key(y), "{dtype} {y:x}");
        }
    });
}

#[test]
fn value_keys_give_their_elements_back() {
    each_kind(|dtype, order, nan, tie, keys| {
        for x in patterns(dtype) {
            // Where zeros tie, either of them may come back.
            let is_zero = |bits| matches!(wide(dtype, bits), Wide::Float(v) if v == 0.0);
            if tie && is_zero(x) {
                assert!(is_zero(keys.element(keys.key(x))), "{dtype} {x:x}");
                continue;
            }
            let expected = match dtype.class() {
                Class::Float if is_nan(dtype, x) => float_bits(dtype).1,
                Class::Bool => (x != 0).into(),
                _ if order == Order::GreatestMagnitude => magnitude(dtype, x),
                _ => x,
            };
            let back = keys.element(keys.key(x));
            assert_eq!(back, expected, "{dtype} {order:?} {nan:?} {x:x}");
        }
    });
}

/// All 2^32 patterns take a minute, so only a run that takes everything checks all of them; others take a prime step.
#[test]
fn float32_keys_order_as_the_floats_do() {
    let step = if all() { 1 } else { 251 };
    for tie in [false, true] {
        let keys = Keys::new(DType::F32, Order::Least, NanPolicy::Propagate, tie);
        let down = (0x8000_0001..=0xff80_0000u32).rev().step_by(step);
        let up = (0..=0x7f80_0000u32).step_by(step);
        let mut last: Option<u64> = None;
        for bits in down.chain([0x8000_0000]).chain(up) {
            let key = keys.key(bits.into());
            let rises = last.is_none_or(|before| key > before);
            assert_eq!(rises, !(tie && bits == 0), "{bits:x}");
            last = Some(key);
        }
    }
}
