//! From a compile key to WGSL: the fragments of a kernel, and the numbers they are given.
//!
//! Shapes are parameters, numbers that a type or an order gives are `override`s. The directives of `template.rs` repeat or leave
//! out lines of the text, by the numbers of a walk. This module knows no plans and no device.

mod family;
pub(crate) mod params;
mod template;

pub use family::Family;

use crate::DType;
use crate::keys::Keys;
use crate::sums::Sum;
use crate::walk::columns::ColumnsText;
use crate::walk::rows::RowsText;

/// What a kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoreFormat {
    /// A key and, where one is wanted, an index, in so many words, for a later pass: 1, 2 or 4. Four hold any
    /// of both.
    Partial(u32),
    /// A partial sum of so many words, a power of two, for a later pass.
    PartialSum(u32),
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
    /// The formats of results, in the order of the shaders' `OUT`.
    pub const RESULTS: [StoreFormat; 6] = [
        StoreFormat::Index64,
        StoreFormat::Index32,
        StoreFormat::Value32,
        StoreFormat::Value64,
        StoreFormat::Value16,
        StoreFormat::Value8,
    ];

    /// The format of an element of that type.
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
            StoreFormat::Partial(words) | StoreFormat::PartialSum(words) => 4 * words as u64,
            StoreFormat::Index64 | StoreFormat::Value64 => 8,
            StoreFormat::Index32 | StoreFormat::Value32 => 4,
            StoreFormat::Value16 => 2,
            StoreFormat::Value8 => 1,
        }
    }

    /// Whether a later pass makes results of them.
    pub const fn is_partial(self) -> bool {
        matches!(self, StoreFormat::Partial(_) | StoreFormat::PartialSum(_))
    }

    /// The shaders' `OUT`.
    fn code(self) -> u32 {
        match self {
            StoreFormat::Partial(_) | StoreFormat::PartialSum(_) => 0,
            StoreFormat::Index64 => 1,
            StoreFormat::Index32 => 2,
            StoreFormat::Value32 => 3,
            StoreFormat::Value64 => 4,
            StoreFormat::Value16 => 5,
            StoreFormat::Value8 => 6,
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
    /// Which invocation meets which element.
    pub walk: Walk,
    /// The order of the elements, or the terms of a sum modulo 2^bits; for an exact sum, only their size.
    pub keys: Keys,
    /// The exact sum, if it is one.
    pub sum: Option<Sum>,
    /// What is written.
    pub out: StoreFormat,
    /// Invocations in a workgroup.
    pub workgroup: u32,
    /// Whether an index is wanted.
    pub index: bool,
    /// Whether the last of equals wins.
    pub last: bool,
    /// Whether partial results of both extremes are left: the keys are those of the least.
    pub both: bool,
}

/// Which invocation meets which element, with the numbers that the text depends on. [`Family`] says what each
/// is for; `shaders/walk/` has a file for each, or for several together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the fields of all variants are told here, once"
)]
#[non_exhaustive]
pub enum Walk {
    Rows(RowsText),
    Columns(ColumnsText),
    /// Exact sums of rows: `lanes` invocations share a segment, striped. `coarsened`, here and below: an invocation takes
    /// several items, one after the other. `whole`: one invocation takes a whole row, which is whole vec4. `vecs`: an
    /// invocation takes at most so many vec4, all at once; 0: any number.
    SumRows {
        lanes: u32,
        coarsened: bool,
        whole: bool,
        vecs: u32,
    },
    /// Exact sums of columns: an invocation takes `runs` vec4 of a row; 0: one column.
    SumColumns {
        runs: u32,
    },
    /// Exact sums of short columns: an invocation takes all rows of a vec4 of columns, then of other columns, and rounds
    /// the results from their windows.
    ShallowSums,
    /// `raw`: elements are copied as they are. `sliced`: an invocation takes a part of a segment, not a whole one.
    Each {
        raw: bool,
        coarsened: bool,
        sliced: bool,
    },
    Strided {
        raw: bool,
    },
    /// `lanes` invocations take the partial results of an output, of so many `words`; 0: exact sums.
    Finish {
        lanes: u32,
        words: u32,
    },
    /// Indices of `index_words` words.
    Gather {
        index_words: u32,
    },
    StridedGather {
        index_words: u32,
    },
    Fill,
    Elementwise(Elementwise),
}

/// How an elementwise kernel takes its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Elementwise {
    /// What an invocation writes.
    pub unit: Unit,
    /// Inputs, 1 to 6.
    pub inputs: u32,
    /// A bit for each scalar input: one of its elements serves a whole vec4.
    pub scalars: u32,
    /// Whether the output so far is an input, too.
    pub chained: bool,
}

impl Elementwise {
    /// Vec4 that an invocation writes; 0: a word. It loads eight of two inputs before it uses one, of more inputs
    /// two of each, because all are in registers at once.
    pub const fn vecs(self) -> u32 {
        match self.unit {
            Unit::Word => 0,
            Unit::Vec if self.inputs + self.chained as u32 <= 2 => 4,
            Unit::Vec => 2,
        }
    }
}

/// What an invocation of an elementwise kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A word.
    Word,
    /// [`Elementwise::vecs`] vec4.
    Vec,
}

/// Invocations of exact sums of columns that take neighbouring vec4 of a row, and step on by as many.
pub const TEAM: u32 = 8;

/// The texts of fragments, by their names in `shaders/`.
macro_rules! fragments {
    ($($name:literal)+) => {
        [$(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl"))),+].as_slice()
    };
}
pub(crate) use fragments;

impl Default for Recipe {
    /// A kernel that reads its source element by element.
    fn default() -> Recipe {
        Recipe {
            fragments: &[],
            bindings: &[0, 1, 2, 3],
            source_vecs: 0,
            writes_vecs: false,
            writes_pairs: false,
            names: Vec::new(),
            constants: Vec::new(),
            workgroup_bytes: 0,
        }
    }
}

/// What a walk adds to what all kernels have.
pub(crate) struct Recipe {
    /// The fragments that not all kernels have.
    pub fragments: &'static [&'static str],
    /// The bindings in use, of 0 (parameters), 1 (source as vec4, indices, or a stride table), 2
    /// (destination), 3 (source as words, and further inputs) and so on.
    pub bindings: &'static [u32],
    /// The binding of the source as vec4, or 0.
    pub source_vecs: u32,
    /// Whether it writes results as whole vec4 only.
    pub writes_vecs: bool,
    /// Whether it writes results of two words as one.
    pub writes_pairs: bool,
    /// The names that the directives in its fragments use.
    pub names: Vec<(&'static str, u32)>,
    /// The values of the overrides that they declare.
    pub constants: Vec<(&'static str, u32)>,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
}

impl Kernel {
    /// `reduce/rows/32bit/partial(2)/wg256x32`: family, element bits, output, workgroup and invocations.
    pub fn label(&self) -> String {
        let (family, out) = (self.family().name(), format!("{:?}", self.out));
        let (bits, wg) = (self.keys.bits(), self.workgroup);
        let lanes = match self.walk {
            Walk::Rows(text) => text.lanes,
            Walk::SumRows { lanes, .. } | Walk::Finish { lanes, .. } => lanes,
            _ => 1,
        };
        let out = out.to_lowercase();
        let both = if self.both { "both/" } else { "" };
        format!("reduce/{family}/{both}{bits}bit/{out}/wg{wg}x{lanes}")
    }

    /// The kernel without what its text does not depend on. A kernel that compares nothing serves all types
    /// of a size, orders and ties.
    pub(crate) fn canonical(self) -> Kernel {
        let bits = match self.walk {
            Walk::Fill => 8 * self.out.bytes() as u32,
            Walk::Gather { .. }
            | Walk::StridedGather { .. }
            | Walk::Each { raw: true, .. }
            | Walk::Strided { raw: true } => self.keys.bits(),
            _ => {
                let (keys, sum) = match self.out.is_partial() {
                    true => (self.keys.partial(), self.sum.map(Sum::partial)),
                    false => (self.keys, self.sum),
                };
                return Kernel { keys, sum, ..self };
            }
        };
        Kernel {
            keys: Keys::of_bits(bits),
            sum: None,
            index: false,
            last: false,
            both: false,
            ..self
        }
    }

    /// The name of the walk.
    pub fn family(&self) -> Family {
        match self.walk {
            Walk::Rows(_) => Family::Rows,
            Walk::Columns(_) => Family::Columns,
            Walk::SumRows { .. } => Family::SumRows,
            Walk::SumColumns { .. } => Family::SumColumns,
            Walk::ShallowSums => Family::ShallowSums,
            Walk::Each { .. } => Family::Each,
            Walk::Strided { .. } => Family::Strided,
            Walk::Finish { .. } => Family::Finish,
            Walk::Gather { .. } => Family::Gather,
            Walk::StridedGather { .. } => Family::StridedGather,
            Walk::Fill => Family::Fill,
            Walk::Elementwise(Elementwise { unit, .. }) => match unit {
                Unit::Word => Family::ElementwiseWords,
                Unit::Vec => Family::ElementwiseVecs,
            },
        }
    }

    /// The unroll count: elements of a small row, or vec4 of a row, of columns or of an elementwise result that an
    /// invocation takes at once; 0 where nothing is unrolled.
    pub fn unrolled(&self) -> u32 {
        match self.walk {
            Walk::Rows(text) => text.loads,
            Walk::Columns(text) => text.loads,
            Walk::SumRows { vecs, .. } => vecs,
            Walk::SumColumns { runs } => runs,
            Walk::Elementwise(taken) => taken.vecs(),
            _ => 0,
        }
    }

    /// The name of the entry point.
    pub fn entry_point(&self) -> &'static str {
        match self.family() {
            Family::ShallowSums => Family::SumColumns.name(),
            Family::StridedGather => Family::Gather.name(),
            Family::Each => Family::Strided.name(),
            _ if matches!(self.walk, Walk::Elementwise(_)) => "elementwise",
            family => family.name(),
        }
    }

    /// Whether the kernel takes a stride table: elementwise and strided ones do.
    pub fn has_stride_table(&self) -> bool {
        matches!(
            self.walk,
            Walk::Strided { .. } | Walk::StridedGather { .. } | Walk::Elementwise(_)
        )
    }

    /// The bindings in use.
    pub fn bindings(&self) -> &'static [u32] {
        self.recipe().bindings
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_bytes(&self) -> u32 {
        self.recipe().workgroup_bytes
    }

    /// The whole shader. The order of its fragments does not matter.
    pub fn wgsl(&self) -> String {
        let recipe = self.recipe();
        let bits = self.keys.bits();
        let mut all = fragments!("core/params" "store/out").to_vec();
        if self.walk != Walk::Fill {
            all.extend(match (bits, self.keys.are_terms()) {
                (64, true) => fragments!("elements/terms64" "elements/vec64"),
                (64, false) => fragments!("elements/keys64" "elements/vec64"),
                (_, true) => fragments!("elements/terms32" "elements/vec32"),
                (_, false) => fragments!("elements/keys32" "elements/vec32"),
            });
        }
        if self.has_source() {
            all.extend(fragments!("core/source"));
        }
        match self.sum {
            Some(_) => all.extend(fragments!(
                "accumulate/sum_limbs" "accumulate/sum_result" "store/sums"
            )),
            None if self.has_source() => {
                all.extend(fragments!("core/better"));
            }
            None => {}
        }
        all.extend(recipe.fragments);
        // An element of 64 bits is a plane of its own.
        let planes = if bits == 64 { 2 } else { 32 / bits };
        // Words of the partial results that it writes or reads.
        let record = match (self.walk, self.out) {
            (Walk::Finish { words, .. }, _) | (_, StoreFormat::Partial(words)) => words,
            _ => 0,
        };
        let mut names = recipe.names;
        names.extend([
            ("RECORD", record),
            (
                "PARTIAL",
                matches!(self.out, StoreFormat::Partial(_)).into(),
            ),
            ("OUT", self.out.code()),
            ("INDEX", self.index.into()),
            ("BOTH", self.both.into()),
            ("BITS", bits),
            ("PLANES", planes),
            ("LOG", planes.ilog2()),
            // The lowest bit of each element of a word.
            (
                "ONES",
                if bits < 32 {
                    u32::MAX / ((1 << bits) - 1)
                } else {
                    1
                },
            ),
            ("E", 128 / bits),
            ("SRC", recipe.source_vecs),
            ("DST_VECS", recipe.writes_vecs.into()),
            ("DST_PAIRS", recipe.writes_pairs.into()),
        ]);
        names.extend(self.keys.names());
        names.extend(self.sum.iter().flat_map(|sum| sum.names()));
        let told = |i: usize| names[..i].iter().all(|(name, _)| *name != names[i].0);
        debug_assert!((0..names.len()).all(told), "a name twice: {names:?}");
        let names = names.iter().map(|&(name, x)| (name, x.into()));
        template::expand(&all.concat(), names.collect())
    }

    /// Whether the kernel reads one source.
    fn has_source(&self) -> bool {
        !matches!(self.walk, Walk::Fill | Walk::Elementwise(_))
    }

    /// The values of the shader's overrides: those it declares, and no other.
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut all = vec![("WG", self.workgroup), ("OUT", self.out.code())];
        if self.walk != Walk::Fill {
            all.extend(self.keys.constants());
        }
        if self.has_source() && self.sum.is_none() {
            all.push(("LAST", self.last.into()));
            all.push(("INDEX", self.index.into()));
        }
        if self.both {
            all.extend(self.keys.turn());
        }
        all.extend(self.recipe().constants);
        all.into_iter().map(|(name, x)| (name, x.into())).collect()
    }

    fn recipe(&self) -> Recipe {
        let key_bytes = if self.keys.bits() == 64 { 8 } else { 4 };
        let subwords = self.out.per_word() > 1;
        let sums = self.sum.is_some();
        let in_vec = 128 / self.keys.bits();
        let block = self.sum.map_or(0, Sum::block);
        let rounds = self.sum.is_some_and(Sum::is_rounded) && !self.out.is_partial();
        // Workgroup memory of sums that invocations share.
        let shared_words = |lanes: u32| match self.sum {
            Some(sum) if lanes > 1 => self.workgroup / lanes * sum.shared_words(),
            _ => 0,
        };
        let shared = |lanes: u32| {
            let words = shared_words(lanes);
            (words > 0).then_some(("SHARED_WORDS", words))
        };
        let base = Recipe::default();
        match self.walk {
            Walk::Rows(text) => text.recipe(self),
            Walk::Columns(text) => text.recipe(self),
            Walk::SumRows {
                lanes,
                coarsened,
                whole,
                vecs,
            } => Recipe {
                fragments: fragments!("access/span" "accumulate/sum_runs" "walk/old/sum_rows"),
                bindings: if whole { &[0, 1, 2] } else { base.bindings },
                source_vecs: 1,
                names: vec![
                    ("SHARED", (lanes > 1).into()),
                    ("SUBWORDS", if subwords { self.out.per_word() } else { 0 }),
                    ("WHOLE_ROWS", whole.into()),
                    ("COARSENED", coarsened.into()),
                    // A window of floats may hold a whole row: then its result needs no limbs.
                    ("NEAR", (whole && vecs > 0 && rounds).into()),
                    ("BLOCK", if vecs > 0 { vecs } else { block }),
                    ("IN_VEC", in_vec),
                    ("COLUMNS", 1),
                    ("RUNS", 1),
                    ("ONCE", (vecs > 0).into()),
                ],
                constants: [("LANES", lanes)]
                    .into_iter()
                    .chain(shared(lanes))
                    .collect(),
                workgroup_bytes: 4 * shared_words(lanes),
                ..base
            },
            Walk::ShallowSums => Recipe {
                fragments: fragments!("accumulate/sum_runs" "walk/old/sum_columns"),
                source_vecs: 1,
                names: vec![
                    ("COLUMNS", in_vec),
                    ("RUNS", 1),
                    ("STRIDE", 1),
                    ("SHARED", 0),
                    ("NEAR", 1),
                    ("BLOCK", block.div_ceil(2)),
                    ("ONCE", 0),
                    ("IN_VEC", in_vec),
                    ("SUBWORDS", if subwords { self.out.per_word() } else { 0 }),
                ],
                ..base
            },
            Walk::SumColumns { runs } => Recipe {
                fragments: fragments!("accumulate/sum_runs" "walk/old/sum_columns"),
                source_vecs: 1,
                names: vec![
                    ("COLUMNS", if runs == 0 { 1 } else { runs * in_vec }),
                    ("RUNS", runs.max(1)),
                    ("STRIDE", if runs > 1 { TEAM } else { 1 }),
                    ("SHARED", 0),
                    ("NEAR", 0),
                    // Several columns keep more, so each run has half a block.
                    (
                        "BLOCK",
                        if runs == 0 {
                            block
                        } else {
                            runs * block.div_ceil(2)
                        },
                    ),
                    ("ONCE", 0),
                    // A vec4 of one column holds four rows, or two of 64 bits.
                    ("IN_VEC", if runs == 0 { in_vec.min(4) } else { in_vec }),
                ],
                ..base
            },
            Walk::Each {
                raw,
                coarsened,
                sliced,
            } => Recipe {
                fragments: match (sums, self.both) {
                    (true, _) => fragments!("access/segments" "store/values" "walk/strided"),
                    (_, true) => fragments!(
                        "access/segments" "elements/both" "accumulate/extremes" "store/emit"
                        "store/leave" "walk/strided"
                    ),
                    _ => fragments!(
                        "access/segments" "accumulate/best" "store/emit" "store/values"
                        "walk/strided"
                    ),
                },
                bindings: &[0, 2, 3],
                names: vec![
                    ("SHARED", 0),
                    ("SLICED", sliced.into()),
                    ("COARSENED", coarsened.into()),
                ],
                constants: vec![("RAW", raw.into())],
                ..base
            },
            Walk::Strided { raw } => Recipe {
                fragments: match (sums, self.both) {
                    (true, _) => fragments!(
                        "access/stride_table" "access/view" "access/parts" "store/values"
                        "walk/strided"
                    ),
                    (_, true) => fragments!(
                        "access/stride_table" "access/view" "access/parts" "elements/both"
                        "accumulate/extremes" "store/emit" "store/leave" "walk/strided"
                    ),
                    _ => fragments!(
                        "access/stride_table" "access/view" "access/parts" "accumulate/best"
                        "store/emit" "store/values" "walk/strided"
                    ),
                },
                names: vec![("SHARED", 0), ("COARSENED", 0)],
                constants: vec![("RAW", raw.into())],
                ..base
            },
            Walk::Finish { lanes, .. } => Recipe {
                fragments: match (sums, lanes) {
                    (true, 1) => fragments!("store/values" "walk/finish"),
                    (true, _) => fragments!("walk/finish"),
                    (false, 1) => fragments!(
                        "accumulate/joined" "store/emit" "store/values" "walk/finish"
                    ),
                    (false, _) => fragments!("accumulate/joined" "store/emit" "walk/finish"),
                },
                bindings: if sums { &[0, 2, 3] } else { &[0, 1, 2] },
                names: vec![
                    ("SHARED", (lanes > 1).into()),
                    (
                        "AT_ONCE",
                        (lanes > 1 && !sums && !self.keys.are_terms()).into(),
                    ),
                ],
                constants: [("LANES", lanes)]
                    .into_iter()
                    .chain(shared(lanes))
                    .collect(),
                // A value each, beside what is shared.
                workgroup_bytes: match (lanes, sums) {
                    (1, _) => 0,
                    (_, true) => 4 * (shared_words(lanes) + self.workgroup),
                    (_, false) => self.workgroup * (key_bytes + 8 + 4),
                },
                ..base
            },
            Walk::Gather { index_words } => Recipe {
                fragments: fragments!("walk/gather"),
                names: vec![("STRIDED", 0), ("INDICES", 1)],
                constants: vec![("INDEX_WORDS", index_words)],
                ..base
            },
            Walk::StridedGather { index_words } => Recipe {
                fragments: fragments!("access/stride_table" "access/view" "walk/gather"),
                bindings: &[0, 1, 2, 3, 4],
                names: vec![("STRIDED", 1), ("INDICES", 4)],
                constants: vec![("INDEX_WORDS", index_words)],
                ..base
            },
            Walk::Fill => Recipe {
                fragments: fragments!("store/values" "walk/fill"),
                bindings: &[0, 2],
                ..base
            },
            Walk::Elementwise(taken) => Recipe {
                fragments: match taken.unit {
                    Unit::Word => fragments!(
                        "access/stride_table" "access/inputs" "store/values" "walk/elementwise"
                    ),
                    Unit::Vec => {
                        fragments!("access/stride_table" "access/inputs" "walk/elementwise")
                    }
                },
                bindings: &[0, 1, 2, 3, 4, 5, 6, 7, 8][..3 + taken.inputs as usize],
                writes_vecs: taken.unit == Unit::Vec,
                names: vec![
                    ("VECS", taken.vecs()),
                    ("INPUTS", taken.inputs),
                    ("SCALARS", taken.scalars),
                    ("CHAINED", taken.chained.into()),
                ],
                ..base
            },
        }
    }
}
