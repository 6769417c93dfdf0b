//! Finish: results of partial results.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Accumulator, Kernel, Recipe, Resource, StoreFormat, fragments};
use crate::plan::pass::{Slot, View};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step, words};
use crate::walk::Walk;
use crate::walk::rows::FAR_BYTES;
use std::ops::Range;

/// How many invocations may share an output, so that another number of partial results seldom compiles anything.
const SHARED_BY: [u64; 3] = [8, 64, 256];

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FinishText {
    /// Invocations that share the partial results of an output: 1, 8, 64 or 256.
    pub lanes: u32,
    /// Words of a partial result; 0: of an exact sum.
    pub words: u32,
}

impl Planner<'_> {
    /// How many invocations of a workgroup, whose memory must hold what they share, may share an output. The outputs of a word lie
    /// in one workgroup.
    fn shared_by(&self, step: &Step) -> impl Iterator<Item = u64> {
        let outputs = if step.out.per_word() > 1 { 4 } else { 1 };
        let wg = self.caps.workgroup();
        let fits = shared_bytes(step.acc, step.beside.is_some(), wg) <= self.caps.workgroup_bytes;
        let most = if fits { wg / outputs } else { 1 };
        let shared = SHARED_BY.into_iter();
        shared.filter(move |&lanes| lanes <= most.into())
    }

    /// Most parts of a segment that the invocations of an output may take.
    pub(crate) fn most_parts(&self, step: &Step) -> u64 {
        let iterations = self.caps.most_iterations() / 2 / u64::from(step.out.per_word());
        let lanes = self.shared_by(step).last().unwrap_or(1);
        step.most_joined(iterations).saturating_mul(lanes)
    }

    /// Makes results of `parts` partials an output; of both extremes one after the other. `runs`: the outputs of the
    /// region that a pass makes.
    pub(crate) fn finish(
        &mut self,
        step: &Step,
        b: &Region,
        parts: u64,
        runs: &[Range<u64>],
    ) -> Result<(), Error> {
        let all = b.outer * b.inner * parts;
        for (i, step) in (0..).zip(self.results_of(step)) {
            for run in runs {
                self.finish_run(&step, b, parts, i * all, run)?;
            }
        }
        Ok(())
    }

    /// The same of one run, from partial `from` on.
    fn finish_run(
        &mut self,
        step: &Step,
        b: &Region,
        parts: u64,
        from: u64,
        run: &Range<u64>,
    ) -> Result<(), Error> {
        let count = run.end - run.start;
        // Invocations share the partials of an output while there are workgroups for it.
        let mut lanes = 1;
        // An invocation alone takes all outputs of a word.
        let each = u64::from(step.out.per_word()) * step.join_iterations(parts) + 1;
        let most = self.caps.most_iterations();
        for more in self.shared_by(step) {
            let fits = more <= parts / 2 && (count + 4) * more <= self.caps.most_invocations();
            let idle = count * lanes < self.caps.tuning.invocations;
            let crowded = parts > step.most_joined(most).saturating_mul(lanes);
            if fits && (idle || crowded || each > most) {
                lanes = more;
            }
        }
        // Coarsening only where invocations do not share an output.
        let (taken, invocations, iterations) = match lanes {
            1 => {
                let words = words(step.out, count);
                let taken = self.items_per_invocation(words, each);
                (taken, words.div_ceil(taken), taken * each)
            }
            _ => {
                // A result below a word may begin inside one.
                let outputs = count + u64::from(step.out.per_word()) - 1;
                let ends = u64::from(lanes.ilog2() + step.out.per_word() + 1);
                let joined = step.join_iterations(parts.div_ceil(lanes));
                (1, outputs * lanes, joined + ends)
            }
        };
        let format = self.partial_format(step);
        let text = FinishText {
            lanes: lanes as u32,
            words: match format {
                StoreFormat::Partial(words) => words,
                _ => 0,
            },
        };
        let kernel = self.kernel_of(step, Walk::Finish(text));
        let params = Params {
            items: count as u32,
            parts: parts as u32,
            inner: b.inner as u32,
            coarsening: taken as u32,
            ..Params::default()
        };
        let partials = b.outer * b.inner * parts - run.start;
        let src = View::of(Slot::Partials, format, from + run.start, partials);
        let dst = View::of(step.dst, step.out, b.out + run.start, count);
        self.push(kernel, Some(src), dst, params, invocations, iterations)?;
        Ok(())
    }
}

/// Bytes of workgroup memory where invocations share partial results: what each leaves, and a value.
fn shared_bytes(acc: Accumulator, beside: bool, workgroup: u32) -> u32 {
    match acc.sum() {
        Some(sum) => workgroup * (sum.joined_bytes() + 4) + FAR_BYTES,
        // A key and a place; a key for the value beside an index.
        None => workgroup * (if beside { 24 } else { 16 } + 4),
    }
}

impl FinishText {
    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        let shared = self.lanes > 1;
        let mut names = vec![("LANES", self.lanes), ("LOG_LANES", self.lanes.ilog2())];
        let mut fragments = fragments!("walk/finish" "accumulate/team");
        let source = match kernel.acc.sum() {
            Some(sum) => {
                names.extend(sum.joining_names(shared));
                fragments.extend(fragments!("accumulate/joined_sums"));
                Resource::Words
            }
            None => {
                let at_once = shared && !kernel.acc.are_terms();
                names.push(("AT_ONCE", at_once.into()));
                fragments.extend(fragments!("accumulate/joined" "store/emit"));
                Resource::Partials
            }
        };
        fragments.extend(fragments!("store/values"));
        if shared {
            fragments.extend(fragments!("store/gathered"));
        }
        Recipe {
            fragments,
            bindings: vec![Resource::Params, source, Resource::Destination],
            names,
            workgroup_bytes: match shared {
                false => 0,
                true => shared_bytes(kernel.acc, kernel.beside.is_some(), kernel.workgroup),
            },
            ..Recipe::default()
        }
    }
}
