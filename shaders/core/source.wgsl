//# if VIEW_VECS
// A view of whole vec4.
@group(0) @binding(3) var<storage, {READ}> src: array<vec4<u32>>;

fn word(w: u32) -> u32 {
    return src[w / 4u][w % 4u];
}
//# else
// The source, as words: any word of it can be read, whatever the size of the binding.
@group(0) @binding(3) var<storage, {READ}> words: array<u32>;

fn word(w: u32) -> u32 {
    return words[w];
}
//# end

// Element e.
fn raw(e: u32) -> Raw {
    let w = word_of(e);
    return raw_from(word(w), word(w + {BITS / 64}u), e);
}
//# if SRC

// The same range as whole vec4. If its size is no multiple of 16 bytes, the vec4 do not reach the last words.
@group(0) @binding(1) var<storage, {READ}> src: array<vec4<u32>>;
//# end

// A vec4 that may be read again. In a sum an element counts only the first time: then it is -0, or a whole 0, which adds
// nothing. A minimum does not change.
fn once(v: vec4<u32>, first: bool) -> vec4<u32> {
//# if TERMS + EXACT
    let nothing = vec2<u32>({NO_ELEMENT * (BITS < 64)}u, {NO_ELEMENT}u).xyxy;
    return select(nothing, v, vec4<bool>(first));
//# else
    return v;
//# end
}
