// Finish: makes results of partial results. {LANES} neighbouring invocations share those of an output. If it is one, an
// invocation takes P.coarsening words of outputs, WG apart. If results share words, WG / {LANES} is a multiple of 4.

// The first partial result of an output; the others follow, P.inner apart.
fn first_of(o: u32) -> u32 {
    var outer = 0u;
    // Runs at most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var column = o; column >= P.inner; column = o - outer * P.inner) {
        outer = o / P.inner;
    }
    return P.src_delta + o + outer * (P.parts - 1u) * P.inner;
}
//# if LANES > 1

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * (WG / {LANES}u);
    var output = first + lid / {LANES}u;
    if OUT >= 5u {
        output = output_at(0u, output);
    }
    let there = lid % {LANES}u == 0u && output < P.items;
    // Invocations without an output repeat the last one, so that all arrive at the barriers.
    let own = min(output, P.items - 1u);
//# if PARTIAL_SUM
    leave_sum(lid, select(NOWHERE, output, there), true, 0u, One(), false, partials_of(lid, own));
//# else
    let a = reduced(lid, own);
    if OUT < 5u {
        if there {
            acc_emit(output, a);
        }
        return;
    }
//# if BESIDE
    if there {
        write_place(output, a.best.index);
    }
//# end
//# if PARTIAL == 0
    write_gathered(lid, first, pack(acc_element(a)).x);
//# end
//# end
}
//# else
//# if PARTIAL + PARTIAL_SUM == 0

fn value(o: u32) -> u32 {
    let a = reduced(0u, o);
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
//# if PARTIAL_SUM
            leave_sum(0u, w, true, 0u, One(), false, partials_of(0u, w));
//# else
            acc_emit(w, reduced(0u, w));
//# end
        }
    }
}
//# end
