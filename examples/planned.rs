//! Planned once, run often: the darkest pixel of every frame of a film, and where it is.
//!
//! ```sh
//! cargo run --release --example planned
//! ```

use std::error::Error;
use std::time::Instant;

use wgreduce::{AdapterChoice, DType, Problem, Reducer, reference};

const HEIGHT: u64 = 480;
const WIDTH: u64 = 640;

fn main() -> Result<(), Box<dyn Error>> {
    let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    let pixels = HEIGHT * WIDTH;
    // One reduction gives both index and value.
    let problem = Problem::arg_min(DType::U16, &[pixels], 0)?.with_values(true);
    let reduction = reducer.prepare_blocking(&problem)?;
    println!("device: {}", reducer.adapter_info().name);
    println!("{}", reduction.plan());

    for n in 0..5 {
        let frame = frame(n);
        let frame: &[u8] = bytemuck::cast_slice(&frame);
        let start = Instant::now();
        let outputs = pollster::block_on(reduction.run_bytes(&[frame]))?;
        let took = start.elapsed();
        reference::verify(&problem, &[frame], &outputs)?;
        let place = i64::from_le_bytes(outputs[0][..].try_into()?) as u64;
        let value = u16::from_le_bytes(outputs[1][..].try_into()?);
        let (row, column) = (place / WIDTH, place % WIDTH);
        println!("frame {n}: {value} at row {row}, column {column}, {took:?}");
    }
    Ok(())
}

/// Noise, the same in every run.
fn frame(n: u64) -> Vec<u16> {
    let pixel = |i: u64| ((n << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u16;
    (0..HEIGHT * WIDTH).map(pixel).collect()
}
