//! What to compute: operator, element type, shape, axes and options, validated.
//!
//! This module keeps the operators' rules (ONNX's; NumPy's where ONNX leaves something open) and must not know how
//! anything is computed.

mod check;
mod dtype;
mod error;
mod layout;
mod op;

use check::check_size;

pub use dtype::{Class, DType, Element};
pub use error::{ProblemError, UnknownName};
pub use layout::InputLayout;
pub use op::{IndexType, NanPolicy, Op, Order};
use std::collections::BTreeMap;
use std::fmt;

/// One output of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Output {
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub shape: Vec<u64>,
}

impl Output {
    /// A tensor of that type and shape.
    pub fn new(dtype: DType, shape: impl Into<Vec<u64>>) -> Output {
        let shape = shape.into();
        Output { dtype, shape }
    }

    /// Bytes of the tensor; `u64::MAX` if there are more.
    pub fn bytes(&self) -> u64 {
        elements(&self.shape).saturating_mul(self.dtype.size())
    }
}

/// A reduction or elementwise minimum or maximum: the operator, its options and the shapes.
///
/// A constructor refuses shapes and axes. The options are plain setters, in any order; [`Problem::check`] refuses what
/// is wrong with them, and all that plans or solves a problem calls it first.
///
/// Axes count from 0, or from the end when negative. Defaults are ONNX's: `keepdims` is true,
/// `select_last_index` false, indices are `int64`, NaN propagates.
///
/// ```
/// use wgreduce::{DType, IndexType, Problem};
/// let problem = Problem::arg_max(DType::F32, &[64, 1000], -1)?
///     .keepdims(false)
///     .index_type(IndexType::U32);
/// assert_eq!(problem.outputs()[0].shape, [64]);
/// assert!(problem.check().is_ok());
/// # Ok::<(), wgreduce::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    op: Op,
    dtype: DType,
    inputs: Vec<Vec<u64>>,
    /// The inputs that are views of larger tensors, by their positions. [`Problem::check`] refuses bad ones.
    views: BTreeMap<usize, InputLayout>,
    /// Per dimension of the first input: is it reduced?
    reduced: Vec<bool>,
    /// No axes were given: all are reduced, or none with `noop_with_empty_axes`.
    no_axes: bool,
    /// As it was set: it has an effect only without axes.
    noop: bool,
    keepdims: bool,
    select_last_index: bool,
    nan: NanPolicy,
    index_type: IndexType,
    values: bool,
    /// TopK: how many elements, and whether the smallest.
    k: u64,
    smallest: bool,
}

/// A dimension of the canonical form, where dimensions of size 1 are dropped and neighbours of one kind merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Elements along it.
    pub size: u64,
    /// Whether it is reduced or kept.
    pub reduced: bool,
}

impl Problem {
    /// Index of the smallest element along `axis`.
    ///
    /// # Errors
    /// [`ProblemError::AxisOutOfRange`], [`ProblemError::EmptyAxis`] when `shape[axis]` is 0,
    /// [`ProblemError::TooLarge`] for the input; for the output, [`Problem::check`]. A scalar (rank 0) is accepted
    /// with axis 0 or -1.
    pub fn arg_min(dtype: DType, shape: &[u64], axis: i64) -> Result<Problem, ProblemError> {
        Problem::arg(Op::ArgMin, dtype, shape, axis)
    }

    /// Index of the largest element along `axis`; otherwise as [`Problem::arg_min`].
    pub fn arg_max(dtype: DType, shape: &[u64], axis: i64) -> Result<Problem, ProblemError> {
        Problem::arg(Op::ArgMax, dtype, shape, axis)
    }

    /// Smallest and largest element along `axis` and the index of each. The outputs are those of
    /// [`Problem::reduce_min`], [`Problem::reduce_max`], [`Problem::arg_min`] and [`Problem::arg_max`], in this
    /// order and bit for bit. The input is read once where that pays, and four times where segments are short. Then a
    /// stream, too, reads what exceeds a window four times.
    ///
    /// ```
    /// use wgreduce::{DType, Element, Problem, reference};
    /// let problem = Problem::extremes(DType::F32, &[4], 0)?;
    /// let outputs = reference::evaluate(&problem, &[f32::bytes(&[2.0, -0.0, 7.0, 0.0])])?;
    /// assert_eq!(f32::from_bytes(&outputs[0]), [-0.0]);
    /// assert_eq!(f32::from_bytes(&outputs[1]), [7.0]);
    /// assert_eq!(i64::from_bytes(&outputs[2]), [1]);
    /// assert_eq!(i64::from_bytes(&outputs[3]), [2]);
    /// # Ok::<(), wgreduce::ProblemError>(())
    /// ```
    pub fn extremes(dtype: DType, shape: &[u64], axis: i64) -> Result<Problem, ProblemError> {
        Problem::arg(Op::Extremes, dtype, shape, axis)
    }

    /// Smallest element over `axes`, in any order; an empty list means all axes, as in ONNX.
    ///
    /// # Errors
    /// [`ProblemError::AxisOutOfRange`], [`ProblemError::DuplicateAxis`],
    /// [`ProblemError::TooLarge`].
    pub fn reduce_min(dtype: DType, shape: &[u64], axes: &[i64]) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceMin, dtype, shape, axes)
    }

    /// Largest element over `axes`; otherwise as [`Problem::reduce_min`].
    pub fn reduce_max(dtype: DType, shape: &[u64], axes: &[i64]) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceMax, dtype, shape, axes)
    }

    /// Index of the element with the largest magnitude along `axis`; otherwise as
    /// [`Problem::arg_min`]. An element and its negative tie; NaN is the extreme, as elsewhere.
    pub fn arg_max_abs(dtype: DType, shape: &[u64], axis: i64) -> Result<Problem, ProblemError> {
        Problem::arg(Op::ArgMaxAbs, dtype, shape, axis)
    }

    /// Largest magnitude over `axes`: the L-infinity norm; otherwise as [`Problem::reduce_min`].
    ///
    /// The output for a signed integer type is the unsigned type of its size, so that every magnitude fits:
    /// `int8` gives `uint8`, and the norm of [-128, 127] is 128. Over an empty set it is 0.
    pub fn reduce_max_abs(
        dtype: DType,
        shape: &[u64],
        axes: &[i64],
    ) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceMaxAbs, dtype, shape, axes)
    }

    /// The `k` largest elements along `axis`, the largest first, and their indices: ONNX's TopK. Of equal elements the one
    /// with the lower index comes first. -0 and +0 are equal, and each keeps its own bits. The outputs are the values and
    /// the indices, in a shape with `k` in place of the length of the axis. With k = 1 they are [`Problem::arg_max`] and its
    /// value. With k the length of the axis they are the sorted input.
    ///
    /// ```
    /// use wgreduce::{DType, Element, Problem, reference};
    /// let problem = Problem::top_k(DType::F32, &[5], 0, 3)?;
    /// let outputs = reference::evaluate(&problem, &[f32::bytes(&[2.0, 7.0, -1.0, 7.0, 0.0])])?;
    /// assert_eq!(f32::from_bytes(&outputs[0]), [7.0, 7.0, 2.0]);
    /// assert_eq!(i64::from_bytes(&outputs[1]), [1, 3, 0]);
    /// # Ok::<(), wgreduce::ProblemError>(())
    /// ```
    ///
    /// # Errors
    /// [`ProblemError::AxisOutOfRange`], also for a scalar; [`ProblemError::TooLarge`]. A `k` beyond the length of the axis is
    /// refused by [`Problem::check`]: a part of a tensor may have fewer elements than are wanted of the whole, as [`crate::Partial`]
    /// has it.
    pub fn top_k(dtype: DType, shape: &[u64], axis: i64, k: u64) -> Result<Problem, ProblemError> {
        let problem = Problem::arg(Op::TopK, dtype, shape, axis)?;
        Ok(Problem { k, ..problem })
    }

    /// Sum over `axes`; an empty list means all axes, as in ONNX.
    ///
    /// A sum of floats is the exact sum, rounded once to nearest with ties to even. A sum of integers is modulo
    /// 2^bits. A sum of no elements is 0.
    ///
    /// ```
    /// use wgreduce::{DType, Element, Problem, reference};
    /// let problem = Problem::reduce_sum(DType::F32, &[3], &[])?.keepdims(false);
    /// let sum = reference::evaluate(&problem, &[f32::bytes(&[1e30, 1.0, -1e30])])?;
    /// assert_eq!(f32::from_bytes(&sum[0]), [1.0]);
    /// # Ok::<(), wgreduce::ProblemError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Problem::reduce_min`], and [`ProblemError::NoSum`] for bool.
    pub fn reduce_sum(dtype: DType, shape: &[u64], axes: &[i64]) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceSum, dtype, shape, axes)
    }

    /// Mean over `axes`; otherwise as [`Problem::reduce_sum`].
    ///
    /// For floats it is the exact sum divided by the number of elements, rounded once; for integers it is the sum
    /// modulo 2^bits divided by the number of elements, truncated toward zero. The mean of no floats is NaN.
    ///
    /// # Errors
    /// As [`Problem::reduce_sum`], and [`ProblemError::EmptyAxis`] for integers over an axis of size 0; without axes,
    /// [`Problem::check`].
    pub fn reduce_mean(dtype: DType, shape: &[u64], axes: &[i64]) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceMean, dtype, shape, axes)
    }

    /// Sum of magnitudes over `axes`, the L1 norm; otherwise as [`Problem::reduce_sum`].
    pub fn reduce_l1(dtype: DType, shape: &[u64], axes: &[i64]) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceL1, dtype, shape, axes)
    }

    /// Square root of the sum of squares over `axes`, the L2 norm; otherwise as [`Problem::reduce_sum`].
    ///
    /// For floats it is the root of the exact sum of exact squares, rounded once; for integers it is the floor of
    /// the root, at most the type's largest number.
    pub fn reduce_l2(dtype: DType, shape: &[u64], axes: &[i64]) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceL2, dtype, shape, axes)
    }

    /// Sum of squares over `axes`; otherwise as [`Problem::reduce_sum`].
    pub fn reduce_sum_square(
        dtype: DType,
        shape: &[u64],
        axes: &[i64],
    ) -> Result<Problem, ProblemError> {
        Problem::reduce(Op::ReduceSumSquare, dtype, shape, axes)
    }

    /// Elementwise smallest of one or more inputs, broadcast against each other.
    /// A single input is copied bit for bit.
    ///
    /// # Errors
    /// [`ProblemError::NoInputs`], [`ProblemError::NotBroadcastable`], [`ProblemError::TooLarge`].
    pub fn min<S: AsRef<[u64]>>(dtype: DType, shapes: &[S]) -> Result<Problem, ProblemError> {
        Problem::elementwise(Op::Min, dtype, shapes)
    }

    /// Elementwise largest; otherwise as [`Problem::min`].
    pub fn max<S: AsRef<[u64]>>(dtype: DType, shapes: &[S]) -> Result<Problem, ProblemError> {
        Problem::elementwise(Op::Max, dtype, shapes)
    }

    fn new(op: Op, dtype: DType, inputs: Vec<Vec<u64>>) -> Result<Problem, ProblemError> {
        for shape in &inputs {
            check_size(dtype, shape)?;
        }
        Ok(Problem {
            op,
            dtype,
            reduced: Vec::new(),
            no_axes: false,
            noop: false,
            keepdims: true,
            select_last_index: false,
            nan: NanPolicy::default(),
            index_type: IndexType::default(),
            values: false,
            k: 0,
            smallest: false,
            views: BTreeMap::new(),
            inputs,
        })
    }

    pub(crate) fn arg(
        op: Op,
        dtype: DType,
        shape: &[u64],
        axis: i64,
    ) -> Result<Problem, ProblemError> {
        let mut problem = Problem::new(op, dtype, vec![shape.to_vec()])?;
        problem.reduced = vec![false; shape.len()];
        let one = op != Op::TopK;
        // As NumPy and so ONNX's reference do, treat a scalar as a row of one.
        if one && shape.is_empty() && matches!(axis, -1 | 0) {
            return Ok(problem);
        }
        let dim = normalise(axis, shape.len())?;
        if one && shape[dim] == 0 {
            return Err(ProblemError::EmptyAxis {
                op,
                axis,
                shape: shape.to_vec(),
            });
        }
        problem.reduced[dim] = true;
        Ok(problem)
    }

    pub(crate) fn reduce(
        op: Op,
        dtype: DType,
        shape: &[u64],
        axes: &[i64],
    ) -> Result<Problem, ProblemError> {
        let mut problem = Problem::new(op, dtype, vec![shape.to_vec()])?;
        problem.no_axes = axes.is_empty();
        problem.reduced = vec![axes.is_empty(); shape.len()];
        for &axis in axes {
            let dim = normalise(axis, shape.len())?;
            if problem.reduced[dim] {
                let same = |a: &&i64| normalise(**a, shape.len()) == Ok(dim);
                let first = *axes.iter().find(same).unwrap_or(&axis);
                return Err(ProblemError::DuplicateAxis { axis, first });
            }
            problem.reduced[dim] = true;
        }
        problem.check_outputs()?;
        if op.is_sum() && dtype == DType::Bool {
            return Err(ProblemError::NoSum { op, dtype });
        }
        problem.check_mean(axes)?;
        Ok(problem)
    }

    pub(crate) fn elementwise<S: AsRef<[u64]>>(
        op: Op,
        dtype: DType,
        shapes: &[S],
    ) -> Result<Problem, ProblemError> {
        let inputs: Vec<Vec<u64>> = shapes.iter().map(|s| s.as_ref().to_vec()).collect();
        if inputs.is_empty() {
            return Err(ProblemError::NoInputs { op });
        }
        let mut with = Vec::new();
        for (input, shape) in inputs.iter().enumerate() {
            with = broadcast(&with, shape).ok_or_else(|| ProblemError::NotBroadcastable {
                input,
                shape: shape.clone(),
                with: with.clone(),
            })?;
        }
        let problem = Problem::new(op, dtype, inputs)?;
        problem.check_outputs()?;
        Ok(problem)
    }

    /// Whether reduced dimensions stay, with size 1 (the default). Min and Max do not have this option.
    #[must_use]
    pub fn keepdims(mut self, keepdims: bool) -> Problem {
        self.keepdims = keepdims;
        self
    }

    /// Whether the last of several equal extremes wins, instead of the first. For operators that give an index.
    #[must_use]
    pub fn select_last_index(mut self, last: bool) -> Problem {
        self.select_last_index = last;
        self
    }

    /// The element type of an index result.
    #[must_use]
    pub fn index_type(mut self, index_type: IndexType) -> Problem {
        self.index_type = index_type;
        self
    }

    /// Whether ArgMin, ArgMax and ArgMaxAbs also give, as a second output, the elements they point to:
    /// the input's bits at that index, so a NaN keeps its payload and a zero its sign.
    #[must_use]
    pub fn with_values(mut self, values: bool) -> Problem {
        self.values = values;
        self
    }

    /// Whether TopK gives the largest elements (the default), or the smallest, the smallest first. A NaN is the first
    /// either way, unless it is ignored: then it is the last.
    #[must_use]
    pub fn largest(mut self, largest: bool) -> Problem {
        self.smallest = !largest;
        self
    }

    /// Whether an empty list of axes means that no axis is reduced, instead of all; `keepdims` then has no effect.
    /// ReduceMin, ReduceMax, ReduceSum and ReduceMean then copy their input bit for bit; ReduceL1, ReduceL2 and
    /// ReduceSumSquare give magnitudes or squares. Other operators do not have this option. In ONNX from opset 18, for
    /// ReduceSum from 13.
    #[must_use]
    pub fn noop_with_empty_axes(mut self, noop: bool) -> Problem {
        self.noop = noop;
        if self.no_axes {
            self.reduced.fill(!noop);
        }
        self
    }

    /// What a NaN does (the default is [`NanPolicy::Propagate`]).
    #[must_use]
    pub fn nan(mut self, nan: NanPolicy) -> Problem {
        self.nan = nan;
        self
    }

    /// Makes an input a view of a larger tensor instead of a tensor in C order: transposed,
    /// flipped, sliced, broadcast or overlapping itself. The view is never copied. `strides` (one per
    /// dimension) and `offset` count elements of the larger tensor; see [`InputLayout`].
    ///
    /// The input's data is then the larger tensor, at least its first [`Problem::input_bytes`].
    ///
    /// ```
    /// use wgreduce::{DType, Element, Problem, reference};
    /// // The columns of a row-major [2, 3] matrix as rows.
    /// let problem = Problem::arg_max(DType::F32, &[3, 2], 1)?.strided(0, &[1, 3], 0);
    /// let matrix = [1.0f32, 5.0, 2.0, 4.0, 0.0, 9.0];
    /// let winners = reference::evaluate(&problem, &[f32::bytes(&matrix)])?;
    /// assert_eq!(i64::from_bytes(&winners[0]), [1, 0, 1]);
    /// # Ok::<(), wgreduce::ProblemError>(())
    /// ```
    #[must_use]
    pub fn strided(mut self, input: usize, strides: &[i64], offset: u64) -> Problem {
        let strides = strides.to_vec();
        self.views.insert(input, InputLayout { strides, offset });
        self
    }

    /// The same problem with an input in C order.
    #[cfg(feature = "ndarray")]
    pub(crate) fn without_layout(&self, input: usize) -> Problem {
        let mut problem = self.clone();
        problem.views.remove(&input);
        problem
    }

    /// The operator.
    pub fn op(&self) -> Op {
        self.op
    }

    /// The element type of the inputs.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The inputs' shapes: one for the reductions, one or more for Min and Max.
    pub fn inputs(&self) -> &[Vec<u64>] {
        &self.inputs
    }

    /// How input `i` lies in a larger tensor; `None` if it is a tensor in C order.
    pub fn layout(&self, i: usize) -> Option<&InputLayout> {
        self.views.get(&i)
    }

    /// The position in its data, in elements, of element `flat` (in C order) of input `i`.
    pub(crate) fn position(&self, i: usize, flat: u64) -> u64 {
        match self.layout(i) {
            None => flat,
            Some(layout) => layout.position(&self.inputs[i], flat),
        }
    }

    /// Bytes of input `i`; for a view, up to the end of the highest element it reads.
    ///
    /// # Panics
    /// If there is no input `i`.
    pub fn input_bytes(&self, i: usize) -> u64 {
        let shape = &self.inputs[i];
        let elements = match self.layout(i).map(|layout| layout.reach(shape)) {
            None => elements(shape),
            Some(None) => 0,
            // Within these bounds unless `check` refuses the view.
            Some(Some((_, last))) => last.clamp(0, i64::MAX.into()) as u64 + 1,
        };
        elements.saturating_mul(self.dtype.size())
    }

    /// Of each input, and of each output: its bytes, and those of an element.
    pub(crate) fn sizes(&self) -> [Vec<(u64, u64)>; 2] {
        let input = |i| (self.input_bytes(i), self.dtype.size());
        let output = |o: Output| (o.bytes(), o.dtype.size());
        [
            (0..self.inputs.len()).map(input).collect(),
            self.outputs().into_iter().map(output).collect(),
        ]
    }

    /// Per dimension of the (only) input of a reduction: whether it is reduced.
    /// Empty for Min and Max.
    pub fn reduced(&self) -> &[bool] {
        &self.reduced
    }

    /// Elements in each reduced set; `u64::MAX` if there are more (only if a kept dimension is 0).
    pub fn reduced_len(&self) -> u64 {
        let dims = self.inputs[0].iter().zip(&self.reduced);
        let dims = dims.filter(|(_, r)| **r).map(|(&d, _)| d);
        dims.fold(1, u64::saturating_mul)
    }

    /// The axis of an operator that has one; a scalar has none.
    pub(crate) fn axis(&self) -> Option<usize> {
        self.reduced.iter().position(|&reduced| reduced)
    }

    /// Elements of the input from one to the next along that axis. A scalar is a row of one.
    pub(crate) fn inner(&self) -> u64 {
        let behind = |axis: usize| elements(&self.inputs[0][axis + 1..]);
        self.axis().map_or(1, behind)
    }

    /// Whether ties go to the last index.
    pub fn selects_last_index(&self) -> bool {
        self.select_last_index
    }

    /// Whether reduced dimensions stay, with size 1.
    pub fn keeps_dims(&self) -> bool {
        self.keepdims
    }

    /// The type of an index result; `None` if the operator gives no index.
    pub fn index_result_type(&self) -> Option<IndexType> {
        self.op.is_index().then_some(self.index_type)
    }

    /// Whether the elements that indices point to are a second output.
    pub fn gives_values(&self) -> bool {
        self.values
    }

    /// How many elements TopK gives; `None` for other operators.
    pub fn k(&self) -> Option<u64> {
        (self.op == Op::TopK).then_some(self.k)
    }

    /// Whether TopK gives the smallest elements.
    pub fn gives_smallest(&self) -> bool {
        self.smallest
    }

    /// The same of a part: an index operator gives int64 indices and values, TopK no more of them than there are.
    pub(crate) fn of_part(self) -> Problem {
        match self.op.is_index() {
            true => Problem {
                k: self.k.min(self.reduced_len()),
                values: self.op != Op::TopK,
                index_type: IndexType::I64,
                ..self
            },
            false => self,
        }
    }

    /// Which element wins; `None` for sums.
    pub(crate) fn order(&self) -> Option<Order> {
        match self.op {
            Op::TopK if self.smallest => Some(Order::Least),
            op => op.order(),
        }
    }

    /// What a NaN does.
    pub fn nan_policy(&self) -> NanPolicy {
        self.nan
    }

    /// Whether the result is the input's bits, unchanged: a no-op reduction that computes no magnitudes or squares,
    /// or Min and Max of one input.
    pub fn is_copy(&self) -> bool {
        let maps = matches!(self.op, Op::ReduceL1 | Op::ReduceL2 | Op::ReduceSumSquare);
        self.is_noop() && !maps || (self.op.is_elementwise() && self.inputs.len() == 1)
    }

    /// Whether nothing is reduced because there are no axes.
    fn is_noop(&self) -> bool {
        self.noop && self.no_axes
    }

    /// The outputs in order: the result, then the values if [`Problem::with_values`] asked for them.
    /// [`Problem::top_k`] has values and indices, [`Problem::extremes`] four.
    pub fn outputs(&self) -> Vec<Output> {
        let shape = self.output_shape();
        let index = Output::new(self.index_type.dtype(), &shape[..]);
        let values = Output::new(self.op.value_type(self.dtype), shape);
        match self.op {
            Op::Extremes => vec![values.clone(), values, index.clone(), index],
            Op::TopK => vec![values, index],
            op if !op.is_index() => vec![values],
            _ if self.values => vec![index, values],
            _ => vec![index],
        }
    }

    /// A name for each of [`Problem::outputs`]: `values` and `indices`; of [`Problem::extremes`] `min`, `max`, `argmin`
    /// and `argmax`.
    pub fn output_names(&self) -> &'static [&'static str] {
        match self.op {
            Op::Extremes => &["min", "max", "argmin", "argmax"],
            Op::TopK => &["values", "indices"],
            op if !op.is_index() => &["values"],
            _ if self.values => &["indices", "values"],
            _ => &["indices"],
        }
    }

    fn output_shape(&self) -> Vec<u64> {
        if self.op.is_elementwise() {
            let shapes = self.inputs.iter();
            let wider = |all: Vec<u64>, shape: &Vec<u64>| broadcast(&all, shape).unwrap_or(all);
            return shapes.fold(Vec::new(), wider);
        }
        if self.is_noop() {
            return self.inputs[0].clone();
        }
        let dims = self.inputs[0].iter().zip(&self.reduced);
        let kept = dims.filter_map(|(&d, &r)| match r {
            false => Some(d),
            true if self.op == Op::TopK => Some(self.k),
            true => self.keepdims.then_some(1),
        });
        kept.collect()
    }

    /// The canonical form of a reduction: dimensions of size 1 are dropped and neighbours of one kind
    /// merged, so that kept and reduced dimensions alternate. Empty for Min and Max.
    pub fn dims(&self) -> Vec<Dim> {
        let mut dims: Vec<Dim> = Vec::new();
        for (&size, &reduced) in self.inputs[0].iter().zip(&self.reduced) {
            match dims.last_mut() {
                _ if size == 1 => {}
                // It saturates only if another dimension is 0; then nothing is computed.
                Some(d) if d.reduced == reduced => d.size = d.size.saturating_mul(size),
                _ => dims.push(Dim { size, reduced }),
            }
        }
        dims
    }

    /// The problems that [`Problem::extremes`] fuses, in the order of its outputs.
    pub(crate) fn separate(&self) -> [Problem; 4] {
        [Op::ReduceMin, Op::ReduceMax, Op::ArgMin, Op::ArgMax].map(|op| {
            let problem = Problem { op, ..self.clone() };
            match op.is_index() {
                true => problem,
                false => problem
                    .select_last_index(false)
                    .index_type(IndexType::default()),
            }
        })
    }

    /// The same problem on parts of its inputs, in C order; their shapes must broadcast together.
    pub(crate) fn with_inputs(&self, inputs: Vec<Vec<u64>>) -> Problem {
        Problem {
            views: BTreeMap::new(),
            inputs,
            ..self.clone()
        }
    }
}

impl fmt::Display for Problem {
    /// `ArgMin float32 [64, 512, 512] axes [1]`; a view is `[3, 4] by [1, 3] from 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.op, self.dtype)?;
        for (input, shape) in self.inputs.iter().enumerate() {
            write!(f, " {shape:?}")?;
            if let Some(InputLayout { strides, offset }) = self.layout(input) {
                write!(f, " by {strides:?} from {offset}")?;
            }
        }
        if !self.op.is_elementwise() {
            let axes = self.reduced.iter().enumerate().filter(|(_, r)| **r);
            write!(f, " axes {:?}", axes.map(|(i, _)| i).collect::<Vec<_>>())?;
        }
        match (self.k(), self.smallest) {
            (Some(k), false) => write!(f, " k {k}"),
            (Some(k), true) => write!(f, " k {k} smallest"),
            (None, _) => Ok(()),
        }
    }
}

/// Elements of a shape; `u64::MAX` if there are more. 0 if any dimension is 0.
pub(crate) fn elements(shape: &[u64]) -> u64 {
    shape.iter().copied().fold(1, u64::saturating_mul)
}

fn normalise(axis: i64, rank: usize) -> Result<usize, ProblemError> {
    let from_end = if axis < 0 { rank as i128 } else { 0 };
    let dim = axis as i128 + from_end;
    match (0..rank as i128).contains(&dim) {
        true => Ok(dim as usize),
        false => Err(ProblemError::AxisOutOfRange { axis, rank }),
    }
}

/// ONNX's multidirectional broadcasting of two shapes.
fn broadcast(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let rank = a.len().max(b.len());
    let dim = |s: &[u64], i: usize| match (i + s.len()).checked_sub(rank) {
        Some(i) => s[i],
        None => 1,
    };
    let pair = |i| match (dim(a, i), dim(b, i)) {
        (x, y) if x == y || y == 1 => Some(x),
        (1, y) => Some(y),
        _ => None,
    };
    (0..rank).map(pair).collect()
}
