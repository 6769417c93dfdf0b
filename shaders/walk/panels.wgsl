// Panels: a panel is as many neighbouring columns as a team takes at once. The team takes all their rows in the order
// of memory. P.slices panels make a matrix, and a team takes P.coarsening panels, one after the other. An invocation
// takes {RUNS} vec4 of a panel's row, {STRIDE} apart. Past the end of a row it reads the next one, and writes nothing.
override WG: u32;

fn take(i: u32, lane: u32) {
    let matrix = i / P.slices;
    let part = i - matrix * P.slices;
    let v = part * {STRIDE * RUNS}u + lane % {STRIDE}u;
    let first = P.src_delta / E + matrix * P.len * P.width;
    run(first + v, matrix * P.width + v, (matrix + 1u) * P.width);
}

@compute @workgroup_size(WG)
fn panels(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let lane = linear(group) * WG + lid;
//# if COARSENED
    let begin = lane / {STRIDE}u * P.coarsening;
    let end = min(begin + P.coarsening, P.items);
    for (var i = begin; i < end; i++) {
        take(i, lane);
    }
//# else
    // Without a loop in a loop: software rasterisers lose a tenth by one.
    if lane / {STRIDE}u < P.items {
        take(lane / {STRIDE}u, lane);
    }
//# end
}
