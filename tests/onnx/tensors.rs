//! Reading and writing `TensorProto`.

use crate::support::*;
use prost::Message;
use wgreduce::DType::{self, *};
use wgreduce::onnx::proto::{TensorProto, Unread};
use wgreduce::onnx::{OnnxError, Tensor};

/// Bytes that count up, so that a wrong byte order shows.
fn pattern(dtype: DType, shape: &[u64]) -> Tensor {
    let bytes = shape.iter().product::<u64>() * dtype.size();
    let limit = if dtype == Bool { 2 } else { 251 };
    let bytes = (0..bytes).map(|i| (i % limit) as u8).collect();
    Tensor::new(dtype, shape, bytes).unwrap()
}

#[test]
fn every_type_is_read_from_raw_data_and_from_its_own_field() {
    for dtype in DType::ALL {
        for shape in [&[][..], &[5], &[0], &[3, 0, 2], &[2, 3, 7]] {
            let tensor = pattern(dtype, shape);
            assert_eq!(tensor.to_proto("t").data_type, code(dtype));
            assert_eq!(
                Tensor::decode(&tensor.encode("t")).as_ref(),
                Ok(&tensor),
                "{dtype} raw"
            );
            let typed = typed_proto(&tensor, "t").encode_to_vec();
            assert_eq!(
                Tensor::decode(&typed).as_ref(),
                Ok(&tensor),
                "{dtype} typed"
            );
        }
    }
}

#[test]
fn what_is_written_has_the_name_the_shape_and_raw_data() {
    let proto = TensorProto::decode(&tensor(&[1, 2], &[1i16, -2]).encode("y")[..]).unwrap();
    let expected = TensorProto {
        dims: vec![1, 2],
        data_type: 5,
        name: "y".into(),
        raw_data: Some(vec![1, 0, 0xfe, 0xff]),
        ..Default::default()
    };
    assert_eq!(proto, expected);
}

#[test]
fn the_bytes_written_are_the_standards() {
    // Fields in order: dims 1 (unpacked), data_type 2, name 8, raw_data 9.
    let bytes = [
        0x08, 1, 0x08, 2, 0x10, 5, 0x42, 1, b'y', 0x4a, 4, 1, 0, 0xfe, 0xff,
    ];
    assert_eq!(tensor(&[1, 2], &[1i16, -2]).encode("y"), bytes);
}

#[test]
fn nan_payloads_and_signs_survive_both_ways_in() {
    let bits = [0x7fc0_1234u32, 0xffff_ffff, 0x7f80_0001, 0x8000_0000, 1];
    let tensor = tensor(&[5], &bits.map(f32::from_bits));
    assert_eq!(
        Tensor::decode(&typed_proto(&tensor, "").encode_to_vec()).unwrap(),
        tensor
    );
}

#[test]
fn a_true_bool_is_any_number_but_zero() {
    let proto = TensorProto {
        int32_data: vec![0, 1, 256, -1],
        ..empty(Bool, &[4])
    };
    assert_eq!(Tensor::from_proto(proto).unwrap().bytes(), [0, 1, 1, 1]);
}

fn empty(dtype: DType, dims: &[i64]) -> TensorProto {
    TensorProto {
        dims: dims.to_vec(),
        data_type: code(dtype),
        name: "t".into(),
        ..Default::default()
    }
}

fn refused(proto: TensorProto) -> OnnxError {
    Tensor::decode(&proto.encode_to_vec()).unwrap_err()
}

#[test]
fn numbers_that_a_narrow_type_cannot_hold_are_refused() {
    for (dtype, low, high) in [
        (I8, -128, 127),
        (U8, 0, 255),
        (I16, -32768, 32767),
        (U16, 0, 65535),
        (F16, 0, 65535),
        (BF16, 0, 65535),
    ] {
        let proto = |value| TensorProto {
            int32_data: vec![0, value],
            ..empty(dtype, &[2])
        };
        assert!(Tensor::from_proto(proto(low)).is_ok() && Tensor::from_proto(proto(high)).is_ok());
        for value in [low - 1, high + 1, i32::MIN, i32::MAX] {
            let (name, index, value) = ("t".to_string(), 1, i128::from(value));
            let expected = OnnxError::ValueRange {
                name,
                dtype,
                index,
                value,
            };
            assert_eq!(refused(proto(value as i32)), expected);
        }
    }
    let proto = TensorProto {
        uint64_data: vec![1 << 32],
        ..empty(U32, &[1])
    };
    let (name, index, value) = ("t".to_string(), 0, 1i128 << 32);
    assert_eq!(
        refused(proto),
        OnnxError::ValueRange {
            name,
            dtype: U32,
            index,
            value
        }
    );
}

#[test]
fn data_of_the_wrong_length_is_refused_with_both_lengths() {
    for dtype in DType::ALL {
        let right = 6 * dtype.size();
        for actual in [0, 1, right - 1, right + 1, 2 * right] {
            let raw_data = Some(vec![0; actual as usize]);
            let error = refused(TensorProto {
                raw_data,
                ..empty(dtype, &[2, 3])
            });
            // Without any raw data, the typed field is too short instead.
            let (unit, expected) = if actual == 0 {
                ("elements", 6)
            } else {
                ("bytes", right)
            };
            match error {
                OnnxError::DataLength {
                    name,
                    dtype: t,
                    shape,
                    unit: u,
                    expected: e,
                    actual: a,
                    ..
                } => {
                    assert_eq!((&*name, t, &*shape), ("t", dtype, &[2, 3][..]));
                    assert_eq!((u, e, a), (unit, expected, actual));
                }
                other => panic!("{other:?}"),
            }
        }
        let mut short = typed_proto(&pattern(dtype, &[6]), "t");
        short.dims = vec![7];
        assert!(matches!(
            refused(short),
            OnnxError::DataLength {
                expected: 7,
                actual: 6,
                ..
            }
        ));
    }
    let error = Tensor::new(F32, &[2], vec![0; 7]).unwrap_err();
    assert!(matches!(
        error,
        OnnxError::DataLength {
            expected: 8,
            actual: 7,
            ..
        }
    ));
}

#[test]
fn data_in_a_foreign_field_or_in_two_is_refused() {
    let name = || "t".to_string();
    let foreign = TensorProto {
        float_data: vec![0.0],
        ..empty(F64, &[1])
    };
    assert_eq!(
        refused(foreign),
        OnnxError::DataField {
            name: name(),
            dtype: F64,
            field: "float_data"
        }
    );
    let both = TensorProto {
        raw_data: Some(vec![0; 8]),
        double_data: vec![0.0],
        ..empty(F64, &[1])
    };
    let refusal = refused(both);
    let text = "\"t\" has data in raw_data and in double_data, where only one of them may have any";
    assert_eq!(refusal.to_string(), text);
    let field = "double_data";
    assert_eq!(
        refusal,
        OnnxError::TwoDataFields {
            name: name(),
            field
        }
    );
    let text = TensorProto {
        string_data: vec![vec![1]],
        ..empty(U8, &[1])
    };
    assert_eq!(
        refused(text),
        OnnxError::DataField {
            name: name(),
            dtype: U8,
            field: "string_data"
        }
    );
}

#[test]
fn foreign_types_are_refused_by_code() {
    for code in (-1..40).filter(|c| CODES.iter().all(|k| k.1 != *c)) {
        let proto = TensorProto {
            data_type: code,
            ..empty(F32, &[0])
        };
        assert_eq!(
            refused(proto),
            OnnxError::ElementType {
                name: "t".into(),
                code
            }
        );
    }
    let text = OnnxError::ElementType {
        name: "t".into(),
        code: 8,
    }
    .to_string();
    assert!(text.contains("8 (string)"), "{text}");
}

#[test]
fn data_outside_the_file_and_parts_of_tensors_are_refused() {
    let name = "t".to_string();
    let located = TensorProto {
        data_location: 1,
        raw_data: Some(vec![0]),
        ..empty(U8, &[1])
    };
    assert_eq!(
        refused(located),
        OnnxError::ExternalData { name: name.clone() }
    );
    let mut pointing = empty(U8, &[1]);
    pointing.external_data.push(Unread {});
    assert_eq!(
        refused(pointing),
        OnnxError::ExternalData { name: name.clone() }
    );
    let part = TensorProto {
        segment: Some(Unread {}),
        ..empty(U8, &[0])
    };
    assert_eq!(refused(part), OnnxError::Segment { name });
}

#[test]
fn impossible_dimensions_are_refused_before_anything_is_allocated() {
    let dims = vec![2, -1];
    let expected = OnnxError::NegativeDimension {
        name: "t".into(),
        dims: dims.clone(),
    };
    assert_eq!(refused(empty(F32, &dims)), expected);
    for dims in [
        &[i64::MAX][..],
        &[1 << 61],
        &[1 << 31, 1 << 31],
        &[1 << 62, 1 << 62, 4],
    ] {
        let proto = TensorProto {
            raw_data: Some(vec![0; 4]),
            ..empty(F32, dims)
        };
        let shape = dims.iter().map(|&d| d as u64).collect();
        assert_eq!(
            refused(proto),
            OnnxError::TooLarge {
                name: "t".into(),
                shape
            }
        );
    }
    // Tensors of these shapes could exist, but the file does not have the bytes.
    for (dtype, dims) in [(U8, &[i64::MAX][..]), (F32, &[1 << 30, 1 << 30])] {
        let proto = TensorProto {
            raw_data: Some(vec![0; 4]),
            ..empty(dtype, dims)
        };
        assert!(matches!(
            refused(proto),
            OnnxError::DataLength { actual: 4, .. }
        ));
        assert!(matches!(
            refused(empty(dtype, dims)),
            OnnxError::DataLength { actual: 0, .. }
        ));
    }
    let nothing = Tensor::decode(&empty(F64, &[i64::MAX, 0, i64::MAX]).encode_to_vec()).unwrap();
    assert!(nothing.bytes().is_empty());
    assert!(matches!(
        Tensor::new(U8, &[0, u64::MAX], vec![]),
        Err(OnnxError::TooLarge { .. })
    ));
}
