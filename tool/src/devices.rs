//! `wgreduce devices`: the adapters, with all that a bug report needs.
//!
//! Keeps what is told of an adapter, and computes nothing on it.

use std::env::consts::{ARCH, OS};

use serde_json::{Value, json};
use wgreduce::wgpu::{DeviceType, Features, Limits};
use wgreduce::{AdapterEntry, Caps, adapters_blocking};

use crate::args::Devices;
use crate::device::{driver, is_no_gpu};
use crate::failure::{Failure, write_stdout};
use crate::tuning;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Whichever release of it was built in.
const WGPU: &str = "30";

pub fn run(args: &Devices) -> Result<(), Failure> {
    let adapters = match adapters_blocking() {
        Err(e) if is_no_gpu(&e) => Vec::new(),
        adapters => adapters?,
    };
    let text = match args.json {
        true => {
            let adapters: Vec<Value> = adapters.iter().map(to_json).collect();
            format!("{:#}\n", Value::from(adapters))
        }
        false => {
            let adapters: Vec<String> = adapters.iter().map(describe).collect();
            let list = match adapters.is_empty() {
                true => "no adapter; --device cpu works everywhere\n".into(),
                false => adapters.join("\n"),
            };
            format!("wgreduce {VERSION} with wgpu {WGPU}, on {OS} {ARCH}\n\n{list}")
        }
    };
    write_stdout(&text)
}

fn to_json(adapter: &AdapterEntry) -> Value {
    let (info, limits) = (&adapter.info, &adapter.limits);
    json!({
        "index": adapter.index,
        "name": info.name,
        "backend": info.backend.to_str(),
        "kind": kind(adapter),
        "vendor": info.vendor,
        "device": info.device,
        "driver": driver(info),
        "max_storage_buffer_binding_size": limits.max_storage_buffer_binding_size,
        "max_buffer_size": limits.max_buffer_size,
        "min_storage_buffer_offset_alignment": limits.min_storage_buffer_offset_alignment,
        "max_storage_buffers_per_shader_stage": limits.max_storage_buffers_per_shader_stage,
        "max_compute_workgroups_per_dimension": limits.max_compute_workgroups_per_dimension,
        "max_compute_invocations_per_workgroup": limits.max_compute_invocations_per_workgroup,
        "max_compute_workgroup_storage_size": limits.max_compute_workgroup_storage_size,
        "features": features(adapter),
        "class": format!("{:?}", adapter.class()).to_lowercase(),
        "tuning": tuning::json(&caps(adapter).tuning),
        "refused": adapter.refusal().map(|why| why.to_string()),
        "wgreduce": VERSION,
        "wgpu": WGPU,
        "os": format!("{OS} {ARCH}"),
    })
}

fn describe(adapter: &AdapterEntry) -> String {
    let info = &adapter.info;
    let features = match features(adapter) {
        used if used.is_empty() => "none".into(),
        used => used.join(", "),
    };
    let refused = match adapter.refusal() {
        Some(why) => {
            let lines = why.to_string().replacen(": ", ":\n             ", 1);
            format!("   refused   {lines}\n")
        }
        None => String::new(),
    };
    format!(
        "{index}  {name} ({backend})
{refused}   kind      {kind}; vendor {vendor:#06x}, device {device:#06x}
   driver    {driver}
   {limits}
   features  {features} (of those that are made use of)
{tuning}
",
        index = adapter.index,
        name = info.name,
        backend = info.backend,
        kind = kind(adapter),
        vendor = info.vendor,
        device = info.device,
        driver = driver(info),
        limits = limits(&adapter.limits),
        tuning = tuning::text(&caps(adapter), "   "),
    )
}

fn limits(limits: &Limits) -> String {
    format!(
        "buffers   binding {}, buffer {}, offsets by {} B, {} in a shader
   dispatch  {} workgroups a dimension, {} invocations in one, {} KiB of its memory",
        mebibytes(limits.max_storage_buffer_binding_size),
        mebibytes(limits.max_buffer_size),
        limits.min_storage_buffer_offset_alignment,
        limits.max_storage_buffers_per_shader_stage,
        limits.max_compute_workgroups_per_dimension,
        limits.max_compute_invocations_per_workgroup,
        limits.max_compute_workgroup_storage_size >> 10,
    )
}

/// What plans are made with on this adapter.
fn caps(adapter: &AdapterEntry) -> Caps {
    Caps::of(&adapter.info, &adapter.limits)
}

fn kind(adapter: &AdapterEntry) -> &'static str {
    match adapter.info.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Cpu => "software",
        DeviceType::Other => "unknown",
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// The optional features that are made use of.
fn features(adapter: &AdapterEntry) -> Vec<String> {
    let used = adapter.features & Features::TIMESTAMP_QUERY;
    used.iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_of_wgpu_is_that_of_the_manifest() {
        let manifest = include_str!("../../Cargo.toml");
        let wanted = format!("wgpu = {{ version = \"{}\"", super::WGPU);
        assert_eq!(manifest.matches(&wanted).count(), 2, "{wanted}");
    }
}
