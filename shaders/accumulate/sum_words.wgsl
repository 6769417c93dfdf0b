// A sum of integers modulo 2^{BITS}: of elements, of their magnitudes or of their squares.
//# if BITS == 64
struct Acc {
    sum: vec2<u32>,
}

fn acc_none(first: u32) -> Acc {
    return Acc(vec2<u32>());
}

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn product32(x: u32, y: u32) -> vec2<u32> {
    let low = (x & 0xffffu) * (y & 0xffffu);
    let one = (x >> 16u) * (y & 0xffffu);
    let two = (x & 0xffffu) * (y >> 16u);
    let middle = (low >> 16u) + (one & 0xffffu) + (two & 0xffffu);
    let high = (x >> 16u) * (y >> 16u) + (one >> 16u) + (two >> 16u) + (middle >> 16u);
    return vec2<u32>((middle << 16u) | (low & 0xffffu), high);
}

// What an element adds.
fn term(r: Raw) -> vec2<u32> {
//# if SQUARES
    return product32(r.x, r.x) + vec2<u32>(0u, 2u * r.x * r.y);
//# else
//# if MAGNITUDES
    let negative = vec2<u32>(select(0u, 0xffffffffu, r.y >= 0x80000000u));
    return add64(r ^ negative, negative & vec2<u32>(1u, 0u));
//# else
    return r;
//# end
//# end
}

fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    return Acc(add64(a.sum, term(r)));
}

// Takes number j of a vec4.
fn acc_plane(a: Acc, v: vec4<u32>, j: u32) -> Acc {
    return Acc(add64(a.sum, term(select(v.xy, v.zw, j == 1u))));
}

fn acc_sum(a: Acc) -> vec2<u32> {
    return a.sum;
}
//# else
struct Acc {
    sum: vec4<u32>,
}

fn acc_none(first: u32) -> Acc {
    return Acc(vec4<u32>());
}

// What elements at the top of a word add; bits above {BITS} mean nothing.
fn terms(tops: vec4<u32>) -> vec4<u32> {
//# if SIGNED
    let x = bitcast<vec4<u32>>(bitcast<vec4<i32>>(tops) >> vec4<u32>({32 - BITS}u));
//# else
    let x = tops >> vec4<u32>({32 - BITS}u);
//# end
//# if SQUARES
    return x * x;
//# else
//# if MAGNITUDES
    return bitcast<vec4<u32>>(abs(bitcast<vec4<i32>>(x)));
//# else
    return x;
//# end
//# end
}

fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    return Acc(a.sum + vec4<u32>(terms(vec4<u32>(r)).x, 0u, 0u, 0u));
}

// Takes plane j of a vec4.
fn acc_plane(a: Acc, v: vec4<u32>, j: u32) -> Acc {
    return Acc(a.sum + terms(v << vec4<u32>({32 - BITS}u - {BITS}u * j)));
}

fn acc_sum(a: Acc) -> vec2<u32> {
    let pair = a.sum.xy + a.sum.zw;
    let sum = pair.x + pair.y;
//# if SIGNED
    // Extended, so that a mean can be divided.
    let low = bitcast<i32>(sum << {32 - BITS}u) >> {32 - BITS}u;
    return vec2<u32>(bitcast<u32>(low), bitcast<u32>(low >> 31u));
//# else
    return vec2<u32>((sum << {32 - BITS}u) >> {32 - BITS}u, 0u);
//# end
}
//# end

// Of two words.
fn acc_of(sum: vec2<u32>) -> Acc {
//# if BITS == 64
    return Acc(sum);
//# else
    return Acc(vec4<u32>(sum.x, 0u, 0u, 0u));
//# end
}

fn acc_joined(a: Acc, sum: vec2<u32>) -> Acc {
//# if BITS == 64
    return Acc(add64(a.sum, sum));
//# else
    return Acc(a.sum + vec4<u32>(sum.x, 0u, 0u, 0u));
//# end
}

// Partial result r of the source, taken in.
fn acc_join(a: Acc, r: u32) -> Acc {
    let at = {RECORD}u * r;
    return acc_joined(a, vec2<u32>(words[at], words[at + 1u]));
}

fn acc_write(at: u32, own: Acc) {
    var a = own;
    let to = {RECORD}u * at;
    if P.merge != 0u {
        a = acc_joined(a, vec2<u32>(dst[to], dst[to + 1u]));
    }
    let sum = acc_sum(a);
    dst[to] = sum.x;
    dst[to + 1u] = sum.y;
}

//# if SHARED
// What LANES neighbouring invocations have, in four parts of 16 bits. It is added by atomic operations, whose
// order does not matter.
override SHARED_WORDS: u32; // of all groups
var<workgroup> shared_parts: array<atomic<u32>, SHARED_WORDS>;

// The sum of a group of invocations, for its first.
fn acc_across(lid: u32, own: Acc) -> Acc {
    let first = lid / LANES * 4u;
    for (var i = lid % LANES; i < 4u; i += LANES) {
        atomicStore(&shared_parts[first + i], 0u);
    }
    workgroupBarrier();
    let sum = acc_sum(own);
    atomicAdd(&shared_parts[first], sum.x & 0xffffu);
    atomicAdd(&shared_parts[first + 1u], sum.x >> 16u);
    atomicAdd(&shared_parts[first + 2u], sum.y & 0xffffu);
    atomicAdd(&shared_parts[first + 3u], sum.y >> 16u);
    workgroupBarrier();
    var a = own;
    if lid % LANES == 0u {
        let low = atomicLoad(&shared_parts[first]);
        let second = atomicLoad(&shared_parts[first + 1u]) + (low >> 16u);
        let third = atomicLoad(&shared_parts[first + 2u]) + (second >> 16u);
        let high = atomicLoad(&shared_parts[first + 3u]) + (third >> 16u);
        a = acc_of(vec2<u32>((low & 0xffffu) | (second << 16u), (third & 0xffffu) | (high << 16u)));
    }
    workgroupBarrier();
    return a;
}
//# end

fn acc_element(a: Acc) -> Raw {
    var sum = acc_sum(a);
//# if MEAN
    sum = quotient(sum);
//# end
//# if BITS == 64
    return sum;
//# else
    return sum.x << {32 - BITS}u;
//# end
}
//# if MEAN

// Divided by the number of elements, truncated toward zero.
fn quotient(sum: vec2<u32>) -> vec2<u32> {
//# if SIGNED
    let negative = sum.y >= 0x80000000u;
    let size = select(sum, negated(sum), negative);
//# else
    let size = sum;
//# end
    let count = vec2<u32>(P.fill_lo, P.fill_hi);
    var rest = vec2<u32>();
    var q = vec2<u32>();
    // The rest stays below 2^63: so does the number of elements.
    for (var i = 64u; i > 0u; i--) {
        let bit = (size[(i - 1u) >> 5u] >> ((i - 1u) & 31u)) & 1u;
        rest = vec2<u32>((rest.x << 1u) | bit, (rest.y << 1u) | (rest.x >> 31u));
        let fits = rest.y > count.y || (rest.y == count.y && rest.x >= count.x);
        q = vec2<u32>((q.x << 1u) | select(0u, 1u, fits), (q.y << 1u) | (q.x >> 31u));
        if fits {
            rest = vec2<u32>(rest.x - count.x, rest.y - count.y - select(0u, 1u, rest.x < count.x));
        }
    }
//# if SIGNED
    return select(q, negated(q), negative);
//# else
    return q;
//# end
}
//# if SIGNED

fn negated(x: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(~x.x + 1u, ~x.y + select(0u, 1u, x.x == 0u));
}
//# end
//# end
