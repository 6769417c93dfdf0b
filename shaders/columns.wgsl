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
    let pitch = P.width;
    var t = s.begin + 1u;
    var at = s.first + t * pitch + v;
    for (; t + BLOCK < s.end; t += BLOCK) {
        acc = column_block(acc, at, pitch, t);
        at += BLOCK * pitch;
    }
    acc = column_rest(acc, s, v, t);
    column_emit(s, v, column_end(s, v, acc));
}
