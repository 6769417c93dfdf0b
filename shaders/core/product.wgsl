// The product of two words: its low and high word.
fn product(x: u32, y: u32) -> vec2<u32> {
    let low = (x & 0xffffu) * (y & 0xffffu);
    let one = (x >> 16u) * (y & 0xffffu);
    let two = (x & 0xffffu) * (y >> 16u);
    let middle = (low >> 16u) + (one & 0xffffu) + (two & 0xffffu);
    let high = (x >> 16u) * (y >> 16u) + (one >> 16u) + (two >> 16u) + (middle >> 16u);
    return vec2<u32>((middle << 16u) | (low & 0xffffu), high);
}
