//! The comparator must find every planted difference.

use super::to_bytes;
use wgreduce::reference::{VerifyError, evaluate, first_difference, verify};
use wgreduce::{DType, Element, Output, Problem, ProblemError};

fn output(dtype: DType, shape: &[u64]) -> Output {
    let shape = shape.to_vec();
    Output::new(dtype, shape)
}

#[test]
fn a_planted_difference_is_found_wherever_it_is() {
    for dtype in DType::ALL {
        let output = output(dtype, &[2, 3, 4]);
        let size = dtype.size() as usize;
        let expected = vec![1; 24 * size];
        assert_eq!(first_difference(&output, &expected, &expected), None);
        for byte in 0..expected.len() {
            let mut actual = expected.clone();
            actual[byte] ^= 0x80;
            let at = byte / size;
            let index = [at / 12, at / 4 % 3, at % 4].map(|c| c as u64).to_vec();
            let difference = first_difference(&output, &expected, &actual).unwrap();
            assert_eq!(difference.index, Some(index), "{dtype} byte {byte}");
            assert_ne!(difference.expected, difference.actual);
        }
    }
}

#[test]
fn the_first_of_several_differences_is_shown_as_values_and_bits() {
    let output = output(DType::F32, &[2, 2]);
    let expected = to_bytes(DType::F32, &[0, 0x3fc0_0000, 0x7fc0_0000, 0]);
    let actual = to_bytes(DType::F32, &[0, 0xbfc0_0000, 0x7fc0_0001, 1]);
    let difference = first_difference(&output, &expected, &actual).unwrap();
    let text = "at [0, 1]: expected 1.5 (0x3fc00000), got -1.5 (0xbfc00000)";
    assert_eq!(difference.to_string(), text);
}

#[test]
fn equal_values_of_other_bits_differ() {
    for (dtype, expected, actual, shown) in [
        (
            DType::F64,
            0,
            1 << 63,
            ["0.0 (0x0000000000000000)", "-0.0 (0x8000000000000000)"],
        ),
        (DType::F16, 0x7e00, 0xfe01, ["NaN (0x7e00)", "NaN (0xfe01)"]),
        (
            DType::BF16,
            0x3f80,
            0x3f81,
            ["1.0 (0x3f80)", "1.0078125 (0x3f81)"],
        ),
        (DType::Bool, 1, 7, ["true (0x01)", "true (0x07)"]),
        (DType::I8, 0xff, 0x7f, ["-1 (0xff)", "127 (0x7f)"]),
    ] {
        let [expected, actual] = [expected, actual].map(|bits| to_bytes(dtype, &[bits]));
        let difference = first_difference(&output(dtype, &[]), &expected, &actual);
        let difference = difference.unwrap();
        assert_eq!(difference.index, Some(vec![]));
        assert_eq!([difference.expected, difference.actual], shown);
    }
}

#[test]
fn a_wrong_length_on_either_side_is_a_difference() {
    let output = output(DType::U16, &[3]);
    let [six, four, none] = [&[0; 6][..], &[0; 4], &[]];
    assert_eq!(first_difference(&output, six, six), None);
    for (expected, actual) in [(six, four), (four, six), (four, four)] {
        let difference = first_difference(&output, expected, actual).unwrap();
        assert_eq!(difference.to_string(), "expected 6 bytes, got 4 bytes");
    }
    let difference = first_difference(&output, none, none).unwrap();
    assert_eq!(difference.to_string(), "expected 6 bytes, got 0 bytes");
}

#[test]
fn outputs_are_verified_to_the_bit_with_the_output_and_the_place_that_differ() {
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).map(|p| p.with_values(true));
    let problem = problem.unwrap();
    let input = f32::bytes(&[3.0, -0.0, 0.0, 5.0, 4.0, 5.0]);
    let right = evaluate(&problem, &[input]).unwrap();
    assert_eq!(verify(&problem, &[input], &right), Ok(()));
    for (output, bytes) in right.iter().enumerate() {
        for bit in 0..8 * bytes.len() {
            let mut wrong = right.clone();
            wrong[output][bit / 8] ^= 1 << (bit % 8);
            let element = bytes.len() as u64 / 2;
            let found = match verify(&problem, &[input], &wrong) {
                Err(VerifyError::Different { output, difference }) => (output, difference.index),
                other => panic!("{other:?}"),
            };
            let row = bit as u64 / 8 / element;
            assert_eq!(found, (output, Some(vec![row, 0])), "bit {bit}");
        }
    }
    let wrong = [i64::bytes(&[1, 1]), f32::bytes(&[0.0, 4.0])];
    let wrong = verify(&problem, &[input], &wrong).unwrap_err().to_string();
    let text = "output 1 at [0, 0]: expected -0.0 (0x80000000), got 0.0 (0x00000000)";
    assert_eq!(wrong, text);
}

#[test]
fn what_cannot_be_verified_is_no_success() {
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).unwrap();
    let input = f32::bytes(&[0.0; 6]);
    let right = evaluate(&problem, &[input]).unwrap();
    let count = |actual| VerifyError::OutputCount {
        expected: 1,
        actual,
    };
    let none: &[&[u8]] = &[];
    assert_eq!(verify(&problem, &[input], none), Err(count(0)));
    let two = [&right[0], &right[0]];
    assert_eq!(verify(&problem, &[input], &two), Err(count(2)));
    match verify(&problem, &[&input[..20]], &right) {
        Err(VerifyError::Problem(ProblemError::InputBytes { actual, .. })) => {
            assert_eq!(actual, 20);
        }
        other => panic!("{other:?}"),
    }
    let short = verify(&problem, &[input], &[&right[0][..8]]).unwrap_err();
    let text = "output 0: expected 16 bytes, got 8 bytes";
    assert_eq!(short.to_string(), text);
}
