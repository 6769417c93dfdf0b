// The size of an element, or of its upper word.
fn size_of(r: Raw) -> u32 {
//# if BITS == 64
    return r.y & 0x7fffffffu;
//# else
    return r & 0x7fffffffu;
//# end
}

// The magnitude of an element, or its square: {MAGNITUDE} bits at most, the lowest words first, times 2^place.
struct Magnitude {
    place: u32,
    sign: i32, // 0 or -1
//# for k in 0..WORDS_OF
    m{k}: u32,
//# end
}

fn magnitude_of(r: Raw) -> Magnitude {
//# if FLOATS
    // One of the exponent stays: it is the hidden bit.
    let size = size_of(r);
    let exponent = size >> {31 - EXPONENT}u;
    let above = exponent - min(exponent, 1u);
    let place = above * {PLACES}u;
//# if BITS == 64
    let low = r.x;
    let high = size - (above << 20u);
    let sign = bitcast<i32>(r.y) >> 31u;
//# else
    let low = (size >> {32 - BITS}u) - (above << {MANTISSA - 1}u);
    let high = 0u;
    let sign = bitcast<i32>(r) >> 31u;
//# end
//# else
    let place = 0u;
    let sign = 0;
//# if BITS == 64
    var low = r.x;
    var high = r.y;
//# if SIGNED
    if r.y >= 0x80000000u {
        low = ~r.x + 1u;
        high = ~r.y + select(0u, 1u, r.x == 0u);
    }
//# end
//# else
//# if SIGNED
    let low = bitcast<u32>(abs(bitcast<i32>(r) >> {32 - BITS}u));
//# else
    let low = r >> {32 - BITS}u;
//# end
    let high = 0u;
//# end
//# end
//# if SQUARES
//# if WORDS_OF == 1
    let m0 = low * low;
//# else
    let square = product(low, low);
    let m0 = square.x;
//# if WORDS_OF == 2
    let m1 = square.y;
//# else
    // And twice the product of both words, and the square of the upper one.
    let mixed = product(low, high);
    let top = product(high, high);
    let twice = vec2<u32>(mixed.x << 1u, (mixed.y << 1u) | (mixed.x >> 31u));
    let m1 = square.y + twice.x;
    let third = top.x + twice.y;
    let m2 = third + select(0u, 1u, m1 < twice.x);
    let m3 = top.y + (mixed.y >> 31u) + select(0u, 1u, third < twice.y) + select(0u, 1u, m2 < third);
//# end
//# end
//# else
    let m0 = low;
//# if WORDS_OF > 1
    let m1 = high;
//# end
//# end
    return Magnitude(
        place,
        sign,
//# for k in 0..WORDS_OF
        m{k},
//# end
    );
}

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
//# if MAGNITUDES
    return digit;
//# else
    return (digit ^ n.sign) - n.sign;
//# end
}
