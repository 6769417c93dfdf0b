// An exact sum: a fixed-point number so wide that nothing is ever lost, in {LIMBS} limbs of 24 bits, of which the
// last has a sign. Limb 0 begins with the least bit that an element or its square can have. Between carries a limb may
// take {TAKES} elements: each adds less than 2^25.
var<private> limbs: array<i32, {LIMBS + COUNTS}>;

struct Acc {
    flags: u32,
    takes: u32, // since the last carry
}

const LIMB: i32 = 0xffffff;

//# if FLOATS
// What an element or more were, beside numbers that add something.
const NAN: u32 = 1u;
const PLUS_INFINITY: u32 = 2u;
const MINUS_INFINITY: u32 = 4u;
const MINUS_ZERO: u32 = 8u;
const OTHER: u32 = 16u; // a number that is not -0
//# end

fn acc_none(first: u32) -> Acc {
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        limbs[i] = 0;
    }
    return Acc(0u, 0u);
}

// Brings limbs first..end, but the last, into 0..2^24.
fn carry_limbs(first: u32, end: u32) {
    var carry = 0;
    for (var i = first; i + 1u < end; i++) {
        let x = limbs[i] + carry;
        limbs[i] = x & LIMB;
        carry = x >> 24u;
    }
    limbs[end - 1u] += carry;
}

fn carry() {
    carry_limbs(0u, {LIMBS}u);
//# if COUNTS
    carry_limbs({LIMBS}u, {LIMBS + COUNTS}u);
//# end
}

// Adds x times 2^place, where the magnitude of x is at most 2^24.
fn add_piece(x: i32, place: u32) {
    let i = (place * 2731u) >> 16u; // place / 24
    let off = place - 24u * i;
    limbs[i] += (x << off) & LIMB;
    limbs[i + 1u] += x >> (24u - off);
}

// Bits 12k.. of a magnitude.
fn digit(m: vec2<u32>, k: u32) -> u32 {
    let at = 12u * k;
    let off = at & 31u;
    if at >= 32u {
        return (m.y >> off) & 0xfffu;
    }
    return ((m.x >> off) | ((m.y << 1u) << (31u - off))) & 0xfffu;
}

// Adds a magnitude, or its square, times 2^place.
fn add_magnitude(m: vec2<u32>, negative: bool, place: u32) {
//# for k in 0..DIGITS
    let d{k} = digit(m, {k}u);
//# end
//# if SQUARES
    // Digits of the square, the carry of each in the next.
    var c = 0u;
//# for k in 0..2 * DIGITS
//# for i in 0..DIGITS
//# if k >= i
//# if k - i < DIGITS
    c += d{i} * d{k - i};
//# end
//# end
//# end
    let s{k} = c & 0xfffu;
    c >>= 12u;
//# end
//# for k in 0..DIGITS
    add_piece(i32(s{2 * k} | (s{2 * k + 1} << 12u)), place + {24 * k}u);
//# end
//# else
//# for k in 0..DIGITS step 2
//# if k + 1 < DIGITS
    let p{k} = i32(d{k} | (d{k + 1} << 12u));
//# else
    let p{k} = i32(d{k});
//# end
    add_piece(select(p{k}, -p{k}, negative), place + {12 * k}u);
//# end
//# end
}

fn acc_take(own: Acc, r: Raw, t: u32) -> Acc {
    var a = own;
//# if FLOATS
//# if BITS == 64
    let negative = r.y >= 0x80000000u;
    let exponent = (r.y >> 20u) & 0x7ffu;
    let fraction = vec2<u32>(r.x, r.y & 0xfffffu);
    let hidden = vec2<u32>(0u, select(0u, 0x100000u, exponent > 0u));
//# else
    let negative = r >= 0x80000000u;
    let exponent = (r >> {31 - EXPONENT}u) & {INFINITY}u;
    let fraction = vec2<u32>((r >> {32 - BITS}u) & {FRACTION}u, 0u);
    let hidden = vec2<u32>(select(0u, {FRACTION + 1}u, exponent > 0u), 0u);
//# end
    let nothing = (fraction.x | fraction.y) == 0u;
    let special = exponent == {INFINITY}u;
    let nan = special && !nothing;
    let infinity = special && nothing;
    let minus_zero = negative && nothing && exponent == 0u;
//# if MAGNITUDES
    a.flags |= select(0u, PLUS_INFINITY, infinity);
//# else
    a.flags |= select(0u, select(PLUS_INFINITY, MINUS_INFINITY, negative), infinity);
//# end
//# if SKIPS
    a.flags |= select(select(OTHER, MINUS_ZERO, minus_zero), 0u, nan);
//# else
    a.flags |= select(select(OTHER, MINUS_ZERO, minus_zero), NAN, nan);
//# end
//# if COUNTS
    limbs[{LIMBS}] += select(1, 0, nan);
//# end
    let m = select(fraction | hidden, vec2<u32>(), special);
    let place = select(max(exponent, 1u) - 1u, 0u, special);
//# if MAGNITUDES
    add_magnitude(m, false, place * {PLACES}u);
//# else
    add_magnitude(m, negative, place);
//# end
//# else
//# if BITS == 64
    var m = r;
//# if SIGNED
    if r.y >= 0x80000000u {
        m = vec2<u32>(~r.x + 1u, ~r.y + select(0u, 1u, r.x == 0u));
    }
//# end
//# else
    var m = vec2<u32>(r >> {32 - BITS}u, 0u);
//# if SIGNED
    m.x = bitcast<u32>(abs(bitcast<i32>(r) >> {32 - BITS}u));
//# end
//# end
    add_magnitude(m, false, 0u);
//# end
    return took(a);
}

fn took(own: Acc) -> Acc {
    var a = own;
    a.takes += 1u;
    if a.takes == {TAKES}u {
        carry();
        a.takes = 0u;
    }
    return a;
}

fn acc_vec(own: Acc, v: vec4<u32>) -> Acc {
    var a = own;
    for (var i = 0u; i < E; i++) {
//# if BITS == 64
        a = acc_take(a, select(v.xy, v.zw, i == 1u), 0u);
//# else
        a = acc_take(a, raw_from(v[i >> {LOG}u], 0u, i), 0u);
//# end
    }
    return a;
}

//# if WINDOW

// Many elements at once, at the top of words. First their exponents are seen: where these lie within {WINDOW}, one window of two
// limbs holds all of them, which then needs no limb an element. What stands for no element is -0, which adds nothing.
const NO_ELEMENTS: vec4<u32> = vec4<u32>(0x80000000u);

struct Seen {
    most: vec4<u32>, // of the magnitudes
    least: vec4<u32>, // of those that are not 0, less one
    signs: vec4<u32>,
}

fn seen_none() -> Seen {
    return Seen(vec4<u32>(), vec4<u32>(0xffffffffu), vec4<u32>(0xffffffffu));
}

fn seen(s: Seen, v: vec4<u32>) -> Seen {
    let size = v & vec4<u32>(0x7fffffffu);
    return Seen(max(s.most, size), min(s.least, size - vec4<u32>(1u)), s.signs & v);
}

struct Window {
    low: vec4<i32>,
    high: vec4<i32>,
}

fn place_of(size: u32) -> u32 {
    return max(size >> {31 - EXPONENT}u, 1u) - 1u;
}

fn window_add(w: Window, v: vec4<u32>, begin: u32) -> Window {
    let exponent = (v & vec4<u32>(0x7fffffffu)) >> vec4<u32>({31 - EXPONENT}u);
    let fraction = (v >> vec4<u32>({32 - BITS}u)) & vec4<u32>({FRACTION}u);
    let m = bitcast<vec4<i32>>(fraction | (min(exponent, vec4<u32>(1u)) << vec4<u32>({MANTISSA - 1}u)));
    let off = min(max(exponent, vec4<u32>(1u)) - vec4<u32>(begin + 1u), vec4<u32>({WINDOW}u));
//# if MAGNITUDES
    let x = m;
//# else
    let sign = bitcast<vec4<i32>>(v) >> vec4<u32>(31u);
    let x = (m ^ sign) - sign;
//# end
    let low = (x << off) & vec4<i32>(LIMB);
    return Window(w.low + low, w.high + ((x << vec4<u32>(7u)) >> (vec4<u32>(31u) - off)));
}

// Where the window begins that holds what was seen; none holds infinities and NaNs, or what is too far apart.
struct Frame {
    begin: u32,
    fits: bool,
}

fn frame_of(s: Seen) -> Frame {
    let two = max(s.most.xy, s.most.zw);
    let most = max(two.x, two.y);
    let both = min(s.least.xy, s.least.zw);
    let top = place_of(most);
    let begin = max(top, {WINDOW}u) - {WINDOW}u;
    // Without a number all are 0.
    let near = most == 0u || place_of(min(both.x, both.y)) >= begin;
    return Frame(begin, near && (most >> {31 - EXPONENT}u) < {INFINITY}u);
}

// Takes what a window holds, of so many elements.
fn acc_window(own: Acc, s: Seen, f: Frame, w: Window, count: u32) -> Acc {
    var a = own;
    let lows = w.low.xy + w.low.zw;
    let highs = w.high.xy + w.high.zw;
    let low = lows.x + lows.y;
    let high = (low >> 24u) + highs.x + highs.y;
    let p0 = low & LIMB;
    let p1 = high & LIMB;
    let p2 = high >> 24u;
    let i = (f.begin * 2731u) >> 16u;
    let off = f.begin - 24u * i;
    let down = 24u - off;
    limbs[i] += (p0 << off) & LIMB;
    limbs[i + 1u] += (p0 >> down) + ((p1 << off) & LIMB);
    limbs[i + 2u] += (p1 >> down) + ((p2 << off) & LIMB);
    limbs[i + 3u] += p2 >> down;
//# if COUNTS
    limbs[{LIMBS}] += i32(count);
//# end
    let negative = s.signs.x & s.signs.y & s.signs.z & s.signs.w;
    let zero = all(s.most == vec4<u32>());
    a.flags |= select(OTHER, MINUS_ZERO, zero && negative >= 0x80000000u);
    return took(a);
}
//# end

// Partial result r of the source, taken in.
fn acc_join(a: Acc, r: u32) -> Acc {
    carry();
    let at = {RECORD}u * r;
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        limbs[i] += i32(words[at + 1u + i]);
    }
    return Acc(a.flags | words[at], 1u);
}

fn acc_write(at: u32, a: Acc) {
    let to = {RECORD}u * at;
    var flags = a.flags;
    carry();
    if P.merge != 0u {
        for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
            limbs[i] += i32(dst[to + 1u + i]);
        }
        carry();
        flags |= dst[to];
    }
    dst[to] = flags;
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        dst[to + 1u + i] = bitcast<u32>(limbs[i]);
    }
}
//# if SHARED

// What LANES neighbouring invocations have. It is added by atomic operations, whose order does not matter.
override SHARED_WORDS: u32; // of all groups
var<workgroup> shared_limbs: array<atomic<u32>, SHARED_WORDS>;

// Limbs first..end of what was shared.
fn take_shared(at: u32, first: u32, end: u32) {
    var carry = 0u;
    for (var i = first; i + 1u < end; i++) {
        let x = atomicLoad(&shared_limbs[at + i]) + carry;
        limbs[i] = i32(x & 0xffffffu);
        carry = x >> 24u;
    }
    limbs[end - 1u] = bitcast<i32>(atomicLoad(&shared_limbs[at + end - 1u]) + carry);
}

// The sum of a group of at most 256 invocations, for its first.
fn acc_across(lid: u32, own: Acc) -> Acc {
    let at = lid / LANES * {LIMBS + COUNTS + 1}u;
    for (var i = lid % LANES; i < {LIMBS + COUNTS + 1}u; i += LANES) {
        atomicStore(&shared_limbs[at + i], 0u);
    }
    carry();
    workgroupBarrier();
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        atomicAdd(&shared_limbs[at + i], bitcast<u32>(limbs[i]));
    }
    atomicOr(&shared_limbs[at + {LIMBS + COUNTS}u], own.flags);
    workgroupBarrier();
    var a = own;
    if lid % LANES == 0u {
        take_shared(at, 0u, {LIMBS}u);
//# if COUNTS
        take_shared(at, {LIMBS}u, {LIMBS + COUNTS}u);
//# end
        a.flags = atomicLoad(&shared_limbs[at + {LIMBS + COUNTS}u]);
    }
    workgroupBarrier();
    return a;
}
//# end
