//! Cases on disk: which pass, which fail and with which words, and what is saved.

use crate::held_out::{Case, cases, either_form};
use crate::support::*;
use prost::Message;
use std::fs;
use std::path::{Path, PathBuf};
use support::Bits;
use wgreduce::DType::*;
use wgreduce::onnx::{Difference, Tensor, compare, compare_close};
use wgreduce_tool::onnx::{CaseReport, Outcome, discover, save};

fn write_case(folder: &Path, case: &Case, n: &mut Bits) {
    let set = folder.join("test_data_set_0");
    fs::create_dir_all(&set).unwrap();
    fs::write(folder.join("model.onnx"), case.model.encode_to_vec()).unwrap();
    for (kind, tensors) in [("input", &case.inputs), ("output", &case.expected)] {
        for (i, tensor) in tensors.iter().enumerate() {
            let proto = either_form(n, tensor, kind);
            fs::write(set.join(format!("{kind}_{i}.pb")), proto.encode_to_vec()).unwrap();
        }
    }
}

fn run_all(path: &Path) -> Vec<CaseReport> {
    let folders = discover(path).unwrap();
    folders.iter().map(|folder| folder.run(evaluate)).collect()
}

/// The number of files in a folder.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn passed(reports: &[CaseReport]) -> usize {
    for report in reports {
        assert_eq!(report.outcome, Outcome::Passed, "{}", report.name);
    }
    reports.len()
}

#[test]
fn generated_cases_pass_and_are_saved_to_the_last_bit() {
    let (path, saved) = (folder("generated"), folder("generated-saved"));
    let mut n = Bits::new(4);
    let cases = cases(5, 1);
    for (i, case) in cases.iter().enumerate() {
        write_case(&path.join(format!("case_{i:04}")), case, &mut n);
    }
    let reports = run_all(&path);
    assert_eq!(passed(&reports), cases.len());
    assert!(cases.len() > 600, "{}", cases.len());
    for (report, case) in reports.iter().zip(&cases) {
        save(report, &saved).unwrap();
        let set = saved.join(&report.name).join("test_data_set_0");
        assert_eq!(count(&set), case.expected.len(), "nothing is left beside");
        for (i, expected) in case.expected.iter().enumerate() {
            let bytes = fs::read(set.join(format!("output_{i}.pb"))).unwrap();
            assert_eq!(Tensor::decode(&bytes).unwrap(), *expected);
        }
    }
}

/// Writes a case of ReduceMin over [[5, 1], [2, 4]] with axes as an input; returns its folder.
fn small(name: &str) -> PathBuf {
    let data = tensor(&[2, 2], &[5f32, 1., 2., 4.]);
    reduction(name, "ReduceMin", data, tensor(&[2, 1], &[1f32, 2.]))
}

/// Writes a case of an operator over axis 1, given as an input.
fn reduction(name: &str, op: &str, data: Tensor, expected: Tensor) -> PathBuf {
    let inputs = vec![data, tensor(&[1], &[1i64])];
    let case = Case {
        model: one_node(18, op, &[], &inputs),
        inputs,
        expected: vec![expected],
    };
    let path = folder(name);
    write_case(&path, &case, &mut Bits::new(6));
    path
}

fn only(path: &Path) -> CaseReport {
    let mut reports = run_all(path);
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn assert_fails(path: &Path, words: &str) -> CaseReport {
    let report = only(path);
    match &report.outcome {
        Outcome::Failed(reason) => assert!(reason.contains(words), "{reason:?} lacks {words:?}"),
        other => panic!("{other:?}"),
    }
    report
}

fn data_file(path: &Path, file: &str) -> PathBuf {
    path.join("test_data_set_0").join(file)
}

fn expect(path: &Path, tensor: &Tensor) {
    fs::write(data_file(path, "output_0.pb"), tensor.encode("y")).unwrap();
}

#[test]
fn another_output_fails_with_what_differs() {
    let right = tensor(&[2, 1], &[1f32, 2.]);
    let element = tensor(&[2, 1], &[1f32, 2.5]);
    let shape = tensor(&[1, 2], &[1f32, 2.]);
    let dtype = tensor(&[2, 1], &[1f64, 2.]);
    let words = "output_0.pb: element [1, 0]: expected 2.5, got 2.0";
    for (expected, words) in [
        (element, words),
        (shape, "expected shape [1, 2], got [2, 1]"),
        (dtype, "expected element type double, got float"),
    ] {
        let path = small("other");
        expect(&path, &expected);
        let report = assert_fails(&path, words);
        assert_eq!(report.computed[0].outputs[0].1, right);
    }
}

#[test]
fn a_missing_or_surplus_file_fails() {
    for (file, words) in [
        ("input_0.pb", "input \"x0\" is missing"),
        ("input_1.pb", "input \"x1\" is missing"),
    ] {
        let path = small("missing-input");
        fs::remove_file(data_file(&path, file)).unwrap();
        assert!(assert_fails(&path, words).computed.is_empty());
    }
    let path = small("missing-model");
    fs::remove_file(path.join("model.onnx")).unwrap();
    assert_fails(&path, "model.onnx");
    let path = small("missing-data-set");
    fs::remove_dir_all(path.join("test_data_set_0")).unwrap();
    assert_fails(&path, "no test_data_set_");
    for other in "output_00.pb output_0.pb.bak output_.pb output_+0.pb".split(' ') {
        let path = small("misnamed");
        fs::rename(data_file(&path, "output_0.pb"), data_file(&path, other)).unwrap();
        assert_fails(&path, "output_0.pb is missing");
    }
    for file in ["input_2.pb", "output_1.pb"] {
        let path = small("surplus");
        fs::copy(data_file(&path, "output_0.pb"), data_file(&path, file)).unwrap();
        assert_fails(&path, file);
    }
}

#[test]
fn without_an_expected_output_a_case_fails_and_what_it_computed_is_saved() {
    let (path, saved) = (small("no-output"), folder("no-output-saved"));
    fs::remove_file(data_file(&path, "output_0.pb")).unwrap();
    let report = assert_fails(&path, "output_0.pb is missing");
    save(&report, &saved).unwrap();
    let bytes = fs::read(data_file(&saved.join("no-output"), "output_0.pb")).unwrap();
    let computed = Tensor::decode(&bytes).unwrap();
    assert_eq!(computed, tensor(&[2, 1], &[1f32, 2.]));
}

#[test]
fn a_refused_model_fails_with_the_reason_and_saves_nothing() {
    let (path, saved) = (small("refused"), folder("refused-saved"));
    let mut model = one_node(18, "ReduceMin", &[], &[zeros(I16, &[2])]);
    fs::remove_file(data_file(&path, "input_1.pb")).unwrap();
    fs::write(data_file(&path, "input_0.pb"), zeros(I16, &[2]).encode("x")).unwrap();
    for (op_type, words) in [
        ("ReduceMin", "ReduceMin of opset 18: it does not take int16"),
        ("ReduceSum", "ReduceSum of opset 18: it does not take int16"),
    ] {
        model.graph.as_mut().unwrap().node[0].op_type = op_type.into();
        fs::write(path.join("model.onnx"), model.encode_to_vec()).unwrap();
        save(&assert_fails(&path, words), &saved).unwrap();
        assert_eq!(count(&saved), 0);
    }
}

#[test]
fn a_case_of_which_one_data_set_is_refused_saves_nothing() {
    let path = small("half-refused");
    let set = path.join("test_data_set_1");
    fs::create_dir(&set).unwrap();
    fs::write(set.join("input_0.pb"), zeros(I32, &[2, 2]).encode("x0")).unwrap();
    fs::write(set.join("input_1.pb"), tensor(&[1], &[1i64]).encode("x1")).unwrap();
    let report = assert_fails(&path, "test_data_set_1/inputs: ");
    assert!(report.computed.is_empty());
    assert!(report.files(&path).is_empty());
    // A difference that was found earlier is still the reason.
    expect(&path, &tensor(&[2, 1], &[1f32, 3.]));
    let report = assert_fails(&path, "output_0.pb: element [1, 0]");
    assert!(report.computed.is_empty());
}

#[test]
fn a_damaged_file_fails_by_its_name() {
    for (folder, file) in [
        ("test_data_set_0", "input_0.pb"),
        ("test_data_set_0", "output_0.pb"),
        ("", "model.onnx"),
    ] {
        let path = small("damaged");
        let damaged = path.join(folder).join(file);
        let whole = fs::read(&damaged).unwrap();
        fs::write(&damaged, &whole[..whole.len() - 1]).unwrap();
        assert_fails(&path, file);
    }
}

#[test]
fn a_failed_evaluation_fails_the_case() {
    let folders = discover(&small("evaluation")).unwrap();
    let report = folders[0].run(|_, _| Err("the device is lost"));
    assert!(
        matches!(report.outcome, Outcome::Failed(reason) if reason.contains("the device is lost"))
    );
}

#[test]
fn all_data_sets_count_and_run_in_the_order_of_their_numbers() {
    let path = small("sets");
    for number in [2, 10] {
        let set = path.join(format!("test_data_set_{number}"));
        fs::create_dir(&set).unwrap();
        for file in ["input_0.pb", "input_1.pb", "output_0.pb"] {
            fs::copy(data_file(&path, file), set.join(file)).unwrap();
        }
    }
    let report = only(&path);
    let sets = report.computed.iter().map(|c| c.data_set.as_str());
    let expected = ["test_data_set_0", "test_data_set_2", "test_data_set_10"];
    assert_eq!(sets.collect::<Vec<_>>(), expected);
    assert_eq!(passed(&[report]), 1);
    let wrong = tensor(&[2, 1], &[1f32, 3.]).encode("y");
    fs::write(path.join("test_data_set_2/output_0.pb"), wrong).unwrap();
    let report = assert_fails(&path, "test_data_set_2/output_0.pb: element [1, 0]");
    assert_eq!(report.computed.len(), 3);
}

#[test]
fn an_input_with_a_default_may_have_no_file() {
    let path = small("default");
    let inputs = [zeros(F32, &[2, 2]), zeros(I64, &[1])];
    let mut model = one_node(18, "ReduceMin", &[], &inputs);
    let axes = tensor(&[1], &[1i64]).to_proto("x1");
    model.graph.as_mut().unwrap().initializer.push(axes);
    fs::write(path.join("model.onnx"), model.encode_to_vec()).unwrap();
    fs::remove_file(data_file(&path, "input_1.pb")).unwrap();
    assert_eq!(passed(&[only(&path)]), 1);
}

#[test]
fn a_folder_of_folders_runs_by_name_and_skips_what_is_no_case() {
    let path = folder("several");
    for name in ["b", "a"] {
        fs::rename(small("several-one"), path.join(name)).unwrap();
    }
    fs::create_dir(path.join("c")).unwrap();
    fs::write(path.join("README"), "no folder").unwrap();
    let reports = run_all(&path);
    let names: Vec<&str> = reports.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(passed(&reports[..2]), 2);
    assert!(matches!(reports[2].outcome, Outcome::Skipped(_)));
    assert!(!discover(&path).unwrap()[2].is_case());
}

#[test]
fn a_case_of_another_operator_is_skipped_and_one_of_ours_that_is_refused_fails() {
    let inputs = [zeros(F32, &[2, 2]), zeros(I64, &[1])];
    for (op_type, domain, reason) in [
        ("Softmax", "", "operator Softmax"),
        ("Softmax", "ai.onnx", "operator Softmax"),
        ("Constant", "", "operator Constant"),
        ("ReduceMin", "mine", "operator ReduceMin of domain mine"),
    ] {
        let path = small("foreign");
        let mut model = one_node(18, op_type, &[], &inputs);
        model.graph.as_mut().unwrap().node[0].domain = domain.into();
        fs::write(path.join("model.onnx"), model.encode_to_vec()).unwrap();
        let report = only(&path);
        assert_eq!(report.outcome, Outcome::Skipped(reason.into()));
        assert!(report.computed.is_empty());
    }
    for (opset, op_type, words) in [
        (0, "ReduceMin", "ReduceMin does not exist in opset 0"),
        (13, "ReduceMin", "takes one input, not 2"),
        (18, "ArgMin", "takes one input, not 2"),
    ] {
        let path = small("refused-by-rule");
        let model = one_node(opset, op_type, &[], &inputs);
        fs::write(path.join("model.onnx"), model.encode_to_vec()).unwrap();
        assert_fails(&path, words);
    }
}

#[test]
fn a_path_that_is_no_folder_is_an_error_that_names_it() {
    let path = small("no-folder");
    for wrong in [path.join("nowhere"), path.join("model.onnx")] {
        let text = discover(&wrong).unwrap_err().to_string();
        assert!(text.starts_with(&wrong.display().to_string()), "{text}");
    }
    assert!(discover(&folder("empty")).unwrap().is_empty());
}

#[test]
fn saving_where_no_folder_can_be_is_an_error_and_saving_again_replaces() {
    let path = small("unwritable");
    let report = only(&path);
    let error = save(&report, &path.join("model.onnx")).unwrap_err();
    assert!(error.to_string().contains("model.onnx"), "{error}");
    let saved = folder("replaced");
    let place = data_file(&saved.join("unwritable"), "output_0.pb");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, "old").unwrap();
    save(&report, &saved).unwrap();
    assert!(Tensor::decode(&fs::read(&place).unwrap()).is_ok());
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    assert!(save(&report, &saved).is_err(), "a folder is in the way");
    assert_eq!(count(place.parent().unwrap()), 1, "nothing is left beside");
}

fn same<T: wgreduce::Element>(a: T, b: T) -> bool {
    compare(&tensor(&[1], &[a]), &tensor(&[1], &[b])).is_ok()
}

#[test]
fn floats_compare_by_value_with_nan_equal_and_signs_of_zeros_ignored() {
    let f16 = half::f16::from_bits;
    let bf16 = half::bf16::from_bits;
    assert!(same(-0.0f32, 0.0) && same(-0.0f64, 0.0));
    assert!(same(f16(0x8000), f16(0)) && same(bf16(0x8000), bf16(0)));
    assert!(same(f32::NAN, f32::from_bits(0xff80_0001)) && same(f64::NAN, -f64::NAN));
    assert!(same(f16(0x7e00), f16(0xfc01)) && same(bf16(0x7fc0), bf16(0xff81)));
    assert!(!same(f16(0x7c00), f16(0x7c01)) && !same(bf16(0x7f80), bf16(0x7f81)));
    assert!(!same(f32::NAN, f32::INFINITY) && !same(0.0f32, f32::from_bits(1)));
    assert!(!same(1.0f64, 1.0 + f64::EPSILON) && !same(f16(1), f16(0x8001)));
}

#[test]
fn integers_compare_by_value_and_bools_by_truth() {
    assert!(same(7u8, 7) && !same(7u8, 8));
    assert!(!same(i64::MAX, i64::MAX - 1) && !same(u64::MAX, u64::MAX - 1));
    let truth = |b| Tensor::new(Bool, &[1], vec![b]).unwrap();
    assert_eq!(compare(&truth(1), &truth(2)), Ok(()));
    assert!(compare(&truth(1), &truth(0)).is_err());
    let [expected, actual] = [[1i8, -1], [1, 1]].map(|row| tensor(&[1, 2], &row));
    let difference = Difference::Element {
        index: vec![0, 1],
        expected: "-1".into(),
        actual: "1".into(),
    };
    assert_eq!(compare(&expected, &actual), Err(difference));
}

fn close<T: wgreduce::Element>(a: T, b: T) -> bool {
    compare_close(&tensor(&[1], &[a]), &tensor(&[1], &[b])).is_ok()
}

#[test]
fn floats_are_close_within_onnx_s_tolerance_and_integers_equal() {
    assert!(close(1000f32, 1000.9) && close(1000.9f32, 1000.0) && !close(1000f32, 1001.1));
    assert!(close(-1000f64, -1000.9) && !close(-1000f64, 1000.0));
    assert!(close(0f64, 0.9e-7) && !close(0f64, 1.1e-7) && close(0f32, -0.0));
    let f16 = half::f16::from_f32;
    assert!(close(f16(100.0), f16(100.0625)) && !close(f16(100.0), f16(100.125)));
    let bf16 = half::bf16::from_f32;
    assert!(close(bf16(1.0), bf16(1.0)) && !close(bf16(1.0), bf16(1.0078125)));
    assert!(close(f32::NAN, -f32::NAN) && !close(f32::NAN, 1.0) && !close(1.0, f32::NAN));
    assert!(close(f64::INFINITY, f64::INFINITY) && !close(f64::INFINITY, f64::MAX));
    assert!(!close(f64::INFINITY, f64::NEG_INFINITY));
    assert!(close(70_000i32, 70_000) && !close(70_000i32, 70_001));
}

#[test]
fn only_a_model_with_a_sum_is_compared_by_closeness() {
    for (op, expected, passes) in [
        ("ReduceSum", 6.003f32, true),
        ("ReduceSum", 6.01, false),
        ("ReduceMean", 2.001, true),
        ("ReduceL1", 6.003, true),
        ("ReduceL2", 3.74, true),
        ("ReduceSumSquare", 14.01, true),
        ("ReduceMin", 1.0, true),
        ("ReduceMin", 1.0005, false),
    ] {
        let data = tensor(&[1, 3], &[1f32, 2., 3.]);
        let path = reduction("close", op, data, tensor(&[1, 1], &[expected]));
        match passes {
            true => assert_eq!(passed(&[only(&path)]), 1, "{op} {expected}"),
            false => drop(assert_fails(&path, "output_0.pb: element [0, 0]")),
        }
    }
}
