//! Which adapters exist, in which order, and which one a request means.
//!
//! Opens no device; knows nothing of reductions but what they need of an adapter.

use crate::context::lock;
use crate::{AdapterClass, Error};
use std::fmt;
use std::sync::Mutex;

/// An adapter of this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Adapter {
    /// Its place in the list.
    pub index: usize,
    /// Name, backend, kind, driver.
    pub info: wgpu::AdapterInfo,
    /// Its limits.
    pub limits: wgpu::Limits,
    /// Its features.
    pub features: wgpu::Features,
    pub(crate) inner: wgpu::Adapter,
}

impl Adapter {
    fn new(index: usize, inner: wgpu::Adapter) -> Adapter {
        Adapter {
            index,
            info: inner.get_info(),
            limits: inner.limits(),
            features: inner.features(),
            inner,
        }
    }

    /// Which tuning it gets.
    pub fn class(&self) -> AdapterClass {
        AdapterClass::of(self.info.device_type)
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.info.name, self.info.backend)
    }
}

/// Which adapter to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdapterChoice {
    /// The first of the list, or the first whose name contains `WGPU_ADAPTER_NAME`.
    #[default]
    Auto,
    /// By its place in the list.
    Index(usize),
    /// The first of a backend.
    Backend(wgpu::Backend),
    /// The first whose name contains the text, in any case.
    Name(String),
}

impl std::str::FromStr for AdapterChoice {
    type Err = std::convert::Infallible;

    /// `auto`, a number, the exact name of a backend (`vulkan`, `gl`, `metal`, `dx12`, `noop`),
    /// in any case, or a part of a name.
    fn from_str(text: &str) -> Result<AdapterChoice, Self::Err> {
        let lower = text.to_lowercase();
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        Ok(match lower.as_str() {
            "auto" => AdapterChoice::Auto,
            "vulkan" => AdapterChoice::Backend(wgpu::Backend::Vulkan),
            "gl" => AdapterChoice::Backend(wgpu::Backend::Gl),
            "metal" => AdapterChoice::Backend(wgpu::Backend::Metal),
            "dx12" => AdapterChoice::Backend(wgpu::Backend::Dx12),
            "noop" => AdapterChoice::Backend(wgpu::Backend::Noop),
            // A number too large for any list names no adapter.
            _ if digits => AdapterChoice::Index(text.parse().unwrap_or(usize::MAX)),
            _ => AdapterChoice::Name(text.to_owned()),
        })
    }
}

impl AdapterChoice {
    fn in_words(&self) -> String {
        match self {
            AdapterChoice::Auto => "at all".into(),
            AdapterChoice::Index(i) => format!("number {i}"),
            AdapterChoice::Backend(b) => format!("of backend {b}"),
            AdapterChoice::Name(n) => format!("named {n:?}"),
        }
    }
}

/// All adapters: Vulkan, Metal and DX12 before OpenGL, GPUs before software.
/// `WGPU_BACKEND` limits the backends, as everywhere in wgpu.
///
/// # Errors
/// [`Error::NoBackend`].
pub async fn adapters() -> Result<Vec<Adapter>, Error> {
    list(wgpu::Backends::all()).await
}

/// [`adapters`], waiting for the answer.
///
/// # Errors
/// As [`adapters`].
pub fn adapters_blocking() -> Result<Vec<Adapter>, Error> {
    pollster::block_on(adapters())
}

async fn list(backends: wgpu::Backends) -> Result<Vec<Adapter>, Error> {
    if wgpu::Instance::enabled_backend_features().is_empty() {
        return Err(Error::NoBackend);
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // Debug layers and indirect validation serve nothing here, and limit buffers to 4 GiB.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let mut descriptor = descriptor.with_env();
    descriptor.backends &= backends;
    // An empty set stands for none, whatever the backend does with it.
    if descriptor.backends.is_empty() {
        return Ok(Vec::new());
    }
    let backends = descriptor.backends;
    if backends == wgpu::Backends::NOOP {
        descriptor.backend_options.noop.enable = true;
    }
    let instance = kept(descriptor);
    let mut found = instance.enumerate_adapters(backends).await;
    found.sort_by_key(|adapter| {
        let info = adapter.get_info();
        let software = info.device_type == wgpu::DeviceType::Cpu;
        (
            info.backend == wgpu::Backend::Gl,
            software,
            power(info.device_type),
        )
    });
    let numbered = found.into_iter().enumerate();
    Ok(numbered.map(|(i, a)| Adapter::new(i, a)).collect())
}

/// The process' one instance of these backends, which is never dropped: dropping the last one
/// unloads the driver, and Mesa's software drivers (22.3.6, Vulkan and OpenGL) then crash one
/// process in twenty when it exits on a busy machine.
fn kept(descriptor: wgpu::InstanceDescriptor) -> wgpu::Instance {
    static KEPT: Mutex<Vec<(wgpu::Backends, wgpu::Instance)>> = Mutex::new(Vec::new());
    let mut kept = lock(&KEPT);
    let backends = descriptor.backends;
    if let Some((_, instance)) = kept.iter().find(|(b, _)| *b == backends) {
        return instance.clone();
    }
    let instance = wgpu::Instance::new(descriptor);
    kept.push((backends, instance.clone()));
    instance
}

/// Among GPUs the discrete one comes first, unless `WGPU_POWER_PREF=low` asks otherwise.
fn power(kind: wgpu::DeviceType) -> u8 {
    let low = wgpu::PowerPreference::from_env() == Some(wgpu::PowerPreference::LowPower);
    match kind {
        wgpu::DeviceType::DiscreteGpu if low => 2,
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        _ => 3,
    }
}

/// The adapter a choice means.
pub(crate) async fn choose(choice: &AdapterChoice) -> Result<Adapter, Error> {
    // Opening OpenGL without a screen makes EGL complain on stderr: only if it is asked for or
    // nothing else is there.
    let not_gl = wgpu::Backends::all() - wgpu::Backends::GL;
    let mut found = match choice {
        AdapterChoice::Auto => list(not_gl).await?,
        AdapterChoice::Backend(b) => list(wgpu::Backends::from(*b)).await?,
        _ => adapters().await?,
    };
    let wanted = match std::env::var("WGPU_ADAPTER_NAME") {
        Ok(name) if *choice == AdapterChoice::Auto => AdapterChoice::Name(name),
        _ => choice.clone(),
    };
    let fits = |a: &Adapter| match &wanted {
        AdapterChoice::Index(i) => a.index == *i,
        AdapterChoice::Name(n) => a.info.name.to_lowercase().contains(&n.to_lowercase()),
        AdapterChoice::Backend(b) => a.info.backend == *b,
        AdapterChoice::Auto => true,
    };
    // Also to name what there is.
    if !found.iter().any(fits) {
        found = adapters().await?;
    }
    let available = found.iter().map(Adapter::to_string).collect();
    let chosen = found.into_iter().find(fits);
    chosen.ok_or_else(|| Error::NoAdapter {
        wanted: wanted.in_words(),
        available,
    })
}
