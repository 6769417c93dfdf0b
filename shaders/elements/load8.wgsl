// Elements of 8 bits: sixteen in a vec4, four in a word.
const E: u32 = 16u;
const BYTE0: vec4<u32> = vec4<u32>(0u, 4u, 8u, 12u);

fn raw(e: u32) -> u32 {
    return (words[e >> 2u] << (24u - 8u * (e & 3u))) & 0xff000000u;
}

// The keys of byte j of each word. What is below the byte is noise.
fn byte(v: vec4<u32>, j: u32) -> vec4<u32> {
    return key4(v << vec4<u32>(24u - 8u * j));
}

fn vec_keys(v: vec4<u32>) -> vec4<u32> {
    return min(min(byte(v, 0u), byte(v, 1u)), min(byte(v, 2u), byte(v, 3u)));
}

fn vec_ends(v: vec4<u32>) -> Ends {
    let ab = join(ends(v << vec4<u32>(24u)), ends(v << vec4<u32>(16u)));
    return join(ab, join(ends(v << vec4<u32>(8u)), ends(v)));
}

fn byte_reached(v: vec4<u32>, reach: Key, j: u32, number: u32) -> vec4<u32> {
    return reached(byte(v, j), reach, BYTE0 + vec4<u32>(j), number);
}

fn vec_reached(v: vec4<u32>, reach: Key, number: u32) -> vec4<u32> {
    let ab = min(byte_reached(v, reach, 0u, number), byte_reached(v, reach, 1u, number));
    let cd = min(byte_reached(v, reach, 2u, number), byte_reached(v, reach, 3u, number));
    return min(ab, cd);
}

fn part(v: vec4<u32>, j: u32, low: u32, high: u32) -> vec4<u32> {
    return select(vec4<u32>(PAD), byte(v, j), inside(BYTE0 + vec4<u32>(j), low, high));
}

fn part_key(v: vec4<u32>, low: u32, high: u32) -> Key {
    let ab = min(part(v, 0u, low, high), part(v, 1u, low, high));
    let cd = min(part(v, 2u, low, high), part(v, 3u, low, high));
    return least(min(ab, cd));
}

fn part_find(v: vec4<u32>, want: Key, low: u32, high: u32) -> u32 {
    let a = matches(byte(v, 0u), want, BYTE0, low, high);
    let b = matches(byte(v, 1u), want, BYTE0 + vec4<u32>(1u), low, high);
    let c = matches(byte(v, 2u), want, BYTE0 + vec4<u32>(2u), low, high);
    let d = matches(byte(v, 3u), want, BYTE0 + vec4<u32>(3u), low, high);
    return pick(min(min(a, b), min(c, d)));
}
