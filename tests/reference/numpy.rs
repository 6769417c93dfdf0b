//! Compares with the ONNX reference implementation, which uses NumPy.

use half::{bf16, f16};
use std::collections::BTreeSet;
use support::golden;
use wgreduce::reference::{evaluate, first_difference};
use wgreduce::{DType, Element};

/// NumPy does not define the sign of a zero or the bits of a NaN: removes both.
fn blind(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    macro_rules! blind {
        ($t:ty) => {{
            let values = <$t>::from_bytes(bytes).into_iter();
            let values = values.map(|x| match x.is_nan() {
                true => <$t>::NAN,
                false if x == <$t>::default() => <$t>::default(),
                false => x,
            });
            <$t>::bytes(&values.collect::<Vec<_>>()).to_vec()
        }};
    }
    match dtype {
        DType::BF16 => blind!(bf16),
        DType::F16 => blind!(f16),
        DType::F32 => blind!(f32),
        DType::F64 => blind!(f64),
        _ => bytes.to_vec(),
    }
}

#[test]
fn agrees_with_the_onnx_reference_implementation() {
    let cases = golden::cases();
    let mut seen = BTreeSet::new();
    for case in &cases {
        let golden::Case {
            problem,
            inputs,
            output,
            expected,
        } = case;
        assert_eq!(problem.outputs().len(), 1, "{problem}");
        assert_eq!(&problem.outputs()[0], output, "{problem}");
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let actual = &evaluate(problem, &inputs).unwrap()[0];
        let difference = match problem.is_copy() {
            true => first_difference(output, expected, actual),
            false => {
                let [expected, actual] = [expected, actual].map(|b| blind(output.dtype, b));
                first_difference(output, &expected, &actual)
            }
        };
        assert_eq!(difference, None, "{problem}");
        seen.insert((problem.op(), problem.dtype()));
    }
    // All but ArgMin and ArgMax of bool, which NumPy has but ONNX does not.
    assert_eq!(seen.len(), 6 * 13 - 2);
    assert_eq!(cases.len(), 2820);
}
