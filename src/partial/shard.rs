//! Partial results from a device: the records of a stream over a part of a tensor.

use super::{Kind, Partial, word};
use crate::device::platform::PollMode;
use crate::run::stream::StreamedReduction;
use crate::{Caps, Error, Plan, Problem, Reducer};
use std::io;

/// A prepared reduction of a part of a tensor; a run gives a [`Partial`].
#[derive(Debug)]
pub struct Shard {
    pub(crate) stream: StreamedReduction,
    pub(crate) problem: Problem,
}

impl Reducer {
    /// Prepares the reduction of a part of a tensor; `problem` describes the part alone. Its data is streamed as by
    /// [`Reducer::stream`], in at most `memory` bytes plus the partial result.
    ///
    /// # Errors
    /// [`PartialError::ReducesNothing`](crate::PartialError::ReducesNothing),
    /// [`PartialError::Fused`](crate::PartialError::Fused); the errors of [`Reducer::stream`].
    pub async fn shard(&self, problem: &Problem, memory: u64) -> Result<Shard, Error> {
        self.shard_on(problem, memory, self.engine.background())
            .await
    }

    pub(crate) async fn shard_on(
        &self,
        problem: &Problem,
        memory: u64,
        drive: PollMode,
    ) -> Result<Shard, Error> {
        Kind::of(problem)?;
        let plan = |caps: &Caps| Plan::partial(problem, caps);
        Ok(Shard {
            stream: StreamedReduction::new(&self.engine, memory, plan, drive).await?,
            problem: problem.clone(),
        })
    }
}

impl Shard {
    /// Bytes that a run reads, without the elements read for values.
    pub fn read_bytes(&self) -> u64 {
        self.stream.read_bytes()
    }

    /// Runs. `offset` is where the part begins along the reduced axis of the whole; value operators ignore it.
    /// `read(at, bytes)` fills `bytes` with the part's bytes from `at` on. Values are read one by one at the end.
    ///
    /// # Errors
    /// [`PartialError::Offset`](crate::PartialError::Offset); the errors of [`StreamedReduction::run`].
    pub async fn run(
        &self,
        offset: u64,
        read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<Partial, Error> {
        self.run_on(offset, read, self.stream.engine.background())
            .await
    }

    pub(crate) async fn run_on(
        &self,
        offset: u64,
        mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
        drive: PollMode,
    ) -> Result<Partial, Error> {
        let mut partial = Partial::none(&self.problem, offset)?;
        if partial.empty {
            return Ok(partial);
        }
        let take = |_, at: u64, bytes: &[u8]| {
            let taken = partial.take(offset, at, bytes);
            taken.map_err(io::Error::other)
        };
        let run = self
            .stream
            .run_on(|_, at, into| read(at, into), take, drive);
        run.await?;
        if !partial.kind.values {
            return Ok(partial);
        }
        let size = self.problem.dtype().size() as usize;
        let (len, inner) = (self.problem.reduced_len(), self.problem.inner());
        let held = partial.held;
        for (i, record) in (0u64..).zip(&mut partial.records) {
            let o = i / held;
            let (outer, column) = (o / inner, o % inner);
            let flat = (outer * len + record.index - offset) * inner + column;
            let at = self.problem.position(0, flat) * size as u64;
            let mut bytes = [0; 8];
            let read = read(at, &mut bytes[..size]);
            read.map_err(|error| Error::source(0, at, size, error))?;
            record.element = word(&bytes);
        }
        Ok(partial)
    }

    /// [`Shard::run`] on data in memory.
    ///
    /// # Errors
    /// [`crate::ProblemError`] when the input does not fit the problem; the errors of [`Shard::run`].
    pub async fn run_bytes(&self, offset: u64, input: &[u8]) -> Result<Partial, Error> {
        self.problem.check_inputs(&[input.len() as u64])?;
        self.run(offset, part_of(input)).await
    }
}

/// Reads data that is in memory.
pub(crate) fn part_of(input: &[u8]) -> impl FnMut(u64, &mut [u8]) -> io::Result<()> {
    |at, into| {
        into.copy_from_slice(&input[at as usize..][..into.len()]);
        Ok(())
    }
}
