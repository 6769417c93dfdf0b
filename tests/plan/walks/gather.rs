//! `gather.wgsl`, also over `view.wgsl`: outputs by indices.

use super::super::interpret::Run;
use super::super::memory::{Check, ensure};
use wgreduce::unstable::Slot;

impl Run<'_, '_> {
    pub(super) fn gather_pass(&mut self, index_words: u32) -> Check {
        let p = self.p;
        let per_word = self.per_word();
        for w in self.invocations() {
            for (j, o) in self.outputs(w) {
                let element = self.dst.at(p.dst_delta + o)?;
                self.dispatch.write_once(p.dst_delta + o)?;
                if per_word > 1 {
                    let place = (p.dst_delta / per_word + w) * per_word + j;
                    ensure!(self.dst.at(place)? == element, "byte {j} of word {w}");
                }
                self.take_indices(index_words, o, element)?;
            }
            self.dispatch.iterated(per_word.into())?;
        }
        Ok(())
    }

    /// Gathers what output `o` would read for every index that it may have.
    fn take_indices(&mut self, words: u32, o: u32, output: u32) -> Check {
        let p = self.p;
        let Some(indices) = &self.indices else {
            return Err("no indices".into());
        };
        ensure!(
            indices.slot == Slot::Output(0) && u64::from(words) * 4 == indices.element,
            "indices of {words} words in {:?}",
            indices.slot
        );
        let index = indices.at(p.indices_delta + o)?;
        ensure!(index == output, "output {output} reads {index}");
        for index in 0..self.machine.truth.len {
            let (lo, hi) = (index as u32, (index >> 32) as u32);
            let (base_lo, base_hi) = (p.base as u32, (p.base >> 32) as u32);
            let i = lo.wrapping_sub(base_lo);
            let high = hi
                .wrapping_sub(base_hi)
                .wrapping_sub(u32::from(lo < base_lo));
            let yes = high == 0 && i < p.len;
            let inside = index >= p.base && index - p.base < p.len.into();
            ensure!(yes == inside, "index {index} is in the region: {yes}");
            if yes {
                let outer = o / p.pitch;
                let e = p.src_delta + (outer * p.len + i) * p.pitch + o - outer * p.pitch;
                self.gather(o, e, index)?;
            }
        }
        Ok(())
    }

    pub(super) fn strided_gather(&mut self, words: u32) -> Check {
        let p = self.p;
        self.dimensions(p.items, p.kept_dims, 1)?;
        for w in self.invocations() {
            let mut loops = u64::from(self.per_word());
            for (_, o) in self.outputs(w) {
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
                    let e = start.wrapping_add(i.wrapping_mul(p.stride));
                    self.gather(o, e, p.base + u64::from(i))?;
                }
            }
            self.dispatch.iterated(loops)?;
        }
        Ok(())
    }
}
