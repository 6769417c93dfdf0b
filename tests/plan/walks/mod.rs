//! The shaders' index arithmetic, walk by walk: what `shaders/` computes from `Params`, on lists of positions.
//! Names are the shaders'. Plain arithmetic panics if it overflows; where a shader wraps by design, the code here wraps
//! explicitly.
//!
//! This file holds what several walks share; memory and bookkeeping are the interpreter's.

mod columns;
mod elementwise;
mod fill;
mod finish;
mod gather;
mod rows;
mod strided;
pub mod top;

use super::interpret::{Cell, Run};
use super::memory::{Check, ensure};
use wgreduce::unstable::{Accumulator, Walk};
use wgreduce::{DType, NanPolicy, Op};

/// Iterations of the longest loop over the bits of a sum's result: a root of 64 bits, or a quotient.
const RESULT: u64 = 130;

impl Run<'_, '_> {
    pub fn walk(&mut self) -> Check {
        match self.pass.kernel.walk {
            Walk::Each(text) => match text.sliced {
                true => self.sliced(),
                false => self.each(self.is_raw(), text.coarsened),
            },
            Walk::Rows(text) => self.rows(text),
            Walk::Columns(text) => self.columns(text),
            Walk::Elementwise(text) => match text.vecs {
                false => self.elementwise_words(&text),
                true => self.elementwise_vecs(&text),
            },
            Walk::Finish(text) => self.finish(text.lanes, text.words),
            Walk::Fill => self.fill(),
            Walk::Gather(text) => match text.strided {
                false => self.gather_pass(text.index_words),
                true => self.strided_gather(text.index_words),
            },
            Walk::Strided => self.strided(self.is_raw()),
            other => Err(format!("no interpreter for {other:?}")),
        }
    }

    /// Whether elements are copied as they are.
    fn is_raw(&self) -> bool {
        matches!(self.pass.kernel.acc, Accumulator::Raw(_))
    }

    /// The invocations that have an item.
    fn items(&self) -> impl Iterator<Item = u32> + use<> {
        let items = self.p.items;
        self.invocations().filter(move |&item| item < items)
    }

    /// The outputs of the word that an invocation writes, each with its place; one output if results have words of
    /// their own.
    fn outputs(&self, w: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (items, per_word) = (self.p.items, self.per_word());
        let first = match per_word {
            1 => w,
            _ => self.output_at(w, 0),
        };
        let outputs = (0..per_word).map(move |j| (j, first.wrapping_add(j)));
        outputs.filter(move |&(_, o)| o < items)
    }

    /// Writes the results of an invocation's word.
    fn write(&mut self, w: u32, mut results: Vec<(u32, Cell)>) -> Check {
        match (self.per_word(), results.pop()) {
            (1, None) => Ok(()),
            (1, Some((_, cell))) => self.emit(w, cell),
            (_, last) => {
                results.extend(last);
                self.write_word(w, results)
            }
        }
    }

    /// Writes the words of a workgroup's results, of which `first` is the first.
    fn write_bests(&mut self, first: u32, bests: &[Cell]) -> Check {
        let per_word = self.per_word();
        for word in (0..self.wg).take_while(|word| word * per_word < bests.len() as u32) {
            let v = first / per_word + word;
            let best = |j: u32| bests[(word * per_word + j) as usize].clone();
            let results = self.outputs(v).map(|(j, _)| (j, best(j)));
            self.write_word(v, results.collect())?;
        }
        Ok(())
    }

    /// Checks that an invocation takes one item, unless the kernel has a loop over items.
    fn coarsened(&self, coarsened: bool, items: u32) -> Check {
        ensure!(coarsened == (items > 1), "{items} items a lane");
        Ok(())
    }

    /// Whether what is read twice would count twice.
    fn adds(&self) -> bool {
        let acc = self.pass.kernel.acc;
        acc.are_terms() || acc.sum().is_some()
    }

    /// Most iterations over blocks of a sum of `loads` units; none without a sum. Floats may be read again.
    fn block_loops(&self, blocks: u64, loads: u32) -> u64 {
        if self.pass.kernel.acc.sum().is_none() {
            return 0;
        }
        let splits = match self.machine.problem.dtype() {
            DType::F16 | DType::BF16 => true,
            dtype => dtype == DType::F32 && !self.squares(),
        };
        let again = if splits { loads + 1 } else { 0 };
        // After two more digits than a sum has nothing is left of the lower one.
        let digits = u64::from(self.digits()[1] + 2);
        blocks * (u64::from(again) + digits)
    }

    fn squares(&self) -> bool {
        matches!(
            self.machine.problem.op(),
            Op::ReduceL2 | Op::ReduceSumSquare
        )
    }

    /// The digits of 22 bits that all numbers take together, none of integers, and those of a sum.
    fn digits(&self) -> [u32; 2] {
        let problem = self.machine.problem;
        match (problem.dtype(), self.squares()) {
            (DType::F16, false) => [2, 2],
            (DType::F16, true) => [4, 4],
            (DType::BF16, false) => [12, 3],
            (DType::BF16, true) => [24, 5],
            (DType::F32, false) => [13, 5],
            (DType::F32, true) => [26, 6],
            (DType::F64, false) => [96, 5],
            (DType::F64, true) => [191, 8],
            (dtype, _) => [0, (16 * dtype.size() as u32).div_ceil(22).max(2)],
        }
    }

    /// How often the elements of an invocation are met that takes them one by one: a sum takes some digits of all at a time, and
    /// asks first where the digits of floats are.
    fn passes(&self) -> u64 {
        let [digits, at_once] = self.digits();
        match self.pass.kernel.acc.sum() {
            Some(_) if digits > 0 => u64::from(digits.div_ceil(at_once)) + 1,
            _ => 1,
        }
    }

    /// Iterations beside elements that are taken one by one; none without a sum.
    fn beside_loops(&self) -> u64 {
        if self.pass.kernel.acc.sum().is_none() {
            return 0;
        }
        // Each digit is kept, and moves those above it once; a team has 8 steps.
        let at_once = u64::from(self.digits()[1]);
        (self.passes() + 1) * (3 * at_once + 8) + self.end_loops()
    }

    /// Most iterations to take elements that blocks do not hold again; none without a sum. Integers always are held.
    fn far_loops(&self, elements: u32) -> u64 {
        let taken = match self.pass.kernel.acc.sum() {
            Some(_) if self.digits()[0] > 0 => self.passes() * u64::from(elements),
            _ => 0,
        };
        taken + self.beside_loops()
    }

    /// Iterations of an invocation that ends with a result: it keeps all digits and divides, or it clears, writes and carries all
    /// digits of a partial sum.
    fn end_loops(&self) -> u64 {
        match self.pass.kernel.acc.sum() {
            None => 0,
            Some(sum) => 4 * u64::from(sum.digits()) + RESULT,
        }
    }

    /// Iterations of an invocation that makes a result of `parts` partials.
    fn join_loops(&self, parts: u32) -> u64 {
        match self.pass.kernel.acc.sum() {
            None => u64::from(parts) + 1,
            Some(sum) => {
                // A digit more than of elements; 128 bits where a mean is divided.
                // Where no result follows, only the mean that counts is one.
                let (problem, kernel) = (self.machine.problem, &self.pass.kernel);
                let counts = problem.nan_policy() == NanPolicy::Ignore;
                let mean = problem.op() == Op::ReduceMean && (!kernel.out.is_partial() || counts);
                let least = if mean { 6 } else { 3 };
                let at_once = (self.digits()[1] + 1).max(least);
                let passes = u64::from(sum.digits().div_ceil(at_once)) + 1;
                passes * (u64::from(parts) + 3 * u64::from(at_once) + 8) + self.end_loops()
            }
        }
    }
}
