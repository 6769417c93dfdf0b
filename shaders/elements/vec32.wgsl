// A vec4 of elements of 32 bits and less; {PLANES} share a word. Plane j holds the elements that are number j of their
// words: element i is in plane i % {PLANES}, at i / {PLANES}.
alias Raw = u32; // an element, at the top of the word
alias Key = u32; // what it counts as
const KEEP: u32 = {KEEP}u; // the bits of an element
alias Plane = vec4<u32>; // keys
alias Places = vec4<u32>; // where each of them is
alias Mask = vec4<bool>;

// Of one element: what a plane of it has.
fn key(r: Raw) -> Key {
    return key4(vec4<u32>(r)).x;
}

fn canonical(k: Key) -> Key {
    return plane_canonical(Plane(k)).x;
}

fn combined(a: Key, b: Key) -> Key {
    return plane_combined(Plane(a), Plane(b)).x;
}

fn element(k: Key) -> Raw {
    return element4(Plane(k)).x;
}

// The keys of a vec4's elements.
struct Keys {
//# for j in 0..PLANES
    p{j}: Plane,
//# end
}

fn word_of(e: u32) -> u32 {
    return e >> {LOG}u;
}

// Element e, of its word, or of two.
fn raw_from(low: u32, high: u32, e: u32) -> Raw {
//# if PLANES == 1
    return low;
//# else
    return (low << ({32 - BITS}u - {BITS}u * (e & {PLANES - 1}u))) & KEEP;
//# end
}

// A vec4 of one element.
fn splat(r: Raw) -> vec4<u32> {
    let x = r >> {32 - BITS}u;
    var w = x;
//# for j in 1..PLANES
    w |= x << {BITS * j}u;
//# end
    return vec4<u32>(w);
}

// Below the element a key carries noise.
fn keys_of(v: vec4<u32>) -> Keys {
//# if PLANES == 1
    return Keys(key4(v));
//# else
    let turned = words_turned(v);
    return Keys(
//# for j in 0..PLANES - 1
        top_keys(turned << vec4<u32>({32 - BITS * (j + 1)}u)),
//# end
        top_keys(turned),
    );
//# end
}

fn words_of(k: Keys) -> vec4<u32> {
    var w = element4(plane_canonical(k.p{PLANES - 1}));
//# for j in 0..PLANES - 1
    w |= element4(plane_canonical(k.p{j})) >> vec4<u32>({32 - BITS * (j + 1)}u);
//# end
    return w;
}

fn plane_less(a: Plane, b: Plane) -> Mask {
    return a < b;
}

fn plane_same(a: Plane, b: Plane) -> Mask {
    return a == b;
}

fn less(a: Key, b: Key) -> bool {
    return a < b;
}

fn same(a: Key, b: Key) -> bool {
    return a == b;
}

// A key as two words of a partial result.
fn pack(k: Key) -> vec2<u32> {
    return vec2<u32>(k, 0u);
}

fn unpack(w: vec2<u32>) -> Key {
    return w.x;
}

// Key n of a plane, and its place.
fn plane_key(k: Plane, n: u32) -> Key {
    return k[n];
}

fn plane_place(at: Places, n: u32) -> u32 {
    return at[n];
}
