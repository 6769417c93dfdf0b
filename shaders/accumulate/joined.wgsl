// The best of partial results.
@group(0) @binding(1) var<storage, {READ}> src: array<Record>;

struct Acc {
    best: Best,
}

// It loses to every partial result.
fn acc_none() -> Acc {
    return Acc(Best(PAD, nowhere()));
}

// Partial result r of the source. Its key is canonical, unless both extremes were searched at once.
fn acc_read(r: u32) -> Best {
    let b = best_of(src[r]);
    return Best(canonical(b.key), b.index);
}

fn acc_joined(a: Acc, b: Best) -> Acc {
    return Acc(joined(b, a.best));
}

fn acc_join_partial(a: Acc, r: u32) -> Acc {
    return acc_joined(a, acc_read(r));
}
//# if SHARED

var<workgroup> wg_key: array<Key, WG>;
var<workgroup> wg_index: array<vec2<u32>, WG>;

// The best of LANES neighbouring invocations, for the first of them.
fn acc_across(lid: u32, own: Acc) -> Acc {
    var best = own.best;
    wg_key[lid] = best.key;
    wg_index[lid] = best.index;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid % LANES < half {
            best = joined(Best(wg_key[lid + half], wg_index[lid + half]), best);
            wg_key[lid] = best.key;
            wg_index[lid] = best.index;
        }
    }
    return Acc(best);
}
//# end

fn acc_element(a: Acc) -> Raw {
    return element(a.best.key);
}

fn acc_emit(slot: u32, a: Acc) {
    emit(slot, a.best);
}
