// The best of a segment, for one side of a search for both extremes. The index compares canonical keys, in which zeros
// tie. The value compares keys as they come, in which they do not: `finish` canonicalizes it.
struct Side {
    least: Key,
    key: Key,
    at: u32,
}

fn side(k: Key, at: u32) -> Side {
    return Side(k, canonical(k), at);
}

// Takes a key that was met later.
fn taken(s: Side, k: Key, at: u32) -> Side {
    let canonical_key = canonical(k);
    let wins = replaces(canonical_key, s.key);
    return Side(combined(s.least, k), select(s.key, canonical_key, wins), select(s.at, at, wins));
}
