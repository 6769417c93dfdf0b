// Elements of 32 bits: four in a vec4.
const E: u32 = 4u;
const PLACES: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u);

fn raw(e: u32) -> u32 {
    return words[e];
}

fn vec_keys(v: vec4<u32>) -> vec4<u32> {
    return key4(v);
}

fn vec_ends(v: vec4<u32>) -> Ends {
    return ends(v);
}

fn vec_reached(v: vec4<u32>, reach: Key, number: u32) -> vec4<u32> {
    return reached(key4(v), reach, PLACES, number);
}

// The least key of the elements low..high of a vec4.
fn part_key(v: vec4<u32>, low: u32, high: u32) -> Key {
    return least(select(vec4<u32>(PAD), key4(v), inside(PLACES, low, high)));
}

// The place in low..high of the first element of that key, the last with LAST; else E.
fn part_find(v: vec4<u32>, want: Key, low: u32, high: u32) -> u32 {
    return pick(matches(key4(v), want, PLACES, low, high));
}
