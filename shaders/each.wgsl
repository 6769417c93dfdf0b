// Each: an invocation for every output word walks its segments element by element, whatever
// their stride: for segments too short to share.
override WG: u32;

fn position(o: u32) -> u32 {
    let outer = o / P.inner;
    return P.src_delta + outer * P.len * P.inner + o - outer * P.inner;
}

fn search(o: u32) -> Best {
    let start = position(o);
    var best = settle(key(raw(start)));
    var at = 0u;
    for (var i = 1u; i < P.len; i++) {
        let k = settle(key(raw(start + i * P.inner)));
        if replaces(k, best) {
            best = k;
            at = i;
        }
    }
    return Best(best, placed(at));
}

// The value of output o, at the top of the word.
fn value(o: u32) -> u32 {
    if RAW != 0u {
        return pack(raw(position(o))).x;
    }
    return pack(element(search(o).key)).x;
}

@compute @workgroup_size(WG)
fn each(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        if w < P.items {
            if RAW != 0u {
                write_bits(w, pack(raw(position(w))));
            } else {
                emit(w, search(w));
            }
        }
        return;
    }
    write_values(w);
}
