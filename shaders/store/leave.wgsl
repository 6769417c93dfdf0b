// Writes the partial result of one of both extremes, or merges what is found with the one that is there: a key as it came,
// in which zeros differ, and the best of the canonical ones. `high`: of the greatest; these follow those of the least.
fn leave(slot: u32, raw: Key, found: Best, high: bool) {
    let at = P.dst_delta + slot + select(0u, P.apart, high);
    var least = raw;
    var best = found;
    if P.merge != 0u {
        let before = best_of(dst[at]);
        least = combined(least, before.key);
        var key = canonical(before.key);
        if high {
            key = turned_canonical(canonical(turned_key(before.key)));
        }
        if better(Best(key, before.index), best) {
            best = Best(key, before.index);
        }
    }
    dst[at] = record_of(Best(least, best.index));
}
