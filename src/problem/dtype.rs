//! Element types: their names, ONNX numbers, sizes and Rust types.
//!
//! Knows nothing of operators. How values compare is defined by `reference` and `keys.rs`.

use super::UnknownName;
use std::fmt;
use std::str::FromStr;

/// An element type of ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// `bfloat16`: the upper half of a `float`.
    BF16,
    /// `float16`: IEEE 754 binary16.
    F16,
    /// `float`: IEEE 754 binary32.
    F32,
    /// `double`: IEEE 754 binary64.
    F64,
    /// `int8`.
    I8,
    /// `int16`.
    I16,
    /// `int32`.
    I32,
    /// `int64`.
    I64,
    /// `uint8`.
    U8,
    /// `uint16`.
    U16,
    /// `uint32`.
    U32,
    /// `uint64`.
    U64,
    /// `bool`: one byte; non-zero reads as true, true is written as 1.
    Bool,
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
    /// All thirteen types.
    pub const ALL: [DType; 13] = [
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::Bool,
    ];

    /// Bytes of one element: 1, 2, 4 or 8.
    pub const fn size(self) -> u64 {
        match self {
            DType::I8 | DType::U8 | DType::Bool => 1,
            DType::BF16 | DType::F16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// What the bits mean.
    pub const fn class(self) -> Class {
        match self {
            DType::BF16 | DType::F16 | DType::F32 | DType::F64 => Class::Float,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Class::Signed,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Class::Unsigned,
            DType::Bool => Class::Bool,
        }
    }

    /// NumPy's name (`float32`); `bfloat16` where NumPy has none.
    pub const fn name(self) -> &'static str {
        match self {
            DType::BF16 => "bfloat16",
            DType::F16 => "float16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::Bool => "bool",
        }
    }

    /// The name in ONNX's type constraints (`float`, `double`).
    pub const fn onnx_name(self) -> &'static str {
        match self {
            DType::F32 => "float",
            DType::F64 => "double",
            other => other.name(),
        }
    }

    /// The Rust type that [`Element`] is implemented for: `f32`, `half::f16`.
    pub const fn rust_name(self) -> &'static str {
        match self {
            DType::BF16 => "half::bf16",
            DType::F16 => "half::f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::Bool => "bool",
        }
    }

    /// The number in ONNX's `TensorProto.DataType`.
    pub(crate) const fn code(self) -> u8 {
        match self {
            DType::F32 => 1,
            DType::U8 => 2,
            DType::I8 => 3,
            DType::U16 => 4,
            DType::I16 => 5,
            DType::I32 => 6,
            DType::I64 => 7,
            DType::Bool => 9,
            DType::F16 => 10,
            DType::F64 => 11,
            DType::U32 => 12,
            DType::U64 => 13,
            DType::BF16 => 16,
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
    ($($t:ty => $dtype:ident),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            fn bytes(elements: &[Self]) -> &[u8] {
                bytemuck::cast_slice(elements)
            }
            fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                let chunks = bytes.chunks_exact(size_of::<Self>());
                chunks.map(bytemuck::pod_read_unaligned).collect()
            }
        }
    )*};
}
element!(half::bf16 => BF16, half::f16 => F16, f32 => F32, f64 => F64, i8 => I8, i16 => I16,
         i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64);

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    fn bytes(elements: &[Self]) -> &[u8] {
        bytemuck::cast_slice(elements)
    }
    fn from_bytes(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&b| b != 0).collect()
    }
}
