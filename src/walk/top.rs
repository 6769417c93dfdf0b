//! The best elements of segments, in order: of a part of each as a list, by a workgroup or by an invocation; and lists that are merged,
//! until each segment has one. Every element is found by its strides.

use crate::kernel::params::Params;
use crate::kernel::{Kernel, Recipe, Resource, StoreFormat, fragments};
use crate::plan::layout::{StridedLayout, Window};
use crate::plan::limits::MAX_REGION;
use crate::plan::pass::{Slot, View};
use crate::plan::step::{Planner, Step};
use crate::walk::Walk;
use crate::{AdapterClass, Error};
use std::ops::Range;

/// Most invocations of a workgroup.
const WORKGROUP: u32 = 256;
/// Bytes of workgroup memory of an invocation, at most: four entries of a key and a number, and a key. And what is beside them.
const INVOCATION_BYTES: u32 = 4 * 12 + 8;
const BESIDE: u32 = 400;
/// Entries of a list in workgroup memory for each invocation.
const ENTRIES: u64 = TopText::ENTRIES as u64;
/// Elements that an invocation of a workgroup holds: of long segments of whole vec4 that fill the device, of others, and of 64 bits,
/// of which FXC compiles no more in time.
const HELD: [u64; 3] = [64, 16, 8];
/// Elements that are whole vec4, whatever their type.
pub(crate) const WHOLE: u64 = 16;
/// Least invocations that share a segment of which each holds more.
const SHARED: u64 = 64;
/// Least groups of invocations whose best are compared, and how many for each wanted element: so few more than those reach the floor.
const GROUPS: [u64; 2] = [32, 4];
/// Most entries of a list in registers.
const FEW: u64 = 16;
/// Longest segments that an invocation takes alone, and the least elements of a part of one.
const ALONE: u64 = 128;
/// Elements from one of a segment to the next, from which on neighbouring segments lie side by side.
const ACROSS: u64 = 8;
/// Elements that are read before one is used, one by one and by vec4.
const LOADS: [u32; 2] = [8, 16];
/// Lists that are merged at once.
pub(crate) const GROUP: u64 = 16;

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopText {
    /// Elements that an invocation holds.
    pub held: u32,
    /// Whether it reads whole vec4.
    pub units: bool,
}

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FewText {
    /// Entries of a list.
    pub entries: u32,
    /// Whether it reads whole vec4.
    pub units: bool,
}

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeText {
    /// Words of an entry.
    pub words: u32,
}

/// How segments are cut into lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists {
    /// Elements that an invocation of a workgroup holds; 0: an invocation takes a part alone.
    held: u64,
    /// Invocations of a workgroup.
    workgroup: u32,
    /// Most elements of a part.
    pub slice: u64,
    /// Entries of its list.
    pub entries: u64,
}

impl Lists {
    /// For the `k` best elements of each segment of a layout.
    pub(crate) fn of(planner: &Planner<'_>, layout: &StridedLayout, k: u64) -> Lists {
        let caps = planner.caps;
        let len = planner.problem.reduced_len();
        let outputs: u64 = layout.kept.iter().map(|a| a.size).product();
        let axis = layout.reduced.first();
        let apart = axis.map_or(0, |a| a.stride.unsigned_abs());
        // A software driver's invocations do not share what they read.
        let alone = len <= ALONE || caps.class == AdapterClass::Software;
        if k <= FEW && (alone || apart >= ACROSS) {
            let parts = planner.slices(outputs, len / ALONE);
            let most = MAX_REGION.min(caps.most_iterations() / 2);
            let slice = len.div_ceil(parts).min(most).next_multiple_of(WHOLE);
            return Lists {
                held: 0,
                workgroup: caps.workgroup(),
                slice,
                entries: k,
            };
        }
        // Enough for the segment, where it is short.
        let room = caps.workgroup_bytes.saturating_sub(BESIDE) / INVOCATION_BYTES;
        let most = WORKGROUP.min(caps.invocations).min(room).max(1);
        let most = 1 << most.ilog2();
        let wg = |held: u64| {
            let wanted = len.div_ceil(held).next_power_of_two();
            wanted.max(GROUPS[0]).min(most)
        };
        let filled = outputs * len / HELD[0] >= caps.tuning.invocations;
        let size = planner.problem.dtype().size();
        let whole = planner.aligned && layout.has_whole(WHOLE);
        let more = whole && filled && len >= SHARED * HELD[0];
        let choices = match more {
            _ if size == 8 => &HELD[2..],
            true => &HELD[..2],
            false => &HELD[1..2],
        };
        // Of the groups' best elements a quarter is no floor; then nearly all are listed.
        let by_floor = |held: &u64| 4 * k <= 3 * wg(*held);
        let listed = |held: &u64| k <= ENTRIES * wg(*held);
        let held = choices.iter().copied().find(by_floor);
        let held = held
            .or_else(|| choices.iter().copied().find(listed))
            .unwrap_or(ENTRIES);
        let wg = wg(held);
        Lists {
            held,
            workgroup: wg as u32,
            slice: held * wg,
            entries: k.min(held * wg),
        }
    }

    /// The same for windows that have so many elements of a segment, at most.
    pub(crate) fn of_windows(self, len: u64) -> Lists {
        Lists {
            entries: self.entries.min(len.max(1)),
            ..self
        }
    }

    /// Lists of a segment of so many elements.
    pub(crate) fn parts(self, len: u64) -> u64 {
        len.div_ceil(self.slice)
    }
}

/// Results, `k` of each output: of outputs from number `first` on, `inner` of which lie side by side; or a range of the rows of results
/// that hold them.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub first: u64,
    pub outputs: u64,
    pub inner: u64,
    pub k: u64,
    /// Counted from the first result of all.
    pub results: Range<u64>,
    /// The ranks of an output's results that the range has.
    pub ranks: Range<u64>,
}

impl Ranked {
    pub(crate) fn new(first: u64, outputs: u64, inner: u64, k: u64) -> Ranked {
        let rows = first / inner..(first + outputs).div_ceil(inner);
        Ranked {
            first,
            outputs,
            inner,
            k,
            results: rows.start * inner * k..rows.end * inner * k,
            ranks: 0..k,
        }
    }

    /// A range of these results.
    pub(crate) fn within(&self, results: Range<u64>) -> Ranked {
        let (row, column) = (self.first / self.inner, self.first % self.inner);
        let mut range = Ranked {
            results,
            ..self.clone()
        };
        let end = column + self.outputs;
        // Outputs of several rows have nearly all ranks in a range.
        if end <= self.inner {
            let Range { start, end: last } = &range.results;
            let [start, last] = [start, last].map(|at| at - row * self.inner * self.k);
            let before = start.checked_sub(end).map_or(0, |n| n / self.inner + 1);
            range.ranks = before..last.saturating_sub(column).div_ceil(self.inner);
        }
        range
    }

    /// Whether these are all results of whole rows.
    pub(crate) fn has_rows(&self) -> bool {
        self.results.end - self.results.start == self.outputs * self.k
    }

    pub(crate) fn view(&self, slot: Slot, format: StoreFormat) -> View {
        let Range { start, end } = self.results;
        View::of(slot, format, start, end - start)
    }

    fn params(&self) -> Params {
        let row = self.first / self.inner * self.inner;
        let Range { start, end } = self.results;
        Params {
            outputs: self.outputs as u32,
            best: self.k as u32,
            inner: self.inner as u32,
            first_output: (self.first - row) as u32,
            first_result: (start - row * self.k) as u32,
            results: (end - start) as u32,
            ..Params::default()
        }
    }
}

/// Some lists of each output, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Lists of an output.
    pub lists: u64,
    /// Entries of a list.
    pub entries: u64,
    /// Where they are.
    pub slot: Slot,
}

impl Round {
    /// Lists of these numbers of windows' parts, of so many entries.
    pub(crate) fn of(lists: Lists, parts: u64) -> Round {
        Round {
            lists: parts,
            entries: lists.entries,
            slot: Slot::Partials,
        }
    }

    fn group(self) -> u64 {
        self.lists.min(GROUP)
    }

    /// Lists of an output after they have been merged.
    pub(crate) fn groups(self) -> u64 {
        self.lists.div_ceil(self.group())
    }

    /// Invocations an output that merge them.
    fn items(self) -> u64 {
        self.groups() * self.group() * self.entries
    }

    /// Most invocations an output of this round and of those after it, until `k` entries are left: no fewer than entries are read or
    /// written.
    pub(crate) fn most_items(self, k: u64) -> u64 {
        let mut most = self.items().max(k);
        let mut round = self;
        while round.groups() > 1 {
            round = Round {
                lists: round.groups(),
                entries: k.min(round.entries * round.group()),
                ..round
            };
            most = most.max(round.items());
        }
        most
    }
}

/// What lists are merged to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Merged {
    /// Fewer lists.
    Lists(Slot),
    /// A list beside so many others in the second temporary slot: of as many entries as are wanted, however few were merged.
    Kept(u64),
    /// The results.
    Results,
}

impl Planner<'_> {
    /// Leaves the lists of a window's parts; `place`: the number of the first, and how many there are of each output. `None`: they are
    /// results.
    pub(crate) fn top_pass(
        &mut self,
        step: &Step,
        window: &Window<'_>,
        lists: Lists,
        place: Option<[u64; 2]>,
        ranked: &Ranked,
    ) -> Result<(), Error> {
        let (table, kept) = window.stride_table(1);
        let (outputs, len) = (window.kept.elements(), window.reduced.elements());
        let parts = lists.parts(len);
        let [first, all] = place.unwrap_or([0, 1]);
        let (step, dst) = match place {
            None => (*step, ranked.view(step.dst, step.out)),
            Some(_) => {
                let step = self.partials_of(*step);
                let entries = outputs * all * lists.entries;
                (step, View::of(Slot::Partials, step.out, 0, entries))
            }
        };
        let per = 16 / self.problem.dtype().size();
        let units = self.aligned && window.has_whole(per);
        let walk = match lists.held {
            0 => Walk::Few(FewText {
                entries: lists.entries as u32,
                units,
            }),
            held => Walk::Top(TopText {
                held: held as u32,
                units: units && held >= per,
            }),
        };
        let kernel = Kernel {
            workgroup: lists.workgroup,
            ..self.kernel_of(&step, walk)
        };
        let items = outputs * parts;
        let wg = u64::from(kernel.workgroup);
        let groups = (GROUPS[1] * lists.entries).next_power_of_two();
        let params = Params {
            items: items as u32,
            kept_dims: kept as u32,
            stride: window.stride(),
            len: len as u32,
            slices: parts as u32,
            slice: lists.slice as u32,
            entries: lists.entries as u32,
            lists: all as u32,
            first_list: first as u32,
            groups: groups.max(GROUPS[0]).min(wg) as u32,
            base: window.reduced.place,
            ..ranked.params()
        };
        let dims = table.shape.len() as u64;
        let (invocations, iterations) = match lists.held {
            0 => {
                let taken = lists.slice.min(len);
                (items, taken + taken.div_ceil(LOADS[0].into()) + dims)
            }
            _ => {
                let rounds = u64::from(kernel.acc.bits()) + 16;
                let stages = u64::from((ENTRIES * wg).ilog2() + 1).pow(2) / 2;
                (items * wg, rounds + 2 * wg + ENTRIES * (stages + 2) + dims)
            }
        };
        let src = self.window_view(window);
        let pass = self.push(kernel, None, dst, params, invocations, iterations)?;
        pass.stride_table = Some((table, vec![src]));
        Ok(())
    }

    /// Merges lists in groups.
    pub(crate) fn merge_pass(
        &mut self,
        step: &Step,
        round: Round,
        ranked: &Ranked,
        to: Merged,
    ) -> Result<Round, Error> {
        let format = self.partial_format(step);
        let &Ranked { outputs, k, .. } = ranked;
        let (slot, group, at) = match to {
            Merged::Lists(slot) => (slot, round.group(), 0),
            Merged::Kept(n) => {
                let group = round.lists.max(k.div_ceil(round.entries));
                (Slot::Temp(1), group, n * k)
            }
            Merged::Results => (step.dst, round.group(), 0),
        };
        let merged = Round {
            lists: round.groups(),
            entries: k.min(round.entries * group),
            slot,
        };
        let (step, dst) = match to {
            Merged::Results => (*step, ranked.view(slot, step.out)),
            _ => {
                let entries = outputs * merged.lists * merged.entries;
                (self.partials_of(*step), View::of(slot, format, at, entries))
            }
        };
        let text = MergeText {
            words: format.bytes() as u32 / 4,
        };
        let kernel = self.kernel_of(&step, Walk::Merge(text));
        let ranks = match to {
            Merged::Results if round.lists == 1 => ranked.ranks.clone(),
            _ => 0..round.entries,
        };
        let taken = ranks.end - ranks.start;
        let items = outputs * merged.lists * group * taken;
        let params = Params {
            items: items as u32,
            first_rank: ranks.start as u32,
            taken: taken as u32,
            entries: round.entries as u32,
            lists: round.lists as u32,
            group: group as u32,
            groups: merged.lists as u32,
            best: merged.entries as u32,
            ..ranked.params()
        };
        let src = View::of(round.slot, format, 0, outputs * round.lists * round.entries);
        let steps = u64::from((round.entries + 1).next_power_of_two().ilog2()) + 2;
        let iterations = round.lists.min(group) * steps + 2;
        self.push(kernel, Some(src), dst, params, items, iterations)?;
        Ok(merged)
    }

    /// Gathers the elements of windows that TopK's indices point to.
    pub(crate) fn gather_best(
        &mut self,
        index: StoreFormat,
        windows: &[Window<'_>],
        ranked: &Ranked,
    ) -> Result<(), Error> {
        let value = StoreFormat::value(self.problem.dtype());
        let dst = ranked.view(Slot::Output(0), value);
        let indices = ranked.view(Slot::Output(1), index);
        let mut all = windows.iter();
        all.try_for_each(|window| self.gather_window(dst, indices, window, ranked.params()))
    }
}

/// The recipe of a walk that reads windows, by whole vec4 (`units`) or element by element.
fn window_recipe(walk: Vec<&'static str>, kernel: &Kernel, units: bool) -> Recipe {
    use Resource::{Destination, Params, StrideTable, View};
    let mut fragments = walk;
    fragments.extend(fragments!("access/stride_table" "access/view" "store/emit" "store/ranked"));
    if units {
        fragments.extend(fragments!("access/units"));
    }
    let per = if units { 128 / kernel.acc.bits() } else { 1 };
    Recipe {
        fragments,
        bindings: vec![Params, StrideTable, Destination, View(0)],
        reads_vecs: units,
        names: vec![
            ("LISTS", 1),
            ("UNITS", units.into()),
            ("PER", per),
            ("WORDS", 4),
        ],
        ..Recipe::default()
    }
}

impl TopText {
    /// Entries that a list holds in workgroup memory for each invocation.
    pub const ENTRIES: u32 = 4;

    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        let list = ENTRIES as u32 * kernel.workgroup;
        let bits = kernel.acc.bits();
        let key = bits.div_ceil(32) * 4;
        let mut recipe = window_recipe(fragments!("walk/top"), kernel, self.units);
        // Elements of a plane, and planes of a load.
        let plane = if bits == 64 { 1 } else { 4 };
        let each = if self.units { 128 / bits / plane } else { 1 };
        let part = self.held * kernel.workgroup;
        recipe.names.extend([
            ("HELD", self.held),
            ("PLANE", plane),
            ("PLANE_BITS", (1 << plane) - 1),
            ("EACH", each),
            ("TAKEN", plane * each),
            ("LOADS", self.held / plane / each),
            ("MASKS", self.held.div_ceil(32)),
            ("NUMBER_BITS", part.ilog2()),
            ("HALF", part / 2),
            ("LIST", list),
        ]);
        recipe.workgroup_bytes = list * (key + 4) + kernel.workgroup * key + 4 * (bits + 22);
        recipe
    }
}

impl FewText {
    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        let mut recipe = window_recipe(fragments!("walk/few"), kernel, self.units);
        let loads = LOADS[usize::from(self.units)];
        let own = [("ENTRIES", self.entries), ("LOADS", loads)];
        recipe.names.extend(own);
        recipe
    }
}

pub(crate) fn merge_recipe() -> Recipe {
    use Resource::{Destination, Params, Partials};
    Recipe {
        fragments: fragments!("store/emit" "store/ranked" "walk/merge"),
        bindings: vec![Params, Partials, Destination],
        names: vec![("LISTS", 0)],
        ..Recipe::default()
    }
}
