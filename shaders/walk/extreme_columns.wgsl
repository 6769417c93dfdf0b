// Extreme columns: as extremes, where neighbouring elements belong to neighbouring segments: two
// neighbouring vec4 of columns an invocation, one after the other; rows in blocks of four. Everything
// lies in whole vec4. Of a block only the least and the greatest are remembered; their row is found at
// the end.
// P.inner invocations take all columns of a part.
override WG: u32;

// Where the columns of an invocation are: the vec4 in the part's first row, from one row to the
// next, and the rows.
struct Walk {
    at: u32,
    pitch: u32,
    begin: u32,
    end: u32,
}

fn row_at(w: Walk, t: u32) -> vec4<u32> {
    return whole4(src[w.at + min(t, w.end - 1u) * w.pitch]);
}

// The block that begins with row t; past the end the last row again.
fn rows_at(w: Walk, t: u32) -> Rows {
    return Rows(row_at(w, t), row_at(w, t + 1u), row_at(w, t + 2u), row_at(w, t + 3u));
}

// A side whose block is known, with its row.
fn exact(s: Side, w: Walk, i: u32, turn: bool) -> Side {
    var row = nowhere().x;
    for (var j = 0u; j < 4u; j++) {
        let t = min(s.at + j, w.end - 1u);
        let r = whole(raw((w.at + t * w.pitch) * E + i));
        var k = key(r);
        if turn {
            k = key(turned(r));
        }
        let here = select(nowhere().x, t, same(canonical(k), s.key));
        row = select(min(row, here), max(row, here), LAST != 0u);
    }
    return Side(s.least, s.key, row);
}

// Leaves the records of the columns of a vec4, of which the first goes to `slot`. One loop for both
// sides: FXC compiles a second one as long as the first.
fn leave_columns(slot: u32, w: Walk, low: Acc, high: Acc, records: u32) {
    for (var n = 0u; n < 2u * E; n++) {
        let turn = n >= E;
        let i = n % E;
        var s = acc_side(low, i);
        if turn {
            s = acc_side(high, i);
        }
        leave(slot + i + select(0u, records, turn), exact(s, w, i, turn));
    }
}

// Walks one vec4 of columns and leaves its records. The first row is met twice.
fn take_columns(w: Walk, slot: u32, records: u32) {
    let x = row_at(w, w.begin);
    var low = acc_first(keys_of(x), w.begin);
    var high = acc_first(keys_of(turned4(x)), w.begin);
    for (var t = w.begin; t < w.end; t += 4u) {
        let r = rows_at(w, t);
        low = acc_block(low, r, t);
        high = acc_block(high, turned_rows(r), t);
    }
    leave_columns(slot, w, low, high, records);
}

@compute @workgroup_size(WG)
fn extreme_columns(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let part = item / P.inner;
    let begin = part * P.slice;
    // A shorter window has fewer parts.
    if begin >= P.len {
        return;
    }
    let lane = item - part * P.inner;
    // The last kept dimension has neighbouring elements.
    let size = Z.shape[P.lanes - 1u].x;
    let width = size / E;
    let lanes = (width + 1u) / 2u;
    let outer = lane / lanes;
    let v = 2u * (lane - outer * lanes);
    let next = min(v + 1u, width - 1u);
    let first = segment(outer * size) / E;
    let pitch = Z.strides[2u * P.lanes].x / E;
    let end = min(begin + P.slice, P.len);
    let outputs = P.inner / lanes * size;
    let slot = part * outputs + outer * size;
    let records = P.slices * outputs;
    for (var i = v; i <= next; i++) {
        take_columns(Walk(first + i, pitch, begin, end), slot + i * E, records);
    }
}
