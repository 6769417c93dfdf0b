//! Adapters: how they are listed, that each agrees with the CPU, and what happens without one.

use super::{Folder, adapters, assert_has, floats, succeeded, text};

#[test]
fn devices_tell_what_a_bug_report_needs() {
    let folder = Folder::new();
    let list = folder.run("devices");
    let list = text(&list.stdout);
    assert!(list.starts_with(concat!("wgreduce ", env!("CARGO_PKG_VERSION"))));
    assert!(list.lines().all(|line| line.len() <= 100), "{list}");
    let json = folder.run("devices --json");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let adapters = json.as_array().unwrap();
    assert_eq!(list.matches("tuned as").count(), adapters.len());
    for adapter in adapters {
        assert!(list.contains(adapter["driver"].as_str().unwrap()));
        assert!(adapter["tuning"]["workgroup"].is_u64(), "{adapter}");
    }
}

#[test]
fn without_an_adapter_auto_falls_back_to_the_cpu_and_says_so() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3,)", &[3.0, 1.0, 2.0]));
    // A backend that this platform cannot have.
    let backend = if cfg!(windows) { "metal" } else { "dx12" };
    let run = |line| {
        let mut command = folder.command(line);
        command.env("WGPU_BACKEND", backend).output().unwrap()
    };
    let [stdout, stderr] = succeeded("argmin", &run("argmin in.npy"));
    assert_eq!(stdout, "[1]\n");
    assert!(stderr.starts_with("device: cpu reference (no"), "{stderr}");

    assert!(run("argmin in.npy --quiet").stderr.is_empty());
    assert_eq!(run("argmin in.npy --check").status.code(), Some(2));
    assert_eq!(run("argmin in.npy --device vulkan").status.code(), Some(2));
    assert_eq!(run("devices").status.code(), Some(0));
    assert_eq!(text(&run("devices --json").stdout).trim(), "[]");
}

/// Whether a backend must be there.
fn requires(backend: &str) -> bool {
    let required = std::env::var("WGREDUCE_REQUIRE_ADAPTER").unwrap_or_default();
    required.split(',').any(|name| name == backend)
}

/// The driver claims to be one that wgpu cannot compile kernels for, as NVIDIA's OpenGL is, whose limits suffice.
#[test]
fn an_adapter_that_compiles_no_kernel_is_listed_with_the_reason_and_refused() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3,)", &[3.0, 1.0, 2.0]));
    let run = |line: &str, backend: &str| {
        let mut command = folder.command(line);
        command.env("MESA_GL_VERSION_OVERRIDE", "3.3");
        command.env("MESA_GLSL_VERSION_OVERRIDE", "330");
        command.env("WGPU_BACKEND", backend).output().unwrap()
    };
    let json = run("devices --json", "gl");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let old = |a: &&serde_json::Value| a["driver"].as_str().unwrap().starts_with("3.3 ");
    let list = json.as_array().unwrap();
    let Some(adapter) = list.iter().find(old) else {
        assert!(!list.is_empty() || !requires("gl"), "OpenGL is required");
        assert!(!json.to_string().contains("Mesa"), "{json}");
        return;
    };
    let name = adapter["name"].as_str().unwrap();
    let why = format!(
        "adapter {name} (gl) cannot be used: its version of OpenGL's shading language is 330, \
         at least 420 is needed"
    );
    assert_eq!(adapter["refused"], why);
    let list = text(&run("devices", "gl").stdout);
    let (who, reason) = why.split_once(": ").unwrap();
    let lines = format!("   refused   {who}:\n             {reason}\n");
    assert!(list.contains(&lines), "{list}");
    assert!(list.lines().all(|line| line.len() <= 100), "{list}");
    for device in ["gl", "0"] {
        let output = run(&format!("argmin in.npy --device {device}"), "gl");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr, format!("error: --device {device}: {why}\n"));
    }
    let output = run("argmin in.npy", "gl");
    assert_eq!(text(&output.stdout), "[1]\n");
    let words = "device: cpu reference (no GPU adapter can be used, `devices` tells why)\n";
    assert!(text(&output.stderr).starts_with(words), "{output:?}");
    assert_eq!(run("argmin in.npy --check", "gl").status.code(), Some(2));
}

/// wgpu's adapter that computes nothing fails the self-test.
#[test]
fn an_adapter_that_fails_its_test_is_passed_over_in_one_line() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3,)", &[3.0, 1.0, 2.0]));
    let run = |line: &str, backends: &str| {
        let mut command = folder.command(line);
        command.env("WGPU_BACKEND", backends).output().unwrap()
    };
    let output = run("argmin in.npy", "noop");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let words = "error: the self-test failed on noop";
    assert!(stderr.starts_with(words), "{stderr}");
    let list = run("devices --json", "gl");
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    // Without OpenGL there is no other to go on to.
    if list.as_array().unwrap().is_empty() {
        assert!(!requires("gl"), "OpenGL is required");
        return;
    }
    let [stdout, stderr] = succeeded("argmin", &run("argmin in.npy", "noop,gl"));
    assert_eq!(stdout, "[1]\n");
    let first = stderr.lines().next().unwrap();
    let words = " (gl), passed over: noop wgpu backend (noop): the self-test failed on noop";
    assert_has(first, &["device: ", words]);
}

/// Mesa's software drivers sometimes crash a process that unloads them before it exits.
#[test]
fn the_process_ends_well_on_every_adapter() {
    let folder = Folder::new();
    folder.write("a.npy", &floats("(2,)", &[2.0, 1.0]));
    for adapter in adapters(&folder) {
        for _ in 0..15 {
            folder.done(&format!("argmin a.npy --quiet --device {adapter}"));
        }
    }
}

#[test]
fn every_adapter_gives_what_the_cpu_gives() {
    let folder = Folder::new();
    let values = (0..3000).map(|i| ((i * 7919) % 1009) as f32 - 500.0);
    let values: Vec<f32> = values.collect();
    folder.write("in.npy", &floats("(30, 100)", &values));
    for adapter in adapters(&folder) {
        for line in [
            "argmin in.npy --axis 0 --values values.npy",
            "argmax in.npy --axis -1 --select-last-index",
            "reduce-max in.npy --axes 0",
            "min in.npy in.npy",
        ] {
            let expected = folder.cpu(line);
            let line = format!("{line} --check --device {adapter}");
            let [stdout, stderr] = folder.done(&line);
            assert_eq!(stdout, expected, "{line}");
            let mut lines = stderr.lines();
            assert!(lines.next().unwrap().starts_with("device: "), "{stderr}");
            let (plan, time) = (lines.next().unwrap(), lines.next().unwrap());
            assert!(plan.starts_with("plan: ") && plan.len() < 80, "{plan}");
            let end = plan.rsplit(' ').next();
            assert!(matches!(end, Some("dispatch" | "dispatches")), "{plan}");
            assert!(time.starts_with("time: upload "), "{stderr}");
        }
    }
}

#[test]
fn a_run_names_the_kernels_of_its_plan_when_asked() {
    let folder = Folder::new();
    if adapters(&folder).is_empty() {
        return;
    }
    folder.write("in.npy", &floats("(100000,)", &[1.0; 100_000]));
    // Held in memory, and read piece by piece.
    for line in ["argmin in.npy", "argmin in.npy --memory 1"] {
        let plan = |line: &str| {
            let stderr = text(&folder.run(line).stderr);
            let plan = stderr.lines().find(|line| line.starts_with("plan: "));
            plan.expect("a plan").to_owned()
        };
        let short = plan(line);
        assert!(!short.contains("reduce/"), "{short}");
        let long = plan(&format!("{line} --verbose"));
        assert_has(&long, &[" reduce/", "; scratch "]);
    }
    folder.refused("argmin in.npy --verbose --quiet");
    folder.refused("plan argmin --shape 9 --dtype int8 --verbose");
}

#[test]
fn the_log_tells_what_is_planned_and_compiled() {
    let folder = Folder::new();
    if adapters(&folder).is_empty() {
        return;
    }
    folder.write("in.npy", &floats("(3,)", &[3.0, 1.0, 2.0]));
    let mut command = folder.command("argmin in.npy --quiet");
    let output = command.env("RUST_LOG", "wgreduce=debug").output().unwrap();
    let words = ["ArgMin float32 [3] axes [0]: reduce/", "compiled reduce/"];
    assert_has(&text(&output.stderr), &words);
}
