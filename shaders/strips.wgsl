// Eight neighbouring vec4 of columns an invocation: what a CPU likes, which then reads long runs
// of every row. P.reps: invocations a wide row.
override WG: u32;

struct Strip {
    a: Acc,
    b: Acc,
    c: Acc,
    d: Acc,
    e: Acc,
    f: Acc,
    g: Acc,
    h: Acc,
}

@compute @workgroup_size(WG)
fn strips(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let v = 8u * (item % P.reps);
    let s = slice_of(item / P.reps);
    // Past the end of the row the last vec4 is taken again.
    let last = P.width - 1u;
    let v1 = min(v + 1u, last);
    let v2 = min(v + 2u, last);
    let v3 = min(v + 3u, last);
    let v4 = min(v + 4u, last);
    let v5 = min(v + 5u, last);
    let v6 = min(v + 6u, last);
    let v7 = min(v + 7u, last);
    var x: Strip;
    x.a = column_start(s, v);
    x.b = column_start(s, v1);
    x.c = column_start(s, v2);
    x.d = column_start(s, v3);
    x.e = column_start(s, v4);
    x.f = column_start(s, v5);
    x.g = column_start(s, v6);
    x.h = column_start(s, v7);
    var row = s.first + (s.begin + 1u) * P.width;
    for (var t = s.begin + 1u; t + 1u < s.end; t++) {
        x.a = acc_take(x.a, src[row + v], E, t);
        x.b = acc_take(x.b, src[row + v1], E, t);
        x.c = acc_take(x.c, src[row + v2], E, t);
        x.d = acc_take(x.d, src[row + v3], E, t);
        x.e = acc_take(x.e, src[row + v4], E, t);
        x.f = acc_take(x.f, src[row + v5], E, t);
        x.g = acc_take(x.g, src[row + v6], E, t);
        x.h = acc_take(x.h, src[row + v7], E, t);
        row += P.width;
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
    if v + 4u <= last {
        column_emit(s, v4, column_end(s, v4, x.e));
    }
    if v + 5u <= last {
        column_emit(s, v5, column_end(s, v5, x.f));
    }
    if v + 6u <= last {
        column_emit(s, v6, column_end(s, v6, x.g));
    }
    if v + 7u <= last {
        column_emit(s, v7, column_end(s, v7, x.h));
    }
}
