// The best element of a segment, taken one by one.
struct Acc {
    key: Key,
    at: u32,
}

// Nothing ever wins where all elements are the worst: then the first of the segment counts.
fn acc_none() -> Acc {
    return Acc(PAD, 0u);
}

// Takes an element that was met at t, after all others.
fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    let k = canonical(key(r));
    if INDEX == 0u {
        return Acc(combined(a.key, k), a.at);
    }
    let wins = replaces(k, a.key);
    return Acc(select(a.key, k, wins), select(a.at, t, wins));
}

fn acc_element(a: Acc) -> Raw {
    return element(a.key);
}

fn acc_emit(slot: u32, a: Acc) {
    emit(slot, Best(a.key, placed(a.at)));
}
