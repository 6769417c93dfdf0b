//! The HLSL that wgpu 30 hands to the compilers of DirectX 12.
//!
//! Options and registers follow `create_pipeline_layout` and `load_shader` of wgpu-hal's DX12
//! backend, for the pipelines that the library creates.

use naga::ShaderStage::Compute;
use naga::back::hlsl::{BindTarget, Options, PipelineOptions, ShaderModel, Writer};
use naga::back::pipeline_constants::process_overrides;
use support::kernels::{self, Source};
use wgreduce::unstable::{Kernel, Resource};

/// A binding of a kernel and the register that the root signature has for it.
#[derive(Clone, Debug)]
pub struct Register {
    pub binding: u32,
    /// The WGSL variable.
    pub name: String,
    /// `b` is a uniform buffer, `t` a storage buffer that is only read, `u` one that is written.
    pub class: char,
    pub number: u32,
}

/// A kernel's HLSL.
pub struct Hlsl {
    pub text: String,
    pub entry: String,
    pub registers: Vec<Register>,
}

/// Parses a kernel and sets its overrides.
pub fn module(
    kernel: &Kernel,
    source: &Source,
) -> Result<(naga::Module, naga::valid::ModuleInfo), String> {
    let (module, info) = kernels::module(kernel, &source.0)?;
    let entry = Some((Compute, kernel.walk.entry_point()));
    let (module, info) = process_overrides(&module, &info, entry, &kernels::constants(source))
        .map_err(|e| format!("overrides: {e:?}"))?;
    Ok((module.into_owned(), info.into_owned()))
}

/// Registers are counted from 0 in each class, in the order of the bindings.
fn registers(kernel: &Kernel, module: &naga::Module) -> Vec<Register> {
    let mut next = [('b', 0), ('t', 0), ('u', 0)];
    let register = |resource: &Resource| {
        let class = match resource {
            resource if resource.is_written() => 2,
            resource if resource.is_uniform() => 0,
            _ => 1,
        };
        let binding = resource.number();
        let (class, number) = &mut next[class];
        *number += 1;
        let mut globals = module.global_variables.iter();
        let bound = |g: &naga::GlobalVariable| g.binding.is_some_and(|b| b.binding == binding);
        let name = globals.find_map(|(_, g)| bound(g).then(|| g.name.clone())?);
        Register {
            binding,
            name: name.unwrap_or_default(),
            class: *class,
            number: *number - 1,
        }
    };
    kernel.bindings().iter().map(register).collect()
}

/// Writes a kernel for a shader model: 5.1 for FXC, 6.0 and up for DXC.
pub fn write(kernel: &Kernel, source: &Source, model: ShaderModel) -> Result<Hlsl, String> {
    let (module, info) = module(kernel, source)?;
    let registers = registers(kernel, &module);
    let uniforms = registers.iter().filter(|r| r.class == 'b').count();
    let target = |register: u32| BindTarget {
        register,
        ..Default::default()
    };
    let bound = registers.iter().map(|r| {
        let binding = naga::ResourceBinding {
            group: 0,
            binding: r.binding,
        };
        (binding, target(r.number))
    });
    let options = Options {
        shader_model: model,
        binding_map: bound.collect(),
        fake_missing_bindings: false,
        // wgpu-core asks every layout for these; they follow the uniform buffers.
        special_constants_binding: Some(target(uniforms as u32)),
        // The library's pipelines are created with the same options.
        zero_initialize_workgroup_memory: false,
        restrict_indexing: true,
        force_loop_bounding: true,
        ..Default::default()
    };
    let entry = PipelineOptions {
        entry_point: Some((Compute, kernel.walk.entry_point().to_owned())),
    };
    let mut text = String::new();
    let reflection = Writer::new(&mut text, &options, &entry)
        .write(&module, &info, None)
        .map_err(|e| format!("HLSL: {e}"))?;
    let mut names = reflection.entry_point_names.into_iter();
    let entry = names.next().ok_or("HLSL without an entry point")?;
    let entry = entry.map_err(|e| format!("HLSL: {e}"))?;
    Ok(Hlsl {
        text,
        entry,
        registers,
    })
}
