//! Adapters: how they are listed, that each agrees with the CPU, and what happens without one.

use super::{Folder, adapters, floats, text};

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
        folder
            .command(line)
            .env("WGPU_BACKEND", backend)
            .output()
            .unwrap()
    };
    let output = run("argmin in.npy");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(text(&output.stdout), "[1]\n");
    let first = stderr.lines().next().unwrap();
    assert!(first.starts_with("device: cpu reference (no"), "{stderr}");

    assert!(run("argmin in.npy --quiet").stderr.is_empty());
    assert_eq!(run("argmin in.npy --check").status.code(), Some(2));
    assert_eq!(run("argmin in.npy --device vulkan").status.code(), Some(2));
    assert_eq!(run("devices").status.code(), Some(0));
    assert_eq!(text(&run("devices --json").stdout).trim(), "[]");
}

/// Mesa's software drivers sometimes crash a process that unloads them before it exits.
#[test]
fn the_process_ends_well_on_every_adapter() {
    let folder = Folder::new();
    folder.write("a.npy", &floats("(2,)", &[2.0, 1.0]));
    for adapter in adapters(&folder) {
        for _ in 0..15 {
            let output = folder.run(&format!("argmin a.npy --quiet --device {adapter}"));
            assert_eq!(output.status.code(), Some(0), "{adapter}: {output:?}");
        }
    }
}

#[test]
fn every_adapter_gives_what_the_cpu_gives() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..3000)
        .map(|i| ((i * 7919) % 1009) as f32 - 500.0)
        .collect();
    folder.write("in.npy", &floats("(30, 100)", &values));
    for adapter in adapters(&folder) {
        for line in [
            "argmin in.npy --axis 0 --values values.npy",
            "argmax in.npy --axis -1 --select-last-index",
            "reduce-max in.npy --axes 0",
            "min in.npy in.npy",
        ] {
            let expected = folder.cpu(line);
            let output = folder.run(&format!("{line} --check --device {adapter}"));
            let stderr = text(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{line} on {adapter}: {stderr}"
            );
            assert_eq!(text(&output.stdout), expected, "{line} on {adapter}");
            let mut lines = stderr.lines();
            assert!(lines.next().unwrap().starts_with("device: "), "{stderr}");
            assert!(lines.next().unwrap().starts_with("plan: "), "{stderr}");
            assert!(
                lines.next().unwrap().starts_with("time: upload "),
                "{stderr}"
            );
        }
    }
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
    let log = text(&output.stderr);
    assert!(
        log.contains("ArgMin float32 [3] axes [0]: reduce/"),
        "{log}"
    );
    assert!(log.contains("compiled reduce/"), "{log}");
}
