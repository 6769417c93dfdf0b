//! DirectX 12's shader text, compiled by DXC and run.

use crate::choice::few;
use crate::device::Device;
use crate::dxc::Dxc;
use crate::spots::{self, Spot};
use crate::{Result, hlsl, in_parallel, none_of};
use naga::back::hlsl::ShaderModel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;
use support::grid::{CLASSES, class};
use support::kernels::devices;
use support::{drawn, one_of, taken, taken_problem};
use wgreduce::unstable::Walk;
use wgreduce::{BufferSplits, DType, Plan, reference};

/// Compiles the run's share of a choice of every device's kernels to DXIL.
pub fn compile(library: &Path) -> Result<()> {
    let mut all = few(&devices());
    all.retain(|(kernel, _)| taken(("dxc", kernel)));
    let mut texts = BTreeMap::new();
    for (kernel, source) in &all {
        let label = kernel.label();
        let hlsl = hlsl::write(kernel, source, ShaderModel::V6_0)?;
        // A device may have any shader model from 6.0 on.
        if hlsl.text != hlsl::write(kernel, source, ShaderModel::V6_7)?.text {
            return Err(format!("{label}: HLSL that depends on the shader model"));
        }
        texts.entry(hlsl.text).or_insert((hlsl.entry, label));
    }
    let jobs: Vec<_> = texts.into_iter().collect();
    let compile = |dxc: &mut Dxc, (text, (entry, label)): &(String, (String, String))| {
        let start = Instant::now();
        let done = dxc.compile(text, entry, "");
        let time = start.elapsed().as_secs_f64();
        match done {
            Ok(code) if code.starts_with(b"DXBC") => Ok((time, label.clone())),
            Ok(_) => Err(format!("{label}: no DXIL")),
            Err(e) => Err(format!("{label}: {e}")),
        }
    };
    let (mut times, mut failed) = (Vec::new(), Vec::new());
    for result in in_parallel(&jobs, || Dxc::load(library), compile)? {
        match result {
            Ok(time) => times.push(time),
            Err(e) => failed.push(e),
        }
    }
    none_of("DXC", &failed)?;
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (slowest, label) = times.first().ok_or("no kernels")?;
    let median = times[times.len() / 2].0;
    let (count, kernels) = (times.len(), all.len());
    println!(
        "DXC compiles {count} texts, of {kernels} kernels: median {median:.2} s, slowest {slowest:.2} s ({label})"
    );
    Ok(())
}

/// The results of an element type's problems.
#[derive(Default)]
struct Outcome {
    /// Whether the first failures are printed as they occur.
    shown: bool,
    runs: usize,
    passes: usize,
    kernels: usize,
    walks: BTreeSet<&'static str>,
    failed: Vec<String>,
}

/// Runs the run's share of golden cases and spots under each class, for the element types that are named, or for all.
pub fn run(library: &Path, names: &[&str]) -> Result<()> {
    let mut types = spots::types();
    types.retain(|t| names.is_empty() || names.contains(&t.to_string().as_str()));
    let outcomes = in_parallel(&types, || Device::open(library), of_type)?;
    let mut all = Outcome::default();
    for outcome in outcomes {
        let outcome = outcome?;
        all.runs += outcome.runs;
        all.passes += outcome.passes;
        all.kernels += outcome.kernels;
        all.walks.extend(outcome.walks);
        all.failed.extend(outcome.failed);
    }
    none_of("HLSL by DXC on lavapipe", &all.failed)?;
    let missing = Walk::NAMES.into_iter();
    let missing: Vec<_> = missing.filter(|f| !all.walks.contains(f)).collect();
    if names.is_empty() && !missing.is_empty() {
        return Err(format!("no plan of {missing:?}"));
    }
    let (runs, passes, kernels) = (all.runs, all.passes, all.kernels);
    let types = types.len();
    println!(
        "HLSL by DXC on lavapipe: {runs} runs of {types} types equal the reference, {passes} passes, {kernels} kernels"
    );
    Ok(())
}

/// Texts and their replacements in HLSL.
type Changes = &'static [(&'static str, &'static str)];

/// Faults of HLSL. Some run of rows must notice each of them.
const FAULTS: [(&str, Changes); 8] = [
    (
        "a reversed comparison",
        &[("return (a < b);", "return (b < a);")],
    ),
    ("deltas swapped", &[("P.src_delta", "P.dst_delta")]),
    (
        "a register for another",
        &[("register(t1)", "register(t0)")],
    ),
    ("another space", &[("register(u0)", "register(u0, space1)")]),
    ("fewer invocations", &[("numthreads(256", "numthreads(128")]),
    (
        "workgroup memory not written",
        &[("wg_acc[min(uint(lid_1), 255u)] = ", "wg_acc[0u] = ")],
    ),
    ("no barrier", &[("GroupMemoryBarrierWithGroupSync();", "")]),
    ("an element less", &[("P.len;", "P.len - 1u;")]),
];

/// A driver that takes subnormal numbers of float16 as 0, as WGSL allows.
const FLUSHED: (&str, &str) = (
    "asuint(float2(f16tof32(halves),",
    "uint2((halves & 0x7c00u) != 0u, (halves & 0x7c000000u) != 0u) * asuint(float2(f16tof32(halves),",
);
/// A kernel takes every answer of a driver for the right one.
const UNHEARD: (&str, &str) = ("(told != ", "(told - told != 0u * ");

/// Shows that faults are noticed, with rows by 256 invocations, in slices that another pass finishes, and that sums of float16
/// are right on a driver that takes some elements as 0.
pub fn faults(library: &Path) -> Result<()> {
    let mut device = Device::open(library)?;
    let rows = spots::rows().map_err(|e| format!("rows: {e}"))?;
    let halves = spots::subnormal_halves()?;
    let mut failed = Vec::new();
    let mut judged = |name: &str, spots: &[Spot], changes: Changes, right: bool| {
        device.change(changes);
        let mut outcome = Outcome::default();
        for (turn, spot) in (0..).zip(spots) {
            judge(&mut device, spot, turn, &mut outcome)?;
        }
        let told = outcome.failed.first().map_or("nothing", String::as_str);
        let told: String = told.chars().take(160).collect();
        let (wrong, runs) = (outcome.failed.len(), outcome.runs);
        println!("  planted: {name}: {wrong} of {runs} wrong: {told}");
        if right != outcome.failed.is_empty() {
            failed.push(format!("{name}: {wrong} of {runs} wrong"));
        }
        Ok::<_, String>(())
    };
    judged("none", &rows, &[], true)?;
    for (name, changes) in FAULTS {
        judged(name, &rows, changes, false)?;
    }
    judged("subnormals taken as 0", &halves, &[FLUSHED], true)?;
    judged("the same, unheard", &halves, &[FLUSHED, UNHEARD], false)?;
    none_of("planted faults", &failed)
}

fn of_type(device: &mut Device, &dtype: &DType) -> Result<Outcome> {
    let (start, before) = (Instant::now(), device.kernels());
    device.compiled = [0.0; 2];
    let mut outcome = Outcome {
        shown: true,
        ..Outcome::default()
    };
    spots::each(dtype, |problem, seed, inputs| {
        // All are planned: that shows which walks there are.
        for kind in CLASSES {
            let plan = Plan::new(problem, &class(kind)).map_err(|e| format!("{problem}: {e}"))?;
            let walks = plan.passes().iter().map(|p| p.kernel.walk.name());
            outcome.walks.extend(walks);
        }
        // With all its data, as most of the time is DXC's.
        if !taken_problem(one_of(), "run", problem, ()) {
            return Ok(());
        }
        let spot = Spot::new(problem, inputs())?;
        judge(device, &spot, drawn((problem, seed)), &mut outcome)
    })?;
    outcome.kernels = device.kernels() - before;
    let (runs, kernels, failed) = (outcome.runs, outcome.kernels, outcome.failed.len());
    let [dxc, driver] = device.compiled;
    let all = start.elapsed().as_secs_f64();
    println!(
        "  {dtype}: {runs} runs, {failed} wrong, {kernels} kernels; {all:.0} s, of which DXC {dxc:.0} and lavapipe's compiler {driver:.0}"
    );
    Ok(outcome)
}

/// Runs a problem under each class, with data that begins at a vec4 inside a binding or at any element: each
/// class takes the other in the next turn, and neighbouring classes differ.
fn judge(device: &mut Device, spot: &Spot, turn: u64, outcome: &mut Outcome) -> Result<()> {
    let problem = &spot.problem;
    let size = problem.dtype().size();
    for (kind, number) in CLASSES.into_iter().zip(turn..) {
        let (aligned, begin) = match number % 2 {
            0 => (true, [48, 80]),
            _ => (false, [5 * size, 24 + size]),
        };
        let plan = Plan::in_pieces(problem, &class(kind), &BufferSplits::default(), aligned);
        let plan = plan.map_err(|e| format!("{problem}: {e}"))?;
        outcome.passes += plan.passes().len();
        outcome.runs += 1;
        let told = match device.run(problem, &plan, &spot.inputs, begin) {
            Ok(outputs) => {
                let pairs = outputs.iter().zip(&spot.expected);
                let mut pairs = problem.outputs().into_iter().zip(pairs);
                pairs.find_map(|(o, (got, expected))| {
                    reference::first_difference(&o, expected, got).map(|d| d.to_string())
                })
            }
            Err(e) => Some(e),
        };
        if let Some(told) = told {
            let told = format!("{problem}, {kind:?}, from {begin:?}: {told}; {plan}");
            if outcome.shown && outcome.failed.len() < 3 {
                println!("  wrong: {told}");
            }
            outcome.failed.push(told);
        }
    }
    Ok(())
}
