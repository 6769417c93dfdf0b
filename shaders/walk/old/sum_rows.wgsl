// Rows: a segment is contiguous. LANES neighbouring invocations share a slice of it: each takes a run of the whole
// vec4, and some of the elements before and behind them. WHOLE_ROWS: one invocation takes a whole row, which is whole vec4.
override WG: u32;
//# if WHOLE_ROWS

fn reduced(row: u32, lid: u32) -> Acc {
    return acc_run(acc_none(), row_run(row));
}
//# else

fn reduced(item: u32, lid: u32) -> Acc {
    let origin = P.src_delta + item / P.slices * P.len;
    let s = item_span(item);
    var a = acc_run(acc_none(), run_of(s, lid % LANES, origin));
    let head = min(s.first * E, s.end) - s.begin;
    let edges = head + max(s.last * E, s.end) - s.last * E;
    for (var i = lid % LANES; i < edges; i += LANES) {
        let e = select(s.last * E + i - head, s.begin + i, i < head);
        a = acc_take(a, raw(e), e - origin);
    }
    return a;
}
//# end
//# if SUBWORDS + NEAR

// The result of a row that one invocation takes alone. `near`: from its window alone, which may not hold the row.
fn result(row: u32, near: bool) -> vec2<u32> {
//# if NEAR
    if near {
        return pack(element_of(near_sum(row_run(row))));
    }
//# end
    return pack(acc_element(reduced(row, 0u)));
}
//# end
//# if SUBWORDS

// The results of {SUBWORDS} rows share a word. An invocation takes the rows of P.coarsening words.
fn take_all(first: u32, lid: u32, near: bool) {
    var bits = 0u;
    var mask = 0u;
    for (var i = 0u; i < {SUBWORDS}u * P.coarsening; i++) {
        let j = i % {SUBWORDS}u;
        let row = output_at(first * P.coarsening, i);
        if row < P.items {
            bits |= lane_bits(result(row, near).x, j);
            mask |= lane_mask(j);
        }
        if j == {SUBWORDS - 1}u {
            write_word(first * P.coarsening + i / {SUBWORDS}u, bits, mask);
            bits = 0u;
            mask = 0u;
        }
    }
}
//# else

fn take(item: u32, lid: u32, near: bool) {
//# if NEAR
    if near {
        write_bits(item, result(item, true));
        return;
    }
//# end
//# if SHARED
    // Invocations without an item repeat the last one, so that all arrive at the barriers.
    let a = acc_across(lid, reduced(min(item, P.items - 1u), lid));
    if lid % LANES == 0u && item < P.items {
        acc_emit(item, a);
    }
//# else
    acc_emit(item, reduced(item, lid));
//# end
}

// Takes P.coarsening neighbouring items. Without COARSENED it is one, and there is no loop: nested loops are slower on
// software rasterisers.
fn take_all(first: u32, lid: u32, near: bool) {
    let begin = first * P.coarsening;
//# if SHARED
    let count = P.coarsening; // for all invocations, because of the barriers
//# else
    let count = min(P.coarsening, max(begin, P.items) - begin);
//# end
//# if COARSENED
    for (var i = 0u; i < count; i++) {
        take(begin + i, lid, near);
    }
//# else
    if count > 0u {
        take(begin, lid, near);
    }
//# end
}
//# end

@compute @workgroup_size(WG)
fn sum_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * (WG / LANES) + lid / LANES;
    take_all(first, lid, {NEAR} != 0);
//# if NEAR
    // If a window does not hold a row, all rows are taken again. Limbs in every iteration would slow them all: software
    // rasterisers run both sides of a branch.
    if far {
        take_all(first, lid, false);
    }
//# end
}
