// From the limbs of an exact sum to an element: the sum, its mean or its root, rounded once.

// The leading bits of a result: `bits` times 2^place, and whether anything is left below.
struct Leading {
    bits: vec2<u32>,
    place: i32,
    rest: bool,
}

// Negates a negative sum. Returns whether it was negative.
fn take_sign() -> bool {
    carry();
    let negative = limbs[end_limb - 1u] < 0;
    if negative {
        for (var i = first_limb; i < end_limb; i++) {
            limbs[i] = -limbs[i];
        }
        carry();
    }
    return negative;
}

fn limb(i: i32) -> u32 {
    if i < 0 {
        return 0u;
    }
    return u32(limbs[i]);
}

// The highest limb that is not 0; -1 if there is none.
fn top_limb() -> i32 {
    var i = i32(end_limb) - 1;
    while i >= i32(first_limb) && limbs[i] == 0 {
        i--;
    }
    return select(i, -1, i < i32(first_limb));
}

fn any_below(limb: i32) -> bool {
    var any = 0;
    for (var i = i32(first_limb); i < limb; i++) {
        any |= limbs[i];
    }
    return any != 0;
}

// Bits in a word.
fn bits_in(x: u32) -> i32 {
    return 32 - i32(countLeadingZeros(x));
}

// Bits in two words.
fn bits_in_two(x: vec2<u32>) -> i32 {
    return select(bits_in(x.x), 32 + bits_in(x.y), x.y != 0u);
}

// Bit i of the sum.
fn bit(i: i32) -> u32 {
    if i < 0 {
        return 0u;
    }
    return (limb(i / 24) >> u32(i % 24)) & 1u;
}

// Whether any bit below i is set.
fn any_bit_below(i: i32) -> bool {
    if i <= 0 {
        return false;
    }
    let part = limb(i / 24) & ((1u << u32(i % 24)) - 1u);
    return part != 0u || any_below(i / 24);
}

fn less_two(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn minus_two(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// Twice x, and a bit.
fn with_bit(x: vec2<u32>, bit: u32) -> vec2<u32> {
    return vec2<u32>((x.x << 1u) | bit, (x.y << 1u) | (x.x >> 31u));
}

fn shifted_down(x: vec2<u32>, by: u32) -> vec2<u32> {
    if by >= 32u {
        return vec2<u32>(x.y >> (by - 32u), 0u);
    }
    return vec2<u32>((x.x >> by) | ((x.y << 1u) << (31u - by)), x.y >> by);
}

fn shifted_up(x: vec2<u32>, by: u32) -> vec2<u32> {
    if by >= 32u {
        return vec2<u32>(0u, x.x << (by - 32u));
    }
    return vec2<u32>(x.x << by, (x.y << by) | ((x.x >> 1u) >> (31u - by)));
}
//# if ROOT

// The root, bit by bit: pairs of bits are taken from the top. It has `wanted` bits, or, if that is 0 (integers), all
// bits down to place 0, at most 64.
fn root(top: i32, wanted: i32) -> Leading {
    var q = vec2<u32>(0u);
    var rest = vec2<u32>(0u);
    // A third word of the rest, which is at most twice the root.
    var high = 0u;
    var pair = (24 * top + bits_in(limb(top)) - 1) / 2;
    let last = select(pair + 1 - wanted, 0, wanted == 0);
    for (; pair >= last; pair--) {
        high = (high << 2u) | (rest.y >> 30u);
        rest = with_bit(with_bit(rest, bit(2 * pair + 1)), bit(2 * pair));
        let next = with_bit(with_bit(q, 0u), 1u);
        let next_high = q.y >> 30u;
        let fits = high > next_high || (high == next_high && !less_two(rest, next));
        if fits {
            high -= next_high + select(0u, 1u, less_two(rest, next));
            rest = minus_two(rest, next);
        }
        q = with_bit(q, select(0u, 1u, fits));
    }
    let left = (high | rest.x | rest.y) != 0u;
    return Leading(q, last, left || any_bit_below(2 * last));
}
//# end
//# if MEAN

// The sum divided by the count, bit by bit, until the quotient has `wanted` bits.
fn quotient(top: i32, count: vec2<u32>, wanted: i32) -> Leading {
    var q = vec2<u32>(0u);
    var rest = vec2<u32>(0u);
    var place = 24 * top + bits_in(limb(top));
    while bits_in_two(q) < wanted {
        place--;
        rest = with_bit(rest, bit(place));
        let fits = !less_two(rest, count);
        if fits {
            rest = minus_two(rest, count);
        }
        q = with_bit(q, select(0u, 1u, fits));
    }
    return Leading(q, place, (rest.x | rest.y) != 0u || any_bit_below(place));
}
//# end
//# if FLOATS

// The 64 highest bits of four limbs. The first is not 0 and has its bit 0 at `place`; `below`: whether any bit is set
// below them.
fn leading(four: vec4<u32>, place: i32, below: bool) -> Leading {
    let up = u32(24 - bits_in(four.x));
    let high = (four << vec4<u32>(up)) & vec4<u32>(0xffffffu);
    let low = four >> vec4<u32>(24u - up);
    let a = high.x | low.y;
    let b = high.y | low.z;
    let c = high.z | low.w;
    let rest = (c & 0xffu) != 0u || high.w != 0u;
    let bits = vec2<u32>((b << 16u) | (c >> 8u), (a << 8u) | (b >> 16u));
    return Leading(bits, place + bits_in(four.x) - 64, rest || below);
}

// Rounded to nearest, ties to even: the bits of a magnitude, at most infinity's.
// {ZERO_PLACE}: the place of the least subnormal's bit.
fn rounded(l: Leading) -> vec2<u32> {
    let top = l.place + bits_in_two(l.bits) - 1;
    let unit = max(top - {MANTISSA - 1}, {ZERO_PLACE});
    let down = unit - l.place;
    if down > 64 {
        return vec2<u32>(0u);
    }
    // At least one bit is dropped.
    let off = u32(down - 1);
    let shifted = shifted_down(l.bits, off);
    let half = (shifted.x & 1u) != 0u;
    let back = shifted_up(shifted, off);
    let rest = l.rest || back.x != l.bits.x || back.y != l.bits.y;
    var q = shifted_down(shifted, 1u);
    if half && (rest || (q.x & 1u) != 0u) {
        q.x += 1u;
        q.y += select(0u, 1u, q.x == 0u);
    }
    // The hidden bit adds one to the exponent.
    let exponent = u32(unit - {ZERO_PLACE});
//# if BITS == 64
    q.y += exponent << 20u;
    return select(q, vec2<u32>(0u, 0x7ff00000u), exponent >= 0x7ffu || q.y >= 0x7ff00000u);
//# else
    let most = {INFINITY}u << {MANTISSA - 1}u;
    let bits = q.x + (exponent << {MANTISSA - 1}u);
    return vec2<u32>(select(bits, most, exponent >= {INFINITY}u || bits >= most), 0u);
//# end
}

fn exact_bits(a: Exact) -> vec2<u32> {
    let nan = {NAN_BITS}u;
//# if MEAN
//# if COUNTS
    carry();
    let low = limb({LIMBS}) | (limb({LIMBS + 1}) << 24u);
    let count = vec2<u32>(low, (limb({LIMBS + 1}) >> 8u) | (limb({LIMBS + 2}) << 16u));
//# else
    let count = vec2<u32>(P.fill_lo, P.fill_hi);
//# end
    if (count.x | count.y) == 0u {
        return float_bits(nan);
    }
//# end
    let infinities = a.flags & (PLUS_INFINITY | MINUS_INFINITY);
    if (a.flags & NAN) != 0u || infinities == (PLUS_INFINITY | MINUS_INFINITY) {
        return float_bits(nan);
    }
    if infinities != 0u {
        return signed_bits(float_bits({INFINITY}u << {TOP_FRACTION}u), infinities == MINUS_INFINITY);
    }
    let negative = take_sign();
    let top = top_limb();
    if top < 0 {
//# if MAGNITUDES
        return vec2<u32>(0u);
//# else
        return signed_bits(vec2<u32>(0u), (a.flags & (MINUS_ZERO | OTHER)) == MINUS_ZERO);
//# end
    }
//# if ROOT
    return rounded(root(top, {MANTISSA + 2}));
//# else
//# if MEAN
    return signed_bits(rounded(quotient(top, count, {MANTISSA + 2})), negative);
//# else
    let four = vec4<u32>(limb(top), limb(top - 1), limb(top - 2), limb(top - 3));
    return signed_bits(rounded(leading(four, 24 * top, any_below(top - 3))), negative);
//# end
//# end
}

// The bits of an element from those of the word that has the sign.
fn float_bits(top: u32) -> vec2<u32> {
//# if BITS == 64
    return vec2<u32>(0u, top);
//# else
    return vec2<u32>(top, 0u);
//# end
}

fn signed_bits(bits: vec2<u32>, negative: bool) -> vec2<u32> {
//# if BITS == 64
    return bits | vec2<u32>(0u, select(0u, 0x80000000u, negative));
//# else
    return bits | vec2<u32>(select(0u, {SIGN_BIT}u, negative), 0u);
//# end
}
//# else

// The floor of the root of integers, at most the type's largest.
fn exact_bits(a: Exact) -> vec2<u32> {
    carry();
    let top = top_limb();
    if top < 0 {
        return vec2<u32>(0u);
    }
    if (24 * top + bits_in(limb(top)) - 1) / 2 >= {BITS - SIGNED} {
//# if BITS == 64
        return vec2<u32>(0xffffffffu, 0xffffffffu >> {SIGNED}u);
//# else
        return vec2<u32>(0xffffffffu >> {32 - BITS + SIGNED}u, 0u);
//# end
    }
    return root(top, 0).bits;
}
//# end

fn exact_element(a: Exact) -> Raw {
    return element_of(exact_bits(a));
}

fn element_of(bits: vec2<u32>) -> Raw {
//# if BITS == 64
    return bits;
//# else
    return bits.x << {32 - BITS}u;
//# end
}
