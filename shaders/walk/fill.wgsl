// Fill: every output is the same element.
override WG: u32;

@compute @workgroup_size(WG)
fn fill(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        let at = P.dst_delta + w;
        if w < P.items {
            if OUT == 1u || OUT == 4u {
                dst[2u * at] = P.fill_lo;
                dst[2u * at + 1u] = P.fill_hi;
            } else {
                dst[at] = P.fill_lo;
            }
        }
        return;
    }
    var bits = 0u;
    var mask = 0u;
    for (var j = 0u; j < per_word(); j++) {
        if output_at(w, j) < P.items {
            bits |= lane_bits(P.fill_lo, j);
            mask |= lane_mask(j);
        }
    }
    write_word(w, bits, mask);
}
