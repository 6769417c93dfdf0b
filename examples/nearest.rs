//! The nearest points to each of some others: the smallest distances of each row in order, and which points they are of.
//! Of points as far away the one with the lower number comes first, on every adapter.
//!
//! ```sh
//! cargo run --release --example nearest
//! ```

use std::error::Error;

use wgreduce::{AdapterChoice, DType, Element, Problem, Reducer, reference};

const QUERIES: u64 = 4;
const POINTS: u64 = 20_000;
const NEAREST: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    println!("device: {}", reducer.adapter_info().name);

    // Points on a grid, so that many are as far away.
    let place = |i: u64| [i * 7919 % 613, i * 104_729 % 607].map(|x| x as f32);
    let distance = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let pairs = (0..QUERIES * POINTS).map(|i| (i / POINTS * 5000, i % POINTS));
    let distances: Vec<f32> = pairs.map(|(q, p)| distance(place(q), place(p))).collect();

    let problem = Problem::top_k(DType::F32, &[QUERIES, POINTS], 1, NEAREST)?.largest(false);
    let inputs = [f32::bytes(&distances)];
    let outputs = reducer.run_bytes_blocking(&problem, &inputs)?;
    reference::verify(&problem, &inputs, &outputs)?;

    let (nearest, points) = (f32::from_bytes(&outputs[0]), i64::from_bytes(&outputs[1]));
    let rows = nearest.chunks(NEAREST as usize);
    for (query, (row, points)) in (0..).zip(rows.zip(points.chunks(NEAREST as usize))) {
        let own = query * 5000;
        println!("nearest to point {own}: {points:?} at {row:.2?}");
        if points[0] != own || row[0] != 0.0 {
            return Err(format!("point {own} is not the nearest to itself").into());
        }
    }
    Ok(())
}
