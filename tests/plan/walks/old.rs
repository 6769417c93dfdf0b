//! `old/sum_rows.wgsl` over `span.wgsl`, `old/sum_columns.wgsl`.

use super::super::interpret::{Check, Found, Run, ensure};
use wgreduce::unstable::{RowParts, SumColumnsText};

/// Most turns of an invocation of several columns; in each it begins a window or goes without one.
const TURNS: u64 = 8;

impl Run<'_, '_> {
    /// An invocation takes at most `at_once` vec4, or any number if that is 0; if `whole`, a row is whole vec4.
    pub(super) fn sum_rows(
        &mut self,
        lanes: u32,
        [several, whole]: [bool; 2],
        at_once: u32,
    ) -> Check {
        let p = self.p;
        ensure!(
            lanes.is_power_of_two() && lanes <= self.wg && lanes <= 256,
            "{lanes} lanes of {}",
            self.wg
        );
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        ensure!(p.coarsening > 0, "no item a lane");
        ensure!(
            self.per_word() == 1 && !whole || lanes == 1 && p.slices == 1,
            "whole rows, or results that share a word, in parts"
        );
        // If results share words, the kernel has one loop over words and none over items.
        match self.per_word() {
            1 => self.coarsened(several, p.coarsening)?,
            _ => ensure!(!several, "a loop over items and one over words"),
        }
        let teams = self.wg / lanes;
        let all = self.groups();
        for team in all.flat_map(move |group| (0..teams).map(move |team| group * teams + team)) {
            let mut most = vec![0; lanes as usize];
            for item in team * p.coarsening..(team + 1) * p.coarsening {
                if self.per_word() > 1 {
                    self.now.set(team);
                    let mut results = Vec::new();
                    for (j, o) in self.outputs(item) {
                        let found = self.sum_row(o, [1, team], whole, at_once, &mut most)?;
                        results.push((j, self.cell(&found)?));
                    }
                    self.write(item, results)?;
                    continue;
                }
                // Teams past the last item read it again and write nothing.
                let first = match item < p.items {
                    true => team * lanes,
                    false => u32::MAX,
                };
                let i = item.min(p.items - 1);
                let found = self.sum_row(i, [lanes, first], whole, at_once, &mut most)?;
                if item < p.items {
                    let cell = self.cell(&found)?;
                    self.emit(item, cell)?;
                }
            }
            self.iterated(most.into_iter().max().unwrap_or(0))?;
        }
        Ok(())
    }

    /// The elements that `lanes` invocations find in an item. `first`: the first invocation; `u32::MAX` if the item is
    /// a repeated one.
    fn sum_row(
        &self,
        item: u32,
        [lanes, first]: [u32; 2],
        whole: bool,
        at_once: u32,
        most: &mut [u64],
    ) -> Check<Found> {
        let (p, e) = (self.p, self.e);
        let row = item / p.slices;
        let skip = (item - row * p.slices) * p.slice;
        ensure!(skip < p.len, "slice {item} begins at {skip} of {}", p.len);
        let start = p.src_delta + row * p.len;
        let s = Span::of_whole(start + skip, p.slice.min(p.len - skip), e);
        let mut found = Found::new();
        for (lane, most) in (0..lanes).zip(most) {
            self.now.set(first.saturating_add(lane));
            let vecs = lane_vecs(&s, lane, lanes);
            let few = at_once == 0 || vecs.len() <= at_once as usize;
            ensure!(few, "{} vec4, not {at_once}", vecs.len());
            let count = vecs.len() as u64;
            for v in vecs {
                let positions = self.vec4(v)?;
                found.extend(positions.into_iter().map(|at| (at, at - start)));
            }
            let head = (s.first * e).min(s.end) - s.begin;
            let tail = (s.last * e).max(s.end) - s.last * e;
            ensure!(!whole || head + tail == 0, "a row that is no whole vec4");
            let edges: Vec<u32> = (lane..head + tail).step_by(lanes as usize).collect();
            for &i in &edges {
                let at = match i < head {
                    true => s.begin + i,
                    false => s.last * e + i - head,
                };
                found.push((at, at - start));
            }
            // A sum is taken again if no window holds it.
            let again = u64::from(whole && at_once > 0);
            *most += self.row_loops(count, edges.len() as u64) + again;
        }
        Ok(found)
    }

    /// Iterations of an invocation that takes `vecs` vec4 and `edges` single elements of an item.
    fn row_loops(&self, vecs: u64, edges: u64) -> u64 {
        let taken = vecs * u64::from(self.e) + edges;
        1 + 2 * vecs + taken + self.take_loops(taken) + self.end_loops()
    }

    /// Columns of a row that are taken.
    fn row_width(&self) -> Check<u32> {
        let view = self.pass.src.ok_or("no source")?;
        let taken = |rows: RowParts| (rows.bytes / view.element) as u32;
        Ok(view.rows.map_or(self.p.pitch, taken))
    }

    /// An invocation takes `runs` vec4 of a row, or one column if `runs` is 0.
    pub(super) fn sum_columns(&mut self, runs: u32) -> Check {
        let (p, e) = (self.p, self.e);
        let (by_vec, step) = (runs > 0, if runs > 1 { SumColumnsText::TEAM } else { 1 });
        let columns = (runs * e).max(1);
        let limbs = self.limbs();
        let width = self.row_width()?;
        ensure!(p.across * columns == width, "{} of {width}", p.across);
        ensure!(p.slices == 1 || width == p.pitch, "slices of some columns");
        ensure!(p.across.is_multiple_of(step), "{} lanes", p.across);
        for item in self.items() {
            let part = item / p.across;
            let lane = item - part * p.across;
            let outer = part / p.slices;
            let first = (part - outer * p.slices) * p.slice;
            let end = (first + p.slice).min(p.len);
            let row = p.src_delta + outer * p.len * p.pitch;
            let vec = lane / step * step * runs + lane % step;
            let own: Vec<u32> = match by_vec {
                true => (0..runs)
                    .flat_map(|q| (0..e).map(move |i| (vec + q * step) * e + i))
                    .collect(),
                false => vec![lane],
            };
            let mut found = vec![Found::new(); own.len()];
            for t in first..end {
                for (column, found) in own.iter().zip(&mut found) {
                    let at = row + t * p.pitch + column;
                    if by_vec && column.is_multiple_of(e) {
                        ensure!(at.is_multiple_of(e), "a vec4 at {at}");
                        self.vec4(at / e)?;
                    }
                    found.push((at, t));
                }
            }
            for (column, found) in own.iter().zip(found) {
                let cell = self.cell(&found)?;
                self.emit(part * p.pitch + column, cell)?;
            }
            let rows = u64::from(end.saturating_sub(first));
            // Limbs of several columns are fetched, carried and kept.
            let turns = if by_vec { TURNS * 3 * limbs } else { 0 };
            let one = rows + self.take_loops(rows) + self.end_loops() + turns;
            // By itself, a column's elements are taken from vec4, in a loop within a loop.
            let vecs = rows / if by_vec { 32 } else { u64::from(e.min(4)) };
            self.iterated(vecs + 1 + u64::from(columns) * one)?;
        }
        Ok(())
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

/// The whole vec4 that invocation `lane` takes.
fn lane_vecs(s: &Span, lane: u32, lanes: u32) -> Vec<u32> {
    (s.first + lane..s.last).step_by(lanes as usize).collect()
}
