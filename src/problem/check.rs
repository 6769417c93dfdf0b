//! What a problem refuses: options, views, sizes and data that do not fit.

use super::{Class, DType, IndexType, InputLayout, Op, Problem, ProblemError, elements, normalise};

impl Problem {
    /// Refuses a problem whose options do not fit its operator, its shapes or each other. All that plans or solves a
    /// problem calls this first.
    ///
    /// ```
    /// use wgreduce::{DType, Problem};
    /// let mean = Problem::reduce_mean(DType::I32, &[0, 3], &[])?;
    /// assert!(mean.check().is_err()); // the mean of no integers
    /// assert!(mean.noop_with_empty_axes(true).check().is_ok());
    /// # Ok::<(), wgreduce::ProblemError>(())
    /// ```
    ///
    /// # Errors
    /// - [`ProblemError::NoSuchOption`] for an option that the operator does not have, unless it has its default.
    /// - [`ProblemError::IndexRange`] for an axis that is too long for [`Problem::index_type`].
    /// - [`ProblemError::NoSuchInput`], [`ProblemError::StrideCount`], and [`ProblemError::ViewOutOfRange`] when an
    ///   element of a view would lie before the tensor's first or beyond what the largest tensor can hold.
    /// - [`ProblemError::TooLarge`] for indices of that type.
    /// - [`ProblemError::EmptyAxis`] for a mean of integers over all axes, one of which has size 0.
    /// - [`ProblemError::MoreThanAll`] for more elements of an axis than it has.
    pub fn check(&self) -> Result<(), ProblemError> {
        let len = self.reduced_len();
        match self.k().filter(|&k| k > len) {
            Some(k) => Err(ProblemError::MoreThanAll { k, len }),
            None => self.check_part(),
        }
    }

    /// The same of a part of a problem, which may have fewer elements than are wanted of the whole.
    pub(crate) fn check_part(&self) -> Result<(), ProblemError> {
        self.check_options()?;
        for (&input, layout) in &self.views {
            self.check_view(input, layout)?;
        }
        self.check_outputs()?;
        match self.no_axes {
            true => self.check_mean(&(0..self.reduced.len() as i64).collect::<Vec<_>>()),
            false => Ok(()),
        }
    }

    /// Refuses options that the operator does not have, and indices that their type cannot hold.
    fn check_options(&self) -> Result<(), ProblemError> {
        let (op, index_type) = (self.op, self.index_type);
        let (is_index, ranked) = (op.is_index(), op == Op::TopK);
        let (one, last) = (is_index && !ranked, self.select_last_index);
        let copies = op.is_sum() || matches!(op, Op::ReduceMin | Op::ReduceMax);
        let typed = index_type != IndexType::default();
        let options = [
            ("keepdims", !self.keepdims, !op.is_elementwise() && !ranked),
            ("select_last_index", last, one),
            ("largest", self.smallest, ranked),
            ("index_type", typed, is_index),
            ("with_values", self.values, one && op != Op::Extremes),
            ("noop_with_empty_axes", self.noop, copies),
        ];
        if let Some((option, ..)) = options.into_iter().find(|&(_, set, has)| set && !has) {
            return Err(ProblemError::NoSuchOption { op, option });
        }
        let longest = index_type.greatest() + 1;
        match self.reduced_len() {
            len if is_index && len > longest => Err(ProblemError::IndexRange { len, index_type }),
            _ => Ok(()),
        }
    }

    /// Refuses a mean of integers over one of these axes if it is empty.
    pub(super) fn check_mean(&self, axes: &[i64]) -> Result<(), ProblemError> {
        if self.op != Op::ReduceMean || self.dtype.class() == Class::Float {
            return Ok(());
        }
        let shape = &self.inputs[0];
        let empty = |dim: usize| self.reduced[dim] && shape[dim] == 0;
        let is_empty = |axis: &&i64| normalise(**axis, shape.len()).is_ok_and(empty);
        match axes.iter().find(is_empty) {
            None => Ok(()),
            Some(&axis) => Err(ProblemError::EmptyAxis {
                op: self.op,
                axis,
                shape: shape.clone(),
            }),
        }
    }

    fn check_view(&self, input: usize, layout: &InputLayout) -> Result<(), ProblemError> {
        let Some(shape) = self.inputs.get(input) else {
            return Err(ProblemError::NoSuchInput {
                op: self.op,
                input,
                inputs: self.inputs.len(),
            });
        };
        if layout.strides.len() != shape.len() {
            return Err(ProblemError::StrideCount {
                input,
                shape: shape.clone(),
                strides: layout.strides.len(),
            });
        }
        self.check_reach(input, layout, i64::MAX as u64 / self.dtype.size())
    }

    /// Refuses a view that reaches outside a tensor of `elements` elements.
    fn check_reach(
        &self,
        input: usize,
        layout: &InputLayout,
        elements: u64,
    ) -> Result<(), ProblemError> {
        let shape = &self.inputs[input];
        let clamped = |at: i128| at.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        match layout.reach(shape) {
            Some((first, last)) if first < 0 || last >= elements.into() => {
                Err(ProblemError::ViewOutOfRange {
                    input,
                    shape: shape.clone(),
                    strides: layout.strides.clone(),
                    offset: layout.offset,
                    first: clamped(first),
                    last: clamped(last),
                    elements,
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_outputs(&self) -> Result<(), ProblemError> {
        let mut outputs = self.outputs().into_iter();
        outputs.try_for_each(|output| check_size(output.dtype, &output.shape))
    }

    /// Refuses data that does not fit the problem's inputs.
    pub(crate) fn check_inputs(&self, lens: &[u64]) -> Result<(), ProblemError> {
        if lens.len() != self.inputs.len() {
            return Err(ProblemError::InputCount {
                op: self.op,
                expected: self.inputs.len(),
                actual: lens.len(),
            });
        }
        for (input, &actual) in lens.iter().enumerate() {
            if let Some(layout) = self.layout(input) {
                self.check_reach(input, layout, actual / self.dtype.size())?;
                continue;
            }
            let expected = self.input_bytes(input);
            if actual != expected {
                return Err(ProblemError::InputBytes {
                    input,
                    dtype: self.dtype,
                    shape: self.inputs[input].clone(),
                    expected,
                    actual,
                });
            }
        }
        Ok(())
    }
}

/// Refuses a tensor whose bytes no signed 64 bits can count.
pub(super) fn check_size(dtype: DType, shape: &[u64]) -> Result<(), ProblemError> {
    match elements(shape).saturating_mul(dtype.size()) <= i64::MAX as u64 {
        true => Ok(()),
        false => Err(ProblemError::TooLarge {
            shape: shape.to_vec(),
            dtype,
        }),
    }
}
