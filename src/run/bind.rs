//! A reduction with its buffers: bind groups and parameters, ready to be recorded.
//!
//! Buffers are checked when they are bound, so recording cannot fail.

use crate::device::context::{Context, OwnBuffer};
use crate::device::platform::BINDINGS_MAY_OVERLAP;
use crate::kernel::Resource;
use crate::kernel::params::{self, Params};
use crate::plan::{Pass, View};
use crate::run::buffers::BufferTable;
use crate::{Error, Plan};
use std::num::NonZeroU64;
use std::sync::Arc;

/// A compiled pass of a plan.
pub(crate) struct Compiled {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    pub bindings: Vec<Resource>,
    /// Whether what it reads is bound as writable storage.
    pub aliased: bool,
    /// The fields of its parameters.
    pub params: Vec<&'static str>,
}

struct Dispatch {
    compiled: Arc<Compiled>,
    group: wgpu::BindGroup,
    workgroups: [u32; 3],
}

/// A reduction bound to buffers. Recording never fails, allocates no GPU memory and does not touch the queue;
/// it may be recorded any number of times.
///
/// A `BoundReduction` keeps its buffers alive. If one of them is destroyed or mapped at a submit of the caller,
/// wgpu refuses that submit with an error of the caller's device. A recorded reduction causes no other error at
/// the caller's `finish` or `submit`.
///
/// Work so long that a driver's watchdog would take one submit for a hang is cut into [`BoundReduction::parts`];
/// most work is one part. Submit several parts one by one:
///
/// ```
/// # fn submit(device: &wgpu::Device, queue: &wgpu::Queue, bound: &wgreduce::BoundReduction) {
/// # use wgreduce::wgpu;
/// for part in 0..bound.parts() {
///     let mut encoder = device.create_command_encoder(&Default::default());
///     bound.encode_part(part, &mut encoder);
///     queue.submit([encoder.finish()]);
/// }
/// # }
/// ```
pub struct BoundReduction {
    dispatches: Vec<Dispatch>,
    parts: Vec<std::ops::Range<usize>>,
    /// Parameters, and scratch that the library allocated.
    own: Vec<OwnBuffer>,
}

impl BoundReduction {
    /// Records the reduction as a compute pass of its own.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        self.record(&mut compute_pass(encoder, None));
    }

    /// Records one part, with timestamps if asked for.
    pub(crate) fn encode_timed(
        &self,
        part: usize,
        encoder: &mut wgpu::CommandEncoder,
        times: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        self.record_part(part, &mut compute_pass(encoder, times));
    }

    /// Records the reduction into an open compute pass. It overwrites the pass's pipeline and bind group 0.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        record(&self.dispatches, pass);
    }

    /// The number of parts the work is cut into so that none exceeds [`crate::Tuning::submit_bytes`]; 0
    /// if there is nothing to do.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Records one part as [`BoundReduction::encode`] records all. Every part must be recorded once, in order.
    /// Records nothing if `part` is [`BoundReduction::parts`] or more.
    pub fn encode_part(&self, part: usize, encoder: &mut wgpu::CommandEncoder) {
        self.encode_timed(part, encoder, None);
    }

    /// Records one part as [`BoundReduction::record`] records all.
    pub fn record_part(&self, part: usize, pass: &mut wgpu::ComputePass<'_>) {
        if let Some(part) = self.parts.get(part) {
            record(&self.dispatches[part.clone()], pass);
        }
    }

    /// Keeps the library's buffers until their last use: a caller may submit its encoder after this is dropped.
    pub(crate) fn outlived(mut self) -> BoundReduction {
        self.own.drain(..).for_each(OwnBuffer::outlive);
        self
    }

    /// The number of dispatches in all parts.
    pub fn dispatches(&self) -> usize {
        self.dispatches.len()
    }
}

fn compute_pass<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) -> wgpu::ComputePass<'a> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some("wgreduce"),
        timestamp_writes,
    })
}

fn record(dispatches: &[Dispatch], pass: &mut wgpu::ComputePass<'_>) {
    for dispatch in dispatches {
        let [x, y, z] = dispatch.workgroups;
        pass.set_pipeline(&dispatch.compiled.pipeline);
        pass.set_bind_group(0, &dispatch.group, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

impl std::fmt::Debug for BoundReduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BoundReduction({} dispatches)", self.dispatches.len())
    }
}

/// Binds a compiled plan to buffers.
pub(crate) fn bind(
    context: &Context,
    plan: &Plan,
    compiled: &[Arc<Compiled>],
    mut places: BufferTable,
) -> Result<BoundReduction, Error> {
    let mut bound = bind_passes(context, plan.passes(), compiled, &places)?;
    bound.parts = plan.parts().to_vec();
    bound.own.append(&mut places.own);
    Ok(bound)
}

/// Binds passes as one part. Each of their views must lie within one piece.
pub(crate) fn bind_passes(
    context: &Context,
    passes: &[Pass],
    compiled: &[Arc<Compiled>],
    places: &BufferTable,
) -> Result<BoundReduction, Error> {
    let limits = context.device.limits();
    let alignment = limits.min_uniform_buffer_offset_alignment.into();
    let stride = params::block_bytes(Params::FIELDS.len()).next_multiple_of(alignment);
    if passes.is_empty() {
        return Ok(BoundReduction {
            dispatches: Vec::new(),
            parts: Vec::new(),
            own: Vec::new(),
        });
    }
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    // The uniform blocks of each pass: the parameters, then the stride table.
    let table = params::STRIDE_TABLE_BYTES.next_multiple_of(stride);
    let size = |pass: &Pass| stride + pass.stride_table.as_ref().map_or(0, |_| table);
    let bytes = passes.iter().map(size).sum();
    let uniforms = context.buffer("parameters", bytes, usage)?;
    let mut words = vec![0u32; bytes as usize / 4];
    let mut dispatches = Vec::with_capacity(passes.len());
    let mut at = 0;
    for (pass, compiled) in passes.iter().zip(compiled) {
        let blocks = blocks(pass, &compiled.params, places);
        for (start, block) in [at, at + stride].into_iter().zip(blocks) {
            words[start as usize / 4..][..block.len()].copy_from_slice(&block);
        }
        let uniform = |offset, bytes| wgpu::BufferBinding {
            buffer: &uniforms,
            offset,
            size: NonZeroU64::new(bytes),
        };
        let bound = [
            uniform(at, params::block_bytes(compiled.params.len())),
            uniform(at + stride, params::STRIDE_TABLE_BYTES),
        ];
        dispatches.push(Dispatch {
            group: group(context, pass, compiled, places, bound)?,
            compiled: compiled.clone(),
            workgroups: pass.workgroups,
        });
        at += size(pass);
    }
    let write = || {
        let bytes = bytemuck::cast_slice(&words);
        context.queue.write_buffer(&uniforms, 0, bytes);
    };
    context.scoped("parameters", 4 * words.len() as u64, write)?;
    let parts = std::iter::once(0..dispatches.len()).collect();
    Ok(BoundReduction {
        dispatches,
        parts,
        own: vec![uniforms],
    })
}

/// The bind group of a pass, whose uniform blocks are given: the parameters and the stride table.
fn group(
    context: &Context,
    pass: &Pass,
    compiled: &Compiled,
    places: &BufferTable,
    [params, table]: [wgpu::BufferBinding<'_>; 2],
) -> Result<wgpu::BindGroup, Error> {
    let strided = pass.stride_table.as_ref().map(|(_, views)| views);
    let view = |resource| match resource {
        Resource::Params | Resource::StrideTable => None,
        Resource::Destination => Some(&pass.dst),
        Resource::Beside(i) => pass.beside.get(i as usize),
        Resource::Vecs | Resource::Words | Resource::Partials => pass.src.as_ref(),
        Resource::Indices => pass.indices.as_ref(),
        Resource::View(i) => strided?.get(i as usize),
    };
    if compiled.aliased && !BINDINGS_MAY_OVERLAP {
        places.refuse_overlaps(compiled.bindings.iter().filter_map(|&r| view(r)))?;
    }
    let binding = |resource| match resource {
        Resource::Params => Some(params.clone()),
        Resource::StrideTable => Some(table.clone()),
        _ => view(resource).map(|view| places.range(view).binding()),
    };
    let entry = |&resource: &Resource| {
        binding(resource).map(|range| wgpu::BindGroupEntry {
            binding: resource.number(),
            resource: wgpu::BindingResource::Buffer(range),
        })
    };
    let entries: Vec<_> = compiled.bindings.iter().filter_map(entry).collect();
    let descriptor = wgpu::BindGroupDescriptor {
        label: None,
        layout: &compiled.layout,
        entries: &entries,
    };
    let create = || context.device.create_bind_group(&descriptor);
    context.scoped("a bind group", 0, create)
}

/// The words of a pass's uniform blocks, with the distance from each binding's aligned start to its view.
fn blocks(pass: &Pass, fields: &[&str], places: &BufferTable) -> [Vec<u32>; 2] {
    let delta = |view: &View| places.range(view).delta;
    let mut beside = pass.beside.iter().map(delta);
    let mut next = || beside.next().unwrap_or(0);
    let params = Params {
        src_delta: pass.src.as_ref().map_or(0, delta),
        dst_delta: delta(&pass.dst),
        beside_0: next(),
        beside_1: next(),
        beside_2: next(),
        indices_delta: pass.indices.as_ref().map_or(0, delta),
        ..pass.params
    };
    let table = pass.stride_table.as_ref().map(|(table, views)| {
        let mut table = table.clone();
        let starts = table.starts.iter_mut().zip(views);
        starts.for_each(|(start, view)| *start += delta(view));
        table.words().to_vec()
    });
    [params.words(fields), table.unwrap_or_default()]
}
