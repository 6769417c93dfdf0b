// The size of an element, or of its upper word.
fn size_of(r: Raw) -> u32 {
    return vec2<u32>(r).y & 0x7fffffffu;
}

// The magnitude of an element, or its square: the lowest words first, times 2^place.
struct Magnitude {
    place: u32,
    sign: i32, // 0 or -1
//# for k in 0..WORDS_OF
    m{k}: u32,
//# end
}

fn magnitude_of(r: Raw) -> Magnitude {
    // Of one word twice that.
    let w = vec2<u32>(r);
    var n: Magnitude;
//# if FLOATS
    // One of the exponent stays: it is the hidden bit.
    let size = size_of(r);
    let exponent = size >> {31 - EXPONENT}u;
    let above = exponent - min(exponent, 1u);
    n.place = above;
    n.sign = (bitcast<i32>(w.y) >> 31u) & {MAGNITUDES - 1};
    let high = (size >> {(32 - BITS) * (BITS < 32)}u) - (above << {(MANTISSA - 1) % 32}u);
    let low = select(high, w.x, {BITS} == 64);
//# else
    let minus = 0u - (w.y >> 31u) * {SIGNED}u;
    let low = ((w.x ^ minus) - minus) >> {(32 - BITS) * (BITS < 32)}u;
    let high = (w.y ^ minus) + (minus & u32(w.x == 0u));
//# end
    n.m0 = low;
//# if BITS == 64
    n.m1 = high;
//# end
    return n;
}
//# if SQUARES & ONE_BY_ONE

fn squared(own: Magnitude) -> Magnitude {
    var n = own;
    n.place *= 2u;
    n.m0 *= own.m0;
//# if WORDS_OF > 1
    n.m1 = product(own.m0, own.m0).y;
//# end
//# if WORDS_OF > 2
    // And twice the product of both words, and the square of the upper one.
    let mixed = product(own.m0, own.m1);
    let top = product(own.m1, own.m1);
    let twice = vec2<u32>(mixed.x << 1u, (mixed.y << 1u) | (mixed.x >> 31u));
    n.m1 += twice.x;
    let third = top.x + twice.y;
    n.m2 = third + u32(n.m1 < twice.x);
    n.m3 = top.y + (mixed.y >> 31u) + u32(third < twice.y) + u32(n.m2 < third);
//# end
    return n;
}
//# end

// 22 bits of a magnitude, from bit `first` on, which may lie before it or behind; signed.
fn digit_at(n: Magnitude, first: i32) -> i32 {
    let word = first >> 5u;
    let off = u32(first) & 31u;
    var low = 0u;
    var high = 0u;
//# for k in 0..WORDS_OF
    low = select(low, n.m{k}, word == {k});
    high = select(high, n.m{k}, word + 1 == {k});
//# end
    let digit = i32(((low >> off) | ((high << 1u) << (31u - off))) & 0x3fffffu);
    return (digit ^ n.sign) - n.sign;
}
