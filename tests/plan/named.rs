//! Plans of chosen shapes, and of impossible ones.

use super::{fake, walks};
use support::grid::{CLASSES, class, tuned};
use wgreduce::unstable::{FinishText, RowsText, StoreFormat, Walk};
use wgreduce::{AdapterClass, Caps, DType, Plan, Problem, ProblemError};

/// The parts of a segment that the first pass leaves for the finishing pass.
fn parts(plan: &Plan) -> u64 {
    let mut passes = plan.passes().iter();
    let finish = passes.find(|p| p.kernel.walk.name() == "finish");
    finish.map_or(1, |p| p.params.parts.into())
}

/// The text of the walk of rows that comes first.
fn rows(plan: &Plan) -> RowsText {
    match plan.passes()[0].kernel.walk {
        Walk::Rows(text) => text,
        _ => panic!("{plan}"),
    }
}

fn planned(problem: Result<Problem, ProblemError>, caps: &Caps) -> Plan {
    Plan::new(&problem.expect("a problem"), caps).expect("a plan")
}

#[test]
fn one_long_row_is_cut_into_slices_that_fill_the_device() {
    for kind in CLASSES {
        let caps = class(kind);
        let plan = planned(Problem::arg_max(DType::F32, &[1, 1 << 24], 1), &caps);
        assert_eq!(walks(&plan), ["rows", "finish"], "{plan}");
        let first = &plan.passes()[0];
        let slices = u64::from(first.params.slices);
        assert_eq!(parts(&plan), slices);
        // A key and an index of 32 bits each.
        assert_eq!(plan.scratch_bytes(), 8 * slices);
        let invocations = slices * u64::from(rows(&plan).lanes);
        let filled = invocations >= caps.tuning.invocations;
        assert!(filled || slices == caps.tuning.slices, "{plan}");
        assert_eq!(first.src_bytes(), 4 << 24);
    }
}

#[test]
fn work_above_the_budget_is_cut_into_submits() {
    let mib = 1 << 20;
    for (kind, budget) in [
        (AdapterClass::Software, 512 * mib),
        (AdapterClass::Integrated, 2048 * mib),
        (AdapterClass::Discrete, 16384 * mib),
    ] {
        let caps = class(kind);
        assert_eq!(caps.tuning.submit_bytes, budget);
        let parts = |shape: [u64; 2], axis| {
            let plan = planned(Problem::arg_max(DType::F32, &shape, axis), &caps);
            plan.parts().len() as u64
        };
        // Rows, then columns, which cost four times as much; the rest may need one more part.
        assert_eq!(parts([1, budget / 8], 1), 1);
        assert!((4..=5).contains(&parts([1, budget], 1)));
        assert!((16..=20).contains(&parts([budget / 4096, 4096], 0)));
    }
    let caps = class(AdapterClass::Discrete);
    let problem = Problem::arg_max(DType::F32, &[0, 7], 1).map(|p| p.keepdims(false));
    let plan = planned(problem, &caps);
    assert!(plan.parts().is_empty());
}

#[test]
fn long_rows_enough_for_the_device_take_one_pass() {
    for kind in CLASSES {
        let plan = planned(Problem::arg_min(DType::F32, &[4096, 4096], 1), &class(kind));
        assert_eq!(walks(&plan), ["rows"], "{plan}");
        assert_eq!(plan.scratch_bytes(), 0);
    }
    // Also where results share words.
    let caps = class(AdapterClass::Integrated);
    let plan = planned(Problem::reduce_min(DType::U8, &[4096, 4096], &[1]), &caps);
    assert_eq!(walks(&plan), ["rows"], "{plan}");
}

#[test]
fn columns_are_cut_along_their_length() {
    for kind in CLASSES {
        let plan = planned(Problem::arg_min(DType::F32, &[4096, 4096], 0), &class(kind));
        assert_eq!(walks(&plan)[0], "columns", "{plan}");
        let parts = parts(&plan);
        assert_eq!(walks(&plan).len(), if parts > 1 { 2 } else { 1 });
        let scratch = if parts > 1 { 8 * 4096 * parts } else { 0 };
        assert_eq!(plan.scratch_bytes(), scratch);
    }
}

#[test]
fn a_partial_result_has_as_many_words_as_its_key_and_its_index() {
    let caps = class(AdapterClass::Discrete);
    let long = [1u64 << 16, 1 << 16, 3];
    for (problem, words) in [
        (Problem::reduce_min(DType::U8, &[1, 1 << 24], &[1]), 1),
        (Problem::reduce_sum(DType::I32, &[1, 1 << 24], &[1]), 1),
        (Problem::reduce_max(DType::F64, &[1, 1 << 24], &[1]), 2),
        (Problem::arg_max(DType::F16, &[1, 1 << 24], 1), 2),
        (Problem::arg_max(DType::I64, &[1, 1 << 24], 1), 4),
        // An index that needs more than 32 bits, and the longest segment whose indices do not.
        (Problem::arg_min(DType::U8, &[1 << 32, 1], 0), 4),
        (Problem::arg_min(DType::U8, &[(1 << 32) - 1, 1], 0), 2),
        (Problem::reduce_min(DType::U8, &long, &[0, 1]), 1),
        (Problem::extremes(DType::U8, &[1, 1 << 24], 1), 2),
        (Problem::extremes(DType::F64, &[1, 1 << 24], 1), 4),
    ] {
        let plan = planned(problem, &caps);
        let partials = plan.passes().iter().filter(|p| p.kernel.out.is_partial());
        let outs: Vec<StoreFormat> = partials.map(|pass| pass.kernel.out).collect();
        assert!(!outs.is_empty(), "{plan}");
        let expected = vec![StoreFormat::Partial(words); outs.len()];
        assert_eq!(outs, expected, "{plan}");
        let walks = plan.passes().iter().map(|p| p.kernel.walk);
        let read = walks.filter(|walk| matches!(walk, Walk::Finish(_)));
        for walk in read {
            let of = matches!(walk, Walk::Finish(text) if text.words == words);
            assert!(of, "{plan}");
        }
    }
}

#[test]
fn short_rows_take_one_pass() {
    for kind in CLASSES {
        for (dtype, len) in [
            (DType::F32, 16),
            (DType::F32, 17),
            (DType::F32, 3),
            (DType::F16, 3),
            (DType::U8, 1),
            (DType::U8, 33),
            (DType::U8, 81),
            (DType::I64, 1001),
        ] {
            for problem in [Problem::arg_min, |dtype, shape: &[u64], axis| {
                Problem::reduce_min(dtype, shape, &[axis])
            }] {
                let plan = planned(problem(dtype, &[1 << 12, len], 1), &class(kind));
                assert_eq!(plan.passes().len(), 1, "{plan}");
            }
        }
    }
}

/// As many as are whole vec4, or words where fewer of them are: 80 bytes at most.
#[test]
fn rows_of_a_few_bytes_are_taken_several_at_once() {
    let taken = |dtype, len| {
        let problem = Problem::arg_min(dtype, &[1 << 20, len], 1);
        let plan = planned(problem, &class(AdapterClass::Discrete));
        let text = rows(&plan);
        (text.rows, text.loads, text.words)
    };
    assert_eq!(taken(DType::F32, 10), (2, 5, 4));
    assert_eq!(taken(DType::F32, 3), (4, 3, 4));
    assert_eq!(taken(DType::F32, 20), (1, 5, 4));
    assert_eq!(taken(DType::U8, 10), (2, 5, 1));
    assert_eq!(taken(DType::U8, 16), (2, 2, 4));
    assert_eq!(taken(DType::I64, 5), (2, 5, 4));
    // Longer rows are shared; of an odd number of bytes they begin within a word.
    assert_eq!(taken(DType::F32, 21).0, 0);
    assert_eq!(taken(DType::U8, 21).0, 0);
    // What is left of the rows takes a second pass.
    let problem = Problem::arg_min(DType::F32, &[1_000_003, 10], 1);
    let plan = planned(problem, &class(AdapterClass::Discrete));
    assert_eq!(plan.passes().len(), 2, "{plan}");
}

/// Only the last load of an invocation can be cut short, and no row of this many bytes leaves many invocations idle.
#[test]
fn a_row_has_as_many_invocations_as_its_bytes_keep_busy() {
    for kind in [AdapterClass::Integrated, AdapterClass::Discrete] {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64] {
            for len in 100..2000 {
                let plan = planned(Problem::arg_min(dtype, &[1 << 14, len], 1), &class(kind));
                let text = rows(&plan);
                let units = (len * dtype.size()).div_ceil(4 * u64::from(text.words));
                let [lanes, loads] = [text.lanes, text.loads].map(u64::from);
                assert!(lanes * (loads - 1) <= units, "{plan}: {text:?}");
                let busy = lanes * loads + lanes > units;
                assert!(busy || text.looped, "{plan}: {text:?}");
            }
        }
    }
}

#[test]
fn a_middle_axis_is_columns_of_many_matrices() {
    for kind in CLASSES {
        let problem = Problem::arg_min(DType::F32, &[64, 512, 512], 1);
        let plan = planned(problem, &class(kind));
        let first = &plan.passes()[0];
        assert_eq!(first.kernel.walk.name(), "columns", "{plan}");
        assert_eq!(first.params.rows, 512);
    }
}

/// Few rows of narrow elements have more results than elements: then an invocation has fewer columns, and still whole vec4 of results.
#[test]
fn few_rows_of_bytes_go_by_words_on_a_gpu() {
    for (dtype, words) in [(DType::U8, 1), (DType::F16, 4), (DType::F32, 4)] {
        let caps = class(AdapterClass::Discrete);
        let plan = planned(Problem::arg_min(dtype, &[4, 1 << 20], 0), &caps);
        let [pass] = plan.passes() else {
            panic!("{plan}");
        };
        let Walk::Columns(text) = pass.kernel.walk else {
            panic!("{plan}");
        };
        assert_eq!((text.words, text.writes_vecs), (words, true), "{dtype}");
    }
}

#[test]
fn three_columns_leave_partials_of_their_parts() {
    for kind in CLASSES {
        let problem = Problem::arg_min(DType::F32, &[1_000_000, 3], 0);
        let plan = planned(problem, &class(kind));
        assert_eq!(walks(&plan), ["columns", "finish"], "{plan}");
        assert_eq!(plan.scratch_bytes(), 8 * 3 * parts(&plan));
    }
}

#[test]
fn scattered_axes_take_a_step_each_the_longest_first() {
    let problem = Problem::reduce_min(DType::F32, &[64, 128, 64, 32], &[0, 2]);
    let caps = class(AdapterClass::Integrated);
    let plan = planned(problem, &caps);
    let steps = plan.passes().iter();
    let steps = steps.filter(|p| p.kernel.walk.name() != "finish");
    // The tensor between the steps lacks the axis that the first step reduced.
    let read: Vec<u64> = steps.map(|p| p.src_bytes()).collect();
    let right = [4 * (64 * 128 * 64 * 32), 4 * (128 * 64 * 32)];
    assert_eq!(read, right, "{plan}");
    assert!(plan.scratch_bytes() >= 4 * (128 * 64 * 32));
}

#[test]
fn what_exceeds_a_binding_is_cut_into_boxes_whose_records_are_merged() {
    let caps = fake(1 << 20, 256, 65_535, 64);
    let plan = planned(Problem::arg_max(DType::U8, &[3 << 20], 0), &caps);
    let expected = ["rows", "rows", "rows", "rows", "finish"];
    assert_eq!(walks(&plan), expected, "{plan}");
    let merges: Vec<u32> = plan.passes().iter().map(|p| p.params.merge).collect();
    assert_eq!(merges, [0, 1, 1, 1, 0]);
    let read: u64 = plan.passes()[..4].iter().map(|p| p.src_bytes()).sum();
    assert_eq!(read, 3 << 20);
}

/// Joined rows and those that are left over are read once each.
#[test]
fn the_passes_over_columns_read_as_many_bytes_as_there_are() {
    let caps = Caps::webgpu_default();
    for shape in [[2, 10_001, 3], [1, 10_001, 3], [5, 1001, 5]] {
        let plan = planned(Problem::arg_min(DType::U8, &shape, 1), &caps);
        assert_eq!(walks(&plan), ["columns", "each", "finish"], "{plan}");
        let read: u64 = plan.passes()[..2].iter().map(|p| p.src_bytes()).sum();
        assert_eq!(read, shape.iter().product::<u64>(), "{plan}");
    }
}

/// More inputs than a dispatch takes: the results so far are read again, and a submit has room for that.
#[test]
fn a_chain_reads_its_results_again() {
    let mut caps = Caps::webgpu_default();
    let read = |inputs, n: u64, caps: &Caps| -> Vec<u64> {
        let plan = planned(Problem::max(DType::F32, &vec![[n]; inputs]), caps);
        plan.passes().iter().map(|p| p.src_bytes()).collect()
    };
    // By vec4, and by word what is left over.
    let expected = [6 * 4096, 3 * 4096, 6 * 8, 3 * 8];
    assert_eq!(read(8, 1026, &caps), expected);
    caps.tuning.submit_bytes = 6 * 4096;
    let halves = read(12, 1024, &caps);
    assert!(halves.iter().all(|&read| read <= 6 * 4096), "{halves:?}");
}

#[test]
fn nothing_to_reduce_is_a_fill_a_copy_or_no_pass() {
    let caps = Caps::webgpu_default();
    let of = |problem| walks(&planned(problem, &caps));
    assert_eq!(of(Problem::reduce_min(DType::F32, &[0, 3], &[0])), ["fill"]);
    assert_eq!(of(Problem::reduce_min(DType::F32, &[0, 3], &[1])), [""; 0]);
    assert_eq!(of(Problem::arg_min(DType::F32, &[5, 1], 1)), ["fill"]);
    assert_eq!(of(Problem::reduce_min(DType::F32, &[5, 1], &[1])), ["each"]);
    let copy = Problem::reduce_min(DType::F32, &[5], &[]).map(|p| p.noop_with_empty_axes(true));
    assert_eq!(of(copy), ["each"]);
    let values = Problem::arg_min(DType::F32, &[1 << 12], 0).map(|p| p.with_values(true));
    assert_eq!(of(values).last(), Some(&"gather"));
}

#[test]
fn the_tuning_can_ask_to_go_element_by_element() {
    let caps = tuned(&Caps::webgpu_default(), |t| t.each = true);
    let plan = planned(Problem::arg_min(DType::F32, &[300, 200], 1), &caps);
    assert_eq!(walks(&plan), ["each"], "{plan}");
}

#[test]
fn a_plan_reads_as_one_paragraph() {
    let caps = fake(256, 16, 8, 4);
    let long = planned(Problem::arg_max(DType::F32, &[40_000], 0), &caps);
    assert!(long.passes().len() > 20);
    let text = long.to_string();
    let begin = "ArgMax float32 [40000] axes [0]: reduce/rows/32bit/partial(2)/";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("more; scratch "), "{text}");
    assert!(!text.contains('\n') && text.len() < 800, "{text}");
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1);
    let short = planned(problem, &Caps::webgpu_default());
    let text = "ArgMin float32 [2, 3] axes [1]: reduce/rows/32bit/index64/wg256x1 on 1x1 \
                (read 24 B, write 16 B, 2 iterations); scratch 0 B";
    assert_eq!(short.to_string(), text);
    let none = planned(Problem::reduce_min(DType::F32, &[0, 3], &[1]), &caps);
    let text = "ReduceMin float32 [0, 3] axes [1]: nothing to do";
    assert_eq!(none.to_string(), text);
    assert!(long.passes()[0].kernel.out.is_partial());
}

#[test]
fn a_driver_that_takes_no_long_kernels_gets_none() {
    let software = class(AdapterClass::Software);
    let caps = Caps {
        long_kernels: false,
        ..software
    };
    for len in [30, 1000, 4096] {
        for dtype in [DType::U8, DType::F32, DType::F64] {
            let plan = planned(Problem::arg_min(dtype, &[3000, len], 1), &caps);
            let text = rows(&plan);
            assert!(text.rows > 0 || text.loads <= 4, "{plan}: {text:?}");
        }
    }
    let plan = planned(Problem::min(DType::F32, &[&[1u64 << 20][..]; 2]), &caps);
    assert_eq!(walks(&plan), ["elementwise_vecs"], "{plan}");
}

#[test]
fn swiftshader_and_directx_and_browsers_in_software_take_no_long_kernels() {
    use wgreduce::wgpu::{AdapterInfo, Backend, DeviceType, Limits};
    let long = |name: &str, kind, backend| {
        let mut info = AdapterInfo::new(kind, backend);
        info.name = name.to_owned();
        Caps::of(&info, &Limits::default()).long_kernels
    };
    let cpu = DeviceType::Cpu;
    assert!(!long("SwiftShader Device", cpu, Backend::Vulkan));
    assert!(!long("Microsoft Basic Render Driver", cpu, Backend::Dx12));
    assert!(!long("", cpu, Backend::BrowserWebGpu));
    assert!(long("llvmpipe", cpu, Backend::Vulkan));
    assert!(long("a GPU", DeviceType::DiscreteGpu, Backend::Dx12));
}

/// The tuning asks for more parts than one invocation may take for each result of a word.
#[test]
fn results_that_share_a_word_are_cut_into_no_more_parts_than_an_invocation_may_take() {
    let caps = tuned(&class(AdapterClass::Discrete), |t| {
        (t.workgroup, t.row_lanes, t.slice_bytes) = (4, 1, 1);
        (t.invocations, t.slices) = (1 << 20, 1 << 20);
    });
    let problem = Problem::reduce_min(DType::U8, &[1, (1 << 20) - 2], &[1]);
    let plan = planned(problem, &caps);
    let [rows, finish] = plan.passes() else {
        panic!("{plan}");
    };
    let alone = Walk::Finish(FinishText { lanes: 1, words: 1 });
    assert_eq!(finish.kernel.walk, alone, "{plan}");
    assert!(rows.params.slices > 4000, "{plan}");
    assert!(finish.iterations > 4 * 4000, "{plan}");
}
