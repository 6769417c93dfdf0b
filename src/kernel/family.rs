//! The names of the walks. Knows nothing else.

/// The names of the walks, as plans show them and [`crate::Tuning::force`] takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Family {
    /// Contiguous segments by whole vec4; one or more invocations share a segment.
    Rows,
    /// Contiguous segments of a few elements: an invocation takes as many as are whole vec4.
    SmallRows,
    /// Neighbouring elements belong to neighbouring segments: an invocation takes a vec4 of columns.
    Columns,
    /// Columns of a few elements: an invocation takes some neighbouring vec4 of them, then others.
    Shallow,
    /// Columns: a team takes all rows, or a part of every row, and an invocation some vec4 of each.
    Panels,
    /// Columns with long rows: an invocation takes as many vec4 as its team needs to take rows whole, or eight
    /// of rows that are too long for that.
    Strips,
    /// An invocation takes an output word, element by element.
    Each,
    /// Partial results become results.
    Finish,
    /// The elements that indices point to.
    Gather,
    /// The same element everywhere.
    Fill,
    /// Elementwise: an invocation writes an output word.
    ElementwiseWords,
    /// Elementwise: an invocation writes two or four vec4 of outputs.
    ElementwiseVecs,
    /// A strided view, element by element.
    Strided,
    /// The elements of a strided view that indices point to.
    StridedGather,
    /// The least and the greatest at once, element by element, of a strided view or of columns.
    Extremes,
    /// The same by whole vec4, where segments are contiguous.
    ExtremeRows,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 16] = [
        Family::Rows,
        Family::SmallRows,
        Family::Columns,
        Family::Shallow,
        Family::Panels,
        Family::Strips,
        Family::Each,
        Family::Finish,
        Family::Gather,
        Family::Fill,
        Family::ElementwiseWords,
        Family::ElementwiseVecs,
        Family::Strided,
        Family::StridedGather,
        Family::Extremes,
        Family::ExtremeRows,
    ];

    /// Whether columns are walked as wide rows; joined rows and slices leave partials.
    pub const fn is_columns(self) -> bool {
        matches!(self, Family::Columns | Family::Strips)
    }

    /// The name in plans and in `force`.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Rows => "rows",
            Family::SmallRows => "small_rows",
            Family::Columns => "columns",
            Family::Shallow => "shallow",
            Family::Panels => "panels",
            Family::Strips => "strips",
            Family::Each => "each",
            Family::Finish => "finish",
            Family::Gather => "gather",
            Family::Fill => "fill",
            Family::ElementwiseWords => "elementwise_words",
            Family::ElementwiseVecs => "elementwise_vecs",
            Family::Strided => "strided",
            Family::StridedGather => "strided_gather",
            Family::Extremes => "extremes",
            Family::ExtremeRows => "extreme_rows",
        }
    }
}
