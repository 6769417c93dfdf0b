// Elementwise on 32-bit elements.
alias Raw = u32;
alias Keys = vec4<u32>; // of the elements of a vec4
const HIGH: u32 = 0u; // words to an element's high word

fn word_of(e: u32) -> u32 {
    return e;
}

fn raw_from(low: u32, high: u32, e: u32) -> Raw {
    return low;
}

fn splat(r: Raw) -> vec4<u32> {
    return vec4<u32>(r);
}

fn keys_of(v: vec4<u32>) -> Keys {
    return key4(v);
}

fn keys_min(a: Keys, b: Keys) -> Keys {
    return min(a, b);
}

fn words_of(k: Keys) -> vec4<u32> {
    return element4(canonical4(k));
}
