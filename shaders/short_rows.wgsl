// Short rows of whole vec4: an invocation a row, P.reps rows one after another.
override WG: u32;

@compute @workgroup_size(WG)
fn short_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let vecs = P.len / E;
    for (var rep = 0u; rep < P.reps; rep++) {
        let row = (linear(group) * P.reps + rep) * WG + lid;
        if row < P.items {
            let first = P.src_delta / E + row * vecs;
            var acc = acc_start(src[first], 0u, E, 0u);
            for (var t = 1u; t < vecs; t++) {
                acc = acc_take(acc, src[first + t], E, t);
            }
            var best = Best(settle(acc_key(acc, 0u)), placed(acc_at(acc, 0u) * E));
            for (var i = 1u; i < E; i++) {
                let next = Best(settle(acc_key(acc, i)), placed(acc_at(acc, i) * E + i));
                if better(next, best) {
                    best = next;
                }
            }
            emit(row, best);
        }
    }
}
