//! Exact sums of rows and of columns: what a sum is kept in is too large for the walks of keys.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Kernel, Recipe, Resource, fragments};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step, dst_view, region_params, words};
use crate::sums::Sum;
use crate::walk::{Mapping, Walk};

/// See [`SumColumnsText::TEAM`].
pub(crate) const TEAM: u64 = SumColumnsText::TEAM as u64;
/// Most bytes of a row that an invocation takes whole, as well as those of the other results in its word.
const MOST_ROW_BYTES: u64 = 512 << 10;
/// Bytes that a loop iteration of sums of rows reads: eight vec4.
const BLOCK_BYTES: u64 = 128;
/// Bytes up to which the sum of a row is taken element by element, and elements of a column below which it is.
const EACH_ROW_BYTES: u64 = 32;
const EACH_COLUMN_LEN: u64 = 4;
/// Least bytes that are read for each byte of partial sums.
const SUMS_SHARE: u64 = 16;

/// What the text of sums of rows depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SumRowsText {
    /// Invocations that share a segment, striped.
    pub lanes: u32,
    /// Whether an invocation takes several items, one after another.
    pub coarsened: bool,
    /// Whether an invocation takes a whole row, which is whole vec4.
    pub whole: bool,
    /// Most vec4 that an invocation takes, all at once; 0: any number.
    pub vecs: u32,
}

/// What the text of sums of columns depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SumColumnsText {
    /// Vec4 of a row that an invocation takes; 0: one column.
    pub runs: u32,
}

/// How a region of rows is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SumRows {
    /// Invocations of a slice.
    pub lanes: u64,
    /// Parts of a row.
    pub slices: u64,
    /// Elements of a part.
    slice: u64,
}

/// How a region of columns is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SumColumns {
    /// Parts of a column.
    pub slices: u64,
    /// Rows of a part.
    slice: u64,
}

/// How a region is summed, if not element by element.
pub(crate) fn choose(planner: &Planner<'_>, step: &Step, sum: Sum, b: &Region) -> Option<Mapping> {
    let bytes = b.len * step.acc.bytes();
    // A window takes even a short row faster.
    let long = bytes > EACH_ROW_BYTES || sum.has_windows() && bytes == EACH_ROW_BYTES;
    match b.pitch {
        1 if long => SumRows::fit(planner, step, sum, b).map(Mapping::SumRows),
        2.. if b.len >= EACH_COLUMN_LEN => {
            SumColumns::fit(planner, step, b).map(Mapping::SumColumns)
        }
        _ => None,
    }
}

impl SumColumns {
    pub(crate) fn fit(planner: &Planner<'_>, step: &Step, b: &Region) -> Option<SumColumns> {
        let sum = step.acc.sum()?;
        let columns = columns_at_once(planner, sum, b);
        let lanes = b.inner / columns;
        let room = (planner.partials(step) / b.inner).min(planner.most_parts(step));
        // Partial sums must be a small part of what is read.
        let record = planner.partial_format(step).bytes();
        let worth = b.len * step.acc.bytes() / (SUMS_SHARE * record);
        // An invocation takes a slice of a column alone, where one of a row is a whole team's.
        let wanted = planner.busy_columns().div_ceil(b.outer * lanes);
        let teams = u64::from(planner.caps.workgroup()).div_ceil(lanes);
        let most = teams.saturating_mul(planner.caps.tuning.slices);
        // Partial results of slices lie as far apart as rows.
        let most = if b.pitch > b.inner { 1 } else { most };
        let filled = wanted.min(most).min(worth).min(room / b.outer).max(1);
        let longest = sum.most_rows(planner.caps.most_iterations() / 2, columns);
        let slices = filled.max(b.len.div_ceil(longest));
        let slice = b.len.div_ceil(slices);
        let direct = slices == 1 && step.out.per_word() == 1;
        let slices = b.len.div_ceil(slice);
        (direct || slices <= room).then_some(SumColumns { slices, slice })
    }

    /// The same for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(self, b: &Region) -> SumColumns {
        SumColumns {
            slices: b.len.div_ceil(self.slice),
            ..self
        }
    }

    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        let Some(sum) = step.acc.sum() else {
            return Ok(());
        };
        let columns = columns_at_once(planner, sum, b);
        let in_vec = u64::from(128 / step.acc.bits());
        let text = SumColumnsText {
            runs: (columns / in_vec) as u32,
        };
        let kernel = planner.kernel_of(step, Walk::SumColumns(text));
        let across = b.inner / columns;
        let invocations = b.outer * self.slices * across;
        let params = Params {
            items: invocations as u32,
            across: across as u32,
            slices: self.slices as u32,
            slice: self.slice as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (planner.src_view(step, b), dst_view(step, b, self.slices));
        // The loops over vec4, which hold rows of one column or columns, and over blocks of them count as well.
        let vecs = self.slice / in_vec.min(4);
        let iterations = sum.column_iterations(self.slice, columns) + 2 * vecs + 1 + columns;
        planner.push(kernel, Some(src), dst, params, invocations, iterations)
    }
}

/// Columns that an invocation takes side by side: those of some vec4, else one.
fn columns_at_once(planner: &Planner<'_>, sum: Sum, b: &Region) -> u64 {
    let element = u64::from(sum.bits() / 8);
    let long = planner.caps.long_sums();
    // Eight columns of floats are more than the registers of a GPU hold.
    let many = element < 4 && !long;
    if many || !(sum.takes_columns() && planner.aligned && in_vecs(b, element)) {
        return 1;
    }
    let width = b.inner * element / 16;
    let mut runs = if long { sum.runs() } else { 1 };
    while runs > 1 && !width.is_multiple_of(TEAM * runs) {
        runs /= 2;
    }
    runs * 16 / element
}

impl SumRows {
    fn fit(planner: &Planner<'_>, step: &Step, sum: Sum, b: &Region) -> Option<SumRows> {
        let (caps, tuning) = (planner.caps, &planner.caps.tuning);
        let element = step.acc.bytes();
        let bytes = b.len * element;
        let wg = u64::from(caps.workgroup());
        let most: u64 = 1 << wg.min(tuning.row_lanes.into()).max(1).ilog2();
        // A row of up to all invocations' bytes is in flight at once, and its lines are read once.
        let lanes = bytes.div_ceil(tuning.lane_bytes.max(1)).clamp(1, most);
        let mut lanes = lanes.next_power_of_two();
        while lanes > 1 && lanes < most && !planner.may_share(sum, lanes) {
            lanes *= 2;
        }
        if !planner.may_share(sum, lanes) {
            lanes = 1;
        }
        let partials = planner.partials(step);
        let parts = (bytes / tuning.slice_bytes.max(1)).min(planner.most_parts(step));
        // Partial sums may be larger than what is read.
        let filled = planner.slices(b.outer * lanes, parts.min(partials / b.outer));
        let longest = lanes * element * step.most_elements(caps.most_iterations() / 2);
        let slices = filled.max(bytes.div_ceil(longest));
        // Whole vec4 blocks, so that slices of an aligned row are aligned.
        let slice = match slices {
            1 => b.len,
            _ => b
                .len
                .div_ceil(slices)
                .next_multiple_of(BLOCK_BYTES / element),
        };
        let slices = b.len.div_ceil(slice);
        let partials = partials.min(planner.most_parts(step));
        let fits = slices <= partials && (slices * lanes).div_ceil(wg) <= caps.groups();
        fits.then_some(SumRows {
            lanes,
            slices,
            slice,
        })
    }

    /// The same for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(self, b: &Region) -> SumRows {
        SumRows {
            slices: b.len.div_ceil(self.slice),
            ..self
        }
    }

    /// Whether results below a word are written as whole words: one invocation takes all rows whose results share a word.
    pub(crate) fn owns_words(self, planner: &Planner<'_>, step: &Step, b: &Region) -> bool {
        let at_once = |sum| self.lanes == 1 && self.at_once(step, sum, 1) > 0;
        self.are_whole(planner, step, b) && step.acc.sum().is_some_and(at_once)
    }

    /// Whether each row of a region is whole vec4 and taken by one invocation. The vec4 are so few that one invocation
    /// may take all rows whose results share a word.
    fn are_whole(self, planner: &Planner<'_>, step: &Step, b: &Region) -> bool {
        let element = step.acc.bytes();
        let vecs = [step.at, b.at, b.len].map(|n| n * element % 16) == [0; 3];
        let few = b.len * element <= MOST_ROW_BYTES;
        planner.aligned && vecs && few && self.lanes * self.slices == 1
    }

    /// How many whole vec4 of a slice each of `lanes` invocations takes, rounded up to a power of two, if it takes so
    /// many at once; else 0.
    fn at_once(self, step: &Step, sum: Sum, lanes: u64) -> u32 {
        let vecs = (self.slice * u64::from(step.acc.bits()) / 128).div_ceil(lanes);
        let vecs = vecs.next_power_of_two() as u32;
        match sum.has_windows() && vecs <= sum.block() {
            true => vecs,
            false => 0,
        }
    }

    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        let SumRows {
            lanes,
            slices,
            slice,
        } = self;
        let items = b.outer * slices;
        let element = step.acc.bytes();
        let share = slice.div_ceil(lanes) + 32 / element;
        // The loops over vec4, over blocks of them, and over a row that a window holds count as well.
        let each = step.iterations(share) + share * element / 8 + 2;
        let words = words(step.out, items);
        let each = each * u64::from(step.out.per_word());
        let taken = planner.items_per_invocation(words * lanes, each);
        let sum = step.acc.sum();
        let text = SumRowsText {
            lanes: lanes as u32,
            coarsened: taken > 1 && step.out.per_word() == 1,
            whole: self.are_whole(planner, step, b),
            vecs: sum.map_or(0, |sum| self.at_once(step, sum, lanes)),
        };
        let kernel = planner.kernel_of(step, Walk::SumRows(text));
        let params = Params {
            items: items as u32,
            slices: slices as u32,
            slice: slice as u32,
            coarsening: taken as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (planner.src_view(step, b), dst_view(step, b, slices));
        let invocations = words.div_ceil(taken) * lanes;
        planner.push(kernel, Some(src), dst, params, invocations, taken * each)
    }
}

/// Whether every row of a region is whole vec4.
fn in_vecs(b: &Region, element: u64) -> bool {
    let vecs = |n: u64| (n * element).is_multiple_of(16);
    vecs(b.at) && vecs(b.inner) && vecs(b.pitch)
}

/// Results that share a word, or 0.
fn subwords(kernel: &Kernel) -> u32 {
    match kernel.out.per_word() {
        1 => 0,
        n => n,
    }
}

/// Vec4 that a sum takes at once.
fn block(kernel: &Kernel) -> u32 {
    kernel.acc.sum().map_or(0, Sum::block)
}

impl SumRowsText {
    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        use Resource::{Destination, Params, Vecs, Words};
        let shared = self.lanes > 1;
        let sum = kernel.acc.sum();
        let rounds = sum.is_some_and(Sum::is_rounded) && !kernel.out.is_partial();
        let shared_words = match sum {
            Some(sum) if shared => kernel.workgroup / self.lanes * sum.shared_words(),
            _ => 0,
        };
        let at_once = self.vecs > 0;
        let mut constants = vec![("LANES", self.lanes)];
        constants.extend((shared_words > 0).then_some(("SHARED_WORDS", shared_words)));
        Recipe {
            fragments: fragments!("access/span" "accumulate/sums" "accumulate/sum_runs" "walk/old/sum_rows"),
            bindings: match self.whole {
                true => vec![Params, Vecs, Destination],
                false => vec![Params, Vecs, Destination, Words],
            },
            names: vec![
                ("SHARED", shared.into()),
                ("SUBWORDS", subwords(kernel)),
                ("WHOLE_ROWS", self.whole.into()),
                ("COARSENED", self.coarsened.into()),
                // A window of floats may hold a whole row: then its result needs no limbs.
                ("NEAR", (self.whole && at_once && rounds).into()),
                ("BLOCK", if at_once { self.vecs } else { block(kernel) }),
                ("IN_VEC", 128 / kernel.acc.bits()),
                ("COLUMNS", 1),
                ("RUNS", 1),
                ("ONCE", at_once.into()),
            ],
            constants,
            workgroup_bytes: 4 * shared_words,
            ..Recipe::default()
        }
    }
}

impl SumColumnsText {
    /// Invocations that take neighbouring vec4 of a row, and step on by as many.
    pub const TEAM: u32 = 8;

    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        let (runs, in_vec) = (self.runs, 128 / kernel.acc.bits());
        let (one, block) = (runs == 0, block(kernel));
        Recipe {
            fragments: fragments!("accumulate/sums" "accumulate/sum_runs" "walk/old/sum_columns"),
            bindings: column_bindings(),
            names: vec![
                ("COLUMNS", if one { 1 } else { runs * in_vec }),
                ("RUNS", runs.max(1)),
                ("STRIDE", if runs > 1 { Self::TEAM } else { 1 }),
                ("SHARED", 0),
                ("NEAR", 0),
                // Several columns keep more, so each run has half a block.
                ("BLOCK", if one { block } else { runs * block.div_ceil(2) }),
                ("ONCE", 0),
                // A vec4 of one column holds four rows, or two of 64 bits.
                ("IN_VEC", if one { in_vec.min(4) } else { in_vec }),
            ],
            ..Recipe::default()
        }
    }
}

fn column_bindings() -> Vec<Resource> {
    use Resource::{Destination, Params, Vecs, Words};
    vec![Params, Vecs, Destination, Words]
}
