// The best element of a segment, taken one by one; of both extremes in both orders, and of types with a -0 the signs.
struct Side {
    key: Key,
    at: u32,
}

struct Acc {
//# for s in 0..1 + BOTH
    side{s}: Side,
//# end
//# if SIGNS
    signs: Signs,
//# end
}

// Nothing ever wins where all elements are the worst: then the first of the segment counts.
fn acc_none() -> Acc {
    return Acc(
//# for s in 0..1 + BOTH
        Side(PAD, 0u),
//# end
//# if SIGNS
        signs_none(),
//# end
    );
}

fn side_take(s: Side, k: Key, at: u32) -> Side {
    if INDEX == 0u {
        return Side(combined(s.key, k), s.at);
    }
    let wins = replaces(k, s.key);
    return Side(select(s.key, k, wins), select(s.at, at, wins));
}

// Takes an element that was met at t, after all others.
fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    let k = canonical(key(r));
    return Acc(
        side_take(a.side0, k, t),
//# if BOTH
        side_take(a.side1, turned(k), t),
//# end
//# if SIGNS
        signs_with(a.signs, splat(r), vec4<u32>(0u)),
//# end
    );
}

//# if BOTH
fn acc_emit(slot: u32, a: Acc) {
    var signs = vec2<u32>(0u);
//# if SIGNS
    signs = vec2<u32>(a.signs.any.y, a.signs.all.y);
//# end
    leave(slot, Best(a.side0.key, placed(a.side0.at)), signs.x, false);
    leave(slot, Best(a.side1.key, placed(a.side1.at)), signs.y, true);
}
//# else
fn acc_element(a: Acc) -> Raw {
    return element(a.side0.key);
}

fn acc_emit(slot: u32, a: Acc) {
    emit(slot, Best(a.side0.key, placed(a.side0.at)));
}
//# end
