//! `strided.wgsl` over `segments.wgsl` or `view.wgsl`: elements one by one, in a view by their strides.

use super::super::interpret::{Found, Run, fused};
use super::super::memory::{Check, ensure};
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
            self.dispatch.iterated(loops)?;
        }
        Ok(())
    }

    fn search(&self, o: u32, loops: &mut u64) -> Found {
        self.search_range(o, 0..self.p.len, loops)
    }

    fn search_range(&self, o: u32, part: std::ops::Range<u32>, loops: &mut u64) -> Found {
        let p = &self.p;
        let outer = o / p.pitch;
        let start = p.src_delta + outer * p.len * p.pitch + o - outer * p.pitch;
        let count = u64::from(part.end - part.start);
        *loops += self.passes() * count + self.beside_loops();
        part.map(|i| (start + i * p.pitch, i)).collect()
    }

    /// Parts of segments, one after another, of `width` segments side by side.
    pub(super) fn sliced(&mut self) -> Check {
        let p = self.p;
        ensure!(self.out().is_partial(), "a result of a part");
        for item in self.items() {
            let (outer, rest) = (item / (p.slices * p.inner), item % (p.slices * p.inner));
            let (part, column) = (rest / p.inner, rest % p.inner);
            let begin = p.begin + part * p.slice;
            // A shorter region has fewer parts.
            if begin >= p.len {
                continue;
            }
            let mut loops = 1;
            let end = p.len.min(begin + p.slice);
            let found = self.search_range(outer * p.inner + column, begin..end, &mut loops);
            self.loads_each(&found)?;
            let cell = self.cell(&found)?;
            self.emit(item, cell)?;
            self.dispatch.iterated(loops)?;
        }
        Ok(())
    }

    /// Notes that elements are loaded one by one.
    fn loads_each(&self, found: &Found) -> Check {
        let src = self.source()?;
        for &(position, _) in found {
            self.loads(0, src, position);
        }
        Ok(())
    }

    /// `along`: the distance of a place of the dimensions first..end from the first element. Strides wrap.
    fn along(&self, first: u32, end: u32, place: u32, loops: &mut u64) -> Check<u32> {
        let Some((table, _)) = &self.pass.stride_table else {
            return Err("no dimensions".into());
        };
        let dims = &table.shape[first as usize..end as usize];
        let most: u64 = dims.iter().map(|&s| u64::from(s)).product();
        ensure!(u64::from(place) < most, "place {place} of {dims:?}");
        let (mut at, mut rest) = (0u32, place);
        for (d, &size) in (first as usize..end as usize).zip(dims).rev() {
            ensure!(size >= 2, "dimension {d}");
            *loops += u64::from(d > first as usize);
            let i = match d > first as usize {
                true => rest % size,
                false => rest,
            };
            at = at.wrapping_add(i.wrapping_mul(table.strides[d][0]));
            rest /= size;
        }
        Ok(at)
    }

    /// Checks that the kept dimensions make `outputs` outputs, and those up to `total` `len` elements.
    pub(super) fn dimensions(&self, outputs: u32, total: u32, len: u32) -> Check {
        let table = self.pass.stride_table.as_ref();
        let shape = table.map_or(&[][..], |(table, _)| &table.shape);
        let (kept, total) = (self.p.kept_dims as usize, total as usize);
        ensure!(kept <= total && total <= shape.len(), "{shape:?} by {kept}");
        let sizes = [&shape[..kept], &shape[kept..total]].map(|dims| dims.iter().product::<u32>());
        ensure!(sizes == [outputs, len], "{shape:?} by {kept}");
        Ok(())
    }

    /// `segment`: where an output's segment begins.
    pub(super) fn segment(&self, o: u32, loops: &mut u64) -> Check<u32> {
        let table = self.pass.stride_table.as_ref();
        let start = table.map_or(0, |(table, _)| table.starts[0]);
        let along = self.along(0, self.p.kept_dims, o, loops)?;
        Ok((self.source()?.delta + start).wrapping_add(along))
    }

    /// `part_of`: an item's output and part.
    fn part_of(&self, item: u32) -> (u32, u32) {
        let p = &self.p;
        let outer = item / (p.slices * p.inner);
        let rest = item - outer * p.slices * p.inner;
        let part = rest / p.inner;
        (outer * p.inner + rest - part * p.inner, part)
    }

    fn part_begin(&self, part: u32) -> u32 {
        match self.p.step {
            1 => part * self.p.slice,
            _ => part,
        }
    }

    fn search_part(&self, o: u32, part: u32, loops: &mut u64) -> Check<Found> {
        let p = &self.p;
        let start = self.segment(o, loops)?;
        let begin = self.part_begin(part);
        let end = (begin + p.slice * p.step).min(p.len);
        let mut found = Vec::new();
        let mut own = 0;
        for i in (begin..end).step_by(p.step as usize) {
            own += 1;
            let along = self.along(p.kept_dims, p.dims, i, &mut own)?;
            found.push((start.wrapping_add(along), i));
        }
        *loops += self.passes() * own + self.beside_loops();
        ensure!(!found.is_empty(), "part {part} is empty");
        self.loads_each(&found)?;
        Ok(found)
    }

    pub(super) fn strided(&mut self, raw: bool) -> Check {
        let p = self.p;
        self.dimensions(p.items / p.slices, p.dims, p.len)?;
        let problem = self.machine.problem;
        let beside = self.dst.slot == Slot::Output(1) && !fused(problem);
        let copies = problem.is_copy() || beside;
        ensure!(raw == copies, "raw is {raw}");
        for w in self.invocations() {
            let mut loops = 0;
            let mut results = Vec::new();
            for (j, o) in self.outputs(w) {
                let found = if raw {
                    let found = vec![(self.segment(o, &mut loops)?, 0)];
                    self.loads_each(&found)?;
                    found
                } else if self.per_word() > 1 {
                    ensure!(p.slices == 1, "parts of results that share a word");
                    self.search_part(o, 0, &mut loops)?
                } else {
                    let (output, part) = self.part_of(o);
                    if self.part_begin(part) >= p.len {
                        continue;
                    }
                    self.search_part(output, part, &mut loops)?
                };
                results.push((j, self.cell(&found)?));
            }
            self.dispatch.iterated(loops)?;
            self.write(w, results)?;
        }
        Ok(())
    }
}
