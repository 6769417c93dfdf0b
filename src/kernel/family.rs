//! The names of the walks. Knows nothing else.

/// The names of the walks, by which plans are told and [`crate::Tuning::force`] asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Family {
    /// Contiguous segments, by whole vec4, some lanes a segment.
    Rows,
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
    pub const ALL: [Family; 19] = [
        Family::Rows,
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
