// The source, as words: any word of it can be read, whatever the size of the binding.
@group(0) @binding(3) var<storage, read> words: array<u32>;

// Four vec4 of it.
struct Rows {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}
