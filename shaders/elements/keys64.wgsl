// Order-preserving keys of 64-bit elements: (low, high) words. As keys32.wgsl otherwise.
override SIGN: u32; // of the high word; a float's low word flips whole
override SIGN_LO: u32;
override UNSIGN: u32; // the same on the way back: none for magnitudes
override UNSIGN_LO: u32;
override STEP_LO: u32; // what a set sign takes off; ROT is none where this is
override FLIP: u32;
override FLIP_LO: u32;
override ROT: u32;
override ROT_LO: u32;
override FLOOR: u32;
override FLOOR_LO: u32;
override CEIL: u32;
override CEIL_LO: u32;
override ZERO: u32;
override ZERO_LO: u32;
override ZERO_TO: u32;
override ZERO_TO_LO: u32;
override IS_FLOAT: u32;
override NAN_KEY: u32;
override NAN_KEY_LO: u32;
override NAN_BITS: u32;

const PAD: Key = vec2<u32>(0xffffffffu, 0xffffffffu);

fn combined(a: Key, b: Key) -> Key {
    return select(a, b, less(b, a));
}

fn key(b: vec2<u32>) -> Key {
    let sign = bitcast<u32>(bitcast<i32>(b.y) >> 31u);
    let lo = b.x ^ (sign & SIGN_LO) ^ FLIP_LO;
    let hi = b.y ^ (sign & SIGN) ^ FLIP;
    let off = ROT_LO | (sign & STEP_LO);
    return vec2<u32>(lo - off, hi - ROT - select(0u, 1u, lo < off));
}

fn plane_ceiled(k: Key) -> Key {
//# if CEILED
    return combined(k, vec2<u32>(CEIL_LO, CEIL));
//# else
    return k;
//# end
}

fn bounded(k: Key) -> Key {
    var c = plane_ceiled(k);
//# if FLOORED
    let floor = vec2<u32>(FLOOR_LO, FLOOR);
    c = select(c, floor, less(c, floor));
//# end
    return c;
}

fn canonical(k: Key) -> Key {
    let c = bounded(k);
//# if ZEROS
    return select(c, vec2<u32>(ZERO_TO_LO, ZERO_TO), same(c, vec2<u32>(ZERO_LO, ZERO)));
//# else
    return c;
//# end
}

fn element(k: Key) -> vec2<u32> {
    let lo = k.x + ROT_LO;
    let b = vec2<u32>(lo ^ FLIP_LO, (k.y + ROT + select(0u, 1u, lo < ROT_LO)) ^ FLIP);
    let sign = bitcast<u32>(bitcast<i32>(b.y) >> 31u);
    let bits = b ^ (vec2<u32>(sign) & vec2<u32>(UNSIGN_LO, UNSIGN));
    let nan = IS_FLOAT != 0u && same(k, vec2<u32>(NAN_KEY_LO, NAN_KEY));
    return select(bits, vec2<u32>(0u, NAN_BITS), nan);
}
