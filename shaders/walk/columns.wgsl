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
    let pitch = P.width;
    var acc = column_none(s);
    var t = s.low;
    var at = s.first + t * pitch + v;
    for (; t < s.blocks; t += BLOCK) {
        acc = column_block(acc, at, pitch, t);
        at += BLOCK * pitch;
    }
    for (; t < s.high; t++) {
        acc = acc_take(acc, src[at], E, t);
        at += pitch;
    }
    column_emit(s, v, column_all(s, v, acc));
}
