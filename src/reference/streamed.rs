//! The CPU reference over data larger than memory, block by block.
//!
//! Knows nothing of plans and keys: each block of a tensor is a problem of its own, whose elements are added to the
//! results of their segments.

use crate::problem::elements;
use crate::reference::{
    Running, Walk, coordinates, dense_strides, evaluate, for_each_segment, nothing, order_ranks,
    ranks,
};
use crate::{Error, Op, Problem};
use std::io;

/// Most elements of a block: each may have a result of its own, which takes up to 100 bytes.
const BLOCK: u64 = 1 << 18;
/// The same of sums and TopK, where it takes up to a KiB, or more if more elements are wanted.
const BLOCK_OF_MANY: u64 = 1 << 15;
/// Most elements that are read of a view for each one that a block has.
const MOST_READ: u64 = 4;

/// [`evaluate`] with inputs read and outputs written piece by piece. It takes a few dozen MiB, whatever the size of
/// the tensors. Only TopK may take more: up to 100 bytes for each result of a row of segments side by side. Elements of a view
/// that lie near each other are read at once, with what lies between.
///
/// `read(input, offset, bytes)` fills `bytes` with the input's bytes from `offset` on. `write(output, offset, bytes)`
/// receives an output's bytes, in order, each once.
///
/// # Errors
/// [`Error::Source`] and [`Error::Sink`] with the functions' errors; [`Error::Problem`] as [`Problem::check`].
pub fn evaluate_streamed(
    problem: &Problem,
    mut read: impl FnMut(usize, u64, &mut [u8]) -> io::Result<()>,
    mut write: impl FnMut(usize, u64, &[u8]) -> io::Result<()>,
) -> Result<(), Error> {
    problem.check()?;
    let most = match problem.op().is_sum() || problem.op() == Op::TopK {
        true => BLOCK_OF_MANY,
        false => BLOCK,
    };
    let (read, write) = (&mut read, &mut write);
    evaluate_in(problem, most, &mut Host { read, write })
}

fn evaluate_in(problem: &Problem, most: u64, host: &mut Host<'_>) -> Result<(), Error> {
    if problem.op() == Op::Extremes {
        // One operator after another.
        for (output, one) in problem.separate().iter().enumerate() {
            let write = &mut |_: usize, at, bytes: &[u8]| (host.write)(output, at, bytes);
            let read = &mut *host.read;
            evaluate_in(one, most, &mut Host { read, write })?;
        }
        return Ok(());
    }
    let outputs = problem.outputs();
    if outputs[0].bytes() == 0 {
        return Ok(());
    }
    if problem.reduced_len() == 0 {
        return of_nothing(problem, most, host);
    }
    // The outer loop goes over kept dimensions, so a block of outputs is complete before the next.
    let shape = match problem.op().is_elementwise() {
        true => &outputs[0].shape,
        false => &problem.inputs()[0],
    };
    let blocks = Blocks::new(shape, most);
    let reduced = |d: usize| problem.reduced().get(d) == Some(&true);
    // Of segments whose ranks alternate, all leave together.
    let (k, inner) = ranks(problem);
    let together = k * inner * outputs[0].dtype.size() as usize;
    let mut results = vec![Vec::new(); outputs.len()];
    let mut written = vec![0; outputs.len()];
    for kept in blocks.cells(|d| !reduced(d)) {
        let mut segments: Vec<Box<dyn Running>> = Vec::new();
        for inside in blocks.cells(reduced) {
            let starts: Vec<u64> = kept.iter().zip(&inside).map(|(a, b)| a + b).collect();
            let (part, inputs) = read_block(problem, &blocks, &starts, host)?;
            if problem.op().is_elementwise() || problem.is_copy() {
                let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
                results = evaluate(&part, &inputs)?;
                continue;
            }
            for_each_segment(&part, |at, positions| {
                if at == segments.len() {
                    segments.push(nothing(problem));
                }
                segments[at].add_all(&inputs[0], positions);
            });
        }
        for mut segment in segments {
            segment.finish(&mut results);
        }
        if results[0].len().is_multiple_of(together) {
            order_ranks(problem, &mut results);
            for (i, bytes) in results.iter_mut().enumerate() {
                host.write(i, written[i], bytes)?;
                written[i] += bytes.len() as u64;
                bytes.clear();
            }
        }
    }
    Ok(())
}

type Read<'a> = dyn FnMut(usize, u64, &mut [u8]) -> io::Result<()> + 'a;
type Write<'a> = dyn FnMut(usize, u64, &[u8]) -> io::Result<()> + 'a;

/// The caller's functions.
struct Host<'a> {
    read: &'a mut Read<'a>,
    write: &'a mut Write<'a>,
}

impl Host<'_> {
    fn read(&mut self, input: usize, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        let read = (self.read)(input, offset, into);
        read.map_err(|error| Error::source(input, offset, into.len(), error))
    }

    fn write(&mut self, output: usize, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let written = (self.write)(output, offset, bytes);
        written.map_err(|error| Error::sink(output, offset, bytes.len(), error))
    }
}

/// How a shape is cut into contiguous blocks: a block has one index of each dimension before `cut`, `count` along
/// it, and all of those after it.
struct Blocks<'a> {
    shape: &'a [u64],
    cut: usize,
    count: u64,
}

impl Blocks<'_> {
    fn new(shape: &[u64], most: u64) -> Blocks<'_> {
        let (mut cut, mut behind) = (shape.len().saturating_sub(1), 1u64);
        while cut > 0 && behind.saturating_mul(shape[cut]) <= most {
            behind *= shape[cut];
            cut -= 1;
        }
        Blocks {
            shape,
            cut,
            count: (most / behind).max(1),
        }
    }

    /// Where the blocks begin in the chosen dimensions, in C order, and 0 in the others.
    fn cells(&self, chosen: impl Fn(usize) -> bool) -> impl Iterator<Item = Vec<u64>> {
        let step = |d: usize| if d == self.cut { self.count } else { 1 };
        let along = |(d, &size): (usize, &u64)| match d <= self.cut && chosen(d) {
            true => (size.div_ceil(step(d)), step(d)),
            false => (1, 0),
        };
        let (cells, steps): (Vec<u64>, Vec<u64>) = self.shape.iter().enumerate().map(along).unzip();
        (0..elements(&cells)).map(move |cell| {
            let cell = coordinates(cell, &cells).into_iter().zip(&steps);
            cell.map(|(at, step)| at * step).collect::<Vec<_>>()
        })
    }

    /// Elements along dimension `d` of the block that begins at `start`.
    fn size(&self, d: usize, start: u64) -> u64 {
        match d.cmp(&self.cut) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => self.count.min(self.shape[d] - start),
            std::cmp::Ordering::Greater => self.shape[d],
        }
    }
}

/// A block as a problem of its own, and its data.
fn read_block(
    problem: &Problem,
    blocks: &Blocks<'_>,
    starts: &[u64],
    host: &mut Host<'_>,
) -> Result<(Problem, Vec<Vec<u8>>), Error> {
    let mut inputs = Vec::new();
    let mut shapes = Vec::new();
    for i in 0..problem.inputs().len() {
        let (shape, first) = taken(problem, i, blocks, starts);
        let size = problem.dtype().size();
        let mut read = |first: u64, into: &mut [u8]| host.read(i, first * size, into);
        let mut bytes = vec![0; (elements(&shape) * size) as usize];
        match problem.layout(i) {
            None => read(first, &mut bytes)?,
            Some(view) => gather(&shape, &view.strides, first, &mut bytes, &mut read)?,
        }
        inputs.push(bytes);
        shapes.push(shape);
    }
    Ok((problem.with_inputs(shapes), inputs))
}

/// The shape of what a block has of an input, and where its first element is.
fn taken(problem: &Problem, input: usize, blocks: &Blocks<'_>, starts: &[u64]) -> (Vec<u64>, u64) {
    let whole = &problem.inputs()[input];
    // Aligned at the last dimension; a dimension of size 1 is broadcast.
    let missing = starts.len() - whole.len();
    let mut shape = Vec::new();
    let mut flat = 0;
    for (d, &size) in whole.iter().enumerate() {
        let start = if size == 1 { 0 } else { starts[missing + d] };
        flat = flat * size + start;
        shape.push(match size {
            1 => 1,
            _ => blocks.size(missing + d, start),
        });
    }
    (shape, problem.position(input, flat))
}

/// Reads the elements of a view in C order, those of the dimensions that lie near each other at once. `first` is the element with
/// coordinates 0. `read` reads what begins with an element.
fn gather(
    shape: &[u64],
    strides: &[i64],
    first: u64,
    bytes: &mut [u8],
    read: &mut impl FnMut(u64, &mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let size = bytes.len() / elements(shape) as usize;
    let mut dims: Vec<usize> = (0..shape.len()).filter(|&d| shape[d] != 1).collect();
    dims.sort_by_key(|&d| strides[d].unsigned_abs());
    let (mut near, mut others) = (vec![1; shape.len()], shape.to_vec());
    let (mut span, mut back) = (1, 0);
    for d in dims {
        let way = (shape[d] - 1) * strides[d].unsigned_abs();
        if span + way > MOST_READ * elements(&near) * shape[d] {
            break;
        }
        (near[d], others[d]) = (shape[d], 1);
        span += way;
        back += if strides[d] < 0 { way } else { 0 };
    }
    // Where elements are: in the view, or in what is read at once, and in a tensor in C order.
    let dense = dense_strides(shape);
    let places = |shape: &[u64], first: u64| {
        Walk::new(shape, strides, first).zip(Walk::new(shape, &dense, 0))
    };
    let mut held = vec![0; span as usize * size];
    for (other, begin) in places(&others, first) {
        read(other - back, &mut held)?;
        for (from, to) in places(&near, back) {
            let [from, to] = [from, begin + to].map(|at| at as usize * size);
            bytes[to..][..size].copy_from_slice(&held[from..][..size]);
        }
    }
    Ok(())
}

/// Reductions over empty sets.
fn of_nothing(problem: &Problem, most: u64, host: &mut Host<'_>) -> Result<(), Error> {
    let (dtype, op) = (problem.dtype(), problem.op());
    let count = elements(&problem.outputs()[0].shape);
    for at in (0..count).step_by(most as usize) {
        let n = most.min(count - at);
        let part = Problem::reduce(op, dtype, &[0, n], &[0])?;
        host.write(0, at * dtype.size(), &evaluate(&part, &[&[]])?[0])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, DType, IndexType, NanPolicy, ProblemError};

    /// Elements with ties, NaNs and zeros of both signs.
    fn data(dtype: DType, n: u64) -> Vec<u8> {
        let size = dtype.size() as usize;
        let mut bytes = vec![0; n as usize * size];
        for (i, element) in bytes.chunks_exact_mut(size).enumerate() {
            let x = (i as u64 + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
            element[0] = (x & 3) as u8;
            element[size - 1] = [0, 0x80, 0x7f, 0x3c][x as usize >> 3];
        }
        bytes
    }

    fn same(problem: &Problem) {
        let dtype = problem.dtype();
        let of = |i| data(dtype, problem.input_bytes(i) / dtype.size());
        let inputs: Vec<Vec<u8>> = (0..problem.inputs().len()).map(of).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let expected = evaluate(problem, &inputs).expect("the reference");
        for most in [1, 2, 3, 7, 16, 50, 1 << 20] {
            let mut outputs = vec![Vec::new(); expected.len()];
            let mut read = |input: usize, at: u64, into: &mut [u8]| {
                into.copy_from_slice(&inputs[input][at as usize..][..into.len()]);
                Ok(())
            };
            let mut write = |output: usize, at: u64, bytes: &[u8]| {
                let output: &mut Vec<u8> = &mut outputs[output];
                assert_eq!(output.len() as u64, at);
                output.extend_from_slice(bytes);
                Ok(())
            };
            let (read, write) = (&mut read, &mut write);
            evaluate_in(problem, most, &mut Host { read, write }).expect("a result");
            assert_eq!(outputs, expected, "{problem} in blocks of {most}");
        }
    }

    #[test]
    fn a_view_of_elements_that_are_far_apart_takes_little_memory() {
        let far = 1 << 46;
        let problem = Problem::arg_max(DType::U8, &[3], 0).expect("a problem");
        let problem = problem.strided(0, &[-far], 2 * far as u64);
        let problem = problem.with_values(true);
        let mut outputs = [Vec::new(), Vec::new()];
        let read = |_: usize, at: u64, into: &mut [u8]| {
            into.copy_from_slice(&[[3, 9, 5][(at >> 46) as usize]]);
            Ok(())
        };
        let write = |output: usize, _: u64, bytes: &[u8]| {
            outputs[output].extend_from_slice(bytes);
            Ok(())
        };
        evaluate_streamed(&problem, read, write).expect("a result");
        assert_eq!(outputs, [1u64.to_le_bytes().to_vec(), vec![9]]);
    }

    #[test]
    fn blocks_of_any_size_give_what_the_whole_gives() -> Result<(), ProblemError> {
        for dtype in DType::ALL {
            let shape = [4, 5, 6];
            for nan in [NanPolicy::Propagate, NanPolicy::Ignore] {
                for axis in 0..3 {
                    let min = Problem::arg_min(dtype, &shape, axis)?.with_values(true);
                    let max = Problem::arg_max(dtype, &shape, axis)?.index_type(IndexType::I32);
                    same(&min.nan(nan).keepdims(false));
                    same(&max.nan(nan).select_last_index(true));
                    same(&Problem::reduce_min(dtype, &shape, &[axis])?.nan(nan));
                    let abs = Problem::arg_max_abs(dtype, &shape, axis)?.with_values(true);
                    same(&abs.nan(nan));
                }
                same(&Problem::extremes(dtype, &shape, 1)?.nan(nan));
                for (axis, k) in [(0, 1), (0, 4), (1, 3), (1, 5), (2, 2), (2, 6), (2, 0)] {
                    let top = Problem::top_k(dtype, &shape, axis, k)?.nan(nan);
                    same(&top.clone().index_type(IndexType::U32));
                    same(&top.largest(false).strided(0, &[0, -7, 2], 40));
                }
                for strides in [[1, 4, 20], [0, -7, 2], [50, 1, -3], [-9, 900, 70]] {
                    let max = Problem::arg_max(dtype, &shape, 1)?.with_values(true);
                    same(&max.nan(nan).strided(0, &strides, 40));
                    let pair = Problem::min(dtype, &[&shape[..], &[5, 1]])?.nan(nan);
                    same(&pair.strided(0, &strides, 40).strided(1, &[-1, 9], 4));
                }
                for axes in [&[0, 2][..], &[], &[1, 2]] {
                    same(&Problem::reduce_max(dtype, &shape, axes)?.nan(nan));
                    same(&Problem::reduce_max_abs(dtype, &shape, axes)?.nan(nan));
                }
                same(&Problem::min(dtype, &[&[4, 5, 6][..], &[5, 1], &[6], &[]])?.nan(nan));
                same(&Problem::max(dtype, &[&[40][..], &[40]])?.nan(nan));
            }
            for op in Op::SUMS.into_iter().filter(|_| dtype != DType::Bool) {
                let reduce = |shape: &[u64], axes: &[i64]| Problem::reduce(op, dtype, shape, axes);
                for axes in [&[0, 2][..], &[], &[1, 2], &[0], &[1], &[2]] {
                    for nan in [NanPolicy::Propagate, NanPolicy::Ignore] {
                        let sum = reduce(&[4, 5, 6], axes)?.nan(nan);
                        same(&sum);
                        same(&sum.strided(0, &[0, -7, 2], 40));
                    }
                }
                same(&reduce(&[], &[])?);
                // Integers have no mean of nothing.
                if op != Op::ReduceMean || dtype.class() == Class::Float {
                    same(&reduce(&[30, 0], &[1])?);
                }
                same(&reduce(&[0, 3], &[1])?);
                same(&reduce(&[3, 3], &[])?.noop_with_empty_axes(true));
            }
            same(&Problem::min(dtype, &[[30, 3]])?);
            same(&Problem::reduce_min(dtype, &[], &[])?);
            same(&Problem::arg_min(dtype, &[], 0)?);
            same(&Problem::reduce_min(dtype, &[30, 0], &[1])?);
            same(&Problem::reduce_max_abs(dtype, &[30, 0], &[1])?);
            same(&Problem::reduce_min(dtype, &[0, 3], &[1])?);
            same(&Problem::reduce_min(dtype, &[3, 3], &[])?.noop_with_empty_axes(true));
        }
        Ok(())
    }
}
