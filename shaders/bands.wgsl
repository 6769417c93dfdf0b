// Bands: a team of invocations takes whole wide rows, one after the other, in the order of memory.
override WG: u32;

@compute @workgroup_size(WG)
fn bands(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    var s = slice_of(item / TEAM);
    // Every row is remembered.
    s.blocks = s.low;
    let first = item % TEAM;
    let second = first + TEAM * RUNS;
    var a = strip_none(s);
    var b = strip_none(s);
    var at = s.first + s.low * P.width + first;
    for (var t = s.low; t < s.high; t++) {
        a = strip_take(a, at, t);
        b = strip_take(b, at + TEAM * RUNS, t);
        at += P.width;
    }
    strip_emit(s, first, a);
    strip_emit(s, second, b);
}
