//! The uniform block of a dispatch, as `shaders/core/params.wgsl` declares it.
//!
//! Keeps its layout, word by word, but not what a kernel does with it.

/// Words of the block.
pub(crate) const WORDS: usize = 23;
/// Bytes of the block.
pub(crate) const BYTES: u64 = (4 * WORDS as u64).next_multiple_of(16);

/// What a dispatch works on; `shaders/core/params.wgsl` explains the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the shader's declaration is their documentation"
)]
pub struct Params {
    pub grid: u32,
    pub items: u32,
    pub team: u32,
    pub coarsening: u32,
    pub len: u32,
    pub inner: u32,
    pub slices: u32,
    pub slice: u32,
    pub abreast: u32,
    pub width: u32,
    pub step: u32,
    pub total: u32,
    pub kept_dims: u32,
    pub dims: u32,
    pub src_delta: u32,
    pub dst_delta: u32,
    pub indices_delta: u32,
    pub apart: u32,
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
            self.team,
            self.coarsening,
            self.len,
            self.inner,
            self.slices,
            self.slice,
            self.abreast,
            self.width,
            self.step,
            self.total,
            self.kept_dims,
            self.dims,
            self.src_delta,
            self.dst_delta,
            self.indices_delta,
            self.apart,
            self.merge,
            low(self.base),
            high(self.base),
            low(self.fill),
            high(self.fill),
        ]
    }
}

/// Most dimensions of a stride table: none has size 1, and a dispatch sees at most 2^31 elements.
pub(crate) const STRIDE_DIMS: usize = 32;
/// Columns of a stride table.
const STRIDE_COLUMNS: usize = 8;
/// Words of the block that holds a stride table.
pub(crate) const STRIDE_TABLE_WORDS: usize =
    4 * STRIDE_DIMS + STRIDE_DIMS * STRIDE_COLUMNS + STRIDE_COLUMNS;
/// Bytes of that block.
pub(crate) const STRIDE_TABLE_BYTES: u64 = 4 * STRIDE_TABLE_WORDS as u64;

/// The second uniform block, as `shaders/access/stride_table.wgsl` declares it: the strides of elementwise
/// inputs along the output's dimensions, or of a strided view along its kept and reduced dimensions. Sizes
/// and strides count vec4 where an input is read by vec4, else elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrideTable {
    /// The output's dimensions, none of size 1.
    pub shape: Vec<u32>,
    /// Per dimension the inputs' strides, modulo 2^32. In an elementwise dispatch [`StrideTable::OUTPUT`] and
    /// [`StrideTable::COORDINATE`] have columns too, and by vec4 the strides from one vec4 of an invocation to the
    /// next follow the dimensions.
    pub strides: Vec<Vec<u32>>,
    /// The element with coordinates 0 in each input's view. The view's place in its binding is added when
    /// buffers are known.
    pub starts: Vec<u32>,
}

impl StrideTable {
    /// The column of the output, behind those of six inputs.
    pub const OUTPUT: usize = 6;
    /// The column of the coordinate along which an elementwise invocation takes several vec4.
    pub const COORDINATE: usize = STRIDE_COLUMNS - 1;

    pub(crate) fn words(&self) -> [u32; STRIDE_TABLE_WORDS] {
        let mut words = [0; STRIDE_TABLE_WORDS];
        let (shape, rest) = words.split_at_mut(4 * STRIDE_DIMS);
        let (strides, starts) = rest.split_at_mut(STRIDE_DIMS * STRIDE_COLUMNS);
        for (to, &size) in shape.chunks_exact_mut(4).zip(&self.shape) {
            let (reciprocal, shift) = reciprocal(size);
            to[..3].copy_from_slice(&[size, reciprocal, shift]);
        }
        for (to, from) in strides.chunks_exact_mut(STRIDE_COLUMNS).zip(&self.strides) {
            to[..from.len()].copy_from_slice(from);
        }
        starts[..self.starts.len()].copy_from_slice(&self.starts);
        words
    }
}

/// A factor and a shift such that the high word of `n * factor`, shifted, is `n / size` for all
/// n below 2^31. (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994, theorem 4.2 with one bit to spare.)
fn reciprocal(size: u32) -> (u32, u32) {
    if size < 2 {
        return (0, 0);
    }
    let shift = 32 - (size - 1).leading_zeros();
    let factor = (1u64 << (31 + shift)) / u64::from(size) + 1;
    (factor as u32, shift - 1)
}

#[cfg(test)]
mod tests {
    use super::reciprocal;

    #[test]
    fn reciprocals_divide_exactly_below_2_to_the_31() {
        let edges = [
            2,
            3,
            5,
            7,
            10,
            641,
            65_535,
            65_536,
            65_537,
            1 << 30,
            (1 << 30) + 1,
        ];
        for size in (2..2000).chain(edges) {
            let (factor, shift) = reciprocal(size);
            let quotient = |n: u64| (n * u64::from(factor)) >> (32 + shift);
            let size = u64::from(size);
            let multiples = (1..40).flat_map(|k| [k * size - 1, k * size, k * size + 1]);
            let last = (1 << 31) / size * size;
            let ends = [0, 1, last - 1, last, (1 << 31) - 1];
            for n in multiples.chain(ends).filter(|&n| n < 1 << 31) {
                assert_eq!(quotient(n), n / size, "{n} / {size}");
            }
        }
    }
}
