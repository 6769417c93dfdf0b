//! The uniform block of a dispatch, as `shaders/params.wgsl` declares it.

/// Words of the block.
pub(crate) const WORDS: usize = 16;
/// Bytes of the block.
pub(crate) const BYTES: u64 = 4 * WORDS as u64;

/// What a dispatch works on; the fields' meaning is told in `shaders/params.wgsl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the shader's declaration is their documentation"
)]
pub struct Params {
    pub grid: u32,
    pub items: u32,
    pub reps: u32,
    pub len: u32,
    pub inner: u32,
    pub slices: u32,
    pub slice: u32,
    pub width: u32,
    pub total: u32,
    pub src_delta: u32,
    pub dst_delta: u32,
    pub merge: u32,
    pub base: u64,
    pub fill: u64,
}

impl Params {
    /// The block's words, in the shader's order.
    pub(crate) fn words(&self) -> [u32; WORDS] {
        let low = |x: u64| x as u32;
        let high = |x: u64| (x >> 32) as u32;
        [
            self.grid,
            self.items,
            self.reps,
            self.len,
            self.inner,
            self.slices,
            self.slice,
            self.width,
            self.total,
            self.src_delta,
            self.dst_delta,
            self.merge,
            low(self.base),
            high(self.base),
            low(self.fill),
            high(self.fill),
        ]
    }
}
