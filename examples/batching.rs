//! A thousand small reductions, each of its own tensor, in one compute pass and one submit; and as a thousand runs, to
//! compare the times.
//!
//! ```sh
//! cargo run --release --example batching
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{
    AdapterChoice, BoundReduction, Buffers, DType, Element, Problem, Reducer, reference,
};

const BATCH: u64 = 1000;
const SHAPE: [u64; 2] = [64, 100];
/// Bytes of a tensor, and of its result.
const INPUT: u64 = 4 * 64 * 100;
const OUTPUT: u64 = 8 * 64;

fn main() -> Result<(), Box<dyn Error>> {
    let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    let problem = Problem::arg_max(DType::F32, &SHAPE, 1)?.keepdims(false);
    let data: Vec<f32> = (0..BATCH * 64 * 100).map(score).collect();
    println!("device: {}", reducer.adapter_info().name);
    println!("{BATCH} times {problem}");

    let batch = Batch::new(&reducer, &problem, &data)?;
    // One round to warm up; then the three ways take turns.
    let (mut one_pass, mut encoders, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..6 {
        let times = [batch.one_pass()?, batch.encoders()?, batch.runs(&data)?];
        if round > 0 {
            [&mut one_pass, &mut encoders, &mut runs]
                .into_iter()
                .zip(times)
                .for_each(|(all, time)| all.push(time));
        }
    }
    let one_pass = median(one_pass);
    println!("one pass, one submit:      {one_pass:7.1} ms");
    for (name, time) in [
        ("a submit each, one wait:  ", median(encoders)),
        ("a run each from host data:", median(runs)),
    ] {
        let ratio = time / one_pass;
        println!("{name} {time:7.1} ms, {ratio:.1} times as long");
    }
    Ok(())
}

/// The tensors lie side by side in one buffer, the results in another.
struct Batch<'a> {
    reducer: &'a Reducer,
    reduction: wgreduce::Reduction,
    outputs: wgpu::Buffer,
    back: wgpu::Buffer,
    bound: Vec<BoundReduction>,
    expected: Vec<u8>,
}

impl<'a> Batch<'a> {
    fn new(
        reducer: &'a Reducer,
        problem: &Problem,
        data: &[f32],
    ) -> Result<Batch<'a>, Box<dyn Error>> {
        let buffer = |size, usage| {
            reducer.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: usage | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let inputs = buffer(BATCH * INPUT, BufferUsages::STORAGE);
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let outputs = buffer(BATCH * OUTPUT, storage);
        reducer.queue().write_buffer(&inputs, 0, f32::bytes(data));
        let reduction = reducer.prepare_blocking(problem)?;
        let bind = |i: u64| {
            reduction.bind(Buffers {
                inputs: &[inputs.slice(i * INPUT..(i + 1) * INPUT).into()],
                outputs: &[outputs.slice(i * OUTPUT..(i + 1) * OUTPUT).into()],
                scratch: None,
            })
        };
        let bound = (0..BATCH).map(bind).collect::<Result<_, _>>()?;
        let expected = f32::bytes(data).chunks(INPUT as usize);
        let expected =
            expected.map(|tensor| Ok(reference::evaluate(problem, &[tensor])?.remove(0)));
        let expected: Vec<Vec<u8>> = expected.collect::<Result<_, Box<dyn Error>>>()?;
        Ok(Batch {
            bound,
            back: buffer(BATCH * OUTPUT, BufferUsages::MAP_READ),
            expected: expected.concat(),
            reducer,
            reduction,
            outputs,
        })
    }

    fn one_pass(&self) -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        let mut encoder = self.encoder();
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.bound.iter().for_each(|bound| bound.record(&mut pass));
        }
        self.finish(encoder, start)
    }

    fn encoders(&self) -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        for bound in &self.bound {
            let mut encoder = self.encoder();
            bound.encode(&mut encoder);
            self.reducer.queue().submit([encoder.finish()]);
        }
        self.finish(self.encoder(), start)
    }

    fn runs(&self, data: &[f32]) -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        let mut actual = Vec::new();
        for tensor in data.chunks(INPUT as usize / 4) {
            let winners: Vec<i64> = self.reduction.run_blocking(tensor)?;
            actual.extend_from_slice(i64::bytes(&winners));
        }
        let took = start.elapsed();
        self.check(&actual).map(|()| took)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        let device = self.reducer.device();
        device.create_command_encoder(&Default::default())
    }

    /// Submits the last encoder, and checks all results when they arrive.
    fn finish(
        &self,
        mut encoder: wgpu::CommandEncoder,
        start: Instant,
    ) -> Result<Duration, Box<dyn Error>> {
        let back = &self.back;
        encoder.copy_buffer_to_buffer(&self.outputs, 0, back, 0, back.size());
        encoder.clear_buffer(&self.outputs, 0, None);
        encoder.map_buffer_on_submit(back, wgpu::MapMode::Read, .., |_| ());
        self.reducer.queue().submit([encoder.finish()]);
        let device = self.reducer.device();
        device.poll(wgpu::PollType::wait_indefinitely())?;
        let took = start.elapsed();
        let actual = back.slice(..).get_mapped_range()?.to_vec();
        back.unmap();
        self.check(&actual).map(|()| took)
    }

    fn check(&self, actual: &[u8]) -> Result<(), Box<dyn Error>> {
        match actual == self.expected {
            true => Ok(()),
            false => Err("a result is wrong".into()),
        }
    }
}

/// Noise, the same in every run.
fn score(i: u64) -> f32 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32
}

/// The median in milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    1e3 * times[times.len() / 2].as_secs_f64()
}
