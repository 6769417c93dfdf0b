// Order-preserving keys of elements of 32 bits and less, which sit at the top of a word.
// The smallest key wins, compared as u32, whatever the type and the operator.
//
// key() may carry noise below the element and keep apart what must tie. canonical() removes both;
// it never reorders two keys, so that it can follow a minimum instead of preceding it.
override TAKEN: u32; // bits that count: of signed magnitudes all but the sign
override SIGN: u32; // bits a set sign flips: all below it for floats, none for integers
override UNSIGN: u32; // the same on the way back: none for magnitudes, which have no sign
override STEP: u32; // what a set sign takes off: the one between complement and negative
override FLIP: u32; // signed: the sign bit; the largest wins: everything
override ROT: u32; // floats: brings the NaNs to the end they belong to
override FLOOR: u32; // NaNs, and any true bool, are one key
override CEIL: u32;
override ZERO: u32; // the lower of the keys of -0 and +0 where they tie
override ZERO_TO: u32; // the higher of them
override IS_FLOAT: u32;
override NAN_KEY: u32;
override NAN_BITS: u32;

//# if BITS < 32
// The same for all elements of a word at once.
override WORD_TAKEN: u32;
override WORD_SIGN: u32; // of one element, as STEP
override WORD_FLIP: u32;
override WORD_STEP: u32; // what a set sign adds
override WORD_ROT: u32; // of the element at the top
//# end

const PAD: Key = 0xffffffffu;
//# if BITS < 32

// All elements of each word, turned but not yet counted from the end of the order. Nothing is carried between them.
fn words_turned(v: vec4<u32>) -> vec4<u32> {
    let signs = (v >> vec4<u32>({BITS - 1}u)) & vec4<u32>({ONES}u);
    return ((v & vec4<u32>(WORD_TAKEN)) ^ (signs * WORD_SIGN) ^ vec4<u32>(WORD_FLIP)) + signs * WORD_STEP;
}

// The key of the element at the top of each turned word.
fn top_keys(turned: vec4<u32>) -> vec4<u32> {
    return turned - vec4<u32>(WORD_ROT);
}
//# end

fn key4(b: vec4<u32>) -> vec4<u32> {
    let sign = bitcast<vec4<u32>>(bitcast<vec4<i32>>(b) >> vec4<u32>(31u));
    let turned = (b & vec4<u32>(TAKEN)) ^ (sign & vec4<u32>(SIGN)) ^ vec4<u32>(FLIP);
    return turned - vec4<u32>(ROT) - (sign & vec4<u32>(STEP));
}

// Not beyond the last key of the order.
fn plane_ceiled(k: Plane) -> Plane {
//# if CEILED
    return min(k, vec4<u32>(CEIL));
//# else
    return k;
//# end
}

// Canonical, but zeros differ.
fn plane_bounded(k: Plane) -> Plane {
    var c = plane_ceiled(k);
//# if FLOORED
    c = max(c, vec4<u32>(FLOOR));
//# end
//# if BITS < 32
    c &= vec4<u32>(KEEP);
//# end
    return c;
}

fn bounded(k: Key) -> Key {
    return plane_bounded(Plane(k)).x;
}

fn plane_canonical(k: Plane) -> Plane {
    let c = plane_bounded(k);
//# if ZEROS
    return select(c, vec4<u32>(ZERO_TO), c == vec4<u32>(ZERO));
//# else
    return c;
//# end
}

// The elements of canonical keys, at the top of each word; a NaN is the canonical one.
fn element4(k: vec4<u32>) -> vec4<u32> {
    let b = (k + vec4<u32>(ROT)) ^ vec4<u32>(FLIP);
    let sign = bitcast<vec4<u32>>(bitcast<vec4<i32>>(b) >> vec4<u32>(31u));
    let bits = (b ^ (sign & vec4<u32>(UNSIGN))) & vec4<u32>(KEEP);
    let nan = (k == vec4<u32>(NAN_KEY)) & vec4<bool>(IS_FLOAT != 0u);
    return select(bits, vec4<u32>(NAN_BITS), nan);
}

// The keys of two elements together.
fn plane_combined(a: Plane, b: Plane) -> Plane {
    return min(a, b);
}
