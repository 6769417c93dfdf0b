//! The application's buffers, one encoder, and the result read back.
//!
//! ```sh
//! cargo run --example own_buffers
//! ```

use wgreduce::wgpu::{self, BufferUsages, MapMode, PollType};
use wgreduce::{AdapterChoice, Buffers, DType, Element, IndexType, Problem, Reducer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With a device and a queue of your own: `Reducer::new(&device, &queue)?`.
    let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    let (device, queue) = (reducer.device(), reducer.queue());

    // The library needs STORAGE; the other usages are for the copies to and from the host.
    let buffer = |size, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let scores = buffer(24, BufferUsages::STORAGE | BufferUsages::COPY_DST);
    let winners = buffer(8, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
    let readback = buffer(8, BufferUsages::COPY_DST | BufferUsages::MAP_READ);

    // Once: plan, compile and bind. The result is a u32 for each of two rows.
    let problem = Problem::arg_max(DType::F32, &[2, 3], 1)?.index_type(IndexType::U32);
    let inputs = [scores.slice(..).into()];
    let outputs = [winners.slice(..).into()];
    let buffers = Buffers::new(&inputs, &outputs);
    let bound = reducer.prepare_blocking(&problem)?.bind(buffers)?;

    // As often as you like: the encoder may hold commands of your own, too. Recording cannot fail.
    let data = [0.1f32, 2.5, 2.5, f32::NAN, 7.0, 1.0];
    queue.write_buffer(&scores, 0, f32::bytes(&data));
    let mut encoder = device.create_command_encoder(&Default::default());
    bound.encode(&mut encoder);
    encoder.copy_buffer_to_buffer(&winners, 0, &readback, 0, 8);
    encoder.map_buffer_on_submit(&readback, MapMode::Read, .., |_| ());
    queue.submit([encoder.finish()]);

    device.poll(PollType::wait_indefinitely())?;
    let found = u32::from_bytes(&readback.slice(..).get_mapped_range()?);
    println!("{problem}: {found:?}");
    assert_eq!(found, [1, 0]); // of equal scores the first; a NaN wins
    Ok(())
}
