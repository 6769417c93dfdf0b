//! The command-line tool as its users see it: files, streams and exit codes.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder to work in, gone at the end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The tool in this folder, its arguments divided by spaces.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgreduce"));
        command.current_dir(self.0.path()).args(line.split(' '));
        command.env_remove("RUST_LOG").stdin(Stdio::null());
        // As on a machine without a screen, where drivers like to complain on stderr.
        command.env_remove("XDG_RUNTIME_DIR");
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Runs on the CPU reference and expects success; what was printed.
    fn cpu(&self, line: &str) -> String {
        let output = self.run(&format!("{line} --device cpu"));
        assert_eq!(
            output.status.code(),
            Some(0),
            "{line}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// Runs and expects exit code 2, nothing on stdout and an error first; that line.
    fn refused(&self, line: &str) -> String {
        let output = self.run(line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(output.stdout.is_empty(), "{line}: {}", text(&output.stdout));
        let first = stderr.lines().next().unwrap_or_default();
        assert!(first.starts_with("error: "), "{line}: {stderr}");
        first.to_string()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An .npy file, written without the code under test.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let dict = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let dict = format!("{dict:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((dict.len() as u16).to_le_bytes());
    file.extend(dict.as_bytes());
    file.extend(data);
    file
}

fn floats(shape: &str, values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    npy("'<f4'", false, shape, &data)
}

/// Header text and data of an .npy file, read without the code under test.
fn parts(file: &[u8]) -> (String, Vec<u8>) {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let (header, data) = file[10..].split_at(usize::from(u16::from_le_bytes([file[8], file[9]])));
    (text(header), data.to_vec())
}

const TYPES: [(&str, &str, usize); 13] = [
    ("<V2", "bfloat16", 2),
    ("<f2", "float16", 2),
    ("<f4", "float32", 4),
    ("<f8", "float64", 8),
    ("|i1", "int8", 1),
    ("<i2", "int16", 2),
    ("<i4", "int32", 4),
    ("<i8", "int64", 8),
    ("|u1", "uint8", 1),
    ("<u2", "uint16", 2),
    ("<u4", "uint32", 4),
    ("<u8", "uint64", 8),
    ("|b1", "bool", 1),
];

/// Two rows of three, of which a copy must keep every bit.
fn bits(size: usize) -> Vec<u8> {
    (0..6 * size).map(|i| (i * 37 + 11) as u8).collect()
}

#[test]
fn every_type_passes_through_unchanged() {
    let folder = Folder::new();
    for (descr, name, size) in TYPES {
        let data = bits(size);
        folder.write(
            "in.npy",
            &npy(&format!("'{descr}'"), false, "(2, 3)", &data),
        );
        folder.cpu(&format!("min in.npy -o out.npy --dtype {name}"));
        let (header, copied) = parts(&folder.read("out.npy"));
        assert!(header.contains(&format!("'descr': '{descr}'")), "{header}");
        assert!(header.contains("'shape': (2, 3, )"), "{header}");
        assert!(header.contains("'fortran_order': False"), "{header}");
        assert_eq!(copied, data, "{name}");
    }
}

#[test]
fn fortran_order_and_big_endian_are_converted_for_every_type() {
    let folder = Folder::new();
    for (descr, name, size) in TYPES {
        let data = bits(size);
        // The same matrix, column by column.
        let at = |row: usize, column: usize| &data[(row * 3 + column) * size..][..size];
        let columns = (0..3).flat_map(|c| (0..2).flat_map(move |r| at(r, c).to_vec()));
        let columns: Vec<u8> = columns.collect();
        folder.write(
            "in.npy",
            &npy(&format!("'{descr}'"), true, "(2, 3)", &columns),
        );
        folder.cpu(&format!("max in.npy -o out.npy --dtype {name}"));
        assert_eq!(parts(&folder.read("out.npy")).1, data, "{name}");

        let swapped: Vec<u8> = data
            .chunks(size)
            .flat_map(|e| e.iter().rev().copied())
            .collect();
        let descr = descr.replace('<', ">");
        folder.write(
            "in.npy",
            &npy(&format!("'{descr}'"), false, "(2, 3)", &swapped),
        );
        folder.cpu(&format!("max in.npy -o out.npy --dtype {name}"));
        assert_eq!(parts(&folder.read("out.npy")).1, data, "{name} big-endian");
    }
}

#[test]
fn results_are_printed_as_numpy_would() {
    let folder = Folder::new();
    folder.write(
        "in.npy",
        &floats("(2, 3)", &[1.0, f32::NAN, -2.5, 3.0, 0.1, -0.0]),
    );
    assert_eq!(folder.cpu("argmin in.npy --axis 1"), "[[1]\n [2]]\n");
    assert_eq!(
        folder.cpu("argmin in.npy --axis -1 --keepdims false"),
        "[1 2]\n"
    );
    assert_eq!(
        folder.cpu("argmin in.npy --axis -1 --keepdims false --nan ignore"),
        "[2 2]\n"
    );
    assert_eq!(folder.cpu("argmax in.npy"), "[[1 0 1]]\n");
    assert_eq!(
        folder.cpu("reduce-max in.npy --axes -1,0 --keepdims false"),
        "nan\n"
    );
    assert_eq!(
        folder.cpu("reduce-min in.npy --axes 0"),
        "[[ 1.0  nan -2.5]]\n"
    );
    assert_eq!(
        folder.cpu("reduce-min in.npy --axes=-2"),
        "[[ 1.0  nan -2.5]]\n"
    );
    assert_eq!(
        folder.cpu("reduce-min --nan ignore --keepdims true in.npy"),
        "[[-2.5]]\n"
    );

    folder.write("ones.npy", &npy("'|u1'", false, "(1001,)", &[1; 1001]));
    assert_eq!(folder.cpu("min ones.npy"), "[1 1 1 ... 1 1 1]\n");
    assert_eq!(
        folder.cpu("argmin ones.npy --select-last-index"),
        "[1000]\n"
    );
    folder.write("empty.npy", &floats("(0, 3)", &[]));
    assert_eq!(
        folder.cpu("reduce-max empty.npy --axes 0"),
        "[[-inf -inf -inf]]\n"
    );
    assert_eq!(
        folder.cpu("reduce-max empty.npy --axes 1"),
        "[] shape=[0, 1]\n"
    );
}

#[test]
fn elementwise_operators_broadcast_all_their_inputs() {
    let folder = Folder::new();
    folder.write("a.npy", &floats("(2, 1)", &[1.0, 4.0]));
    folder.write("b.npy", &floats("(3,)", &[2.0, 3.0, 5.0]));
    folder.write("c.npy", &floats("()", &[2.5]));
    let min = "[[1.0 1.0 1.0]\n [2.0 2.5 2.5]]\n";
    assert_eq!(folder.cpu("min a.npy b.npy c.npy"), min);
    let max = "[[2.5 3.0 5.0]\n [4.0 4.0 5.0]]\n";
    assert_eq!(folder.cpu("max a.npy b.npy c.npy"), max);
}

#[test]
fn indices_have_the_type_that_was_asked_for() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3,)", &[2.0, 1.0, 3.0]));
    for (options, descr, bytes) in [
        ("", "<i8", &1i64.to_le_bytes()[..]),
        (" --index-type int64", "<i8", &1i64.to_le_bytes()),
        (" --index-type int32", "<i4", &1i32.to_le_bytes()),
        (" --index-type uint32", "<u4", &1u32.to_le_bytes()),
    ] {
        folder.cpu(&format!(
            "argmin in.npy -o out.npy --values values.npy{options}"
        ));
        let (header, data) = parts(&folder.read("out.npy"));
        assert!(header.contains(&format!("'descr': '{descr}'")), "{header}");
        assert_eq!(data, bytes);
        assert_eq!(parts(&folder.read("values.npy")).1, 1f32.to_le_bytes());
    }
}

#[test]
fn stderr_holds_the_report_and_nothing_when_quiet() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3,)", &[2.0, 1.0, 3.0]));
    let output = folder.run("argmin in.npy --device cpu");
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().next(), Some("device: cpu reference"));
    assert!(stderr.contains("\ntime: "), "{stderr}");
    let output = folder.run("argmin in.npy --device cpu --quiet -o out.npy");
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        Default::default()
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn malformed_files_are_refused_by_name() {
    let folder = Folder::new();
    let huge = "(4294967296, 4294967296)";
    let claim = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes()].concat();
    let nested = format!("{}{}", "[".repeat(50), "]".repeat(50));
    for (why, file) in [
        ("truncated", npy("'<f4'", false, "(2,)", &[0; 7])),
        ("longer", npy("'<f4'", false, "(2,)", &[0; 9])),
        (
            "truncated",
            npy("'<f4'", false, "(1099511627776,)", &[0; 64]),
        ),
        ("impossible", npy("'<f4'", false, huge, &[])),
        ("header", npy("'<f4'", false, "(-2,)", &[])),
        ("header", npy("'<f4'", false, &nested, &[])),
        ("header", npy("'f", false, "(2,)", &[])),
        ("header", npy("'<f4'", false, "(2,)", &[])[..60].to_vec()),
        ("4294967295", claim),
        ("structured", npy("[('a', '<f4')]", false, "(2,)", &[0; 8])),
        ("<c8", npy("'<c8'", false, "(1,)", &[0; 8])),
        ("|O", npy("'|O'", false, "(1,)", &[0; 8])),
        ("--dtype bfloat16", npy("'<V2'", false, "(1,)", &[0; 2])),
        ("not an .npy", b"PK\x03\x04 an archive, perhaps".to_vec()),
        ("not an .npy", Vec::new()),
    ] {
        folder.write("in.npy", &file);
        let error = folder.refused("min in.npy --device cpu");
        assert!(error.starts_with("error: in.npy: "), "{error}");
        assert!(error.contains(why), "{why}: {error}");
    }
    assert!(folder.refused("min none.npy").contains("none.npy"));
    fs::create_dir(folder.path("sub")).unwrap();
    assert!(folder.refused("min sub").contains("sub: is a folder"));
}

#[test]
fn wrong_requests_name_what_is_wrong_with_them() {
    let folder = Folder::new();
    folder.write("f.npy", &floats("(2, 3)", &[0.0; 6]));
    folder.write("four.npy", &floats("(4,)", &[0.0; 4]));
    folder.write("i.npy", &npy("'<i4'", false, "(2, 3)", &[0; 24]));
    folder.write("empty.npy", &floats("(2, 0)", &[]));
    for (line, named) in [
        ("argmin f.npy --axis 5", "f.npy: axis 5"),
        ("argmin f.npy --axis -3", "axis -3"),
        ("argmin f.npy --axis one", "'one'"),
        ("argmin empty.npy --axis -1", "axis -1"),
        ("reduce-min f.npy --axes 0,-2", "axis -2"),
        ("reduce-min f.npy --axes 0,x", "'x'"),
        ("reduce-min f.npy --keepdims maybe", "'maybe'"),
        ("argmin f.npy --index-type int8", "'int8'"),
        ("argmin f.npy --nan sometimes", "'sometimes'"),
        ("argmin f.npy --dtype float99", "'float99'"),
        (
            "argmin f.npy --dtype float64",
            "f.npy: holds float32, not float64",
        ),
        ("argmin f.npy --dtype bfloat16", "not bfloat16"),
        ("argmin f.npy --axes 0", "'--axes'"),
        ("argmin f.npy --check --device cpu", "--check"),
        ("argmin f.npy --device 999", "999"),
        (
            "argmin f.npy --device 999999999999999999999",
            "--device 999999999999999999999: no adapter of so large a number;",
        ),
        ("argmin f.npy --device NoSuchDevice", "NoSuchDevice"),
        ("min f.npy four.npy", "four.npy: input 1 of shape [4]"),
        (
            "min f.npy i.npy",
            "i.npy: holds int32, but f.npy holds float32",
        ),
        ("min f.npy --frobnicate", "--frobnicate"),
        ("argmin f.npy -o out.npy --values out.npy", "out.npy"),
        ("argmin f.npy -o ./out.npy --values out.npy", "out.npy"),
        (
            "min f.npy -o none/out.npy",
            "none/out.npy: cannot be written",
        ),
        (
            "min f.npy -o f.npy/out.npy",
            "f.npy/out.npy: cannot be written",
        ),
        ("min f.npy -o .", ".: cannot be written"),
        ("plan argmin --shape 2,3", "--dtype"),
        ("plan argmin --shape 2,3 --dtype int8 --axis 2", "axis 2"),
        ("plan argmin --shape 2,3 --dtype int8 --axes 0", "--axes"),
        ("plan argmin --shape 2,-3 --dtype int8", "'-3'"),
        ("plan sum --shape 2,3 --dtype int8", "'sum'"),
        ("frobnicate f.npy", "'frobnicate'"),
        ("--quiet", "subcommand"),
    ] {
        // Where a device is not the point, none is opened.
        let line = match line.contains("--device") {
            true => line.to_string(),
            false => format!("--device cpu {line}"),
        };
        let error = folder.refused(&line);
        assert!(error.contains(named), "{line}: {error}");
    }
    assert_eq!(folder.names(), ["empty.npy", "f.npy", "four.npy", "i.npy"]);
}

#[test]
fn a_result_too_large_for_memory_is_refused_instead_of_ending_the_process() {
    let folder = Folder::new();
    folder.write(
        "a.npy",
        &npy("'|u1'", false, "(16777216, 1)", &[0; 1 << 24]),
    );
    folder.write(
        "b.npy",
        &npy("'|u1'", false, "(1, 16777216)", &[0; 1 << 24]),
    );
    assert!(
        folder
            .refused("min a.npy b.npy --device cpu")
            .contains("memory")
    );
}

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
    assert!(
        fs::symlink_metadata(folder.path("link.npy"))
            .unwrap()
            .is_symlink()
    );
    let expected = parts(&folder.read("in.npy")).1;
    assert_eq!(parts(&folder.read("place.npy")).1, expected);

    let pipe = folder.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
    folder.cpu("min in.npy -o pipe");
    assert_eq!(parts(&reader.join().unwrap()).1, expected);
}

/// An .npy file of 400 x 500 floats with ties in every row and column.
fn many(fortran: bool, big_endian: bool, seed: u32) -> Vec<u8> {
    let value = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 25) as f32 - 64.0;
    let bytes = |i| match big_endian {
        true => value(i).to_be_bytes(),
        false => value(i).to_le_bytes(),
    };
    let data: Vec<u8> = (0..200_000).flat_map(bytes).collect();
    let descr = if big_endian { "'>f4'" } else { "'<f4'" };
    npy(descr, fortran, "(400, 500)", &data)
}

/// On the CPU and on every adapter, what is read piece by piece gives what is read at once.
#[test]
fn files_larger_than_memory_are_read_piece_by_piece() {
    let folder = Folder::new();
    let (small, whole) = ("--memory 1", "--memory 100");
    let devices = adapters(&folder)
        .into_iter()
        .map(|i| format!("--device {i}"));
    let devices: Vec<String> = devices.chain(["--device cpu".into()]).collect();
    for (fortran, big_endian) in [(false, false), (true, false), (false, true), (true, true)] {
        folder.write("a.npy", &many(fortran, big_endian, 1));
        folder.write("b.npy", &many(fortran, big_endian, 1 << 30));
        for (i, line) in [
            "argmin a.npy --axis 0",
            "argmax a.npy --axis 1 --select-last-index --index-type int32 --keepdims false",
            "argmax a.npy --axis -2 --values values.npy",
            "reduce-min a.npy --axes 0",
            "reduce-max a.npy",
            "argmax-abs a.npy --axis 1",
            "reduce-max-abs a.npy --axes 0",
            "min a.npy b.npy",
            "max b.npy a.npy",
        ]
        .into_iter()
        .enumerate()
        {
            let device = &devices[i % devices.len()];
            let done = |memory: &str| {
                let output = folder.run(&format!("{line} -o out.npy {memory} {device}"));
                let stderr = text(&output.stderr);
                assert_eq!(output.status.code(), Some(0), "{line} {device}: {stderr}");
                let values = line.contains("values").then(|| folder.read("values.npy"));
                (folder.read("out.npy"), values, stderr)
            };
            let (expected, ours) = (done(whole), done(small));
            assert!(ours.2.contains("piece by piece"), "{}", ours.2);
            assert!(!expected.2.contains("piece by piece"), "{}", expected.2);
            let same = |a: &[u8], b: &[u8]| in_c_order(a) == in_c_order(b);
            assert!(same(&ours.0, &expected.0), "{line} {device}");
            if let (Some(ours), Some(expected)) = (ours.1, expected.1) {
                assert!(same(&ours, &expected), "values of {line} {device}");
            }
            let print = |memory| {
                folder
                    .run(&format!("{line} {memory} --quiet {device}"))
                    .stdout
            };
            if !line.starts_with("m") {
                assert_eq!(text(&print(small)), text(&print(whole)), "{line}");
            }
        }
    }
    for device in &devices[..devices.len() - 1] {
        let line = format!("argmin a.npy --axis 1 {small} --check {device}");
        let output = folder.run(&line);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("check: equal"));
    }
    folder.write("c.npy", &many(false, false, 1));
    let mixed = folder.refused(&format!("min a.npy c.npy {small} --device cpu"));
    assert!(
        mixed.contains("a.npy: is in Fortran order and c.npy is not"),
        "{mixed}"
    );
    let printed = folder.refused(&format!("min c.npy c.npy {small} --device cpu"));
    assert!(printed.contains("name a file with -o"), "{printed}");
}

/// Data of an .npy file of two dimensions of 4-byte or 8-byte elements, and its header but for
/// the order.
fn in_c_order(file: &[u8]) -> (String, Vec<u8>) {
    let (header, data) = parts(file);
    let size = if header.contains("f4") || header.contains("i4") {
        4
    } else {
        8
    };
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

/// Elements along the last dimension that the header names.
fn columns(header: &str) -> usize {
    let shape = header.split(['(', ')']).nth(1).unwrap();
    let mut dims = shape.split(',').filter_map(|d| d.trim().parse().ok());
    dims.next_back().unwrap_or(1)
}

#[test]
fn standard_input_is_read_and_checked_like_a_file() {
    let folder = Folder::new();
    let whole = floats("(3,)", &[3.0, 1.0, 2.0]);
    for (length, code, printed) in [(whole.len(), 0, "[1]\n"), (whole.len() - 1, 2, "")] {
        let mut command = folder.command("argmin - --device cpu");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&whole[..length])
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), printed);
    }
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let folder = Folder::new();
    let mut command = folder.command("argmin - --device cpu --quiet");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The reader is gone before the input comes, and so before the result.
    drop(child.stdout.take());
    let input = floats("(3,)", &[3.0, 1.0, 2.0]);
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert_eq!(stderr, "");
}

/// A disk without room, as Linux has one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_in_one_line() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    let error = folder.refused("min in.npy -o /dev/full --device cpu --quiet");
    let text = "error: /dev/full: cannot be written: No space left on device";
    assert!(error.starts_with(text), "{error}");
    for line in [
        "min in.npy --device cpu --quiet",
        "--help",
        "devices --json",
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(line).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        let stderr = self::text(&output.stderr);
        let text = "error: standard output: No space left on device";
        assert!(stderr.starts_with(text), "{line}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{line}: {stderr}");
    }
}

/// The tool in a shell that says something before: `ulimit -f 1; exec "$0" "$@"`.
#[cfg(unix)]
fn after(folder: &Folder, said: &str, line: &str) -> Command {
    let tool = folder.command(line);
    let mut command = Command::new("sh");
    command.current_dir(folder.0.path());
    command.args(["-c", &format!("{said}; exec \"$0\" \"$@\"")]);
    command.arg(tool.get_program()).args(tool.get_args());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What does not fit ends in the midst of writing, as on a disk that fills up.
#[cfg(unix)]
#[test]
fn a_file_that_grows_too_large_leaves_what_was_there() {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(3000,)", &[1.0; 3000]));
    // More than the memory that is given: it is streamed.
    let large = npy("'|u1'", false, "(700000,)", &[1; 700_000]);
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

/// Starts the tool and waits until it has written `out.npy`, beside its place, and waits itself
/// for somebody to read `pipe`.
#[cfg(unix)]
fn halfway(folder: &Folder, said: &str) -> std::process::Child {
    folder.write("in.npy", &floats("(2,)", &[1.0, 2.0]));
    folder.write("out.npy", b"precious");
    let made = Command::new("mkfifo")
        .arg(folder.path("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let line = "argmin in.npy -o out.npy --values pipe --device cpu --quiet";
    let child = after(folder, said, line).spawn().unwrap();
    let began = std::time::Instant::now();
    while folder.names().len() < 4 {
        assert!(began.elapsed().as_secs() < 60, "{:?}", folder.names());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill")
        .args(["-s", name, &id])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// Whether this process ignores a signal; known on Linux alone.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.split("SigIgn:").nth(1).unwrap_or("0");
    let mask = mask.split_whitespace().next().unwrap_or("0");
    (u64::from_str_radix(mask, 16).unwrap() >> (signal - 1)) & 1 == 1
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_existing_outputs_and_no_trace() {
    use std::os::unix::process::ExitStatusExt;
    let signals = [("INT", 2), ("TERM", 15), ("HUP", 1)].into_iter();
    // What is ignored here, as under nohup, is ignored by the tool.
    for (name, number) in signals.filter(|&(_, number)| !is_ignored(number)) {
        let folder = Folder::new();
        let child = halfway(&folder, ":");
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        // What called it sees that it was interrupted.
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

/// The commands' names, as the help lists them.
fn commands(folder: &Folder) -> Vec<String> {
    let help = folder.cpu("--help");
    let list = help.split("Commands:").nth(1).unwrap();
    let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
    let name = |line: &str| line.split_whitespace().next().unwrap().to_string();
    // A long description goes on in a line that begins farther right.
    let own = lines.filter(|line| !line.starts_with("   "));
    own.map(name).filter(|name| name != "help").collect()
}

#[test]
fn the_example_of_every_command_runs() {
    let folder = Folder::new();
    let scores = floats("(2, 3)", &[1.0, 9.0, 3.0, 7.0, 5.0, 8.0]);
    folder.write("scores.npy", &scores);
    folder.write("limits.npy", &floats("(3,)", &[4.0, 5.0, 6.0]));
    case(&folder, "cases/argmin", "ArgMin", 1);
    let commands = commands(&folder);
    assert_eq!(commands.len(), 14, "{commands:?}");
    for command in commands {
        let help = folder.cpu(&format!("{command} --help"));
        let example = help.split("Example:\n  wgreduce ").nth(1).expect(&command);
        let example = example.trim_end();
        assert!(example.starts_with(&command), "{example}");
        let output = folder.run(example);
        let stderr = text(&output.stderr);
        // Nothing to measure with, or to compare: said in so many words.
        let needs_adapter = ["bench", "max"].contains(&command.as_str());
        let expected = match needs_adapter && adapters(&folder).is_empty() {
            true => 2,
            false => 0,
        };
        assert_eq!(output.status.code(), Some(expected), "{example}: {stderr}");
    }
}

#[test]
fn colours_are_for_terminals_and_no_color_turns_them_off() {
    let folder = Folder::new();
    let escapes = |line: &str, variables: &[(&str, &str)]| {
        let mut command = folder.command(line);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let both = [output.stdout, output.stderr].concat();
        both.contains(&0x1b)
    };
    for line in ["--help", "argmin none.npy", "argmin --unheard"] {
        assert!(!escapes(line, &[]), "{line}: in a pipe");
        // As on a terminal.
        let forced = ("CLICOLOR_FORCE", "1");
        assert!(escapes(line, &[forced]), "{line}");
        assert!(!escapes(line, &[forced, ("NO_COLOR", "1")]), "{line}");
    }
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.cpu(&format!("completions {shell}"));
        assert!(script.contains("reduce-min") && script.contains("index-type"));
    }
    assert!(folder.cpu("man").contains(".TH wgreduce 1"));
    for command in commands(&folder) {
        let page = folder.cpu(&format!("man {command}"));
        assert!(
            page.contains(&format!(".TH wgreduce-{command} 1")),
            "{page}"
        );
    }
    let refused = folder.refused("man unheard");
    assert!(refused.contains("unheard") && refused.contains("reduce-min"));
}

#[test]
fn a_plan_draws_who_reads_what() {
    let folder = Folder::new();
    let line = "plan argmin --shape 4,16777216 --dtype float32 --axis 1";
    let plan = folder.cpu(line);
    for words in [
        "canonical: 4 kept, 16777216 reduced",
        "tuned as integrated: workgroup ",
        "[input 0]\n    |  pass 0: rows",
        "[records: ",
        "finish",
        "    v\n  [output 0]\n",
        "how they walk",
    ] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    let fused = folder.cpu("plan argmax --shape 9,9 --dtype int8 --values");
    assert!(fused.contains("[output 1]"), "{fused}");
    let sum = folder.cpu("plan min --shape 9 --shape 1 --dtype int8");
    assert!(sum.contains("[input 0] [input 1]"), "{sum}");
    for text in [plan, fused, sum] {
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    }
}

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
fn a_device_that_is_not_there_is_never_another_one() {
    let folder = Folder::new();
    let adapters = adapters(&folder);
    // A backend that this platform cannot have, and a name that nobody has.
    let backend = if cfg!(windows) { "metal" } else { "dx12" };
    for device in [backend, "unheard", "4711"] {
        let line = format!("plan argmin --shape 3 --dtype int8 --device {device}");
        let refused = folder.refused(&line);
        assert!(refused.contains(device), "{refused}");
        // Those that exist are named.
        assert_eq!(refused.contains("there are: none"), adapters.is_empty());
    }
}

#[test]
fn help_and_version_succeed() {
    let folder = Folder::new();
    for line in ["--help", "argmin --help", "--version", "help plan"] {
        let output = folder.run(line);
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert!(text(&output.stdout).contains("wgreduce"), "{line}");
    }
}

#[test]
fn plans_are_made_without_an_adapter() {
    let folder = Folder::new();
    let line = "plan argmin --shape 64,512,512 --dtype float32 --axis -1 --device cpu";
    let plan = folder.run(line);
    assert_eq!(plan.status.code(), Some(0), "{}", text(&plan.stderr));
    assert!(text(&plan.stdout).contains("ArgMin float32 [64, 512, 512] axes [2]"));

    let json = folder.run(&format!("{line} --json"));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["outputs"][0]["shape"], serde_json::json!([64, 512, 1]));
    assert!(!json["passes"].as_array().unwrap().is_empty());
    assert!(
        json["bytes_moved"].as_u64().unwrap() >= 64 * 512 * 512 * 4,
        "{json}"
    );
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

/// The indices in `devices`, or none where no adapter is.
fn adapters(folder: &Folder) -> Vec<String> {
    let list = folder.run("devices --json");
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let list = list.as_array().unwrap();
    let required = std::env::var_os("WGREDUCE_REQUIRE_ADAPTER").is_some();
    assert!(!required || !list.is_empty(), "an adapter is required");
    list.iter().map(|a| a["index"].to_string()).collect()
}

/// Mesa's software drivers crash a process that unloads them before it exits, now and then.
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

/// A protobuf field that holds bytes, a text or a message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [
        &[number << 3 | 2, u8::try_from(bytes.len()).unwrap()],
        bytes,
    ]
    .concat()
}

/// A TensorProto of one dimension.
fn tensor(data_type: u8, len: u8, data: &[u8]) -> Vec<u8> {
    [vec![1 << 3, len, 2 << 3, data_type], field(9, data)].concat()
}

/// Writes a case: `op` over the floats 3, 1, 2 is expected to give `index`.
fn case(folder: &Folder, name: &str, op: &str, index: i64) {
    let node = [field(1, b"x"), field(2, b"y"), field(4, op.as_bytes())].concat();
    // A ValueInfoProto: a name, and a tensor type without a shape.
    let info = |name, data_type| [field(1, name), field(2, &field(1, &[1 << 3, data_type]))];
    let (input, output) = (info(b"x", 1).concat(), info(b"y", 7).concat());
    let graph = [field(1, &node), field(11, &input), field(12, &output)].concat();
    // An ir_version of 8 and opset 13 of the default domain.
    let model = [vec![1 << 3, 8], field(7, &graph), field(8, &[2 << 3, 13])].concat();
    let data: Vec<u8> = [3f32, 1.0, 2.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let set = format!("{name}/test_data_set_0");
    fs::create_dir_all(folder.path(&set)).unwrap();
    folder.write(&format!("{name}/model.onnx"), &model);
    folder.write(&format!("{set}/input_0.pb"), &tensor(1, 3, &data));
    folder.write(
        &format!("{set}/output_0.pb"),
        &tensor(7, 1, &index.to_le_bytes()),
    );
}

#[test]
fn onnx_cases_are_counted_and_saved() {
    let folder = Folder::new();
    case(&folder, "cases/smallest", "ArgMin", 1);
    case(&folder, "cases/largest", "ArgMax", 0);
    fs::create_dir_all(folder.path("cases/notes")).unwrap();
    let output = folder.run("onnx cases --device cpu --save saved");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "2 passed, 0 failed, 1 skipped\n");
    assert_eq!(text(&output.stderr), "device: cpu reference\n");
    let saved = folder.read("saved/smallest/test_data_set_0/output_0.pb");
    let index = 1i64.to_le_bytes();
    assert!(saved.windows(8).any(|w| w == index), "{saved:?}");

    let output = folder.run("onnx cases/largest --device cpu --quiet");
    assert_eq!(text(&output.stdout), "1 passed, 0 failed, 0 skipped\n");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn onnx_cases_that_fail_are_named_with_the_reason() {
    let folder = Folder::new();
    case(&folder, "cases/good", "ArgMin", 1);
    case(&folder, "cases/wrong", "ArgMin", 2);
    case(&folder, "cases/foreign", "Softmax", 0);
    let output = folder.run("onnx cases --device cpu --save saved");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    assert!(
        lines[0].starts_with("foreign: ") && lines[0].contains("Softmax"),
        "{stdout}"
    );
    assert!(
        lines[1].starts_with("wrong: ") && lines[1].contains("output_0"),
        "{stdout}"
    );
    assert_eq!(lines[2], "1 passed, 2 failed, 0 skipped");
    // What was computed is saved, right or not; nothing was for the refused model.
    assert!(folder.path("saved/wrong").exists());
    assert!(!folder.path("saved/foreign").exists());
}

#[test]
fn onnx_requests_without_a_case_are_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("empty")).unwrap();
    assert!(
        folder
            .refused("onnx empty --device cpu")
            .contains("empty: no test case")
    );
    assert!(folder.refused("onnx none --device cpu").contains("none"));
    case(&folder, "a/same", "ArgMin", 1);
    case(&folder, "b/same", "ArgMin", 1);
    assert!(
        folder
            .refused("onnx a b --save saved --device cpu")
            .contains("same")
    );
    folder.write("file", b"");
    assert!(
        folder
            .refused("onnx a --save file --device cpu")
            .contains("file")
    );
}
