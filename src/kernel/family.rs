//! The names of the walks. Knows nothing else.

/// The names of the walks, as plans show them and [`crate::Tuning::force`] takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Family {
    /// Contiguous segments: a team of invocations reads a segment, each with all its loads at once.
    Rows,
    /// Neighbouring elements belong to neighbouring segments: an invocation reads some rows of a vec4 of columns at once.
    Columns,
    /// Exact sums of contiguous segments.
    SumRows,
    /// Exact sums of columns.
    SumColumns,
    /// Exact sums of short columns.
    ShallowSums,
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
}

impl Family {
    /// All families.
    pub const ALL: [Family; 13] = [
        Family::Rows,
        Family::Columns,
        Family::SumRows,
        Family::SumColumns,
        Family::ShallowSums,
        Family::Each,
        Family::Finish,
        Family::Gather,
        Family::Fill,
        Family::ElementwiseWords,
        Family::ElementwiseVecs,
        Family::Strided,
        Family::StridedGather,
    ];

    /// The name in plans and in `force`.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Rows => "rows",
            Family::Columns => "columns",
            Family::SumRows => "sum_rows",
            Family::SumColumns => "sum_columns",
            Family::ShallowSums => "shallow_sums",
            Family::Each => "each",
            Family::Finish => "finish",
            Family::Gather => "gather",
            Family::Fill => "fill",
            Family::ElementwiseWords => "elementwise_words",
            Family::ElementwiseVecs => "elementwise_vecs",
            Family::Strided => "strided",
            Family::StridedGather => "strided_gather",
        }
    }
}
