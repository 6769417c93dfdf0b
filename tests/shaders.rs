//! Every shader assembly, through naga: parsed, validated, its overrides resolved, and written
//! for Vulkan, Metal, DX12 and OpenGL. Needs no adapter.

use naga::back::{self, PipelineConstants};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::collections::{BTreeSet, HashMap};
use wgreduce::{DType, Family, Kernel, Keys, NanPolicy, Order, Out};

const ORDERS: [Order; 3] = [Order::Least, Order::Greatest, Order::GreatestMagnitude];

/// What kernels are written out for, beside each of the other choices.
const TIMES: [u32; 5] = [0, 1, 2, 4, 16];

/// Every compile key that a plan can hold, at two workgroup shapes.
fn kernels() -> Vec<Kernel> {
    let mut all = Vec::new();
    for family in Family::ALL {
        for dtype in DType::ALL {
            for out in Out::ALL {
                for (workgroup, lanes) in [(64, 1), (256, 32)] {
                    for variant in 0..8 {
                        let bit = |i: u32| variant >> i & 1 == 1;
                        all.push(Kernel {
                            family,
                            keys: Keys::new(
                                dtype,
                                ORDERS[variant % 3],
                                NanPolicy::Propagate,
                                bit(1),
                            ),
                            out,
                            workgroup,
                            lanes,
                            chunked: bit(0),
                            several: bit(1),
                            times: TIMES[(variant / 2 + out as usize) % TIMES.len()],
                            loose: bit(1),
                            index: bit(1),
                            last: bit(2),
                            truth: dtype == DType::Bool && bit(0),
                            raw: family == Family::Each && bit(0),
                            index_words: 1 + u32::from(bit(1)),
                            inputs: [1, 2, 3, 8][variant % 4],
                            splat: [0, 2, 1, 0x55][variant % 4],
                            still: [0, 1, 4, 0xaa][variant % 4],
                            chained: bit(2),
                        });
                    }
                }
            }
        }
    }
    all
}

/// Parsed texts: parsing is slow, and few texts serve many kernels.
#[derive(Default)]
struct Parsed(HashMap<String, (naga::Module, ModuleInfo)>);

impl Parsed {
    fn get(&mut self, kernel: &Kernel) -> &(naga::Module, ModuleInfo) {
        let text = kernel.wgsl();
        self.0.entry(text).or_insert_with_key(|text| {
            let label = kernel.label();
            let module = naga::front::wgsl::parse_str(text)
                .unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(text)));
            // No capability at all: nothing optional may be used.
            let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
                .validate(&module)
                .unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(text)));
            (module, info)
        })
    }
}

fn constants(kernel: &Kernel) -> PipelineConstants {
    let all = kernel.constants();
    all.into_iter().map(|(n, x)| (n.to_string(), x)).collect()
}

/// Writes one kernel for every backend; panics where one refuses.
fn write(kernel: &Kernel, parsed: &mut Parsed) {
    let (module, info) = parsed.get(kernel);
    let label = kernel.label();
    let entry = (naga::ShaderStage::Compute, kernel.entry_point());
    let (module, info) =
        back::pipeline_constants::process_overrides(module, info, Some(entry), &constants(kernel))
            .unwrap_or_else(|e| panic!("{label}: {e:?}"));
    let spv = back::spv::write_vec(&module, &info, &back::spv::Options::default(), None);
    assert!(spv.is_ok(), "{label}: SPIR-V: {spv:?}");
    let msl = back::msl::Options {
        fake_missing_bindings: true,
        ..Default::default()
    };
    let msl = back::msl::write_string(&module, &info, &msl, &back::msl::PipelineOptions::default());
    assert!(msl.is_ok(), "{label}: MSL: {:?}", msl.err());
    let hlsl = back::hlsl::Options {
        fake_missing_bindings: true,
        ..Default::default()
    };
    let pipeline = back::hlsl::PipelineOptions::default();
    let mut text = String::new();
    let written = back::hlsl::Writer::new(&mut text, &hlsl, &pipeline).write(&module, &info, None);
    assert!(written.is_ok(), "{label}: HLSL: {:?}", written.err());
    let mut text = String::new();
    let options = back::glsl::Options {
        version: back::glsl::Version::new_gles(310),
        ..Default::default()
    };
    let pipeline = back::glsl::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: kernel.entry_point().to_string(),
        multiview: None,
    };
    let policies = naga::proc::BoundsCheckPolicies::default();
    let glsl = back::glsl::Writer::new(&mut text, &module, &info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write());
    assert!(glsl.is_ok(), "{label}: GLSL: {:?}", glsl.err());
}

#[test]
fn every_assembly_is_valid_wgsl_without_any_optional_capability() {
    let mut parsed = Parsed::default();
    for kernel in kernels() {
        parsed.get(&kernel);
    }
    assert!(parsed.0.len() >= 20, "only {} assemblies", parsed.0.len());
}

#[test]
fn every_kernel_is_written_for_vulkan_metal_dx12_and_opengl() {
    let mut parsed = Parsed::default();
    let mut seen = BTreeSet::new();
    for kernel in kernels() {
        if seen.insert((kernel.wgsl(), kernel.out, kernel.lanes, kernel.index)) {
            write(&kernel, &mut parsed);
        }
    }
    assert!(seen.len() >= 100, "only {} kernels", seen.len());
}

#[test]
fn the_constants_are_exactly_the_overrides() {
    let mut parsed = Parsed::default();
    for kernel in kernels() {
        let (module, _) = parsed.get(&kernel);
        let overrides = module.overrides.iter();
        let declared: BTreeSet<String> = overrides.filter_map(|(_, o)| o.name.clone()).collect();
        let given: BTreeSet<String> = constants(&kernel).into_keys().collect();
        assert_eq!(declared, given, "{}", kernel.label());
    }
}

#[test]
fn no_shader_names_a_float_type() {
    let floats = [
        "f16", "f32", "f64", "vec2f", "vec3f", "vec4f", "vec2h", "vec4h",
    ];
    for kernel in kernels() {
        let text = kernel.wgsl();
        let code = text.lines().filter_map(|l| l.split("//").next());
        for word in code.flat_map(|l| l.split(|c: char| !c.is_alphanumeric())) {
            assert!(!floats.contains(&word), "{}: {word}", kernel.label());
        }
    }
}

#[test]
fn the_parameters_take_as_many_bytes_in_wgsl_as_in_rust() {
    let mut parsed = Parsed::default();
    let (module, _) = parsed.get(&kernels()[0]);
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).expect("a layout");
    let mut types = module.types.iter();
    let params = types.find(|(_, t)| t.name.as_deref() == Some("Params"));
    assert_eq!(params.map(|(handle, _)| layouter[handle].size), Some(64));
}
