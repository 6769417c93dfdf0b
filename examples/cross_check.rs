//! The CPU reference as a judge: does another implementation give the results that ONNX asks for, and if not, where is
//! the first wrong one? Needs no adapter.
//!
//! ```sh
//! cargo run --example cross_check
//! ```

use std::error::Error;

use wgreduce::reference::{VerifyError, verify};
use wgreduce::{DType, Element, Problem};

const SHAPE: [u64; 2] = [4, 5];

fn main() -> Result<(), Box<dyn Error>> {
    let data = [
        [3.0, 1.0, 4.0, 1.0, 5.0],
        [9.0, 2.0, 6.0, 9.0, 3.0],
        [7.0, f32::NAN, 8.0, 2.0, 8.0],
        [f32::NEG_INFINITY; 5],
    ];
    let problem = Problem::arg_max(DType::F32, &SHAPE, 1)?;

    println!("{problem}, by two implementations");
    let careful = judge(&problem, &data, careful);
    println!("careful:   {}", verdict(&careful));
    let seeded = judge(&problem, &data, seeded);
    println!("seeded:    {}", verdict(&seeded));

    // The first wrong row is the one with a NaN, which is the extreme.
    match (careful, seeded) {
        (Ok(()), Err(VerifyError::Different { difference, .. }))
            if difference.index == Some(vec![2, 0]) =>
        {
            Ok(())
        }
        other => Err(format!("judged wrongly: {other:?}").into()),
    }
}

/// Compares the winners of all rows with the reference's.
fn judge(
    problem: &Problem,
    data: &[[f32; 5]],
    arg_max: fn(&[f32]) -> i64,
) -> Result<(), VerifyError> {
    let winners: Vec<i64> = data.iter().map(|row| arg_max(row)).collect();
    let input = f32::bytes(data.as_flattened());
    verify(problem, &[input], &[i64::bytes(&winners)])
}

fn verdict(result: &Result<(), VerifyError>) -> String {
    match result {
        Ok(()) => "right".into(),
        Err(difference) => format!("wrong: {difference}"),
    }
}

/// Begins with the first element; a NaN beats every number.
fn careful(row: &[f32]) -> i64 {
    let mut best = 0;
    for (i, x) in row.iter().enumerate() {
        let b = row[best];
        if *x > b || x.is_nan() && !b.is_nan() {
            best = i;
        }
    }
    best as i64
}

/// The usual mistake: a first value that must be beaten, and comparisons that a NaN never wins.
fn seeded(row: &[f32]) -> i64 {
    let (mut best, mut winner) = (f32::MIN, -1);
    for (i, &x) in row.iter().enumerate() {
        if x > best {
            (best, winner) = (x, i as i64);
        }
    }
    winner
}
