// Columns: an invocation takes a run of {RUNS} units of {PER} neighbouring columns, {UNIT} words each, in some rows of a matrix, and
// reads {LOADS} rows at once. P.joined rows are joined to a wide row of P.width units. SHARED: a workgroup takes P.abreast units
// of a wide row in P.team slices, and merges these; they take every P.team-th row, so that it reads whole stretches. A run
// is then one unit. SHIFTED: a matrix may begin within a word.

// The unit that begins `shift` bits within unit `at` of the source. What lies beyond it in the vec4 means nothing.
fn unit_at(at: u32, shift: u32) -> vec4<u32> {
//# if UNIT == 4
    return src[at];
//# else
//# if UNIT == 2
    return vec2<u32>(words[2u * at], words[2u * at + 1u]).xyxy;
//# else
//# if SHIFTED
    let next = words[at + select(0u, 1u, shift > 0u)];
    return vec4<u32>((words[at] >> shift) | ((next << 1u) << (31u - shift)));
//# else
    return vec4<u32>(words[at]);
//# end
//# end
//# end
}

//# if PARTIAL + PARTIAL_SUM + INDEX == 0
// Writes the results of a unit's columns.
fn write_unit(slot: u32, results: vec4<u32>) {
    let at = word_of(P.dst_delta + slot);
//# if DST_VECS
    dst[at / 4u] = results;
//# else
//# for i in 0..UNIT
    dst[at + {i}u] = results[{i}u];
//# end
//# end
}

//# end
@compute @workgroup_size(WG)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
//# if SHARED
    let item = linear(group);
    if item >= P.items {
        return;
    }
    let chunks = (P.width + P.abreast - 1u) / P.abreast;
    let part = item / chunks;
    // Invocations without a slice or a unit repeat the last one, so that all arrive at the barriers.
    let team = P.team;
    let own = (item - part * chunks) * P.abreast + lid % P.abreast;
    let unit = min(own, P.width - 1u);
    let lane = min(lid / P.abreast, team - 1u);
//# else
    let id = linear(group) * WG + lid;
    if id >= P.items {
        return;
    }
//# if RUNS == 1
    let part = id / P.width;
    let unit = id - part * P.width;
//# else
    let across = (P.width + {RUNS - 1}u) / {RUNS}u;
    let part = id / across;
    // The last run of a row begins with units of the one before.
    let own = (id - part * across) * {RUNS}u;
    let unit = min(own, P.width - {RUNS}u);
//# end
    let team = 1u;
    let lane = 0u;
//# end
    let matrix = part / P.parts;
    // The rows of a part, at least {LOADS} of each of its slices: the last part may begin with rows of the one before.
    let first = (part - matrix * P.parts) * P.slice_rows * team;
    let begin = min(first, P.rows - {LOADS}u * team);
    let end = min(first + P.slice_rows * team, P.rows);
    let count = (end - begin - lane + team - 1u) / team;
    let again = (max(first - begin, lane) - lane + team - 1u) / team;

    // In elements.
    let origin = P.src_delta + matrix * P.len * P.pitch;
    let start = origin / {PER}u + (begin + lane) * P.row_units + unit;
    let shift = origin % {PER}u * {BITS}u;
    let stride = team * P.row_units;
//# for r in 0..RUNS
    var a{r} = acc_none();
//# end
    // Of sums once more, to keep the last window.
    for (var row = 0u; row < count + {LOADS * EXACT}u; row += {LOADS}u) {
        // The last iteration reads some rows again.
        let t = min(row, count - {LOADS}u);
        let fresh = max(row, again);
        let at0 = start + t * stride;
//# for i in 1..LOADS
        let at{i} = at{i - 1} + stride;
//# end
//# if EXACT == 0
//# for i in 0..LOADS
//# for r in 0..RUNS
        let v{i}_{r} = unit_at(at{i} + {r}u, shift);
//# end
//# end
//# if BOTH
//# for r in 0..RUNS
        a{r} = acc_take(
            a{r},
//# for i in 0..LOADS
            keys_ceiled(v{i}_{r}),
//# end
            t,
        );
//# end
//# else
//# for i in 0..LOADS
//# for r in 0..RUNS
        a{r} = acc_take(a{r}, once(v{i}_{r}, t + {i}u >= fresh), t + {i}u);
//# end
//# end
//# end
//# else
        let ended = row >= count;
//# for r in 0..RUNS
        var l{r} = a{r}.look;
//# for i in 0..LOADS
        var w{i}_{r}: vec4<u32>;
//# end
        if !ended {
//# for i in 0..LOADS
            let v{i} = unit_at(at{i} + {r}u, shift);
//# end
//# for i in 0..LOADS
            w{i}_{r} = once(v{i}, t + {i}u >= fresh);
            l{r} = look(l{r}, w{i}_{r});
//# end
        }
        a{r} = sum_for(a{r}, l{r}, {LOADS}u, ended);
        if !ended & takes(a{r}.window) {
//# for i in 0..LOADS
            a{r}.window = acc_take(a{r}.window, elements_of(w{i}_{r}, false), 0u);
//# end
        }
//# if BY_FLOATS
        for (var i = select({LOADS}u, 0u, !ended && a{r}.window.again); i < {LOADS}u; i++) {
            let v = once(unit_at(at0 + i * stride + {r}u, shift), t + i >= fresh);
            a{r}.window = acc_take_more(a{r}.window, elements_of(v, true));
        }
//# end
//# end
//# end
    }
//# for r in 0..RUNS
    var p{r} = acc_placed(a{r}, begin + lane, team);
//# end
//# if SHARED
    p0 = acc_across(lid, p0);
    if lid >= P.abreast || own >= P.width {
        return;
    }
//# end
    let slot = part * P.width * {PER}u;
    let column = unit * {PER}u;
    let row_length = P.row_units * {PER}u;
//# for r in 0..RUNS
//# if RUNS > 1
    if unit + {r}u >= own
//# end
    {
        let c = column + {r * PER}u;
//# if EXACT
        acc_emit(slot + c, Elements(origin + first * row_length + c, row_length, end - first), p{r});
//# else
        acc_emit(slot + c, c, p{r});
//# end
    }
//# end
}
