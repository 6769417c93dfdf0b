// Panels: {STRIDE} invocations share a panel of neighbouring columns and take all its rows in the order of memory. Each
// takes {RUNS} vec4 of a row, {STRIDE} apart; 0: one vec4, element by element. Panels are counted through all matrices.
override WG: u32;

// Where a panel begins in the first row of a matrix, in units of the rows.
struct Start {
    matrix: u32,
    at: u32,
}

// So many matrices and units further, without a division: software rasterisers divide slowly.
fn further(s: Start, matrices: u32, units: u32) -> Start {
    let at = s.at + units;
    let wraps = at >= row_units();
    let matrix = s.matrix + matrices + select(0u, 1u, wraps);
    return Start(matrix, at - select(0u, row_units(), wraps));
}

@compute @workgroup_size(WG)
fn panels(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let invocation = linear(group) * WG + lid;
    let lane = invocation % {STRIDE}u;
    let first = first_line(invocation / {STRIDE}u);
    let units = first * panel_units();
    let matrix = units / row_units();
    var start = Start(matrix, units - matrix * row_units());
//# if COARSENED
    let end = end_line(first, P.items);
    let step = P.team * panel_units();
    let matrices = step / row_units();
    for (var i = first; i < end; i += P.team) {
        take(i, start, lane);
        start = further(start, matrices, step - matrices * row_units());
    }
//# else
    // Without a loop in a loop: software rasterisers lose a tenth by one.
    if first < P.items {
        take(first, start, lane);
    }
//# end
}
