// A partial result in memory: {RECORD} words, of the key and of the index where one is wanted. Four words hold any key
// and any index.
//# if RECORD == BITS / 64 + 1
alias Record = Key;

fn record_of(b: Best) -> Record {
    return b.key;
}

fn best_of(r: Record) -> Best {
    return Best(r, vec2<u32>(0u));
}
//# end
//# if (RECORD == 2) & (BITS < 64)
alias Record = vec2<u32>;

fn record_of(b: Best) -> Record {
    return vec2<u32>(b.key, b.index.x);
}

fn best_of(r: Record) -> Best {
    return Best(unpack(r), vec2<u32>(r.y, 0u));
}
//# end
//# if RECORD == 4
alias Record = vec4<u32>;

fn record_of(b: Best) -> Record {
    return vec4<u32>(pack(b.key), b.index);
}

fn best_of(r: Record) -> Best {
    return Best(unpack(r.xy), r.zw);
}
//# end
//# if PARTIAL

fn emit(slot: u32, best: Best) {
    let at = P.dst_delta + slot;
    if P.merge != 0u {
        dst[at] = record_of(joined(best, best_of(dst[at])));
    } else {
        dst[at] = record_of(best);
    }
}
//# else
//# if DST_VECS == 0

// A result that has words of its own: an index, a value of 32 or 64 bits.
fn emit(slot: u32, best: Best) {
    if OUT < 3u {
        write_bits(slot, best.index);
    } else {
        write_bits(slot, pack(element(best.key)));
    }
}
//# end
//# end
