// Sums of columns, row by row: an invocation takes a column of a slice, or {RUNS} vec4 of columns, {STRIDE} apart.
// P.across invocations take a row.
override WG: u32;

//# if COLUMNS > 1
// The vec4 of an invocation's columns, row by row; the first is vec4 `at`.
//# else
// The rows of a column from element `at` on, {IN_VEC} in a vec4.
//# end
struct Run {
    at: u32,
    count: u32,
}

//# if COLUMNS > 1
fn run_place(run: Run, i: u32) -> u32 {
    return run.at + i / {RUNS}u * (P.pitch / E) + i % {RUNS}u * {STRIDE}u;
}

// Element e of vec4 i, by itself.
fn run_element(run: Run, i: u32, e: u32) -> Raw {
    return raw(run_place(run, i) * E + e);
}

//# end
fn run_vec(run: Run, i: u32) -> vec4<u32> {
//# if COLUMNS > 1
    return src[run_place(run, i)];
//# else
    let at = run.at + {IN_VEC}u * i * P.pitch;
//# if BITS == 64
    return vec4<u32>(raw(at), raw(at + P.pitch));
//# else
    return vec4<u32>(raw(at), raw(at + P.pitch), raw(at + 2u * P.pitch), raw(at + 3u * P.pitch));
//# end
//# end
}

// Takes an item.
fn take(item: u32) {
    let part = item / P.across;
    let lane = item - part * P.across;
//# if COLUMNS > 1
    let column = (lane / {STRIDE}u * {STRIDE * RUNS}u + lane % {STRIDE}u) * E;
//# else
    let column = lane;
//# end
    let outer = part / P.slices;
    let first = (part - outer * P.slices) * P.slice;
    let end = min(first + P.slice, P.len);
    let at = P.src_delta + (outer * P.len + first) * P.pitch + column;
    let slot = part * P.pitch + column;
//# if COLUMNS > 1
    let run = Run(at / E, (end - first) * {RUNS}u);
    acc_columns(run);
    for (var c = 0u; c < {COLUMNS}u; c++) {
        acc_emit(slot + c / E * {STRIDE}u * E + c % E, acc_column(c));
    }
//# else
    let count = (end - first) / {IN_VEC}u;
    var a = acc_run(acc_none(), Run(at, count));
    for (var t = first + {IN_VEC}u * count; t < end; t++) {
        a = acc_take(a, raw(at + (t - first) * P.pitch), t);
    }
    acc_emit(slot, a);
//# end
}

@compute @workgroup_size(WG)
fn sum_columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item < P.items {
        take(item);
    }
}
