// Elementwise, by whole vec4 of outputs, for adapters that like long stretches: a team of {STRIDE}
// invocations takes {RUNS} runs of a row, and so many rows one after the other. What an input
// repeats in every row is read once.
// P.lanes: invocations a row; P.width: vec4 in a row; P.total: rows in a matrix, P.inner: parts
// they are taken in, of P.slice rows.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there

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

// The least of the inputs that are the same in every row.
fn invariant(at: Offsets, j: u32) -> Keys {
    var k = Keys(
//# for p in 0..PLANES
        Plane(PAD),
//# end
    );
//# for i in 0..INPUTS
//# if INVARIANT >> i & 1
    k = keys_min(k, keys_{i}(at, j));
//# end
//# end
    return k;
}

// The least of the others, and of what is known.
fn others(known: Keys, at: Offsets, j: u32) -> Keys {
    var k = known;
//# for i in 0..INPUTS
//# if (INVARIANT >> i & 1) == 0
    k = keys_min(k, keys_{i}(at, j));
//# end
//# end
    return k;
}

@compute @workgroup_size(WG)
fn elementwise_strips(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let part = item / P.lanes;
    let lane = item % P.lanes;
    let first = lane / {STRIDE}u * {STRIDE * RUNS}u + lane % {STRIDE}u;
    let outer = part / P.inner;
    let skip = (part - outer * P.inner) * P.slice;
    let rows = min(P.slice, P.total - skip);
    // The entries behind the dimensions: along a row, and from row to row.
    var at = along(offsets(part), P.len, first);
    var row = P.dst_delta + (outer * P.total + skip) * P.width;
//# for r in 0..RUNS
    let k{r} = invariant(at, {r * STRIDE}u);
//# end
    for (var i = 0u; i < rows; i++) {
//# for r in 0..RUNS
        put(first + {r * STRIDE}u, row, others(k{r}, at, {r * STRIDE}u));
//# end
        at = along(at, P.len + 1u, 1u);
        row += P.width;
    }
}
