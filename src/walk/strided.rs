//! Strided: element by element. In a contiguous tensor an invocation takes the segments of an output word, or a part of a
//! segment, which serves what no other walk takes. In a view it finds each element by its strides.

use crate::Error;
use crate::kernel::params::Params;
use crate::kernel::{Accumulator, Kernel, Recipe, Resource, fragments};
use crate::plan::layout::Window;
use crate::plan::pass::{Slot, View};
use crate::plan::splits::Region;
use crate::plan::step::{Planner, Step, dst_view, region_params, words};
use crate::plan::views::Share;
use crate::walk::Walk;

/// Least elements of a part of a segment.
const LEAST_SLICE: u64 = 64;

/// What the text of contiguous tensors depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EachText {
    /// Whether an invocation takes several words of outputs, one after another.
    pub coarsened: bool,
    /// Whether it takes a part of a segment.
    pub sliced: bool,
}

/// How a region is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Each {
    /// Parts of a segment.
    pub slices: u64,
    /// Elements of a part.
    pub slice: u64,
    /// Elements of a segment before its first part, which others take.
    pub begin: u64,
}

impl Each {
    /// Whole segments.
    pub(crate) const WHOLE: Each = Each {
        slices: 1,
        slice: u64::MAX,
        begin: 0,
    };

    /// Whole segments, or parts of them where these are long and few.
    pub(crate) fn fit(planner: &Planner<'_>, step: &Step, b: &Region) -> Each {
        let outputs = b.outer * b.inner;
        let room = planner.parts_per_dispatch(step) / outputs;
        let filled = planner.slices(outputs, b.len / LEAST_SLICE);
        let least = planner.least_parts(step, 1, b.len);
        let most = room.min(planner.most_parts(step));
        let slices = filled.max(least).min(most).max(1);
        Each::sliced(b, b.len.div_ceil(slices))
    }

    /// Parts of so many elements.
    pub(crate) fn sliced(b: &Region, slice: u64) -> Each {
        match b.len.div_ceil(slice) {
            0 | 1 => Each::WHOLE,
            slices => Each {
                slices,
                slice,
                begin: 0,
            },
        }
    }

    pub(crate) fn pass(
        self,
        planner: &mut Planner<'_>,
        step: &Step,
        b: &Region,
        merge: bool,
    ) -> Result<(), Error> {
        let sliced = self != Each::WHOLE;
        let items = b.outer * b.inner * self.slices;
        let words = words(step.out, items);
        // Parts leave partial results, which share no words.
        let elements = self.slice.min(b.len);
        let each = u64::from(step.out.per_word()) * step.iterations(elements) + 1;
        let taken = match sliced {
            true => 1,
            false => planner.items_per_invocation(words, each),
        };
        let text = EachText {
            coarsened: taken > 1,
            sliced,
        };
        let kernel = planner.kernel_of(step, Walk::Each(text));
        let params = Params {
            items: items as u32,
            slices: self.slices as u32,
            slice: self.slice as u32,
            begin: self.begin as u32,
            inner: b.inner as u32,
            coarsening: taken as u32,
            merge: merge.into(),
            ..region_params(b)
        };
        let (src, dst) = (planner.src_view(step, b), dst_view(step, b, items));
        let invocations = words.div_ceil(taken);
        planner.push(kernel, Some(src), dst, params, invocations, taken * each)?;
        Ok(())
    }
}

impl Planner<'_> {
    /// Plans a dispatch over a window of a view.
    pub(crate) fn window(
        &mut self,
        kernel: Kernel,
        window: &Window<'_>,
        share: Share,
        dst: View,
        merge: bool,
    ) -> Result<(), Error> {
        let (outputs, len) = (window.kept.elements(), window.reduced.elements());
        let (table, kept) = window.stride_table(1);
        let items = outputs * share.parts;
        let results = dst.bytes / kernel.out.bytes();
        let dims = table.shape.len() as u64;
        let apart = if kernel.acc.is_both() { results / 2 } else { 0 };
        let params = Params {
            items: items as u32,
            kept_dims: kept as u32,
            dims: dims as u32,
            len: len as u32,
            inner: share.inner as u32,
            slices: share.parts as u32,
            slice: share.slice as u32,
            step: share.step as u32,
            merge: merge.into(),
            apart: apart as u32,
            base: window.reduced.place,
            ..Params::default()
        };
        let steps = share.slice * (dims - kept as u64).max(1);
        let sum = kernel.acc.sum();
        let taken = sum.map_or(steps, |sum| sum.elements().iterations(steps));
        let iterations = u64::from(kernel.out.per_word()) * (taken + dims + 1);
        let invocations = words(kernel.out, items);
        let src = self.window_view(window);
        let pass = self.push(kernel, None, dst, params, invocations, iterations)?;
        pass.stride_table = Some((table, vec![src]));
        Ok(())
    }

    /// What a window sees of the input.
    pub(crate) fn window_view(&self, window: &Window<'_>) -> View {
        let [lowest, _, count] = window.place();
        View::elements(Slot::Input(0), self.problem.dtype().size(), lowest, count)
    }
}

/// The recipe of contiguous tensors, or of views.
pub(crate) fn recipe(kernel: &Kernel, each: Option<EachText>) -> Recipe {
    use Resource::{Destination, Params, StrideTable, View, Words};
    let (mut fragments, bindings) = match each {
        Some(_) => (
            fragments!("access/segments"),
            vec![Params, Destination, Words],
        ),
        None => (
            fragments!("access/stride_table" "access/view"),
            vec![Params, StrideTable, Destination, View(0)],
        ),
    };
    fragments.extend(fragments!("access/parts" "walk/strided"));
    fragments.extend(match kernel.acc {
        Accumulator::Sum(_) => fragments!("elements/magnitude" "accumulate/sums" "store/values"),
        Accumulator::Both { .. } => fragments!(
            "elements/both" "accumulate/both" "store/emit" "store/leave"
        ),
        _ => fragments!("accumulate/row" "store/emit" "store/values"),
    });
    let text = each.unwrap_or_default();
    let mut names = vec![
        ("BY_VEC", 0),
        // Positions are those of a segment, which do not fit below a key.
        ("FRAMED", 0),
        ("PACKED", 0),
        ("LOOPED", 0),
        // Views are always cut into parts.
        ("SLICED", each.is_none_or(|text| text.sliced).into()),
        ("STEPPED", each.is_none().into()),
        ("COARSENED", text.coarsened.into()),
    ];
    let sum = kernel.acc.sum();
    names.extend(sum.iter().flat_map(|sum| sum.digit_names(true, false)));
    Recipe {
        fragments,
        bindings,
        names,
        ..Recipe::default()
    }
}
