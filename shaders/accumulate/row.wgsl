// Accumulators of one segment. An Own takes the elements of an invocation's loads, in the order of memory; their positions
// are constants that count within these loads. An Acc has the position in the segment.
//
//   own_none()             nothing
//   own_take(own, k, at)   and an element's key at a position
//   own_at(own)            the position of its best
//   acc_of(own, at)        the same at a position of the segment
//   acc_join(a, b)         two of a segment, in any order
//   acc_across(lid, a)     the join of {LANES} neighbouring invocations, for the first of them
//   acc_best(a)            what is written
//
// Nothing is no key: the worst element of a type has the same one. So own_at is a position even where nothing was better
// than nothing, and the walk keeps it within the segment.

//# if INDEX == 0
// Value: the least key, or the sum of terms.
alias Own = Key;
alias Acc = Key;

fn own_none() -> Own {
    return PAD;
}

fn own_take(own: Own, k: Key, at: u32) -> Own {
    return combined(own, k);
}

fn own_at(own: Own) -> u32 {
    return 0u;
}

fn acc_of(own: Own, at: u32) -> Acc {
    return canonical(own);
}

fn acc_join(a: Acc, b: Acc) -> Acc {
    return combined(a, b);
}

fn acc_best(a: Acc) -> Best {
    return Best(a, nowhere());
}
//# else
//# if BITS < 32
// Packed: the key above the position in one word. The least has the best key and, among equal keys, the preferred position.
alias Own = u32;
const POSITION: u32 = ~KEEP;

// A position as it is packed, and back.
fn below(at: u32) -> u32 {
    return select(at, POSITION - at, LAST != 0u);
}

fn own_none() -> Own {
    return PAD;
}

fn own_take(own: Own, k: Key, at: u32) -> Own {
    return min(own, canonical(k) | below(at));
}

fn own_at(own: Own) -> u32 {
    return below(own & POSITION);
}

fn own_key(own: Own) -> Key {
    return own & KEEP;
}
//# else
// Pair: the key and its position side by side.
alias Own = Pair;

fn own_none() -> Own {
    return Pair(PAD, 0u);
}

fn own_take(own: Own, k: Key, at: u32) -> Own {
    let c = canonical(k);
    let wins = replaces(c, own.key);
    return Pair(select(own.key, c, wins), select(own.at, at, wins));
}

fn own_at(own: Own) -> u32 {
    return own.at;
}

fn own_key(own: Own) -> Key {
    return own.key;
}
//# end
//# if (BITS < 32) & (LOOPED == 0)
// A row that is read at once is so short that its positions fit below a key.
alias Acc = u32;

fn acc_of(own: Own, at: u32) -> Acc {
    return own_key(own) | below(at);
}

fn acc_join(a: Acc, b: Acc) -> Acc {
    return min(a, b);
}

fn acc_best(a: Acc) -> Best {
    return Best(own_key(a), placed(own_at(a)));
}
//# else
alias Acc = Pair;

fn acc_of(own: Own, at: u32) -> Acc {
    return Pair(own_key(own), at);
}

fn acc_join(a: Acc, b: Acc) -> Acc {
    let nearer = select((b.at < a.at), (b.at > a.at), LAST != 0u);
    let wins = less(b.key, a.key) | (same(b.key, a.key) & nearer);
    return Pair(select(a.key, b.key, wins), select(a.at, b.at, wins));
}

fn acc_best(a: Acc) -> Best {
    return Best(a.key, placed(a.at));
}
//# end
//# end

struct Pair {
    key: Key,
    at: u32,
}
//# if LANES > 1

var<workgroup> wg_acc: array<Acc, WG>;

fn acc_across(lid: u32, own: Acc) -> Acc {
    var a = own;
    wg_acc[lid] = a;
    for (var half = {LANES / 2}u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid % {LANES}u < half {
            a = acc_join(a, wg_acc[lid + half]);
            wg_acc[lid] = a;
        }
    }
    return a;
}
//# end
