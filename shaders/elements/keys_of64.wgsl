// Elementwise on 64-bit elements.
alias Raw = vec2<u32>;

struct Keys {
    a: Key,
    b: Key,
}

const HIGH: u32 = 1u; // words to an element's high word

fn word_of(e: u32) -> u32 {
    return 2u * e;
}

fn raw_from(low: u32, high: u32, e: u32) -> Raw {
    return vec2<u32>(low, high);
}

fn splat(r: Raw) -> vec4<u32> {
    return r.xyxy;
}

fn keys_of(v: vec4<u32>) -> Keys {
    return Keys(key(v.xy), key(v.zw));
}

fn keys_min(x: Keys, y: Keys) -> Keys {
    return Keys(lesser(x.a, y.a), lesser(x.b, y.b));
}

fn words_of(k: Keys) -> vec4<u32> {
    return vec4<u32>(element(canonical(k.a)), element(canonical(k.b)));
}
