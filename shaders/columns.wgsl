// A vec4 of columns an invocation: neighbours read neighbouring vec4.
override WG: u32;

@compute @workgroup_size(WG)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let v = item % P.width;
    let s = slice_of(item / P.width);
    var acc = column_start(s, v);
    for (var t = s.begin + 1u; t + 1u < s.end; t += 4u) {
        // Past the end the last row is taken again: it does no harm.
        let last = s.end - 2u;
        let t1 = min(t + 1u, last);
        let t2 = min(t + 2u, last);
        let t3 = min(t + 3u, last);
        let a = src[s.first + t * P.width + v];
        let b = src[s.first + t1 * P.width + v];
        let c = src[s.first + t2 * P.width + v];
        let d = src[s.first + t3 * P.width + v];
        acc = acc_take(acc, a, E, t);
        acc = acc_take(acc, b, E, t1);
        acc = acc_take(acc, c, E, t2);
        acc = acc_take(acc, d, E, t3);
    }
    column_emit(s, v, column_end(s, v, acc));
}
