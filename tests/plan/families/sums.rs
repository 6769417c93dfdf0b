//! `sum_rows.wgsl`, `sum_columns.wgsl`, and what a sum takes in the other walks: every element
//! once, and the loops over limbs.

use super::super::interpret::{Check, Found, Run, ensure};
use super::{Span, TEAM};
use wgreduce::unstable::Sum;
use wgreduce::{Class, NanPolicy, Op};

/// Elements that limbs take between two carries.
const TAKES: u64 = 60;
/// Times that an invocation of several columns begins or goes without a window.
const TURNS: u64 = 8;
/// Turns of the longest loop over the bits of a result: a root of 64 bits, or a quotient.
const RESULT: u64 = 130;

impl Run<'_, '_> {
    fn sum(&self) -> Check<Sum> {
        self.pass.kernel.sum.ok_or_else(|| "no sum".into())
    }

    /// Limbs, with those of a count, which a mean without its NaNs has.
    fn limbs(&self) -> u64 {
        let problem = self.machine.problem;
        let counts = problem.op() == Op::ReduceMean && problem.nan_policy() == NanPolicy::Ignore;
        let counts = counts && problem.dtype().class() == Class::Float;
        self.pass.kernel.sum.map_or(0, |sum| match sum.limbs() {
            0 => 0,
            limbs => u64::from(limbs) + if counts { 3 } else { 0 },
        })
    }

    /// Loops over limbs of an invocation that takes so many elements one by one.
    pub(super) fn take_loops(&self, elements: u64) -> u64 {
        elements / TAKES * self.limbs()
    }

    /// Loops of an invocation that begins with nothing and ends with a result: to clear, to carry, to turn round, to
    /// find the top, and what a result takes; or to carry twice and to write.
    pub(super) fn end_loops(&self) -> u64 {
        match self.pass.kernel.sum {
            None => 0,
            Some(_) => 6 * self.limbs() + RESULT,
        }
    }

    /// Loops of an invocation that makes a result of so many partial ones.
    pub(super) fn join_loops(&self, parts: u32) -> u64 {
        match self.pass.kernel.sum {
            None => u64::from(parts) + 1,
            Some(_) => u64::from(parts) * (2 * self.limbs() + 1) + self.end_loops(),
        }
    }

    pub(super) fn sum_rows(
        &mut self,
        lanes: u32,
        blocked: bool,
        several: bool,
        at_once: u32,
    ) -> Check {
        let (p, e) = (self.p, self.e);
        let exact = self.sum()?.limbs() > 0;
        ensure!(
            lanes.is_power_of_two() && lanes <= self.wg && lanes <= 256,
            "{lanes} lanes of {}",
            self.wg
        );
        ensure!(self.source()?.bytes >= 16, "no vec4 in the binding");
        self.coarsened(several, p.width)?;
        let teams = self.wg / lanes;
        let all = self.groups();
        for team in all.flat_map(move |group| (0..teams).map(move |team| group * teams + team)) {
            let mut most = vec![0; lanes as usize];
            for item in team * p.width..(team + 1) * p.width {
                let i = item.min(p.items - 1);
                let row = i / p.slices;
                let skip = (i - row * p.slices) * p.slice;
                ensure!(skip < p.len, "slice {i} begins at {skip} of {}", p.len);
                let start = p.src_delta + row * p.len;
                let s = Span::of_whole(start + skip, p.slice.min(p.len - skip), e);
                let mut found = Found::new();
                for lane in 0..lanes {
                    let works = item < p.items;
                    self.now
                        .set(if works { team * lanes + lane } else { u32::MAX });
                    let vecs = lane_vecs(&s, lane, lanes, blocked);
                    let few = at_once == 0 || vecs.len() <= at_once as usize;
                    ensure!(few, "{} vec4, not {at_once}", vecs.len());
                    let mut loops = 1 + 2 * vecs.len() as u64;
                    let mut taken = 0;
                    for v in vecs {
                        let positions = self.vec4(v)?;
                        found.extend(positions.into_iter().map(|at| (at, at - start)));
                        taken += if exact { u64::from(e) } else { 0 };
                    }
                    let head = (s.first * e).min(s.end) - s.begin;
                    let tail = (s.last * e).max(s.end) - s.last * e;
                    for i in (lane..head + tail).step_by(lanes as usize) {
                        let at = match i < head {
                            true => s.begin + i,
                            false => s.last * e + i - head,
                        };
                        found.push((at, at - start));
                        taken += 1;
                    }
                    loops += taken + self.take_loops(taken) + self.end_loops();
                    most[lane as usize] += loops;
                }
                if item < p.items {
                    let cell = self.cell(&found)?;
                    self.emit(item, cell)?;
                }
            }
            self.iterated(most.into_iter().max().unwrap_or(0))?;
        }
        Ok(())
    }

    /// `runs` vec4 of a row an invocation, or one column if that is 0.
    pub(super) fn sum_columns(&mut self, runs: u32) -> Check {
        let (p, e) = (self.p, self.e);
        let (by_vec, step) = (runs > 0, if runs > 1 { TEAM } else { 1 });
        let columns = (runs * e).max(1);
        let limbs = self.limbs();
        ensure!(p.lanes * columns == p.inner, "{} of {}", p.lanes, p.inner);
        ensure!(p.lanes.is_multiple_of(step), "{} lanes", p.lanes);
        for item in self.items() {
            let part = item / p.lanes;
            let lane = item - part * p.lanes;
            let outer = part / p.slices;
            let first = (part - outer * p.slices) * p.slice;
            let end = (first + p.slice).min(p.len);
            let row = p.src_delta + outer * p.len * p.inner;
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
                    let at = row + t * p.inner + column;
                    if by_vec && column.is_multiple_of(e) {
                        ensure!(at.is_multiple_of(e), "a vec4 at {at}");
                        self.vec4(at / e)?;
                    }
                    found.push((at, t));
                }
            }
            for (column, found) in own.iter().zip(found) {
                let cell = self.cell(&found)?;
                self.emit(part * p.inner + column, cell)?;
            }
            let rows = u64::from(end.saturating_sub(first));
            // The limbs of several columns are fetched, carried and kept.
            let turns = if by_vec && limbs > 0 {
                TURNS * 3 * limbs
            } else {
                0
            };
            let one = self.take_loops(rows) + self.end_loops() + turns;
            let taken = if limbs > 0 || !by_vec {
                u64::from(columns) * rows
            } else {
                rows
            };
            self.iterated(taken + rows.div_ceil(32) + u64::from(columns) * one)?;
        }
        Ok(())
    }
}

/// The whole vec4 that a lane takes.
fn lane_vecs(s: &Span, lane: u32, lanes: u32, blocked: bool) -> Vec<u32> {
    if !blocked {
        return (s.first + lane..s.last).step_by(lanes as usize).collect();
    }
    let run = (s.last - s.first).div_ceil(lanes);
    let at = (s.first + lane * run).min(s.last);
    (at..(at + run).min(s.last)).collect()
}
