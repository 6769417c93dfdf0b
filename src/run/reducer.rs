//! The reducer: opens a device or uses the caller's, and solves problems with it. Keeps the latest few
//! reductions prepared.

use crate::device::adapter::{self, AdapterChoice, AdapterEntry, supported};
use crate::device::context::{Context, lock};
use crate::device::platform::{self, PollMode, Polling};
use crate::run::engine::Engine;
use crate::run::reduction::{Outputs, Prepared, Reduction};
use crate::run::selftest;
use crate::{Caps, Element, Error, Problem};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// How many reductions single calls keep, each of at most `RECENT_BYTES` in all its tensors.
const RECENT: usize = 8;
const RECENT_BYTES: u64 = 4 << 20;

/// A device that runs reductions: pipelines are compiled once and kept.
///
/// Cloning is cheap; clones share everything. `Send + Sync`, except in a browser.
#[derive(Clone)]
pub struct Reducer {
    pub(crate) engine: Engine,
    recent: Arc<Mutex<VecDeque<Arc<Prepared>>>>,
    passed_over: Arc<[String]>,
}

impl std::fmt::Debug for Reducer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reducer({})", self.engine.shared.info.name)
    }
}

impl Reducer {
    /// Opens an adapter without a window, with all its limits, and runs [`Reducer::self_test`].
    /// [`AdapterChoice::Auto`] goes on to the next adapter if one cannot be opened or fails the test.
    ///
    /// # Errors
    /// [`Error::NoBackend`], [`Error::NoAdapter`], [`Error::Unsupported`], [`Error::NoDevice`],
    /// [`Error::SelfTest`], and the errors of a run. If `Auto` can use no adapter, it gives the first error that is not
    /// [`Error::Unsupported`], or else the first one.
    pub async fn open(choice: &AdapterChoice) -> Result<Reducer, Error> {
        let (adapters, others) = adapter::choose(choice).await?;
        let mut failed = Vec::new();
        let opened = match first(adapters, &mut failed).await {
            None if others => first(adapter::last().await?, &mut failed).await,
            opened => opened,
        };
        if let Some(reducer) = opened {
            let reason = |(adapter, error): &(AdapterEntry, Error)| format!("{adapter}: {error}");
            return Ok(Reducer {
                passed_over: failed.iter().map(reason).collect(),
                ..reducer
            });
        }
        let told = |(_, e): &(AdapterEntry, Error)| !matches!(e, Error::Unsupported { .. });
        let worst = failed.iter().position(told).unwrap_or(0);
        Err(failed.swap_remove(worst).1)
    }

    /// Opens an adapter, with all its limits, and tests it.
    async fn open_adapter(adapter: &AdapterEntry) -> Result<Reducer, Error> {
        if let Some(refusal) = adapter.refusal() {
            return Err(refusal);
        }
        let optional = wgpu::Features::TIMESTAMP_QUERY;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("wgreduce"),
            required_features: adapter.features & optional,
            required_limits: adapter.limits.clone(),
            ..Default::default()
        };
        let opened = adapter.inner.request_device(&descriptor).await;
        let (device, queue) = opened.map_err(|e| Error::NoDevice {
            adapter: adapter.to_string(),
            message: e.to_string(),
        })?;
        let reducer = Reducer::new(&device, &queue)?;
        reducer.self_test().await?;
        Ok(reducer)
    }

    /// The adapters that [`AdapterChoice::Auto`] passed over for this one, each with the reason.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Runs problems with known answers on the device and compares every byte. Takes about as long
    /// as compiling a dozen kernels.
    ///
    /// # Errors
    /// [`Error::SelfTest`] with the first difference, and the errors of a run.
    pub async fn self_test(&self) -> Result<(), Error> {
        selftest::run(self).await
    }

    /// Uses the caller's device and queue. Their error handlers and callbacks stay as they are. Waits,
    /// without a bound, for all work submitted before, so call it before the first frame. Runs no self-test;
    /// [`Reducer::self_test`] does.
    ///
    /// The limits of `wgpu::Limits::downlevel_defaults` suffice. At least 4 storage and 2 uniform buffers per
    /// stage, 9 bindings per group, 128 invocations and 16,352 bytes of workgroup memory are needed.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::ForeignQueue`], [`Error::DeviceLost`].
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Reducer, Error> {
        let (info, limits) = (device.adapter_info(), device.limits());
        supported(&format!("the device of {}", info.name), &info, &limits)?;
        let is_own = platform::is_own_queue(device, queue);
        if !is_own.map_err(|message| Error::DeviceLost { message })? {
            return Err(Error::ForeignQueue { adapter: info.name });
        }
        let caps = Caps::of(&info, &limits);
        let context = Context::new(device.clone(), queue.clone());
        context.check()?;
        Ok(Reducer {
            engine: Engine::new(context, info, caps),
            recent: Arc::default(),
            passed_over: Arc::default(),
        })
    }

    /// The same device and pipelines with other caps: stricter limits, another tuning.
    ///
    /// [`Reducer::caps`] then has, field by field, the stricter of what the device allows and what is asked: the
    /// smaller limit, the larger `offset_alignment`, `long_kernels` only if both have it, `iterations` if either has.
    /// `class` and `tuning` are no limits and stay as they are.
    ///
    /// This refuses nothing. What is wrong with the caps is an error where a problem is planned, as by
    /// [`Reducer::prepare`]: [`Error::Limit`] for a limit of zero or below what every plan needs,
    /// [`Error::OffsetAlignment`] for an alignment that no device has, and [`Error::Tuning`] for a tuning that
    /// [`Tuning::check`](crate::Tuning::check) refuses.
    #[must_use]
    pub fn with_caps(&self, caps: Caps) -> Reducer {
        let limits = self.engine.context().device.limits();
        let device = Caps::of(&self.engine.shared.info, &limits);
        let mut reducer = self.clone();
        reducer.engine.caps = Arc::new(caps.within(&device));
        // Plans differ.
        reducer.recent = Arc::default();
        reducer
    }

    /// The same device and pipelines; `polling` says who polls the device for futures.
    #[must_use]
    pub fn with_polling(&self, polling: Polling) -> Reducer {
        let mut reducer = self.clone();
        reducer.engine.polling = polling;
        reducer
    }

    /// The same device and pipelines; later compilations use this pipeline cache. The caller creates it on
    /// the same device with `wgpu::Features::PIPELINE_CACHE`, and saves its data for the next process, as the
    /// example `pipeline_cache` does. Most desktop drivers have a cache of their own; there it adds nothing.
    #[must_use]
    pub fn with_pipeline_cache(&self, cache: wgpu::PipelineCache) -> Reducer {
        let mut reducer = self.clone();
        reducer.engine.cache = Some(cache);
        reducer
    }

    /// Name, backend and driver of the adapter.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.engine.shared.info
    }

    /// The limits and tuning that plans are made with.
    pub fn caps(&self) -> &Caps {
        &self.engine.caps
    }

    /// The device.
    pub fn device(&self) -> &wgpu::Device {
        &self.engine.context().device
    }

    /// The queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.engine.context().queue
    }

    /// Plans a problem and compiles what is not yet compiled. Yields to the executor before each kernel, so that it
    /// blocks other tasks for the compilation of one kernel at most.
    ///
    /// # Errors
    /// Those of [`Plan::new`](crate::Plan::new), [`Error::DeviceLost`], [`Error::Device`].
    pub async fn prepare(&self, problem: &Problem) -> Result<Reduction, Error> {
        Reduction::prepare(&self.engine, problem, self.engine.background()).await
    }

    /// Waits for errors of [`Reduction::bind`]: a browser reports them after it has returned. Elsewhere this returns at
    /// once.
    ///
    /// # Errors
    /// The first error since the last call of this: [`Error::OutOfMemory`], [`Error::Device`],
    /// [`Error::DeviceLost`].
    pub async fn settled(&self) -> Result<(), Error> {
        self.engine.context().settled().await
    }

    /// [`Reducer::prepare`] for a single call: keeps the latest few reductions with their
    /// buffers, whose allocation takes longer than a short run. Reductions of large tensors are not kept: they
    /// would hold much memory to save a small part of a run's time.
    pub(crate) async fn recent(
        &self,
        problem: &Problem,
        drive: PollMode,
    ) -> Result<Reduction, Error> {
        let found = {
            let mut recent = lock(&self.recent);
            let at = recent.iter().position(|p| p.problem == *problem);
            let found = at.and_then(|at| recent.remove(at));
            recent.extend(found.clone());
            found
        };
        if let Some(prepared) = found {
            let engine = self.engine.clone();
            return Ok(Reduction { engine, prepared });
        }
        let reduction = Reduction::prepare(&self.engine, problem, drive).await?;
        if bytes(problem) <= RECENT_BYTES {
            let mut recent = lock(&self.recent);
            recent.push_back(reduction.prepared.clone());
            if recent.len() > RECENT {
                recent.pop_front();
            }
        }
        Ok(reduction)
    }

    /// Solves a problem of one input and one output from host data. The latest few problems
    /// are kept prepared.
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; the errors of [`Reducer::prepare`] and
    /// [`Reduction::run_bytes`].
    pub async fn run<T: Element, O: Element>(
        &self,
        problem: &Problem,
        input: &[T],
    ) -> Result<Vec<O>, Error> {
        let recent = self.recent(problem, self.engine.background()).await?;
        recent.run(input).await
    }

    /// [`Reduction::run_many`] for a problem that is prepared as in [`Reducer::run`].
    ///
    /// # Errors
    /// Those of [`Reducer::prepare`] and [`Reduction::run_many`].
    pub async fn run_many<T: Element>(
        &self,
        problem: &Problem,
        inputs: &[&[T]],
    ) -> Result<Outputs, Error> {
        let recent = self.recent(problem, self.engine.background()).await?;
        recent.run_many(inputs).await
    }

    /// [`Reduction::run_bytes`] for a problem that is prepared as in [`Reducer::run`].
    ///
    /// # Errors
    /// Those of [`Reducer::prepare`] and [`Reduction::run_bytes`].
    pub async fn run_bytes(
        &self,
        problem: &Problem,
        inputs: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let recent = self.recent(problem, self.engine.background()).await?;
        recent.run_bytes(inputs).await
    }
}

/// The first adapter that can be opened and passes its test. The others are added to `failed`, each with the reason.
async fn first(
    adapters: Vec<AdapterEntry>,
    failed: &mut Vec<(AdapterEntry, Error)>,
) -> Option<Reducer> {
    for adapter in adapters {
        match Reducer::open_adapter(&adapter).await {
            Ok(reducer) => return Some(reducer),
            Err(error) => failed.push((adapter, error)),
        }
    }
    None
}

/// Bytes of all tensors.
fn bytes(problem: &Problem) -> u64 {
    let sizes = problem.sizes();
    let bytes = sizes.iter().flatten().map(|(bytes, _)| *bytes);
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adapters that are known to be of no use, that give no device, and that compute wrongly.
    #[test]
    fn adapters_that_cannot_be_used_are_passed_over_with_the_reason() {
        let noop = AdapterChoice::Backend(wgpu::Backend::Noop);
        let (adapters, _) = pollster::block_on(adapter::choose(&noop)).expect("a noop adapter");
        let wrong = adapters[0].clone();
        let (mut old, mut closed) = (wrong.clone(), wrong.clone());
        old.info.backend = wgpu::Backend::Gl;
        old.info.driver_info = "3.3.0 NVIDIA 580.159".into();
        closed.limits.max_bind_groups += 1;
        let working = adapter::adapters_blocking().unwrap_or_default();
        let working = working.into_iter().find(|a| a.refusal().is_none());
        let all = [old, closed, wrong].into_iter().chain(working.clone());
        let mut failed = Vec::new();
        let opened = pollster::block_on(first(all.collect(), &mut failed));
        assert_eq!(opened.is_some(), working.is_some());
        let words = [
            "shading language is 330",
            "max_bind_groups",
            "the self-test failed",
        ];
        assert_eq!(failed.len(), words.len(), "{failed:?}");
        for ((adapter, told), words) in failed.iter().zip(words) {
            assert!(adapter.to_string().starts_with("noop wgpu backend ("));
            assert!(told.to_string().contains(words), "{told}");
        }
        assert!(matches!(failed[0].1, Error::Unsupported { .. }));
        assert!(matches!(failed[1].1, Error::NoDevice { .. }));
    }
}
