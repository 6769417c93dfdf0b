// One side of a search for both extremes. The index goes by settled keys, in which zeros tie; the
// value by keys as they come, in which they do not: what reads the records settles them.
struct Side {
    least: Key,
    key: Key,
    at: u32,
}

fn side(k: Key, at: u32) -> Side {
    return Side(k, settle(k), at);
}

// Takes a key that was met later.
fn taken(s: Side, k: Key, at: u32) -> Side {
    let settled = settle(k);
    let wins = replaces(settled, s.key);
    return Side(lesser(s.least, k), select(s.key, settled, wins), select(s.at, at, wins));
}

// Writes a record, or merges what is found with the one that is there.
fn leave(slot: u32, s: Side) {
    let at = P.dst_delta + slot;
    var least = s.least;
    var best = Best(s.key, placed(s.at));
    if P.merge != 0u {
        let before = record(at);
        least = lesser(least, before.key);
        let settled = Best(settle(before.key), before.index);
        if better(settled, best) {
            best = settled;
        }
    }
    let k = pack(least);
    dst[4u * at] = k.x;
    dst[4u * at + 1u] = k.y;
    dst[4u * at + 2u] = best.index.x;
    dst[4u * at + 3u] = best.index.y;
}
