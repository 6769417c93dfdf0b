//! `topk`, on the CPU.

use super::merge::{cut, same_in};
use super::streams::same_by_pieces;
use super::{Folder, assert_has, floats, parts, text};
use wgreduce::Element;

const ROWS: [f32; 8] = [1.0, 7.0, -2.0, 7.0, 0.5, 0.5, 9.0, -1.0];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in.npy", &floats("(2, 4)", &ROWS));
    folder
}

#[test]
fn the_result_is_the_indices_and_both_are_printed_without_a_file() {
    let folder = folder();
    let printed = folder.cpu("topk in.npy --k 2");
    assert_eq!(printed.trim(), "[[1 3]\n [2 0]]\n[[7.0 7.0]\n [9.0 0.5]]");
    // The values go to their file, and the indices alone are printed.
    let printed = folder.cpu("topk in.npy --k 2 --values v.npy --smallest");
    assert_eq!(printed.trim(), "[[2 0]\n [3 0]]");
    let (_, values) = parts(&folder.read("v.npy"));
    assert_eq!(values, f32::bytes(&[-2.0, 1.0, -1.0, 0.5]));
    assert_eq!(folder.cpu("topk in.npy --k 1 --axis 0 -o w.npy"), "");
    let (header, indices) = parts(&folder.read("w.npy"));
    assert_has(&header, &["'shape': (1, 4)", "'<i8'"]);
    assert_eq!(indices, i64::bytes(&[0, 0, 1, 0]));
    folder.cpu("topk in.npy --k 0 -o w.npy --index-type int32");
    let (header, bytes) = parts(&folder.read("w.npy"));
    assert_has(&header, &["'shape': (2, 0)", "'<i4'"]);
    assert!(bytes.is_empty());
}

#[test]
fn parts_of_any_length_are_merged_to_the_whole() {
    let folder = Folder::new();
    let data: Vec<f32> = (0..60).map(|i| (i * 37 % 19) as f32).collect();
    folder.write("in.npy", &floats("(3, 10, 2)", &data));
    for (line, of) in [
        ("--axis 1 --k 7", 4),
        ("--axis 1 --k 10 --smallest", 10),
        ("--axis 0 --k 2", 3),
        ("--k 1", 2),
    ] {
        same_in(&folder, of, &format!("topk in.npy {line}"), "--device cpu");
    }
    // The indices alone, of parts that cut the segments and of others.
    for line in ["--axis 1 --k 7", "--axis 0 --k 2", "--k 1"] {
        folder.cpu(&format!("topk in.npy {line} -o whole.npy"));
        cut(&folder, &format!("topk in.npy {line} --device cpu"), "p", 2);
        folder.done("merge p0.part p1.part -o alone.npy");
        assert_eq!(folder.read("alone.npy"), folder.read("whole.npy"), "{line}");
    }
    folder.cpu("topk in.npy --k 2 --axis 1 --part 0/2 -o a.part");
    folder.cpu("topk in.npy --k 3 --axis 1 --part 1/2 -o b.part");
    let told = folder.refused("merge a.part b.part -o m.npy");
    assert!(told.contains("another problem: k is 3, and 2"), "{told}");
    folder.cpu("topk in.npy --k 2 --axis 1 --smallest --part 1/2 -o b.part");
    let told = folder.refused("merge a.part b.part -o m.npy");
    assert!(told.contains("smallest is true, and false"), "{told}");
}

#[test]
fn a_file_read_piece_by_piece_gives_what_the_whole_gives() {
    let folder = Folder::new();
    let value = |i: u32| (i.wrapping_mul(2_654_435_761) >> 8) as f32;
    let data: Vec<f32> = (0..200_000).map(value).collect();
    folder.write("in.npy", &floats("(4, 50000)", &data));
    for line in ["--k 5", "--k 2 --axis 0 --smallest"] {
        let line = format!("topk in.npy {line}");
        let values = format!("{line} --values values.npy");
        // Values that nobody asked for are not kept.
        for line in [line, values] {
            same_by_pieces(&folder, &line, "--device cpu");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_numbers() {
    let folder = folder();
    folder.refuses(
        "
        topk in.npy --k 5 | in.npy: k is 5, more than the 4 elements of the axis
        topk in.npy --k 3 --axis 0 | in.npy: k is 3, more than the 2 elements of the axis
        topk in.npy --k -1 | k is a whole number, 0 or more, not -1
        topk in.npy --k 1 --axis 2 | in.npy: axis 2
        topk in.npy --k 1 -o a.npy --values a.npy | is asked for twice
        topk in.npy --k 1 --values - | cannot hold the values and the indices
        plan argmax --shape 4 --dtype int8 --k 1 | plan argmax has no option --k
        plan topk --shape 4 --dtype int8 --k 1 --keepdims false | plan topk has no option --keepdims
        ",
    );
    for line in ["topk in.npy", "plan topk --shape 4 --dtype int8"] {
        folder.refused(line);
        assert!(text(&folder.run(line).stderr).contains("--k <N>"), "{line}");
    }
    assert_eq!(folder.names(), ["in.npy"]);
}
