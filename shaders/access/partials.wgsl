// Records as the source. Settled, unless both ends of an order were searched at once.
fn source_record(r: u32) -> Best {
    let w = src[P.src_delta + r];
    return Best(canonical(unpack(w.xy)), w.zw);
}
