//! `strided.wgsl` for both extremes, `extreme_rows.wgsl`: two partials for each part of a segment.

use super::super::interpret::{Check, Run, ensure};
use super::Span;
use wgreduce::DType;

impl Run<'_, '_> {
    /// Checks that bytes are taken as truth values if they are, and as numbers otherwise.
    fn counts_truth(&self, truth: bool) -> Check {
        let wanted = self.machine.problem.dtype() == DType::Bool;
        ensure!(truth == wanted, "truth values are misread");
        Ok(())
    }

    pub(super) fn extremes(&mut self, truth: bool) -> Check {
        self.counts_truth(truth)?;
        let p = self.p;
        self.dimensions(p.items / p.slices, p.dims, p.len)?;
        for item in self.items() {
            let (output, part) = self.part_of(item);
            if self.part_begin(part) >= p.len {
                continue;
            }
            let mut loops = 0;
            let found = self.search_part(output, part, &mut loops)?;
            self.iterated(loops)?;
            let cell = self.cell(&found)?;
            self.emit(item, cell.clone())?;
            self.emit(p.items + item, cell)?;
        }
        Ok(())
    }

    pub(super) fn extreme_rows(&mut self, truth: bool) -> Check {
        self.counts_truth(truth)?;
        let (p, e) = (self.p, self.e);
        self.dimensions(p.items / p.slices, p.dims, p.len)?;
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        let contiguous = self.along(p.kept_dims, p.dims, 1, &mut 0)?;
        ensure!(contiguous == 1, "segments of stride {contiguous}");
        for item in self.items() {
            let (output, part) = self.part_of(item);
            let slice = part / p.step;
            let skip = slice * p.slice;
            if skip >= p.len {
                continue;
            }
            // Each of the two searches looks at four vec4.
            let mut loops = 8;
            let start = self.segment(output, &mut loops)?;
            let s = Span::of_ends(start + skip, p.slice.min(p.len - skip), e);
            let mut found = self.edge(s.first, s.low(s.first, e), s.high(s.first, e))?;
            let mut at = s.first + 1 + part - slice * p.step;
            while at < s.last {
                loops += 1;
                let block = if at + 3 * p.step < s.last { 4 } else { 1 };
                for j in 0..block {
                    found.extend(self.vec4(at + j * p.step)?);
                }
                at += block * p.step;
            }
            if s.last > s.first {
                found.extend(self.edge(s.last, 0, s.high(s.last, e))?);
            }
            self.iterated(loops)?;
            let found = found
                .into_iter()
                .map(|position| (position, position - start));
            let cell = self.cell(&found.collect())?;
            self.emit(item, cell.clone())?;
            self.emit(p.items + item, cell)?;
        }
        Ok(())
    }
}
