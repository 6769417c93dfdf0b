// Digits: an exact sum. Place i counts in 2^(22 i) of the least bit that an element, or its square, can have. {N} digits are a
// window, which elements that are not too far apart share; accumulate/float_digits and accumulate/integer_digits take them. A
// window may begin between two places: then its digits have {G}, else as many as they are. It keeps {S} sums: of its digits, or of
// products of pieces of 11 bits, which lie 11 bits apart and become digits with the window (`placed_of`).
//
//   look(l, v)               what tells how far apart the elements of some units are; look_none() is that of none
//   sum_for(acc, l, count, ended) a sum whose window holds a block: it begins one only where the last does not
//   acc_take(window, x, at)  and an element of a unit: elements_of(v, false)
//   acc_take_more(window, x) the same `again`: what the window does not hold of an element; of float16 instead of acc_take
//   sum_placed(acc)          all digits at their places, carried
//   acc_join(a, b)           two sums of a segment, in any order, carried: each digit below 2^22, the highest signed
//
// Digits do not hold NaN, infinities, the largest numbers, and elements that are too far apart. A sum with such elements is
// `far`: then the walk takes all elements again, one by one.
//
// What happens seldom is short, and a loop: software rasterisers run all of a text at least once, with or without need.
//# if BY_VEC
alias Unit = vec4<u32>;
alias Taken = Keys; // the elements of a unit
//# else
alias Taken = Key; // an element
//# end
// {COLUMNS} columns are added side by side.
//# if COLUMNS == 1
alias Bits = u32;
alias Ints = i32;
alias Floats = f32;
//# else
alias Bits = vec{COLUMNS}<u32>;
alias Ints = vec{COLUMNS}<i32>;
alias Floats = vec{COLUMNS}<f32>;
//# end

// Sizes of elements; of 64 bits, of the upper words. Two elements of 16 bits stay where they are in their word.
//# if BITS == 16
alias Sizes = vec2<u32>;
//# else
alias Sizes = u32;
//# end

// What tells how far apart elements are.
struct Look {
//# if SIZES
    most: Sizes,
    least: Sizes, // one less than the least size, wrapping: zeros do not count
//# end
//# if BY_VEC
    plus: vec4<u32>, // signs that any element lacks
//# else
    plus: u32, // signs that any element lacks
//# end
}

fn look_none() -> Look {
    var l: Look;
//# if SIZES
    l.least = Sizes(0xffffffffu);
//# end
    return l;
}

fn look(own: Look, v: Unit) -> Look {
    var l = own;
//# if BITS == 64
    let w = v.ywyw;
//# else
    let w = vec4<u32>(v);
//# end
//# if BY_VEC
    l.plus |= ~w;
//# else
//# for c in 0..LOOKED * FLOATS
    l.plus |= ~w[{c}];
//# end
//# end
//# for c in 0..LOOKED * SIZES
//# if BITS == 16
    let size{c} = vec2<u32>(w[{c}]) & vec2<u32>(0x7fffu, 0x7fff0000u);
//# else
    let size{c} = w[{c}] & 0x7fffffffu;
//# end
//# if BITS == 64
    // A size whose upper word is 0 may still be one.
    let counts{c} = size{c} | min(v[{2 * c}], 1u);
//# else
    let counts{c} = size{c};
//# end
    l.most = max(l.most, size{c});
    l.least = min(l.least, counts{c} - Sizes(1u));
//# end
    return l;
}

//# if SIZES
fn most_of_look(l: Look) -> u32 {
//# if BITS == 16
    return max(l.most.x << 16u, l.most.y);
//# else
    return l.most;
//# end
}

fn least_of_look(l: Look) -> u32 {
//# if BITS == 16
    return min((l.least.x << 16u) | 0xffffu, l.least.y);
//# else
    return l.least;
//# end
}
//# end

// Digits of a window. A second one may lie below it, for what the first does not hold.
struct Window {
//# if BY_FLOATS
    m: f32,
    unit: f32,
    again: bool, // the window does not hold all bits of the elements; of float16: some may be subnormal numbers
//# else
    lowest: i32, // the place of the window's lowest bit, as `Magnitude` counts it
//# end
//# if SIZES
    holds_most: u32, // the sizes that it holds, as Look tells them
    holds_least: u32,
//# end
//# if UNPACKS
    seen: Bits, // the bits of x + M that any element x has
//# end
    top: u32, // the place of the highest bits
    far: bool,
    count: u32, // of elements
//# for w in 0..1 + WIDE
//# for j in 0..SUMS
//# for d in 0..S
    s{w}_{j}_{d}: Ints,
//# end
//# end
//# end
//# if G > N
    up: u32, // bits from a place up to a digit above it
//# end
}

// Whether elements go through the window: of float16 not where some may be subnormal numbers.
fn takes(a: Window) -> bool {
//# if HALF
    return !a.again;
//# else
    return true;
//# end
}

// Elements that the sums of a window have room for.
const ROOM: u32 = {ROOM}u;

// A window that holds at least the greatest elements of a block.
fn acc_begin(l: Look) -> Window {
    var a: Window;
//# if SIZES
    let most = most_of_look(l) >> {31 - EXPONENT}u;
    let least = least_of_look(l);
//# end
//# if G == N
    let cap = {EXPONENT_MOST}u;
    let unit = {22 * (W - 1)};
    a.top = {W - 1}u;
    // Numbers below are subnormal.
    let first = 1u;
//# else
    // Elements that come later may be somewhat greater.
    let cap = min(most + {MARGIN}u, {EXPONENT_MOST}u);
    // Which bits the first unit and the last one are. Bit 0 is the least one of exponent 1.
    let unit = max({PLACES} * (i32(cap) - 1) + {MAGNITUDE} - 22, {UNIT_LEAST});
    let last = max(unit - {22 * (N - 1)}, 0);
    let first = u32(last + {PLACES - 1}) / {PLACES}u + u32(last > 0);
//# if WIDE
    // What is left of an element must be no subnormal number: BIT_0, which wraps, is the exponent of bit 0.
    a.far = {PLACES} * (i32(max(least >> {31 - EXPONENT}u, 1u)) - 1) < max(unit - {22 * (2 * N - 1)}, {4294967297 - BIT_0});
//# end
    a.top = u32(unit) / DIGIT + 1u;
    a.up = u32(unit) % DIGIT;
//# end
//# if SIZES
    a.far = a.far || most > {EXPONENT_MOST}u;
    a.holds_most = (cap << {31 - EXPONENT}u) | {2147483647 >> EXPONENT}u;
    a.holds_least = max(first << {31 - EXPONENT}u, 1u) - 1u;
//# if BY_FLOATS
    a.again = least < a.holds_least;
//# else
    a.far = a.far || least < a.holds_least;
//# end
//# end
//# if BY_FLOATS
    let exponent = u32(unit) + {BIT_0}u;
    a.unit = bitcast<f32>(exponent << 23u);
    a.m = bitcast<f32>(((exponent + 23u) << 23u) | 0x400000u);
//# else
    a.lowest = (unit - {22 * (N - 1)}) / {PLACES};
//# end
//# if UNPACKS
    // A subnormal number that the data make shows how the driver takes them.
    let asked = (vec4<u32>(l.plus).x & 0x1ffu) | 1u;
    let digits = digits_of(a, Bits(plane_added(Plane(floats_of(asked).x)).x));
    let told = bitcast<Bits>(digits.s{N - 1}) - Bits(bitcast<u32>(a.m));
    a.again = any(told != Bits(select(asked, asked * asked, {SQUARES} == 1)));
//# end
    return a;
}

// A sum, or one for each column. Its digits are 0 to {W - 1}, from `top` down; `top` is 0 before there are any.
struct Placed {
    top: u32,
    far: bool,
//# for c in 0..COUNTS * TEAMS
    count{c}: u32, // of elements that were taken again
//# end
    signs: Bits, // that any element lacks
//# for j in 0..SUMS
//# for d in 0..W + 1
    d{j}_{d}: Ints,
//# end
//# end
}

// The digits of a window, not carried.
fn placed_of(a: Window) -> Placed {
    var p: Placed;
    p.top = a.top;
    p.far = a.far;
//# if BY_FLOATS
    // The last digits count M as well.
    let less0 = bitcast<i32>(a.count * bitcast<u32>(a.m));
//# else
    let less0 = 0;
//# end
//# if WIDE
    let less1 = select(0, less0, a.again);
//# end
//# if UNPACKS
    // Of NaN and infinities these have the highest exponent.
    let special = (a.seen & Bits(0x7f800000u)) == Bits(0x7f800000u);
    p.far = p.far || any(special);
//# end
//# for w in 0..1 + WIDE
//# for j in 0..SUMS
//# for d in 0..N
//# if S == N
    let s{w}_{j}_{d} = a.s{w}_{j}_{d} - Ints(less{w} * {d == N - 1});
//# else
    let s0_{j}_{d} = a.s0_{j}_{2 * d}
//# if d > 0
        + ((a.s0_{j}_{2 * d - 1} & Ints(0x7ff)) << Bits(11u))
//# end
//# if d < N - 1
        + (a.s0_{j}_{2 * d + 1} >> Bits(11u))
//# end
        ;
//# end
//# if G == N
    p.d{j}_{W - 1 - d} = s{w}_{j}_{d};
//# else
    // Its highest bits go to the place above.
    p.d{j}_{W - 1 - d - w * N} += s{w}_{j}_{d} >> Bits(DIGIT - a.up);
    p.d{j}_{W - 2 - d - w * N} += (s{w}_{j}_{d} << Bits(a.up)) & Ints(BELOW);
//# end
//# end
//# end
//# end
    return p;
}

fn carried(own: Placed) -> Placed {
    var p = own;
//# for j in 0..SUMS
//# for d in 0..W
    p.d{j}_{d + 1} += p.d{j}_{d} >> Bits(DIGIT);
    p.d{j}_{d} &= Ints(BELOW);
//# end
//# end
    return p;
}

// The same with higher digits, if what is below them is 0.
fn raised(own: Placed, top: u32) -> Placed {
    var p = own;
    // After so many nothing is left of it. The places of float16 and of integers are always the same.
    let most = min(top - p.top, {(W + 2) * FLOATS * (HALF == 0)}u);
    for (var n = select(most, 0u, p.top == 0u); n > 0u; n--) {
        var lost = Ints(0);
//# for j in 0..SUMS
        lost |= p.d{j}_0;
//# for d in 0..W - 1
        p.d{j}_{d} = p.d{j}_{d + 1};
//# end
        p.d{j}_{W - 1} = p.d{j}_{W} & Ints(BELOW);
        p.d{j}_{W} >>= Bits(DIGIT);
//# end
        p.far = p.far || any(lost != Ints(0));
    }
    p.top = top;
    return p;
}

// Digits of both together stay below 2^31, and become carried. One that is not carried may make a sum far without need.
fn acc_join(x: Placed, y: Placed) -> Placed {
//# if COLUMNS == 1
    var p = x;
    var q = y;
    if p.top > q.top {
        p = y;
        q = x;
    }
    p = raised(p, q.top);
//# else
    // Of several columns that would take more registers.
    let top = max(x.top, y.top);
    var p = raised(x, top);
    let q = raised(y, top);
//# end
    p.far = p.far || q.far;
    p.signs |= q.signs;
//# for c in 0..COUNTS * TEAMS
    p.count{c} += q.count{c};
//# end
//# for j in 0..SUMS
//# for d in 0..W + 1
    p.d{j}_{d} += q.d{j}_{d};
//# end
//# end
    return carried(p);
}

// A sum while its elements come.
struct Acc {
    window: Window, // of the last ones
    placed: Placed, // of those before them
    look: Look,
}

fn acc_none() -> Acc {
    var s: Acc;
    s.window.count = ROOM;
    s.look = look_none();
    return s;
}

// A sum whose window holds a block of so many elements, or whose elements have `ended`: then the window is kept.
fn sum_for(own: Acc, l: Look, count: u32, ended: bool) -> Acc {
    var s = own;
    s.look = look_none();
    s.look.plus = l.plus;
    var holds = s.window.count + count <= ROOM && !ended;
//# if SIZES
    holds = holds && most_of_look(l) <= s.window.holds_most;
//# end
//# if SIZES * (HALF == 0)
    holds = holds && least_of_look(l) >= s.window.holds_least;
//# end
//# if WIDE
    // All blocks of a window that began with a wide one would be read twice.
    holds = holds && !s.window.again;
//# end
    for (var seldom = !holds; seldom; seldom = false) {
        s.placed = acc_join(s.placed, carried(placed_of(s.window)));
        s.window = acc_begin(l);
    }
    s.window.count += count;
//# if SIZES * HALF
    s.window.again = least_of_look(l) < s.window.holds_least;
//# end
    return s;
}
//# if PARTIAL_SUM == 0

// A sum that is not far.
fn near_of(top: u32, o: One, minus: bool, count: u32) -> Total {
    return Total(i32(top) - {W - 1}, o, select(OTHER, MINUS_ZERO, minus), vec2<u32>(count, 0u));
}
//# end

fn acc_take(own: Window, k: Taken, at: u32) -> Window {
    var a = own;
//# for j in 0..SUMS
//# if BY_VEC
//# if BY_FLOATS
    let x{j} = digits_of(own, columns_of(k.p{j}));
//# else
//# for c in 0..COLUMNS
    let x{j}_{c} = digits_of(own, plane_key(k.p{(BITS == 64) * c + j}, {c}u));
//# end
//# end
//# else
    let x{j} = digits_of(own, k);
//# end
//# if UNPACKS
    a.seen |= x{j}.seen;
//# end
//# for d in 0..N
//# if BY_VEC & (BY_FLOATS == 0)
    let d{j}_{d} = Ints(
//# for c in 0..COLUMNS
        x{j}_{c}.s{d},
//# end
    );
//# else
    let d{j}_{d} = x{j}.s{d};
//# end
//# end
//# for k in 0..S
//# if S == N
    a.s0_{j}_{k} += d{j}_{k};
//# else
    a.s0_{j}_{k} +=
//# if k % 2 == 0
        d{j}_{k / 2} * d{j}_{k / 2} +
//# end
        2 * (
//# for i in 0..N
//# if (2 * i < k) & (k - i < N)
            d{j}_{i} * d{j}_{k - i} +
//# end
//# end
            Ints(0)
        );
//# end
//# end
//# end
    return a;
}
//# if BY_FLOATS

fn acc_take_more(own: Window, k: Taken) -> Window {
//# if HALF
    return acc_take(own, k, 0u);
//# else
    var a = own;
//# for j in 0..SUMS
//# if BY_VEC
    let x{j} = digits_of(own, piece_of(own, columns_of(k.p{j})));
//# else
    let x{j} = digits_of(own, piece_of(own, k));
//# end
//# for d in 0..N
    a.s1_{j}_{d} += x{j}.s{d};
//# end
//# end
    return a;
//# end
}
//# end
//# if BY_VEC == 0

fn sum_placed(s: Acc) -> Placed {
    var p = acc_join(s.placed, carried(placed_of(s.window)));
    p.signs = s.look.plus;
    return p;
}

fn one_of(p: Placed) -> One {
    return One(
//# for d in 0..W + 1
        p.d0_{d},
//# end
    );
}

// Whether all elements are negative, or -0.
fn is_minus(p: Placed) -> bool {
    return ((p.signs | (p.signs << {16 * (BITS == 16)}u)) & 0x80000000u) == 0u;
}

// Whether a sum is far: of a team, whether any of the workgroup is.
fn is_far(lid: u32, own: Placed) -> bool {
//# if TEAMS
    return most_of(lid, 0u, u32(lid % {LANES}u == 0u && own.far)) != 0u;
//# else
    return own.far;
//# end
}
//# end
