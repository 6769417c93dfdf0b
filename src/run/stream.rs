//! Host data larger than memory: uploads the windows of inputs that a pass reads just before the pass, and reads
//! results back as soon as they are complete.
//!
//! Keeps the windows and their memory. A stream is an ordinary plan under a lower limit on bindings: the plan
//! says what a pass computes and over which part of a tensor.

use crate::device::context::{BufferMapping, Context, OwnBuffer};
use crate::device::platform::PollMode;
use crate::device::staging::Chunk;
use crate::plan::{Pass, Slot, View};
use crate::run::bind;
use crate::run::buffers::{BufferTable, Piece, Tensors};
use crate::run::engine::{Engine, Ready};
use crate::{Caps, Error, Plan, Problem, Reducer};
use std::collections::{HashMap, HashSet};
use std::io;

/// Larger windows are no faster.
const WINDOW_BYTES: u64 = 32 << 20;
/// Most bytes of one call to the caller's `read`.
const READ_BYTES: u64 = 256 << 10;
/// Number of upload chunks, and of readback buffers: one is filled while the device works on another.
const RING: u64 = 2;

/// A problem prepared for data that may exceed the memory of host and device.
///
/// Inputs are read in windows. Host and device together never allocate more than a given number of bytes,
/// whatever the size of the tensors, beside parameters: up to 2 KiB for each dispatch on its way. While the
/// device reduces a window, the next one is read.
///
/// ```
/// use wgreduce::{AdapterChoice, DType, Problem, Reducer};
/// # fn main() -> Result<(), wgreduce::Error> {
/// # if matches!(Reducer::open_blocking(&AdapterChoice::Auto), Err(wgreduce::Error::NoAdapter { .. })) { return Ok(()); }
/// let reducer = Reducer::open_blocking(&AdapterChoice::Auto)?;
/// // Four million bytes, within one million; a file would be read alike.
/// let problem = Problem::arg_max(DType::U8, &[4, 1_000_000], 1)?;
/// let stream = reducer.stream_blocking(&problem, 1_000_000)?;
/// let mut winners = vec![0; 32];
/// stream.run_blocking(
///     |_input, at, into| Ok(into.iter_mut().enumerate().for_each(|(i, b)| *b = (at + i as u64) as u8)),
///     |_output, at, bytes| Ok(winners[at as usize..][..bytes.len()].copy_from_slice(bytes)),
/// )?;
/// assert_eq!(winners[..8], 255i64.to_le_bytes());
/// # Ok(())
/// # }
/// ```
pub struct StreamedReduction {
    pub(crate) engine: Engine,
    ready: Ready,
    layout: Layout,
}

impl std::fmt::Debug for StreamedReduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StreamedReduction({})", self.ready.plan)
    }
}

impl Reducer {
    /// Prepares a problem whose data is read and written piece by piece, in at most `memory`
    /// bytes.
    ///
    /// # Errors
    /// [`Error::Limit`] when that many bytes do not suffice; it names a number that does. The errors of
    /// [`Reducer::prepare`].
    pub async fn stream(&self, problem: &Problem, memory: u64) -> Result<StreamedReduction, Error> {
        self.stream_on(problem, memory, self.engine.background())
            .await
    }

    pub(crate) async fn stream_on(
        &self,
        problem: &Problem,
        memory: u64,
        drive: PollMode,
    ) -> Result<StreamedReduction, Error> {
        let plan = |caps: &Caps| Plan::streamed(problem, caps);
        StreamedReduction::new(&self.engine, memory, plan, drive).await
    }
}

impl StreamedReduction {
    pub(crate) async fn new(
        engine: &Engine,
        memory: u64,
        plan: impl Fn(&Caps) -> Result<Plan, Error>,
        drive: PollMode,
    ) -> Result<StreamedReduction, Error> {
        let caps = &engine.caps;
        let alignment = caps.offset_alignment;
        // The plan with windows of that many bytes, and the memory that it takes in all.
        let windows = |window: u64| -> Result<_, Error> {
            let plan = plan(&caps.lowered(window, caps.workgroups))?;
            let layout = Layout::new(&plan, alignment);
            let needed = layout.bytes(&plan);
            Ok((plan, layout, needed))
        };
        let least = alignment.saturating_add(16);
        let most = WINDOW_BYTES.min(caps.binding_bytes).max(least);
        // The same sizes whatever the memory, so that what a refusal names suffices.
        let smaller = |&size: &u64| (size > least).then(|| (size / 2).max(least));
        let sizes = std::iter::successors(Some(most), smaller);
        let (likely, others): (Vec<u64>, Vec<u64>) = sizes.partition(|&size| size <= memory);
        let (mut found, mut refused, mut lowest) = (None, None, u64::MAX);
        for window in likely.into_iter().chain(others.into_iter().rev()) {
            match windows(window) {
                Ok(fits) if fits.2 <= memory => {
                    found = Some((fits, window));
                    break;
                }
                Ok((.., needed)) => lowest = lowest.min(needed),
                // Windows too small for any plan.
                Err(error @ Error::Limit { .. }) => refused = refused.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        let Some((mut best, mut window)) = found else {
            return Err(match refused {
                Some(error) if lowest == u64::MAX => error,
                _ => Error::Limit {
                    what: "memory of a stream",
                    needed: lowest,
                    limit: memory,
                },
            });
        };
        // Halving may have left memory unused: search between this size and the next.
        let mut beyond = most.min(2 * window);
        for _ in 0..4 {
            let middle = window.midpoint(beyond).next_multiple_of(alignment);
            if middle >= beyond {
                break;
            }
            match windows(middle) {
                Ok(fits) if fits.2 <= memory => (best, window) = (fits, middle),
                _ => beyond = middle,
            }
        }
        let (plan, layout, _) = best;
        let ready = engine.ready_on(plan, drive);
        Ok(StreamedReduction {
            ready: engine.context().apart(ready).await?,
            engine: engine.clone(),
            layout,
        })
    }

    /// The plan; each of its passes reads windows of the inputs.
    pub fn plan(&self) -> &Plan {
        &self.ready.plan
    }

    /// Bytes that a run allocates, on host and device together, beside the parameters of dispatches.
    pub fn memory(&self) -> u64 {
        self.layout.bytes(&self.ready.plan)
    }

    /// Bytes that a run reads of all inputs. They are more than the inputs' size if some are read again: for scattered
    /// axes, for broadcast inputs, and for both extremes that are found one by one.
    pub fn read_bytes(&self) -> u64 {
        let mut held = Held::default();
        let views = self.ready.plan.passes().iter().flat_map(inputs);
        views.filter(|v| held.take(v)).map(View::read).sum()
    }

    /// Runs. The future completes under any executor, as [`crate::Polling`] says.
    ///
    /// `read(input, offset, bytes)` fills `bytes` with the input's bytes from `offset` on.
    /// `write(output, offset, bytes)` receives bytes of an output. Bytes are little endian, in C order. Each byte of
    /// an output is written once, in order. Inputs are read forward, with two exceptions: some parts are read again, and
    /// columns are read row by row, some columns after the others. Whoever polls the future calls both functions.
    ///
    /// # Errors
    /// [`Error::Source`] and [`Error::Sink`] with the functions' errors; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`].
    pub async fn run(
        &self,
        read: impl FnMut(usize, u64, &mut [u8]) -> io::Result<()>,
        write: impl FnMut(usize, u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.run_on(read, write, self.engine.background()).await
    }

    pub(crate) async fn run_on(
        &self,
        mut read: impl FnMut(usize, u64, &mut [u8]) -> io::Result<()>,
        mut write: impl FnMut(usize, u64, &[u8]) -> io::Result<()>,
        drive: PollMode,
    ) -> Result<(), Error> {
        let passes = self.ready.plan.passes();
        if passes.is_empty() {
            return Ok(());
        }
        let windows = || Windows::new(self, drive);
        let run = async {
            let mut windows = self.engine.with_room_on(windows).await?;
            for (i, (pass, is_last)) in passes.iter().zip(last_writes(passes)).enumerate() {
                for view in inputs(pass) {
                    windows.upload(view, &mut read).await?;
                }
                pass.results().for_each(|view| windows.open(view));
                windows.dispatch(&self.ready, i)?;
                for view in pass.results().filter(|_| is_last) {
                    windows.send(view, &mut write).await?;
                }
            }
            // What is still on its way, the oldest first.
            for _ in 0..RING {
                windows.deliver(&mut write).await?;
            }
            Ok(())
        };
        self.engine.context().apart(run).await
    }
}

/// Per pass, whether it writes part of an output that no later pass writes again.
fn last_writes(passes: &[Pass]) -> Vec<bool> {
    let mut later = HashSet::new();
    // What is written beside an output is written as often.
    let mut is_last = |view: &View| later.insert(*view);
    let last = |pass: &Pass| pass.results().next().is_some_and(&mut is_last);
    let mut all: Vec<bool> = passes.iter().rev().map(last).collect();
    all.reverse();
    all
}

/// Views of inputs that a pass reads.
fn inputs(pass: &Pass) -> impl Iterator<Item = &View> {
    pass.read().filter(|v| matches!(v.slot, Slot::Input(_)))
}

/// The view of each input that is in its window.
#[derive(Default)]
struct Held(HashMap<Slot, View>);

impl Held {
    /// Whether a view must be uploaded; records it as held.
    fn take(&mut self, view: &View) -> bool {
        let end = |v: &View| v.offset + v.bytes;
        let inside = |held: &View| held.offset <= view.offset && end(view) <= end(held);
        let holds = |held: &View| match (held.rows, view.rows) {
            (None, None) => inside(held),
            _ => held == view,
        };
        if self.0.get(&view.slot).is_some_and(holds) {
            return false;
        }
        self.0.insert(view.slot, *view);
        true
    }
}

/// Windows of inputs and outputs.
struct Layout {
    alignment: u64,
    /// Bytes of each.
    windows: HashMap<Slot, u64>,
}

impl Layout {
    fn new(plan: &Plan, alignment: u64) -> Layout {
        let mut layout = Layout {
            alignment,
            windows: HashMap::new(),
        };
        for pass in plan.passes() {
            let views = inputs(pass).chain(&pass.indices).chain(pass.written());
            for view in views.filter(|v| matches!(v.slot, Slot::Input(_) | Slot::Output(_))) {
                let bytes = layout.window(view).1;
                let window = layout.windows.entry(view.slot).or_default();
                *window = bytes.max(*window);
            }
        }
        layout
    }

    /// Where a view's window begins in its tensor, and its bytes. Windows begin at aligned bytes, because plans
    /// rely on an element's position within an aligned block.
    fn window(&self, view: &View) -> (u64, u64) {
        let start = view.offset / self.alignment * self.alignment;
        let bytes = view.offset - start + view.bytes;
        (start, bytes.next_multiple_of(16))
    }

    /// The largest window of an input, and of an output.
    fn largest(&self) -> [u64; 2] {
        [true, false].map(|inputs| {
            let windows = self.windows.iter();
            let windows = windows.filter(|(slot, _)| matches!(slot, Slot::Input(_)) == inputs);
            windows.map(|(_, &bytes)| bytes).max().unwrap_or(0)
        })
    }

    fn bytes(&self, plan: &Plan) -> u64 {
        let windows: u64 = self.windows.values().sum();
        let [chunk, back] = self.largest();
        windows + RING * (chunk + back) + plan.scratch_bytes() + READ_BYTES.min(chunk)
    }
}

/// A readback buffer. Pending: the part of an output that it holds once the submission is done.
struct Back {
    buffer: OwnBuffer,
    pending: Option<(View, BufferMapping, wgpu::SubmissionIndex)>,
}

/// The buffers of a run.
struct Windows<'a> {
    context: &'a Context,
    drive: PollMode,
    layout: &'a Layout,
    places: BufferTable,
    held: Held,
    windows: HashMap<Slot, OwnBuffer>,
    /// The one used last comes first.
    uploads: Vec<Chunk>,
    /// Likewise.
    backs: Vec<Back>,
    bytes: Vec<u8>,
}

impl<'a> Windows<'a> {
    fn new(stream: &'a StreamedReduction, drive: PollMode) -> Result<Windows<'a>, Error> {
        use wgpu::BufferUsages as U;
        let (context, layout) = (stream.engine.context(), &stream.layout);
        let [most_read, most_written] = layout.largest();
        let window = |(&slot, &bytes): (&Slot, &u64)| {
            let (what, usage) = match slot {
                Slot::Input(_) => ("a window of an input", U::COPY_DST),
                _ => ("a window of an output", U::COPY_SRC),
            };
            Ok((slot, context.buffer(what, bytes, U::STORAGE | usage)?))
        };
        let back = |_| {
            let usage = U::MAP_READ | U::COPY_DST;
            let buffer = context.buffer("a readback buffer", most_written, usage)?;
            let pending = None;
            Ok(Back { buffer, pending })
        };
        let windows = layout.windows.iter().map(window);
        let upload = |_| Chunk::new(context, most_read);
        let scratch = stream.ready.plan.scratch(&stream.engine.caps);
        // Windows take the place of inputs and outputs once they are filled.
        let tensors = Tensors::default();
        Ok(Windows {
            context,
            drive,
            layout,
            places: BufferTable::new(context, &scratch, layout.alignment, tensors, None)?,
            held: Held::default(),
            windows: windows.collect::<Result<_, Error>>()?,
            uploads: (0..RING).map(upload).collect::<Result<_, Error>>()?,
            backs: (0..RING).map(back).collect::<Result<_, Error>>()?,
            bytes: vec![0; READ_BYTES.min(most_read) as usize],
        })
    }

    /// Uploads a part of an input to its window, unless it is there already.
    async fn upload(
        &mut self,
        view: &View,
        read: &mut impl FnMut(usize, u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        let Slot::Input(input) = view.slot else {
            return Ok(());
        };
        if !self.held.take(view) {
            return Ok(());
        }
        self.uploads.rotate_left(1);
        let chunk = &mut self.uploads[0];
        chunk.mapped(self.context, self.drive).await?;
        let (start, size) = self.layout.window(view);
        {
            let mapped = chunk.buffer.slice(..).get_mapped_range_mut();
            let mut mapped = self.context.mapped(mapped)?;
            let mut place = (view.offset - start) as usize;
            for (mut at, bytes) in view.runs() {
                let end = at + bytes;
                while at < end {
                    let count = (end - at).min(self.bytes.len() as u64) as usize;
                    let bytes = &mut self.bytes[..count];
                    let read = read(input, at, bytes);
                    read.map_err(|error| Error::source(input, at, count, error))?;
                    mapped.slice(place..place + count).copy_from_slice(bytes);
                    at += count as u64;
                    place += count;
                    self.drive.pause().await;
                }
            }
        }
        chunk.buffer.unmap();
        let mut encoder = self.context.encoder();
        encoder.copy_buffer_to_buffer(&chunk.buffer, 0, &self.windows[&view.slot], 0, size);
        let submitted = self.context.submit(encoder)?;
        chunk.reclaim(self.context, Some(submitted))?;
        self.open(view);
        Ok(())
    }

    /// Binds a window to the part that a view covers.
    fn open(&mut self, view: &View) {
        let (start, bytes) = self.layout.window(view);
        let piece = Piece {
            // No error names a window: they lie apart.
            name: ("window", 0),
            buffer: self.windows[&view.slot].clone(),
            start,
            offset: 0,
            bytes,
        };
        self.places.pieces.insert(view.slot, vec![piece]);
    }

    /// Submits pass `i`. In a browser what is bound must live until then.
    fn dispatch(&self, Ready { plan, compiled }: &Ready, i: usize) -> Result<(), Error> {
        let (passes, compiled) = (&plan.passes()[i..=i], &compiled[i..=i]);
        let bound = bind::bind_passes(self.context, passes, compiled, &self.places)?;
        let mut encoder = self.context.encoder();
        bound.encode(&mut encoder);
        self.context.submit(encoder).map(drop)
    }

    /// Submits the readback of a complete result.
    async fn send(
        &mut self,
        view: &View,
        write: &mut impl FnMut(usize, u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.deliver(write).await?;
        let back = &mut self.backs[0];
        let (buffer, size) = (&back.buffer, self.layout.window(view).1);
        let mut encoder = self.context.encoder();
        encoder.copy_buffer_to_buffer(&self.windows[&view.slot], 0, buffer, 0, size);
        let submitted = self.context.submit(encoder)?;
        let slice = buffer.slice(..);
        let mapping = self.context.request_map(slice, wgpu::MapMode::Read)?;
        back.pending = Some((*view, mapping, submitted));
        Ok(())
    }

    /// Waits for the readback that began first, if it is pending, and hands it to `write`. Its buffer is then
    /// the first.
    async fn deliver(
        &mut self,
        write: &mut impl FnMut(usize, u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.backs.rotate_left(1);
        let back = &mut self.backs[0];
        let Some((view, mapping, after)) = back.pending.take() else {
            return Ok(());
        };
        let Slot::Output(output) = view.slot else {
            return Ok(());
        };
        let mapped = self.context.wait_mapped(mapping, Some(after), self.drive);
        mapped.await?;
        let begin = (view.offset - self.layout.window(&view).0) as usize;
        let buffer = &back.buffer;
        {
            let mapped = self.context.mapped(buffer.slice(..).get_mapped_range())?;
            let bytes = &mapped[begin..begin + view.bytes as usize];
            let written = write(output, view.offset, bytes);
            written.map_err(|error| Error::sink(output, view.offset, bytes.len(), error))?;
        }
        buffer.unmap();
        Ok(())
    }
}
