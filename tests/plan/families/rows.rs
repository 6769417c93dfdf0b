//! `each.wgsl`, `rows.wgsl`, `short_rows.wgsl`: segments that lie one after another, or anywhere.

use super::super::interpret::{Check, Found, Run, ensure};
use super::{ROW_BLOCK, Span};
use std::collections::BTreeSet;

impl Run<'_, '_> {
    pub(super) fn each(&mut self, raw: bool, several: bool) -> Check {
        ensure!(raw == self.machine.problem.is_copy(), "raw is {raw}");
        self.coarsened(several, self.p.width)?;
        for item in self.invocations() {
            let mut loops = 0;
            for w in item * self.p.width..(item + 1) * self.p.width {
                // A word, and its results.
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

    pub(super) fn rows(&mut self, lanes: u32, blocked: bool, several: bool) -> Check {
        let p = self.p;
        ensure!(
            lanes.is_power_of_two() && lanes <= self.wg,
            "{lanes} lanes of {}",
            self.wg
        );
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        ensure!(p.width > 0, "no item a lane");
        self.coarsened(several, p.width)?;
        for group in self.groups() {
            for team in 0..self.wg / lanes {
                let team = group * (self.wg / lanes) + team;
                let first = team * p.width;
                let mut loops = u64::from(p.width);
                for item in first..first + p.width {
                    loops += self.rows_item(item, team * lanes, [lanes, blocked.into()])?;
                }
                self.iterated(loops)?;
            }
        }
        Ok(())
    }

    /// One item, by all its lanes, the first of which is an invocation; how often the one that loops most does.
    fn rows_item(&mut self, item: u32, first: u32, [lanes, blocked]: [u32; 2]) -> Check<u64> {
        let p = self.p;
        let i = item.min(p.items - 1);
        let row = i / p.slices;
        let skip = (i - row * p.slices) * p.slice;
        ensure!(skip < p.len, "slice {i} begins at {skip} of {}", p.len);
        let start = p.src_delta + row * p.len;
        let s = Span::of_whole(start + skip, p.slice.min(p.len - skip), self.e);
        let mut found = Vec::new();
        let mut most = 0;
        for lane in 0..lanes {
            let mut loops = 2 * u64::from(lanes.ilog2());
            // What reads the last item again leaves nothing.
            let works = item < p.items;
            self.now.set(if works { first + lane } else { u32::MAX });
            for position in self.scan(s, lane, [lanes, blocked], &mut loops)? {
                found.push((position, position - start));
            }
            most = most.max(loops);
        }
        if item < p.items {
            let cell = self.cell(&found)?;
            self.emit(item, cell)?;
        }
        Ok(most)
    }

    /// Positions that a lane meets. Those of a block must all come after the blocks before, so
    /// that which block wins a tie is also where the first or last of equals is.
    fn scan(
        &self,
        s: Span,
        lane: u32,
        [lanes, blocked]: [u32; 2],
        loops: &mut u64,
    ) -> Check<Vec<u32>> {
        let e = self.e;
        let (mut at, end, step) = match blocked > 0 {
            false => (s.first + lane, s.last, lanes),
            true => {
                let run = (s.last - s.first).div_ceil(lanes);
                let at = (s.first + lane * run).min(s.last);
                (at, (at + run).min(s.last), 1)
            }
        };
        let mut found = Vec::new();
        if s.first * e > s.begin {
            let v = s.first - 1;
            found = self.edge(v, s.low(v, e), s.high(v, e))?;
        }
        let mut met = found.last().copied();
        while at < end {
            *loops += 1;
            let last = at + (end - 1 - at) / step * step;
            let block = (0..ROW_BLOCK).map(|j| (at + j * step).min(last));
            let from = found.len();
            for v in block.collect::<BTreeSet<_>>() {
                found.extend(self.vec4(v)?);
            }
            let positions = &found[from..];
            ensure!(
                positions.iter().all(|&p| Some(p) > met),
                "a block before one that was met"
            );
            met = positions.iter().max().copied();
            at += ROW_BLOCK * step;
        }
        if s.last * e < s.end {
            let last = self.edge(s.last, s.low(s.last, e), s.high(s.last, e))?;
            ensure!(
                last.iter().all(|&p| Some(p) > met),
                "the edge is met too early"
            );
            found.extend(last);
        }
        Ok(found)
    }

    pub(super) fn short_rows(&mut self, most: u32, coarsened: bool) -> Check {
        let (p, e) = (self.p, self.e);
        self.coarsened(coarsened, p.slice)?;
        let vecs = p.len / e;
        ensure!(vecs > 0 && p.slice > 0, "{vecs} vec4, {} rows", p.slice);
        ensure!(most == 0 || vecs <= most, "{vecs} of {most} vec4");
        let last = vecs - 1;
        for invocation in self.invocations() {
            let per_word = self.per_word();
            ensure!(p.slice.is_multiple_of(per_word), "{} rows", p.slice);
            let skip = p.dst_delta % per_word;
            let place = invocation * p.slice;
            let begin = place.max(skip) - skip;
            let end = (place + p.slice).min(p.items + skip) - skip;
            let mut loops = 0;
            let mut word = Vec::new();
            for row in begin..end {
                loops += 1;
                let first = p.src_delta / e + row * vecs;
                let mut order = Vec::new();
                if most != 2 {
                    for t in (0..vecs).step_by(4) {
                        loops += 1;
                        order.extend([t, t + 1, t + 2, t + 3].map(|t| t.min(last)));
                    }
                } else {
                    order.extend([0, last]);
                }
                ensure!(order.is_sorted(), "vec4 in the order {order:?}");
                let mut found = Vec::new();
                for t in order {
                    let positions = self.vec4(first + t)?;
                    found.extend(positions.into_iter().zip(t * e..));
                }
                let cell = self.cell(&found)?;
                if per_word == 1 {
                    self.emit(row, cell)?;
                    continue;
                }
                let j = (row + skip) % per_word;
                word.push((j, cell));
                if j + 1 == per_word || row + 1 == p.items {
                    self.write_word((row + skip) / per_word, std::mem::take(&mut word))?;
                }
            }
            self.iterated(loops)?;
        }
        Ok(())
    }
}
