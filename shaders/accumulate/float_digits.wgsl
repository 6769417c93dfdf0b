//# if BY_FLOATS
// Digits by additions of float32: M is 1.5 * 2^23 units, so that the bits of x + M count x in units: that is a digit, rounded.
// What is left of x is exact, and gives the next digit by units 2^22 times smaller. {N} digits are a window, whose first bit is that
// of the block's greatest element: `block_of` brings their sums to places. Of elements that are further apart, what a window does
// not hold is scaled up by its length, and goes through the same window once more. float16 has one window, at fixed places.
//
// No addition of floats takes the result of another one: between them stands an integer operation or a conversion. Else a
// compiler might find that x - ((x + M) - M) is 0.
//# if BY_VEC
alias Floats = vec4<f32>;
//# else
alias Floats = f32;
//# end
// The biased exponent of place 0; it wraps.
const UNIT: u32 = {UNIT_0}u;

fn acc_begin(l: Look, count: u32) -> Acc {
    var a: Acc;
//# if HALF
    let place = DIGIT;
    a.top = {W - 1}u;
    a.far = (any_of(l.most) & 0x80008000u) != 0u;
    // Subnormal numbers, which a driver may take as 0.
    a.part = select(ALL, UPPER, (all_of(l.least) & 0x80008000u) != 0x80008000u);
//# else
    let most = greatest_of(l.most) >> 23u;
    // The place of the first unit: of an element of exponent 1 the least bit has place 0. M must be finite; no digit that is kept
    // lies below place 0, and what is left of 0, which is scaled up for each digit but one, stays far below the unit.
    let place = u32(max(i32(min(most, {INFINITY - 4}u)) + {MANTISSA} - 23, {22 * (W - 2)}));
    // That of the least bit of all elements, or one less.
    let last = i32(max(least_of(l.least) >> 23u, 1u)) - 1;
    a.far = most > {INFINITY - 4}u || last < i32(place) - {22 * (2 * N - 1)};
    a.part = select(ALL, UPPER, last < i32(place) - {22 * (N - 1)});
    a.top = place / DIGIT + 1u;
    a.up = place % DIGIT;
//# end
    let exponent = place + UNIT;
    a.unit = bitcast<f32>(exponent << 23u);
    let m = ((exponent + 23u) << 23u) | 0x400000u;
    a.m = bitcast<f32>(m);
    a.less = bitcast<i32>(count * m);
    a.signs = signs_of(l);
    return a;
}

// The elements of a unit, as float32.
fn elements_of(v: Unit) -> Keys {
    let k = unit_keys(v);
    return Keys(
//# for j in 0..PLANES
        plane_floats(k.p{j}),
//# end
    );
}

fn plane_floats(k: Plane) -> Plane {
//# if HALF
    // An exponent of float16 counts from 15, one of float32 from 127.
    let bits = ((k >> vec4<u32>(3u)) & vec4<u32>(0x0fffe000u)) | (k & vec4<u32>(0x80000000u));
    return plane_signed(bitcast<vec4<u32>>(bitcast<vec4<f32>>(bits) * bitcast<f32>((127u + 112u) << 23u)));
//# else
    return plane_signed(k & vec4<u32>(KEEP));
//# end
}

fn plane_signed(x: Plane) -> Plane {
//# if MAGNITUDES
    return x & vec4<u32>(0x7fffffffu);
//# else
    return x;
//# end
}

// What a window holds of an element, which is at the top of a word.
fn piece_of(a: Acc, k: Bits) -> Bits {
//# if MAGNITUDES
    let x = k & Bits(KEEP & 0x7fffffffu);
//# else
    let x = k & Bits(KEEP);
//# end
//# if HALF
    // By integers: a driver may take subnormal numbers as 0.
    let sign = x & Bits(0x80000000u);
    let size = (x >> Bits(16u)) & Bits(0x7fffu);
    let normal = (size << Bits(13u)) + Bits(112u << 23u);
    let counted = bitcast<Bits>(Floats(size)) - Bits(24u << 23u);
    let small = select(counted, Bits(0u), size == Bits(0u));
    return sign | select(normal, small, size < Bits(0x400u));
//# else
    // What the first window holds of it, or what it does not, scaled up to its place.
    let exponent = max((x >> Bits(23u)) & Bits(0xffu), Bits(1u));
    // Bits of the element below the last digit.
    let last = (bitcast<u32>(a.unit) >> 23u) - {22 * (N - 1)}u + 23u;
    let below = Bits(last) - min(exponent, Bits(last));
    let none = below >= Bits(24u);
    let mask = (Bits(1u) << min(below, Bits(24u))) - Bits(1u);
    if a.part != REST {
        // An element below the last digit becomes at most half of that, which adds nothing.
        return x & ~mask;
    }
    let subnormal = (x & Bits(0x7f800000u)) == Bits(0u);
    let hidden = select(Bits(0x800000u), Bits(0u), subnormal | !none);
    let count = (x & mask & Bits(0x7fffffu)) | hidden;
    let scaled = bitcast<Bits>(Floats(count)) + ((exponent + Bits({22 * N}u) - Bits(150u)) << Bits(23u));
    return select(scaled | (x & Bits(0x80000000u)), Bits(0u), count == Bits(0u));
//# end
}

struct Digits {
//# for d in 0..N
    s{d}: Ints,
//# end
}

// The digits of x. The last one counts M as well.
fn digits_of(a: Acc, x: Bits) -> Digits {
    let m = bitcast<i32>(a.m);
    let x0 = bitcast<Floats>(x);
//# for d in 0..N - 1
    let s{d} = bitcast<Ints>(x{d} + a.m) - m;
    let x{d + 1} = bitcast<Floats>(bitcast<Bits>(x{d} - Floats(s{d}) * a.unit) + Bits(DIGIT << 23u));
//# end
    return Digits(
//# for d in 0..N - 1
        s{d},
//# end
        bitcast<Ints>(x{N - 1} + a.m),
    );
}

//# if BY_VEC
fn acc_take(own: Acc, k: Keys, at: u32) -> Acc {
    var a = own;
//# for j in 0..SUMS
    let x{j} = digits_of(own, k.p{j});
//# for d in 0..N
    a.s{j}_{d} += x{j}.s{d};
//# end
//# end
    return a;
}
//# end

// Whether elements are taken in parts: by a window, and then by another for what is left.
fn acc_again(a: Acc, window: u32) -> bool {
    return a.part != ALL && window < {1 + G - N}u;
}

// The first window, or the next one.
fn acc_next(begun: Acc, own: Acc, window: u32) -> Acc {
    var a = begun;
//# if G > N
    if window == 1u {
        a.part = REST;
        a.first = block_of(own);
    }
//# end
    return a;
}
//# end
