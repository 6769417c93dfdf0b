// Panels: as many neighbouring columns as a team of invocations takes at once, all their rows in the
// order of memory; P.slices panels make a matrix, and a team takes P.slice of them, one after the
// other. Of a panel's row an invocation takes RUNS vec4, TEAM apart; `panel` is written out for them.
override WG: u32;
override RUNS: u32;
const TEAM: u32 = 8u;

@compute @workgroup_size(WG)
fn panels(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let lane = linear(group) * WG + lid;
    let first = lane / TEAM * P.slice;
    let end = min(first + P.slice, P.items);
    for (var i = first; i < end; i++) {
        let matrix = i / P.slices;
        let part = i - matrix * P.slices;
        panel(matrix, part * (TEAM * RUNS) + lane % TEAM);
    }
}

// Past the end of a row the next one is read, and nothing written.
fn write_column(matrix: u32, v: u32, c: Column) {
    if v < P.width {
        write_line(matrix * P.width + v, column_line(c));
    }
}
