//! The operators, their order, the NaN policies and the index types.
//!
//! Names and kinds only; `Problem` knows which shapes and options an operator has.

use super::{DType, UnknownName};
use std::fmt;
use std::str::FromStr;

/// Makes the enum with the list of all its variants and their names, so that none can be missing.
macro_rules! operators {
    ($($(#[$doc:meta])* $op:ident,)*) => {
        /// An operator: one of ONNX's, a fusion of several ([`Op::Extremes`]), or one that compares magnitudes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Op {
            $($(#[$doc])* $op,)*
        }

        impl Op {
            /// All operators.
            pub const ALL: [Op; [$(Op::$op),*].len()] = [$(Op::$op),*];

            /// ONNX's name, such as `ArgMin`, or a name in that style for the others.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Op::$op => stringify!($op),)*
                }
            }
        }
    };
}

operators! {
    /// Index of the smallest element along one axis.
    ArgMin,
    /// Index of the largest element along one axis.
    ArgMax,
    /// Smallest element over a set of axes.
    ReduceMin,
    /// Largest element over a set of axes.
    ReduceMax,
    /// Elementwise smallest of one or more broadcast inputs.
    Min,
    /// Elementwise largest of one or more broadcast inputs.
    Max,
    /// ReduceMin, ReduceMax, ArgMin and ArgMax along one axis; not in ONNX.
    Extremes,
    /// Index of the element with the largest magnitude along one axis; not in ONNX.
    ArgMaxAbs,
    /// Largest magnitude over a set of axes, the L-infinity norm; not in ONNX.
    ReduceMaxAbs,
    /// The k largest or smallest elements along one axis, in order, and their indices.
    TopK,
    /// Sum over a set of axes.
    ReduceSum,
    /// Mean over a set of axes.
    ReduceMean,
    /// Sum of magnitudes over a set of axes.
    ReduceL1,
    /// Square root of the sum of squares over a set of axes.
    ReduceL2,
    /// Sum of squares over a set of axes.
    ReduceSumSquare,
}

/// Which element of a set wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// The smallest.
    Least,
    /// The largest.
    Greatest,
    /// The one farthest from zero.
    GreatestMagnitude,
}

impl Order {
    /// Whether the larger of two elements, or of their magnitudes, wins.
    pub(crate) const fn prefers_larger(self) -> bool {
        !matches!(self, Order::Least)
    }

    /// Whether magnitudes are compared.
    pub(crate) const fn compares_magnitudes(self) -> bool {
        matches!(self, Order::GreatestMagnitude)
    }
}

impl Op {
    /// The operators that combine all elements of a set. The others choose one element.
    pub const SUMS: [Op; 5] = [
        Op::ReduceSum,
        Op::ReduceMean,
        Op::ReduceL1,
        Op::ReduceL2,
        Op::ReduceSumSquare,
    ];

    /// Which element wins, where no option says otherwise; `None` for sums.
    pub const fn order(self) -> Option<Order> {
        match self {
            // Extremes: that of its first output.
            Op::ArgMin | Op::ReduceMin | Op::Min | Op::Extremes => Some(Order::Least),
            Op::ArgMax | Op::ReduceMax | Op::Max | Op::TopK => Some(Order::Greatest),
            Op::ArgMaxAbs | Op::ReduceMaxAbs => Some(Order::GreatestMagnitude),
            Op::ReduceSum | Op::ReduceMean | Op::ReduceL1 | Op::ReduceL2 | Op::ReduceSumSquare => {
                None
            }
        }
    }

    /// Whether ONNX has the operator.
    pub const fn is_in_onnx(self) -> bool {
        !matches!(self, Op::Extremes | Op::ArgMaxAbs | Op::ReduceMaxAbs)
    }

    /// Whether the element of the largest value or the largest magnitude wins.
    pub const fn is_max(self) -> bool {
        match self.order() {
            Some(order) => order.prefers_larger(),
            None => false,
        }
    }

    /// Whether all elements of a set are combined: [`Op::SUMS`].
    pub const fn is_sum(self) -> bool {
        self.order().is_none()
    }

    /// Whether one of the outputs is an index along one axis.
    pub const fn is_index(self) -> bool {
        matches!(
            self,
            Op::ArgMin | Op::ArgMax | Op::Extremes | Op::ArgMaxAbs | Op::TopK
        )
    }

    /// The type of a value output over elements of type `dtype`: magnitudes are unsigned.
    pub(crate) const fn value_type(self, dtype: DType) -> DType {
        match (self, dtype) {
            (Op::ReduceMaxAbs, DType::I8) => DType::U8,
            (Op::ReduceMaxAbs, DType::I16) => DType::U16,
            (Op::ReduceMaxAbs, DType::I32) => DType::U32,
            (Op::ReduceMaxAbs, DType::I64) => DType::U64,
            _ => dtype,
        }
    }

    /// Whether the operator combines several inputs element by element.
    pub const fn is_elementwise(self) -> bool {
        matches!(self, Op::Min | Op::Max)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By [`Op::name`].
impl FromStr for Op {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Op, UnknownName> {
        let found = Op::ALL.into_iter().find(|op| op.name() == name);
        found.ok_or_else(|| UnknownName {
            what: "operator",
            name: name.into(),
            names: Op::ALL.map(Op::name).into(),
        })
    }
}

/// The type of an index result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexType {
    /// `int64`, as ONNX.
    #[default]
    I64,
    /// `int32`: the axis must not be longer than 2^31.
    I32,
    /// `uint32`: the axis must not be longer than 2^32.
    U32,
}

impl IndexType {
    /// The element type of the result.
    pub const fn dtype(self) -> DType {
        match self {
            IndexType::I64 => DType::I64,
            IndexType::I32 => DType::I32,
            IndexType::U32 => DType::U32,
        }
    }

    /// The greatest index.
    pub(crate) const fn greatest(self) -> u64 {
        match self {
            IndexType::I64 => i64::MAX as u64,
            IndexType::I32 => i32::MAX as u64,
            IndexType::U32 => u32::MAX as u64,
        }
    }
}

/// What a NaN does to the set it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NanPolicy {
    /// A NaN wins, as in NumPy's `min` and `argmin`: the value is NaN, the index is the first NaN's
    /// (the last one's with `select_last_index`). A sum with a NaN is NaN.
    #[default]
    Propagate,
    /// NaNs are skipped; a set of only NaN gives NaN and index 0 (the last one with
    /// `select_last_index`), as NumPy's `fmin`. A sum adds the other elements, as NumPy's `nansum` and
    /// `nanmean`: without any, a sum is 0 and a mean is NaN.
    Ignore,
}
