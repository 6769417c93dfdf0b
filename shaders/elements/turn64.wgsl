// 64-bit elements for both orders. As turn32.wgsl otherwise.
override TURN: u32;
override TURN_LO: u32;

fn whole(r: vec2<u32>) -> vec2<u32> {
    return r;
}

fn turned(r: vec2<u32>) -> vec2<u32> {
    return r ^ vec2<u32>(TURN_LO, TURN);
}
