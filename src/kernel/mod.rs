//! From a compile key to WGSL: the fragments of a kernel, and the numbers they are given.
//!
//! Shapes are parameters, numbers that a type or an order gives are `override`s. The directives of `template.rs` repeat or leave
//! out lines of the text, by the numbers of a walk. This module knows no plans and no device.

mod accumulator;
pub(crate) mod params;
mod template;

pub use accumulator::Accumulator;

use crate::DType;
use crate::walk::Walk;

/// What a kernel writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoreFormat {
    /// A key and, where one is wanted, an index, in so many words, for a later pass: 1, 2 or 4. Four words
    /// hold any key with any index.
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
    /// The formats of results, in the order of the shaders' `OUT`, from 1 on.
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

    /// The shaders' `OUT`; 0 of partial results.
    fn code(self) -> u32 {
        let mut results = StoreFormat::RESULTS.iter();
        let place = results.position(|&result| result == self);
        place.map_or(0, |i| i as u32 + 1)
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
    /// What is kept of the elements.
    pub acc: Accumulator,
    /// What is written.
    pub out: StoreFormat,
    /// The indices that are written beside values, each with its value.
    pub beside: Option<StoreFormat>,
    /// Invocations in a workgroup.
    pub workgroup: u32,
}

/// What is bound. A number stands for several that no shader has together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// The parameters of a dispatch, a uniform block.
    Params,
    /// Where the elements of several views lie, a uniform block.
    StrideTable,
    /// The source as vec4.
    Vecs,
    /// Partial results that are read.
    Partials,
    /// Indices that are read beside the source.
    Indices,
    /// What is written.
    Destination,
    /// What is written beside it.
    Beside(u32),
    /// The source as words.
    Words,
    /// A view of the stride table.
    View(u32),
}

impl Resource {
    /// The number of the binding.
    pub const fn number(self) -> u32 {
        match self {
            Resource::Params => 0,
            Resource::StrideTable | Resource::Vecs | Resource::Partials | Resource::Indices => 1,
            Resource::Destination => 2,
            Resource::Words => 3,
            Resource::View(i) => 3 + i,
            Resource::Beside(i) => 4 + i,
        }
    }

    /// Whether it is written.
    pub const fn is_written(self) -> bool {
        matches!(self, Resource::Destination | Resource::Beside(_))
    }

    /// Whether it is a uniform block, not storage.
    pub const fn is_uniform(self) -> bool {
        matches!(self, Resource::Params | Resource::StrideTable)
    }
}

/// What a pipeline is compiled from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Source {
    /// The whole shader.
    pub wgsl: String,
    /// The values of the shader's overrides: those it declares, and no other.
    pub constants: Vec<(&'static str, f64)>,
    /// The fields of [`Params`](crate::unstable::Params) in the uniform block.
    pub params: Vec<&'static str>,
}

/// The texts of fragments, by their names in `shaders/`.
macro_rules! fragments {
    ($($name:literal)+) => {
        vec![$(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl"))),+]
    };
}
pub(crate) use fragments;

/// What a walk adds to what all kernels have.
#[derive(Default)]
pub(crate) struct Recipe {
    /// The fragments that not all kernels have.
    pub fragments: Vec<&'static str>,
    /// What is bound.
    pub bindings: Vec<Resource>,
    /// Whether it reads its view as whole vec4.
    pub reads_vecs: bool,
    /// Whether it writes results as whole vec4 only.
    pub writes_vecs: bool,
    /// Whether it writes results of two words as one.
    pub writes_pairs: bool,
    /// The names that the directives in its fragments use.
    pub names: Vec<(&'static str, u32)>,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
}

impl Kernel {
    /// `reduce/rows/32bit/partial(2)/wg256x32`: walk, element bits, output, workgroup and invocations that share a segment.
    pub fn label(&self) -> String {
        let (walk, out) = (self.walk.name(), format!("{:?}", self.out));
        let (bits, wg, lanes) = (self.acc.bits(), self.workgroup, self.walk.lanes());
        let out = match self.beside {
            Some(beside) => format!("{out}+{beside:?}"),
            None => out,
        };
        let out = out.to_lowercase();
        let both = if self.acc.is_both() { "both/" } else { "" };
        format!("reduce/{walk}/{both}{bits}bit/{out}/wg{wg}x{lanes}")
    }

    /// What is bound.
    pub fn bindings(&self) -> Vec<Resource> {
        let mut bindings = self.walk.recipe(self).bindings;
        bindings.extend(self.beside().map(Resource::Beside));
        bindings
    }

    /// Numbers of what is written beside the destination: the index; of both extremes also the other value and its index.
    fn beside(&self) -> std::ops::Range<u32> {
        match (self.beside, self.acc.is_both()) {
            (None, _) => 0..0,
            (Some(_), false) => 0..1,
            (Some(_), true) => 0..3,
        }
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_bytes(&self) -> u32 {
        self.walk.recipe(self).workgroup_bytes
    }

    /// What the kernel is compiled from. `aliased`: what it reads is bound as writable storage, because it may lie in the
    /// buffer that it writes.
    pub fn source(&self, aliased: bool) -> Source {
        let recipe = self.walk.recipe(self);
        let access = if aliased { "read_write" } else { "read" };
        let text = self.text(&recipe, access);
        let params = params::used(&text);
        Source {
            wgsl: params::declared(&params) + &text,
            params,
            constants: self.constants(&text),
        }
    }

    /// The shader without the declaration of its parameters; `{READ}` is `access`. The order of its fragments does not matter.
    fn text(&self, recipe: &Recipe, access: &str) -> String {
        let bits = self.acc.bits();
        let mut all = fragments!("core/params" "core/product" "store/out");
        if self.walk != Walk::Fill {
            all.extend(match (bits, self.acc.are_terms()) {
                (64, true) => fragments!("elements/terms64" "elements/vec64"),
                (64, false) => fragments!("elements/keys64" "elements/vec64"),
                (_, true) => fragments!("elements/terms32" "elements/vec32"),
                (_, false) => fragments!("elements/keys32" "elements/vec32"),
            });
        }
        // A fill reads nothing, an elementwise walk several sources.
        if !matches!(self.walk, Walk::Fill | Walk::Elementwise(_)) {
            all.extend(fragments!("core/source"));
            all.extend(match self.acc {
                Accumulator::Sum(_) => fragments!(
                    "accumulate/sum" "accumulate/partial_sum" "accumulate/one_by_one"
                ),
                _ => fragments!("core/better"),
            });
        }
        all.extend(&recipe.fragments);
        // An element of 64 bits is a plane of its own.
        let planes = if bits == 64 { 2 } else { 32 / bits };
        // Words of the partial results that it writes or reads.
        let record = match (self.walk, self.out) {
            (Walk::Finish(text), _) => text.words,
            (Walk::Merge(text), _) => text.words,
            (_, StoreFormat::Partial(words)) => words,
            _ => 0,
        };
        // The lowest bit of each element of a word.
        let ones = match bits {
            8 | 16 => u32::MAX / ((1 << bits) - 1),
            _ => 1,
        };
        // Words of an index beside a value.
        let beside = self.beside.map_or(0, StoreFormat::bytes) / 4;
        let partial = matches!(self.out, StoreFormat::Partial(_));
        let partial_sum = matches!(self.out, StoreFormat::PartialSum(_));
        let mut names = recipe.names.clone();
        names.extend([
            ("RECORD", record),
            ("PARTIAL", partial.into()),
            ("PARTIAL_SUM", partial_sum.into()),
            ("OUT", self.out.code()),
            ("BITS", bits),
            ("PLANES", planes),
            ("LOG", planes.ilog2()),
            ("ONES", ones),
            ("SRC", recipe.bindings.contains(&Resource::Vecs).into()),
            ("VIEW_VECS", recipe.reads_vecs.into()),
            ("DST_VECS", recipe.writes_vecs.into()),
            ("DST_PAIRS", recipe.writes_pairs.into()),
            ("BESIDE", beside as u32),
        ]);
        names.extend(self.acc.names());
        let told = |i: usize| names[..i].iter().all(|(name, _)| *name != names[i].0);
        debug_assert!((0..names.len()).all(told), "a name twice: {names:?}");
        let names = names.iter().map(|&(name, x)| (name, x.into()));
        template::expand(&all.concat().replace("{READ}", access), names.collect())
    }

    /// The values of the overrides that a text declares.
    fn constants(&self, text: &str) -> Vec<(&'static str, f64)> {
        let lines = text.lines();
        let declared = lines.filter_map(|line| line.strip_prefix("override ")?.split(':').next());
        let declared: Vec<&str> = declared.collect();
        let mut all = vec![
            ("WG", self.workgroup),
            ("OUT", self.out.code()),
            ("LAST", self.acc.prefers_last().into()),
        ];
        all.extend(self.acc.keys().constants());
        all.retain(|(name, _)| declared.contains(name));
        all.into_iter().map(|(name, x)| (name, x.into())).collect()
    }
}
