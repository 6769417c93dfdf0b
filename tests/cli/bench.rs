//! `wgreduce bench` as its users see it, and the properties of its catalogue.

use super::{Folder, adapters, assert_has, succeeded, text};
use approx::assert_relative_eq;
use serde_json::Value;
use std::collections::HashSet;
use std::process::Output;
use support::catalogue::{Case, catalogue};
use wgreduce::unstable::Walk;
use wgreduce::wgpu::Features;
use wgreduce::{AdapterClass, Caps, DType, Op, Plan, Problem, adapters_blocking};

/// Runs the tool with a filter, which may have spaces. Without an adapter nothing is measured, and the
/// tool must say so.
fn measured(folder: &Folder, line: &str, filter: &str) -> Option<Output> {
    let output = folder.command(line).arg(filter).output().unwrap();
    if adapters(folder).is_empty() {
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("needs a GPU adapter"));
        return None;
    }
    Some(output)
}

/// What was measured, by the file that was asked for.
fn rows(folder: &Folder) -> Vec<Value> {
    serde_json::from_slice(&folder.read("out.json")).unwrap()
}

const EARLIER: &str = r#"[{"case": "tiny", "op": "argmin", "dtype": "float32", "inputs": [[8, 1000]],
    "gbps": 1e9, "ratio": 1e9},
    {"case": "flat", "op": "argmin", "dtype": "float32", "inputs": [[1]], "gbps": 1.0}]"#;

/// Results as the browser page saves them: one row that was measured, and one that could not be.
const SAVED: &str = r#"[{"case": "D", "op": "argmin", "dtype": "float32", "shape": [1048576, 16], "axes": [1],
    "inputs": [[1048576, 16]], "backend": "webgpu", "plan": ["a kernel on 1x1"], "bytes": 75497472,
    "gpu_ns": 1000000, "wall_ns": 2000000, "gbps": 75.497472, "ceiling_gbps": 100.0, "ratio": 0.75497472,
    "verified": true, "error": null, "plan_ns": 100, "encode_ns": 200, "clock": "timestamps",
    "device": "acme rocket <1>", "driver": "Browser/1.0", "limits": {"maxBufferSize": 268435456}},
    {"case": "tiny", "op": "reduce-min", "dtype": "float32", "shape": [8, 1000], "axes": [1],
    "inputs": [[8, 1000]], "backend": "webgpu", "verified": false, "error": "the device is out of memory"}]"#;

#[test]
fn what_a_browser_saved_is_drawn_and_compared_without_a_device() {
    let folder = Folder::new();
    folder.write("saved.json", SAVED.as_bytes());
    let broken = SAVED.replace("reduce-min", "mean");
    folder.write("broken.json", broken.as_bytes());
    let run = |line: &str| {
        let mut command = folder.command(line);
        // No adapter has this name, so none can be used.
        command.env("WGPU_ADAPTER_NAME", "nobody's");
        command.output().unwrap()
    };
    let output = run("bench --from saved.json --html out.html --svg out.svg --compare saved.json");
    // A case whose measurement failed counts as failed.
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let words = [
        "75.5",
        " 75%",
        "1.00x",
        "wrong: tiny reduce-min float32: the device is out of memory",
        "on the CPU: planning 0.10 us",
        "compared: 1 cases, 0 are new; 2 no spread",
    ];
    assert_has(&stdout, &words);
    // Nothing is said of what the file lacks.
    for words in [
        "call to submit",
        "verified by another plan",
        "varied",
        "0.00",
        "inf",
    ] {
        assert!(!stdout.contains(words), "{words}: {stdout}");
    }
    let html = text(&folder.read("out.html"));
    let words = [
        "wgreduce on acme rocket &lt;1&gt; (webgpu)",
        "Drawn from a saved measurement; driver: Browser/1.0.",
        "<svg role=\"img\" aria-label=\"Share",
        "<td>75%</td>",
        "[1048576, 16], axis 1",
    ];
    assert_has(&html, &words);
    let picture = text(&folder.read("out.svg"));
    let words = [
        "Share of the ceiling that wgreduce ",
        "acme rocket &lt;1&gt; (webgpu), driver Browser/1.0",
        ">\nargmin\n<",
        ">\nreduce-min\n<",
        "75%",
        "D: many rows of sixteen: float32 [1048576, 16], axis 1",
    ];
    assert_has(&picture, &words);
    let line = "bench --from saved.json --filter argmin";
    let [stdout, _] = succeeded(line, &run(line));
    assert!(!stdout.contains("reduce-min"));
    let output = run("bench --from saved.json --filter argmax");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: --filter argmax: no case"));
    // A ceiling of nothing gives no share, of which a chart's axis would have no end.
    let nothing = SAVED.replace("\"ceiling_gbps\": 100.0", "\"ceiling_gbps\": 0");
    folder.write("nothing.json", nothing.as_bytes());
    let line = "bench --from nothing.json --filter argmin --html out.html";
    let [stdout, _] = succeeded(line, &run(line));
    assert!(!stdout.contains("inf"));
    folder.refuses(
        "
        bench --from broken.json | broken.json: row 1 is not as `wgreduce bench --json FILE` or
        bench --from saved.json --quick | --quick
        ",
    );
}

const PEERS: &str = r#"[{"peer": "Abacus", "case": "tiny", "op": "argmin", "dtype": "float32",
    "gpu_ns": null, "wall_ns": 1000, "verified": true, "note": "each time includes reading back"},
    {"peer": "Liar", "case": "tiny", "op": "argmin", "dtype": "float32",
    "gpu_ns": 1, "wall_ns": 1, "verified": false}]"#;

#[test]
fn a_case_is_verified_timed_compared_and_written_down() {
    let folder = Folder::new();
    folder.write("old.json", EARLIER.as_bytes());
    folder.write("peers.json", PEERS.as_bytes());
    let line = "bench --quick --json out.json --html out.html --svg out.svg --compare old.json \
        --peers peers.json --filter";
    let Some(output) = measured(&folder, line, "tiny argmin") else {
        return;
    };
    let [stdout, stderr] = succeeded(line, &output);
    assert!(stderr.starts_with("device: "), "{stderr}");
    assert!(stdout.contains("tiny") && stdout.contains("\nread ceiling"));
    let int64 = |a: &wgreduce::AdapterEntry| a.features.contains(Features::SHADER_INT64);
    let wide = adapters_blocking().unwrap().first().is_some_and(int64);
    assert_eq!(stdout.contains("\nvec4<u64> read ceiling"), wide);
    assert!(stdout.lines().all(|line| line.len() <= 100), "{stdout}");

    let rows = rows(&folder);
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
    assert_eq!(row["verified_how"], "all by the reference");
    assert_has(&stdout, &["verified by the reference: 1 result\n"]);
    assert_eq!(row["gpu_ns"].is_null(), row["single_gpu_ns"].is_null());
    assert!(row["gpu_ns"].is_null() || row["gpu_ns"].as_u64() > Some(0));
    let number = |name: &str| row[name].as_f64().unwrap();
    let share = number("gbps") / number("ceiling_gbps");
    assert_relative_eq!(number("ratio"), share, max_relative = 1e-6);
    let numbers = "wall_ns gbps ceiling_gbps ratio cpu_ns plan_ns encode_ns call_ns end_to_end_ns \
        staging_gbps";
    for number in numbers.split(' ') {
        assert!(row[number].as_f64() > Some(0.0), "{number}: {row}");
    }
    for words in ["device", "backend", "driver"] {
        assert!(row[words].is_string(), "{words}: {row}");
    }
    assert!(row["plan"][0].is_string(), "{row}");
    let wall = row["gpu_ns"].is_null();
    let ns = if wall { "wall_ns" } else { "gpu_ns" };
    for (least, middle, most) in [
        ("least_ns", ns, "most_ns"),
        ("least_ratio", "ratio", "most_ratio"),
    ] {
        let numbers = [least, middle, most].map(number);
        assert!(numbers.is_sorted() && numbers[0] > 0.0, "{numbers:?}");
    }

    let html = text(&folder.read("out.html"));
    let words = [
        "<svg role=\"img\" aria-label=\"Share",
        "tiny argmin float32",
        "<td>[8, 1000], axis 1</td>",
        "prefers-color-scheme",
        "tiny Abacus",
        "1.00 us (wall)",
        "<p>Abacus: each time includes reading back.</p>",
    ];
    assert_has(&html, &words);
    assert!(!html.contains("http-equiv") && !html.contains("Liar"));
    let picture = text(&folder.read("out.svg"));
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    assert_has(&picture, &["prefers-color-scheme", ">\ntiny\n"]);
    let compared = "compared: 1 cases, 0 are new; 1 no spread";
    assert_has(&stdout, &[compared, " 0.00x "]);
    // A run beside itself.
    let again = folder.run("bench --from out.json --compare out.json");
    let words = ["0 are new; 1 within noise", "the ceilings varied by 1.00x"];
    assert_has(&text(&again.stdout), &words);
}

#[test]
fn a_large_case_is_verified_by_its_kernels_and_a_second_plan() {
    let folder = Folder::new();
    // Data above what the reference takes as a whole, beside a clock that a software adapter has not.
    let line =
        "bench --bytes 96 --quick --no-growth --clock --json out.json --html out.html --filter";
    let Some(output) = measured(&folder, line, "B argmin uint8") else {
        return;
    };
    let [stdout, _] = succeeded(line, &output);
    let by = "verified by another plan, their kernels by the reference on fewer bytes: 1 result\n";
    assert_has(&stdout, &[by, " over 64 MiB\n"]);
    let rows = rows(&folder);
    let row = &rows[0];
    assert_eq!((rows.len(), &row["verified"]), (1, &Value::Bool(true)));
    assert_eq!(row["shape"], serde_json::json!([8192, 12288]));
    assert_eq!(row["bytes"], 96 * (1 << 20) + 8 * 8192);
    assert!(row["cpu_ns"].is_null() && row["end_to_end_ns"].is_null());
    let how = row["verified_how"].as_str().unwrap();
    let begin = "1 of 1 kernels by the reference on [";
    assert!(how.starts_with(begin), "{how}");
    assert_has(how, &["; all by another plan, reduce/"]);
    // Without timestamps there is no clock.
    if let Some(clock) = row["clock"].as_f64() {
        assert!(clock > 0.0 && clock <= 1.0, "{clock}");
        let slowed = stdout.contains("slowed: 1 case (!)");
        assert_eq!(slowed, clock < 0.95, "{stdout}");
    }
    let html = text(&folder.read("out.html"));
    assert!(html.contains(&format!("<td>{how}</td>")), "{html}");
    // What was saved is shown as it was.
    let [again, _] = folder.done("bench --from out.json");
    assert_eq!(again.lines().nth(1), stdout.lines().nth(1));
    assert_eq!(again.contains("slowed"), stdout.contains("slowed"));
    assert!(again.contains(by), "{again}");
}

/// A slow tuning: workgroups of one invocation, which leave the rest of each subgroup idle. There is
/// something to improve.
const SLOW: &str = r#"{"tuning": {"invocations": 1, "row_lanes": 1}}"#;

#[test]
#[ignore = "measures for a while: scripts/test --all"]
fn a_slow_tuning_is_improved_and_the_file_is_one_that_tuning_takes() {
    let folder = Folder::new();
    folder.write("slow.json", SLOW.as_bytes());
    let line = "tune --quick --tuning slow.json -o tuned.json --filter";
    let Some(output) = measured(&folder, line, "tiny argmin") else {
        return;
    };
    let [_, stderr] = succeeded(line, &output);
    let file = folder.read("tuned.json");
    let file: Value = serde_json::from_slice(&file).unwrap();
    for words in ["device", "backend", "driver", "date"] {
        assert!(file[words].is_string(), "{words}: {file}");
    }
    // Any change that was found was measured, and is in the tuning.
    for change in file["changes"].as_array().unwrap() {
        let [gain, noise] = ["gain", "noise"].map(|name| change[name].as_f64().unwrap());
        assert!(gain > 0.02 && gain > noise, "{change}");
        assert_has(&stderr, &[change["field"].as_str().unwrap()]);
    }
    let changed = |c: &Value| file["tuning"][c["field"].as_str().unwrap()] != c["from"];
    let changes = file["changes"].as_array().unwrap();
    assert!(changes.last().is_none_or(changed), "{file}");
    assert!(file["tuning"]["submit_bytes"].as_u64() > Some(0));
    folder.done("plan --tuning tuned.json argmin --shape 8,1000 --dtype float32 --axis 1");
}

#[test]
#[ignore = "measures for a while: scripts/test --all"]
fn a_case_of_other_shapes_is_new() {
    let folder = Folder::new();
    folder.write("old.json", EARLIER.as_bytes());
    let line = "bench --quick --compare old.json --filter";
    let Some(output) = measured(&folder, line, "t argmin float32") else {
        return;
    };
    // `flat` has other shapes in old.json.
    let stdout = text(&output.stdout);
    assert!(stdout.contains("compared: 0 cases, 1 are new"), "{stdout}");
}

#[test]
#[ignore = "takes half a minute"]
fn growth_is_fitted_in_the_record() {
    let folder = Folder::new();
    // The sizes are 2^10, 2^12, ... 2^18, which is 1 MiB.
    let line = "bench --quick --json out.json --html out.html --filter";
    let Some(output) = measured(&folder, line, "2^1") else {
        return;
    };
    let [stdout, _] = succeeded(line, &output);
    assert!(stdout.contains("cost growth") && stdout.contains("farthest from this line"));
    assert!(stdout.lines().all(|line| line.len() <= 100), "{stdout}");
    let rows = rows(&folder);
    assert_eq!(rows.len(), 2 * 5);
    assert!(rows.iter().all(|row| row["verified"] == true));
    assert!(rows.iter().all(|row| row["end_to_end_ns"].is_null()));
    let html = text(&folder.read("out.html"));
    assert!(html.contains("Wall time against size"));
}

#[test]
fn requests_that_cannot_be_met_are_refused_before_any_work() {
    let folder = Folder::new();
    folder.refuses(
        "
        bench --json none/out.json | none/out.json
        bench --html none/out.html | none/out.html
        bench --compare none.json | none.json: cannot be read
        bench --from none.json | none.json: cannot be read
        bench --html x.html --peers none.json | none.json
        bench --dtype int8 | --dtype
        bench --device cpu | cpu reference
        bench --bytes 0 | --bytes
        bench --from x.json --bytes 64 | --bytes
        tune -o none/out.json | none/out.json
        tune -o out.json --filter nothing | --filter nothing
        tune -o out.json --dtype int8 | --dtype
        tune -o out.json --device cpu | tune needs a GPU adapter
        ",
    );
    if !adapters(&folder).is_empty() {
        folder.refuses(
            "
            bench --json x.json --filter unheard | --filter unheard: no case
            bench --json x.json --quick --filter classes21 | --quick leaves out
            bench --json x.json --bytes 1048576 --filter tiny | --bytes 1048576: the device binds
            ",
        );
    }
    assert!(folder.names().is_empty());
}

#[test]
#[ignore = "measures for a while: scripts/test --all"]
fn edges_are_those_of_the_device() {
    let folder = Folder::new();
    let adapters = adapters_blocking().unwrap_or_default();
    let first = adapters.first();
    let class = first.map_or(AdapterClass::Software, |a| a.class());
    // The longest rows of which an invocation takes several, or a whole one.
    let caps = Caps::typical(class);
    let taken = |n: &u64| {
        let problem = Problem::arg_min(DType::F32, &[1 << 16, *n], 1).unwrap();
        let plan = Plan::new(&problem, &caps).unwrap();
        matches!(plan.passes()[0].kernel.walk, Walk::Rows(text) if text.rows > 0)
    };
    let longest = (2..).take_while(taken).last().unwrap();
    let edge = format!("rows{}", longest + 1);
    let line = "bench --json out.json --filter";
    let Some(output) = measured(&folder, line, &edge) else {
        return;
    };
    let [stdout, _] = succeeded(line, &output);
    assert!(stdout.contains("edges: time per byte"), "{stdout}");
    let rows = rows(&folder);
    for (three, op) in rows.chunks(3).zip(["argmin", "reduce-min"]) {
        let length = |row: &Value| row["shape"][1].as_u64();
        let lengths: Vec<_> = three.iter().map(length).collect();
        assert_eq!(lengths, [0, 1, 2].map(|more| Some(longest + more)));
        let right = |row: &Value| row["op"] == op && row["verified"] == true;
        assert!(three.iter().all(right), "{three:?}");
        // What a byte costs at the edge and above it, beside what it costs below.
        let speed = |row: &Value| row["gbps"].as_f64().unwrap();
        let costs = [1, 2].map(|i| format!("{:.2}x", speed(&three[0]) / speed(&three[i])));
        let mut told = stdout.lines().map(str::split_whitespace);
        let told = told.find(|words| words.clone().take(2).eq([&*edge, op]));
        let told: Vec<_> = told.expect("a line of the edge").collect();
        assert_eq!(told[told.len() - 2..], costs);
    }
    assert_eq!(rows.len(), 6);
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
fn cases_scale_to_other_bytes_in_proportion() {
    use DType::{F16, F32, F64, U8};
    let cases = catalogue();
    let shapes = |bytes: u64, name, op, dtype| {
        let is = |case: &&Case| (&*case.name, case.op, case.dtype) == (name, op, dtype);
        let case = cases.iter().find(is).unwrap().clone();
        case.with_bytes(bytes).shapes
    };
    for (name, dtype, shape) in [
        ("A", F32, vec![1, 1 << 28]),
        ("B", F32, vec![1 << 14, 1 << 14]),
        ("C", F32, vec![1 << 14, 1 << 14]),
        ("D", F32, vec![1 << 24, 16]),
        ("E", F32, vec![1024, 512, 512]),
        ("F", F32, vec![1 << 26, 3]),
        ("A", F64, vec![1, 1 << 27]),
        ("C", F64, vec![1 << 13, 1 << 14]),
        ("B", F16, vec![1 << 14, 1 << 15]),
        ("D", U8, vec![1 << 26, 16]),
        ("tiny", F32, vec![8, 1000]),
    ] {
        let scaled = shapes(1 << 30, name, Op::ArgMin, dtype);
        assert_eq!(scaled, [shape], "{name} {dtype}");
    }
    let scaled = shapes(1 << 30, "matrix-row", Op::Min, F32);
    assert_eq!(scaled, [vec![1 << 14, 1 << 14], vec![1 << 14]]);
    for case in &cases {
        assert_eq!(case.clone().with_bytes(64 << 20).shapes, case.shapes);
        for bytes in [1 << 20, 100 << 20, 1 << 30] {
            let scaled = case.clone().with_bytes(bytes);
            let problem = scaled.problem().unwrap();
            let read = problem.input_bytes(0);
            let fits = read <= bytes && read * 4 > bytes * 2;
            let right = fits || scaled.shapes == case.shapes;
            assert!(right, "{case}: {read} of {bytes}");
        }
    }
}

#[test]
fn quick_holds_what_it_always_holds() {
    use DType::{BF16, F16, F32, F64, I32, I64, U8};
    let cases = catalogue();
    let quick = |name, op, dtype| {
        let is = |c: &&Case| (&*c.name, c.op, c.dtype) == (name, op, dtype);
        cases.iter().find(is).is_some_and(|case| case.quick)
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
