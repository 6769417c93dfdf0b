//! The shaders' index arithmetic, family by family: what `shaders/` does with `Params`, on
//! lists of positions. Names are the shaders'. Plain arithmetic panics where it overflows;
//! what wraps in a shader by design wraps here by name.

use super::interpret::{Cell, Check, Found, Run, ensure, fused};
use std::collections::BTreeSet;
use wgreduce::{Family, Slot};

/// Rows in a block of columns.
const BLOCK: u32 = 4;
/// Vec4 in a block of rows.
const ROW_BLOCK: u32 = 8;
/// Whole rows that columns take without blocks.
const FEW: u32 = 16;
/// Neighbouring invocations of strips, and vec4 that each takes of a row.
const TEAM: u32 = 8;
const RUNS: u32 = 8;

impl Run<'_, '_> {
    pub fn dispatch(&mut self) -> Check {
        match self.pass.kernel.family {
            Family::Each => self.each(),
            Family::Rows => self.rows(),
            Family::ShortRows => self.short_rows(),
            Family::Columns => self.columns(),
            Family::Strips => self.strips(),
            Family::Bands => self.bands(),
            Family::ZipWords => self.zip_words(),
            Family::ZipVecs => self.zip_vecs(),
            Family::ZipStrips => self.zip_strips(),
            Family::Finish => self.finish(),
            Family::Fill => self.fill(),
            Family::Gather => self.gather_pass(),
            Family::Strided => self.strided(),
            Family::StridedGather => self.strided_gather(),
            Family::Extremes => self.extremes(),
            Family::ExtremeRows => self.extreme_rows(),
            Family::ExtremeColumns => self.extreme_columns(),
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
        ensure!(p.width > 0, "no item a lane");
        let several = self.pass.kernel.several;
        ensure!(several == (p.width > 1), "{} items a lane", p.width);
        for group in self.groups() {
            for team in 0..self.wg / lanes {
                let first = (group * (self.wg / lanes) + team) * p.width;
                let mut loops = u64::from(p.width);
                for item in first..first + p.width {
                    loops += self.rows_item(item)?;
                }
                self.iterated(loops)?;
            }
        }
        Ok(())
    }

    /// One item, by all its lanes; how often the one that loops most does.
    fn rows_item(&mut self, item: u32) -> Check<u64> {
        let p = self.p;
        let lanes = self.pass.kernel.lanes;
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
            for position in self.scan(s, lane, &mut loops)? {
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
    fn scan(&self, s: Span, lane: u32, loops: &mut u64) -> Check<Vec<u32>> {
        let (lanes, e) = (self.pass.kernel.lanes, self.e);
        let (mut at, end, step) = match self.pass.kernel.chunked {
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

    // short_rows.wgsl

    fn short_rows(&mut self) -> Check {
        let (p, e) = (self.p, self.e);
        let vecs = p.len / e;
        ensure!(vecs > 0 && p.slice > 0, "{vecs} vec4, {} rows", p.slice);
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
                if vecs > 2 {
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

    // columns.wgsl, strips.wgsl

    fn columns(&mut self) -> Check {
        let p = self.p;
        self.matrix()?;
        for item in self.invocations().filter(|&item| item < p.items) {
            let v = item % p.width;
            let s = self.slice_of(item / p.width);
            let mut loops = 0;
            self.column(s, v, &mut loops)?;
            self.iterated(loops)?;
        }
        Ok(())
    }

    fn strips(&mut self) -> Check {
        let p = self.p;
        self.matrix()?;
        for item in self.invocations().filter(|&item| item < p.items) {
            let s = self.slice_of(item / p.lanes);
            let lane = item % p.lanes;
            let first = lane / TEAM * (TEAM * RUNS) + lane % TEAM;
            let mut loops = 0;
            self.strip(s, first, &mut loops)?;
            self.iterated(loops)?;
        }
        Ok(())
    }

    fn bands(&mut self) -> Check {
        let p = self.p;
        self.matrix()?;
        ensure!(p.width <= 2 * TEAM * RUNS, "a band of {} vec4", p.width);
        for item in self.invocations().filter(|&item| item < p.items) {
            let mut s = self.slice_of(item / TEAM);
            s.blocks = s.low;
            let first = item % TEAM;
            let mut loops = 0;
            self.strip(s, first, &mut loops)?;
            let mut others = 0;
            self.strip(s, first + TEAM * RUNS, &mut others)?;
            // They share the loop over rows.
            let shared = u64::from(s.high - s.low).min(others);
            self.iterated(loops + others - shared)?;
        }
        Ok(())
    }

    /// Eight runs, which share the loops over whole rows.
    fn strip(&mut self, s: Slice, first: u32, loops: &mut u64) -> Check {
        let shared = self.whole_loops(s);
        *loops += shared;
        for j in 0..RUNS {
            *loops += 1;
            let v = first + j * TEAM;
            if v < self.p.width {
                let mut own = 0;
                self.column(s, v, &mut own)?;
                *loops += own - shared;
            }
        }
        Ok(())
    }

    // matrix.wgsl

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

    /// All that becomes of column vec4 v of a slice.
    fn column(&mut self, s: Slice, v: u32, loops: &mut u64) -> Check {
        let (p, e) = (self.p, self.e);
        let wide = p.width * e;
        // Per column the rows that were taken, each with the row its place remembers.
        let mut lists: Vec<Vec<(u32, u32)>> = vec![Vec::new(); e as usize];
        // The wide row that a column claims which has taken nothing.
        let mut nothing = p.slices * p.slice;
        if s.begin < s.end {
            nothing = s.low;
        }
        // column_start
        if s.low > s.begin {
            let at = (s.begin * p.width + v) * e;
            let low = at.max(s.skew) - at;
            let high = (at + e).min(s.ends.max(at)) - at;
            self.take(&mut lists, [s.begin, s.begin], low, high)?;
            nothing = s.begin + 1;
        }
        // column_block
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
        // column_end
        if s.high < s.end {
            let at = ((s.end - 1) * p.width + v) * e;
            let high = (at + e).min(s.ends.max(at)) - at;
            self.take(&mut lists, [s.end - 1, s.end - 1], 0, high)?;
        }
        // column_emit
        for (i, taken) in (0..).zip(lists) {
            *loops += 1;
            let column = (v * e + i + wide - s.skew) % wide;
            let place = |t: u32| ((t * p.width + v) * e + i).wrapping_sub(s.skew);
            let index = |t: u32| {
                let place = place(t);
                ensure!(
                    place < p.total && place % p.inner == column % p.inner,
                    "column {column} of {wide} takes place {place}"
                );
                Ok((s.start + place, place / p.inner))
            };
            if self.pass.kernel.index {
                *loops += u64::from(BLOCK);
                self.sought(s, &taken)?;
                // A column that took nothing better than what it began with.
                let claims = taken.first().is_none_or(|&(block, _)| block > s.begin);
                if claims && place(nothing) < p.total {
                    // The identity with a real index, which must be one of the segment, and
                    // the first of those that were taken.
                    let claim = index(nothing)?;
                    self.cell(&vec![claim])?;
                    let first = taken.first().map(|&(block, _)| block);
                    ensure!(first.is_none_or(|b| b == nothing), "{first:?} is claimed");
                }
            }
            let found = taken.into_iter().map(|(_, t)| index(t));
            let cell = self.cell(&found.collect::<Check<Found>>()?)?;
            self.emit(s.part * wide + column, cell)?;
        }
        Ok(())
    }

    /// Adds wide row `t`, remembered as `block`, to the columns low..high of a vec4, in rising
    /// order or again.
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

    /// `column_row` looks for a column's row first among all the rows of its block, then only
    /// among rows that were taken later: an equal there would have won where the last one does.
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

    // zip.wgsl, zip_words.wgsl, zip_vecs.wgsl, zip_strips.wgsl

    /// What an output unit is of: input elements by the input's place among all.
    fn combined(&self, place: u32) -> Check<Vec<(usize, u32)>> {
        let Some((zip, _)) = &self.pass.zip else {
            return Err("no inputs".into());
        };
        let inputs = self.zipped.len();
        ensure!(
            zip.shape.len() == self.p.len as usize && zip.shape.len() <= zip.strides.len(),
            "{} dimensions",
            self.p.len
        );
        ensure!(place < 1 << 31, "no reciprocal divides {place}");
        let starts = self.zipped.iter().zip(&zip.starts);
        let mut at: Vec<u32> = starts.map(|(b, start)| b.delta + start).collect();
        let mut rest = place;
        for d in (0..zip.shape.len()).rev() {
            let (size, strides) = (zip.shape[d], &zip.strides[d]);
            ensure!(size >= 2 && strides.len() == inputs, "dimension {d}");
            let i = if d > 0 { rest % size } else { rest };
            for (at, stride) in at.iter_mut().zip(strides) {
                *at = at.wrapping_add(i.wrapping_mul(*stride));
            }
            rest = if d > 0 { rest / size } else { 0 };
        }
        Ok((0..).zip(at).collect())
    }

    fn zip_words(&mut self) -> Check {
        ensure!(self.pass.kernel.splat == 0, "elements are repeated");
        let per_word = self.per_word();
        for w in self.invocations() {
            let mut results = Vec::new();
            for j in 0..per_word {
                let o = match per_word {
                    1 => w,
                    _ => self.output_at(w, j),
                };
                if o >= self.p.items {
                    continue;
                }
                let element = self.dst.at(self.p.dst_delta + o)?;
                let mut from = Vec::new();
                for (input, at) in self.combined(o)? {
                    let bind = &self.zipped[input];
                    ensure!(bind.element == self.dst.element, "{:?} by vec4", bind.slot);
                    from.push(self.machine.zipped(bind.slot, bind.at(at)?)?);
                }
                results.push((j, self.merged(element, from)?));
            }
            if per_word == 1 {
                for (_, cell) in results {
                    self.emit(w, cell)?;
                }
            } else {
                self.write_word(w, results)?;
            }
        }
        Ok(())
    }

    fn zip_vecs(&mut self) -> Check {
        let items = self.p.items;
        for v in self.invocations().filter(|&v| v < items) {
            let from = self.combined(v)?;
            self.zip_vec(self.p.dst_delta + v, &from)?;
        }
        Ok(())
    }

    /// One vec4 of outputs.
    fn zip_vec(&mut self, at: u32, from: &[(usize, u32)]) -> Check {
        let e = self.e;
        ensure!(self.dst.element == 16, "outputs of {}", self.dst.element);
        let to = self.dst.at(at)?;
        let mut cells = vec![Vec::new(); e as usize];
        for &(input, at) in from {
            let bind = &self.zipped[input];
            let splat = self.pass.kernel.splat >> input & 1 == 1;
            let (slot, from) = (bind.slot, bind.at(at)?);
            let unit = if splat { 16 / u64::from(e) } else { 16 };
            ensure!(bind.element == unit, "{slot:?} by {}", bind.element);
            for (j, cell) in (0..).zip(&mut cells) {
                let element = if splat { from } else { from * e + j };
                cell.push(self.machine.zipped(slot, element)?);
            }
        }
        for (element, from) in (to * e..).zip(cells) {
            let cell = self.merged(element, from)?;
            self.put_zipped(element, cell)?;
        }
        Ok(())
    }

    fn zip_strips(&mut self) -> Check {
        let p = self.p;
        for item in self.invocations().filter(|&item| item < p.items) {
            let (part, lane) = (item / p.lanes, item % p.lanes);
            let first = lane / TEAM * (TEAM * RUNS) + lane % TEAM;
            let outer = part / p.inner;
            let skip = (part - outer * p.inner) * p.slice;
            ensure!(skip < p.total, "rows from {skip} on of {}", p.total);
            let rows = p.slice.min(p.total - skip);
            let at = self.combined(part)?;
            let row = p.dst_delta + (outer * p.total + skip) * p.width;
            for i in 0..rows {
                for run in 0..RUNS {
                    let column = first + run * TEAM;
                    if column < p.width {
                        let from = self.strip_inputs(&at, column, i)?;
                        self.zip_vec(row + i * p.width + column, &from)?;
                    }
                }
            }
            self.iterated(u64::from(rows + p.len))?;
        }
        Ok(())
    }

    /// Where the inputs of a column of a row are, `row` rows on.
    fn strip_inputs(&self, at: &[(usize, u32)], column: u32, row: u32) -> Check<Vec<(usize, u32)>> {
        let Some((zip, _)) = &self.pass.zip else {
            return Err("no inputs".into());
        };
        let [.., along, down] = &zip.strides[..] else {
            return Err("no strides along a row".into());
        };
        let kernel = &self.pass.kernel;
        let place = |&(input, at): &(usize, u32)| {
            // What is read once a column serves all rows; a run further is a vec4 further.
            let still = kernel.still >> input & 1 == 1;
            ensure!(still == (down[input] == 0), "input {input} moves");
            let splat = kernel.splat >> input & 1 == 1;
            ensure!(
                along[input] == u32::from(!splat),
                "input {input} is strided"
            );
            Ok((input, at + column * along[input] + row * down[input]))
        };
        at.iter().map(place).collect()
    }

    // view.wgsl, strided.wgsl, strided_gather.wgsl

    /// `along`: how far a place of the dimensions first..end lies from the first element. Strides
    /// wrap.
    fn along(&self, first: u32, end: u32, place: u32, loops: &mut u64) -> Check<u32> {
        let Some((zip, _)) = &self.pass.zip else {
            return Err("no dimensions".into());
        };
        let dims = &zip.shape[first as usize..end as usize];
        let most: u64 = dims.iter().map(|&s| u64::from(s)).product();
        ensure!(u64::from(place) < most, "place {place} of {dims:?}");
        let (mut at, mut rest) = (0u32, place);
        for (d, &size) in (first as usize..end as usize).zip(dims).rev() {
            ensure!(size >= 2, "dimension {d}");
            *loops += u64::from(d > first as usize);
            let i = if d > first as usize {
                rest % size
            } else {
                rest
            };
            at = at.wrapping_add(i.wrapping_mul(zip.strides[d][0]));
            rest /= size;
        }
        Ok(at)
    }

    /// Whether the kept dimensions make that many outputs, those up to `total` that many elements.
    fn dimensions(&self, outputs: u32, total: u32, len: u32) -> Check {
        let shape = self
            .pass
            .zip
            .as_ref()
            .map_or(&[][..], |(zip, _)| &zip.shape);
        let (kept, total) = (self.p.lanes as usize, total as usize);
        ensure!(kept <= total && total <= shape.len(), "{shape:?} by {kept}");
        let sizes = [&shape[..kept], &shape[kept..total]].map(|dims| dims.iter().product::<u32>());
        ensure!(sizes == [outputs, len], "{shape:?} by {kept}");
        Ok(())
    }

    /// `segment`: where an output's segment begins.
    fn segment(&self, o: u32, loops: &mut u64) -> Check<u32> {
        let start = self.pass.zip.as_ref().map_or(0, |(zip, _)| zip.starts[0]);
        let along = self.along(0, self.p.lanes, o, loops)?;
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
        match self.p.width {
            1 => part * self.p.slice,
            _ => part,
        }
    }

    fn search_part(&self, o: u32, part: u32, loops: &mut u64) -> Check<Found> {
        let p = &self.p;
        let start = self.segment(o, loops)?;
        let begin = self.part_begin(part);
        let end = (begin + p.slice * p.width).min(p.len);
        let mut found = Vec::new();
        for i in (begin..end).step_by(p.width as usize) {
            *loops += 1;
            let along = self.along(p.lanes, p.total, i, loops)?;
            found.push((start.wrapping_add(along), i));
        }
        ensure!(!found.is_empty(), "part {part} is empty");
        Ok(found)
    }

    fn strided(&mut self) -> Check {
        let p = self.p;
        self.dimensions(p.items / p.slices, p.total, p.len)?;
        let raw = self.pass.kernel.raw;
        let problem = self.machine.problem;
        let beside = self.dst.slot == Slot::Output(1) && !fused(problem);
        let copies = problem.is_copy() || beside;
        ensure!(raw == copies, "raw is {raw}");
        for w in self.invocations() {
            let mut loops = 0;
            let mut results = Vec::new();
            for j in 0..self.per_word() {
                let o = match self.per_word() {
                    1 => w,
                    _ => self.output_at(w, j),
                };
                if o >= p.items {
                    continue;
                }
                let found = if raw {
                    vec![(self.segment(o, &mut loops)?, 0)]
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
            self.iterated(loops)?;
            if self.per_word() > 1 {
                self.write_word(w, results)?;
            } else if let Some((_, cell)) = results.pop() {
                self.emit(w, cell)?;
            }
        }
        Ok(())
    }

    // extremes.wgsl

    fn extremes(&mut self) -> Check {
        let p = self.p;
        self.dimensions(p.items / p.slices, p.total, p.len)?;
        for item in self.invocations().filter(|&item| item < p.items) {
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

    // extreme_rows.wgsl

    fn extreme_rows(&mut self) -> Check {
        let (p, e) = (self.p, self.e);
        self.dimensions(p.items / p.slices, p.total, p.len)?;
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        let contiguous = self.along(p.lanes, p.total, 1, &mut 0)?;
        ensure!(contiguous == 1, "segments of stride {contiguous}");
        for item in self.invocations().filter(|&item| item < p.items) {
            let (output, part) = self.part_of(item);
            let slice = part / p.width;
            let skip = slice * p.slice;
            if skip >= p.len {
                continue;
            }
            // Both finds look at four vec4.
            let mut loops = 8;
            let start = self.segment(output, &mut loops)?;
            let s = Span::of_ends(start + skip, p.slice.min(p.len - skip), e);
            let mut found = self.edge(s.first, s.low(s.first, e), s.high(s.first, e))?;
            let mut at = s.first + 1 + part - slice * p.width;
            while at < s.last {
                loops += 1;
                let block = if at + 3 * p.width < s.last { 4 } else { 1 };
                for j in 0..block {
                    found.extend(self.vec4(at + j * p.width)?);
                }
                at += block * p.width;
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

    // extreme_columns.wgsl

    fn extreme_columns(&mut self) -> Check {
        let (p, e) = (self.p, self.e);
        let Some((zip, _)) = &self.pass.zip else {
            return Err("no dimensions".into());
        };
        ensure!(p.lanes > 0, "no column");
        let size = zip.shape[p.lanes as usize - 1];
        let pitch = zip.strides.get(p.lanes as usize).map_or(0, |s| s[0]);
        let (width, lanes) = (size / e, (size / e).div_ceil(2));
        let outputs = p.inner / lanes * size;
        self.dimensions(outputs, p.total, p.len)?;
        let whole = size.is_multiple_of(e) && pitch.is_multiple_of(e);
        ensure!(
            whole && p.inner.is_multiple_of(lanes),
            "{size} columns, {pitch} apart"
        );
        ensure!(p.items == p.inner * p.slices, "{} items", p.items);
        for item in self.invocations().filter(|&item| item < p.items) {
            let part = item / p.inner;
            let begin = part * p.slice;
            if begin >= p.len {
                continue;
            }
            let end = (begin + p.slice).min(p.len);
            let lane = item - part * p.inner;
            let outer = lane / lanes;
            let v = 2 * (lane - outer * lanes);
            let next = (v + 1).min(width - 1);
            // Every column of two vec4 is sought twice, in four rows.
            let mut loops = u64::from(18 * e);
            loops += u64::from((end - begin - 1) / 4 + (end - begin - 1) % 4);
            let first = self.segment(outer * size, &mut loops)?;
            ensure!(first.is_multiple_of(e), "columns begin at {first}");
            self.iterated(loops)?;
            let vecs = if next > v { vec![v, next] } else { vec![v] };
            for column in vecs.into_iter().flat_map(|v| v * e..v * e + e) {
                let at = |t: u32| first + t * pitch + column;
                for t in begin..end {
                    self.vec4(at(t) / e)?;
                }
                let cell = self.cell(&(begin..end).map(|t| (at(t), t)).collect())?;
                let slot = part * outputs + outer * size + column;
                self.emit(slot, cell.clone())?;
                self.emit(p.slices * outputs + slot, cell)?;
            }
        }
        Ok(())
    }

    fn strided_gather(&mut self) -> Check {
        let p = self.p;
        self.dimensions(p.items, p.lanes, 1)?;
        let words = self.pass.kernel.index_words;
        for w in self.invocations() {
            let mut loops = u64::from(self.per_word());
            for j in 0..self.per_word() {
                let o = match self.per_word() {
                    1 => w,
                    _ => self.output_at(w, j),
                };
                if o >= p.items {
                    continue;
                }
                let output = self.dst.at(p.dst_delta + o)?;
                let indices = self.indices.as_ref().ok_or("no indices")?;
                ensure!(
                    indices.slot == Slot::Output(0)
                        && u64::from(words) * 4 == indices.element
                        && indices.at(indices.delta + o)? == output,
                    "output {output} reads another's index"
                );
                let start = self.segment(o, &mut loops)?;
                for i in 0..p.len {
                    let e = start.wrapping_add(i.wrapping_mul(p.slice));
                    self.gather(o, e, p.base + u64::from(i))?;
                }
            }
            self.iterated(loops)?;
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
        let mut read = BTreeSet::new();
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
                        read.insert(self.source()?.at(p.src_delta + r)?);
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
        // Some of the outputs leave records that lie between theirs.
        let all = self.source()?.count == u64::from(p.items * p.len);
        ensure!(
            !all || read.len() as u64 == self.source()?.count,
            "records are left out"
        );
        // The next step begins without them; of the extremes the indices are read after the values.
        let fused = self.machine.reads_once();
        let again = fused && matches!(self.dst.slot, Slot::Output(0 | 1));
        if !again {
            read.iter()
                .for_each(|&r| self.machine.records[r as usize] = None);
        }
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

/// Elements begin..end; the vec4 first..last are wholly among them in rows.wgsl, and hold the
/// first and the last in extreme_rows.wgsl.
#[derive(Clone, Copy)]
struct Span {
    begin: u32,
    end: u32,
    first: u32,
    last: u32,
}

impl Span {
    fn of_whole(begin: u32, len: u32, e: u32) -> Span {
        let first = begin.div_ceil(e);
        Span {
            begin,
            end: begin + len,
            first,
            last: first.max((begin + len) / e),
        }
    }

    fn of_ends(begin: u32, len: u32, e: u32) -> Span {
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

/// `Slice` of matrix.wgsl.
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
