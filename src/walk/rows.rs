//! Rows: contiguous segments.
//! A team of invocations shares a row.

use crate::Error;
use crate::kernel::{Kernel, Recipe};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step};

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowsText {
    /// Rows that are read at once.
    pub loads: u32,
    /// Invocations that share a row.
    pub lanes: u32,
}

/// How a region is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub text: RowsText,
    pub slices: u64,
}

impl Rows {
    /// How a region is walked, if it can be.
    pub(crate) fn fit(_planner: &Planner<'_>, _step: &Step, _b: &Region) -> Option<Rows> {
        None
    }

    /// Partials an output takes.
    pub(crate) fn parts(self) -> u64 {
        self.slices
    }

    /// Invocations of a region.
    pub(crate) fn invocations(self, _b: &Region) -> u64 {
        1
    }

    /// Whether results below a word are written as whole words.
    pub(crate) fn writes_words(self, _step: &Step, _b: &Region) -> bool {
        true
    }

    /// The same for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(self, _step: &Step, _b: &Region) -> Option<Rows> {
        Some(self)
    }

    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        planner.each(step, b, merge, false)
    }
}

impl RowsText {
    pub(crate) fn recipe(self, _kernel: &Kernel) -> Recipe {
        Recipe::default()
    }
}
