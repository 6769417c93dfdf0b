//! The shaders' index arithmetic, family by family: what `shaders/` does with `Params`, on
//! lists of positions. Names are the shaders'. Plain arithmetic panics where it overflows;
//! what wraps in a shader by design wraps here by name.

use super::interpret::{Cell, Check, Found, Run, ensure};
use wgreduce::{Family, Slot};

impl Run<'_, '_> {
    pub fn dispatch(&mut self) -> Check {
        match self.pass.kernel.family {
            Family::Each => self.each(),
            Family::Rows => self.rows(),
            Family::Columns => self.columns(),
            Family::Finish => self.finish(),
            Family::Fill => self.fill(),
            Family::Gather => self.gather_pass(),
            other => Err(format!("no interpreter for {other:?}")),
        }
    }

    // each.wgsl

    fn each(&mut self) -> Check {
        let raw = self.pass.kernel.raw;
        ensure!(raw == self.machine.problem.is_copy(), "raw is {raw}");
        for w in self.invocations() {
            let mut loops = 0;
            if self.per_word() == 1 {
                if w < self.p.items {
                    let cell = self.cell(&self.search(w, &mut loops))?;
                    self.emit(w, cell)?;
                }
            } else {
                let mut results = Vec::new();
                for j in 0..self.per_word() {
                    loops += 1;
                    let o = self.output_at(w, j);
                    if o < self.p.items {
                        results.push((j, self.cell(&self.search(o, &mut loops))?));
                    }
                }
                self.write_word(w, results)?;
            }
            self.iterated(loops)?;
        }
        Ok(())
    }

    fn search(&self, o: u32, loops: &mut u64) -> Found {
        let p = &self.p;
        let outer = o / p.inner;
        let start = p.src_delta + outer * p.len * p.inner + o - outer * p.inner;
        let mut found = vec![(start, 0)];
        for i in 1..p.len {
            *loops += 1;
            found.push((start + i * p.inner, i));
        }
        found
    }

    // rows.wgsl

    fn rows(&mut self) -> Check {
        let p = self.p;
        let lanes = self.pass.kernel.lanes;
        ensure!(
            lanes.is_power_of_two() && lanes <= self.wg,
            "{lanes} lanes of {}",
            self.wg
        );
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        for group in self.groups() {
            for team in 0..self.wg / lanes {
                let mut loops = vec![0; lanes as usize];
                for rep in 0..p.reps {
                    let item = (group * p.reps + rep) * (self.wg / lanes) + team;
                    let i = item.min(p.items - 1);
                    let row = i / p.slices;
                    let skip = (i - row * p.slices) * p.slice;
                    ensure!(skip < p.len, "slice {i} begins at {skip} of {}", p.len);
                    let start = p.src_delta + row * p.len;
                    let s = Span::new(start + skip, p.slice.min(p.len - skip), self.e);
                    let mut found = Vec::new();
                    for lane in 0..lanes {
                        let n = &mut loops[lane as usize];
                        *n += 1 + 2 * u64::from(lanes.ilog2());
                        for position in self.scan(s, lane, n)? {
                            found.push((position, position - start));
                        }
                    }
                    if item < p.items {
                        let cell = self.cell(&found)?;
                        self.emit(item, cell)?;
                    }
                }
                for n in loops {
                    self.iterated(n)?;
                }
            }
        }
        Ok(())
    }

    /// Positions that a lane meets. Those of a block must all come after the blocks before, so
    /// that which block wins a tie is also where the first or last of equals is.
    fn scan(&self, s: Span, lane: u32, loops: &mut u64) -> Check<Vec<u32>> {
        let (lanes, e) = (self.pass.kernel.lanes, self.e);
        let begin = s.first + 1;
        let end = s.last.max(begin);
        let (mut at, end, step) = match self.pass.kernel.chunked {
            false => (begin + lane, end, lanes),
            true => {
                let run = (end - begin).div_ceil(lanes);
                let at = (begin + lane * run).min(end);
                (at, (at + run).min(end), 1)
            }
        };
        let mut found = self.edge(s.first, s.low(s.first, e), s.high(s.first, e))?;
        while at < end {
            *loops += 1;
            let last = end - 1;
            let block = [0, 1, 2, 3].map(|i| (at + i * step).min(last));
            ensure!(block[0] == at, "a block begins beyond the end");
            let mut positions = Vec::new();
            for v in block {
                positions.extend(self.vec4(v)?);
            }
            let met = found.iter().max().copied().unwrap_or(0);
            ensure!(
                positions.iter().all(|&p| p > met),
                "a block before one that was met"
            );
            found.extend(positions);
            at += 4 * step;
        }
        let last = self.edge(s.last, s.low(s.last, e), s.high(s.last, e))?;
        if s.last != s.first {
            let met = found.iter().max().copied().unwrap_or(0);
            ensure!(last.iter().all(|&p| p > met), "the edge is met too early");
            found.extend(last);
        }
        Ok(found)
    }

    /// The positions of a whole vec4, all of which count.
    fn vec4(&self, v: u32) -> Check<Vec<u32>> {
        let src = self.source()?;
        ensure!(
            (u64::from(v) + 1) * 16 <= src.bytes,
            "vec4 {v} of a binding of {} bytes",
            src.bytes
        );
        self.edge(v, 0, self.e)
    }

    /// The positions low..high of a vec4. Words outside of the binding are never among them,
    /// because elements outside of the view are refused when they are looked up.
    fn edge(&self, v: u32, low: u32, high: u32) -> Check<Vec<u32>> {
        ensure!(low < high && high <= self.e, "elements {low}..{high}");
        Ok((v * self.e + low..v * self.e + high).collect())
    }

    // columns.wgsl

    fn columns(&mut self) -> Check {
        let p = self.p;
        let e = self.e;
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        ensure!((p.width * e).is_multiple_of(p.inner), "wide rows cut a row");
        let wide = p.width * e;
        for item in self.invocations().filter(|&item| item < p.items) {
            let v = item % p.width;
            let part = item / p.width;
            let slice = part % p.slices;
            let outer = part / p.slices;
            let start = p.src_delta + outer * p.total;
            let (first, skew) = (start / e, start % e);
            let ends = skew + p.total;
            // What is beyond the matrix wraps, and is not used.
            let rows = ends.wrapping_sub(v * e).wrapping_add(wide - 1) / wide;
            let begin = slice * p.slice;
            let end = (begin + p.slice).min(rows);
            let mut loops = u64::from(e);
            let mut lists = vec![Vec::new(); e as usize];
            // The wide row that an empty column claims.
            let mut nothing = p.slices * p.slice + 1;
            if begin < end && ends > v * e {
                let at = (begin * p.width + v) * e;
                let low = at.max(skew) - at;
                self.take(&mut lists, first, v, begin, low, (at + e).min(ends) - at)?;
                nothing = begin + 1;
                let mut t = begin + 1;
                while t + 1 < end {
                    loops += 1;
                    let last = end - 2;
                    for i in 0..4 {
                        let t = (t + i).min(last);
                        self.vec4(first + t * p.width + v)?;
                        self.take(&mut lists, first, v, t, 0, e)?;
                    }
                    t += 4;
                }
                if begin + 1 < end {
                    let at = ((end - 1) * p.width + v) * e;
                    self.take(&mut lists, first, v, end - 1, 0, (at + e).min(ends) - at)?;
                }
            }
            self.iterated(loops)?;
            for (i, rows) in (0..).zip(lists) {
                let column = (v * e + i + wide - skew) % wide;
                let place = |t: u32| ((t * p.width + v) * e + i).wrapping_sub(skew);
                let index = |t: u32| {
                    let place = place(t);
                    ensure!(
                        place < p.total && place % p.inner == column % p.inner,
                        "column {column} of {wide} takes place {place}"
                    );
                    Ok((start + place, place / p.inner))
                };
                if rows.is_empty() && place(nothing) < p.total {
                    // The identity with a real index, which must be one of the segment.
                    let claim = index(nothing)?;
                    self.cell(&vec![claim])?;
                }
                let found = rows.into_iter().map(index).collect::<Check<Found>>()?;
                let cell = self.cell(&found)?;
                self.emit(part * wide + column, cell)?;
            }
        }
        Ok(())
    }

    /// Adds wide row `t` to the columns low..high of a vec4, in rising order or again.
    fn take(
        &self,
        lists: &mut [Vec<u32>],
        first: u32,
        v: u32,
        t: u32,
        low: u32,
        high: u32,
    ) -> Check {
        self.edge(first + t * self.p.width + v, low, high)?;
        for list in &mut lists[low as usize..high as usize] {
            let met = list.last().copied().unwrap_or(0);
            ensure!(t >= met, "wide row {t} after {met}");
            list.push(t);
        }
        Ok(())
    }

    // finish.wgsl

    fn finish(&mut self) -> Check {
        let p = self.p;
        let lanes = self.pass.kernel.lanes;
        let teams = self.wg / lanes;
        ensure!(
            lanes.is_power_of_two() && teams.is_multiple_of(4),
            "{lanes} lanes of {}",
            self.wg
        );
        let bytes = self.source()?.count;
        let mut read = vec![false; bytes as usize];
        for group in self.groups() {
            let first = group * teams;
            let mut bests = Vec::new();
            for team in 0..teams {
                let mut output = first + team;
                if self.per_word() > 1 {
                    output = self.output_at(0, output);
                }
                let o = output.min(p.items - 1);
                let outer = o / p.inner;
                let start = outer * p.len * p.inner + o - outer * p.inner;
                let mut from = Vec::new();
                for lane in 0..lanes {
                    let mut loops = u64::from(lanes.ilog2() + self.per_word());
                    let mut i = lane.min(p.len - 1);
                    loop {
                        let r = start + i * p.inner;
                        from.extend_from_slice(self.record(r)?);
                        read[r as usize] = true;
                        i = i.max(lane) + lanes;
                        if i >= p.len {
                            break;
                        }
                        loops += 1;
                    }
                    self.iterated(loops)?;
                }
                let cell = Cell::Of(from);
                if self.per_word() > 1 {
                    bests.push(cell);
                } else if output < p.items {
                    self.emit(o, cell)?;
                }
            }
            let per_word = self.per_word();
            for lid in (0..self.wg).filter(|lid| per_word > 1 && lid * per_word < teams) {
                let v = first / per_word + lid;
                let mut results = Vec::new();
                for j in 0..per_word {
                    if self.output_at(v, j) < p.items {
                        results.push((j, bests[(lid * per_word + j) as usize].clone()));
                    }
                }
                self.write_word(v, results)?;
            }
        }
        ensure!(read.iter().all(|&r| r), "records are left out");
        // The next step begins without them.
        self.machine.records[..read.len()].fill(None);
        Ok(())
    }

    // fill.wgsl

    fn fill(&mut self) -> Check {
        let p = self.p;
        for w in self.invocations() {
            if self.per_word() == 1 {
                if w < p.items {
                    let cell = match self.out().bytes() {
                        8 => Cell::Constant(p.fill),
                        _ => Cell::Constant(p.fill & 0xffff_ffff),
                    };
                    self.emit(w, cell)?;
                }
                continue;
            }
            let mut results = Vec::new();
            for j in 0..self.per_word() {
                if self.output_at(w, j) < p.items {
                    let element = (p.fill as u32) >> (32 - 8 * self.out().bytes());
                    results.push((j, Cell::Constant(element.into())));
                }
            }
            self.write_word(w, results)?;
            self.iterated(self.per_word().into())?;
        }
        Ok(())
    }

    // gather.wgsl

    fn gather_pass(&mut self) -> Check {
        let p = self.p;
        let mut words = std::collections::HashSet::new();
        for w in self.invocations() {
            let per_word = self.per_word();
            for j in 0..per_word {
                let o = match per_word {
                    1 => w,
                    _ => self.output_at(w, j),
                };
                if o < p.items {
                    ensure!(words.insert((w, j)), "result {j} of {w} is written twice");
                    let element = self.dst.at(p.dst_delta + o)?;
                    if per_word > 1 {
                        let place = (p.dst_delta / per_word + w) * per_word + j;
                        ensure!(self.dst.at(place)? == element, "byte {j} of word {w}");
                    }
                    self.take_indices(o, element)?;
                }
            }
            self.iterated(per_word.into())?;
        }
        Ok(())
    }

    /// What every index that output `o` may have would make it read.
    fn take_indices(&mut self, o: u32, output: u32) -> Check {
        let p = self.p;
        let words = self.pass.kernel.index_words;
        let Some(indices) = &self.indices else {
            return Err("no indices".into());
        };
        ensure!(
            indices.slot == Slot::Output(0) && u64::from(words) * 4 == indices.element,
            "indices of {words} words in {:?}",
            indices.slot
        );
        ensure!(
            indices.at(p.slice + o)? == output,
            "output {output} reads another's index"
        );
        for index in 0..self.machine.truth.len {
            let (lo, hi) = (index as u32, (index >> 32) as u32);
            let (base_lo, base_hi) = (p.base as u32, (p.base >> 32) as u32);
            let i = lo.wrapping_sub(base_lo);
            let high = hi
                .wrapping_sub(base_hi)
                .wrapping_sub(u32::from(lo < base_lo));
            let yes = high == 0 && i < p.len;
            let inside = index >= p.base && index - p.base < p.len.into();
            ensure!(yes == inside, "index {index} is in the box: {yes}");
            if yes {
                let outer = o / p.inner;
                let e = p.src_delta + (outer * p.len + i) * p.inner + o - outer * p.inner;
                self.gather(o, e, index)?;
            }
        }
        Ok(())
    }
}

/// `Span` of rows.wgsl.
#[derive(Clone, Copy)]
struct Span {
    begin: u32,
    end: u32,
    first: u32,
    last: u32,
}

impl Span {
    fn new(begin: u32, len: u32, e: u32) -> Span {
        Span {
            begin,
            end: begin + len,
            first: begin / e,
            last: (begin + len - 1) / e,
        }
    }

    fn low(self, v: u32, e: u32) -> u32 {
        (v * e).max(self.begin) - v * e
    }

    fn high(self, v: u32, e: u32) -> u32 {
        (v * e + e).min(self.end) - v * e
    }
}
