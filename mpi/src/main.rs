//! `wgreduce-mpi`: an operator of `wgreduce` over the ranks of an MPI job.
//!
//! Each rank reads and reduces one part, as `wgreduce --part` does. If the cut goes through the segments, the ranks
//! merge their partial results; otherwise each rank has outputs of its own. Rank 0 puts the files in place.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{Arg, CommandFactory, FromArgMatches};
use mpi::collective::SystemOperation;
use mpi::request::{self, WaitGuard};
use mpi::topology::{Process, SimpleCommunicator};
use mpi::traits::*;
use wgreduce::Partial;
use wgreduce_tool::args::{self, Cli, Command, Common, Share};
use wgreduce_tool::device::Device;
use wgreduce_tool::failure::{Failure, say};
use wgreduce_tool::interrupt;
use wgreduce_tool::operator::is_operator;
use wgreduce_tool::output::{self, Piece, Shared};
use wgreduce_tool::part::file::Task;
use wgreduce_tool::part::merge::{self, Data};
use wgreduce_tool::part::{Cut, Left, merged, runs_of};
use wgreduce_tool::request::{Request, in_order};

/// Outputs that a rank merges at once, at least and at most. Messages stay below 2 GiB.
const FEWEST: u64 = 1 << 10;
const MOST: u64 = 1 << 20;

fn main() -> ExitCode {
    wgreduce_tool::start();
    interrupt::without_words();
    let Some((universe, _)) = mpi::initialize_with_threading(mpi::Threading::Funneled) else {
        say("error: MPI is initialised already");
        return ExitCode::from(3);
    };
    let world = universe.world();
    let matches = definition().try_get_matches();
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

/// The operators of `wgreduce`, with what is different under MPI. Its other commands are refused later, by name.
fn definition() -> clap::Command {
    let tool = Cli::command()
        .name("wgreduce-mpi")
        .bin_name("wgreduce-mpi")
        .about("The operators of wgreduce over the ranks of an MPI job")
        .long_about(
            "The operators of wgreduce over the ranks of an MPI job: each rank reduces a part of the input, and \
             rank 0 puts the result in place.\n\n\
             All ranks get the same command line, and see the folder of the result. The options are wgreduce's, but \
             -o is required. If a rank fails, the job ends with an exit code that is not 0.",
        )
        .override_usage("mpirun -n RANKS wgreduce-mpi <COMMAND> <IN.npy> -o <OUT.npy> [OPTIONS]")
        .after_help("Example:\n  mpirun -n 16 wgreduce-mpi argmin big.npy --axis 0 -o winner.npy");
    args::with_used_options(tool).mut_subcommands(|command| {
        if !is_operator(command.get_name()) {
            return command.hide(true);
        }
        let of_ranks = |arg: Arg| match arg.get_id().as_str() {
            "output" => arg.required(true).help("Where rank 0 puts the result"),
            "part" => arg.hide(true),
            _ => arg,
        };
        command
            .mut_args(of_ranks)
            .after_help("All ranks get the same command line.")
    })
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
    let values = request.values;
    first(world, check_same(world, &cut, output, values))?;
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
    let paths = [Some(output), values];
    let paths = in_order(&cut.problem, paths);
    match cut.is_through_segments() {
        true => merge_partials(world, &cut, left, paths, common)?,
        false => join_outputs(world, &cut, &left, &range, paths, common)?,
    }
    Ok(if common.quiet { Vec::new() } else { report })
}

/// Refuses ranks with another request, other outputs or other data than rank 0's. The first of them has the error, which
/// names all.
fn check_same(
    world: &SimpleCommunicator,
    cut: &Cut,
    output: &Path,
    values: Option<&Path>,
) -> Result<(), Failure> {
    let own = Task::of(cut);
    let root = world.process_at_rank(0);
    let mut difference = match Task::from_bytes(&sent(&root, own.to_bytes())) {
        None => Some("another version".into()),
        Some(first) => first.difference(&own),
    };
    for (option, path) in [("-o", Some(output)), ("--values", values)] {
        let own = path.map_or(&[][..], |path| path.as_os_str().as_bytes());
        let first = sent(&root, own.to_vec());
        let name = |path: &[u8]| match path {
            [] => "absent".into(),
            path => String::from_utf8_lossy(path).into_owned(),
        };
        if own != first && difference.is_none() {
            let [own, first] = [own, &first].map(name);
            difference = Some(format!("another output: {option} is {own}, and {first}"));
        }
    }
    let mut differ = vec![false; world.size() as usize];
    world.all_gather_into(&difference.is_some(), &mut differ[..]);
    let Some(difference) = difference else {
        return Ok(());
    };
    const SHOWN: usize = 8;
    let ranks = (0..world.size()).filter(|&rank| differ[rank as usize]);
    let mut ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
    let all = ranks.len();
    if all > SHOWN {
        ranks.truncate(SHOWN);
        ranks.push("...".into());
    }
    let ranks = ranks.join(", ");
    Err(Failure::Request(format!(
        "{difference} on rank 0 ({all} of the ranks differ from it: {ranks})"
    )))
}

/// The bytes that one of the ranks has, at all of them.
fn sent(root: &Process<'_>, mut bytes: Vec<u8>) -> Vec<u8> {
    let mut length = bytes.len();
    root.broadcast_into(&mut length);
    bytes.resize(length, 0);
    // MPI refuses the address of nothing.
    if length > 0 {
        root.broadcast_into(&mut bytes[..]);
    }
    bytes
}

type Requested<'a> = (Request<'a>, &'a Path, Cut);

fn requested(cli: &Cli, ranks: u64) -> Result<Requested<'_>, Failure> {
    let refused = |why: &str| Err(Failure::Request(why.into()));
    let Command::Operator(command) = &cli.command else {
        return refused("this is a command of wgreduce; wgreduce-mpi has the operators");
    };
    let mut request = Request::of(command, &cli.common)?;
    if request.share.is_some() {
        return refused("--part: each rank reduces one part already; leave it out");
    }
    let Some(output) = request.output else {
        return refused("wgreduce-mpi needs the name of a file, as in -o out.npy");
    };
    let cut = Cut::new(&mut request, ranks, &cli.common)?;
    for path in [Some(output), request.values].into_iter().flatten() {
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

/// Merges the partial results: each rank its share of the outputs, which it writes.
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
    if cut.range(&(0..cut.of)).is_empty() {
        return match world.rank() {
            0 => merge::write(cut, merge::finished(cut, None)?, paths),
            _ => Ok(()),
        };
    }
    let files = Files::open(world, paths)?;
    let outputs = cut.problem.outputs();
    // Of TopK the segments, each of which has k results.
    let k = cut.problem.k().unwrap_or(1).max(1);
    let count = outputs[0].bytes() / outputs[0].dtype.size() / k;
    let (ranks, rank) = (world.size() as u64, world.rank() as u64);
    let most = (MOST / k).max(1);
    let each = count.div_ceil(ranks).clamp(FEWEST.min(most), most);
    for first in (0..count).step_by((each * ranks) as usize) {
        let own = |rank: u64| {
            let begin = (first + rank * each).min(count);
            begin..(begin + each).min(count)
        };
        // In every round each rank sends to one, and receives from one; in the first, to and from itself.
        let parts = (0..ranks).map(|away| {
            let (to, from) = ((rank + away) % ranks, (rank + ranks - away) % ranks);
            let ours = partial.as_ref().map(|partial| partial.slice(own(to)));
            exchanged(world, ours, to, from)
        });
        if let Some(merged) = merged(parts)? {
            let finished = merged.finish().map_err(wgreduce::Error::from)?;
            for (i, data) in finished.iter().enumerate() {
                let size = outputs[i].dtype.size();
                for (at, bytes) in runs_of(&cut.problem, &own(rank), size, data) {
                    files.write(i, at, &bytes)?;
                }
            }
        }
    }
    files.finish(world, cut, paths, common)
}

/// Sends a partial result to a rank, and receives one from another. Who has no elements sends no bytes.
fn exchanged(
    world: &SimpleCommunicator,
    ours: Option<Partial>,
    to: u64,
    from: u64,
) -> Result<Option<Partial>, Failure> {
    let ours = ours.map_or(Vec::new(), |partial| partial.to_bytes());
    let (to, from) = [to, from]
        .map(|rank| world.process_at_rank(rank as i32))
        .into();
    let (theirs, _) = request::scope(|scope| {
        let _sent = WaitGuard::from(to.immediate_send(scope, &ours[..]));
        from.receive_vec::<u8>()
    });
    if theirs.is_empty() {
        return Ok(None);
    }
    let theirs = Partial::from_bytes(&theirs).map_err(wgreduce::Error::from)?;
    Ok(Some(theirs))
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
    /// The same of rank 0, which removes them.
    owned: [Option<Shared>; 2],
}

impl Files {
    fn open(ranks: &SimpleCommunicator, paths: [Option<&Path>; 2]) -> Result<Files, Failure> {
        let mut files = Files {
            all: [None, None],
            owned: [None, None],
        };
        let places = files.all.iter_mut().zip(&mut files.owned);
        for (path, (file, owned)) in paths.into_iter().zip(places) {
            let Some(path) = path else { continue };
            let mut name = Vec::new();
            if ranks.rank() == 0 {
                let shared = output::shared(path)?;
                name = shared.path().as_os_str().as_bytes().to_vec();
                *owned = Some(shared);
            }
            let name = sent(&ranks.process_at_rank(0), name);
            let name = PathBuf::from(OsString::from_vec(name));
            let opened = File::options().write(true).open(&name);
            // Told by the name that it will have.
            let why = |e| Failure::file(path, format_args!("cannot be written: {e}"));
            *file = Some((path.to_path_buf(), opened.map_err(why)?));
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
            let Some(shared) = shared else {
                outputs.push(None);
                continue;
            };
            let unreadable = |e| Failure::file(shared.path(), format_args!("cannot be read: {e}"));
            let file = File::open(shared.path()).map_err(unreadable)?;
            outputs.push(Some(
                Data::of(cut, file, &output, common).map_err(unreadable)?,
            ));
        }
        merge::write(cut, outputs, paths)
    }
}
