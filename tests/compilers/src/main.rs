//! Has compilers of platforms that are not here compile the kernels that plans use. `scripts/compilers` fetches
//! them and calls this.

// Compilers are called as C libraries.
#![expect(unsafe_code)]

mod aco;
mod choice;
mod device;
mod dxc;
mod fxc;
mod hlsl;
mod isa;
mod run;
mod spots;
mod tint;

use std::path::Path;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, String>;

const USAGE: &str = "compilers tint SCRIPT
          dxc LIBRARY          compiles to DXIL
          run LIBRARY [TYPE]   compiles to SPIR-V, and runs it on lavapipe
          faults LIBRARY       plants faults in what is run, which must be noticed
          fxc WINE EXE DLL     compiles with Direct3D 11's compiler
          aco DRIVER RECORD [--write]   compiles for AMD's GPUs with Mesa's driver";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["tint", script] => tint::check(Path::new(script)),
        ["dxc", library] => run::compile(Path::new(library)),
        ["run", library, ref types @ ..] => run::run(Path::new(library), types),
        ["faults", library] => run::faults(Path::new(library)),
        ["fxc", wine, exe, dll] => fxc::check(wine, Path::new(exe), dll),
        ["aco", driver, record] => aco::check(driver, Path::new(record), false),
        ["aco", driver, record, "--write"] => aco::check(driver, Path::new(record), true),
        ["aco-one"] => aco::compile(),
        _ => Err(format!("usage: {USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Does the jobs on several threads, each with its own worker. Results come in the order of the jobs.
fn in_parallel<J: Sync, W, R: Send>(
    jobs: &[J],
    worker: impl Fn() -> Result<W> + Sync,
    work: impl Fn(&mut W, &J) -> R + Sync,
) -> Result<Vec<R>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let taken = || -> Result<Vec<(usize, R)>> {
        let mut worker = worker()?;
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            match jobs.get(i) {
                Some(job) => done.push((i, work(&mut worker, job))),
                None => return Ok(done),
            }
        }
    };
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(taken)).collect();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a thread panicked")??);
        }
        Result::Ok(())
    })?;
    all.sort_unstable_by_key(|&(i, _)| i);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

/// Fails if anything failed, and names the first eight.
fn none_of(what: &str, failed: &[String]) -> Result<()> {
    let shown = failed[..failed.len().min(8)].join("\n");
    match failed.len() {
        0 => Ok(()),
        n => Err(format!("{what}: {n} failed\n{shown}")),
    }
}
