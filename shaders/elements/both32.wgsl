// The keys of four vec4 in both orders, of elements of 32 bits and less.
struct Both {
    low: Key,
    high: Key,
}

fn whole4(v: vec4<u32>) -> vec4<u32> {
    let ones = ((v & vec4<u32>(0x7f7f7f7fu)) + vec4<u32>(0x7f7f7f7fu)) | v;
    let bits = (ones >> vec4<u32>(7u)) & vec4<u32>(0x01010101u);
    return select(v, bits, vec4<bool>(TRUTH != 0u));
}

fn turned4(v: vec4<u32>) -> vec4<u32> {
    return v ^ vec4<u32>(TURN);
}

// As `ends_key` for the order turned round: the greatest of floats is the greatest signed number,
// or, where all are negative, the least unsigned one.
fn turned_key(e: Ends) -> Key {
    let high = high_of(e);
    let most = most_of(e);
    if IS_FLOAT == 0u {
        return key(turned(select(most, high, FLIP == 0u)));
    }
    let below = (high & KEEP) > (INFINITY | TOP);
    let above = most < TOP && (most & KEEP) > INFINITY;
    let b = select(most, low_of(e), most >= TOP);
    return select(key(turned(b)), NAN_KEY, below || above);
}

fn four_least(r: Rows) -> Key {
    return least(min(min(vec_keys(r.a), vec_keys(r.b)), min(vec_keys(r.c), vec_keys(r.d))));
}

fn both_keys(r: Rows) -> Both {
    if ENDS != 0u {
        let ab = join(vec_ends(r.a), vec_ends(r.b));
        let e = join(ab, join(vec_ends(r.c), vec_ends(r.d)));
        return Both(ends_key(e), turned_key(e));
    }
    let t = Rows(turned4(r.a), turned4(r.b), turned4(r.c), turned4(r.d));
    return Both(four_least(r), four_least(t));
}
