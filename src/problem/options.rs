//! Chained options on what a constructor of `Problem` returns, with one error to handle at the end.

use crate::problem::{IndexType, NanPolicy, Problem, ProblemError};

/// The options of [`Problem`], callable on the `Result` of its constructors, so that a chain needs a single `?`:
///
/// ```
/// use wgreduce::{DType, IndexType, Problem, ProblemOptions};
/// let problem = Problem::arg_max(DType::F32, &[64, 1000], -1)
///     .keepdims(false)
///     .select_last_index(true)
///     .index_type(IndexType::U32)?;
/// assert_eq!(problem.outputs()[0].dtype, DType::U32);
/// # Ok::<(), wgreduce::ProblemError>(())
/// ```
///
/// The chain returns the first error. Implemented for no other type.
pub trait ProblemOptions: Sized + sealed::Sealed {
    /// Applies an option unless there is an error already.
    #[doc(hidden)]
    fn then(
        self,
        option: impl FnOnce(Problem) -> Result<Problem, ProblemError>,
    ) -> Result<Problem, ProblemError>;

    /// [`Problem::keepdims`].
    ///
    /// # Errors
    /// As [`Problem::keepdims`], or an earlier error.
    fn keepdims(self, keepdims: bool) -> Result<Problem, ProblemError> {
        self.then(|p| p.keepdims(keepdims))
    }

    /// [`Problem::select_last_index`].
    ///
    /// # Errors
    /// As [`Problem::select_last_index`], or an earlier error.
    fn select_last_index(self, last: bool) -> Result<Problem, ProblemError> {
        self.then(|p| p.select_last_index(last))
    }

    /// [`Problem::index_type`].
    ///
    /// # Errors
    /// As [`Problem::index_type`], or an earlier error.
    fn index_type(self, index_type: IndexType) -> Result<Problem, ProblemError> {
        self.then(|p| p.index_type(index_type))
    }

    /// [`Problem::with_values`].
    ///
    /// # Errors
    /// As [`Problem::with_values`], or an earlier error.
    fn with_values(self, values: bool) -> Result<Problem, ProblemError> {
        self.then(|p| p.with_values(values))
    }

    /// [`Problem::noop_with_empty_axes`].
    ///
    /// # Errors
    /// As [`Problem::noop_with_empty_axes`], or an earlier error.
    fn noop_with_empty_axes(self, noop: bool) -> Result<Problem, ProblemError> {
        self.then(|p| p.noop_with_empty_axes(noop))
    }

    /// [`Problem::strided`].
    ///
    /// # Errors
    /// As [`Problem::strided`], or an earlier error.
    fn strided(self, input: usize, strides: &[i64], offset: u64) -> Result<Problem, ProblemError> {
        self.then(|p| p.strided(input, strides, offset))
    }

    /// [`Problem::nan`].
    ///
    /// # Errors
    /// An earlier error.
    fn nan(self, nan: NanPolicy) -> Result<Problem, ProblemError> {
        self.then(|p| Ok(p.nan(nan)))
    }
}

impl ProblemOptions for Result<Problem, ProblemError> {
    fn then(
        self,
        option: impl FnOnce(Problem) -> Result<Problem, ProblemError>,
    ) -> Result<Problem, ProblemError> {
        self.and_then(option)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for Result<super::Problem, super::ProblemError> {}
}
