//! Columns: segments side by side. An invocation takes a vec4 of columns, or a word of them, and reads some rows of them at
//! once.

use crate::Error;
use crate::kernel::{Kernel, Recipe};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step};

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnsText {
    /// Rows that are read at once.
    pub loads: u32,
}

/// How a region is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub text: ColumnsText,
    pub slices: u64,
}

impl Columns {
    /// How a region is walked, if it can be.
    pub(crate) fn fit(_planner: &Planner<'_>, _step: &Step, _b: &Region) -> Option<Columns> {
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
    pub(crate) fn shortened(self, _step: &Step, _b: &Region) -> Option<Columns> {
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

impl ColumnsText {
    pub(crate) fn recipe(self, _kernel: &Kernel) -> Recipe {
        Recipe::default()
    }
}
