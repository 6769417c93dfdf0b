// Rows, summed: as rows.wgsl, but every element is met once. LANES neighbouring invocations take a slice of a
// row together: the whole vec4, and of the elements before and behind them one each.
override WG: u32;
override COARSENED: u32; // 1: lanes take items one after the other; 0: one

//# if WINDOW

// The elements of a plane at the top of their words, and a vec4 of none.
fn plane_tops(v: vec4<u32>, j: u32) -> vec4<u32> {
//# if PLANES == 1
    return v;
//# else
    return (v << vec4<u32>(16u - 16u * j)) & vec4<u32>(0xffff0000u);
//# end
}

const NO_ELEMENTS4: vec4<u32> = vec4<u32>({BITS == 16}u * 0x8000u + 0x80000000u);

// {BLOCK} vec4 from `at` on, or fewer: `last` is the last one.
fn acc_block(own: Acc, at: u32, step: u32, last: u32) -> Acc {
    var s = seen_none();
//# for r in 0..BLOCK
    let v{r} = select(NO_ELEMENTS4, src[min(at + {r}u * step, last)], vec4<bool>(at + {r}u * step <= last));
//# for j in 0..PLANES
    s = seen(s, plane_tops(v{r}, {j}u));
//# end
//# end
    let f = frame_of(s);
    var w = Window(vec4<i32>(), vec4<i32>());
//# for r in 0..BLOCK
//# for j in 0..PLANES
    w = window_add(w, plane_tops(v{r}, {j}u), f.begin);
//# end
//# end
    let vecs = min((last - at) / step + 1u, {BLOCK}u);
    var a = own;
    if f.fits {
        return acc_window(a, s, f, w, vecs * E);
    }
    for (var r = 0u; r < vecs; r++) {
        a = acc_vec(a, src[at + r * step]);
    }
    return a;
}
//# end

fn reduced(item: u32, lid: u32) -> Acc {
    let s = item_span(item);
    let w = walk(s, lid % LANES);
    let step = lane_step();
    var a = acc_none(0u);
//# if WINDOW
    for (var at = w.at; at < w.end; at += {BLOCK}u * step) {
        a = acc_block(a, at, step, w.last);
    }
//# else
    for (var at = w.at; at < w.end; at += step) {
        a = acc_vec(a, src[at]);
    }
//# end
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
