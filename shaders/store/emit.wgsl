//# if DST_VECS
// A partial result: a vec4.
fn partial_at(r: u32) -> Best {
    let w = dst[r];
    return Best(unpack(w.xy), w.zw);
}

fn emit(slot: u32, best: Best) {
    let at = P.dst_delta + slot;
    var all = best;
    if P.merge != 0u {
        all = joined(best, partial_at(at));
    }
    dst[at] = vec4<u32>(pack(all.key), all.index);
}
//# else
// A result that has words of its own: a partial result, an index, a value of 32 or 64 bits.
fn partial_at(r: u32) -> Best {
    let w = 4u * r;
    return Best(unpack(vec2<u32>(dst[w], dst[w + 1u])), vec2<u32>(dst[w + 2u], dst[w + 3u]));
}

fn emit(slot: u32, best: Best) {
    let at = P.dst_delta + slot;
    if OUT == 0u {
        var all = best;
        if P.merge != 0u {
            all = joined(best, partial_at(at));
        }
        let k = pack(all.key);
        dst[4u * at] = k.x;
        dst[4u * at + 1u] = k.y;
        dst[4u * at + 2u] = all.index.x;
        dst[4u * at + 3u] = all.index.y;
    } else if OUT < 3u {
        write_bits(slot, best.index);
    } else {
        write_bits(slot, pack(element(best.key)));
    }
}
//# end
