// Blocks of elements of 32 bits and less: their least key, and the element of a key.

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
    if ENDS != 0u {
        let ab = join(vec_ends(a), vec_ends(b));
        let cd = join(vec_ends(c), vec_ends(d));
        let ef = join(vec_ends(e), vec_ends(f));
        let gh = join(vec_ends(g), vec_ends(h));
        return ends_key(join(join(ab, cd), join(ef, gh)));
    }
    let ab = min(vec_keys(a), vec_keys(b));
    let cd = min(vec_keys(c), vec_keys(d));
    let ef = min(vec_keys(e), vec_keys(f));
    let gh = min(vec_keys(g), vec_keys(h));
    return least(min(min(ab, cd), min(ef, gh)));
}

fn inside(place: vec4<u32>, low: u32, high: u32) -> vec4<bool> {
    return (place >= vec4<u32>(low)) & (place < vec4<u32>(high));
}

// Distance of no match: further than any place, from the side the search prefers.
const FAR: u32 = 0xffu;

// Per lane, how far a match is from the preferred end; FAR where there is none.
fn matches(k: vec4<u32>, want: Key, place: vec4<u32>, low: u32, high: u32) -> vec4<u32> {
    let found = (settle4(k) == vec4<u32>(want)) & inside(place, low, high);
    let distance = select(place, vec4<u32>(E - 1u) - place, LAST != 0u);
    return select(vec4<u32>(FAR), distance, found);
}

fn nearer(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    return min(a, b);
}

fn pick(distance: vec4<u32>) -> u32 {
    let m = min(distance.xy, distance.zw);
    let d = min(m.x, m.y);
    return select(select(d, E - 1u - d, LAST != 0u), E, d == FAR);
}
