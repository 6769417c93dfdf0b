// The sum of partial sums, whose digits accumulate/one_by_one takes as it takes those of elements.
fn partials_of(lid: u32, o: u32) -> Elements {
//# if TEAMS
    clear_most(lid);
    workgroupBarrier();
//# end
    return Elements(first_of(o), P.inner, P.parts);
}

fn extent_at(e: Elements, i: u32) -> vec2<u32> {
    let span = span_of(words[{PARTIAL_WORDS}u * (e.first + i * e.step)]);
    return vec2<u32>(DIGIT * span.x, DIGIT * (span.x + span.y) - 1u);
}

// The highest digits of neighbouring ones may be larger than others. All together are below 2^30, as one dispatch made them, and takes
// fewer elements.
fn digits_at(e: Elements, i: u32, first: u32) -> One {
    let at = {PARTIAL_WORDS}u * (e.first + i * e.step);
    let span = span_of(words[at]);
    flags |= words[at] & KINDS;
//# for c in 0..COUNTS
    count{c} += words[at + {1 + c}u];
//# end
    var o = One();
//# for d in 0..W
    let place{d} = first + {d}u - span.x;
    let digit{d} = bitcast<i32>(words[at + {1 + COUNTS}u + min(place{d}, span.y - 1u)]);
    o.d{d} = select(0, digit{d}, place{d} < span.y);
//# end
    return o;
}
//# if TEAMS

struct Placed {
    one: One,
    signs: u32, // the flags
//# for c in 0..COUNTS
    count{c}: u32,
//# end
}

fn acc_join(x: Placed, y: Placed) -> Placed {
    var p = x;
//# for d in 0..W + 1
    p.one.d{d} += y.one.d{d};
//# end
    p.one = one_carried(p.one);
    p.signs |= y.signs;
//# for c in 0..COUNTS
    p.count{c} += y.count{c};
//# end
    return p;
}

fn one_of(p: Placed) -> One {
    return p.one;
}
//# end
//# if PARTIAL_SUM == 0

fn reduced(lid: u32, o: u32) -> Total {
    return far_of(lid, partials_of(lid, o));
}
//# end
