// Finding the element of a key among four, for elements of 32 bits and less.

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
