// The best element of a segment in both orders, taken one by one. The index compares canonical keys, in which zeros tie;
// the value compares keys as they come: `finish` canonicalizes it.
struct Side {
    raw: Key,
    key: Key,
    at: u32,
}

struct Acc {
    low: Side,
    high: Side,
}

// Nothing ever wins where all elements are the worst: then the first of the segment counts.
fn acc_none() -> Acc {
    return Acc(Side(PAD, PAD, 0u), Side(PAD, PAD, 0u));
}

fn side_take(s: Side, raw: Key, key: Key, at: u32) -> Side {
    let wins = replaces(key, s.key);
    return Side(combined(s.raw, raw), select(s.key, key, wins), select(s.at, at, wins));
}

fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    let k = key(r);
    let c = canonical(k);
    return Acc(side_take(a.low, k, c, t), side_take(a.high, turned_key(k), turned_canonical(c), t));
}

fn acc_emit(slot: u32, a: Acc) {
    leave(slot, a.low.raw, Best(a.low.key, placed(a.low.at)), false);
    leave(slot, a.high.raw, Best(a.high.key, placed(a.high.at)), true);
}
