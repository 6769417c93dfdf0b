// The best element of a segment in both orders, taken one by one, and of types with a -0 the signs.
struct Side {
    key: Key,
    at: u32,
}

struct Acc {
    low: Side,
    high: Side,
//# if SIGNS
    signs: Signs,
//# end
}

// Nothing ever wins where all elements are the worst: then the first of the segment counts.
fn acc_none() -> Acc {
    var a: Acc;
    a.low = Side(PAD, 0u);
    a.high = Side(PAD, 0u);
//# if SIGNS
    a.signs = signs_none();
//# end
    return a;
}

fn side_take(s: Side, key: Key, at: u32) -> Side {
    let wins = replaces(key, s.key);
    return Side(select(s.key, key, wins), select(s.at, at, wins));
}

fn acc_take(own: Acc, r: Raw, t: u32) -> Acc {
    let c = canonical(key(r));
    var a = own;
    a.low = side_take(own.low, c, t);
    a.high = side_take(own.high, turned(c), t);
//# if SIGNS
    a.signs = signs_with(own.signs, splat(r), vec4<u32>(0u));
//# end
    return a;
}

fn acc_emit(slot: u32, a: Acc) {
    var signs = vec2<u32>(0u);
//# if SIGNS
    signs = vec2<u32>(a.signs.any.y, a.signs.all.y);
//# end
    leave(slot, Best(a.low.key, placed(a.low.at)), signs.x, false);
    leave(slot, Best(a.high.key, placed(a.high.at)), signs.y, true);
}
