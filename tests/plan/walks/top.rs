//! `top.wgsl`, `few.wgsl`, `merge.wgsl`, and `gather.wgsl` of what they find: plans of TopK, run on the host.
//!
//! No values are computed. An entry of a list is a rank among the places of a segment that the list stands for. So a run that ends
//! well proves the schedule for all data: each result is of its rank among all places of its own segment, is written once and has
//! the element of its index; no access leaves its view; no list is shorter than what is taken from it.

use super::super::memory::{Bind, Check, Dispatch, Memory, ensure, limits};
use super::super::truth::output_and_place;
use std::rc::Rc;
use support::views::position;
use wgreduce::Problem;
use wgreduce::unstable::{FewText, Params, Pass, Slot, StoreFormat, TopText, Walk};

/// Places of a segment in order, each with its element of the data.
type Places = Rc<Vec<(u32, u32)>>;

/// The element of a rank among some places; of a rank beyond them none, which comes after all others.
#[derive(Clone)]
struct Entry {
    of: Places,
    rank: u32,
    /// Whether it was merged.
    read: bool,
}

struct Machine<'a> {
    memory: Memory<'a>,
    k: u32,
    /// Segments side by side.
    inner: u32,
    segments: Vec<Places>,
    /// Of the partials and both temporary slots.
    lists: [Vec<Option<Entry>>; 3],
    /// A list and the segment that it stands for.
    found: Option<(Places, usize)>,
    /// Whether each result has its index.
    indexed: Vec<bool>,
    /// Of each result the ranges of places among which its value is looked for.
    looked: Vec<Vec<[u32; 2]>>,
}

/// Runs the passes of a plan of TopK.
pub fn run(memory: Memory<'_>, passes: &[Pass]) -> Check {
    let Memory { problem, plan, .. } = memory;
    let k = problem.outputs()[0].shape.iter().product::<u64>();
    let segments = segments(problem);
    let axis = problem.reduced().iter().position(|&reduced| reduced);
    let inner = axis.map_or(&[][..], |axis| &problem.inputs()[0][axis + 1..]);
    let out = passes.iter().map(|p| p.kernel.out);
    let entry = out.filter(|out| out.is_partial()).map(StoreFormat::bytes);
    let entry = entry.max().unwrap_or(16);
    let lists = [Slot::Partials, Slot::Temp(0), Slot::Temp(1)];
    let lists = lists.map(|slot| vec![None; (plan.slot_bytes(slot) / entry) as usize]);
    let mut machine = Machine {
        memory,
        k: k as u32 / (segments.len() as u32).max(1),
        inner: inner.iter().product::<u64>() as u32,
        segments,
        lists,
        found: None,
        indexed: vec![false; k as usize],
        looked: vec![Vec::new(); k as usize],
    };
    for (i, pass) in passes.iter().enumerate() {
        let done = Run::new(&mut machine, pass).and_then(Run::walk);
        done.map_err(|e| format!("pass {i}, {}: {e}", pass.label()))?;
    }
    machine.end()
}

/// Of each segment its places, found without a plan.
fn segments(problem: &Problem) -> Vec<Places> {
    let shape = &problem.inputs()[0];
    let reduced = |d: usize| problem.reduced()[d];
    let len = problem.reduced_len();
    let n: u64 = shape.iter().product();
    let mut all = vec![vec![(0, 0); len as usize]; n.checked_div(len).unwrap_or(0) as usize];
    for flat in 0..n {
        let (output, place) = output_and_place(shape, reduced, flat);
        let element = match problem.layout(0) {
            Some(layout) => position(flat, shape, &layout.strides, layout.offset),
            None => flat,
        };
        all[output as usize][place as usize] = (place as u32, element as u32);
    }
    all.into_iter().map(Rc::new).collect()
}

impl Machine<'_> {
    /// The segment and the rank of a result.
    fn result(&self, at: u32) -> (usize, u32) {
        let (row, column) = (at / self.inner, at % self.inner);
        ((row / self.k * self.inner + column) as usize, row % self.k)
    }

    /// Whether an entry's list stands for a whole segment; compared once for each list.
    fn stands_for(&mut self, entry: &Entry, segment: usize) -> bool {
        let known =
            matches!(&self.found, Some((of, s)) if Rc::ptr_eq(of, &entry.of) && *s == segment);
        let right = known || entry.of == self.segments[segment];
        self.found = right.then(|| (entry.of.clone(), segment));
        right
    }

    /// Writes the index of a result.
    fn put(&mut self, at: u32, entry: &Entry) -> Check {
        let (segment, rank) = self.result(at);
        let of = self.segments[segment].clone();
        ensure!(
            entry.rank == rank && self.stands_for(entry, segment),
            "result {at} is number {} of {} places, not {rank} of {}",
            entry.rank,
            entry.of.len(),
            of.len()
        );
        let before = std::mem::replace(&mut self.indexed[at as usize], true);
        ensure!(!before, "result {at} is written twice");
        Ok(())
    }

    fn end(mut self) -> Check {
        if let Some(at) = self.indexed.iter().position(|done| !done) {
            return Err(format!("result {at} has no index"));
        }
        let mut left = self.lists.iter().flatten().flatten();
        ensure!(left.all(|entry| entry.read), "lists are left over");
        let len = self.segments.first().map_or(0, |of| of.len()) as u32;
        for (at, looked) in self.looked.iter_mut().enumerate() {
            looked.sort_unstable();
            let mut next = 0;
            for &mut [start, end] in looked {
                ensure!(start == next, "{at} is looked for at {start}");
                next = end;
            }
            ensure!(next == len, "{at} is looked for in {next} of {len}");
        }
        Ok(())
    }
}

fn list(slot: Slot) -> Check<usize> {
    match slot {
        Slot::Partials => Ok(0),
        Slot::Temp(i) => Ok(1 + i),
        other => Err(format!("lists in {other:?}")),
    }
}

/// A pass while it runs.
struct Run<'m, 'a> {
    machine: &'m mut Machine<'a>,
    pass: &'m Pass,
    p: Params,
    src: Bind,
    indices: Option<Bind>,
    dst: Bind,
    beside: Option<Bind>,
    dispatch: Dispatch<'m>,
}

impl<'m, 'a> Run<'m, 'a> {
    fn new(machine: &'m mut Machine<'a>, pass: &'m Pass) -> Check<Run<'m, 'a>> {
        limits(pass, machine.memory.caps)?;
        let views = pass.stride_table.iter().flat_map(|(_, views)| views);
        let read = pass.src.iter().chain(views);
        let read = read.map(|view| machine.memory.bind(view));
        let mut read = read.collect::<Check<Vec<_>>>()?.into_iter();
        let src = read.next().ok_or("no source")?;
        let indices = read.next();
        let dst = machine.memory.bind(&pass.dst)?;
        let beside = pass.beside.iter().map(|view| machine.memory.bind(view));
        let beside = beside.collect::<Check<Vec<_>>>()?.pop();
        for written in beside.iter().chain([&dst]) {
            ensure!(src.slot != written.slot, "{:?} is written", src.slot);
        }
        let p = Params {
            src_delta: src.delta,
            dst_delta: dst.delta,
            ..pass.params
        };
        Ok(Run {
            machine,
            pass,
            p,
            src,
            indices,
            dst,
            beside,
            dispatch: Dispatch::of(pass),
        })
    }

    fn walk(mut self) -> Check {
        match self.pass.kernel.walk {
            Walk::Top(text) => self.top(text),
            Walk::Few(text) => self.few(text),
            Walk::Merge(text) => self.merge(text.words),
            Walk::Gather(text) if text.strided && text.best => self.gather(text.index_words),
            other => Err(format!("{other:?} in a plan of TopK")),
        }
    }

    /// The invocations that have an item.
    fn invocations(&self, items: u32) -> impl Iterator<Item = u32> + use<> {
        self.dispatch.invocations().filter(move |&id| id < items)
    }

    /// `segment`: where an output's segment begins, and how many steps that takes. Strides wrap.
    fn segment(&self, o: u32) -> Check<u32> {
        let Some((table, _)) = &self.pass.stride_table else {
            return Err("no dimensions".into());
        };
        let kept = &table.shape[..self.p.kept_dims as usize];
        let (mut at, mut rest) = (table.starts[0].wrapping_add(self.src.delta), o);
        for (&size, strides) in kept.iter().zip(&table.strides).rev() {
            at = at.wrapping_add((rest % size).wrapping_mul(strides[0]));
            rest /= size;
        }
        ensure!(rest == 0, "output {o} of {kept:?}");
        Ok(at)
    }

    /// The places `from..end` of an output's segment, and the position of the first one.
    fn places(&self, output: u32, from: u32, end: u32) -> Check<(Places, u32)> {
        ensure!(from < end, "no places from {from} to {end}");
        let p = self.p;
        let begin = self
            .segment(output)?
            .wrapping_add(from.wrapping_mul(p.stride));
        let place = |n: u32| self.place(begin, from, n);
        let places = (from..end).map(place).collect::<Check<_>>()?;
        Ok((Rc::new(places), begin))
    }

    /// Place `n` of a segment, of which place `from` lies at a position, and its element.
    fn place(&self, begin: u32, from: u32, n: u32) -> Check<(u32, u32)> {
        let position = begin.wrapping_add((n - from).wrapping_mul(self.p.stride));
        Ok((self.p.base as u32 + n, self.src.at(position)?))
    }

    /// Checks that places from a position on can be read by whole vec4.
    fn units(&self, begin: u32, end: u32) -> Check {
        let per = 16 / self.src.element as u32;
        let bytes = u64::from((begin + end).next_multiple_of(per)) * self.src.element;
        ensure!(
            self.p.stride == 1 && begin.is_multiple_of(per) && bytes <= self.src.bytes,
            "vec4 of {per} from {begin} to {end} of {} bytes",
            self.src.bytes
        );
        Ok(())
    }

    fn top(&mut self, text: TopText) -> Check {
        let p = self.p;
        let wg = self.pass.kernel.workgroup;
        let bits = self.pass.kernel.acc.bits();
        let list = TopText::ENTRIES * wg;
        ensure!(p.slice <= text.held * wg, "parts of {}", p.slice);
        ensure!(p.entries <= list, "{} entries of {list}", p.entries);
        ensure!(p.groups <= wg, "{} groups of {wg}", p.groups);
        ensure!(p.items == p.outputs * p.slices, "{} items", p.items);
        for item in self.dispatch.groups().filter(|&item| item < p.items) {
            let (output, part) = (item / p.slices, item % p.slices);
            let first = part * p.slice;
            let (of, begin) = self.places(output, first, (first + p.slice).min(p.len))?;
            if text.units {
                self.units(begin, of.len() as u32)?;
            }
            self.leave(output, part, &of)?;
        }
        let rounds = bits + (text.held * wg).ilog2();
        // The counts, the groups, their ranks, both searches, the sorter, and the entries.
        let half = p.entries.max(list).next_power_of_two() / 2;
        let stages = list.ilog2() * (list.ilog2() + 1) / 2;
        let sorter = stages * (half.div_ceil(wg) + 1) + list.ilog2();
        let most = (rounds + 3).div_ceil(wg) + wg / p.groups + p.groups + 2 + rounds + sorter;
        let most = most + p.entries.div_ceil(wg) + p.kept_dims;
        self.dispatch.iterated(most.into())
    }

    fn few(&mut self, text: FewText) -> Check {
        let p = self.p;
        ensure!(p.entries == text.entries, "{} entries", p.entries);
        ensure!(p.items == p.outputs * p.slices, "{} items", p.items);
        for item in self.invocations(p.items) {
            let (output, part) = (item % p.outputs, item / p.outputs);
            let first = part * p.slice;
            let (of, begin) = self.places(output, first, (first + p.slice).min(p.len))?;
            if text.units {
                self.units(begin, of.len() as u32)?;
            }
            // With lists of more entries each element is a step of a loop.
            let taken = of.len() + of.len().div_ceil(8);
            self.dispatch
                .iterated(taken as u64 + u64::from(p.kept_dims))?;
            self.leave(output, part, &of)?;
        }
        Ok(())
    }

    /// `leave` of all entries of a part.
    fn leave(&mut self, output: u32, part: u32, of: &Places) -> Check {
        let p = self.p;
        for rank in 0..p.entries {
            let entry = Entry {
                of: of.clone(),
                rank,
                read: false,
            };
            if self.pass.kernel.out.is_partial() {
                let list = (output * p.lists + p.first_list + part) * p.entries;
                self.put_entry(p.dst_delta + list + rank, entry)?;
                continue;
            }
            self.put_index(self.result_at(output, rank), &entry)?;
            // The element itself is beside its index.
            if self.pass.kernel.beside.is_some() {
                let at = self.dst.at(p.dst_delta + self.result_at(output, rank))?;
                let places = [p.base as u32, p.base as u32 + p.len];
                self.machine.looked[at as usize].push(places);
            }
        }
        Ok(())
    }

    fn put_entry(&mut self, at: u32, entry: Entry) -> Check {
        self.dispatch.write_once(at)?;
        let place = self.dst.at(at)? as usize;
        let before = self.machine.lists[list(self.dst.slot)?][place].replace(entry);
        ensure!(before.is_none_or(|e| e.read), "entry {place} is lost");
        Ok(())
    }

    fn result_at(&self, output: u32, rank: u32) -> u32 {
        let p = &self.p;
        let o = p.first_output + output;
        let at = (o / p.inner * p.best + rank) * p.inner + o % p.inner;
        at.wrapping_sub(p.first_result)
    }

    /// Writes the index of a result, which lies beside its value where both are written.
    fn put_index(&mut self, at: u32, entry: &Entry) -> Check {
        let (bind, at) = match &self.beside {
            Some(bind) => {
                let value = self.dst.at(self.p.dst_delta + at)?;
                let index = bind.at(bind.delta + at)?;
                ensure!(value == index, "value {value} beside index {index}");
                ensure!(self.dst.slot == Slot::Output(0), "{:?}", self.dst.slot);
                (bind, bind.delta + at)
            }
            None => (&self.dst, self.p.dst_delta + at),
        };
        ensure!(bind.slot == Slot::Output(1), "indices in {:?}", bind.slot);
        let result = bind.at(at)?;
        self.machine.put(result, entry)
    }

    fn merge(&mut self, words: u32) -> Check {
        let p = self.p;
        let lists = list(self.src.slot)?;
        let entry = 4 * u64::from(words);
        ensure!(entry == self.src.element, "entries of {words} words");
        let each = p.groups * p.group * p.taken;
        ensure!(p.items.is_multiple_of(each), "{} items of {each}", p.items);
        ensure!(
            p.best <= p.group * p.entries && (p.groups - 1) * p.group < p.lists,
            "{} entries of {} groups of {} lists",
            p.best,
            p.groups,
            p.group
        );
        let covered = self.invocations(p.items).count();
        let items = p.items as usize;
        ensure!(covered == items, "{covered} of {items} items");
        let search = (p.entries + 1).next_power_of_two().ilog2();
        let ranks = p.first_rank..p.first_rank + p.taken;
        ensure!(
            ranks == (0..p.entries) || p.lists == 1 && ranks.end <= p.entries,
            "entries {ranks:?} of {} lists of {}",
            p.lists,
            p.entries
        );
        for merged in 0..p.items / (p.group * p.taken) {
            let output = merged / p.groups;
            let first = merged % p.groups * p.group;
            let taken = p.group.min(p.lists - first);
            let mut all = Vec::new();
            for list in first..first + taken {
                let from = p.src_delta + (output * p.lists + list) * p.entries;
                let mut places: Option<Places> = None;
                for rank in 0..p.entries {
                    let at = self.src.at(from + rank)? as usize;
                    let entry = self.machine.lists[lists][at].as_mut();
                    let entry = entry.ok_or_else(|| format!("entry {at} was not written"))?;
                    entry.read = true;
                    let same = places.get_or_insert(entry.of.clone());
                    let own = entry.rank == rank && Rc::ptr_eq(&entry.of, same);
                    ensure!(own, "entry {at} is of another list");
                }
                let places = places.ok_or("lists of no entries")?;
                let lost = p.best.min(places.len() as u32) > p.entries;
                ensure!(!lost, "{} of {} from {}", p.best, p.entries, places.len());
                all.extend_from_slice(&places);
            }
            all.sort_unstable();
            let of: Places = Rc::new(all);
            let is_partial = self.pass.kernel.out.is_partial();
            let written = match p.lists {
                1 if !is_partial => ranks.clone(),
                _ => 0..p.best,
            };
            for rank in written {
                let entry = Entry {
                    of: of.clone(),
                    rank,
                    read: false,
                };
                let at = self.result_at(output, rank);
                match is_partial {
                    true => self.put_entry(p.dst_delta + merged * p.best + rank, entry)?,
                    false if at < p.results => self.put_index(at, &entry)?,
                    false => {}
                }
            }
            self.dispatch
                .iterated((taken + (taken - 1) * search).into())?;
        }
        Ok(())
    }

    /// Looks for every result in the window as for each index that it may have.
    fn gather(&mut self, words: u32) -> Check {
        let p = self.p;
        let Some(indices) = self.indices.clone() else {
            return Err("no indices".into());
        };
        ensure!(
            indices.slot == Slot::Output(1) && u64::from(words) * 4 == indices.element,
            "indices of {words} words in {:?}",
            indices.slot
        );
        let per_word = self.pass.kernel.out.per_word();
        let before = p.dst_delta % per_word;
        for w in self.invocations((p.items + before).div_ceil(per_word)) {
            for j in 0..per_word {
                let o = (w * per_word + j).wrapping_sub(before);
                if o >= p.items {
                    continue;
                }
                let result = p.first_result + o;
                let row = result / (p.inner * p.best) * p.inner;
                let output = (row + result % p.inner).wrapping_sub(p.first_output);
                // It may belong to another window.
                if output >= p.outputs {
                    continue;
                }
                let at = self.dst.at(p.dst_delta + o)?;
                let index = indices.at(indices.delta + o)?;
                ensure!(index == at, "result {at} reads the index of {index}");
                let indexed = self.machine.indexed[at as usize];
                ensure!(indexed, "result {at} has no index");
                let segment = self.machine.segments[self.machine.result(at).0].clone();
                let start = self.segment(output)?;
                let whole = p.base as u32..p.base as u32 + p.len;
                for n in [0, p.len - 1] {
                    let (place, element) = self.place(start, 0, n)?;
                    let right = segment[place as usize];
                    ensure!(right == (place, element), "{at} takes {element}");
                }
                self.machine.looked[at as usize].push([whole.start, whole.end]);
            }
            self.dispatch
                .iterated((per_word * (p.kept_dims + 1)).into())?;
        }
        Ok(())
    }
}
