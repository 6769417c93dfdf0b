// Elements that are taken one by one: {W} digits of all of them at a time, from the lowest that any has to the highest.
//# if PARTIAL_SUM + ONE_BY_ONE > 0

// What was met among the elements that were taken last, and how many count.
var<private> flags: u32;
var<private> counted: u32;
//# end
//# if ONE_BY_ONE

fn element_at(e: Elements, i: u32) -> Raw {
//# if STRIDED
    return raw(e.segment + offset_of(e.first + i * e.step));
//# else
    return raw(e.first + i * e.step);
//# end
}

// What an invocation takes of elements that its team shares.
fn own_of(lid: u32, e: Elements) -> Elements {
//# if TEAMS
    let lane = lid % {LANES}u;
    return Elements(e.first + lane * e.step, {LANES}u * e.step, (e.count + {LANES - 1}u - lane) / {LANES}u);
//# else
    return e;
//# end
}

// What an element adds: NaN and infinities add nothing.
fn added(r: Raw) -> Magnitude {
//# if FLOATS
    return magnitude_of(select(r, Raw(0u), size_of(r) >= INFINITE));
//# else
    return magnitude_of(r);
//# end
}
//# if FLOATS

// Infinity, in the word that has the sign.
const INFINITE: u32 = {INFINITE}u;

// The flag of an element; none for a skipped NaN.
fn flag_of(r: Raw) -> u32 {
    let w = vec2<u32>(r);
    let zero = vec2<u32>(top_of(0x80000000u));
    let special = size_of(r) >= INFINITE;
    let nan = special && any((w & ~zero) != vec2<u32>(top_of(INFINITE)));
    let infinity = select(PLUS_INFINITY, MINUS_INFINITY, w.y >= 0x80000000u && {MAGNITUDES} == 0);
    let finite = select(OTHER, MINUS_ZERO, all(w == zero));
    return select(select(finite, OTHER | infinity, special), NAN * {1 - SKIPS}u, nan);
}
//# end

// The lowest digit that an element has, and the highest one.
fn extent_of(lid: u32, e: Elements) -> vec2<u32> {
//# if FLOATS
    var above = {22 * SUM_DIGITS}u;
    var highest = 0u;
    let own = own_of(lid, e);
    for (var i = 0u; i < own.count; i++) {
        let n = added(element_at(own, i));
        let any = (
//# for k in 0..WORDS_OF
            n.m{k} |
//# end
            0u
        ) != 0u;
        above = min(above, select({22 * SUM_DIGITS}u, n.place, any));
        highest = max(highest, select(0u, n.place, any));
    }
//# if TEAMS
    above = {22 * SUM_DIGITS}u - most_of(lid, 1u, {22 * SUM_DIGITS}u - above);
    highest = most_of(lid, 2u, highest);
//# end
    // Another digit lies above a window.
    let first = min(min(above, highest) / DIGIT, {SUM_DIGITS - NEAR}u);
    return vec2<u32>(first, (highest + {MAGNITUDE - 1}u) / DIGIT);
//# else
    return vec2<u32>(0u, {W - 1}u);
//# end
}

fn windows_of(extent: vec2<u32>) -> u32 {
    return (extent.y - extent.x) / {W}u + 1u;
}

// {W} digits of all elements, from digit `first` on; for the first of a team.
fn digits_of_all(lid: u32, e: Elements, first: u32) -> One {
    var o = One();
    flags = 0u;
    counted = 0u;
    let own = own_of(lid, e);
    for (var i = 0u; i < own.count; i++) {
        let r = element_at(own, i);
//# if FLOATS
        let flag = flag_of(r);
        flags |= flag;
        counted += select(0u, 1u, flag != 0u);
//# end
        let n = added(r);
        let below = i32(DIGIT * first) - i32(n.place);
//# for d in 0..W
        o.d{d} += digit_at(n, below + {22 * d});
//# end
        if i % 128u == 127u {
            o = one_carried(o);
        }
    }
    o = one_carried(o);
//# if TEAMS
    // The flags as signs.
    workgroupBarrier();
    let p = acc_across(lid, placed_from(o, flags, counted));
    flags = p.signs;
    counted = p.count;
    o = one_of(p);
//# end
    return o;
}

//# end
//# if PARTIAL_SUM + ONE_BY_ONE > 0

// Keeps the digits of elements, the lowest first. `own`: of elements that are not `far`, their digits from `lowest` on. Others have
// digits in so many windows.
fn keep_digits(lid: u32, far: bool, windows: u32, lowest: u32, own: One, e: Elements) {
    var carry = 0;
    var o = own;
    // Once more for what is carried last.
    for (var window = 0u; window <= windows; window++) {
        let first = lowest + {W}u * window;
        if window == windows {
            o = One();
        }
//# if ONE_BY_ONE
        if far && window < windows {
            o = digits_of_all(lid, e, first);
        }
//# end
//# if PARTIAL_SUM
        if is_alone(windows) {
            write_digits(first, o);
            return;
        }
//# end
        for (var d = 0u; d < {W}u; d++) {
            carry = keep_low(o.d0 + carry, i32(first + d));
//# for d in 0..W - 1
            o.d{d} = o.d{d + 1};
//# end
        }
        carry += o.d{W};
    }
}
//# end
//# if (PARTIAL_SUM == 0) & ONE_BY_ONE

fn far_of(lid: u32, e: Elements) -> Total {
    kept = Kept();
    let extent = extent_of(lid, e);
    keep_digits(lid, true, windows_of(extent), extent.x, One(), e);
    return total_of(flags, vec2<u32>(counted, 0u));
}
//# end
