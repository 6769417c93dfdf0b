//! How a region is mapped: the family of kernels, and how many invocations and slices a segment gets.
//!
//! Chooses the family by shape, limits and tuning. `partition.rs` decides which regions there are,
//! `reduce.rs` which parameters a kernel gets.

use crate::kernel::{self, Family};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step};
use crate::sums::Sum;

/// Most parts of a segment that tuning may ask for: one invocation may have to take them all, for each of the
/// four outputs that share a word.
const MAX_PARTS: u64 = 4096;
/// Rows from which columns are neither shallow nor panels, and from which a part of a matrix is not shallow.
const MOST_LINE_ROWS: u64 = 4096;
pub(crate) const MOST_THIN_ROWS: u64 = 256;
/// Most bytes of a row that an invocation takes whole, as well as those of the other results in its word.
const MOST_ROW_BYTES: u64 = 512 << 10;
/// Bytes that a loop iteration of rows reads: eight vec4.
pub(crate) const BLOCK_BYTES: u64 = 128;
/// Rows that a loop iteration of columns takes. Up to `FEW_ROWS` rows are taken one at a time.
pub(crate) const BLOCK_ROWS: u64 = 4;
const FEW_ROWS: u64 = 16;
/// Invocations of columns that keep any memory busy: an H200's reaches .95 of its speed with so many, .66 with a
/// quarter of them. More would only leave more partials.
const BUSY_COLUMNS: u64 = 1 << 17;
/// Rows up to which columns are shallow however few they are. With more rows, an invocation a vec4 must keep the
/// device busy, because it reads them one after another.
const FEW_SHALLOW_ROWS: u64 = 21;
/// Columns of a region that takes only some are a multiple of this: whole lines for every walk.
pub(crate) const COLUMNS_GRAIN: u64 = 64;
/// Bytes of workgroup memory for each of them: keys and places of a plane.
const SHARED_BYTES: u64 = 32;
/// Rows of a slice of strips or of a shallow matrix, and bytes of one of its columns, up to which prefetched
/// data stays in a CPU's cache.
const NEAR_ROWS: u64 = 256;
const NEAR_BYTES: u64 = 1024;
/// Invocations in a team of strips, panels and lines, and vec4 that an invocation of strips takes of a row
/// that is too wide for a team.
pub(crate) const TEAM: u64 = kernel::TEAM as u64;
pub(crate) const RUNS: u64 = kernel::RUNS as u64;
/// Least rows of panels, and most rows of panels that are narrower than their matrix.
const LEAST_PANEL_ROWS: u64 = 17;
const FEW_PANEL_ROWS: u64 = 64;
/// Most elements of a row that small rows are unrolled for.
const MOST_UNROLLED: u64 = 16;
/// Most vec4 of a wide row that a team of strips takes whole; twice as many for elements of 32 bits and more.
const WHOLE_ROW: u64 = 2 * RUNS * TEAM;
/// Wide rows of at most so many vec4 are taken by `columns`, whatever else is possible.
const NARROW: u64 = TEAM + 2;
/// Most rows of a slice of columns: below an element of 16 bits there is room for so many places.
const MOST_PLACES: u64 = (1 << 16) - 1;
/// Least bytes of a column for each joined row, whose partials must stay a small part of what is read.
const JOINED_BYTES: u64 = 512;
/// Most elements of a column whose sum is rounded from its window.
const SHORT_COLUMN: u64 = 64;
/// Least bytes that are read for each byte of partial sums.
const SUMS_SHARE: u64 = 16;

/// How a region is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    Each,
    /// By small rows, shallow columns or panels.
    Lines(Family),
    /// By shallow columns, a partial for each.
    Thin,
    Rows {
        lanes: u64,
        slices: u64,
        slice: u64,
    },
    Columns(ColumnMapping),
}

/// How columns are mapped: `fold` joined rows make a wide row, and a slice has `slice` wide rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnMapping {
    /// Vec4 of a wide row that an invocation takes; of sums 0: `sum_columns_of` tells it for each region.
    pub vecs: u64,
    pub fold: u64,
    pub slices: u64,
    pub slice: u64,
    /// A workgroup takes so many slices of that length and merges them; `slices` counts the merged ones.
    pub shared: u64,
}

impl Mapping {
    /// Partials an output takes.
    pub(crate) fn parts(self) -> u64 {
        match self {
            Mapping::Each | Mapping::Lines(_) | Mapping::Thin => 1,
            Mapping::Rows { slices, .. } => slices,
            Mapping::Columns(wide) => wide.slices * wide.fold,
        }
    }
}

impl Planner<'_> {
    /// Chooses how a region is mapped.
    pub(crate) fn mapping(&self, step: &Step, b: &Region) -> Mapping {
        let tuning = &self.caps.tuning;
        let element = u64::from(step.keys.bits() / 8);
        // Less than one vec4 can't be bound as vec4.
        if b.outer * b.len * b.inner * element < 16 {
            return Mapping::Each;
        }
        if let Some(sum) = step.sum {
            return self.sum_mapping(step, sum, b).unwrap_or(Mapping::Each);
        }
        if self.is_thin(step, b) {
            return Mapping::Thin;
        }
        // Other walks write as many partial results a row as the row is long.
        if b.pitch > b.inner && self.line_family(step, b).is_none() {
            return Mapping::Each;
        }
        if b.len == 1 {
            return Mapping::Each;
        }
        if let Some(family) = self.line_family(step, b) {
            let out = step.out.bytes();
            let begins = (b.out * out).is_multiple_of(16);
            let reads = family != Family::SmallRows || (b.at * element).is_multiple_of(16);
            // Limits may cut a step so that some regions begin inside a line.
            return match begins && reads {
                true => Mapping::Lines(family),
                false => Mapping::Each,
            };
        }
        let rows = self.rows(step, b);
        let columns = self.columns(step, b);
        let chosen = match (tuning.force, b.inner) {
            (Some(Family::Each), _) => None,
            (Some(Family::Rows), 1) => rows,
            (Some(family), 1) if family.is_columns() => columns.or(rows),
            (Some(family), _) if family.is_columns() => columns,
            (_, 1) if b.len * element > tuning.each_row_bytes || self.is_short(step, b) => rows,
            (_, 2..) if b.len >= tuning.each_column_len => columns,
            _ => None,
        };
        chosen.unwrap_or(Mapping::Each)
    }

    /// The family that writes the results of a step by whole vec4, if there is one. It is the same for all
    /// regions of whole segments.
    pub(crate) fn line_family(&self, step: &Step, b: &Region) -> Option<Family> {
        let element = u64::from(step.keys.bits() / 8);
        let line = 16 / element * step.out.bytes();
        let writes = !step.out.is_partial() && line >= 16;
        let whole = b.len == step.len && b.inner == step.inner && b.len < MOST_LINE_ROWS;
        let narrow = b.inner < step.inner && b.inner.is_multiple_of(COLUMNS_GRAIN);
        let narrow = narrow && b.len == step.len && b.len < MOST_THIN_ROWS;
        if !(step.sum.is_none()
            && self.aligned
            && writes
            && (whole || narrow)
            && step.outer * step.inner * element >= 16)
        {
            return None;
        }
        let panels = (step.inner * element).is_multiple_of(16) && self.caps.long_kernels;
        match (self.caps.tuning.force, step.inner) {
            _ if narrow => Some(Family::Shallow),
            (Some(Family::SmallRows), 1) => Some(Family::SmallRows),
            (Some(Family::Shallow), 2..) => Some(Family::Shallow),
            (Some(Family::Panels), 2..) if panels => Some(Family::Panels),
            (Some(_), _) => None,
            (_, 1) => self
                .prefers_small_rows(step, element)
                .then_some(Family::SmallRows),
            _ if panels && self.prefers_panels(step, element) => Some(Family::Panels),
            _ => self
                .prefers_shallow(step, element)
                .then_some(Family::Shallow),
        }
    }

    /// Whether rows are so short, and so many, that they are taken as small rows.
    fn prefers_small_rows(&self, step: &Step, element: u64) -> bool {
        let whole = (step.len * element).is_multiple_of(16);
        // Elements below 32 bits, each taken by itself, cost more than their bytes.
        let worth = element >= 4 || !whole || self.unrolls(step.len);
        worth && step.len <= self.caps.tuning.small_row_len && many_lines(step, element)
    }

    /// Whether a region is a part of a matrix whose rows are so few and so long that the cost of its partials
    /// decides.
    fn is_thin(&self, step: &Step, b: &Region) -> bool {
        let tuning = &self.caps.tuning;
        let part = b.len < step.len || step.out.is_partial() && b.len > 1;
        let lines = b.inner * u64::from(step.keys.bits() / 8) / 16;
        let thin = match tuning.force {
            None => b.len <= tuning.shallow_len.saturating_mul(2) && lines >= tuning.invocations,
            Some(family) => family == Family::Shallow,
        };
        let thin = thin || b.pitch > b.inner;
        let lined = b.inner == step.inner || b.inner.is_multiple_of(COLUMNS_GRAIN);
        let fits = b.outer == 1 && b.len < MOST_THIN_ROWS && lines > 0 && lined;
        self.aligned && part && fits && thin
    }

    /// Whether small rows of that length have a kernel of their own, instead of one for all.
    pub(crate) fn unrolls(&self, len: u64) -> bool {
        self.caps.long_kernels && len <= MOST_UNROLLED
    }

    /// Whether columns are so short, or matrices so small, that an invocation takes some lines whole.
    fn prefers_shallow(&self, step: &Step, element: u64) -> bool {
        let tuning = &self.caps.tuning;
        let bytes = step.len * step.inner * element;
        let lines = step.outer * step.inner * element / 16;
        let near = bytes <= tuning.shallow_bytes && lines >= tuning.invocations;
        let near = near && step.len <= NEAR_ROWS;
        // Panels, strips and columns take matrices with more rows, if the rows are whole vec4.
        let longer = self.caps.long_strips() && (step.inner * element).is_multiple_of(16);
        let most = if longer {
            LEAST_PANEL_ROWS - 1
        } else {
            u64::MAX
        };
        let busy = step.len <= FEW_SHALLOW_ROWS || lines >= self.busy_columns();
        let shallow = step.len <= tuning.shallow_len.min(most) && busy;
        (shallow || near) && many_lines(step, element)
    }

    /// Whether panels fill the device and are worth it: they have whole rows, or few rows, but not very few.
    /// For values of 32 bits and more, fewer rows count as few.
    fn prefers_panels(&self, step: &Step, element: u64) -> bool {
        let width = step.inner * element / 16;
        let (_, parts) = panels(width, element);
        let few = match step.index || step.out.per_word() > 1 {
            true => step.len <= FEW_PANEL_ROWS,
            false => step.len <= FEW_PANEL_ROWS / 2,
        };
        let many = step.outer * parts >= self.caps.tuning.panels;
        let worth = step.len >= LEAST_PANEL_ROWS && (parts == 1 || few);
        // Invocations without a column cost as much as the others.
        let teams = width.div_ceil(TEAM);
        let busy = 4 * width > 3 * TEAM * teams || teams > 2;
        self.caps.long_strips() && many && worth && busy
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
        let long =
            bytes > tuning.each_row_bytes || sum.has_windows() && bytes == tuning.each_row_bytes;
        match (tuning.force, b.pitch) {
            (Some(Family::Each), _) => None,
            (_, 1) if long => self.rows(step, b),
            (_, 2..) if self.are_shallow_sums(step, sum, b) => {
                Some(Mapping::Lines(Family::Shallow))
            }
            (_, 2..) if b.len >= tuning.each_column_len => self.sum_columns(step, sum, b),
            _ => None,
        }
    }

    /// Whether columns are so short that making and rounding their limbs would cost more than adding them up.
    fn are_shallow_sums(&self, step: &Step, sum: Sum, b: &Region) -> bool {
        let element = u64::from(step.keys.bits() / 8);
        let forced = self.caps.tuning.force;
        let wanted = b.len <= SHORT_COLUMN && forced.is_none_or(|f| f == Family::Shallow);
        let whole = b.len == step.len && !step.out.is_partial();
        let whole = whole && (b.out * step.out.bytes()).is_multiple_of(4);
        let rounded = sum.is_rounded() && sum.takes_columns();
        wanted && self.aligned && whole && rounded && in_vecs(b, element)
    }

    fn sum_columns(&self, step: &Step, sum: Sum, b: &Region) -> Option<Mapping> {
        let element = u64::from(step.keys.bits() / 8);
        let columns = self.sum_columns_of(step, sum, b);
        let lanes = b.inner / columns;
        let room =
            (self.caps.partials(self.partial_format(step)) / b.inner).min(self.most_parts(step));
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
        let mapped = ColumnMapping {
            vecs: 0,
            fold: 1,
            slices: b.len.div_ceil(slice),
            slice,
            shared: 1,
        };
        let direct = slices == 1 && step.out.per_word() == 1;
        (direct || mapped.slices <= room).then_some(Mapping::Columns(mapped))
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

    /// Whether rows are so short that an invocation takes each whole.
    pub(crate) fn is_short(&self, step: &Step, b: &Region) -> bool {
        let bytes = b.len * u64::from(step.keys.bits() / 8);
        let short = bytes <= self.caps.tuning.short_row_bytes;
        step.sum.is_none() && short && self.are_whole(step, b, 1)
    }

    /// Whether each row of a region is whole vec4 and taken by one invocation, of `invocations` a row. The
    /// vec4 are so few that one invocation may take all rows whose results share a word.
    pub(crate) fn are_whole(&self, step: &Step, b: &Region, invocations: u64) -> bool {
        let element = u64::from(step.keys.bits() / 8);
        let vecs = [step.at, b.at, b.len].map(|n| n * element % 16) == [0; 3];
        let few = b.len * element <= MOST_ROW_BYTES;
        self.aligned && vecs && few && invocations == 1
    }

    fn rows(&self, step: &Step, b: &Region) -> Option<Mapping> {
        let tuning = &self.caps.tuning;
        let element = u64::from(step.keys.bits() / 8);
        let bytes = b.len * element;
        if self.is_short(step, b) {
            return Some(Mapping::Rows {
                lanes: 1,
                slices: 1,
                slice: b.len,
            });
        }
        let wg = u64::from(self.caps.workgroup());
        let most: u64 = 1 << wg.min(tuning.row_lanes.into()).max(1).ilog2();
        // A row of up to all invocations' bytes is in flight at once, and its lines are read once.
        let lanes = bytes.div_ceil(tuning.lane_bytes.max(1)).clamp(1, most);
        let mut lanes = lanes.next_power_of_two();
        if let Some(sum) = step.sum {
            while lanes > 1 && lanes < most && !self.may_share(sum, lanes) {
                lanes *= 2;
            }
            if !self.may_share(sum, lanes) {
                lanes = 1;
            }
        }
        let partials = self.caps.partials(self.partial_format(step));
        let mut parts = (bytes / tuning.slice_bytes.max(1)).min(self.most_parts(step));
        if step.sum.is_some() {
            // Partial sums may be larger than what is read.
            parts = parts.min(partials / b.outer);
        }
        let filled = self.slices(b.outer * lanes, parts);
        let iterations = self.caps.most_iterations();
        let longest = match step.sum {
            Some(_) => lanes * element * step.most_elements(iterations / 2),
            // A block an iteration, and a few for edges and trees.
            None => lanes * BLOCK_BYTES * (iterations - 64),
        };
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
        let groups = self.caps.groups();
        let fits = slices <= partials && (slices * lanes).div_ceil(wg) <= groups;
        fits.then_some(Mapping::Rows {
            lanes,
            slices,
            slice,
        })
    }

    /// The family for columns, and how many rows of `pitch` bytes to join, so that a wide row is whole vec4
    /// and wide enough. `None` where a segment is too short for that.
    fn fold(&self, len: u64, pitch: u64, element: u64) -> Option<(Family, u64)> {
        let tuning = &self.caps.tuning;
        let least = 16 / gcd(pitch, 16);
        let vecs = least * pitch / 16;
        // Each joined row leaves a part for every slice: half of the parts are for the slices.
        let most = ((len / 2).min(MAX_PARTS / 2) / least).max(u64::from(least == 1));
        let worth = (len * element / JOINED_BYTES / least).clamp(1, most.max(1));
        let strips = (WHOLE_ROW / vecs).clamp(1, worth);
        let few_vecs = vecs <= NARROW || vecs < 2 * TEAM && strips * vecs * 2 < WHOLE_ROW;
        let family = match tuning.force.filter(|family| family.is_columns()) {
            _ if !self.caps.long_kernels => Family::Columns,
            Some(family) => family,
            None if self.caps.long_strips() && !few_vecs => Family::Strips,
            None => Family::Columns,
        };
        let joined = match family {
            Family::Strips => strips,
            _ if self.caps.long_strips() => 1,
            _ => {
                let wide = (tuning.wide_bytes / 16).div_ceil(vecs).clamp(1, worth);
                // In whole lines of memory, if a segment is long enough.
                let lines = TEAM / gcd(vecs, TEAM);
                let wider = wide.next_multiple_of(lines);
                if wider <= worth {
                    wider
                } else if wide < lines {
                    wide
                } else {
                    wide / lines * lines
                }
            }
        };
        (most > 0).then_some((family, least * joined))
    }

    fn columns(&self, step: &Step, b: &Region) -> Option<Mapping> {
        let element = u64::from(step.keys.bits() / 8);
        let pitch = b.inner * element;
        let (family, fold) = self.fold(b.len, pitch, element)?;
        let width = fold * pitch / 16;
        // One more for a matrix that begins inside a vec4.
        let rows = b.len.div_ceil(fold) + 1;
        let groups = self.caps.groups();
        let wg = u64::from(self.caps.workgroup());
        let partials = self.caps.partials(self.partial_format(step));
        let room = partials / (fold * b.inner).max(1);
        // Partials of a slice cost their bytes; a slice must be worth them.
        let worth = rows * element / 64;
        let vecs = lane_vecs(family, width, element);
        let lanes = column_lanes(vecs, width);
        let most = worth.min(room).min(MAX_PARTS / fold);
        // Neighbours read their parts of a row close in time only where slices are short.
        let near = match family {
            Family::Strips if lanes > TEAM => rows / NEAR_ROWS.max(NEAR_BYTES / element),
            _ => 1,
        };
        let near = near.min(most).min(self.caps.tuning.slices);
        // An invocation that takes more than sixteen vec4 counts as one of sixteen: else too few would be busy.
        let busy = (b.outer * lanes * vecs.min(2 * RUNS)).max(1);
        let target = self.busy_columns();
        // Slices of few rows would be taken row by row, and pay more for their ends than for their rows.
        let long = (rows / (2 * FEW_ROWS)).max(1);
        let shared = match family {
            Family::Columns => self.shared_slices(width, (target / busy).min(long)),
            _ => 1,
        };
        let most = match shared {
            1 => most,
            _ => most.min(long / shared),
        };
        let filled = self.slices(busy * shared, most);
        let filled = filled.min(target.div_ceil(busy * shared)).max(near);
        let iterations = self.caps.most_iterations();
        let longest = column_rows(vecs) * (iterations - 64 - column_ends(vecs, element));
        let longest = match step.index && element < 4 {
            true => longest.min(MOST_PLACES),
            false => longest,
        };
        let slices = filled.max(rows.div_ceil(longest * shared));
        let slice = rows.div_ceil(slices * shared);
        let slices = rows.div_ceil(slice * shared);
        // Results that share words come from partials, too.
        let direct = fold == 1 && slices == 1 && step.out.per_word() == 1;
        let mapped = ColumnMapping {
            vecs,
            fold,
            slices,
            slice,
            shared,
        };
        let invocations = self.column_invocations(&mapped, width) * slices;
        let fits = (direct || slices <= room) && invocations.div_ceil(wg) <= groups;
        // In workgroups too small to share them, one invocation finishes the parts of all results in a word.
        let finished = (slices * fold + 4) * u64::from(step.out.per_word());
        let fits = fits && (finished < iterations || wg / 4 >= 8);
        fits.then_some(Mapping::Columns(mapped))
    }

    /// Invocations of columns that keep the device busy.
    fn busy_columns(&self) -> u64 {
        self.caps.tuning.invocations.min(BUSY_COLUMNS)
    }

    /// Slices of columns that a workgroup takes and merges; `filled` slices fill the device.
    fn shared_slices(&self, width: u64, filled: u64) -> u64 {
        let wg = u64::from(self.caps.workgroup());
        // Invocations side by side in a slice: a line of memory, or four where rows are not whole lines.
        let abreast = if width.is_multiple_of(TEAM) {
            TEAM
        } else {
            4 * TEAM
        };
        let most = (wg / abreast)
            .min(self.caps.tuning.row_lanes.into())
            .min(filled);
        match wg * SHARED_BYTES <= self.caps.workgroup_bytes.into() {
            true => 1 << most.max(1).ilog2(),
            false => 1,
        }
    }

    /// Invocations for a matrix, or for each of its slices that leave partials.
    pub(crate) fn column_invocations(&self, wide: &ColumnMapping, width: u64) -> u64 {
        let lanes = column_lanes(wide.vecs, width);
        let wg = u64::from(self.caps.workgroup());
        match wide.shared {
            1 => lanes,
            shared => lanes.div_ceil(wg / shared) * wg,
        }
    }

    /// Invocations a region takes.
    pub(crate) fn lanes(&self, step: &Step, b: &Region) -> u64 {
        let outputs = b.outer * b.inner;
        match self.mapping(step, b) {
            Mapping::Each => outputs,
            Mapping::Lines(Family::Panels) => {
                let element = u64::from(step.keys.bits() / 8);
                let (_, parts) = panels(b.inner * element / 16, element);
                b.outer * parts * TEAM
            }
            // Some may be taken element by element.
            Mapping::Lines(_) | Mapping::Thin => outputs + TEAM,
            Mapping::Rows { lanes, slices, .. } => outputs * slices * lanes,
            Mapping::Columns(wide) if step.sum.is_some() => outputs * wide.slices,
            Mapping::Columns(wide) => {
                let element = u64::from(step.keys.bits() / 8);
                let width = b.inner * wide.fold * element / 16;
                b.outer * wide.slices * self.column_invocations(&wide, width)
            }
        }
    }

    /// The same mapping for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(&self, step: &Step, mapping: Mapping, b: &Region) -> Mapping {
        let element = u64::from(step.keys.bits() / 8);
        match mapping {
            // Buffers may end anywhere: there may be less than a vec4.
            _ if b.len * b.inner * element < 16 => Mapping::Each,
            Mapping::Lines(_) => match step.sum {
                Some(sum) => self.sum_columns(step, sum, b).unwrap_or(Mapping::Each),
                None => Mapping::Each,
            },
            Mapping::Each | Mapping::Thin => mapping,
            Mapping::Rows { lanes, slice, .. } => Mapping::Rows {
                lanes,
                slices: b.len.div_ceil(slice),
                slice,
            },
            Mapping::Columns(wide) if step.sum.is_some() => Mapping::Columns(ColumnMapping {
                slices: b.len.div_ceil(wide.slice),
                ..wide
            }),
            Mapping::Columns(wide) => Mapping::Columns(ColumnMapping {
                slices: (b.len.div_ceil(wide.fold) + 1).div_ceil(wide.slice * wide.shared),
                ..wide
            }),
        }
    }
}

/// Vec4 of a panel's row that an invocation takes, and panels in a matrix with rows of `width` vec4.
pub(crate) fn panels(width: u64, element: u64) -> (u64, u64) {
    let most = if element == 1 { RUNS } else { 2 * RUNS };
    let teams = width.div_ceil(TEAM);
    let parts = teams.div_ceil(most);
    (teams.div_ceil(parts), parts)
}

/// Whether the outputs of a step are whole lines, or so many that the rest may take a dispatch of its own.
fn many_lines(step: &Step, element: u64) -> bool {
    let (outputs, segments) = (step.outer * step.inner, 16 / element);
    outputs.is_multiple_of(segments) || outputs >= 64 * segments
}

/// Whether every row of a region is whole vec4.
pub(crate) fn in_vecs(b: &Region, element: u64) -> bool {
    let vecs = |n: u64| (n * element).is_multiple_of(16);
    vecs(b.at) && vecs(b.inner) && vecs(b.pitch)
}

/// Vec4 of a wide row that an invocation takes: of strips as many as a team needs to take the row whole, if it
/// can. Each number is a kernel of its own, so only some are used.
fn lane_vecs(family: Family, width: u64, element: u64) -> u64 {
    let widest = if element < 4 {
        WHOLE_ROW
    } else {
        2 * WHOLE_ROW
    };
    let whole = width.div_ceil(TEAM);
    match family {
        Family::Strips if width > widest => RUNS,
        Family::Strips => whole.next_multiple_of(if whole <= 2 * RUNS { 2 } else { 4 }),
        _ => 1,
    }
}

/// Invocations that share a wide row of `width` vec4.
pub(crate) fn column_lanes(vecs: u64, width: u64) -> u64 {
    match vecs {
        1 => width,
        _ => width.div_ceil(TEAM * vecs) * TEAM,
    }
}

/// Wide rows that an iteration takes.
pub(crate) fn column_rows(vecs: u64) -> u64 {
    if vecs <= RUNS { BLOCK_ROWS } else { 1 }
}

/// Iterations of an invocation of columns beyond its blocks: for few rows, and to write its results, each of
/// which it looks for in a block of rows.
pub(crate) fn column_ends(vecs: u64, element: u64) -> u64 {
    vecs * ((16 / element) * (BLOCK_ROWS + 1) + 1) + FEW_ROWS
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
