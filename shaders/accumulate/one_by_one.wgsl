// Elements that are taken one by one: {W} digits of all of them at a time, from the lowest that any has to the highest.
//# if ONE_BY_ONE
//# if JOINS == 0

fn element_at(e: Elements, i: u32) -> Raw {
//# if STRIDED
    return raw(e.segment + offset_of(e.first + i * e.step));
//# else
    return raw(e.first + i * e.step);
//# end
}

// What an element adds: NaN and infinities add nothing.
fn added(r: Raw) -> Magnitude {
//# if FLOATS
    let n = magnitude_of(select(r, Raw(0u), size_of(r) >= {INFINITE}u));
//# else
    let n = magnitude_of(r);
//# end
//# if SQUARES
    return squared(n);
//# else
    return n;
//# end
}
//# if FLOATS

// The flag of an element; none for a skipped NaN.
fn flag_of(r: Raw) -> u32 {
    let w = vec2<u32>(r);
    let zero = vec2<u32>(top_of(0x80000000u));
    let special = size_of(r) >= {INFINITE}u;
    let nan = special && any((w & ~zero) != vec2<u32>(top_of({INFINITE}u)));
    let infinity = select(PLUS_INFINITY, MINUS_INFINITY, w.y >= 0x80000000u && {MAGNITUDES} == 0);
    let finite = select(OTHER, MINUS_ZERO, all(w == zero));
    return select(select(finite, OTHER | infinity, special), NAN * {1 - SKIPS}u, nan);
}
//# end

// The places of the lowest bit that an element may have, and of the highest one.
fn extent_at(e: Elements, i: u32) -> vec2<u32> {
    let n = added(element_at(e, i));
    let any = (
//# for k in 0..WORDS_OF
        n.m{k} |
//# end
        0u
    ) != 0u;
    return select(vec2<u32>({22 * SUM_DIGITS}u, 0u), n.place + vec2<u32>(0u, {MAGNITUDE - 1}u), any);
}

// The digits of an element from place `first` on. Counts it, and its flag.
fn digits_at(e: Elements, i: u32, first: u32) -> One {
    let r = element_at(e, i);
//# if FLOATS
    let flag = flag_of(r);
    flags |= flag;
//# if COUNTS
    count0 += select(0u, 1u, flag != 0u);
//# end
//# end
    let n = added(r);
    let below = i32(DIGIT * first) - i32(n.place);
    return One(
//# for d in 0..W
        digit_at(n, below + {22 * d}),
//# end
        0,
    );
}
//# end

// What an invocation takes of elements that its team shares.
fn own_of(lid: u32, e: Elements) -> Elements {
    var own = e;
//# if TEAMS
    let lane = lid % {LANES}u;
    own.first += lane * e.step;
    own.step *= {LANES}u;
    own.count = (e.count + {LANES - 1}u - lane) / {LANES}u;
//# end
    return own;
}

// The lowest digit that an element has, and how many windows there are up to the highest one.
fn extent_of(lid: u32, e: Elements) -> vec2<u32> {
//# if FLOATS + JOINS
    var above = {22 * SUM_DIGITS}u;
    var highest = 0u;
    let own = own_of(lid, e);
    for (var i = 0u; i < own.count; i++) {
        let extent = extent_at(own, i);
        above = min(above, extent.x);
        highest = max(highest, extent.y);
    }
//# if TEAMS
    above = {22 * SUM_DIGITS}u - most_of(lid, 1u, {22 * SUM_DIGITS}u - above);
    highest = most_of(lid, 2u, highest);
//# end
    // Another digit lies above a window.
    let first = min(min(above, highest) / DIGIT, {SUM_DIGITS - NEAR}u);
    return vec2<u32>(first, (highest / DIGIT - first) / {W}u + 1u);
//# else
    return vec2<u32>(0u, 1u);
//# end
}

// {W} digits of all elements, from digit `first` on; for the first of a team.
fn digits_of_all(lid: u32, e: Elements, first: u32) -> One {
    var o = One();
    flags = 0u;
//# for c in 0..COUNTS
    count{c} = 0u;
//# end
    let own = own_of(lid, e);
    for (var i = 0u; i < own.count; i++) {
        let x = digits_at(own, i, first);
//# for d in 0..W
        o.d{d} += x.d{d};
//# end
        // So few, and the invocations of a team, stay below a word.
        if i % 128u == 127u {
            o = one_carried(o);
            carry_count();
        }
    }
    o = one_carried(o);
    carry_count();
//# if TEAMS
    workgroupBarrier();
    var p: Placed;
//# if JOINS
    p.one = o;
//# else
//# for d in 0..W + 1
    p.d0_{d} = o.d{d};
//# end
//# end
    // The flags as signs.
    p.signs = flags;
//# for c in 0..COUNTS
    p.count{c} = count{c};
//# end
    p = acc_across(lid, p);
    flags = p.signs;
//# for c in 0..COUNTS
    count{c} = p.count{c};
//# end
    o = one_of(p);
//# end
    return o;
}
//# if TEAMS

// Far; the lowest place, counted from the highest; the highest place.
var<workgroup> wg_most: array<atomic<u32>, 3>;
var<workgroup> wg_told: u32;

// Before all else, as workgroup memory may hold anything; barriers must follow.
fn clear_most(lid: u32) {
    if lid < 3u {
        atomicStore(&wg_most[lid], 0u);
    }
}

// The greatest that any invocation of the workgroup has, told to all.
fn most_of(lid: u32, i: u32, own: u32) -> u32 {
    if own != 0u {
        atomicMax(&wg_most[i], own);
    }
    workgroupBarrier();
    if lid == 0u {
        wg_told = atomicLoad(&wg_most[i]);
    }
    return workgroupUniformLoad(&wg_told);
}
//# end
//# end
//# if PARTIAL_SUM + ONE_BY_ONE > 0

// What was met among the elements that were taken last, and the digits of how many count.
var<private> flags: u32;
//# for c in 0..COUNTS
var<private> count{c}: u32;
//# end

fn carry_count() {
//# for c in 1..COUNTS
    count{c} += count{c - 1} >> DIGIT;
    count{c - 1} &= u32(BELOW);
//# end
}

// Keeps the digits of elements, the lowest first. `own`: of elements that are not `far`, their digits from `lowest` on. Others
// have digits in so many windows, and none before these are taken.
fn keep_digits(lid: u32, far: bool, windows: u32, lowest: u32, own: One, e: Elements) {
    var carry = 0;
    var o = own;
    // Once more for what is carried last.
    for (var d = 0u; d < {W}u * (windows + 1u); d++) {
        if d % {W}u == 0u && d < {W}u * windows {
//# if ONE_BY_ONE
            if far {
                carry += o.d0;
                o = digits_of_all(lid, e, lowest + d);
            }
//# end
//# if PARTIAL_SUM
            if is_alone(windows) {
                write_digits(lowest, o);
                return;
            }
//# end
        }
        // A digit is as near to 0 as can be: of a negative sum those above the highest one are 0 as well.
        let x = o.d0 + carry;
        carry = (x + 0x200000) >> DIGIT;
        keep(x - (carry << DIGIT), i32(lowest + d));
//# for d in 0..W
        o.d{d} = o.d{d + 1};
//# end
        o.d{W} = 0;
    }
}
//# end
//# if (PARTIAL_SUM == 0) & ONE_BY_ONE

fn far_of(lid: u32, e: Elements) -> Total {
    running = Kept();
    kept = running;
    let extent = extent_of(lid, e);
    keep_digits(lid, true, extent.y, extent.x, One(), e);
//# if COUNTS
    carry_count();
    let count = vec2<u32>(count0 | (count1 << DIGIT), (count1 >> 10u) | (count2 << 12u));
//# else
//# if JOINS
    let count = vec2<u32>(P.fill_lo, P.fill_hi);
//# else
    let count = vec2<u32>(e.count, 0u);
//# end
//# end
    // What was not kept becomes the lowest bit of what was, which lies far below the bits of a result, or of its product with the
    // count.
    var o = kept.digits;
    o.d0 = select(o.d0, (o.d0 - i32(kept.below < 0)) | 1, kept.below != 0);
    return Total(kept.at - {W}, one_carried(o), flags, count);
}
//# end
