// Short rows of whole vec4: an invocation takes P.slice neighbouring rows.
override WG: u32;

fn finish_row(row: u32, acc: Acc) {
    let best = acc_best(acc);
    emit(row, Best(best.key, placed(best.at)));
}

// Four vec4 from t on of a row that begins with vec4 `first`. Past the end the last is taken
// again: it does no harm.
fn take_four(acc: Acc, first: u32, t: u32, last: u32) -> Acc {
    let b = min(t + 1u, last);
    let c = min(t + 2u, last);
    let d = min(t + 3u, last);
    let ab = acc_take(acc_take(acc, src[first + t], E, t), src[first + b], E, b);
    return acc_take(acc_take(ab, src[first + c], E, c), src[first + d], E, d);
}

@compute @workgroup_size(WG)
fn short_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let vecs = P.len / E;
    let last = vecs - 1u;
    let begin = (linear(group) * WG + lid) * P.slice;
    let end = min(begin + P.slice, P.items);
    if vecs > 4u {
        for (var row = begin; row < end; row++) {
            let first = P.src_delta / E + row * vecs;
            var acc = acc_start(src[first], 0u, E, 0u);
            for (var t = 1u; t < vecs; t += 4u) {
                acc = take_four(acc, first, t, last);
            }
            finish_row(row, acc);
        }
        return;
    }
    // At most four: no loop in the loop, which software rasterisers run slower.
    for (var row = begin; row < end; row++) {
        let first = P.src_delta / E + row * vecs;
        let b = min(1u, last);
        let c = min(2u, last);
        var acc = acc_start(src[first], 0u, E, 0u);
        acc = acc_take(acc, src[first + b], E, b);
        acc = acc_take(acc, src[first + c], E, c);
        finish_row(row, acc_take(acc, src[first + last], E, last));
    }
}
