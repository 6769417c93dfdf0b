//! Reducer and Reduction: from a device to results. Plans, compiles, keeps pipelines and what later
//! runs can use again.
//!
//! Which dispatches there are the plan says; how buffers are bound, `bind.rs`; how host data comes
//! and goes, `workspace.rs`.

use crate::device::adapter::{self, AdapterChoice, AdapterEntry};
use crate::device::context::{self, Context, Deadline, PollMode, lock};
use crate::device::staging::{Ring, Upload};
use crate::kernel::Kernel;
use crate::plan::Scratch;
use crate::plan::Slot;
use crate::run::bind::{self, BoundReduction, Compiled};
use crate::run::buffers::{Buffers, Tensors};
use crate::run::selftest;
use crate::run::workspace::{Times, Workspace};
use crate::{Caps, DType, Element, Error, Plan, Problem, ProblemError};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

/// The least a device must offer: WebGPU's downlevel floor.
const LEAST_STORAGE_BUFFERS: u32 = 4;
const LEAST_UNIFORM_BUFFERS: u32 = 2;
/// Numbers of bindings go up to 10, for an elementwise operator of eight inputs.
const LEAST_BINDINGS: u32 = 11;
const LEAST_WORKGROUP_BYTES: u32 = 16_352;
const LEAST_INVOCATIONS: u32 = 128;
/// Reductions that single calls keep, each of at most so many bytes in all its tensors.
const RECENT: usize = 8;
const RECENT_BYTES: u64 = 4 << 20;

/// A device that runs reductions: pipelines are compiled once and kept.
///
/// Cheap to clone; clones share everything. `Send + Sync`.
#[derive(Clone)]
pub struct Reducer {
    shared: Arc<Shared>,
    caps: Arc<Caps>,
    timeout: Option<Duration>,
    polling: Polling,
    recent: Arc<Mutex<VecDeque<Arc<Prepared>>>>,
}

/// Who polls the device while a future of the library waits for it; wgpu's futures do not move
/// otherwise. Blocking calls poll by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Polling {
    /// A thread of the library's own, started by the first future that waits: futures complete
    /// under any executor. wgpu may run callbacks of other work there.
    #[default]
    Thread,
    /// The application, which calls [`wgpu::Device::poll`] as long as futures are pending, as a
    /// frame loop does. There is no thread; where nobody polls, futures never complete.
    Caller,
}

/// What belongs to the device, whatever the caps.
struct Shared {
    context: Context,
    info: wgpu::AdapterInfo,
    /// By kernel, and whether what it reads is bound as writable storage.
    compiled: Mutex<HashMap<(Kernel, bool), Arc<Compiled>>>,
    /// What the reductions keep for later runs.
    idle: Mutex<Vec<Weak<Idle>>>,
    uploads: Ring,
}

/// Buffers of earlier runs, for later ones.
type Idle = Mutex<Vec<Workspace>>;

impl std::fmt::Debug for Reducer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reducer({})", self.shared.info.name)
    }
}

impl Reducer {
    /// Opens an adapter without a window, with all its limits, and checks by known answers that
    /// it computes rightly.
    ///
    /// # Errors
    /// [`Error::NoBackend`], [`Error::NoAdapter`], [`Error::Unsupported`], [`Error::NoDevice`],
    /// [`Error::SelfTest`], and what a run can give.
    pub async fn open(choice: &AdapterChoice) -> Result<Reducer, Error> {
        let adapter = adapter::choose(choice).await?;
        supported(&format!("adapter {adapter}"), &adapter.limits)?;
        let (device, queue) = request(&adapter).await?;
        let reducer = Reducer::new(&device, &queue)?;
        reducer.self_test().await?;
        Ok(reducer)
    }

    /// Asks the device questions whose answers are known, and compares every byte. Takes about as long
    /// as compiling a dozen kernels.
    ///
    /// # Errors
    /// [`Error::SelfTest`] with the first difference, and what a run can give.
    pub async fn self_test(&self) -> Result<(), Error> {
        selftest::run(self).await
    }

    /// [`Reducer::self_test`], waiting for the answers.
    ///
    /// # Errors
    /// As [`Reducer::self_test`].
    pub fn self_test_blocking(&self) -> Result<(), Error> {
        pollster::block_on(self.self_test())
    }

    /// [`Reducer::open`], waiting for it.
    ///
    /// # Errors
    /// As [`Reducer::open`].
    pub fn open_blocking(choice: &AdapterChoice) -> Result<Reducer, Error> {
        pollster::block_on(Reducer::open(choice))
    }

    /// Takes the caller's device and queue. Their error handlers and callbacks stay as they are. Waits,
    /// without a bound, for all work that was submitted before: best called before the first frame. The
    /// device is trusted: [`Reducer::self_test`] asks it what [`Reducer::open`] does.
    ///
    /// The limits of [`wgpu::Limits::downlevel_defaults`] suffice. The least are 4 storage and 2 uniform
    /// buffers a stage, 11 bindings a group, 128 invocations and 16,352 bytes of workgroup memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::ForeignQueue`], [`Error::DeviceLost`].
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Reducer, Error> {
        let (info, limits) = (device.adapter_info(), device.limits());
        supported(&format!("the device of {}", info.name), &limits)?;
        if !context::is_own_queue(device, queue) {
            return Err(Error::ForeignQueue { adapter: info.name });
        }
        let caps = Caps::of(&info, &limits);
        let context = Context::new(device.clone(), queue.clone());
        context.check()?;
        Ok(Reducer {
            caps: Arc::new(caps),
            timeout: None,
            polling: Polling::default(),
            recent: Arc::default(),
            shared: Arc::new(Shared {
                context,
                info,
                compiled: Mutex::new(HashMap::new()),
                idle: Mutex::default(),
                uploads: Ring::default(),
            }),
        })
    }

    /// The same device and pipelines with other caps: lower limits, another tuning.
    /// Limits above the device's are lowered to them.
    #[must_use]
    pub fn with_caps(&self, caps: Caps) -> Reducer {
        let limits = self.shared.context.device.limits();
        let real = Caps {
            class: caps.class,
            ..Caps::of(&self.shared.info, &limits)
        };
        let lowered = real.lowered(caps.binding_bytes, caps.workgroups);
        let caps = Caps {
            invocations: caps.invocations.min(real.invocations),
            buffer_bytes: caps.buffer_bytes.min(real.buffer_bytes),
            workgroup_bytes: caps.workgroup_bytes.min(real.workgroup_bytes),
            storage_buffers: caps.storage_buffers.min(real.storage_buffers),
            tuning: caps.tuning,
            ..lowered
        };
        Reducer {
            caps: Arc::new(caps),
            // Plans differ.
            recent: Arc::default(),
            ..self.clone()
        }
    }

    /// The same device and pipelines, with futures that wait for another's polls.
    #[must_use]
    pub fn with_polling(&self, polling: Polling) -> Reducer {
        Reducer {
            polling,
            ..self.clone()
        }
    }

    /// The same device and pipelines, with a bound on the time that a blocking run may take:
    /// past it the run gives [`Error::Timeout`]. Its work cannot be called back and goes on; what
    /// it uses is kept until it is done, and later runs wait behind it. A future is bounded by
    /// dropping it.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Reducer {
        Reducer {
            timeout: Some(timeout),
            ..self.clone()
        }
    }

    /// Lets go of this handle within a time. Dropping the last one waits for a device that is
    /// busy, without a bound; where the device is not idle by then, that is left to a thread.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the device was still busy; [`Error::DeviceLost`].
    pub fn close(self, timeout: Duration) -> Result<(), Error> {
        let deadline = Deadline::after(timeout);
        let context = &self.shared.context;
        let result = context.wait(Some(deadline)).and_then(|()| context.check());
        if matches!(result, Err(Error::Timeout { .. })) {
            let closing = std::thread::Builder::new().name("wgreduce closing".into());
            // Where there can be no thread, this one waits.
            let _ = closing.spawn(move || drop(self));
        }
        result
    }

    /// Name, backend and driver of the adapter.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.shared.info
    }

    /// Limits and tuning that plans are made with.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.shared.context.device
    }

    /// The queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.shared.context.queue
    }

    /// Plans a problem and compiles what is not yet compiled.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::DeviceLost`], [`Error::Device`].
    pub fn prepare(&self, problem: &Problem) -> Result<Reduction, Error> {
        pollster::block_on(self.prepare_on(problem, self.blocking()))
    }

    /// [`Reducer::prepare`] that lets the executor go on with other tasks after each kernel: it stops
    /// them for as long as the longest takes to compile.
    ///
    /// # Errors
    /// As [`Reducer::prepare`].
    pub async fn prepare_async(&self, problem: &Problem) -> Result<Reduction, Error> {
        self.prepare_on(problem, self.background()).await
    }

    async fn prepare_on(&self, problem: &Problem, drive: PollMode) -> Result<Reduction, Error> {
        self.shared.context.alive()?;
        let plan = Plan::new(problem, &self.caps)?;
        let prepared = Prepared {
            ready: self.shared.ready_on(plan, false, drive).await?,
            problem: problem.clone(),
            others: Default::default(),
            idle: self.shared.keeper(),
        };
        Ok(Reduction {
            reducer: self.clone(),
            prepared: Arc::new(prepared),
        })
    }

    /// [`Reducer::prepare`] for a single call: the latest few reductions are kept with their
    /// buffers, which cost more than a short run. Those of large tensors are not: they would hold
    /// memory that somebody else needs, to save a small part of what such a run takes.
    async fn recent(&self, problem: &Problem, drive: PollMode) -> Result<Reduction, Error> {
        let found = {
            let mut recent = lock(&self.recent);
            let at = recent.iter().position(|p| p.problem == *problem);
            let found = at.and_then(|at| recent.remove(at));
            recent.extend(found.clone());
            found
        };
        if let Some(prepared) = found {
            let reducer = self.clone();
            return Ok(Reduction { reducer, prepared });
        }
        let reduction = self.prepare_on(problem, drive).await?;
        if bytes(problem) <= RECENT_BYTES {
            let mut recent = lock(&self.recent);
            recent.push_back(reduction.prepared.clone());
            if recent.len() > RECENT {
                recent.pop_front();
            }
        }
        Ok(reduction)
    }

    fn recent_blocking(&self, problem: &Problem) -> Result<Reduction, Error> {
        pollster::block_on(self.recent(problem, self.blocking()))
    }

    pub(crate) fn ready(&self, plan: Plan) -> Result<Ready, Error> {
        self.shared.ready(plan, false)
    }

    /// [`Shared::with_room`].
    pub(crate) fn with_room<T>(&self, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        self.shared.with_room(allocate)
    }

    /// Somebody else waits.
    pub(crate) fn background(&self) -> PollMode {
        match self.polling {
            Polling::Thread => PollMode::Thread,
            Polling::Caller => PollMode::Caller,
        }
    }

    /// This thread waits, as long as the timeout allows.
    pub(crate) fn blocking(&self) -> PollMode {
        PollMode::Here(self.timeout.map(Deadline::after))
    }

    pub(crate) fn context(&self) -> &Context {
        &self.shared.context
    }

    /// Solves a problem of one input and one output from host data. The latest few problems
    /// are kept prepared.
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; what [`Reducer::prepare`] and
    /// [`Reduction::run_bytes`] give.
    pub async fn run<T: Element, O: Element>(
        &self,
        problem: &Problem,
        input: &[T],
    ) -> Result<Vec<O>, Error> {
        let recent = self.recent(problem, self.background()).await?;
        recent.run(input).await
    }

    /// [`Reducer::run`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reducer::run`].
    pub fn run_blocking<T: Element, O: Element>(
        &self,
        problem: &Problem,
        input: &[T],
    ) -> Result<Vec<O>, Error> {
        self.recent_blocking(problem)?.run_blocking(input)
    }

    /// [`Reduction::run_many`] of a problem that is prepared as by [`Reducer::run`].
    ///
    /// # Errors
    /// What [`Reducer::prepare`] and [`Reduction::run_many`] give.
    pub async fn run_many<T: Element>(
        &self,
        problem: &Problem,
        inputs: &[&[T]],
    ) -> Result<Outputs, Error> {
        let recent = self.recent(problem, self.background()).await?;
        recent.run_many(inputs).await
    }

    /// [`Reducer::run_many`], waiting for the results.
    ///
    /// # Errors
    /// As [`Reducer::run_many`].
    pub fn run_many_blocking<T: Element>(
        &self,
        problem: &Problem,
        inputs: &[&[T]],
    ) -> Result<Outputs, Error> {
        self.recent_blocking(problem)?.run_many_blocking(inputs)
    }

    /// [`Reduction::run_bytes`] of a problem that is prepared as by [`Reducer::run`].
    ///
    /// # Errors
    /// What [`Reducer::prepare`] and [`Reduction::run_bytes`] give.
    pub async fn run_bytes(
        &self,
        problem: &Problem,
        inputs: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let recent = self.recent(problem, self.background()).await?;
        recent.run_bytes(inputs).await
    }

    /// [`Reducer::run_bytes`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reducer::run_bytes`].
    pub fn run_bytes_blocking(
        &self,
        problem: &Problem,
        inputs: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.recent_blocking(problem)?.run_bytes_blocking(inputs)
    }
}

/// A device with all that the adapter says it has.
async fn request(adapter: &AdapterEntry) -> Result<(wgpu::Device, wgpu::Queue), Error> {
    let optional = wgpu::Features::TIMESTAMP_QUERY;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("wgreduce"),
        required_features: adapter.features & optional,
        required_limits: adapter.limits.clone(),
        ..Default::default()
    };
    let opened = adapter.inner.request_device(&descriptor).await;
    opened.map_err(|e| Error::NoDevice {
        adapter: adapter.to_string(),
        message: e.to_string(),
    })
}

fn supported(device: &str, limits: &wgpu::Limits) -> Result<(), Error> {
    let needs = [
        (
            "max_storage_buffers_per_shader_stage",
            limits.max_storage_buffers_per_shader_stage,
            LEAST_STORAGE_BUFFERS,
        ),
        (
            "max_uniform_buffers_per_shader_stage",
            limits.max_uniform_buffers_per_shader_stage,
            LEAST_UNIFORM_BUFFERS,
        ),
        (
            "max_bindings_per_bind_group",
            limits.max_bindings_per_bind_group,
            LEAST_BINDINGS,
        ),
        (
            "max_compute_workgroup_storage_size",
            limits.max_compute_workgroup_storage_size,
            LEAST_WORKGROUP_BYTES,
        ),
        (
            "max_compute_invocations_per_workgroup",
            limits.max_compute_invocations_per_workgroup,
            LEAST_INVOCATIONS,
        ),
    ];
    match needs.into_iter().find(|(_, actual, least)| actual < least) {
        None => Ok(()),
        Some((what, actual, needed)) => Err(Error::Unsupported {
            device: device.to_owned(),
            what,
            actual: actual.into(),
            needed: needed.into(),
        }),
    }
}

impl Shared {
    /// A place for a reduction's idle buffers that [`Shared::with_room`] knows of.
    fn keeper(&self) -> Arc<Idle> {
        let keeper = Arc::default();
        let mut all = lock(&self.idle);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&keeper));
        keeper
    }

    /// Calls what allocates; where the device is out of memory, once more without the buffers
    /// that are kept for later runs or were dropped and not yet freed.
    fn with_room<T>(&self, allocate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        match allocate() {
            Err(Error::OutOfMemory { what, bytes }) => {
                log::debug!(
                    "out of memory for {what} of {bytes} bytes: letting go of idle buffers"
                );
                let idle: Vec<_> = lock(&self.idle).iter().filter_map(Weak::upgrade).collect();
                idle.iter().for_each(|kept| lock(kept).clear());
                self.uploads.clear();
                self.context.wait(None)?;
                allocate()
            }
            result => result,
        }
    }

    /// Compiles a plan. `shared`: for buffers that are read and written in one dispatch, which wgpu allows
    /// where both bindings are writable.
    fn ready(&self, plan: Plan, shared: bool) -> Result<Ready, Error> {
        pollster::block_on(self.ready_on(plan, shared, PollMode::Here(None)))
    }

    async fn ready_on(&self, plan: Plan, shared: bool, drive: PollMode) -> Result<Ready, Error> {
        log::debug!("{plan}");
        let mut compiled = Vec::with_capacity(plan.passes().len());
        for pass in plan.passes() {
            let key = (pass.kernel, shared);
            let known = lock(&self.compiled).get(&key).cloned();
            compiled.push(match known {
                Some(kernel) => kernel,
                None => {
                    drive.pause().await;
                    self.compile(key)?
                }
            });
        }
        Ok(Ready { plan, compiled })
    }

    /// Compiles without the lock: two threads may do it twice, none waits for the other.
    fn compile(&self, key: (Kernel, bool)) -> Result<Arc<Compiled>, Error> {
        let (kernel, shared) = key;
        let start = Instant::now();
        let compile = || compile(&self.context.device, &kernel, shared);
        let compiled = self.context.scoped("a pipeline", 0, compile)?;
        self.context.check()?;
        log::debug!("compiled {} in {:.1?}", kernel.label(), start.elapsed());
        let mut all = lock(&self.compiled);
        Ok(all.entry(key).or_insert(Arc::new(compiled)).clone())
    }
}

fn compile(device: &wgpu::Device, kernel: &Kernel, shared: bool) -> Compiled {
    let label = kernel.label();
    let mut text = kernel.wgsl();
    if shared {
        text = text.replace("var<storage, read>", "var<storage, read_write>");
    }
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(&label),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let entry = |&binding: &u32| layout_entry(binding, kernel.has_stride_table(), shared);
    let entries: Vec<_> = kernel.bindings().iter().map(entry).collect();
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
        entry_point: Some(kernel.entry_point()),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &kernel.constants(),
            // Every kernel writes workgroup memory before it reads it.
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    Compiled { pipeline, layout }
}

fn layout_entry(binding: u32, stride_table: bool, shared: bool) -> wgpu::BindGroupLayoutEntry {
    let ty = match binding {
        0 => wgpu::BufferBindingType::Uniform,
        1 if stride_table => wgpu::BufferBindingType::Uniform,
        _ => wgpu::BufferBindingType::Storage {
            read_only: binding != 2 && !shared,
        },
    };
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

/// A problem, planned and compiled; runs any number of times, from any thread. Cheap to clone; clones share
/// everything.
#[derive(Clone)]
pub struct Reduction {
    reducer: Reducer,
    prepared: Arc<Prepared>,
}

/// What a reduction is, whoever holds it.
struct Prepared {
    problem: Problem,
    /// For buffers that begin at multiples of 16 bytes.
    ready: Ready,
    /// For others, once they are bound.
    others: [OnceLock<Ready>; 3],
    idle: Arc<Idle>,
}

impl std::fmt::Debug for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reduction({})", self.prepared.ready.plan)
    }
}

/// A plan and its pipelines, one a pass.
pub(crate) struct Ready {
    pub plan: Plan,
    pub compiled: Vec<Arc<Compiled>>,
}

impl Reduction {
    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.prepared.problem
    }

    /// The plan for buffers that begin at multiples of 16 bytes, as a run's own do.
    pub fn plan(&self) -> &Plan {
        &self.prepared.ready.plan
    }

    /// Binds the caller's buffers, which are of the reducer's device. Those of another
    /// `wgpu::Instance` wgpu cannot tell from its own: it panics, or takes a buffer of this instance
    /// that happens to have the same number, which can also end as [`Error::Aliased`]. Slices that do not
    /// begin at a multiple of 16 bytes, and tensors that share a buffer, may need other kernels than the
    /// plan's; those are compiled here, once. Tensors of several buffers are planned here.
    ///
    /// # Errors
    /// [`Error::BufferCount`], [`Error::BufferTooSmall`], [`Error::BufferMisaligned`],
    /// [`Error::BufferBreak`], [`Error::BufferUsage`], [`Error::Aliased`],
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]; of tensors of
    /// several buffers also [`Error::Limit`]; [`Error::Device`] for a buffer that was
    /// destroyed or is of another device.
    pub fn bind(&self, buffers: Buffers<'_>) -> Result<BoundReduction, Error> {
        self.reducer.shared.with_room(|| self.try_bind(buffers))
    }

    fn try_bind(&self, buffers: Buffers<'_>) -> Result<BoundReduction, Error> {
        let problem = &self.prepared.problem;
        let tensors = Tensors::new(problem, buffers)?;
        let (cuts, aligned) = (tensors.cuts(problem), tensors.are_aligned());
        let shared = tensors.share_buffers(buffers.scratch);
        let in_pieces;
        let ready = match cuts.is_empty() {
            true => self.ready(aligned, shared)?,
            false => {
                let plan = Plan::in_pieces(problem, &self.reducer.caps, &cuts, aligned)?;
                in_pieces = self.reducer.shared.ready(plan, shared)?;
                &in_pieces
            }
        };
        let scratch = match buffers.scratch {
            Some(_) if cuts.is_empty() => self.scratch(),
            _ => ready.plan.scratch(&self.reducer.caps),
        };
        let Ready { plan, compiled } = ready;
        let context = &self.reducer.shared.context;
        bind::bind(context, plan, compiled, &scratch, tensors, buffers.scratch)
    }

    /// Bytes of each scratch buffer that [`Reduction::bind`] needs, wherever the tensors begin:
    /// none for a reduction of one pass, one for partial results, up to three for scattered
    /// axes, more where one would exceed the largest buffer.
    pub fn scratch_sizes(&self) -> Vec<u64> {
        self.scratch().iter().map(|scratch| scratch.bytes).collect()
    }

    /// What scratch any binding needs.
    fn scratch(&self) -> Vec<Scratch> {
        let caps = &self.reducer.caps;
        // What cannot be planned is not bound either.
        let anywhere = Plan::for_buffers(&self.prepared.problem, caps, false);
        let plan = &self.prepared.ready.plan;
        let needed = |slot| {
            let other = anywhere.as_ref().map_or(0, |p| p.slot_bytes(slot));
            Scratch::of(slot, other.max(plan.slot_bytes(slot)), caps)
        };
        Slot::SCRATCH.into_iter().flat_map(needed).collect()
    }

    /// What takes tensors of a buffer each: that begin at multiples of 16 bytes, or anywhere, and of which
    /// inputs and outputs share buffers, or not.
    fn ready(&self, aligned: bool, shared: bool) -> Result<&Ready, Error> {
        let Prepared {
            problem,
            ready,
            others,
            ..
        } = &*self.prepared;
        let other = match (aligned, shared) {
            (true, false) => return Ok(ready),
            (false, false) => &others[0],
            (true, true) => &others[1],
            (false, true) => &others[2],
        };
        if let Some(ready) = other.get() {
            return Ok(ready);
        }
        let plan = match aligned {
            true => ready.plan.clone(),
            false => Plan::for_buffers(problem, &self.reducer.caps, false)?,
        };
        let ready = self.reducer.shared.ready(plan, shared)?;
        Ok(other.get_or_init(|| ready))
    }

    /// Runs from host data of one input to one output.
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; what [`Reduction::run_bytes`]
    /// gives.
    pub async fn run<T: Element, O: Element>(&self, input: &[T]) -> Result<Vec<O>, Error> {
        self.check_types(T::DTYPE, O::DTYPE)?;
        let outputs = self.run_bytes(&[T::bytes(input)]).await?;
        Ok(O::from_bytes(&outputs[0]))
    }

    /// [`Reduction::run`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reduction::run`].
    pub fn run_blocking<T: Element, O: Element>(&self, input: &[T]) -> Result<Vec<O>, Error> {
        self.check_types(T::DTYPE, O::DTYPE)?;
        let outputs = self.run_bytes_blocking(&[T::bytes(input)])?;
        Ok(O::from_bytes(&outputs[0]))
    }

    /// Runs from host data of any number of inputs to any number of outputs: of an index operator with
    /// values first the indices, of [`Problem::extremes`] all four.
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; what [`Reduction::run_bytes`]
    /// gives.
    pub async fn run_many<T: Element>(&self, inputs: &[&[T]]) -> Result<Outputs, Error> {
        let inputs = self.input_bytes(inputs)?;
        Ok(self.outputs(self.run_bytes(&inputs).await?))
    }

    /// [`Reduction::run_many`], waiting for the results.
    ///
    /// # Errors
    /// As [`Reduction::run_many`].
    pub fn run_many_blocking<T: Element>(&self, inputs: &[&[T]]) -> Result<Outputs, Error> {
        let inputs = self.input_bytes(inputs)?;
        Ok(self.outputs(self.run_bytes_blocking(&inputs)?))
    }

    fn input_bytes<'a, T: Element>(&self, inputs: &[&'a [T]]) -> Result<Vec<&'a [u8]>, Error> {
        same_type("input 0", self.prepared.problem.dtype(), T::DTYPE)?;
        Ok(inputs.iter().map(|input| T::bytes(input)).collect())
    }

    fn outputs(&self, bytes: Vec<Vec<u8>>) -> Outputs {
        Outputs {
            problem: self.prepared.problem.clone(),
            bytes,
        }
    }

    /// Runs from raw bytes: little endian, C order, an input after another; the outputs alike.
    /// The future completes under any executor, as [`Polling`] says.
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`].
    pub async fn run_bytes(&self, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self
            .run_on(inputs, self.reducer.background(), false)
            .await?
            .0)
    }

    /// [`Reduction::run_bytes`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reduction::run_bytes`]; [`Error::Timeout`] where [`Reducer::with_timeout`] set one.
    pub fn run_bytes_blocking(&self, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(pollster::block_on(self.run_on(inputs, self.reducer.blocking(), false))?.0)
    }

    /// [`Reduction::run_bytes`] with the time each part took. Waits between the parts.
    ///
    /// # Errors
    /// As [`Reduction::run_bytes`].
    pub async fn run_timed(&self, inputs: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Times), Error> {
        self.run_on(inputs, self.reducer.background(), true).await
    }

    /// [`Reduction::run_timed`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reduction::run_bytes`].
    pub fn run_timed_blocking(&self, inputs: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Times), Error> {
        pollster::block_on(self.run_on(inputs, self.reducer.blocking(), true))
    }

    /// For a call of one typed input and one typed output.
    fn check_types(&self, input: DType, output: DType) -> Result<(), Error> {
        let problem = &self.prepared.problem;
        let outputs = problem.outputs();
        same_type("input 0", problem.dtype(), input)?;
        if outputs.len() != 1 {
            return Err(Error::Problem(ProblemError::OutputCount {
                op: problem.op(),
                expected: outputs.len(),
                actual: 1,
            }));
        }
        same_type("output 0", outputs[0].dtype, output)
    }

    pub(crate) async fn run_on(
        &self,
        inputs: &[&[u8]],
        drive: PollMode,
        timed: bool,
    ) -> Result<(Vec<Vec<u8>>, Times), Error> {
        let problem = &self.prepared.problem;
        let lens: Vec<u64> = inputs.iter().map(|i| i.len() as u64).collect();
        problem.check_inputs(&lens)?;
        if self.prepared.ready.plan.passes().is_empty() {
            let outputs = problem.outputs().iter().map(|_| Vec::new()).collect();
            return Ok((outputs, Times::default()));
        }
        let idle = lock(&self.prepared.idle).pop();
        let shared = &*self.reducer.shared;
        let context = &shared.context;
        let most = self.reducer.caps.piece_bytes();
        let new = || Workspace::new(context, problem, most, |buffers| self.try_bind(buffers));
        let workspace = match idle {
            Some(workspace) => workspace,
            None => shared.with_room(new)?,
        };
        let upload =
            |bytes| shared.with_room(|| Upload::new(&shared.uploads, context, drive, bytes));
        // A workspace whose run failed or was dropped halfway may be mapped: it is not reused.
        let run = workspace.run(context, problem, inputs, drive, timed, upload);
        let result = run.await?;
        lock(&self.prepared.idle).push(workspace);
        Ok(result)
    }
}

/// The outputs of a run, in the order of [`Problem::outputs`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    problem: Problem,
    bytes: Vec<Vec<u8>>,
}

impl Outputs {
    /// The elements of an output, in C order.
    ///
    /// # Errors
    /// [`ProblemError::NoSuchOutput`], [`ProblemError::ElementType`].
    pub fn get<O: Element>(&self, output: usize) -> Result<Vec<O>, Error> {
        let Some(bytes) = self.bytes.get(output) else {
            return Err(Error::Problem(ProblemError::NoSuchOutput {
                op: self.problem.op(),
                output,
                outputs: self.bytes.len(),
            }));
        };
        let dtype = self.problem.outputs()[output].dtype;
        same_type(&format!("output {output}"), dtype, O::DTYPE)?;
        Ok(O::from_bytes(bytes))
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The bytes of each output: little endian, C order.
    pub fn bytes(&self) -> &[Vec<u8>] {
        &self.bytes
    }

    /// [`Outputs::bytes`], without a copy.
    pub fn into_bytes(self) -> Vec<Vec<u8>> {
        self.bytes
    }
}

fn same_type(what: &str, expected: DType, actual: DType) -> Result<(), Error> {
    match expected == actual {
        true => Ok(()),
        false => Err(Error::Problem(ProblemError::ElementType {
            what: what.into(),
            expected,
            actual,
        })),
    }
}

/// Bytes of all tensors.
fn bytes(problem: &Problem) -> u64 {
    let inputs = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
    let outputs = problem.outputs().into_iter().map(|o| o.bytes());
    inputs.chain(outputs).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_that_gives_no_device_is_an_error_with_its_reason() {
        let noop = AdapterChoice::Backend(wgpu::Backend::Noop);
        let mut adapter = pollster::block_on(adapter::choose(&noop)).expect("a noop adapter");
        adapter.limits.max_bind_groups += 1;
        match pollster::block_on(request(&adapter)) {
            Err(Error::NoDevice { message, .. }) => {
                assert!(message.contains("max_bind_groups"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}
