// Digits: an exact sum. Place i counts in 2^(22 i) of the least bit that an element, or its square, can have. {N} digits are a
// window, which elements that are not too far apart share; accumulate/float_digits and accumulate/integer_digits take them. The
// window of a block may begin between two places: then its digits have {G}, else as many as they are.
//
//   look(l, v)               what tells how far apart the elements of some units are; Look() is that of none
//   acc_begin(l, count)      an empty sum of a block of so many elements, at most 256, whose window suits them
//   acc_take(acc, x, at)     and an element of a unit: elements_of(v, false)
//   placed_of(acc)           its digits at their places, not carried
//   with_more(placed, acc)   of floats that are `wide`: and what the window does not hold of them, piece_of(acc, element), which
//                            another sum took that began alike
//   acc_join(a, b)           two sums of a segment, in any order, carried: each digit below 2^22, the highest signed
//
// Digits do not hold NaN, infinities, the largest numbers, and elements that are too far apart. A sum with such elements is
// `far`: then the walk takes all elements again, one by one.
//
// What happens seldom is short, and a loop: software rasterisers run all of a text at least once, with or without need.
//# if BY_VEC
alias Unit = vec4<u32>;
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
alias Signs = Bits;

fn any_of(v: Unit) -> u32 {
    let w = vec4<u32>(v);
    return w.x | w.y | w.z | w.w;
}

fn greatest_of(v: Unit) -> u32 {
    let w = vec4<u32>(v);
    return max(max(w.x, w.y), max(w.z, w.w));
}

// What tells how far apart elements are; of 64 bits, their upper words do, each twice.
struct Look {
    most: Unit,
    least: Unit, // the complement of one less than the least size: zeros do not count
    plus: Unit, // signs that any element lacks
}

fn look(own: Look, v: Unit) -> Look {
    var l = own;
//# if BITS == 64
    let w = v.ywyw;
    let low = min(v.xzxz, Unit(1u));
//# else
    let w = v;
    let low = Unit(0u);
//# end
    l.plus |= ~w;
//# if BITS >= 32
    let size = w & Unit(0x7fffffffu);
    l.most = max(l.most, size);
    l.least = max(l.least, Unit(0u) - (size | low));
//# end
//# if HALF
    // Two at once, in the top bit of each: whether it is infinite or a NaN, and whether it is subnormal. The first may carry into
    // the other one, which then does not count.
    let size = v | Unit(0x80008000u);
    l.most |= ~(size + Unit(0x04000400u));
    l.least |= (size - Unit(0x04000400u)) ^ (size - Unit(0x00010001u));
//# end
//# if (BITS == 16) & (HALF == 0)
    let high = v & Unit(0x7fff0000u);
    let bottom = (v << Unit(16u)) & Unit(0x7fff0000u);
    l.most = max(l.most, max(high, bottom));
    l.least = max(l.least, max(Unit(0u) - high, Unit(0u) - bottom));
//# end
    return l;
}

fn signs_of(l: Look) -> Signs {
//# if BY_VEC
    return columns_of(l.plus);
//# else
    return any_of(l.plus);
//# end
}

struct Acc {
//# if BY_FLOATS
    m: f32,
    unit: f32,
//# end
    wide: bool, // the window does not hold all bits of the elements
    top: u32, // the place of the block's highest bits
    far: bool,
    signs: Signs, // that any element lacks
    less: i32, // what is counted too much in the last digit
//# for j in 0..SUMS
//# for d in 0..N
    s{j}_{d}: Ints,
//# end
//# end
//# if G > N
    up: u32, // bits from a place up to a digit above it
//# end
}

// A sum, or one for each column. Its digits are 0 to {W - 1}, from `top` down.
struct Placed {
    top: u32,
    far: bool,
//# if BY_VEC
    blocks: u32, // since digits were carried
//# end
//# for c in 0..COUNTS * TEAMS
    count{c}: u32, // of elements that were taken again
//# end
    signs: Signs, // that any element lacks
//# for j in 0..SUMS
//# for d in 0..W + 1
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
//# for d in 0..N
    let s{j}_{d} = a.s{j}_{d} - Ints(a.less * {d == N - 1});
//# if G == N
    p.d{j}_{W - 1 - d} = s{j}_{d};
//# else
    // Its highest bits go to the place above.
    p.d{j}_{W - 1 - d} += s{j}_{d} >> Bits(DIGIT - a.up);
    p.d{j}_{W - 2 - d} = (s{j}_{d} << Bits(a.up)) & Ints(BELOW);
//# end
//# end
//# end
    return p;
}

// With what the window does not hold of elements that are `wide`; of float16 that is all.
fn with_more(own: Placed, more: Acc) -> Placed {
//# if W == N
    if more.wide {
        return placed_of(more);
    }
    return own;
//# else
    var p = own;
    for (var wide = more.wide; wide; wide = false) {
        let b = placed_of(more);
//# for j in 0..SUMS
//# for d in 0..W - N
        p.d{j}_{d} += b.d{j}_{d + N};
//# end
//# end
    }
    return p;
//# end
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
    // After so many nothing is left of it.
    for (var n = min(top - p.top, {W + 2}u); n > 0u; n--) {
        var lost = Ints(0);
//# for j in 0..SUMS
        lost |= p.d{j}_0;
//# for d in 0..W - 1
        p.d{j}_{d} = p.d{j}_{d + 1};
//# end
        p.d{j}_{W - 1} = p.d{j}_{W} & Ints(BELOW);
        p.d{j}_{W} >>= Bits(DIGIT);
//# end
//# if COLUMNS == 1
        p.far = p.far || lost != 0;
//# else
        p.far = p.far || any(lost != Ints(0));
//# end
    }
    p.top = top;
    return p;
}

// Digits of both together stay below 2^31, and become carried. One that is not carried may make a sum far without need.
fn acc_join(x: Placed, y: Placed) -> Placed {
    let top = max(x.top, y.top);
    var p = raised(x, top);
    let q = raised(y, top);
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

//# if PARTIAL_SUM == 0

// A sum that is not far.
fn near_of(top: u32, o: One, minus: bool, count: u32) -> Total {
    return Total(i32(top) - {W - 1}, o, select(OTHER, MINUS_ZERO, minus), vec2<u32>(count, 0u));
}
//# end
//# if BY_VEC == 0

fn acc_take(own: Acc, x: Key, at: u32) -> Acc {
    var a = own;
    let digits = digits_of(own, x);
//# for d in 0..N
    a.s0_{d} += digits.s{d};
//# end
    return a;
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

// What an element adds to `signs`.
fn sign_of(k: Key) -> Signs {
    return vec2<u32>(~k & KEEP).y;
}

// Whether a sum is far: of a team, whether any of the workgroup is.
fn is_far(lid: u32, own: Placed) -> bool {
//# if TEAMS
    return most_of(lid, 0u, u32(lid % {LANES}u == 0u && own.far)) != 0u;
//# else
    return own.far;
//# end
}
//# if PARTIAL_SUM

// Leaves the sum of elements as a partial sum.
fn settle(lid: u32, at: u32, own: Placed, e: Elements) {
    // What lies below place 0 is 0.
    let p = raised(own, max(own.top, {W - 1}u));
    let lowest = p.top - {W - 1}u;
    leave_sum(lid, at, is_far(lid, p), lowest, one_of(p), is_minus(p), e);
}
//# else

fn settled(lid: u32, own: Placed, e: Elements) -> Total {
//# if FLOATS
    if is_far(lid, own) {
        return far_of(lid, e);
    }
//# end
    return near_of(own.top, one_of(own), is_minus(own), e.count);
}
//# end
//# end
