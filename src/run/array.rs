//! Inputs and outputs as ndarray's arrays. Knows how they lie in memory; the reducer runs the problem.

use crate::run::reduction::same_type;
use crate::{Element, Error, Outputs, Problem, ProblemError, Reducer};
use ndarray::{ArrayD, ArrayView, ArrayViewD, Dimension};
use std::borrow::Cow;

#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
impl Reducer {
    /// Solves a problem of one input and one output from an array of its input's shape. Contiguous arrays
    /// are read in place, whatever the order of their axes, also transposed or flipped; others are copied on the
    /// host first. (Feature `ndarray`.)
    ///
    /// ```
    /// use ndarray::{Axis, array};
    /// use wgreduce::{AdapterChoice, DType, Problem, Reducer};
    /// # fn main() -> Result<(), wgreduce::Error> {
    /// # if matches!(Reducer::open_blocking(&AdapterChoice::Auto), Err(wgreduce::Error::NoAdapter { .. })) { return Ok(()); }
    /// let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    /// let scores = array![[0.5f32, 9.0, 2.0], [7.0, 1.0, 7.5]];
    /// // The best row of each column.
    /// let problem = Problem::arg_max(DType::F32, &[3, 2], 1)?.keepdims(false);
    /// let winners = reducer.run_array_blocking::<f32, i64, _>(&problem, scores.t())?;
    /// assert_eq!(winners, array![1, 0, 1].into_dyn());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ProblemError::InputShape`] for an array of another shape; the errors of [`Reducer::run`].
    pub async fn run_array<T: Element, O: Element, D: Dimension>(
        &self,
        problem: &Problem,
        input: ArrayView<'_, T, D>,
    ) -> Result<ArrayD<O>, Error> {
        let (problem, data) = problem.of_array(0, input.view())?;
        array(&problem, 0, self.run(&problem, &data).await?)
    }

    /// [`Reducer::run_array`], waiting for the result.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_array_blocking<T: Element, O: Element, D: Dimension>(
        &self,
        problem: &Problem,
        input: ArrayView<'_, T, D>,
    ) -> Result<ArrayD<O>, Error> {
        let (problem, data) = problem.of_array(0, input.view())?;
        array(&problem, 0, self.run_blocking(&problem, &data)?)
    }

    /// Solves a problem of any number of inputs and outputs from one array per input, read as in
    /// [`Reducer::run_array`]; [`Outputs::array`] gives the outputs. (Feature `ndarray`.)
    ///
    /// # Errors
    /// As [`Reducer::run_array`]; [`ProblemError::InputCount`].
    pub async fn run_arrays<T: Element>(
        &self,
        problem: &Problem,
        inputs: &[ArrayViewD<'_, T>],
    ) -> Result<Outputs, Error> {
        let (problem, data) = of_arrays(problem, inputs)?;
        let data: Vec<&[T]> = data.iter().map(|d| &**d).collect();
        self.run_many(&problem, &data).await
    }

    /// [`Reducer::run_arrays`], waiting for the results.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_arrays_blocking<T: Element>(
        &self,
        problem: &Problem,
        inputs: &[ArrayViewD<'_, T>],
    ) -> Result<Outputs, Error> {
        let (problem, data) = of_arrays(problem, inputs)?;
        let data: Vec<&[T]> = data.iter().map(|d| &**d).collect();
        self.run_many_blocking(&problem, &data)
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
impl Outputs {
    /// An output as an array. (Feature `ndarray`.)
    pub fn array<O: Element>(&self, output: usize) -> Result<ArrayD<O>, Error> {
        array(self.problem(), output, self.get(output)?)
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
impl Problem {
    /// The problem with the array's memory layout for an input, and the array's memory, to run or to bind. A
    /// contiguous array is borrowed, also transposed or flipped; another one is copied to C order. Replaces a
    /// layout that the input had. (Feature `ndarray`.)
    ///
    /// # Errors
    /// [`ProblemError::NoSuchInput`]; [`ProblemError::InputShape`] for an array of another shape,
    /// [`ProblemError::ElementType`] for one of other elements.
    pub fn of_array<'a, T: Element, D: Dimension>(
        &self,
        input: usize,
        array: ArrayView<'a, T, D>,
    ) -> Result<(Problem, Cow<'a, [T]>), ProblemError> {
        let (op, inputs) = (self.op(), self.inputs().len());
        let Some(expected) = self.inputs().get(input) else {
            return Err(ProblemError::NoSuchInput { op, input, inputs });
        };
        let actual: Vec<u64> = array.shape().iter().map(|&size| size as u64).collect();
        if *expected != actual {
            return Err(ProblemError::InputShape {
                input,
                expected: expected.clone(),
                actual,
            });
        }
        same_type(&format!("input {input}"), self.dtype(), T::DTYPE)?;
        if let Some(data) = array.to_slice() {
            return Ok((self.without_layout(input), Cow::Borrowed(data)));
        }
        // The first element's position: flipped axes put others before it.
        let back = |(&size, &stride): (&usize, &isize)| match stride {
            ..0 => (size as u64).saturating_sub(1) * stride.unsigned_abs() as u64,
            _ => 0,
        };
        let first = array.shape().iter().zip(array.strides()).map(back).sum();
        let strides: Vec<i64> = array.strides().iter().map(|&s| s as i64).collect();
        Ok(match array.to_slice_memory_order() {
            Some(data) => {
                let problem = self.clone().strided(input, &strides, first);
                (problem, Cow::Borrowed(data))
            }
            None => (self.without_layout(input), array.iter().copied().collect()),
        })
    }
}

/// The elements of each array.
type Memory<'a, T> = Vec<Cow<'a, [T]>>;

/// [`Problem::of_array`] for all inputs.
fn of_arrays<'a, T: Element>(
    problem: &Problem,
    arrays: &[ArrayViewD<'a, T>],
) -> Result<(Problem, Memory<'a, T>), ProblemError> {
    if arrays.len() != problem.inputs().len() {
        return Err(ProblemError::InputCount {
            op: problem.op(),
            expected: problem.inputs().len(),
            actual: arrays.len(),
        });
    }
    let (mut problem, mut all) = (problem.clone(), Vec::new());
    for (input, array) in arrays.iter().enumerate() {
        let (next, data) = problem.of_array(input, array.clone())?;
        problem = next;
        all.push(data);
    }
    Ok((problem, all))
}

fn array<O>(problem: &Problem, output: usize, elements: Vec<O>) -> Result<ArrayD<O>, Error> {
    let shape = &problem.outputs()[output].shape;
    let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
    ArrayD::from_shape_vec(shape, elements).map_err(|e| Error::Device {
        what: "a result",
        message: e.to_string(),
    })
}
