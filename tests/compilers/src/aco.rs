//! ACO, Mesa's compiler for AMD GPUs, for devices that are not here: RADV makes a device of the family that is
//! named, and reports what it compiled.

use crate::choice::few;
use crate::isa::{self, Loop};
use crate::{Result, hlsl, none_of};
use ash::khr::pipeline_executable_properties::{Device as Executables, NAME};
use ash::vk;
use naga::back::spv;
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::cards::{CARDS, Card};
use support::grid::class;
use support::kernels::Source;
use wgreduce::unstable::Kernel;
use wgreduce::{AdapterClass, DType, Plan, Problem};

/// RADV's names: Polaris and Vega of GCN, RDNA 1, 2 and 3.
const FAMILIES: [&str; 5] = ["polaris10", "vega20", "navi10", "navi21", "gfx1100"];

/// The numbers of a kernel that a family compiled.
#[derive(Clone, Default, Debug)]
struct Compiled {
    vgprs: u64,
    spilled: u64,
    scratch: u64,
    waves: u64,
    throughput: u64,
    hot: Option<Loop>,
}

/// As wgpu writes a trusted shader for Vulkan; the driver checks bounds.
fn spirv(kernel: &Kernel, source: &Source) -> Result<Vec<u32>> {
    let (module, info) = hlsl::module(kernel, source)?;
    let mut options = spv::Options {
        lang_version: (1, 3),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    options.flags.remove(spv::WriterFlags::DEBUG);
    options.bounds_check_policies.index = naga::proc::BoundsCheckPolicy::Restrict;
    let entry = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: kernel.walk.entry_point().to_owned(),
    };
    spv::write_vec(&module, &info, &options, Some(&entry)).map_err(|e| format!("SPIR-V: {e}"))
}

/// A RADV device of the family that the environment names.
struct Device {
    device: ash::Device,
    executables: Executables,
    instance: ash::Instance,
    // The loader's library is dropped last.
    _entry: ash::Entry,
}

impl Device {
    fn open() -> Result<Device> {
        let failed = |e: vk::Result| format!("RADV: {e}");
        let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let create = vk::InstanceCreateInfo::default().application_info(&app);
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let extensions = [NAME.as_ptr()];
        let mut told = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
            .pipeline_executable_info(true);
        let descriptor = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut told);
        // SAFETY: every object is destroyed before what it was made of, and one thread uses them all.
        unsafe {
            let entry = ash::Entry::load().map_err(|e| format!("no Vulkan loader: {e}"))?;
            let instance = entry.create_instance(&create, None).map_err(failed)?;
            let physical = instance.enumerate_physical_devices().map_err(failed)?;
            let physical = *physical.first().ok_or("no device of RADV")?;
            let device = instance.create_device(physical, &descriptor, None);
            let device = device.map_err(failed)?;
            Ok(Device {
                executables: Executables::new(&instance, &device),
                device,
                instance,
                _entry: entry,
            })
        }
    }

    fn compile(&self, kernel: &Kernel, source: &Source) -> Result<Compiled> {
        let words = spirv(kernel, source)?;
        let failed = |e: vk::Result| format!("RADV: {e}");
        let bindings = kernel.bindings();
        let bindings = bindings.iter().map(|resource| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(resource.number())
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
                .descriptor_type(match resource.is_uniform() {
                    true => vk::DescriptorType::UNIFORM_BUFFER,
                    false => vk::DescriptorType::STORAGE_BUFFER,
                })
        });
        let bindings: Vec<_> = bindings.collect();
        let name = CString::new(kernel.walk.entry_point()).map_err(|e| e.to_string())?;
        let device = &self.device;
        // SAFETY: the handles are of this device and destroyed once, after their last use; naga made the SPIR-V
        // from a validated module.
        unsafe {
            let module = vk::ShaderModuleCreateInfo::default().code(&words);
            let module = device.create_shader_module(&module, None).map_err(failed)?;
            let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let sets = [device
                .create_descriptor_set_layout(&set, None)
                .map_err(failed)?];
            let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device
                .create_pipeline_layout(&layout, None)
                .map_err(failed)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(&name);
            let flags = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
            let create = vk::ComputePipelineCreateInfo::default()
                .flags(flags)
                .stage(stage)
                .layout(layout);
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None);
            let pipeline = made.map_err(|(_, e)| failed(e))?[0];
            let compiled = self.told(pipeline).map_err(failed);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(sets[0], None);
            device.destroy_shader_module(module, None);
            compiled
        }
    }

    /// RADV's report on a pipeline.
    ///
    /// # Safety
    /// The pipeline is this device's, with statistics and representations captured.
    unsafe fn told(&self, pipeline: vk::Pipeline) -> std::result::Result<Compiled, vk::Result> {
        let info = vk::PipelineExecutableInfoKHR::default()
            .pipeline(pipeline)
            .executable_index(0);
        // SAFETY: by contract; names end with a zero, RADV's statistics are 64-bit numbers, and the buffers of
        // `texts` have the lengths that RADV asked for.
        unsafe {
            let statistics = self.executables.get_pipeline_executable_statistics(&info)?;
            let value = |name: &str| {
                let named = |s: &&vk::PipelineExecutableStatisticKHR<'_>| {
                    CStr::from_ptr(s.name.as_ptr()).to_str() == Ok(name)
                };
                statistics.iter().find(named).map_or(0, |s| s.value.u64)
            };
            let mut texts = self
                .executables
                .get_pipeline_executable_internal_representations(&info)?;
            let mut count = texts.len() as u32;
            let mut data: Vec<Vec<u8>> = texts.iter().map(|t| vec![0; t.data_size]).collect();
            for (text, data) in texts.iter_mut().zip(&mut data) {
                text.p_data = data.as_mut_ptr().cast();
            }
            // The wrapper only asks for lengths.
            let read = self
                .executables
                .fp()
                .get_pipeline_executable_internal_representations_khr;
            read(
                self.executables.device(),
                &info,
                &mut count,
                texts.as_mut_ptr(),
            )
            .result()?;
            let assembly = texts.iter().zip(&data).find(|(text, _)| {
                CStr::from_ptr(text.name.as_ptr())
                    .to_bytes()
                    .starts_with(b"Assembly")
            });
            let assembly = assembly.map(|(_, data)| String::from_utf8_lossy(data).into_owned());
            let assembly = assembly.unwrap_or_default();
            if let Some(folder) = std::env::var_os("ISA") {
                // The name is the number of the printed line.
                static LINE: AtomicUsize = AtomicUsize::new(1);
                let name = format!("{:03}.s", LINE.fetch_add(1, Ordering::Relaxed));
                let _ = std::fs::write(Path::new(&folder).join(name), &assembly);
            }
            Ok(Compiled {
                vgprs: value("VGPRs"),
                spilled: value("Spilled VGPRs") + value("Spilled SGPRs"),
                scratch: value("Scratch size"),
                waves: value("Subgroups per SIMD"),
                throughput: value("Inverse Throughput"),
                hot: isa::hot_loop(&assembly),
            })
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: everything that was made of them is destroyed.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// The cases of the table: name, shape and axis.
const CASES: [(&str, [u64; 2], i64); 6] = [
    ("A", [1, 1 << 24], 1),
    ("B", [4096, 4096], 1),
    ("C", [4096, 4096], 0),
    ("D", [1 << 20, 16], 1),
    ("F", [1_000_000, 3], 0),
    ("short axis", [4, 3_000_000], 0),
];

/// The first kernel of each case with discrete tuning, for a type of each width and both half types.
fn cases() -> Result<Vec<(String, Kernel, Source)>> {
    let mut all = Vec::new();
    for (name, shape, axis) in CASES {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::U8] {
            let problems = [
                ("argmin", Problem::arg_min(dtype, &shape, axis)),
                ("min", Problem::reduce_min(dtype, &shape, &[axis])),
                ("both extremes", Problem::extremes(dtype, &shape, axis)),
                ("sum", Problem::reduce_sum(dtype, &shape, &[axis])),
                ("top 3", Problem::top_k(dtype, &shape, axis, 3)),
            ];
            for (op, problem) in problems {
                // Minima of both half types are alike. A sum of float64 is a loop over what was loaded, which is not counted.
                let left_out = match op {
                    "sum" => dtype == DType::F64,
                    "top 3" => dtype != DType::F32,
                    _ => dtype == DType::BF16,
                };
                if left_out {
                    continue;
                }
                let problem = problem.map_err(|e| e.to_string())?;
                let plan = Plan::new(&problem, &class(AdapterClass::Discrete));
                let plan = plan.map_err(|e| e.to_string())?;
                let first = plan.passes().first().ok_or("a plan without a pass")?.kernel;
                let source = support::kernels::source(&first);
                let label = format!("{name} {op} {dtype} ({})", first.walk.name());
                all.push((label, first, source));
            }
        }
    }
    Ok(all)
}

/// Compiles for the family that the environment names, and prints a line for each kernel.
pub fn compile() -> Result<()> {
    let device = Device::open()?;
    let cases = cases()?;
    let gpus = [AdapterClass::Discrete, AdapterClass::Integrated].map(class);
    let others = few(&gpus)
        .into_iter()
        .filter(|(kernel, _)| support::taken(("aco", kernel)))
        .map(|(kernel, source)| (kernel.label(), kernel, source));
    let count = cases.len();
    for (i, (label, kernel, source)) in cases.into_iter().chain(others).enumerate() {
        let c = device.compile(&kernel, &source);
        let c = c.map_err(|e| format!("{label}: {e}"))?;
        let hot = c.hot.unwrap_or(Loop {
            instructions: 0,
            bytes: 0,
        });
        let case = if i < count { "case" } else { "kernel" };
        println!(
            "{case}\t{label}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            c.vgprs, c.spilled, c.scratch, c.waves, c.throughput, hot.instructions, hot.bytes
        );
    }
    Ok(())
}

/// Parses what a family's process printed of a kernel.
fn parse(line: &str) -> Option<(bool, String, Compiled)> {
    let words: Vec<&str> = line.split('\t').collect();
    let [kind, label, numbers @ ..] = &words[..] else {
        return None;
    };
    let numbers: Vec<u64> = numbers.iter().map_while(|w| w.parse().ok()).collect();
    let &[
        vgprs,
        spilled,
        scratch,
        waves,
        throughput,
        instructions,
        bytes,
    ] = &numbers[..]
    else {
        return None;
    };
    let instructions = instructions as usize;
    let compiled = Compiled {
        vgprs,
        spilled,
        scratch,
        waves,
        throughput,
        hot: (bytes > 0).then_some(Loop {
            instructions,
            bytes,
        }),
    };
    Some((*kind == "case", (*label).to_owned(), compiled))
}

/// Compiles for every family, in a process each, as RADV reads its environment once. Fails if registers spill
/// or scratch memory is used. `write` writes the record.
pub fn check(driver: &str, record: &Path, write: bool) -> Result<()> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let compile = |_: &mut (), family: &&str| -> Result<Vec<(bool, String, Compiled)>> {
        let output = Command::new(&own)
            .arg("aco-one")
            .env("RADV_FORCE_FAMILY", family)
            .env("VK_DRIVER_FILES", driver)
            .env("VK_ICD_FILENAMES", driver)
            .output()
            .map_err(|e| format!("{family}: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{family}: {told}"));
        }
        let lines = text.lines().filter(|l| !l.is_empty());
        let parsed = lines.map(|l| parse(l).ok_or(format!("{family}: {l:?}")));
        parsed.collect()
    };
    let families = crate::in_parallel(&FAMILIES, || Ok(()), compile)?;
    let families = families.into_iter().collect::<Result<Vec<_>>>()?;
    let mut failed = Vec::new();
    for (family, kernels) in FAMILIES.iter().zip(&families) {
        let spills = kernels.iter().filter(|(_, _, c)| c.spilled + c.scratch > 0);
        failed.extend(spills.map(|(_, label, c)| format!("{family}: {label}: {c:?}")));
        let least = kernels.iter().min_by_key(|(_, _, c)| c.waves);
        let least = least.ok_or("no kernels")?;
        let most = kernels.iter().map(|(_, _, c)| c.vgprs).max().unwrap_or(0);
        let (count, waves) = (kernels.len(), least.2.waves);
        println!(
            "ACO, {family}: {count} kernels, at most {most} registers, at least {waves} waves a SIMD ({})",
            least.1
        );
    }
    none_of("ACO spills", &failed)?;
    let table = table(&families)?;
    if write {
        return std::fs::write(record, table).map_err(|e| format!("{}: {e}", record.display()));
    }
    Ok(())
}

/// Each case with the instructions a byte that a card's family takes.
fn counted<'a>(
    families: &'a [Vec<(bool, String, Compiled)>],
    card: &Card,
) -> Result<Vec<(&'a str, f64)>> {
    let family = FAMILIES.iter().position(|f| *f == card.family);
    let kernels = families.get(family.ok_or("a card of no family")?);
    let cases = kernels.into_iter().flatten().filter(|(case, _, _)| *case);
    let count =
        |(_, label, c): &'a (bool, String, Compiled)| Some((label.as_str(), c.hot?.per_byte()));
    Ok(cases.filter_map(count).collect())
}

/// The record, in Markdown.
fn table(families: &[Vec<(bool, String, Compiled)>]) -> Result<String> {
    let mut text = String::from(include_str!("aco.md"));
    let told = |e: std::fmt::Error| e.to_string();
    writeln!(text, "| card | counted by | GB/s | integers a clock | GHz | instructions a byte that it affords | cases over half of it | cases over it |\n|---|---|---|---|---|---|---|---|").map_err(told)?;
    for card in &CARDS {
        let Card {
            name,
            family,
            bandwidth,
            integers,
            clock,
            ..
        } = card;
        let (cases, affords) = (counted(families, card)?, card.affords());
        let over = |share: f64| cases.iter().filter(|(_, n)| *n > share * affords).count();
        writeln!(
            text,
            "| {name} | {family} | {bandwidth} | {integers} | {clock} | {affords:.1} | {} | {} |",
            over(0.5),
            over(1.0)
        )
        .map_err(told)?;
    }
    writeln!(
        text,
        "\nThe cases that take over half of the memory's time, and how much of it:\n"
    )
    .map_err(told)?;
    for card in &CARDS {
        let mut cases = counted(families, card)?;
        cases.retain(|(_, n)| *n > 0.5 * card.affords());
        cases.sort_by(|a, b| b.1.total_cmp(&a.1));
        let share = |(label, n): &(&str, f64)| format!("{label} {:.2}", n / card.affords());
        let all: Vec<String> = cases.iter().map(share).collect();
        let none = all.is_empty();
        let cases = if none { "none".into() } else { all.join(", ") };
        writeln!(text, "- {}: {cases}.", card.name).map_err(told)?;
    }
    let own = FAMILIES.map(|family| CARDS.iter().find(|card| card.family == family));
    for card in own.into_iter().flatten() {
        let place = FAMILIES.iter().position(|f| *f == card.family);
        let place = place.ok_or("a card of no family")?;
        writeln!(text, "\n## {} ({})\n", card.family, card.name).map_err(told)?;
        writeln!(text, "| case | registers | spills | scratch | waves a SIMD | inverse throughput | instructions a byte | bound by |\n|---|---|---|---|---|---|---|---|").map_err(told)?;
        for (_, label, c) in families[place].iter().filter(|(case, _, _)| *case) {
            let (instructions, bound) = match &c.hot {
                None => ("nothing read".to_owned(), "-"),
                Some(hot) if hot.per_byte() > card.affords() => {
                    (format!("{:.1}", hot.per_byte()), "arithmetic")
                }
                Some(hot) => (format!("{:.1}", hot.per_byte()), "memory"),
            };
            let Compiled {
                vgprs,
                spilled,
                scratch,
                waves,
                throughput,
                ..
            } = c;
            writeln!(text, "| {label} | {vgprs} | {spilled} | {scratch} | {waves} | {throughput} | {instructions} | {bound} |").map_err(told)?;
        }
    }
    Ok(text)
}
