//! Verifies a case before it is timed: by the reference, or, where that takes a CPU too long, its kernels by the
//! reference on fewer bytes and the result by another plan.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use wgreduce::unstable::Kernel as Planned;
use wgreduce::wgpu::{self, Buffer, BufferUsages as U};
use wgreduce::{
    AdapterClass, BoundReduction, Buffers, Caps, Element, Error, Output, Plan, Problem, Reducer,
    Tensor, Tuning, reference,
};

use super::catalogue::Case;
use super::gpu::Gpu;
use super::kernel::{self, Kernel, MOST_WORKGROUPS};
use crate::failure::Failure;

/// Larger inputs take the reference too long.
const WHOLE_BYTES: u64 = 64 << 20;
/// The reference takes less than a second for them.
const FEWER_BYTES: u64 = 16 << 20;

/// What came of it.
pub struct Checked {
    /// For people.
    pub how: String,
    /// The reference's time, if it computed the whole result.
    pub cpu_ns: Option<u64>,
    /// The first difference.
    pub wrong: Option<String>,
}

/// A case's data and its result on the device.
pub struct Data {
    pub sources: Vec<Buffer>,
    pub targets: Vec<Buffer>,
}

impl Data {
    pub fn new(gpu: &Gpu, case: &Case, problem: &Problem) -> Result<Data, Failure> {
        let inputs = (0..problem.inputs().len()).zip(1..);
        let source = |(i, seed)| gpu.noise(problem.input_bytes(i), seed, case.noise());
        Ok(Data {
            targets: targets(gpu, problem)?,
            sources: inputs.map(source).collect::<Result<_, _>>()?,
        })
    }
}

fn targets(gpu: &Gpu, problem: &Problem) -> Result<Vec<Buffer>, Failure> {
    let target = |output: &Output| gpu.buffer(output.bytes(), U::STORAGE | U::COPY_SRC);
    problem.outputs().iter().map(target).collect()
}

/// Binds a problem to the beginnings of buffers.
pub fn bind(
    reducer: &Reducer,
    problem: &Problem,
    sources: &[Buffer],
    targets: &[Buffer],
) -> Result<BoundReduction, Failure> {
    fn slice(buffer: &Buffer, bytes: u64) -> Tensor<'_> {
        buffer.slice(..bytes.next_multiple_of(4)).into()
    }
    let inputs = sources.iter().zip(0..problem.inputs().len());
    let inputs: Vec<Tensor<'_>> = inputs
        .map(|(buffer, i)| slice(buffer, problem.input_bytes(i)))
        .collect();
    let outputs = targets.iter().zip(problem.outputs());
    let outputs: Vec<Tensor<'_>> = outputs.map(|(b, o)| slice(b, o.bytes())).collect();
    Ok(reducer.prepare_blocking(problem)?.bind(Buffers {
        inputs: &inputs,
        outputs: &outputs,
        scratch: None,
    })?)
}

/// A case to verify: its problem, the buffers of its data and of its result.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    pub gpu: &'a Gpu<'a>,
    pub reducer: &'a Reducer,
    pub case: &'a Case,
    pub problem: &'a Problem,
    pub sources: &'a [Buffer],
    pub targets: &'a [Buffer],
}

fn largest_input(problem: &Problem) -> u64 {
    let bytes = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
    bytes.max().unwrap_or(0)
}

impl Trial<'_> {
    /// Computes the result and verifies it.
    pub fn check(self) -> Result<Checked, Failure> {
        self.run()?;
        match largest_input(self.problem) <= WHOLE_BYTES {
            true => self.whole(),
            false => self.in_parts(),
        }
    }

    fn run(self) -> Result<(), Failure> {
        let bound = bind(self.reducer, self.problem, self.sources, self.targets)?;
        self.gpu.time(1, |pass| bound.record(pass))?;
        Ok(())
    }

    /// By the reference.
    fn whole(self) -> Result<Checked, Failure> {
        let inputs = self.case.inputs();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let start = Instant::now();
        let expected = reference::evaluate(self.problem, &inputs).map_err(Error::from)?;
        let cpu_ns = start.elapsed().as_nanos() as u64;
        let mut wrong = None;
        let outputs = self.problem.outputs();
        for ((output, expected), target) in outputs.iter().zip(&expected).zip(self.targets) {
            let actual = self.gpu.download(target, output.bytes())?;
            let found = reference::first_difference(output, expected, &actual);
            wrong = wrong.or(found.map(|difference| difference.to_string()));
        }
        Ok(Checked {
            how: "all by the reference".into(),
            cpu_ns: Some(cpu_ns),
            wrong,
        })
    }

    /// The kernels by the reference on fewer bytes, and the whole result by a second plan.
    fn in_parts(self) -> Result<Checked, Failure> {
        let (gpu, reducer, problem) = (self.gpu, self.reducer, self.problem);
        let kernels = kernels(&Plan::new(problem, reducer.caps())?);
        let found = with_fewer_bytes(self.case, problem, reducer.caps(), &kernels)?;
        let (fewer, met) = (found.case, found.met);
        let of_fewer = problem_of(&fewer, problem)?;
        let data = Data::new(gpu, &fewer, &of_fewer)?;
        let small = Trial {
            gpu,
            reducer: &reducer.with_caps(found.caps),
            case: &fewer,
            problem: &of_fewer,
            sources: &data.sources,
            targets: &data.targets,
        };
        small.run()?;
        let shapes: Vec<String> = fewer.shapes.iter().map(|s| format!("{s:?}")).collect();
        let shapes = shapes.join(" ");
        let mut how = format!(
            "{met} of {} kernels by the reference on {shapes}",
            kernels.len()
        );
        let mut wrong = small
            .whole()?
            .wrong
            .map(|difference| format!("{shapes}: {difference}"));
        match second(problem, reducer.caps()) {
            None => wrong = wrong.or(Some("no other plan to verify it by".into())),
            Some(caps) => {
                let (second, others) = (reducer.with_caps(caps), targets(gpu, problem)?);
                let again = Trial {
                    reducer: &second,
                    targets: &others,
                    ..self
                };
                again.run()?;
                wrong = wrong.or(difference(gpu, problem, self.targets, &others)?);
                let label = Plan::new(problem, second.caps())?.passes()[0].label();
                how += &format!("; all by another plan, {label}");
            }
        }
        Ok(Checked {
            how,
            cpu_ns: None,
            wrong,
        })
    }
}

fn kernels(plan: &Plan) -> HashSet<Planned> {
    plan.passes().iter().map(|pass| pass.kernel).collect()
}

/// A case's problem, with the options of another.
fn problem_of(case: &Case, options: &Problem) -> Result<Problem, Failure> {
    let problem = case.problem().map_err(Error::from)?;
    Ok(problem.nan(options.nan_policy()))
}

/// A smaller case, the caps to plan it with, and how many of some kernels its plan has.
struct Fewer {
    case: Case,
    caps: Caps,
    met: usize,
}

/// The case with dimensions halved until its plan has all of these kernels, or the most. Also tried on a device that
/// is smaller by the same factor, where the same work falls to an invocation.
fn with_fewer_bytes(
    case: &Case,
    problem: &Problem,
    caps: &Caps,
    kernels: &HashSet<Planned>,
) -> Result<Fewer, Failure> {
    let mut best: Option<Fewer> = None;
    let (mut queue, mut seen) = (VecDeque::from([case.clone()]), HashSet::new());
    while let Some(case) = queue.pop_front() {
        if !seen.insert(case.shapes.clone()) {
            continue;
        }
        let fewer = problem_of(&case, problem)?;
        let bytes = largest_input(&fewer);
        if bytes > FEWER_BYTES / 16 {
            // Counted from the end, where inputs of different ranks meet.
            let dims = 1..=case.shapes[0].len();
            queue.extend(dims.filter_map(|dim| halved(&case, dim)));
        }
        if bytes > FEWER_BYTES {
            continue;
        }
        for caps in [caps.clone(), smaller(caps, largest_input(problem) / bytes)] {
            // A device may be too small for a plan.
            let Ok(plan) = Plan::new(&fewer, &caps) else {
                continue;
            };
            let met = self::kernels(&plan).intersection(kernels).count();
            if best.as_ref().is_none_or(|best| met > best.met) {
                let case = case.clone();
                best = Some(Fewer { case, caps, met });
            }
            if met == kernels.len() {
                queue.clear();
                break;
            }
        }
    }
    best.ok_or_else(|| Failure::Check(format!("{case} has no dimension to make smaller")))
}

/// The caps of a device that is smaller by a factor.
fn smaller(caps: &Caps, factor: u64) -> Caps {
    let workgroups = u64::from(caps.workgroups) / factor;
    let lowered = caps.lowered(caps.binding_bytes / factor, workgroups as u32);
    lowered.tuned(Tuning {
        invocations: (caps.tuning.invocations / factor).max(1),
        ..caps.tuning.clone()
    })
}

/// The case with a dimension halved in all inputs that have it; none if it is 1.
fn halved(case: &Case, from_end: usize) -> Option<Case> {
    let mut fewer = case.clone();
    for shape in &mut fewer.shapes {
        if let Some(i) = shape.len().checked_sub(from_end) {
            // Odd sizes stay odd.
            shape[i] = (shape[i] / 2) | (shape[i] % 2);
        }
    }
    (fewer.shapes != case.shapes).then_some(fewer)
}

/// Caps with which the problem is first read by another kernel.
fn second(problem: &Problem, caps: &Caps) -> Option<Caps> {
    let first = |caps: &Caps| Some(Plan::new(problem, caps).ok()?.passes().first()?.kernel);
    let own = first(caps)?;
    let classes = [
        AdapterClass::Integrated,
        AdapterClass::Discrete,
        AdapterClass::Software,
    ];
    let half = Tuning {
        workgroup: caps.tuning.workgroup / 2,
        ..caps.tuning.clone()
    };
    let never_filled = Tuning {
        invocations: 1 << 40,
        ..caps.tuning.clone()
    };
    let tunings = classes.map(Tuning::of).into_iter();
    let mut tunings = tunings.chain([half, never_filled]);
    tunings.find_map(|tuning| {
        let caps = caps.tuned(tuning);
        let differs = first(&caps).is_some_and(|kernel| kernel != own);
        differs.then_some(caps)
    })
}

/// The first of two results' outputs that differ, compared on the device.
pub fn difference(
    gpu: &Gpu,
    problem: &Problem,
    results: &[Buffer],
    others: &[Buffer],
) -> Result<Option<String>, Failure> {
    for (i, output) in problem.outputs().iter().enumerate() {
        let bytes = output.bytes();
        let count = differing(gpu, &results[i], &others[i], bytes, gpu.binding_bytes())?;
        if count > 0 {
            let words = bytes.div_ceil(4);
            return Ok(Some(format!(
                "output {i} differs from another plan's in {count} of {words} words"
            )));
        }
    }
    Ok(None)
}

/// In how many words two buffers differ in these first bytes, through bindings of `most` bytes.
fn differing(
    gpu: &Gpu,
    left: &Buffer,
    right: &Buffer,
    bytes: u64,
    most: u64,
) -> Result<u32, Failure> {
    const WGSL: &str = "@group(0) @binding(0) var<storage, read> left: array<u32>;
@group(0) @binding(1) var<storage, read> right: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: atomic<u32>;
@group(0) @binding(3) var<uniform> end: vec4<u32>; // words, and the bits of the last one
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
for (var i = id.x; i < end.x; i += 256u * grid.x) {
let bits = select(0xffffffffu, end.y, i + 1u == end.x);
if (((left[i] ^ right[i]) & bits) != 0u) { atomicAdd(&count, 1u); }
}
}
";
    let count = gpu.buffer(4, U::STORAGE | U::COPY_SRC)?;
    for (offset, len) in kernel::ranges(bytes.next_multiple_of(4), most) {
        let after = 8 * (offset + len).saturating_sub(bytes) as u32;
        let words = (len / 4) as u32;
        let end = gpu.uniform([words, u32::MAX >> after, 0, 0]);
        let resources = [
            kernel::part(left, (offset, len)),
            kernel::part(right, (offset, len)),
            count.as_entire_binding(),
            end.as_entire_binding(),
        ];
        let workgroups = u64::from(words).div_ceil(256).min(MOST_WORKGROUPS);
        let kernel = Kernel::new(gpu.device, WGSL.into(), &resources, workgroups as u32);
        gpu.time(1, |pass: &mut wgpu::ComputePass<'_>| kernel.record(pass))?;
    }
    let counted: Vec<u32> = Element::from_bytes(&gpu.download(&count, 4)?);
    Ok(counted[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::{BYTES, catalogue};
    use crate::bench::noise::Noise;
    use support::grid::{CLASSES, class};
    use wgreduce::AdapterChoice;

    #[test]
    fn differing_words_are_counted_to_the_last_byte() {
        // Without an adapter nothing is measured.
        let Ok(reducer) = Reducer::open_blocking(&AdapterChoice::Auto) else {
            return;
        };
        let gpu = Gpu::new(&reducer, false).unwrap();
        let limit = reducer.device().limits().max_buffer_size;
        assert!(gpu.has_room(3, 1 << 20) && !gpu.has_room(1, limit + 1));
        let all = Noise::Words(u64::MAX);
        let of = |bytes, noise| gpu.noise(bytes, 1, noise).unwrap();
        let (left, same) = (of(4096, all), of(4096, all));
        // Of the second word of two the highest byte is zero.
        let other = of(4096, Noise::Words(u64::MAX >> 8));
        for bytes in [4096, 7, 8, 9, 15, 16, 771] {
            let count = bytes as u32 / 8;
            for most in [256, 512, 1 << 20] {
                let differing = |right| differing(&gpu, &left, right, bytes, most).unwrap();
                assert_eq!(differing(&same), 0, "{bytes} by {most}");
                assert!(differing(&other).abs_diff(count) <= 2, "{bytes} by {most}");
            }
        }
    }

    #[test]
    fn every_large_case_has_a_second_plan_and_its_kernels_in_a_smaller_one() {
        for kind in CLASSES {
            let caps = Caps {
                binding_bytes: (1 << 31) - 4,
                buffer_bytes: 1 << 32,
                ..class(kind)
            };
            let (mut large, mut covered) = (0, 0);
            for case in catalogue() {
                let case = case.with_bytes(16 * BYTES);
                let problem = case.problem().unwrap();
                if largest_input(&problem) <= WHOLE_BYTES {
                    continue;
                }
                let kernels = kernels(&Plan::new(&problem, &caps).unwrap());
                let fewer = with_fewer_bytes(&case, &problem, &caps, &kernels).unwrap();
                let bytes = largest_input(&fewer.case.problem().unwrap());
                assert!(bytes <= FEWER_BYTES, "{case}: {bytes}");
                assert!(fewer.met > 0, "{case}: {kernels:?}");
                assert!(second(&problem, &caps).is_some(), "{case}");
                large += 1;
                covered += usize::from(fewer.met == kernels.len());
            }
            assert!(large > 200, "{large}");
            assert!(covered * 10 > large * 8, "{kind:?}: {covered} of {large}");
        }
    }
}
