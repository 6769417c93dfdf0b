//! Which adapters exist, in which order, and which one a request means.
//!
//! Knows what a device must have, and opens none.

use crate::device::platform::find;
use crate::{AdapterClass, Error};
use std::fmt;

/// The least versions of OpenGL's shading language that wgpu translates our kernels to: of OpenGL, and of OpenGL ES.
const LEAST_SHADING_LANGUAGE: [u32; 2] = [420, 310];

/// An adapter of this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdapterEntry {
    /// Its position in the list of [`adapters`].
    pub index: usize,
    /// Name, backend, kind, driver.
    pub info: wgpu::AdapterInfo,
    /// Its limits.
    pub limits: wgpu::Limits,
    /// Its features.
    pub features: wgpu::Features,
    pub(crate) inner: wgpu::Adapter,
}

impl AdapterEntry {
    /// The class of its tuning.
    pub fn class(&self) -> AdapterClass {
        AdapterClass::of(self.info.device_type)
    }

    /// Why [`Reducer::open`](crate::Reducer::open) refuses this adapter, if that is known before it is opened:
    /// [`Error::Unsupported`].
    pub fn refusal(&self) -> Option<Error> {
        supported(&format!("adapter {self}"), &self.info, &self.limits).err()
    }
}

impl fmt::Display for AdapterEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.info.name, self.info.backend)
    }
}

/// Which adapter to open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdapterChoice {
    /// The first of the list that can be used, or the first whose name contains `WGPU_ADAPTER_NAME`.
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
            // Stands for a number that does not fit.
            AdapterChoice::Index(usize::MAX) => "of so large a number".into(),
            AdapterChoice::Index(i) => format!("number {i}"),
            AdapterChoice::Backend(b) => format!("of backend {b}"),
            AdapterChoice::Name(n) => format!("named {n:?}"),
        }
    }
}

/// All adapters: Vulkan, Metal and DX12 before OpenGL, GPUs before software adapters. A process looks for
/// adapters once; one that is plugged in later is found by the next process.
/// `WGPU_BACKEND` limits the backends, as everywhere in wgpu.
///
/// # Errors
/// [`Error::NoBackend`].
pub async fn adapters() -> Result<Vec<AdapterEntry>, Error> {
    list(wgpu::Backends::all()).await
}

/// [`adapters`], waiting for the answer.
#[cfg(not(target_arch = "wasm32"))]
pub fn adapters_blocking() -> Result<Vec<AdapterEntry>, Error> {
    pollster::block_on(adapters())
}

async fn list(backends: wgpu::Backends) -> Result<Vec<AdapterEntry>, Error> {
    let compiled_in = wgpu::Instance::enabled_backend_features();
    let Some(descriptor) = instance(compiled_in, backends)? else {
        return Ok(Vec::new());
    };
    let mut found = find(descriptor).await;
    found.sort_by_key(|adapter| {
        let info = adapter.get_info();
        (info.backend == wgpu::Backend::Gl, place(info.device_type))
    });
    let entry = |(index, inner): (usize, wgpu::Adapter)| AdapterEntry {
        index,
        info: inner.get_info(),
        limits: inner.limits(),
        features: inner.features(),
        inner,
    };
    Ok(found.into_iter().enumerate().map(entry).collect())
}

/// The descriptor of an instance with these backends; `None` if the environment excludes all of them. wgpu
/// panics if no backend is compiled in.
fn instance(
    compiled_in: wgpu::Backends,
    backends: wgpu::Backends,
) -> Result<Option<wgpu::InstanceDescriptor>, Error> {
    if compiled_in.is_empty() {
        return Err(Error::NoBackend);
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    // Debug layers and indirect validation serve nothing here, and limit buffers to 4 GiB.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let mut descriptor = descriptor.with_env();
    descriptor.backends &= backends;
    if descriptor.backends == wgpu::Backends::NOOP {
        descriptor.backend_options.noop.enable = true;
    }
    // Do not rely on what wgpu does with an empty set.
    Ok((!descriptor.backends.is_empty()).then_some(descriptor))
}

/// GPUs come before software adapters, and among them the discrete one first, unless `WGPU_POWER_PREF=low` asks otherwise.
fn place(kind: wgpu::DeviceType) -> u8 {
    let low = wgpu::PowerPreference::from_env() == Some(wgpu::PowerPreference::LowPower);
    match kind {
        wgpu::DeviceType::DiscreteGpu if low => 2,
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::Cpu => 4,
        _ => 3,
    }
}

/// The adapters a choice means, in order: one that is named, or all. And whether those of [`last`] come after them.
pub(crate) async fn choose(choice: &AdapterChoice) -> Result<(Vec<AdapterEntry>, bool), Error> {
    // Opening OpenGL without a screen makes EGL complain on stderr, so do it only if it is asked for or
    // nothing else is found.
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
    if wanted == AdapterChoice::Auto && !found.is_empty() {
        return Ok((found, true));
    }
    let fits = |a: &AdapterEntry| match &wanted {
        AdapterChoice::Index(i) => a.index == *i,
        AdapterChoice::Name(n) => a.info.name.to_lowercase().contains(&n.to_lowercase()),
        AdapterChoice::Backend(b) => a.info.backend == *b,
        AdapterChoice::Auto => true,
    };
    // Also for the list of adapters in the error.
    if !found.iter().any(fits) {
        found = adapters().await?;
    }
    let available = found.iter().map(AdapterEntry::to_string).collect();
    found.retain(fits);
    if wanted != AdapterChoice::Auto {
        found.truncate(1);
    }
    match found.is_empty() {
        false => Ok((found, false)),
        true => Err(Error::NoAdapter {
            wanted: wanted.in_words(),
            available,
        }),
    }
}

/// The adapters that are opened only if no other can be used.
pub(crate) async fn last() -> Result<Vec<AdapterEntry>, Error> {
    let mut found = adapters().await?;
    found.retain(|adapter| adapter.info.backend == wgpu::Backend::Gl);
    Ok(found)
}

/// Refuses a device on which no kernel runs.
pub(crate) fn supported(
    device: &str,
    info: &wgpu::AdapterInfo,
    limits: &wgpu::Limits,
) -> Result<(), Error> {
    // Limits by name, their values, and the least that do: those of wgpu's downlevel defaults or lower.
    macro_rules! needs {
        ($($limit:ident: $least:literal,)*) => {
            [$((stringify!($limit), limits.$limit, $least)),*]
        };
    }
    let needs = needs! {
        max_storage_buffers_per_shader_stage: 4,
        max_uniform_buffers_per_shader_stage: 2,
        // Binding numbers go up to 8, for an elementwise operator of six inputs.
        max_bindings_per_bind_group: 9,
        max_compute_workgroup_storage_size: 16_352,
        max_compute_invocations_per_workgroup: 128,
    };
    let mut needs = needs.into_iter().chain(shading_language(info));
    match needs.find(|(_, actual, least)| actual < least) {
        None => Ok(()),
        Some((what, actual, needed)) => Err(Error::Unsupported {
            device: device.to_owned(),
            what,
            actual: actual.into(),
            needed: needed.into(),
        }),
    }
}

/// What it is, the version of an OpenGL context's shading language, and the least one. wgpu compiles for that version,
/// even if the limits are those of a later one that the driver has as extensions.
fn shading_language(info: &wgpu::AdapterInfo) -> Option<(&'static str, u32, u32)> {
    if info.backend != wgpu::Backend::Gl {
        return None;
    }
    // `4.5 (Core Profile) Mesa 22.3.6`, `OpenGL ES 3.1 Mesa 22.3.6`.
    let [full, es] = LEAST_SHADING_LANGUAGE;
    let (version, least) = match info.driver_info.split_once("OpenGL ES ") {
        Some((_, version)) => (version, es),
        None => (info.driver_info.as_str(), full),
    };
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    let actual = 100 * number()? + 10 * number()?;
    Some(("version of OpenGL's shading language", actual, least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_opengl_is_refused_before_it_is_opened() {
        let limits = wgpu::Limits::default();
        for (backend, version, refused) in [
            (wgpu::Backend::Gl, "3.3.0 NVIDIA 580.159", Some((330, 420))),
            (wgpu::Backend::Gl, "4.1 Metal - 88", Some((410, 420))),
            (wgpu::Backend::Gl, "4.2.0", None),
            (wgpu::Backend::Gl, "4.5 (Core Profile) Mesa 22.3.6", None),
            (wgpu::Backend::Gl, "OpenGL ES 3.0 Mesa", Some((300, 310))),
            (wgpu::Backend::Gl, "OpenGL ES 3.2 Mesa", None),
            // What is not known is tried.
            (wgpu::Backend::Gl, "a driver of its own", None),
            (wgpu::Backend::Vulkan, "3.3.0", None),
        ] {
            let info = wgpu::AdapterInfo {
                driver_info: version.into(),
                ..wgpu::AdapterInfo::new(wgpu::DeviceType::Other, backend)
            };
            let found = match supported("adapter A", &info, &limits) {
                Err(Error::Unsupported { actual, needed, .. }) => Some((actual, needed)),
                Err(other) => panic!("{other}"),
                Ok(()) => None,
            };
            assert_eq!(found, refused, "{version}");
        }
    }

    #[test]
    fn no_backend_compiled_in_is_an_error_and_no_panic() {
        let all = wgpu::Backends::all();
        let none = instance(wgpu::Backends::empty(), all);
        assert!(matches!(none, Err(Error::NoBackend)));
        assert!(matches!(instance(all, wgpu::Backends::empty()), Ok(None)));
    }
}
