//! `finish.wgsl`: outputs from partials.

use super::super::interpret::{Cell, Run};
use super::super::memory::{Check, ensure};
use std::collections::BTreeSet;

impl Run<'_, '_> {
    pub(super) fn finish(&mut self, lanes: u32, words: u32) -> Check {
        let p = self.p;
        let record = self.pass.src.map_or(0, |src| src.element);
        let whole = words == 0 || u64::from(4 * words) == record;
        ensure!(whole, "partials of {record} bytes in {words} words");
        let read = match lanes {
            1 => self.finish_alone()?,
            _ => self.finish_by_teams(lanes)?,
        };
        // If the pass finishes only some outputs, other partials lie between theirs.
        let all = self.source()?.count == u64::from(p.items * p.parts);
        let read_all = read.len() as u64 == self.source()?.count;
        ensure!(!all || read_all, "partials are left out");
        // The next step may overwrite these partials.
        read.iter()
            .for_each(|&r| self.machine.finished[r as usize] = true);
        Ok(())
    }

    /// Each invocation finishes some words of outputs; returns the partials that are read.
    fn finish_alone(&mut self) -> Check<BTreeSet<u32>> {
        let (p, wg) = (self.p, self.wg);
        ensure!(p.coarsening >= 1, "{} a lane", p.coarsening);
        let mut read = BTreeSet::new();
        for invocation in self.invocations() {
            let first = invocation / wg * wg * p.coarsening + invocation % wg;
            let mut loops = 0;
            for w in (0..p.coarsening).map(|i| first + i * wg) {
                loops += 1 + u64::from(self.per_word()) * self.join_loops(p.parts);
                let mut results = Vec::new();
                for (j, o) in self.outputs(w) {
                    results.push((j, self.team_best(1, o, &mut read)?));
                }
                self.write(w, results)?;
            }
            self.dispatch.iterated(loops)?;
        }
        Ok(read)
    }

    /// Several invocations share the partials of an output; returns the partials that are read.
    fn finish_by_teams(&mut self, lanes: u32) -> Check<BTreeSet<u32>> {
        let p = self.p;
        let teams = self.wg / lanes;
        ensure!(
            lanes.is_power_of_two() && (self.per_word() == 1 || teams.is_multiple_of(4)),
            "{lanes} lanes of {}",
            self.wg
        );
        let mut read = BTreeSet::new();
        for group in self.dispatch.groups() {
            let first = group * teams;
            let mut bests = Vec::new();
            for team in 0..teams {
                let output = match self.per_word() {
                    1 => first + team,
                    _ => self.output_at(0, first + team),
                };
                // Teams without an output repeat the last one.
                let mut again = BTreeSet::new();
                let read = if output < p.items {
                    &mut read
                } else {
                    &mut again
                };
                let best = self.team_best(lanes, output.min(p.items - 1), read)?;
                if self.per_word() == 1 && output < p.items {
                    self.emit(output, best)?;
                } else {
                    bests.push(best);
                }
            }
            if self.per_word() > 1 {
                self.write_bests(first, &bests)?;
            }
        }
        Ok(read)
    }

    /// Merges the partials of output `o`, which `lanes` invocations share.
    fn team_best(&self, lanes: u32, o: u32, read: &mut BTreeSet<u32>) -> Check<Cell> {
        let p = self.p;
        let outer = o / p.inner;
        let start = outer * p.parts * p.inner + o - outer * p.inner;
        let mut from = Vec::new();
        for lane in 0..lanes {
            let own = (lane..p.parts).step_by(lanes as usize);
            // A digit of more partial sums together outgrows a word.
            let sums = self.pass.kernel.acc.sum().is_some();
            ensure!(!sums || own.len() <= 256, "{} partial sums", own.len());
            let loops = u64::from(lanes.ilog2() + self.per_word() - 1);
            self.dispatch
                .iterated(loops + self.join_loops(own.len() as u32))?;
            for i in own {
                let r = start + i * p.inner;
                from.extend_from_slice(self.partial(r)?);
                let first = read.insert(self.source()?.at(p.src_delta + r)?);
                ensure!(first, "partial result {r} again");
            }
        }
        Ok(Cell::Of(from))
    }
}
