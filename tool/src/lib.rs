//! `wgreduce`: the library's operators over .npy files and ONNX test cases.
//!
//! Keeps which command goes where, and the exit. Everything it does goes through the public library.
//! A library of its own for `wgreduce-mpi`, which has the same options; no interface for others.
#![forbid(unsafe_code)]

pub mod args;
mod bench;
pub mod device;
mod devices;
mod explain;
pub mod failure;
mod header;
pub mod interrupt;
mod json;
mod manual;
pub mod memory;
mod npy;
pub mod onnx;
pub mod operator;
pub mod output;
pub mod part;
mod plan;
mod print;
pub mod request;
mod run;
pub mod stream;
mod tensor;
mod tuning;

use std::panic;
use std::process::ExitCode;

use args::{Cli, Command};
use failure::Failure;
use request::Request;

/// The tool.
pub fn main() -> ExitCode {
    start();
    let cli = match args::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(usage) => {
            // A wrong request stays one if nobody reads what is wrong.
            return match (usage.print(), usage.exit_code()) {
                (Err(e), 0) => failure::not_printed(e).report(),
                (_, code) => ExitCode::from(u8::try_from(code).unwrap_or(2)),
            };
        }
    };
    let done = panic::catch_unwind(|| command(&cli)).unwrap_or(Err(Failure::Panic));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// What comes before the command line is read.
pub fn start() {
    #[cfg(target_os = "linux")]
    with_runtime_dir();
    // Panics are caught, here and in the library: their messages belong in the log.
    panic::set_hook(Box::new(|info| log::error!("{info}")));
    if std::env::var_os("RUST_LOG").is_some() {
        env_logger::init();
    }
}

/// Starts anew with `XDG_RUNTIME_DIR` where it is missing: Mesa's Vulkan layer then looks for a
/// screen and complains on stderr, `error: ...`, whatever it is asked for. Setting a variable in
/// a running process is unsafe; this is not.
#[cfg(target_os = "linux")]
fn with_runtime_dir() {
    use std::env;
    use std::os::unix::process::CommandExt;
    if env::var_os("XDG_RUNTIME_DIR").is_some_and(|dir| !dir.is_empty()) {
        return;
    }
    let (Ok(program), dir) = (env::current_exe(), env::temp_dir()) else {
        return;
    };
    // TMPDIR may be empty: the new process would start anew, too.
    if dir.as_os_str().is_empty() {
        return;
    }
    let mut command = std::process::Command::new(program);
    command.args(env::args_os().skip(1));
    // Returns only if it failed, and then all that is lost is a clean stderr.
    let _ = command.env("XDG_RUNTIME_DIR", dir).exec();
}

fn command(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    match &cli.command {
        Command::Operator(args) => run::run(Request::of(args, common)?, common),
        Command::Merge(args) => part::merge::run(args, common),
        Command::Onnx(args) => onnx::run(args, common),
        Command::Devices(args) => devices::run(args),
        Command::Plan(args) => plan::run(args, common),
        Command::Bench(args) => bench::run(args, common),
        Command::Tune(args) => bench::tune::run(args, common),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args),
    }
}
