// The columns in a vec4 of 32-bit elements.
alias Acc = Four;

fn acc_none(t: u32) -> Acc {
    return four_none(t);
}

fn acc_join(earlier: Acc, later: Acc) -> Acc {
    return four_join(earlier, later);
}

fn acc_start(v: vec4<u32>, low: u32, high: u32, t: u32) -> Acc {
    return four_start(key4(v), PLACES, low, high, t);
}

fn acc_take(a: Acc, v: vec4<u32>, high: u32, t: u32) -> Acc {
    return four_take(a, key4(v), PLACES, high, t);
}

fn acc_key(a: Acc, i: u32) -> Key {
    return a.key[i];
}

fn acc_at(a: Acc, i: u32) -> u32 {
    return a.at[i];
}

fn acc_block(acc: Acc, r: Rows, t: u32) -> Acc {
    let k = min(min(key4(r.a), key4(r.b)), min(key4(r.c), key4(r.d)));
    return four_block(acc, k, t);
}
