//! Every kernel's WGSL goes through naga: parsed, validated, its overrides resolved, and written for
//! Vulkan, Metal, DX12 and OpenGL. Needs no adapter.

use naga::back;
use naga::valid::ModuleInfo;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;
use support::kernels::{Source, constants, kernels, module};
use support::{ORDERS, POLICIES};
use wgreduce::DType;
use wgreduce::unstable::{Accumulator, Kernel, StoreFormat, Walk};

/// Every kernel for all element types.
static KERNELS: LazyLock<Vec<(Kernel, Source)>> = LazyLock::new(|| kernels(&DType::ALL));

type Module = (naga::Module, ModuleInfo);

/// The run's share of the texts, each parsed once.
static MODULES: LazyLock<HashMap<&str, Module>> = LazyLock::new(|| {
    let mut texts: Vec<(&str, &Kernel)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (kernel, (text, _)) in KERNELS.iter() {
        if seen.insert(text) && support::taken(("text", kernel)) {
            texts.push((text, kernel));
        }
    }
    let parse = |part: &[(&'static str, &Kernel)]| {
        let parsed = part.iter().map(|(text, kernel)| {
            let module = module(kernel, text);
            let module = module.unwrap_or_else(|e| panic!("{}: {e}", kernel.label()));
            (*text, module)
        });
        parsed.collect::<Vec<_>>()
    };
    in_halves(&texts, parse).into_iter().flatten().collect()
});

/// The kernels whose texts are parsed.
fn parsed() -> impl Iterator<Item = &'static (Kernel, Source)> {
    KERNELS
        .iter()
        .filter(|(_, source)| MODULES.contains_key(&*source.0))
}

/// Works on both halves of a list in parallel.
fn in_halves<T: Sync, R: Send>(all: &[T], work: impl Fn(&[T]) -> R + Sync) -> [R; 2] {
    let (low, high) = all.split_at(all.len() / 2);
    std::thread::scope(|scope| {
        let halves = [low, high].map(|half| scope.spawn(|| work(half)));
        halves.map(|half| half.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
    })
}

/// Types for whose zero naga writes a function into HLSL. It writes one for a type and one for each
/// alias of it, all of one name, which no compiler of HLSL takes. A zero is `T()`, and a `var` in a
/// loop that is given no value.
fn zero_values(module: &naga::Module) -> BTreeSet<naga::Handle<naga::Type>> {
    let functions = module.functions.iter().map(|(_, f)| f);
    let functions = functions.chain(module.entry_points.iter().map(|e| &e.function));
    let arenas = functions.map(|f| &f.expressions);
    let arenas = arenas.chain([&module.global_expressions]);
    let expressions = arenas.flat_map(|arena| arena.iter());
    let types = expressions.filter_map(|(_, e)| match e {
        naga::Expression::ZeroValue(ty) => Some(*ty),
        _ => None,
    });
    types.collect()
}

/// Writes one kernel for every backend; panics if a backend refuses it.
fn write(kernel: &Kernel, source: &Source) {
    let (module, info) = &MODULES[&*source.0];
    let label = kernel.label();
    let entry = (naga::ShaderStage::Compute, kernel.walk.entry_point());
    let (module, info) =
        back::pipeline_constants::process_overrides(module, info, Some(entry), &constants(source))
            .unwrap_or_else(|e| panic!("{label}: {e:?}"));
    // Plans ask whether a device has as much workgroup memory. Columns of words are asked for as those of vec4.
    let variables = module.global_variables.iter().map(|(_, v)| v);
    let shared = variables.filter(|v| v.space == naga::AddressSpace::WorkGroup);
    let size = |v: &naga::GlobalVariable| module.types[v.ty].inner.size(module.to_ctx());
    let (bytes, asked): (u32, u32) = (shared.map(size).sum(), kernel.workgroup_bytes());
    let fits = bytes <= asked && asked <= 4 * bytes + 32;
    assert!(fits, "{label}: {bytes} bytes of {asked} in a workgroup");
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
        entry_point: kernel.walk.entry_point().to_string(),
        multiview: None,
    };
    let policies = naga::proc::BoundsCheckPolicies::default();
    let glsl = back::glsl::Writer::new(&mut text, &module, &info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write());
    assert!(glsl.is_ok(), "{label}: GLSL: {:?}", glsl.err());
}

#[test]
fn every_text_is_valid_wgsl_without_any_optional_capability() {
    // `MODULES` panics if a text is not valid.
    assert!(MODULES.len() >= 400, "only {} texts", MODULES.len());
}

#[test]
fn zeros_of_one_type_have_one_name() {
    for (kernel, source) in parsed() {
        let module = &MODULES[&*source.0].0;
        let types = zero_values(module);
        let inner: HashSet<_> = types.iter().map(|ty| &module.types[*ty].inner).collect();
        assert_eq!(types.len(), inner.len(), "{}: {inner:?}", kernel.label());
    }
}

/// Writes as many kernels as it takes to cover every value of every override of the run's texts.
#[test]
fn every_kernel_is_written_for_vulkan_metal_dx12_and_opengl() {
    let mut seen = BTreeSet::new();
    let mut new = |(text, constants): &Source| {
        let values = constants.iter().map(|value| (text.clone(), *value));
        let inserted = values.map(|value| seen.insert(value));
        inserted.fold(false, |a, b| a | b)
    };
    let chosen: Vec<&(Kernel, Source)> = parsed().filter(|k| new(&k.1)).collect();
    assert!(chosen.len() >= 400, "only {} kernels", chosen.len());
    let write = |(kernel, source): &&(Kernel, Source)| write(kernel, source);
    in_halves(&chosen, |half| half.iter().for_each(write));
}

#[test]
fn the_constants_are_exactly_the_overrides() {
    for (kernel, source) in parsed() {
        let (module, _) = &MODULES[&*source.0];
        let overrides = module.overrides.iter();
        let declared: BTreeSet<String> = overrides.filter_map(|(_, o)| o.name.clone()).collect();
        let given: BTreeSet<String> = constants(source).into_keys().collect();
        assert_eq!(declared, given, "{}", kernel.label());
    }
}

/// Guards the checks above: it fails if kernels are missing from the list.
#[test]
fn the_kernels_are_of_every_walk_and_hold_every_choice() {
    let walks: BTreeSet<&str> = KERNELS.iter().map(|(k, _)| k.walk.name()).collect();
    assert_eq!(walks, Walk::NAMES.into());
    let mut outs: BTreeSet<StoreFormat> = KERNELS.iter().map(|(k, _)| k.out).collect();
    // Partial sums have many sizes, so they are left out.
    outs.retain(|out| !matches!(out, StoreFormat::PartialSum(_)));
    let partials = [1, 2, 4].map(StoreFormat::Partial);
    let all = partials.into_iter().chain(StoreFormat::RESULTS);
    assert_eq!(outs, all.collect());
    // Rows by every number of invocations, with every number of loads, and each form of the text.
    let rows = KERNELS.iter().filter_map(|(k, _)| match k.walk {
        Walk::Rows(text) => Some(text),
        _ => None,
    });
    let rows: Vec<_> = rows.collect();
    let lanes: BTreeSet<u32> = rows.iter().map(|text| text.lanes).collect();
    assert_eq!(lanes, (0..=8).map(|log2| 1 << log2).collect());
    let loads: BTreeSet<u32> = rows.iter().map(|text| text.loads).collect();
    assert!((1..=16).all(|n| loads.contains(&n)), "{loads:?}");
    for on in [false, true] {
        for words in [1, 4] {
            assert!(rows.iter().any(|t| (t.looped, t.words) == (on, words)));
            assert!(rows.iter().any(|t| (t.masked, t.words) == (on, words)));
            assert!(rows.iter().any(|t| (t.rows > 0, t.words) == (on, words)));
        }
    }
    let finish = KERNELS.iter().filter_map(|(k, _)| match k.walk {
        Walk::Finish(text) => Some(text.lanes),
        _ => None,
    });
    assert_eq!(finish.collect::<BTreeSet<_>>(), [1, 8, 64, 256].into());
    // Every override has a value; overrides with few values have exactly these.
    let mut values: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for (name, x) in KERNELS.iter().flat_map(|(_, (_, constants))| constants) {
        values.entry(name).or_default().insert(*x);
    }
    let modules = MODULES.values();
    let declared = modules.flat_map(|(module, _)| module.overrides.iter());
    for name in declared.filter_map(|(_, o)| o.name.as_deref()) {
        assert!(values.contains_key(name), "{name} is given no value");
    }
    let few: [(&str, &[u64]); 3] = [
        ("OUT", &[0, 1, 2, 3, 4, 5, 6]),
        ("WG", &[32, 64, 128, 256]),
        ("LAST", &[0, 1]),
    ];
    for (name, expected) in few {
        assert_eq!(values[name], expected.iter().copied().collect(), "{name}");
    }
    let has = |flags: &dyn Fn(&Kernel) -> bool| KERNELS.iter().any(|(k, _)| flags(k));
    // An index with and without `last`, and sums with and without several blocks.
    for on in [false, true] {
        assert!(has(
            &|k| matches!(k.acc, Accumulator::Index { last, .. } if last == on)
        ));
        assert!(has(
            &|k| matches!(k.walk, Walk::Elementwise(taken) if taken.chained == on)
        ));
        assert!(has(&|k| match k.walk {
            Walk::Rows(text) => k.acc.sum().is_some() && text.looped == on,
            _ => false,
        }));
    }
    for order in ORDERS {
        for dtype in DType::ALL {
            for nan in POLICIES {
                let keys = wgreduce::unstable::Keys::new(dtype, order, nan, false);
                let found = has(&|k| k.acc == Accumulator::Value(keys));
                assert!(found, "{dtype} {order:?} {nan:?}");
            }
        }
    }
}

/// Devices do not clear workgroup memory: what atomic operations change must be stored before.
#[test]
fn atomic_workgroup_memory_is_stored_to_before_it_is_changed() {
    let mut checked = 0;
    for text in MODULES.keys() {
        for variable in text.split("var<workgroup> ").skip(1) {
            let (name, rest) = variable.split_once(": ").expect("a type");
            let kind = rest.split_once(';').expect("a declaration").0;
            if kind.contains("atomic") {
                assert!(text.contains(&format!("atomicStore(&{name}")), "{name}");
                checked += 1;
            }
        }
    }
    assert!(checked > 0);
}

/// No addition of floats takes the result of another, or a compiler may find out what both amount to: a sum or a difference
/// becomes an integer before anything is made of it, and is neither kept, passed on nor returned. Products are exact, and
/// may be added.
#[test]
fn sums_of_floats_become_integers_at_once() {
    let mut additions = 0;
    for (kernel, source) in parsed() {
        let (module, info) = &MODULES[&*source.0];
        let functions = module.functions.iter();
        let functions = functions.map(|(handle, f)| (f, &info[handle]));
        let entries = module.entry_points.iter().enumerate();
        let entries = entries.map(|(i, entry)| (&entry.function, info.get_entry_point(i)));
        for (function, info) in functions.chain(entries) {
            let float = |e: naga::Handle<naga::Expression>| {
                let scalar = info[e].ty.inner_with(&module.types).scalar();
                scalar.is_some_and(|scalar| scalar.kind == naga::ScalarKind::Float)
            };
            let of =
                |e: naga::Handle<naga::Expression>, product: bool| match function.expressions[e] {
                    naga::Expression::Binary { op, .. } if float(e) => {
                        (op == naga::BinaryOperator::Multiply) == product
                    }
                    _ => false,
                };
            // What every result of floats may be used for.
            let mut left = HashMap::new();
            for (e, _) in function.expressions.iter() {
                if of(e, false) || of(e, true) {
                    left.insert(e, info[e].ref_count);
                }
            }
            additions += left.keys().filter(|&&e| of(e, false)).count();
            for (_, user) in function.expressions.iter() {
                let operands = match *user {
                    naga::Expression::As { expr, kind, .. } if kind != naga::ScalarKind::Float => {
                        vec![expr]
                    }
                    naga::Expression::Binary { left, right, .. } => {
                        let products = [left, right].into_iter().filter(|&e| of(e, true));
                        products.collect()
                    }
                    _ => continue,
                };
                for operand in operands {
                    if let Some(uses) = left.get_mut(&operand) {
                        *uses -= 1;
                    }
                }
            }
            let other = left.values().filter(|&&uses| uses > 0).count();
            assert_eq!(other, 0, "{} of {:?}", kernel.label(), function.name);
        }
    }
    assert!(additions > 0, "no addition of floats");
}
