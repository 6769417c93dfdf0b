// Columns: neighbouring elements belong to neighbouring segments. A matrix of len x inner is
// walked as wide rows of P.width vec4: as many rows side by side as make whole vec4, so that an
// invocation meets the same columns in every wide row. Where several rows lie side by side,
// or a matrix is cut into slices, records are left for a second pass.
// A block of rows is reduced first and only its first remembered; the row is found at the end.
const BLOCK: u32 = 8u;

// A slice of a matrix. Elements count from the vec4 that holds the matrix' first one.
struct Slice {
    first: u32, // that vec4
    skew: u32, // elements of it that come before the matrix
    ends: u32, // the matrix' end
    begin: u32, // wide rows of the slice
    end: u32,
    part: u32, // the slice among all
}

fn slice_of(part: u32) -> Slice {
    let outer = part / P.slices;
    let start = P.src_delta + outer * P.total;
    let skew = start % E;
    let ends = skew + P.total;
    let wide = P.width * E;
    let begin = (part - outer * P.slices) * P.slice;
    let end = min(begin + P.slice, (ends + wide - 1u) / wide);
    return Slice(start / E, skew, ends, begin, max(begin, end), part);
}

// Column vec4 v of the slice's first wide row, which may begin before the matrix.
fn column_start(s: Slice, v: u32) -> Acc {
    if s.begin == s.end {
        // Nothing here: beyond every row, so that no place is found below.
        return acc_start(vec4<u32>(0u), 0u, 0u, P.slices * P.slice);
    }
    let at = (s.begin * P.width + v) * E;
    let low = max(at, s.skew) - at;
    let high = min(at + E, max(s.ends, at)) - at;
    return acc_start(edge(s.first + at / E), low, high, s.begin);
}

// Column vec4 v of the slice's last wide row, which may end after the matrix.
fn column_end(s: Slice, v: u32, acc: Acc) -> Acc {
    if s.end < s.begin + 2u {
        return acc;
    }
    let at = ((s.end - 1u) * P.width + v) * E;
    return acc_take(acc, edge(s.first + at / E), min(at + E, max(s.ends, at)) - at, s.end - 1u);
}

// Whole rows from t on, eight of them; `at` is the column's vec4 in row t, rows are `pitch` apart.
fn column_block(acc: Acc, at: u32, pitch: u32, t: u32) -> Acc {
    let half = at + 4u * pitch;
    let a = Rows(src[at], src[at + pitch], src[at + 2u * pitch], src[at + 3u * pitch]);
    let b = Rows(src[half], src[half + pitch], src[half + 2u * pitch], src[half + 3u * pitch]);
    return acc_block(acc, a, b, t);
}

// What is left of the whole rows.
fn column_rest(acc: Acc, s: Slice, v: u32, t: u32) -> Acc {
    var rest = acc;
    for (var u = t; u + 1u < s.end; u++) {
        rest = acc_take(rest, src[s.first + u * P.width + v], E, u);
    }
    return rest;
}

// The wide row of column i of vec4 v, of which the block is known.
fn column_row(s: Slice, v: u32, acc: Acc, i: u32) -> u32 {
    let block = acc_at(acc, i);
    if block <= s.begin || block + 1u >= s.end {
        return block;
    }
    let want = settle(acc_key(acc, i));
    let column = s.first * E + v * E + i;
    var row = block;
    var found = false;
    for (var t = block; t < min(block + BLOCK, s.end - 1u); t++) {
        let here = same(settle(key(raw(column + t * P.width * E))), want);
        if here && (!found || LAST != 0u) {
            row = t;
        }
        found = found || here;
    }
    return row;
}

fn column_emit(s: Slice, v: u32, acc: Acc) {
    let wide = P.width * E;
    for (var i = 0u; i < E; i++) {
        // Its place among the columns of a wide row, and in the matrix.
        let column = (v * E + i + wide - s.skew) % wide;
        var best = Best(settle(acc_key(acc, i)), nowhere());
        if INDEX != 0u {
            let place = (column_row(s, v, acc, i) * P.width + v) * E + i - s.skew;
            if place < P.total {
                best.index = placed(place / P.inner);
            }
        }
        emit(s.part * wide + column, best);
    }
}
