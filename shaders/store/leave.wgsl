// Writes one of both extremes, of its key and its place. `high`: the greatest, whose key is turned.
//# if PARTIAL

// The partial results of the greatest follow those of the least. Or what is there is merged with what is found.
fn leave(slot: u32, found: Best, high: bool) {
    let at = P.dst_delta + slot + select(0u, P.apart, high);
    var best = found;
    if P.merge != 0u {
        let before = best_of(dst[at]);
        let k = key_ceiled(before.key);
        let b = select(k, turned(k), high);
        best = joined(Best(end_of(b), before.index), Best(end_of(found.key), found.index));
        best.key = combined(b, found.key);
    }
    dst[at] = record_of(Best(extreme(best.key, high), best.index));
}
//# else

@group(0) @binding(4) var<storage, read_write> greatest: array<Raw>;
@group(0) @binding(5) var<storage, read_write> least_at: array<Place>;
@group(0) @binding(6) var<storage, read_write> greatest_at: array<Place>;

fn leave(slot: u32, found: Best, high: bool) {
    let e = extreme(found.key, high);
    if high {
        greatest[P.beside_0 + slot] = e;
        greatest_at[P.beside_2 + slot] = place_of(found.index);
    } else {
        write_bits(slot, pack(e));
        least_at[P.beside_1 + slot] = place_of(found.index);
    }
}
//# end
