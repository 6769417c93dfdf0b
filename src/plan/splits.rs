//! Tensors in several buffers: what a dispatch sees is cut where a buffer ends.
//!
//! Knows regions and where buffers end, but not which regions there are; asks `choose` how each is walked.

use crate::Problem;
use crate::walk::Mapping;
use std::ops::Range;

/// Where tensors continue in another buffer: for each input and each output the first element of each buffer,
/// counted from the tensor's start and in any order. Element 0, and elements beyond the tensor, may be left
/// out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferSplits {
    /// By input; inputs that are missing here have one buffer.
    pub inputs: Vec<Vec<u64>>,
    /// By output; likewise.
    pub outputs: Vec<Vec<u64>>,
}

impl BufferSplits {
    /// Whether every tensor has one buffer.
    pub(crate) fn is_empty(&self) -> bool {
        self.inputs.iter().chain(&self.outputs).all(Vec::is_empty)
    }

    /// The cuts inside of a problem's tensors, in order.
    pub(crate) fn in_order(&self, problem: &Problem) -> BufferSplits {
        let [read, written] = problem.sizes();
        let ordered = |(cuts, (bytes, element)): (&Vec<u64>, (u64, u64))| {
            let inner = |cut: &u64| (1..bytes / element).contains(cut);
            sorted(cuts.iter().copied().filter(inner))
        };
        BufferSplits {
            inputs: self.inputs.iter().zip(read).map(ordered).collect(),
            outputs: self.outputs.iter().zip(written).map(ordered).collect(),
        }
    }

    /// Whether the part of a tensor in each buffer begins at a multiple of 16 bytes of the tensor.
    pub(crate) fn are_aligned(&self, problem: &Problem) -> bool {
        let [read, written] = problem.sizes();
        let outputs = self.outputs.iter().zip(written);
        let mut tensors = self.inputs.iter().zip(read).chain(outputs);
        tensors.all(|(cuts, (_, element))| cuts.iter().all(|c| c.is_multiple_of(16 / element)))
    }

    /// Where an input continues in another buffer.
    pub(crate) fn input(&self, i: usize) -> &[u64] {
        self.inputs.get(i).map_or(&[], Vec::as_slice)
    }

    /// Where any output continues in another buffer: outputs are written together.
    pub(crate) fn outputs(&self) -> Vec<u64> {
        sorted(self.outputs.iter().flatten().copied())
    }
}

/// A part of a step that one binding can see: contiguous in memory, or some columns of a matrix.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    /// First element, from the step's first.
    pub at: u64,
    /// First output, from the result's start.
    pub out: u64,
    pub outer: u64,
    pub len: u64,
    pub inner: u64,
    /// Place of its first element in the segments.
    pub base: u64,
    /// Elements from a row to the next where a kernel sees it: more than `inner` if others take the rest of a row.
    pub pitch: u64,
}

impl Region {
    /// Whole segments, from the step's first element on.
    pub(crate) fn new(outer: u64, len: u64, inner: u64) -> Region {
        Region {
            outer,
            len,
            inner,
            pitch: inner,
            ..Region::default()
        }
    }
}

/// Regions whose outputs are the same: the parts of their segments.
pub(crate) struct Partition {
    /// None is longer than the first; what is narrower is a part of a row.
    pub regions: Vec<Region>,
    /// The outputs, counted from the partition's first, in runs that lie in one buffer each.
    pub runs: Vec<Range<u64>>,
    /// How the first region is walked.
    pub mapping: Mapping,
    /// Its one region is copied to a tensor of its own first.
    pub copied: bool,
}

impl Partition {
    /// A partition of these regions; the outputs of the step are cut at `cuts`.
    pub(crate) fn of(regions: Vec<Region>, cuts: &[u64], mapping: Mapping) -> Partition {
        let first = regions[0];
        let outputs = first.out..first.out + first.outer * first.inner;
        let from = |run: Range<u64>| run.start - first.out..run.end - first.out;
        let runs = runs(cuts, outputs).into_iter().map(from).collect();
        Partition {
            regions,
            runs,
            mapping,
            copied: false,
        }
    }

    /// The parts of the runs that are outputs of a region.
    pub(crate) fn runs_of(&self, b: &Region) -> Vec<Range<u64>> {
        let begin = b.out - self.regions[0].out;
        let end = begin + b.outer * b.inner;
        let within = |r: &Range<u64>| r.start.max(begin)..r.end.min(end);
        let runs = self.runs.iter().map(within);
        runs.filter(|r| !r.is_empty()).collect()
    }
}

/// The cuts strictly inside a range.
pub(crate) fn inside(cuts: &[u64], range: &Range<u64>) -> impl Iterator<Item = u64> {
    let (begin, end) = (range.start, range.end);
    let first = cuts.partition_point(|&c| c <= begin);
    cuts[first..].iter().copied().take_while(move |&c| c < end)
}

/// How many of `count` fit together, if not all do: at least one.
pub(crate) fn longest(count: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut most, mut beyond) = (1, count);
    while beyond - most > 1 {
        let middle = most + (beyond - most) / 2;
        match fits(middle) {
            true => most = middle,
            false => beyond = middle,
        }
    }
    most
}

/// A range in parts, each without a cut inside.
pub(crate) fn runs(cuts: &[u64], range: Range<u64>) -> Vec<Range<u64>> {
    let mut begin = range.start;
    let ends = inside(cuts, &range).chain([range.end]);
    let run = |end| std::mem::replace(&mut begin, end)..end;
    ends.map(run).collect()
}

/// Where the tensors of a step are cut.
pub(crate) struct Ends<'a> {
    /// Counted from the step's first element.
    pub input: &'a [u64],
    pub outputs: &'a [u64],
    /// Most outputs of a partition that is cut, because they go through partials.
    pub most: u64,
    /// How a region is walked.
    pub choose: &'a dyn Fn(&Region) -> Mapping,
}

impl Ends<'_> {
    /// Cuts partitions so that no region reaches across a cut of its input, and no run of outputs across a cut of the
    /// outputs.
    pub(crate) fn cut(&self, partitions: Vec<Partition>) -> Vec<Partition> {
        let mut all = Vec::new();
        for partition in partitions {
            match &partition.regions[..] {
                // Copies are cut where they are made.
                _ if partition.copied => all.push(partition),
                [one] if one.outer > 1 => self.matrices(one, &mut all),
                regions => self.segments(regions, &mut all),
            }
        }
        all
    }

    fn partition(&self, regions: Vec<Region>) -> Partition {
        let mapping = (self.choose)(&regions[0]);
        Partition::of(regions, self.outputs, mapping)
    }

    /// Cuts a region of several matrices between them; those that a cut goes through are cut alone.
    fn matrices(&self, b: &Region, all: &mut Vec<Partition>) {
        let matrix = b.len * b.inner;
        let elements = b.at..b.at + b.outer * matrix;
        let results = b.out..b.out + b.outer * b.inner;
        // The matrix that a cut goes through or, between two, the second.
        let points = |p: u64, begin: u64, size: u64| {
            let through = !(p - begin).is_multiple_of(size);
            [(p - begin) / size, (p - begin) / size + u64::from(through)]
        };
        let read = inside(self.input, &elements).flat_map(|p| points(p, b.at, matrix));
        let written = inside(self.outputs, &results).flat_map(|p| points(p, b.out, b.inner));
        for run in runs(&sorted(read.chain(written)), 0..b.outer) {
            let part = Region {
                at: b.at + run.start * matrix,
                out: b.out + run.start * b.inner,
                outer: run.end - run.start,
                ..*b
            };
            self.segments(&[part], all);
        }
    }

    /// Cuts regions that share their outputs. A row with a cut inside becomes regions of its parts, which
    /// join the others. If every row has one, or there are too many outputs, the outputs are cut as well.
    fn segments(&self, regions: &[Region], all: &mut Vec<Partition>) {
        let first = regions[0];
        if first.outer > 1 {
            all.push(self.partition(regions.to_vec()));
            return;
        }
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        for b in regions {
            rows(b, self.input, &mut whole, &mut parts);
        }
        let results = first.out..first.out + first.inner;
        let direct = whole.len() + parts.len() == 1 && runs(self.outputs, results).len() == 1;
        if !whole.is_empty() && (direct || first.inner <= self.most) {
            // The longest first: it writes every partial, and the others are merged into these.
            whole.sort_by_key(|b| std::cmp::Reverse(b.len));
            whole.extend(parts);
            all.push(self.partition(whole));
            return;
        }
        let columns = parts.iter().map(|b| b.out - first.out);
        let steps = (1..first.inner.div_ceil(self.most)).map(|i| i * self.most);
        for run in runs(&sorted(columns.chain(steps)), 0..first.inner) {
            let narrow = |(b, l): (&Region, u64)| Region {
                at: b.at + l * b.pitch + run.start,
                out: b.out + run.start,
                len: 1,
                inner: run.end - run.start,
                pitch: run.end - run.start,
                base: b.base + l,
                ..*b
            };
            let lines = regions.iter().flat_map(|b| (0..b.len).map(move |l| (b, l)));
            let regions = lines.map(narrow).collect();
            all.push(self.partition(regions));
        }
    }
}

/// Points in order, each once.
pub(crate) fn sorted(points: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut points: Vec<u64> = points.collect();
    points.sort_unstable();
    points.dedup();
    points
}

/// The whole rows of a matrix between cuts, and the parts of rows that cuts go through.
fn rows(b: &Region, input: &[u64], whole: &mut Vec<Region>, parts: &mut Vec<Region>) {
    let end = b.at + b.len * b.inner;
    let mut push = |range: Range<u64>| {
        let place = range.start - b.at;
        let (row, column) = (place / b.inner, place % b.inner);
        let elements = range.end - range.start;
        let part = elements < b.inner || column > 0;
        let to: &mut Vec<Region> = if part { parts } else { whole };
        to.push(Region {
            at: range.start,
            out: b.out + column,
            len: (elements / b.inner).max(1),
            inner: if part { elements } else { b.inner },
            pitch: if part { elements } else { b.pitch },
            base: b.base + row,
            ..*b
        });
    };
    for run in runs(input, b.at..end) {
        // The end of a row, whole rows, and the beginning of one.
        let first = b.at + (run.start - b.at).next_multiple_of(b.inner);
        let last = run.end - (run.end - b.at) % b.inner;
        if first > last {
            push(run);
            continue;
        }
        let pieces = [run.start..first, first..last, last..run.end].into_iter();
        pieces.filter(|p| !p.is_empty()).for_each(&mut push);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::strided::Each;

    #[test]
    fn more_outputs_than_partials_are_cut_only_if_they_need_partials() {
        let each = |_: &Region| Mapping::Each(Each::WHOLE);
        let one = Region::new(1, 2, 5);
        let widths = |input: &[u64]| {
            let ends = Ends {
                input,
                outputs: &[],
                most: 3,
                choose: &each,
            };
            let cut = ends.cut(vec![Partition::of(vec![one], &[], each(&one))]);
            cut.iter().map(|p| p.regions[0].inner).collect::<Vec<_>>()
        };
        assert_eq!(widths(&[5]), [3, 2]);
        assert_eq!(widths(&[]), [5]);
    }
}
