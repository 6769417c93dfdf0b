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
//# if PACKED & (LOOPED == 0)
// A row that is read at once is so short that its positions fit below a key.
alias OnePlaced = u32;

fn one_placed(own: One, at: u32) -> OnePlaced {
    return one_key(own) | below(at);
}

fn one_join(a: OnePlaced, b: OnePlaced) -> OnePlaced {
    return min(a, b);
}

fn one_best(a: OnePlaced) -> Best {
    return Best(one_key(a), placed(one_at(a)));
}
//# else
alias OnePlaced = Pair;

fn one_placed(own: One, at: u32) -> OnePlaced {
    return Pair(one_key(own), at);
}

fn one_join(a: OnePlaced, b: OnePlaced) -> OnePlaced {
    let nearer = select((b.at < a.at), (b.at > a.at), LAST != 0u);
    let wins = less(b.key, a.key) | (same(b.key, a.key) & nearer);
    return Pair(select(a.key, b.key, wins), select(a.at, b.at, wins));
}

fn one_best(a: OnePlaced) -> Best {
    return Best(a.key, placed(a.at));
}
//# end

// The best in one order; of both extremes in both orders, and of types with a -0 the signs.
struct Acc {
//# for s in 0..1 + BOTH
    side{s}: One,
//# end
//# if SIGNS
    signs: Signs,
//# end
}

struct Placed {
//# for s in 0..1 + BOTH
    side{s}: OnePlaced,
//# end
//# if BOTH
    signs: vec2<u32>, // any, all: in the top bit
//# end
}

fn acc_none() -> Acc {
    return Acc(
//# for s in 0..1 + BOTH
        one_none(),
//# end
//# if SIGNS
        signs_none(),
//# end
    );
}

fn acc_take(own: Acc, k: Key, at: u32) -> Acc {
    return acc_take_if(own, k, at, true);
}

fn acc_take_if(own: Acc, k: Key, at: u32, there: bool) -> Acc {
    let c = canonical(k);
    var a = own;
    a.side0 = one_take(own.side0, select(PAD, c, there), at);
//# if BOTH
    a.side1 = one_take(own.side1, select(PAD, turned(c), there), at);
//# end
    return a;
}

fn acc_placed(own: Acc, frame: Frame) -> Placed {
    var a: Placed;
//# for s in 0..1 + BOTH
    a.side{s} = one_placed(own.side{s}, position(frame, one_at(own.side{s})));
//# end
//# if SIGNS
    let any = own.signs.any;
    let all = own.signs.all;
//# if BITS == 64
    a.signs = vec2<u32>(any.y | any.w, all.y & all.w);
//# else
    a.signs = vec2<u32>(any.x | any.y | any.z | any.w, all.x & all.y & all.z & all.w);
//# end
//# if BITS == 16
    a.signs = vec2<u32>(a.signs.x | (a.signs.x << 16u), a.signs.y & (a.signs.y << 16u));
//# end
//# end
    return a;
}

fn acc_join(a: Placed, b: Placed) -> Placed {
    return Placed(
//# for s in 0..1 + BOTH
        one_join(a.side{s}, b.side{s}),
//# end
//# if BOTH
        vec2<u32>(a.signs.x | b.signs.x, a.signs.y & b.signs.y),
//# end
    );
}

//# if BOTH
fn acc_emit(slot: u32, a: Placed) {
    leave(slot, one_best(a.side0), a.signs.x, false);
    leave(slot, one_best(a.side1), a.signs.y, true);
}
//# else
fn acc_best(a: Placed) -> Best {
    return one_best(a.side0);
}
//# end
//# end
//# if BOTH == 0

fn acc_element(a: Placed) -> Raw {
    return element(acc_best(a).key);
}
//# end
//# if (BOTH == 0) & (DST_VECS == 0)

fn acc_emit(slot: u32, a: Placed) {
    emit(slot, acc_best(a));
}
//# end

struct Pair {
    key: Key,
    at: u32,
}
