// Columns: {STRIDE} neighbouring invocations, a team, take neighbouring vec4 of a wide row, {RUNS} each, {STRIDE} apart, and
// so for all rows of a slice. P.lanes invocations take a row. Past the end of a row the next one is
// read, and not written.
override WG: u32;

@compute @workgroup_size(WG)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let s = slice_of(item / P.lanes);
    let lane = item % P.lanes;
    let first = lane / {STRIDE}u * {STRIDE * RUNS}u + lane % {STRIDE}u;
    let none = column_none(s);
//# for r in 0..RUNS
    var a{r} = none;
//# end
    var t = s.low;
    var at = s.first + t * P.width + first;
//# if BLOCKS
    for (; t < s.blocks; t += BLOCK) {
//# for r in 0..RUNS
        a{r} = acc_block(a{r}, block_at(at + {r * STRIDE}u), t);
//# end
        at += BLOCK * P.width;
    }
//# end
    for (; t < s.high; t++) {
//# for r in 0..RUNS
        a{r} = acc_take(a{r}, keys_of(src[at + {r * STRIDE}u]), t);
//# end
        at += P.width;
    }
//# if RUNS == 1
    write_column(s, first, a0);
//# else
    // Eight a loop: a loop over all would compare its number with each, and none compiles for long.
//# for g in 0..RUNS step 8
    for (var j = {g}u; j < {min(g + 8, RUNS)}u; j++) {
        var a = a{g};
        switch j {
//# for r in g + 1..min(g + 8, RUNS)
            case {r}u: {
                a = a{r};
            }
//# end
            default: {
            }
        }
        write_column(s, first + j * {STRIDE}u, a);
    }
//# end
//# end
}

fn write_column(s: Slice, v: u32, a: Acc) {
    if v < P.width {
//# if RAGGED
        column_emit(s, v, column_all(s, v, a));
//# else
        column_emit(s, v, a);
//# end
    }
}
