// The keys of four vec4 in both orders, of 64-bit elements.
struct Both {
    low: Key,
    high: Key,
}

fn whole4(v: vec4<u32>) -> vec4<u32> {
    return v;
}

fn turned4(v: vec4<u32>) -> vec4<u32> {
    return v ^ vec2<u32>(TURN_LO, TURN).xyxy;
}

fn four_least(r: Rows) -> Key {
    return lesser(lesser(vec_key(r.a), vec_key(r.b)), lesser(vec_key(r.c), vec_key(r.d)));
}

fn both_keys(r: Rows) -> Both {
    let t = Rows(turned4(r.a), turned4(r.b), turned4(r.c), turned4(r.d));
    return Both(four_least(r), four_least(t));
}
