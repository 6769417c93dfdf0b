//! Tint, the WGSL compiler of Chrome, through Dawn's bindings for Node.

use crate::{Result, none_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use support::kernels::kernels;
use support::taken;
use wgreduce::DType;

/// Checks the run's share of the kernels: every text as a module, and every kernel as a pipeline of it.
pub fn check(script: &Path) -> Result<()> {
    let mut texts: HashMap<String, usize> = HashMap::new();
    let mut modules: Vec<Value> = Vec::new();
    let mut all = kernels(&DType::ALL);
    all.retain(|(kernel, _)| taken(("tint", kernel)));
    for (kernel, (text, constants)) in &all {
        let number = *texts.entry(text.clone()).or_insert_with(|| {
            modules.push(json!({ "label": kernel.label(), "text": text, "pipelines": [] }));
            modules.len() - 1
        });
        let constants: HashMap<&str, u64> = constants.iter().copied().collect();
        let pipelines = modules[number]["pipelines"].as_array_mut();
        pipelines.expect("a list").push(json!(constants));
    }
    let failed = |e: std::io::Error| format!("node: {e}");
    let mut node = Command::new("node");
    let node = node.arg(script).stdin(Stdio::piped());
    let mut node = node.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut input = node.stdin.take().ok_or("node takes no input")?;
    let text = Value::from(modules).to_string();
    let feed = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = node.wait_with_output().map_err(failed)?;
    let fed = feed.join().map_err(|_| "the writer panicked")?;
    fed.map_err(failed)?;
    // Each refusal is a line, and the last line has the counts.
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    let counts = lines.pop().unwrap_or_default();
    let expected = format!("{} modules, {} pipelines", texts.len(), all.len());
    none_of("Tint", &lines)?;
    let status = output.status;
    if !status.success() || counts != expected {
        return Err(format!("Tint took {counts:?} of {expected}: {status}"));
    }
    println!("Tint accepts {expected}");
    Ok(())
}
