//! `fill.wgsl`: outputs from nothing.

use super::super::interpret::{Cell, Run};
use super::super::memory::Check;

impl Run<'_, '_> {
    pub(super) fn fill(&mut self) -> Check {
        let fill = match self.out().bytes() {
            8 => self.p.fill,
            4 => self.p.fill & 0xffff_ffff,
            bytes => u64::from((self.p.fill as u32) >> (32 - 8 * bytes)),
        };
        for w in self.invocations() {
            let results = self.outputs(w).map(|(j, _)| (j, Cell::Constant(fill)));
            self.write(w, results.collect())?;
            self.dispatch.iterated(self.per_word().into())?;
        }
        Ok(())
    }
}
