// Fill: every output is the same element.

fn value(o: u32) -> u32 {
    return P.fill_lo;
}

@compute @workgroup_size(WG)
fn fill(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT >= 5u {
        write_values(w);
    } else if w < P.items {
        write_bits(w, vec2<u32>(P.fill_lo, P.fill_hi));
    }
}
