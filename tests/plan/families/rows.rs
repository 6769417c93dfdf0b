//! `strided.wgsl` over `segments.wgsl`, `rows.wgsl`: segments that lie one after another, or anywhere.

use super::super::interpret::{Check, Found, Run, ensure};
use super::{ROW_BLOCK, Span};
use wgreduce::unstable::Slot;

impl Run<'_, '_> {
    pub(super) fn each(&mut self, raw: bool, several: bool) -> Check {
        // Columns that no binding sees whole are copied first.
        let copied = raw && matches!(self.dst.slot, Slot::Temp(_));
        let copies = self.machine.problem.is_copy() || copied;
        ensure!(raw == copies, "raw is {raw}");
        self.coarsened(several, self.p.coarsening)?;
        for item in self.invocations() {
            let mut loops = 0;
            for w in item * self.p.coarsening..(item + 1) * self.p.coarsening {
                // One for the word, and one for each result.
                loops += 1 + u64::from(self.per_word());
                let mut results = Vec::new();
                for (j, o) in self.outputs(w) {
                    let found = self.search(o, &mut loops);
                    self.loads_each(&found)?;
                    results.push((j, self.cell(&found)?));
                }
                self.write(w, results)?;
            }
            self.iterated(loops)?;
        }
        Ok(())
    }

    fn search(&self, o: u32, loops: &mut u64) -> Found {
        let p = &self.p;
        let outer = o / p.inner;
        let start = p.src_delta + outer * p.len * p.inner + o - outer * p.inner;
        let mut found = Found::new();
        for i in 0..p.len {
            *loops += 1;
            found.push((start + i * p.inner, i));
        }
        *loops += self.take_loops(p.len.into()) + self.end_loops();
        found
    }

    /// Notes that elements are loaded one by one.
    pub(super) fn loads_each(&self, found: &Found) -> Check {
        let src = self.source()?;
        found
            .iter()
            .for_each(|&(position, _)| self.loads(0, src, position));
        Ok(())
    }

    /// An invocation takes at most `at_once` vec4, or any number if that is 0; if `whole`, a row is whole vec4.
    pub(super) fn rows(
        &mut self,
        lanes: u32,
        [blocked, several, whole]: [bool; 3],
        at_once: u32,
    ) -> Check {
        let p = self.p;
        ensure!(
            lanes.is_power_of_two() && lanes <= self.wg && lanes <= 256,
            "{lanes} lanes of {}",
            self.wg
        );
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        ensure!(p.coarsening > 0, "no item a lane");
        ensure!(
            self.per_word() == 1 && !whole || lanes == 1 && p.slices == 1,
            "whole rows, or results that share a word, in parts"
        );
        // If results share words, the kernel has one loop over words and none over items.
        match self.per_word() {
            1 => self.coarsened(several, p.coarsening)?,
            _ => ensure!(!several, "a loop over items and one over words"),
        }
        let teams = self.wg / lanes;
        let all = self.groups();
        for team in all.flat_map(move |group| (0..teams).map(move |team| group * teams + team)) {
            let mut most = vec![0; lanes as usize];
            for item in team * p.coarsening..(team + 1) * p.coarsening {
                if self.per_word() > 1 {
                    self.now.set(team);
                    let mut results = Vec::new();
                    for (j, o) in self.outputs(item) {
                        let found = self.row(o, [1, team], [blocked, whole], at_once, &mut most)?;
                        results.push((j, self.cell(&found)?));
                    }
                    self.write(item, results)?;
                    continue;
                }
                // Teams past the last item read it again and write nothing.
                let first = match item < p.items {
                    true => team * lanes,
                    false => u32::MAX,
                };
                let i = item.min(p.items - 1);
                let found = self.row(i, [lanes, first], [blocked, whole], at_once, &mut most)?;
                if item < p.items {
                    let cell = self.cell(&found)?;
                    self.emit(item, cell)?;
                }
            }
            self.iterated(most.into_iter().max().unwrap_or(0))?;
        }
        Ok(())
    }

    /// The elements that `lanes` invocations find in an item. `first`: the first invocation; `u32::MAX` if the item is
    /// a repeated one.
    fn row(
        &self,
        item: u32,
        [lanes, first]: [u32; 2],
        [blocked, whole]: [bool; 2],
        at_once: u32,
        most: &mut [u64],
    ) -> Check<Found> {
        let (p, e) = (self.p, self.e);
        let row = item / p.slices;
        let skip = (item - row * p.slices) * p.slice;
        ensure!(skip < p.len, "slice {item} begins at {skip} of {}", p.len);
        let start = p.src_delta + row * p.len;
        let s = Span::of_whole(start + skip, p.slice.min(p.len - skip), e);
        let mut found = Found::new();
        for (lane, most) in (0..lanes).zip(most) {
            self.now.set(first.saturating_add(lane));
            let vecs = lane_vecs(&s, lane, lanes, blocked);
            let few = at_once == 0 || vecs.len() <= at_once as usize;
            ensure!(few, "{} vec4, not {at_once}", vecs.len());
            let count = vecs.len() as u64;
            for v in vecs {
                let positions = self.vec4(v)?;
                found.extend(positions.into_iter().map(|at| (at, at - start)));
            }
            let head = (s.first * e).min(s.end) - s.begin;
            let tail = (s.last * e).max(s.end) - s.last * e;
            ensure!(!whole || head + tail == 0, "a row that is no whole vec4");
            let edges: Vec<u32> = (lane..head + tail).step_by(lanes as usize).collect();
            for &i in &edges {
                let at = match i < head {
                    true => s.begin + i,
                    false => s.last * e + i - head,
                };
                found.push((at, at - start));
            }
            // A sum is taken again if no window holds it.
            let again = u64::from(whole && at_once > 0 && self.pass.kernel.sum.is_some());
            *most += self.row_loops(lanes, count, edges.len() as u64) + again;
        }
        Ok(found)
    }

    /// Iterations of an invocation that takes `vecs` vec4 and `edges` single elements of an item.
    fn row_loops(&self, lanes: u32, vecs: u64, edges: u64) -> u64 {
        if self.pass.kernel.sum.is_none() {
            // Blocks, two trees, and the item itself.
            let blocks = vecs.div_ceil(ROW_BLOCK.into());
            return 1 + blocks + edges + 2 * u64::from(lanes.ilog2());
        }
        let taken = vecs * u64::from(self.e) + edges;
        1 + 2 * vecs + taken + self.take_loops(taken) + self.end_loops()
    }
}

/// The whole vec4 that invocation `lane` takes.
fn lane_vecs(s: &Span, lane: u32, lanes: u32, blocked: bool) -> Vec<u32> {
    if !blocked {
        return (s.first + lane..s.last).step_by(lanes as usize).collect();
    }
    let run = (s.last - s.first).div_ceil(lanes);
    let at = (s.first + lane * run).min(s.last);
    (at..(at + run).min(s.last)).collect()
}
