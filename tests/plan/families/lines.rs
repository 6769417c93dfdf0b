//! `small_rows.wgsl`, `shallow.wgsl`, `panels.wgsl` over `line.wgsl`: segments side by side whose results
//! are whole vec4.

use super::super::interpret::{Check, Found, Run, ensure};
use super::TEAM;
use wgreduce::unstable::StoreFormat;

/// Where the first column of a line is.
#[derive(Clone, Copy)]
struct Start {
    matrix: u32,
    column: u32,
}

impl Start {
    fn further(self, matrices: u32, columns: u32, width: u32) -> Start {
        let column = self.column + columns;
        let wraps = column >= width;
        Start {
            matrix: self.matrix + matrices + u32::from(wraps),
            column: column - if wraps { width } else { 0 },
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

    /// Writes the partials of the columns of vec4 `v`.
    fn leave_partials(&mut self, v: u32, found: &[Found]) -> Check {
        for (j, column) in (0..self.e).zip(found) {
            let cell = self.cell(column)?;
            self.emit(v * self.e + j, cell)?;
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

    pub(super) fn shallow(&mut self, runs: u32, loose: bool, coarsened: bool) -> Check {
        let (p, e) = (self.p, self.e);
        self.coarsened(coarsened, p.coarsening)?;
        let (size, width) = if loose { (e, p.inner) } else { (1, p.width) };
        let abreast = runs.max(1);
        if !loose {
            ensure!(p.width * e == p.inner, "{} vec4 a row", p.width);
            ensure!(p.width.is_multiple_of(runs), "{runs} of {} vec4", p.width);
        }
        for invocation in self.invocations() {
            let items: Vec<u32> = self.lines(invocation, p.items.div_ceil(abreast)).collect();
            let Some(&first) = items.first() else {
                continue;
            };
            let at = first * abreast * size;
            let (matrix, column) = (at / width, at % width);
            let mut start = Start { matrix, column };
            let step = p.team * abreast * size;
            let mut loops = 0;
            for i in items {
                let by_vec = !loose || self.fits(runs, start)?;
                loops += 1 + u64::from(if by_vec { p.len } else { 0 });
                let mut line = start;
                // A run that is read by vec4 has no more lines than there are.
                let end = (i + 1) * abreast;
                for v in i * abreast..if by_vec { end } else { end.min(p.items) } {
                    let found = match (loose, by_vec) {
                        (false, _) => self.whole_line(line)?,
                        (_, true) => self.shifted_line(line)?,
                        _ => self.loose_line(line)?,
                    };
                    loops += u64::from(if by_vec { 0 } else { p.len + e });
                    if self.out() == StoreFormat::Partial {
                        loops += u64::from(e);
                        self.leave_partials(v, &found)?;
                    } else {
                        self.write_line(v, &found)?;
                    }
                    line = line.further(0, size, width);
                }
                start = start.further(step / width, step % width, width);
            }
            self.iterated(loops)?;
        }
        Ok(())
    }

    /// Where the first element of a line is.
    fn place(&self, s: Start) -> u32 {
        self.p.src_delta + s.matrix * self.p.len * self.p.inner + s.column
    }

    /// Whether a run of lines is read by vec4.
    fn fits(&self, runs: u32, s: Start) -> Check<bool> {
        let (p, e) = (self.p, self.e);
        let last = (self.place(s) + (p.len - 1) * p.inner) / e + runs;
        let inside = u64::from(last) < self.source()?.bytes / 16;
        Ok(runs > 0 && s.column + runs * e <= p.inner && inside)
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

    fn whole_line(&self, s: Start) -> Check<Vec<Found>> {
        let p = self.p;
        let first = p.src_delta / self.e + s.matrix * p.len * p.width + s.column;
        self.column_vec(first)
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

    pub(super) fn panels(&mut self, runs: u32, coarsened: bool) -> Check {
        let p = self.p;
        self.coarsened(coarsened, p.coarsening)?;
        ensure!(runs * TEAM * p.slices >= p.width, "{runs} runs of {TEAM}");
        for lane in self.invocations() {
            let first = lane / TEAM * p.coarsening;
            let mut loops = 0;
            for i in first..(first + p.coarsening).min(p.items) {
                loops += u64::from(p.len);
                let matrix = i / p.slices;
                let begin = (i - matrix * p.slices) * TEAM * runs + lane % TEAM;
                for v in (0..runs).map(|r| begin + r * TEAM).filter(|&v| v < p.width) {
                    let found =
                        self.column_vec(p.src_delta / self.e + matrix * p.len * p.width + v)?;
                    self.write_line(matrix * p.width + v, &found)?;
                }
            }
            self.iterated(loops)?;
        }
        Ok(())
    }
}
