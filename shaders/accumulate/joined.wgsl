// The best of partial results.
@group(0) @binding(1) var<storage, {READ}> src: array<Record>;

struct Acc {
    best: Best,
//# if BESIDE
    value: Key, // zeros tie in an index, but differ in a value
//# end
}
alias Placed = Acc;

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

fn acc_join(own: Acc, b: Acc) -> Acc {
    var a = own;
    a.best = joined(b.best, own.best);
//# if BESIDE
    a.value = combined(own.value, b.value);
//# end
    return a;
}

// The best partial result of output o; of a team for its first invocation.
fn reduced(lid: u32, o: u32) -> Acc {
    let start = first_of(o);
    let lane = lid % {LANES}u;
    var a = acc_none();
//# if AT_ONCE
    // Four partial results at once, so that one does not wait for the other. Reading one again changes nothing.
    let last = P.parts - 1u;
    for (var i = lane; i < P.parts; i += {4 * LANES}u) {
        let r0 = acc_read(start + i * P.inner);
        let r1 = acc_read(start + min(i + {LANES}u, last) * P.inner);
        let r2 = acc_read(start + min(i + {2 * LANES}u, last) * P.inner);
        let r3 = acc_read(start + min(i + {3 * LANES}u, last) * P.inner);
        a = acc_join(acc_join(acc_join(acc_join(a, r0), r1), r2), r3);
    }
//# else
    for (var i = lane; i < P.parts; i += {LANES}u) {
        a = acc_join(a, acc_read(start + i * P.inner));
    }
//# end
//# if LANES > 1
    a = acc_across(lid, a);
//# end
    return a;
}

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
