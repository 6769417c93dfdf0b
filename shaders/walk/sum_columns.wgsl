// Columns, summed: an invocation takes {COLUMNS} neighbouring columns of a slice, row by row.
// P.lanes invocations take a row.
override WG: u32;

//# if COLUMNS == 1

// The rows of a column from element `at` on, {IN_VEC} in a vec4.
struct Run {
    at: u32,
    count: u32,
}

fn run_vec(run: Run, i: u32) -> vec4<u32> {
    let at = run.at + {IN_VEC}u * i * P.inner;
//# if BITS == 64
    return vec4<u32>(raw(at), raw(at + P.inner));
//# else
    return vec4<u32>(raw(at), raw(at + P.inner), raw(at + 2u * P.inner), raw(at + 3u * P.inner));
//# end
}

fn run_raw(v: vec4<u32>, e: u32) -> Raw {
//# if BITS == 64
    return select(v.xy, v.zw, e == 1u);
//# else
    return v[e];
//# end
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
    let count = (end - first) / {IN_VEC}u;
    var a = acc_run(acc_none(0u), Run(at, count));
    for (var t = first + {IN_VEC}u * count; t < end; t++) {
        a = acc_take(a, raw(at + (t - first) * P.inner), t);
    }
    acc_emit(slot, a);
//# end
}
