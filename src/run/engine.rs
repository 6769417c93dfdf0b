//! The device with its compiled kernels and reusable buffers, and how a call waits. Knows no problems.

use crate::device::context::{Context, lock};
use crate::device::platform::{ERRORS_COME_LATER, Instant, PollMode, Polling};
use crate::device::staging::Ring;
use crate::kernel::{Kernel, Resource};
use crate::run::bind::Compiled;
use crate::run::workspace::Workspace;
use crate::{Caps, Error, Plan};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

/// What reducers and reductions run on; clones share the device.
#[derive(Clone)]
pub(crate) struct Engine {
    pub shared: Arc<Shared>,
    pub caps: Arc<Caps>,
    /// The caller's, which may hold pipelines compiled by earlier processes.
    pub cache: Option<wgpu::PipelineCache>,
    #[cfg(not(target_arch = "wasm32"))]
    pub timeout: Option<std::time::Duration>,
    pub polling: Polling,
}

/// What belongs to the device and does not depend on the caps.
pub(crate) struct Shared {
    pub context: Context,
    pub info: wgpu::AdapterInfo,
    /// By kernel and whether its inputs are bound as writable storage.
    compiled: Mutex<HashMap<(Kernel, bool), Arc<Compiled>>>,
    /// The buffers that reductions keep for later runs.
    idle: Mutex<Vec<Weak<Idle>>>,
    pub uploads: Ring,
}

/// Buffers of earlier runs, for later ones.
pub(crate) type Idle = Mutex<Vec<Workspace>>;

/// A plan and its pipelines, one per pass.
pub(crate) struct Ready {
    pub plan: Plan,
    pub compiled: Vec<Arc<Compiled>>,
}

impl Engine {
    pub fn new(context: Context, info: wgpu::AdapterInfo, caps: Caps) -> Engine {
        Engine {
            shared: Arc::new(Shared {
                context,
                info,
                compiled: Mutex::new(HashMap::new()),
                idle: Mutex::default(),
                uploads: Ring::default(),
            }),
            caps: Arc::new(caps),
            cache: None,
            #[cfg(not(target_arch = "wasm32"))]
            timeout: None,
            polling: Polling::default(),
        }
    }

    /// How a future waits.
    pub fn background(&self) -> PollMode {
        PollMode::of(self.polling)
    }

    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// A list for a reduction's idle buffers, which [`Engine::with_room`] can clear.
    pub fn keeper(&self) -> Arc<Idle> {
        let keeper = Arc::default();
        let mut all = lock(&self.shared.idle);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&keeper));
        keeper
    }

    /// Calls `allocate`. If the device is out of memory, frees the buffers that are idle or already dropped, and
    /// calls it once more.
    pub fn with_room<T>(&self, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        match allocate() {
            Err(Error::OutOfMemory { what, bytes }) => {
                log::debug!(
                    "out of memory for {what} of {bytes} bytes: letting go of idle buffers"
                );
                self.make_room()?;
                allocate()
            }
            result => result,
        }
    }

    /// [`Engine::with_room`] for a future: waits for errors that the device reports later.
    pub async fn with_room_on<T>(
        &self,
        allocate: impl Fn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let made = self.with_room(&allocate)?;
        match self.context().settled().await {
            Ok(()) => return Ok(made),
            Err(Error::OutOfMemory { .. }) => drop(made),
            Err(other) => return Err(other),
        }
        self.make_room()?;
        let made = allocate()?;
        self.context().settled().await?;
        Ok(made)
    }

    /// Frees the buffers that are kept for later runs.
    fn make_room(&self) -> Result<(), Error> {
        let idle: Vec<_> = lock(&self.shared.idle)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        idle.iter().for_each(|kept| lock(kept).clear());
        self.shared.uploads.clear();
        self.shared.context.reclaim()
    }

    /// Compiles a plan. `aliased`: inputs and outputs may share a buffer, which wgpu allows only if both bindings
    /// are writable.
    pub fn ready(&self, plan: Plan, aliased: bool) -> Result<Ready, Error> {
        log::debug!("{plan}");
        let kernels = plan.passes().iter().map(|pass| (pass.kernel, aliased));
        let compile = |key| self.known(&key).map_or_else(|| self.compile(key), Ok);
        let compiled = kernels.map(compile).collect::<Result<_, _>>()?;
        Ok(Ready { plan, compiled })
    }

    /// [`Engine::ready`] that lets an executor go on with other tasks before each kernel.
    pub async fn ready_on(&self, plan: Plan, drive: PollMode) -> Result<Ready, Error> {
        let mut new = HashMap::new();
        for pass in plan.passes() {
            let key = (pass.kernel, false);
            if self.known(&key).is_none() && !new.contains_key(&key) {
                drive.pause().await;
                new.insert(key, self.compile(key)?);
            }
        }
        self.context().settled().await?;
        lock(&self.shared.compiled).extend(new);
        self.ready(plan, false)
    }

    fn known(&self, key: &(Kernel, bool)) -> Option<Arc<Compiled>> {
        lock(&self.shared.compiled).get(key).cloned()
    }

    /// Compiles without holding the lock: two threads may compile the same kernel, but none waits for the other.
    fn compile(&self, key: (Kernel, bool)) -> Result<Arc<Compiled>, Error> {
        let (kernel, aliased) = key;
        let start = Instant::now();
        let cache = self.cache.as_ref();
        let compile = || compile(&self.shared.context.device, &kernel, aliased, cache);
        let compiled = self.shared.context.scoped("a pipeline", 0, compile)?;
        self.shared.context.check()?;
        log::debug!("compiled {} in {:.1?}", kernel.label(), start.elapsed());
        if ERRORS_COME_LATER {
            // The caller keeps it once the device has reported no error.
            return Ok(Arc::new(compiled));
        }
        let mut all = lock(&self.shared.compiled);
        Ok(all.entry(key).or_insert(Arc::new(compiled)).clone())
    }
}

fn compile(
    device: &wgpu::Device,
    kernel: &Kernel,
    aliased: bool,
    cache: Option<&wgpu::PipelineCache>,
) -> Compiled {
    let (label, source) = (kernel.label(), kernel.source(aliased));
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&label),
        source: wgpu::ShaderSource::Wgsl(source.wgsl.into()),
    });
    let bindings = kernel.bindings();
    let entries: Vec<_> = bindings.iter().map(|&r| layout_entry(r, aliased)).collect();
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(&label),
        entries: &entries,
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(&label),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(&label),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(kernel.walk.entry_point()),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &source.constants,
            // Every kernel writes workgroup memory before it reads it.
            zero_initialize_workgroup_memory: false,
        },
        cache,
    });
    if ERRORS_COME_LATER {
        // If the driver refused the pipeline, this call reports an error.
        pipeline.get_bind_group_layout(0);
    }
    Compiled {
        pipeline,
        layout,
        bindings,
        aliased,
        params: source.params,
    }
}

fn layout_entry(resource: Resource, aliased: bool) -> wgpu::BindGroupLayoutEntry {
    let ty = match resource.is_uniform() {
        true => wgpu::BufferBindingType::Uniform,
        false => wgpu::BufferBindingType::Storage {
            read_only: !resource.is_written() && !aliased,
        },
    };
    wgpu::BindGroupLayoutEntry {
        binding: resource.number(),
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}
