//! Views: where the elements of an input lie in a larger tensor.
//!
//! Only the arithmetic; `Problem` decides which views are legal.

/// How an input lies in a larger tensor: the element with coordinates `c` is the tensor's element
/// `offset + c[0] * strides[0] + c[1] * strides[1] + ...`.
///
/// A negative stride flips a dimension; a stride of 0 repeats it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InputLayout {
    /// Elements from one to the next, per dimension of the input.
    pub strides: Vec<i64>,
    /// The element with coordinates 0.
    pub offset: u64,
}

impl InputLayout {
    /// The lowest and the highest element that a view of this shape reads; `None` if it has no
    /// elements.
    pub(super) fn reach(&self, shape: &[u64]) -> Option<(i128, i128)> {
        if shape.contains(&0) {
            return None;
        }
        let mut reach = (i128::from(self.offset), i128::from(self.offset));
        for (&size, &stride) in shape.iter().zip(&self.strides) {
            // No overflow: such shapes have less than 2^63 elements.
            let way = i128::from(size - 1) * i128::from(stride);
            reach = (reach.0 + way.min(0), reach.1 + way.max(0));
        }
        Some(reach)
    }

    /// Where element `flat` (in C order) of a view of that shape is.
    pub(crate) fn position(&self, shape: &[u64], flat: u64) -> u64 {
        let (mut rest, mut at) = (flat, self.offset as i64);
        for (&size, &stride) in shape.iter().zip(&self.strides).rev() {
            at += (rest % size) as i64 * stride;
            rest /= size;
        }
        at as u64
    }
}
