//! The kernels of plans for the grid and the catalogue, in every element type and way to reduce, under every class of
//! device.

use crate::grid::{CLASSES, class, elementwise, reductions, variants, views};
use crate::{catalogue, sum_problem};
use naga::back::PipelineConstants;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::collections::HashMap;
use wgreduce::unstable::{Kernel, Sum};
use wgreduce::{BufferSplits, Caps, DType, IndexType, NanPolicy, Op, Plan, Problem};

/// The text and override values that a pipeline is compiled from.
pub type Source = (String, Vec<(&'static str, u64)>);

pub fn source(kernel: &Kernel) -> Source {
    let source = kernel.source(false);
    let constants = source.constants.into_iter();
    let constants = constants.map(|(name, x)| (name, x as u64));
    (source.wgsl, constants.collect())
}

/// A text as naga reads it. A kernel that uses an optional capability is refused, but for what all but Mesa's software drivers
/// have, where the kernel may use it.
pub fn module(kernel: &Kernel, text: &str) -> Result<(naga::Module, ModuleInfo), String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let capabilities = match kernel.acc.sum().is_some_and(Sum::unpacks) {
        true => Capabilities::SHADER_FLOAT16_IN_FLOAT32,
        false => Capabilities::empty(),
    };
    let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    let info = info.map_err(|e| e.emit_to_string(text))?;
    Ok((module, info))
}

/// The override values as naga takes them.
pub fn constants((_, constants): &Source) -> PipelineConstants {
    let pair = |&(name, x): &(&str, u64)| (name.to_owned(), x as f64);
    constants.iter().map(pair).collect()
}

/// The kernels of these element types on every device, each source once, in the order in which plans
/// ask for them.
pub fn kernels(types: &[DType]) -> Vec<(Kernel, Source)> {
    kernels_on(&devices(), types)
}

/// The same on some devices.
pub fn kernels_on(devices: &[Caps], types: &[DType]) -> Vec<(Kernel, Source)> {
    let mut seen = HashMap::new();
    for caps in devices {
        for problem in types.iter().flat_map(|&dtype| problems(dtype)) {
            // Data that begins at a vec4, and anywhere.
            for aligned in [true, false] {
                let plan = Plan::in_pieces(&problem, caps, &BufferSplits::default(), aligned);
                let plan = plan.unwrap_or_else(|e| panic!("{problem}: {e}"));
                for pass in plan.passes() {
                    let number = seen.len();
                    seen.entry(pass.kernel).or_insert(number);
                }
            }
        }
    }
    let mut kernels: Vec<(Kernel, usize)> = seen.into_iter().collect();
    kernels.sort_unstable_by_key(|&(_, number)| number);
    let mut sources = std::collections::HashSet::new();
    let kernels = kernels.into_iter();
    let mut all: Vec<_> = kernels.map(|(k, _)| (k, source(&k))).collect();
    all.retain(|(_, source)| sources.insert(source.clone()));
    all
}

/// WebGPU's default limits with each class's tuning, on drivers that take long kernels and on others.
pub fn devices() -> Vec<Caps> {
    let short = |caps: &Caps| Caps {
        long_kernels: false,
        ..caps.clone()
    };
    let all = CLASSES.map(class).into_iter();
    all.flat_map(|caps| [short(&caps), caps]).collect()
}

/// The problems of the grid and of the catalogue in an element type.
fn problems(dtype: DType) -> Vec<Problem> {
    let mut all = reductions(dtype);
    all.extend(views(dtype));
    for case in catalogue::catalogue() {
        // The catalogue names most shapes for float32 only; each makes kernels for every type.
        if case.op == Op::ArgMin && case.dtype == DType::F32 {
            let shape = &case.shapes[0];
            all.extend(variants(dtype, shape, case.axes[0]).expect("a case"));
            all.push(Problem::extremes(dtype, shape, case.axes[0]).expect("a case"));
        } else if case.op == Op::ReduceMin && case.dtype == DType::F32 {
            all.push(Problem::reduce_min(dtype, &case.shapes[0], &case.axes).expect("a case"));
        } else if case.op == Op::Min {
            all.push(Problem::min(dtype, &case.shapes).expect("a case"));
        }
    }
    all.extend(widths(dtype));
    all.extend(tops(dtype));
    all.extend(all_sums(dtype));
    let ignoring = all.iter().map(|p| p.clone().nan(NanPolicy::Ignore));
    let ignoring: Vec<Problem> = ignoring.collect();
    all.extend(ignoring);
    all.extend(elementwise(dtype));
    all
}

/// The best elements of rows and columns: few and many, in one part and in several.
fn tops(dtype: DType) -> Vec<Problem> {
    let mut all = Vec::new();
    for (shape, of) in [
        ([4096, 16, 1], &[1, 3][..]),
        ([4096, 100, 1], &[10, 60]),
        ([64, 1000, 1], &[7, 600]),
        ([4, 20_000, 1], &[50, 2000]),
        ([2, 3000, 500], &[2, 16]),
    ] {
        for &k in of {
            let top = Problem::top_k(dtype, &shape, 1, k).expect("a problem");
            all.push(top.clone().index_type(IndexType::U32));
            all.push(top.largest(false));
        }
    }
    all
}

/// Sums, each in every way.
fn all_sums(dtype: DType) -> Vec<Problem> {
    let shapes = [
        [4096, 3, 1],
        [1 << 20, 16, 1],
        [64, 400, 1],
        [1, 1 << 22, 1],
        [1, 4096, 4096],
        [3, 70, 5],
        [8, 16, 64],
    ];
    let ways = shapes
        .iter()
        .flat_map(|s| (0..10).map(move |way| sum_problem(dtype, s, &[1], way)));
    let scattered = (0..10).map(|way| sum_problem(dtype, &[6, 80, 10], &[0, 2], way));
    ways.chain(scattered).flatten().collect()
}

/// Rows and columns of widths that kernels are written out for, in elements or in lines of 128 bytes.
fn widths(dtype: DType) -> Vec<Problem> {
    let mut all = Vec::new();
    for width in [1, 2, 3, 5, 7, 8, 10, 12, 16, 17, 20, 25, 33] {
        let row = 128 * width / dtype.size();
        for shape in [[1 << 20, width, 1], [64, 600, row], [2048, 40, row]] {
            all.push(Problem::arg_min(dtype, &shape, 1).expect("a problem"));
            all.push(Problem::reduce_max(dtype, &shape, &[1]).expect("a problem"));
        }
    }
    all
}
