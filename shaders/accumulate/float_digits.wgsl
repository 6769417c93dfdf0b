//# if BY_FLOATS
// Digits by additions of float32: M is 1.5 * 2^23 units, so that the bits of x + M count x in units: that is a digit, rounded.
// What is left of x is exact, and gives the next digit by units 2^22 times smaller. {N} digits are a window, whose first bit lies
// {MARGIN} exponents above that of the greatest element of the block with which it begins: `placed_of` brings their sums to places.
// Of elements that are further apart, what a window does not hold is scaled up by its length, and goes through the same window once
// more. float16 has one window, at fixed places, which holds every number. Where `unpack2x16float` makes float32 of it, NaN and
// infinities show in the bits of x + M, and only signs are looked at.
// The squares of half types are float32 too, exactly.
//
// No addition of floats takes the result of another one: between them stands an integer operation or a conversion. Else a
// compiler might find that x - ((x + M) - M) is 0.

// What is added of the elements of a unit, as float32. `exactly`: by integers, as a driver may take subnormal numbers of float16
// as 0.
fn elements_of(v: Unit, exactly: bool) -> Keys {
    let k = keys_of(vec4<u32>(v));
//# for i in 0..4 * UNPACKS
    let x{i} = floats_of(vec4<u32>(v)[{i}]);
//# end
    return Keys(
//# for j in 0..PLANES
//# if UNPACKS
        plane_added(plane_exact(Plane(x0[{j}], x1[{j}], x2[{j}], x3[{j}]), k.p{j}, exactly)),
//# else
        plane_added(plane_exact(plane_floats(k.p{j}), k.p{j}, exactly)),
//# end
//# end
    );
}
//# if UNPACKS

// Two elements of float16 as float32.
fn floats_of(halves: u32) -> vec2<u32> {
    return bitcast<vec2<u32>>(unpack2x16float(halves));
}
//# else

fn plane_floats(k: Plane) -> Plane {
//# if HALF
    // An exponent of float16 counts from 15, one of float32 from 127. The sign stays.
    let bits = bitcast<Plane>(bitcast<vec4<i32>>(k) >> Plane(3u)) & Plane(0x8fffe000u);
    return bitcast<Plane>(bitcast<vec4<f32>>(bits) * bitcast<f32>((127u + 112u) << 23u));
//# else
    return k & Plane(KEEP);
//# end
}
//# end

// x, but for the elements k that are subnormal numbers of float16, which become floats by integers.
fn plane_exact(x: Plane, k: Plane, exactly: bool) -> Plane {
    if {HALF} == 0 || !exactly {
        return x;
    }
    let size = (k >> Plane(16u)) & Plane(0x7fffu);
    let counted = bitcast<Plane>(vec4<f32>(size)) - Plane(24u << 23u);
    let small = select(counted, Plane(0u), size == Plane(0u)) | (k & Plane(0x80000000u));
    return select(x, small, size < Plane(0x400u));
}

fn plane_added(x: Plane) -> Plane {
//# if SQUARES
    return bitcast<Plane>(bitcast<vec4<f32>>(x) * bitcast<vec4<f32>>(x));
//# else
    return x & Plane({4294967295 >> MAGNITUDES}u);
//# end
}

//# if WIDE
// What the window does not hold of x, scaled up to it. A zero was scaled up for each digit but one.
fn piece_of(a: Window, x: Bits) -> Bits {
    let rest = digits_of(a, x).rest;
    let zero = (rest & Bits(0x7fffffffu)) <= Bits({22 * (N - 1)}u << 23u);
    return select(rest + Bits(DIGIT << 23u), Bits(0u), zero);
}
//# end

struct Digits {
//# for d in 0..N
    s{d}: Ints,
//# end
    seen: Bits, // the bits of x + M
    rest: Bits,
}

// The digits of x, and what is left of it, scaled up for each digit but one. The last digit counts M as well.
fn digits_of(a: Window, x: Bits) -> Digits {
    let m = bitcast<i32>(a.m);
    let x0 = bitcast<Floats>(x);
//# for d in 0..N
    let s{d} = bitcast<Ints>(x{d} + a.m) - m;
    let r{d} = bitcast<Bits>(x{d} - Floats(s{d}) * a.unit);
    let x{d + 1} = bitcast<Floats>(r{d} + Bits(DIGIT << 23u));
//# end
    return Digits(
//# for d in 0..N - 1
        s{d},
//# end
        bitcast<Ints>(x{N - 1} + a.m),
        bitcast<Bits>(x0 + a.m),
        r{N - 1},
    );
}
//# end
