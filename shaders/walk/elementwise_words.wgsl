// Elementwise, by output words: any shapes, any alignment.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there

fn dst_raw(e: u32) -> Raw {
    let w = word_of(e);
    return raw_from(dst[w], dst[w + HIGH], e);
}

fn result(o: u32) -> Raw {
    var k = combined(offsets(o));
    if CHAINED != 0u {
        k = lesser(k, key(dst_raw(P.dst_delta + o)));
    }
    return element(canonical(k));
}

// At the top of the word.
fn value(o: u32) -> u32 {
    return pack(result(o)).x;
}

@compute @workgroup_size(WG)
fn elementwise_words(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        if w < P.items {
            write_bits(w, pack(result(w)));
        }
        return;
    }
    write_values(w);
}
