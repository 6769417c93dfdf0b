//! `columns.wgsl`: segments side by side, some of them an invocation.

use super::super::interpret::{Found, Run};
use super::super::memory::{Check, ensure};
use wgreduce::unstable::ColumnsText;

impl Run<'_, '_> {
    pub fn columns(&mut self, text: ColumnsText) -> Check {
        let p = self.p;
        let ColumnsText {
            loads,
            runs,
            words,
            shared,
            shifted,
            writes_vecs,
        } = text;
        let columns = words * 32 / self.pass.kernel.acc.bits();
        ensure!(columns > 0, "{words} words hold no element");
        ensure!(
            p.width * columns == p.joined * p.inner && p.width <= p.row_units,
            "{} units of {columns} for {} rows of {}",
            p.width,
            p.joined,
            p.inner
        );
        ensure!(shared == (p.team > 1), "{} slices in a part", p.team);
        let narrow = words == 1 && columns > 1;
        ensure!(!shifted || narrow, "{words} words are shifted");
        let several = !shared && p.width >= runs;
        ensure!(runs == 1 || several, "{runs} of {} units", p.width);
        ensure!(
            (1..=p.slice_rows).contains(&loads) && p.rows >= loads * p.team,
            "{loads} loads of {} rows, {} slices of {}",
            p.rows,
            p.team,
            p.slice_rows
        );
        let bytes = self.src.as_ref().map_or(0, |src| src.bytes);
        ensure!(bytes >= 4 * u64::from(words), "no unit in the binding");
        if !self.out().is_partial() {
            let (size, align) = (self.out().bytes(), if writes_vecs { 16 } else { 4 });
            let whole = |n: u32| (u64::from(n) * size).is_multiple_of(align);
            ensure!(whole(p.dst_delta) && whole(columns), "parts of a word");
            ensure!(p.parts == 1 && p.joined == 1, "results of several parts");
        }
        if !shared {
            let across = p.width.div_ceil(runs);
            for id in self.invocations().filter(|&id| id < p.items) {
                let (part, own) = (id / across, id % across * runs);
                // The last run of a row begins with units of the one before.
                let first = own.min(p.width - runs);
                // The loop over rows is one for all units, those of sums are not.
                let mut all = 0;
                for unit in first..first + runs {
                    let (found, loops) = self.columns_unit(part, 0, unit, text)?;
                    match self.pass.kernel.acc.sum() {
                        Some(_) => all += loops,
                        None => all = loops,
                    }
                    if unit >= own {
                        self.emit_unit(part, unit, &found)?;
                    }
                }
                self.dispatch.iterated(all)?;
            }
            return Ok(());
        }
        ensure!(
            p.team * p.abreast <= self.wg && p.abreast <= p.width,
            "{} slices of {} units in a workgroup",
            p.team,
            p.abreast
        );
        let chunks = p.width.div_ceil(p.abreast);
        for item in self.dispatch.groups().filter(|&item| item < p.items) {
            let (part, first) = (item / chunks, item % chunks * p.abreast);
            let units = p.abreast.min(p.width - first);
            let mut all = vec![vec![Found::new(); columns as usize]; units as usize];
            for lid in 0..self.wg {
                self.now.set(item * self.wg + lid);
                let (lane, own) = ((lid / p.abreast).min(p.team - 1), lid % p.abreast);
                let unit = (first + own).min(p.width - 1);
                let (found, loops) = self.columns_unit(part, lane, unit, text)?;
                // Each plane is merged by a tree.
                let tree = u64::from(p.team.next_power_of_two().ilog2());
                let planes = u64::from((32 / self.pass.kernel.acc.bits()).max(2));
                self.dispatch.iterated(loops + tree * planes)?;
                // Those without a slice only repeat one.
                if lid < p.team * p.abreast && own < units {
                    let merged = all[own as usize].iter_mut().zip(found);
                    merged.for_each(|(all, own)| all.extend(own));
                }
            }
            for (unit, found) in (first..).zip(&all) {
                self.emit_unit(part, unit, found)?;
            }
        }
        Ok(())
    }

    /// The elements that an invocation finds in each column of a unit, and its iterations.
    fn columns_unit(
        &self,
        part: u32,
        lane: u32,
        unit: u32,
        text: ColumnsText,
    ) -> Check<(Vec<Found>, u64)> {
        let p = self.p;
        let ColumnsText { loads, words, .. } = text;
        let columns = words * 32 / self.pass.kernel.acc.bits();
        let (matrix, slice) = (part / p.parts, part % p.parts);
        let first = slice * p.slice_rows * p.team;
        let begin = first.min(p.rows - loads * p.team);
        let end = (first + p.slice_rows * p.team).min(p.rows);
        let count = (end - begin - lane).div_ceil(p.team);
        let again = ((first - begin).max(lane) - lane).div_ceil(p.team);
        ensure!(first < end && count >= loads, "a slice of {count} rows");
        let origin = p.src_delta + matrix * p.len * p.pitch;
        let whole = text.shifted || origin.is_multiple_of(columns);
        ensure!(whole, "a unit within another");
        let start = origin + ((begin + lane) * p.row_units + unit) * columns;
        let mut found = vec![Found::new(); columns as usize];
        // Rows are taken again only if those after them are.
        let (mut loops, mut taken) = (0, 0);
        for row in (0..count).step_by(loads as usize) {
            loops += 1;
            let t = row.min(count - loads);
            ensure!(t <= taken && t + loads > taken, "row {t} after {taken}");
            taken = t + loads;
            for t in t..t + loads {
                let at = start + t * p.team * p.row_units * columns;
                self.loads_unit(at, words)?;
                // What is added counts once.
                if self.adds() && t < row.max(again) {
                    continue;
                }
                let wide = begin + lane + t * p.team;
                for (i, found) in (0..columns).zip(&mut found) {
                    let joined = (unit * columns + i) / p.inner;
                    found.push((at + i, wide * p.joined + joined));
                }
            }
        }
        ensure!(taken == count, "{taken} rows of {count}");
        // Where digits do not hold the elements, one invocation takes the columns of a part, one after the other.
        let again = u64::from(columns) * self.far_loops(end - first);
        Ok((found, loops + self.block_loops(loops, loads) + again))
    }

    /// Notes the loads of a unit that begins with element `at`.
    fn loads_unit(&self, at: u32, words: u32) -> Check {
        let src = self.source()?;
        let end = u64::from(at) * src.element + 4 * u64::from(words);
        ensure!(end <= src.bytes, "a unit to {end} of {}", src.bytes);
        match words {
            4 => self.loads(0, src, at),
            _ => (0..words).for_each(|_| self.loads(0, src, at)),
        }
        // The rest of a unit that begins within a word.
        let columns = words * 32 / self.pass.kernel.acc.bits();
        if !at.is_multiple_of(columns) {
            self.loads(0, src, at + columns - 1);
        }
        Ok(())
    }

    fn emit_unit(&mut self, part: u32, unit: u32, found: &[Found]) -> Check {
        let columns = found.len() as u32;
        let slot = (part * self.p.width + unit) * columns;
        for (i, found) in (slot..).zip(found) {
            let cell = self.cell(found)?;
            self.emit(i, cell)?;
        }
        Ok(())
    }
}
