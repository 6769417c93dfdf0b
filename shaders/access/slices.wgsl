// Columns: neighbouring elements belong to neighbouring segments. A matrix of len x inner is
// walked as wide rows of P.width vec4: as many rows side by side as make whole vec4, so that an
// invocation meets the same columns in every wide row. Where several rows lie side by side,
// or a matrix is cut into slices, records are left for a second pass.
// Of many rows a block is reduced first and only its first remembered; the row is found at the
// end. Of few rows each is remembered.
const BLOCK: u32 = 4u;
const FEW: u32 = 16u;

// A slice of a matrix. Elements count from the vec4 that holds the matrix' first one.
struct Slice {
    first: u32, // that vec4
    skew: u32, // elements of it that come before the matrix
    ends: u32, // the matrix' end
    begin: u32, // wide rows of the slice
    end: u32,
    low: u32, // those that lie wholly in the matrix: all but perhaps its first and its last
    high: u32,
    blocks: u32, // from low on, the end of those that are taken in blocks
    part: u32, // the slice among all
    folds: u32, // rows side by side
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
    let high = max(low, min(end, ends / wide));
//# if BLOCKS
    let blocks = select(low, high - (high - low) % BLOCK, high - low > FEW);
//# else
    let blocks = low;
//# end
    return Slice(start / E, skew, ends, begin, end, low, high, blocks, part, wide / P.inner);
}

// No row yet. Should all there is be what never wins, the first row counts; in an empty slice,
// a place beyond every row, so that none is found below.
fn column_none(s: Slice) -> Acc {
    let t = select(s.low, P.slices * P.slice, s.begin == s.end);
    let none = Bests(Plane(PAD), Places(t));
    return Acc(
//# for j in 0..PLANES
        none,
//# end
    );
}

// A block of whole rows; `at` is the column's vec4 in the first.
fn block_at(at: u32) -> Rows {
    let pitch = P.width;
    return Rows(src[at], src[at + pitch], src[at + 2u * pitch], src[at + 3u * pitch]);
}

//# if RAGGED
// Column vec4 v of the slice's first wide row, which begins before the matrix. Columns of which the
// matrix has no element there begin with the next row.
fn column_start(s: Slice, v: u32) -> Acc {
    let t = s.begin;
    let at = (t * P.width + v) * E;
    let low = max(at, s.skew) - at;
    let high = min(at + E, max(s.ends, at)) - at;
    let k = keys_of(edge(s.first + at / E));
    return Acc(
//# for j in 0..PLANES
        column_begun(k.p{j}, inside(PLACES_{j}, low, high), t),
//# end
    );
}

fn column_begun(k: Plane, valid: Mask, t: u32) -> Bests {
    let key = select(Plane(PAD), plane_canonical(k), valid);
    return Bests(key, select(Places(t + 1u), Places(t), valid));
}

// Column vec4 v of the slice's last wide row, which ends after the matrix.
fn column_end(s: Slice, v: u32, acc: Acc) -> Acc {
    let t = s.end - 1u;
    let at = (t * P.width + v) * E;
    let high = min(at + E, max(s.ends, at)) - at;
    let k = keys_of(edge(s.first + at / E));
    return Acc(
//# for j in 0..PLANES
        column_ended(acc.p{j}, k.p{j}, inside(PLACES_{j}, 0u, high), t),
//# end
    );
}

fn column_ended(b: Bests, k: Plane, valid: Mask, t: u32) -> Bests {
    let all = bests_taken(b, k, t);
    return Bests(select(b.key, all.key, valid), select(b.at, all.at, valid));
}

fn column_joined(earlier: Acc, later: Acc) -> Acc {
    return Acc(
//# for j in 0..PLANES
        bests_joined(earlier.p{j}, later.p{j}),
//# end
    );
}

// What is known of column vec4 v when its whole rows are.
fn column_all(s: Slice, v: u32, whole: Acc) -> Acc {
    var acc = whole;
    if s.low > s.begin {
        let start = column_start(s, v);
        acc = start;
        if s.low < s.high {
            acc = column_joined(start, whole);
        }
    }
    if s.high < s.end {
        acc = column_end(s, v, acc);
    }
    return acc;
}
//# end

//# if SHARED
var<workgroup> wg_key: array<Plane, WG>;
var<workgroup> wg_at: array<Places, WG>;

// The slice for an invocation that has no column.
fn nothing_of(s: Slice) -> Slice {
    let t = s.begin;
    return Slice(s.first, s.skew, s.ends, t, t, t, t, t, s.part, s.folds);
}

// The best of a workgroup's slices, for the invocations of the first of them.
fn shared_best(lid: u32, s: Slice, v: u32, own: Acc) -> Acc {
    let at = Places(v * E - s.skew) + PLACES_0;
    var all = own;
    // A loop: compilers take long for one text a plane.
    for (var j = 0u; j < {PLANES}u; j++) {
        let best = shared_bests(lid, acc_bests(own, j), at + Places(j));
        switch j {
//# for j in 0..PLANES - 1
            case {j}u: {
                all.p{j} = best;
            }
//# end
            default: {
                all.p{PLANES - 1} = best;
            }
        }
    }
    return all;
}

// `at`: the columns' places in the first wide row.
fn shared_bests(lid: u32, own: Bests, at: Places) -> Bests {
    var best = own;
    wg_key[lid] = best.key;
    wg_at[lid] = best.at;
    for (var step = P.lanes; step < WG; step *= 2u) {
        workgroupBarrier();
        if lid / P.lanes * P.lanes % (2u * step) == 0u {
            best = shared_joined(best, Bests(wg_key[lid + step], wg_at[lid + step]), at);
            wg_key[lid] = best.key;
            wg_at[lid] = best.at;
        }
    }
    workgroupBarrier();
    return best;
}

// The last slices may have nothing of a column: they claim a place outside of the matrix, and win no tie.
fn shared_joined(earlier: Bests, later: Bests, at: Places) -> Bests {
    if INDEX == 0u {
        return bests_joined(earlier, later);
    }
    let wide = Places(P.width * E);
    let took = later.at * wide + at < Places(P.total);
    let wins = took & plane_replaces(later.key, earlier.key);
    return Bests(
        select(earlier.key, later.key, wins),
        select(earlier.at, later.at, wins),
    );
}

//# end
// The wide row of column i of vec4 v, of which perhaps only the block is known.
fn column_row(own: Slice, v: u32, acc: Acc, i: u32) -> u32 {
    let block = acc_at(acc, i);
//# if SHARED
    // The slice that it is of.
    let first = own.part - own.part % P.slices;
    let s = slice_of(first + min(block / P.slice, P.slices - 1u));
//# else
    let s = own;
//# end
    var row = block;
    // At most once: software rasterisers skip a loop, but not a branch.
    for (var found = block < s.low || block >= s.blocks; !found; found = true) {
        let want = canonical(acc_key(acc, i));
        let pitch = P.width * E;
        let at = s.first * E + v * E + i + block * pitch;
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

// Where column i of a vec4 lies: among the columns of a wide row, counted from the matrix' start,
// and which of the rows side by side it is of.
struct Column {
    at: u32,
    fold: u32,
    inner: u32, // its place in that row
}

fn column_at(s: Slice, v: u32) -> Column {
    let wide = P.width * E;
    let at = v * E + select(0u, wide, v * E < s.skew) - s.skew;
    var c = Column(at, 0u, at);
    // At most once, as above; and they divide slowly.
    for (; c.inner >= P.inner; c.inner -= c.fold * P.inner) {
        c.fold = at / P.inner;
    }
    return c;
}

// Its right neighbour, without a division; after the last comes the first.
fn column_next(c: Column) -> Column {
    if c.at + 1u == P.width * E {
        return Column(0u, 0u, 0u);
    }
    let wraps = c.inner + 1u == P.inner;
    return Column(c.at + 1u, select(c.fold, c.fold + 1u, wraps), select(c.inner + 1u, 0u, wraps));
}

fn column_emit(s: Slice, v: u32, acc: Acc) {
    let wide = P.width * E;
    var c = column_at(s, v);
    for (var i = 0u; i < E; i++) {
        var best = Best(canonical(acc_key(acc, i)), nowhere());
        if INDEX != 0u {
            // What lies before the matrix' start is of the wide row before.
            let row = column_row(s, v, acc, i) - select(0u, 1u, v * E + i < s.skew);
            if row * wide + c.at < P.total {
                best.index = placed(row * s.folds + c.fold);
            }
        }
//# if SHARED
        emit(s.part / (WG / P.lanes) * wide + c.at, best);
//# else
        emit(s.part * wide + c.at, best);
//# end
        c = column_next(c);
    }
}
