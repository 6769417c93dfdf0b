// Elementwise on 16-bit elements.
alias Raw = u32;

struct Keys {
    even: vec4<u32>,
    odd: vec4<u32>,
}

const HIGH: u32 = 0u; // words to an element's high word

fn word_of(e: u32) -> u32 {
    return e >> 1u;
}

fn raw_from(low: u32, high: u32, e: u32) -> Raw {
    return (low << (16u - 16u * (e & 1u))) & 0xffff0000u;
}

fn splat(r: Raw) -> vec4<u32> {
    return vec4<u32>(r | (r >> 16u));
}

fn keys_of(v: vec4<u32>) -> Keys {
    return Keys(key4(v << vec4<u32>(16u)), key4(v));
}

fn keys_min(a: Keys, b: Keys) -> Keys {
    return Keys(min(a.even, b.even), min(a.odd, b.odd));
}

fn words_of(k: Keys) -> vec4<u32> {
    return (element4(canonical4(k.even)) >> vec4<u32>(16u)) | element4(canonical4(k.odd));
}
