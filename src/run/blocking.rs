//! The blocking variants of the API. A page in a browser has none, because it cannot wait.

use crate::device::platform::{Deadline, PollMode};
use crate::partial::shard::part_of;
use crate::run::engine::Engine;
use crate::run::reduction::{Outputs, Reduction};
use crate::run::workspace::Times;
use crate::{AdapterChoice, Element, Error, Partial, Problem, Reducer, Shard, StreamedReduction};
use std::io;
use std::time::Duration;

impl Engine {
    /// The calling thread waits, up to the timeout.
    pub fn blocking(&self) -> PollMode {
        PollMode::Here(self.timeout.map(Deadline::after))
    }
}

impl Reducer {
    /// [`Reducer::open`], waiting for it.
    pub fn open_blocking(choice: &AdapterChoice) -> Result<Reducer, Error> {
        pollster::block_on(Reducer::open(choice))
    }

    /// [`Reducer::self_test`], waiting for the answers.
    pub fn self_test_blocking(&self) -> Result<(), Error> {
        pollster::block_on(self.self_test())
    }

    /// The same device and pipelines, with a timeout for blocking runs: a run that takes longer
    /// gives [`Error::Timeout`]. Its work cannot be cancelled: it keeps its buffers until it is done, and later
    /// runs wait for it. A run that finds no memory waits for all work before it tries again, however long. To
    /// bound a future, drop it.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Reducer {
        let mut reducer = self.clone();
        reducer.engine.timeout = Some(timeout);
        reducer
    }

    /// Drops this handle within the timeout. A plain drop of the last handle waits for a busy device, without a
    /// bound. If the device is still busy after the timeout, a thread goes on waiting.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the device was still busy; [`Error::DeviceLost`].
    pub fn close(self, timeout: Duration) -> Result<(), Error> {
        let deadline = Deadline::after(timeout);
        let context = self.engine.context();
        let waited = context.wait_until(None, Some(deadline));
        let result = waited.and_then(|()| context.check());
        if matches!(result, Err(Error::Timeout { .. })) {
            let closing = std::thread::Builder::new().name("wgreduce closing".into());
            // If no thread can be started, this one waits.
            let _ = closing.spawn(move || drop(self));
        }
        result
    }

    /// [`Reducer::run`], waiting for the result.
    pub fn run_blocking<T: Element, O: Element>(
        &self,
        problem: &Problem,
        input: &[T],
    ) -> Result<Vec<O>, Error> {
        self.recent_blocking(problem)?.run_blocking(input)
    }

    /// [`Reducer::run_many`], waiting for the results.
    pub fn run_many_blocking<T: Element>(
        &self,
        problem: &Problem,
        inputs: &[&[T]],
    ) -> Result<Outputs, Error> {
        self.recent_blocking(problem)?.run_many_blocking(inputs)
    }

    /// [`Reducer::run_bytes`], waiting for the result.
    pub fn run_bytes_blocking(
        &self,
        problem: &Problem,
        inputs: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, Error> {
        self.recent_blocking(problem)?.run_bytes_blocking(inputs)
    }

    /// [`Reducer::prepare`], waiting for it.
    pub fn prepare_blocking(&self, problem: &Problem) -> Result<Reduction, Error> {
        let prepared = Reduction::prepare(&self.engine, problem, self.engine.blocking());
        pollster::block_on(prepared)
    }

    /// [`Reducer::stream`], waiting for it.
    pub fn stream_blocking(
        &self,
        problem: &Problem,
        memory: u64,
    ) -> Result<StreamedReduction, Error> {
        pollster::block_on(self.stream_on(problem, memory, self.engine.blocking()))
    }

    /// [`Reducer::shard`], waiting for it.
    pub fn shard_blocking(&self, problem: &Problem, memory: u64) -> Result<Shard, Error> {
        pollster::block_on(self.shard_on(problem, memory, self.engine.blocking()))
    }

    fn recent_blocking(&self, problem: &Problem) -> Result<Reduction, Error> {
        pollster::block_on(self.recent(problem, self.engine.blocking()))
    }
}

impl Reduction {
    /// [`Reduction::run`], waiting for the result.
    pub fn run_blocking<T: Element, O: Element>(&self, input: &[T]) -> Result<Vec<O>, Error> {
        self.check_types(T::DTYPE, O::DTYPE)?;
        let outputs = self.run_bytes_blocking(&[T::bytes(input)])?;
        Ok(O::from_bytes(&outputs[0]))
    }

    /// [`Reduction::run_many`], waiting for the results.
    pub fn run_many_blocking<T: Element>(&self, inputs: &[&[T]]) -> Result<Outputs, Error> {
        let inputs = self.input_bytes(inputs)?;
        Ok(self.outputs(self.run_bytes_blocking(&inputs)?))
    }

    /// [`Reduction::run_bytes`], waiting for the result.
    ///
    /// # Errors
    /// As [`Reduction::run_bytes`]; [`Error::Timeout`] where
    /// [`Reducer::with_timeout`](crate::Reducer::with_timeout) set one.
    pub fn run_bytes_blocking(&self, inputs: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(pollster::block_on(self.run_on(inputs, self.engine.blocking(), false))?.0)
    }

    /// [`Reduction::run_timed`], waiting for the result.
    pub fn run_timed_blocking(&self, inputs: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Times), Error> {
        pollster::block_on(self.run_on(inputs, self.engine.blocking(), true))
    }
}

impl StreamedReduction {
    /// [`StreamedReduction::run`], in the calling thread.
    ///
    /// # Errors
    /// As [`StreamedReduction::run`]; [`Error::Timeout`] where [`Reducer::with_timeout`] set one.
    pub fn run_blocking(
        &self,
        read: impl FnMut(usize, u64, &mut [u8]) -> io::Result<()>,
        write: impl FnMut(usize, u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        pollster::block_on(self.run_on(read, write, self.engine.blocking()))
    }
}

impl Shard {
    /// [`Shard::run`], in the calling thread.
    ///
    /// # Errors
    /// As [`Shard::run`]; [`Error::Timeout`] where [`Reducer::with_timeout`] set one.
    pub fn run_blocking(
        &self,
        offset: u64,
        read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<Partial, Error> {
        pollster::block_on(self.run_on(offset, read, self.stream.engine.blocking()))
    }

    /// [`Shard::run_blocking`] on data in memory.
    pub fn run_bytes_blocking(&self, offset: u64, input: &[u8]) -> Result<Partial, Error> {
        self.problem.check_inputs(&[input.len() as u64])?;
        self.run_blocking(offset, part_of(input))
    }
}
