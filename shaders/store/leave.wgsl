// Writes one of both extremes: the element and its place, of a canonical key and, in the top bit, the sign that a zero has.
// `high`: the greatest, whose key is turned.
//# if PARTIAL

// The partial results of the greatest follow those of the least. Or what is there is merged with what is found.
fn leave(slot: u32, found: Best, sign: u32, high: bool) {
    let at = P.dst_delta + slot + select(0u, P.apart, high);
    var best = found;
    var signed = sign;
    if P.merge != 0u {
        let before = best_of(dst[at]);
        let k = canonical(key(before.key));
        best = joined(Best(select(k, turned(k), high), before.index), found);
//# if SIGNS
        let all = signs_with(Signs(vec4<u32>(sign), vec4<u32>(sign)), splat(before.key), vec4<u32>(0u));
        signed = select(all.any.y, all.all.y, high);
//# end
    }
    let k = select(best.key, turned(best.key), high);
    dst[at] = record_of(Best(extreme(k, signed), best.index));
}
//# else

@group(0) @binding(4) var<storage, read_write> greatest: array<Raw>;
@group(0) @binding(5) var<storage, read_write> least_at: array<Place>;
@group(0) @binding(6) var<storage, read_write> greatest_at: array<Place>;

fn leave(slot: u32, found: Best, sign: u32, high: bool) {
    if high {
        greatest[P.beside_0 + slot] = extreme(turned(found.key), sign);
        greatest_at[P.beside_2 + slot] = place_of(found.index);
    } else {
        write_bits(slot, pack(extreme(found.key, sign)));
        least_at[P.beside_1 + slot] = place_of(found.index);
    }
}
//# end
