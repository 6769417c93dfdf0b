//! The next token of eight sequences, from the logits that a language model left on the GPU: greedy, and greedy among
//! the allowed tokens. The tokens also stay on the GPU, for the next step.
//!
//! ```sh
//! cargo run --release --example sampling
//! ```

use std::error::Error;

use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{AdapterChoice, Buffers, DType, Element, IndexType, Problem, Reducer, reference};

const SEQUENCES: u64 = 8;
const VOCABULARY: u64 = 151_936;

/// Sets the logits of forbidden tokens to -inf, by one bit for each token, the same for all sequences.
const MASK: &str = "
@group(0) @binding(0) var<storage, read> allowed: array<u32>;
@group(0) @binding(1) var<storage, read> logits: array<u32>;
@group(0) @binding(2) var<storage, read_write> masked: array<u32>;

const VOCABULARY = 151936u;

@compute @workgroup_size(64)
fn mask(@builtin(global_invocation_id) id: vec3<u32>) {
    let token = id.x;
    if token < VOCABULARY {
        let at = id.y * VOCABULARY + token;
        let bit = allowed[token / 32u] >> (token % 32u) & 1u;
        masked[at] = select(0xff800000u, logits[at], bit == 1u);
    }
}
";

fn main() -> Result<(), Box<dyn Error>> {
    let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
    println!("device: {}", reducer.adapter_info().name);
    let (device, queue) = (reducer.device(), reducer.queue());
    let buffer = |size| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        })
    };
    let bytes = 4 * SEQUENCES * VOCABULARY;
    let (logits, masked) = (buffer(bytes), buffer(bytes));
    let [greedy, among] = [(); 2].map(|()| buffer(4 * SEQUENCES));
    let allowed = buffer(VOCABULARY.div_ceil(32) * 4);

    // In place of a model: logits, and a grammar that allows every third token.
    let data: Vec<f32> = (0..SEQUENCES * VOCABULARY).map(logit).collect();
    queue.write_buffer(&logits, 0, f32::bytes(&data));
    let bits = |word: u32| (0..32).filter(move |bit| (32 * word + bit).is_multiple_of(3));
    let words: Vec<u32> = (0..VOCABULARY.div_ceil(32) as u32)
        .map(|word| bits(word).map(|bit| 1 << bit).sum())
        .collect();
    queue.write_buffer(&allowed, 0, u32::bytes(&words));

    // One plan for both.
    let problem = Problem::arg_max(DType::F32, &[SEQUENCES, VOCABULARY], -1)?;
    let problem = problem.keepdims(false).index_type(IndexType::U32);
    let reduction = reducer.prepare_blocking(&problem)?;
    let bind = |from: &wgpu::Buffer, to: &wgpu::Buffer| {
        reduction.bind(Buffers {
            inputs: &[from.slice(..).into()],
            outputs: &[to.slice(..).into()],
            scratch: None,
        })
    };
    let (plain, restricted) = (bind(&logits, &greedy)?, bind(&masked, &among)?);
    let (pipeline, group) = mask(device, [&allowed, &logits, &masked]);

    // A step of decoding: one submit; only 64 bytes of 4.9 MB come back.
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        plain.record(&mut pass);
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(VOCABULARY.div_ceil(64) as u32, SEQUENCES as u32, 1);
        restricted.record(&mut pass);
    }
    let tokens = download(device, queue, encoder, [&greedy, &among])?;
    println!("greedy:  {:?}", tokens[0]);
    println!("allowed: {:?}", tokens[1]);

    let banned = |i: usize| !(i as u64 % VOCABULARY).is_multiple_of(3);
    let ban = |(i, &x): (usize, &f32)| if banned(i) { f32::NEG_INFINITY } else { x };
    let restricted: Vec<f32> = data.iter().enumerate().map(ban).collect();
    for (logits, tokens) in [(&data, &tokens[0]), (&restricted, &tokens[1])] {
        reference::verify(&problem, &[f32::bytes(logits)], &[u32::bytes(tokens)])?;
    }
    Ok(())
}

/// Noise, the same in every run.
fn logit(i: u64) -> f32 {
    let noise = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    noise as f32 / 1e6 - 8.0
}

fn mask(
    device: &wgpu::Device,
    buffers: [&wgpu::Buffer; 3],
) -> (wgpu::ComputePipeline, wgpu::BindGroup) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(MASK.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("mask"),
        compilation_options: Default::default(),
        cache: None,
    });
    let entry = |i: usize| wgpu::BindGroupEntry {
        binding: i as u32,
        resource: buffers[i].as_entire_binding(),
    };
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[0, 1, 2].map(entry),
    });
    (pipeline, group)
}

/// Submits the encoder, and brings the tokens to the host.
fn download(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    mut encoder: wgpu::CommandEncoder,
    buffers: [&wgpu::Buffer; 2],
) -> Result<[Vec<u32>; 2], Box<dyn Error>> {
    let size = buffers[0].size();
    let back = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 2 * size,
        usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    encoder.copy_buffer_to_buffer(buffers[0], 0, &back, 0, size);
    encoder.copy_buffer_to_buffer(buffers[1], 0, &back, size, size);
    encoder.map_buffer_on_submit(&back, wgpu::MapMode::Read, .., |_| ());
    queue.submit([encoder.finish()]);
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = back.slice(..).get_mapped_range()?;
    let (greedy, among) = view.split_at(size as usize);
    Ok([greedy, among].map(u32::from_bytes))
}
