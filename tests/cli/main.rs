//! The command-line tool as its users see it: files, streams and exit codes.
//!
//! Has a folder to run the tool in, and reads and writes .npy files without the code under test.

mod bench;
mod devices;
mod formats;
mod help;
mod interrupts;
mod merge;
mod onnx;
mod options;
mod outputs;
mod plans;
mod readme;
mod requests;
mod streams;
mod sums;
mod top_k;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use wgreduce::DType;

/// A folder to work in, removed at the end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The tool in this folder, with arguments that are split at spaces.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgreduce"));
        command.current_dir(self.0.path()).args(line.split(' '));
        command.env_remove("RUST_LOG").stdin(Stdio::null());
        // As on a machine without a screen, where drivers tend to complain on stderr.
        command.env_remove("XDG_RUNTIME_DIR");
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs with some bytes on standard input.
    fn fed(&self, line: &str, input: &[u8]) -> Output {
        let mut child = piped(&mut self.command(line)).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs on the CPU reference, expects success, and returns what was printed.
    fn cpu(&self, line: &str) -> String {
        let [stdout, _] = self.done(&format!("{line} --device cpu"));
        stdout
    }

    /// Runs, expects success, and returns what was printed on stdout and on stderr.
    fn done(&self, line: &str) -> [String; 2] {
        succeeded(line, &self.run(line))
    }

    /// Runs, expects success, and returns what was printed on stderr.
    fn told(&self, line: &str) -> String {
        let [_, stderr] = self.done(line);
        stderr
    }

    /// Runs and expects exit code 2, nothing on stdout, and an error in the first line, which it returns.
    fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(output.stdout.is_empty(), "{line}: {}", text(&output.stdout));
        let first = stderr.lines().next().unwrap_or_default();
        assert!(first.starts_with("error: "), "{line}: {stderr}");
        first.to_string()
    }

    /// Every line of a table is refused with the words behind its bar.
    fn refuses(&self, table: &str) {
        for (line, named) in rows(table) {
            let refused = self.refused(line);
            assert!(refused.contains(named), "{line}: {refused}, not {named}");
        }
    }
}

/// A command with pipes for all of its streams.
fn piped(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped())
}

/// The rows of a table: a command line, a bar, and words.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.split_once(" | ").expect("a bar"))
}

/// Checks that a text has all of these words.
#[track_caller]
fn assert_has(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words}: {text}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a line that must have succeeded printed on stdout and on stderr.
fn succeeded(line: &str, output: &Output) -> [String; 2] {
    let printed = [&output.stdout, &output.stderr].map(|bytes| text(bytes));
    assert_eq!(output.status.code(), Some(0), "{line}: {printed:?}");
    printed
}

/// An .npy file, written without the code under test.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let dict = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let dict = format!("{dict:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((dict.len() as u16).to_le_bytes());
    file.extend(dict.as_bytes());
    file.extend(data);
    file
}

/// NumPy's name of an element type, in little-endian order.
fn descr(dtype: DType) -> String {
    match dtype {
        DType::Bool => "|b1".into(),
        DType::BF16 => "<V2".into(),
        DType::I8 | DType::U8 => format!("|{}1", &dtype.name()[..1]),
        _ => format!("<{}{}", &dtype.name()[..1], dtype.size()),
    }
}

fn floats(shape: &str, values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("<f4", false, shape, &data)
}

/// Header text and data of an .npy file, read without the code under test.
fn parts(file: &[u8]) -> (String, Vec<u8>) {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let (header, data) = file[10..].split_at(usize::from(u16::from_le_bytes([file[8], file[9]])));
    (text(header), data.to_vec())
}

/// The indices in `devices` of the adapters that can be used.
fn adapters(folder: &Folder) -> Vec<String> {
    let [list, _] = folder.done("devices --json");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let list = list.as_array().unwrap();
    let required = std::env::var_os("WGREDUCE_REQUIRE_ADAPTER").is_some();
    assert!(!required || !list.is_empty(), "an adapter is required");
    let usable = list.iter().filter(|a| a["refused"].is_null());
    usable.map(|a| a["index"].to_string()).collect()
}

/// The tool in a shell that runs a command first: `ulimit -f 1; exec "$0" "$@"`.
#[cfg(unix)]
fn after(folder: &Folder, said: &str, line: &str) -> Command {
    let tool = folder.command(line);
    let mut command = Command::new("sh");
    command.current_dir(folder.0.path());
    command.args(["-c", &format!("{said}; exec \"$0\" \"$@\"")]);
    command.arg(tool.get_program()).args(tool.get_args());
    piped(&mut command).stdin(Stdio::null());
    command
}
