//! Where a request runs: the adapter that was named, the best there is, or the CPU reference.
//!
//! Keeps what is done without an adapter; what is computed there the callers know.

use wgreduce::wgpu::AdapterInfo;
use wgreduce::{AdapterChoice, AdapterEntry, Error, Reducer, adapters_blocking};

use crate::args::Common;
use crate::failure::Failure;
use crate::tuning;

pub enum Device {
    Gpu(Box<Reducer>),
    /// The reference, with the reason in brackets where it was not asked for.
    Cpu(&'static str),
}

impl Device {
    /// Opens what `--device` names, to compute there. Only `auto` may end on the CPU without being told to.
    pub fn open(common: &Common) -> Result<Device, Failure> {
        match Device::choose(common)? {
            Device::Cpu(why) if common.tuning.is_some() => Err(Failure::Request(format!(
                "--tuning is for GPU adapters, and the device is cpu{why}"
            ))),
            device => Ok(device),
        }
    }

    /// For the `n`th process of a machine: `auto` is one of the adapters of the best one's kind, each
    /// process the next.
    pub fn open_nth(common: &Common, n: usize) -> Result<Device, Failure> {
        let named = !matches!(Asked::parse(&common.device)?, Asked::Auto);
        if named || std::env::var_os("WGPU_ADAPTER_NAME").is_some() {
            return Device::open(common);
        }
        let all = adapters_blocking().unwrap_or_default();
        let kind = |a: &AdapterEntry| (a.info.backend, a.info.device_type);
        let usable: Vec<&AdapterEntry> = all.iter().filter(|a| a.refusal().is_none()).collect();
        let Some(best) = usable.first().map(|a| kind(a)) else {
            return Device::open(common);
        };
        let alike = usable.iter().filter(|a| kind(a) == best);
        let alike: Vec<usize> = alike.map(|a| a.index).collect();
        Device::open(&Common {
            device: alike[n % alike.len()].to_string(),
            ..common.clone()
        })
    }

    /// The same, to plan for it.
    pub fn choose(common: &Common) -> Result<Device, Failure> {
        let device = match Asked::parse(&common.device)? {
            Asked::Cpu => Device::Cpu(""),
            Asked::Auto => match Reducer::open_blocking(&AdapterChoice::Auto) {
                Err(e) if is_no_gpu(&e) => Device::Cpu(" (no GPU adapter found)"),
                // What the environment named is no choice of this tool.
                Err(Error::Unsupported { .. })
                    if std::env::var_os("WGPU_ADAPTER_NAME").is_none() =>
                {
                    Device::Cpu(" (no GPU adapter can be used, `devices` tells why)")
                }
                reducer => Device::Gpu(Box::new(reducer?)),
            },
            Asked::Named(choice) => match Reducer::open_blocking(&choice) {
                // Said as the caller wrote it.
                Err(e @ (Error::NoAdapter { .. } | Error::Unsupported { .. })) => {
                    let asked = &common.device;
                    return Err(Failure::Request(format!("--device {asked}: {e}")));
                }
                reducer => Device::Gpu(Box::new(reducer?)),
            },
        };
        match device {
            Device::Cpu(why) if common.check => Err(Failure::Request(format!(
                "--check compares a GPU with the CPU reference, and the device is cpu{why}"
            ))),
            Device::Cpu(_) => Ok(device),
            Device::Gpu(reducer) => {
                let caps = tuning::from_file(common, reducer.caps())?;
                Ok(Device::Gpu(Box::new(reducer.with_caps(caps))))
            }
        }
    }

    /// `device: NAME (BACKEND)`.
    pub fn line(&self) -> String {
        match self {
            Device::Gpu(reducer) => {
                let info = reducer.adapter_info();
                let passed = match reducer.passed_over() {
                    [] => String::new(),
                    passed => format!(", passed over: {}", passed.join("; ")),
                };
                format!("device: {} ({}){passed}", info.name, info.backend)
            }
            Device::Cpu(why) => format!("device: cpu reference{why}"),
        }
    }
}

/// A driver's name and version.
pub fn driver(info: &AdapterInfo) -> String {
    format!("{} {}", info.driver, info.driver_info)
        .trim()
        .into()
}

/// Whether nothing was there to choose from. With adapters there, the environment named another.
pub fn is_no_gpu(error: &Error) -> bool {
    match error {
        Error::NoAdapter { available, .. } => available.is_empty(),
        Error::NoBackend => true,
        _ => false,
    }
}

enum Asked {
    Auto,
    Cpu,
    Named(AdapterChoice),
}

impl Asked {
    fn parse(text: &str) -> Result<Asked, Failure> {
        match text.to_ascii_lowercase().as_str() {
            "auto" => Ok(Asked::Auto),
            "cpu" => Ok(Asked::Cpu),
            // As a part of a name it would match every adapter.
            "" => Err(Failure::Request("--device \"\" names no device".into())),
            _ => {
                let Ok(choice) = text.parse();
                Ok(Asked::Named(choice))
            }
        }
    }
}
