// Finish, of many outputs: an invocation takes all records of an output, and P.width words of outputs,
// WG apart.
override WG: u32;

fn finished(o: u32) -> Best {
    var outer = 0u;
    // At most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var column = o; column >= P.inner; column = o - outer * P.inner) {
        outer = o / P.inner;
    }
    let start = o + outer * (P.len - 1u) * P.inner;
    var best = source_record(start);
    for (var i = 1u; i < P.len; i++) {
        let next = source_record(start + i * P.inner);
        if better(next, best) {
            best = next;
        }
    }
    return best;
}

fn value(o: u32) -> u32 {
    return pack(element(finished(o).key)).x;
}

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * WG * P.width + lid;
    for (var i = 0u; i < P.width; i++) {
        let w = first + i * WG;
        if OUT >= 5u {
            write_values(w);
        } else if w < P.items {
            emit(w, finished(w));
        }
    }
}
