//! The shaders' index arithmetic, family by family: what `shaders/` computes from `Params`, on lists of positions.
//! Names are the shaders'. Plain arithmetic panics if it overflows; where a shader wraps by design, the code here wraps
//! explicitly.
//!
//! This file holds what several families share; memory and bookkeeping are the interpreter's.

mod columns;
mod elementwise;
mod extremes;
mod finish;
mod lines;
mod rows;
mod sums;
mod views;

use super::interpret::{Cell, Check, Run, ensure};
use wgreduce::unstable::{Unit, Walk};

/// Rows in a block of columns.
const BLOCK: u32 = 4;
/// Vec4 in a block of rows.
const ROW_BLOCK: u32 = 8;
/// Whole rows that columns take without blocks.
const FEW: u32 = 16;
/// Neighbouring invocations of strips.
const TEAM: u32 = 8;

impl Run<'_, '_> {
    pub fn dispatch(&mut self) -> Check {
        match self.pass.kernel.walk {
            Walk::Each { raw, coarsened } => self.each(raw, coarsened),
            Walk::Rows {
                lanes,
                blocked,
                coarsened,
                whole,
                vecs,
            } => self.rows(lanes, [blocked, coarsened, whole], vecs),
            Walk::Columns { runs, .. } if self.pass.kernel.sum.is_some() => self.sum_columns(runs),
            Walk::ShallowSums => self.shallow_sums(),
            Walk::SmallRows {
                unrolled,
                coarsened,
            } => self.small_rows(unrolled, coarsened),
            Walk::Panels {
                lanes,
                runs,
                unaligned,
                coarsened,
            } => self.panels([lanes, runs], unaligned, coarsened),
            Walk::Columns {
                runs,
                ragged,
                shared: false,
            } => self.columns(runs, ragged),
            Walk::Columns { ragged, .. } => self.shared_columns(ragged),
            Walk::Elementwise(taken) => match taken.unit {
                Unit::Word => self.elementwise_words(&taken),
                Unit::Vec => self.elementwise_vecs(&taken),
                other => Err(format!("no interpreter for {other:?}")),
            },
            Walk::Finish { lanes, words } => self.finish(lanes, words),
            Walk::Fill => self.fill(),
            Walk::Gather { index_words } => self.gather_pass(index_words),
            Walk::Strided { raw } => self.strided(raw),
            Walk::StridedGather { index_words } => self.strided_gather(index_words),
            Walk::Extremes { truth } => self.extremes(truth),
            Walk::ExtremeRows { truth } => self.extreme_rows(truth),
            other => Err(format!("no interpreter for {other:?}")),
        }
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

    /// The positions of a whole vec4.
    fn vec4(&self, v: u32) -> Check<Vec<u32>> {
        let src = self.source()?;
        ensure!(
            (u64::from(v) + 1) * 16 <= src.bytes,
            "vec4 {v} of a binding of {} bytes",
            src.bytes
        );
        self.loads(0, src, v * self.e);
        self.edge(v, 0, self.e)
    }

    /// The positions low..high of a vec4. No word outside of the binding is among them, because a look-up of an element
    /// outside of the view fails.
    fn edge(&self, v: u32, low: u32, high: u32) -> Check<Vec<u32>> {
        ensure!(low < high && high <= self.e, "elements {low}..{high}");
        Ok((v * self.e + low..v * self.e + high).collect())
    }
}

/// Elements begin..end. In rows.wgsl the vec4 first..last lie wholly among them; in extreme_rows.wgsl `first` holds the
/// first element and `last` the last.
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
