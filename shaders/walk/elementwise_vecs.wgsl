// Elementwise, by whole vec4 of outputs: everything aligned to 16 bytes, the last dimension in
// whole vec4.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there

@compute @workgroup_size(WG)
fn elementwise_vecs(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let v = linear(group) * WG + lid;
    if v >= P.items {
        return;
    }
    let at = offsets(v);
    var k = keys_0(at, 0u);
//# for i in 1..INPUTS
    k = keys_min(k, keys_{i}(at, 0u));
//# end
    let to = P.dst_delta + v;
    if CHAINED != 0u {
        k = keys_min(k, keys_of(dst[to]));
    }
    dst[to] = words_of(k);
}
