//! One call: host data in, host data out.
//!
//! ```sh
//! cargo run --example one_call
//! ```

use std::error::Error;

use wgreduce::{AdapterChoice, DType, Problem, Reducer};

fn main() -> Result<(), Box<dyn Error>> {
    let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    println!("device: {}", reducer.adapter_info().name);

    // Three rows; the second has a tie, the third a NaN, which is the extreme.
    let scores = [0.5, 9.0, 2.0, 7.0, 1.0, 7.0, 3.0, f32::NAN, f32::INFINITY];
    let problem = Problem::arg_max(DType::F32, &[3, 3], -1)?.keepdims(false);
    let winners: Vec<i64> = reducer.run_blocking(&problem, &scores)?;
    println!("{problem}: {winners:?}");
    let last: Vec<i64> = reducer.run_blocking(&problem.select_last_index(true), &scores)?;
    println!("ties to the last: {last:?}");

    match (&winners[..], &last[..]) {
        ([1, 0, 1], [1, 2, 1]) => Ok(()),
        other => Err(format!("wrong: {other:?}").into()),
    }
}
