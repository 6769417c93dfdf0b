//! Standard input and output, and files that are read piece by piece.

use super::{Folder, adapters, floats, npy, parts, piped, rows, succeeded, text};
use std::io::Write;
use std::process::Stdio;
use support::{drawn, taken};

/// An .npy file of 400 x 500 floats with ties in every row and column.
fn many(fortran: bool, big_endian: bool, seed: u32) -> Vec<u8> {
    let value = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 25) as f32 - 64.0;
    let bytes = |i| match big_endian {
        true => value(i).to_be_bytes(),
        false => value(i).to_le_bytes(),
    };
    let data: Vec<u8> = (0..200_000).flat_map(bytes).collect();
    let descr = if big_endian { ">f4" } else { "<f4" };
    npy(descr, fortran, "(400, 500)", &data)
}

/// The outputs of a run: the result, the values beside it, and stderr.
fn written(folder: &Folder, line: &str) -> (Vec<u8>, Option<Vec<u8>>, String) {
    let stderr = folder.told(&format!("{line} -o out.npy"));
    let values = line.contains("values").then(|| folder.read("values.npy"));
    (folder.read("out.npy"), values, stderr)
}

const SMALL: &str = "--memory 1";
const WHOLE: &str = "--memory 100";

/// Checks that a line gives the same piece by piece and at once, as files and as text.
pub fn same_by_pieces(folder: &Folder, line: &str, device: &str) {
    let (expected, values, said) = written(folder, &format!("{line} {WHOLE} {device}"));
    assert!(!said.contains("piece by piece"), "{said}");
    let (ours, our_values, said) = written(folder, &format!("{line} {SMALL} {device}"));
    assert!(said.contains("piece by piece"), "{said}");
    assert_eq!(in_c_order(&ours), in_c_order(&expected), "{line} {device}");
    let in_order = |values: Option<Vec<u8>>| values.map(|v| in_c_order(&v));
    assert_eq!(in_order(our_values), in_order(values), "{line} {device}");
    // The results of min, max and topk may be too large to print.
    if !line.starts_with(['m', 't']) {
        let print = |memory| folder.run(&format!("{line} {memory} --quiet {device}"));
        assert_eq!(print(SMALL).stdout, print(WHOLE).stdout, "{line}");
    }
}

/// On the CPU and on every adapter, reading piece by piece gives the result of reading at once.
#[test]
fn files_larger_than_memory_are_read_piece_by_piece() {
    read_piece_by_piece(false);
}

#[test]
fn files_in_fortran_order_are_read_piece_by_piece() {
    read_piece_by_piece(true);
}

fn read_piece_by_piece(fortran: bool) {
    let folder = Folder::new();
    let devices = adapters(&folder).into_iter();
    let devices = devices.map(|i| format!("--device {i}"));
    let devices: Vec<String> = devices.chain(["--device cpu".into()]).collect();
    let lines = [
        "argmin a.npy --axis 0",
        "argmax a.npy --axis 1 --select-last-index --index-type int32 --keepdims false",
        "argmax a.npy --axis -2 --values values.npy",
        "reduce-min a.npy --axes 0",
        "reduce-max a.npy",
        "argmax-abs a.npy --axis 1",
        "reduce-max-abs a.npy --axes 0",
        "min a.npy b.npy",
        "max b.npy a.npy",
    ];
    for big_endian in [false, true] {
        folder.write("a.npy", &many(fortran, big_endian, 1));
        folder.write("b.npy", &many(fortran, big_endian, 1 << 30));
        for line in lines {
            let case = ("piece by piece", line, fortran, big_endian);
            if taken(case) {
                let device = drawn(case) as usize % devices.len();
                same_by_pieces(&folder, line, &devices[device]);
            }
        }
    }
    for device in &devices[..devices.len() - 1] {
        let told = folder.told(&format!("argmin a.npy --axis 1 {SMALL} --check {device}"));
        assert!(told.contains("check: equal"), "{told}");
    }
}

#[test]
fn what_cannot_be_read_piece_by_piece_is_refused_with_the_way_out() {
    let folder = Folder::new();
    folder.write("a.npy", &many(true, true, 1));
    folder.write("c.npy", &many(false, false, 1));
    folder.refuses(
        "
        min a.npy c.npy --memory 1 --device cpu | a.npy: is in Fortran order and c.npy is not
        min c.npy c.npy --memory 1 --device cpu | name a file with -o
        ",
    );
}

/// The header without the order, and the data in C order, of an .npy file with two dimensions and elements of 4
/// or 8 bytes.
fn in_c_order(file: &[u8]) -> (String, Vec<u8>) {
    let (header, data) = parts(file);
    let short = header.contains("f4") || header.contains("i4");
    let size = if short { 4 } else { 8 };
    let rows = data.len() / size / columns(&header);
    let plain = header.replace("True", "False");
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if header.contains("False") {
        return (plain, data);
    }
    let at = |i: usize| i % columns(&header) * rows + i / columns(&header);
    let elements = (0..data.len() / size).flat_map(|i| &data[at(i) * size..][..size]);
    let elements = elements.copied().collect();
    (plain, elements)
}

/// The length of the last dimension in the header.
fn columns(header: &str) -> usize {
    let shape = header.split(['(', ')']).nth(1).unwrap();
    let mut dims = shape.split(',').filter_map(|d| d.trim().parse().ok());
    dims.next_back().unwrap_or(1)
}

#[test]
fn standard_input_is_read_and_checked_like_a_file() {
    let folder = Folder::new();
    let small = floats("(3,)", &[3.0, 1.0, 2.0]);
    let large = npy("|u1", false, "(700000,)", &[1; 700_000]);
    for (memory, whole, printed) in [(WHOLE, small, "[1]\n"), (SMALL, large, "[0]\n")] {
        for (length, code, printed) in [(whole.len(), 0, printed), (whole.len() - 1, 2, "")] {
            let line = format!("argmin - {memory} --device cpu");
            let output = folder.fed(&line, &whole[..length]);
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{stderr}");
            assert_eq!(text(&output.stdout), printed);
            let named = stderr.starts_with("error: standard input: is truncated");
            assert_eq!(named, code == 2, "{stderr}");
            let pieces = stderr.contains("read piece by piece");
            assert_eq!(pieces, code == 0 && memory == SMALL, "{stderr}");
        }
    }
}

/// At once, piece by piece, and of parts.
#[test]
fn a_result_goes_to_standard_output_as_a_file() {
    let folder = Folder::new();
    folder.write("a.npy", &many(false, false, 1));
    folder.write("f.npy", &many(true, false, 1));
    for i in 0..2 {
        let line = format!("argmax a.npy --axis 1 --part {i}/2 -o p{i}.part");
        folder.cpu(&line);
    }
    for (line, device) in [
        ("argmin a.npy --axis 1", " --device cpu"),
        ("max a.npy --memory 1", " --device cpu"),
        ("max f.npy --memory 1", " --device cpu"),
        ("merge p0.part p1.part", ""),
    ] {
        let line = format!("{line}{device} --quiet -o");
        folder.done(&format!("{line} out.npy"));
        let output = folder.run(&format!("{line} -"));
        assert!(output.status.success(), "{line}");
        assert_eq!(text(&output.stderr), "", "{line}");
        assert!(output.stdout == folder.read("out.npy"), "{line}");
    }
    let output = folder.run("argmin a.npy --device cpu --values values.npy -o -");
    assert!(text(&output.stderr).starts_with("device: cpu reference\n"));
    let indices = parts(&output.stdout).1;
    let printed = folder.run("argmin a.npy --device cpu --values - -o out.npy");
    assert_eq!(parts(&folder.read("out.npy")).1, indices);
    assert_eq!(printed.stdout, folder.read("values.npy"));
    assert!(!folder.path("-").exists());
}

#[test]
fn a_stream_holds_one_file() {
    let folder = Folder::new();
    folder.write("a.npy", &floats("(3,)", &[3.0, 1.0, 2.0]));
    let table = "
        max - - | standard input: can be read once, and is given 2 times
        max - a.npy - - | standard input: can be read once, and is given 3 times
        argmin a.npy --values - | standard output: cannot hold the values and the indices: name a file with -o
        argmin a.npy --values - -o - | standard output: is asked for twice, by -o and --values
    ";
    for (line, why) in rows(table) {
        let refused = folder.refused(&format!("{line} --device cpu"));
        assert_eq!(refused, format!("error: {why}"));
    }
    for line in [
        "tune -o -",
        "bench --json -",
        "bench --html -",
        "bench --svg -",
    ] {
        folder.refuses(&format!("{line} | standard output holds the table"));
    }
    assert_eq!(folder.names(), ["a.npy"]);
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let folder = Folder::new();
    for line in [
        "argmin -",
        "argmin - -o -",
        "argmin - --values - -o out.npy",
        "argmin - --values values.npy",
    ] {
        closed(&folder, line);
    }
    // What goes elsewhere is whole.
    assert_eq!(parts(&folder.read("out.npy")).1, 1i64.to_le_bytes());
    assert!(folder.path("values.npy").exists());
    if cfg!(target_os = "linux") {
        closed(&folder, "argmin - -o /dev/stdout");
        closed(&folder, "argmin - --values /dev/stdout -o out.npy");
    }
}

#[test]
fn a_wrong_request_fails_also_where_nobody_reads_why() {
    let folder = Folder::new();
    for line in [
        "argmin --nosuch",
        "nosuch",
        "plan argmin --shape 4 --dtype int9",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = folder.command(line).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(2), "{line}");
    }
}

/// Where neither a folder of the session nor one for temporary files is named.
#[test]
fn the_tool_starts_without_any_folder() {
    let folder = Folder::new();
    let mut command = folder.command("--version");
    let command = command.env("TMPDIR", "").stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0));
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("it starts itself without end");
}

/// Runs a line whose reader is gone before there is a result.
fn closed(folder: &Folder, line: &str) {
    let mut command = folder.command(&format!("{line} --device cpu --quiet"));
    let mut child = piped(&mut command).spawn().unwrap();
    // The reader is gone before the input arrives, and so before the result.
    drop(child.stdout.take());
    let input = floats("(3,)", &[3.0, 1.0, 2.0]);
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let [_, stderr] = succeeded(line, &child.wait_with_output().unwrap());
    assert_eq!(stderr, "", "{line}");
}
