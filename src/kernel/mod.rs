//! From a compile key to WGSL: which fragments make a kernel, and the numbers they are given.
//!
//! Shapes are parameters, numbers `override`s; what repeats in the text, or is there or not, the
//! directives of `template.rs` say. This module knows no plans and no device.

pub(crate) mod params;
mod template;

use crate::DType;
use crate::keys::Keys;

/// How a kernel maps work to invocations; each is a file in `shaders/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Family {
    /// Contiguous segments, by whole vec4, some lanes a segment.
    Rows,
    /// Contiguous segments of a few whole vec4, a lane a segment.
    ShortRows,
    /// Contiguous segments of a few elements: a lane takes as many as are whole vec4.
    SmallRows,
    /// Neighbouring elements belong to neighbouring segments: a lane a vec4 of columns.
    Columns,
    /// Columns of a few elements: a lane takes some neighbouring vec4 of them, and so on.
    Shallow,
    /// Columns, a lane some vec4 of all rows, or parts of them, that some lanes take together.
    Panels,
    /// Columns, a lane eight vec4 of a row that is longer than some lanes take at once.
    Strips,
    /// Columns, a lane as many vec4 as it takes for some lanes to take rows whole.
    Bands,
    /// A lane an output word, element by element.
    Each,
    /// Records of partial results become results.
    Finish,
    /// The elements that indices point to.
    Gather,
    /// The same element everywhere.
    Fill,
    /// Elementwise, a lane an output word.
    ElementwiseWords,
    /// Elementwise, a lane a vec4 of outputs.
    ElementwiseVecs,
    /// Elementwise, a lane eight vec4 of a row of outputs, and of the rows that follow.
    ElementwiseStrips,
    /// A strided view, element by element.
    Strided,
    /// The elements of a strided view that indices point to.
    StridedGather,
    /// The least and the greatest of a strided view at once, element by element.
    Extremes,
    /// The same by whole vec4, where segments are contiguous.
    ExtremeRows,
    /// The same by whole vec4, where neighbouring elements belong to neighbouring segments.
    ExtremeColumns,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 20] = [
        Family::Rows,
        Family::ShortRows,
        Family::SmallRows,
        Family::Columns,
        Family::Shallow,
        Family::Panels,
        Family::Strips,
        Family::Bands,
        Family::Each,
        Family::Finish,
        Family::Gather,
        Family::Fill,
        Family::ElementwiseWords,
        Family::ElementwiseVecs,
        Family::ElementwiseStrips,
        Family::Strided,
        Family::StridedGather,
        Family::Extremes,
        Family::ExtremeRows,
        Family::ExtremeColumns,
    ];

    /// Whether columns are walked as wide rows, which leave records where they are folded or cut.
    pub const fn is_columns(self) -> bool {
        matches!(self, Family::Columns | Family::Strips | Family::Bands)
    }

    /// The name of the shader file and of its entry point.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Rows => "rows",
            Family::ShortRows => "short_rows",
            Family::SmallRows => "small_rows",
            Family::Columns => "columns",
            Family::Shallow => "shallow",
            Family::Panels => "panels",
            Family::Strips => "strips",
            Family::Bands => "bands",
            Family::Each => "each",
            Family::Finish => "finish",
            Family::Gather => "gather",
            Family::Fill => "fill",
            Family::ElementwiseWords => "elementwise_words",
            Family::ElementwiseVecs => "elementwise_vecs",
            Family::ElementwiseStrips => "elementwise_strips",
            Family::Strided => "strided",
            Family::StridedGather => "strided_gather",
            Family::Extremes => "extremes",
            Family::ExtremeRows => "extreme_rows",
            Family::ExtremeColumns => "extreme_columns",
        }
    }
}

/// What a kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoreFormat {
    /// A key and a 64-bit index, 16 bytes, for a later pass.
    Partial,
    /// `int64`.
    Index64,
    /// `int32`, `uint32`.
    Index32,
    /// An element of 32 bits.
    Value32,
    /// An element of 64 bits.
    Value64,
    /// An element of 16 bits; two share a word.
    Value16,
    /// An element of 8 bits; four share a word.
    Value8,
}

impl StoreFormat {
    /// All kinds, in the order of the shaders' `OUT`.
    pub const ALL: [StoreFormat; 7] = [
        StoreFormat::Partial,
        StoreFormat::Index64,
        StoreFormat::Index32,
        StoreFormat::Value32,
        StoreFormat::Value64,
        StoreFormat::Value16,
        StoreFormat::Value8,
    ];

    /// What holds an element of that type.
    pub const fn value(dtype: DType) -> StoreFormat {
        match dtype.size() {
            1 => StoreFormat::Value8,
            2 => StoreFormat::Value16,
            4 => StoreFormat::Value32,
            _ => StoreFormat::Value64,
        }
    }

    /// Bytes of one.
    pub const fn bytes(self) -> u64 {
        match self {
            StoreFormat::Partial => 16,
            StoreFormat::Index64 | StoreFormat::Value64 => 8,
            StoreFormat::Index32 | StoreFormat::Value32 => 4,
            StoreFormat::Value16 => 2,
            StoreFormat::Value8 => 1,
        }
    }

    /// How many share a word of the destination.
    pub const fn per_word(self) -> u32 {
        match self {
            StoreFormat::Value16 => 2,
            StoreFormat::Value8 => 4,
            _ => 1,
        }
    }
}

/// The compile key: everything a pipeline depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The mapping.
    pub family: Family,
    /// The order of the elements.
    pub keys: Keys,
    /// What is written.
    pub out: StoreFormat,
    /// Invocations in a workgroup.
    pub workgroup: u32,
    /// Invocations that share a segment (rows, finish).
    pub lanes: u32,
    /// Whether a lane walks a run of its own (rows).
    pub blocked: bool,
    /// Whether lanes take several items, one after the other (rows, each).
    pub coarsened: bool,
    /// What the kernel is written out for: elements of a segment, or 0 for any (tiles); vec4 of
    /// columns that a lane takes at once (shallow, panels, bands), or 0 for one, element by element
    /// (shallow).
    pub unrolled: u32,
    /// Whether columns lie anywhere, instead of in whole vec4 (shallow).
    pub unaligned: bool,
    /// Whether an index is wanted.
    pub index: bool,
    /// Whether the last of equals wins.
    pub last: bool,
    /// Whether elements are copied as they are (each, strided).
    pub raw: bool,
    /// Whether bytes are truth values (extremes), whose order is then that of `uint8`.
    pub truth: bool,
    /// Words of an index that is read (gather, strided gather).
    pub index_words: u32,
    /// Inputs (elementwise), 1 to 8; what is read (strided): the view, and indices.
    pub inputs: u32,
    /// A bit for each input of which one element serves a whole vec4 (elementwise).
    pub scalars: u32,
    /// A bit for each input that is the same in every row (elementwise strips).
    pub row_invariant: u32,
    /// Whether what the output holds is an input, too (elementwise).
    pub chained: bool,
}

/// Invocations that take neighbouring vec4 together, and go on by as many: strips, bands, panels.
pub(crate) const TEAM: u32 = 8;
/// Vec4 of a row that an invocation of strips takes.
pub(crate) const RUNS: u32 = 8;

macro_rules! fragments {
    ($($name:literal)+) => {
        [$(include_str!(concat!("../../shaders/", $name, ".wgsl"))),+].as_slice()
    };
}

impl Kernel {
    /// `reduce/rows/32bit/partial/wg256x32`: family, element bits, output, workgroup and lanes.
    pub fn label(&self) -> String {
        let Kernel { family, out, .. } = self;
        let (family, out) = (family.name(), format!("{out:?}").to_lowercase());
        let (bits, wg, lanes) = (self.keys.bits(), self.workgroup, self.lanes);
        format!("reduce/{family}/{bits}bit/{out}/wg{wg}x{lanes}")
    }

    /// The name of the entry point.
    pub fn entry_point(&self) -> &'static str {
        match self.family {
            Family::Strips | Family::Bands => Family::Columns.name(),
            Family::StridedGather => Family::Gather.name(),
            family => family.name(),
        }
    }

    /// Whether the kernel is told how its inputs lie: elementwise and strided ones.
    pub fn has_stride_table(&self) -> bool {
        self.is_elementwise() || self.is_strided()
    }

    fn is_elementwise(&self) -> bool {
        use Family::{ElementwiseStrips, ElementwiseVecs, ElementwiseWords};
        matches!(
            self.family,
            ElementwiseWords | ElementwiseVecs | ElementwiseStrips
        )
    }

    fn is_strided(&self) -> bool {
        matches!(self.family, Family::Strided | Family::StridedGather) || self.is_extremes()
    }

    /// Whether the kernel finds the least and the greatest at once.
    pub fn is_extremes(&self) -> bool {
        self.family == Family::Extremes || self.is_extremes_by_vec()
    }

    fn is_extremes_by_vec(&self) -> bool {
        matches!(self.family, Family::ExtremeRows | Family::ExtremeColumns)
    }

    /// The bindings in use, of 0 (parameters), 1 (source as vec4, or indices), 2 (destination)
    /// and 3 (source as words).
    pub fn bindings(&self) -> &'static [u32] {
        match self.family {
            family if family.is_columns() => &[0, 1, 2, 3],
            Family::Rows | Family::Gather => &[0, 1, 2, 3],
            Family::Shallow if self.unaligned => &[0, 1, 2, 3],
            Family::ShortRows | Family::SmallRows | Family::Shallow | Family::Panels => &[0, 1, 2],
            Family::Finish => &[0, 1, 2],
            Family::Each => &[0, 2, 3],
            Family::Fill => &[0, 2],
            // Binding 1 holds more parameters, 3 and up the inputs.
            Family::Strided | Family::Extremes => &[0, 1, 2, 3],
            // What is read is bound as vec4 as well.
            Family::ExtremeRows | Family::ExtremeColumns => &[0, 1, 2, 3, 4],
            Family::StridedGather => &[0, 1, 2, 3, 4],
            _ => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10][..3 + self.inputs as usize],
        }
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_bytes(&self) -> u32 {
        let key = if self.keys.bits() == 64 { 8 } else { 4 };
        match self.family {
            Family::Rows => self.workgroup * (key + 4),
            Family::Finish if self.lanes > 1 => self.workgroup * (key + 8),
            _ => 0,
        }
    }

    /// The whole shader.
    pub fn wgsl(&self) -> String {
        let text = self.fragments().concat();
        template::expand(&text, self.names())
    }

    /// The fragments that make the shader, which declare what others use, in any order.
    fn fragments(&self) -> Vec<&'static str> {
        let mut all = fragments!("core/params" "store/out").to_vec();
        if self.family == Family::Fill {
            all.extend(fragments!("walk/fill"));
            return all;
        }
        all.extend(match self.keys.bits() {
            64 => fragments!("elements/keys64" "elements/vec64"),
            _ => fragments!("elements/keys32" "elements/vec32"),
        });
        if self.has_stride_table() {
            all.extend(fragments!("access/stride_table"));
        }
        if !self.is_elementwise() {
            all.extend(fragments!("core/source" "core/better"));
            all.extend(match self.keys.bits() {
                64 => fragments!("elements/find64"),
                _ => fragments!("elements/find32"),
            });
        }
        let emits = match self.family {
            Family::SmallRows | Family::Gather | Family::StridedGather => false,
            Family::Shallow | Family::Panels => self.out == StoreFormat::Partial,
            _ => !self.is_elementwise(),
        };
        if emits {
            all.extend(fragments!("store/emit"));
        }
        if self.is_extremes() {
            all.extend(fragments!(
                "access/view" "access/parts" "elements/both" "accumulate/sides" "store/leave"
            ));
        }
        all.extend(match self.family {
            Family::Rows => fragments!("walk/rows"),
            Family::ShortRows => fragments!("walk/short_rows"),
            Family::SmallRows => fragments!("store/lines" "walk/small_rows"),
            Family::Columns | Family::Strips | Family::Bands => {
                fragments!("accumulate/columns" "access/slices" "walk/columns")
            }
            Family::Shallow => fragments!(
                "accumulate/columns" "store/lines" "store/columns" "access/run" "access/shallow"
                "walk/shallow"
            ),
            Family::Panels => fragments!(
                "accumulate/columns" "store/lines" "store/columns" "access/run" "walk/panels"
            ),
            Family::Each => fragments!("store/values" "walk/each"),
            Family::Finish if self.lanes > 1 => fragments!("walk/finish"),
            Family::Finish => fragments!("store/values" "walk/finish"),
            Family::Gather => fragments!("walk/gather"),
            Family::Strided => {
                fragments!("store/values" "access/view" "access/parts" "walk/strided")
            }
            Family::StridedGather => fragments!("access/view" "walk/gather"),
            Family::Extremes => fragments!("walk/extremes"),
            Family::ExtremeRows => fragments!("walk/extreme_rows"),
            Family::ExtremeColumns => fragments!("accumulate/columns" "walk/extreme_columns"),
            Family::ElementwiseWords => {
                fragments!("access/inputs" "store/values" "walk/elementwise_words")
            }
            Family::ElementwiseVecs => fragments!("access/inputs" "walk/elementwise_vecs"),
            Family::ElementwiseStrips => fragments!("access/inputs" "walk/elementwise_strips"),
            Family::Fill => &[],
        });
        all
    }

    /// What the directives in the fragments may ask.
    fn names(&self) -> template::Names<'static> {
        use Family::{ElementwiseStrips, ElementwiseVecs, Finish, Panels, ShortRows, SmallRows};
        let family = self.family;
        let bits = self.keys.bits();
        // An element of 64 bits is a plane of its own.
        let planes = if bits == 64 { 2 } else { 32 / bits };
        // Vec4 that an invocation takes of a row, and from one to the next.
        let (runs, stride) = match family {
            Family::Strips | ElementwiseStrips => (RUNS, TEAM),
            Family::Bands | Panels => (self.unrolled, TEAM),
            Family::Shallow => (self.unrolled, 1),
            _ => (1, 1),
        };
        let partial = self.out == StoreFormat::Partial;
        let lines = matches!(family, SmallRows | Family::Shallow | Panels);
        let by_vec = matches!(family, Family::Rows | ShortRows | Finish);
        let source = match family {
            _ if self.is_extremes_by_vec() => 4,
            _ => (lines || by_vec || family.is_columns()).into(),
        };
        let vecs = matches!(family, ElementwiseVecs | ElementwiseStrips);
        let partials = partial && (family == Family::Rows || family.is_columns());
        let all = [
            ("BITS", bits),
            ("PLANES", planes),
            ("LOG", planes.ilog2()),
            ("E", 128 / bits),
            ("N", self.unrolled),
            ("R", runs),
            ("S", stride),
            ("BLOCKS", (family != Family::Bands).into()),
            ("UNALIGNED", self.unaligned.into()),
            // The binding of the source as vec4, and of indices.
            ("SRC", source),
            ("INDICES", if self.is_strided() { 4 } else { 1 }),
            ("STRIDED", self.is_strided().into()),
            ("DST_VECS", (lines || vecs || partials).into()),
            ("PARTIAL", partial.into()),
            ("BOTH", self.is_extremes().into()),
            ("SHARED", (self.lanes > 1).into()),
            ("VECS", vecs.into()),
            ("INPUTS", self.inputs),
            ("SCALARS", self.scalars),
            ("INVARIANT", self.row_invariant),
        ];
        all.map(|(name, x)| (name, x.into())).to_vec()
    }

    /// The bits to be flipped for the order of the largest element: the sign of floats,
    /// everything of others.
    fn turn(&self) -> Vec<(&'static str, u32)> {
        let (high, low) = match (self.keys.are_floats(), self.keys.bits()) {
            (false, _) => (u32::MAX, u32::MAX),
            (true, 16) => (0x8000_8000, 0),
            (true, _) => (0x8000_0000, 0),
        };
        match self.keys.bits() {
            64 => vec![("TURN", high), ("TURN_LO", low)],
            _ => vec![("TURN", high), ("TRUTH", self.truth.into())],
        }
    }

    /// The values of the shader's overrides: those it declares, and no other.
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut all = vec![("WG", self.workgroup), ("OUT", self.out as u32)];
        if self.family != Family::Fill {
            all.extend(self.keys.constants());
        }
        if self.is_elementwise() {
            all.push(("CHAINED", self.chained as u32));
        } else if self.family != Family::Fill {
            all.push(("LAST", self.last as u32));
            all.push(("INDEX", self.index as u32));
        }
        match self.family {
            Family::Rows => {
                all.push(("LANES", self.lanes));
                all.push(("BLOCKED", self.blocked as u32));
                all.push(("COARSENED", self.coarsened as u32));
            }
            Family::Each => {
                all.push(("RAW", self.raw as u32));
                all.push(("COARSENED", self.coarsened as u32));
            }
            Family::Strided => all.push(("RAW", self.raw as u32)),
            Family::Finish => all.push(("LANES", self.lanes)),
            _ if self.is_extremes() => all.extend(self.turn()),
            Family::Gather | Family::StridedGather => all.push(("INDEX_WORDS", self.index_words)),
            _ => {}
        }
        all.into_iter().map(|(name, x)| (name, x as f64)).collect()
    }
}
