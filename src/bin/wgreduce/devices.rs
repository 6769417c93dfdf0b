//! `wgreduce devices`.

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use wgreduce::wgpu::{DeviceType, Features};
use wgreduce::{Adapter, adapters_blocking};

use crate::args::Devices;
use crate::device::is_no_gpu;
use crate::failure::{Failure, write_stdout};

pub fn run(args: &Devices) -> Result<(), Failure> {
    let adapters = match adapters_blocking() {
        Err(e) if is_no_gpu(&e) => Vec::new(),
        adapters => adapters?,
    };
    let text = match args.json {
        true => {
            let adapters: Vec<Value> = adapters.iter().map(to_json).collect();
            format!("{:#}", Value::from(adapters))
        }
        false if adapters.is_empty() => "no adapter; --device cpu works everywhere".into(),
        false => table(&adapters).to_string(),
    };
    write_stdout(&format!("{text}\n"))
}

fn to_json(adapter: &Adapter) -> Value {
    let (info, limits) = (&adapter.info, &adapter.limits);
    json!({
        "index": adapter.index,
        "name": info.name,
        "backend": info.backend.to_str(),
        "kind": kind(adapter),
        "driver": driver(adapter),
        "max_storage_buffer_binding_size": limits.max_storage_buffer_binding_size,
        "max_buffer_size": limits.max_buffer_size,
        "features": features(adapter),
        "class": class(adapter),
    })
}

fn table(adapters: &[Adapter]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "index", "name", "backend", "kind", "driver", "binding", "buffer", "features", "class",
    ]);
    for adapter in adapters {
        table.add_row([
            adapter.index.to_string(),
            adapter.info.name.clone(),
            adapter.info.backend.to_string(),
            kind(adapter).into(),
            driver(adapter),
            mebibytes(adapter.limits.max_storage_buffer_binding_size),
            mebibytes(adapter.limits.max_buffer_size),
            features(adapter).join(", "),
            class(adapter),
        ]);
    }
    table
}

fn kind(adapter: &Adapter) -> &'static str {
    match adapter.info.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Cpu => "software",
        DeviceType::Other => "unknown",
    }
}

fn driver(adapter: &Adapter) -> String {
    let info = &adapter.info;
    format!("{} {}", info.driver, info.driver_info)
        .trim()
        .into()
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// The optional features that are made use of.
fn features(adapter: &Adapter) -> Vec<String> {
    let used = adapter.features & Features::TIMESTAMP_QUERY;
    used.iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect()
}

/// The tuning class.
fn class(adapter: &Adapter) -> String {
    format!("{:?}", adapter.class()).to_lowercase()
}
