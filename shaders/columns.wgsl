// Columns: neighbouring elements belong to neighbouring segments. A matrix of len x inner is
// walked as wide rows of P.width vec4: as many rows side by side as make whole vec4, so that an
// invocation meets the same columns in every wide row. Where several rows lie side by side,
// or a matrix is cut into slices, records are left for a second pass.
override WG: u32;
override INDEX: u32; // 0: only the value counts

@compute @workgroup_size(WG)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let v = item % P.width;
    let part = item / P.width;
    let slice = part % P.slices;
    let outer = part / P.slices;
    let start = P.src_delta + outer * P.total;
    let first = start / E; // vec4 of the matrix' first element
    let skew = start % E; // elements of that vec4 that come before it
    let ends = skew + P.total; // counted from that vec4, as all below

    // Wide rows of this slice in which this vec4 has an element of the matrix.
    let rows = (ends - v * E + P.width * E - 1u) / (P.width * E);
    let begin = slice * P.slice;
    let end = min(begin + P.slice, rows);

    // The first and the last wide row may be partly outside of the matrix.
    var acc: Acc;
    if begin < end && ends > v * E {
        var at = (begin * P.width + v) * E;
        let low = max(at, skew) - at;
        acc = acc_start(edge(first + at / E), low, min(at + E, ends) - at, begin);
        for (var t = begin + 1u; t + 1u < end; t += 4u) {
            // Past the end the last row is taken again: it does no harm.
            let last = end - 2u;
            let t1 = min(t + 1u, last);
            let t2 = min(t + 2u, last);
            let t3 = min(t + 3u, last);
            let a = src[first + t * P.width + v];
            let b = src[first + t1 * P.width + v];
            let c = src[first + t2 * P.width + v];
            let d = src[first + t3 * P.width + v];
            acc = acc_take(acc, a, E, t);
            acc = acc_take(acc, b, E, t1);
            acc = acc_take(acc, c, E, t2);
            acc = acc_take(acc, d, E, t3);
        }
        if begin + 1u < end {
            at = ((end - 1u) * P.width + v) * E;
            acc = acc_take(acc, edge(first + at / E), min(at + E, ends) - at, end - 1u);
        }
    } else {
        // Nothing here: begin beyond every row, so that no place is found below.
        acc = acc_start(vec4<u32>(0u), 0u, 0u, P.slices * P.slice);
    }

    let wide = P.width * E;
    for (var i = 0u; i < E; i++) {
        // Its place among the columns of a wide row, and in the matrix.
        let column = (v * E + i + wide - skew) % wide;
        let place = (acc_at(acc, i) * P.width + v) * E + i - skew;
        var best = Best(settle(acc_key(acc, i)), nowhere());
        if INDEX != 0u && place < P.total {
            best.index = placed(place / P.inner);
        }
        emit(part * wide + column, best);
    }
}
