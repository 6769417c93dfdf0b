// Panels: as many neighbouring columns as a team of invocations takes at once, all their rows in the
// order of memory; P.slices panels make a matrix, and a team takes P.slice of them, one after the
// other. Of a panel's row an invocation takes RUNS vec4, TEAM apart; `run` is written out for them.
// Past the end of a row the next one is read, and nothing written.
override WG: u32;
override RUNS: u32;
const TEAM: u32 = 8u;
const ITEM_STRIDE: u32 = TEAM;

@compute @workgroup_size(WG)
fn panels(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let lane = linear(group) * WG + lid;
    let begin = lane / TEAM * P.slice;
    let end = min(begin + P.slice, P.items);
    for (var i = begin; i < end; i++) {
        let matrix = i / P.slices;
        let part = i - matrix * P.slices;
        let v = part * (TEAM * RUNS) + lane % TEAM;
        let first = P.src_delta / E + matrix * P.len * P.width;
        run(first + v, matrix * P.width + v, (matrix + 1u) * P.width);
    }
}
