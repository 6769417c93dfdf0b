// Writes the bits of an element that has words of its own, as result o.
fn write_bits(o: u32, bits: vec2<u32>) {
    let at = P.dst_delta + o;
    if OUT == 3u {
        dst[at] = bits.x;
    } else {
        dst[2u * at] = bits.x;
        dst[2u * at + 1u] = bits.y;
    }
}
