// Order-preserving keys of elements of 32 bits and less, which sit at the top of a word.
// The smallest key wins, compared as u32, whatever the type and the operator.
//
// key() may carry noise below the element and keep apart what must tie. settle() removes both;
// it never reorders two keys, so that it can follow a minimum instead of preceding it.
alias Key = u32;

override SIGN: u32; // bits a set sign flips: all below it for floats, none for integers
override FLIP: u32; // signed: the sign bit; the largest wins: everything
override ROT: u32; // floats: brings the NaNs to the end they belong to
override KEEP: u32; // bits of the element
override FLOOR: u32; // NaNs, and any true bool, are one key
override CEIL: u32;
override ZERO: u32; // the lower of the keys of -0 and +0 where they tie
override ZERO_TO: u32; // the higher of them
override IS_FLOAT: u32;
override NAN_KEY: u32;
override NAN_BITS: u32;

const PAD: Key = 0xffffffffu;

fn key4(b: vec4<u32>) -> vec4<u32> {
    let sign = bitcast<vec4<u32>>(bitcast<vec4<i32>>(b) >> vec4<u32>(31u));
    return (b ^ (sign & vec4<u32>(SIGN)) ^ vec4<u32>(FLIP)) - vec4<u32>(ROT);
}

fn key(b: u32) -> Key {
    let sign = bitcast<u32>(bitcast<i32>(b) >> 31u);
    return (b ^ (sign & SIGN) ^ FLIP) - ROT;
}

fn settle4(k: vec4<u32>) -> vec4<u32> {
    let c = clamp(k & vec4<u32>(KEEP), vec4<u32>(FLOOR), vec4<u32>(CEIL));
    return select(c, vec4<u32>(ZERO_TO), c == vec4<u32>(ZERO));
}

fn settle(k: Key) -> Key {
    let c = clamp(k & KEEP, FLOOR, CEIL);
    return select(c, ZERO_TO, c == ZERO);
}

// The element of a settled key, at the top of the word; a NaN is the canonical one.
fn element(k: Key) -> u32 {
    let b = (k + ROT) ^ FLIP;
    let sign = bitcast<u32>(bitcast<i32>(b) >> 31u);
    let bits = (b ^ (sign & SIGN)) & KEEP;
    return select(bits, NAN_BITS, IS_FLOAT != 0u && k == NAN_KEY);
}

fn element4(k: vec4<u32>) -> vec4<u32> {
    let b = (k + vec4<u32>(ROT)) ^ vec4<u32>(FLIP);
    let sign = bitcast<vec4<u32>>(bitcast<vec4<i32>>(b) >> vec4<u32>(31u));
    let bits = (b ^ (sign & vec4<u32>(SIGN))) & vec4<u32>(KEEP);
    let nan = (k == vec4<u32>(NAN_KEY)) & vec4<bool>(IS_FLOAT != 0u);
    return select(bits, vec4<u32>(NAN_BITS), nan);
}

fn less(a: Key, b: Key) -> bool {
    return a < b;
}

fn same(a: Key, b: Key) -> bool {
    return a == b;
}

fn lesser(a: Key, b: Key) -> Key {
    return min(a, b);
}

// A key as two words of a record.
fn pack(k: Key) -> vec2<u32> {
    return vec2<u32>(k, 0u);
}

fn unpack(w: vec2<u32>) -> Key {
    return w.x;
}
