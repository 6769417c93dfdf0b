// The best of the keys of a plane: in columns, and of both extremes, in one order, in rows too.
//# if INDEX == 0
// The least key, or the sum of terms.
alias Bests = Plane;

fn bests_none() -> Bests {
    return Plane(PAD);
}

fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
    return plane_combined(b, k);
}

fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    return plane_canonical(b);
}
//# else
struct Bests {
    key: Plane, // below 32 bits with the row below it, until bests_placed; not of both extremes
    at: Places, // of both extremes the number of the preferred one of those that tie with the key
}

fn bests_none() -> Bests {
    return Bests(Plane(PAD), Places(0u));
}
//# if (BITS < 32) & (BOTH == 0)

// A row as it is packed below a key, and back: of equal keys, the preferred row makes the least word.
fn row_below(t: Places) -> Places {
    return select(t, Places(~KEEP) - t, LAST != 0u);
}

fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
    return Bests(min(b.key, plane_canonical(k) | row_below(Places(t))), b.at);
}

fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    return Bests(b.key & Plane(KEEP), Places(first) + row_below(b.key & Plane(~KEEP)) * step);
}
//# else

// In rows of the matrix.
fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    return Bests(b.key, Places(first) + b.at * step);
}
//# if BOTH == 0

fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
    let key = plane_canonical(k);
    if LAST != 0u {
        let stays = plane_less(b.key, key);
        return Bests(select(key, b.key, stays), select(Places(t), b.at, stays));
    }
    let wins = plane_less(key, b.key);
    return Bests(select(b.key, key, wins), select(b.at, Places(t), wins));
}
//# else

// And {LOADS} further keys, of which the first is number `at`. A tree finds the least. Its number is found on the way down, by
// the half that has a key which ties with it: fewer instructions than comparing numbers all the way.
fn bests_taken(
    own: Bests,
//# for i in 0..LOADS
    k{i}: Plane,
//# end
    at: u32,
) -> Bests {
//# for i in LOADS..WIDTH
    let k{i} = k{LOADS - 1};
//# end
    // Node i of level l has the least of 2^l keys, the preferred ones first.
//# for i in 0..WIDTH
    let n0_0_{i} = select(k{i}, k{WIDTH - 1 - i}, LAST != 0u);
//# end
//# for l in 0..LEVELS
//# for i in 0..WIDTH >> l + 1
    let n0_{l + 1}_{i} = plane_combined(n0_{l}_{2 * i}, n0_{l}_{2 * i + 1});
//# end
//# end
    let least = n0_{LEVELS}_0;
    let key = plane_combined(own.key, least);
    let end = plane_end(key);
    // After s steps the nodes of each level that are left.
    var number = Places(0u);
//# for s in 0..LEVELS
    let right{s} = plane_less(end, n{s}_{LEVELS - 1 - s}_0);
    number |= select(Places(0u), Places({WIDTH >> s + 1}u), right{s});
//# for l in 0..LEVELS - 1 - s
//# for i in 0..WIDTH >> s + l + 1
    let n{s + 1}_{l}_{i} = select(n{s}_{l}_{i}, n{s}_{l}_{i + (WIDTH >> s + l + 1)}, right{s});
//# end
//# end
//# end
    var wins = plane_less(end, own.key);
    if LAST != 0u {
        number = min(Places({WIDTH - 1}u) - number, Places({LOADS - 1}u));
        wins = !plane_less(end, least);
    }
    return Bests(key, select(own.at, Places(at) + number, wins));
}
//# end
//# end
//# end
