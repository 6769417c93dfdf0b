//! Formats that are read and written: every element type, order and byte order, and the printed text.

use super::{Folder, descr, floats, npy, parts, rows, text};
use std::fs;
use wgreduce::DType;

/// Two rows of three elements; a copy must keep every bit.
fn bits(size: usize) -> Vec<u8> {
    (0..6 * size).map(|i| (i * 37 + 11) as u8).collect()
}

#[test]
fn every_type_passes_through_unchanged() {
    let folder = Folder::new();
    for dtype in DType::ALL {
        let (descr, name) = (descr(dtype), dtype.name());
        let data = bits(dtype.size() as usize);
        folder.write("in.npy", &npy(&descr, false, "(2, 3)", &data));
        let short = name
            .replace("float", "f")
            .replace("uint", "u")
            .replace("int", "i");
        folder.cpu(&format!("min in.npy -o out.npy --dtype {short}"));
        let (header, copied) = parts(&folder.read("out.npy"));
        assert!(header.contains(&format!("'descr': '{descr}'")), "{header}");
        assert!(header.contains("'shape': (2, 3)"), "{header}");
        assert!(header.contains("'fortran_order': False"), "{header}");
        assert_eq!(copied, data, "{name}");
    }
}

#[test]
fn fortran_order_and_big_endian_are_converted_for_every_type() {
    let folder = Folder::new();
    for dtype in DType::ALL {
        let (descr, name, size) = (descr(dtype), dtype.name(), dtype.size() as usize);
        let data = bits(size);
        // The same matrix, column by column.
        let at = |row: usize, column: usize| &data[(row * 3 + column) * size..][..size];
        let columns = (0..3).flat_map(|c| (0..2).flat_map(move |r| at(r, c).to_vec()));
        let columns: Vec<u8> = columns.collect();
        let swap = |data: &[u8]| -> Vec<u8> {
            let elements = data.chunks(size);
            elements.flat_map(|e| e.iter().rev().copied()).collect()
        };
        let big = descr.replace('<', ">");
        for (descr, fortran, stored) in [
            (&descr, true, columns.clone()),
            (&big, false, swap(&data)),
            (&big, true, swap(&columns)),
        ] {
            folder.write("in.npy", &npy(descr, fortran, "(2, 3)", &stored));
            folder.cpu(&format!("max in.npy -o out.npy --dtype {name}"));
            let read = parts(&folder.read("out.npy")).1;
            assert_eq!(read, data, "{name} as {descr}, {fortran}");
        }
    }
}

#[test]
fn results_are_printed_as_numpy_would() {
    let folder = Folder::new();
    folder.write(
        "in.npy",
        &floats("(2, 3)", &[1.0, f32::NAN, -2.5, 3.0, 0.1, -0.0]),
    );
    folder.write("ones.npy", &npy("|u1", false, "(1001,)", &[1; 1001]));
    folder.write("empty.npy", &floats("(0, 3)", &[]));
    folder.write("a.npy", &floats("(2, 1)", &[1.0, 4.0]));
    folder.write("b.npy", &floats("(3,)", &[2.0, 3.0, 5.0]));
    folder.write("c.npy", &floats("()", &[2.5]));
    // A slash is the end of a line.
    let table = "
        argmin in.npy --axis 1 | [[1]/ [2]]
        argmin in.npy --axis -1 --keepdims false | [1 2]
        argmin in.npy --axis -1 --keepdims false --nan ignore | [2 2]
        argmax in.npy | [[1 0 1]]
        reduce-max in.npy --axes -1,0 --keepdims false | nan
        reduce-min in.npy --axes 0 | [[ 1.0  nan -2.5]]
        reduce-min in.npy --axes=-2 | [[ 1.0  nan -2.5]]
        reduce-min --nan ignore --keepdims true in.npy | [[-2.5]]
        min ones.npy | [1 1 1 ... 1 1 1]
        argmin ones.npy --select-last-index | [1000]
        reduce-max empty.npy --axes 0 | [[-inf -inf -inf]]
        reduce-max empty.npy --axes 1 | [] shape=[0, 1]
        min a.npy b.npy c.npy | [[1.0 1.0 1.0]/ [2.0 2.5 2.5]]
        max a.npy b.npy c.npy | [[2.5 3.0 5.0]/ [4.0 4.0 5.0]]
    ";
    for (line, printed) in rows(table) {
        let printed = printed.replace('/', "\n") + "\n";
        assert_eq!(folder.cpu(line), printed, "{line}");
    }
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
        let line = format!("argmin in.npy -o out.npy --values values.npy{options}");
        folder.cpu(&line);
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
    let stderr = folder.told("argmin in.npy --device cpu");
    assert_eq!(stderr.lines().next(), Some("device: cpu reference"));
    assert!(stderr.contains("\ntime: "), "{stderr}");
    let printed = folder.done("argmin in.npy --device cpu --quiet -o out.npy");
    assert_eq!(printed, [""; 2]);
}

/// Types and shapes as old programs and people write them, and what follows the array in the file.
#[test]
fn headers_that_numpy_reads_are_read() {
    let folder = Folder::new();
    let values = [1f32, -2.0, 3.0, 0.5, 6.0, 7.0];
    let [little, big] = [f32::to_le_bytes, f32::to_be_bytes].map(|of| values.map(of).concat());
    for descr in [
        "<f4", "f4", "=f4", "|f4", "f", "float32", "single", ">f4", ">f",
    ] {
        for shape in ["(2, 3)", "(2L, 3L)", "(2,3,)"] {
            let swapped = descr.starts_with('>');
            let data = if swapped { &big } else { &little };
            let mut file = npy(descr, false, shape, data);
            file.extend(b"what comes after the array");
            folder.write("in.npy", &file);
            let printed = "[[ 1.0 -2.0  3.0]\n [ 0.5  6.0  7.0]]\n";
            assert_eq!(folder.cpu("min in.npy"), printed, "{descr} {shape}");
            let by_pieces = folder.cpu("reduce-max in.npy --axes 0 --memory 1");
            assert_eq!(by_pieces, "[[1.0 6.0 7.0]]\n", "{descr} {shape}");
        }
    }
    for descr in ["?", "|b1", "bool"] {
        folder.write("in.npy", &npy(descr, false, "(2,)", &[1, 0]));
        assert_eq!(folder.cpu("min in.npy"), "[ True False]\n");
    }
    let mut file = npy("u1", false, "(3L,)", &[1, 3, 2]);
    file.extend([9; 9]);
    let output = folder.fed("reduce-max - --device cpu --quiet", &file);
    assert_eq!(text(&output.stdout), "[3]\n");
}

#[test]
fn malformed_files_are_refused_by_name() {
    let folder = Folder::new();
    for (why, file) in [
        (
            "is truncated: 64 bytes of data, 4398046511104 claimed",
            npy("<f4", false, "(1099511627776,)", &[0; 64]),
        ),
        ("holds <c8; what can be", npy("<c8", false, "()", &[0; 8])),
        (
            "has a malformed header: the dimension 2 is negative",
            npy("<f4", false, "(-2,)", &[]),
        ),
        (".npz", b"PK\x03\x04 an archive, perhaps".to_vec()),
        ("not an .npy", b"1 2 3".to_vec()),
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
