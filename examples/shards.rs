//! One tensor over two devices: each reduces its rows to a partial result, and the two are merged. The second partial
//! result comes through a pipe, as it would from another process or machine.
//!
//! ```sh
//! cargo run --example shards
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::ops::Range;
use std::thread;

use wgreduce::{
    AdapterChoice, DType, Element, Partial, Problem, Reducer, adapters_blocking, reference,
};

const SHAPE: [u64; 2] = [3000, 500];
/// Bytes that each device may use for its data.
const MEMORY: u64 = 64 << 20;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let data: Vec<f32> = (0..SHAPE[0] * SHAPE[1]).map(score).collect();
    let whole = Problem::arg_max(DType::F32, &SHAPE, 0)?.keepdims(false);
    println!("{whole}, rows 0 to 1700 and 1700 to 3000");

    let adapters = adapters_blocking()?;
    let count = adapters.iter().filter(|a| a.refusal().is_none()).count();
    let (mut from, mut to) = std::io::pipe()?;
    let merged = thread::scope(|scope| -> Result<Partial, Box<dyn Error + Send + Sync>> {
        let data = &data;
        let other = scope.spawn(move || -> Result<(), Box<dyn Error + Send + Sync>> {
            // Another adapter, or the same one again.
            let bytes = part(1 % count.max(1), data, 1700..SHAPE[0])?.to_bytes();
            to.write_all(&bytes)?;
            println!("sent {} bytes", bytes.len());
            Ok(())
        });
        let mut merged = part(0, data, 0..1700)?;
        // Ends when the other thread closes its side, even if that thread failed.
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        other
            .join()
            .map_err(|_| "the other device's thread ended early")??;
        // `from_bytes` checks bytes from elsewhere.
        merged.merge(&Partial::from_bytes(&bytes)?)?;
        Ok(merged)
    })?;

    let outputs = merged.finish()?;
    assert_eq!(outputs, reference::evaluate(&whole, &[f32::bytes(&data)])?);
    println!("merged: {:?} ...", &i64::from_bytes(&outputs[0])[..8]);
    println!("equal to the CPU reference over all rows, byte for byte");
    Ok(())
}

/// The best element of each column over some rows, found by one device.
fn part(
    adapter: usize,
    data: &[f32],
    rows: Range<u64>,
) -> Result<Partial, Box<dyn Error + Send + Sync>> {
    let reducer = Reducer::open_blocking(&AdapterChoice::Index(adapter))?;
    let problem = Problem::arg_max(DType::F32, &[rows.end - rows.start, SHAPE[1]], 0)?;
    let problem = problem.keepdims(false);
    let own = &data[(rows.start * SHAPE[1]) as usize..(rows.end * SHAPE[1]) as usize];
    let shard = reducer.shard_blocking(&problem, MEMORY)?;
    // Indices count from the start of the whole tensor.
    let partial = shard.run_bytes_blocking(rows.start, f32::bytes(own))?;
    println!("rows {rows:?} on {}", reducer.adapter_info().name);
    Ok(partial)
}

/// Scores with many ties.
fn score(i: u64) -> f32 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as f32
}
