//! `rows.wgsl` over `units.wgsl`: contiguous segments, each shared by a team of invocations, or several taken whole by one.

use super::super::interpret::{Cell, Found, Run};
use super::super::memory::{Check, ensure};
use wgreduce::unstable::RowsText;

/// A row, or a slice of one, which begins with element `begin` of the binding.
#[derive(Clone, Copy)]
struct Part {
    begin: u32,
    first: u32,
    units: u32,
    lead: u32,
    len: u32,
    skip: u32,
}

impl Part {
    /// Elements of the part, each with its index in the row.
    fn elements(self, from: u32, count: u32) -> impl Iterator<Item = (u32, u32)> {
        let index = self.skip + from - self.begin;
        (from..from + count).zip(index..)
    }
}

impl Run<'_, '_> {
    pub(super) fn rows(&mut self, text: RowsText) -> Check {
        ensure!(self.per(text) > 0, "elements of several units");
        match text.rows {
            0 => self.shared_rows(text),
            _ => self.several_rows(text),
        }
    }

    /// Elements of a unit.
    fn per(&self, text: RowsText) -> u32 {
        32 * text.words / self.pass.kernel.acc.bits()
    }

    /// The positions of a unit, all of which are in the binding.
    fn row_unit(&self, text: RowsText, u: u32) -> Check<std::ops::Range<u32>> {
        let (src, per) = (self.source()?, self.per(text));
        ensure!(
            (u64::from(u) + 1) * u64::from(4 * text.words) <= src.bytes,
            "unit {u} of a binding of {} bytes",
            src.bytes
        );
        self.loads(0, src, u * per);
        Ok(u * per..(u + 1) * per)
    }

    fn row_part(&self, text: RowsText, item: u32) -> Check<Part> {
        let (p, per) = (self.p, self.per(text));
        let (row, skip) = match text.looped {
            true => (item / p.slices, item % p.slices * p.slice),
            false => (item, 0),
        };
        ensure!(text.looped || p.slices == 1, "slices without a loop");
        ensure!(skip < p.len, "slice {item} begins at {skip} of {}", p.len);
        let len = p.slice.min(p.len - skip);
        ensure!(text.looped || len == p.len, "a part of a row");
        let begin = p.src_delta + row * p.len + skip;
        let first = begin.div_ceil(per);
        let units = ((begin + len) / per).checked_sub(first);
        let part = Part {
            begin,
            first,
            units: units.unwrap_or(0),
            lead: first * per - begin,
            len,
            skip,
        };
        let whole = part.lead == 0 && len.is_multiple_of(per);
        ensure!(text.masked || whole, "a row that is not whole units");
        ensure!(part.units > 0, "a row without a whole unit");
        Ok(part)
    }

    /// What an invocation takes of a row.
    fn reduced(&self, text: RowsText, item: u32, lane: u32) -> Check<Found> {
        let part = self.row_part(text, item)?;
        let (per, last) = (self.per(text), part.units - 1);
        let mut found = Found::new();
        if text.masked {
            // Each of the pieces of the units around the whole ones is taken by one invocation.
            let piece = (32 / self.pass.kernel.acc.bits()).max(1);
            let pieces = per / piece;
            for number in (lane..2 * pieces).step_by(text.lanes as usize) {
                let ahead = part.first.wrapping_sub(1);
                let (unit, begin, end) = match number < pieces {
                    true => (ahead, part.begin, part.begin + part.lead),
                    false => {
                        let behind = part.first + part.units;
                        (behind, behind * per, part.begin + part.len)
                    }
                };
                let from = unit.wrapping_mul(per).wrapping_add(number % pieces * piece);
                let own = (from..from.saturating_add(piece)).filter(|at| (begin..end).contains(at));
                found.extend(own.flat_map(|at| part.elements(at, 1)));
            }
        }
        let block = text.lanes * text.loads;
        ensure!(text.looped || part.units <= block, "a loop is missing");
        for base in (0..part.units).step_by(block as usize) {
            for i in 0..text.loads {
                let number = base + lane + i * text.lanes;
                let clamped = text.looped || i + 1 == text.loads;
                ensure!(clamped || number <= last, "unit {number} of {last}");
                let unit = self.row_unit(text, part.first + number.min(last))?;
                // Past the end a sum takes nothing, an order the last unit again.
                if number <= last || !self.adds() {
                    found.extend(part.elements(unit.start, per));
                }
            }
        }
        Ok(found)
    }

    /// Checks that positions fit below the keys that they are packed with: those within an invocation's loads, and, unless
    /// it takes several blocks, those in a row.
    fn positions_fit(&self, text: RowsText, len: u32) -> Check {
        let kernel = &self.pass.kernel;
        if kernel.acc.has_index() && kernel.acc.bits() < 32 {
            let most = 1 << (32 - kernel.acc.bits());
            let loaded = match text.rows {
                0 => text.lanes * text.loads * self.per(text),
                _ => text.len,
            };
            ensure!(loaded <= most, "{loaded} positions at once");
            ensure!(text.looped || len <= most, "{len} positions in a row");
        }
        Ok(())
    }

    fn shared_rows(&mut self, text: RowsText) -> Check {
        let (p, wg, lanes) = (self.p, self.wg, text.lanes);
        let right = lanes.is_power_of_two() && lanes <= wg && text.loads > 0;
        ensure!(right, "{lanes} lanes of {wg}");
        self.positions_fit(text, p.len)?;
        let (teams, per_word) = (wg / lanes, self.per_word());
        ensure!(teams.is_multiple_of(per_word), "a part of a word");
        for group in self.dispatch.groups() {
            let first = group * teams;
            let mut bests = Vec::new();
            for team in 0..teams {
                let item = match per_word {
                    1 => first + team,
                    _ => self.output_at(0, first + team),
                };
                let mut found = Found::new();
                for lane in 0..lanes {
                    // Teams without an item repeat the last one and write nothing.
                    let own = (group * wg + team * lanes + lane, u32::MAX);
                    self.now.set(if item < p.items { own.0 } else { own.1 });
                    found.extend(self.reduced(text, item.min(p.items - 1), lane)?);
                }
                let cell = self.cell(&found)?;
                if per_word > 1 {
                    bests.push(cell);
                } else if item < p.items {
                    self.emit(item, cell)?;
                }
            }
            if per_word > 1 {
                self.write_bests(first, &bests)?;
            }
        }
        let units = p.slice / self.per(text);
        let blocks = units.div_ceil(lanes * text.loads).max(1) - 1;
        let gathered = if per_word > 1 { per_word } else { 0 };
        let taken = u64::from(blocks + 1 + lanes.ilog2());
        let again = self.block_loops(taken, text.loads) + self.far_loops(p.slice.div_ceil(lanes));
        self.dispatch
            .iterated(u64::from(blocks + lanes.ilog2() + gathered) + again)
    }

    /// An invocation takes whole rows, whose results are whole words.
    fn several_rows(&mut self, text: RowsText) -> Check {
        let (p, per, each) = (self.p, self.per(text), text.rows);
        let bytes = self.out().bytes() as u32;
        ensure!(
            text.len == p.len && each * p.len == text.loads * per,
            "{each} rows of {} in {} units",
            p.len,
            text.loads
        );
        ensure!(p.src_delta.is_multiple_of(per), "rows begin within a unit");
        let whole = !self.out().is_partial() && (each * bytes).is_multiple_of(4);
        ensure!(whole, "results of {bytes} bytes");
        let vecs = (each * bytes).is_multiple_of(16);
        ensure!(
            (p.dst_delta * bytes).is_multiple_of(if vecs { 16 } else { 4 }),
            "results begin at byte {}",
            p.dst_delta * bytes
        );
        self.positions_fit(text, p.len)?;
        for item in self.items() {
            let first = p.src_delta / per + item * text.loads;
            for u in first..first + text.loads {
                self.row_unit(text, u)?;
            }
            let row = |r: u32| {
                let begin = first * per + r * p.len;
                self.cell(&(begin..begin + p.len).zip(0..).collect())
            };
            let cells = (0..each).map(row).collect::<Check<Vec<Cell>>>()?;
            let per_word = self.per_word();
            for (n, cells) in (0..).zip(cells.chunks(per_word as usize)) {
                let cells = (0..).zip(cells.iter().cloned()).collect();
                match per_word {
                    1 => self.write(item * each + n, cells)?,
                    _ => self.write_word(item * each / per_word + n, cells)?,
                }
            }
        }
        self.dispatch
            .iterated(u64::from(each) * (self.block_loops(1, 1) + self.far_loops(p.len)))
    }
}
