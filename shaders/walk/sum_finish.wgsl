// Finish, of sums: partial sums become results. LANES neighbouring invocations take those of an output that has
// words of its own; where that is one, it takes P.width words of outputs, WG apart.
override WG: u32;
override LANES: u32; // a power of two

// The sum of every so many of an output's partial sums, from number `lane` on.
fn reduced(o: u32, lane: u32) -> Acc {
    let outer = o / P.inner;
    let start = P.src_delta + o + outer * (P.len - 1u) * P.inner;
    var a = acc_none(0u);
    for (var i = lane; i < P.len; i += LANES) {
        a = acc_join(a, start + i * P.inner);
    }
    return a;
}
//# if SHARED

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let output = linear(group) * (WG / LANES) + lid / LANES;
    // Invocations without an output repeat the last one, so that all arrive at the barriers.
    let a = acc_across(lid, reduced(min(output, P.items - 1u), lid % LANES));
    if lid % LANES == 0u && output < P.items {
        acc_emit(output, a);
    }
}
//# else

fn value(o: u32) -> u32 {
    return pack(acc_element(reduced(o, 0u))).x;
}

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * WG * P.width + lid;
    for (var i = 0u; i < P.width; i++) {
        let w = first + i * WG;
        if OUT >= 5u {
            write_values(w);
        } else if w < P.items {
            acc_emit(w, reduced(w, 0u));
        }
    }
}
//# end
