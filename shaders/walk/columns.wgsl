// Columns: a team of {STRIDE} neighbouring invocations takes neighbouring vec4 of a wide row, {RUNS} each, {STRIDE}
// apart, in all rows of a slice. P.team invocations take a row. Past the end of a row they read the next one, and write
// nothing. SHARED: P.team invocations take a part of a row. A workgroup takes WG / P.team slices of that part and
// merges them; a row has as many workgroups side by side as it has parts. Invocations past the end of a row read
// nothing.
override WG: u32;

@compute @workgroup_size(WG)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
//# if SHARED
    let team = linear(group);
    if team >= P.items {
        return;
    }
    let slice = lid / P.team;
    let abreast = (P.width + P.team - 1u) / P.team;
    var s = slice_of(team / abreast * (WG / P.team) + slice);
    let lane = team % abreast * P.team + lid % P.team;
//# else
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let s = slice_of(item / P.team);
    let lane = item % P.team;
//# end
    let first = lane / {STRIDE}u * {STRIDE * RUNS}u + lane % {STRIDE}u;
//# if SHARED
    if first >= P.width {
        s = nothing_of(s);
    }
//# end
//# for r in 0..RUNS
    var a{r} = column_none(s, first + {r * STRIDE}u);
//# end
    var t = s.begin;
    var at = s.first + t * P.width + first;
//# if RAGGED
    for (; t < s.low; t++) {
//# for r in 0..RUNS
        a{r} = column_take(s, first + {r * STRIDE}u, at + {r * STRIDE}u, a{r}, t);
//# end
        at += P.width;
    }
//# end
//# if BLOCKS
    for (; t < s.blocks; t += BLOCK) {
//# for r in 0..RUNS
        a{r} = acc_block(a{r}, block_at(at + {r * STRIDE}u), t - origin(s));
//# end
        at += BLOCK * P.width;
    }
//# end
    for (; t < s.end; t++) {
//# for r in 0..RUNS
//# if RAGGED
        a{r} = column_take(s, first + {r * STRIDE}u, at + {r * STRIDE}u, a{r}, t);
//# else
        a{r} = acc_take(a{r}, keys_of(src[at + {r * STRIDE}u]), t - origin(s));
//# end
//# end
        at += P.width;
    }
//# if RUNS == 1
    column_emit(lid, s, first, a0);
//# else
    // Without a loop the text compiles slowly.
    for (var j = 0u; j < {RUNS}u; j++) {
        var a = a0;
        switch j {
//# for r in 1..RUNS
            case {r}u: {
                a = a{r};
            }
//# end
            default: {
            }
        }
        column_emit(lid, s, first + j * {STRIDE}u, a);
    }
//# end
}
