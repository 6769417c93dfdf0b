// Blocks of elements of 64 bits. As find32.wgsl otherwise.

fn vec_keys(v: vec4<u32>) -> Plane {
    return combined(key(v.xy), key(v.zw));
}

fn vec_combined(k: Plane) -> Key {
    return k;
}

fn four_key(r: Rows) -> Key {
    return combined(combined(vec_keys(r.a), vec_keys(r.b)), combined(vec_keys(r.c), vec_keys(r.d)));
}

fn inside(place: Places, low: u32, high: u32) -> Mask {
    return place >= low && place < high;
}

const PLACES_0: Places = 0u;
const PLACES_1: Places = 1u;

// The place of the preferred key up to `reach` in the vec4 with that number; `none` where there is no such key.
fn vec_reached(v: vec4<u32>, reach: Key, number: u32, none: u32) -> u32 {
    let first = !less(reach, key(v.xy));
    let second = !less(reach, key(v.zw));
    let near = select(select(none, 1u + number * E, second), number * E, first);
    let far = select(select(none, number * E, first), 1u + number * E, second);
    return select(near, far, LAST != 0u);
}

fn four_find(r: Rows, reach: Key) -> u32 {
    if LAST != 0u {
        let ab = vec_reached(r.b, reach, 1u, vec_reached(r.a, reach, 0u, 0u));
        return vec_reached(r.d, reach, 3u, vec_reached(r.c, reach, 2u, ab));
    }
    let cd = vec_reached(r.c, reach, 2u, vec_reached(r.d, reach, 3u, 0u));
    return vec_reached(r.a, reach, 0u, vec_reached(r.b, reach, 1u, cd));
}

fn eight_find(early: Rows, late: Rows, reach: Key) -> u32 {
    if LAST != 0u {
        let ab = vec_reached(late.b, reach, 5u, vec_reached(late.a, reach, 4u, four_find(early, reach)));
        return vec_reached(late.d, reach, 7u, vec_reached(late.c, reach, 6u, ab));
    }
    let cd = vec_reached(late.c, reach, 6u, vec_reached(late.d, reach, 7u, 0u));
    let ab = vec_reached(late.a, reach, 4u, vec_reached(late.b, reach, 5u, cd));
    let gh = vec_reached(early.c, reach, 2u, vec_reached(early.d, reach, 3u, ab));
    return vec_reached(early.a, reach, 0u, vec_reached(early.b, reach, 1u, gh));
}

fn part_key(v: vec4<u32>, low: u32, high: u32) -> Key {
    let first = select(PAD, key(v.xy), low == 0u);
    let second = select(PAD, key(v.zw), high == 2u);
    return combined(first, second);
}

fn part_find(v: vec4<u32>, want: Key, low: u32, high: u32) -> u32 {
    let first = low == 0u && same(canonical(key(v.xy)), want);
    let second = high == 2u && same(canonical(key(v.zw)), want);
    if LAST != 0u {
        return select(select(E, 0u, first), 1u, second);
    }
    return select(select(E, 1u, second), 0u, first);
}

fn plane_key(k: Plane, n: u32) -> Key {
    return k;
}

fn plane_place(p: Places, n: u32) -> u32 {
    return p;
}
