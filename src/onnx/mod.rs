//! ONNX models and tensors: the operators by name and opset, `.onnx` files and `TensorProto`.
//!
//! The core computes almost every operator with every element type. This layer is as strict as the
//! standard: it refuses what an opset does not allow. It computes nothing itself: [`Model::run`]
//! takes a closure that evaluates one [`Problem`](crate::Problem) at a time, on a device or by the reference.
//!
//! ```
//! use wgreduce::onnx::{AttributeProto, Input, Operator};
//! use wgreduce::{DType, Problem};
//!
//! let last = AttributeProto::int("axis", -1);
//! let operator = Operator::new("ArgMax", "", 17, &[last])?;
//! let scores = Input { dtype: DType::F32, shape: &[64, 1000], data: None };
//! assert_eq!(operator.problem(&[Some(scores)])?, Problem::arg_max(DType::F32, &[64, 1000], -1)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod error;
mod model;
pub mod proto;
mod rules;
mod tensor;

pub use compare::{Difference, compare, compare_close};
pub use error::{NodeError, OnnxError};
pub use model::{Model, RunError};
pub use proto::AttributeProto;
pub use rules::{Input, Operator};
pub use tensor::Tensor;
