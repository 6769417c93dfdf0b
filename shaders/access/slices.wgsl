// Columns: neighbouring elements belong to neighbouring segments. A matrix of len x inner is walked as wide rows of
// P.width vec4. Rows are joined until they make whole vec4, so that an invocation meets the same columns in every wide
// row. Joined rows and slices leave partials for a second pass. Many rows are reduced in blocks, and only the first row
// of a block is kept; the row of the element is found at the end. Of few rows each is taken by itself.
const BLOCK: u32 = 4u;
const FEW: u32 = 16u;

// A slice of a matrix. Elements count from the vec4 that holds the matrix' first one.
struct Slice {
    first: u32, // that vec4
    skew: u32, // elements of it that come before the matrix
    begin: u32, // wide rows of the slice
    end: u32,
    low: u32, // the first that begins in the matrix
    blocks: u32, // end of the rows from low on that are taken in blocks
    part: u32, // number of the slice among all
    folds: u32, // joined rows
}

fn slice_of(part: u32) -> Slice {
    let outer = part / P.slices;
    let start = P.src_delta + outer * P.total;
    let skew = start % E;
    let ends = skew + P.total;
    let wide = P.width * E;
    let begin = (part - outer * P.slices) * P.slice;
    let end = max(begin, min(begin + P.slice, (ends + wide - 1u) / wide));
    let low = begin + select(0u, 1u, begin == 0u && skew > 0u);
//# if BLOCKS
    let high = max(low, min(end, ends / wide));
    let blocks = select(low, high - (high - low) % BLOCK, high - low > FEW);
//# else
    let blocks = low;
//# end
    return Slice(start / E, skew, begin, end, low, blocks, part, wide / P.inner);
}

// The row from which places count: packed places must be small.
fn origin(s: Slice) -> u32 {
//# if PACKED
    return s.begin;
//# else
    return 0u;
//# end
}

// A place that is beyond every row.
fn beyond(s: Slice) -> u32 {
    return P.slices * P.slice - origin(s);
}

// No row yet of column vec4 v. If nothing ever wins, the first row counts. An empty slice has a place beyond every row,
// so that no row is found for it.
fn column_none(s: Slice, v: u32) -> Acc {
//# if PACKED
    return Acc(
//# for j in 0..PLANES
        Bests(Plane(PAD)),
//# end
    );
//# else
    let place = select(s.begin - origin(s), beyond(s), s.begin == s.end);
    return Acc(
//# for j in 0..PLANES
//# if RAGGED
        Bests(Plane(PAD), select(Places(place + 1u), Places(place), column_has(s, v, s.begin, PLACES_{j}))),
//# else
        Bests(Plane(PAD), Places(place)),
//# end
//# end
    );
//# end
}

// A block of whole rows; `at` is the column's vec4 in the first row.
fn block_at(at: u32) -> Rows {
    let pitch = P.width;
    return Rows(src[at], src[at + pitch], src[at + 2u * pitch], src[at + 3u * pitch]);
}

//# if RAGGED
// Which columns of vec4 v lie in the matrix in row t: its first and its last row may lack some.
fn column_has(s: Slice, v: u32, t: u32, places: Places) -> Mask {
    return Places((t * P.width + v) * E - s.skew) + places < Places(P.total);
}

// Takes column vec4 v of row t, which is read at `at`.
fn column_take(s: Slice, v: u32, at: u32, acc: Acc, t: u32) -> Acc {
    let k = keys_of(edge(at));
    return Acc(
//# for j in 0..PLANES
        column_taken(acc.p{j}, k.p{j}, t - origin(s), column_has(s, v, t, PLACES_{j})),
//# end
    );
}

fn column_taken(b: Bests, k: Plane, place: u32, has: Mask) -> Bests {
    let all = bests_taken(b, k, place);
//# if PACKED
    return Bests(select(b.key, all.key, has));
//# else
    return Bests(select(b.key, all.key, has), select(b.at, all.at, has));
//# end
}
//# end

// The best keys of a plane of columns, with the rows in which they were met.
struct Met {
    key: Plane,
    row: Places,
}

fn met(s: Slice, b: Bests) -> Met {
    let row = bests_places(b, beyond(s)) + Places(origin(s));
//# if PACKED
    // Removes the place from the key.
    if INDEX != 0u {
        return Met(b.key & Plane(KEEP), row);
    }
//# end
    return Met(b.key, row);
}
//# if SHARED

var<workgroup> wg_key: array<Plane, WG>;
var<workgroup> wg_row: array<Places, WG>;

// An empty slice, for an invocation that has no column.
fn nothing_of(s: Slice) -> Slice {
    let t = s.begin;
    return Slice(s.first, s.skew, t, t, t, t, s.part, s.folds);
}

// The best of a workgroup's slices, for the invocations of the first of them.
// `at`: the columns' places in the first wide row.
fn shared_best(lid: u32, own: Met, at: Places) -> Met {
    var best = own;
    wg_key[lid] = best.key;
    wg_row[lid] = best.row;
    for (var step = P.team; step < WG; step *= 2u) {
        workgroupBarrier();
        if lid / P.team * P.team % (2u * step) == 0u {
            best = shared_joined(best, Met(wg_key[lid + step], wg_row[lid + step]), at);
            wg_key[lid] = best.key;
            wg_row[lid] = best.row;
        }
    }
    workgroupBarrier();
    return best;
}

// The last slices may have no row of a column. Their place is then outside of the matrix, and they win no tie.
fn shared_joined(earlier: Met, later: Met, at: Places) -> Met {
    if INDEX == 0u {
        return Met(plane_combined(earlier.key, later.key), earlier.row);
    }
    let wide = Places(P.width * E);
    let took = later.row * wide + at < Places(P.total);
    let wins = took & plane_replaces(later.key, earlier.key);
    return Met(
        select(earlier.key, later.key, wins),
        select(earlier.row, later.row, wins),
    );
}
//# end

// The wide row whose element e has the key `want`. It may be that only its block is known.
fn column_row(own: Slice, e: u32, want: Key, block: u32) -> u32 {
//# if SHARED
    // The slice that holds the row.
    let first = own.part - own.part % P.slices;
    let s = slice_of(first + min(block / P.slice, P.slices - 1u));
//# else
    let s = own;
//# end
    var row = block;
    // Runs at most once: software rasterisers skip a loop, but not a branch.
    for (var found = block < s.low || block >= s.blocks; !found; found = true) {
        let pitch = P.width * E;
        let at = s.first * E + e + block * pitch;
        let a = is_key(at, want);
        let b = is_key(at + pitch, want);
        let c = is_key(at + 2u * pitch, want);
        row = block + preferred_row(a, b, c, is_key(at + 3u * pitch, want));
    }
    return row;
}

fn is_key(e: u32, want: Key) -> bool {
    return same(canonical(key(raw(e))), want);
}

// Which of the joined rows a column belongs to.
fn beside(at: u32) -> u32 {
    var row = 0u;
    // Runs at most once, as above. Software rasterisers divide slowly, too.
    for (; row == 0u && at >= P.inner;) {
        row = at / P.inner;
    }
    return row;
}

// Writes one plane after the other, in a loop: a text for each plane compiles slowly. SHARED: every invocation calls
// it, and those of the first slice write.
fn column_emit(lid: u32, s: Slice, v: u32, acc: Acc) {
    let wide = P.width * E;
    for (var j = 0u; j < {PLANES}u; j++) {
//# if SHARED
        let best = shared_best(lid, met(s, acc_bests(acc, j)), Places(v * E - s.skew + j) + PLACES_0);
        let partial = s.part / (WG / P.team);
        let writes = lid < P.team && v < P.width;
//# else
        let best = met(s, acc_bests(acc, j));
        let partial = s.part;
        let writes = v < P.width;
//# end
        for (var i = select(E, j, writes); i < E; i += {PLANES}u) {
            let e = v * E + i;
            // The place in a wide row, counted from the matrix' start. What lies before that belongs to the previous
            // wide row.
            let before = e < s.skew;
            let at = e + select(0u, wide, before) - s.skew;
            var found = Best(canonical(plane_key(best.key, i >> {LOG}u)), nowhere());
            if INDEX != 0u {
                let block = plane_place(best.row, i >> {LOG}u);
                let row = column_row(s, e, found.key, block) - select(0u, 1u, before);
                if row * wide + at < P.total {
                    found.index = placed(row * s.folds + beside(at));
                }
            }
            emit(partial * wide + at, found);
        }
    }
}
