// Extreme columns: like extremes, where neighbouring elements belong to neighbouring segments. An invocation takes a
// vec4 of columns, in blocks of four rows. Everything is whole vec4. Only the least and the greatest of a block are
// kept; their rows are found at the end. P.inner invocations take all columns of a part.
override WG: u32;

// Where an invocation's columns are: their vec4 in row 0, the distance from row to row, and the part's rows.
struct Walk {
    at: u32,
    pitch: u32,
    begin: u32,
    end: u32,
}

fn row_at(w: Walk, t: u32) -> vec4<u32> {
    return whole4(src[w.at + min(t, w.end - 1u) * w.pitch]);
}

// The block that begins with row t. Past the end the last row repeats.
fn rows_at(w: Walk, t: u32) -> Rows {
    return Rows(row_at(w, t), row_at(w, t + 1u), row_at(w, t + 2u), row_at(w, t + 3u));
}

// Whether column i has a side's key in row t.
fn has(s: Side, w: Walk, t: u32, i: u32, turn: bool) -> bool {
    let r = whole(raw((w.at + min(t, w.end - 1u) * w.pitch) * E + i));
    return same(canonical(key(select(r, turned(r), turn))), s.key);
}

// A side whose block is known, with its row found.
fn exact(s: Side, w: Walk, i: u32, turn: bool) -> Side {
    let a = has(s, w, s.at, i, turn);
    let b = has(s, w, s.at + 1u, i, turn);
    let c = has(s, w, s.at + 2u, i, turn);
    let row = s.at + preferred_row(a, b, c, has(s, w, s.at + 3u, i, turn));
    return Side(s.least, s.key, min(row, w.end - 1u));
}

// Writes the partials of a vec4 of columns, from `slot` on. One loop for both sides: FXC takes as long again for a
// second.
fn leave_columns(slot: u32, w: Walk, low: Acc, high: Acc, partials: u32) {
    for (var n = 0u; n < 2u * E; n++) {
        let turn = n >= E;
        let i = n % E;
        var s = acc_side(low, i);
        if turn {
            s = acc_side(high, i);
        }
        leave(slot + i + select(0u, partials, turn), exact(s, w, i, turn));
    }
}

// Walks one vec4 of columns and leaves its partials. The first row is met twice.
fn take_columns(w: Walk, slot: u32, partials: u32) {
    let x = row_at(w, w.begin);
    var low = acc_first(keys_of(x), w.begin);
    var high = acc_first(keys_of(turned4(x)), w.begin);
    for (var t = w.begin; t < w.end; t += 4u) {
        let r = rows_at(w, t);
        low = acc_block(low, r, t);
        high = acc_block(high, turned_rows(r), t);
    }
    leave_columns(slot, w, low, high, partials);
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
    let size = Z.shape[P.kept_dims - 1u].x;
    let width = size / E;
    let outer = lane / width;
    let v = lane - outer * width;
    let first = segment(outer * size) / E + v;
    let pitch = Z.strides[2u * P.kept_dims].x / E;
    let end = min(begin + P.slice, P.len);
    let outputs = P.inner * E;
    let slot = part * outputs + lane * E;
    take_columns(Walk(first, pitch, begin, end), slot, P.slices * outputs);
}
