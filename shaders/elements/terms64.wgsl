// What 64-bit integers add to a sum modulo 2^64. As terms32.wgsl otherwise.
const PAD: Key = vec2<u32>(0u);

fn negated(x: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(~x.x + 1u, ~x.y + select(0u, 1u, x.x == 0u));
}

fn key(r: vec2<u32>) -> Key {
//# if SQUARES
    return product(r.x, r.x) + vec2<u32>(0u, 2u * r.x * r.y);
//# else
//# if MAGNITUDES
    return select(r, negated(r), r.y >= 0x80000000u);
//# else
    return r;
//# end
//# end
}

fn canonical(k: Key) -> Key {
    return k;
}

fn combined(a: Key, b: Key) -> Key {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn element(k: Key) -> vec2<u32> {
//# if MEAN
//# if SIGNED
    let negative = k.y >= 0x80000000u;
    let q = quotient(select(k, negated(k), negative));
    return select(q, negated(q), negative);
//# else
    return quotient(k);
//# end
//# else
    return k;
//# end
}
//# if MEAN

// Divided by the number of elements, bit by bit. It has no loop: plans count an invocation's iterations by elements.
fn quotient(size: vec2<u32>) -> vec2<u32> {
    let count = vec2<u32>(P.fill_lo, P.fill_hi);
    var rest = vec2<u32>(0u);
    var q = vec2<u32>(0u);
    var fits = false;
    // The rest stays below 2^63, because the number of elements does.
//# for i in 0..64
    rest = vec2<u32>((rest.x << 1u) | ((size[{(63 - i) / 32}u] >> {(63 - i) % 32}u) & 1u), (rest.y << 1u) | (rest.x >> 31u));
    fits = !less(rest, count);
    rest = select(rest, vec2<u32>(rest.x - count.x, rest.y - count.y - select(0u, 1u, rest.x < count.x)), fits);
    q = vec2<u32>((q.x << 1u) | select(0u, 1u, fits), (q.y << 1u) | (q.x >> 31u));
//# end
    return q;
}
//# end
