//! The CPU reference: the definition that every result is checked against.
//!
//! This module defines the operators element by element, by plain comparisons of typed values and by exact
//! sums. It must not know how a device computes them: it uses nothing of plans, kernels or order-preserving keys, so
//! that a mistake made there cannot repeat itself here.
//!
//! ```
//! use wgreduce::{DType, Element, Problem, reference};
//! let problem = Problem::arg_max(DType::F32, &[2, 3], -1)?;
//! let scores: [f32; 6] = [1.0, 5.0, 5.0, -1.0, f32::NAN, 2.0];
//! let outputs = reference::evaluate(&problem, &[f32::bytes(&scores)])?;
//! assert_eq!(i64::from_bytes(&outputs[0]), [1, 1]);
//! # Ok::<(), wgreduce::ProblemError>(())
//! ```

mod streamed;

use crate::{DType, NanPolicy, Op, Order, Output, Problem, ProblemError};
use half::{bf16, f16};
use std::cmp::Ordering;
use std::fmt;

pub use streamed::evaluate_streamed;

/// Runs `$body` with `$t` as the Rust type of the elements.
macro_rules! for_type {
    ($dtype:expr, $t:ident => $body:expr) => {
        for_type!(@ $dtype, $t, $body, BF16 bf16, F16 f16, F32 f32, F64 f64, I8 i8, I16 i16,
            I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, Bool bool)
    };
    (@ $dtype:expr, $t:ident, $body:expr, $($name:ident $type:ty),*) => {
        match $dtype {
            $(DType::$name => {
                type $t = $type;
                $body
            })*
        }
    };
}

// After the macro, which it uses.
pub(crate) mod sums;

/// Computes `problem` over `inputs`, raw little-endian bytes in C order (for a view, the larger tensor), and
/// returns the bytes of each of [`Problem::outputs`].
///
/// # Errors
/// [`ProblemError::InputCount`], [`ProblemError::InputBytes`] and, for views,
/// [`ProblemError::ViewOutOfRange`] when the inputs do not fit the problem; those of [`Problem::check`].
pub fn evaluate(problem: &Problem, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, ProblemError> {
    let lens: Vec<u64> = inputs.iter().map(|input| input.len() as u64).collect();
    problem.check()?;
    problem.check_inputs(&lens)?;
    let outputs = problem.outputs();
    if let Some(large) = outputs.iter().find(|o| isize::try_from(o.bytes()).is_err()) {
        return Err(ProblemError::TooLarge {
            shape: large.shape.clone(),
            dtype: large.dtype,
        });
    }
    if outputs[0].bytes() == 0 {
        return Ok(vec![Vec::new(); outputs.len()]);
    }
    if problem.is_copy() {
        return Ok(vec![copy(problem, inputs[0])]);
    }
    Ok(for_type!(problem.dtype(), T => match problem.op() {
        Op::ArgMaxAbs => indices(problem, inputs[0], T::magnitude),
        Op::ReduceMaxAbs => vec![values(problem, inputs, T::magnitude)],
        Op::ArgMin | Op::ArgMax => indices(problem, inputs[0], |x: T| x),
        Op::TopK => best::<T>(problem, inputs[0]),
        Op::ReduceMin | Op::ReduceMax | Op::Min | Op::Max => {
            vec![values(problem, inputs, |x: T| x)]
        }
        Op::ReduceSum
        | Op::ReduceMean
        | Op::ReduceL1
        | Op::ReduceL2
        | Op::ReduceSumSquare => vec![sums::evaluate(problem, inputs[0])],
        Op::Extremes => {
            let results = problem.separate().map(|one| evaluate(&one, inputs));
            let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
            results.concat()
        }
    }))
}

/// The bytes of the input's elements, in C order.
fn copy(problem: &Problem, input: &[u8]) -> Vec<u8> {
    let size = problem.dtype().size() as usize;
    let elements = positions(problem, 0, &problem.inputs()[0]);
    elements
        .flat_map(|at| &input[at * size..][..size])
        .copied()
        .collect()
}

/// Minima or maxima of `of(element)`, over axes or over several inputs. The output has at least one element.
fn values<T: Value, V: Value>(problem: &Problem, inputs: &[&[u8]], of: fn(T) -> V) -> Vec<u8> {
    let rule = Rule::of(problem);
    let shape = &problem.outputs()[0].shape;
    let mut extremes: Vec<Option<V>> = vec![None; count(shape)];
    if problem.op().is_elementwise() {
        for (i, input) in inputs.iter().enumerate() {
            for (held, at) in extremes.iter_mut().zip(positions(problem, i, shape)) {
                let new = of(T::read(&input[at * T::SIZE..]));
                *held = Some(held.map_or(new, |held| rule.extreme(held, new)));
            }
        }
    } else {
        let elements = positions(problem, 0, &problem.inputs()[0]);
        for (from, at) in elements.zip(output_walk(problem)) {
            let new = of(T::read(&inputs[0][from * T::SIZE..]));
            let held = &mut extremes[at];
            *held = Some(held.map_or(new, |held| rule.extreme(held, new)));
        }
    }
    let mut bytes = Vec::with_capacity(extremes.len() * V::SIZE);
    for extreme in extremes {
        let value = extreme.unwrap_or_else(|| rule.identity());
        value.write(&mut bytes);
    }
    bytes
}

/// Indices of the extremes of `of(element)` along one axis, then the elements they point to if the problem
/// asks for values.
fn indices<T: Value, V: Value>(problem: &Problem, input: &[u8], of: fn(T) -> V) -> Vec<Vec<u8>> {
    let rule = Rule::of(problem);
    let outputs = problem.outputs();
    // The best element so far of each output, its place among the elements and its position in
    // the input's data.
    let mut best: Vec<Option<(V, usize, usize)>> = vec![None; count(&outputs[0].shape)];
    let elements = positions(problem, 0, &problem.inputs()[0]).enumerate();
    for ((place, position), at) in elements.zip(output_walk(problem)) {
        let new = of(T::read(&input[position * T::SIZE..]));
        match best[at] {
            Some((held, ..)) if !rule.points_to(held, new) => {}
            _ => best[at] = Some((new, place, position)),
        }
    }
    let (len, stride) = (problem.reduced_len(), problem.inner());

    let index_size = outputs[0].dtype.size() as usize;
    let sizes = outputs.iter().map(|o| o.bytes() as usize);
    let mut bytes: Vec<_> = sizes.map(Vec::with_capacity).collect();
    for (_, place, position) in best.into_iter().flatten() {
        let index = place as u64 / stride % len;
        // The problem was checked, so the index fits its type.
        bytes[0].extend(&index.to_le_bytes()[..index_size]);
        if let Some(values) = bytes.get_mut(1) {
            values.extend(&input[position * T::SIZE..][..T::SIZE]);
        }
    }
    bytes
}

/// Elements of a segment that are sorted together with the best before them.
const SORTED: usize = 1 << 16;

/// The best elements of each segment and their indices, by a stable sort.
fn best<T: Value>(problem: &Problem, input: &[u8]) -> Vec<Vec<u8>> {
    let rule = Rule::of(problem);
    let (inner, k) = (problem.inner(), problem.k().unwrap_or_default());
    let outputs = problem.outputs();
    let mut bytes: Vec<_> = outputs
        .iter()
        .map(|o| vec![0; o.bytes() as usize])
        .collect();
    let index_size = outputs[1].dtype.size() as usize;
    let keep_best = |held: &mut Vec<(T, u64, usize)>| {
        held.sort_by(|a, b| rule.compare(a.0, b.0));
        held.truncate(k as usize);
    };
    for_each_segment(problem, |segment, positions| {
        let segment = segment as u64;
        // Elements, each with its index and its position in the input's data.
        let mut held = Vec::new();
        for (index, position) in (0..).zip(positions) {
            held.push((T::read(&input[position * T::SIZE..]), index, position));
            if held.len() == k as usize + SORTED {
                keep_best(&mut held);
            }
        }
        keep_best(&mut held);
        for (rank, (_, index, position)) in (0..).zip(held) {
            let to = ((segment / inner * k + rank) * inner + segment % inner) as usize;
            let element = &input[position * T::SIZE..][..T::SIZE];
            bytes[0][to * T::SIZE..][..T::SIZE].copy_from_slice(element);
            let index = &index.to_le_bytes()[..index_size];
            bytes[1][to * index_size..][..index_size].copy_from_slice(index);
        }
    });
    bytes
}

/// What decides between two elements.
#[derive(Clone, Copy)]
struct Rule {
    max: bool,
    /// Compares magnitudes: the identity of an empty set is 0.
    abs: bool,
    ignore_nan: bool,
    last: bool,
}

impl Rule {
    fn of(problem: &Problem) -> Rule {
        Rule {
            max: problem.order().is_some_and(Order::prefers_larger),
            abs: problem.order().is_some_and(Order::compares_magnitudes),
            ignore_nan: problem.nan_policy() == NanPolicy::Ignore,
            last: problem.selects_last_index(),
        }
    }

    /// The extreme of two values, where -0 is below +0.
    fn extreme<T: Value>(self, held: T, new: T) -> T {
        let (lower, higher) = if self.max { (held, new) } else { (new, held) };
        let below = lower.is_negative() && !higher.is_negative();
        match self.compare(new, held) {
            Ordering::Less => new,
            // Zeros, or NaNs, which are written alike.
            Ordering::Equal if below => new,
            _ => held,
        }
    }

    /// The order of a sorted segment: the best first, equal elements alike. -0 and +0 are equal.
    fn compare<T: Value>(self, a: T, b: T) -> Ordering {
        let (lower, higher) = if self.max { (b, a) } else { (a, b) };
        match (a.is_nan(), b.is_nan()) {
            (true, true) => Ordering::Equal,
            (a_nan, b_nan) if a_nan || b_nan => match a_nan == self.ignore_nan {
                true => Ordering::Greater,
                false => Ordering::Less,
            },
            _ if lower.less(higher) => Ordering::Less,
            _ if higher.less(lower) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    /// The result of an empty set.
    fn identity<T: Value>(self) -> T {
        match self.abs {
            true => T::read(&[0; 8]),
            false => T::identity(self.max),
        }
    }

    /// Whether the index moves from `held` to `new`, which is further along the axis. -0 and +0 tie.
    fn points_to<T: Value>(self, held: T, new: T) -> bool {
        let order = self.compare(new, held);
        order.is_lt() || self.last && order.is_eq()
    }
}

/// An element as the CPU knows it.
trait Value: Copy + fmt::Debug {
    const SIZE: usize = size_of::<Self>();
    /// A type that can hold every magnitude.
    type Magnitude: Value;
    fn magnitude(self) -> Self::Magnitude;
    /// From the first bytes of a slice.
    fn read(bytes: &[u8]) -> Self;
    /// Appends the bytes; any NaN is written as the canonical NaN.
    fn write(self, bytes: &mut Vec<u8>);
    fn is_nan(self) -> bool {
        false
    }
    /// The language's `<`: false with a NaN, -0 equals +0.
    fn less(self, other: Self) -> bool;
    /// The sign bit of a float, which distinguishes -0 from +0.
    fn is_negative(self) -> bool {
        false
    }
    /// The result of an empty set: the value that loses to every other.
    fn identity(max: bool) -> Self;
}

macro_rules! floats {
    // A 16-bit float is compared as the equal f32.
    ($($t:ty, $wide:ty, $canonical_nan:literal;)*) => {$(
        impl Value for $t {
            type Magnitude = $t;
            fn magnitude(self) -> $t {
                <$t>::from_bits(self.to_bits() & !(1 << (8 * Self::SIZE - 1)))
            }
            fn read(bytes: &[u8]) -> Self {
                <$t>::from_le_bytes(std::array::from_fn(|i| bytes[i]))
            }
            fn write(self, bytes: &mut Vec<u8>) {
                let bits = match Value::is_nan(self) {
                    true => $canonical_nan,
                    false => self.to_bits(),
                };
                bytes.extend(bits.to_le_bytes());
            }
            fn is_nan(self) -> bool {
                <$wide>::from(self).is_nan()
            }
            fn less(self, other: Self) -> bool {
                <$wide>::from(self) < <$wide>::from(other)
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn identity(max: bool) -> Self {
                if max { <$t>::NEG_INFINITY } else { <$t>::INFINITY }
            }
        }
    )*};
}
floats! {
    bf16, f32, 0x7fc0;
    f16, f32, 0x7e00;
    f32, f32, 0x7fc0_0000;
    f64, f64, 0x7ff8_0000_0000_0000;
}

macro_rules! integers {
    ($($t:ty, $magnitude:ty, $abs:expr;)*) => {$(
        impl Value for $t {
            type Magnitude = $magnitude;
            fn magnitude(self) -> $magnitude {
                $abs(self)
            }
            fn read(bytes: &[u8]) -> Self {
                <$t>::from_le_bytes(std::array::from_fn(|i| bytes[i]))
            }
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn less(self, other: Self) -> bool {
                self < other
            }
            fn identity(max: bool) -> Self {
                if max { <$t>::MIN } else { <$t>::MAX }
            }
        }
    )*};
}
integers! {
    i8, u8, i8::unsigned_abs;
    i16, u16, i16::unsigned_abs;
    i32, u32, i32::unsigned_abs;
    i64, u64, i64::unsigned_abs;
    u8, u8, u8::from;
    u16, u16, u16::from;
    u32, u32, u32::from;
    u64, u64, u64::from;
}

impl Value for bool {
    type Magnitude = bool;
    fn magnitude(self) -> bool {
        self
    }
    fn read(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
    fn write(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }
    fn less(self, other: Self) -> bool {
        !self && other
    }
    fn identity(max: bool) -> Self {
        !max
    }
}

/// The position of every element of a shape in C order: `first` plus the sum of coordinates times strides.
struct Walk {
    dims: Box<[Dim]>,
    sum: i64,
    done: bool,
}

struct Dim {
    at: u64,
    size: u64,
    stride: i64,
}

impl Walk {
    fn new(shape: &[u64], strides: &[i64], first: u64) -> Walk {
        let dims = shape.iter().zip(strides);
        let dims = dims.map(|(&size, &stride)| Dim {
            at: 0,
            size,
            stride,
        });
        Walk {
            dims: dims.collect(),
            sum: first as i64,
            done: shape.contains(&0),
        }
    }

    /// Starts again at a new first position. The walk must be at its beginning or its end.
    fn restart(&mut self, first: u64) {
        self.sum = first as i64;
        self.done = self.dims.iter().any(|dim| dim.size == 0);
    }
}

impl Iterator for Walk {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.done {
            return None;
        }
        let sum = self.sum;
        // A plain loop: without inlining, the reference spends most of its time here.
        let mut d = self.dims.len();
        while d > 0 {
            d -= 1;
            let dim = &mut self.dims[d];
            dim.at += 1;
            self.sum += dim.stride;
            if dim.at < dim.size {
                return Some(sum as usize);
            }
            dim.at = 0;
            self.sum -= dim.stride * dim.size as i64;
        }
        self.done = true;
        Some(sum as usize)
    }
}

/// Calls `take` with the output element and the bits of every element of a reduction's input.
pub(crate) fn each_element(
    problem: &Problem,
    input: &[u8],
    mut take: impl FnMut(usize, u64),
) -> Result<(), ProblemError> {
    problem.check()?;
    problem.check_inputs(&[input.len() as u64])?;
    let size = problem.dtype().size() as usize;
    for (from, output) in positions(problem, 0, &problem.inputs()[0]).zip(output_walk(problem)) {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&input[from * size..][..size]);
        take(output, u64::from_le_bytes(bytes));
    }
    Ok(())
}

/// For every element of a reduction's input in C order, the position of its output element.
fn output_walk(problem: &Problem) -> Walk {
    let shape = &problem.inputs()[0];
    let reduced = problem.reduced();
    let dims = shape.iter().zip(reduced).map(|(&size, &r)| (size, !r));
    Walk::new(shape, &strides(&dims.collect::<Vec<_>>()), 0)
}

/// For every element of `shape` in C order, its position in the data of input `i`, broadcast to `shape`.
fn positions(problem: &Problem, i: usize, shape: &[u64]) -> Walk {
    let (own, offset) = strides_of(problem, i);
    // Aligned at the last dimension; missing dimensions have stride 0.
    let mut all = vec![0; shape.len() - own.len()];
    all.extend(own);
    Walk::new(shape, &all, offset)
}

/// The strides of input `i` in its data, 0 for dimensions of size 1, and where its first element is.
fn strides_of(problem: &Problem, i: usize) -> (Vec<i64>, u64) {
    let shape = &problem.inputs()[i];
    let (mut all, offset) = match problem.layout(i) {
        Some(layout) => (layout.strides.clone(), layout.offset),
        None => {
            let dims: Vec<_> = shape.iter().map(|&size| (size, true)).collect();
            (strides(&dims), 0)
        }
    };
    let once = all.iter_mut().zip(shape).filter(|(_, size)| **size == 1);
    once.for_each(|(stride, _)| *stride = 0);
    (all, offset)
}

/// Calls `of` with the number of every output and the positions of its elements.
fn for_each_segment(problem: &Problem, mut of: impl FnMut(usize, &mut Walk)) {
    let (strides, offset) = strides_of(problem, 0);
    let walk = |reduced: bool, first: u64| {
        let shape = problem.inputs()[0].iter();
        let dims = shape.zip(&strides).zip(problem.reduced());
        let dims = dims.filter(|(_, r)| **r == reduced).map(|(dim, _)| dim);
        let (shape, strides): (Vec<u64>, Vec<i64>) = dims.unzip();
        Walk::new(&shape, &strides, first)
    };
    let mut segment = walk(true, 0);
    for (at, first) in walk(false, offset).enumerate() {
        segment.restart(first as u64);
        of(at, &mut segment);
    }
}

/// The strides of a C-order tensor that has only the marked dimensions; 0 for the others.
fn strides(dims: &[(u64, bool)]) -> Vec<i64> {
    let mut strides = vec![0; dims.len()];
    let mut next = 1i64;
    for (stride, &(size, _)) in strides.iter_mut().zip(dims).rev().filter(|(_, dim)| dim.1) {
        *stride = next;
        // Wraps only if another dimension is 0; then there is nothing to walk.
        next = next.wrapping_mul(size as i64);
    }
    strides
}

fn count(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

/// Compares `outputs`, which a device computed for `problem` over `inputs`, with the definition, byte for byte.
///
/// ```
/// use wgreduce::{DType, Element, Problem, reference};
/// let problem = Problem::arg_max(DType::F32, &[3], 0)?;
/// let scores = [1.0f32, 5.0, 5.0];
/// let scores = f32::bytes(&scores);
/// assert!(reference::verify(&problem, &[scores], &[i64::bytes(&[1])]).is_ok());
/// let wrong = reference::verify(&problem, &[scores], &[i64::bytes(&[2])]).unwrap_err();
/// assert_eq!(wrong.to_string(), "output 0 at [0]: expected 1 (0x0000000000000001), got 2 (0x0000000000000002)");
/// # Ok::<(), wgreduce::ProblemError>(())
/// ```
///
/// # Errors
/// [`VerifyError`]: the first difference, or data that does not fit the problem.
pub fn verify(
    problem: &Problem,
    inputs: &[&[u8]],
    outputs: &[impl AsRef<[u8]>],
) -> Result<(), VerifyError> {
    let expected = evaluate(problem, inputs)?;
    if expected.len() != outputs.len() {
        return Err(VerifyError::OutputCount {
            expected: expected.len(),
            actual: outputs.len(),
        });
    }
    let tensors = problem.outputs();
    let compared = tensors.iter().zip(expected.iter().zip(outputs)).enumerate();
    for (output, (tensor, (expected, actual))) in compared {
        if let Some(difference) = first_difference(tensor, expected, actual.as_ref()) {
            return Err(VerifyError::Different { output, difference });
        }
    }
    Ok(())
}

/// Why outputs are not the results of a problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// An output differs from the definition.
    #[error("output {output}{}{difference}", if .difference.index.is_some() { " " } else { ": " })]
    Different {
        /// The output's position.
        output: usize,
        /// The first difference.
        difference: Difference,
    },
    /// The number of outputs is not the problem's.
    #[error("{actual} outputs were given where the problem has {expected}")]
    OutputCount {
        /// The problem's.
        expected: usize,
        /// The call's.
        actual: usize,
    },
    /// The inputs do not fit the problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// The first difference of two tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Coordinates of the element; `None` when the number of bytes is wrong.
    pub index: Option<Vec<u64>>,
    /// The expected element, as value and bits: `-0.0 (0x80000000)`; or `24 bytes`.
    pub expected: String,
    /// The actual element, in the same form.
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = &self.index {
            write!(f, "at {index:?}: ")?;
        }
        write!(f, "expected {}, got {}", self.expected, self.actual)
    }
}

/// Compares two tensors byte for byte: `None` if they are equal and have the size of `output`.
pub fn first_difference(output: &Output, expected: &[u8], actual: &[u8]) -> Option<Difference> {
    for data in [expected, actual] {
        if data.len() as u64 != output.bytes() {
            return Some(Difference {
                index: None,
                expected: format!("{} bytes", output.bytes()),
                actual: format!("{} bytes", data.len()),
            });
        }
    }
    let size = output.dtype.size() as usize;
    let mut pairs = expected.chunks_exact(size).zip(actual.chunks_exact(size));
    let at = pairs.position(|(expected, actual)| expected != actual)?;
    let element = at * size..(at + 1) * size;
    Some(Difference {
        index: Some(coordinates(at as u64, &output.shape)),
        expected: show(output.dtype, &expected[element.clone()]),
        actual: show(output.dtype, &actual[element]),
    })
}

/// Coordinates of element `at` of a shape that has it.
pub(crate) fn coordinates(mut at: u64, shape: &[u64]) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (coordinate, &size) in index.iter_mut().zip(shape).rev() {
        *coordinate = at % size;
        at /= size;
    }
    index
}

/// An element as value and bits.
fn show(dtype: DType, element: &[u8]) -> String {
    let value = for_type!(dtype, T => format!("{:?}", T::read(element)));
    let bits: String = element.iter().rev().map(|b| format!("{b:02x}")).collect();
    format!("{value} (0x{bits})")
}
