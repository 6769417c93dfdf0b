//! A prepared reduction: binds buffers, and runs from host data to host data.
//!
//! The plan says which dispatches there are, `bind.rs` binds buffers, `workspace.rs` moves host data.

use crate::device::context::lock;
use crate::device::platform::PollMode;
use crate::device::staging::Upload;
use crate::plan::{Scratch, Slot};
use crate::run::bind::{self, BoundReduction};
use crate::run::buffers::{BufferTable, Buffers, Tensors};
use crate::run::engine::{Engine, Idle, Ready};
use crate::run::workspace::{Times, Workspace};
use crate::{BufferSplits, DType, Element, Error, Plan, Problem, ProblemError};
use std::sync::{Arc, OnceLock};

/// A problem, planned and compiled. It runs any number of times, from any thread. Cloning is cheap; clones share
/// everything.
#[derive(Clone)]
pub struct Reduction {
    pub(crate) engine: Engine,
    pub(crate) prepared: Arc<Prepared>,
}

/// What the clones of a reduction share.
pub(crate) struct Prepared {
    pub problem: Problem,
    /// For buffers that begin at multiples of 16 bytes and are not shared.
    ready: Ready,
    /// For other buffers, compiled when such are bound first.
    others: [OnceLock<Ready>; 3],
    idle: Arc<Idle>,
}

impl std::fmt::Debug for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reduction({})", self.prepared.ready.plan)
    }
}

impl Reduction {
    pub(crate) async fn prepare(
        engine: &Engine,
        problem: &Problem,
        drive: PollMode,
    ) -> Result<Reduction, Error> {
        engine.context().alive()?;
        let plan = Plan::new(problem, &engine.caps)?;
        let ready = engine.ready_on(plan, drive);
        let prepared = Prepared {
            ready: engine.context().apart(ready).await?,
            problem: problem.clone(),
            others: Default::default(),
            idle: engine.keeper(),
        };
        Ok(Reduction {
            engine: engine.clone(),
            prepared: Arc::new(prepared),
        })
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.prepared.problem
    }

    /// The plan for buffers that begin at multiples of 16 bytes, as those of runs from host data do.
    pub fn plan(&self) -> &Plan {
        &self.prepared.ready.plan
    }

    /// Binds the caller's buffers, which must belong to the reducer's device. wgpu cannot recognize a buffer of
    /// another `wgpu::Instance`: it panics, or uses a buffer of this instance with the same number, which can
    /// also end as [`Error::Aliased`].
    ///
    /// Slices that do not begin at a multiple of 16 bytes and tensors that share a buffer may need other kernels
    /// than the plan's; those are compiled here, once. Tensors in several buffers are planned anew here.
    ///
    /// # Errors
    /// [`Error::BufferCount`], [`Error::BufferTooSmall`], [`Error::BufferMisaligned`],
    /// [`Error::BufferBreak`], [`Error::BufferUsage`], [`Error::Aliased`], on a page [`Error::BindingsOverlap`],
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]; for tensors in several buffers also [`Error::Limit`];
    /// [`Error::Device`] for a buffer that was destroyed or belongs to another device.
    pub fn bind(&self, buffers: Buffers<'_>) -> Result<BoundReduction, Error> {
        let bound = self.engine.with_room(|| self.try_bind(buffers))?;
        Ok(bound.outlived())
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
                let plan = Plan::in_pieces(problem, &self.engine.caps, &cuts, aligned)?;
                in_pieces = self.engine.ready(plan, shared)?;
                &in_pieces
            }
        };
        let caps = &self.engine.caps;
        let scratch = match buffers.scratch {
            Some(_) => self.scratch(&cuts)?,
            None => ready.plan.scratch(caps),
        };
        let (context, alignment) = (self.engine.context(), caps.offset_alignment);
        let places = BufferTable::new(context, &scratch, alignment, tensors, buffers.scratch)?;
        bind::bind(context, &ready.plan, &ready.compiled, places)
    }

    /// Bytes of each scratch buffer that [`Reduction::bind`] needs for tensors in one buffer each, wherever they
    /// begin: none for a reduction of one pass, one for partial results, up to three for scattered
    /// axes, more where one would exceed the largest buffer.
    pub fn scratch_sizes(&self) -> Vec<u64> {
        // This plan is there, so there is no error.
        let whole = self.scratch_sizes_in_pieces(&BufferSplits::default());
        whole.unwrap_or_default()
    }

    /// [`Reduction::scratch_sizes`] for tensors in several buffers, wherever each begins; `splits` says where they
    /// go on in the next one.
    ///
    /// # Errors
    /// [`Error::Limit`], as [`Reduction::bind`] gives it for these tensors.
    pub fn scratch_sizes_in_pieces(&self, splits: &BufferSplits) -> Result<Vec<u64>, Error> {
        let scratch = self.scratch(splits)?;
        Ok(scratch.iter().map(|scratch| scratch.bytes).collect())
    }

    /// The scratch that suffices for tensors cut there, aligned or not.
    fn scratch(&self, splits: &BufferSplits) -> Result<Vec<Scratch>, Error> {
        let caps = &self.engine.caps;
        let plan = |aligned| Plan::in_pieces(&self.prepared.problem, caps, splits, aligned);
        let [aligned, anywhere] = [plan(true), plan(false)];
        // If one plan fails, so does a bind that needs it.
        let plans = [aligned.as_ref(), anywhere.as_ref()];
        let bytes = |slot| plans.iter().flatten().map(|p| p.slot_bytes(slot)).max();
        let needed = |slot| Scratch::of(slot, bytes(slot).unwrap_or(0), caps);
        let scratch = Slot::SCRATCH.into_iter().flat_map(needed).collect();
        aligned.or(anywhere).map(|_| scratch)
    }

    /// The compiled plan for tensors in one buffer each. `aligned`: all begin at multiples of 16 bytes;
    /// `shared`: inputs and outputs may share buffers.
    fn ready(&self, aligned: bool, shared: bool) -> Result<&Ready, Error> {
        let prepared = &*self.prepared;
        let [shifted, aliased, both] = &prepared.others;
        let other = match (aligned, shared) {
            (true, false) => return Ok(&prepared.ready),
            (false, false) => shifted,
            (true, true) => aliased,
            (false, true) => both,
        };
        if let Some(ready) = other.get() {
            return Ok(ready);
        }
        let whole = BufferSplits::default();
        let plan = Plan::in_pieces(&prepared.problem, &self.engine.caps, &whole, aligned)?;
        let ready = self.engine.ready(plan, shared)?;
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

    /// Runs from host data of any number of inputs. [`Outputs`] has all outputs, in the order of
    /// [`Problem::outputs`].
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; what [`Reduction::run_bytes`]
    /// gives.
    pub async fn run_many<T: Element>(&self, inputs: &[&[T]]) -> Result<Outputs, Error> {
        let inputs = self.input_bytes(inputs)?;
        Ok(self.outputs(self.run_bytes(&inputs).await?))
    }

    pub(crate) fn input_bytes<'a, T: Element>(
        &self,
        inputs: &[&'a [T]],
    ) -> Result<Vec<&'a [u8]>, Error> {
        same_type("input 0", self.prepared.problem.dtype(), T::DTYPE)?;
        Ok(inputs.iter().map(|input| T::bytes(input)).collect())
    }

    pub(crate) fn outputs(&self, bytes: Vec<Vec<u8>>) -> Outputs {
        Outputs {
            problem: self.prepared.problem.clone(),
            bytes,
        }
    }

    /// Runs from raw bytes, one slice per input: little endian, in C order. Returns the outputs in the same form.
    /// The future completes under any executor, as [`Polling`](crate::Polling) says.
    ///
    /// # Errors
    /// [`Error::Problem`] if the data does not fit the problem; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`].
    pub async fn run_bytes(&self, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let run = self.run_on(inputs, self.engine.background(), false);
        Ok(run.await?.0)
    }

    /// [`Reduction::run_bytes`] with the times of upload, work and readback, which do not overlap then.
    pub async fn run_timed(&self, inputs: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Times), Error> {
        self.run_on(inputs, self.engine.background(), true).await
    }

    /// Checks the types of a call with one input and one output.
    pub(crate) fn check_types(&self, input: DType, output: DType) -> Result<(), Error> {
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
        Ok(same_type("output 0", outputs[0].dtype, output)?)
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
        let context = self.engine.context();
        let most = self.engine.caps.piece_bytes();
        let new = || Workspace::new(context, problem, most, |buffers| self.try_bind(buffers));
        let upload = |bytes| {
            self.engine
                .with_room(|| Upload::new(&self.engine.shared.uploads, context, drive, bytes))
        };
        let run = async {
            let workspace = match idle {
                Some(workspace) => workspace,
                None => self.engine.with_room_on(new).await?,
            };
            let run = workspace.run(context, problem, inputs, drive, timed, upload);
            let result = run.await?;
            Ok((workspace, result))
        };
        // A workspace whose run failed or was dropped may still be mapped, so it is not reused.
        let (workspace, result) = context.apart(run).await?;
        lock(&self.prepared.idle).push(workspace);
        Ok(result)
    }
}

/// The outputs of a run, in the order of [`Problem::outputs`]. Iterating gives each one's name
/// ([`Problem::output_names`]) and bytes.
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

    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no output; every problem has one.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The name and the bytes of each output.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, &[u8])> {
        let names = self.problem.output_names().iter().copied();
        names.zip(self.bytes.iter().map(Vec::as_slice))
    }
}

impl IntoIterator for Outputs {
    type Item = (&'static str, Vec<u8>);
    type IntoIter = std::iter::Zip<
        std::iter::Copied<std::slice::Iter<'static, &'static str>>,
        std::vec::IntoIter<Vec<u8>>,
    >;

    /// The name and the bytes of each output, without a copy.
    fn into_iter(self) -> Self::IntoIter {
        let names = self.problem.output_names().iter().copied();
        names.zip(self.bytes)
    }
}

pub(crate) fn same_type(what: &str, expected: DType, actual: DType) -> Result<(), ProblemError> {
    match expected == actual {
        true => Ok(()),
        false => Err(ProblemError::ElementType {
            what: what.into(),
            expected,
            actual,
        }),
    }
}
