// The least of a segment, as a search for both extremes has it of each side, and lines of columns. The index goes by settled keys, in which zeros tie; the
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
