// The columns in a vec4 of 32-bit elements.
alias Acc = Four;

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

fn acc_best(a: Acc) -> Winner {
    let key = settle(least(a.key));
    return Winner(key, four_place(a, PLACES, key));
}

fn acc_block(acc: Acc, a: Rows, b: Rows, t: u32) -> Acc {
    let ab = min(min(key4(a.a), key4(a.b)), min(key4(a.c), key4(a.d)));
    let cd = min(min(key4(b.a), key4(b.b)), min(key4(b.c), key4(b.d)));
    return four_block(acc, min(ab, cd), t);
}
