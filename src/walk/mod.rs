//! The walks: which invocation meets which element.
//!
//! A walk is all that is to be known of one way to read a region: when it fits, what it decides, its passes and its
//! shader's text. The files here have the names of the shaders in `shaders/walk`, and of their twins in
//! `tests/plan/walks`, which compute on the host which element each invocation meets. This file chooses between the
//! walks, and asks the one that is meant.

pub(crate) mod columns;
pub(crate) mod elementwise;
pub(crate) mod fill;
pub(crate) mod finish;
pub(crate) mod gather;
pub(crate) mod rows;
pub(crate) mod strided;
pub(crate) mod top;

use crate::Error;
use crate::kernel::{Kernel, Recipe};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step};
use columns::{Columns, ColumnsText};
use elementwise::ElementwiseText;
use finish::FinishText;
use gather::GatherText;
use rows::{Rows, RowsText};
use strided::{Each, EachText};
use top::{FewText, MergeText, TopText};

/// Loads of an invocation at once where texts with many compile slowly.
const FEW_LOADS: u64 = 4;

/// A walk, with all that its text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Walk {
    /// Contiguous segments: a team of invocations reads a segment, each with all its loads at once.
    Rows(RowsText),
    /// Neighbouring elements belong to neighbouring segments: an invocation reads some rows of a unit of columns at once.
    Columns(ColumnsText),
    /// Contiguous tensors, element by element.
    Each(EachText),
    /// A strided view, element by element.
    Strided,
    /// Partial results become results.
    Finish(FinishText),
    /// The best elements of parts of segments in order, of each by a workgroup.
    Top(TopText),
    /// A few best elements, by an invocation.
    Few(FewText),
    /// Lists in order become longer ones, or results.
    Merge(MergeText),
    /// The elements that indices point to.
    Gather(GatherText),
    /// The same element everywhere.
    Fill,
    /// An invocation combines some elements of all inputs.
    Elementwise(ElementwiseText),
}

impl Walk {
    /// The names of all walks.
    pub const NAMES: [&str; 13] = [
        "rows",
        "columns",
        "each",
        "strided",
        "finish",
        "gather",
        "strided_gather",
        "fill",
        "elementwise_words",
        "elementwise_vecs",
        "top",
        "few",
        "merge",
    ];

    /// Its name, as plans show it: of some texts a name of their own.
    pub const fn name(self) -> &'static str {
        Walk::NAMES[match self {
            Walk::Rows(_) => 0,
            Walk::Columns(_) => 1,
            Walk::Each(_) => 2,
            Walk::Strided => 3,
            Walk::Finish(_) => 4,
            Walk::Gather(GatherText { strided: false, .. }) => 5,
            Walk::Gather(_) => 6,
            Walk::Fill => 7,
            Walk::Elementwise(ElementwiseText { vecs: false, .. }) => 8,
            Walk::Elementwise(_) => 9,
            Walk::Top(_) => 10,
            Walk::Few(_) => 11,
            Walk::Merge(_) => 12,
        }]
    }

    /// The name of the shader's entry point.
    pub const fn entry_point(self) -> &'static str {
        match self {
            Walk::Each(_) => "strided",
            Walk::Gather(_) => "gather",
            Walk::Elementwise(_) => "elementwise",
            _ => self.name(),
        }
    }

    /// Invocations that share a segment.
    pub const fn lanes(self) -> u32 {
        match self {
            Walk::Rows(text) => text.lanes,
            Walk::Finish(text) => text.lanes,
            _ => 1,
        }
    }

    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        match self {
            Walk::Rows(text) => text.recipe(kernel),
            Walk::Columns(text) => text.recipe(kernel),
            Walk::Each(text) => strided::recipe(kernel, Some(text)),
            Walk::Strided => strided::recipe(kernel, None),
            Walk::Finish(text) => text.recipe(kernel),
            Walk::Top(text) => text.recipe(kernel),
            Walk::Few(text) => text.recipe(kernel),
            Walk::Merge(_) => top::merge_recipe(),
            Walk::Gather(text) => text.recipe(),
            Walk::Fill => fill::recipe(),
            Walk::Elementwise(text) => text.recipe(),
        }
    }
}

/// How a region of contiguous elements is walked, decided to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    Each(Each),
    Rows(Rows),
    Columns(Columns),
}

/// Chooses how a region is walked.
pub(crate) fn choose(planner: &Planner<'_>, step: &Step, b: &Region) -> Mapping {
    // Less than one vec4 can't be bound as vec4.
    let small = b.outer * b.len * b.inner * step.acc.bytes() < 16;
    if small || b.len == 1 || planner.caps.tuning.each {
        return Mapping::Each(Each::WHOLE);
    }
    let chosen = match b.pitch {
        1 => Rows::fit(planner, step, b).map(Mapping::Rows),
        _ => Columns::fit(planner, step, b).map(Mapping::Columns),
    };
    chosen.unwrap_or_else(|| Mapping::Each(Each::fit(planner, step, b)))
}

impl Mapping {
    /// Partial results an output takes; 1 where results may be written at once.
    pub(crate) fn parts(self) -> u64 {
        match self {
            Mapping::Each(each) => each.slices,
            Mapping::Rows(rows) => rows.slices,
            Mapping::Columns(columns) => columns.parts(),
        }
    }

    /// Elements of a segment that a dispatch may take, if an invocation of the next one takes all its parts.
    pub(crate) fn reach(self, planner: &Planner<'_>, step: &Step) -> u64 {
        let alone = step.most_elements(planner.caps.most_iterations() / 2);
        match (self, step.acc.sum()) {
            (Mapping::Rows(rows), Some(_)) => rows.reach(planner, step),
            (Mapping::Columns(columns), Some(_)) => columns.reach(planner, step),
            _ => planner.most_parts(step).saturating_mul(alone),
        }
    }

    /// Whether an invocation takes whole segments, element by element.
    pub(crate) fn is_each(self) -> bool {
        matches!(self, Mapping::Each(each) if each == Each::WHOLE)
    }

    /// Whether it may leave partial results instead of results.
    pub(crate) fn leaves_partials(self) -> bool {
        match self {
            Mapping::Rows(rows) => rows.text.rows == 0,
            _ => true,
        }
    }

    /// Whether a region of whole segments needs no partial results.
    pub(crate) fn is_direct(self, planner: &Planner<'_>, step: &Step, b: &Region) -> bool {
        let written = || match (self, step.acc.is_both()) {
            // The results of both may begin at different bytes of a word.
            (Mapping::Rows(rows), true) => {
                step.out.per_word() == 1 && rows.are_bound(planner, step)
            }
            (_, true) => false,
            // Results below a word are written as whole words.
            (Mapping::Columns(_), false) => (b.out * step.out.bytes()).is_multiple_of(4),
            (_, false) => true,
        };
        self.parts() == 1 && written()
    }

    /// Invocations a region takes.
    pub(crate) fn invocations(self, planner: &Planner<'_>, step: &Step, b: &Region) -> u64 {
        let outputs = b.outer * b.inner;
        match self {
            Mapping::Rows(rows) => rows.invocations(step, b),
            Mapping::Columns(columns) => columns.invocations(planner, step, b),
            Mapping::Each(each) => outputs * each.slices,
        }
    }

    /// The same for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(self, planner: &Planner<'_>, step: &Step, b: &Region) -> Mapping {
        // Buffers may end anywhere: there may be less than a vec4.
        if b.len * b.inner * step.acc.bytes() < 16 {
            return Mapping::Each(Each::WHOLE);
        }
        let shorter = match self {
            Mapping::Each(each) => return Mapping::Each(Each::sliced(b, each.slice)),
            Mapping::Rows(rows) => rows.shortened(planner, step, b).map(Mapping::Rows),
            Mapping::Columns(columns) => columns.shortened(planner, step, b).map(Mapping::Columns),
        };
        // What begins within a unit goes element by element, in as many parts.
        shorter.unwrap_or_else(|| Mapping::Each(Each::sliced(b, b.len.div_ceil(self.parts()))))
    }

    /// Plans the first pass over a region. `merge`: it joins the partial results that are there.
    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        match self {
            Mapping::Each(each) => each.pass(planner, step, b, merge),
            Mapping::Rows(rows) => rows.pass(planner, step, b, merge),
            Mapping::Columns(columns) => columns.pass(planner, step, b, merge),
        }
    }
}
