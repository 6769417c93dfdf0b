//! What the invocations of a pass load, and in which lines of memory that lies: a model on paper.
//!
//! It has the walks that GPUs take, with the order in which an invocation loads; what a compiler merges or
//! moves is not in it. Elements at the edges of rows are left out: a few loads a segment.
//! `tests/plan/loads.rs` holds it against the interpreter of the shaders.

use std::collections::VecDeque;
use std::iter::once;
use std::ops::Range;
use wgreduce::unstable::{
    Accumulator, ColumnsText, EachText, ElementwiseText, Pass, RowsText, Slot, StrideTable, View,
    Walk,
};
use wgreduce::{Plan, Problem};

/// Bytes of a line of memory.
const LINE: u64 = 128;
/// Lines that a cache of 16 KiB holds.
const CACHED: usize = 128;
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
        let inputs = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
        let input: u64 = inputs.sum();
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

/// Declares the parameters of a pass that loads depend on, as 64-bit numbers.
macro_rules! params {
    ($($name:ident)+) => {
        #[derive(Clone, Copy)]
        struct Params {
            $($name: u64,)+
        }

        impl Params {
            fn of(pass: &Pass) -> Params {
                Params { $($name: pass.params.$name.into(),)+ }
            }
        }
    };
}

params! {
    items coarsening len pitch inner begin slices parts slice step kept_dims dims along rows
    slice_rows row_units width team abreast entries
}

impl<'a> Loads<'a> {
    pub fn of(pass: &'a Pass) -> Loads<'a> {
        let table = pass.stride_table.as_ref();
        let listed = table.and_then(|(_, views)| views.first());
        Loads {
            pass,
            source: pass.src.or(listed.copied()).unwrap_or(pass.dst),
            e: 128 / u64::from(pass.kernel.acc.bits()),
            p: Params::of(pass),
        }
    }

    /// What an invocation of the dispatch loads, in its order. Nothing is known (`None`) of walks for
    /// software adapters, and of those that read no tensor or where data tells.
    pub fn by(self, invocation: u64) -> Option<All<'a, Load>> {
        let p = self.p;
        Some(match self.pass.kernel.walk {
            Walk::Rows(text) => self.rows(text, invocation),
            Walk::Columns(text) => self.columns(text, invocation),
            Walk::Each(EachText { sliced: true, .. }) => {
                Box::new(self.item(invocation).flat_map(move |item| {
                    let (o, part) = self.part(item);
                    let begin = p.begin + part * p.slice;
                    let part = begin..p.len.min(begin + p.slice);
                    part.map(move |t| self.cell(o, t))
                }))
            }
            Walk::Each(_) => {
                let outputs = self.outputs(invocation * p.coarsening, p.coarsening);
                Box::new(outputs.flat_map(move |o| (0..p.len).map(move |t| self.cell(o, t))))
            }
            Walk::Strided => {
                let raw = matches!(self.pass.kernel.acc, Accumulator::Raw(_));
                let outputs = self.outputs(invocation, 1);
                Box::new(outputs.flat_map(move |o| self.strided(o, raw)))
            }
            Walk::Elementwise(text) => self.elementwise(text, invocation)?,
            _ => return None,
        })
    }

    /// Loads that an invocation has asked for before it needs the first of them.
    fn in_flight(self) -> u64 {
        match self.pass.kernel.walk {
            Walk::Rows(text) => text.loads.into(),
            Walk::Columns(text) => text.loads.into(),
            Walk::Elementwise(text) => u64::from(text.inputs * text.at_once().max(1)),
            _ => 1,
        }
    }

    /// Bytes of the first load that there is.
    fn load_bytes(self) -> u64 {
        let first = self.by(0).and_then(|mut loads| loads.next());
        first.map_or(0, |load| load.bytes)
    }

    fn barriers(self) -> u64 {
        let kernel = &self.pass.kernel;
        match kernel.walk {
            Walk::Rows(text) => {
                let gathered = text.rows == 0 && kernel.out.per_word() > 1;
                u64::from(text.lanes.ilog2()) + u64::from(gathered)
            }
            Walk::Columns(text) if text.shared => {
                let planes = (32 / u64::from(kernel.acc.bits())).max(1);
                let planes = if kernel.acc.bits() == 64 { 2 } else { planes };
                planes * u64::from(self.p.team.next_power_of_two().ilog2() + 1)
            }
            Walk::Finish(text) if text.lanes > 1 => {
                let shared = match kernel.acc.sum() {
                    Some(_) => 3,
                    None => u64::from(text.lanes.ilog2()),
                };
                shared + u64::from(kernel.out.per_word() > 1)
            }
            // Beside those of a search, where a list is too short.
            Walk::Top(_) => {
                let sorted = u64::from(self.p.entries.next_power_of_two().ilog2());
                10 + sorted * (sorted + 1) / 2
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

    /// Elements of the slot before the source.
    fn skipped(self) -> u64 {
        self.source.offset / self.source.element
    }

    /// Element `t` of segment `o`, which is read by words.
    fn cell(self, o: u64, t: u64) -> Load {
        let (len, pitch) = (self.p.len, self.p.pitch);
        let at = o / pitch * len * pitch + o % pitch + t * pitch;
        word(0, &self.source, at)
    }

    fn item(self, invocation: u64) -> impl Iterator<Item = u64> {
        (invocation..self.p.items).take(1)
    }

    /// The outputs of so many words.
    fn outputs(self, first: u64, words: u64) -> impl Iterator<Item = u64> {
        let each = u64::from(self.pass.kernel.out.per_word());
        (first * each..self.p.items).take((words * each) as usize)
    }

    /// Units of a row, `lanes` apart, block by block; before them the units that hold its edges. Or those of several rows.
    fn rows(self, text: RowsText, invocation: u64) -> All<'a, Load> {
        let p = self.p;
        let [lanes, loads, words] = [text.lanes, text.loads, text.words].map(u64::from);
        let unit = move |number: u64| Load {
            view: 0,
            at: 4 * words * number,
            bytes: 4 * words,
        };
        if text.rows > 0 {
            let first = self.source.offset / (4 * words);
            let units = move |item| (0..loads).map(move |i| unit(first + item * loads + i));
            return Box::new(self.item(invocation).flat_map(units));
        }
        let per = self.e * words / 4;
        let lane = invocation % lanes;
        // A workgroup may own a word that begins before the first result.
        let dst = &self.pass.dst;
        let before = dst.offset / dst.element % u64::from(self.pass.kernel.out.per_word());
        let item = (invocation / lanes).checked_sub(before);
        let item = item.filter(move |&item| item < p.items).into_iter();
        Box::new(item.flat_map(move |item| {
            let skip = item % p.slices * p.slice;
            let begin = self.skipped() + item / p.slices * p.len + skip;
            let first = begin.div_ceil(per);
            let end = (begin + p.slice.min(p.len - skip)) / per;
            let blocks = (first..end).step_by((lanes * loads) as usize);
            let units = blocks.flat_map(move |base| {
                (0..loads).map(move |i| (base + lane + i * lanes).min(end - 1))
            });
            units.map(unit)
        }))
    }

    /// Units of wide rows, some rows at once; the last step may take some again.
    fn columns(self, text: ColumnsText, invocation: u64) -> All<'a, Load> {
        let p = self.p;
        let [loads, runs, words] = [text.loads, text.runs, text.words].map(u64::from);
        let workgroup = u64::from(self.pass.kernel.workgroup);
        let each = if text.shared { p.abreast } else { runs };
        let across = p.width.div_ceil(each);
        let (part, lane, unit) = match text.shared {
            true => {
                let lid = invocation % workgroup;
                let lane = (lid / p.abreast).min(p.team - 1);
                let item = invocation / workgroup;
                let unit = item % across * p.abreast + lid % p.abreast;
                (item / across, lane, unit.min(p.width - 1))
            }
            false => {
                let unit = invocation % across * runs;
                (invocation / across, 0, unit.min(p.width - runs))
            }
        };
        let taken = (part < p.items / across).then_some(part).into_iter();
        Box::new(taken.flat_map(move |part| {
            let first = part % p.parts * p.slice_rows * p.team;
            let begin = first.min(p.rows - loads * p.team);
            let end = (first + p.slice_rows * p.team).min(p.rows);
            let count = (end - begin - lane).div_ceil(p.team);
            // In bytes.
            let origin =
                self.source.offset + part / p.parts * p.len * p.pitch * self.source.element;
            let start = (begin + lane) * p.row_units + unit;
            let steps = (0..count).step_by(loads as usize);
            let rows = steps.map(move |row| row.min(count - loads));
            let rows = rows.flat_map(move |t| t..t + loads);
            rows.flat_map(move |t| {
                let at = start + t * p.team * p.row_units;
                (at..at + runs).flat_map(move |unit| {
                    let at = origin + unit * 4 * words;
                    // A word that begins within another lies in two.
                    let ends = [at, at + 3].map(|at| at / 4 * 4);
                    let several = text.shifted && ends[0] < ends[1];
                    let begins = ends.into_iter().take(1 + usize::from(several));
                    begins.map(move |at| Load {
                        view: 0,
                        at,
                        bytes: 4 * words,
                    })
                })
            })
        }))
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
        let (outer, rest) = (item / (slices * inner), item % (slices * inner));
        (outer * inner + rest % inner, rest / inner)
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
            let i = match d > dims.start {
                true => rest % u64::from(size),
                false => rest,
            };
            at = wrapped(at + i * u64::from(strides[view]));
            rest /= u64::from(size);
        }
        at
    }

    fn elementwise(self, text: ElementwiseText, invocation: u64) -> Option<All<'a, Load>> {
        let (table, views) = self.pass.stride_table.as_ref()?;
        let outputs: All<u64> = match text.vecs {
            false => Box::new(self.outputs(invocation, 1)),
            true => Box::new(self.item(invocation)),
        };
        let at = move |place, view| self.along(0..self.p.dims, place, view);
        // How far the next vec4 of an invocation is.
        let next = move |view: usize| u64::from(table.strides[self.p.dims as usize][view]);
        let load = move |place, n, view: usize| {
            let along = u64::from(table.starts[view]) + at(place, view);
            let further = if n > 0 { n * next(view) } else { 0 };
            word(view, &views[view], wrapped(along + further))
        };
        let (inputs, column) = (text.inputs as usize, StrideTable::COORDINATE);
        Some(Box::new(outputs.flat_map(move |o| {
            let vecs = (0..u64::from(text.at_once().max(1))).filter(move |&n| {
                n == 0 && !text.vecs || at(o, column) + n * next(column) < self.p.along
            });
            vecs.flat_map(move |n| (0..inputs).map(move |view| load(o, n, view)))
        })))
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
