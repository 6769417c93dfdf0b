//! The commands for sums, on the CPU.

use super::{Folder, floats, parts, rows};
use wgreduce::Element;

/// The header and the data of an output.
fn data(folder: &Folder, line: &str) -> (String, Vec<u8>) {
    folder.cpu(&format!("{line} -o out.npy"));
    parts(&folder.read("out.npy"))
}

#[test]
fn sums_are_exact_and_have_the_type_of_the_input() {
    let folder = Folder::new();
    let values = [1e30, 3.0, -1e30, -2.0, 4.0, 4.0];
    folder.write("in.npy", &floats("(2, 3)", &values));
    let table = "
        reduce-sum in.npy --axes 1 | (2, 1) of 3 6
        reduce-sum in.npy --axes -1 --keepdims false | (2,) of 3 6
        reduce-sum in.npy | (1, 1) of 9
        reduce-mean in.npy --axes 1,0 --keepdims false | () of 1.5
        reduce-mean in.npy --axes 1 | (2, 1) of 1 2
        reduce-l1 in.npy --axes 1 | (2, 1) of 2e30 10
        reduce-l2 in.npy --axes 1 | (2, 1) of 1.4142135e30 6
        reduce-sum-square in.npy --axes -1 | (2, 1) of inf 36
    ";
    for (line, expected) in rows(table) {
        let (shape, sums) = expected.split_once(" of ").unwrap();
        let sums: Vec<f32> = sums.split(' ').map(|sum| sum.parse().unwrap()).collect();
        let (header, bytes) = data(&folder, line);
        assert!(header.contains("'descr': '<f4'"), "{line}: {header}");
        let shape = format!("'shape': {shape}");
        assert!(header.contains(&shape), "{line}: {header}");
        assert_eq!(bytes, f32::bytes(&sums), "{line}");
    }
    let printed = folder.cpu("reduce-sum in.npy --axes 1 --keepdims false");
    assert_eq!(printed.trim(), "[3.0 6.0]");
}

#[test]
fn a_sum_of_a_file_that_is_read_piece_by_piece_is_that_of_the_whole() {
    let folder = Folder::new();
    // The values that cancel are far apart.
    let mut values: Vec<f32> = (0..500_000).map(|i| (i % 1013) as f32 * 1e-3).collect();
    values[3] = 3e38;
    values[499_998] = -3e38;
    folder.write("in.npy", &floats("(1000, 500)", &values));
    let ops = "reduce-sum reduce-mean reduce-l1 reduce-l2 reduce-sum-square";
    for op in ops.split(' ') {
        for axes in ["", " --axes 0", " --axes 1"] {
            let whole = data(&folder, &format!("{op} in.npy{axes}"));
            let pieces = data(&folder, &format!("{op} in.npy{axes} --memory 1"));
            assert_eq!(whole, pieces, "{op}{axes}");
        }
    }
    let told = folder.told("reduce-sum in.npy --memory 1 --device cpu -o out.npy");
    assert!(told.starts_with("device: cpu reference"), "{told}");
    assert!(told.contains("piece by piece"), "{told}");
    // Without the two large values, the sum is about 253,000.
    let (_, bytes) = parts(&folder.read("out.npy"));
    assert!((252_000.0..254_000.0).contains(&f32::from_bytes(&bytes)[0]));
}
