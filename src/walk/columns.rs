//! Columns: segments side by side. An invocation takes a unit of neighbouring columns, a vec4 or an element's words, in a
//! slice of the rows, and reads some rows at once; on a CPU it takes a run of several units. Where rows are no whole units,
//! some are joined to a wide row. Slices of few columns are merged in a workgroup; what is left is merged by `finish`.

use crate::kernel::params::Params;
use crate::kernel::{Accumulator, Kernel, Recipe, Resource, fragments};
use crate::plan::limits::MAX_PARTS;
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step, dst_view, region_params};
use crate::walk::rows::MOST_TEAM;
use crate::walk::strided::Each;
use crate::walk::{FEW_LOADS, Walk};
use crate::{AdapterClass, Error};

/// Invocations that keep any memory busy: an H200's reaches .95 of its speed with so many, .66 with a quarter of them.
/// More would only leave more partials.
const BUSY: u64 = 1 << 17;
/// Units that are read at once.
const MOST_LOADS: u64 = 8;
/// Invocations that Mesa's software drivers run as one, through all rows before the next ones: a vector of 256 bits.
const VECTOR: u64 = 8;
/// Most units of a run of elements of 32 bits and more. Below, a unit holds more columns, each of which the text names.
const MOST_RUN: u64 = 16;
/// The same of sums by floats, of any elements: each column has several digits. On lavapipe two units take .7 of the time of one, and
/// of float32 four take longer. Of digits that integers make a run is one unit: an invocation may take few of their columns again.
const MOST_SUMS_RUN: u64 = 2;
/// Bytes of a run in rows that a vector of the longest runs does not cover.
const RUN_BYTES: u64 = 64;
/// Bytes read for each byte of results from which narrow columns are worth more stores: an H200 takes 21 rows of float16
/// with indices of 64 bits at .93 by vec4 and at .90 by words.
const NARROW_SHARE: u64 = 8;
/// Most bytes of results that an invocation writes where words of columns would have it write fewer: 4 and 21 rows of uint8,
/// which left 128, reached .29 and .68 on an H200, and of float16, which left 64, .66 and .93.
const MOST_WRITTEN: u64 = 64;
/// Bytes of a row that a workgroup takes of one that is too wide for it: a line of memory.
const LINE: u64 = 128;
/// Rows of a slice: with 128 to 512 an H200 reaches .97 in long columns. Of [50, n, 50] in uint8 it reaches .90 with 256 and .70 with
/// 512: the fewer slices there are, the more of it has nothing left to do at the end. To a CPU their partial results matter more.
const MOST_ROWS: u64 = 256;
/// Rows below which slices do not become shorter: some iterations. On a CPU neither below [`Tuning::slice_bytes`] of
/// a matrix, which take it less time than to merge slices in a dispatch of its own.
///
/// [`Tuning::slice_bytes`]: crate::Tuning::slice_bytes
const LEAST_ROWS: u64 = 32;
/// Wide rows from which words of joined rows are faster than single elements.
const LEAST_JOINED: u64 = 4;
/// The same where matrices begin within words: each word is made of two. On lavapipe 10,001 rows of uint8 take .6 of the time of
/// single elements, 135 rows 1.1.
const LEAST_SHIFTED: u64 = 64;
/// Bytes that are read for each byte of partial results, which are written and read again.
const PARTIALS_SHARE: u64 = 32;

/// Most iterations in which one invocation takes elements again that digits do not hold, unless there would be too many parts:
/// tenths of a second on a slow GPU.
const MOST_AGAIN: u64 = 1 << 19;

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnsText {
    /// Rows that are read at once.
    pub loads: u32,
    /// Neighbouring units that an invocation takes; 1 if `shared`.
    pub runs: u32,
    /// Words of a unit: 4, or an element's own.
    pub words: u32,
    /// Whether a workgroup merges slices.
    pub shared: bool,
    /// Whether matrices may begin within a unit, a word.
    pub shifted: bool,
    /// Whether the results of a unit are written as whole vec4.
    pub writes_vecs: bool,
}

/// How a region is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Bytes of a unit.
    unit: u64,
    /// Neighbouring units that an invocation takes.
    runs: u64,
    /// Rows that are joined to a wide row. Those left over at a matrix's end are taken element by element.
    joined: u64,
    /// Slices that a workgroup merges.
    team: u64,
    /// Units of a wide row that such a workgroup takes.
    abreast: u64,
    /// Most wide rows of a slice.
    slice: u64,
    /// Parts of a matrix: of `team` slices.
    parts: u64,
}

impl Columns {
    /// How a region is walked, if it can be.
    pub(crate) fn fit(planner: &Planner<'_>, step: &Step, b: &Region) -> Option<Columns> {
        let (unit, joined) = Columns::unit(planner, step, b)?;
        let caps = planner.caps;
        let element = step.acc.bytes();
        let record = planner.partial_format(step).bytes();
        let rows = b.len / joined;
        let width = joined * b.inner * element / unit;
        let runs = runs(planner, step, width, unit);
        // As many slices as keep the device busy, none of them long.
        let busy = caps.tuning.invocations.min(BUSY).div_ceil(b.outer * width);
        let cpu = caps.class == AdapterClass::Software;
        let (least, most) = match cpu {
            true => (
                LEAST_ROWS.max(caps.tuning.slice_bytes / (width * unit)),
                2 * MOST_ROWS,
            ),
            false => (LEAST_ROWS, MOST_ROWS),
        };
        let slices = busy.max(rows.div_ceil(most)).min(rows / least).max(1);
        let wg = u64::from(caps.workgroup());
        let merged = wg * u64::from(merged_bytes(step.acc));
        // A workgroup takes all units of a row side by side. Of a wider row it takes a line, if it then needs no partial results:
        // not of joined rows, and not of words, which an H200 then reads at .58 of its memory's speed instead of .87.
        let by_lines = width > wg && joined == 1 && unit == 16;
        let line = if by_lines { LINE / unit } else { width };
        // A CPU loses more by barriers than by partial results.
        let team = match !cpu && merged <= caps.workgroup_bytes.into() {
            true => (wg / width.min(line)).min(slices).clamp(1, MOST_TEAM),
            false => 1,
        };
        let abreast = (wg / team).min(width).max(1);
        let worth = rows * element / (PARTIALS_SHARE * record);
        // What begins within a unit takes an invocation a part.
        let room = planner.parts_per_dispatch(step) / (b.outer * b.inner * joined);
        let room = room.min(planner.most_parts(step) / joined);
        let room = room.min(MAX_PARTS / joined);
        let filled = slices.div_ceil(team).min(worth.min(room)).max(1);
        let slice = rows.div_ceil(filled * team).next_multiple_of(MOST_LOADS);
        // A slice's rows fit below a packed key, and its steps are no more iterations than are allowed.
        let places = match step.acc.bits() {
            bits @ (8 | 16) => (1 << (32 - bits)) - 1,
            _ => u64::MAX,
        };
        let longest = longest(planner, step, [runs, unit], team).min(places);
        let longest = match step.acc.sum() {
            Some(sum) => {
                let short = sum.again().most(MOST_AGAIN / (runs * unit / element)) / team;
                longest.min(short.max(rows.div_ceil(team * room.max(1))))
            }
            None => longest,
        };
        let slice = slice.min(longest).min(rows.div_ceil(team)).max(1);
        let parts = rows.div_ceil(slice * team);
        let columns = Columns {
            unit,
            runs,
            joined,
            team,
            abreast,
            slice,
            parts,
        };
        let one = Region { outer: 1, ..*b };
        let groups = columns.invocations(planner, step, &one).div_ceil(wg);
        let direct = parts * joined == 1 && (b.out * step.out.bytes()).is_multiple_of(4);
        let fits = direct || parts <= room;
        (fits && groups <= caps.groups()).then_some(columns)
    }

    /// Elements of a column that a dispatch may take.
    pub(crate) fn reach(self, planner: &Planner<'_>, step: &Step) -> u64 {
        let longest = longest(planner, step, [self.runs, self.unit], self.team);
        let parts = planner.most_parts(step).min(MAX_PARTS) / self.joined * self.joined;
        parts.saturating_mul(self.team * longest)
    }

    /// Partials an output takes.
    pub(crate) fn parts(self) -> u64 {
        self.parts * self.joined
    }

    /// Runs of a region, or workgroups that merge slices.
    fn items(self, step: &Step, b: &Region) -> u64 {
        let shared = self.team > 1;
        let each = if shared { self.abreast } else { self.runs };
        b.outer * self.parts * self.width(step, b).div_ceil(each)
    }

    /// Invocations of a region.
    pub(crate) fn invocations(self, planner: &Planner<'_>, step: &Step, b: &Region) -> u64 {
        let wg = u64::from(planner.caps.workgroup());
        self.items(step, b) * if self.team > 1 { wg } else { 1 }
    }

    /// The same for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(
        self,
        planner: &Planner<'_>,
        step: &Step,
        b: &Region,
    ) -> Option<Columns> {
        let rows = b.len / self.joined;
        if rows == 0 || joined(planner, step, b, self.unit) != Some(self.joined) {
            return None;
        }
        let team = self.team.min(rows.div_ceil(self.slice));
        Some(Columns {
            team,
            parts: rows.div_ceil(team * self.slice),
            slice: self.slice.min(rows),
            ..self
        })
    }

    /// The bytes of a unit, and how many rows are joined.
    fn unit(planner: &Planner<'_>, step: &Step, b: &Region) -> Option<(u64, u64)> {
        let element = step.acc.bytes();
        let record = planner.partial_format(step).bytes();
        let joined = |unit| joined(planner, step, b, unit);
        // Below 32 bits a word of columns holds fewer keys: an H200 takes 512 rows of uint8 at .91 by words and at .80 by vec4,
        // of float16 at .92 and .89. Sums of halves take fewer instructions by vec4, which FXC compiles unless they are of
        // squares or count their elements. A CPU's vectors hold words of several invocations anyway.
        let out = step.out.bytes();
        let worth = b.len * element >= NARROW_SHARE * out || 16 / element * out > MOST_WRITTEN;
        let gpu = planner.caps.class != AdapterClass::Software;
        let sum = step.acc.sum();
        let short = sum.is_some_and(|sum| sum.splits_floats() && !sum.is_long());
        let by_vec = short && joined(16) == Some(1);
        let narrow = element < 4 && worth && gpu && !by_vec && joined(4) == Some(1);
        // Joined rows make a partial result each. Words of fewer are still faster than single elements.
        let pays = |f: &u64| *f == 1 || b.len / f * element >= PARTIALS_SHARE * record;
        let wide = joined(16).filter(|f| !narrow && pays(f));
        let wide = wide.map(|joined| (16, joined));
        let word = element.max(4);
        let least = match b.outer == 1 || begins_whole(planner, step, b, word) {
            true => LEAST_JOINED,
            false => LEAST_SHIFTED,
        };
        let by_words = || joined(word).filter(|f| *f == 1 || b.len / f >= least);
        wide.or_else(|| by_words().map(|joined| (word, joined)))
    }

    /// Units side by side.
    fn width(self, step: &Step, b: &Region) -> u64 {
        self.joined * b.inner * step.acc.bytes() / self.unit
    }

    /// Rows that are read at once: of the numbers from half of the most on, that which reads the fewest rows again. No
    /// slice has fewer.
    fn loads(self, planner: &Planner<'_>, step: &Step, rows: u64) -> u64 {
        let most = most_loads(planner, step, [self.runs, self.unit]);
        let most = most.min(self.slice).min(rows / self.team);
        let read = |loads: u64| self.slice.next_multiple_of(loads);
        let best = (most / 2 + 1..=most).rev().min_by_key(|&loads| read(loads));
        best.unwrap_or(1)
    }

    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        let element = step.acc.bytes();
        let rows = b.len / self.joined;
        let width = self.width(step, b);
        let loads = self.loads(planner, step, rows);
        let out = step.out.bytes();
        let vecs = [self.unit / element * out, b.out * out];
        let whole = planner.aligned && vecs.map(|n| n % 16) == [0; 2];
        let text = ColumnsText {
            loads: loads as u32,
            runs: self.runs as u32,
            words: (self.unit / 4) as u32,
            shared: self.team > 1,
            shifted: !begins_whole(planner, step, b, self.unit),
            writes_vecs: whole && !step.out.is_partial(),
        };
        let params = Params {
            items: self.items(step, b) as u32,
            abreast: self.abreast as u32,
            team: self.team as u32,
            rows: rows as u32,
            inner: b.inner as u32,
            parts: self.parts as u32,
            slice_rows: self.slice as u32,
            width: width as u32,
            joined: self.joined as u32,
            row_units: (self.joined * b.pitch * element / self.unit) as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let kernel = planner.kernel_of(step, Walk::Columns(text));
        let tree = tree_iterations(step, self.team);
        let blocks = self.slice.div_ceil(loads);
        let iterations = match step.acc.sum() {
            Some(sum) => {
                let columns = self.runs * self.unit / element;
                self.runs * sum.block_iterations(loads) * (blocks + 1)
                    + tree
                    + columns * sum.again().iterations(self.slice * self.team)
            }
            None => blocks + tree,
        };
        let src = planner.src_view(step, b);
        let dst = dst_view(step, b, b.outer * b.inner * self.parts());
        let invocations = self.invocations(planner, step, b);
        planner.push(kernel, Some(src), dst, params, invocations, iterations)?;
        let taken = rows * self.joined;
        if taken == b.len {
            return Ok(());
        }
        // Part 0 of each column takes the rows left over, and merges them. There are as many parts as before, so that partials have
        // the same numbers; those of one matrix have them anyway.
        let rest = Each {
            slices: if b.outer == 1 { 1 } else { self.parts() },
            slice: self.joined,
            begin: taken,
        };
        rest.pass(planner, step, b, true)
    }
}

impl ColumnsText {
    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        use Resource::{Destination, Params, Vecs, Words};
        let sum = kernel.acc.sum();
        let mut fragments = fragments!("walk/columns");
        fragments.extend(match kernel.acc {
            Accumulator::Sum(_) => fragments!(
                "elements/magnitude" "accumulate/digits" "accumulate/float_digits"
                "accumulate/integer_digits" "accumulate/digit_columns"
            ),
            Accumulator::Both { .. } => {
                fragments!("elements/both" "accumulate/bests" "accumulate/columns" "store/emit" "store/leave")
            }
            _ => fragments!("accumulate/bests" "accumulate/columns" "store/emit"),
        });
        let mut names = vec![
            ("LOADS", self.loads),
            ("WIDTH", self.loads.next_power_of_two()),
            ("LEVELS", self.loads.next_power_of_two().ilog2()),
            ("RUNS", self.runs),
            ("UNIT", self.words),
            // Elements of a unit.
            ("PER", 32 * self.words / kernel.acc.bits()),
            ("SHARED", self.shared.into()),
            ("SHIFTED", self.shifted.into()),
            ("BY_VEC", 1),
            ("LOOKED", self.words / kernel.acc.bits().div_ceil(32)),
            ("SUMS", 32 / kernel.acc.bits().min(32)),
            // Of a plane: of elements of 32 bits and less one from each word.
            ("COLUMNS", self.words / kernel.acc.bits().div_ceil(32)),
        ];
        names.extend(sum.iter().flat_map(|sum| sum.digit_names(false, false)));
        Recipe {
            fragments,
            bindings: match (self.words, sum) {
                (4, None) => vec![Params, Destination, Vecs],
                // What digits do not hold is read again, element by element.
                (4, _) => vec![Params, Destination, Vecs, Words],
                _ => vec![Params, Destination, Words],
            },
            writes_vecs: self.writes_vecs,
            names,
            workgroup_bytes: match self.shared {
                true => kernel.workgroup * merged_bytes(kernel.acc),
                false => 0,
            },
            ..Recipe::default()
        }
    }
}

/// Neighbouring units that an invocation takes of a row of so many. The invocations that a CPU runs as one should read a
/// long stretch of each row, best a whole one.
fn runs(planner: &Planner<'_>, step: &Step, width: u64, unit: u64) -> u64 {
    let element = step.acc.bytes();
    if planner.caps.class != AdapterClass::Software || !planner.caps.long_kernels {
        return 1;
    }
    let most = match step.acc.sum() {
        Some(sum) if sum.splits_floats() => MOST_SUMS_RUN,
        Some(_) => 1,
        None => MOST_RUN / (4 / element).max(1),
    };
    match width.div_ceil(VECTOR).next_power_of_two() {
        run if run <= most => run,
        _ => most.min(RUN_BYTES / unit),
    }
}

/// Iterations to merge so many slices.
fn tree_iterations(step: &Step, team: u64) -> u64 {
    // A plane at a time, one for each element of a word; of sums each word.
    let planes = (4 / step.acc.bytes()).max(2);
    let words = step.acc.sum().map_or(1, |sum| sum.placed_bytes() / 4);
    // And to see where all sums begin.
    u64::from(team.next_power_of_two().ilog2()) * planes * u64::from(words) + team
}

/// Most rows of a slice.
fn longest(planner: &Planner<'_>, step: &Step, [runs, unit]: [u64; 2], team: u64) -> u64 {
    let loads = most_loads(planner, step, [runs, unit]);
    let most = planner.caps.most_iterations();
    let most = most.saturating_sub(tree_iterations(step, team));
    match step.acc.sum() {
        // Elements that digits do not hold are taken again, one by one, by the first of a team.
        Some(sum) => {
            // Of the numbers that `loads` chooses from, the dearest.
            let loads = loads / 2 + 1;
            let block = runs * sum.block_iterations(loads);
            let columns = runs * unit / step.acc.bytes();
            let again = |rows| columns * sum.again().iterations(rows * team);
            let most = most.saturating_sub(again(0) + 2 * block);
            (most / (again(loads) - again(0) + block) * loads).max(1)
        }
        None => most / 2 * loads,
    }
}

/// Most rows that are read at once. A sum joins what it has after each time, which a run does not make cheaper. On a GPU sums and
/// both extremes of eight columns leave few registers.
fn most_loads(planner: &Planner<'_>, step: &Step, [runs, unit]: [u64; 2]) -> u64 {
    let units = match planner.caps.long_kernels {
        true => MOST_LOADS,
        false => FEW_LOADS,
    };
    let gpu = planner.caps.class != AdapterClass::Software;
    // Four columns of a vec4, of narrow elements more.
    let fours = (unit / (4 * step.acc.bytes())).max(1);
    match step.acc.sum() {
        Some(sum) if gpu && fours > 1 => (units / 2).min(sum.most_bytes() / unit),
        Some(sum) => units.min(sum.most_bytes() / unit),
        None if gpu && step.acc.is_both() => units / fours,
        None => (units / runs).max(1),
    }
}

/// How many rows to join so that rows are whole units, if units begin where the region does. Words of narrow elements may begin
/// anywhere: an invocation reads two, and shifts.
fn joined(planner: &Planner<'_>, step: &Step, b: &Region, unit: u64) -> Option<u64> {
    let element = step.acc.bytes();
    let [row, pitch] = [b.inner, b.pitch].map(|n| n * element);
    let joined = unit >> row.trailing_zeros().min(unit.ilog2());
    let apart = joined == 1 && pitch.is_multiple_of(unit);
    let dense = pitch == row;
    let placed =
        begins_whole(planner, step, b, unit) || (planner.aligned && unit == 4 && element < 4);
    (placed && (apart || dense)).then_some(joined)
}

/// Whether every matrix begins with a whole unit.
fn begins_whole(planner: &Planner<'_>, step: &Step, b: &Region, unit: u64) -> bool {
    let element = step.acc.bytes();
    let [begin, matrix] = [step.at + b.at, b.len * b.pitch].map(|n| n * element);
    (planner.aligned || unit <= element)
        && begin.is_multiple_of(unit)
        && (b.outer == 1 || matrix.is_multiple_of(unit))
}

/// Bytes of workgroup memory that an invocation takes: for the bests of a plane; for the digits of
/// four columns, one after the other, and the place of the highest.
fn merged_bytes(acc: Accumulator) -> u32 {
    match (acc.has_index(), acc.bits()) {
        (false, 64) => 8,
        (true, 64) | (false, _) => 16,
        (true, _) => 32,
    }
}
