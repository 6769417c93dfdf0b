// Writes what the mask names of word v, counted likewise; the other bytes are somebody else's.
fn write_word(v: u32, bits: u32, mask: u32) {
    let w = P.dst_delta / per_word() + v;
    if mask == WHOLE {
        dst[w] = bits;
    } else if mask != 0u {
        dst[w] = (dst[w] & ~mask) | bits;
    }
}
