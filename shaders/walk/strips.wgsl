// Strips: a team of invocations takes a part of wide rows that are longer than it takes at once,
// a block of rows together. P.lanes: invocations a wide row.
override WG: u32;

@compute @workgroup_size(WG)
fn strips(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let s = slice_of(item / P.lanes);
    let lane = item % P.lanes;
    let first = lane / TEAM * (TEAM * RUNS) + lane % TEAM;
    var r = strip_none(s);
    var t = s.low;
    var at = s.first + t * P.width + first;
    for (; t < s.blocks; t += BLOCK) {
        r = strip_block(r, at, t);
        at += BLOCK * P.width;
    }
    for (; t < s.high; t++) {
        r = strip_take(r, at, t);
        at += P.width;
    }
    strip_emit(s, first, r);
}
