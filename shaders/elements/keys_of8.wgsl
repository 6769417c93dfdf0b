// Elementwise on 8-bit elements.
alias Raw = u32;

struct Keys {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

const HIGH: u32 = 0u; // words to an element's high word

fn word_of(e: u32) -> u32 {
    return e >> 2u;
}

fn raw_from(low: u32, high: u32, e: u32) -> Raw {
    return (low << (24u - 8u * (e & 3u))) & 0xff000000u;
}

fn splat(r: Raw) -> vec4<u32> {
    return vec4<u32>((r >> 24u) * 0x01010101u);
}

fn keys_of(v: vec4<u32>) -> Keys {
    let a = key4(v << vec4<u32>(24u));
    let b = key4(v << vec4<u32>(16u));
    return Keys(a, b, key4(v << vec4<u32>(8u)), key4(v));
}

fn keys_min(x: Keys, y: Keys) -> Keys {
    return Keys(min(x.a, y.a), min(x.b, y.b), min(x.c, y.c), min(x.d, y.d));
}

fn words_of(k: Keys) -> vec4<u32> {
    let a = element4(canonical4(k.a)) >> vec4<u32>(24u);
    let b = element4(canonical4(k.b)) >> vec4<u32>(16u);
    let c = element4(canonical4(k.c)) >> vec4<u32>(8u);
    return a | b | c | element4(canonical4(k.d));
}
