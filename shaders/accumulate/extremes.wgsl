// The best element of a segment in both orders, taken one by one.
struct Acc {
    low: Side,
    high: Side,
}

// If nothing ever wins, the first element counts.
fn acc_none(first: u32) -> Acc {
    return Acc(Side(PAD, PAD, first), Side(PAD, PAD, first));
}

fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    return Acc(taken(a.low, key(whole(r)), t), taken(a.high, key(turned(whole(r))), t));
}

// The first P.items partials are of the least, the others of the greatest.
fn acc_emit(slot: u32, a: Acc) {
    leave(slot, a.low);
    leave(P.items + slot, a.high);
}
