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

fn plane_canonical(k: Plane) -> Plane {
    return k;
}

fn plane_combined(a: Plane, b: Plane) -> Plane {
    return a + b;
}

// The results, each at the top of a word; of a mean divided by the number of elements, truncated toward zero.
fn element4(k: vec4<u32>) -> vec4<u32> {
    let tops = k << vec4<u32>({32 - BITS}u);
//# if MEAN
//# if SIGNED
    let x = bitcast<vec4<i32>>(tops) >> vec4<u32>({32 - BITS}u);
    let size = bitcast<vec4<u32>>(abs(x));
    let negative = x < vec4<i32>(0);
//# else
    let size = tops >> vec4<u32>({32 - BITS}u);
    let negative = vec4<bool>(false);
//# end
    let q = select(size / vec4<u32>(max(P.fill_lo, 1u)), vec4<u32>(0u), P.fill_hi != 0u);
    return select(q, ~q + vec4<u32>(1u), negative) << vec4<u32>({32 - BITS}u);
//# else
    return tops;
//# end
}
