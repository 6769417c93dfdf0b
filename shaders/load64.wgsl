// Elements of 64 bits: two in a vec4, low word first.
const E: u32 = 2u;

fn raw(e: u32) -> vec2<u32> {
    return vec2<u32>(words[2u * e], words[2u * e + 1u]);
}

fn vec_key(v: vec4<u32>) -> Key {
    return lesser(key(v.xy), key(v.zw));
}

// The least key of eight vec4.
fn block_key(
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
    e: vec4<u32>,
    f: vec4<u32>,
    g: vec4<u32>,
    h: vec4<u32>,
) -> Key {
    let abcd = lesser(lesser(vec_key(a), vec_key(b)), lesser(vec_key(c), vec_key(d)));
    let efgh = lesser(lesser(vec_key(e), vec_key(f)), lesser(vec_key(g), vec_key(h)));
    return lesser(abcd, efgh);
}

fn part_key(v: vec4<u32>, low: u32, high: u32) -> Key {
    let first = select(PAD, key(v.xy), low == 0u);
    let second = select(PAD, key(v.zw), high == 2u);
    return lesser(first, second);
}

fn part_find(v: vec4<u32>, want: Key, low: u32, high: u32) -> u32 {
    let first = low == 0u && same(settle(key(v.xy)), want);
    let second = high == 2u && same(settle(key(v.zw)), want);
    if LAST != 0u {
        return select(select(E, 0u, first), 1u, second);
    }
    return select(select(E, 1u, second), 0u, first);
}
