//! Finish: results of partial results.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Kernel, Recipe, Resource, StoreFormat, fragments};
use crate::plan::pass::{Slot, View};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step, words};
use crate::walk::Walk;
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
    /// How many invocations of a workgroup may share an output. The outputs of a word lie in one workgroup, whose memory
    /// must hold what they share.
    fn shared_by(&self, step: &Step) -> impl Iterator<Item = u64> {
        let outputs = if step.out.per_word() > 1 { 4 } else { 1 };
        let most = u64::from(self.caps.workgroup()) / outputs;
        let sum = step.acc.sum();
        let fits = move |lanes| sum.is_none_or(|sum| self.may_share(sum, lanes));
        let shared = SHARED_BY.into_iter();
        shared.filter(move |&lanes| lanes <= most && fits(lanes))
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
        let wg = u64::from(self.caps.workgroup());
        let count = run.end - run.start;
        let groups = self.caps.groups();
        // Invocations share the partials of an output while there are workgroups for it.
        let mut lanes = 1;
        // An invocation alone takes all outputs of a word.
        let each = u64::from(step.out.per_word()) * step.join_iterations(parts) + 1;
        let most = self.caps.most_iterations();
        for more in self.shared_by(step) {
            let fits = more <= parts / 2 && (count + 4) * more <= groups * wg;
            let idle = count * lanes < self.caps.tuning.invocations;
            let crowded = parts > step.most_joined(most).saturating_mul(lanes);
            if fits && (idle || crowded || each > most) {
                lanes = more;
            }
        }
        let words = words(step.out, count);
        // Coarsening only where invocations do not share an output.
        let taken = match lanes {
            1 => self.items_per_invocation(words, each),
            _ => 1,
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
        if lanes == 1 {
            let (invocations, iterations) = (words.div_ceil(taken), taken * each);
            self.push(kernel, Some(src), dst, params, invocations, iterations)?;
            return Ok(());
        }
        let ends = lanes.ilog2() + step.out.per_word() + 1;
        let iterations = step.join_iterations(parts.div_ceil(lanes)) + u64::from(ends);
        // A result below a word may begin inside one.
        let outputs = count + u64::from(step.out.per_word()) - 1;
        self.push(kernel, Some(src), dst, params, outputs * lanes, iterations)?;
        Ok(())
    }
}

impl FinishText {
    pub(crate) fn recipe(self, kernel: &Kernel) -> Recipe {
        let shared = self.lanes > 1;
        let sum = kernel.acc.sum();
        // A key and a place; a key for the value beside an index.
        let acc_bytes = if kernel.beside.is_some() { 24 } else { 16 };
        let sum_words = match sum {
            Some(sum) if shared => kernel.workgroup / self.lanes * sum.shared_words(),
            _ => 0,
        };
        let mut constants = vec![("LANES", self.lanes)];
        constants.extend((sum_words > 0).then_some(("SHARED_WORDS", sum_words)));
        let source = match sum {
            Some(_) => Resource::Words,
            None => Resource::Partials,
        };
        let at_once = shared && sum.is_none() && !kernel.acc.are_terms();
        let mut names = vec![("SHARED", shared.into()), ("AT_ONCE", at_once.into())];
        names.extend(sum.iter().flat_map(|sum| sum.joining_names()));
        let mut fragments = fragments!("walk/finish");
        fragments.extend(match sum {
            Some(_) => fragments!("accumulate/joined_sums"),
            None => fragments!("accumulate/joined" "store/emit"),
        });
        fragments.extend(match shared {
            true => fragments!("store/gathered"),
            false => fragments!("store/values"),
        });
        Recipe {
            fragments,
            bindings: vec![Resource::Params, source, Resource::Destination],
            names,
            constants,
            // A value each, beside what is shared.
            workgroup_bytes: match (shared, sum) {
                (false, _) => 0,
                (true, Some(_)) => 4 * (sum_words + kernel.workgroup),
                (true, None) => kernel.workgroup * (acc_bytes + 4),
            },
            ..Recipe::default()
        }
    }
}
