//! `wgreduce`: the library's operators over .npy files and ONNX test cases.
//!
//! Keeps which command goes where, and the exit. Everything it does goes through the public library.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod device;
mod devices;
mod explain;
mod failure;
mod interrupt;
mod manual;
mod npy;
mod onnx;
mod operator;
mod output;
mod part;
mod plan;
mod print;
mod run;
mod stream;
mod tensor;
mod tuning;

use std::panic;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use operator::Operator;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    with_runtime_dir();
    // Panics are caught, here and in the library: their messages belong in the log.
    panic::set_hook(Box::new(|info| log::error!("{info}")));
    if std::env::var_os("RUST_LOG").is_some() {
        env_logger::init();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            return match usage.print() {
                Err(e) => failure::not_printed(e).report(),
                Ok(()) => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2)),
            };
        }
    };
    let done = panic::catch_unwind(|| command(&cli)).unwrap_or(Err(Failure::Panic));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
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
    let Ok(program) = env::current_exe() else {
        return;
    };
    let mut command = std::process::Command::new(program);
    command.args(env::args_os().skip(1));
    // Returns only if it failed, and then all that is lost is a clean stderr.
    let _ = command.env("XDG_RUNTIME_DIR", env::temp_dir()).exec();
}

fn command(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    match &cli.command {
        Command::Argmin(args) => run::index(Operator::Argmin, args, common),
        Command::Argmax(args) => run::index(Operator::Argmax, args, common),
        Command::ReduceMin(args) => run::reduce(Operator::ReduceMin, args, common),
        Command::ReduceMax(args) => run::reduce(Operator::ReduceMax, args, common),
        Command::Min(args) => run::elementwise(Operator::Min, args, common),
        Command::Max(args) => run::elementwise(Operator::Max, args, common),
        Command::ArgmaxAbs(args) => run::index(Operator::ArgmaxAbs, args, common),
        Command::ReduceMaxAbs(args) => run::reduce(Operator::ReduceMaxAbs, args, common),
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
