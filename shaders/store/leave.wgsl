// Writes a partial result, or merges what is found with the one that is there.
fn leave(slot: u32, s: Side) {
    let at = P.dst_delta + slot;
    var least = s.least;
    var best = Best(s.key, placed(s.at));
    if P.merge != 0u {
        let before = partial_at(at);
        least = combined(least, before.key);
        let canonical_key = Best(canonical(before.key), before.index);
        if better(canonical_key, best) {
            best = canonical_key;
        }
    }
    let k = pack(least);
    dst[4u * at] = k.x;
    dst[4u * at + 1u] = k.y;
    dst[4u * at + 2u] = best.index.x;
    dst[4u * at + 3u] = best.index.y;
}
