// Columns, summed: an invocation takes {COLUMNS} neighbouring columns of a slice, row by row.
// P.lanes invocations take a row.
override WG: u32;

//# if WINDOW

// Four rows of a column from row t of those that begin at `at`, of which there are `rows`.
fn four_rows(at: u32, t: u32, rows: u32) -> vec4<u32> {
    let n = vec4<u32>(t) + vec4<u32>(0u, 1u, 2u, 3u);
    let e = vec4<u32>(at) + min(n, vec4<u32>(rows - 1u)) * P.inner;
    let v = vec4<u32>(raw(e.x), raw(e.y), raw(e.z), raw(e.w));
    return select(NO_ELEMENTS, v, n < vec4<u32>(rows));
}

fn acc_rows(own: Acc, at: u32, rows: u32) -> Acc {
    var s = seen_none();
//# for r in 0..BLOCK
    let v{r} = four_rows(at, {4 * r}u, rows);
    s = seen(s, v{r});
//# end
    let f = frame_of(s);
    var w = Window(vec4<i32>(), vec4<i32>());
//# for r in 0..BLOCK
    w = window_add(w, v{r}, f.begin);
//# end
    var a = own;
    if f.fits {
        return acc_window(a, s, f, w, rows);
    }
    for (var t = 0u; t < rows; t++) {
        a = acc_take(a, raw(at + t * P.inner), t);
    }
    return a;
}
//# end

@compute @workgroup_size(WG)
fn columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let part = item / P.lanes;
    let column = (item - part * P.lanes) * {COLUMNS}u;
    let outer = part / P.slices;
    let first = (part - outer * P.slices) * P.slice;
    let end = min(first + P.slice, P.len);
    var at = P.src_delta + (outer * P.len + first) * P.inner + column;
    let slot = part * P.inner + column;
//# if COLUMNS > 1
//# for j in 0..PLANES
    var a{j} = acc_none(0u);
//# end
    for (var t = first; t < end; t++) {
        let v = src[at / E];
//# for j in 0..PLANES
        a{j} = Acc(a{j}.sum + terms(v << vec4<u32>({32 - BITS * (j + 1)}u)));
//# end
        at += P.inner;
    }
    for (var i = 0u; i < 4u; i++) {
//# for j in 0..PLANES
        acc_emit(slot + {PLANES}u * i + {j}u, acc_of(vec2<u32>(a{j}.sum[i], 0u)));
//# end
    }
//# else
    var a = acc_none(0u);
//# if WINDOW
    for (var t = first; t < end; t += {4 * BLOCK}u) {
        a = acc_rows(a, at, min(end - t, {4 * BLOCK}u));
        at += {4 * BLOCK}u * P.inner;
    }
//# else
    for (var t = first; t < end; t++) {
        a = acc_take(a, raw(at), t);
        at += P.inner;
    }
//# end
    acc_emit(slot, a);
//# end
}
