//! How a region is mapped: to which walk, and how many invocations and slices a segment gets.
//!
//! The walks say what they can take (`src/walk`); this file chooses between them. `partition.rs` decides which regions
//! there are.

use crate::kernel::{self, Family};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step};
use crate::sums::Sum;
use crate::walk::columns::Columns;
use crate::walk::rows::Rows;

/// Most parts of a segment that tuning may ask for: one invocation may have to take them all, for each of the
/// four outputs that share a word.
pub(crate) const MAX_PARTS: u64 = 4096;
/// Most bytes of a row that an invocation takes whole, as well as those of the other results in its word.
const MOST_ROW_BYTES: u64 = 512 << 10;
/// Bytes that a loop iteration of sums of rows reads: eight vec4.
pub(crate) const BLOCK_BYTES: u64 = 128;
/// Invocations of columns that keep any memory busy: an H200's reaches .95 of its speed with so many, .66 with a
/// quarter of them. More would only leave more partials.
const BUSY_COLUMNS: u64 = 1 << 17;
/// Rows from which columns that a binding spans are cut instead: their results are copied.
pub(crate) const MOST_SPANNED_ROWS: u64 = 256;
/// Columns of a region that takes only some are a multiple of this: whole lines for every walk.
pub(crate) const COLUMNS_GRAIN: u64 = 64;
/// Invocations in a team of sums of columns, and vec4 that one takes of a row.
pub(crate) const TEAM: u64 = kernel::TEAM as u64;
/// Bytes up to which the exact sum of a row is taken element by element, and elements of a column below which it is.
const EACH_ROW_BYTES: u64 = 32;
const EACH_COLUMN_LEN: u64 = 4;
/// Most elements of a column whose sum is rounded from its window.
const SHORT_COLUMN: u64 = 64;
/// Least elements of a part of a segment that an invocation takes element by element.
const LEAST_SLICE: u64 = 64;
/// Least bytes that are read for each byte of partial sums.
const SUMS_SHARE: u64 = 16;

/// How a region is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    Each,
    /// Element by element, in parts of segments.
    Slices {
        slices: u64,
        slice: u64,
    },
    Rows(Rows),
    Columns(Columns),
    SumRows {
        lanes: u64,
        slices: u64,
        slice: u64,
    },
    SumColumns {
        slices: u64,
        slice: u64,
    },
    ShallowSums,
}

impl Mapping {
    /// Partials an output takes.
    pub(crate) fn parts(self) -> u64 {
        match self {
            Mapping::Each | Mapping::ShallowSums => 1,
            Mapping::Rows(rows) => rows.slices,
            Mapping::Columns(columns) => columns.parts(),
            Mapping::Slices { slices, .. }
            | Mapping::SumRows { slices, .. }
            | Mapping::SumColumns { slices, .. } => slices,
        }
    }

    /// Whether it may leave partial results instead of results.
    pub(crate) fn leaves_partials(self) -> bool {
        match self {
            Mapping::Rows(rows) => rows.text.each == 0,
            Mapping::ShallowSums => false,
            _ => true,
        }
    }
}

impl Planner<'_> {
    /// Chooses how a region is mapped.
    pub(crate) fn mapping(&self, step: &Step, b: &Region) -> Mapping {
        let element = u64::from(step.keys.bits() / 8);
        // Less than one vec4 can't be bound as vec4.
        if b.outer * b.len * b.inner * element < 16 || b.len == 1 {
            return Mapping::Each;
        }
        if let Some(sum) = step.sum {
            return self.sum_mapping(step, sum, b).unwrap_or(Mapping::Each);
        }
        let chosen = match (self.caps.tuning.force, b.pitch) {
            (Some(Family::Each), _) => return Mapping::Each,
            (_, 1) => Rows::fit(self, step, b).map(Mapping::Rows),
            _ => Columns::fit(self, step, b).map(Mapping::Columns),
        };
        chosen.unwrap_or_else(|| self.each_or_slices(step, b))
    }

    /// Element by element: whole segments, or parts of them where these are long and few.
    fn each_or_slices(&self, step: &Step, b: &Region) -> Mapping {
        let outputs = b.outer * b.inner;
        let lanes = self.caps.groups() * u64::from(self.caps.workgroup());
        let room = self.partials(step).min(lanes) / outputs;
        let filled = self.slices(outputs, b.len / LEAST_SLICE);
        let longest = step.most_elements(self.caps.most_iterations() / 2);
        // One alone takes the segments of all results in a word.
        let least = match b.len > self.alone(step) {
            true => b.len.div_ceil(longest).max(2),
            false => 1,
        };
        let slices = filled.max(least).min(room);
        match slices {
            0 | 1 => Mapping::Each,
            _ => self.in_slices(b, b.len.div_ceil(slices)),
        }
    }

    fn in_slices(&self, b: &Region, slice: u64) -> Mapping {
        Mapping::Slices {
            slices: b.len.div_ceil(slice),
            slice,
        }
    }

    /// How many slices fill the device, at most `most`.
    pub(crate) fn slices(&self, invocations: u64, most: u64) -> u64 {
        let tuning = &self.caps.tuning;
        let wanted = tuning.invocations.div_ceil(invocations.max(1));
        wanted.min(most).min(tuning.slices).clamp(1, MAX_PARTS)
    }

    /// How exact sums are mapped: to rows, to columns or, element by element, to `each`.
    fn sum_mapping(&self, step: &Step, sum: Sum, b: &Region) -> Option<Mapping> {
        let tuning = &self.caps.tuning;
        let element = u64::from(step.keys.bits() / 8);
        let bytes = b.len * element;
        // A window takes even a short row faster.
        let long = bytes > EACH_ROW_BYTES || sum.has_windows() && bytes == EACH_ROW_BYTES;
        match (tuning.force, b.pitch) {
            (Some(Family::Each), _) => None,
            (_, 1) if long => self.sum_rows(step, sum, b),
            (_, 2..) if self.are_shallow_sums(step, sum, b) => Some(Mapping::ShallowSums),
            (_, 2..) if b.len >= EACH_COLUMN_LEN => self.sum_columns(step, sum, b),
            _ => None,
        }
    }

    /// Whether columns are so short that making and rounding their limbs would cost more than adding them up.
    fn are_shallow_sums(&self, step: &Step, sum: Sum, b: &Region) -> bool {
        let element = u64::from(step.keys.bits() / 8);
        let forced = self.caps.tuning.force;
        let wanted = b.len <= SHORT_COLUMN && forced.is_none_or(|f| f == Family::ShallowSums);
        let whole = b.len == step.len && !step.out.is_partial();
        let whole = whole && (b.out * step.out.bytes()).is_multiple_of(4);
        let rounded = sum.is_rounded() && sum.takes_columns();
        wanted && self.aligned && whole && rounded && in_vecs(b, element)
    }

    fn sum_columns(&self, step: &Step, sum: Sum, b: &Region) -> Option<Mapping> {
        let element = u64::from(step.keys.bits() / 8);
        let columns = self.sum_columns_of(step, sum, b);
        let lanes = b.inner / columns;
        let room = (self.partials(step) / b.inner).min(self.most_parts(step));
        // Partial sums must be a small part of what is read.
        let worth = b.len * element / (SUMS_SHARE * self.partial_format(step).bytes());
        // An invocation takes a slice of a column alone, where one of a row is a whole team's.
        let wanted = self.busy_columns().div_ceil(b.outer * lanes);
        let teams = u64::from(self.caps.workgroup()).div_ceil(lanes);
        let most = teams.saturating_mul(self.caps.tuning.slices);
        // Partial results of slices lie as far apart as rows.
        let most = if b.pitch > b.inner { 1 } else { most };
        let filled = wanted.min(most).min(worth).min(room / b.outer).max(1);
        let longest = sum.most_rows(self.caps.most_iterations() / 2, columns);
        let slices = filled.max(b.len.div_ceil(longest));
        let slice = b.len.div_ceil(slices);
        let direct = slices == 1 && step.out.per_word() == 1;
        let slices = b.len.div_ceil(slice);
        (direct || slices <= room).then_some(Mapping::SumColumns { slices, slice })
    }

    /// Columns that an invocation takes side by side: those of some vec4, else one.
    pub(crate) fn sum_columns_of(&self, step: &Step, sum: Sum, b: &Region) -> u64 {
        let element = u64::from(step.keys.bits() / 8);
        // Eight columns of floats are more than the registers of a GPU hold.
        let many = element < 4 && !self.caps.long_strips();
        if many || !(sum.takes_columns() && self.aligned && in_vecs(b, element)) {
            return 1;
        }
        let width = b.inner * element / 16;
        let mut runs = if self.caps.long_strips() {
            sum.runs()
        } else {
            1
        };
        while runs > 1 && !width.is_multiple_of(TEAM * runs) {
            runs /= 2;
        }
        runs * 16 / element
    }

    /// Whether each row of a region is whole vec4 and taken by one invocation, of `invocations` a row. The
    /// vec4 are so few that one invocation may take all rows whose results share a word.
    pub(crate) fn are_whole(&self, step: &Step, b: &Region, invocations: u64) -> bool {
        let element = u64::from(step.keys.bits() / 8);
        let vecs = [step.at, b.at, b.len].map(|n| n * element % 16) == [0; 3];
        let few = b.len * element <= MOST_ROW_BYTES;
        self.aligned && vecs && few && invocations == 1
    }

    fn sum_rows(&self, step: &Step, sum: Sum, b: &Region) -> Option<Mapping> {
        let tuning = &self.caps.tuning;
        let element = u64::from(step.keys.bits() / 8);
        let bytes = b.len * element;
        let wg = u64::from(self.caps.workgroup());
        let most: u64 = 1 << wg.min(tuning.row_lanes.into()).max(1).ilog2();
        // A row of up to all invocations' bytes is in flight at once, and its lines are read once.
        let lanes = bytes.div_ceil(tuning.lane_bytes.max(1)).clamp(1, most);
        let mut lanes = lanes.next_power_of_two();
        while lanes > 1 && lanes < most && !self.may_share(sum, lanes) {
            lanes *= 2;
        }
        if !self.may_share(sum, lanes) {
            lanes = 1;
        }
        let partials = self.partials(step);
        let parts = (bytes / tuning.slice_bytes.max(1)).min(self.most_parts(step));
        // Partial sums may be larger than what is read.
        let filled = self.slices(b.outer * lanes, parts.min(partials / b.outer));
        let longest = lanes * element * step.most_elements(self.caps.most_iterations() / 2);
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
        let partials = partials.min(self.most_parts(step));
        let fits = slices <= partials && (slices * lanes).div_ceil(wg) <= self.caps.groups();
        fits.then_some(Mapping::SumRows {
            lanes,
            slices,
            slice,
        })
    }

    /// Invocations of columns that keep the device busy.
    pub(crate) fn busy_columns(&self) -> u64 {
        self.caps.tuning.invocations.min(BUSY_COLUMNS)
    }

    /// Invocations a region takes.
    pub(crate) fn lanes(&self, step: &Step, b: &Region) -> u64 {
        let outputs = b.outer * b.inner;
        match self.mapping(step, b) {
            Mapping::Each => outputs,
            Mapping::Rows(rows) => rows.invocations(step, b),
            Mapping::Columns(columns) => columns.invocations(self, step, b),
            Mapping::ShallowSums => outputs + TEAM,
            Mapping::SumRows { lanes, slices, .. } => outputs * slices * lanes,
            Mapping::Slices { slices, .. } | Mapping::SumColumns { slices, .. } => outputs * slices,
        }
    }

    /// The same mapping for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(&self, step: &Step, mapping: Mapping, b: &Region) -> Mapping {
        let element = u64::from(step.keys.bits() / 8);
        match mapping {
            // Buffers may end anywhere: there may be less than a vec4.
            _ if b.len * b.inner * element < 16 => Mapping::Each,
            Mapping::Each => mapping,
            Mapping::Slices { slice, .. } => self.in_slices(b, slice),
            // A region that begins within a unit goes element by element, in as many parts.
            Mapping::Rows(rows) => rows.shortened(self, step, b).map_or_else(
                || self.in_slices(b, b.len.div_ceil(rows.slices)),
                Mapping::Rows,
            ),
            Mapping::Columns(columns) => columns.shortened(self, step, b).map_or_else(
                || self.in_slices(b, b.len.div_ceil(columns.parts())),
                Mapping::Columns,
            ),
            Mapping::ShallowSums => step
                .sum
                .and_then(|sum| self.sum_columns(step, sum, b))
                .unwrap_or(Mapping::Each),
            Mapping::SumRows { lanes, slice, .. } => Mapping::SumRows {
                lanes,
                slices: b.len.div_ceil(slice),
                slice,
            },
            Mapping::SumColumns { slice, .. } => Mapping::SumColumns {
                slices: b.len.div_ceil(slice),
                slice,
            },
        }
    }
}

/// Whether every row of a region is whole vec4.
pub(crate) fn in_vecs(b: &Region, element: u64) -> bool {
    let vecs = |n: u64| (n * element).is_multiple_of(16);
    vecs(b.at) && vecs(b.inner) && vecs(b.pitch)
}
