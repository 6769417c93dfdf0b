//! `wgreduce bench` as its users see it, and what its catalogue promises.

#[path = "../benches/catalogue.rs"]
mod catalogue;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use catalogue::catalogue;
use serde_json::Value;
use wgreduce::{DType, Op, adapters_blocking};

fn run(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgreduce"));
    command.current_dir(folder).args(line.split(' '));
    command.env_remove("RUST_LOG").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_case_is_verified_timed_and_written_down() {
    // Where an adapter is required, the GPU tests fail without one.
    if adapters_blocking().unwrap_or_default().is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let line = "bench --quick --json out.json --html out.html --filter";
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgreduce"));
    command.current_dir(&folder).args(line.split(' '));
    let output = command.arg("tiny argmin").output().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stderr.starts_with("device: "), "{stderr}");
    assert!(stdout.contains("tiny") && stdout.contains("read ceiling"));
    assert!(stdout.lines().all(|line| line.len() <= 100), "{stdout}");

    let json = fs::read(folder.path().join("out.json")).unwrap();
    let rows: Vec<Value> = serde_json::from_slice(&json).unwrap();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!(row["case"], "tiny");
    assert_eq!(row["op"], "argmin");
    assert_eq!(row["dtype"], "float32");
    assert_eq!(row["shape"], serde_json::json!([8, 1000]));
    assert_eq!(row["axes"], serde_json::json!([1]));
    assert_eq!(row["bytes"], 8 * 1000 * 4 + 8 * 8);
    assert_eq!(row["verified"], true);
    assert!(row["gpu_ns"].is_null() || row["gpu_ns"].as_u64() > Some(0));
    for number in ["wall_ns", "gbps", "ceiling_gbps", "ratio", "cpu_ns"] {
        assert!(row[number].as_f64() > Some(0.0), "{number}: {row}");
    }
    for words in ["device", "backend", "driver"] {
        assert!(row[words].is_string(), "{words}: {row}");
    }
    assert!(row["plan"][0].is_string(), "{row}");

    let html = fs::read_to_string(folder.path().join("out.html")).unwrap();
    assert!(html.contains("<svg") && html.contains("tiny argmin float32"));
    assert!(html.contains("prefers-color-scheme") && !html.contains("http-equiv"));
}

#[test]
fn requests_that_cannot_be_met_are_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    for (line, why) in [
        ("bench --filter unheard", "--filter unheard"),
        ("bench --json none/out.json", "none/out.json"),
        ("bench --html none/out.html", "none/out.html"),
        ("bench --dtype int8", "--dtype"),
        ("bench --device cpu", "cpu reference"),
    ] {
        let output = run(folder.path(), line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(why));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn cases_are_unique_valid_and_of_the_promised_bytes() {
    let cases = catalogue();
    let names: HashSet<String> = cases.iter().map(|c| c.to_string()).collect();
    assert_eq!(names.len(), cases.len());
    for case in &cases {
        let problem = case.problem().unwrap();
        if case.quick && case.shapes[0].len() < 3 {
            let bytes = problem.input_bytes(0);
            assert!(bytes <= 64 << 20, "{case}: {bytes}");
        }
        if case.name == "tiny" {
            assert_eq!(case.inputs()[0].len() as u64, problem.input_bytes(0));
        }
    }
}

#[test]
fn quick_holds_what_it_always_holds() {
    use DType::{BF16, F16, F32, F64, I32, I64, U8};
    let cases = catalogue();
    let quick = |name, op, dtype| {
        let found = cases
            .iter()
            .find(|c| (c.name, c.op, c.dtype) == (name, op, dtype));
        found.is_some_and(|case| case.quick)
    };
    for name in ["A", "B", "C", "D", "E", "F"] {
        for dtype in [F32, I32, F64, I64, F16, BF16, U8] {
            assert!(quick(name, Op::ArgMin, dtype), "{name} {dtype}");
        }
        for dtype in [F32, I32] {
            assert!(quick(name, Op::ReduceMin, dtype), "{name} {dtype}");
        }
    }
    assert!(quick("pair", Op::Min, F32) && quick("matrix-row", Op::Min, F32));
}
