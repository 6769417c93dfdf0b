//! ndarray's arrays in and out. Keeps how they lie in memory; a run is the reducer's business.

use crate::{Element, Error, Problem, ProblemError, Reducer};
use ndarray::{ArrayD, ArrayView, Dimension};
use std::borrow::Cow;

#[cfg_attr(docsrs, doc(cfg(feature = "ndarray")))]
impl Reducer {
    /// Solves a problem of one input and one output from an array of its input's shape. Arrays
    /// that lie contiguously in memory in any order, transposed and flipped ones too, are read as
    /// they lie; of others the host makes a copy first. (Feature `ndarray`.)
    ///
    /// ```
    /// use ndarray::{Axis, array};
    /// use wgreduce::{AdapterChoice, DType, Problem, Reducer};
    /// # fn main() -> Result<(), wgreduce::Error> {
    /// # if matches!(Reducer::open_blocking(&AdapterChoice::Auto), Err(wgreduce::Error::NoAdapter { .. })) { return Ok(()); }
    /// let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    /// let scores = array![[0.5f32, 9.0, 2.0], [7.0, 1.0, 7.5]];
    /// // The best row of each column.
    /// let problem = Problem::arg_max(DType::F32, &[3, 2], 1)?.keepdims(false)?;
    /// let winners = reducer.run_array_blocking::<f32, i64, _>(&problem, scores.t())?;
    /// assert_eq!(winners, array![1, 0, 1].into_dyn());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ProblemError::InputShape`] for an array of another shape; what [`Reducer::run`] gives.
    pub async fn run_array<T: Element, O: Element, D: Dimension>(
        &self,
        problem: &Problem,
        input: ArrayView<'_, T, D>,
    ) -> Result<ArrayD<O>, Error> {
        let lying = Lying::new(problem, input.view())?;
        array(problem, self.run(&lying.problem, &lying.data).await?)
    }

    /// [`Reducer::run_array`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reducer::run_array`].
    pub fn run_array_blocking<T: Element, O: Element, D: Dimension>(
        &self,
        problem: &Problem,
        input: ArrayView<'_, T, D>,
    ) -> Result<ArrayD<O>, Error> {
        let lying = Lying::new(problem, input.view())?;
        array(problem, self.run_blocking(&lying.problem, &lying.data)?)
    }
}

/// The elements of an array, and the problem that reads them where they are.
struct Lying<'a, T: Clone> {
    problem: Problem,
    /// Copied, in C order, only where they do not lie close together.
    data: Cow<'a, [T]>,
}

impl<'a, T: Element> Lying<'a, T> {
    fn new<D: Dimension>(
        problem: &Problem,
        input: ArrayView<'a, T, D>,
    ) -> Result<Lying<'a, T>, Error> {
        let actual: Vec<u64> = input.shape().iter().map(|&size| size as u64).collect();
        match problem.inputs().first() {
            Some(expected) if *expected != actual => {
                return Err(Error::Problem(ProblemError::InputShape {
                    input: 0,
                    expected: expected.clone(),
                    actual,
                }));
            }
            _ => {}
        }
        let problem = problem.clone();
        if let Some(data) = input.to_slice() {
            let data = Cow::Borrowed(data);
            return Ok(Lying { problem, data });
        }
        // Where the first element lies, if others come before it.
        let back = |(&size, &stride): (&usize, &isize)| match stride {
            ..0 => (size as u64).saturating_sub(1) * stride.unsigned_abs() as u64,
            _ => 0,
        };
        let first = input.shape().iter().zip(input.strides()).map(back).sum();
        let strides: Vec<i64> = input.strides().iter().map(|&s| s as i64).collect();
        Ok(match input.to_slice_memory_order() {
            Some(data) => Lying {
                problem: problem.strided(0, &strides, first)?,
                data: Cow::Borrowed(data),
            },
            None => Lying {
                problem,
                data: input.iter().copied().collect(),
            },
        })
    }
}

fn array<O>(problem: &Problem, elements: Vec<O>) -> Result<ArrayD<O>, Error> {
    let shape = &problem.outputs()[0].shape;
    let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
    ArrayD::from_shape_vec(shape, elements).map_err(|e| Error::Device {
        what: "a result",
        message: e.to_string(),
    })
}
