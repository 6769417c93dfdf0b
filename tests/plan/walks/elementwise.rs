//! `elementwise.wgsl` over `stride_table.wgsl`: the inputs of each output.

use super::super::interpret::Run;
use super::super::memory::{Check, ensure};
use wgreduce::unstable::{ElementwiseText, StrideTable};

/// Where an item's element lies in each input and in the output, and its coordinate.
type Offsets = [u32; StrideTable::COORDINATE + 1];

impl Run<'_, '_> {
    fn table(&self) -> Check<&StrideTable> {
        let table = self.pass.stride_table.as_ref().map(|(table, _)| table);
        table.ok_or_else(|| "no inputs".into())
    }

    fn offsets(&self, place: u32) -> Check<Offsets> {
        let table = self.table()?;
        ensure!(
            table.shape.len() == self.p.dims as usize && self.listed.len() <= StrideTable::OUTPUT,
            "{} dimensions, {} inputs",
            self.p.dims,
            self.listed.len()
        );
        ensure!(place < 1 << 31, "no reciprocal divides {place}");
        let mut at = Offsets::default();
        let starts = self.listed.iter().zip(&table.starts);
        for (at, (bind, start)) in at.iter_mut().zip(starts) {
            *at = bind.delta + start;
        }
        let mut rest = place;
        for d in (0..table.shape.len()).rev() {
            let size = table.shape[d];
            ensure!(size >= 2, "dimension {d}");
            let i = if d > 0 { rest % size } else { rest };
            further(&mut at, i, self.strides(d)?);
            rest = if d > 0 { rest / size } else { 0 };
        }
        self.dispatch.iterated(u64::from(self.p.dims))?;
        Ok(at)
    }

    fn strides(&self, d: usize) -> Check<&[u32]> {
        let strides = self.table()?.strides.get(d).map(Vec::as_slice);
        let all = strides.filter(|strides| strides.len() == Offsets::default().len());
        all.ok_or_else(|| format!("no strides of dimension {d}"))
    }

    pub(super) fn elementwise_words(&mut self, taken: &ElementwiseText) -> Check {
        ensure!(taken.scalars == 0, "elements are repeated");
        for w in self.invocations() {
            let mut results = Vec::new();
            for (j, o) in self.outputs(w) {
                let element = self.dst.at(self.p.dst_delta + o)?;
                let (mut from, at) = (Vec::new(), self.offsets(o)?);
                for (input, bind) in self.listed.iter().enumerate() {
                    ensure!(bind.element == self.dst.element, "{:?} by vec4", bind.slot);
                    self.loads(input, bind, at[input]);
                    from.push(self.machine.element_of(bind.slot, bind.at(at[input])?)?);
                }
                results.push((j, self.merged(element, from)?));
            }
            let looped = results.len() as u64 * u64::from(self.p.dims + 1);
            self.dispatch.iterated(looped)?;
            self.write(w, results)?;
        }
        Ok(())
    }

    pub(super) fn elementwise_vecs(&mut self, taken: &ElementwiseText) -> Check {
        for item in self.items() {
            let first = self.offsets(item)?;
            let apart = self.strides(self.p.dims as usize)?.to_vec();
            for n in 0..taken.at_once() {
                let mut at = first;
                further(&mut at, n, &apart);
                // The shader takes the first one again, and writes the same.
                if at[StrideTable::COORDINATE] < self.p.along {
                    self.vec_of(taken, &at)?;
                }
            }
        }
        Ok(())
    }

    /// Writes one vec4 of outputs.
    fn vec_of(&mut self, taken: &ElementwiseText, at: &[u32]) -> Check {
        let e = self.e;
        ensure!(self.dst.element == 16, "outputs of {}", self.dst.element);
        let to = self.dst.at(self.p.dst_delta + at[StrideTable::OUTPUT])?;
        let mut cells = vec![Vec::new(); e as usize];
        for (input, bind) in self.listed.iter().enumerate() {
            let splat = taken.scalars >> input & 1 == 1;
            let (slot, from) = (bind.slot, bind.at(at[input])?);
            self.loads(input, bind, at[input]);
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
}

/// Moves `n` strides further.
fn further(at: &mut [u32], n: u32, strides: &[u32]) {
    for (at, stride) in at.iter_mut().zip(strides) {
        *at = at.wrapping_add(n.wrapping_mul(*stride));
    }
}
