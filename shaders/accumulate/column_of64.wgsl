// The columns in a vec4 of 64-bit elements.
struct Acc {
    first: Key,
    second: Key,
    at: vec2<u32>, // the wide rows of the keys
}

fn acc_none(t: u32) -> Acc {
    return Acc(PAD, PAD, vec2<u32>(t));
}

fn acc_join(earlier: Acc, later: Acc) -> Acc {
    let first = replaces(later.first, earlier.first);
    let second = replaces(later.second, earlier.second);
    let at = select(earlier.at, later.at, vec2<bool>(first, second));
    let low = select(earlier.first, later.first, first);
    return Acc(low, select(earlier.second, later.second, second), at);
}

fn acc_start(v: vec4<u32>, low: u32, high: u32, t: u32) -> Acc {
    let a = low == 0u && high > 0u;
    let b = high == 2u;
    let first = select(PAD, canonical(key(v.xy)), a);
    let second = select(PAD, canonical(key(v.zw)), b);
    return Acc(first, second, vec2<u32>(select(t + 1u, t, a), select(t + 1u, t, b)));
}

fn acc_take(acc: Acc, v: vec4<u32>, high: u32, t: u32) -> Acc {
    let a = canonical(key(v.xy));
    let b = canonical(key(v.zw));
    let first = high > 0u && replaces(a, acc.first);
    let second = high == 2u && replaces(b, acc.second);
    let at = select(acc.at, vec2<u32>(t), vec2<bool>(first, second));
    return Acc(select(acc.first, a, first), select(acc.second, b, second), at);
}

fn acc_key(acc: Acc, i: u32) -> Key {
    return select(acc.first, acc.second, i == 1u);
}

fn acc_at(acc: Acc, i: u32) -> u32 {
    return acc.at[i];
}

fn low_rows(r: Rows) -> Key {
    return lesser(lesser(key(r.a.xy), key(r.b.xy)), lesser(key(r.c.xy), key(r.d.xy)));
}

fn high_rows(r: Rows) -> Key {
    return lesser(lesser(key(r.a.zw), key(r.b.zw)), lesser(key(r.c.zw), key(r.d.zw)));
}

fn acc_block(acc: Acc, r: Rows, t: u32) -> Acc {
    let x = canonical(low_rows(r));
    let y = canonical(high_rows(r));
    let first = replaces(x, acc.first);
    let second = replaces(y, acc.second);
    let at = select(acc.at, vec2<u32>(t), vec2<bool>(first, second));
    return Acc(select(acc.first, x, first), select(acc.second, y, second), at);
}
