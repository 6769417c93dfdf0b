//! `wgreduce`: the library's operators over .npy files and ONNX test cases.
#![forbid(unsafe_code)]

mod args;
mod device;
mod devices;
mod failure;
mod npy;
mod onnx;
mod output;
mod plan;
mod print;
mod run;
mod tensor;

use std::panic;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use wgreduce::Op;

fn main() -> ExitCode {
    // Panics are caught, here and in the library: their messages belong in the log.
    panic::set_hook(Box::new(|info| log::error!("{info}")));
    if std::env::var_os("RUST_LOG").is_some() {
        env_logger::init();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Printing fails only where nobody reads.
            let _ = usage.print();
            return ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2));
        }
    };
    let done = panic::catch_unwind(|| command(&cli)).unwrap_or(Err(Failure::Panic));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn command(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    match &cli.command {
        Command::Argmin(args) => run::index(Op::ArgMin, args, common),
        Command::Argmax(args) => run::index(Op::ArgMax, args, common),
        Command::ReduceMin(args) => run::reduce(Op::ReduceMin, args, common),
        Command::ReduceMax(args) => run::reduce(Op::ReduceMax, args, common),
        Command::Min(args) => run::elementwise(Op::Min, args, common),
        Command::Max(args) => run::elementwise(Op::Max, args, common),
        Command::Onnx(args) => onnx::run(args, common),
        Command::Devices(args) => devices::run(args),
        Command::Plan(args) => plan::run(args, common),
    }
}
