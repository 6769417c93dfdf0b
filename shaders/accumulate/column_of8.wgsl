// The columns in a vec4 of 8-bit elements.
struct Acc {
    a: Four,
    b: Four,
    c: Four,
    d: Four,
}

fn place(j: u32) -> vec4<u32> {
    return BYTE0 + vec4<u32>(j);
}

fn acc_none(t: u32) -> Acc {
    return Acc(four_none(t), four_none(t), four_none(t), four_none(t));
}

fn acc_join(earlier: Acc, later: Acc) -> Acc {
    let a = four_join(earlier.a, later.a);
    let b = four_join(earlier.b, later.b);
    let c = four_join(earlier.c, later.c);
    return Acc(a, b, c, four_join(earlier.d, later.d));
}

fn acc_start(v: vec4<u32>, low: u32, high: u32, t: u32) -> Acc {
    let a = four_start(byte(v, 0u), place(0u), low, high, t);
    let b = four_start(byte(v, 1u), place(1u), low, high, t);
    let c = four_start(byte(v, 2u), place(2u), low, high, t);
    return Acc(a, b, c, four_start(byte(v, 3u), place(3u), low, high, t));
}

fn acc_take(acc: Acc, v: vec4<u32>, high: u32, t: u32) -> Acc {
    let a = four_take(acc.a, byte(v, 0u), place(0u), high, t);
    let b = four_take(acc.b, byte(v, 1u), place(1u), high, t);
    let c = four_take(acc.c, byte(v, 2u), place(2u), high, t);
    return Acc(a, b, c, four_take(acc.d, byte(v, 3u), place(3u), high, t));
}

fn acc_four(acc: Acc, j: u32) -> Four {
    switch j {
        case 0u: {
            return acc.a;
        }
        case 1u: {
            return acc.b;
        }
        case 2u: {
            return acc.c;
        }
        default: {
            return acc.d;
        }
    }
}

fn acc_key(acc: Acc, i: u32) -> Key {
    return acc_four(acc, i & 3u).key[i >> 2u];
}

fn acc_at(acc: Acc, i: u32) -> u32 {
    return acc_four(acc, i & 3u).at[i >> 2u];
}

fn byte_rows(r: Rows, j: u32) -> vec4<u32> {
    return min(min(byte(r.a, j), byte(r.b, j)), min(byte(r.c, j), byte(r.d, j)));
}

fn acc_block(acc: Acc, r: Rows, t: u32) -> Acc {
    let a = four_block(acc.a, byte_rows(r, 0u), t);
    let b = four_block(acc.b, byte_rows(r, 1u), t);
    let c = four_block(acc.c, byte_rows(r, 2u), t);
    return Acc(a, b, c, four_block(acc.d, byte_rows(r, 3u), t));
}
