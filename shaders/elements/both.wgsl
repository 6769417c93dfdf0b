// Elements for both orders at once: flipping TURN reverses the order of the keys. A NaN stays a NaN.
override TURN: u32;
//# if BITS == 64
override TURN_LO: u32;

// An element as it counts.
fn whole(r: Raw) -> Raw {
    return r;
}

fn turned(r: Raw) -> Raw {
    return r ^ vec2<u32>(TURN_LO, TURN);
}

// The same of a vec4's elements.
fn whole4(v: vec4<u32>) -> vec4<u32> {
    return v;
}

fn turned4(v: vec4<u32>) -> vec4<u32> {
    return v ^ vec2<u32>(TURN_LO, TURN).xyxy;
}
//# else
override TRUTH: u32; // 1: bytes are truth values, any but 0 is 1

// An element as it counts.
fn whole(r: Raw) -> Raw {
    return select(r, min(r, 1u) << 24u, TRUTH != 0u);
}

fn turned(r: Raw) -> Raw {
    return r ^ TURN;
}

// The same of a vec4's elements.
fn whole4(v: vec4<u32>) -> vec4<u32> {
    let ones = ((v & vec4<u32>(0x7f7f7f7fu)) + vec4<u32>(0x7f7f7f7fu)) | v;
    let bits = (ones >> vec4<u32>(7u)) & vec4<u32>(0x01010101u);
    return select(v, bits, vec4<bool>(TRUTH != 0u));
}

fn turned4(v: vec4<u32>) -> vec4<u32> {
    return v ^ vec4<u32>(TURN);
}
//# end

// The least keys of four vec4, in both orders.
struct Both {
    low: Key,
    high: Key,
}

fn turned_rows(r: Rows) -> Rows {
    return Rows(turned4(r.a), turned4(r.b), turned4(r.c), turned4(r.d));
}

fn both_keys(r: Rows) -> Both {
    return Both(four_key(r), four_key(turned_rows(r)));
}
