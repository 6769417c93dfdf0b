//! `elementwise.wgsl` over `stride_table.wgsl`: the inputs of each output.

use super::super::interpret::{Check, Run, ensure};
use wgreduce::unstable::{Elementwise, RUNS, TEAM};

impl Run<'_, '_> {
    /// The elements that an output unit combines, each with the number of its input.
    fn combined(&self, place: u32) -> Check<Vec<(usize, u32)>> {
        let Some((table, _)) = &self.pass.stride_table else {
            return Err("no inputs".into());
        };
        let inputs = self.listed.len();
        ensure!(
            table.shape.len() == self.p.dims as usize && table.shape.len() <= table.strides.len(),
            "{} dimensions",
            self.p.dims
        );
        ensure!(place < 1 << 31, "no reciprocal divides {place}");
        let starts = self.listed.iter().zip(&table.starts);
        let mut at: Vec<u32> = starts.map(|(b, start)| b.delta + start).collect();
        let mut rest = place;
        for d in (0..table.shape.len()).rev() {
            let (size, strides) = (table.shape[d], &table.strides[d]);
            ensure!(size >= 2 && strides.len() == inputs, "dimension {d}");
            let i = if d > 0 { rest % size } else { rest };
            for (at, stride) in at.iter_mut().zip(strides) {
                *at = at.wrapping_add(i.wrapping_mul(*stride));
            }
            rest = if d > 0 { rest / size } else { 0 };
        }
        Ok((0..).zip(at).collect())
    }

    pub(super) fn elementwise_words(&mut self, taken: &Elementwise) -> Check {
        ensure!(taken.scalars == 0, "elements are repeated");
        for w in self.invocations() {
            let mut results = Vec::new();
            for (j, o) in self.outputs(w) {
                let element = self.dst.at(self.p.dst_delta + o)?;
                let mut from = Vec::new();
                for (input, at) in self.combined(o)? {
                    let bind = &self.listed[input];
                    ensure!(bind.element == self.dst.element, "{:?} by vec4", bind.slot);
                    self.loads(input, bind, at);
                    from.push(self.machine.element_of(bind.slot, bind.at(at)?)?);
                }
                results.push((j, self.merged(element, from)?));
            }
            self.write(w, results)?;
        }
        Ok(())
    }

    pub(super) fn elementwise_vecs(&mut self, taken: &Elementwise) -> Check {
        for v in self.items() {
            let from = self.combined(v)?;
            self.zip_vec(taken, self.p.dst_delta + v, &from)?;
        }
        Ok(())
    }

    /// Writes one vec4 of outputs.
    fn zip_vec(&mut self, taken: &Elementwise, at: u32, from: &[(usize, u32)]) -> Check {
        let e = self.e;
        ensure!(self.dst.element == 16, "outputs of {}", self.dst.element);
        let to = self.dst.at(at)?;
        let mut cells = vec![Vec::new(); e as usize];
        for &(input, at) in from {
            let bind = &self.listed[input];
            let splat = taken.scalars >> input & 1 == 1;
            let (slot, from) = (bind.slot, bind.at(at)?);
            self.loads(input, bind, at);
            let unit = if splat { 16 / u64::from(e) } else { 16 };
            ensure!(bind.element == unit, "{slot:?} by {}", bind.element);
            for (j, cell) in (0..).zip(&mut cells) {
                let element = if splat { from } else { from * e + j };
                cell.push(self.machine.element_of(slot, element)?);
            }
        }
        for (element, from) in (to * e..).zip(cells) {
            let cell = self.merged(element, from)?;
            self.put_zipped(element, cell)?;
        }
        Ok(())
    }

    pub(super) fn elementwise_strips(&mut self, taken: &Elementwise) -> Check {
        let p = self.p;
        for item in self.items() {
            let (part, lane) = (item / p.team, item % p.team);
            let first = lane / TEAM * (TEAM * RUNS) + lane % TEAM;
            let outer = part / p.inner;
            let skip = (part - outer * p.inner) * p.slice;
            ensure!(skip < p.len, "rows from {skip} on of {}", p.len);
            let rows = p.slice.min(p.len - skip);
            let at = self.combined(part)?;
            let row = p.dst_delta + (outer * p.len + skip) * p.width;
            for i in 0..rows {
                for run in 0..RUNS {
                    let column = first + run * TEAM;
                    if column < p.width {
                        let from = self.strip_inputs(taken, &at, column, i)?;
                        self.zip_vec(taken, row + i * p.width + column, &from)?;
                    }
                }
            }
            self.iterated(u64::from(rows + p.dims))?;
        }
        Ok(())
    }

    /// The positions of the inputs of a column, `row` rows further.
    fn strip_inputs(
        &self,
        taken: &Elementwise,
        at: &[(usize, u32)],
        column: u32,
        row: u32,
    ) -> Check<Vec<(usize, u32)>> {
        let Some((table, _)) = &self.pass.stride_table else {
            return Err("no inputs".into());
        };
        let [.., along, down] = &table.strides[..] else {
            return Err("no strides along a row".into());
        };
        let place = |&(input, at): &(usize, u32)| {
            // A row-invariant input does not move from row to row; a vec4 further is the next column.
            let still = taken.row_invariant >> input & 1 == 1;
            ensure!(still == (down[input] == 0), "input {input} moves");
            let splat = taken.scalars >> input & 1 == 1;
            ensure!(
                along[input] == u32::from(!splat),
                "input {input} is strided"
            );
            Ok((input, at + column * along[input] + row * down[input]))
        };
        at.iter().map(place).collect()
    }
}
