// Both extremes from the same keys: in the opposite order a canonical key is what TURN leaves of it.
override TURN: u32;
//# if BITS == 64
override TURN_LO: u32;

fn turned(k: Key) -> Key {
    return vec2<u32>(TURN_LO - k.x, TURN - k.y - select(0u, 1u, k.x > TURN_LO));
}

fn plane_turned(k: Plane) -> Plane {
    return turned(k);
}
//# else

fn turned(k: Key) -> Key {
    return TURN - k;
}

fn plane_turned(k: Plane) -> Plane {
    return Plane(TURN) - k;
}
//# end
//# if SIGNS

// The signs that were met, in the words of a unit: `any`, that one was set, and `all`, that none was not. Zeros share a
// key. Where the least is zero, a set sign is that of a -0; where the greatest is, a sign that is not set is that of a +0.
struct Signs {
    any: vec4<u32>,
    all: vec4<u32>,
}

fn signs_none() -> Signs {
    return Signs(vec4<u32>(0u), vec4<u32>(WHOLE));
}
//# if CEILED

override MAGNITUDES: u32; // of all elements of a word
override BEYOND: u32; // what the least NaN's magnitude carries into the sign

// The signs of NaNs, which are ignored.
fn signs_out(v: vec4<u32>) -> vec4<u32> {
//# if BITS == 64
    return ((v & vec4<u32>(MAGNITUDES)) | min(v.xxzz, vec4<u32>(1u))) + vec4<u32>(BEYOND);
//# else
    return (v & vec4<u32>(MAGNITUDES)) + vec4<u32>(BEYOND);
//# end
}
//# else

fn signs_out(v: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(0u);
}
//# end

// And the signs of a vec4 of elements, but for those in `out`.
fn signs_with(s: Signs, v: vec4<u32>, out: vec4<u32>) -> Signs {
    let left = out | signs_out(v);
    return Signs(s.any | (v & ~left), s.all & (v | left));
}
//# end

// The element of a canonical key. `sign`: what a zero has in the top bit.
fn extreme(k: Key, sign: u32) -> Raw {
    let e = element(k);
//# if SIGNS
//# if BITS == 64
    return vec2<u32>(e.x, select(e.y, sign & TOP, (e.x | e.y) == 0u));
//# else
    return select(e, sign & TOP, e == 0u);
//# end
//# else
    return e;
//# end
}

const TOP: u32 = 0x80000000u;
