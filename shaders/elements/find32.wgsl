// Blocks of elements of 32 bits and less: their combined key, and the element that has a key.

// The combined key of four vec4.
fn four_key(r: Rows) -> Key {
    let ab = combined4(vec_keys(r.a), vec_keys(r.b));
    return vec_combined(combined4(ab, combined4(vec_keys(r.c), vec_keys(r.d))));
}

fn least(k: vec4<u32>) -> u32 {
    let m = min(k.xy, k.zw);
    return min(m.x, m.y);
}

fn inside(place: Places, low: u32, high: u32) -> Mask {
    return (place >= vec4<u32>(low)) & (place < vec4<u32>(high));
}

// The places of a plane's elements in their vec4.
//# for j in 0..PLANES
const PLACES_{j}: Places = vec4<u32>({j}u, {PLANES + j}u, {2 * PLANES + j}u, {3 * PLANES + j}u);
//# end

// The distance of a place, of `size` places, from the preferred end.
fn distance(place: vec4<u32>, size: u32) -> vec4<u32> {
    return select(place, vec4<u32>(size - 1u) - place, LAST != 0u);
}

// Further than any place.
const FAR: u32 = 0xffffu;

// The distances of the keys up to `reach`, FAR for others. The keys belong to vec4 number `number` of four.
fn reached(k: vec4<u32>, reach: Key, place: vec4<u32>, number: u32) -> vec4<u32> {
    let far = distance(place + vec4<u32>(number * E), 4u * E);
    return select(vec4<u32>(FAR), far, k <= vec4<u32>(reach));
}

// The same for all elements of that vec4: the least distance in each word.
fn vec_reached(v: vec4<u32>, reach: Key, number: u32) -> vec4<u32> {
    let k = keys_of(v);
    var m = reached(k.p0, reach, PLACES_0, number);
//# for j in 1..PLANES
    m = min(m, reached(k.p{j}, reach, PLACES_{j}, number));
//# end
    return m;
}

// The distance of the preferred element whose key is up to `reach`, in four vec4; FAR where there is none.
fn four_distance(r: Rows, reach: Key) -> u32 {
    let ab = min(vec_reached(r.a, reach, 0u), vec_reached(r.b, reach, 1u));
    let cd = min(vec_reached(r.c, reach, 2u), vec_reached(r.d, reach, 3u));
    return least(min(ab, cd));
}

fn four_place(distance: u32) -> u32 {
    return select(distance, 4u * E - 1u - distance, LAST != 0u);
}

// The place of the preferred element whose key is up to `reach`, in four vec4.
fn four_find(r: Rows, reach: Key) -> u32 {
    return four_place(four_distance(r, reach));
}

// The same for eight vec4.
fn eight_find(early: Rows, late: Rows, reach: Key) -> u32 {
    let a = four_distance(early, reach);
    let b = four_distance(late, reach);
    if LAST != 0u {
        return select(4u * E + four_place(b), four_place(a), b == FAR);
    }
    return select(four_place(a), 4u * E + four_place(b), a == FAR);
}

// The least key of the elements low..high of a vec4.
fn part_key(v: vec4<u32>, low: u32, high: u32) -> Key {
    let k = keys_of(v);
    var m = vec4<u32>(PAD);
//# for j in 0..PLANES
    m = min(m, select(vec4<u32>(PAD), k.p{j}, inside(PLACES_{j}, low, high)));
//# end
    return least(m);
}

// The place in low..high of the first element with that canonical key, of the last with LAST; E where there is none.
fn part_find(v: vec4<u32>, want: Key, low: u32, high: u32) -> u32 {
    let k = keys_of(v);
    var m = vec4<u32>(FAR);
//# for j in 0..PLANES
    m = min(m, matches(k.p{j}, want, PLACES_{j}, low, high));
//# end
    let d = least(m);
    return select(select(d, E - 1u - d, LAST != 0u), E, d == FAR);
}

// Per element, how far a match is from the preferred end; FAR where there is none.
fn matches(k: vec4<u32>, want: Key, place: vec4<u32>, low: u32, high: u32) -> vec4<u32> {
    let found = (canonical4(k) == vec4<u32>(want)) & inside(place, low, high);
    return select(vec4<u32>(FAR), distance(place, E), found);
}

//# if PACKED
// A place fits into the bits below an element. The least of such words has the best key and, among equal keys, the
// preferred place. PAD is greater than all of them.
const LAST_PLACE: u32 = ~KEEP - 1u;

fn packed4(k: Plane, place: Places) -> Plane {
    let below = select(place, Places(LAST_PLACE) - place, LAST != 0u);
    return canonical4(k) | below;
}

fn places_of(packed: Plane) -> Places {
    let place = packed & Places(~KEEP);
    return select(place, Places(LAST_PLACE) - place, LAST != 0u);
}

fn packed(k: Key, place: u32) -> u32 {
    return packed4(Plane(k), Places(place)).x;
}

fn place_of(packed: u32) -> u32 {
    return places_of(Plane(packed)).x;
}

// The least packed key in each word of a vec4, which is number `number` of four. Places count in the four.
fn vec_packed(v: vec4<u32>, number: u32) -> vec4<u32> {
    let k = keys_of(v);
    var m = packed4(k.p0, PLACES_0 + Places(number * E));
//# for j in 1..PLANES
    m = min(m, packed4(k.p{j}, PLACES_{j} + Places(number * E)));
//# end
    return m;
}
//# end

// Key n of a plane, and its place.
fn plane_key(k: Plane, n: u32) -> Key {
    return k[n];
}

fn plane_place(p: Places, n: u32) -> u32 {
    return p[n];
}
