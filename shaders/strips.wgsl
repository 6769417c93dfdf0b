// Two neighbouring vec4 of columns an invocation: what a CPU likes, which then reads longer runs
// of every row. P.lanes: invocations a wide row.
override WG: u32;

@compute @workgroup_size(WG)
fn strips(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let v = 2u * (item % P.lanes);
    let s = slice_of(item / P.lanes);
    // At the end of an odd row the last vec4 is taken twice, and written once.
    let w = min(v + 1u, P.width - 1u);
    var a = column_start(s, v);
    var b = column_start(s, w);
    let pitch = P.width;
    var t = s.begin + 1u;
    var at = s.first + t * pitch;
    for (; t + BLOCK < s.end; t += BLOCK) {
        a = column_block(a, at + v, pitch, t);
        b = column_block(b, at + w, pitch, t);
        at += BLOCK * pitch;
    }
    a = column_rest(a, s, v, t);
    b = column_rest(b, s, w, t);
    column_emit(s, v, column_end(s, v, a));
    if w > v {
        column_emit(s, w, column_end(s, w, b));
    }
}
