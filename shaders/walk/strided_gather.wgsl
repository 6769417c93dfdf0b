// Strided gather: the elements of a strided view that indices point to. P.slice: elements from one
// to the next of a segment.
override WG: u32;

@group(0) @binding(4) var<storage, read> indices: array<u32>;

fn there(o: u32) -> There {
    let t = index_at(Z.starts[0].y + o);
    return There(segment(o) + t.e * P.slice, t.yes);
}

@compute @workgroup_size(WG)
fn strided_gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    write_picked(linear(group) * WG + lid);
}
