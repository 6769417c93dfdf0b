// The inputs of an elementwise kernel. Each is read by whole vec4, as the output is written, or element by element, at
// any place: then one element serves a whole vec4.
//# for i in 0..INPUTS
//# if (VECS > 0) & ((SCALARS >> i & 1) == 0)
@group(0) @binding({3 + i}) var<storage, {READ}> in_{i}: array<vec4<u32>>;

fn vec_{i}(at: Offsets) -> vec4<u32> {
    return in_{i}[offset_{i}(at)];
}
//# else
@group(0) @binding({3 + i}) var<storage, {READ}> in_{i}: array<u32>;

fn raw_{i}(at: Offsets) -> Raw {
    let e = offset_{i}(at);
    let w = word_of(e);
    return raw_from(in_{i}[w], in_{i}[w + {BITS / 64}u], e);
}
//# if VECS > 0

fn vec_{i}(at: Offsets) -> vec4<u32> {
    return splat(raw_{i}(at));
}
//# end
//# end

fn offset_{i}(at: Offsets) -> u32 {
//# if i < 4
    return at.a[{i}u];
//# else
    return at.b[{i - 4}u];
//# end
}
//# end
