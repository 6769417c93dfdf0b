// Elementwise, by whole vec4 of outputs, for adapters that like long stretches: a team of
// invocations takes eight runs of a row, and so many rows one after the other. What an input
// repeats in every row is read once.
// P.lanes: invocations a row; P.width: vec4 in a row; P.total: rows in a matrix, P.inner: parts
// they are taken in, of P.slice rows.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there

const TEAM: u32 = 8u;
const RUNS: u32 = 8u;

// Further by n strides of entry d.
fn along(at: Offsets, d: u32, n: u32) -> Offsets {
    return Offsets(at.a + n * Z.strides[2u * d], at.b + n * Z.strides[2u * d + 1u]);
}

// Writes the vec4 of a column, if it is one of the row.
fn put(column: u32, row: u32, k: Keys) {
    if column >= P.width {
        return;
    }
    let at = row + column;
    var keys = k;
    if CHAINED != 0u {
        keys = keys_min(k, keys_of(dst[at]));
    }
    dst[at] = words_of(keys);
}

@compute @workgroup_size(WG)
fn elementwise_strips(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let part = item / P.lanes;
    let lane = item % P.lanes;
    let first = lane / TEAM * (TEAM * RUNS) + lane % TEAM;
    let outer = part / P.inner;
    let skip = (part - outer * P.inner) * P.slice;
    let rows = min(P.slice, P.total - skip);
    // The entries behind the dimensions: along a row, and from row to row.
    var at = along(offsets(part), P.len, first);
    var row = P.dst_delta + (outer * P.total + skip) * P.width;
    let a = still(at, 0u);
    let b = still(at, TEAM);
    let c = still(at, 2u * TEAM);
    let d = still(at, 3u * TEAM);
    let e = still(at, 4u * TEAM);
    let f = still(at, 5u * TEAM);
    let g = still(at, 6u * TEAM);
    let h = still(at, 7u * TEAM);
    for (var i = 0u; i < rows; i++) {
        put(first, row, moving(a, at, 0u));
        put(first + TEAM, row, moving(b, at, TEAM));
        put(first + 2u * TEAM, row, moving(c, at, 2u * TEAM));
        put(first + 3u * TEAM, row, moving(d, at, 3u * TEAM));
        put(first + 4u * TEAM, row, moving(e, at, 4u * TEAM));
        put(first + 5u * TEAM, row, moving(f, at, 5u * TEAM));
        put(first + 6u * TEAM, row, moving(g, at, 6u * TEAM));
        put(first + 7u * TEAM, row, moving(h, at, 7u * TEAM));
        at = along(at, P.len + 1u, 1u);
        row += P.width;
    }
}
