// The columns in a vec4 of 16-bit elements.
struct Acc {
    even: Four,
    odd: Four,
}

fn acc_none(t: u32) -> Acc {
    return Acc(four_none(t), four_none(t));
}

fn acc_join(earlier: Acc, later: Acc) -> Acc {
    return Acc(four_join(earlier.even, later.even), four_join(earlier.odd, later.odd));
}

fn acc_start(v: vec4<u32>, low: u32, high: u32, t: u32) -> Acc {
    let e = four_start(even(v), EVEN, low, high, t);
    return Acc(e, four_start(odd(v), ODD, low, high, t));
}

fn acc_take(a: Acc, v: vec4<u32>, high: u32, t: u32) -> Acc {
    return Acc(four_take(a.even, even(v), EVEN, high, t), four_take(a.odd, odd(v), ODD, high, t));
}

fn acc_key(a: Acc, i: u32) -> Key {
    return select(a.even.key[i >> 1u], a.odd.key[i >> 1u], (i & 1u) != 0u);
}

fn acc_at(a: Acc, i: u32) -> u32 {
    return select(a.even.at[i >> 1u], a.odd.at[i >> 1u], (i & 1u) != 0u);
}

fn even_rows(r: Rows) -> vec4<u32> {
    return min(min(even(r.a), even(r.b)), min(even(r.c), even(r.d)));
}

fn odd_rows(r: Rows) -> vec4<u32> {
    return min(min(odd(r.a), odd(r.b)), min(odd(r.c), odd(r.d)));
}

fn acc_block(acc: Acc, r: Rows, t: u32) -> Acc {
    return Acc(four_block(acc.even, even_rows(r), t), four_block(acc.odd, odd_rows(r), t));
}
