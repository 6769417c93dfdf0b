// A vec4 of two elements of 64 bits, low word first, each a plane by itself. As vec32.wgsl otherwise.
alias Raw = vec2<u32>;
alias Key = vec2<u32>;
const KEEP: Key = Key(0xffffffffu); // as in vec32.wgsl
alias Plane = Key;
alias Places = u32;
alias Mask = bool;

struct Keys {
    p0: Plane,
    p1: Plane,
}

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

fn words_of(k: Keys) -> vec4<u32> {
    return vec4<u32>(element(canonical(k.p0)), element(canonical(k.p1)));
}

fn plane_canonical(k: Plane) -> Plane {
    return canonical(k);
}

fn plane_combined(a: Plane, b: Plane) -> Plane {
    return combined(a, b);
}

fn plane_less(a: Plane, b: Plane) -> Mask {
    return less(a, b);
}

fn plane_same(a: Plane, b: Plane) -> Mask {
    return same(a, b);
}

// Without `&&` and `||`, which are branches.
fn less(a: Key, b: Key) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

fn same(a: Key, b: Key) -> bool {
    return (a.x == b.x) & (a.y == b.y);
}

fn pack(k: Key) -> vec2<u32> {
    return k;
}

fn unpack(w: vec2<u32>) -> Key {
    return w;
}

// The key of a plane, which holds one, and its place.
fn plane_key(k: Plane, n: u32) -> Key {
    return k;
}

fn plane_place(at: Places, n: u32) -> u32 {
    return at;
}
