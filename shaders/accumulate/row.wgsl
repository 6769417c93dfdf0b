// Accumulators of one segment. An Own takes the elements of an invocation's loads, in the order of memory; their positions
// are constants that count within these loads. An Acc has the position in the segment, which the walk's `position` gives.
//
//   own_none()             nothing
//   own_take(own, k, at)   and an element's key at a position; own_take_if: only if it is there
//   acc_of(own, frame)     the same at positions of the segment
//   acc_join(a, b)         two of a segment, in any order
//   acc_across(lid, a)     the join of {LANES} neighbouring invocations, for the first of them
//   acc_emit(slot, a)      writes a partial result, or a result that has words of its own
//   acc_best(a)            the key and the position of a result
//
// Nothing is no key: the worst element of a type has the same one. So there is a position even where nothing was better
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

fn own_take_if(own: Own, k: Key, at: u32, there: bool) -> Own {
    return combined(own, select(PAD, k, there));
}

fn acc_of(own: Own, frame: Frame) -> Acc {
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
alias One = u32;
const POSITION: u32 = ~KEEP;

// A position as it is packed, and back.
fn below(at: u32) -> u32 {
    return select(at, POSITION - at, LAST != 0u);
}

fn one_none() -> One {
    return PAD;
}

fn one_take(own: One, c: Key, at: u32) -> One {
    return min(own, c | below(at));
}

fn one_at(own: One) -> u32 {
    return below(own & POSITION);
}

fn one_key(own: One) -> Key {
    return own & KEEP;
}
//# else
// Pair: the key and its position side by side.
alias One = Pair;

fn one_none() -> One {
    return Pair(PAD, 0u);
}

fn one_take(own: One, c: Key, at: u32) -> One {
    let wins = replaces(c, own.key);
    return Pair(select(own.key, c, wins), select(own.at, at, wins));
}

fn one_at(own: One) -> u32 {
    return own.at;
}

fn one_key(own: One) -> Key {
    return own.key;
}
//# end
//# if (BITS < 32) & (LOOPED == 0)
// A row that is read at once is so short that its positions fit below a key.
alias OneAcc = u32;

fn one_of(own: One, at: u32) -> OneAcc {
    return one_key(own) | below(at);
}

fn one_join(a: OneAcc, b: OneAcc) -> OneAcc {
    return min(a, b);
}

fn one_best(a: OneAcc) -> Best {
    return Best(one_key(a), placed(one_at(a)));
}
//# else
alias OneAcc = Pair;

fn one_of(own: One, at: u32) -> OneAcc {
    return Pair(one_key(own), at);
}

fn one_join(a: OneAcc, b: OneAcc) -> OneAcc {
    let nearer = select((b.at < a.at), (b.at > a.at), LAST != 0u);
    let wins = less(b.key, a.key) | (same(b.key, a.key) & nearer);
    return Pair(select(a.key, b.key, wins), select(a.at, b.at, wins));
}

fn one_best(a: OneAcc) -> Best {
    return Best(a.key, placed(a.at));
}
//# end
//# if BOTH
// Both: the least and the greatest. Their values compare keys as they come, in which zeros differ.
struct Own {
    least: Key,
    greatest: Key,
    low: One,
    high: One,
}

struct Acc {
    least: Key,
    greatest: Key,
    low: OneAcc,
    high: OneAcc,
}

fn own_none() -> Own {
    return Own(PAD, PAD, one_none(), one_none());
}

fn own_take(own: Own, k: Key, at: u32) -> Own {
    let c = canonical(k);
    return Own(
        combined(own.least, k),
        combined(own.greatest, turned_key(k)),
        one_take(own.low, c, at),
        one_take(own.high, turned_canonical(c), at),
    );
}

fn own_take_if(own: Own, k: Key, at: u32, there: bool) -> Own {
    let c = canonical(k);
    return Own(
        combined(own.least, select(PAD, k, there)),
        combined(own.greatest, select(PAD, turned_key(k), there)),
        one_take(own.low, select(PAD, c, there), at),
        one_take(own.high, select(PAD, turned_canonical(c), there), at),
    );
}

fn acc_of(own: Own, frame: Frame) -> Acc {
    let low = one_of(own.low, position(frame, one_at(own.low)));
    let high = one_of(own.high, position(frame, one_at(own.high)));
    return Acc(own.least, own.greatest, low, high);
}

fn acc_join(a: Acc, b: Acc) -> Acc {
    return Acc(
        combined(a.least, b.least),
        combined(a.greatest, b.greatest),
        one_join(a.low, b.low),
        one_join(a.high, b.high),
    );
}

fn acc_emit(slot: u32, a: Acc) {
    leave(slot, a.least, one_best(a.low), false);
    leave(slot, a.greatest, one_best(a.high), true);
}
//# else
alias Own = One;
alias Acc = OneAcc;

fn own_none() -> Own {
    return one_none();
}

fn own_take(own: Own, k: Key, at: u32) -> Own {
    return one_take(own, canonical(k), at);
}

fn own_take_if(own: Own, k: Key, at: u32, there: bool) -> Own {
    return one_take(own, select(PAD, canonical(k), there), at);
}

fn acc_of(own: Own, frame: Frame) -> Acc {
    return one_of(own, position(frame, one_at(own)));
}

fn acc_join(a: Acc, b: Acc) -> Acc {
    return one_join(a, b);
}

fn acc_best(a: Acc) -> Best {
    return one_best(a);
}
//# end
//# end
//# if (BOTH == 0) & (EACH == 0) & (SUBWORDS == 0)

fn acc_emit(slot: u32, a: Acc) {
    emit(slot, acc_best(a));
}
//# end

struct Pair {
    key: Key,
    at: u32,
}
//# if LANES > 1

var<workgroup> wg_acc: array<Acc, WG>;

// Written out: a loop costs a driver's bound of its iterations, and short rows more than their elements.
fn acc_across(lid: u32, own: Acc) -> Acc {
    let lane = lid % {LANES}u;
    var a = own;
    wg_acc[lid] = a;
//# for s in 1..LOG_LANES + 1
    workgroupBarrier();
    if lane < {LANES >> s}u {
        a = acc_join(a, wg_acc[lid + {LANES >> s}u]);
        wg_acc[lid] = a;
    }
//# end
    return a;
}
//# end
