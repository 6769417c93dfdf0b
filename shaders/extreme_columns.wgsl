// Extreme columns: as extremes, where neighbouring elements belong to neighbouring segments: two
// neighbouring vec4 of columns an invocation, below 32 bits one after the other; rows in blocks of
// four. Everything lies in whole vec4. Of a block only the least and the greatest are remembered;
// their row is found at the end.
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

fn rows_at(at: u32, pitch: u32) -> Rows {
    let a = whole4(src[at]);
    let b = whole4(src[at + pitch]);
    let c = whole4(src[at + 2u * pitch]);
    return Rows(a, b, c, whole4(src[at + 3u * pitch]));
}

fn rows_keys(r: Rows) -> Keys {
    return keys_min(keys_min(keys_of(r.a), keys_of(r.b)), keys_min(keys_of(r.c), keys_of(r.d)));
}

fn turned_rows(r: Rows) -> Rows {
    return Rows(turned4(r.a), turned4(r.b), turned4(r.c), turned4(r.d));
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
        let here = select(nowhere().x, t, same(settle(k), s.key));
        row = select(min(row, here), max(row, here), LAST != 0u);
    }
    return Side(s.least, s.key, row);
}

// Leaves the records of the columns of a vec4, of which the first goes to `slot`.
fn leave_columns(slot: u32, w: Walk, low: Column, high: Column, records: u32) {
    for (var i = 0u; i < E; i++) {
        leave(slot + i, exact(column_side(low, i), w, i, false));
        leave(records + slot + i, exact(column_side(high, i), w, i, true));
    }
}

// Walks one vec4 of columns and leaves its records.
fn take_columns(w: Walk, slot: u32, records: u32) {
    let x = whole4(src[w.at + w.begin * w.pitch]);
    var low = column(keys_of(x), w.begin);
    var high = column(keys_of(turned4(x)), w.begin);
    var t = w.begin + 1u;
    for (; t + 3u < w.end; t += 4u) {
        let r = rows_at(w.at + t * w.pitch, w.pitch);
        low = column_taken(low, rows_keys(r), t);
        high = column_taken(high, rows_keys(turned_rows(r)), t);
    }
    for (; t < w.end; t++) {
        let r = whole4(src[w.at + t * w.pitch]);
        low = column_taken(low, keys_of(r), t);
        high = column_taken(high, keys_of(turned4(r)), t);
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
    // At the end of an odd row the last vec4 is taken twice, and written once.
    let next = min(v + 1u, width - 1u);
    let first = segment(outer * size) / E;
    let pitch = Z.strides[2u * P.lanes].x / E;
    let a = Walk(first + v, pitch, begin, min(begin + P.slice, P.len));
    let b = Walk(first + next, pitch, begin, a.end);
    let outputs = P.inner / lanes * size;
    let slot = part * outputs + outer * size;
    let records = P.slices * outputs;
    // What is known of two vec4 of elements below 32 bits does not fit the registers of a GPU.
    if E >= 8u {
        for (var i = v; i <= next; i++) {
            take_columns(Walk(first + i, pitch, begin, a.end), slot + i * E, records);
        }
        return;
    }
    let x = whole4(src[a.at + begin * pitch]);
    let y = whole4(src[b.at + begin * pitch]);
    var low_a = column(keys_of(x), begin);
    var high_a = column(keys_of(turned4(x)), begin);
    var low_b = column(keys_of(y), begin);
    var high_b = column(keys_of(turned4(y)), begin);
    var t = begin + 1u;
    for (; t + 3u < a.end; t += 4u) {
        let r = rows_at(a.at + t * pitch, pitch);
        low_a = column_taken(low_a, rows_keys(r), t);
        high_a = column_taken(high_a, rows_keys(turned_rows(r)), t);
        let s = rows_at(b.at + t * pitch, pitch);
        low_b = column_taken(low_b, rows_keys(s), t);
        high_b = column_taken(high_b, rows_keys(turned_rows(s)), t);
    }
    for (; t < a.end; t++) {
        let r = whole4(src[a.at + t * pitch]);
        low_a = column_taken(low_a, keys_of(r), t);
        high_a = column_taken(high_a, keys_of(turned4(r)), t);
        let s = whole4(src[b.at + t * pitch]);
        low_b = column_taken(low_b, keys_of(s), t);
        high_b = column_taken(high_b, keys_of(turned4(s)), t);
    }
    leave_columns(slot + v * E, a, low_a, high_a, records);
    if next > v {
        leave_columns(slot + next * E, b, low_b, high_b, records);
    }
}
