//! Signals during a run, and signals that were ignored before it.
#![cfg(unix)]

use super::{Folder, after, floats, parts, text};
use std::fs;
use std::process::Command;

/// Starts the tool and waits until it has written the new `out.npy` to a temporary file; the tool then waits
/// for a reader of `pipe`.
fn halfway(folder: &Folder, said: &str) -> std::process::Child {
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    folder.write("out.npy", b"precious");
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.unwrap().success());
    let line = "argmin in.npy -o out.npy --values pipe --device cpu --quiet";
    let child = after(folder, said, line).spawn().unwrap();
    let began = std::time::Instant::now();
    while folder.names().len() < 4 {
        assert!(began.elapsed().as_secs() < 60, "{:?}", folder.names());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

fn signal(child: &std::process::Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.unwrap().success());
}

/// Whether this process ignores a signal; known only on Linux.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.split("SigIgn:").nth(1).unwrap_or("0");
    let mask = mask.split_whitespace().next().unwrap_or("0");
    (u64::from_str_radix(mask, 16).unwrap() >> (signal - 1)) & 1 == 1
}

#[test]
fn an_interrupted_run_leaves_existing_outputs_and_no_trace() {
    use std::os::unix::process::ExitStatusExt;
    let mut signals = vec![("INT", 2), ("TERM", 15), ("HUP", 1)];
    // The tool also ignores the signals that this process ignores, as under nohup.
    signals.retain(|&(_, number)| !is_ignored(number));
    assert!(!signals.is_empty(), "all are ignored");
    for (name, number) in signals {
        let folder = Folder::new();
        let child = halfway(&folder, ":");
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        // The caller sees that the run was interrupted.
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        assert_eq!(text(&output.stderr), "error: interrupted\n");
        assert!(output.stdout.is_empty());
        assert_eq!(folder.read("out.npy"), b"precious");
        assert_eq!(folder.names(), ["in.npy", "out.npy", "pipe"]);
    }
}

/// As under nohup, or in the background of a script.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let folder = Folder::new();
    let mut child = halfway(&folder, "trap '' HUP INT");
    signal(&child, "HUP");
    signal(&child, "INT");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None, "a signal ended it");
    assert_eq!(parts(&folder.read("pipe")).1, 1f32.to_le_bytes());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(parts(&folder.read("out.npy")).1, 0i64.to_le_bytes());
}
