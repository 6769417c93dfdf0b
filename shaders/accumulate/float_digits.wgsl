//# if BY_FLOATS
// Digits by additions of float32: M is 1.5 * 2^23 units, so that the bits of x + M count x in units: that is a digit, rounded.
// What is left of x is exact, and gives the next digit by units 2^22 times smaller. {N} digits are a window, whose first bit is that
// of the block's greatest element: `aligned` brings their sums to places. Of elements that are further apart, what a window does
// not hold is scaled up by its length, and goes through the same window once more. float16 has one window, at fixed places.
// The squares of half types are float32 too, exactly.
//
// No addition of floats takes the result of another one: between them stands an integer operation or a conversion. Else a
// compiler might find that x - ((x + M) - M) is 0.
//# if COLUMNS == 1
alias Floats = f32;
//# else
alias Floats = vec{COLUMNS}<f32>;
//# end

fn acc_begin(l: Look, count: u32) -> Acc {
    var a: Acc;
//# if G == N
    let unit = {22 * (W - 1)}u;
    a.top = {W - 1}u;
    a.far = (any_of(l.most) & 0x80008000u) != 0u;
    // Subnormal numbers, which a driver may take as 0.
    a.part = select(ALL, UPPER, (all_of(l.least) & 0x80008000u) != 0x80008000u);
//# else
    let most = greatest_of(l.most) >> {31 - EXPONENT}u;
    // Which bits the first unit and the least one of all elements are; or one below it. Bit 0 is the least one of exponent 1.
    let unit = u32(max({PLACES} * (i32(min(most, {EXPONENT_MOST}u)) - 1) + {MAGNITUDE} - 22, {UNIT_LEAST}));
    let lowest = {PLACES} * (i32(max(least_of(l.least) >> {31 - EXPONENT}u, 1u)) - 1);
    a.far = most > {EXPONENT_MOST}u || lowest < i32(unit) - {22 * (2 * N - 1)};
    a.part = select(ALL, UPPER, lowest < i32(unit) - {22 * (N - 1)});
    a.top = unit / DIGIT + 1u;
    a.up = unit % DIGIT;
//# end
    // BIT_0: the exponent of bit 0; it wraps.
    let exponent = unit + {BIT_0}u;
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
        plane_added(plane_floats(k.p{j})),
//# end
    );
}

fn plane_floats(k: Plane) -> Plane {
//# if HALF
    // An exponent of float16 counts from 15, one of float32 from 127. The sign stays.
    let bits = bitcast<vec4<u32>>(bitcast<vec4<i32>>(k) >> vec4<u32>(3u)) & vec4<u32>(0x8fffe000u);
    return bitcast<vec4<u32>>(bitcast<vec4<f32>>(bits) * bitcast<f32>((127u + 112u) << 23u));
//# else
    return k & vec4<u32>(KEEP);
//# end
}

// What is added of elements.
fn plane_added(x: Plane) -> Plane {
//# if SQUARES
    return bitcast<Plane>(bitcast<vec4<f32>>(x) * bitcast<vec4<f32>>(x));
//# else
//# if MAGNITUDES
    return x & vec4<u32>(0x7fffffffu);
//# else
    return x;
//# end
//# end
}

// What a window holds of an element, which is at the top of a word.
fn piece_of(a: Acc, k: Bits) -> Bits {
//# if HALF
    // By integers: a driver may take subnormal numbers as 0.
    let size = (k >> Bits(16u)) & Bits(0x7fffu);
    let normal = (size << Bits(13u)) + Bits(112u << 23u);
    let counted = bitcast<Bits>(Floats(size)) - Bits(24u << 23u);
    let small = select(counted, Bits(0u), size == Bits(0u));
    let bits = (k & Bits(0x80000000u)) | select(normal, small, size < Bits(0x400u));
//# else
    let bits = k & Bits(KEEP);
//# end
//# if SQUARES
    let x = bitcast<Bits>(bitcast<Floats>(bits) * bitcast<Floats>(bits));
//# else
//# if MAGNITUDES
    let x = bits & Bits(0x7fffffffu);
//# else
    let x = bits;
//# end
//# end
//# if G == N
    return x;
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
    let x{j} = digits_of(own, columns_of(k.p{j}));
//# for d in 0..N
    a.s{j}_{d} += x{j}.s{d};
//# end
//# end
    return a;
}
//# end

// Whether elements are taken in parts: by a window, and then by another for what is left.
fn acc_again(a: Acc, window: u32) -> bool {
    return a.part != ALL && window < {1 + (G > N)}u;
}

// The first window, or the next one.
fn acc_next(begun: Acc, own: Acc, window: u32) -> Acc {
    var a = begun;
//# if G > N
    if window == 1u {
        a.part = REST;
        a.first = aligned(own);
    }
//# end
    return a;
}
//# end
