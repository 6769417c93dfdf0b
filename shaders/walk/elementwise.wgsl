// Elementwise: the least of the inputs for every output.
override WG: u32;
override CHAINED: u32; // 1: combine with the results that are there
//# if VECS == 0

// An invocation writes a word of outputs: any shapes, any alignment.
fn result(o: u32) -> Raw {
    let at = offsets(o);
    var k = key(raw_0(at));
//# for i in 1..INPUTS
    k = combined(k, key(raw_{i}(at)));
//# end
    if CHAINED != 0u {
        let e = P.dst_delta + o;
        let w = word_of(e);
//# if BITS == 64
        k = combined(k, key(raw_from(dst[w], dst[w + 1u], e)));
//# else
        k = combined(k, key(raw_from(dst[w], 0u, e)));
//# end
    }
    return element(canonical(k));
}

// At the top of the word.
fn value(o: u32) -> u32 {
    return pack(result(o)).x;
}

@compute @workgroup_size(WG)
fn elementwise(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        if w < P.items {
            write_bits(w, pack(result(w)));
        }
        return;
    }
    write_values(w);
}
//# else

fn put(at: u32, k: Keys) {
    var keys = k;
    if CHAINED != 0u {
        keys = keys_combined(k, keys_of(dst[at]));
    }
    dst[at] = words_of(keys);
}
//# if STRIP == 0

// An invocation writes a vec4: everything is aligned to 16 bytes, and the last dimension is whole vec4.
@compute @workgroup_size(WG)
fn elementwise(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let v = linear(group) * WG + lid;
    if v >= P.items {
        return;
    }
    let at = offsets(v);
    var k = keys_0(at, 0u);
//# for i in 1..INPUTS
    k = keys_combined(k, keys_{i}(at, 0u));
//# end
    put(P.dst_delta + v, k);
}
//# else

// By whole vec4 as well, for adapters that like long stretches: an invocation takes {RUNS} vec4 of a row, {STRIDE}
// apart, in several rows one after the other. What an input repeats in every row is read once. P.team: invocations in a
// row; P.width: vec4 in a row; P.len: rows in a matrix; P.inner: parts of a matrix, of P.slice rows each.

// n strides of entry d further.
fn along(at: Offsets, d: u32, n: u32) -> Offsets {
    return Offsets(at.a + n * Z.strides[2u * d], at.b + n * Z.strides[2u * d + 1u]);
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
    k = keys_combined(k, keys_{i}(at, j));
//# end
//# end
    return k;
}

// The least of the others, and of what is known.
fn others(known: Keys, at: Offsets, j: u32) -> Keys {
    var k = known;
//# for i in 0..INPUTS
//# if (INVARIANT >> i & 1) == 0
    k = keys_combined(k, keys_{i}(at, j));
//# end
//# end
    return k;
}

@compute @workgroup_size(WG)
fn elementwise(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let part = item / P.team;
    let lane = item % P.team;
    let first = lane / {STRIDE}u * {STRIDE * RUNS}u + lane % {STRIDE}u;
    let outer = part / P.inner;
    let skip = (part - outer * P.inner) * P.slice;
    let rows = min(P.slice, P.len - skip);
    // Two entries follow the dimensions: along a row, and from row to row.
    var at = along(offsets(part), P.dims, first);
    var row = P.dst_delta + (outer * P.len + skip) * P.width;
//# for r in 0..RUNS
    let k{r} = invariant(at, {r * STRIDE}u);
//# end
    for (var i = 0u; i < rows; i++) {
//# for r in 0..RUNS
        let all{r} = others(k{r}, at, {r * STRIDE}u);
        if first + {r * STRIDE}u < P.width {
            put(row + first + {r * STRIDE}u, all{r});
        }
//# end
        at = along(at, P.dims + 1u, 1u);
        row += P.width;
    }
}
//# end
//# end
