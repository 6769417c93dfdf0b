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
    return element(settle(k));
}

@compute @workgroup_size(WG)
fn zip_words(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        if w < P.items {
            let bits = pack(result(w));
            let at = (P.dst_delta + w) * (HIGH + 1u);
            dst[at] = bits.x;
            if HIGH == 1u {
                dst[at + 1u] = bits.y;
            }
        }
        return;
    }
    var bits = 0u;
    var mask = 0u;
    for (var j = 0u; j < per_word(); j++) {
        let o = output_at(w, j);
        if o < P.items {
            bits |= lane_bits(pack(result(o)).x, j);
            mask |= lane_mask(j);
        }
    }
    write_word(w, bits, mask);
}
