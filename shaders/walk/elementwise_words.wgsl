// Elementwise, by output words: any shapes, any alignment.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there

fn result(o: u32) -> Raw {
    let at = offsets(o);
    var k = key(raw_0(at));
//# for i in 1..INPUTS
    k = lesser(k, key(raw_{i}(at)));
//# end
    if CHAINED != 0u {
        let e = P.dst_delta + o;
        let w = word_of(e);
//# if BITS == 64
        k = lesser(k, key(raw_from(dst[w], dst[w + 1u], e)));
//# else
        k = lesser(k, key(raw_from(dst[w], 0u, e)));
//# end
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
