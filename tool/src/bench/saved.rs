//! A report that was saved: what `--json` or the page in a browser wrote, read again.

use std::path::Path;

use serde_json::Value;
use wgreduce::wgpu::{AdapterInfo, Backend, DeviceType};
use wgreduce::{DType, Op};

use super::Part;
use super::catalogue::{Case, catalogue};
use super::gpu::{Spread, Timing};
use super::report::{Cost, Report, Row};
use crate::failure::Failure;
use crate::json;

const BACKENDS: [Backend; 6] = [
    Backend::Vulkan,
    Backend::Metal,
    Backend::Dx12,
    Backend::Gl,
    Backend::BrowserWebGpu,
    Backend::Noop,
];
/// What writes the files that `--from` and `--compare` read.
pub const WRITER: &str = "`wgreduce bench --json FILE` or the page in a browser";

/// Reads a report. The lines of its ceilings were not saved.
pub fn read(path: &Path) -> Result<Report, Failure> {
    let wrong = |why: String| Failure::file(path, why);
    let values: Vec<Value> = json::read(path, WRITER)?;
    let none = || wrong(format!("no row; name a file that {WRITER} writes"));
    let first = values.first().ok_or_else(none)?;
    let text = |name: &str| first[name].as_str().unwrap_or("?");
    let backend = BACKENDS.into_iter().find(|b| b.to_str() == text("backend"));
    let mut info = AdapterInfo::new(DeviceType::Other, backend.unwrap_or(Backend::Noop));
    info.name = text("device").into();
    info.driver = text("driver").into();
    let known = catalogue();
    let row = |(i, value)| {
        let row = row(value, &known);
        row.ok_or_else(|| wrong(format!("row {i} is not as {WRITER} writes it")))
    };
    let rows = values.iter().enumerate().map(row);
    Ok(Report {
        info,
        rows: rows.collect::<Result<_, _>>()?,
        ceilings: Vec::new(),
        staging_gbps: values.iter().find_map(|v| v["staging_gbps"].as_f64()),
        left_out: Vec::new(),
        saved: true,
    })
}

fn row(value: &Value, known: &[Case]) -> Option<Row> {
    let case = case(value)?;
    let part = match value["fit_wall_ns"].is_number() {
        true => Part::Size,
        false if known.iter().any(|known| known.name == case.name) => Part::Catalogue,
        false => Part::Edge,
    };
    let number = |name: &str| value[name].as_u64();
    // Nothing takes no time: shares and axes would have no end.
    let time = |name: &str| number(name).filter(|&ns| ns > 0);
    let timing = || {
        Some(Timing {
            gpu_ns: time("gpu_ns"),
            single_gpu_ns: time("single_gpu_ns"),
            wall_ns: time("wall_ns")?,
            call_ns: number("call_ns"),
            spread: spread(value),
        })
    };
    let error = value["error"].as_str().unwrap_or("wrong");
    let timing = timing().filter(|_| value["verified"] == true);
    let plan = value["plan"].as_array().into_iter().flatten();
    let plan = plan.filter_map(|line| Some(line.as_str()?.to_owned()));
    Some(Row {
        part,
        case,
        plan: plan.collect(),
        bytes: number("bytes").unwrap_or(0),
        measured: timing.ok_or_else(|| error.trim_start_matches("wrong: ").to_owned()),
        how: value["verified_how"].as_str().unwrap_or_default().into(),
        cpu_ns: number("cpu_ns"),
        clock: value["clock"].as_f64(),
        ceiling_gbps: value["ceiling_gbps"].as_f64(),
        cost: number("plan_ns")
            .zip(number("encode_ns"))
            .map(|(plan_ns, encode_ns)| Cost { plan_ns, encode_ns }),
        host_ns: number("end_to_end_ns"),
    })
}

fn spread(value: &Value) -> Option<Spread> {
    let share = |name: &str| Some(value[name].as_f64()? / value["ratio"].as_f64()?);
    Some(Spread {
        ns: [value["least_ns"].as_u64()?, value["most_ns"].as_u64()?],
        share: [share("least_ratio")?, share("most_ratio")?],
    })
}

fn case(value: &Value) -> Option<Case> {
    let mut case = Case {
        name: value["case"].as_str()?.to_owned().into(),
        op: Op::ArgMin,
        dtype: value["dtype"].as_str()?.parse::<DType>().ok()?,
        shapes: serde_json::from_value(value["inputs"].clone()).ok()?,
        axes: serde_json::from_value(value["axes"].clone()).ok()?,
        k: 0,
        quick: false,
    };
    let is_named = |&op: &Op| {
        let named = Case { op, ..case.clone() };
        value["op"] == named.command()
    };
    case.op = Op::ALL.into_iter().find(is_named)?;
    (!case.shapes.is_empty()).then_some(case)
}
