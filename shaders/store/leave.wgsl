// Writes a partial result, or merges what is found with the one that is there.
fn leave(slot: u32, s: Side) {
    let at = P.dst_delta + slot;
    var least = s.least;
    var best = Best(s.key, placed(s.at));
    if P.merge != 0u {
        let before = best_of(dst[at]);
        least = combined(least, before.key);
        let canonical_key = Best(canonical(before.key), before.index);
        if better(canonical_key, best) {
            best = canonical_key;
        }
    }
    dst[at] = record_of(Best(least, best.index));
}
