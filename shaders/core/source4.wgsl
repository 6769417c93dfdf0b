// The source, as whole vec4 and as words. Both bind the same range: where its size is no
// multiple of 16 bytes, the last words are out of reach of the vec4.
@group(0) @binding(1) var<storage, read> src: array<vec4<u32>>;

// A vec4 that may lie partly outside the binding; the words outside mean nothing.
fn edge(v: u32) -> vec4<u32> {
    let end = arrayLength(&words) - 1u;
    let w = min(vec4<u32>(4u * v) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(end));
    return vec4<u32>(words[w.x], words[w.y], words[w.z], words[w.w]);
}
