// Elementwise, by whole vec4 of outputs: everything aligned to 16 bytes, the last dimension in
// whole vec4.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there

@compute @workgroup_size(WG)
fn elementwise_vecs(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let v = linear(group) * WG + lid;
    if v < P.items {
        var k = combined(offsets(v));
        let at = P.dst_delta + v;
        if CHAINED != 0u {
            k = keys_min(k, keys_of(dst[at]));
        }
        dst[at] = words_of(k);
    }
}
