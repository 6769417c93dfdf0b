//! `wgreduce onnx`: cases that pass, cases that fail, and folders without a case.

use super::{Folder, text};
use std::fs;

/// A protobuf field that holds bytes, a text or a message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap();
    [&[number << 3 | 2, length], bytes].concat()
}

/// A TensorProto of one dimension.
fn tensor(data_type: u8, len: u8, data: &[u8]) -> Vec<u8> {
    [vec![1 << 3, len, 2 << 3, data_type], field(9, data)].concat()
}

/// Writes a case: `op` over the floats 3, 1, 2 is expected to give `index`.
pub fn case(folder: &Folder, name: &str, op: &str, index: i64) {
    let node = [field(1, b"x"), field(2, b"y"), field(4, op.as_bytes())].concat();
    // A ValueInfoProto: a name, and a tensor type without a shape.
    let info = |name, data_type| [field(1, name), field(2, &field(1, &[1 << 3, data_type]))];
    let (input, output) = (info(b"x", 1).concat(), info(b"y", 7).concat());
    let graph = [field(1, &node), field(11, &input), field(12, &output)].concat();
    // An ir_version of 8 and opset 13 of the default domain.
    let model = [vec![1 << 3, 8], field(7, &graph), field(8, &[2 << 3, 13])].concat();
    let data = [3f32, 1.0, 2.0].map(f32::to_le_bytes).concat();
    let set = format!("{name}/test_data_set_0");
    fs::create_dir_all(folder.path(&set)).unwrap();
    folder.write(&format!("{name}/model.onnx"), &model);
    folder.write(&format!("{set}/input_0.pb"), &tensor(1, 3, &data));
    let output = tensor(7, 1, &index.to_le_bytes());
    folder.write(&format!("{set}/output_0.pb"), &output);
}

#[test]
fn onnx_cases_are_counted_and_saved() {
    let folder = Folder::new();
    case(&folder, "cases/smallest", "ArgMin", 1);
    case(&folder, "cases/largest", "ArgMax", 0);
    fs::create_dir_all(folder.path("cases/notes")).unwrap();
    let [stdout, stderr] = folder.done("onnx cases --device cpu --save saved");
    assert_eq!(stdout, "2 passed, 0 failed, 1 skipped\n");
    assert_eq!(stderr, "device: cpu reference\n");
    let saved = folder.read("saved/smallest/test_data_set_0/output_0.pb");
    let index = 1i64.to_le_bytes();
    assert!(saved.windows(8).any(|w| w == index), "{saved:?}");

    // A folder without a case counts wherever it was named.
    let output = folder.run("onnx cases/notes cases/largest --device cpu --quiet");
    assert_eq!(text(&output.stdout), "1 passed, 0 failed, 1 skipped\n");

    let output = folder.run("onnx cases/largest --device cpu --quiet");
    assert_eq!(text(&output.stdout), "1 passed, 0 failed, 0 skipped\n");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn onnx_cases_that_fail_are_named_with_the_reason() {
    let folder = Folder::new();
    case(&folder, "cases/good", "ArgMin", 1);
    case(&folder, "cases/wrong", "ArgMin", 2);
    // An operator of ours, and a type that it does not take.
    case(&folder, "cases/refused", "Min", 1);
    let output = folder.run("onnx cases --device cpu --save saved");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    assert!(lines[0].starts_with("refused: "), "{stdout}");
    assert!(lines[1].starts_with("wrong: "), "{stdout}");
    assert!(lines[1].contains("output_0"), "{stdout}");
    assert_eq!(lines[2], "1 passed, 2 failed, 0 skipped");
    // Computed outputs are saved, right or wrong; the refused model has none.
    assert!(folder.path("saved/wrong").exists());
    assert!(!folder.path("saved/refused").exists());
}

#[test]
fn onnx_cases_of_other_operators_are_skipped_and_counted() {
    let folder = Folder::new();
    case(&folder, "cases/a", "Softmax", 0);
    case(&folder, "cases/b", "ArgMin", 1);
    case(&folder, "cases/c", "Abs", 0);
    case(&folder, "cases/d", "Softmax", 0);
    fs::create_dir_all(folder.path("cases/notes")).unwrap();
    assert_eq!(
        folder.cpu("onnx cases --save saved"),
        "skipped, as not ours: operator Abs: 1\n\
         skipped, as not ours: operator Softmax: 2\n\
         1 passed, 0 failed, 4 skipped\n"
    );
    assert!(folder.path("saved/b").exists() && !folder.path("saved/a").exists());
}

#[test]
fn onnx_requests_without_a_case_are_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("empty")).unwrap();
    case(&folder, "a/same", "ArgMin", 1);
    case(&folder, "b/same", "ArgMin", 1);
    folder.write("file", b"");
    folder.refuses(
        "
        onnx empty --device cpu | empty: no test case
        onnx none --device cpu | none
        onnx a b --save saved --device cpu | same
        onnx a --save file --device cpu | file
        ",
    );
}
