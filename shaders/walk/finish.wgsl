// Finish: partial results become results. LANES neighbouring invocations take those of an output; where
// that is one, it takes P.width words of outputs, WG apart.
override WG: u32;
override LANES: u32; // a power of two; WG / LANES is a multiple of 4

// Canonical, unless both ends of an order were searched at once.
fn source_record(r: u32) -> Best {
    let w = src[P.src_delta + r];
    return Best(canonical(unpack(w.xy)), w.zw);
}

// The best of every so many of an output's partial results, from number `lane` on.
fn finished(o: u32, lane: u32) -> Best {
    var outer = 0u;
    // At most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var column = o; column >= P.inner; column = o - outer * P.inner) {
        outer = o / P.inner;
    }
    let start = o + outer * (P.len - 1u) * P.inner;
    var best = source_record(start + min(lane, P.len - 1u) * P.inner);
    for (var i = lane + LANES; i < P.len; i += LANES) {
        let next = source_record(start + i * P.inner);
        if better(next, best) {
            best = next;
        }
    }
    return best;
}
//# if SHARED

var<workgroup> wg_key: array<Key, WG>;
var<workgroup> wg_index: array<vec2<u32>, WG>;

fn shared_best(lid: u32) -> Best {
    return Best(wg_key[lid], wg_index[lid]);
}

fn share(lid: u32, best: Best) {
    wg_key[lid] = best.key;
    wg_index[lid] = best.index;
}

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let lane = lid % LANES;
    let first = linear(group) * (WG / LANES);
    var output = first + lid / LANES;
    if OUT >= 5u {
        output = output_at(0u, output);
    }
    // Invocations without an output repeat the last one, so that all arrive at the barriers.
    let o = min(output, P.items - 1u);
    share(lid, finished(o, lane));
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half && better(shared_best(lid + half), shared_best(lid)) {
            share(lid, shared_best(lid + half));
        }
    }
    if OUT < 5u {
        if lane == 0u && output < P.items {
            emit(o, shared_best(lid));
        }
        return;
    }
    workgroupBarrier();
    if lid * per_word() < WG / LANES {
        var bits = 0u;
        var mask = 0u;
        for (var j = 0u; j < per_word(); j++) {
            if output_at(first / per_word() + lid, j) < P.items {
                let r = lid * per_word() + j;
                bits |= lane_bits(pack(element(wg_key[r * LANES])).x, j);
                mask |= lane_mask(j);
            }
        }
        write_word(first / per_word() + lid, bits, mask);
    }
}
//# else

fn value(o: u32) -> u32 {
    return pack(element(finished(o, 0u).key)).x;
}

@compute @workgroup_size(WG)
fn finish(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * WG * P.width + lid;
    for (var i = 0u; i < P.width; i++) {
        let w = first + i * WG;
        if OUT >= 5u {
            write_values(w);
        } else if w < P.items {
            emit(w, finished(w, 0u));
        }
    }
}
//# end
