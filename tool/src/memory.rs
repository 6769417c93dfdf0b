//! What the invocations of a pass load, and in which lines of memory that lies: a model on paper.
//!
//! It has the walks that GPUs take, with the order in which an invocation loads; what a compiler merges or
//! moves is not in it. Edges of rows and columns, and the second look for a key that was found, are left
//! out: both are a few loads a segment. `tests/plan/loads.rs` holds it against the interpreter of the shaders.

use std::collections::VecDeque;
use std::iter::once;
use std::ops::Range;
use wgreduce::unstable::{Elementwise, Pass, Slot, StrideTable, Unit, View, Walk};
use wgreduce::{Plan, Problem};

/// Bytes of a line of memory.
const LINE: u64 = 128;
/// Lines that a cache of 16 KiB holds.
const CACHED: usize = 128;
/// Rows of a slice that are taken one by one, not in blocks: at most so many.
const FEW_ROWS: u64 = 16;
/// Loads of an invocation that are looked at.
const LOOKED_AT: usize = 64;

/// What a plan costs where that can be counted: of all its dispatches, or of the one that reads most.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// How the lines are used, by subgroups of 32 and 64.
    pub lines: Option<[LineUse; 2]>,
    /// Bytes that an invocation has asked for before it needs the first of them.
    pub in_flight: u64,
    /// Invocations of that dispatch.
    pub invocations: u64,
    /// Bytes of partial results written, by the bytes of the inputs.
    pub partials: f64,
    pub dispatches: usize,
    /// Barriers that an invocation meets.
    pub barriers: u64,
}

impl Costs {
    /// The costs of a plan; none of a plan that dispatches nothing.
    pub fn of(problem: &Problem, plan: &Plan) -> Option<Costs> {
        let passes = plan.passes();
        let pass = Loads::of(passes.iter().max_by_key(|pass| pass.src_bytes())?);
        let partial = passes.iter().filter(|pass| pass.dst.slot == Slot::Partials);
        let partial: u64 = partial.map(Pass::dst_bytes).sum();
        let input: u64 = (0..problem.inputs().len())
            .map(|i| problem.input_bytes(i))
            .sum();
        let lines = [32, 64].map(|subgroup| pass.line_use(subgroup));
        Some(Costs {
            lines: lines[0].zip(lines[1]).map(|(a, b)| [a, b]),
            in_flight: pass.in_flight() * pass.load_bytes(),
            invocations: pass.invocations(),
            partials: partial as f64 / input.max(1) as f64,
            dispatches: passes.len(),
            barriers: passes.iter().map(|pass| Loads::of(pass).barriers()).sum(),
        })
    }
}

/// One load of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Load {
    /// Which of the views that the pass reads.
    pub view: usize,
    /// Its first byte, from the start of the view's slot.
    pub at: u64,
    pub bytes: u64,
}

/// How much of the lines that loads touch is used, each a share of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineUse {
    /// By one load of all invocations of a subgroup.
    pub at_once: f64,
    /// By all loads of a workgroup, where 16 KiB of lines stay at hand.
    pub cached: f64,
}

type All<'a, T> = Box<dyn Iterator<Item = T> + 'a>;

/// The loads of a pass.
#[derive(Clone, Copy)]
pub struct Loads<'a> {
    pass: &'a Pass,
    /// What it reads; of an elementwise pass the first input.
    source: View,
    /// Elements in a vec4.
    e: u64,
    p: Params,
}

/// The parameters of a pass that loads depend on, as 64-bit numbers.
#[derive(Clone, Copy)]
struct Params {
    items: u64,
    team: u64,
    coarsening: u64,
    len: u64,
    inner: u64,
    slices: u64,
    slice: u64,
    width: u64,
    step: u64,
    total: u64,
    kept_dims: u64,
    dims: u64,
}

impl<'a> Loads<'a> {
    pub fn of(pass: &'a Pass) -> Loads<'a> {
        let p = &pass.params;
        let listed = pass
            .stride_table
            .as_ref()
            .and_then(|(_, views)| views.first());
        Loads {
            pass,
            source: pass.src.or(listed.copied()).unwrap_or(pass.dst),
            e: 128 / u64::from(pass.kernel.keys.bits()),
            p: Params {
                items: p.items.into(),
                team: p.team.into(),
                coarsening: p.coarsening.into(),
                len: p.len.into(),
                inner: p.inner.into(),
                slices: p.slices.into(),
                slice: p.slice.into(),
                width: p.width.into(),
                step: p.step.into(),
                total: p.total.into(),
                kept_dims: p.kept_dims.into(),
                dims: p.dims.into(),
            },
        }
    }

    /// What an invocation of the dispatch loads, in its order. Nothing is known (`None`) of walks for
    /// software adapters, and of those that read no tensor or where data tells.
    pub fn by(self, invocation: u64) -> Option<All<'a, Load>> {
        let p = self.p;
        Some(match self.pass.kernel.walk {
            Walk::Rows { lanes, blocked, .. } => self.rows(lanes.into(), blocked, invocation),
            Walk::SmallRows { .. } => {
                let lines = self.lines(invocation);
                Box::new(lines.flat_map(move |line| self.vecs(line * p.len, 1, p.len)))
            }
            Walk::Panels {
                lanes: 1,
                runs: 1,
                unaligned,
                ..
            } => {
                let lines = self.lines(invocation);
                Box::new(lines.flat_map(move |line| self.panel(line, unaligned)))
            }
            // Of sums, of which a vec4 has a column of each element.
            Walk::Columns {
                runs: runs @ (0 | 1),
                ..
            } if self.pass.kernel.sum.is_some() => self.sum_columns(runs, invocation),
            Walk::ShallowSums => {
                let items = (0..p.coarsening).map(move |i| invocation + i * p.total);
                let items = items.filter(move |_| invocation < p.total);
                Box::new(items.flat_map(move |item| self.sum_columns(1, item)))
            }
            Walk::Columns {
                runs: 1, shared, ..
            } => {
                let (part, v) = self.column(shared, invocation);
                self.columns(part, v)
            }
            Walk::Each { .. } => {
                let outputs = self.outputs(invocation * p.coarsening, p.coarsening);
                Box::new(outputs.flat_map(move |o| (0..p.len).map(move |t| self.cell(o, t))))
            }
            Walk::Strided { raw } => {
                let outputs = self.outputs(invocation, 1);
                Box::new(outputs.flat_map(move |o| self.strided(o, raw)))
            }
            Walk::Extremes { .. } => {
                let item = self.item(invocation);
                Box::new(item.flat_map(move |item| self.strided(item, false)))
            }
            Walk::ExtremeRows { .. } => Box::new(
                self.item(invocation)
                    .flat_map(move |item| self.extreme_rows(item)),
            ),
            Walk::Elementwise(taken) => self.elementwise(taken, invocation)?,
            _ => return None,
        })
    }

    /// Loads that an invocation has asked for before it needs the first of them.
    fn in_flight(self) -> u64 {
        match self.pass.kernel.walk {
            Walk::Rows { vecs: 0, .. } => self.pass.kernel.sum.map_or(8, |sum| sum.block().into()),
            Walk::Rows { vecs, .. } => vecs.into(),
            // Rows of one column are gathered into vec4.
            Walk::Columns { runs: 0, .. } => self.sum_block() * self.e.min(4),
            Walk::Columns { .. } if self.pass.kernel.sum.is_some() => self.sum_block() / 2,
            Walk::ShallowSums => self.sum_block() / 2,
            Walk::SmallRows { unrolled, .. } => u64::from(unrolled.max(1)),
            Walk::Panels { unaligned, .. } => 1 + u64::from(unaligned),
            Walk::Columns { .. } if self.p.slice <= FEW_ROWS => 1,
            Walk::Columns { .. } | Walk::ExtremeRows { .. } => 4,
            Walk::Elementwise(taken) => u64::from(taken.inputs * taken.vecs().max(1)),
            _ => 1,
        }
    }

    /// Vec4 that a sum takes at once.
    fn sum_block(self) -> u64 {
        self.pass.kernel.sum.map_or(0, |sum| sum.block().into())
    }

    /// Bytes of the first load that there is.
    fn load_bytes(self) -> u64 {
        let first = self.by(0).and_then(|mut loads| loads.next());
        first.map_or(0, |load| load.bytes)
    }

    fn barriers(self) -> u64 {
        let kernel = &self.pass.kernel;
        match kernel.walk {
            Walk::Rows { lanes, .. } if lanes > 1 && kernel.sum.is_some() => 3 * self.p.coarsening,
            Walk::Rows { lanes, .. } if lanes > 1 => {
                let halvings = u64::from(lanes.ilog2());
                self.p.coarsening * (halvings + 2 + u64::from(kernel.index) * (halvings + 1))
            }
            Walk::Columns { shared: true, .. } => {
                let bits = u64::from(kernel.keys.bits());
                let planes = if bits == 64 { 2 } else { 32 / bits };
                let slices = u64::from(kernel.workgroup) / self.p.team;
                planes * u64::from(slices.ilog2() + 1)
            }
            Walk::Finish { lanes, .. } if lanes > 1 => {
                let shared = match kernel.sum {
                    Some(_) => 3,
                    None => u64::from(lanes.ilog2()),
                };
                shared + u64::from(kernel.out.per_word() > 1)
            }
            _ => 0,
        }
    }

    pub fn invocations(self) -> u64 {
        let [x, y, z] = self.pass.workgroups.map(u64::from);
        x * y * z * u64::from(self.pass.kernel.workgroup)
    }

    /// How the first workgroup and one in the middle use the lines that they load, in subgroups of that many
    /// invocations. A subgroup asks for all that is in flight, then the next one does.
    fn line_use(self, subgroup: usize) -> Option<LineUse> {
        let workgroup = u64::from(self.pass.kernel.workgroup);
        let groups = self.invocations() / workgroup;
        let (mut used, mut touched, mut distinct, mut missed) = (0, 0, 0, 0);
        for group in [0, groups / 2].into_iter().take(groups.min(2) as usize) {
            let own = (group * workgroup..(group + 1) * workgroup).map(|i| self.by(i));
            let own = own.map(|loads| loads.map(|loads| loads.take(LOOKED_AT)));
            let mut own = own.collect::<Option<Vec<_>>>()?;
            let (mut cache, mut all) = (Cache::default(), Vec::new());
            let mut more = true;
            while std::mem::take(&mut more) {
                for lanes in own.chunks_mut(subgroup) {
                    for _ in 0..self.in_flight() {
                        let loads = lanes.iter_mut().filter_map(Iterator::next);
                        let loads = without_repeats(loads.collect());
                        more |= !loads.is_empty();
                        // A load is in one line, because it is aligned.
                        let lines = loads.iter().map(|load| (load.view, load.at / LINE));
                        let lines = without_repeats(lines.collect());
                        used += bytes(&loads);
                        touched += lines.len() as u64;
                        let missing = |&line: &_| cache.misses(line);
                        missed += lines.into_iter().filter(missing).count() as u64;
                        all.extend(loads);
                    }
                }
            }
            distinct += bytes(&without_repeats(all));
        }
        (touched > 0).then(|| LineUse {
            at_once: used as f64 / (touched * LINE) as f64,
            cached: distinct as f64 / (missed * LINE) as f64,
        })
    }

    /// Vec4 of the source, `step` apart.
    fn vecs(self, first: u64, step: u64, n: u64) -> impl Iterator<Item = Load> {
        let start = self.source.offset / 16 + first;
        (0..n).map(move |i| vec4(start + i * step))
    }

    /// Elements of the slot before the source.
    fn skipped(self) -> u64 {
        self.source.offset / self.source.element
    }

    /// Element `t` of segment `o`, which is read by words.
    fn cell(self, o: u64, t: u64) -> Load {
        let (len, inner) = (self.p.len, self.p.inner);
        word(
            0,
            &self.source,
            o / inner * len * inner + o % inner + t * inner,
        )
    }

    fn item(self, invocation: u64) -> impl Iterator<Item = u64> {
        (invocation..self.p.items).take(1)
    }

    /// The outputs of so many words.
    fn outputs(self, first: u64, words: u64) -> impl Iterator<Item = u64> {
        let each = u64::from(self.pass.kernel.out.per_word());
        (first * each..self.p.items).take((words * each) as usize)
    }

    /// The lines of an invocation.
    fn lines(self, invocation: u64) -> impl Iterator<Item = u64> {
        let p = self.p;
        let first = invocation / p.team * p.team * p.coarsening + invocation % p.team;
        let end = (first + p.team * p.coarsening).min(p.items);
        (first..end).step_by(p.team as usize)
    }

    fn rows(self, lanes: u64, blocked: bool, invocation: u64) -> All<'a, Load> {
        let (p, lane) = (self.p, invocation % lanes);
        let items = self.outputs(invocation / lanes * p.coarsening, p.coarsening);
        Box::new(items.flat_map(move |item| {
            let skip = item % p.slices * p.slice;
            let begin = self.skipped() + item / p.slices * p.len + skip;
            let end = begin + p.slice.min(p.len - skip);
            let first = begin.div_ceil(self.e);
            let last = first.max(end / self.e);
            if !blocked {
                return (first + lane..last).step_by(lanes as usize).map(vec4);
            }
            let run = (last - first).div_ceil(lanes);
            let at = (first + lane * run).min(last);
            (at..(at + run).min(last)).step_by(1).map(vec4)
        }))
    }

    fn panel(self, line: u64, unaligned: bool) -> All<'a, Load> {
        let p = self.p;
        if !unaligned {
            let first = line / p.width * p.len * p.width + line % p.width;
            return Box::new(self.vecs(first, p.width, p.len));
        }
        let (e, first) = (self.e, line * self.e);
        let column = first % p.inner;
        let at = self.skipped() + first / p.inner * p.len * p.inner + column;
        let last = (at + (p.len - 1) * p.inner) / e + 1;
        let end = (self.source.offset + self.source.bytes) / 16;
        if column + e > p.inner || last >= end {
            // In two matrices, or at the end: one by one.
            let row = move |t| (first..first + e).map(move |o| self.cell(o, t));
            return Box::new((0..p.len).flat_map(row));
        }
        let row = move |t| [0, 1].map(|i| vec4((at + t * p.inner) / e + i));
        Box::new((0..p.len).flat_map(row))
    }

    /// The slice of an invocation of columns, and its vec4 of a wide row.
    fn column(self, shared: bool, invocation: u64) -> (u64, u64) {
        let (lanes, workgroup) = (self.p.team, u64::from(self.pass.kernel.workgroup));
        if !shared {
            return (invocation / lanes, invocation % lanes);
        }
        let (team, abreast) = (invocation / workgroup, self.p.width.div_ceil(lanes));
        let slice = team / abreast * (workgroup / lanes) + invocation % workgroup / lanes;
        (slice, team % abreast * lanes + invocation % lanes)
    }

    fn sum_columns(self, runs: u32, item: u64) -> All<'a, Load> {
        let p = self.p;
        let (part, lane) = (item / p.team, item % p.team);
        let first = part % p.slices * p.slice;
        let rows = first..(first + p.slice).min(p.len);
        let rows = if item < p.items { rows } else { 0..0 };
        let at = move |t: u64| (part / p.slices * p.len + t) * p.inner;
        if runs == 0 {
            return Box::new(rows.map(move |t| word(0, &self.source, at(t) + lane)));
        }
        let skipped = self.skipped();
        Box::new(rows.map(move |t| vec4((skipped + at(t)) / self.e + lane)))
    }

    fn columns(self, part: u64, v: u64) -> All<'a, Load> {
        let p = self.p;
        let matrices = (self.source.bytes / self.source.element).div_ceil(p.total);
        if v >= p.width || part >= p.slices * matrices {
            return Box::new(std::iter::empty());
        }
        let wide = p.width * self.e;
        let start = self.skipped() + part / p.slices * p.total;
        let skew = start % self.e;
        let begin = part % p.slices * p.slice;
        let low = begin + u64::from(begin == 0 && skew > 0);
        let high = (begin + p.slice).min((skew + p.total) / wide);
        Box::new((low..high).map(move |t| vec4(start / self.e + t * p.width + v)))
    }

    fn extreme_rows(self, item: u64) -> All<'a, Load> {
        let p = self.p;
        let (output, part) = self.part(item);
        let skip = part / p.step * p.slice;
        if skip >= p.len {
            return Box::new(std::iter::empty());
        }
        let begin = self.skipped() + self.segment(output) + skip;
        let last = (begin + p.slice.min(p.len - skip) - 1) / self.e;
        let first = begin / self.e + 1 + part % p.step;
        Box::new((first..last).step_by(p.step as usize).map(vec4))
    }

    /// A part of a segment of a view, or, `raw`, one element.
    fn strided(self, item: u64, raw: bool) -> All<'a, Load> {
        let p = self.p;
        if raw {
            return Box::new(once(word(0, &self.source, self.segment(item))));
        }
        let (output, part) = self.part(item);
        let begin = if p.step == 1 { part * p.slice } else { part };
        let places = (begin..p.len.min(begin + p.slice * p.step)).step_by(p.step as usize);
        let at = move |t| wrapped(self.segment(output) + self.along(p.kept_dims..p.dims, t, 0));
        Box::new(places.map(move |t| word(0, &self.source, at(t))))
    }

    /// The output of an item, and the part of its segment.
    fn part(self, item: u64) -> (u64, u64) {
        let (slices, inner) = (self.p.slices, self.p.inner);
        let outer = item / (slices * inner);
        (
            outer * inner + item % inner,
            item % (slices * inner) / inner,
        )
    }

    /// Where an output's segment begins in a view.
    fn segment(self, output: u64) -> u64 {
        let start = self.table().map_or(0, |table| table.starts[0].into());
        wrapped(start + self.along(0..self.p.kept_dims, output, 0))
    }

    fn table(self) -> Option<&'a StrideTable> {
        self.pass.stride_table.as_ref().map(|(table, _)| table)
    }

    /// How far a place of some dimensions lies from their first one; strides wrap.
    fn along(self, dims: Range<u64>, place: u64, view: usize) -> u64 {
        let (mut at, mut rest) = (0, place);
        let dims = dims.start as usize..dims.end as usize;
        for d in dims.clone().rev() {
            let Some((&size, strides)) = self
                .table()
                .and_then(|t| t.shape.get(d).zip(t.strides.get(d)))
            else {
                continue;
            };
            let i = if d > dims.start {
                rest % u64::from(size)
            } else {
                rest
            };
            at = wrapped(at + i * u64::from(strides[view]));
            rest /= u64::from(size);
        }
        at
    }

    fn elementwise(self, taken: Elementwise, invocation: u64) -> Option<All<'a, Load>> {
        let (table, views) = self.pass.stride_table.as_ref()?;
        let outputs: All<u64> = match taken.unit {
            Unit::Word => Box::new(self.outputs(invocation, 1)),
            _ => Box::new(self.item(invocation)),
        };
        let at = move |place, view| self.along(0..self.p.dims, place, view);
        // How far the next vec4 of an invocation is.
        let next = move |view: usize| u64::from(table.strides[self.p.dims as usize][view]);
        let load = move |place, n, view: usize| {
            let along = u64::from(table.starts[view]) + at(place, view);
            let further = if n > 0 { n * next(view) } else { 0 };
            word(view, &views[view], wrapped(along + further))
        };
        let (inputs, column) = (taken.inputs as usize, StrideTable::COORDINATE);
        Some(Box::new(outputs.flat_map(move |o| {
            let vecs = (0..u64::from(taken.vecs().max(1))).filter(move |&n| {
                n == 0 && taken.vecs() == 0 || at(o, column) + n * next(column) < self.p.len
            });
            vecs.flat_map(move |n| (0..inputs).map(move |view| load(o, n, view)))
        })))
    }
}

fn vec4(i: u64) -> Load {
    Load {
        view: 0,
        at: i * 16,
        bytes: 16,
    }
}

/// Element `i` of a view, by words.
fn word(view: usize, of: &View, i: u64) -> Load {
    Load {
        view,
        at: (of.offset + i * of.element) / 4 * 4,
        bytes: of.element.max(4),
    }
}

/// Positions and strides are modulo 2^32.
fn wrapped(position: u64) -> u64 {
    position & u64::from(u32::MAX)
}

fn bytes(loads: &[Load]) -> u64 {
    loads.iter().map(|load| load.bytes).sum()
}

fn without_repeats<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

/// The lines that were touched last, the latest at the back.
#[derive(Default)]
struct Cache(VecDeque<(usize, u64)>);

impl Cache {
    fn misses(&mut self, line: (usize, u64)) -> bool {
        let at = self.0.iter().position(|&held| held == line);
        if let Some(at) = at {
            self.0.remove(at);
        }
        self.0.push_back(line);
        if self.0.len() > CACHED {
            self.0.pop_front();
        }
        at.is_none()
    }
}
