// Elements of 32 bits and less for both orders: flipping TURN turns the order of the keys round,
// and a NaN stays one.
override TURN: u32;
override TRUTH: u32; // 1: bytes are truth values, any but 0 is 1

// An element as it counts.
fn whole(r: u32) -> u32 {
    return select(r, min(r, 1u) << 24u, TRUTH != 0u);
}

fn turned(r: u32) -> u32 {
    return r ^ TURN;
}
