//! The shaders' index arithmetic, walk by walk: what `shaders/` computes from `Params`, on lists of positions.
//! Names are the shaders'. Plain arithmetic panics if it overflows; where a shader wraps by design, the code here wraps
//! explicitly.
//!
//! This file holds what several walks share; memory and bookkeeping are the interpreter's.

mod columns;
mod elementwise;
mod finish;
mod rows;
mod sums;
mod views;

use super::interpret::{Cell, Check, Run, ensure};
use wgreduce::unstable::{Accumulator, Walk};

impl Run<'_, '_> {
    pub fn dispatch(&mut self) -> Check {
        match self.pass.kernel.walk {
            Walk::Each(text) => match text.sliced {
                true => self.sliced(),
                false => self.each(self.is_raw(), text.coarsened),
            },
            Walk::Rows(text) => self.rows(text),
            Walk::Columns(text) => self.columns(text),
            Walk::SumRows(text) => {
                self.sum_rows(text.lanes, [text.coarsened, text.whole], text.vecs)
            }
            Walk::SumColumns(text) => self.sum_columns(text.runs),
            Walk::ShallowSums => self.shallow_sums(),
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

    /// Checks that an invocation takes one item, unless the kernel has a loop over items.
    fn coarsened(&self, coarsened: bool, items: u32) -> Check {
        ensure!(coarsened == (items > 1), "{items} items a lane");
        Ok(())
    }

    /// The positions of a whole vec4.
    fn vec4(&self, v: u32) -> Check<Vec<u32>> {
        let src = self.source()?;
        ensure!(
            (u64::from(v) + 1) * 16 <= src.bytes,
            "vec4 {v} of a binding of {} bytes",
            src.bytes
        );
        self.loads(0, src, v * self.e);
        Ok((v * self.e..(v + 1) * self.e).collect())
    }
}

/// Elements begin..end; the vec4 first..last lie wholly among them.
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
}
