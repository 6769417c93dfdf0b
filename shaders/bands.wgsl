// Bands: a team of invocations takes whole wide rows, one after the other, in the order of memory.
override WG: u32;
override WIDE: u32; // 1: four strips a row; 0: two

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
    let next = TEAM * RUNS;
    var a = strip_none(s);
    var b = a;
    var c = a;
    var d = a;
    var at = s.first + s.low * P.width + first;
    for (var t = s.low; t < s.high; t++) {
        a = strip_take(a, at, t);
        b = strip_take(b, at + next, t);
        if WIDE != 0u {
            c = strip_take(c, at + 2u * next, t);
            d = strip_take(d, at + 3u * next, t);
        }
        at += P.width;
    }
    strip_emit(s, first, a);
    strip_emit(s, first + next, b);
    if WIDE != 0u {
        strip_emit(s, first + 2u * next, c);
        strip_emit(s, first + 3u * next, d);
    }
}
