// Both: the least and the greatest of a segment, by keys of which zeros and NaNs tie.
//
//   placed_of(key, at, there)   a key, or nothing
//   acc_join(a, b)              two of a segment, in any order
//   acc_across(lid, a)          the join of a team of neighbouring invocations, for the first of them
//   acc_emit(slot, a)           writes results, or partial results

// A key and its position. Rows keep the number of its unit, until one invocation reads that again.
struct Pair {
    key: Key,
    at: u32,
}

// The greatest's key is turned.
struct Placed {
    least: Pair,
    greatest: Pair,
}

fn placed_of(k: Key, at: u32, there: bool) -> Placed {
    let place = select(nowhere().x, at, there);
    return Placed(Pair(select(PAD, k, there), place), Pair(select(PAD, turned(k), there), place));
}

fn pair_join(a: Pair, b: Pair) -> Pair {
    let wins = better(Best(end_of(b.key), vec2<u32>(b.at, 0u)), Best(end_of(a.key), vec2<u32>(a.at, 0u)));
    return Pair(combined(a.key, b.key), select(a.at, b.at, wins));
}

fn acc_join(a: Placed, b: Placed) -> Placed {
    return Placed(pair_join(a.least, b.least), pair_join(a.greatest, b.greatest));
}

fn acc_emit(slot: u32, a: Placed) {
    leave(slot, Best(a.least.key, placed(a.least.at)), false);
    leave(slot, Best(a.greatest.key, placed(a.greatest.at)), true);
}
//# if FRAMED

// What an invocation keeps of the units of a row.
struct Acc {
    least: Bests,
    greatest: Bests,
}

fn acc_none() -> Acc {
    return Acc(bests_none(), bests_none());
}

// The least key of a unit.
fn least_of(k: Keys) -> Plane {
    var least = key_0(k);
//# for e in 1..PER
    least = combined(least, key_{e}(k));
//# end
    return Plane(least);
}

fn keys_turned(k: Keys) -> Keys {
    return Keys(
//# for j in 0..PLANES
        plane_turned(k.p{j}),
//# end
    );
}
//# end
