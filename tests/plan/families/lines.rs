//! `small_rows.wgsl` and `panels.wgsl` over `lines.wgsl`: segments side by side whose results are whole vec4.

use super::super::interpret::{Check, Found, Run, ensure};
use super::TEAM;

/// Where a panel begins, in units of the rows: elements, or panels of whole vec4.
#[derive(Clone, Copy)]
struct Start {
    matrix: u32,
    at: u32,
}

impl Start {
    fn further(self, matrices: u32, units: u32, row: u32) -> Start {
        let at = self.at + units;
        let wraps = at >= row;
        Start {
            matrix: self.matrix + matrices + u32::from(wraps),
            at: at - if wraps { row } else { 0 },
        }
    }
}

impl Run<'_, '_> {
    /// The lines of an invocation.
    fn lines(&self, invocation: u32, lines: u32) -> impl Iterator<Item = u32> + use<> {
        let p = self.p;
        let team = invocation / p.team;
        let first = team * p.team * p.coarsening + invocation - team * p.team;
        let end = (first + p.team * p.coarsening).min(lines);
        (first..end).step_by(p.team as usize)
    }

    /// Writes the results of a line's segments.
    fn write_line(&mut self, v: u32, found: &[Found]) -> Check {
        let (e, size) = (self.e, self.out().bytes());
        let begins = u64::from(self.p.dst_delta) * size;
        ensure!(begins.is_multiple_of(16), "results begin at byte {begins}");
        let bytes = u64::from(e) * size;
        ensure!(bytes.is_multiple_of(16), "lines of {bytes} bytes");
        for (j, segment) in (0..e).zip(found) {
            let cell = self.cell(segment)?;
            self.emit(v * e + j, cell)?;
        }
        Ok(())
    }

    /// Checks that an invocation takes one item, unless the kernel has a loop over items.
    pub(super) fn coarsened(&self, coarsened: bool, items: u32) -> Check {
        ensure!(coarsened == (items > 1), "{items} items a lane");
        Ok(())
    }

    pub(super) fn small_rows(&mut self, times: u32, coarsened: bool) -> Check {
        let (p, e) = (self.p, self.e);
        self.coarsened(coarsened, p.coarsening)?;
        ensure!(times == 0 || times == p.len, "written out for {times}");
        for invocation in self.invocations() {
            let mut loops = 0;
            for v in self.lines(invocation, p.items) {
                loops += 1 + u64::from(if times == 0 { p.len } else { 0 });
                let mut positions = Vec::new();
                for i in 0..p.len {
                    positions.extend(self.vec4(p.src_delta / e + v * p.len + i)?);
                }
                let rows = positions.chunks(p.len as usize);
                let found = rows.map(|row| row.iter().copied().zip(0..).collect());
                self.write_line(v, &found.collect::<Vec<_>>())?;
            }
            self.iterated(loops)?;
        }
        Ok(())
    }

    pub(super) fn panels(
        &mut self,
        [lanes, runs]: [u32; 2],
        loose: bool,
        coarsened: bool,
    ) -> Check {
        let (p, e) = (self.p, self.e);
        self.coarsened(coarsened, p.coarsening)?;
        ensure!(lanes == 1 || lanes == TEAM && !loose, "{lanes} share it");
        let abreast = runs.max(1);
        let (units, row) = if loose {
            (abreast * e, p.inner)
        } else {
            (1, p.slices)
        };
        if !loose {
            ensure!(p.width * e == p.inner, "{} vec4 a row", p.width);
            let panels = p.width.div_ceil(lanes * runs);
            ensure!(p.slices == panels, "{} of {panels} panels", p.slices);
            let whole = lanes > 1 || p.width.is_multiple_of(runs);
            ensure!(whole, "{runs} of {} vec4", p.width);
        }
        for invocation in self.invocations() {
            let items: Vec<u32> = self.lines(invocation / lanes, p.items).collect();
            let Some(&first) = items.first() else {
                continue;
            };
            let at = first * units;
            let (matrix, at) = (at / row, at % row);
            let mut start = Start { matrix, at };
            let step = p.team * units;
            let mut loops = 0;
            for i in items {
                loops += 1 + match loose {
                    true => self.loose_panel(i, start, runs)?,
                    false => self.whole_panel(start, [lanes, runs], invocation % lanes)?,
                };
                start = start.further(step / row, step % row, row);
            }
            self.iterated(loops)?;
        }
        Ok(())
    }

    /// What an invocation takes of a panel of whole vec4; returns how often it looped.
    fn whole_panel(&mut self, s: Start, [lanes, runs]: [u32; 2], lane: u32) -> Check<u64> {
        let p = self.p;
        let mut loops = u64::from(p.len);
        let begin = s.at * lanes * runs + lane;
        for v in (0..runs)
            .map(|r| begin + r * lanes)
            .filter(|&v| v < p.width)
        {
            let first = p.src_delta / self.e + s.matrix * p.len * p.width;
            let found = self.column_vec(first + v)?;
            loops += self.write_column(s.matrix * p.width + v, &found)?;
        }
        Ok(loops)
    }

    /// A panel that begins anywhere; returns how often it looped.
    fn loose_panel(&mut self, i: u32, s: Start, runs: u32) -> Check<u64> {
        let (p, e, abreast) = (self.p, self.e, runs.max(1));
        let by_vec = self.fits(runs, s)?;
        let mut loops = u64::from(if by_vec { p.len } else { 0 });
        let mut line = s;
        // A panel that is read by vec4 has no more lines than there are.
        let end = (i + 1) * abreast;
        for v in i * abreast..if by_vec { end } else { end.min(p.total) } {
            let found = match by_vec {
                true => self.shifted_line(line)?,
                false => self.loose_line(line)?,
            };
            loops += u64::from(if by_vec { 0 } else { p.len + e });
            loops += self.write_column(v, &found)?;
            line = line.further(0, e, p.inner);
        }
        Ok(loops)
    }

    /// Writes what is found in a vec4 of columns; returns how often it looped.
    fn write_column(&mut self, v: u32, found: &[Found]) -> Check<u64> {
        self.write_line(v, found)?;
        let partial = self.out().is_partial();
        Ok(u64::from(partial) * u64::from(self.e))
    }

    /// Where the first element of a line is.
    fn place(&self, s: Start) -> u32 {
        self.p.src_delta + s.matrix * self.p.len * self.p.inner + s.at
    }

    /// Whether a panel is read by vec4.
    fn fits(&self, runs: u32, s: Start) -> Check<bool> {
        let (p, e) = (self.p, self.e);
        let last = (self.place(s) + (p.len - 1) * p.inner) / e + runs;
        let inside = u64::from(last) < self.source()?.bytes / 16;
        Ok(runs > 0 && s.at + runs * e <= p.inner && inside)
    }

    /// All rows of a line that lies in one matrix, each from two vec4.
    fn shifted_line(&self, s: Start) -> Check<Vec<Found>> {
        let mut found = vec![Found::new(); self.e as usize];
        for t in 0..self.p.len {
            let at = self.place(s) + t * self.p.inner;
            let mut pair = self.vec4(at / self.e)?;
            pair.extend(self.vec4(at / self.e + 1)?);
            let columns = found.iter_mut().zip(&pair[(at % self.e) as usize..]);
            columns.for_each(|(column, &position)| column.push((position, t)));
        }
        Ok(found)
    }

    /// All rows of a vec4 of columns.
    fn column_vec(&self, first: u32) -> Check<Vec<Found>> {
        let p = self.p;
        let mut found = vec![Found::new(); self.e as usize];
        for t in 0..p.len {
            let row = self.vec4(first + t * p.width)?;
            let columns = found.iter_mut().zip(row);
            columns.for_each(|(column, position)| column.push((position, t)));
        }
        Ok(found)
    }

    fn loose_line(&self, s: Start) -> Check<Vec<Found>> {
        let p = self.p;
        let mut start = s;
        let column = |_| {
            let at = self.place(start);
            start = start.further(0, 1, p.inner);
            (0..p.len).map(|t| (at + t * p.inner, t)).collect()
        };
        let columns: Vec<Found> = (0..self.e).map(column).collect();
        // The shader loads row by row.
        for t in 0..p.len as usize {
            self.loads_each(&columns.iter().map(|column| column[t]).collect())?;
        }
        Ok(columns)
    }
}
