//! Where results go: files that are replaced whole or not at all, links, pipes, a full disk.

#[cfg(unix)]
use super::after;
use super::{Folder, floats, npy, parts, text};
use std::fs;
use std::process::Command;

#[test]
fn a_failed_run_leaves_existing_outputs_and_no_trace() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    folder.write("out.npy", b"precious");
    folder.refused("argmin in.npy --axis 7 -o out.npy --device cpu");
    folder.refused("argmin in.npy -o out.npy --values none/values.npy --device cpu");
    folder.refused("argmin in.npy -o none/out.npy --values out.npy --device cpu");
    assert_eq!(folder.read("out.npy"), b"precious");
    assert_eq!(folder.names(), ["in.npy", "out.npy"]);
}

#[test]
fn an_output_may_replace_its_input() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2, 2)", &[4.0, 3.0, 2.0, 1.0]));
    folder.cpu("reduce-min in.npy --axes 0 -o in.npy");
    let data: Vec<u8> = [2f32, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(parts(&folder.read("in.npy")).1, data);
    assert_eq!(folder.names(), ["in.npy"]);
}

#[cfg(unix)]
#[test]
fn outputs_have_the_permissions_of_ordinary_files() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    folder.cpu("min in.npy -o new.npy");
    assert_eq!(mode(folder.path("new.npy")), mode(folder.path("in.npy")));

    folder.write("old.npy", b"");
    fs::set_permissions(folder.path("old.npy"), fs::Permissions::from_mode(0o640)).unwrap();
    folder.cpu("min in.npy -o old.npy");
    assert_eq!(mode(folder.path("old.npy")) & 0o777, 0o640);

    fs::set_permissions(folder.path("old.npy"), fs::Permissions::from_mode(0o440)).unwrap();
    let error = folder.refused("min in.npy -o old.npy --device cpu");
    assert!(error.contains("old.npy: cannot be written"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_written_through_not_replaced() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    folder.write("place.npy", b"");
    std::os::unix::fs::symlink("place.npy", folder.path("link.npy")).unwrap();
    folder.cpu("min in.npy -o link.npy");
    assert!(folder.path("link.npy").is_symlink());
    let expected = parts(&folder.read("in.npy")).1;
    assert_eq!(parts(&folder.read("place.npy")).1, expected);
    // Also one that leads to nothing yet.
    fs::create_dir(folder.path("links")).unwrap();
    std::os::unix::fs::symlink("../new.npy", folder.path("links/new.npy")).unwrap();
    folder.cpu("min in.npy -o links/new.npy");
    assert_eq!(parts(&folder.read("new.npy")).1, expected);
    assert!(folder.path("links/new.npy").is_symlink());

    let pipe = folder.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
    folder.cpu("min in.npy -o pipe");
    assert_eq!(parts(&reader.join().unwrap()).1, expected);
}

/// A disk without room, which Linux offers as /dev/full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_in_one_line() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    let error = folder.refused("min in.npy -o /dev/full --device cpu --quiet");
    let text = "error: /dev/full: cannot be written: No space left on device";
    assert!(error.starts_with(text), "{error}");
    // The file is larger than the memory given, so it is streamed.
    folder.write("large.npy", &npy("|u1", false, "(700000,)", &[1; 700_000]));
    super::onnx::case(&folder, "case", "ArgMin", 1);
    for line in [
        "min in.npy --device cpu",
        "min in.npy --device cpu --quiet",
        "reduce-min large.npy --memory 1 --device cpu",
        "onnx case --device cpu",
        "--help",
        "devices --json",
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(line).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        let stderr = self::text(&output.stderr);
        let text = "error: standard output: cannot be written: No space left on device";
        assert!(stderr.starts_with(text), "{line}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{line}: {stderr}");
    }
}

/// A device fails only when it is written to.
#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_leaves_the_file_beside_it() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    let large = npy("|u1", false, "(700000,)", &[1; 700_000]);
    folder.write("large.npy", &large);
    folder.write("out.npy", b"precious");
    for line in [
        "argmin in.npy -o out.npy --values /dev/full --device cpu --quiet",
        "topk in.npy --k 1 -o /dev/full --values out.npy --device cpu --quiet",
    ] {
        folder.refuses(&format!("{line} | error: /dev/full: cannot be written"));
        assert_eq!(folder.read("out.npy"), b"precious", "{line}");
        assert_eq!(folder.names(), ["in.npy", "large.npy", "out.npy"]);
    }
    // What is printed may find no room either.
    for line in [
        "argmin in.npy --values out.npy --device cpu --quiet",
        "argmin large.npy --memory 1 --values out.npy --device cpu --quiet",
        "topk in.npy --k 1 --values out.npy --device cpu --quiet",
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(line).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        assert_eq!(folder.read("out.npy"), b"precious", "{line}");
        assert_eq!(folder.names(), ["in.npy", "large.npy", "out.npy"]);
    }
}

#[test]
fn a_report_is_not_written_over_another_or_over_what_it_is_made_of() {
    let folder = Folder::new();
    folder.write("mine.json", b"{}");
    for line in [
        "bench --from mine.json --html both --svg both",
        "bench --from mine.json --html ./mine.json",
        "bench --json both --html both",
    ] {
        folder.refuses(&format!("{line} | is asked for twice"));
        assert_eq!(folder.names(), ["mine.json"]);
        assert_eq!(folder.read("mine.json"), b"{}");
    }
}

/// No report of ours has such a row.
#[test]
fn a_saved_row_that_took_no_time_is_drawn_as_if_it_had_none() {
    let saved = include_str!("../../benches/record/lavapipe/bench.json");
    let mut rows = saved.split("\"gpu_ns\": ");
    let begin = rows.next().unwrap().to_owned();
    let zero = |rest: &str| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("\"gpu_ns\": 0{rest}")
    };
    let changed = begin + &rows.map(zero).collect::<String>();
    assert_ne!(changed, saved);
    let folder = Folder::new();
    folder.write("zero.json", changed.as_bytes());
    let [stdout, _] = folder.done("bench --from zero.json --html page.html");
    assert!(!stdout.contains("inf"));
}

/// Writing fails in the middle, as on a disk that fills up.
#[cfg(unix)]
#[test]
fn a_file_that_grows_too_large_leaves_what_was_there() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3000,)", &[1.0; 3000]));
    // The file is larger than the memory given, so it is streamed.
    let large = npy("|u1", false, "(700000,)", &[1; 700_000]);
    folder.write("large.npy", &large);
    folder.write("out.npy", b"precious");
    for line in [
        "min in.npy -o out.npy --device cpu --quiet",
        "min large.npy -o out.npy --memory 1 --device cpu --quiet",
    ] {
        let output = after(&folder, "ulimit -f 1", line).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        let words = "error: out.npy: cannot be written: ";
        assert!(stderr.starts_with(words), "{line}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{line}: {stderr}");
        assert_eq!(folder.read("out.npy"), b"precious");
        assert_eq!(folder.names(), ["in.npy", "large.npy", "out.npy"]);
    }
}
