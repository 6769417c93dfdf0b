// Finish: makes results of partial results. LANES neighbouring invocations share those of an output. If LANES is 1, an
// invocation takes P.coarsening words of outputs, WG apart.
override WG: u32;
override LANES: u32; // a power of two; if results share words, WG / LANES is a multiple of 4

// Joins every LANES-th partial result of an output, from number `lane` on.
fn reduced(o: u32, lane: u32) -> Acc {
    var outer = 0u;
    // Runs at most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var column = o; column >= P.inner; column = o - outer * P.inner) {
        outer = o / P.inner;
    }
    let start = P.src_delta + o + outer * (P.parts - 1u) * P.inner;
    var a = acc_none();
//# if AT_ONCE
    // Four partial results at once, so that one does not wait for the other. Reading one again changes nothing.
    let last = P.parts - 1u;
    for (var i = lane; i < P.parts; i += 4u * LANES) {
        let r0 = acc_read(start + i * P.inner);
        let r1 = acc_read(start + min(i + LANES, last) * P.inner);
        let r2 = acc_read(start + min(i + 2u * LANES, last) * P.inner);
        let r3 = acc_read(start + min(i + 3u * LANES, last) * P.inner);
        a = acc_joined(acc_joined(acc_joined(acc_joined(a, r0), r1), r2), r3);
    }
//# else
    for (var i = lane; i < P.parts; i += LANES) {
        a = acc_join_partial(a, start + i * P.inner);
    }
//# end
    return a;
}
//# if SHARED

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let lane = lid % LANES;
    let first = linear(group) * (WG / LANES);
    var output = first + lid / LANES;
    if OUT >= 5u {
        output = output_at(0u, output);
    }
    // Invocations without an output repeat the last one, so that all arrive at the barriers.
    let a = acc_across(lid, reduced(min(output, P.items - 1u), lane));
    if OUT < 5u {
        if lane == 0u && output < P.items {
            acc_emit(output, a);
        }
        return;
    }
//# if BESIDE
    if lane == 0u && output < P.items {
        write_place(output, a.best.index);
    }
//# end
//# if PARTIAL + PARTIAL_SUM == 0
    write_gathered(lid, LANES, first, pack(acc_element(a)).x);
//# end
}
//# else
//# if PARTIAL + PARTIAL_SUM == 0

fn value(o: u32) -> u32 {
    let a = reduced(o, 0u);
//# if BESIDE
    write_place(o, a.best.index);
//# end
    return pack(acc_element(a)).x;
}
//# end

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * WG * P.coarsening + lid;
    for (var i = 0u; i < P.coarsening; i++) {
        let w = first + i * WG;
//# if PARTIAL + PARTIAL_SUM == 0
        if OUT >= 5u {
            write_values(w);
            continue;
        }
//# end
        if w < P.items {
            acc_emit(w, reduced(w, 0u));
        }
    }
}
//# end
