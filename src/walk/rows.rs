//! Rows: contiguous segments. A team of invocations shares a row: each issues all loads of its part before it uses one.
//! Rows of a few elements are taken several at once, by one invocation.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Accumulator, Kernel, Recipe, Resource, fragments};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step, dst_view, region_params, words};
use crate::walk::strided::Each;
use crate::walk::{FEW_LOADS, Walk};

/// Most bytes of the rows that an invocation takes whole. Beyond, an H200 reads at .76 of its memory's speed.
const MOST_WHOLE: u64 = 80;
/// Bytes from which such rows are not doubled, if they are read by vec4.
const ENOUGH_WHOLE: u64 = 32;
/// Most bytes of a row that an invocation takes alone, by vec4 and by words.
const MOST_ALONE: [u64; 2] = [64, 32];
/// Loads of an invocation at once, by vec4 and by words. Sixteen vec4 are no faster on an H200, and hold twice the registers.
const MOST_LOADS: [u64; 2] = [8, 16];
/// Bytes up to which rows of vec4 get more invocations than loads: one for each `NEAR_BYTES`, and at least `LEAST_LANES`, for
/// elements of 32 and 64 bits and for those of fewer. An H200 takes rows of 128 bytes of float32 at .93 of its memory's
/// speed by four invocations and at .80 by two, rows of 400 bytes at .91 by eight and at .88 by four; of float16 at .76 and
/// .87. Joining and rounding sums costs more than that: by ACO, sums of 32 float32 cost an invocation alone .42 of four.
const SHORT: u64 = 512;
const NEAR_BYTES: [u64; 2] = [64, 128];
const LEAST_LANES: [u64; 2] = [4, 2];
/// Rows from which several are taken at once: the last ones may need a dispatch of their own.
const MANY_ROWS: u64 = 1024;

/// Most blocks beside those of a slice, in iterations: edges, the tree of 256 invocations, the results in a word.
const MOST_BESIDE: u64 = 14;
/// Most pieces of a row's edges that an invocation takes, one after another if they are far apart.
const MOST_TURNS: u64 = 8;
/// Bytes of workgroup memory to tell all of a workgroup that a sum is far, and which digits it has.
pub(crate) const FAR_BYTES: u32 = 16;
/// Most invocations that add their sums in workgroup memory, so that no digit outgrows a word.
pub(crate) const MOST_TEAM: u64 = 256;

/// Units that an invocation may read at once.
fn at_once(planner: &Planner<'_>, step: &Step, unit: u64) -> u64 {
    let most = match planner.caps.long_kernels {
        true => MOST_LOADS[usize::from(unit == 4)],
        false => FEW_LOADS,
    };
    let sum = step.acc.sum();
    sum.map_or(most, |sum| most.min(sum.most_bytes() / unit))
}

/// What the text depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RowsText {
    /// Invocations that share a row, a power of two.
    pub lanes: u32,
    /// Units that an invocation reads before it uses one.
    pub loads: u32,
    /// Words of a unit: 4 or 1.
    pub words: u32,
    /// Whether an invocation takes several blocks of so many units.
    pub looped: bool,
    /// Whether rows may begin and end within a unit.
    pub masked: bool,
    /// Rows that an invocation takes whole, and their elements; 0: a part of one of any length.
    pub rows: u32,
    /// See `rows`.
    pub len: u32,
}

/// How a region is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub text: RowsText,
    /// Parts of a row, each of which a team takes.
    pub slices: u64,
    /// Elements of a slice.
    pub slice: u64,
}

impl Rows {
    /// How a region is walked, if it can be.
    pub(crate) fn fit(planner: &Planner<'_>, step: &Step, b: &Region) -> Option<Rows> {
        Rows::several(planner, step, b).or_else(|| Rows::shared(planner, step, b, u64::MAX))
    }

    /// Several rows for each invocation, if these are whole units.
    fn several(planner: &Planner<'_>, step: &Step, b: &Region) -> Option<Rows> {
        let (element, out) = (step.acc.bytes(), step.out.bytes());
        let bytes = b.len * element;
        let alone = !step.out.is_partial() && !step.acc.is_both();
        let whole = b.len == step.len && alone && planner.aligned;
        if !whole || b.outer < MANY_ROWS || bytes > MOST_WHOLE {
            return None;
        }
        let fits = |words: u64, each: u64| {
            let (unit, taken, results) = (4 * words, each * bytes, each * out);
            let begin = (step.at + b.at) * element;
            let read = begin.is_multiple_of(unit) && taken.is_multiple_of(unit);
            // Results that are whole vec4 are written as such.
            let grain = if results.is_multiple_of(16) { 16 } else { 4 };
            let written = (b.out * out).is_multiple_of(grain) && results.is_multiple_of(4);
            // Elements of 64 bits are no single words.
            read && written && taken <= MOST_WHOLE && (words == 4 || element < 8)
        };
        // Few rows by words rather than many by vec4.
        let (words, least) = [4, 1]
            .into_iter()
            .flat_map(|words| [1, 2, 4].map(|each| (words, each)))
            .find(|&(words, each)| fits(words, each))?;
        let doubled = 2 * least;
        let short = words == 4 && least * bytes < ENOUGH_WHOLE;
        let each = match short && fits(words, doubled) {
            true => doubled,
            false => least,
        };
        let text = RowsText {
            lanes: 1,
            loads: (each * bytes / (4 * words)) as u32,
            words: words as u32,
            rows: each as u32,
            len: b.len as u32,
            ..RowsText::default()
        };
        Some(Rows {
            text,
            slices: 1,
            slice: b.len,
        })
    }

    /// Rows of any length, each of which a team of invocations shares.
    /// At most so many slices, unless the limit on iterations asks for more.
    fn shared(planner: &Planner<'_>, step: &Step, b: &Region, most_slices: u64) -> Option<Rows> {
        let (caps, tuning) = (planner.caps, &planner.caps.tuning);
        let element = step.acc.bytes();
        let bytes = b.len * element;
        let whole = |unit: u64| {
            let begins = ((step.at + b.at) * element).is_multiple_of(unit);
            planner.aligned && begins && bytes.is_multiple_of(unit)
        };
        let wg = u64::from(caps.workgroup());
        // A workgroup owns whole words of results. All three are powers of two.
        let most = (wg / u64::from(step.out.per_word())).min(tuning.row_lanes.into());
        // At least one unit is whole, wherever a row begins.
        let holds = |unit: u64| b.len >= 2 * (unit / element) - 1;
        // Telling which elements of a vec4 belong to a row costs more: an H200 takes rows of 1001 float32 at .97 by words and
        // at .89 by vec4.
        let by_words = whole(4) && element < 8 && bytes <= 4 * MOST_LOADS[1] * most;
        let (unit, masked) = match (whole(16), by_words) {
            (true, _) => (16, false),
            (_, true) => (4, false),
            // Of a short row too few vec4 are whole.
            _ if element < 4 && bytes <= SHORT && holds(4) => (4, true),
            _ if holds(16) => (16, true),
            _ => return None,
        };
        let kind = usize::from(unit == 4);
        let units = bytes / unit;
        let wanted = match bytes {
            _ if bytes <= MOST_ALONE[kind] => 1,
            _ if unit == 16 && bytes <= SHORT && step.acc.sum().is_none() => {
                let narrow = usize::from(element < 4);
                bytes.div_ceil(NEAR_BYTES[narrow]).max(LEAST_LANES[narrow])
            }
            _ => units.div_ceil(MOST_LOADS[kind]),
        };
        let mut lanes = wanted.next_power_of_two().min(most);
        if let Some(sum) = step.acc.sum() {
            let bytes = wg * u64::from(sum.placed_bytes() + 4) + u64::from(FAR_BYTES);
            let fits = bytes <= caps.workgroup_bytes.into();
            lanes = if fits { lanes.min(MOST_TEAM) } else { 1 };
        }
        let at_once = at_once(planner, step, unit);
        let parts = bytes.div_ceil(tuning.slice_bytes.max(1)).min(units / lanes);
        let filled = planner.slices(
            b.outer * lanes,
            parts.min(most_slices).min(planner.most_parts(step)),
        );
        let longest = Rows::longest(planner, step, lanes, unit);
        let slices = filled.max(b.len.div_ceil(longest));
        // Slices are whole blocks, or half a block, so that rows of many lengths have the same text.
        let block = unit / element * lanes * at_once;
        let slice = match b.len.div_ceil(slices) {
            _ if slices == 1 => b.len,
            slice if slice <= block / 2 => block / 2,
            slice => slice.next_multiple_of(block),
        };
        let slice = slice.min(b.len);
        // Every slice has a whole unit, wherever it begins.
        let least = if masked { 2 * (unit / element) - 1 } else { 1 };
        let holds = |slice: u64| slice >= least && (b.len - 1) % slice + 1 >= least;
        let mut longer = (slice..b.len).step_by((unit / element * lanes) as usize);
        let slice = longer.find(|&slice| holds(slice)).unwrap_or(b.len);
        let slices = b.len.div_ceil(slice);
        let units = (slice * element / unit).div_ceil(lanes);
        let blocks = units.div_ceil(at_once);
        let loads = match units {
            _ if slices == 1 => units.div_ceil(blocks),
            units if units <= at_once / 2 => at_once / 2,
            _ => at_once,
        };
        // Unless an invocation takes several blocks, the positions in a row lie below its keys.
        let bits = step.acc.bits();
        let long = bits < 32 && b.len > 1 << (32 - bits);
        let looped = blocks > 1 || slices > 1 || long;
        let text = RowsText {
            lanes: lanes as u32,
            loads: loads as u32,
            words: (unit / 4) as u32,
            looped,
            masked,
            ..RowsText::default()
        };
        let partials = match step.acc.sum() {
            Some(_) => planner.partials(step).min(planner.most_parts(step)),
            None => planner.partials(step),
        };
        let rows = Rows {
            text,
            slices,
            slice,
        };
        let invocations = rows.invocations(step, &Region { outer: 1, ..*b });
        let fits = slices <= partials && invocations.div_ceil(wg) <= caps.groups();
        fits.then_some(rows)
    }

    /// Most elements of a part of a row that so many invocations may take.
    fn longest(planner: &Planner<'_>, step: &Step, lanes: u64, unit: u64) -> u64 {
        let element = step.acc.bytes();
        let at_once = at_once(planner, step, unit);
        let block = lanes * at_once * unit / element;
        let most = planner.caps.most_iterations();
        // A block an iteration, and a few for edges and the tree.
        let most = most - 64;
        match step.acc.sum() {
            // Elements that digits do not hold are taken again, one by one.
            Some(sum) => {
                let (result, each) = (sum.again().iterations(0), sum.block_iterations(at_once));
                let left = most.saturating_sub(result + MOST_BESIDE * each);
                let again = sum.again().share(left);
                let alone = sum.again().most(again + result).saturating_mul(lanes);
                alone.min(block * ((left - again) / each))
            }
            None => block * most,
        }
    }

    /// Elements of a row that a dispatch may take.
    pub(crate) fn reach(self, planner: &Planner<'_>, step: &Step) -> u64 {
        let RowsText { lanes, words, .. } = self.text;
        let longest = Rows::longest(planner, step, lanes.into(), u64::from(4 * words));
        planner.most_parts(step).saturating_mul(longest)
    }

    /// Invocations of a region.
    pub(crate) fn invocations(self, step: &Step, b: &Region) -> u64 {
        match self.text.rows {
            // A workgroup may own a word that begins before the first result.
            0 => {
                let results =
                    words(step.out, b.outer * self.slices) * u64::from(step.out.per_word());
                results * u64::from(self.text.lanes)
            }
            each => b.outer / u64::from(each),
        }
    }

    /// Whether a device has the bindings that it takes.
    pub(crate) fn are_bound(self, planner: &Planner<'_>, step: &Step) -> bool {
        let kernel = planner.kernel_of(step, Walk::Rows(self.text));
        let storage = kernel.bindings().iter().filter(|r| !r.is_uniform()).count();
        storage as u64 <= planner.caps.storage_buffers.into()
    }

    /// The same for another part of the same segments, which may be shorter.
    pub(crate) fn shortened(self, planner: &Planner<'_>, step: &Step, b: &Region) -> Option<Rows> {
        Rows::shared(planner, step, b, self.slices).filter(|rows| rows.slices <= self.slices)
    }

    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        if self.text.rows > 0 {
            return self.several_pass(planner, step, b);
        }
        let text = self.text;
        let (items, lanes) = (b.outer * self.slices, u64::from(text.lanes));
        let kernel = planner.kernel_of(step, Walk::Rows(text));
        let params = Params {
            items: items as u32,
            slices: self.slices as u32,
            slice: self.slice as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let element = step.acc.bytes();
        let units = self.slice * element / u64::from(4 * text.words);
        let blocks = units.div_ceil(lanes * u64::from(text.loads));
        let tree = u64::from(text.lanes.ilog2()) + u64::from(step.out.per_word());
        let iterations = match step.acc.sum() {
            Some(sum) => {
                let again = sum.again().iterations(self.slice.div_ceil(lanes));
                let edges = sum.block_iterations(MOST_TURNS);
                sum.block_iterations(text.loads.into()) * (blocks + tree + 1) + edges + again
            }
            None => blocks + tree,
        };
        let (src, dst) = (planner.src_view(step, b), dst_view(step, b, items));
        let invocations = self.invocations(step, b);
        planner.push(kernel, Some(src), dst, params, invocations, iterations)?;
        Ok(())
    }

    /// Whole groups of rows, then what is left of them.
    fn several_pass(self, planner: &mut Planner<'_>, step: &Step, b: &Region) -> Result<(), Error> {
        let each = u64::from(self.text.rows);
        let items = b.outer / each;
        let taken = items * each;
        let kernel = planner.kernel_of(step, Walk::Rows(self.text));
        let params = Params {
            items: items as u32,
            ..region_params(b)
        };
        let (src, dst) = (planner.src_view(step, b), dst_view(step, b, taken));
        let iterations = match step.acc.sum() {
            Some(sum) => each * (sum.again().iterations(b.len) + sum.block_iterations(b.len)),
            None => 1,
        };
        planner.push(kernel, Some(src), dst, params, items, iterations)?;
        let rest = Region {
            at: b.at + taken * b.len,
            out: b.out + taken,
            outer: b.outer - taken,
            ..*b
        };
        match rest.outer {
            0 => Ok(()),
            _ => Each::WHOLE.pass(planner, step, &rest, false),
        }
    }
}

impl RowsText {
    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        use Resource::{Destination, Params, Vecs, Words};
        let (out, sum) = (kernel.out, kernel.acc.sum());
        let result_words = self.rows * out.bytes() as u32 / 4;
        let vecs = result_words.is_multiple_of(4) && self.rows > 0;
        let subwords = out.per_word() > 1 && self.rows == 0;
        let shares = self.lanes > 1;
        let pieces = self.words.min(128 / kernel.acc.bits().max(32));
        // What digits do not hold is read again, element by element.
        let by_words = self.masked || sum.is_some();
        let mut names = vec![
            ("LANES", self.lanes),
            ("LOG_LANES", self.lanes.ilog2()),
            ("LOADS", self.loads),
            ("WIDTH", self.loads.next_power_of_two()),
            ("LEVELS", self.loads.next_power_of_two().ilog2()),
            ("WORDS", self.words),
            ("PER", 32 * self.words / kernel.acc.bits()),
            ("LOOPED", self.looped.into()),
            ("PACKED", (kernel.acc.bits() < 32).into()),
            ("FRAMED", (self.rows == 0).into()),
            ("MASKED", self.masked.into()),
            ("PIECES", pieces),
            ("TURNS", (2 * pieces).div_ceil(self.lanes)),
            ("ROWS", self.rows),
            ("LEN", self.len),
            ("RESULT_WORDS", result_words),
            ("SHARE", out.per_word()),
            ("SUBWORDS", subwords.into()),
            ("BY_VEC", 0),
            ("LOOKED", self.words / kernel.acc.bits().div_ceil(32)),
            ("COLUMNS", 1),
            ("SUMS", 1),
        ];
        names.extend(sum.iter().flat_map(|sum| sum.digit_names(false, shares)));
        let mut fragments = fragments!("access/units" "accumulate/team" "walk/rows");
        fragments.extend(match kernel.acc {
            Accumulator::Sum(_) => fragments!(
                "elements/magnitude" "accumulate/digits" "accumulate/float_digits"
                "accumulate/integer_digits"
            ),
            Accumulator::Both { .. } => {
                fragments!("elements/both" "accumulate/bests" "accumulate/both" "store/emit" "store/leave")
            }
            _ => fragments!("accumulate/row" "store/emit"),
        });
        if subwords {
            fragments.extend(fragments!("store/gathered" "store/values"));
        }
        let left = match sum {
            _ if !shares => 0,
            Some(sum) => kernel.workgroup * sum.placed_bytes() + FAR_BYTES,
            None => kernel.workgroup * self.left_bytes(kernel.acc),
        };
        let values = if subwords { 4 * kernel.workgroup } else { 0 };
        Recipe {
            fragments,
            bindings: match (self.words, by_words) {
                (1, _) => vec![Params, Destination, Words],
                (_, false) => vec![Params, Destination, Vecs],
                (_, true) => vec![Params, Destination, Vecs, Words],
            },
            writes_vecs: vecs,
            writes_pairs: !vecs && !out.is_partial() && out.bytes() == 8,
            names,
            workgroup_bytes: left + values,
            ..Recipe::default()
        }
    }

    /// Bytes that an invocation leaves to its team: a key, and a position beside it unless both fit a word.
    fn left_bytes(self, acc: Accumulator) -> u32 {
        let key = if acc.bits() == 64 { 8 } else { 4 };
        let packed = acc.bits() < 32 && !self.looped && !acc.is_both();
        let apart = acc.has_index() && !packed;
        let best = if apart { 2 * key } else { key };
        if acc.is_both() { 2 * best } else { best }
    }
}
