//! From a compile key to WGSL: which fragments make a kernel, and the numbers they are given.
//!
//! Shapes are parameters, numbers `override`s; the text itself tells how elements are read and
//! written, and what a walk is written out for. This module knows no plans and no device.

pub(crate) mod params;

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
    /// Whether lanes take several items, one after the other (rows, each, finish).
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

macro_rules! fragment {
    ($name:literal) => {
        include_str!(concat!("../../shaders/", $name, ".wgsl"))
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
        self.family.name()
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
            _ if self.is_unaligned() => &[0, 1, 2, 3],
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
            Family::Finish if !self.coarsened => self.workgroup * (key + 8),
            _ => 0,
        }
    }

    /// The whole shader, fragments in a fixed order.
    pub fn wgsl(&self) -> String {
        let mut parts = vec![
            fragment!("core/params").to_owned(),
            fragment!("store/out").to_owned(),
        ];
        let mut add = |fragments: &[&str]| parts.extend(fragments.iter().map(|&f| f.to_owned()));
        match self.writes_by_vec() {
            true => add(&[fragment!("core/dst4")]),
            false => add(&[fragment!("core/dst"), fragment!("store/write")]),
        }
        if self.family == Family::Fill {
            add(&[fragment!("walk/fill")]);
        } else if self.is_elementwise() {
            add(&[&self.elementwise()]);
        } else {
            add(&self.reading());
            if self.is_extremes_by_vec() {
                add(&[&fragment!("core/source4").replace("binding(1)", "binding(4)")]);
            }
            add(&self.elements());
            add(&self.walking());
            add(&[self.entry()]);
        }
        match self.family {
            Family::SmallRows => add(&[&self.small_rows()]),
            Family::Shallow | Family::Panels => add(&[&self.run()]),
            Family::Bands => add(&[&self.band()]),
            _ => {}
        }
        parts.join("\n")
    }

    /// Whether all it writes are whole vec4.
    fn writes_by_vec(&self) -> bool {
        let elementwise = matches!(
            self.family,
            Family::ElementwiseVecs | Family::ElementwiseStrips
        );
        elementwise || self.writes_lines() || self.emits_records()
    }

    /// Whether it reads columns anywhere.
    fn is_unaligned(&self) -> bool {
        self.family == Family::Shallow && self.unaligned
    }

    /// Whether it writes what neighbouring segments give by whole vec4.
    fn writes_lines(&self) -> bool {
        matches!(
            self.family,
            Family::SmallRows | Family::Shallow | Family::Panels
        )
    }

    /// Whether all it writes are records, a vec4 each.
    fn emits_records(&self) -> bool {
        let walks = matches!(self.family, Family::Rows | Family::Shallow);
        self.out == StoreFormat::Partial && (walks || self.family.is_columns())
    }

    /// How the source is bound.
    fn reading(&self) -> Vec<&'static str> {
        use Family::{Finish, Rows, ShortRows};
        let by_vec = matches!(self.family, Rows | ShortRows | Finish);
        match self.family.is_columns() || by_vec || self.writes_lines() {
            true => vec![fragment!("core/source"), fragment!("core/source4")],
            false => vec![fragment!("core/source")],
        }
    }

    /// Keys, their order, and how elements become keys and keys results.
    fn elements(&self) -> Vec<&'static str> {
        let mut all = match self.keys.bits() {
            64 => vec![fragment!("elements/key64")],
            _ => vec![fragment!("elements/key32"), fragment!("elements/find32")],
        };
        all.push(fragment!("core/better"));
        all.push(match self.keys.bits() {
            8 => fragment!("elements/load8"),
            16 => fragment!("elements/load16"),
            32 => fragment!("elements/load32"),
            _ => fragment!("elements/load64"),
        });
        match self.emits_records() {
            true => all.push(fragment!("store/emit_partial")),
            false if self.writes_lines() => {}
            false => all.push(fragment!("store/emit")),
        }
        all
    }

    /// What families share that walk alike.
    fn walking(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        if self.family.is_columns() {
            all.extend(self.columns());
        }
        if self.is_strided() {
            all.extend([fragment!("access/stride_table"), fragment!("access/view")]);
        }
        if matches!(self.family, Family::Each | Family::Gather) || self.is_strided() {
            all.push(fragment!("store/bits"));
            all.extend(self.writing());
        }
        if self.family == Family::Finish {
            all.push(fragment!("access/partials"));
            all.extend(self.writing());
        }
        if self.family == Family::Strided || self.is_extremes() {
            all.push(fragment!("access/parts"));
        }
        if self.is_extremes() {
            all.push(match self.keys.bits() {
                64 => fragment!("elements/turn64"),
                _ => fragment!("elements/turn32"),
            });
            all.extend([fragment!("accumulate/sides"), fragment!("store/leave")]);
        }
        if self.writes_lines() {
            all.extend(self.lines());
        }
        if self.is_extremes_by_vec() {
            all.push(match self.keys.bits() {
                64 => fragment!("elements/both64"),
                _ => fragment!("elements/both32"),
            });
        }
        if self.family == Family::ExtremeColumns {
            all.extend(self.column_parts());
        }
        all
    }

    /// What neighbouring segments give, as keys of a vec4.
    fn lines(&self) -> Vec<&'static str> {
        let mut all = match self.family {
            Family::SmallRows => vec![self.vec_keys()],
            _ => self.column_parts(),
        };
        if self.family != Family::SmallRows {
            all.push(fragment!("accumulate/sides"));
            all.push(match self.emits_records() {
                true => fragment!("store/column_partial"),
                false => fragment!("store/column_line"),
            });
        }
        if self.family == Family::Shallow {
            all.push(match self.is_unaligned() {
                true => fragment!("access/shallow_unaligned"),
                false => fragment!("access/shallow_aligned"),
            });
        }
        all.push(fragment!("store/line"));
        all.extend(match self.keys.bits() {
            8 => [fragment!("store/line32"), fragment!("store/line_of8")].as_slice(),
            16 => &[fragment!("store/line32"), fragment!("store/line_of16")],
            32 => &[fragment!("store/line32"), fragment!("store/line_of32")],
            _ => &[fragment!("store/line64")],
        });
        if self.family == Family::SmallRows {
            all.push(match self.keys.bits() {
                64 => fragment!("accumulate/small_row64"),
                _ => fragment!("accumulate/small_row32"),
            });
        }
        all
    }

    /// The walk through a tile: unrolled, where every element's row and place are known, or a loop for
    /// rows of any length.
    fn small_rows(&self) -> String {
        if self.unrolled == 0 {
            return "fn small_rows_at(first: u32) -> Line {\n    var t: Tile;\n    \
                    for (var i = 0u; i < P.len; i++) {\n        \
                    t = tile_taken(t, src[first + i]);\n    }\n    return t.line;\n}\n"
                .to_owned();
        }
        let elements: &[&str] = match self.keys.bits() {
            8 => &[
                "a.x", "a.y", "a.z", "a.w", "b.x", "b.y", "b.z", "b.w", "c.x", "c.y", "c.z", "c.w",
                "d.x", "d.y", "d.z", "d.w",
            ],
            16 => &["c.x", "c.y", "c.z", "c.w", "d.x", "d.y", "d.z", "d.w"],
            32 => &["d.x", "d.y", "d.z", "d.w"],
            _ => &["a", "b"],
        };
        let mut text = "fn small_rows_at(first: u32) -> Line {\n    var line: Line;\n    \
                        var c: Cell;\n"
            .to_owned();
        let mut places = (0..self.unrolled).cycle();
        for i in 0..self.unrolled {
            text += &format!("    let l{i} = line_of(keys_of(src[first + {i}u]));\n");
            for (element, place) in elements.iter().zip(&mut places) {
                text += &match place {
                    0 => format!("    c = cell_first(l{i}.{element});\n"),
                    _ => format!("    c = cell_next(c, l{i}.{element}, {place}u);\n"),
                };
                if place + 1 == self.unrolled {
                    text += "    line = line_pushed(line, cell_result(c));\n";
                }
            }
        }
        text + "    return line;\n}\n"
    }

    /// The walk down neighbouring columns, each vec4 of them by itself; anywhere, by the two vec4
    /// that it lies in.
    fn run(&self) -> String {
        let all = |runs: u32, f: &dyn Fn(u32) -> String| (0..runs).map(f).collect::<String>();
        let read = |r| format!("    let w{r} = src[at / E + {r}u];\n");
        let (row, step) = match self.is_unaligned() {
            true => (all(self.unrolled + 1, &read), "P.inner"),
            false => (String::new(), "P.width"),
        };
        let keys = |r| match self.is_unaligned() {
            true => format!("keys_of(shifted(w{r}, w{}, at % E))", r + 1),
            false => format!("keys_of(src[at + {r}u * ITEM_STRIDE])"),
        };
        let begin = |r| format!("    var c{r} = column({}, 0u);\n", keys(r));
        let take = |r| format!("    c{r} = column_taken(c{r}, {}, t);\n", keys(r));
        let write = |r| format!("    write_column(v + {r}u * ITEM_STRIDE, end, c{r});\n");
        let [begin, take, write] = [
            all(self.unrolled, &begin),
            all(self.unrolled, &take),
            all(self.unrolled, &write),
        ];
        format!(
            "fn run(first: u32, v: u32, end: u32) {{\n    var at = first;\n{row}{begin}    \
             for (var t = 1u; t < P.len; t++) {{\n    at += {step};\n{row}{take}    }}\n{write}}}\n"
        )
    }

    /// The walk down wide rows, each vec4 of a row by itself. What a run found is written by loops over
    /// eight of them: a loop over all would compare its number with each, and no loop compiles for long.
    fn band(&self) -> String {
        let runs = 0..self.unrolled;
        let begin: String = runs
            .clone()
            .map(|r| format!("    var r{r} = none;\n"))
            .collect();
        let take = |r| format!("        r{r} = acc_take(r{r}, src[at + {r}u * TEAM], E, t);\n");
        let take: String = runs.clone().map(take).collect();
        let write = |first: u32| {
            let others = (first + 1..self.unrolled).take(7);
            let case = |r| {
                format!("            case {r}u: {{\n                r = r{r};\n            }}\n")
            };
            let cases: String = others.map(case).collect();
            let end = (first + 8).min(self.unrolled);
            format!(
                "    for (var j = {first}u; j < {end}u; j++) {{\n        var r = r{first};\n        \
                 switch j {{\n{cases}            default: {{\n            }}\n        }}\n        \
                 band_emit(s, first + j * TEAM, r);\n    }}\n"
            )
        };
        let write: String = runs.step_by(8).map(write).collect();
        format!(
            "fn band_emit(s: Slice, v: u32, r: Acc) {{\n    if v < P.width {{\n        \
             column_emit(s, v, column_all(s, v, r));\n    }}\n}}\n\
             fn band(s: Slice, first: u32) {{\n    let none = column_none(s);\n{begin}    \
             var at = s.first + s.low * P.width + first;\n    \
             for (var t = s.low; t < s.high; t++) {{\n{take}        at += P.width;\n    }}\n{write}}}\n"
        )
    }

    /// What writes results by owned words, of searches and of gathers.
    fn writing(&self) -> Option<&'static str> {
        match self.family {
            Family::Each | Family::Strided => Some(fragment!("store/values")),
            Family::Finish if self.coarsened => Some(fragment!("store/values")),
            Family::Gather | Family::StridedGather => Some(fragment!("access/picked")),
            _ => None,
        }
    }

    /// The columns in a vec4, and a matrix of them.
    fn columns(&self) -> Vec<&'static str> {
        let mut all = match self.keys.bits() {
            8 => vec![
                fragment!("accumulate/column32"),
                fragment!("accumulate/column_of8"),
            ],
            16 => vec![
                fragment!("accumulate/column32"),
                fragment!("accumulate/column_of16"),
            ],
            32 => vec![
                fragment!("accumulate/column32"),
                fragment!("accumulate/column_of32"),
            ],
            _ => vec![fragment!("accumulate/column_of64")],
        };
        all.push(fragment!("access/matrix"));
        if self.family == Family::Strips {
            all.push(fragment!("accumulate/strip"));
        }
        all
    }

    /// The family's own fragment, with the entry point.
    fn entry(&self) -> &'static str {
        match self.family {
            Family::Rows => fragment!("walk/rows"),
            Family::ShortRows => fragment!("walk/short_rows"),
            Family::SmallRows => fragment!("walk/small_rows"),
            Family::Shallow => fragment!("walk/shallow"),
            Family::Panels => fragment!("walk/panels"),
            Family::Columns => fragment!("walk/columns"),
            Family::Strips => fragment!("walk/strips"),
            Family::Bands => fragment!("walk/bands"),
            Family::Each => fragment!("walk/each"),
            Family::Finish if self.coarsened => fragment!("walk/finish_coarsened"),
            Family::Finish => fragment!("walk/finish"),
            Family::Gather => fragment!("walk/gather"),
            Family::Strided => fragment!("walk/strided"),
            Family::StridedGather => fragment!("walk/strided_gather"),
            Family::Extremes => fragment!("walk/extremes"),
            Family::ExtremeRows => fragment!("walk/extreme_rows"),
            Family::ExtremeColumns => fragment!("walk/extreme_columns"),
            _ => "",
        }
    }

    /// The keys of a vec4's elements.
    fn vec_keys(&self) -> &'static str {
        match self.keys.bits() {
            8 => fragment!("elements/keys_of8"),
            16 => fragment!("elements/keys_of16"),
            32 => fragment!("elements/keys_of32"),
            _ => fragment!("elements/keys_of64"),
        }
    }

    /// The same, and what is known of the columns in a vec4.
    fn column_parts(&self) -> Vec<&'static str> {
        let mut all = vec![self.vec_keys()];
        all.extend(match self.keys.bits() {
            8 => [
                fragment!("accumulate/four32"),
                fragment!("accumulate/four_of8"),
            ]
            .as_slice(),
            16 => &[
                fragment!("accumulate/four32"),
                fragment!("accumulate/four_of16"),
            ],
            32 => &[
                fragment!("accumulate/four32"),
                fragment!("accumulate/four_of32"),
            ],
            _ => &[fragment!("accumulate/four_of64")],
        });
        all
    }

    /// The part of an elementwise shader that depends on its inputs.
    fn elementwise(&self) -> String {
        let mut text = String::from(match self.keys.bits() {
            64 => fragment!("elements/key64"),
            _ => fragment!("elements/key32"),
        });
        text.push_str(self.vec_keys());
        text.push_str(fragment!("access/stride_table"));
        for i in 0..self.inputs {
            let input = match self.by_vec(i) {
                true => fragment!("access/input_vec"),
                false => fragment!("access/input_element"),
            };
            let input = input.replace("_0", &format!("_{i}"));
            text.push_str(&input.replace("binding(3)", &format!("binding({})", 3 + i)));
        }
        let inputs =
            |still: u32| (0..self.inputs).filter(move |i| self.row_invariant >> i & 1 == still);
        let (moving, still) = (inputs(0).collect::<Vec<_>>(), inputs(1).collect::<Vec<_>>());
        text.push_str(&match self.family {
            Family::ElementwiseStrips => {
                // Where nothing stands still, what stands for it is never used.
                let known = match still.is_empty() {
                    true => None,
                    false => Some("k"),
                };
                let still = self.combined(None, &still);
                let moving = self.combined(known, &moving);
                format!(
                    "\nfn still(at: Offsets, j: u32) -> Keys {{\n    return {still};\n}}\n\n\
                     fn moving(k: Keys, at: Offsets, j: u32) -> Keys {{\n    return {moving};\n}}\n\n"
                )
            }
            Family::ElementwiseVecs => format!(
                "\nfn combined(at: Offsets) -> Keys {{\n    return {};\n}}\n\n",
                self.combined(None, &moving)
            ),
            _ => format!(
                "\nfn combined(at: Offsets) -> Key {{\n    return {};\n}}\n\n",
                self.combined(None, &moving)
            ),
        });
        text.push_str(match self.family {
            Family::ElementwiseStrips => fragment!("walk/elementwise_strips"),
            Family::ElementwiseVecs => fragment!("walk/elementwise_vecs"),
            _ => concat!(
                fragment!("store/bits"),
                fragment!("store/values"),
                fragment!("walk/elementwise_words")
            ),
        });
        text
    }

    /// Whether an elementwise kernel reads an input by vec4.
    fn by_vec(&self, input: u32) -> bool {
        self.family != Family::ElementwiseWords && self.scalars >> input & 1 == 0
    }

    /// The least of what is known and of some inputs' elements, as an expression.
    fn combined(&self, known: Option<&str>, inputs: &[u32]) -> String {
        let (keys, least) = match self.family {
            Family::ElementwiseWords => ("key", "lesser"),
            _ => ("keys_of", "keys_min"),
        };
        let run = if self.family == Family::ElementwiseStrips {
            " + j"
        } else {
            ""
        };
        let mut all = known.map(str::to_owned);
        for &i in inputs {
            let at = format!("at.{}[{}]", if i < 4 { 'a' } else { 'b' }, i % 4);
            let value = match (self.by_vec(i), self.family) {
                (true, _) => format!("{keys}(in_{i}[{at}{run}])"),
                (false, Family::ElementwiseWords) => format!("{keys}(raw_{i}({at}))"),
                (false, _) => format!("{keys}(splat(raw_{i}({at})))"),
            };
            all = Some(match all {
                None => value,
                Some(others) => format!("{least}({others}, {value})"),
            });
        }
        all.unwrap_or_else(|| format!("{keys}(vec4<u32>(0u))"))
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
            Family::Shallow | Family::Panels => all.push(("RUNS", self.unrolled)),
            Family::Each => {
                all.push(("RAW", self.raw as u32));
                all.push(("COARSENED", self.coarsened as u32));
            }
            Family::Strided => all.push(("RAW", self.raw as u32)),
            Family::Finish if !self.coarsened => all.push(("LANES", self.lanes)),
            _ if self.is_extremes() => all.extend(self.turn()),
            Family::Gather | Family::StridedGather => all.push(("INDEX_WORDS", self.index_words)),
            _ => {}
        }
        all.into_iter().map(|(name, x)| (name, x as f64)).collect()
    }
}
