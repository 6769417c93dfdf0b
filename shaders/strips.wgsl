// Four neighbouring vec4 of columns an invocation: what a CPU likes, which then reads long runs
// of every row. P.reps: invocations a wide row.
override WG: u32;

struct Strip {
    a: Acc,
    b: Acc,
    c: Acc,
    d: Acc,
}

@compute @workgroup_size(WG)
fn strips(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let v = 4u * (item % P.reps);
    let s = slice_of(item / P.reps);
    // Past the end of the row the last vec4 is taken again.
    let last = P.width - 1u;
    let v1 = min(v + 1u, last);
    let v2 = min(v + 2u, last);
    let v3 = min(v + 3u, last);
    var x: Strip;
    x.a = column_start(s, v);
    x.b = column_start(s, v1);
    x.c = column_start(s, v2);
    x.d = column_start(s, v3);
    for (var t = s.begin + 1u; t + 1u < s.end; t += 2u) {
        // Past the end the last row is taken again: it does no harm.
        let u = min(t + 1u, s.end - 2u);
        let row = s.first + t * P.width;
        let next = s.first + u * P.width;
        x.a = acc_take(acc_take(x.a, src[row + v], E, t), src[next + v], E, u);
        x.b = acc_take(acc_take(x.b, src[row + v1], E, t), src[next + v1], E, u);
        x.c = acc_take(acc_take(x.c, src[row + v2], E, t), src[next + v2], E, u);
        x.d = acc_take(acc_take(x.d, src[row + v3], E, t), src[next + v3], E, u);
    }
    column_emit(s, v, column_end(s, v, x.a));
    if v + 1u <= last {
        column_emit(s, v1, column_end(s, v1, x.b));
    }
    if v + 2u <= last {
        column_emit(s, v2, column_end(s, v2, x.c));
    }
    if v + 3u <= last {
        column_emit(s, v3, column_end(s, v3, x.d));
    }
}
