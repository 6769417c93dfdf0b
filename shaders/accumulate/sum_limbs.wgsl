// An exact sum: a fixed-point number so wide that nothing is ever lost, in {LIMBS} limbs of 24 bits. The last one has a
// sign. Limb 0 begins with the least bit that an element or its square can have. Between carries a limb may take
// {TAKES} elements: each adds less than 2^25.
var<private> limbs: array<i32, {LIMBS + COUNTS}>;
// Limbs of the sum outside first_limb..end_limb are 0. The last one inside has the sign.
var<private> first_limb: u32;
var<private> end_limb: u32;

struct Exact {
    flags: u32,
    takes: u32, // since the last carry
}

const LIMB: i32 = 0xffffff;

//# if FLOATS
// Flags: which kinds of elements were met.
const NAN: u32 = 1u;
const PLUS_INFINITY: u32 = 2u;
const MINUS_INFINITY: u32 = 4u;
const MINUS_ZERO: u32 = 8u;
const OTHER: u32 = 16u; // a number that is not -0

// Infinity, in the word that has the sign.
const INFINITE: u32 = {INFINITE}u;
//# end

fn exact_none() -> Exact {
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        limbs[i] = 0;
    }
    first_limb = {LIMBS}u;
    end_limb = 0u;
    return Exact(0u, 0u);
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

// Makes room for what the last limb in use may have, and carries.
fn carry() {
    end_limb = min(end_limb + 1u, {LIMBS}u);
    carry_limbs(first_limb, end_limb);
//# if COUNTS
    carry_limbs({LIMBS}u, {LIMBS + COUNTS}u);
//# end
}

// Carries over all limbs.
fn carry_all() {
    first_limb = 0u;
    end_limb = {LIMBS}u;
    carry();
}

// Adds x times 2^place, where the magnitude of x is at most 2^24.
fn add_piece(x: i32, place: u32) {
    let i = (place * 2731u) >> 16u; // place / 24
    let off = place - 24u * i;
    limbs[i] += (x << off) & LIMB;
    limbs[i + 1u] += x >> (24u - off);
    first_limb = min(first_limb, i);
    end_limb = max(end_limb, i + 2u);
}

// An element that adds something: signed pieces of 24 bits, times 2^place.
struct Number {
    place: u32,
//# for k in 0..TERM_PIECES
    x{k}: i32,
//# end
}
//# if SQUARES

// Bits 12k.. of a magnitude.
fn digit(low: u32, high: u32, k: u32) -> u32 {
    let at = 12u * k;
    let off = at & 31u;
    if at >= 32u {
        return (high >> off) & 0xfffu;
    }
    return ((low >> off) | ((high << 1u) << (31u - off))) & 0xfffu;
}
//# end

fn number(r: Raw) -> Number {
//# if FLOATS
    // One of the exponent stays: it is the hidden bit.
    let size = size_of(r);
    let exponent = size >> {31 - EXPONENT}u;
    let above = exponent - min(exponent, 1u);
//# if BITS == 64
    let low = r.x;
    let high = size - (above << 20u);
    let sign = bitcast<i32>(r.y) >> 31u;
//# else
    let low = (size >> {32 - BITS}u) - (above << {MANTISSA - 1}u);
    let high = 0u;
    let sign = bitcast<i32>(r) >> 31u;
//# end
    let place = above * {PLACES}u;
//# else
    let place = 0u;
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
//# for k in 0..DIGITS
    let d{k} = digit(low, high, {k}u);
//# end
    // Digits of the square. The carry of each goes to the next.
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
//# for k in 0..TERM_PIECES
    let p{k} = i32(s{2 * k} | (s{2 * k + 1} << 12u));
//# end
//# else
//# if BITS == 64
    let p0 = i32(low & 0xffffffu);
    let p1 = i32(((low >> 24u) | (high << 8u)) & 0xffffffu);
    let p2 = i32(high >> 16u);
//# else
    let p0 = i32(low);
//# end
//# end
    return Number(
        place,
//# for k in 0..TERM_PIECES
//# if MAGNITUDES
        p{k},
//# else
        (p{k} ^ sign) - sign,
//# end
//# end
    );
}

// The size of an element, or of its upper word.
fn size_of(r: Raw) -> u32 {
//# if BITS == 64
    return r.y & 0x7fffffffu;
//# else
    return r & 0x7fffffffu;
//# end
}

//# if FLOATS

// The flag of an element; none for a skipped NaN.
fn flag_of(r: Raw) -> u32 {
    let size = size_of(r);
    let special = size >= INFINITE;
//# if BITS == 64
    let negative = r.y >= 0x80000000u;
    let nan = size > INFINITE || (size == INFINITE && r.x != 0u);
    let minus_zero = r.x == 0u && r.y == 0x80000000u;
//# else
    let negative = r >= 0x80000000u;
    let nan = size > INFINITE;
    let minus_zero = r == 0x80000000u;
//# end
//# if MAGNITUDES
    let infinity = PLUS_INFINITY;
//# else
    let infinity = select(PLUS_INFINITY, MINUS_INFINITY, negative);
//# end
    let finite = select(OTHER, MINUS_ZERO, minus_zero);
//# if SKIPS
    return select(select(finite, OTHER | infinity, special), 0u, nan);
//# else
    return select(select(finite, OTHER | infinity, special), NAN, nan);
//# end
}
//# end

// What an element adds to the limbs: NaN and infinities add nothing.
fn number_of(r: Raw) -> Number {
//# if FLOATS
//# if BITS == 64
    return number(select(r, vec2<u32>(0u), size_of(r) >= INFINITE));
//# else
    return number(select(r, 0u, size_of(r) >= INFINITE));
//# end
//# else
    return number(r);
//# end
}

// Adds an element, without carrying.
fn exact_add(own: Exact, r: Raw) -> Exact {
    var a = own;
//# if FLOATS
    let flag = flag_of(r);
    a.flags |= flag;
//# if COUNTS
    limbs[{LIMBS}] += select(0, 1, flag != 0u);
//# end
//# end
    let n = number_of(r);
//# for k in 0..TERM_PIECES
    add_piece(n.x{k}, n.place + {24 * k}u);
//# end
    return a;
}

fn exact_take(own: Exact, r: Raw) -> Exact {
    return took(exact_add(own, r));
}

fn took(own: Exact) -> Exact {
    var a = own;
    a.takes += 1u;
    if a.takes == {TAKES}u {
        carry();
        a.takes = 0u;
    }
    return a;
}

// Adds partial result r of the source, whose limbs are carried.
fn exact_join_partial(a: Exact, r: u32) -> Exact {
    first_limb = 0u;
    end_limb = {LIMBS}u;
    let at = {PARTIAL_WORDS}u * r;
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        limbs[i] += i32(words[at + 1u + i]);
    }
    return took(Exact(a.flags | words[at], a.takes));
}
//# if PARTIAL_SUM

fn exact_write(at: u32, a: Exact) {
    let to = {PARTIAL_WORDS}u * at;
    var flags = a.flags;
    carry_all();
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
//# end
//# if TEAMS

// The sum of each team of LANES neighbouring invocations. Atomic operations add to it, and their order does not matter.
override SHARED_WORDS: u32; // of all teams
var<workgroup> shared_limbs: array<atomic<u32>, SHARED_WORDS>;

// Takes limbs first..end of the team's sum.
fn take_shared(at: u32, first: u32, end: u32) {
    var carry = 0u;
    for (var i = first; i + 1u < end; i++) {
        let x = atomicLoad(&shared_limbs[at + i]) + carry;
        limbs[i] = i32(x & 0xffffffu);
        carry = x >> 24u;
    }
    limbs[end - 1u] = bitcast<i32>(atomicLoad(&shared_limbs[at + end - 1u]) + carry);
}

// The sum of a team of at most 256 invocations, for the first of them.
fn exact_across(lid: u32, own: Exact) -> Exact {
    let at = lid / LANES * {LIMBS + COUNTS + 1}u;
    for (var i = lid % LANES; i < {LIMBS + COUNTS + 1}u; i += LANES) {
        atomicStore(&shared_limbs[at + i], 0u);
    }
    carry_all();
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
