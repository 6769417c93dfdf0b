//! `--part` and `merge`: many processes give the result of one, and a wrong set of parts is refused.

use super::{Folder, adapters, assert_has, descr, floats, npy, parts, rows, text};
use std::fs::{self, File};
use std::thread;
use std::time::Duration;
use support::{Bits, drawn, mixed, taken};
use twox_hash::XxHash3_128;
use wgreduce::{DType, Element};

const PARTS: usize = 16;

/// A file in C order.
fn tensor(dtype: DType, shape: &[u64]) -> Vec<u8> {
    tensor_by(dtype, &descr(dtype), false, shape)
}

/// A file of another byte order, or in Fortran order.
fn tensor_by(dtype: DType, descr: &str, fortran: bool, shape: &[u64]) -> Vec<u8> {
    let n = shape.iter().product();
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    npy(descr, fortran, &format!("({sizes})"), &mixed(dtype, n, n))
}

fn part(i: usize) -> String {
    format!("p{i}.part")
}

/// A changed part with the checksum of what it has become.
fn sealed(mut part: Vec<u8>) -> Vec<u8> {
    let end = part.len() - 16;
    let checksum = XxHash3_128::oneshot(&part[..end]);
    part[end..].copy_from_slice(&checksum.to_le_bytes());
    part
}

/// Whether a line has values beside its result.
fn has_values(line: &str) -> bool {
    line.starts_with("arg") || line.starts_with("topk")
}

/// The result of a line, and its values if it has any.
fn results(folder: &Folder, line: &str, values: bool) -> Vec<Vec<u8>> {
    let values = if values { " --values values.npy" } else { "" };
    folder.done(&format!("{line} -o out.npy{values}"));
    let names = ["out.npy", "values.npy"];
    let names = &names[..if values.is_empty() { 1 } else { 2 }];
    names.iter().map(|name| folder.read(name)).collect()
}

/// Makes `of` parts, named by their numbers, and returns what was told.
pub fn cut(folder: &Folder, line: &str, name: &str, of: usize) -> Vec<String> {
    let part = |i| format!("{line} --part {i}/{of} -o {name}{i}.part");
    (0..of).map(|i| folder.told(&part(i))).collect()
}

/// Checks that `of` parts give the result of one process on the CPU, and returns what was told of the parts.
pub fn same_in(folder: &Folder, of: usize, line: &str, options: &str) -> Vec<String> {
    let values = has_values(line);
    let expected = results(folder, &format!("{line} --device cpu"), values);
    let told = cut(folder, &format!("{line} {options}"), "p", of);
    let parts: Vec<String> = (0..of).rev().map(part).collect();
    let flat = results(folder, &format!("merge {}", parts.join(" ")), values);
    assert!(flat == expected, "{line} {options}");
    let most = parts[..of - 1].join(" ");
    folder.done(&format!("merge {most} -o rest.part"));
    let tree = results(folder, "merge rest.part p0.part", values);
    assert!(tree == expected, "{line} {options}, merged as a tree");
    told
}

/// Checks that parts made by several devices, merged flat and as a tree, give the result of one process.
fn same_by_parts(folder: &Folder, line: &str, devices: &[String], bits: &mut Bits) {
    let values = has_values(line);
    let expected = results(folder, &format!("{line} --device cpu"), values);
    for (i, device) in (0..PARTS).zip(devices.iter().cycle()) {
        let part = part(i);
        folder.done(&format!("{line} --part {i}/{PARTS} -o {part} {device}"));
    }
    let mut all: Vec<String> = (0..PARTS).map(part).collect();
    for order in 0..3 {
        match order {
            1 => all.reverse(),
            _ => (1..PARTS).for_each(|i| all.swap(i, bits.below(i as u64 + 1) as usize)),
        }
        let flat = results(folder, &format!("merge {}", all.join(" ")), values);
        assert!(flat == expected, "{line}, merged flat");
        // Groups of parts are merged, and then their results.
        let halves = all.chunks(3).enumerate().map(|(i, parts)| {
            let half = format!("half{i}.part");
            folder.done(&format!("merge {} -o {half}", parts.join(" ")));
            half
        });
        let halves: Vec<String> = halves.collect();
        folder.done(&format!("merge {} -o most.part", halves[1..].join(" ")));
        let tree = results(folder, &format!("merge most.part {}", halves[0]), values);
        assert!(tree == expected, "{line}, merged as a tree");
    }
}

#[test]
fn sixteen_processes_give_the_bytes_of_one() {
    let folder = Folder::new();
    folder.write("a.npy", &tensor(DType::F32, &[40, 7, 9]));
    let fortran = tensor_by(DType::F16, "<f2", true, &[9, 7, 40]);
    folder.write("f.npy", &fortran);
    let big_endian = tensor_by(DType::I64, ">i8", false, &[3, 5, 60]);
    folder.write("b.npy", &big_endian);
    folder.write("c.npy", &tensor(DType::I64, &[5, 1]));
    let adapters = adapters(&folder).into_iter();
    let adapters = adapters.map(|i| format!("--device {i}"));
    let devices: Vec<String> = [vec!["--device cpu".into(); 4], adapters.collect()].concat();
    let lines = [
        // Cut through the segments, and between them.
        "argmin a.npy --axis 0",
        "argmax a.npy --axis 1 --select-last-index --index-type int32 --keepdims false",
        "argmax-abs f.npy --axis -1 --nan ignore",
        "argmin f.npy --axis 0 --memory 1",
        "reduce-max a.npy",
        "reduce-min f.npy --axes 2,0 --keepdims false",
        "reduce-max-abs b.npy --axes 1",
        // The longest dimension varies fastest.
        "argmin b.npy --axis 2 --index-type uint32",
        "min b.npy c.npy",
        "max c.npy b.npy",
        "reduce-sum a.npy",
        "reduce-l2 b.npy --axes 1",
        "reduce-mean f.npy --axes 2,0 --nan ignore",
    ];
    for line in lines.into_iter().filter(|line| taken(("by parts", line))) {
        let mut bits = Bits::new(drawn(line));
        same_by_parts(&folder, line, &devices, &mut bits);
    }
}

#[test]
fn every_type_has_parts() {
    let folder = Folder::new();
    for dtype in DType::ALL {
        folder.write("a.npy", &tensor(dtype, &[9, 50]));
        let option = match dtype {
            DType::BF16 => " --dtype bfloat16",
            _ => "",
        };
        for line in [
            "argmin a.npy --axis 0",
            "reduce-max a.npy --axes 1",
            "max a.npy",
        ] {
            same_in(&folder, 3, &format!("{line}{option}"), "--device cpu");
        }
    }
}

#[test]
fn a_part_tells_what_it_reads_and_is_checked() {
    let folder = Folder::new();
    folder.write("a.npy", &tensor(DType::F32, &[40, 7, 9]));
    folder.write("b.npy", &tensor(DType::U8, &[3, 5, 60]));
    let told = folder.told("argmin a.npy --part 3/16 -o p.part --device cpu");
    let words = "\npart: 3/16, 8 to 10 of 40 along axis 0, together in the file\n";
    assert!(told.contains(words), "{told}");
    let told = folder.told("reduce-max b.npy --part 15/16 -o p.part --device cpu");
    let words = "part: 15/16, 57 to 60 of 60 along axis 2, each input in up to 15 places";
    assert!(told.contains(&format!("{words} of its file")), "{told}");
    for device in adapters(&folder) {
        for axis in [0, 1] {
            let line = format!("argmin a.npy --axis {axis} --part 2/3 -o p.part");
            let told = folder.told(&format!("{line} --check --device {device}"));
            assert_has(&told, &["\ncheck: equal to the CPU reference"]);
        }
    }
    let quiet = folder.told("argmin a.npy --part 0/1 -o p.part --device cpu --quiet");
    assert_eq!(quiet, "");
}

/// A part that exceeds `--memory` is read window by window.
#[test]
fn parts_larger_than_memory_are_reduced_piece_by_piece() {
    let folder = Folder::new();
    folder.write("a.npy", &tensor(DType::F32, &[400, 500]));
    let adapters = adapters(&folder).into_iter();
    let devices = adapters.map(|i| format!("--device {i}"));
    for device in devices.chain(["--device cpu".into()]) {
        for line in ["argmax a.npy --axis 0", "reduce-min a.npy --axes 1"] {
            for told in same_in(&folder, 2, line, &format!("--memory 1 {device}")) {
                // More than the quarter of --memory that a window has.
                assert!(told.contains(" for 400000 bytes"), "{told}");
            }
        }
    }
    // A partial result must fit in memory whole.
    folder.write("wide.npy", &npy("|u1", false, "(2, 100000)", &[7; 200_000]));
    for device in ["cpu", "auto"] {
        let line = format!("argmin wide.npy --part 0/2 -o q.part --memory 1 --device {device}");
        let refused = folder.refused(&line);
        let named = "error: the partial result takes 2400000 bytes, more than --memory";
        assert_eq!(refused, named, "{line}");
    }
}

/// Order makes no difference if only one dimension is longer than 1, even beside files of the other order.
#[test]
fn an_order_that_makes_no_difference_makes_none() {
    let folder = Folder::new();
    let data = |n| mixed(DType::F32, n, 5);
    folder.write("f.npy", &npy("<f4", true, "(3, 5)", &data(15)));
    folder.write("row.npy", &npy("<f4", false, "(1, 5)", &data(5)));
    folder.write("column.npy", &npy("<f4", true, "(5, 1)", &data(5)));
    for line in [
        "min f.npy row.npy",
        "max row.npy f.npy",
        "argmin column.npy",
        "reduce-max column.npy --axes 1",
        "min column.npy",
    ] {
        same_in(&folder, 2, line, "--device cpu");
    }
}

/// There are more parts than a process may have files open.
#[cfg(unix)]
#[test]
fn more_parts_than_open_files_are_merged() {
    let folder = Folder::new();
    folder.write("a.npy", &tensor(DType::U8, &[80, 3]));
    let expected = results(&folder, "reduce-max a.npy --axes 1 --device cpu", false);
    cut(&folder, "reduce-max a.npy --axes 1 --device cpu", "p", 80);
    let parts: Vec<String> = (0..80).map(part).collect();
    for output in ["all.part", "whole.npy"] {
        let line = format!("merge {} -o {output}", parts.join(" "));
        let merged = super::after(&folder, "ulimit -n 40", &line).output();
        let merged = merged.unwrap();
        assert!(merged.status.success(), "{}", text(&merged.stderr));
    }
    assert_eq!(folder.read("whole.npy"), expected[0]);
    assert!(results(&folder, "merge all.part", false) == expected);
}

/// One element of the dimension that is cut is more than the memory for it.
#[test]
fn a_part_of_long_rows_is_read_piece_by_piece() {
    let folder = Folder::new();
    folder.write("a.npy", &tensor(DType::F64, &[4, 3, 30_000]));
    for line in ["reduce-max a.npy", "reduce-sum a.npy --axes 0,2"] {
        same_in(&folder, 4, line, "--device cpu --memory 1");
    }
    #[cfg(target_os = "linux")]
    {
        let row: u64 = 384 << 20;
        let shape = format!("(2, {})", row / 8);
        folder.write("large.npy", &npy("<f8", false, &shape, &[]));
        let large = File::options().write(true).open(folder.path("large.npy"));
        large.unwrap().set_len(128 + 2 * row).unwrap();
        let line = "reduce-max large.npy --part 1/2 --memory 1 --device cpu -o p.part";
        let output = super::after(&folder, "ulimit -v 300000", line).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// Inputs without elements, or with too few for all parts.
#[test]
fn parts_of_nothing_are_parts() {
    let folder = Folder::new();
    folder.write("s.npy", &floats("()", &[7.0]));
    folder.write("z.npy", &floats("(3, 0)", &[]));
    folder.write("two.npy", &floats("(2,)", &[3.0, 1.0]));
    for line in [
        "argmin s.npy",
        "reduce-min s.npy",
        "reduce-max z.npy --axes 1",
        "reduce-max z.npy --axes 0",
        "min z.npy",
        "argmin two.npy",
        "reduce-min two.npy",
        "max two.npy s.npy",
    ] {
        same_in(&folder, 3, line, "--device cpu");
    }
}

#[test]
fn what_makes_no_whole_is_refused_by_name() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..60).map(|i| i as f32).collect();
    folder.write("a.npy", &floats("(6, 10)", &values));
    folder.write("b.npy", &floats("(10, 6)", &values));
    cut(&folder, "argmin a.npy --device cpu", "p", 4);
    cut(&folder, "reduce-min a.npy --axes 1 --device cpu", "v", 4);
    let others = "
        argmin a.npy --part 1/3 | third
        argmax a.npy --part 1/4 | max
        argmin a.npy --axis 1 --part 1/4 | axis
        argmin b.npy --part 1/4 | shape
        argmin a.npy --nan ignore --part 1/4 | nan
        argmin a.npy --select-last-index --part 1/4 | last
        argmin a.npy --index-type int32 --part 1/4 | int32
        argmin a.npy --keepdims false --part 1/4 | flat
    ";
    for (line, name) in rows(others) {
        folder.done(&format!("{line} -o {name}.part --device cpu"));
    }
    folder.done("merge p1.part p2.part -o middle.part");
    let whole = folder.read("p1.part");
    folder.write("short.part", &whole[..whole.len() - 1]);
    folder.write("head.part", &whole[..30]);
    folder.write("begin.part", &whole[..7]);
    folder.write("long.part", &[&whole[..], &[0]].concat());
    let piece = folder.read("v1.part");
    folder.write("piece.part", &piece[..piece.len() - 1]);
    folder.write("more.part", &[&piece[..], &[0]].concat());
    for (name, back) in [("damaged.part", 20), ("sum.part", 1)] {
        let mut damaged = whole.clone();
        damaged[whole.len() - back] ^= 1;
        folder.write(name, &damaged);
    }
    let place = |text: &[u8]| whole.windows(text.len()).position(|w| w == text).unwrap();
    // A wrong letter in the header.
    let mut other = whole.clone();
    other[place(b"float32") + 5] = b'9';
    folder.write("header.part", &other);
    let forge = |name: &str, at: usize, bytes: &[u8]| {
        let mut part = whole.clone();
        part[at..at + bytes.len()].copy_from_slice(bytes);
        folder.write(name, &sealed(part));
    };
    forge("older.part", 4, &[1]);
    forge("newer.part", 4, &[3]);
    // A key that no element has, and an index from another part. The checksum is behind.
    let end = whole.len() - 16;
    forge("keys.part", end - 24, &[0xff; 24]);
    forge("index.part", end - 16, &[whole[end - 16] ^ 8]);
    // An axis that the shape does not have, results of a kind that is not known, and another number of their bytes.
    forge("axes.part", place(b"\"axes\":[0]") + 8, b"7");
    forge("kind.part", place(b"\"partial result\"") + 8, b"-");
    forge("bytes.part", place(b"\"bytes\":2") + 8, b"9");
    // The data of another operator's part, under this part's header.
    let head = |part: &[u8]| 12 + u32::from_le_bytes(part[8..12].try_into().unwrap()) as usize;
    let of_max = folder.read("max.part");
    let mixed = [&whole[..head(&whole)], &of_max[head(&of_max)..]].concat();
    folder.write("mixed.part", &sealed(mixed));
    folder.write("text.part", b"no part");
    let before = folder.names();
    let table = r#"
        p0.part p1.part p3.part | missing: part 2/4
        p3.part | missing: parts 0/4 to 2/4
        p0.part p2.part | missing: part 1/4, part 3/4
        p1.part p1.part | p1.part: part 1/4 given twice, also by p1.part
        middle.part p2.part | p2.part: part 2/4 given twice, also by middle.part
        p0.part middle.part third.part | third.part: is of another problem: the number of parts is 3, and 4 in p0.part
        p0.part max.part | max.part: is of another problem: the operator is ArgMax, and ArgMin in p0.part
        p0.part axis.part | axis.part: is of another problem: the axes is [1], and [0]
        p0.part shape.part | shape.part: is of another problem: the input's shape is [10, 6], and [6, 10]
        p0.part nan.part | the NaN policy is ignore, and propagate
        p0.part last.part | select-last-index is true, and false
        p0.part int32.part | the index type is int32, and int64
        p0.part flat.part | keepdims is false, and true
        p0.part newer.part | newer.part: is a part of layout 3; this version reads layout 2
        p0.part older.part | older.part: is a part of layout 1; this version reads layout 2
        p0.part damaged.part | damaged.part: is damaged: its checksum is
        p0.part sum.part | sum.part: is damaged: its checksum is
        p0.part short.part | short.part: is cut off:
        p0.part long.part | long.part: is longer than
        p0.part kind.part | kind.part: is a part with a malformed header: it leaves "partial-result"
        p0.part bytes.part | bytes.part: is cut off:
        p0.part keys.part p2.part p3.part | keys.part: partial results with an impossible key
        p0.part head.part | head.part: is cut off: it has 30 bytes and should have
        p0.part begin.part | begin.part: is cut off: it has 7 bytes and should have 12
        v0.part piece.part | piece.part: is cut off:
        v0.part more.part | more.part: is longer than
        p0.part header.part | header.part: is a part with a malformed header
        p0.part index.part p2.part p3.part | index.part: holds partial results of another problem or part
        p0.part axes.part | axes.part: is a part with a malformed header
        p0.part mixed.part p2.part p3.part | mixed.part: holds partial results of another problem or part than its header's
        p0.part text.part | text.part: is no part
        p0.part none.part | none.part: cannot be read
        v0.part v1.part v2.part v3.part --values w.npy | --values is for argmin, argmax and topk, not for ReduceMin
        p0.part p1.part p2.part p3.part --values out.npy | out.npy: is asked for twice
        p0.part p1.part p2.part p3.part --values w.part | w.part: is a part's name; the values are an .npy file
    "#;
    for (files, named) in rows(table) {
        folder.refuses(&format!("merge {files} -o out.npy | {named}"));
    }
    // Requests that are refused while parts are merged to a part, and while parts are cut.
    folder.refuses(
        "
        merge p0.part p1.part -o more2.part --values w.npy | w.npy: is asked for where parts are merged to a part
        argmin a.npy --part 4/4 -o q.part | of 4 parts the last is 3/4
        argmin a.npy --part 0/0 -o q.part | there are no 0 parts
        argmin a.npy --part 3 -o q.part | a part is written like 3/16
        argmin a.npy --part 1/4 | --part needs the name of a file
        argmin a.npy --part 1/4 -o q.npy | q.npy: is no name for a part: that ends in .part
        argmin a.npy --part 1/4 -o q.part --values w.npy | w.npy: is asked of merge
        argmin a.npy --axis 4 --part 1/4 -o q.part | a.npy: axis 4
        argmin a.npy --part 1/4 -o none/q.part | there is no folder none
        ",
    );
    let mut piped = folder.command("argmin - --part 1/4 -o q.part");
    piped.stdin(File::open(folder.path("a.npy")).unwrap());
    let piped = piped.output().unwrap();
    assert_eq!(piped.status.code(), Some(2));
    let refused = text(&piped.stderr);
    assert!(refused.contains("standard input: is no file"), "{refused}");
    assert_eq!(folder.names(), before, "something was left");
}

/// Of the same shape, but of files with other contents: on every way that parts take.
#[test]
fn parts_of_different_data_are_refused_by_name() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..24).map(|i| (i * 7 % 24) as f32).collect();
    let mut others = values.clone();
    others[13] = -5.0;
    folder.write("a.npy", &floats("(6, 4)", &values));
    folder.write("b.npy", &floats("(6, 4)", &others));
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    folder.write("copy.npy", &npy(">f4", false, "(6, 4)", &big));
    folder.write("x.npy", &floats("(4,)", &[1.0, 2.0, 3.0, 4.0]));
    let table = "
        argmin a.npy | the input
        argmax a.npy --axis 1 | the input
        reduce-sum a.npy --axes 0 | the input
        reduce-max a.npy --axes 1 | the input
        min x.npy a.npy | input 2
    ";
    for (line, input) in rows(table) {
        let [changed, copy] = ["b.npy", "copy.npy"].map(|file| line.replace("a.npy", file));
        let expected = results(&folder, &format!("{line} --device cpu"), false);
        for (line, name) in [(line, "p"), (&changed, "q"), (&copy, "c")] {
            cut(&folder, &format!("{line} --device cpu"), name, 3);
        }
        // The same numbers in another file, of another byte order, are the same data.
        let merged = results(&folder, "merge p0.part c1.part p2.part", false);
        assert!(merged == expected, "{line}");
        folder.done("merge p0.part c2.part -o most.part");
        let before = folder.names();
        for (parts, named) in [
            ("p0.part q1.part p2.part", ["q1.part", "p0.part"]),
            ("p0.part p1.part q2.part", ["q2.part", "p0.part"]),
            ("most.part q1.part", ["q1.part", "most.part"]),
        ] {
            for output in ["new.npy", "new.part"] {
                let refused = folder.refused(&format!("merge {parts} -o {output}"));
                let [other, first] = named;
                let contents = format!("the contents of {input} have the fingerprint ");
                let told = format!("error: {other}: is of other data: {contents}");
                let ends = refused.starts_with(&told) && refused.ends_with(&format!(" in {first}"));
                assert!(ends, "{line}: {refused}");
                assert_eq!(folder.names(), before, "{line}");
            }
        }
    }
}

/// A part is written to a file without a name.
#[test]
fn a_part_that_is_killed_leaves_nothing() {
    let folder = Folder::new();
    let zeros = vec![0; 64 << 20];
    folder.write("a.npy", &npy("<f4", false, "(4096, 4096)", &zeros));
    let line =
        |axis| format!("argmin a.npy --axis {axis} --part 0/2 -o p.part --device cpu --quiet");
    let whole = [0, 1].map(|axis| {
        folder.done(&line(axis));
        let bytes = folder.read("p.part");
        fs::remove_file(folder.path("p.part")).unwrap();
        bytes
    });
    for (axis, wait) in [(0, 20), (1, 40), (0, 80), (1, 160), (1, 300)] {
        let mut child = folder.command(&line(axis)).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        let _ = child.kill();
        let ended = child.wait().unwrap();
        // It may be killed when the part is complete already.
        let complete = folder.path("p.part").exists();
        assert!(complete || !ended.success(), "after {wait} ms");
        if complete {
            assert_eq!(folder.read("p.part"), whole[axis], "after {wait} ms");
            fs::remove_file(folder.path("p.part")).unwrap();
        }
        assert_eq!(folder.names(), ["a.npy"], "after {wait} ms");
    }
}

/// The values come from the parts.
#[test]
fn merge_does_not_read_the_input() {
    let folder = Folder::new();
    folder.write("a.npy", &floats("(2, 3)", &[4.0, 1.0, 0.0, 5.0, 1.0, 2.0]));
    cut(&folder, "argmax a.npy --device cpu", "p", 2);
    fs::remove_file(folder.path("a.npy")).unwrap();
    folder.done("merge p0.part p1.part -o out.npy --values v.npy");
    let (header, data) = parts(&folder.read("out.npy"));
    assert_has(&header, &["'<i8'", "(1, 3)"]);
    assert_eq!(data, i64::bytes(&[1, 0, 1]));
    let (_, values) = parts(&folder.read("v.npy"));
    assert_eq!(values, f32::bytes(&[5.0, 1.0, 2.0]));
}

/// What would be an .npy file under the name of a part, and standard input as a part.
#[test]
fn results_and_parts_are_not_taken_for_each_other() {
    let folder = Folder::new();
    folder.write("d.npy", &floats("(3,)", &[2.0, 1.0, 3.0]));
    let why = "a result is an .npy file; --part I/N writes parts";
    for line in [
        "argmin d.npy -o x.part",
        "min d.npy -o x.part",
        "argmin d.npy -o where.npy --values x.part",
    ] {
        assert_eq!(folder.refused(line), format!("error: x.part: {why}"));
    }
    folder.refuses("merge - -o out.npy | error: standard input: parts are files");
    assert_eq!(folder.names(), ["d.npy"]);
    let made = folder.told("argmin d.npy --part 0/1 -o x.part --device cpu");
    assert!(made.contains("part: 0/1"), "{made}");
    let merged = folder.told("merge x.part -o out.npy");
    assert_eq!(merged, "merged: 1 file of 1 part\n");
}
