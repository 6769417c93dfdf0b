//! The comparison of the node tests: exact, up to what NumPy leaves open, or within ONNX's tolerance.
//!
//! Knows tensors and nothing of operators or cases.

use super::Tensor;
use crate::reference::coordinates;
use crate::{Class, DType};
use approx::relative_eq;
use half::{bf16, f16};
use std::fmt;

/// The first difference of two tensors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// The element types.
    #[error("expected element type {}, got {}", .expected.onnx_name(), .actual.onnx_name())]
    Type {
        /// The right one.
        expected: DType,
        /// The computed one.
        actual: DType,
    },
    /// The shapes.
    #[error("expected shape {expected:?}, got {actual:?}")]
    Shape {
        /// The right one.
        expected: Vec<u64>,
        /// The computed one.
        actual: Vec<u64>,
    },
    /// An element, in C order.
    #[error("element {index:?}: expected {expected}, got {actual}")]
    Element {
        /// Its coordinates.
        index: Vec<u64>,
        /// The right value.
        expected: String,
        /// The computed one.
        actual: String,
    },
}

/// Compares types, shapes and elements: integers by value, floats by value with NaN equal to NaN
/// and the signs of zeros ignored, bools by truth.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &Tensor, actual: &Tensor) -> Result<(), Difference> {
    compare_by(expected, actual, Value::is_same)
}

/// As [`compare`], but for floats that are as close as ONNX's own tests ask for: within 10^-7, or a
/// thousandth of the larger. What these expect of sums was computed in floating point.
///
/// # Errors
/// The first difference.
pub fn compare_close(expected: &Tensor, actual: &Tensor) -> Result<(), Difference> {
    compare_by(expected, actual, Value::is_close)
}

fn compare_by(
    expected: &Tensor,
    actual: &Tensor,
    same: fn(&Value, &Value) -> bool,
) -> Result<(), Difference> {
    let dtype = expected.dtype();
    if dtype != actual.dtype() {
        return Err(Difference::Type {
            expected: dtype,
            actual: actual.dtype(),
        });
    }
    if expected.shape() != actual.shape() {
        return Err(Difference::Shape {
            expected: expected.shape().to_vec(),
            actual: actual.shape().to_vec(),
        });
    }
    let size = dtype.size() as usize;
    let computed = actual.bytes().chunks(size);
    let mut pairs = expected.bytes().chunks(size).zip(computed);
    // The bytes are almost always equal: compare values only where they are not.
    match pairs.position(|(e, a)| e != a && !same(&Value::of(dtype, e), &Value::of(dtype, a))) {
        None => Ok(()),
        Some(at) => {
            let show = |t: &Tensor| Value::of(dtype, &t.bytes()[at * size..][..size]).to_string();
            Err(Difference::Element {
                index: coordinates(at as u64, expected.shape()),
                expected: show(expected),
                actual: show(actual),
            })
        }
    }
}

/// An element by value: every type fits one of three without loss.
#[derive(PartialEq)]
enum Value {
    Float(f64),
    Integer(i128),
    Bool(bool),
}

impl Value {
    /// The value of an element that has the bytes of its type.
    fn of(dtype: DType, bytes: &[u8]) -> Value {
        let mut wide = [0; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u128::from_le_bytes(wide);
        let unused = 128 - 8 * bytes.len();
        match (dtype, dtype.class()) {
            (DType::BF16, _) => Value::Float(bf16::from_bits(bits as u16).to_f64()),
            (DType::F16, _) => Value::Float(f16::from_bits(bits as u16).to_f64()),
            (DType::F32, _) => Value::Float(f32::from_bits(bits as u32).into()),
            (_, Class::Float) => Value::Float(f64::from_bits(bits as u64)),
            (_, Class::Bool) => Value::Bool(bits != 0),
            (_, Class::Unsigned) => Value::Integer(bits as i128),
            // Shifted up and back, the sign fills the unused bits.
            (_, Class::Signed) => Value::Integer((bits << unused) as i128 >> unused),
        }
    }

    fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Float(a), Value::Float(b)) if a.is_nan() => b.is_nan(),
            _ => self == other,
        }
    }

    fn is_close(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Float(a), Value::Float(b)) if !a.is_nan() => {
                relative_eq!(a, b, epsilon = 1e-7, max_relative = 1e-3)
            }
            _ => self.is_same(other),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Integer(v) => write!(f, "{v}"),
            Value::Bool(v) => write!(f, "{v}"),
        }
    }
}
