//! `wgreduce-mpi` under a real `mpirun`: any number of ranks gives the reference's result, and a job that fails leaves
//! no files. Ranks listen on this machine only.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use wgreduce::{DType, IndexType, NanPolicy, Problem, ProblemError, reference};

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn npy(&self, name: &str, descr: &str, fortran: bool, shape: &[u64], data: &[u8]) {
        let mut file = File::create(self.path(name)).unwrap();
        let fortran = if fortran { "True" } else { "False" };
        let shape: String = shape.iter().map(|d| format!("{d}, ")).collect();
        let dict =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({shape}), }}");
        let dict = format!("{dict:<117}\n");
        file.write_all(b"\x93NUMPY\x01\x00").unwrap();
        file.write_all(&(dict.len() as u16).to_le_bytes()).unwrap();
        file.write_all(dict.as_bytes()).unwrap();
        file.write_all(data).unwrap();
    }

    /// A file of zeros that take no room, open for changes.
    fn sparse(&self, name: &str, descr: &str, shape: &[u64], bytes: u64) -> File {
        self.npy(name, descr, false, shape, &[]);
        let file = File::options().write(true).open(self.path(name)).unwrap();
        file.set_len(128 + bytes).unwrap();
        file
    }

    /// The program under `mpirun`; spaces separate its arguments.
    fn command(&self, ranks: usize, line: &str) -> Command {
        let mut command = Command::new("mpirun");
        command.current_dir(self.0.path());
        command.args(["--oversubscribe", "--allow-run-as-root"]);
        command.args(["--mca", "btl", "self,vader", "-n", &ranks.to_string()]);
        command.arg(env!("CARGO_BIN_EXE_wgreduce-mpi"));
        command.args(line.split(' ')).stdin(Stdio::null());
        command
    }

    fn run(&self, ranks: usize, line: &str) -> Output {
        self.command(ranks, line).output().unwrap()
    }

    /// Runs and expects success.
    fn done(&self, ranks: usize, line: &str) {
        let output = self.run(ranks, line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{ranks} ranks, {line}: {stderr}");
    }

    /// Header and data of an .npy file.
    fn read(&self, name: &str) -> (String, Vec<u8>) {
        let file = fs::read(self.path(name)).unwrap();
        let size = usize::from(u16::from_le_bytes([file[8], file[9]]));
        let header = String::from_utf8_lossy(&file[10..10 + size]).into_owned();
        (header, file[10 + size..].to_vec())
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

/// The rows of a table: a command line, a bar, and words.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = table.trim().lines();
    lines.map(|line| line.trim().split_once(" | ").expect("a bar"))
}

/// Small numbers with many ties, zeros of both signs and NaNs of both signs.
fn floats(n: u64, nans: u64) -> Vec<u8> {
    let value = |i: u64| {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        match x % nans {
            1 => f32::from_bits(0x7fc0_0000 | (x as u32) << 31 | x as u32 & 0xff),
            _ => ((x % 13) as f32 - 6.0) * if x & 64 == 0 { 1.0 } else { -0.0 },
        }
    };
    (0..n).flat_map(|i| value(i).to_le_bytes()).collect()
}

/// Some ways to reduce an axis of a.npy, with their command lines.
fn reductions(shape: &[u64], axis: usize) -> Result<Vec<(String, Problem)>, ProblemError> {
    let (f32, a, ignore) = (DType::F32, axis as i64, NanPolicy::Ignore);
    let lines = "
        argmin a.npy --axis AXIS
        argmax a.npy --axis AXIS --select-last-index --index-type int32 --keepdims false
        argmax a.npy --axis AXIS --nan ignore
        argmax-abs a.npy --axis AXIS
        topk a.npy --axis AXIS --k 3
        topk a.npy --axis AXIS --k 9 --smallest --nan ignore --index-type uint32
        reduce-min a.npy --axes AXIS
        reduce-max a.npy --axes AXIS --keepdims false
        reduce-max-abs a.npy --axes AXIS --nan ignore
        reduce-l1 a.npy --axes AXIS --keepdims false
        reduce-mean a.npy --axes AXIS --nan ignore
    ";
    let last = Problem::arg_max(f32, shape, a)?.select_last_index(true);
    let smallest = Problem::top_k(f32, shape, a, 9)?.largest(false);
    let problems = [
        Problem::arg_min(f32, shape, a)?.with_values(true),
        last.index_type(IndexType::I32)
            .keepdims(false)
            .with_values(true),
        Problem::arg_max(f32, shape, a)?
            .nan(ignore)
            .with_values(true),
        Problem::arg_max_abs(f32, shape, a)?.with_values(true),
        Problem::top_k(f32, shape, a, 3)?,
        smallest.nan(ignore).index_type(IndexType::U32),
        Problem::reduce_min(f32, shape, &[a])?,
        Problem::reduce_max(f32, shape, &[a])?.keepdims(false),
        Problem::reduce_max_abs(f32, shape, &[a])?.nan(ignore),
        Problem::reduce_l1(f32, shape, &[a])?.keepdims(false),
        Problem::reduce_mean(f32, shape, &[a])?.nan(ignore),
    ];
    let lines = lines.trim().lines();
    let lines = lines.map(|line| line.trim().replace("AXIS", &axis.to_string()));
    Ok(lines.zip(problems).collect())
}

#[test]
fn any_number_of_ranks_gives_what_the_definition_gives() {
    let folder = Folder::new();
    let shape = [14, 9, 22];
    let n = shape.iter().product();
    for (number, ranks) in [1, 2, 3, 7].into_iter().enumerate() {
        // NaNs everywhere, or hardly any.
        let data = floats(n, if number % 2 == 0 { 61 } else { 100_000 });
        folder.npy("a.npy", "<f4", false, &shape, &data);
        for axis in 0..3 {
            let reductions = reductions(&shape, axis).unwrap();
            assert_eq!(reductions.len(), 11);
            for (way, (line, problem)) in reductions.into_iter().enumerate() {
                let expected = reference::evaluate(&problem, &[&data]).unwrap();
                // Now and then on the adapters: opening one takes longer than the rest.
                let auto = (way + axis + number) % 5 == 0;
                let device = if auto { "auto" } else { "cpu" };
                let more = expected.len() > 1;
                let values = if more { " --values v.npy" } else { "" };
                let whole = format!("{line} --device {device} --quiet -o out.npy{values}");
                folder.done(ranks, &whole);
                let (header, out) = folder.read("out.npy");
                // Of topk the result is the second output, the indices.
                let result = usize::from(problem.k().is_some());
                assert_eq!(out, expected[result], "{ranks} ranks, {line}");
                let dims = &problem.outputs()[0].shape;
                let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
                let comma = if dims.len() == 1 { "," } else { "" };
                let dims = format!("({}{comma})", dims.join(", "));
                assert!(header.contains(&dims), "{line}: {header}");
                if more {
                    let values = folder.read("v.npy").1;
                    assert_eq!(values, expected[1 - result], "{ranks} ranks, {line}");
                }
            }
        }
    }
}

/// The indices of topk are the second output, and the first one is not asked for.
#[test]
fn indices_of_the_best_are_written_alone() {
    let folder = Folder::new();
    let shape = [14, 9, 22];
    let data = floats(shape.iter().product(), 61);
    folder.npy("a.npy", "<f4", false, &shape, &data);
    for axis in 0..3 {
        let problem = Problem::top_k(DType::F32, &shape, axis, 5).unwrap();
        let expected = reference::evaluate(&problem, &[&data]).unwrap();
        let line = format!("topk a.npy --axis {axis} --k 5 --device cpu --quiet -o out.npy");
        folder.done(3, &line);
        assert_eq!(folder.read("out.npy").1, expected[1], "axis {axis}");
    }
}

#[test]
fn inputs_are_matched_and_fortran_order_is_kept_apart() {
    let folder = Folder::new();
    let (a, b) = (floats(6 * 35, 61), floats(35, 100_000));
    folder.npy("a.npy", "<f4", false, &[6, 5, 7], &a);
    folder.npy("b.npy", "<f4", false, &[5, 7], &b);
    let shapes = [&[6, 5, 7][..], &[5, 7]];
    for (line, problem) in [
        ("min a.npy b.npy", Problem::min(DType::F32, &shapes)),
        ("max a.npy b.npy", Problem::max(DType::F32, &shapes)),
    ] {
        let expected = reference::evaluate(&problem.unwrap(), &[&a, &b]).unwrap();
        for ranks in [1, 2, 3, 7] {
            folder.done(ranks, &format!("{line} --device cpu -o out.npy"));
            let out = folder.read("out.npy").1;
            assert_eq!(out, expected[0], "{ranks} ranks, {line}");
        }
    }
    // The same memory in Fortran order: the transpose of [7, 5, 6].
    folder.npy("f.npy", "<f4", true, &[6, 5, 7], &a);
    let mut c_order = Vec::new();
    for i in 0..6 {
        for j in 0..5 {
            for k in 0..7 {
                let at = 4 * (i + 6 * (j + 5 * k));
                c_order.extend(&a[at..at + 4]);
            }
        }
    }
    for axis in 0..3 {
        let problem = Problem::arg_min(DType::F32, &[6, 5, 7], axis).unwrap();
        let expected = reference::evaluate(&problem, &[&c_order]).unwrap();
        let line = format!("argmin f.npy --axis {axis} --device cpu -o out.npy");
        folder.done(3, &line);
        let (header, out) = folder.read("out.npy");
        assert!(header.contains("False"), "{header}");
        assert_eq!(out, expected[0], "axis {axis}");
    }
}

/// More ranks than there are rows, and no elements at all.
#[test]
fn ranks_without_elements_do_no_harm() {
    let folder = Folder::new();
    let two = [3.0f32, 1.0].map(f32::to_le_bytes).concat();
    folder.npy("two.npy", "<f4", false, &[2], &two);
    folder.npy("none.npy", "<f4", false, &[3, 0], &[]);
    folder.done(5, "argmin two.npy --device cpu -o out.npy");
    assert_eq!(folder.read("out.npy").1, 1i64.to_le_bytes());
    folder.done(2, "reduce-max none.npy --axes 1 --device cpu -o out.npy");
    let infinities = [f32::NEG_INFINITY; 3].map(f32::to_le_bytes);
    assert_eq!(folder.read("out.npy").1, infinities.concat());
    folder.done(2, "reduce-max none.npy --axes 0 --device cpu -o out.npy");
    assert_eq!(folder.read("out.npy").1, []);
}

/// More outputs than the ranks merge at once.
#[test]
fn large_outputs_are_written_by_all_ranks() {
    let folder = Folder::new();
    let shape = [4, 3_000_017];
    let byte = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u8;
    let data: Vec<u8> = (0..shape[0] * shape[1]).map(byte).collect();
    folder.npy("a.npy", "|u1", false, &shape, &data);
    let problem = Problem::arg_max(DType::U8, &shape, 0).unwrap();
    let problem = problem.select_last_index(true).with_values(true);
    let expected = reference::evaluate(&problem, &[&data]).unwrap();
    let line = "argmax a.npy --select-last-index --device cpu --values v.npy -o out.npy";
    folder.done(3, line);
    let [indices, values] = ["out.npy", "v.npy"].map(|name| folder.read(name).1);
    assert!(indices == expected[0], "the indices differ");
    assert!(values == expected[1], "the values differ");
    assert_eq!(folder.names(), ["a.npy", "out.npy", "v.npy"]);
}

#[test]
fn indices_beyond_32_bits_are_right() {
    let folder = Folder::new();
    let n = (1u64 << 32) + 1000;
    let mut file = folder.sparse("a.npy", "|u1", &[n], n);
    for place in [n / 2 + 7, n - 3] {
        file.seek(SeekFrom::Start(128 + place)).unwrap();
        file.write_all(&[9]).unwrap();
    }
    for (last, place) in [("", n / 2 + 7), (" --select-last-index", n - 3)] {
        folder.done(2, &format!("argmax a.npy{last} -o out.npy"));
        assert_eq!(folder.read("out.npy").1, place.to_le_bytes());
    }
}

#[test]
fn a_rank_that_fails_ends_the_job_with_one_line() {
    let folder = Folder::new();
    folder.npy("a.npy", "<f4", false, &[6, 5], &floats(30, 61));
    let table = "
        argmin a.npy --axis 4 -o out.npy | error: rank 0: a.npy: axis 4 is out of range
        argmin none.npy -o out.npy | error: rank 0: none.npy: cannot be read
        argmin a.npy | --output <OUT.npy>
        argmin a.npy --part 0/2 -o p.part | --part: each rank reduces one part already
        devices | this is a command of wgreduce; wgreduce-mpi has the operators
        argmin a.npy -o none/out.npy | there is no folder none
        argmin a.npy --device NoSuchDevice -o out.npy | NoSuchDevice
        argmin a.npy --unheard | '--unheard'
        argmin a.npy -o out.npy --values none/v.npy | there is no folder none
        argmin a.npy -o /dev/null | /dev/null: is no file
    ";
    for (line, named) in rows(table) {
        let output = folder.run(3, line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.contains(named), "{line}: {stderr}");
        let told = stderr.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(told.count(), 1, "{line}: {stderr}");
        assert_eq!(folder.names(), ["a.npy"], "{line}");
    }
}

/// Ranks of one job with different requests.
#[test]
fn ranks_that_were_asked_for_different_things_end_the_job() {
    let folder = Folder::new();
    folder.npy("a.npy", "<f4", false, &[6, 5], &floats(30, 61));
    folder.npy("b.npy", "<f4", false, &[5, 6], &floats(30, 61));
    let asked = "argmin a.npy --device cpu -o out.npy";
    let table = "
        argmax a.npy --device cpu -o out.npy | error: rank 1: another problem: the operator is ArgMax, and ArgMin on rank 0
        argmin b.npy --device cpu -o out.npy | error: rank 1: another problem: the input's shape is [5, 6], and [6, 5] on rank 0
        argmin a.npy --device cpu -o out.npy --values v.npy | error: rank 1: another output: --values is v.npy, and absent on rank 0
        argmin a.npy --device cpu -o other.npy | error: rank 1: another output: -o is other.npy, and out.npy on rank 0
        argmin a.npy --unheard | '--unheard'
        --help | Usage
    ";
    for (other, named) in rows(table) {
        let mut job = folder.command(1, asked);
        job.args([":", "-n", "1", env!("CARGO_BIN_EXE_wgreduce-mpi")]);
        let output = job.args(other.split(' ')).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains(named), "{other}: {told}");
        assert_eq!(folder.names(), ["a.npy", "b.npy"], "{other}");
    }
}

#[test]
fn help_is_printed_once_and_is_of_what_runs_under_mpi() {
    let folder = Folder::new();
    let help = |line: &str| {
        let help = folder.run(3, line);
        assert!(help.status.success(), "{line}");
        String::from_utf8(help.stdout).unwrap()
    };
    let told = help("--help");
    assert_eq!(told.matches("Usage").count(), 1, "{told}");
    for words in ["mpirun -n", "MPI job", "-o is required", "reduce-sum"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    for command in ["merge", "bench", "completions"] {
        assert!(!told.contains(command), "{told}");
    }
    let told = help("argmin --help");
    assert!(told.contains("Where rank 0 puts the result"), "{told}");
    for words in ["--part", "Example"] {
        assert!(!told.contains(words), "{told}");
    }
}

/// As if machines had copies of a file that differ: every rank ends, and those that differ from rank 0 are named.
#[test]
fn ranks_with_different_data_end_the_job() {
    let folder = Folder::new();
    let mut data = floats(30, 61);
    folder.npy("a.npy", "<f4", false, &[6, 5], &data);
    folder.npy("same.npy", "<f4", false, &[6, 5], &data);
    data[57] ^= 1;
    folder.npy("b.npy", "<f4", false, &[6, 5], &data);
    let before = folder.names();
    for line in [
        "argmin IN",
        "reduce-min IN --axes 1",
        "reduce-sum IN",
        "max IN",
    ] {
        let job = |inputs: [&str; 4]| {
            let asked =
                |input| format!("{line} --device cpu --quiet -o out.npy").replace("IN", input);
            let mut job = folder.command(1, &asked(inputs[0]));
            for input in &inputs[1..] {
                job.args([":", "-n", "1", env!("CARGO_BIN_EXE_wgreduce-mpi")]);
                job.args(asked(input).split(' '));
            }
            let output = job.output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), stderr)
        };
        let (code, stderr) = job(["a.npy", "b.npy", "a.npy", "b.npy"]);
        assert_eq!(code, Some(2), "{line}: {stderr}");
        let told = stderr.lines().filter(|l| l.starts_with("error: "));
        let told: Vec<&str> = told.collect();
        let [told] = told[..] else {
            panic!("{line}: {stderr}");
        };
        let begin = "error: rank 1: other data: the contents of the input have the fingerprint ";
        assert!(told.starts_with(begin), "{told}");
        let end = "on rank 0 (2 of the ranks differ from it: 1, 3)";
        assert!(told.ends_with(end), "{told}");
        assert_eq!(folder.names(), before, "{line}");
        // The name of a file makes no difference.
        let (code, stderr) = job(["a.npy", "same.npy", "a.npy", "same.npy"]);
        assert_eq!(code, Some(0), "{line}: {stderr}");
        fs::remove_file(folder.path("out.npy")).unwrap();
    }
}

/// The child processes of a process.
fn children(parent: u32) -> Vec<u32> {
    let ids = fs::read_dir("/proc").unwrap().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name is in brackets and may hold any characters.
        let rest = status.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    })
    .collect()
}

#[test]
fn a_killed_rank_ends_the_job_and_leaves_nothing() {
    let folder = Folder::new();
    let n = 400_000_000u64;
    folder.sparse("a.npy", "<f4", &[n / 4, 4], 4 * n);
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    for turn in 0..5u64 {
        let chance = (now ^ turn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (wait, victim) = ((chance >> 20) % 1500, (chance >> 40) as usize % 3);
        println!("killing rank {victim} after {wait} ms");
        let axis = turn % 2;
        let line = format!("reduce-max a.npy --axes {axis} --device cpu -o out.npy");
        let mut command = folder.command(3, &line);
        let mut job = command.stderr(Stdio::null()).spawn().unwrap();
        let begin = Instant::now();
        let mut ranks = children(job.id());
        while ranks.len() < 3 {
            assert!(begin.elapsed() < Duration::from_secs(30), "no ranks");
            thread::sleep(Duration::from_millis(20));
            ranks = children(job.id());
        }
        thread::sleep(Duration::from_millis(wait));
        let id = ranks[victim].to_string();
        let killed = Command::new("kill").args(["-9", &id]).status();
        assert!(killed.unwrap().success(), "the rank had ended");
        let begin = Instant::now();
        assert!(!job.wait().unwrap().success());
        let lives = |id: &u32| Path::new(&format!("/proc/{id}")).exists();
        while ranks.iter().any(lives) {
            assert!(begin.elapsed() < Duration::from_secs(30), "ranks are left");
            thread::sleep(Duration::from_millis(50));
        }
        assert!(begin.elapsed() < Duration::from_secs(30));
        assert_eq!(folder.names(), ["a.npy"]);
    }
}
