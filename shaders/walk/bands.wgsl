// Bands: a team of invocations takes whole wide rows, one after the other, in the order of memory. Of
// a row an invocation takes some vec4, TEAM apart; `band` is written out for them. Past the end of a row
// the next one is read, and not written.
override WG: u32;
const TEAM: u32 = 8u;

@compute @workgroup_size(WG)
fn bands(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    var s = slice_of(item / TEAM);
    // Every row is remembered.
    s.blocks = s.low;
    band(s, item % TEAM);
}
