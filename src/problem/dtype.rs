//! Element types: their names, ONNX numbers, sizes and Rust types.
//!
//! Knows nothing of operators. How values compare is defined by `reference` and `keys.rs`.

use super::UnknownName;
use std::fmt;
use std::str::FromStr;

/// Makes the enum and its tables from a row for each type, so that none can be missing: the Rust type that has [`Element`], the
/// class, NumPy's name, and the number in ONNX's `TensorProto.DataType`.
macro_rules! types {
    ($($(#[$doc:meta])* $dtype:ident: $rust:ty, $class:ident, $name:literal, $code:literal;)*) => {
        /// An element type of ONNX.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DType {
            $($(#[$doc])* $dtype,)*
        }

        impl DType {
            /// All thirteen types.
            pub const ALL: [DType; 13] = [$(DType::$dtype),*];

            /// Bytes of one element: 1, 2, 4 or 8.
            pub const fn size(self) -> u64 {
                match self {
                    $(DType::$dtype => size_of::<$rust>() as u64,)*
                }
            }

            /// What the bits mean.
            pub const fn class(self) -> Class {
                match self {
                    $(DType::$dtype => Class::$class,)*
                }
            }

            /// NumPy's name (`float32`); `bfloat16` where NumPy has none.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DType::$dtype => $name,)*
                }
            }

            /// The Rust type that [`Element`] is implemented for: `f32`, `half::f16`.
            pub const fn rust_name(self) -> &'static str {
                match self {
                    $(DType::$dtype => stringify!($rust),)*
                }
            }

            /// The number in ONNX's `TensorProto.DataType`.
            pub(crate) const fn code(self) -> u8 {
                match self {
                    $(DType::$dtype => $code,)*
                }
            }
        }
    };
}

types! {
    /// `bfloat16`: the upper half of a `float`.
    BF16: half::bf16, Float, "bfloat16", 16;
    /// `float16`: IEEE 754 binary16.
    F16: half::f16, Float, "float16", 10;
    /// `float`: IEEE 754 binary32.
    F32: f32, Float, "float32", 1;
    /// `double`: IEEE 754 binary64.
    F64: f64, Float, "float64", 11;
    /// `int8`.
    I8: i8, Signed, "int8", 3;
    /// `int16`.
    I16: i16, Signed, "int16", 5;
    /// `int32`.
    I32: i32, Signed, "int32", 6;
    /// `int64`.
    I64: i64, Signed, "int64", 7;
    /// `uint8`.
    U8: u8, Unsigned, "uint8", 2;
    /// `uint16`.
    U16: u16, Unsigned, "uint16", 4;
    /// `uint32`.
    U32: u32, Unsigned, "uint32", 12;
    /// `uint64`.
    U64: u64, Unsigned, "uint64", 13;
    /// `bool`: one byte; non-zero reads as true, true is written as 1.
    Bool: bool, Bool, "bool", 9;
}

/// What an element's bits mean, independent of their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// IEEE-like: sign, exponent, mantissa.
    Float,
    /// Two's complement.
    Signed,
    /// Plain binary.
    Unsigned,
    /// One byte, zero or not.
    Bool,
}

impl DType {
    /// The name in ONNX's type constraints (`float`, `double`).
    pub const fn onnx_name(self) -> &'static str {
        match self {
            DType::F32 => "float",
            DType::F64 => "double",
            other => other.name(),
        }
    }
}

/// By NumPy's name or ONNX's: `float32` or `float`.
impl FromStr for DType {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<DType, UnknownName> {
        let named = |t: &DType| t.name() == name || t.onnx_name() == name;
        let found = DType::ALL.into_iter().find(named);
        found.ok_or_else(|| UnknownName {
            what: "element type",
            name: name.into(),
            names: DType::ALL.map(DType::name).into(),
        })
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A Rust type that is an element type: `f32`, `half::f16`, `half::bf16`, `i64`, `bool`, ...
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;
    /// The bytes of a slice.
    fn bytes(elements: &[Self]) -> &[u8];
    /// Elements from bytes; an incomplete last element is ignored.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($read:expr; $($t:ty => $dtype:ident),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            fn bytes(elements: &[Self]) -> &[u8] {
                bytemuck::cast_slice(elements)
            }
            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                let chunks = bytes.chunks_exact(size_of::<Self>());
                chunks.map($read).collect()
            }
        }
    )*};
}
element!(bytemuck::pod_read_unaligned; half::bf16 => BF16, half::f16 => F16, f32 => F32, f64 => F64,
         i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32,
         u64 => U64);
element!(|byte: &[u8]| byte[0] != 0; bool => Bool);
