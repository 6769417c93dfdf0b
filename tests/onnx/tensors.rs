//! Reading and writing `TensorProto`.

use crate::support::*;
use prost::Message;
use wgreduce::DType::{self, *};
use wgreduce::onnx::Tensor;
use wgreduce::onnx::proto::{TensorProto, Unread};

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
            let typed = typed_proto(&tensor, "t").encode_to_vec();
            for bytes in [tensor.encode("t"), typed] {
                assert_eq!(Tensor::decode(&bytes).as_ref(), Ok(&tensor), "{dtype}");
            }
        }
    }
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
    for proto in [tensor.to_proto(""), typed_proto(&tensor, "")] {
        assert_eq!(Tensor::decode(&proto.encode_to_vec()).unwrap(), tensor);
    }
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

fn refused(proto: TensorProto) -> String {
    told(Tensor::decode(&proto.encode_to_vec()))
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
            let expected = format!("\"t\" has element 1 = {value}, which {dtype} cannot hold");
            assert_eq!(refused(proto(value)), expected);
        }
    }
}

#[test]
fn data_that_is_not_where_it_should_be_is_refused() {
    let protos = [
        TensorProto {
            uint64_data: vec![1 << 32],
            ..empty(U32, &[1])
        },
        TensorProto {
            float_data: vec![0.0],
            ..empty(F64, &[1])
        },
        TensorProto {
            raw_data: Some(vec![0; 8]),
            double_data: vec![0.0],
            ..empty(F64, &[1])
        },
        TensorProto {
            string_data: vec![vec![1]],
            ..empty(U8, &[1])
        },
        TensorProto {
            data_location: 1,
            raw_data: Some(vec![0]),
            ..empty(U8, &[1])
        },
        TensorProto {
            external_data: vec![Unread {}],
            ..empty(U8, &[1])
        },
        TensorProto {
            segment: Some(Unread {}),
            ..empty(U8, &[0])
        },
        empty(F32, &[2, -1]),
    ];
    let text = r#"
        "t" has element 0 = 4294967296, which uint32 cannot hold
        "t" has data in float_data, where double has none
        "t" has data in raw_data and in double_data, where only one of them may have any
        "t" has data in string_data, where uint8 has none
        "t" has its data outside the file, which is not supported
        "t" has its data outside the file, which is not supported
        "t" is a segment of a tensor, which is not supported
        "t" has a negative dimension: [2, -1]
    "#;
    assert_told(protos.map(refused), text);
}

#[test]
fn data_of_the_wrong_length_is_refused_with_both_lengths() {
    for dtype in DType::ALL {
        let right = 6 * dtype.size();
        for actual in [0, 1, right - 1, right + 1, 2 * right] {
            let text = refused(TensorProto {
                raw_data: Some(vec![0; actual as usize]),
                ..empty(dtype, &[2, 3])
            });
            // Without any raw data, the typed field is too short instead.
            let (unit, expected) = match actual {
                0 => ("elements", 6),
                _ => ("bytes", right),
            };
            let name = dtype.onnx_name();
            let start = format!("\"t\" has {actual} {unit} in ");
            let end = format!(" where {name} of shape [2, 3] takes {expected}");
            assert!(text.starts_with(&start) && text.ends_with(&end), "{text}");
        }
        let mut short = typed_proto(&pattern(dtype, &[6]), "t");
        short.dims = vec![7];
        let text = refused(short);
        assert!(text.starts_with("\"t\" has 6 elements in "), "{text}");
        assert!(text.ends_with(" of shape [7] takes 7"), "{text}");
    }
    let text = told(Tensor::new(F32, &[2], vec![0; 7]));
    assert!(text.contains(" has 7 bytes in "), "{text}");
    assert!(text.ends_with(" float of shape [2] takes 8"), "{text}");
}

#[test]
fn foreign_types_are_refused_by_code() {
    for code in (-1..40).filter(|c| CODES.iter().all(|k| k.1 != *c)) {
        let proto = TensorProto {
            data_type: code,
            ..empty(F32, &[0])
        };
        let text = refused(proto);
        let start = match code {
            8 => "\"t\" has element type 8 (string), ".into(),
            code => format!("\"t\" has element type {code} ("),
        };
        assert!(text.starts_with(&start), "{text}");
        assert!(text.ends_with("not supported"), "{text}");
    }
}

#[test]
fn impossible_dimensions_are_refused_before_anything_is_allocated() {
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
        let told = format!("\"t\" of shape {dims:?} has more than 2^63 - 1 bytes");
        assert_eq!(refused(proto), told);
    }
    // Tensors of these shapes could exist, but the file does not have the bytes.
    for (dtype, dims) in [(U8, &[i64::MAX][..]), (F32, &[1 << 30, 1 << 30])] {
        let proto = TensorProto {
            raw_data: Some(vec![0; 4]),
            ..empty(dtype, dims)
        };
        for (proto, start) in [
            (proto, "\"t\" has 4 bytes in raw_data where "),
            (empty(dtype, dims), "\"t\" has 0 elements in "),
        ] {
            let text = refused(proto);
            assert!(text.starts_with(start), "{text}");
        }
    }
    let nothing = Tensor::decode(&empty(F64, &[i64::MAX, 0, i64::MAX]).encode_to_vec()).unwrap();
    assert!(nothing.bytes().is_empty());
    let text = told(Tensor::new(U8, &[0, u64::MAX], vec![]));
    assert!(text.ends_with("] has more than 2^63 - 1 bytes"), "{text}");
}
