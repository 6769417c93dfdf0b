// Digits: an exact sum of floats, each as float32. M is 1.5 * 2^23 units, so that the bits of x + M count x in units: that
// is a digit, rounded. What is left of x is exact, and gives the next digit by units 2^22 times smaller. {N} digits are a
// window. Of elements that are further apart, what a window does not hold is scaled up by its length, and goes through the
// same window once more. Digit i counts in 2^(22 i) of the limbs' least bit.
//
//   look_none(), look(l, v)  what tells how far apart the elements of some units are
//   acc_begin(l, count)      an empty sum of a block of so many elements, at most 256, whose window suits them
//   acc_take(acc, x, at)     and an element of a unit: floats_of(v)
//   acc_again(acc, window)   whether elements have to be taken in parts instead, by this window too: piece_of(acc, element)
//   acc_next(begun, acc, window)   the empty sum of that window; it keeps the digits of the one before
//   acc_placed(acc, ..)      a sum with all its digits, each below 2^22, the highest signed
//   acc_join(a, b)           two of a segment, in any order
//
// Digits do not hold NaN, infinities, the largest numbers, and elements that are too far apart. A sum with such elements is
// `far`: then the walk takes all elements again, by integers.
//
// What happens seldom is short, and a loop: software rasterisers run all of a text at least once, with or without need.
//
// No addition of floats takes the result of another one: between them stands an integer operation or a conversion. Else a
// compiler might find that x - ((x + M) - M) is 0.
//# if BY_VEC
alias Bits = vec4<u32>;
alias Ints = vec4<i32>;
alias Floats = vec4<f32>;
alias Unit = vec4<u32>;
alias Signs = Unit;
//# else
alias Bits = u32;
alias Ints = i32;
alias Floats = f32;
alias Signs = u32;
//# end
//# if WHOLE_UNITS
//# if HALF

fn any_of(v: vec4<u32>) -> u32 {
    return v.x | v.y | v.z | v.w;
}
//# else

fn greatest_of(v: vec4<u32>) -> u32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}

fn least_of(v: vec4<u32>) -> u32 {
    return min(min(v.x, v.y), min(v.z, v.w));
}
//# end

fn all_of(v: vec4<u32>) -> u32 {
    return v.x & v.y & v.z & v.w;
}
//# else

fn any_of(v: u32) -> u32 {
    return v;
}

fn greatest_of(v: u32) -> u32 {
    return v;
}

fn least_of(v: u32) -> u32 {
    return v;
}

fn all_of(v: u32) -> u32 {
    return v;
}
//# end

const DIGIT: u32 = 22u; // bits
const BELOW: i32 = 0x3fffff;
// The biased exponent of the unit of digit i is 22 i + UNIT; it wraps.
const UNIT: u32 = {UNIT_0}u;

struct Look {
    most: Unit,
    least: Unit, // less one, so that zeros do not count
    signs: Unit, // AND of the elements
}

fn look_none() -> Look {
    return Look(Unit(0u), Unit(0xffffffffu), Unit(0xffffffffu));
}

fn look(l: Look, v: Unit) -> Look {
//# if BITS == 32
    let size = v & Unit(0x7fffffffu);
    return Look(max(l.most, size), min(l.least, size - Unit(1u)), l.signs & v);
//# else
//# if HALF
    // Two at once: whether there is an exponent of infinities, and whether one of subnormal numbers.
    let most = (v & Unit(0x7c007c00u)) + Unit(0x04000400u);
    let size = v | Unit(0x80008000u);
    let subnormal = ~(size - Unit(0x04000400u)) & (size - Unit(0x00010001u));
    return Look(l.most | most, l.least & ~subnormal, l.signs & v);
//# else
    let high = v & Unit(0x7fff0000u);
    let low = (v << Unit(16u)) & Unit(0x7fff0000u);
    let least = min(high - Unit(1u), low - Unit(1u));
    return Look(max(l.most, max(high, low)), min(l.least, least), l.signs & v);
//# end
//# end
}

// What is left to take of a block: nothing, all elements in parts, or what the first window does not hold.
const ALL: u32 = 0u;
const UPPER: u32 = 1u;
const REST: u32 = 2u;

struct Acc {
    m: f32,
    unit: f32,
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

fn acc_begin(l: Look, count: u32) -> Acc {
    var a: Acc;
//# if HALF
    a.top = {TOP_MOST}u;
    a.far = (any_of(l.most) & 0x80008000u) != 0u;
    // Subnormal numbers, which a driver may take as 0.
    a.part = select(ALL, UPPER, (all_of(l.least) & 0x80008000u) != 0x80008000u);
//# else
    let most = greatest_of(l.most) >> 23u;
    let least = max((least_of(l.least) + 1u) >> 23u, 1u);
    let top = max((most - UNIT) / DIGIT, {TOP_LEAST}u);
    // The exponent of the least bit of an element, and those of the last digits. Without an element nothing is too low.
    let last = select(least - {MANTISSA - 1}u - UNIT, 0x7fffffffu, least_of(l.least) == 0xffffffffu);
    let one = i32(last) >= i32(DIGIT) * (i32(top) - {N - 1});
    let two = i32(last) >= i32(DIGIT) * (i32(top) - {2 * N - 1});
    a.far = top > {TOP_MOST}u || !two;
    a.top = min(top, {TOP_MOST}u);
    a.part = select(ALL, UPPER, !one);
//# end
    let exponent = DIGIT * a.top + UNIT;
    a.unit = bitcast<f32>(exponent << 23u);
    let m = ((exponent + 23u) << 23u) | 0x400000u;
    a.m = bitcast<f32>(m);
    a.less = bitcast<i32>(count * m);
//# if BY_VEC
    a.signs = l.signs;
//# else
    a.signs = all_of(l.signs);
//# end
    return a;
}

// The elements of a unit, as float32.
fn floats_of(v: Unit) -> Keys {
    let k = unit_keys(v);
    return Keys(
//# for j in 0..PLANES
        plane_floats(k.p{j}),
//# end
    );
}

fn plane_floats(k: Plane) -> Plane {
//# if HALF
    // An exponent of float16 counts from 15, one of float32 from 127.
    let bits = ((k >> vec4<u32>(3u)) & vec4<u32>(0x0fffe000u)) | (k & vec4<u32>(0x80000000u));
    return plane_signed(bitcast<vec4<u32>>(bitcast<vec4<f32>>(bits) * bitcast<f32>((127u + 112u) << 23u)));
//# else
    return plane_signed(k & vec4<u32>(KEEP));
//# end
}

fn plane_signed(x: Plane) -> Plane {
//# if MAGNITUDES
    return x & vec4<u32>(0x7fffffffu);
//# else
    return x;
//# end
}

// What a window holds of an element, which is at the top of a word.
fn piece_of(a: Acc, k: Bits) -> Bits {
//# if MAGNITUDES
    let x = k & Bits(KEEP & 0x7fffffffu);
//# else
    let x = k & Bits(KEEP);
//# end
//# if HALF
    // By integers: a driver may take subnormal numbers as 0.
    let sign = x & Bits(0x80000000u);
    let size = (x >> Bits(16u)) & Bits(0x7fffu);
    let normal = (size << Bits(13u)) + Bits(112u << 23u);
    let counted = bitcast<Bits>(Floats(size)) - Bits(24u << 23u);
    let small = select(counted, Bits(0u), size == Bits(0u));
    return sign | select(normal, small, size < Bits(0x400u));
//# else
    // What the first window holds of it, or what it does not, scaled up to its place.
    let exponent = max((x >> Bits(23u)) & Bits(0xffu), Bits(1u));
    // Bits of the element below the last digit.
    let last = DIGIT * (a.top - {N - 1}u) + UNIT + 23u;
    let below = Bits(last) - min(exponent, Bits(last));
    let none = below >= Bits(24u);
    let mask = (Bits(1u) << min(below, Bits(24u))) - Bits(1u);
    if a.part != REST {
        // An element below the last digit becomes at most half of that, which adds nothing.
        return x & ~mask;
    }
    let subnormal = (x & Bits(0x7f800000u)) == Bits(0u);
    let hidden = select(Bits(0x800000u), Bits(0u), subnormal | !none);
    let count = (x & mask & Bits(0x7fffffu)) | hidden;
    let scaled = bitcast<Bits>(Floats(count)) + ((exponent + Bits({22 * N}u) - Bits(150u)) << Bits(23u));
    return select(scaled | (x & Bits(0x80000000u)), Bits(0u), count == Bits(0u));
//# end
}

struct Digits {
//# for d in 0..N
    s{d}: Ints,
//# end
}

// The digits of x. The last one counts M as well.
fn digits_of(a: Acc, x: Bits) -> Digits {
    let m = bitcast<i32>(a.m);
    let x0 = bitcast<Floats>(x);
//# for d in 0..N - 1
    let s{d} = bitcast<Ints>(x{d} + a.m) - m;
    let x{d + 1} = bitcast<Floats>(bitcast<Bits>(x{d} - Floats(s{d}) * a.unit) + Bits(DIGIT << 23u));
//# end
    return Digits(
//# for d in 0..N - 1
        s{d},
//# end
        bitcast<Ints>(x{N - 1} + a.m),
    );
}

//# if BY_VEC
fn acc_take(own: Acc, k: Keys, at: u32) -> Acc {
    var a = own;
//# for j in 0..SUMS
    let x{j} = digits_of(own, k.p{j});
//# for d in 0..N
    a.s{j}_{d} += x{j}.s{d};
//# end
//# end
    return a;
}
//# else
fn acc_take(own: Acc, x: Key, at: u32) -> Acc {
    var a = own;
    let digits = digits_of(own, x);
//# for d in 0..N
    a.s0_{d} += digits.s{d};
//# end
    return a;
}
//# end

// Whether elements are taken in parts: by a window, and then by another for what is left.
fn acc_again(a: Acc, window: u32) -> bool {
    return a.part != ALL && window < {(W + N - 1) / N}u;
}

// The first window, or the next one.
fn acc_next(begun: Acc, own: Acc, window: u32) -> Acc {
    var a = begun;
//# if W > N
    if window == 1u {
        a.part = REST;
//# for j in 0..SUMS
//# for d in 0..N
        a.t{j}_{d} = own.s{j}_{d};
//# end
        a.t{j}_{N - 1} -= Ints(own.less);
//# end
    }
//# end
    return a;
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
    for (; p.top < top; p.top++) {
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
//# if PARTIAL_SUM

// The sum in limbs.
var<private> exact: Exact;
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
    return Total(i32(top) - {W - 1}, o, minus, Met(OTHER, count));
}

// The highest digits of a sum, from the first that is not 0 on, and the sign of what is below them.
struct Kept {
    at: i32, // the place of the first
    a: i32,
    b: i32,
    c: i32,
    d: i32,
    below: i32,
}

fn kept_with(own: Kept, digit: i32, at: i32) -> Kept {
    var k = own;
    for (; k.at < at; k.at++) {
        k.below = select(k.below, k.d, k.d != 0);
        k.d = k.c;
        k.c = k.b;
        k.b = k.a;
        k.a = 0;
    }
    k.a = digit;
    return k;
}

// What is left out becomes the lowest bit of what is kept, which lies far below the bits of a result, or of its product with
// the count.
fn total_of(k: Kept, met: Met) -> Total {
    var o: One;
    o.high = k.a;
    o.d{W - 1} = k.b;
//# if W > 2
    o.d{W - 2} = k.c;
    o.d{W - 3} = select(k.d, (k.d - i32(k.below < 0)) | 1, k.below != 0);
//# else
    let below = select(k.below, k.d, k.d != 0);
    o.d0 = select(k.c, (k.c - i32(below < 0)) | 1, below != 0);
//# end
    let minus = (met.flags & (MINUS_ZERO | OTHER)) == MINUS_ZERO;
    return Total(k.at - {W}, one_carried(o), minus, met);
}
//# end

// {W} digits of all elements, by integers; for the first of `lanes` invocations.
var<private> met: Met;

fn digits_again(lid: u32, lane: u32, lanes: u32, e: Elements, window: u32) -> One {
    var o = One();
    met = Met();
    for (var i = lane; i < e.count; i += lanes) {
        let r = raw(e.first + i * e.stride);
        let flag = flag_of(r);
        met.flags |= flag;
        met.count += select(0u, 1u, flag != 0u);
        let n = number_of(r);
        let up = i32(n.place) - i32({22 * W}u * window);
//# for d in 0..W
        o.d{d} += digit_at(n.x0, up - {22 * d});
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

//# if PARTIAL_SUM
// Makes a sum to limbs; if it is far, from all elements again.
fn to_limbs(lid: u32, lane: u32, lanes: u32, far: bool, top: u32, own: One, minus: bool, e: Elements) {
    exact = exact_none();
//# else
// A sum that is far, from all elements again.
fn far_of(lid: u32, lane: u32, lanes: u32, e: Elements) -> Total {
    var kept = Kept();
    let far = true;
//# end
    // Digits are as near to 0 as can be: of a negative sum, those above the highest one are 0 as well.
    var carry = 0;
//# if PARTIAL_SUM
    var at = select(i32(top) - {W - 1}, 0, far);
    var o = own;
//# else
    var at = 0;
    var o: One;
//# end
    let windows = select(1u, {WINDOWS}u, far);
    for (var window = 0u; window <= windows; window++) {
        if far && window < windows {
            o = digits_again(lid, lane, lanes, e, window);
        }
        if window == windows {
            o = One();
        }
        for (var d = 0; d < {W}; d++) {
            let x = o.d0 + carry;
            carry = (x + 0x200000) >> 22u;
            let digit = x - (carry << 22u);
            if digit != 0 {
//# if PARTIAL_SUM
                add_piece(digit, u32(22 * at));
//# else
                kept = kept_with(kept, digit, at);
//# end
            }
            at++;
//# for d in 0..W - 1
            o.d{d} = o.d{d + 1};
//# end
        }
        carry += o.high;
    }
//# if PARTIAL_SUM
    if !far {
        met = Met(select(OTHER, MINUS_ZERO, minus && end_limb == 0u), e.count);
    }
//# if COUNTS
    limbs[{LIMBS}] += i32(met.count & 0xffffffu);
    limbs[{LIMBS + 1}] += i32(met.count >> 24u);
//# end
    exact.flags = met.flags;
}
//# else
    return total_of(kept, met);
}
//# end

// The digit of x that begins `-up` bits above its lowest bit.
fn digit_at(x: i32, up: i32) -> i32 {
    let size = (u32(abs(x)) << u32(clamp(up, 0, 22))) >> u32(clamp(-up, 0, 24));
    let digit = i32(size) & BELOW;
    return select(digit, -digit, x < 0);
}

//# if PARTIAL_SUM == 0

// A result, at the top of a word.
fn result_of(t: Total) -> Raw {
    let nan = element_of(float_bits({NAN_BITS}u));
    let infinities = t.met.flags & (PLUS_INFINITY | MINUS_INFINITY);
    let infinity = signed_bits(float_bits({INFINITY}u << {TOP_FRACTION}u), infinities == MINUS_INFINITY);
    let number = select(finite_of(t), element_of(infinity), infinities != 0u);
    var none = (t.met.flags & NAN) != 0u || infinities == (PLUS_INFINITY | MINUS_INFINITY);
//# if MEAN
    none = none || t.met.count == 0u;
//# end
    return select(number, nan, none);
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
    var place = i32(DIGIT) * (t.lowest + {W - 3});
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
        return 0u;
//# else
        return select(0u, 0x80000000u, t.minus);
//# end
    }
    let a = u32(o.d{W - 1});
    let b = u32(o.d{W - 2});
    var c = 0u;
    var below = 0;
//# if W > 2
    c = u32(o.d{W - 3});
//# for d in 0..W - 3
    below |= o.d{d};
//# end
//# end
    // 96 bits, and the first 64 from the highest one on. A dispatch takes at most 2^30 elements: the highest digit has 30 bits.
    let w0 = c | (b << 22u);
    let w1 = (b >> 10u) | (a << 12u);
    let w2 = (a >> 20u) | (u32(o.high) << 2u);
    let up = countLeadingZeros(w2);
    let y1 = (w2 << up) | ((w1 >> 1u) >> (31u - up));
    let y0 = (w1 << up) | ((w0 >> 1u) >> (31u - up));
    var l = Leading(vec2<u32>(y0, y1), place + 32 - i32(up), (w0 << up) != 0u || below != 0);
//# if MEAN
    l = divided(l, max(t.met.count, 1u));
//# end
    return element_of(signed_bits(rounded(l), negative));
}
//# if MEAN

// Divided by a count below 2^31: 33 bits of the quotient are left at least.
fn divided(l: Leading, count: u32) -> Leading {
    let high = l.bits.y / count;
    var rest = l.bits.y % count;
    var low = 0u;
    var done = 0u;
    while done < 32u {
        // As many bits as the rest leaves room for.
        let bits = min(countLeadingZeros(count), 32u - done);
        let x = (rest << bits) | ((l.bits.x << done) >> (32u - bits));
        low = (low << bits) | (x / count);
        rest = x % count;
        done += bits;
    }
    return Leading(vec2<u32>(low, high), l.place, l.rest || rest != 0u);
}
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

//# if PARTIAL_SUM
alias Settled = Placed;
//# else
alias Settled = Total;
//# end

// The sum of `count` elements that begin with `first`.
fn settled(lid: u32, own: Placed, first: u32, count: u32) -> Settled {
    let e = Elements(first, 1u, count);
//# if LANES > 1
    let lane = lid % {LANES}u;
    let far = any_far(lid, lane == 0u && own.far);
//# else
    let lane = 0u;
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
//# if LANES > 1

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
