// Rows, summed: as rows.wgsl, but every element is met once. LANES neighbouring invocations take a slice of a
// row together: the whole vec4, and of the elements before and behind them one each.
override WG: u32;
override COARSENED: u32; // 1: lanes take items one after the other; 0: one

// The whole vec4 of an invocation.
struct Run {
    at: u32,
    step: u32,
    count: u32,
}

fn run_vec(run: Run, i: u32) -> vec4<u32> {
    return src[run.at + i * run.step];
}

fn run_raw(v: vec4<u32>, e: u32) -> Raw {
//# if BITS == 64
    return select(v.xy, v.zw, e == 1u);
//# else
    return raw_from(v[e >> {LOG}u], 0u, e);
//# end
}

fn reduced(item: u32, lid: u32) -> Acc {
    let s = item_span(item);
    let w = walk(s, lid % LANES);
    let step = lane_step();
    let count = (max(w.end, w.at) - w.at + step - 1u) / step;
    var a = acc_run(acc_none(0u), Run(w.at, step, count));
    let head = min(s.first * E, s.end) - s.begin;
    let edges = head + max(s.last * E, s.end) - s.last * E;
    for (var i = lid % LANES; i < edges; i += LANES) {
        a = acc_take(a, raw(select(s.last * E + i - head, s.begin + i, i < head)), 0u);
    }
    return a;
}

// Lanes without an item repeat the last one, so that all arrive at the barriers.
fn take(item: u32, lid: u32) {
    var a = reduced(min(item, P.items - 1u), lid);
//# if SHARED
    a = acc_across(lid, a);
//# end
    if lid % LANES == 0u && item < P.items {
        acc_emit(item, a);
    }
}

// Lanes take P.width neighbouring items, one after the other.
@compute @workgroup_size(WG)
fn rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * (WG / LANES) + lid / LANES;
    if COARSENED == 0u {
        take(first, lid);
        return;
    }
    for (var i = 0u; i < P.width; i++) {
        take(first * P.width + i, lid);
    }
}
