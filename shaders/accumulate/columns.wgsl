// The best of each column in a vec4: for each plane the best keys, and where they were met. An index compares canonical
// keys, in which zeros tie; a value compares keys as they come.
struct Bests {
    key: Plane, // PACKED: for an index with the place below
//# if PACKED == 0
    at: Places,
//# end
}

struct Acc {
//# for j in 0..PLANES
    p{j}: Bests,
//# end
}

fn bests(k: Plane, at: Places) -> Bests {
//# if PACKED
    if INDEX == 0u {
        return Bests(k);
    }
    return Bests(packed4(k, at));
//# else
    if INDEX == 0u {
        return Bests(k, at);
    }
    return Bests(plane_canonical(k), at);
//# end
}

// Takes keys that were met at t, after all others.
fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
    return bests_joined(b, bests(k, Places(t)));
}

fn bests_joined(earlier: Bests, later: Bests) -> Bests {
//# if PACKED
    return Bests(plane_combined(earlier.key, later.key));
//# else
    if INDEX == 0u {
        return Bests(plane_combined(earlier.key, later.key), earlier.at);
    }
    let wins = plane_replaces(later.key, earlier.key);
    return Bests(select(earlier.key, later.key, wins), select(earlier.at, later.at, wins));
//# end
}

// Where the keys were met; `none` where packed keys met none.
fn bests_places(b: Bests, none: u32) -> Places {
//# if PACKED
    return select(places_of(b.key), Places(none), b.key == Plane(PAD));
//# else
    return b.at;
//# end
}

// Begins with the first keys of each column.
fn acc_first(k: Keys, t: u32) -> Acc {
    return Acc(
//# for j in 0..PLANES
        bests(k.p{j}, Places(t)),
//# end
    );
}

fn acc_take(a: Acc, k: Keys, t: u32) -> Acc {
    return Acc(
//# for j in 0..PLANES
        bests_taken(a.p{j}, k.p{j}, t),
//# end
    );
}

// Takes the combined keys of a block of four rows. A plane at a time, so that few keys live at once.
fn acc_block(a: Acc, r: Rows, t: u32) -> Acc {
    return Acc(
//# for j in 0..PLANES
        bests_taken(a.p{j}, block_{j}(r), t),
//# end
    );
}
//# for j in 0..PLANES

fn block_{j}(r: Rows) -> Plane {
    let ab = plane_combined(plane_{j}(r.a), plane_{j}(r.b));
    return plane_combined(ab, plane_combined(plane_{j}(r.c), plane_{j}(r.d)));
}
//# end

// The preferred row of a block of four. a to d say which rows have what is sought; at least one has.
fn preferred_row(a: bool, b: bool, c: bool, d: bool) -> u32 {
    let first = select(select(select(3u, 2u, c), 1u, b), 0u, a);
    let last = select(select(select(0u, 1u, b), 2u, c), 3u, d);
    return select(first, last, LAST != 0u);
}

// The plane that holds column i.
fn acc_bests(a: Acc, i: u32) -> Bests {
//# if PLANES > 1
    switch i & {PLANES - 1}u {
//# for j in 0..PLANES - 1
        case {j}u: {
            return a.p{j};
        }
//# end
        default: {
            return a.p{PLANES - 1};
        }
    }
//# else
    return a.p0;
//# end
}

fn acc_key(a: Acc, i: u32) -> Key {
    let k = plane_key(acc_bests(a, i).key, i >> {LOG}u);
//# if PACKED
    return select(k, k & KEEP, INDEX != 0u);
//# else
    return k;
//# end
}

fn acc_at(a: Acc, i: u32) -> u32 {
    return plane_place(bests_places(acc_bests(a, i), 0u), i >> {LOG}u);
}
