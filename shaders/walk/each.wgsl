// Each: an invocation takes the segments of one or several output words, element by element, whatever their stride. For
// segments too short to share.
override WG: u32;
override RAW: u32; // 1: the element's bits as they are
override COARSENED: u32; // 1: P.coarsening words, one after the other; 0: one

fn position(o: u32) -> u32 {
    var outer = o;
    // Runs at most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var known = P.inner == 1u; !known; known = true) {
        outer = o / P.inner;
    }
    return P.src_delta + outer * P.len * P.inner + o - outer * P.inner;
}

fn reduced(o: u32) -> Acc {
    let start = position(o);
    var a = acc_none(0u);
    for (var i = 0u; i < P.len; i++) {
        a = acc_take(a, raw(start + i * P.inner), i);
    }
    return a;
}

// The value of output o, at the top of the word.
fn value(o: u32) -> u32 {
    if RAW != 0u {
        return pack(raw(position(o))).x;
    }
    return pack(acc_element(reduced(o))).x;
}

fn take(w: u32) {
    if OUT < 5u {
        if w < P.items {
            if RAW != 0u {
                write_bits(w, pack(raw(position(w))));
            } else {
                acc_emit(w, reduced(w));
            }
        }
        return;
    }
    write_values(w);
}

@compute @workgroup_size(WG)
fn each(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if COARSENED == 0u {
        take(item);
        return;
    }
    for (var i = 0u; i < P.coarsening; i++) {
        take(item * P.coarsening + i);
    }
}
