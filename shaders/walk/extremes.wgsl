// Extremes: an invocation takes a part of a segment of a view, element by element, and leaves two partials. The first
// P.items partials are of the least, the others of the greatest.
override WG: u32;

@compute @workgroup_size(WG)
fn extremes(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let p = part_of(item);
    let begin = part_begin(p.part);
    let end = part_end(p.part);
    // A shorter window has fewer parts.
    if begin >= end {
        return;
    }
    let start = segment(p.output);
    let first = whole(raw(start + along(P.kept_dims, P.dims, begin)));
    var low = side(key(first), begin);
    var high = side(key(turned(first)), begin);
    for (var i = begin + P.step; i < end; i += P.step) {
        let r = whole(raw(start + along(P.kept_dims, P.dims, i)));
        low = taken(low, key(r), i);
        high = taken(high, key(turned(r)), i);
    }
    leave(item, low);
    leave(P.items + item, high);
}
