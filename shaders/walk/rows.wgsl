// Rows: a segment is contiguous. LANES neighbouring invocations take a slice of it together: of the whole
// vec4 a run each, and of the elements before and behind them one each.
override WG: u32;
override COARSENED: u32; // 1: lanes take items one after the other; 0: one

fn reduced(item: u32, lid: u32) -> Acc {
    let origin = P.src_delta + item / P.slices * P.len;
    let s = item_span(item);
    var a = acc_run(acc_none(0u), run_of(s, lid % LANES, origin));
    let head = min(s.first * E, s.end) - s.begin;
    let edges = head + max(s.last * E, s.end) - s.last * E;
    for (var i = lid % LANES; i < edges; i += LANES) {
        let e = select(s.last * E + i - head, s.begin + i, i < head);
        a = acc_take(a, raw(e), e - origin);
    }
    return a;
}
//# if SUBWORDS

// Of results that share words an item is a word, and an invocation takes all of it.
fn value(item: u32) -> u32 {
    return pack(acc_element(reduced(item, 0u))).x;
}

fn take(item: u32, lid: u32) {
    write_values(item);
}
//# else

// Lanes without an item repeat the last one, so that all arrive at the barriers.
fn take(item: u32, lid: u32) {
    var a = reduced(min(item, P.items - 1u), lid);
//# if SHARED
    a = acc_across(lid, a);
//# end
    if lid % LANES == 0u && item < P.items {
        acc_emit(item, a);
    }
}
//# end
//# if NEAR

fn near_element(item: u32) -> Raw {
    return element_of(near_sum(run_of(item_span(item), 0u, 0u)));
}

// The same from windows alone, of whole vec4; the loop is that of write_values, with another result.
fn take_near(item: u32) {
//# if SUBWORDS
    var bits = 0u;
    var mask = 0u;
    for (var j = 0u; j < per_word(); j++) {
        let o = output_at(item, j);
        if o < P.items {
            bits |= lane_bits(pack(near_element(o)).x, j);
            mask |= lane_mask(j);
        }
    }
    write_word(item, bits, mask);
//# else
    if item < P.items {
        write_bits(item, pack(near_element(item)));
    }
//# end
}
//# end

// Lanes take P.width neighbouring items, one after the other.
@compute @workgroup_size(WG)
fn rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * (WG / LANES) + lid / LANES;
//# if NEAR
    // If a window does not hold a row, all are taken again: limbs in every turn would slow them all on software
    // rasterisers, which run through both sides of a branch.
    for (var i = 0u; i < P.width; i++) {
        take_near(first * P.width + i);
    }
    for (var i = 0u; far && i < P.width; i++) {
        take(first * P.width + i, lid);
    }
//# else
    // Software rasterisers run a loop in a loop slower: none where none is needed.
    if COARSENED == 0u {
        take(first, lid);
        return;
    }
    for (var i = 0u; i < P.width; i++) {
        take(first * P.width + i, lid);
    }
//# end
}
