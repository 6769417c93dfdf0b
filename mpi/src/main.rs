//! `wgreduce-mpi`: an operator of `wgreduce` over the ranks of an MPI job.
//!
//! Each rank reads and reduces one part, as `wgreduce --part` does. If the cut goes through the segments, the ranks
//! merge their partial results; otherwise each rank has outputs of its own. Rank 0 puts the files in place.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{CommandFactory, FromArgMatches};
use mpi::collective::{SystemOperation, UserOperation};
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::*;
use wgreduce::{Partial, reference};
use wgreduce_tool::args::{Cli, Common, Share};
use wgreduce_tool::device::Device;
use wgreduce_tool::failure::{Failure, say};
use wgreduce_tool::interrupt;
use wgreduce_tool::output::{self, Piece, Shared};
use wgreduce_tool::part::file;
use wgreduce_tool::part::merge::{self, Data};
use wgreduce_tool::part::{Cut, Left};
use wgreduce_tool::run::Request;
use wgreduce_tool::stream;

/// Above this many bytes of partial results each rank merges and writes a piece of the outputs.
const LARGE: usize = 64 << 20;
/// Partials of each rank in one of several reductions.
const BATCH: usize = 1 << 20;

/// The best element so far of an output: the smallest key wins, then the smallest place. The place is the index or, if
/// the last of equals wins, its complement.
#[derive(Clone, Copy, Default, Equivalence)]
struct Record {
    key: u64,
    place: u64,
    element: u64,
}

impl Record {
    /// Loses against every other one.
    const LAST: Record = Record {
        key: u64::MAX,
        place: u64::MAX,
        element: u64::MAX,
    };

    fn order(&self) -> (u64, u64, u64) {
        (self.key, self.place, self.element)
    }
}

fn main() -> ExitCode {
    wgreduce_tool::start();
    interrupt::without_words();
    let Some((universe, _)) = mpi::initialize_with_threading(mpi::Threading::Funneled) else {
        say("error: MPI is initialised already");
        return ExitCode::from(3);
    };
    let world = universe.world();
    let command = Cli::command().name("wgreduce-mpi").bin_name("wgreduce-mpi");
    let matches = command.try_get_matches();
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match understood(&world, parsed) {
        Ok(Some(cli)) => cli,
        Ok(None) => return ExitCode::SUCCESS,
        Err(usage) => {
            // In one piece: mpirun mixes the output of several ranks.
            say(usage.to_string().trim_end());
            world.abort(usage.exit_code())
        }
    };
    let done = panic::catch_unwind(|| job(&cli, &world)).unwrap_or(Err(Failure::Panic));
    match done {
        Ok(report) => {
            world.barrier();
            let rank = world.rank();
            // Printed last, so that after a failure the error is the first line.
            report
                .iter()
                .for_each(|line| say(&format!("rank {rank}: {line}")));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say(&format!("error: rank {}: {failure}", world.rank()));
            world.abort(failure.code().into())
        }
    }
}

/// The command line, if all ranks have one; `None` if all were asked for help, which rank 0 prints. The first rank with
/// an invalid command line reports it; the others wait for the end of the job.
fn understood(
    world: &SimpleCommunicator,
    parsed: Result<Cli, clap::Error>,
) -> Result<Option<Cli>, clap::Error> {
    let helped = matches!(&parsed, Err(usage) if usage.exit_code() == 0);
    let others = [i32::from(!helped), i32::from(parsed.is_err())];
    let mut most = [0; 2];
    world.all_reduce_into(&others[..], &mut most[..], SystemOperation::max());
    match most {
        [_, 0] => parsed.map(Some),
        [0, _] => {
            if let (Err(help), 0) = (parsed, world.rank()) {
                let _ = help.print();
            }
            world.barrier();
            Ok(None)
        }
        _ => first(world, parsed).map(Some),
    }
}

/// Does a rank's work; returns the lines for stderr.
fn job(cli: &Cli, world: &SimpleCommunicator) -> Result<Vec<String>, Failure> {
    let common = &cli.common;
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let (request, output, cut) = first(world, requested(cli, size))?;
    first(world, check_same(world, &cut, request.values.is_some()))?;
    let mut inputs = request.inputs;
    let parts = rank..rank + 1;
    let range = cut.range(&parts);
    let neighbours = world.split_shared(world.rank());
    let device = first(world, Device::open_nth(common, neighbours.rank() as usize))?;
    let mut report = vec![device.line()];
    let left = cut.compute(&device, &range, &mut inputs, output, common, &mut report)?;
    let share = Share {
        number: rank,
        of: size,
    };
    report.insert(1, cut.told(share, &inputs));
    if common.check {
        report.push("check: equal to the CPU reference, byte for byte".into());
    }
    let paths = [Some(output), request.values.as_deref()];
    match cut.is_through_segments() {
        true => merge_partials(world, &cut, left, paths, common)?,
        false => join_outputs(world, &cut, &left, &range, paths, common)?,
    }
    Ok(if common.quiet { Vec::new() } else { report })
}

/// Refuses ranks with another request or another file than rank 0's.
fn check_same(world: &SimpleCommunicator, cut: &Cut, values: bool) -> Result<(), Failure> {
    let mut hasher = DefaultHasher::new();
    (file::head(cut, &[]), values).hash(&mut hasher);
    let own = hasher.finish();
    let mut theirs = own;
    world.process_at_rank(0).broadcast_into(&mut theirs);
    match own == theirs {
        true => Ok(()),
        false => Err(Failure::Request(
            "another problem than rank 0's: its options or its file differ".into(),
        )),
    }
}

type Requested<'a> = (Request<'a>, &'a Path, Cut);

fn requested(cli: &Cli, ranks: u64) -> Result<Requested<'_>, Failure> {
    let request = Request::of(&cli.command, &cli.common)?;
    let refused = |why: &str| Err(Failure::Request(why.into()));
    let Some(request) = request else {
        return refused("wgreduce-mpi runs the operators alone; the rest is wgreduce's");
    };
    if request.share.is_some() {
        return refused("--part is what a rank does: leave it out");
    }
    let Some(output) = request.output else {
        return refused("wgreduce-mpi needs the name of a file, as in -o out.npy");
    };
    if let Some((path, _)) = request.inputs.iter().find(|(_, input)| !input.is_file()) {
        let why = "is no file: each rank reads from the middle of one";
        return Err(Failure::input(path, why));
    }
    let fortran = stream::in_fortran_order(&request.inputs)?;
    let cut = Cut::new(request.operator, &request.problem, fortran, ranks);
    let cut = cut.map_err(wgreduce::Error::from)?;
    cut.check_memory(&cli.common)?;
    for path in [Some(output), request.values.as_ref()]
        .into_iter()
        .flatten()
    {
        if output::is_special(path) {
            let why = "is no file: ranks write beside the place of one";
            return Err(Failure::file(path, why));
        }
        output::check_writable(path)?;
    }
    Ok((request, output, cut))
}

/// The result, if all ranks have one, or the failure of the first rank that has none: the others wait for the end of
/// the job, so that one failure is reported.
fn first<T, E>(world: &SimpleCommunicator, result: Result<T, E>) -> Result<T, E> {
    let failed = match &result {
        Ok(_) => world.size(),
        Err(_) => world.rank(),
    };
    let mut first = 0;
    world.all_reduce_into(&failed, &mut first, SystemOperation::min());
    if first < world.size() && first != world.rank() {
        loop {
            thread::park();
        }
    }
    result
}

/// Merges the partial results, and writes them.
fn merge_partials(
    world: &SimpleCommunicator,
    cut: &Cut,
    left: Left,
    paths: [Option<&Path>; 2],
    common: &Common,
) -> Result<(), Failure> {
    let partial = match left {
        Left::Partial(partial) => Some(partial),
        _ => None,
    };
    // The ranks that have elements: rank 0 is one of them, if there are any.
    let color = match &partial {
        Some(_) => Color::with_value(0),
        None => Color::undefined(),
    };
    let holders = world.split_by_color(color);
    let (Some(partial), Some(holders)) = (partial, holders) else {
        if world.rank() > 0 {
            return Ok(());
        }
        let outputs = reference::evaluate(&cut.problem, &[&[]]).map_err(wgreduce::Error::from)?;
        return merge::write(cut, outputs.into_iter().map(Data::Memory).collect(), paths);
    };
    if cut.problem.op().is_sum() {
        return merge_sums(&holders, cut, partial, paths);
    }
    let (head, records) = records(&partial, cut);
    if records.len() * size_of::<Record>() > LARGE && holders.size() > 1 {
        return scatter(&holders, cut, &head, records, paths, common);
    }
    let better = better();
    let root = holders.process_at_rank(0);
    if holders.rank() > 0 {
        root.reduce_into(&records[..], &better);
        return Ok(());
    }
    let mut merged = records.clone();
    root.reduce_into_root(&records[..], &mut merged[..], &better);
    let outputs = finished(&head, &merged, cut)?;
    merge::write(cut, outputs.into_iter().map(Data::Memory).collect(), paths)
}

/// Merges partial sums on rank 0, one after another, and writes the result.
fn merge_sums(
    holders: &SimpleCommunicator,
    cut: &Cut,
    mut partial: Partial,
    paths: [Option<&Path>; 2],
) -> Result<(), Failure> {
    if holders.rank() > 0 {
        holders.process_at_rank(0).send(&partial.to_bytes()[..]);
        return Ok(());
    }
    for rank in 1..holders.size() {
        let (bytes, _) = holders.process_at_rank(rank).receive_vec::<u8>();
        let merged = Partial::from_bytes(&bytes).and_then(|other| partial.merge(&other));
        merged.map_err(wgreduce::Error::from)?;
    }
    let outputs = partial.finish().map_err(wgreduce::Error::from)?;
    merge::write(cut, outputs.into_iter().map(Data::Memory).collect(), paths)
}

/// The operation that keeps the better of two partials.
fn better<'a>() -> UserOperation<'a> {
    UserOperation::commutative(|theirs, ours| {
        let (Some(theirs), Some(ours)) = (theirs.downcast::<Record>(), ours.downcast::<Record>())
        else {
            // Never happens: only `Record` is reduced. A panic must not leave this function, which MPI calls.
            std::process::abort();
        };
        for (theirs, ours) in theirs.iter().zip(ours) {
            if theirs.order() < ours.order() {
                *ours = *theirs;
            }
        }
    })
}

/// The bytes of a partial result up to the rank of the output, and its partials.
fn records(partial: &Partial, cut: &Cut) -> (Vec<u8>, Vec<Record>) {
    let bytes = partial.to_bytes();
    let stride = stride(cut);
    let shape = &cut.problem.outputs()[0].shape;
    let start = HEADER + 8 * shape.len();
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let last = cut.problem.selects_last_index();
    let record = |bytes: &[u8]| Record {
        key: word(&bytes[..8]),
        place: word(&bytes[8..16]) ^ if last { u64::MAX } else { 0 },
        element: if stride > 16 { word(&bytes[16..]) } else { 0 },
    };
    let records = bytes[start..].chunks_exact(stride).map(record).collect();
    (bytes[..RANK].to_vec(), records)
}

/// The offsets of the output's rank and of its shape in the layout of [`Partial`].
const RANK: usize = 12;
const HEADER: usize = 16;

/// Bytes of an output's partial in that layout.
fn stride(cut: &Cut) -> usize {
    if cut.problem.op().is_index() { 24 } else { 16 }
}

/// The outputs of merged partials.
fn finished(head: &[u8], records: &[Record], cut: &Cut) -> Result<Vec<Vec<u8>>, Failure> {
    let mut bytes = head.to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((records.len() as u64).to_le_bytes());
    let last = cut.problem.selects_last_index();
    for record in records {
        bytes.extend(record.key.to_le_bytes());
        let index = record.place ^ if last { u64::MAX } else { 0 };
        bytes.extend(index.to_le_bytes());
        if stride(cut) > 16 {
            bytes.extend(record.element.to_le_bytes());
        }
    }
    let finished = Partial::from_bytes(&bytes).and_then(|partial| partial.finish());
    Ok(finished.map_err(wgreduce::Error::from)?)
}

/// Merges large partial results: each rank merges and writes a piece of every batch.
fn scatter(
    holders: &SimpleCommunicator,
    cut: &Cut,
    head: &[u8],
    mut records: Vec<Record>,
    paths: [Option<&Path>; 2],
    common: &Common,
) -> Result<(), Failure> {
    let better = better();
    let files = Files::open(holders, paths)?;
    let outputs = cut.problem.outputs();
    let count = records.len();
    let (ranks, rank) = (holders.size() as usize, holders.rank() as usize);
    let batch = BATCH.min(count.div_ceil(ranks));
    for first in (0..count).step_by(batch * ranks) {
        records.resize(records.len().max(first + batch * ranks), Record::LAST);
        let mut own = vec![Record::LAST; batch];
        let all = &records[first..first + batch * ranks];
        holders.reduce_scatter_block_into(all, &mut own[..], &better);
        let begin = first + rank * batch;
        own.truncate(count.saturating_sub(begin));
        let finished = finished(head, &own, cut)?;
        for (i, data) in finished.iter().enumerate() {
            files.write(i, begin as u64 * outputs[i].dtype.size(), data)?;
        }
    }
    files.finish(holders, cut, paths, common)
}

/// Puts the outputs of all ranks into their places.
fn join_outputs(
    world: &SimpleCommunicator,
    cut: &Cut,
    left: &Left,
    range: &Range<u64>,
    paths: [Option<&Path>; 2],
    common: &Common,
) -> Result<(), Failure> {
    let files = Files::open(world, paths)?;
    let outputs = cut.problem.outputs();
    let spools = match left {
        Left::Outputs(spools) => spools.as_slice(),
        _ => &[],
    };
    let sizes = cut.output_bytes(range);
    for (i, (spool, bytes)) in spools.iter().zip(sizes).enumerate() {
        let piece = Piece {
            file: spool,
            start: 0,
            bytes,
        };
        if let Some((path, file)) = &files.all[i] {
            merge::place(cut, &outputs[i], range, &piece, file)
                .map_err(|e| Failure::file(path, format_args!("cannot be written: {e}")))?;
        }
    }
    files.finish(world, cut, paths, common)
}

/// Files beside the places of the outputs, to which all ranks write pieces.
struct Files {
    /// One for each output; `None` if it is not asked for.
    all: [Option<(PathBuf, File)>; 2],
    /// The files of rank 0, which removes them.
    owned: Vec<Shared>,
}

impl Files {
    fn open(ranks: &SimpleCommunicator, paths: [Option<&Path>; 2]) -> Result<Files, Failure> {
        let mut files = Files {
            all: [None, None],
            owned: Vec::new(),
        };
        for (path, file) in paths.into_iter().zip(&mut files.all) {
            let Some(path) = path else { continue };
            let mut name = Vec::new();
            if ranks.rank() == 0 {
                let shared = output::shared(path)?;
                name = shared.path().as_os_str().as_bytes().to_vec();
                files.owned.push(shared);
            }
            let root = ranks.process_at_rank(0);
            let mut length = name.len();
            root.broadcast_into(&mut length);
            name.resize(length, 0);
            root.broadcast_into(&mut name[..]);
            let name = PathBuf::from(OsString::from_vec(name));
            let opened = File::options().write(true).open(&name);
            let why = |e| Failure::file(&name, format_args!("cannot be written: {e}"));
            *file = Some((name.clone(), opened.map_err(why)?));
        }
        Ok(files)
    }

    fn write(&self, output: usize, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        use std::io::{Seek, SeekFrom, Write};
        let Some((path, file)) = &self.all[output] else {
            return Ok(());
        };
        let mut file = file;
        let written = file.seek(SeekFrom::Start(at));
        written
            .and_then(|_| file.write_all(bytes))
            .map_err(|e| Failure::file(path, format_args!("cannot be written: {e}")))
    }

    /// After all ranks have written, rank 0 writes the outputs to their places.
    fn finish(
        self,
        ranks: &SimpleCommunicator,
        cut: &Cut,
        paths: [Option<&Path>; 2],
        common: &Common,
    ) -> Result<(), Failure> {
        // Closing writes the files to a disk that several machines may share.
        drop(self.all);
        ranks.barrier();
        let mut outputs = Vec::new();
        for (shared, output) in self.owned.iter().zip(cut.problem.outputs()) {
            let unreadable = |e| Failure::file(shared.path(), format_args!("cannot be read: {e}"));
            let file = File::open(shared.path()).map_err(unreadable)?;
            outputs.push(Data::of(cut, file, &output, common).map_err(unreadable)?);
        }
        match outputs.is_empty() {
            true => Ok(()),
            false => merge::write(cut, outputs, paths),
        }
    }
}
