//! Plans of chosen shapes, and of impossible ones.

use super::{fake, families};
use support::grid::{CLASSES, class};
use wgreduce::unstable::Family::{
    Columns, Each, Fill, Finish, Gather, Panels, Rows, Shallow, SmallRows, Strips,
};
use wgreduce::unstable::{Family, StoreFormat, Walk};
use wgreduce::{AdapterClass, Caps, DType, Error, Plan, Problem, ProblemError, Tuning};

/// The parts of a segment that the first pass leaves for the finishing pass.
fn parts(plan: &Plan) -> u64 {
    let finish = plan.passes().iter().find(|p| p.kernel.family() == Finish);
    finish.map_or(1, |p| p.params.len.into())
}

/// The family that a class takes for columns, if software adapters take that one.
fn of_software(kind: AdapterClass, family: Family) -> Family {
    match kind {
        AdapterClass::Software => family,
        _ => Columns,
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
        assert_eq!(families(&plan), [Rows, Finish], "{plan}");
        let first = &plan.passes()[0];
        let slices = u64::from(first.params.slices);
        assert_eq!(parts(&plan), slices);
        // A key and an index of 32 bits each.
        assert_eq!(plan.scratch_bytes(), 8 * slices);
        let Walk::Rows { lanes, .. } = first.kernel.walk else {
            panic!("{plan}");
        };
        let invocations = slices * u64::from(lanes);
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
    let plan = planned(
        Problem::arg_max(DType::F32, &[0, 7], 1).map(|p| p.keepdims(false)),
        &caps,
    );
    assert!(plan.parts().is_empty());
}

#[test]
fn long_rows_enough_for_the_device_take_one_pass() {
    for kind in CLASSES {
        let plan = planned(Problem::arg_min(DType::F32, &[4096, 4096], 1), &class(kind));
        assert_eq!(families(&plan), [Rows], "{plan}");
        assert_eq!(plan.scratch_bytes(), 0);
    }
    // Small results share words, each of which one invocation must write, so they take a second pass.
    let caps = class(AdapterClass::Integrated);
    let plan = planned(Problem::reduce_min(DType::U8, &[4096, 4096], &[1]), &caps);
    assert_eq!(families(&plan), [Rows, Finish], "{plan}");
    // Of a value that is narrower than a word, a key.
    assert_eq!(plan.scratch_bytes(), 4 * 4096);
}

#[test]
fn columns_are_cut_along_their_length() {
    for kind in CLASSES {
        let plan = planned(Problem::arg_min(DType::F32, &[4096, 4096], 0), &class(kind));
        assert_eq!(
            plan.passes()[0].kernel.family(),
            of_software(kind, Strips),
            "{plan}"
        );
        assert_eq!(plan.passes()[0].params.width, 1024);
        let parts = parts(&plan);
        assert_eq!(families(&plan).len(), if parts > 1 { 2 } else { 1 });
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
        let read = walks.filter(|walk| matches!(walk, Walk::Finish { .. }));
        for walk in read {
            let of = matches!(walk, Walk::Finish { words: w, .. } if w == words);
            assert!(of, "{plan}");
        }
    }
}

#[test]
fn short_rows_take_one_pass() {
    let caps = class(AdapterClass::Discrete);
    let whole = |plan: &Plan| match plan.passes()[0].kernel.walk {
        Walk::Rows { whole, vecs, .. } => Some((whole, vecs)),
        _ => None,
    };
    let plan = planned(Problem::arg_min(DType::F32, &[1 << 20, 16], 1), &caps);
    assert_eq!(families(&plan), [Rows], "{plan}");
    assert_eq!(whole(&plan), Some((true, 4)));
    // The same with results that share words.
    let plan = planned(Problem::reduce_min(DType::U8, &[1 << 20, 32], &[1]), &caps);
    assert_eq!(families(&plan), [Rows], "{plan}");
    assert_eq!(whole(&plan), Some((true, 2)));
    let plan = planned(Problem::arg_min(DType::F32, &[1 << 20, 17], 1), &caps);
    assert_eq!(families(&plan), [Rows], "{plan}");
    assert_eq!(whole(&plan), Some((false, 0)));
    let plan = planned(Problem::arg_min(DType::F32, &[1 << 20, 3], 1), &caps);
    assert_eq!(families(&plan), [SmallRows], "{plan}");
}

#[test]
fn short_axes_take_one_pass() {
    let caps = class(AdapterClass::Software);
    for (shape, family) in [
        // Rows that are not whole vec4; columns whose rows are whole vec4, and columns whose rows are not.
        ([1 << 20, 10, 1], SmallRows),
        ([40_000, 151, 1], SmallRows),
        ([1, 4, 3_000_000], Shallow),
        ([4, 21, 513 * 513], Shallow),
        // Columns with more rows.
        ([2048, 64, 128], Panels),
        ([4, 50, 80_000], Panels),
    ] {
        let plan = planned(Problem::arg_min(DType::F32, &shape, 1), &caps);
        assert_eq!(families(&plan), [family], "{plan}");
    }
    // A second pass takes the rest: rows that fill no tile, columns that fill no line.
    for shape in [[1_000_003, 10, 1], [1, 21, 513 * 513]] {
        let plan = planned(Problem::arg_min(DType::F32, &shape, 1), &caps);
        assert_eq!(families(&plan)[1..], [Each], "{plan}");
    }
}

/// Columns of few rows: how many neighbouring lines an invocation takes, and whether they are unaligned.
#[test]
fn shallow_columns_are_taken_by_as_many_lines_as_matrices_and_adapters_allow() {
    let taken = |kind, shape: [u64; 3]| {
        let plan = planned(Problem::arg_min(DType::F32, &shape, 1), &class(kind));
        let kernel = &plan.passes()[0].kernel;
        assert_eq!(kernel.family(), Shallow, "{plan}");
        match kernel.walk {
            Walk::Panels {
                runs, unaligned, ..
            } => (runs, unaligned),
            other => panic!("{other:?}"),
        }
    };
    let [software, discrete] = [AdapterClass::Software, AdapterClass::Discrete];
    for (shape, on_software, on_discrete) in [
        ([1, 4, 1 << 20], (2, false), (1, false)),
        ([300, 4, 4 * 333], (1, false), (1, false)),
        ([1, 21, 513 * 513], (4, true), (1, true)),
        ([3000, 4, 161], (4, true), (1, true)),
        ([3000, 4, 159], (0, true), (0, true)),
    ] {
        assert_eq!(taken(software, shape), on_software, "{shape:?}");
        assert_eq!(taken(discrete, shape), on_discrete, "{shape:?}");
    }
    let mut swiftshader = class(software);
    swiftshader.long_kernels = false;
    let problem = Problem::arg_min(DType::F32, &[1, 21, 513 * 513], 1);
    let kernel = planned(problem, &swiftshader).passes()[0].kernel;
    let walk = Walk::Panels {
        lanes: 1,
        runs: 0,
        unaligned: true,
        coarsened: true,
    };
    assert_eq!(kernel.walk, walk);
}

/// Regions of few rows leave a partial for each column, and the cost of those partials decides.
#[test]
fn rows_of_which_a_binding_holds_few_are_shallow_columns_that_leave_partials() {
    for kind in CLASSES {
        let few = planned(
            Problem::arg_min(DType::F32, &[10, 1 << 22], 0),
            &class(kind),
        );
        assert_eq!(families(&few), [Shallow, Shallow, Finish], "{few}");
        let more = planned(
            Problem::arg_min(DType::F32, &[256, 1 << 19], 0),
            &class(kind),
        );
        assert!(!families(&more).contains(&Shallow), "{more}");
    }
}

/// Narrow panels leave invocations idle, which must fit into a dispatch as well.
#[test]
fn panels_fit_as_many_workgroups_as_there_are() {
    for workgroups in [1, 2, 3, 5, 8] {
        let caps = class(AdapterClass::Software).lowered(1 << 27, workgroups);
        let caps = caps.tuned(Tuning {
            force: Some(Panels),
            ..caps.tuning.clone()
        });
        let plan = planned(Problem::arg_min(DType::I64, &[100, 30, 2], 1), &caps);
        assert!(families(&plan).contains(&Panels), "{plan}");
    }
}

/// If bindings cut rows, a part counts as whole if it begins and ends at a vec4.
#[test]
fn parts_of_short_rows_are_whole_where_they_begin_and_end_with_a_vec4() {
    let whole = |shape: [u64; 2]| {
        let caps = fake(40, 16, 3, 4);
        let caps = caps.tuned(Tuning {
            short_row_bytes: u64::MAX,
            each_row_bytes: 0,
            small_row_len: 0,
            ..caps.tuning.clone()
        });
        let plan = planned(Problem::arg_min(DType::U64, &shape, 1), &caps);
        let rows = plan
            .passes()
            .iter()
            .filter_map(|pass| match pass.kernel.walk {
                Walk::Rows { whole, .. } => Some(whole),
                _ => None,
            });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(whole([2, 8]), [true; 4]);
    // The first row ends inside a vec4, and the second begins there.
    assert_eq!(whole([2, 7]), [true, false, false, false]);
}

#[test]
fn a_middle_axis_is_columns_of_many_matrices() {
    for kind in CLASSES {
        let plan = planned(
            Problem::arg_min(DType::F32, &[64, 512, 512], 1),
            &class(kind),
        );
        let first = &plan.passes()[0];
        assert_eq!(first.kernel.family(), of_software(kind, Panels), "{plan}");
        let params = &first.params;
        assert_eq!((params.width, params.len, params.inner), (128, 512, 512));
    }
}

#[test]
fn three_columns_are_folded_into_wide_rows() {
    for kind in CLASSES {
        let plan = planned(
            Problem::arg_min(DType::F32, &[1_000_000, 3], 0),
            &class(kind),
        );
        assert_eq!(families(&plan), [Columns, Finish], "{plan}");
        let first = &plan.passes()[0].params;
        assert_eq!(first.width * 4 % first.inner, 0);
        // On software adapters an invocation keeps to a column; GPUs read rows of some length at once.
        let least = match kind {
            AdapterClass::Software => 3 * 16,
            _ => class(kind).tuning.wide_bytes,
        };
        assert!(u64::from(first.width) * 16 >= least);
        assert_eq!(plan.scratch_bytes(), 8 * 3 * parts(&plan));
    }
}

#[test]
fn how_wide_rows_are_decides_who_takes_columns_on_software_adapters() {
    let caps = class(AdapterClass::Software);
    for (shape, family, times) in [
        // Up to ten vec4 a row: one for each invocation, whatever the length.
        ([512, 4096, 8], Columns, 1),
        ([2048, 1024, 8], Columns, 1),
        ([256, 1820, 36], Columns, 1),
        ([8192, 1024, 2], Columns, 1),
        ([1024, 2000, 40], Columns, 1),
        // Also up to fifteen, if partials of joined rows would cost much.
        ([512, 1500, 22], Columns, 1),
        ([64, 12_000, 22], Strips, 16),
        // Many matrices, if every invocation of a team has a column.
        ([512, 1024, 32], Panels, 1),
        ([1024, 270, 60], Panels, 2),
        ([64, 512, 512], Panels, 16),
        // Small matrices: with rows that are not whole vec4, and with rows that are.
        ([2500, 256, 7], Shallow, 0),
        ([16_384, 256, 4], Shallow, 1),
        // Too few matrices for panels, or too many rows for parts of rows: as many vec4 for each invocation as a
        // row needs, in twos and fours, or eight where a row is too wide for a team.
        ([1, 65_000, 260], Strips, 10),
        ([16, 2048, 516], Strips, 20),
        ([64, 512, 768], Strips, 24),
        ([1, 16_384, 1024], Strips, 32),
        ([1, 16_320, 1028], Strips, 8),
    ] {
        let plan = planned(Problem::arg_min(DType::F32, &shape, 1), &caps);
        let first = &plan.passes()[0].kernel;
        assert_eq!(
            (first.family(), first.unrolled()),
            (family, times),
            "{plan}"
        );
    }
}

#[test]
fn a_team_of_strips_takes_whole_rows_of_128_vec4_or_of_256_from_32_bits_on() {
    let caps = class(AdapterClass::Software);
    for (dtype, vecs, times) in [
        (DType::U8, [128, 129], [16, 8]),
        (DType::F16, [128, 129], [16, 8]),
        (DType::F32, [256, 257], [32, 8]),
        (DType::F64, [256, 257], [32, 8]),
    ] {
        for (vecs, times) in vecs.into_iter().zip(times) {
            let inner = vecs * 16 / dtype.size();
            let plan = planned(Problem::arg_min(dtype, &[16_384, inner], 0), &caps);
            assert_eq!(families(&plan), [Strips, Finish], "{plan}");
            assert_eq!(plan.passes()[0].kernel.unrolled(), times, "{plan}");
        }
    }
}

/// No driver may be asked for more iterations than it runs.
#[test]
fn strips_that_take_one_row_an_iteration_are_cut_by_the_limit_on_iterations() {
    let caps = class(AdapterClass::Software);
    let caps = caps.tuned(Tuning {
        slices: 1,
        ..caps.tuning.clone()
    });
    // 80 vec4 a row: ten for each invocation.
    let plan = planned(Problem::arg_min(DType::F32, &[80_000, 320], 0), &caps);
    let first = &plan.passes()[0];
    assert_eq!(
        (first.kernel.family(), first.kernel.unrolled()),
        (Strips, 10)
    );
    assert!(Some(first.params.slice) <= caps.iterations, "{plan}");
}

#[test]
fn strips_of_wide_rows_are_cut_into_as_many_slices_as_those_of_narrower_ones() {
    let caps = class(AdapterClass::Software);
    for inner in [512, 768, 1024] {
        let plan = planned(Problem::arg_min(DType::F32, &[16_384, inner], 0), &caps);
        assert_eq!(families(&plan), [Strips, Finish], "{plan}");
        // A team of eight invocations counts as 8 * 16, so 32 slices reach the tuning's 4096.
        assert_eq!(parts(&plan), 32, "{plan}");
    }
}

#[test]
fn scattered_axes_take_a_step_each_the_longest_first() {
    let problem = Problem::reduce_min(DType::F32, &[64, 128, 64, 32], &[0, 2]);
    let caps = class(AdapterClass::Integrated);
    let plan = planned(problem, &caps);
    let steps: Vec<_> = plan
        .passes()
        .iter()
        .filter(|p| p.kernel.family() != Finish)
        .collect();
    assert_eq!(steps.len(), 2, "{plan}");
    // The tensor between the steps lacks the axis that the first step reduced.
    let read: Vec<u64> = steps.iter().map(|p| p.src_bytes()).collect();
    assert_eq!(read, [4 * (64 * 128 * 64 * 32), 4 * (128 * 64 * 32)]);
    assert!(plan.scratch_bytes() >= 4 * (128 * 64 * 32));
}

#[test]
fn what_exceeds_a_binding_is_cut_into_boxes_whose_records_are_merged() {
    let caps = fake(1 << 20, 256, 65_535, 64);
    let plan = planned(Problem::arg_max(DType::U8, &[3 << 20], 0), &caps);
    let mut expected = vec![Rows; 4];
    expected.push(Finish);
    assert_eq!(families(&plan), expected, "{plan}");
    let merges: Vec<u32> = plan.passes().iter().map(|p| p.params.merge).collect();
    assert_eq!(merges, [0, 1, 1, 1, 0]);
    let read: u64 = plan.passes()[..4].iter().map(|p| p.src_bytes()).sum();
    assert_eq!(read, 3 << 20);
}

#[test]
fn nothing_to_reduce_is_a_fill_a_copy_or_no_pass() {
    let caps = Caps::webgpu_default();
    let of = |problem| families(&planned(problem, &caps));
    assert_eq!(of(Problem::reduce_min(DType::F32, &[0, 3], &[0])), [Fill]);
    assert_eq!(of(Problem::reduce_min(DType::F32, &[0, 3], &[1])), []);
    assert_eq!(of(Problem::arg_min(DType::F32, &[5, 1], 1)), [Fill]);
    assert_eq!(of(Problem::reduce_min(DType::F32, &[5, 1], &[1])), [Each]);
    let copy = Problem::reduce_min(DType::F32, &[5], &[]).map(|p| p.noop_with_empty_axes(true));
    assert_eq!(of(copy), [Each]);
    let values = Problem::arg_min(DType::F32, &[1 << 12], 0).map(|p| p.with_values(true));
    assert_eq!(of(values).last(), Some(&Gather));
}

#[test]
fn forced_families_are_taken() {
    for family in [Rows, SmallRows, Columns, Strips, Each] {
        let caps = Caps::webgpu_default();
        let caps = caps.tuned(Tuning {
            force: Some(family),
            ..caps.tuning.clone()
        });
        let plan = planned(Problem::arg_min(DType::F32, &[300, 200], 1), &caps);
        assert_eq!(plan.passes()[0].kernel.family(), family, "{plan}");
    }
    for family in [Shallow, Panels] {
        let caps = class(AdapterClass::Software);
        let caps = caps.tuned(Tuning {
            force: Some(family),
            ..caps.tuning.clone()
        });
        let plan = planned(Problem::arg_min(DType::F32, &[3, 200, 80], 1), &caps);
        assert_eq!(families(&plan), [family], "{plan}");
    }
}

#[test]
fn limits_that_allow_nothing_are_errors_with_numbers() {
    let least = fake(64, 16, 3, 4);
    let broken = [
        Caps {
            binding_bytes: 0,
            ..least.clone()
        },
        Caps {
            binding_bytes: 8,
            ..least.clone()
        },
        Caps {
            offset_alignment: 4096,
            ..least.clone()
        },
        Caps {
            workgroups: 0,
            ..least.clone()
        },
        Caps {
            workgroup_bytes: 0,
            ..least.clone()
        },
        Caps {
            invocations: 0,
            ..least.clone()
        },
    ];
    let problems = [
        Problem::arg_min(DType::U8, &[2, 4000], 1),
        Problem::arg_min(DType::I64, &[400, 10], 0),
        Problem::reduce_min(DType::F32, &[0, 300], &[0]),
        Problem::reduce_min(DType::F32, &[300], &[]).map(|p| p.noop_with_empty_axes(true)),
    ];
    for problem in problems.map(|p| p.expect("a problem")) {
        for caps in &broken {
            match Plan::new(&problem, caps) {
                Err(Error::Limit { needed, limit, .. }) => assert!(needed > limit, "{problem}"),
                other => panic!("{problem} on {caps:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_plan_reads_as_one_paragraph() {
    let caps = fake(256, 16, 8, 4);
    let long = planned(Problem::arg_max(DType::F32, &[40_000], 0), &caps);
    assert!(long.passes().len() > 20);
    let text = long.to_string();
    assert!(
        text.starts_with("ArgMax float32 [40000] axes [0]: reduce/rows/32bit/partial(2)/"),
        "{text}"
    );
    assert!(text.contains("more; scratch "), "{text}");
    assert!(!text.contains('\n') && text.len() < 800, "{text}");
    let short = planned(
        Problem::arg_min(DType::F32, &[2, 3], 1),
        &Caps::webgpu_default(),
    );
    assert_eq!(
        short.to_string(),
        "ArgMin float32 [2, 3] axes [1]: reduce/each/32bit/index64/wg256x1 on 1x1 (read 24 B, \
         write 16 B, 5 iterations); scratch 0 B"
    );
    let none = planned(Problem::reduce_min(DType::F32, &[0, 3], &[1]), &caps);
    assert_eq!(
        none.to_string(),
        "ReduceMin float32 [0, 3] axes [1]: nothing to do"
    );
    assert!(long.passes()[0].kernel.out.is_partial());
}

#[test]
fn a_driver_that_takes_no_long_kernels_gets_none() {
    for force in [None, Some(Strips), Some(Panels)] {
        let software = class(AdapterClass::Software);
        let caps = Caps {
            long_kernels: false,
            ..software.tuned(Tuning {
                force,
                ..software.tuning.clone()
            })
        };
        for shape in [
            [1, 4096, 4096],
            [64, 512, 512],
            [1, 1000, 3],
            [2048, 64, 128],
        ] {
            let plan = planned(Problem::arg_min(DType::F32, &shape, 1), &caps);
            assert_eq!(families(&plan)[0], Columns, "{plan}");
        }
        let plan = planned(Problem::arg_min(DType::F32, &[1000, 10], 1), &caps);
        let kernel = plan.passes()[0].kernel;
        if force.is_none() {
            assert_eq!((kernel.family(), kernel.unrolled()), (SmallRows, 0));
        }
        let plan = planned(Problem::min(DType::F32, &[&[1u64 << 20][..]; 2]), &caps);
        assert_eq!(families(&plan), [Family::ElementwiseVecs], "{plan}");
    }
}

#[test]
fn swiftshader_and_directx_and_browsers_in_software_take_no_long_kernels() {
    use wgreduce::wgpu::{AdapterInfo, Backend, DeviceType, Limits};
    let long = |name: &str, kind, backend| {
        let mut info = AdapterInfo::new(kind, backend);
        info.name = name.to_owned();
        Caps::of(&info, &Limits::default()).long_kernels
    };
    assert!(!long(
        "SwiftShader Device",
        DeviceType::Cpu,
        Backend::Vulkan
    ));
    assert!(!long(
        "Microsoft Basic Render Driver",
        DeviceType::Cpu,
        Backend::Dx12
    ));
    assert!(!long("", DeviceType::Cpu, Backend::BrowserWebGpu));
    assert!(long("llvmpipe", DeviceType::Cpu, Backend::Vulkan));
    assert!(long("a GPU", DeviceType::DiscreteGpu, Backend::Dx12));
}

/// The tuning asks for more parts than one invocation may take for each result of a word.
#[test]
fn results_that_share_a_word_are_cut_into_no_more_parts_than_an_invocation_may_take() {
    let caps = class(AdapterClass::Discrete);
    let caps = caps.tuned(Tuning {
        workgroup: 4,
        row_lanes: 1,
        invocations: 1 << 20,
        slice_bytes: 1,
        slices: 1 << 20,
        each_row_bytes: 0,
        ..caps.tuning.clone()
    });
    let plan = planned(
        Problem::reduce_min(DType::U8, &[1, (1 << 20) - 2], &[1]),
        &caps,
    );
    let [rows, finish] = plan.passes() else {
        panic!("{plan}");
    };
    assert_eq!(
        finish.kernel.walk,
        Walk::Finish { lanes: 1, words: 1 },
        "{plan}"
    );
    assert!(rows.params.slices > 4000, "{plan}");
    assert!(finish.iterations > 4 * 4000, "{plan}");
}
