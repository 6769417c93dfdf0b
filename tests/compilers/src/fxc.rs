//! FXC in Wine, which wgpu uses on DirectX 12 if it finds no DXC.

use crate::choice::few;
use crate::{Result, hlsl, in_parallel, none_of};
use naga::back::hlsl::ShaderModel;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::grid::class;
use support::taken;
use wgreduce::{AdapterClass, Caps};

/// A fixed text and its entry point. The time that FXC takes for it tells how fast the machine is.
const YARDSTICK: (&str, &str) = ("rows", include_str!("../yardstick.hlsl"));
/// The most processor time for a kernel, and for half of them, as multiples of the yardstick's.
const SLOWEST: f64 = 4.5;
const MEDIAN: f64 = 0.35;

struct Job {
    label: String,
    entry: String,
    path: PathBuf,
}

/// The run's share of the kernels. Those whose HLSL is the same are compiled once.
fn jobs(folder: &Path) -> Result<(usize, Vec<Job>)> {
    let gpus = [AdapterClass::Discrete, AdapterClass::Integrated].map(class);
    // WARP is the only software adapter of DirectX 12, and no long kernels are planned for it.
    let warp = Caps {
        long_kernels: false,
        ..class(AdapterClass::Software)
    };
    let mut all = few(&[&gpus[..], &[warp]].concat());
    all.retain(|(kernel, _)| taken(("fxc", kernel)));
    let mut seen = HashSet::new();
    let mut jobs = Vec::new();
    for (kernel, source) in &all {
        let hlsl = hlsl::write(kernel, source, ShaderModel::V5_1)?;
        if seen.insert(hlsl.text.clone()) {
            let path = folder.join(format!("{:04}.hlsl", jobs.len()));
            std::fs::write(&path, &hlsl.text).map_err(|e| format!("{}: {e}", path.display()))?;
            jobs.push(Job {
                label: format!("{} {:?}", kernel.label(), kernel.acc),
                entry: hlsl.entry,
                path,
            });
        }
    }
    Ok((all.len(), jobs))
}

/// The seconds of processor time for each job, in their order.
fn compile<'a>(wine: &str, exe: &Path, dll: &str, jobs: &[&'a Job]) -> Result<Vec<(f64, &'a Job)>> {
    let first = jobs.first().ok_or("nothing to compile")?;
    let list = first.path.with_extension("list");
    let line = |job: &&Job| format!("{} {}\n", job.entry, job.path.display());
    let lines: String = jobs.iter().map(line).collect();
    std::fs::write(&list, lines).map_err(|e| format!("{}: {e}", list.display()))?;
    let output = Command::new(wine)
        .arg(exe)
        .arg(dll)
        .arg(&list)
        .env("WINEDEBUG", "-all")
        .output()
        .map_err(|e| format!("{wine}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let results: Vec<&str> = text.lines().collect();
    if !output.status.success() || results.len() != jobs.len() {
        let told = String::from_utf8_lossy(&output.stderr);
        let (done, all) = (results.len(), jobs.len());
        return Err(format!("FXC ended after {done} of {all}: {text}{told}"));
    }
    let (mut times, mut refused) = (Vec::new(), Vec::new());
    for (line, job) in results.iter().zip(jobs) {
        let mut words = line.split_whitespace().skip(1);
        let micros = match words.next() {
            Some("ok") => words.next().and_then(|w| w.parse::<f64>().ok()),
            _ => None,
        };
        match micros {
            Some(micros) => times.push((micros / 1e6, *job)),
            None => refused.push(format!("{}: {line}", job.label)),
        }
    }
    none_of("FXC", &refused)?;
    Ok(times)
}

/// Compiles every kernel within the budget.
pub fn check(wine: &str, exe: &Path, dll: &str) -> Result<()> {
    let folder = exe.with_file_name("hlsl");
    let failed = |e| format!("{}: {e}", folder.display());
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let (all, jobs) = jobs(&folder)?;
    let path = folder.join("yardstick.hlsl");
    std::fs::write(&path, YARDSTICK.1).map_err(failed)?;
    let yardstick = Job {
        label: "yardstick".into(),
        entry: YARDSTICK.0.into(),
        path,
    };
    // Neighbours are alike, so every second one makes halves of equal work.
    let halves: Vec<Vec<&Job>> = (0..2)
        .map(|half| {
            let jobs = jobs.iter().skip(half).step_by(2);
            jobs.chain([&yardstick; 3]).collect()
        })
        .collect();
    let mut times = Vec::new();
    for half in in_parallel(&halves, || Ok(()), |(), jobs| compile(wine, exe, dll, jobs))? {
        times.extend(half?);
    }
    let (mut measures, mut times): (Vec<_>, Vec<_>) = times
        .into_iter()
        .partition(|t| std::ptr::eq(t.1, &yardstick));
    measures.sort_by(|a, b| b.0.total_cmp(&a.0));
    let unit = measures[measures.len() / 2].0;
    let (slowest, half) = (SLOWEST * unit, MEDIAN * unit);
    // Other work on the same core can make a time half as long again: once more, in turns with the yardstick.
    for time in times.iter_mut().filter(|t| t.0 > slowest) {
        let turns = compile(wine, exe, dll, &[&yardstick, time.1].repeat(3))?;
        let mut ratios: Vec<f64> = turns.chunks(2).map(|pair| pair[1].0 / pair[0].0).collect();
        ratios.sort_by(f64::total_cmp);
        time.0 = ratios[1] * unit;
    }
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let median = times[times.len() / 2].0;
    let over = |limit: f64| times.iter().filter(|t| t.0 > limit).count();
    println!(
        "FXC compiles {} of {} texts, of {all} kernels: median {median:.2} s, slowest {:.2} s, {} over 1 s",
        times.len(),
        jobs.len(),
        times[0].0,
        over(1.0)
    );
    for (time, job) in times.iter().take(6) {
        println!("  {time:.2} s {}", job.label);
    }
    println!(
        "the yardstick {unit:.2} s: at most {slowest:.2} s for one and {half:.2} s for half of them"
    );
    if times[0].0 > slowest || median > half {
        return Err("over the budget".into());
    }
    Ok(())
}
