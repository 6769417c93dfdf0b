// The best of partial results.
@group(0) @binding(1) var<storage, {READ}> src: array<Record>;

struct Acc {
    best: Best,
//# if BESIDE
    value: Key, // zeros tie in an index, but differ in a value
//# end
}

// It loses to every partial result.
fn acc_none() -> Acc {
    var a: Acc;
    a.best = Best(PAD, nowhere());
//# if BESIDE
    a.value = PAD;
//# end
    return a;
}

// Partial result r of the source: a canonical key and its place; of both extremes the element itself.
fn acc_read(r: u32) -> Acc {
    var a: Acc;
    a.best = best_of(src[r]);
//# if BESIDE
    a.value = key(a.best.key);
    a.best.key = canonical(a.value);
//# end
    return a;
}

fn acc_joined(own: Acc, b: Acc) -> Acc {
    var a = own;
    a.best = joined(b.best, own.best);
//# if BESIDE
    a.value = combined(own.value, b.value);
//# end
    return a;
}

fn acc_join_partial(a: Acc, r: u32) -> Acc {
    return acc_joined(a, acc_read(r));
}
//# if SHARED

var<workgroup> wg_acc: array<Acc, WG>;

// The best of LANES neighbouring invocations, for the first of them.
fn acc_across(lid: u32, own: Acc) -> Acc {
    var a = own;
    wg_acc[lid] = a;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid % LANES < half {
            a = acc_joined(a, wg_acc[lid + half]);
            wg_acc[lid] = a;
        }
    }
    return a;
}
//# end

fn acc_element(a: Acc) -> Raw {
//# if BESIDE
    return element(bounded(a.value));
//# else
    return element(a.best.key);
//# end
}

fn acc_emit(slot: u32, a: Acc) {
//# if BESIDE
    write_bits(slot, pack(acc_element(a)));
    write_place(slot, a.best.index);
//# else
    emit(slot, a.best);
//# end
}
