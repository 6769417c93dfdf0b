// Accumulators of one segment. An Acc takes the elements of an invocation's loads, in the order of memory; their positions
// are constants that count within these loads. A Placed has the position in the segment, which the walk's `position` gives.
// FRAMED == 0: an Acc takes them at positions of the segment.
//
//   acc_none()               nothing
//   acc_take(acc, key, at)   and an element's key at a position; acc_take_if: only if it is there
//   acc_placed(acc, frame)   the same at positions of the segment
//   acc_join(a, b)           two of a segment, in any order
//   acc_across(lid, a)       the join of a team of neighbouring invocations, for the first of them
//   acc_emit(slot, a)        writes a partial result, or a result that has words of its own
//   acc_best(a)              the key and the position of a result
//
// Nothing is no key: the worst element of a type has the same one. So there is a position even where nothing was better
// than nothing, and the walk keeps it within the segment.
//# if FRAMED == 0

struct Frame {
    unused: u32,
}

fn position(f: Frame, at: u32) -> u32 {
    return at;
}
//# end

//# if INDEX == 0
// Value: the least key, or the sum of terms.
alias Acc = Key;
alias Placed = Key;

fn acc_none() -> Acc {
    return PAD;
}

fn acc_take(own: Acc, k: Key, at: u32) -> Acc {
    return combined(own, k);
}

fn acc_take_if(own: Acc, k: Key, at: u32, there: bool) -> Acc {
    return combined(own, select(PAD, k, there));
}

fn acc_placed(own: Acc, frame: Frame) -> Placed {
    return canonical(own);
}

fn acc_join(a: Placed, b: Placed) -> Placed {
    return combined(a, b);
}

fn acc_best(a: Placed) -> Best {
    return Best(a, nowhere());
}
//# else
//# if PACKED
// Packed: the key above the position in one word. The least has the best key and, among equal keys, the preferred position.
alias Acc = u32;
const POSITION: u32 = ~KEEP;

// A position as it is packed, and back.
fn below(at: u32) -> u32 {
    return select(at, POSITION - at, LAST != 0u);
}

fn acc_none() -> Acc {
    return PAD;
}

fn acc_take_if(own: Acc, k: Key, at: u32, there: bool) -> Acc {
    return min(own, select(PAD, canonical(k), there) | below(at));
}
//# else
// Pair: the key and its position side by side.
alias Acc = Pair;

fn acc_none() -> Acc {
    return Pair(PAD, 0u);
}

fn acc_take_if(own: Acc, k: Key, at: u32, there: bool) -> Acc {
    let c = select(PAD, canonical(k), there);
    let wins = replaces(c, own.key);
    return Pair(select(own.key, c, wins), select(own.at, at, wins));
}
//# end

fn acc_take(own: Acc, k: Key, at: u32) -> Acc {
    return acc_take_if(own, k, at, true);
}
//# if PACKED & (LOOPED == 0)

// A row that is read at once is so short that its positions fit below a key.
alias Placed = u32;

fn acc_placed(own: Acc, frame: Frame) -> Placed {
    return (own & KEEP) | below(position(frame, below(own & POSITION)));
}

fn acc_join(a: Placed, b: Placed) -> Placed {
    return min(a, b);
}

fn acc_best(a: Placed) -> Best {
    return Best(a & KEEP, placed(below(a & POSITION)));
}
//# else

alias Placed = Pair;

fn acc_placed(own: Acc, frame: Frame) -> Placed {
//# if PACKED
    return Pair(own & KEEP, position(frame, below(own & POSITION)));
//# else
    return Pair(own.key, position(frame, own.at));
//# end
}

fn acc_join(a: Placed, b: Placed) -> Placed {
    let nearer = select((b.at < a.at), (b.at > a.at), LAST != 0u);
    let wins = less(b.key, a.key) | (same(b.key, a.key) & nearer);
    return Pair(select(a.key, b.key, wins), select(a.at, b.at, wins));
}

fn acc_best(a: Placed) -> Best {
    return Best(a.key, placed(a.at));
}
//# end

struct Pair {
    key: Key,
    at: u32,
}
//# end

fn acc_element(a: Placed) -> Raw {
    return element(acc_best(a).key);
}
//# if DST_VECS == 0

fn acc_emit(slot: u32, a: Placed) {
    emit(slot, acc_best(a));
}
//# end
