//! Tensors, and their conversion from and to ONNX's `TensorProto`.
//!
//! Knows the fields that may hold data, and refuses a tensor whose data has the wrong length.

use super::OnnxError;
use super::proto::TensorProto;
use crate::problem;
use crate::{Class, DType, Element};
use prost::Message;

/// An element type, a shape, and the elements: little-endian, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// A tensor of these elements.
    ///
    /// # Errors
    /// [`OnnxError::DataLength`] if `bytes` has not the length that type and shape give,
    /// [`OnnxError::TooLarge`] if that exceeds 63 bits.
    pub fn new(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Result<Tensor, OnnxError> {
        Form::new("", dtype, shape.to_vec())?.filled("bytes", bytes)
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The elements.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Reads a `TensorProto`.
    ///
    /// # Errors
    /// If the bytes are not a `TensorProto`, the element type is not one of the thirteen, or the data is incomplete
    /// or external.
    pub fn decode(bytes: &[u8]) -> Result<Tensor, OnnxError> {
        let what = "TensorProto";
        let proto = TensorProto::decode(bytes);
        let proto = proto.map_err(|source| OnnxError::Protobuf { what, source })?;
        Tensor::from_proto(proto)
    }

    /// The bytes of a `TensorProto` of that name, data in `raw_data`.
    pub fn encode(&self, name: &str) -> Vec<u8> {
        self.to_proto(name).encode_to_vec()
    }

    /// The message with that name, data in `raw_data`.
    pub fn to_proto(&self, name: &str) -> TensorProto {
        TensorProto {
            dims: self.shape.iter().map(|&d| d as i64).collect(),
            data_type: self.dtype.code().into(),
            name: name.into(),
            raw_data: Some(self.bytes.clone()),
            ..Default::default()
        }
    }

    /// The tensor of a message.
    pub fn from_proto(proto: TensorProto) -> Result<Tensor, OnnxError> {
        let name = proto.name.clone();
        if proto.data_location != 0 || !proto.external_data.is_empty() {
            return Err(OnnxError::ExternalData { name });
        }
        if proto.segment.is_some() {
            return Err(OnnxError::Segment { name });
        }
        let dtype = dtype(&name, proto.data_type)?;
        let form = Form::new(&name, dtype, dimensions(&name, &proto.dims)?)?;
        let raw = proto.raw_data.as_ref().is_some_and(|raw| !raw.is_empty());
        let own = if raw { "raw_data" } else { typed_field(dtype) };
        let other = fields(&proto).into_iter().find(|f| f.1 > 0 && f.0 != own);
        if let Some((field, _)) = other {
            return Err(match field == typed_field(dtype) {
                true => OnnxError::TwoDataFields { name, field },
                false => OnnxError::DataField { name, dtype, field },
            });
        }
        match raw {
            true => form.filled("raw_data", proto.raw_data.unwrap_or_default()),
            false => form.typed(&proto),
        }
    }
}

/// A tensor without its data.
struct Form<'a> {
    name: &'a str,
    dtype: DType,
    shape: Vec<u64>,
    elements: u64,
}

impl<'a> Form<'a> {
    fn new(name: &'a str, dtype: DType, shape: Vec<u64>) -> Result<Form<'a>, OnnxError> {
        let elements = problem::elements(&shape);
        let bytes = elements.saturating_mul(dtype.size());
        // Each dimension must fit int64, too, even if another is 0.
        let fits = bytes <= i64::MAX as u64 && shape.iter().all(|&d| d <= i64::MAX as u64);
        match fits {
            true => Ok(Form {
                name,
                dtype,
                shape,
                elements,
            }),
            false => Err(OnnxError::TooLarge {
                name: name.into(),
                shape,
            }),
        }
    }

    fn filled(self, field: &'static str, bytes: Vec<u8>) -> Result<Tensor, OnnxError> {
        let expected = self.elements * self.dtype.size();
        self.check_length(field, "bytes", expected, bytes.len())?;
        let Form { dtype, shape, .. } = self;
        Ok(Tensor {
            dtype,
            shape,
            bytes,
        })
    }

    fn typed(self, proto: &TensorProto) -> Result<Tensor, OnnxError> {
        let field = typed_field(self.dtype);
        let found = fields(proto).into_iter().find(|f| f.0 == field);
        let actual = found.map_or(0, |f| f.1);
        self.check_length(field, "elements", self.elements, actual)?;
        let bytes = match self.dtype {
            DType::F32 => f32::bytes(&proto.float_data).to_vec(),
            DType::F64 => f64::bytes(&proto.double_data).to_vec(),
            DType::Bool => proto.int32_data.iter().map(|&v| u8::from(v != 0)).collect(),
            DType::I64 => self.integers(&proto.int64_data)?,
            DType::U32 | DType::U64 => self.integers(&proto.uint64_data)?,
            // For 16-bit floats, the field holds the bits.
            _ => self.integers(&proto.int32_data)?,
        };
        self.filled(field, bytes)
    }

    fn integers<T: Copy + Into<i128>>(&self, values: &[T]) -> Result<Vec<u8>, OnnxError> {
        let size = self.dtype.size() as usize;
        let range = match self.dtype.class() {
            Class::Signed => -(1 << (8 * size - 1))..1 << (8 * size - 1),
            Class::Float | Class::Unsigned | Class::Bool => 0..1i128 << (8 * size),
        };
        let mut bytes = Vec::with_capacity(values.len() * size);
        for (index, &value) in values.iter().enumerate() {
            let value: i128 = value.into();
            if !range.contains(&value) {
                return Err(OnnxError::ValueRange {
                    name: self.name.into(),
                    dtype: self.dtype,
                    index,
                    value,
                });
            }
            bytes.extend_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(bytes)
    }

    fn check_length(
        &self,
        field: &'static str,
        unit: &'static str,
        expected: u64,
        actual: usize,
    ) -> Result<(), OnnxError> {
        match actual as u64 == expected {
            true => Ok(()),
            false => Err(OnnxError::DataLength {
                name: self.name.into(),
                dtype: self.dtype,
                shape: self.shape.clone(),
                field,
                unit,
                expected,
                actual: actual as u64,
            }),
        }
    }
}

/// The field of a type's elements when they are not in `raw_data`.
fn typed_field(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float_data",
        DType::F64 => "double_data",
        DType::I64 => "int64_data",
        DType::U32 | DType::U64 => "uint64_data",
        DType::BF16
        | DType::F16
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::U8
        | DType::U16
        | DType::Bool => "int32_data",
    }
}

/// The data fields and the number of entries in each.
fn fields(proto: &TensorProto) -> [(&'static str, usize); 7] {
    [
        ("raw_data", proto.raw_data.as_ref().map_or(0, Vec::len)),
        ("float_data", proto.float_data.len()),
        ("int32_data", proto.int32_data.len()),
        ("string_data", proto.string_data.len()),
        ("int64_data", proto.int64_data.len()),
        ("double_data", proto.double_data.len()),
        ("uint64_data", proto.uint64_data.len()),
    ]
}

/// The element type of a code; `name` is the tensor's, for the error.
pub(super) fn dtype(name: &str, code: i32) -> Result<DType, OnnxError> {
    let mut types = DType::ALL.into_iter();
    let found = types.find(|t| i32::from(t.code()) == code);
    found.ok_or_else(|| OnnxError::ElementType {
        name: name.into(),
        code,
    })
}

pub(super) fn dimensions(name: &str, dims: &[i64]) -> Result<Vec<u64>, OnnxError> {
    let shape: Result<Vec<u64>, _> = dims.iter().map(|&d| u64::try_from(d)).collect();
    shape.map_err(|_| OnnxError::NegativeDimension {
        name: name.into(),
        dims: dims.to_vec(),
    })
}
