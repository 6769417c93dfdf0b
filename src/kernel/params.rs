//! The uniform blocks of a dispatch: its parameters, and the stride table.
//!
//! Keeps their layout, word by word, but not what a kernel does with them.

/// Declares the parameters, with their names as the shaders use them.
macro_rules! params {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// What a dispatch works on. Each kernel has the fields in its uniform block that its text uses (`P.name`), in
        /// this order; 0 where a walk does not say.
        ///
        /// A dispatch sees one region: `outer` x `len` x `inner` elements, contiguous in memory, of which `len` is
        /// reduced; or the first columns of one matrix. Positions count from the start of the binding.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Params {
            $($(#[doc = $doc])+ pub $name: u32,)+
            /// Added to every index: the region's place in the segment. `base_lo` and `base_hi` in shaders.
            pub base: u64,
            /// The element that fills, or what a mean is divided by. `fill_lo` and `fill_hi` in shaders.
            pub fill: u64,
        }

        impl Params {
            /// All fields in the order of the uniform blocks.
            pub const FIELDS: &[&str] =
                &[$(stringify!($name),)+ "base_lo", "base_hi", "fill_lo", "fill_hi"];

            /// The words of a uniform block of these fields.
            pub fn words(&self, fields: &[&str]) -> Vec<u32> {
                let value = |name: &&str| match *name {
                    $(stringify!($name) => self.$name,)+
                    "base_lo" => self.base as u32,
                    "base_hi" => (self.base >> 32) as u32,
                    "fill_lo" => self.fill as u32,
                    _ => (self.fill >> 32) as u32,
                };
                fields.iter().map(value).collect()
            }
        }
    };
}

params! {
    /// Workgroups in a row of the folded grid.
    grid,
    /// What is numbered and shared out: outputs, parts of segments, groups of short rows, runs of columns, vec4 of an
    /// elementwise dispatch; of columns that workgroups merge, workgroups.
    items,
    /// Items, or words of outputs, that an invocation takes, one after the other.
    coarsening,
    /// Elements of a segment.
    len,
    /// Elements from one of a segment to the next.
    pitch,
    /// Outputs side by side: segments of a row, of which parts are numbered together.
    inner,
    /// Elements of a segment before its first part.
    begin,
    /// Parts that a segment is cut into.
    slices,
    /// Elements of such a part.
    slice,
    /// Views: from an element of a part to the next.
    step,
    /// Views: from an element of a segment to the next in memory.
    stride,
    /// Views: dimensions that are kept.
    kept_dims,
    /// All dimensions of the stride table.
    dims,
    /// Elementwise: size of the dimension along which an invocation takes several vec4.
    along,
    /// Finish: partial results of an output. Columns: parts of a matrix, of `team` slices each.
    parts,
    /// Columns: wide rows of a matrix.
    rows,
    /// Columns: wide rows of a slice.
    slice_rows,
    /// Columns: rows that are joined to a wide row.
    joined,
    /// Columns: units from one wide row to the next.
    row_units,
    /// Columns: units side by side.
    width,
    /// Columns: slices that a workgroup merges.
    team,
    /// Columns: units of a wide row that such a workgroup takes.
    abreast,
    /// Lists of the best: outputs.
    outputs,
    /// Entries of a list.
    entries,
    /// Lists of an output.
    lists,
    /// The first one that a dispatch leaves.
    first_list,
    /// The first entry of each that a dispatch takes.
    first_rank,
    /// How many it takes.
    taken,
    /// Lists that are merged to one.
    group,
    /// Such groups of an output. Top: groups of invocations, each of which has its best element.
    groups,
    /// Entries of what they are merged to: of TopK's results.
    best,
    /// Outputs before the first one in a row of `inner`.
    first_output,
    /// Results of such a row before the first one that a dispatch writes.
    first_result,
    /// How many it may write.
    results,
    /// Both extremes: partial results of the least, before those of the greatest.
    apart,
    /// 1: combine with the partial results that are there.
    merge,
    /// Elements before the region in the source binding.
    src_delta,
    /// Outputs before the region in the destination binding.
    dst_delta,
    /// The same in the bindings of what is written beside it.
    beside_0,
    /// See `beside_0`.
    beside_1,
    /// See `beside_0`.
    beside_2,
    /// Gather: indices before the region in their binding.
    indices_delta,
}

/// The fields that a text uses, in their order.
///
/// # Panics
/// If it uses one that there is not.
pub(super) fn used(text: &str) -> Vec<&'static str> {
    let mut used = std::collections::BTreeSet::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let names = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
        for name in names.filter_map(|name| name.strip_prefix("P.")) {
            let field = Params::FIELDS.iter().position(|field| *field == name);
            used.insert(field.unwrap_or_else(|| panic!("no parameter {name}")));
        }
    }
    used.into_iter().map(|i| Params::FIELDS[i]).collect()
}

/// Their declaration in WGSL.
pub(super) fn declared(fields: &[&str]) -> String {
    let field = |name: &&str| format!("    {name}: u32,\n");
    let fields: String = fields.iter().map(field).collect();
    format!("struct Params {{\n{fields}}}\n")
}

/// Bytes of a uniform block of so many words.
pub(crate) const fn block_bytes(words: usize) -> u64 {
    (4 * words as u64).next_multiple_of(16)
}

/// Most dimensions of a stride table: none has size 1, and a dispatch sees at most 2^30 elements.
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

    /// The words of the uniform block that holds this table, whose sizes are 2 or more.
    pub fn words(&self) -> [u32; STRIDE_TABLE_WORDS] {
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
/// n below 2^31; `size` is 2 or more. (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994, theorem 4.2 with one bit to spare.)
fn reciprocal(size: u32) -> (u32, u32) {
    let shift = 32 - (size - 1).leading_zeros();
    let factor = (1u64 << (31 + shift)) / u64::from(size) + 1;
    (factor as u32, shift - 1)
}

#[cfg(test)]
mod tests {
    use super::{Params, declared, reciprocal, used};

    #[test]
    fn a_block_has_the_fields_that_a_text_uses_in_their_order() {
        let text = "a(P.fill_hi); // P.team\nQP.len P.base_lo+P.items;\nP.items";
        let fields = used(text);
        assert_eq!(fields, ["items", "base_lo", "fill_hi"]);
        let params = Params {
            items: 3,
            base: 5 << 32 | 7,
            fill: 1 << 33,
            ..Params::default()
        };
        assert_eq!(params.words(&fields), [3, 7, 2]);
        assert_eq!(
            declared(&["items", "len"]),
            "struct Params {\n    items: u32,\n    len: u32,\n}\n"
        );
    }

    #[test]
    #[should_panic(expected = "no parameter size")]
    fn a_text_that_uses_another_parameter_is_refused() {
        used("x = P.size;");
    }

    #[test]
    fn reciprocals_divide_exactly_below_2_to_the_31() {
        let edges = [65_535, 65_536, 65_537, 1 << 30, (1 << 30) + 1];
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
