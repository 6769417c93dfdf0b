// Terms, in place of keys: what integers of 32 bits and less add to a sum modulo 2^{BITS}. Two terms combine to their
// sum. Bits above {BITS} mean nothing.
const PAD: Key = 0u;

fn key4(tops: vec4<u32>) -> vec4<u32> {
//# if MAGNITUDES
    let x = bitcast<vec4<u32>>(abs(bitcast<vec4<i32>>(tops) >> vec4<u32>({32 - BITS}u)));
//# else
    let x = tops >> vec4<u32>({32 - BITS}u);
//# end
//# if SQUARES
    return x * x;
//# else
    return x;
//# end
}

//# if BITS < 32
fn words_turned(v: vec4<u32>) -> vec4<u32> {
    return v;
}

fn top_keys(turned: vec4<u32>) -> vec4<u32> {
    return key4(turned);
}

//# end
fn key(top: u32) -> Key {
    return key4(vec4<u32>(top)).x;
}

fn plane_canonical(k: Plane) -> Plane {
    return k;
}

fn canonical(k: Key) -> Key {
    return k;
}

fn combined(a: Key, b: Key) -> Key {
    return a + b;
}

fn plane_combined(a: Plane, b: Plane) -> Plane {
    return a + b;
}

// The result, at the top of a word.
fn element(k: Key) -> u32 {
//# if MEAN
    return quotient(k << {32 - BITS}u) << {32 - BITS}u;
//# else
    return k << {32 - BITS}u;
//# end
}
//# if MEAN

// Divided by the number of elements, truncated toward zero.
fn quotient(top: u32) -> u32 {
//# if SIGNED
    let x = bitcast<i32>(top) >> {32 - BITS}u;
    let size = bitcast<u32>(abs(x));
    let negative = x < 0;
//# else
    let size = top >> {32 - BITS}u;
    let negative = false;
//# end
    let q = select(size / max(P.fill_lo, 1u), 0u, P.fill_hi != 0u);
    return select(q, ~q + 1u, negative);
}
//# end

fn element4(k: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(element(k.x), element(k.y), element(k.z), element(k.w));
}
