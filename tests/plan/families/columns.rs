//! `columns.wgsl` over `slices.wgsl`: segments side by side, as wide rows of whole vec4.

use super::super::interpret::{Check, Found, Run, ensure};
use super::{BLOCK, FEW, TEAM};

#[derive(Clone, Copy)]
struct Slice {
    start: u32,
    first: u32,
    skew: u32,
    ends: u32,
    begin: u32,
    end: u32,
    low: u32,
    high: u32,
    blocks: u32,
    part: u32,
}

impl Run<'_, '_> {
    pub(super) fn columns(&mut self, runs: u32, ragged: bool) -> Check {
        let p = self.p;
        self.matrix()?;
        let stride = if runs == 1 { 1 } else { TEAM };
        let covered = p.team * runs;
        ensure!(p.width <= covered, "{covered} of {} vec4", p.width);
        for item in self.items() {
            let mut s = self.slice_of(item / p.team);
            let whole = s.low == s.begin && s.high == s.end;
            ensure!(ragged || whole, "a slice that is ragged");
            // The kernel takes more than eight vec4 one row at a time.
            if runs > 8 {
                s.blocks = s.low;
            }
            let lane = item % p.team;
            let first = lane / stride * (stride * runs) + lane % stride;
            // Runs share the loops over whole rows.
            let shared = self.whole_loops(s);
            let mut loops = shared;
            for j in 0..runs {
                loops += 1;
                let v = first + j * stride;
                if v < p.width {
                    let mut own = 0;
                    let found = self.column(s, v, &mut own)?;
                    for (i, found) in (v * self.e..).zip(found) {
                        self.column_emit(s, s.part, i, &found)?;
                    }
                    loops += own - shared;
                }
            }
            self.iterated(loops)?;
        }
        Ok(())
    }

    /// Slices that a workgroup takes side by side, and merges.
    pub(super) fn shared_columns(&mut self, ragged: bool) -> Check {
        let p = self.p;
        self.matrix()?;
        let lanes = p.team;
        let (shared, abreast) = (self.wg / lanes, p.width.div_ceil(lanes));
        ensure!(
            shared.is_power_of_two() && shared > 1 && p.slices.is_multiple_of(shared),
            "{shared} of {} slices",
            p.slices
        );
        ensure!(lanes.is_power_of_two(), "{lanes} abreast");
        for team in self.groups().filter(|&team| team < p.items) {
            let first = team / abreast * shared;
            for lane in 0..lanes {
                let v = team % abreast * lanes + lane;
                if v >= p.width {
                    continue;
                }
                let mut found = vec![Found::new(); self.e as usize];
                let mut most = 0;
                for slice in 0..shared {
                    self.now.set(team * self.wg + slice * lanes + lane);
                    let s = self.slice_of(first + slice);
                    let whole = s.low == s.begin && s.high == s.end;
                    ensure!(ragged || whole, "a slice that is ragged");
                    let mut loops = 4 * u64::from(shared.ilog2());
                    for (all, own) in found.iter_mut().zip(self.column(s, v, &mut loops)?) {
                        all.extend(own);
                    }
                    most = most.max(loops);
                }
                self.iterated(most)?;
                let s = self.slice_of(first);
                for (i, found) in (v * self.e..).zip(found) {
                    self.column_emit(s, first / shared, i, &found)?;
                }
            }
        }
        Ok(())
    }

    fn matrix(&self) -> Check {
        let p = &self.p;
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        ensure!(
            (p.width * self.e).is_multiple_of(p.inner),
            "wide rows cut a row"
        );
        ensure!(p.total == p.len * p.inner, "a matrix of {}", p.total);
        Ok(())
    }

    fn slice_of(&self, part: u32) -> Slice {
        let p = &self.p;
        let outer = part / p.slices;
        let start = p.src_delta + outer * p.total;
        let skew = start % self.e;
        let ends = skew + p.total;
        let wide = p.width * self.e;
        let begin = (part - outer * p.slices) * p.slice;
        let end = (begin + p.slice).min(ends.div_ceil(wide)).max(begin);
        let low = begin + u32::from(begin == 0 && skew > 0);
        let high = end.min(ends / wide).max(low);
        let few = high - low <= FEW;
        Slice {
            start,
            first: start / self.e,
            skew,
            ends,
            begin,
            end,
            low,
            high,
            blocks: if few {
                low
            } else {
                high - (high - low) % BLOCK
            },
            part,
        }
    }

    /// Iterations of the loops over whole rows.
    fn whole_loops(&self, s: Slice) -> u64 {
        u64::from((s.blocks - s.low) / BLOCK + s.high - s.blocks)
    }

    /// The elements that a slice takes of each column of vec4 `v`.
    fn column(&self, s: Slice, v: u32, loops: &mut u64) -> Check<Vec<Found>> {
        let (p, e) = (self.p, self.e);
        // For each column, the rows that were taken, each with the row that the kernel remembers.
        let mut lists: Vec<Vec<(u32, u32)>> = vec![Vec::new(); e as usize];
        // The wide row that a column claims if it has taken nothing.
        let mut nothing = p.slices * p.slice;
        if s.begin < s.end {
            nothing = s.low;
        }
        // The first row, if the matrix lacks some of it.
        if s.low > s.begin {
            let at = (s.begin * p.width + v) * e;
            let low = at.max(s.skew) - at;
            let high = (at + e).min(s.ends.max(at)) - at;
            self.take(&mut lists, [s.begin, s.begin], low, high)?;
            nothing = s.begin + 1;
        }
        for t in (s.low..s.blocks).step_by(BLOCK as usize) {
            let at = s.first + t * p.width + v;
            for i in 0..BLOCK {
                self.vec4(at + i * p.width)?;
                self.take(&mut lists, [t, t + i], 0, e)?;
            }
        }
        for t in s.blocks..s.high {
            self.vec4(s.first + t * p.width + v)?;
            self.take(&mut lists, [t, t], 0, e)?;
        }
        *loops += self.whole_loops(s);
        // The last row, if the matrix lacks some of it.
        if s.high < s.end {
            let at = ((s.end - 1) * p.width + v) * e;
            let high = (at + e).min(s.ends.max(at)) - at;
            self.take(&mut lists, [s.end - 1, s.end - 1], 0, high)?;
        }
        let of = |(i, taken)| {
            *loops += 1;
            if self.pass.kernel.index {
                *loops += u64::from(BLOCK);
            }
            self.column_found(s, v * e + i, nothing, taken)
        };
        (0..).zip(lists).map(of).collect()
    }

    /// Writes the result of column `i` of the wide rows.
    fn column_emit(&mut self, s: Slice, part: u32, i: u32, found: &Found) -> Check {
        let wide = self.p.width * self.e;
        let cell = self.cell(found)?;
        self.emit(part * wide + (i + wide - s.skew) % wide, cell)
    }

    /// The elements that were taken of column `i` of the wide rows, with their indices.
    fn column_found(&self, s: Slice, i: u32, nothing: u32, taken: Vec<(u32, u32)>) -> Check<Found> {
        let p = self.p;
        let wide = p.width * self.e;
        let column = (i + wide - s.skew) % wide;
        let place = |t: u32| (t * wide + i).wrapping_sub(s.skew);
        let index = |t: u32| {
            let place = place(t);
            ensure!(
                place < p.total && place % p.inner == column % p.inner,
                "column {column} of {wide} takes place {place}"
            );
            Ok((s.start + place, place / p.inner))
        };
        if self.pass.kernel.index {
            self.sought(s, &taken)?;
            // A column that took nothing better than what it began with.
            let claims = taken.first().is_none_or(|&(block, _)| block > s.begin);
            if claims && place(nothing) < p.total {
                // It claims the identity with a real index, which must be in the segment, and the first that was taken.
                let claim = index(nothing)?;
                self.cell(&vec![claim])?;
                let first = taken.first().map(|&(block, _)| block);
                ensure!(first.is_none_or(|b| b == nothing), "{first:?} is claimed");
            }
        }
        taken.into_iter().map(|(_, t)| index(t)).collect()
    }

    /// Adds wide row `t`, remembered as `block`, to the columns low..high of a vec4. Rows must rise or repeat.
    fn take(
        &self,
        lists: &mut [Vec<(u32, u32)>],
        [block, t]: [u32; 2],
        low: u32,
        high: u32,
    ) -> Check {
        ensure!(high <= self.e, "elements {low}..{high}");
        for list in lists.iter_mut().take(high as usize).skip(low as usize) {
            let met = list.last().map_or(0, |&(_, t)| t);
            ensure!(t >= met, "wide row {t} after {met}");
            list.push((block, t));
        }
        Ok(())
    }

    /// `column_row` searches all rows of a column's block first, and beyond them only rows that were taken later: if
    /// the last of equals wins, an equal there would have won.
    fn sought(&self, s: Slice, taken: &[(u32, u32)]) -> Check {
        let mut at = 0;
        for of_block in taken.chunk_by(|a, b| a.0 == b.0) {
            let block = of_block[0].0;
            let looked = match block < s.low || block >= s.blocks {
                true => block..block + 1,
                false => block..block + BLOCK,
            };
            let rows = taken[at..].iter().map(|&(_, t)| t);
            ensure!(
                looked.len() >= of_block.len() && looked.clone().eq(rows.take(looked.len())),
                "the {} rows of {block} are sought in {looked:?}",
                of_block.len()
            );
            at += of_block.len();
        }
        Ok(())
    }
}
