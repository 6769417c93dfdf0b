// Digits: an exact sum. Digit i counts in 2^(22 i) of the least bit that an element, or its square, can have. {N} digits are a
// window, which elements that are not too far apart share; accumulate/float_digits and accumulate/integer_digits take them.
//
//   look_none(), look(l, v)  what tells how far apart the elements of some units are
//   acc_begin(l, count)      an empty sum of a block of so many elements, at most 256, whose window suits them
//   acc_take(acc, x, at)     and an element of a unit: elements_of(v)
//   acc_again(acc, window)   of floats: whether elements have to be taken in parts instead, by this window too:
//                            piece_of(acc, element)
//   acc_next(begun, acc, window)   the empty sum of that window; it keeps the digits of the one before
//   acc_placed(acc, ..)      a sum with all its digits, each below 2^22, the highest signed
//   acc_join(a, b)           two of a segment, in any order
//
// Digits do not hold NaN, infinities, the largest numbers, and elements that are too far apart. A sum with such elements is
// `far`: then the walk takes all elements again, one by one.
//
// What happens seldom is short, and a loop: software rasterisers run all of a text at least once, with or without need.
//# if BY_VEC
alias Unit = vec4<u32>;
//# if BITS == 64
alias Bits = vec2<u32>;
alias Ints = vec2<i32>;
//# else
alias Bits = vec4<u32>;
alias Ints = vec4<i32>;
//# end
//# else
alias Bits = u32;
alias Ints = i32;
//# end
alias Signs = Bits;

const DIGIT: u32 = 22u; // bits
const BELOW: i32 = 0x3fffff;
//# if FLOATS
//# if BITS == 64
alias Sizes = vec2<u32>; // of a unit: the upper words
//# else
alias Sizes = Unit;
//# end
//# if BITS == 64

fn any_of(v: Sizes) -> u32 {
    return v.x | v.y;
}

fn all_of(v: Sizes) -> u32 {
    return v.x & v.y;
}

fn greatest_of(v: Sizes) -> u32 {
    return max(v.x, v.y);
}

fn least_of(v: Sizes) -> u32 {
    return min(v.x, v.y);
}
//# else
//# if WHOLE_UNITS

fn any_of(v: Sizes) -> u32 {
    return v.x | v.y | v.z | v.w;
}

fn all_of(v: Sizes) -> u32 {
    return v.x & v.y & v.z & v.w;
}

fn greatest_of(v: Sizes) -> u32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}

fn least_of(v: Sizes) -> u32 {
    return min(min(v.x, v.y), min(v.z, v.w));
}
//# else

fn any_of(v: Sizes) -> u32 {
    return v;
}

fn all_of(v: Sizes) -> u32 {
    return v;
}

fn greatest_of(v: Sizes) -> u32 {
    return v;
}

fn least_of(v: Sizes) -> u32 {
    return v;
}
//# end
//# end

struct Look {
    most: Sizes,
    least: Sizes, // less one, so that zeros do not count
    signs: Sizes, // AND of the elements
}

fn look_none() -> Look {
    return Look(Sizes(0u), Sizes(0xffffffffu), Sizes(0xffffffffu));
}

fn look(l: Look, v: Unit) -> Look {
//# if BITS == 64
    let size = v.yw & Sizes(0x7fffffffu);
    let least = (size | min(v.xz, Sizes(1u))) - Sizes(1u);
    return Look(max(l.most, size), min(l.least, least), l.signs & v.yw);
//# end
//# if BITS == 32
    let size = v & Unit(0x7fffffffu);
    return Look(max(l.most, size), min(l.least, size - Unit(1u)), l.signs & v);
//# end
//# if HALF
    // Two at once: whether there is an exponent of infinities, and whether one of subnormal numbers.
    let most = (v & Unit(0x7c007c00u)) + Unit(0x04000400u);
    let size = v | Unit(0x80008000u);
    let subnormal = ~(size - Unit(0x04000400u)) & (size - Unit(0x00010001u));
    return Look(l.most | most, l.least & ~subnormal, l.signs & v);
//# end
//# if (BITS == 16) & (HALF == 0)
    let high = v & Unit(0x7fff0000u);
    let low = (v << Unit(16u)) & Unit(0x7fff0000u);
    let least = min(high - Unit(1u), low - Unit(1u));
    return Look(max(l.most, max(high, low)), min(l.least, least), l.signs & v);
//# end
}

fn signs_of(l: Look) -> Signs {
//# if BY_VEC
    return l.signs;
//# else
    return all_of(l.signs);
//# end
}
//# else

struct Look {
    near: u32, // all elements are
}

fn look_none() -> Look {
    return Look();
}

fn look(l: Look, v: Unit) -> Look {
    return l;
}
//# end

// What is left to take of a block: nothing, all elements in parts, or what the first window does not hold.
const ALL: u32 = 0u;
const UPPER: u32 = 1u;
const REST: u32 = 2u;

struct Acc {
//# if BY_FLOATS
    m: f32,
    unit: f32,
//# end
    top: u32, // the first digit of the first window
    part: u32,
    far: bool,
    signs: Signs,
    less: i32, // what is counted too much in the last digit
//# for j in 0..SUMS
//# for d in 0..N
    s{j}_{d}: Ints,
    t{j}_{d}: Ints, // those of the first window, in the second
//# end
//# end
}

// A sum, or one for each column. Its digits are 0 to {W - 1}, from `top` down.
struct Placed {
    top: u32,
    far: bool,
//# if BY_VEC
    blocks: u32, // since digits were carried
//# else
    count: u32, // of elements that were taken again
//# end
    signs: Signs,
//# for j in 0..SUMS
    high{j}: Ints,
//# for d in 0..W
    d{j}_{d}: Ints,
//# end
//# end
}

// The digits of a block, not carried.
fn placed_of(a: Acc) -> Placed {
    var p: Placed;
    p.top = a.top;
    p.far = a.far;
    p.signs = a.signs;
//# for j in 0..SUMS
//# if W == N
//# for d in 0..N
    p.d{j}_{N - 1 - d} = a.s{j}_{d};
//# end
    p.d{j}_0 -= Ints(a.less);
//# else
    if a.part == REST {
//# for d in 0..N
        p.d{j}_{W - 1 - d} = a.t{j}_{d};
        p.d{j}_{N - 1 - d} = a.s{j}_{d};
//# end
        p.d{j}_0 -= Ints(a.less);
    } else {
//# for d in 0..N
        p.d{j}_{W - 1 - d} = a.s{j}_{d};
//# end
        p.d{j}_{N} -= Ints(a.less);
    }
//# end
//# end
    return p;
}

fn carried(own: Placed) -> Placed {
    var p = own;
//# for j in 0..SUMS
//# for d in 0..W - 1
    p.d{j}_{d + 1} += p.d{j}_{d} >> DIGIT_SHIFT;
    p.d{j}_{d} &= Ints(BELOW);
//# end
    p.high{j} += p.d{j}_{W - 1} >> DIGIT_SHIFT;
    p.d{j}_{W - 1} &= Ints(BELOW);
//# end
    return p;
}
const DIGIT_SHIFT: Bits = Bits(DIGIT);

// The same with higher digits, if what is below them is 0.
fn raised(own: Placed, top: u32) -> Placed {
    var p = own;
    // After so many nothing is left of it.
    for (var n = min(top - p.top, {W + 2}u); n > 0u; n--) {
        var lost = Ints(0);
//# for j in 0..SUMS
        lost |= p.d{j}_0;
//# for d in 0..W - 1
        p.d{j}_{d} = p.d{j}_{d + 1};
//# end
        p.d{j}_{W - 1} = p.high{j} & Ints(BELOW);
        p.high{j} >>= DIGIT_SHIFT;
//# end
//# if BY_VEC
        p.far = p.far || any(lost != Ints(0));
//# else
        p.far = p.far || lost != 0;
//# end
    }
    p.top = top;
    return p;
}

fn plus(x: Placed, y: Placed) -> Placed {
    var p = x;
    p.far = x.far || y.far;
    p.signs &= y.signs;
//# if BY_VEC == 0
    p.count += y.count;
//# end
//# for j in 0..SUMS
    p.high{j} += y.high{j};
//# for d in 0..W
    p.d{j}_{d} += y.d{j}_{d};
//# end
//# end
    return p;
}

// Digits of both must be carried.
fn acc_join(x: Placed, y: Placed) -> Placed {
    let top = max(x.top, y.top);
    return carried(plus(raised(x, top), raised(y, top)));
}

// One sum: to limbs, or rounded.
struct One {
    high: i32,
//# for d in 0..W
    d{d}: i32,
//# end
}

fn one_carried(own: One) -> One {
    var o = own;
//# for d in 0..W - 1
    o.d{d + 1} += o.d{d} >> 22u;
    o.d{d} &= BELOW;
//# end
    o.high += o.d{W - 1} >> 22u;
    o.d{W - 1} &= BELOW;
    return o;
}

// Where elements are that are taken again: the first, from each to the next, and how many.
struct Elements {
    first: u32,
    stride: u32,
    count: u32,
}

// Of elements that were taken again: what was met, and how many count.
struct Met {
    flags: u32,
    count: u32,
}
//# if FLOATS

// {W} digits of all elements; for the first of `lanes` invocations.
var<private> met: Met;

fn digits_again(lid: u32, lane: u32, lanes: u32, e: Elements, window: u32) -> One {
    var o = One();
    met = Met();
    for (var i = lane; i < e.count; i += lanes) {
        let r = raw(e.first + i * e.stride);
        let flag = flag_of(r);
        met.flags |= flag;
        met.count += select(0u, 1u, flag != 0u);
        let n = magnitude_of(select(r, Raw(0u), size_of(r) >= INFINITE));
        let below = i32({22 * W}u * window) - i32(n.place);
//# for d in 0..W
        o.d{d} += digit_at(n, below + {22 * d});
//# end
        if i / lanes % 128u == 127u {
            o = one_carried(o);
        }
    }
    o = one_carried(o);
//# if BY_VEC == 0
//# if LANES > 1
    // The flags as signs.
    workgroupBarrier();
    let p = acc_across(lid, placed_from(o, ~met.flags, met.count));
    met = Met(~p.signs, p.count);
    o = one_of(p);
//# end
//# end
    return o;
}
//# end
//# if PARTIAL_SUM + FLOATS > 0

// Hands on every digit of a sum that is not 0, the lowest first; if it is far, of all elements again.
fn keep_digits(lid: u32, lane: u32, lanes: u32, far: bool, top: u32, own: One, e: Elements) {
    // Digits are as near to 0 as can be: of a negative sum, those above the highest one are 0 as well.
    var carry = 0;
    var at = select(i32(top) - {W - 1}, 0, far);
    var o = own;
    let windows = select(1u, {WINDOWS}u, far);
    for (var window = 0u; window <= windows; window++) {
//# if FLOATS
        if far && window < windows {
            o = digits_again(lid, lane, lanes, e, window);
        }
//# end
        if window == windows {
            o = One();
        }
        for (var d = 0; d < {W}; d++) {
            let x = o.d0 + carry;
            carry = (x + 0x200000) >> 22u;
            let digit = x - (carry << 22u);
            if digit != 0 {
                keep(digit, at);
            }
            at++;
//# for d in 0..W - 1
            o.d{d} = o.d{d + 1};
//# end
        }
        carry += o.high;
    }
}
//# end
//# if PARTIAL_SUM

// The sum in limbs.
var<private> exact: Exact;

fn keep(digit: i32, at: i32) {
    add_piece(digit, u32(22 * at));
}

// Makes a sum to limbs.
fn to_limbs(lid: u32, lane: u32, lanes: u32, far: bool, top: u32, own: One, minus: bool, e: Elements) {
    exact = exact_none();
    keep_digits(lid, lane, lanes, far, top, own, e);
//# if FLOATS
    if !far {
        met = Met(select(OTHER, MINUS_ZERO, minus && end_limb == 0u), e.count);
    }
    exact.flags = met.flags;
//# end
//# if COUNTS
    limbs[{LIMBS}] += i32(met.count & 0xffffffu);
    limbs[{LIMBS + 1}] += i32(met.count >> 24u);
//# end
}
//# else

// A sum that is to be rounded.
struct Total {
    lowest: i32, // the place of digit 0, in digits
    one: One,
    minus: bool, // -0, if it is 0
    met: Met,
}

// A sum that is not far.
fn near_of(top: u32, o: One, minus: bool, count: u32) -> Total {
    return Total(i32(top) - {W - 1}, o, minus, Met(0u, count));
}
//# if FLOATS

// The highest digits of a sum, from the first that is not 0 on, and the sign of what is below them.
struct Kept {
    at: i32, // the place of the first
//# for d in 0..KEPT
    d{d}: i32,
//# end
    below: i32,
}

var<private> kept: Kept;

fn keep(digit: i32, at: i32) {
    var k = kept;
    for (var n = min(at - k.at, {KEPT}); n > 0; n--) {
        k.below = select(k.below, k.d{KEPT - 1}, k.d{KEPT - 1} != 0);
//# for d in 1..KEPT
        k.d{KEPT - d} = k.d{KEPT - d - 1};
//# end
        k.d0 = 0;
    }
    k.at = at;
    k.d0 = digit;
    kept = k;
}

// A sum that is far, from all elements again. What is left out becomes the lowest bit of what is kept, which lies far below
// the bits of a result, or of its product with the count.
fn far_of(lid: u32, lane: u32, lanes: u32, e: Elements) -> Total {
    kept = Kept();
    keep_digits(lid, lane, lanes, true, 0u, One(), e);
    let k = kept;
    var o: One;
    o.high = k.d0;
//# for d in 1..KEPT - 1
    o.d{W - d} = k.d{d};
//# end
    o.d{W - KEPT + 1} = select(k.d{KEPT - 1}, (k.d{KEPT - 1} - i32(k.below < 0)) | 1, k.below != 0);
    let minus = (met.flags & (MINUS_ZERO | OTHER)) == MINUS_ZERO;
    return Total(k.at - {W}, one_carried(o), minus, met);
}
//# else

// No sum is far.
fn far_of(lid: u32, lane: u32, lanes: u32, e: Elements) -> Total {
    return Total();
}
//# end

// A result, at the top of a word.
fn result_of(t: Total) -> Raw {
    let number = finite_of(t);
//# if FLOATS
    let nan = element_of(float_bits({NAN_BITS}u));
    let infinities = t.met.flags & (PLUS_INFINITY | MINUS_INFINITY);
    let infinity = signed_bits(float_bits({INFINITY}u << {TOP_FRACTION}u), infinities == MINUS_INFINITY);
    var none = (t.met.flags & NAN) != 0u || infinities == (PLUS_INFINITY | MINUS_INFINITY);
//# if MEAN
    none = none || t.met.count == 0u;
//# end
    return select(select(number, element_of(infinity), infinities != 0u), nan, none);
//# else
    return number;
//# end
}

fn finite_of(t: Total) -> Raw {
    var o = t.one;
    let negative = o.high < 0;
    if negative {
        o.high = -o.high;
//# for d in 0..W
        o.d{d} = -o.d{d};
//# end
        o = one_carried(o);
    }
    // Until the highest digit is not 0.
    var place = i32(DIGIT) * (t.lowest + {W});
    for (var i = 0u; i < {W}u && o.high == 0; i++) {
        o.high = o.d{W - 1};
//# for d in 1..W
        o.d{W - d} = o.d{W - 1 - d};
//# end
        o.d0 = 0;
        place -= 22;
    }
    if o.high == 0 {
//# if MAGNITUDES
        return Raw(0u);
//# else
        return element_of(signed_bits(vec2<u32>(0u), t.minus));
//# end
    }
    // The digits below it in words, and whether anything is left. A dispatch takes at most 2^30 elements: the highest digit has
    // 30 bits.
//# for j in 0..LEADING
    let w{j} =
//# for d in 0..W
//# if (22 * d < 32 * j + 32) & (22 * d + 22 > 32 * j)
//# if 32 * j + 10 >= 22 * d
        (u32(o.d{W - 1 - d}) << {32 * j + 10 - 22 * d}u) |
//# else
        (u32(o.d{W - 1 - d}) >> {22 * d - 32 * j - 10}u) |
//# end
//# end
//# end
        0u;
//# end
    let below =
//# for d in 0..W
//# if 22 * d + 22 > 32 * LEADING
//# if 22 * d < 32 * LEADING
        (o.d{W - 1 - d} & {4194303 >> (32 * LEADING - 22 * d)}) |
//# else
        o.d{W - 1 - d} |
//# end
//# end
//# end
        0;
    // From the highest bit on.
    let up = countLeadingZeros(u32(o.high));
    let y0 = (u32(o.high) << up) | ((w0 >> 1u) >> (31u - up));
//# for j in 1..LEADING
    let y{j} = (w{j - 1} << up) | ((w{j} >> 1u) >> (31u - up));
//# end
    let rest = (w{LEADING - 1} << up) != 0u || below != 0;
    var l = Leading(vec2<u32>(y1, y0), place - 32 - i32(up), rest);
//# if LEADING == 4
    let low = vec2<u32>(y3, y2);
//# else
    let low = vec2<u32>(0u);
//# end
//# if MEAN
    l = divided(l, low, max(t.met.count, 1u));
//# end
//# if ROOT
    l = root_of(l, low);
//# if FLOATS == 0
    return element_of(whole_of(l));
//# end
//# end
//# if FLOATS
    return element_of(signed_bits(rounded(l), negative));
//# end
}
//# if MEAN

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
fn divided(l: Leading, low: vec2<u32>, count: u32) -> Leading {
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
//# if FLOATS == 0

// The whole number below a root, at most the type's largest.
fn whole_of(l: Leading) -> vec2<u32> {
    let most = vec2<u32>(0xffffffffu >> {(32 - BITS) * (BITS < 32) + SIGNED * (BITS < 64)}u, {(BITS == 64) * (4294967295 >> SIGNED)}u);
    let whole = shifted_down(l.bits, u32(max(-l.place, 0)));
    return select(whole, most, l.place > 0 || less_two(most, whole));
}
//# end
//# end
//# end
//# if BY_VEC == 0

// A block of a row.
fn acc_placed(a: Acc, frame: Frame) -> Placed {
    return carried(placed_of(a));
}

fn one_of(p: Placed) -> One {
    return One(
        p.high0,
//# for d in 0..W
        p.d0_{d},
//# end
    );
}

// Whether all elements are negative, or -0.
fn is_minus(p: Placed) -> bool {
//# if BITS == 16
    return (p.signs & (p.signs << 16u) & 0x80000000u) != 0u;
//# else
    return (p.signs & 0x80000000u) != 0u;
//# end
}

// What an element adds to `signs`.
fn sign_of(k: Key) -> Signs {
//# if BITS == 64
    return k.y;
//# else
    return k | ~KEEP;
//# end
}

//# if PARTIAL_SUM
alias Settled = Placed;
//# else
alias Settled = Total;
//# end

// The sum of `count` elements that begin with `first`.
fn settled(lid: u32, own: Placed, first: u32, count: u32) -> Settled {
    let e = Elements(first, 1u, count);
    let lane = lid % {LANES}u;
//# if (LANES > 1) & FLOATS
    let far = any_far(lid, lane == 0u && own.far);
//# else
    let far = own.far;
//# end
//# if PARTIAL_SUM
    to_limbs(lid, lane, {LANES}u, far, own.top, one_of(own), is_minus(own), e);
    return own;
//# else
    if far {
        return far_of(lid, lane, {LANES}u, e);
    }
    return near_of(own.top, one_of(own), is_minus(own), count);
//# end
}
//# if (LANES > 1) & FLOATS

var<workgroup> wg_met: atomic<u32>;
var<workgroup> wg_far: u32;

// Whether any invocation of the workgroup has met something, told to all.
fn any_far(lid: u32, far: bool) -> bool {
    if far {
        atomicOr(&wg_met, 1u);
    }
    workgroupBarrier();
    if lid == 0u {
        wg_far = atomicLoad(&wg_met);
    }
    return workgroupUniformLoad(&wg_far) != 0u;
}

fn placed_from(o: One, signs: u32, count: u32) -> Placed {
    var p: Placed;
    p.count = count;
    p.signs = signs;
    p.high0 = o.high;
//# for d in 0..W
    p.d0_{d} = o.d{d};
//# end
    return p;
}
//# end
//# if PARTIAL_SUM

fn acc_emit(slot: u32, p: Settled) {
    exact_write(P.dst_delta + slot, exact);
}
//# else

struct Best {
    key: Raw,
}

fn acc_best(t: Settled) -> Best {
    return Best(result_of(t));
}
//# if SUBWORDS + (ROWS > 0) == 0

fn acc_emit(slot: u32, t: Settled) {
    write_bits(slot, pack(result_of(t)));
}
//# end
//# end
//# end
