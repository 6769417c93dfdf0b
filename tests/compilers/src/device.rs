//! Runs plans on lavapipe, with SPIR-V that DXC makes from their kernels' HLSL.

use crate::Result;
use crate::dxc::Dxc;
use crate::hlsl::{self, Hlsl};
use naga::back::hlsl::ShaderModel;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;
use support::kernels::{Source, source};
use wgreduce::unstable::{Kernel, Pass, Resource, Slot, View};
use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{Plan, Problem};

/// Every buffer is filled with this byte before a run.
const POISON: u8 = 0xa5;
/// WebGPU's default alignment of bindings.
const ALIGNMENT: u64 = 256;

struct Pipeline {
    raw: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// A device with its compiler, for one thread.
pub struct Device {
    device: wgpu::Device,
    queue: wgpu::Queue,
    dxc: Dxc,
    pipelines: HashMap<Source, Rc<Pipeline>>,
    /// Texts and their replacements in the HLSL: a fault, to see that it is noticed, or another driver.
    changes: &'static [(&'static str, &'static str)],
    /// The seconds that DXC and lavapipe's compiler took.
    pub compiled: [f64; 2],
}

impl Device {
    pub fn open(library: &Path) -> Result<Device> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let mut adapters = adapters.into_iter();
        let adapter = adapters.find(|a| a.get_info().name.contains("llvmpipe"));
        let adapter = adapter.ok_or("no lavapipe here: Debian's mesa-vulkan-drivers has it")?;
        let request = wgpu::DeviceDescriptor {
            required_features: wgpu::Features::PASSTHROUGH_SHADERS,
            ..Default::default()
        };
        let opened = pollster::block_on(adapter.request_device(&request));
        let (device, queue) = opened.map_err(|e| format!("lavapipe: {e}"))?;
        Ok(Device {
            device,
            queue,
            dxc: Dxc::load(library)?,
            pipelines: HashMap::new(),
            changes: &[],
            compiled: [0.0; 2],
        })
    }

    /// The number of kernels that were compiled.
    pub fn kernels(&self) -> usize {
        self.pipelines.len()
    }

    fn pipeline(&mut self, kernel: &Kernel) -> Result<Rc<Pipeline>> {
        let source = source(kernel);
        if let Some(pipeline) = self.pipelines.get(&source) {
            return Ok(pipeline.clone());
        }
        let pipeline = self.compile(kernel, &source);
        let pipeline = Rc::new(pipeline.map_err(|e| format!("{}: {e}", kernel.label()))?);
        self.pipelines.insert(source, pipeline.clone());
        Ok(pipeline)
    }

    fn compile(&mut self, kernel: &Kernel, source: &Source) -> Result<Pipeline> {
        let mut hlsl = hlsl::write(kernel, source, ShaderModel::V6_0)?;
        hlsl.text = spoiled(&hlsl.text)?;
        for (from, to) in self.changes {
            hlsl.text = hlsl.text.replace(from, to);
        }
        let start = Instant::now();
        let words = spirv(&self.dxc, &hlsl)?;
        self.compiled[0] += start.elapsed().as_secs_f64();
        let start = Instant::now();
        let entry = wgpu::PassthroughShaderEntryPoint {
            name: hlsl.entry.as_str().into(),
            workgroup_size: (kernel.workgroup, 1, 1),
        };
        let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
            label: None,
            entry_points: vec![entry].into(),
            spirv: Some(words.into()),
            dxil: None,
            hlsl: None,
            metallib: None,
            msl: None,
            glsl: None,
            wgsl: None,
        };
        // SAFETY: the SPIR-V is DXC's, its bindings were checked against the layout below, and its code reads
        // and writes nothing else.
        let module = unsafe { self.device.create_shader_module_passthrough(descriptor) };
        // wgpu numbers Vulkan's bindings by their places in this list.
        let entries =
            hlsl.registers
                .iter()
                .zip(0..)
                .map(|(register, place)| wgpu::BindGroupLayoutEntry {
                    binding: place,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: match register.class {
                            'b' => wgpu::BufferBindingType::Uniform,
                            class => wgpu::BufferBindingType::Storage {
                                read_only: class == 't',
                            },
                        },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                });
        let entries: Vec<_> = entries.collect();
        let layout = self
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
        let pipelines = wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        };
        let raw = self
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&self.device.create_pipeline_layout(&pipelines)),
                module: &module,
                entry_point: Some(&hlsl.entry),
                compilation_options: Default::default(),
                cache: None,
            });
        self.compiled[1] += start.elapsed().as_secs_f64();
        Ok(Pipeline { raw, layout })
    }

    /// Changes everything that is compiled from now on.
    pub fn change(&mut self, changes: &'static [(&'static str, &'static str)]) {
        self.pipelines.clear();
        self.changes = changes;
    }

    /// Runs a plan whose inputs and outputs begin this many bytes into their buffers. Fails if bytes around the
    /// outputs were written.
    pub fn run(
        &mut self,
        problem: &Problem,
        plan: &Plan,
        inputs: &[Vec<u8>],
        begin: [u64; 2],
    ) -> Result<Vec<Vec<u8>>> {
        let mut slots: HashMap<Slot, (wgpu::Buffer, u64)> = HashMap::new();
        for (i, data) in inputs.iter().enumerate() {
            let mut bytes = vec![POISON; begin[0] as usize];
            bytes.extend_from_slice(data);
            slots.insert(Slot::Input(i), (self.filled(bytes), begin[0]));
        }
        let outputs = problem.outputs();
        let first = |o: &wgreduce::Output| begin[1] / o.dtype.size() * o.dtype.size();
        let begins: Vec<u64> = outputs.iter().map(first).collect();
        for (i, (output, &begin)) in outputs.iter().zip(&begins).enumerate() {
            let size = (begin + output.bytes() + 16) as usize;
            slots.insert(Slot::Output(i), (self.filled(vec![POISON; size]), begin));
        }
        for slot in [Slot::Partials, Slot::Temp(0), Slot::Temp(1)] {
            let size = plan.slot_bytes(slot) as usize;
            slots.insert(slot, (self.filled(vec![POISON; size]), 0));
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut recorded = encoder.begin_compute_pass(&Default::default());
            for pass in plan.passes() {
                let pipeline = self.pipeline(&pass.kernel)?;
                let group = self.bound(pass, &pipeline, &slots);
                recorded.set_pipeline(&pipeline.raw);
                recorded.set_bind_group(0, &group, &[]);
                let [x, y, z] = pass.workgroups;
                recorded.dispatch_workgroups(x, y, z);
            }
        }
        let buffers = (0..outputs.len()).map(|i| &slots[&Slot::Output(i)].0);
        let buffers: Vec<_> = buffers.collect();
        let read = self.read(encoder, &buffers)?;
        let part = |((bytes, output), begin): ((Vec<u8>, &wgreduce::Output), &u64)| {
            let (begin, end) = (*begin as usize, (begin + output.bytes()) as usize);
            let mut round = bytes[..begin].iter().chain(&bytes[end..]);
            match round.all(|&b| b == POISON) {
                true => Ok(bytes[begin..end].to_vec()),
                false => Err("bytes round an output were written".to_owned()),
            }
        };
        let parts = read.into_iter().zip(&outputs).zip(&begins).map(part);
        parts.collect()
    }

    /// A buffer with these bytes, padded with poison to whole words and at least a vec4.
    fn filled(&self, mut bytes: Vec<u8>) -> wgpu::Buffer {
        bytes.resize(bytes.len().next_multiple_of(4).max(16), POISON);
        let usage = BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let buffer = buffer(&self.device, bytes.len() as u64, usage);
        self.queue.write_buffer(&buffer, 0, &bytes);
        buffer
    }

    /// A pass's bind group: the views, bound as the library binds them, and the parameters.
    fn bound(
        &self,
        pass: &Pass,
        pipeline: &Pipeline,
        slots: &HashMap<Slot, (wgpu::Buffer, u64)>,
    ) -> wgpu::BindGroup {
        let range = |view: &View| range(view, slots);
        let (src, dst) = (pass.src.as_ref().map(range), range(&pass.dst));
        let indices = pass.indices.as_ref().map(range);
        let strided = pass.stride_table.iter().flat_map(|(_, views)| views);
        let strided: Vec<Range> = strided.map(range).collect();
        let source = pass.kernel.source(false);
        let mut block = pass.params;
        block.src_delta = src.map_or(0, |r| r.delta);
        block.dst_delta = dst.delta;
        let beside: Vec<Range> = pass.beside.iter().map(range).collect();
        let deltas = [
            &mut block.beside_0,
            &mut block.beside_1,
            &mut block.beside_2,
        ];
        let deltas = deltas.into_iter().zip(&beside);
        deltas.for_each(|(delta, range)| *delta = range.delta);
        block.indices_delta = indices.map_or(0, |r| r.delta);
        let table = pass.stride_table.as_ref().map(|(table, _)| {
            let mut table = table.clone();
            let starts = table.starts.iter_mut().zip(&strided);
            starts.for_each(|(start, range)| *start = start.wrapping_add(range.delta));
            table.words().to_vec()
        });
        let blocks = [block.words(&source.params), table.unwrap_or_default()].map(|words| {
            let bytes = words.iter().flat_map(|w| w.to_le_bytes());
            self.filled(bytes.collect())
        });
        let bindings = pass.kernel.bindings().into_iter();
        let bindings = bindings.map(|resource| match resource {
            Resource::Params => (&blocks[0], 0, blocks[0].size()),
            Resource::StrideTable => (&blocks[1], 0, blocks[1].size()),
            Resource::Destination => dst.binding(),
            Resource::Beside(i) => beside[i as usize].binding(),
            Resource::View(i) => strided[i as usize].binding(),
            Resource::Indices => indices.expect("indices are read").binding(),
            _ => src.expect("something is read").binding(),
        });
        let bindings: Vec<_> = bindings.collect();
        bind(&self.device, &pipeline.layout, &bindings)
    }

    /// Submits the encoder and reads whole buffers.
    fn read(
        &self,
        mut encoder: wgpu::CommandEncoder,
        from: &[&wgpu::Buffer],
    ) -> Result<Vec<Vec<u8>>> {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let back = |buffer: &&wgpu::Buffer| {
            let back = raw_buffer(&self.device, buffer.size(), usage);
            encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
            back
        };
        let backs: Vec<wgpu::Buffer> = from.iter().map(back).collect();
        self.queue.submit([encoder.finish()]);
        backs
            .iter()
            .for_each(|back| back.slice(..).map_async(wgpu::MapMode::Read, |_| ()));
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map_err(|e| format!("lavapipe: {e}"))?;
        let contents = |back: &wgpu::Buffer| match back.slice(..).get_mapped_range() {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(e) => Err(format!("lavapipe: {e}")),
        };
        backs.iter().map(contents).collect()
    }
}

/// HLSL whose workgroups begin with junk in their memory. lavapipe clears the memory before each dispatch,
/// which would hide a read before the first write.
fn spoiled(text: &str) -> Result<String> {
    let arrays = text.lines().filter_map(|line| {
        let (kind, rest) = line.strip_prefix("groupshared ")?.split_once(' ')?;
        Some((kind, rest.split_once('[')?.0))
    });
    let arrays: Vec<(&str, &str)> = arrays.collect();
    if arrays.is_empty() {
        return Ok(text.to_owned());
    }
    let (lid, end) = (" : SV_GroupIndex", "\n{\n");
    let parts = text.find(lid).and_then(|at| {
        let name = text[..at].rsplit(' ').next()?;
        Some((name, at + text[at..].find(end)? + end.len()))
    });
    let (name, at) = parts.ok_or("HLSL whose invocations have no number")?;
    // Each invocation writes one element.
    let junk =
        |(kind, array): (&str, &str)| format!("    {array}[{name}] = ({kind})0x9e3779b9u;\n");
    let junk: String = arrays.into_iter().map(junk).collect();
    let (head, body) = text.split_at(at);
    Ok(format!(
        "{head}{junk}    GroupMemoryBarrierWithGroupSync();\n{body}"
    ))
}

/// Compiles HLSL to SPIR-V whose bindings are the registers' places in the list, and checks them.
fn spirv(dxc: &Dxc, hlsl: &Hlsl) -> Result<Vec<u32>> {
    let mut more = String::from("-spirv -fspv-target-env=vulkan1.1");
    for (place, register) in hlsl.registers.iter().enumerate() {
        // The register, its space, binding and set. DXC needs these for every bound register.
        let name = format!("{}{}", register.class, register.number);
        more += &format!(" -fvk-bind-register {name} 0 {place} 0");
    }
    let special = hlsl.registers.iter().filter(|r| r.class == 'b').count();
    more += &format!(" -fvk-bind-register b{special} 0 0 1");
    let bytes = dxc.compile(&hlsl.text, &hlsl.entry, &more)?;
    let word = |w: &[u8]| u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
    let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
    bindings_agree(&words, hlsl)?;
    Ok(words)
}

/// Whether SPIR-V has each variable in the place of WGSL's variable of that name: DXC does not report two in
/// one place, and lavapipe does not report a place that the layout lacks.
fn bindings_agree(words: &[u32], hlsl: &Hlsl) -> Result<()> {
    const NAME: u32 = 5;
    const DECORATE: u32 = 71;
    const BINDING: u32 = 33;
    const SET: u32 = 34;
    let (mut names, mut found) = (HashMap::new(), HashMap::<u32, [Option<u32>; 2]>::new());
    let mut rest = words.get(5..).unwrap_or_default();
    while let Some(&first) = rest.first() {
        let (operation, length) = (first & 0xffff, (first >> 16) as usize);
        if length == 0 || length > rest.len() {
            return Err("SPIR-V that ends in an instruction".into());
        }
        match (operation, &rest[1..length]) {
            (NAME, [id, name @ ..]) => {
                let bytes = name.iter().flat_map(|w| w.to_le_bytes());
                let bytes: Vec<u8> = bytes.take_while(|&b| b != 0).collect();
                names.insert(*id, String::from_utf8_lossy(&bytes).into_owned());
            }
            (DECORATE, &[id, BINDING, place]) => found.entry(id).or_default()[1] = Some(place),
            (DECORATE, &[id, SET, set]) => found.entry(id).or_default()[0] = Some(set),
            _ => {}
        }
        rest = &rest[length..];
    }
    let plain = |name: &str| name.trim_end_matches('_').to_lowercase();
    let mut bound: Vec<(Option<u32>, String)> = Vec::new();
    for (id, [set, place]) in found {
        if set == Some(0) {
            let name = names.get(&id).cloned().unwrap_or_default();
            bound.push((place, plain(&name)));
        }
    }
    let expected = hlsl.registers.iter().map(|r| plain(&r.name));
    let expected: Vec<_> = (0..).map(Some).zip(expected).collect();
    bound.sort();
    // DXC leaves out what the entry point does not use.
    match bound.iter().all(|b| expected.contains(b)) && !bound.is_empty() {
        true => Ok(()),
        false => Err(format!("SPIR-V binds {bound:?}, not {expected:?}")),
    }
}

/// A binding that covers a view like the library's: it begins at a multiple of the alignment.
#[derive(Clone, Copy)]
struct Range<'a> {
    buffer: &'a wgpu::Buffer,
    offset: u64,
    bytes: u64,
    delta: u32,
}

impl<'a> Range<'a> {
    fn binding(&self) -> (&'a wgpu::Buffer, u64, u64) {
        (self.buffer, self.offset, self.bytes)
    }
}

fn range<'a>(view: &View, slots: &'a HashMap<Slot, (wgpu::Buffer, u64)>) -> Range<'a> {
    let (buffer, first) = &slots[&view.slot];
    let begin = first + view.offset;
    let mut offset = begin / ALIGNMENT * ALIGNMENT;
    // At least a vec4, if the buffer has one.
    if begin + view.bytes - offset < 16 && offset >= ALIGNMENT {
        offset -= ALIGNMENT;
    }
    let end = (begin + view.bytes).next_multiple_of(4).max(offset + 16);
    Range {
        buffer,
        offset,
        bytes: end.min(buffer.size()) - offset,
        delta: ((begin - offset) / view.element) as u32,
    }
}

fn buffer(device: &wgpu::Device, size: u64, more: BufferUsages) -> wgpu::Buffer {
    let usage = BufferUsages::STORAGE | BufferUsages::UNIFORM | more;
    raw_buffer(device, size, usage)
}

fn raw_buffer(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    buffers: &[(&wgpu::Buffer, u64, u64)],
) -> wgpu::BindGroup {
    let entries = buffers
        .iter()
        .zip(0..)
        .map(|(&(buffer, offset, bytes), binding)| {
            let size = std::num::NonZeroU64::new(bytes);
            let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset,
                size,
            });
            wgpu::BindGroupEntry { binding, resource }
        });
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout,
        entries: &entries.collect::<Vec<_>>(),
    })
}
