// Gather: the elements of a box that indices point to.
override WG: u32;

@group(0) @binding(1) var<storage, read> indices: array<u32>;

fn there(o: u32) -> There {
    let t = index_at(P.slice + o); // P.slice: indices before the box in the binding
    let outer = o / P.inner;
    return There(P.src_delta + (outer * P.len + t.e) * P.inner + o - outer * P.inner, t.yes);
}

@compute @workgroup_size(WG)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    write_picked(linear(group) * WG + lid);
}
