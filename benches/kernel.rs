//! A small kernel of the measurements: compiled and bound.

use wgreduce::wgpu;

/// Most workgroups of a kernel whose invocations step through their data by the size of the grid.
pub const MOST_WORKGROUPS: u64 = 1 << 14;

pub struct Kernel {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: u32,
}

impl Kernel {
    /// The entry point is `main`; the resources are bound from 0 on.
    pub fn new(
        device: &wgpu::Device,
        wgsl: String,
        resources: &[wgpu::BindingResource<'_>],
        workgroups: u32,
    ) -> Kernel {
        let label = Some("measurement");
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries: Vec<_> = (0..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry {
                binding,
                resource: resource.clone(),
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        Kernel {
            pipeline,
            group,
            workgroups,
        }
    }

    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.workgroups, 1, 1);
    }
}

/// A uniform of four words.
pub fn uniform(device: &wgpu::Device, queue: &wgpu::Queue, words: [u32; 4]) -> wgpu::Buffer {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("measurement"),
        size: 16,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    queue.write_buffer(&buffer, 0, &words.map(u32::to_le_bytes).concat());
    buffer
}

/// The ranges of a buffer that bindings of `most` bytes can hold, 256 or more: offset and bytes.
pub fn ranges(bytes: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    // Every device binds at multiples of 256.
    let most = most / 256 * 256;
    let range = move |i| (i * most, most.min(bytes - i * most));
    (0..bytes.div_ceil(most)).map(range)
}

/// A range of a buffer, to be bound.
pub fn part(buffer: &wgpu::Buffer, (offset, bytes): (u64, u64)) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset,
        size: wgpu::BufferSize::new(bytes),
    })
}
