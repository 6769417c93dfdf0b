//! A reduction inside an application's frame, with its device, its buffers and its encoder. A shader of the application
//! makes scores, the reduction finds the best of each row, and another shader uses the winners, all in one submit:
//! nothing comes back to the host in between.
//!
//! ```sh
//! cargo run --example own_encoder
//! ```

use std::error::Error;

use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{Buffers, DType, IndexType, Problem, Reducer};

const ROWS: u32 = 300;
const COLUMNS: u32 = 1000;

const SHADERS: &str = "
@group(0) @binding(0) var<storage, read_write> scores: array<i32>;
@group(0) @binding(1) var<storage, read_write> winners: array<u32>;
@group(0) @binding(2) var<storage, read_write> answer: array<u32>;

@compute @workgroup_size(64)
fn score(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < 300u {
        // Highest where the column is 7 times the row, modulo 1000.
        for (var c = 0u; c < 1000u; c++) {
            scores[id.x * 1000u + c] = -abs(i32(c) - i32(id.x * 7u % 1000u));
        }
    }
}

@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < 300u { answer[id.x] = 2u * winners[id.x]; }
}
";

fn main() -> Result<(), Box<dyn Error>> {
    // An application has a device, a queue, buffers and pipelines.
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    // Some of Mesa's software drivers crash a process that unloads them.
    let instance = Box::leak(Box::new(instance));
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
    println!("device: {}", adapter.get_info().name);
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default()))?;
    let buffer = |words: u32, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * u64::from(words),
            usage: usage | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    };
    let scores = buffer(ROWS * COLUMNS, BufferUsages::STORAGE);
    let winners = buffer(ROWS, BufferUsages::STORAGE);
    let answer = buffer(ROWS, BufferUsages::STORAGE);
    let shaders = Shaders::new(&device, [&scores, &winners, &answer]);

    // Done once: the problem, and the buffers it is bound to.
    let shape = [u64::from(ROWS), u64::from(COLUMNS)];
    let problem = Problem::arg_max(DType::I32, &shape, 1)?.index_type(IndexType::U32);
    let reducer = Reducer::new(&device, &queue)?;
    let bound = reducer.prepare_blocking(&problem)?.bind(Buffers {
        inputs: &[scores.slice(..).into()],
        outputs: &[winners.slice(..).into()],
        scratch: None,
    })?;

    // Done in every frame.
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        shaders.record(&mut pass, &shaders.score);
        bound.record(&mut pass);
        shaders.record(&mut pass, &shaders.double);
    }
    queue.submit([encoder.finish()]);

    let expected: Vec<u32> = (0..ROWS).map(|row| 2 * (row * 7 % COLUMNS)).collect();
    let actual = download(&device, &queue, &answer)?;
    match actual == expected {
        true => println!("{problem}, between two shaders: {:?} ...", &actual[..8]),
        false => return Err(format!("wrong: {actual:?}").into()),
    }
    Ok(())
}

struct Shaders {
    score: wgpu::ComputePipeline,
    double: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

impl Shaders {
    fn new(device: &wgpu::Device, buffers: [&wgpu::Buffer; 3]) -> Shaders {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADERS.into()),
        });
        let entry = |binding| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: false },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[0, 1, 2].map(entry),
        });
        let pipelines = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |name| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&pipelines),
                module: &module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            })
        };
        let bound = |i: usize| wgpu::BindGroupEntry {
            binding: i as u32,
            resource: buffers[i].as_entire_binding(),
        };
        Shaders {
            score: pipeline("score"),
            double: pipeline("double"),
            group: device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &[0, 1, 2].map(bound),
            }),
        }
    }

    fn record(&self, pass: &mut wgpu::ComputePass<'_>, pipeline: &wgpu::ComputePipeline) {
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(ROWS.div_ceil(64), 1, 1);
    }
}

fn download(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
) -> Result<Vec<u32>, Box<dyn Error>> {
    let back = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: buffer.size(),
        usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
    encoder.map_buffer_on_submit(&back, wgpu::MapMode::Read, .., |_| ());
    queue.submit([encoder.finish()]);
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = back.slice(..).get_mapped_range()?;
    Ok(bytemuck::cast_slice(&view).to_vec())
}
