//! Parts of a reduction: what each of N jobs reads, and what it leaves for `merge`.
//!
//! Cuts problems; `file.rs` stores parts, `fingerprint.rs` tells whether they are of the same data.

pub mod file;
mod fingerprint;
pub mod merge;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use wgreduce::unstable::Sum;
use wgreduce::{Error, Partial, Problem, ProblemError};

use crate::args::{Common, Share};
use crate::device::Device;
use crate::failure::{Failure, say};
use crate::operator::like;
use crate::output::{self, Content, Piece};
use crate::print::milliseconds;
use crate::request::{Inputs, Request};
use crate::stream::{self, Held};

/// A problem that is cut into parts along one dimension.
#[derive(Clone)]
pub struct Cut {
    /// The whole problem, with its dimensions in the order of memory. Index operators have values.
    pub problem: Problem,
    /// Whether that order is the reverse of the caller's.
    pub fortran: bool,
    /// The dimension; `None` for a scalar, which is part 0.
    pub dim: Option<usize>,
    /// How many parts there are.
    pub of: u64,
    /// The fingerprint of each input.
    data: Vec<String>,
}

/// The result of a part.
pub enum Left {
    /// It has no elements.
    Nothing,
    /// The best of its elements, for all outputs.
    Partial(Partial),
    /// Some of the outputs.
    Outputs(Vec<File>),
}

impl Cut {
    /// Cuts what was asked for. Reads samples of the inputs.
    pub fn new(request: &mut Request<'_>, of: u64, common: &Common) -> Result<Cut, Failure> {
        let inputs = &mut request.inputs;
        if let Some((path, _)) = inputs.iter().find(|(_, input)| !input.is_file()) {
            let why = "is no file: parts are read from the middle of one";
            return Err(Failure::input(path, why));
        }
        let fortran = stream::in_fortran_order(inputs)?;
        let problem = match fortran {
            true => stream::reversed(&request.problem).map_err(Error::from)?,
            false => request.problem.clone(),
        };
        let has_values = problem.op().is_index() && problem.k().is_none();
        let problem = problem.with_values(has_values);
        let mut data = Vec::new();
        for (path, input) in inputs {
            let fingerprint = fingerprint::of(input.bytes(), |at, into| input.read_at(at, into));
            let unreadable = |e| Failure::file(path, format_args!("cannot be read: {e}"));
            data.push(fingerprint.map_err(unreadable)?);
        }
        let cut = Cut::of(problem, fortran, of, data);
        cut.check_memory(common)?;
        Ok(cut)
    }

    /// The same of a problem in the order of memory: cuts along the slowest dimension that gives each part some
    /// elements, so that a part reads neighbouring bytes. If no dimension is long enough, cuts along the longest.
    fn of(problem: Problem, fortran: bool, of: u64, data: Vec<String>) -> Cut {
        let dims = dims(&problem);
        let long = dims.iter().position(|&size| size >= of);
        let longest = || (0..dims.len()).rev().max_by_key(|&d| dims[d]);
        Cut {
            problem,
            fortran,
            dim: long.or_else(longest),
            of,
            data,
        }
    }

    /// The length that is cut.
    fn len(&self) -> u64 {
        self.dim.map_or(1, |dim| dims(&self.problem)[dim])
    }

    /// The range of neighbouring parts in the cut dimension.
    pub fn range(&self, parts: &Range<u64>) -> Range<u64> {
        let cut = |part: u64| {
            let place = u128::from(self.len()) * u128::from(part);
            place.div_ceil(u128::from(self.of)) as u64
        };
        cut(parts.start)..cut(parts.end)
    }

    /// Whether the cut goes through the segments, so that parts must be merged element by element.
    pub fn is_through_segments(&self) -> bool {
        let op = self.problem.op();
        let reduced = |dim: usize| self.problem.reduced().get(dim) == Some(&true);
        !op.is_elementwise() && self.dim.is_some_and(reduced)
    }

    /// The cut dimension of input `i`; `None` if the input is broadcast along it.
    fn dim_of(&self, i: usize) -> Option<usize> {
        let shape = &self.problem.inputs()[i];
        let missing = dims(&self.problem).len() - shape.len();
        let own = self.dim?.checked_sub(missing)?;
        (shape[own] != 1).then_some(own)
    }

    /// The problem over a range of the cut dimension.
    fn between(&self, range: &Range<u64>) -> Result<Problem, ProblemError> {
        let mut shapes = self.problem.inputs().to_vec();
        for (i, shape) in shapes.iter_mut().enumerate() {
            if let Some(dim) = self.dim_of(i) {
                shape[dim] = range.end - range.start;
            }
        }
        let axes = self.problem.reduced().iter().enumerate();
        let axes: Vec<i64> = axes.filter(|(_, r)| **r).map(|(i, _)| i as i64).collect();
        like(&self.problem, &shapes, &axes)
    }

    fn narrow(&self, inputs: &mut Inputs<'_>, range: &Range<u64>) {
        for (i, (_, input)) in inputs.iter_mut().enumerate() {
            if let Some(dim) = self.dim_of(i) {
                input.narrow(&self.problem.inputs()[i], dim, range);
            }
        }
    }

    /// The cut dimension among those of the outputs, which have it.
    fn output_dim(&self) -> Option<usize> {
        let dim = self.dim?;
        let reduced = self.problem.reduced();
        let gone = |d: &usize| reduced.get(*d) == Some(&true);
        match self.problem.op().is_elementwise() || self.problem.keeps_dims() {
            true => Some(dim),
            false => Some(dim - (0..dim).filter(gone).count()),
        }
    }

    /// Bytes of each output over a range of the cut dimension.
    pub fn output_bytes(&self, range: &Range<u64>) -> Vec<u64> {
        let bytes = |output: wgreduce::Output| match self.len() {
            0 => 0,
            len => output.bytes() / len * (range.end - range.start),
        };
        self.problem.outputs().into_iter().map(bytes).collect()
    }

    /// Which part is read, in words.
    pub fn told(&self, share: Share, inputs: &Inputs<'_>) -> String {
        let Share { number, of } = share;
        let Some(dim) = self.dim else {
            return format!("part: {number}/{of} of one element, which is part 0");
        };
        let axis = match self.fortran {
            true => dims(&self.problem).len() - 1 - dim,
            false => dim,
        };
        let Range { start, end } = self.range(&(number..number + 1));
        let reads = inputs.iter().map(|(_, input)| input.blocks()).max();
        let lies = match reads {
            Some(n @ 2..) => format!("each input in up to {n} places of its file"),
            _ => "together in the file".into(),
        };
        format!(
            "part: {number}/{of}, {start} to {end} of {} along axis {axis}, {lies}",
            self.len()
        )
    }

    /// Refuses partial results that exceed `--memory`.
    fn check_memory(&self, common: &Common) -> Result<(), Failure> {
        // As their layout has it.
        let problem = &self.problem;
        let record = match Sum::new(problem.op(), problem.dtype(), problem.nan_policy()) {
            Some(sum) => 4 * u64::from(sum.partial_words()),
            None if problem.op().is_index() => 24,
            None => 16,
        };
        let output = &self.problem.outputs()[0];
        let bytes = (output.bytes() / output.dtype.size()).saturating_mul(record);
        match self.is_through_segments() && bytes > stream::memory(common) {
            true => Err(Failure::Request(format!(
                "the partial result takes {bytes} bytes, more than --memory"
            ))),
            false => Ok(()),
        }
    }

    /// Reduces a part. `path` is where its outputs will be written.
    pub fn compute(
        &self,
        device: &Device,
        range: &Range<u64>,
        inputs: &mut Inputs<'_>,
        path: &Path,
        common: &Common,
        report: &mut Vec<String>,
    ) -> Result<Left, Failure> {
        if range.is_empty() {
            return Ok(Left::Nothing);
        }
        let part = self.between(range).map_err(Error::from)?;
        if self.is_through_segments() {
            let start = Instant::now();
            let partial = self.partial(device, range, inputs, common)?;
            let bytes = part.input_bytes(0);
            report.push(format!(
                "time: {} for {bytes} bytes",
                milliseconds(start.elapsed())
            ));
            if common.check {
                let reference = self.partial(&Device::Cpu(""), range, inputs, common)?;
                check(&part, &partial, &reference)?;
            }
            return Ok(Left::Partial(partial));
        }
        let spool = |_| Ok(Held::Spool(path.to_path_buf(), output::spool(path)?));
        let results = part.outputs().into_iter().map(spool);
        let mut results = results.collect::<Result<Vec<_>, Failure>>()?;
        self.narrow(inputs, range);
        let told = stream::compute(device, &part, inputs, &mut results, common)?;
        report.extend(told);
        if common.check {
            stream::check(&part, inputs, &mut results, common)?;
        }
        let spools = results.into_iter().filter_map(Held::spool);
        Ok(Left::Outputs(spools.collect()))
    }

    /// The partial result of a range.
    fn partial(
        &self,
        device: &Device,
        range: &Range<u64>,
        inputs: &mut Inputs<'_>,
        common: &Common,
    ) -> Result<Partial, Failure> {
        let memory = stream::memory(common);
        let part = self.between(range).map_err(Error::from)?;
        self.narrow(inputs, range);
        let all: u64 = inputs.iter().map(|(_, input)| input.bytes()).sum();
        let bar = stream::bar(all, "reducing", common);
        match device {
            Device::Gpu(reducer) => {
                let shard = reducer.shard_blocking(&part, memory)?;
                let mut read = stream::counted(&bar, inputs);
                let done = shard.run_blocking(range.start, |at, into| read(0, at, into));
                drop(read);
                done.map_err(|e| stream::failure(e, inputs, &[]))
            }
            Device::Cpu(_) => {
                let most = memory / 4;
                // The slowest dimension of which one element fits, or else the longest.
                let each = |d: usize| all / part.inputs()[0][d];
                let reduced = |&d: &usize| part.reduced()[d] && part.inputs()[0][d] > 0;
                let dims = (0..part.reduced().len()).filter(reduced);
                let dim = dims.min_by_key(|&d| each(d).max(most));
                let window = dim.map_or(1, |d| most / each(d).max(1)).max(1);
                let cut = Cut {
                    dim,
                    problem: part,
                    ..self.clone()
                };
                let parts = (0..cut.len()).step_by(window as usize).map(|begin| {
                    let end = cut.len().min(begin.saturating_add(window));
                    let partial = cut.reference(&(begin..end), range.start, inputs)?;
                    bar.inc(all / cut.len() * (end - begin));
                    Ok(Some(partial))
                });
                merged(parts)?.ok_or_else(|| Failure::Request("a part of no elements".into()))
            }
        }
    }

    /// The partial result of a range that fits memory, by the CPU reference. What is read begins with element `first` of
    /// each segment.
    fn reference(
        &self,
        range: &Range<u64>,
        first: u64,
        inputs: &mut Inputs<'_>,
    ) -> Result<Partial, Failure> {
        let problem = self.between(range).map_err(Error::from)?;
        let mut data = vec![0; problem.input_bytes(0) as usize];
        let (path, input) = &mut inputs[0];
        // Without elements, dimensions may overflow.
        if let (Some(dim), false) = (self.dim, data.is_empty()) {
            let inner = &self.problem.inputs()[0][dim + 1..];
            let row = inner.iter().product::<u64>() * self.problem.dtype().size();
            let blocks = data.chunks_exact_mut(((range.end - range.start) * row) as usize);
            for (i, block) in (0..).zip(blocks) {
                let read = input.read_at((i * self.len() + range.start) * row, block);
                read.map_err(|e| Failure::file(path, format_args!("cannot be read: {e}")))?;
            }
        }
        let offset = first + range.start;
        Ok(Partial::from_reference(&problem, offset, &data)?)
    }
}

/// All partial results as one; none if there are no elements.
pub fn merged(
    parts: impl Iterator<Item = Result<Option<Partial>, Failure>>,
) -> Result<Option<Partial>, Failure> {
    let mut merged: Option<Partial> = None;
    for partial in parts {
        match (&mut merged, partial?) {
            (_, None) => {}
            (None, partial) => merged = partial,
            (Some(all), Some(partial)) => all.merge(&partial).map_err(Error::from)?,
        }
    }
    Ok(merged)
}

/// Compares the partial result of a device with the definition's.
fn check(problem: &Problem, partial: &Partial, reference: &Partial) -> Result<(), Failure> {
    match partial == reference {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "--check: {problem}: not the CPU reference's partial result"
        ))),
    }
}

/// The dimensions that can be cut: the input's, or of several inputs the output's.
fn dims(problem: &Problem) -> Vec<u64> {
    match problem.op().is_elementwise() {
        true => problem.outputs().swap_remove(0).shape,
        false => problem.inputs()[0].clone(),
    }
}

/// The bytes of some segments' results, which lie segment by segment, and where in an output of `size` bytes an element each run of
/// them belongs.
pub fn runs_of(
    problem: &Problem,
    segments: &Range<u64>,
    size: u64,
    data: &[u8],
) -> Vec<(u64, Vec<u8>)> {
    let shape = &problem.inputs()[0];
    let axis = problem.reduced().iter().position(|&reduced| reduced);
    let inner = match (problem.k(), axis) {
        (Some(_), Some(axis)) => shape[axis + 1..].iter().product(),
        _ => 1,
    };
    let k = problem.k().unwrap_or(1);
    if inner == 1 {
        return vec![(segments.start * k * size, data.to_vec())];
    }
    // Of a row of segments, the results of each rank are neighbours.
    let mut runs = Vec::new();
    let mut first = segments.start;
    while first < segments.end {
        let (row, column) = (first / inner, first % inner);
        let end = segments.end.min((row + 1) * inner);
        for rank in 0..k {
            let element = |segment| {
                let at = ((segment - segments.start) * k + rank) * size;
                &data[at as usize..][..size as usize]
            };
            let at = ((row * k + rank) * inner + column) * size;
            runs.push((at, (first..end).flat_map(element).copied().collect()));
        }
        first = end;
    }
    runs
}

/// Reduces one part, and writes what it leaves.
pub fn run(mut request: Request<'_>, share: Share, common: &Common) -> Result<(), Failure> {
    let Some(path) = request.output else {
        let why = "--part needs the name of a file, as in -o p3.part";
        return Err(Failure::Request(why.into()));
    };
    if let Some(values) = request.values {
        let why = "is asked of merge: every part has the values";
        return Err(Failure::file(values, why));
    }
    if !output::is_part(path) {
        let why = "is no name for a part: that ends in .part";
        return Err(Failure::file(path, why));
    }
    let cut = Cut::new(&mut request, share.of, common)?;
    let mut inputs = request.inputs;
    let parts = share.number..share.number + 1;
    let range = cut.range(&parts);
    output::check_writable(path)?;
    let device = Device::open(common)?;
    let mut report = vec![device.line()];
    let left = cut.compute(&device, &range, &mut inputs, path, common, &mut report)?;
    report.insert(1, cut.told(share, &inputs));

    let (partial, spools) = match &left {
        Left::Nothing => (Vec::new(), &[][..]),
        Left::Partial(partial) => (partial.to_bytes(), &[][..]),
        Left::Outputs(spools) => (Vec::new(), spools.as_slice()),
    };
    let sizes = cut.output_bytes(&range);
    let pieces = spools.iter().zip(sizes).map(|(file, bytes)| Piece {
        file,
        start: 0,
        bytes,
    });
    let pieces: Vec<Piece> = pieces.collect();
    let bytes = partial.len() as u64 + pieces.iter().map(|piece| piece.bytes).sum::<u64>();
    let begin = [file::head(&cut, &[parts], bytes), partial].concat();
    output::write_one(path, Content::Part(&begin, &pieces))?;
    if common.check {
        report.push("check: equal to the CPU reference, byte for byte".into());
    }
    if !common.quiet {
        report.iter().for_each(|line| say(line));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgreduce::DType;

    #[test]
    fn a_wrong_partial_result_fails_the_check() {
        let problem = Problem::arg_max(DType::U8, &[3, 2], 0).expect("a problem");
        let of = |data| Partial::from_reference(&problem, 7, data).expect("a partial result");
        let right = of(&[1, 9, 2, 5, 2, 0]);
        assert!(check(&problem, &right, &right).is_ok());
        let wrong = of(&[1, 5, 2, 9, 2, 0]);
        match check(&problem, &wrong, &right) {
            Err(Failure::Check(told)) => assert!(told.contains("ArgMax uint8 [3, 2]"), "{told}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_cover_a_dimension_and_differ_by_one_at_most() {
        for (len, of) in [
            (0, 3),
            (1, 1),
            (2, 3),
            (40, 16),
            (41, 16),
            (1 << 40, 1 << 20),
        ] {
            let problem = Problem::reduce_max(DType::U8, &[len], &[0]).expect("a problem");
            let cut = Cut::of(problem, false, of, Vec::new());
            let mut end = 0;
            for part in 0..of.min(100) {
                let range = cut.range(&(part..part + 1));
                assert_eq!(range.start, end, "part {part} of {of}, of {len}");
                let size = range.end - range.start;
                assert!(size == len / of || size == len / of + 1, "{range:?}");
                end = range.end;
            }
            assert_eq!(cut.range(&(0..of)), 0..len);
        }
    }
}
