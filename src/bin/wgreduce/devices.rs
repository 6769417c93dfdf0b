//! `wgreduce devices`.

use comfy_table::{Table, presets};
use serde_json::{Value, json};
use wgreduce::{Adapter, Error, adapters_blocking};

use crate::args::Devices;
use crate::failure::{Failure, write_stdout};

pub fn run(args: &Devices) -> Result<(), Failure> {
    let adapters = match adapters_blocking() {
        Err(Error::NoAdapter { .. } | Error::NoBackend) => Vec::new(),
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
    let Adapter {
        index,
        info,
        limits,
        ..
    } = adapter;
    json!({
        "index": index,
        "name": info.name,
        "backend": info.backend.to_str(),
        "kind": format!("{:?}", info.device_type),
        "driver": driver(adapter),
        "max_storage_buffer_binding_size": limits.max_storage_buffer_binding_size,
        "max_buffer_size": limits.max_buffer_size,
        "features": features(adapter),
    })
}

fn table(adapters: &[Adapter]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "index", "name", "backend", "kind", "driver", "binding", "buffer", "features",
    ]);
    for adapter in adapters {
        table.add_row([
            adapter.index.to_string(),
            adapter.info.name.clone(),
            adapter.info.backend.to_string(),
            format!("{:?}", adapter.info.device_type),
            driver(adapter),
            mebibytes(adapter.limits.max_storage_buffer_binding_size),
            mebibytes(adapter.limits.max_buffer_size),
            features(adapter).join(", "),
        ]);
    }
    table
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

/// The features that a plan can make use of.
fn features(adapter: &Adapter) -> Vec<String> {
    let used = wgreduce::USED_FEATURES & adapter.features;
    used.iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect()
}
