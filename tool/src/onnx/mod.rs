//! `wgreduce onnx`: test cases in the layout of ONNX's backend tests.
//!
//! Chooses and counts cases; `cases` judges them.

mod cases;

pub use cases::{CaseReport, Folder, Outcome, discover};

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use crate::args::{Common, Onnx};
use crate::device::Device;
use crate::failure::{Failure, say, write_stdout};
use crate::output::{self, Content, Target};
use crate::print::bar;
use crate::run::compute;

const NO_CASE: &str = "no test case, which is a folder with model.onnx and test_data_set_*";

pub fn run(args: &Onnx, common: &Common) -> Result<(), Failure> {
    let (folders, empty) = folders(args)?;
    let device = Device::open(common)?;
    let (mut passed, mut failed, mut skipped) = (0, 0, empty);
    let mut foreign: BTreeMap<String, u64> = BTreeMap::new();
    let form = "{bar:40} {pos}/{len} cases";
    let progress = bar(folders.len() as u64, form, common.quiet);
    for folder in &folders {
        let report = case(folder, &device, common)?;
        match &report.outcome {
            Outcome::Passed => passed += 1,
            Outcome::Skipped(reason) => {
                skipped += 1;
                if folder.is_case() {
                    *foreign.entry(reason.clone()).or_default() += 1;
                }
            }
            Outcome::Failed(reason) => {
                failed += 1;
                let reason = reason.lines().collect::<Vec<_>>().join("; ");
                progress.suspend(|| write_stdout(&format!("{}: {reason}\n", report.name)))?;
            }
        }
        if let Some(dir) = &args.save {
            save(&report, dir)?;
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let skips = foreign
        .iter()
        .map(|(reason, count)| format!("skipped, as not ours: {reason}: {count}\n"));
    write_stdout(&skips.collect::<String>())?;
    write_stdout(&format!(
        "{passed} passed, {failed} failed, {skipped} skipped\n"
    ))?;
    // Said last, so that after a failure the first line is the error.
    if !common.quiet {
        say(&device.line());
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Cases),
    }
}

/// The folders to look at, of which at least one is a case, and how many of the named ones hold none.
fn folders(args: &Onnx) -> Result<(Vec<Folder>, u64), Failure> {
    let (mut folders, mut empty) = (Vec::new(), 0);
    for path in &args.paths {
        if path.is_file() {
            return Err(Failure::file(path, format_args!("is a file, {NO_CASE}")));
        }
        let found = discover(path)?;
        empty += u64::from(found.is_empty());
        folders.extend(found);
    }
    if !folders.iter().any(Folder::is_case) {
        let paths: Vec<_> = args.paths.iter().map(|p| p.display().to_string()).collect();
        return Err(Failure::file(Path::new(&paths.join(", ")), NO_CASE));
    }
    let mut names = HashSet::new();
    let cases = folders.iter().filter(|f| f.is_case());
    match cases.map(Folder::name).find(|name| !names.insert(*name)) {
        Some(twice) if args.save.is_some() => Err(Failure::Request(format!(
            "two cases are named {twice}: --save would overwrite one by the other"
        ))),
        _ => Ok((folders, empty)),
    }
}

/// Writes all that a case computed, or nothing of it.
pub fn save(report: &CaseReport, dir: &Path) -> Result<(), Failure> {
    let files = report.files(dir);
    for folder in files.iter().filter_map(|(path, _)| path.parent()) {
        let made = fs::create_dir_all(folder);
        made.map_err(|e| Failure::file(folder, format_args!("cannot be written: {e}")))?;
    }
    let targets = files.iter().map(|(path, bytes)| {
        let content = Content::Bytes(bytes);
        Target { path, content }
    });
    output::write(&targets.collect::<Vec<_>>())
}

/// Runs a case. A refused model fails the case; a failing device ends the run.
fn case(folder: &Folder, device: &Device, common: &Common) -> Result<CaseReport, Failure> {
    let mut lost = None;
    let report = folder.run(|problem, inputs| {
        let results = compute(device, problem.clone(), inputs, common);
        results.map(|(results, _)| results).map_err(|failure| {
            let reason = failure.to_string();
            if let Failure::Device(_) = failure {
                lost = Some(failure);
            }
            reason
        })
    });
    match lost {
        Some(failure) => Err(failure),
        None => Ok(report),
    }
}
