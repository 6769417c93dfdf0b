// Order-preserving keys of elements of 32 bits and less, which sit at the top of a word.
// The smallest key wins, compared as u32, whatever the type and the operator.
//
// key() may carry noise below the element and keep apart what must tie. canonical() removes both;
// it never reorders two keys, so that it can follow a minimum instead of preceding it.
override TAKEN: u32; // bits that count: of keys without noise the element's, or a float's magnitude; else all
override SIGN: u32; // bits a set sign flips: all below it for floats, none for integers
override UNSIGN: u32; // the same on the way back: none for magnitudes, which have no sign
override STEP: u32; // what a set sign takes off: the one between complement and negative
override FLIP: u32; // signed: the sign bit; the largest wins: everything
override ROT: u32; // floats: brings the NaNs to the end they belong to
override KEPT: u32; // the bits of an element; of keys without noise all
override FLOOR: u32; // NaNs, and any true bool, are one key
override CEIL: u32;
override ZERO: u32; // the lower of the keys of -0 and +0 where they tie
override ZERO_TO: u32; // the higher of them
override IS_FLOAT: u32;
override INFINITY: u32;
override ENDS: u32; // 0: NaNs are skipped, which the ends below cannot do
override NAN_KEY: u32;
override NAN_BITS: u32;

const PAD: Key = 0xffffffffu;

fn key4(b: vec4<u32>) -> vec4<u32> {
    let sign = bitcast<vec4<u32>>(bitcast<vec4<i32>>(b) >> vec4<u32>(31u));
    let turned = (b & vec4<u32>(TAKEN)) ^ (sign & vec4<u32>(SIGN)) ^ vec4<u32>(FLIP);
    return turned - vec4<u32>(ROT) - (sign & vec4<u32>(STEP));
}

fn key(b: u32) -> Key {
    let sign = bitcast<u32>(bitcast<i32>(b) >> 31u);
    return ((b & TAKEN) ^ (sign & SIGN) ^ FLIP) - ROT - (sign & STEP);
}

fn canonical4(k: vec4<u32>) -> vec4<u32> {
    let c = clamp(k & vec4<u32>(KEPT), vec4<u32>(FLOOR), vec4<u32>(CEIL));
//# if ZEROS
    return select(c, vec4<u32>(ZERO_TO), c == vec4<u32>(ZERO));
//# else
    return c;
//# end
}

fn canonical(k: Key) -> Key {
    let c = clamp(k & KEPT, FLOOR, CEIL);
//# if ZEROS
    return select(c, ZERO_TO, c == ZERO);
//# else
    return c;
//# end
}

// The last key that canonicalizes to a canonical one. Of keys none of which comes before it in the order,
// those that do not exceed this are its equals.
fn last_equal(k: Key) -> Key {
    return select(k | ~KEEP, PAD, k == CEIL);
}

// The element of a canonical key, at the top of the word; a NaN is the canonical one.
fn element(k: Key) -> u32 {
    let b = (k + ROT) ^ FLIP;
    let sign = bitcast<u32>(bitcast<i32>(b) >> 31u);
    let bits = (b ^ (sign & UNSIGN)) & KEEP;
    return select(bits, NAN_BITS, IS_FLOAT != 0u && k == NAN_KEY);
}

fn element4(k: vec4<u32>) -> vec4<u32> {
    let b = (k + vec4<u32>(ROT)) ^ vec4<u32>(FLIP);
    let sign = bitcast<vec4<u32>>(bitcast<vec4<i32>>(b) >> vec4<u32>(31u));
    let bits = (b ^ (sign & vec4<u32>(UNSIGN))) & vec4<u32>(KEEP);
    let nan = (k == vec4<u32>(NAN_KEY)) & vec4<bool>(IS_FLOAT != 0u);
    return select(bits, vec4<u32>(NAN_BITS), nan);
}

fn lesser(a: Key, b: Key) -> Key {
    return min(a, b);
}

// What two keys come to together.
fn combined(a: Key, b: Key) -> Key {
    return min(a, b);
}

fn combined4(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    return min(a, b);
}

// A vec4 that is met again, or for the first time: again it changes nothing.
fn once(v: vec4<u32>, first: bool) -> vec4<u32> {
    return v;
}

// The extremes of many elements as they are, without a key for each: as unsigned and as signed
// numbers. They tell the least key: negative floats rise with their magnitude, so that the
// greatest unsigned word is the least of them, and NaNs lie beyond both infinities. What a kernel
// does not ask for costs nothing.
struct Ends {
    low: vec4<u32>,
    high: vec4<u32>,
    least: vec4<i32>,
    most: vec4<i32>,
}

fn ends(v: vec4<u32>) -> Ends {
    let s = bitcast<vec4<i32>>(v);
    return Ends(v, v, s, s);
}

fn join(a: Ends, b: Ends) -> Ends {
    let low = min(a.low, b.low);
    let high = max(a.high, b.high);
    return Ends(low, high, min(a.least, b.least), max(a.most, b.most));
}

fn low_of(e: Ends) -> u32 {
    let m = min(e.low.xy, e.low.zw);
    return min(m.x, m.y);
}

fn high_of(e: Ends) -> u32 {
    let m = max(e.high.xy, e.high.zw);
    return max(m.x, m.y);
}

fn least_of(e: Ends) -> u32 {
    let m = min(e.least.xy, e.least.zw);
    return bitcast<u32>(min(m.x, m.y));
}

fn most_of(e: Ends) -> u32 {
    let m = max(e.most.xy, e.most.zw);
    return bitcast<u32>(max(m.x, m.y));
}

const TOP: u32 = 0x80000000u;

fn float_of(e: Ends) -> Key {
    let high = high_of(e);
    let most = most_of(e);
    var b = select(low_of(e), high, high >= TOP);
    if FLIP != 0u {
        b = select(most, low_of(e), most >= TOP);
    }
    let below = (high & KEEP) > (INFINITY | TOP);
    let above = most < TOP && (most & KEEP) > INFINITY;
    return select(key(b), NAN_KEY, below || above);
}

// The least key of the elements, which may carry noise.
fn ends_key(e: Ends) -> Key {
    if SIGN != UNSIGN {
        // Magnitudes: the farthest from zero is at one of the ends.
        let plain = min(key(low_of(e)), key(high_of(e)));
        return min(plain, min(key(least_of(e)), key(most_of(e))));
    }
    if IS_FLOAT != 0u {
        return float_of(e);
    }
    // The flipped bits tell the order: unsigned or signed, the least or the greatest.
    switch FLIP >> 30u {
        case 0u: {
            return key(low_of(e));
        }
        case 1u: {
            return key(most_of(e));
        }
        case 2u: {
            return key(least_of(e));
        }
        default: {
            return key(high_of(e));
        }
    }
}

// What is known of vec4 that are taken one after the other: few values live at a time.
struct Fold {
    ends: Ends,
    keys: vec4<u32>,
}

fn fold_of(v: vec4<u32>) -> Fold {
    return Fold(vec_ends(v), vec_keys(v));
}

fn fold(f: Fold, v: vec4<u32>) -> Fold {
    return Fold(join(f.ends, vec_ends(v)), min(f.keys, vec_keys(v)));
}

// Their least key.
fn fold_key(f: Fold) -> Key {
    if ENDS != 0u {
        return ends_key(f.ends);
    }
    return vec_combined(f.keys);
}

fn vec_ends(v: vec4<u32>) -> Ends {
    var e = ends(v);
//# for j in 0..PLANES - 1
    e = join(e, ends(v << vec4<u32>({32 - BITS * (j + 1)}u)));
//# end
    return e;
}
