//! Elementwise: an invocation combines the elements of all inputs at some places of the output, all loads first: two or
//! four vec4 of outputs where everything is whole vec4, else an output word. What it finds where is in a stride table.

use crate::Error;
use crate::kernel::params::{Params, StrideTable};
use crate::kernel::{Recipe, Resource, fragments};
use crate::plan::elementwise::{Dim, Part, back};
use crate::plan::pass::Slot;
use crate::plan::step::{Planner, words};
use crate::walk::Walk;
use std::ops::Range;

/// What the text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElementwiseText {
    /// Whether an invocation writes vec4, not a word.
    pub vecs: bool,
    /// Inputs, 1 to 6.
    pub inputs: u32,
    /// A bit for each scalar input: one of its elements serves a whole vec4.
    pub scalars: u32,
    /// Whether the output so far is an input, too.
    pub chained: bool,
}

impl ElementwiseText {
    /// Vec4 that an invocation writes; 0: a word. It loads eight of two inputs before it uses one, of more inputs
    /// two of each, because all are in registers at once.
    pub const fn at_once(self) -> u32 {
        match (self.vecs, self.inputs + self.chained as u32) {
            (false, _) => 0,
            (true, ..=2) => 4,
            (true, _) => 2,
        }
    }

    pub(crate) fn recipe(self) -> Recipe {
        use Resource::{Destination, Params, StrideTable, View};
        let mut bindings = vec![Params, StrideTable, Destination];
        bindings.extend((0..self.inputs).map(View));
        let mut fragments = fragments!("access/stride_table" "access/inputs" "walk/elementwise");
        if !self.vecs {
            fragments.extend(fragments!("store/values"));
        }
        Recipe {
            fragments,
            bindings,
            writes_vecs: self.vecs,
            names: vec![
                ("VECS", self.at_once()),
                ("INPUTS", self.inputs),
                ("SCALARS", self.scalars),
                ("CHAINED", self.chained.into()),
            ],
            ..Recipe::default()
        }
    }
}

impl Planner<'_> {
    /// One dispatch over some inputs.
    pub(crate) fn chained(&mut self, part: &Part<'_>, inputs: Range<usize>) -> Result<(), Error> {
        let (first, count) = (inputs.start, inputs.len());
        let text = ElementwiseText {
            vecs: part.unit.is_vec(),
            inputs: count as u32,
            scalars: (0..count).fold(0, |bits, i| {
                bits | u32::from(part.unit.splat[first + i]) << i
            }),
            chained: first > 0,
        };
        let step = self.step(Slot::Input(0), Slot::Output(0), [1; 3]);
        let (out, kernel) = (step.out, self.kernel_of(&step, Walk::Elementwise(text)));
        let vecs = text.at_once().into();
        let (dims, along) = laid(part, &inputs, vecs, kernel.workgroup.into());
        let items: u64 = dims.iter().map(|d| d.size).product();
        let params = Params {
            items: items as u32,
            along: along.as_ref().map_or(0, |d| d.size as u32),
            dims: dims.len() as u32,
            ..Params::default()
        };
        let size = self.problem.dtype().size();
        let dst = part.output(size);
        let (invocations, each) = match part.unit.is_vec() {
            true => (items, 1),
            false => (words(out, dst.bytes / size), u64::from(out.per_word())),
        };
        let iterations = each * (dims.len() as u64 + 1);
        let strides = |d: &Dim| d.strides.iter().map(|&s| s as u32).collect();
        let starts = inputs.clone().map(|i| back(&part.dims, i) as u32);
        let table = StrideTable {
            shape: dims.iter().map(|d| d.size as u32).collect(),
            strides: dims.iter().chain(&along).map(strides).collect(),
            starts: starts.collect(),
        };
        let views = inputs.map(|i| part.input(i, size)).collect();
        let pass = self.push(kernel, None, dst, params, invocations, iterations)?;
        pass.stride_table = Some((table, views));
        Ok(())
    }
}

/// Coordinates from which on it hardly matters that the last ones leave invocations idle.
const LONG: u64 = 32;

/// The dimensions of a part as invocations number them, none of size 1, with the strides of some inputs, of the
/// output, and of the coordinate along the dimension in which an invocation takes `vecs` vec4, if it does. The second
/// result is that dimension: its size, and the strides from one vec4 to the next. They are so far apart that the first
/// ones of a workgroup are neighbours. Best is a dimension along which an input repeats, so that all but the first find
/// it in the cache, else the greatest.
fn laid(
    part: &Part<'_>,
    inputs: &Range<usize>,
    vecs: u64,
    workgroup: u64,
) -> (Vec<Dim>, Option<Dim>) {
    let dims = part.dims.iter().enumerate();
    let best = dims.clone().max_by_key(|(_, dim)| {
        let repeats = dim.strides[inputs.clone()].contains(&0);
        (dim.size.min(LONG), repeats, dim.size)
    });
    let best = best.map(|(d, _)| d).filter(|_| vecs > 0);
    let (mut laid, mut along, mut inner) = (Vec::new(), None, 1);
    for (d, dim) in dims.rev() {
        let mut strides = dim.strides[inputs.clone()].to_vec();
        strides.resize(StrideTable::OUTPUT, 0);
        strides.extend([inner as i64, (best == Some(d)).into()]);
        let every = |n: u64, size| Dim {
            size,
            strides: strides.iter().map(|s| s * n as i64).collect(),
        };
        if best == Some(d) {
            let apart = workgroup.div_ceil(inner).min(dim.size.div_ceil(vecs));
            laid.push(every(1, apart));
            laid.push(every(vecs * apart, dim.size.div_ceil(vecs * apart)));
            along = Some(every(apart, dim.size));
        } else {
            laid.push(every(1, dim.size));
        }
        inner *= dim.size;
    }
    // There is no reciprocal that divides by 1.
    laid.retain(|d| d.size > 1);
    laid.reverse();
    (laid, along)
}
