//! Planning both extremes and their indices, from one read where that pays.
//!
//! A first pass leaves two partials for each part of a segment: one of the least element, one of the
//! greatest. Each of the four results is finished from one of them, so four storage buffers are enough. Views
//! are cut and walked as in `strided.rs`. Contiguous segments are read by vec4.
//! Where that is as fast, four steps read the input instead.

use crate::kernel::{Family, Walk};
use crate::keys::Keys;
use crate::plan::layout::{Axis, Groups, StridedLayout, Window};
use crate::plan::pass::Slot;
use crate::plan::reduce::out_view;
use crate::plan::step::{Planner, Step};
use crate::plan::strided::{ABREAST, ROW_BLOCK, Share};
use crate::{DType, Error, Order};

/// Least bytes of a contiguous segment that is read by vec4.
const LEAST_ROW: u64 = 32;
/// Bytes of a contiguous segment that are worth two partials.
const LEAST_FUSED: u64 = 1024;
/// Bytes of a contiguous segment that are worth an invocation with partials of its own.
const ROW_LANE: u64 = 2048;

impl Planner<'_> {
    /// Plans both extremes of every segment and their indices, from one read.
    pub(crate) fn extremes(&mut self, layout: &StridedLayout, outputs: u64) -> Result<(), Error> {
        let steps = self.sides(outputs);
        if layout.repeats() {
            // Both extremes are the only element, canonicalized.
            let value = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
            for i in 0..2 {
                let dst = Slot::Output(i);
                let step = Step { dst, ..value };
                self.search(&step, &layout.without_reduced(), false, None)?;
                self.fill(2 + i, steps[2].out, self.only_index(), outputs)?;
            }
            return Ok(());
        }
        let written = steps.map(|step| self.outputs_per_dispatch(step.out));
        let written = written.into_iter().min().unwrap_or(1);
        let sizes = self.windows(layout, &self.partial_step(&steps), written, 1, true)?;
        let mut groups = Groups::new(layout, sizes, self.splits);
        while let Some((kept, reduced)) = groups.next()? {
            let windows = Window::all(layout, &kept, &reduced);
            self.extremes_group(&steps, &windows)?;
        }
        Ok(())
    }

    /// Whether the four results of contiguous elements are as fast one by one. They are of segments that are too short
    /// to be worth two partials. Where `blocked`, they also are of columns that are whole vec4 or below 32 bits, because
    /// their walks read vec4, and `extremes` reads elements.
    pub(crate) fn apart_is_as_fast(&self) -> bool {
        let [_, len, inner] = self.one_axis(1);
        let tuning = &self.caps.tuning;
        let element = self.problem.dtype().size();
        let forced = matches!(tuning.force, Some(Family::Extremes | Family::ExtremeRows));
        let fast = match inner {
            1 => len * element < LEAST_FUSED,
            _ => tuning.blocked && (element < 4 || (inner * element).is_multiple_of(16)),
        };
        len > 1 && fast && !forced
    }

    /// Plans the four results one by one.
    pub(crate) fn extremes_apart(&mut self, outputs: u64) -> Result<(), Error> {
        let [outer, len, inner] = self.one_axis(outputs);
        let dtype = self.problem.dtype();
        for (i, step) in (0..).zip(self.sides(outputs)) {
            let order = [Order::Least, Order::Greatest][i % 2];
            self.reduce(&Step {
                keys: Keys::new(dtype, order, self.problem.nan_policy(), step.index),
                outer,
                len,
                inner,
                ..step
            })?;
        }
        Ok(())
    }

    /// The results of both extremes as steps: their values, then their indices.
    fn sides(&self, outputs: u64) -> [Step; 4] {
        let problem = self.problem;
        let value = self.step(Slot::Input(0), Slot::Output(0), [outputs, 1, 1]);
        [
            (0, Order::Least, false),
            (1, Order::Greatest, false),
            (2, Order::Least, true),
            (3, Order::Greatest, true),
        ]
        .map(|(i, order, index)| Step {
            dst: Slot::Output(i),
            out: if index {
                self.index_format()
            } else {
                value.out
            },
            keys: Keys::of_sides(ordered(problem.dtype()), order, problem.nan_policy(), index),
            index,
            ..value
        })
    }

    /// Plans the windows of the same outputs: first the partials of both extremes, then the results.
    fn extremes_group(&mut self, steps: &[Step; 4], windows: &[Window<'_>]) -> Result<(), Error> {
        let first = &windows[0];
        let (outputs, len) = (first.kept.elements(), first.reduced.elements());
        let truth = self.problem.dtype() == DType::Bool;
        let partial = self.partial_step(steps);
        let (walk, share) = if self.by_rows(windows) {
            let share = self.share_rows(&partial, outputs, len);
            (Walk::ExtremeRows { truth }, share)
        } else {
            let share = self.share(first.layout, &partial, outputs, len, true);
            (Walk::Extremes { truth }, share)
        };
        let partials = outputs * share.parts;
        let kernel = self.kernel_of(&partial, walk);
        let dst = out_view(Slot::Partials, partial.out, 0, 2 * partials);
        for (i, window) in windows.iter().enumerate() {
            self.window(kernel, window, share, dst, i > 0)?;
        }
        for (i, step) in (0..).zip(steps) {
            let from = i % 2 * partials;
            let results = first.results(share);
            self.finish(step, &results, share.parts, from, &(0..outputs))?;
        }
        Ok(())
    }

    /// The step that leaves partial results of both.
    fn partial_step(&self, steps: &[Step; 4]) -> Step {
        Step {
            out: self.partial_format(&steps[2]),
            ..steps[2]
        }
    }

    /// Whether segments are contiguous and long enough to be read by vec4, and every buffer holds a vec4.
    fn by_rows(&self, windows: &[Window<'_>]) -> bool {
        let (layout, len) = (windows[0].layout, windows[0].reduced.elements());
        let contiguous = matches!(layout.reduced[..], [Axis { stride: 1, .. }]);
        let element = self.problem.dtype().size();
        let seen = |window: &Window<'_>| window.place()[2] * element;
        let vecs = match self.splits.input(0) {
            [] => self.problem.input_bytes(0) >= 16,
            _ => windows.iter().all(|window| seen(window) >= 16),
        };
        let forced = self.caps.tuning.force == Some(Family::Extremes);
        contiguous && vecs && !forced && len * element >= LEAST_ROW
    }

    /// Shares contiguous segments: slices, and invocations that walk each slice striped.
    fn share_rows(&self, step: &Step, outputs: u64, len: u64) -> Share {
        let tuning = &self.caps.tuning;
        let element = self.problem.dtype().size();
        let bytes = len * element;
        let room = (self.room(step.out, true) / outputs).max(1);
        let lanes = match tuning.blocked {
            true => 1,
            false => (bytes / ROW_LANE).clamp(1, ABREAST).min(room),
        };
        let least = bytes.div_ceil(lanes * ROW_BLOCK * (self.caps.most_iterations() / 2));
        let wanted = self.slices(outputs * lanes, bytes / tuning.slice_bytes.max(1));
        let slices = wanted.min(room / lanes).max(least);
        let slice = match slices {
            1 => len,
            _ => len.div_ceil(slices).next_multiple_of(ROW_BLOCK / element),
        };
        Share {
            parts: len.div_ceil(slice) * lanes,
            slice,
            step: lanes,
            inner: 1,
        }
    }
}

/// The type in whose order elements are compared: the shader reads any true as 1.
fn ordered(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::U8,
        other => other,
    }
}
