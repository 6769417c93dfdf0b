// An exact sum: digits of 22 bits, of which the lowest begins with the least bit that an element, or its square, can have.
// {SUM_DIGITS} digits hold every sum; {W} neighbouring ones are kept in registers. Here they become a result, rounded once.
const DIGIT: u32 = 22u; // bits
const BELOW: i32 = 0x3fffff;

// Which kinds of elements were met.
const NAN: u32 = 1u;
const PLUS_INFINITY: u32 = 2u;
const MINUS_INFINITY: u32 = 4u;
const MINUS_ZERO: u32 = 8u;
const OTHER: u32 = 16u; // a number that is not -0

// Neighbouring digits. Carried, all but the highest lie in 0..2^22.
struct One {
//# for d in 0..W + 1
    d{d}: i32,
//# end
}

fn one_carried(own: One) -> One {
    var o = own;
//# for d in 0..W
    o.d{d + 1} += o.d{d} >> 22u;
    o.d{d} &= BELOW;
//# end
    return o;
}

// What a sum takes again or one by one: from the first, so far to the next, and how many.
struct Elements {
//# if STRIDED
    segment: u32, // where they begin
//# end
    first: u32,
    step: u32,
    count: u32,
}

// The element with this word, the one that has the sign.
fn top_of(word: u32) -> Raw {
//# if BITS == 64
    return vec2<u32>(0u, word);
//# else
    return word;
//# end
}

fn with_sign(r: Raw, negative: bool) -> Raw {
    return r | top_of(select(0u, 0x80000000u, negative));
}
//# if PARTIAL_SUM == 0

// A sum that is to be rounded.
struct Total {
    lowest: i32, // the place of digit 0, in digits
    one: One,
    flags: u32, // which kinds of elements were met
    count: vec2<u32>, // how many count: below 2^31 but for sums of partial sums
}

//# if BY_VEC + DST_VECS == 0

fn acc_emit(slot: u32, t: Total) {
    write_bits(slot, pack(acc_element(t)));
}
//# end

// Neighbouring digits, and the sign of what is below them.
struct Kept {
    at: i32, // the place of the highest
    digits: One,
    below: i32,
}

// Those up to the digit that was kept last, and up to the last one that is not 0.
var<private> running: Kept;
var<private> kept: Kept;

fn keep(digit: i32, at: i32) {
    running.below = select(running.below, running.digits.d0, running.digits.d0 != 0);
//# for d in 0..W
    running.digits.d{d} = running.digits.d{d + 1};
//# end
    running.digits.d{W} = digit;
    running.at = at;
    if digit != 0 {
        kept = running;
    }
}

// The leading bits of a result: `bits` times 2^place, and whether anything is left below.
struct Leading {
    bits: vec2<u32>,
    place: i32,
    rest: bool,
}

fn less_two(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn minus_two(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// Twice x, and a bit.
fn with_bit(x: vec2<u32>, bit: u32) -> vec2<u32> {
    return vec2<u32>((x.x << 1u) | bit, (x.y << 1u) | (x.x >> 31u));
}

fn shifted_down(x: vec2<u32>, by: u32) -> vec2<u32> {
    if by >= 32u {
        return vec2<u32>(x.y >> (by - 32u), 0u);
    }
    return vec2<u32>((x.x >> by) | ((x.y << 1u) << (31u - by)), x.y >> by);
}

// A result, at the top of a word.
fn acc_element(t: Total) -> Raw {
    let number = finite_of(t);
//# if FLOATS
    let infinities = t.flags & (PLUS_INFINITY | MINUS_INFINITY);
    let infinity = with_sign(top_of({INFINITE}u), infinities == MINUS_INFINITY);
    let uncounted = (t.count.x | t.count.y) == 0u && {MEAN} == 1;
    let none = (t.flags & NAN) != 0u || infinities == (PLUS_INFINITY | MINUS_INFINITY) || uncounted;
    return select(select(number, infinity, infinities != 0u), top_of({NAN_BITS}u), none);
//# else
    return number;
//# end
}

fn finite_of(t: Total) -> Raw {
    var o = t.one;
    let negative = o.d{W} < 0;
    if negative {
//# for d in 0..W + 1
        o.d{d} = -o.d{d};
//# end
        o = one_carried(o);
    }
    // Until the highest digit is not 0.
    var place = i32(DIGIT) * (t.lowest + {W});
    for (var i = 0u; i < {W}u && o.d{W} == 0; i++) {
//# for d in 0..W
        o.d{W - d} = o.d{W - 1 - d};
//# end
        o.d0 = 0;
        place -= 22;
    }
    if o.d{W} == 0 {
        let minus = (t.flags & (MINUS_ZERO | OTHER)) == MINUS_ZERO && {MAGNITUDES} == 0;
        return with_sign(Raw(0u), minus);
    }
    // The digits below it in words, and whether anything is left. A dispatch takes at most 2^30 elements: the highest digit has
    // 30 bits.
//# for j in 0..LEADING
    let w{j} =
//# for d in 0..W
//# if (22 * d < 32 * j + 32) & (22 * d + 22 > 32 * j)
        ((u32(o.d{W - 1 - d}) << {(32 * j + 10 > 22 * d) * (32 * j + 10 - 22 * d)}u) >> {(22 * d > 32 * j + 10) * (22 * d - 32 * j - 10)}u) |
//# end
//# end
        0u;
//# end
    let below =
//# for d in 0..W
//# if 22 * d + 22 > 32 * LEADING
        (o.d{W - 1 - d} & {4194303 >> (22 * d < 32 * LEADING) * (32 * LEADING - 22 * d)}) |
//# end
//# end
        0;
    // From the highest bit on.
    let up = countLeadingZeros(u32(o.d{W}));
    let y0 = (u32(o.d{W}) << up) | ((w0 >> 1u) >> (31u - up));
//# for j in 1..LEADING
    let y{j} = (w{j - 1} << up) | ((w{j} >> 1u) >> (31u - up));
//# end
    let rest = (w{LEADING - 1} << up) != 0u || below != 0;
    var l = Leading(vec2<u32>(y1, y0), place - 32 - i32(up), rest);
    let low = vec2<u32>(y{LEADING - 1}, y{LEADING - 2}) * {LEADING / 4}u;
//# if MEAN
    l = divided(l, low, t.count);
//# end
//# if ROOT
    l = root_of(l, low);
//# end
//# if FLOATS
    let bits = rounded(l);
//# else
    let bits = whole_of(l);
//# end
    return with_sign(raw_from(bits.x, bits.y, 0u), negative);
}
//# if MEAN
//# if JOINS

// Divided, bit by bit, until the quotient has more bits than any type.
fn divided(l: Leading, low: vec2<u32>, count: vec2<u32>) -> Leading {
    var bits = vec4<u32>(l.bits.y, l.bits.x, low.y, low.x);
    var q = vec2<u32>(0u);
    var rest = vec2<u32>(0u);
    var place = l.place + 64;
    while q.y < 0x00800000u {
        place--;
        rest = with_bit(rest, bits.x >> 31u);
        bits = (bits << vec4<u32>(1u)) | (vec4<u32>(bits.yzw, 0u) >> vec4<u32>(31u));
        let fits = !less_two(rest, count);
        if fits {
            rest = minus_two(rest, count);
        }
        q = with_bit(q, select(0u, 1u, fits));
    }
    return Leading(q, place, l.rest || any(bits != vec4<u32>(0u)) || (rest.x | rest.y) != 0u);
}
//# else

// A word of a quotient, and what is left over; the rest is below the count, which is below 2^31.
fn word_divided(rest: u32, word: u32, count: u32) -> vec2<u32> {
    var q = vec2<u32>(0u, rest);
    var done = 0u;
    while done < 32u {
        // As many bits as the rest leaves room for.
        let bits = min(countLeadingZeros(count), 32u - done);
        let x = (q.y << bits) | ((word << done) >> (32u - bits));
        q = vec2<u32>((q.x << bits) | (x / count), x % count);
        done += bits;
    }
    return q;
}

// Divided by a count below 2^31. The first word of the quotient is not 0: 33 bits are left at least, or 64 of float64.
fn divided(l: Leading, low: vec2<u32>, elements: vec2<u32>) -> Leading {
    let count = max(elements.x, 1u);
    let a = l.bits.y / count;
    let b = word_divided(l.bits.y % count, l.bits.x, count);
//# if LEADING == 4
    let c = word_divided(b.y, low.y, count);
    let up = countLeadingZeros(a);
    let high = (a << up) | ((b.x >> 1u) >> (31u - up));
    let next = (b.x << up) | ((c.x >> 1u) >> (31u - up));
    let rest = l.rest || low.x != 0u || c.y != 0u || (c.x << up) != 0u;
    return Leading(vec2<u32>(next, high), l.place - i32(up), rest);
//# else
    return Leading(vec2<u32>(b.x, a), l.place, l.rest || b.y != 0u);
//# end
}
//# end
//# end
//# if ROOT

// The root, bit by bit, of {32 * LEADING} bits: half as many.
fn root_of(l: Leading, low: vec2<u32>) -> Leading {
    var bits = vec4<u32>(l.bits.y, l.bits.x, low.y, low.x);
    // Places of pairs of bits.
    let odd = u32(l.place) & 1u;
    var lost = 0u;
    if odd != 0u {
        lost = bits[{LEADING - 1}] & 1u;
        bits = (bits >> vec4<u32>(1u)) | (vec4<u32>(0u, bits.xyz) << vec4<u32>(31u));
    }
    var q = vec2<u32>(0u);
    var rest = vec2<u32>(0u);
    // A third word of the rest, which is at most twice the root.
    var high = 0u;
    for (var i = 0u; i < {16 * LEADING}u; i++) {
        high = (high << 2u) | (rest.y >> 30u);
        rest = with_bit(with_bit(rest, bits.x >> 31u), (bits.x >> 30u) & 1u);
        bits = (bits << vec4<u32>(2u)) | (vec4<u32>(bits.yzw, 0u) >> vec4<u32>(30u));
        let next = with_bit(with_bit(q, 0u), 1u);
        let next_high = q.y >> 30u;
        let fits = high > next_high || (high == next_high && !less_two(rest, next));
        if fits {
            high -= next_high + select(0u, 1u, less_two(rest, next));
            rest = minus_two(rest, next);
        }
        q = with_bit(q, select(0u, 1u, fits));
    }
    let place = l.place + i32(odd) - {32 * (LEADING - 2)};
    return Leading(q, place / 2, l.rest || lost != 0u || (high | rest.x | rest.y) != 0u);
}
//# end
//# if FLOATS == 0

// The whole number below a root, at most the type's largest.
fn whole_of(l: Leading) -> vec2<u32> {
    let most = vec2<u32>(0xffffffffu >> {(32 - BITS) * (BITS < 32) + SIGNED * (BITS < 64)}u, {(BITS == 64) * (4294967295 >> SIGNED)}u);
    let whole = shifted_down(l.bits, u32(max(-l.place, 0)));
    return select(whole, most, l.place > 0 || less_two(most, whole));
}
//# else

// Rounded to nearest, ties to even: the bits of a magnitude, at most infinity's.
// {ZERO_PLACE}: the place of the least subnormal's bit.
fn rounded(l: Leading) -> vec2<u32> {
    let top = l.place + select(i32(firstLeadingBit(l.bits.x)), 32 + i32(firstLeadingBit(l.bits.y)), l.bits.y != 0u);
    let unit = max(top - {MANTISSA - 1}, {ZERO_PLACE});
    let down = unit - l.place;
    if down > 64 {
        return vec2<u32>(0u);
    }
    // At least one bit is dropped.
    let off = u32(down - 1);
    let shifted = shifted_down(l.bits, off);
    let half = (shifted.x & 1u) != 0u;
    let zeros = select(32u + countTrailingZeros(l.bits.y), countTrailingZeros(l.bits.x), l.bits.x != 0u);
    let rest = l.rest || zeros < off;
    var q = shifted_down(shifted, 1u);
    if half && (rest || (q.x & 1u) != 0u) {
        q.x += 1u;
        q.y += select(0u, 1u, q.x == 0u);
    }
    // The hidden bit adds one to the exponent.
    let exponent = u32(unit - {ZERO_PLACE});
//# if BITS == 64
    q.y += exponent << 20u;
    return select(q, vec2<u32>(0u, 0x7ff00000u), exponent >= 0x7ffu || q.y >= 0x7ff00000u);
//# else
    let most = {INFINITY}u << {MANTISSA - 1}u;
    let bits = q.x + (exponent << {MANTISSA - 1}u);
    return vec2<u32>(select(bits, most, exponent >= {INFINITY}u || bits >= most), 0u);
//# end
}
//# end
//# end
