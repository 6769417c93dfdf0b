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
pub(crate) mod sums;

use crate::problem::elements;
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
    if problem.op() == Op::Extremes {
        let results = problem.separate().map(|one| evaluate(&one, inputs));
        let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        return Ok(results.concat());
    }
    let sizes = outputs.iter().map(|o| o.bytes() as usize);
    let mut bytes: Vec<Vec<u8>> = sizes.map(Vec::with_capacity).collect();
    let mut result = nothing(problem);
    if problem.op().is_elementwise() {
        let shape = &outputs[0].shape;
        let walk = |i| positions(problem, i, shape);
        let mut walks: Vec<Walk> = (0..inputs.len()).map(walk).collect();
        for _ in 0..elements(shape) {
            for (walk, input) in walks.iter_mut().zip(inputs) {
                if let Some(at) = walk.next() {
                    result.add(input, at as usize);
                }
            }
            result.finish(&mut bytes);
        }
    } else {
        for_each_segment(problem, |_, positions| {
            result.add_all(inputs[0], positions);
            result.finish(&mut bytes);
        });
    }
    order_ranks(problem, &mut bytes);
    Ok(bytes)
}

/// The bytes of the input's elements, in C order.
fn copy(problem: &Problem, input: &[u8]) -> Vec<u8> {
    let size = problem.dtype().size() as usize;
    let elements = positions(problem, 0, &problem.inputs()[0]);
    let bytes = elements.flat_map(|at| &input[at as usize * size..][..size]);
    bytes.copied().collect()
}

/// The result of those elements of a segment that were added so far.
trait Running {
    /// Adds the segment's next element, which is at a position of the input.
    fn add(&mut self, input: &[u8], at: usize);

    /// Appends the result to the bytes of each output, and begins with another segment.
    fn finish(&mut self, outputs: &mut [Vec<u8>]);

    /// Adds the elements at these positions, by one virtual call.
    fn add_all(&mut self, input: &[u8], positions: &mut Walk) {
        for at in positions {
            self.add(input, at as usize);
        }
    }
}

/// The result of a segment of which nothing was added.
fn nothing(problem: &Problem) -> Box<dyn Running> {
    let rule = Rule::of(problem);
    let index = problem.index_result_type();
    let index_size = index.map_or(0, |index| index.dtype().size() as usize);
    for_type!(problem.dtype(), T => match problem.op() {
        Op::ArgMaxAbs => Box::new(Place::new(rule, T::magnitude, index_size)),
        Op::ReduceMaxAbs => Box::new(Extreme::new(rule, T::magnitude)),
        Op::ArgMin | Op::ArgMax => Box::new(Place::new(rule, |x: T| x, index_size)),
        Op::TopK => Box::new(Best::<T> {
            rule,
            k: problem.k().unwrap_or_default() as usize,
            index_size,
            count: 0,
            held: Vec::new(),
        }),
        // Extremes have a result for each of their operators.
        Op::ReduceMin | Op::ReduceMax | Op::Min | Op::Max | Op::Extremes => {
            Box::new(Extreme::new(rule, |x: T| x))
        }
        Op::ReduceSum
        | Op::ReduceMean
        | Op::ReduceL1
        | Op::ReduceL2
        | Op::ReduceSumSquare => Box::new(sums::Sum::new(problem)),
    })
}

/// The minimum or maximum of `of(element)`.
struct Extreme<T, V> {
    rule: Rule,
    of: fn(T) -> V,
    held: Option<V>,
}

impl<T: Value, V: Value> Extreme<T, V> {
    fn new(rule: Rule, of: fn(T) -> V) -> Extreme<T, V> {
        let held = None;
        Extreme { rule, of, held }
    }
}

impl<T: Value, V: Value> Running for Extreme<T, V> {
    fn add(&mut self, input: &[u8], at: usize) {
        let new = (self.of)(T::read(&input[at * T::SIZE..]));
        self.held = Some(match self.held {
            Some(held) => self.rule.extreme(held, new),
            None => new,
        });
    }

    fn finish(&mut self, outputs: &mut [Vec<u8>]) {
        let value = self.held.take().unwrap_or_else(|| self.rule.identity());
        value.write(&mut outputs[0]);
    }
}

/// The index of an extreme of `of(element)`, and the element if the problem asks for values.
struct Place<T, V> {
    rule: Rule,
    of: fn(T) -> V,
    index_size: usize,
    /// Elements that were added.
    count: u64,
    /// The best `of(element)` so far, its index and the element's bits.
    held: Option<(V, u64, u64)>,
}

impl<T: Value, V: Value> Place<T, V> {
    fn new(rule: Rule, of: fn(T) -> V, index_size: usize) -> Place<T, V> {
        Place {
            rule,
            of,
            index_size,
            count: 0,
            held: None,
        }
    }
}

impl<T: Value, V: Value> Running for Place<T, V> {
    fn add(&mut self, input: &[u8], at: usize) {
        let element = &input[at * T::SIZE..][..T::SIZE];
        let new = (self.of)(T::read(element));
        let better = |(held, ..): (V, u64, u64)| self.rule.points_to(held, new);
        if self.held.is_none_or(better) {
            self.held = Some((new, self.count, bits(element)));
        }
        self.count += 1;
    }

    fn finish(&mut self, outputs: &mut [Vec<u8>]) {
        // The problem was checked: the segment is not empty, and the index fits its type.
        if let Some((_, index, bits)) = self.held.take() {
            outputs[0].extend(&index.to_le_bytes()[..self.index_size]);
            if let Some(values) = outputs.get_mut(1) {
                values.extend(&bits.to_le_bytes()[..T::SIZE]);
            }
        }
        self.count = 0;
    }
}

/// Elements beyond twice those that are wanted, at which they are sorted. In a stream each segment holds so many.
const SORTED: usize = 16;

/// The best elements and their indices, by a stable sort.
struct Best<T> {
    rule: Rule,
    k: usize,
    index_size: usize,
    /// Elements that were added.
    count: u64,
    /// The best of them, and those after: each with its index and its bits.
    held: Vec<(T, u64, u64)>,
}

impl<T: Value> Best<T> {
    fn keep_best(&mut self) {
        self.held.sort_by(|a, b| self.rule.compare(a.0, b.0));
        self.held.truncate(self.k);
    }
}

impl<T: Value> Running for Best<T> {
    fn add(&mut self, input: &[u8], at: usize) {
        let element = &input[at * T::SIZE..][..T::SIZE];
        let new = (T::read(element), self.count, bits(element));
        self.held.push(new);
        self.count += 1;
        if self.held.len() == 2 * self.k + SORTED {
            self.keep_best();
        }
    }

    fn finish(&mut self, outputs: &mut [Vec<u8>]) {
        self.keep_best();
        for (_, index, bits) in self.held.drain(..) {
            outputs[0].extend(&bits.to_le_bytes()[..T::SIZE]);
            outputs[1].extend(&index.to_le_bytes()[..self.index_size]);
        }
        self.count = 0;
    }
}

/// The bits of an element's bytes.
fn bits(element: &[u8]) -> u64 {
    match *element {
        [byte] => byte.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        _ => u64::from_le_bytes(std::array::from_fn(|i| element[i])),
    }
}

/// How many results a segment has, and how many segments lie side by side, with their first results before their
/// second ones. Of all operators but TopK one.
fn ranks(problem: &Problem) -> (usize, usize) {
    let inner = problem.inner() as usize;
    problem.k().map_or((1, 1), |k| (k as usize, inner))
}

/// Puts the results of one segment after the other into the order of the outputs.
fn order_ranks(problem: &Problem, results: &mut [Vec<u8>]) {
    let (k, inner) = ranks(problem);
    if k == 1 || inner == 1 {
        return;
    }
    for (bytes, output) in results.iter_mut().zip(problem.outputs()) {
        let size = output.dtype.size() as usize;
        let mut ordered = Vec::with_capacity(bytes.len());
        for segments in bytes.chunks_exact(k * inner * size) {
            for rank in 0..k {
                let of_rank = segments.chunks_exact(k * size);
                ordered.extend(of_rank.flat_map(|segment| &segment[rank * size..][..size]));
            }
        }
        *bytes = ordered;
    }
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
trait Value: Copy + fmt::Debug + 'static {
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
pub(crate) struct Walk {
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
        // Along a dimension of size 1 there is nowhere to go.
        let dims = shape.iter().zip(strides).filter(|(size, _)| **size != 1);
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
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
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
            if dim.at < dim.size {
                self.sum += dim.stride;
                return Some(sum as u64);
            }
            dim.at = 0;
            self.sum -= dim.stride * (dim.size - 1) as i64;
        }
        self.done = true;
        Some(sum as u64)
    }
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
    // Without elements the strides may be any, too large to be added up.
    if shape.contains(&0) {
        return (vec![0; shape.len()], 0);
    }
    let (mut all, offset) = match problem.layout(i) {
        Some(layout) => (layout.strides.clone(), layout.offset),
        None => (dense_strides(shape), 0),
    };
    let once = all.iter_mut().zip(shape).filter(|(_, size)| **size == 1);
    once.for_each(|(stride, _)| *stride = 0);
    (all, offset)
}

/// The strides of a tensor in C order that has elements.
fn dense_strides(shape: &[u64]) -> Vec<i64> {
    let mut next = 1;
    let mut all = vec![0; shape.len()];
    for (stride, &size) in all.iter_mut().zip(shape).rev() {
        *stride = next;
        next *= size as i64;
    }
    all
}

/// Calls `of` with the number of every output and the positions of its elements.
pub(crate) fn for_each_segment(problem: &Problem, mut of: impl FnMut(usize, &mut Walk)) {
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
        segment.restart(first);
        of(at, &mut segment);
    }
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
