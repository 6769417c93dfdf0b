//! `wgreduce plan`: what would be dispatched.
//!
//! Prints the table and the JSON; `explain.rs` makes the drawings. Runs nothing.

use comfy_table::Table;
use serde_json::{Value, json};
use wgreduce::unstable::Pass;
use wgreduce::{AdapterClass, Caps, DType, Error, Plan, Problem};

use crate::args::{self, Common};
use crate::device::Device;
use crate::explain::explain;
use crate::failure::{Failure, number_of, write_stdout};
use crate::memory::{Costs, LineUse};
use crate::operator;
use crate::print::{align_right, plain};
use crate::request::with_options;
use crate::tuning;

/// Passes that are listed; JSON holds all of them.
const SHOWN: usize = 20;

pub fn run(args: &args::Plan, common: &Common) -> Result<(), Failure> {
    let Some(dtype) = common.dtype else {
        return Err(Failure::Request(
            "plan needs --dtype, as in --dtype float32".into(),
        ));
    };
    let problem = problem(args, dtype)?.nan(common.nan);
    let (device, caps) = target(args, common)?;
    let plan = Plan::new(&problem, &caps)?;
    let text = match args.json {
        _ if args.wgsl => wgsl(&plan),
        true => format!("{:#}", to_json(&device, &caps, &problem, &plan)),
        false => describe(&device, &caps, &problem, &plan),
    };
    write_stdout(&format!("{}\n", text.trim_end()))
}

/// What is planned for, in words, and its caps.
fn target(args: &args::Plan, common: &Common) -> Result<(String, Caps), Failure> {
    if let Some(class) = args.class {
        let class = AdapterClass::from(class);
        let caps = tuning::from_file(common, &Caps::typical(class))?;
        let name = format!("a typical {class:?} device").to_lowercase();
        return Ok((name, caps));
    }
    Ok(match Device::choose(common)? {
        Device::Gpu(reducer) => {
            let info = reducer.adapter_info();
            let name = format!("{} ({})", info.name, info.backend);
            (name, reducer.caps().clone())
        }
        Device::Cpu(_) => {
            let caps = tuning::from_file(common, &Caps::webgpu_default())?;
            ("WebGPU's default limits".into(), caps)
        }
    })
}

/// The different kernels of a plan, in order, as wgpu is given them.
fn wgsl(plan: &Plan) -> String {
    let mut kernels: Vec<String> = Vec::new();
    for pass in plan.passes() {
        let kernel = &pass.kernel;
        let source = kernel.source(false);
        let constants = source.constants.into_iter();
        let constants: Vec<String> = constants.map(|(n, x)| format!("{n} = {x}")).collect();
        let text = format!(
            "// {}\n// entry point {}, overrides {}\n{}\n",
            pass.label(),
            kernel.walk.entry_point(),
            constants.join(", "),
            source.wgsl.trim_end(),
        );
        if !kernels.contains(&text) {
            kernels.push(text);
        }
    }
    kernels.join("\n")
}

fn problem(args: &args::Plan, dtype: DType) -> Result<Problem, Failure> {
    if args.shapes.len() > 1 && !args.op.is_elementwise() {
        let why = "only min and max take several --shape";
        return Err(Failure::Request(why.into()));
    }
    let axes = match (&args.axis, &args.axes) {
        (Some(axis), _) => std::slice::from_ref(axis),
        (None, Some(axes)) => axes.as_slice(),
        (None, None) => &[],
    };
    let problem = operator::problem(args.op, dtype, &args.shapes, axes, args.k.unwrap_or(0));
    let problem = with_options(problem.map_err(Error::from)?, &args.options);
    Ok(problem
        .keepdims(args.keepdims.keepdims)
        .with_values(args.values)
        .largest(!args.smallest))
}

fn describe(device: &str, caps: &Caps, problem: &Problem, plan: &Plan) -> String {
    let dispatches = number_of(plan.passes().len(), "dispatch");
    let moved = bytes_moved(plan);
    let scratch = plan.scratch_bytes();
    let dims = canonical(problem);
    let dims = match (problem.op().is_elementwise(), dims.is_empty()) {
        (true, _) => "elementwise".into(),
        (_, true) => "one element".into(),
        _ => dims.join(", "),
    };
    let more = match plan.passes().len() {
        n if n > SHOWN => format!("\n... and {} passes more", n - SHOWN),
        _ => String::new(),
    };
    let table = table(plan);
    format!(
        "{problem}\non {device}\n{dispatches}: {moved} bytes read and written, {scratch} bytes of scratch\n\
         canonical: {dims}\n\n{explained}\n\n{table}{more}\n\n{costs}{tuning}",
        explained = explain(problem, plan),
        table = table.trim_fmt(),
        costs = costs(problem, plan).unwrap_or_default(),
        tuning = tuning::text(caps, ""),
    )
}

/// Costs that can be computed without a device.
fn costs(problem: &Problem, plan: &Plan) -> Option<String> {
    let costs = Costs::of(problem, plan)?;
    let lines = |[small, large]: [LineUse; 2]| {
        format!(
            "128-byte lines used {:.2} at once, {:.2} cached; by subgroups of 64 {:.2}, {:.2}\n  \
             {} bytes in flight by each of {} invocations; ",
            small.at_once,
            small.cached,
            large.at_once,
            large.cached,
            costs.in_flight,
            costs.invocations,
        )
    };
    Some(format!(
        "on paper: {}partials {:.2} %; dispatches {}, barriers {}\n",
        costs.lines.map_or(String::new(), lines),
        costs.partials * 100.0,
        costs.dispatches,
        costs.barriers,
    ))
}

fn table(plan: &Plan) -> Table {
    let mut table = plain([
        "pass",
        "kernel",
        "workgroups",
        "read",
        "written",
        "iterations",
    ]);
    for (i, pass) in plan.passes().iter().take(SHOWN).enumerate() {
        let [x, y, z] = pass.workgroups;
        table.add_row([
            i.to_string(),
            pass.label(),
            format!("{x} x {y} x {z}"),
            pass.src_bytes().to_string(),
            pass.dst_bytes().to_string(),
            pass.iterations.to_string(),
        ]);
    }
    align_right(&mut table, [0, 2, 3, 4, 5]);
    table
}

/// The dimensions that count, neighbours of one kind as one: `512 kept`, `64 reduced`.
fn canonical(problem: &Problem) -> Vec<String> {
    let dims = problem.dims();
    let kind = |reduced| if reduced { "reduced" } else { "kept" };
    dims.iter()
        .map(|d| format!("{} {}", d.size, kind(d.reduced)))
        .collect()
}

fn to_json(device: &str, caps: &Caps, problem: &Problem, plan: &Plan) -> Value {
    let outputs = problem.outputs();
    let outputs: Vec<Value> = outputs
        .iter()
        .map(|o| json!({ "dtype": o.dtype.name(), "shape": o.shape }))
        .collect();
    json!({
        "op": problem.op().name(),
        "dtype": problem.dtype().name(),
        "inputs": problem.inputs(),
        "outputs": outputs,
        "canonical": canonical(problem),
        "device": device,
        "tuning": tuning::json(&caps.tuning),
        "passes": plan.passes().iter().map(pass).collect::<Vec<_>>(),
        "bytes_moved": bytes_moved(plan),
        "scratch_bytes": plan.scratch_bytes(),
        "on_paper": Costs::of(problem, plan).map(on_paper),
    })
}

fn on_paper(costs: Costs) -> Value {
    let line = |share: fn(&LineUse) -> f64| {
        costs
            .lines
            .as_ref()
            .map(|lines| lines.each_ref().map(share))
    };
    json!({
        "lines_at_once": line(|l| l.at_once),
        "lines_cached": line(|l| l.cached),
        "bytes_in_flight": costs.in_flight,
        "invocations": costs.invocations,
        "partials": costs.partials,
        "dispatches": costs.dispatches,
        "barriers": costs.barriers,
    })
}

fn pass(pass: &Pass) -> Value {
    json!({
        "kernel": pass.label(),
        "workgroups": pass.workgroups,
        "read_bytes": pass.src_bytes(),
        "written_bytes": pass.dst_bytes(),
        "iterations": pass.iterations,
    })
}

fn bytes_moved(plan: &Plan) -> u64 {
    let passes = plan.passes().iter();
    passes.map(|p| p.src_bytes() + p.dst_bytes()).sum()
}
