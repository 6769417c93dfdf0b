// A record of its own: a vec4 each.
fn record(r: u32) -> Best {
    let w = dst[r];
    return Best(unpack(w.xy), w.zw);
}

fn emit(slot: u32, best: Best) {
    let at = P.dst_delta + slot;
    if P.merge == 0u || better(best, record(at)) {
        dst[at] = vec4<u32>(pack(best.key), best.index);
    }
}
