// Elements of 16 bits: eight in a vec4, two in a word.
const E: u32 = 8u;
const EVEN: vec4<u32> = vec4<u32>(0u, 2u, 4u, 6u);
const ODD: vec4<u32> = vec4<u32>(1u, 3u, 5u, 7u);

fn raw(e: u32) -> u32 {
    return (words[e >> 1u] << (16u - 16u * (e & 1u))) & 0xffff0000u;
}

fn even(v: vec4<u32>) -> vec4<u32> {
    return key4(v << vec4<u32>(16u));
}

fn odd(v: vec4<u32>) -> vec4<u32> {
    return key4(v);
}

fn vec_keys(v: vec4<u32>) -> vec4<u32> {
    return min(even(v), odd(v));
}

fn vec_ends(v: vec4<u32>) -> Ends {
    return join(ends(v << vec4<u32>(16u)), ends(v));
}

fn vec_reached(v: vec4<u32>, reach: Key, number: u32) -> vec4<u32> {
    return min(reached(even(v), reach, EVEN, number), reached(odd(v), reach, ODD, number));
}

fn part_key(v: vec4<u32>, low: u32, high: u32) -> Key {
    let pad = vec4<u32>(PAD);
    let e = select(pad, even(v), inside(EVEN, low, high));
    let o = select(pad, odd(v), inside(ODD, low, high));
    return least(min(e, o));
}

fn part_find(v: vec4<u32>, want: Key, low: u32, high: u32) -> u32 {
    let e = matches(even(v), want, EVEN, low, high);
    let o = matches(odd(v), want, ODD, low, high);
    return pick(min(e, o));
}
