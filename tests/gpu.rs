//! Every adapter against the CPU reference, byte for byte.
//!
//! A trial per adapter and subject, with the adapter's name. Without an adapter the trials show
//! as ignored; a backend that WGREDUCE_REQUIRE_ADAPTER names and that is not there is a failure.

#[path = "../benches/catalogue.rs"]
mod catalogue;
mod common;
#[path = "golden/mod.rs"]
mod golden;
#[path = "gpu/sessions.rs"]
mod sessions;

use catalogue::{Case, catalogue};
use common::{Bits, cuts, differs, differs_in_pieces, part, tensor};
use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Mutex;
use std::time::Duration;
use wgreduce::wgpu::{
    Backend, BufferDescriptor, BufferSlice, BufferUsages, DeviceDescriptor, Instance,
    InstanceDescriptor, Limits, MapMode, PollType,
};
use wgreduce::{
    AdapterChoice, Buffers, Cuts, DType, Error, Family, IndexType, NanPolicy, Op, Partial, Plan,
    Problem, ProblemError, Reducer, Reduction, Tuning, adapters_blocking,
};

type Subject = (&'static str, fn(&Reducer) -> Result<(), Failed>);

const SUBJECTS: &[Subject] = &[
    ("rows_of_every_length_and_type", rows),
    ("columns_of_every_width_and_type", columns),
    ("middle_axes", middle_axes),
    ("forced_families_and_tunings_agree", forced),
    ("limits_change_nothing", limits),
    ("submits_of_any_size_change_nothing", submits),
    ("scattered_axes", scattered),
    ("min_and_max_of_broadcast_inputs", elementwise),
    ("values_beside_indices", values),
    (
        "strided_views_equal_the_reference_on_the_materialised_copy",
        views,
    ),
    ("extremes_in_one_read", extremes),
    ("min_and_max_of_strided_views", views_elementwise),
    ("options", options),
    ("empty_and_degenerate_shapes", degenerate),
    ("buffers_of_foreign_size_and_offset", foreign),
    ("run_from_host_data", host),
    ("tensors_of_several_buffers", several_buffers),
    ("more_than_2_to_the_32_elements", beyond_32_bits),
    ("shards_merge_to_the_whole", shards),
    ("streams_equal_the_reference", streams),
    ("golden_cases", golden_cases),
    ("large_shapes", large),
    ("catalogue_of_measurements", measured),
    ("frames_of_a_foreign_program", sessions::frames),
    ("eight_threads_on_one_reducer", sessions::threads),
    ("futures_under_any_executor", sessions::futures),
    #[cfg(feature = "ndarray")]
    ("arrays_as_they_lie", sessions::arrays),
    ("a_run_that_takes_too_long", late),
    ("a_device_that_is_lost", lost),
    ("several_devices_of_one_adapter_at_once", several),
];

fn main() {
    let arguments = Arguments::from_args();
    let adapters = adapters_blocking().unwrap_or_default();
    let mut trials = vec![Trial::test("required_adapters_are_there", {
        let found: Vec<String> = adapters
            .iter()
            .map(|a| a.info.backend.to_string())
            .collect();
        move || required(&found)
    })];
    for &(name, subject) in SUBJECTS {
        for adapter in &adapters {
            let index = adapter.index;
            let named = format!("{name}::{}_{}", adapter.info.backend, adapter.info.name);
            let named = named.replace(|c: char| !c.is_alphanumeric() && c != ':', "_");
            trials.push(Trial::test(named, move || subject(&opened(index)?)));
        }
        if adapters.is_empty() {
            let skipped = Trial::test(format!("{name}::no_adapter"), || Ok(()));
            trials.push(skipped.with_ignored_flag(true));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Whether the backends that WGREDUCE_REQUIRE_ADAPTER names (`vulkan,gl`) have been found.
fn required(found: &[String]) -> Result<(), Failed> {
    let wanted = std::env::var("WGREDUCE_REQUIRE_ADAPTER").unwrap_or_default();
    let missing = |name: &&str| !name.is_empty() && !found.iter().any(|f| f == name);
    match wanted.split(',').find(missing) {
        Some(name) => Err(format!("no {name} adapter; found: {found:?}").into()),
        None => Ok(()),
    }
}

/// The reducer of an adapter, opened once, so that trials share what is compiled.
fn opened(index: usize) -> Result<Reducer, wgreduce::Error> {
    static OPEN: Mutex<Vec<(usize, Reducer)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(|e| e.into_inner());
    if let Some((_, reducer)) = open.iter().find(|(i, _)| *i == index) {
        return Ok(reducer.clone());
    }
    let reducer = Reducer::open_blocking(&AdapterChoice::Index(index))?;
    open.push((index, reducer.clone()));
    Ok(reducer)
}

/// The ways to reduce a dimension.
fn variants(dtype: DType, shape: &[u64], axis: i64) -> Result<Vec<Problem>, ProblemError> {
    Ok(vec![
        Problem::arg_min(dtype, shape, axis)?,
        Problem::arg_max(dtype, shape, axis)?.keepdims(false)?,
        Problem::arg_min(dtype, shape, axis)?.select_last_index(true)?,
        Problem::arg_max(dtype, shape, axis)?.select_last_index(true)?,
        Problem::reduce_min(dtype, shape, &[axis])?,
        Problem::reduce_max(dtype, shape, &[axis])?.keepdims(false)?,
        Problem::arg_max_abs(dtype, shape, axis)?,
        Problem::arg_max_abs(dtype, shape, axis)?.select_last_index(true)?,
        Problem::reduce_max_abs(dtype, shape, &[axis])?,
    ])
}

/// Checks all ways over a `[outer, len, inner]` tensor.
fn check(reducer: &Reducer, dtype: DType, shape: [u64; 3], seed: u64) -> Result<(), Failed> {
    let input = tensor(dtype, shape, seed);
    for problem in variants(dtype, &shape, 1)? {
        same(reducer, &problem, &[&input], 0)?;
    }
    Ok(())
}

fn same(reducer: &Reducer, problem: &Problem, inputs: &[&[u8]], offset: u64) -> Result<(), Failed> {
    match differs(reducer, problem, inputs, offset) {
        None => Ok(()),
        Some(difference) => Err(difference.into()),
    }
}

fn rows(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        let lens = [
            1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65, 127, 130, 257, 1001, 4099,
        ];
        for len in lens {
            check(reducer, dtype, [9, len, 1], len)?;
        }
        // One row, and rows enough for several workgroups.
        check(reducer, dtype, [1, 70_003, 1], 1)?;
        check(reducer, dtype, [1500, 19, 1], 2)?;
        check(reducer, dtype, [301, 64, 1], 3)?;
    }
    Ok(())
}

fn columns(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        for inner in [2, 3, 4, 5, 7, 8, 11, 16, 17, 33, 64, 100, 129] {
            check(reducer, dtype, [1, 37, inner], inner)?;
        }
        for len in [1, 2, 3, 4, 5, 6, 8, 9, 15, 16, 17, 65, 200] {
            check(reducer, dtype, [1, len, 24], len)?;
            check(reducer, dtype, [1, len, 9], len)?;
        }
        check(reducer, dtype, [1, 3001, 3], 1)?;
        check(reducer, dtype, [1, 900, 160], 2)?;
    }
    Ok(())
}

fn middle_axes(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        for shape in [
            [3, 40, 5],
            [7, 33, 16],
            [2, 100, 31],
            [5, 9, 130],
            [40, 3, 3],
            [9, 64, 1],
        ] {
            check(reducer, dtype, shape, 5)?;
        }
    }
    Ok(())
}

/// A reducer on the same device with another tuning.
fn tuned(reducer: &Reducer, change: impl Fn(&mut Tuning)) -> Reducer {
    let mut tuning = reducer.caps().tuning.clone();
    change(&mut tuning);
    reducer.with_caps(reducer.caps().tuned(tuning))
}

fn forced(reducer: &Reducer) -> Result<(), Failed> {
    let force = |family| tuned(reducer, move |t| t.force = Some(family));
    let rows = |lanes, chunked| {
        tuned(reducer, move |t| {
            *t = Tuning {
                workgroup: 64,
                row_lanes: lanes,
                lane_bytes: 16,
                chunked,
                force: Some(Family::Rows),
                slice_bytes: 256,
                ..t.clone()
            }
        })
    };
    let narrow = tuned(reducer, |t| {
        (t.workgroup, t.invocations, t.slice_bytes, t.wide_bytes) = (4, 1 << 16, 64, 16);
        t.each_column_len = 2;
    });
    let wide = tuned(reducer, |t| {
        (t.workgroup, t.row_lanes, t.chunked) = (256, 256, false);
        (t.wide_bytes, t.invocations) = (4096, 1 << 18);
    });
    let reducers = [
        force(Family::Each),
        force(Family::Columns),
        force(Family::Strips),
        force(Family::Bands),
        force(Family::ShortRows),
        rows(1, true),
        rows(1, false),
        rows(8, true),
        rows(8, false),
        rows(64, true),
        rows(64, false),
        narrow,
        wide,
    ];
    use DType::{F16, F32, I64, U8};
    for reducer in &reducers {
        for dtype in [F16, F32, I64, U8] {
            for shape in [
                [5, 3, 1],
                [3, 67, 1],
                [2, 1030, 1],
                [1, 300, 5],
                [2, 67, 24],
            ] {
                check(reducer, dtype, shape, 7)?;
            }
        }
        check(reducer, DType::F32, [1, 50_000, 1], 8)?;
        check(reducer, DType::U8, [1, 50_000, 1], 9)?;
    }
    Ok(())
}

/// The same suite at WebGPU's default limits, on a device that has no more; with windows of the
/// least size, three workgroups a dimension and buffers of some vec4; at the adapter's limits.
fn limits(reducer: &Reducer) -> Result<(), Failed> {
    suite(reducer)?;
    suite(&at_default_limits(reducer)?)?;
    let caps = reducer.caps();
    let small = caps.tuned(Tuning {
        workgroup: 16,
        each_column_len: 2,
        wide_bytes: 32,
        slice_bytes: 64,
        ..caps.tuning.clone()
    });
    let least = caps.offset_alignment + 16;
    for mut caps in [small.lowered(least, 3), small.lowered(4096, 2)] {
        caps.buffer_bytes = 3 * caps.binding_bytes;
        suite(&reducer.with_caps(caps))?;
    }
    Ok(())
}

/// A second device of the same adapter, with WebGPU's default limits where it has them.
fn at_default_limits(reducer: &Reducer) -> Result<Reducer, Failed> {
    let info = reducer.adapter_info();
    let descriptor = InstanceDescriptor {
        backends: info.backend.into(),
        ..InstanceDescriptor::new_without_display_handle()
    };
    // Never unloaded: Mesa's drivers do not bear it.
    let instance: &'static Instance = Box::leak(Box::new(Instance::new(descriptor)));
    let adapters = pollster::block_on(instance.enumerate_adapters(info.backend.into()));
    let mut adapters = adapters.into_iter();
    let adapter = adapters.find(|a| a.get_info().name == info.name);
    let adapter = adapter.ok_or("the adapter is gone")?;
    let limits = Limits::default().or_worse_values_from(&adapter.limits());
    let opened = pollster::block_on(adapter.request_device(&DeviceDescriptor {
        required_limits: limits.clone(),
        ..Default::default()
    }));
    let (device, queue) = opened?;
    let reducer = Reducer::new(&device, &queue)?;
    let most = Limits::default().max_storage_buffer_binding_size;
    assert!(reducer.caps().binding_bytes <= most, "{limits:?}");
    Ok(reducer)
}

/// Something of everything: operators, types, rows and columns, scattered axes, values, Min and
/// Max, buffers of the caller's and from the host, streams and shards.
fn suite(reducer: &Reducer) -> Result<(), Failed> {
    let mut bits = Bits::new(17);
    for dtype in [DType::F32, DType::F64, DType::U8, DType::F16, DType::Bool] {
        for shape in [[2, 150, 1], [3, 9, 7], [40, 3, 1], [1, 5, 40], [2, 33, 4]] {
            check(reducer, dtype, shape, 3)?;
        }
        let shape = [2, 30, 3];
        let input = tensor(dtype, shape, 4);
        let fused = Problem::arg_max(dtype, &shape, 1)?.with_values(true)?;
        same(reducer, &fused, &[&input], dtype.size())?;
        let abs = Problem::arg_max_abs(dtype, &shape, 1)?.with_values(true)?;
        same(reducer, &abs, &[&input], dtype.size())?;
        shard(reducer, &fused, shape, &input, &mut bits)?;
        let scattered = Problem::reduce_min(dtype, &shape, &[0, 2])?;
        same(reducer, &scattered, &[&input], 0)?;
        let small = tensor(dtype, [2, 1, 3], 5);
        let equal = Problem::min(dtype, &[shape, shape])?;
        let broadcast = Problem::min(dtype, &[shape, [2, 1, 3]])?;
        same(reducer, &equal, &[&input, &input], 0)?;
        same(reducer, &broadcast, &[&input, &small], 0)?;
        for (problem, inputs) in [
            (fused, vec![input.clone()]),
            (scattered, vec![input.clone()]),
            (broadcast, vec![input, small]),
        ] {
            let memory = 24 * (reducer.caps().offset_alignment + 16);
            streamed(reducer, &problem, &inputs, memory)?;
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            let outputs = reducer.prepare(&problem)?.run_bytes_blocking(&inputs)?;
            wgreduce::reference::verify(&problem, &inputs, &outputs)?;
        }
    }
    Ok(())
}

/// Budgets that cut the work into many dispatches and these into many submits.
fn submits(reducer: &Reducer) -> Result<(), Failed> {
    for budget in [0, 6000] {
        let reducer = tuned(reducer, |t| t.submit_bytes = budget);
        for dtype in [DType::F32, DType::I64, DType::U8, DType::BF16] {
            let n = 30_000 / dtype.size();
            for shape in [[1, n, 1], [n / 40, 40, 1], [1, n / 30, 30], [9, n / 90, 10]] {
                check(&reducer, dtype, shape, budget)?;
            }
            let fused = Problem::arg_max(dtype, &[9, n / 90, 10], 1)?.with_values(true)?;
            let input = tensor(dtype, [9, n / 90, 10], 1);
            same(&reducer, &fused, &[&input], 0)?;
            let whole = reducer.prepare(&fused)?;
            assert!(whole.plan().parts().len() > 1, "{whole:?}");
            let expected = wgreduce::reference::evaluate(&fused, &[&input])?;
            assert_eq!(whole.run_timed_blocking(&[&input])?.0, expected);
            let scattered = Problem::reduce_min(dtype, &[9, n / 90, 10], &[0, 2])?;
            same(&reducer, &scattered, &[&input], 0)?;
            let min = Problem::min(dtype, &[[9, n / 90, 10], [1, 1, 10]])?;
            same(
                &reducer,
                &min,
                &[&input, &input[..10 * dtype.size() as usize]],
                0,
            )?;
        }
    }
    Ok(())
}

fn scattered(reducer: &Reducer) -> Result<(), Failed> {
    let cases: &[(&[u64], &[i64])] = &[
        (&[6, 8, 10], &[0, 2]),
        (&[6, 8, 10], &[0]),
        (&[6, 8, 10], &[0, 1, 2]),
        (&[3, 4, 5, 6, 7], &[0, 2, 4]),
        (&[3, 4, 5, 6, 7], &[1, 3]),
        (&[3, 4, 1, 6, 7], &[-1, -3, 0]),
        (&[2, 300, 2, 20], &[0, 3]),
        (&[64, 5, 33], &[2, 0]),
    ];
    for dtype in DType::ALL {
        for &(shape, axes) in cases {
            let n: u64 = shape.iter().product();
            let input = tensor(dtype, [n / 7 + 1, 7, 1], 11);
            let input = &input[..(n * dtype.size()) as usize];
            for nan in [NanPolicy::Propagate, NanPolicy::Ignore] {
                for keepdims in [true, false] {
                    let min = Problem::reduce_min(dtype, shape, axes)?.keepdims(keepdims)?;
                    let max = Problem::reduce_max(dtype, shape, axes)?.keepdims(keepdims)?;
                    same(reducer, &min.nan(nan), &[input], 0)?;
                    same(reducer, &max.nan(nan), &[input], 0)?;
                    let abs = Problem::reduce_max_abs(dtype, shape, axes)?.keepdims(keepdims)?;
                    same(reducer, &abs.nan(nan), &[input], 0)?;
                }
            }
        }
    }
    Ok(())
}

fn elementwise(reducer: &Reducer) -> Result<(), Failed> {
    let cases: &[&[&[u64]]] = &[
        &[&[7], &[7]],
        &[&[16], &[16]],
        &[&[1000], &[1000], &[1000]],
        &[&[33, 64], &[64]],
        &[&[33, 64], &[33, 1]],
        &[&[33, 64], &[1], &[]],
        &[&[33, 63], &[63]],
        &[&[3, 1, 5], &[4, 1]],
        &[&[2, 3, 4, 16], &[1, 3, 1, 16], &[4, 1], &[2, 1, 1, 1]],
        &[&[5, 1, 7, 1, 3], &[1, 6, 1, 2, 1]],
        &[&[1], &[1]],
        &[&[], &[]],
        &[&[0, 3], &[1, 3]],
        &[
            &[2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2],
            &[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1],
        ],
    ];
    for dtype in DType::ALL {
        for shapes in cases {
            let elements = |s: &&[u64]| tensor(dtype, [s.iter().product(), 1, 1], s.len() as u64);
            let inputs: Vec<Vec<u8>> = shapes.iter().map(elements).collect();
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            for nan in [NanPolicy::Propagate, NanPolicy::Ignore] {
                for offset in [0, dtype.size(), 48] {
                    let min = Problem::min(dtype, shapes)?.nan(nan);
                    same(reducer, &min, &inputs, offset)?;
                    let max = Problem::max(dtype, shapes)?.nan(nan);
                    same(reducer, &max, &inputs, offset)?;
                }
            }
        }
        // More inputs than one dispatch binds.
        let shapes: Vec<[u64; 2]> = (0..11)
            .map(|i| [[40, 16], [1, 16], [40, 1]][i % 3])
            .collect();
        let inputs = shapes.iter().enumerate();
        let inputs = inputs.map(|(i, &[a, b])| tensor(dtype, [a, b, 1], i as u64));
        let inputs: Vec<Vec<u8>> = inputs.collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let caps = wgreduce::Caps {
            storage_buffers: 4,
            ..reducer.caps().clone()
        };
        for reducer in [reducer, &reducer.with_caps(caps)] {
            same(reducer, &Problem::max(dtype, &shapes)?, &inputs, 0)?;
        }
    }
    Ok(())
}

fn values(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        for shape in [[9, 33, 1], [1, 5000, 1], [2, 40, 6], [3, 7, 70], [5, 1, 3]] {
            let input = tensor(dtype, shape, 13);
            for problem in variants(dtype, &shape, 1)?.into_iter().take(4) {
                for index in [IndexType::I64, IndexType::I32] {
                    let fused = problem.clone().index_type(index)?.with_values(true)?;
                    same(reducer, &fused, &[&input], 0)?;
                    same(
                        reducer,
                        &fused.nan(NanPolicy::Ignore),
                        &[&input],
                        dtype.size(),
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// A view: its shape, strides and offset, and the elements of the tensor it is in.
type Viewed = (&'static [u64], &'static [i64], u64, u64);

const VIEWS: &[Viewed] = &[
    // Contiguous, and a transposed matrix, which is contiguous after all.
    (&[6, 50], &[50, 1], 3, 320),
    (&[50, 6], &[1, 50], 8, 310),
    (&[7, 5, 40], &[5, 1, 35], 1, 1401),
    // Sub-matrices, every second column, every third row.
    (&[9, 70], &[83, 1], 5, 800),
    (&[9, 40], &[83, 2], 0, 747),
    (&[40, 17], &[60, 1], 16, 2400),
    // Broadcast: rows, columns, everything.
    (&[4, 30], &[0, 1], 2, 40),
    (&[30, 4], &[1, 0], 2, 40),
    (&[3, 40], &[0, 0], 1, 2),
    (&[3, 1, 40], &[0, 7, 0], 1, 2),
    // Flipped, overlapping.
    (&[5, 61], &[61, -1], 60, 305),
    (&[5, 61], &[-61, 1], 244, 305),
    (&[20, 30], &[1, 1], 0, 49),
    (&[8, 33], &[4, 3], 7, 140),
    // Four and five dimensions that do not merge.
    (&[3, 5, 4, 6], &[1, 100, 3, 13], 9, 600),
    (&[2, 3, 4, 5, 6], &[7, 200, -19, 41, 1], 100, 1100),
    // Long segments, long results, one element, none.
    (&[1, 3001], &[0, 2], 0, 6001),
    (&[3001, 2], &[3, 1], 1, 9003),
    (&[2, 1500], &[1, 2], 0, 3000),
    (&[1, 1], &[9, 9], 4, 5),
    (&[0, 3], &[1, 1], 9, 0),
    (&[], &[], 3, 4),
];

/// The elements of a view, one after another.
fn materialised(dtype: DType, &(shape, strides, offset, _): &Viewed, data: &[u8]) -> Vec<u8> {
    let size = dtype.size() as usize;
    let n: u64 = shape.iter().product();
    let mut copy = Vec::new();
    for flat in 0..n {
        let (mut rest, mut at) = (flat, offset as i64);
        for (&size, &stride) in shape.iter().zip(strides).rev() {
            at += (rest % size) as i64 * stride;
            rest /= size;
        }
        copy.extend_from_slice(&data[at as usize * size..][..size]);
    }
    copy
}

/// Checks a problem over a view against the same problem over a copy of the view's elements.
fn check_view(
    reducer: &Reducer,
    plain: &Problem,
    view: &Viewed,
    data: &[u8],
    offset: u64,
) -> Result<(), Failed> {
    let &(_, strides, first, _) = view;
    let problem = plain.clone().strided(0, strides, first)?;
    let copy = materialised(problem.dtype(), view, data);
    let expected = wgreduce::reference::evaluate(plain, &[&copy])?;
    assert_eq!(
        wgreduce::reference::evaluate(&problem, &[data])?,
        expected,
        "{problem}"
    );
    same(reducer, &problem, &[data], offset)
}

/// All ways to reduce each axis and sets of axes, and no axis.
fn view_problems(dtype: DType, shape: &[u64]) -> Result<Vec<Problem>, ProblemError> {
    let mut all = vec![
        Problem::reduce_min(dtype, shape, &[])?,
        Problem::reduce_max(dtype, shape, &[])?.nan(NanPolicy::Ignore),
        Problem::reduce_min(dtype, shape, &[])?.noop_with_empty_axes(true)?,
        Problem::min(dtype, &[shape])?,
    ];
    for axis in 0..shape.len() as i64 {
        if let Ok(variants) = variants(dtype, shape, axis) {
            all.extend(variants);
        }
        if let Ok(arg) = Problem::arg_max(dtype, shape, axis) {
            all.push(arg.clone().with_values(true)?);
            let last = arg.select_last_index(true)?.nan(NanPolicy::Ignore);
            all.push(last.with_values(true)?.index_type(IndexType::I32)?);
        }
        all.extend(Problem::reduce_max(dtype, shape, &[axis, 0]));
        all.extend(Problem::reduce_max_abs(dtype, shape, &[axis, 0]));
    }
    Ok(all)
}

fn views(reducer: &Reducer) -> Result<(), Failed> {
    let caps = reducer.caps();
    let least = caps.offset_alignment + 16;
    let small = caps.tuned(Tuning {
        workgroup: 16,
        slice_bytes: 64,
        ..caps.tuning.clone()
    });
    let abreast = tuned(reducer, |t| {
        (t.chunked, t.invocations) = (!t.chunked, 1 << 14)
    });
    let tiny = reducer.with_caps(small.lowered(least, 3));
    for view in VIEWS {
        views_by_other_ways(reducer, view)?;
        for dtype in DType::ALL {
            let data = tensor(dtype, [1, view.3, 1], view.2);
            for (i, problem) in view_problems(dtype, view.0)?.iter().enumerate() {
                let offset = [0, dtype.size(), 48][i % 3];
                let reducer = if i % 4 == 0 { &abreast } else { reducer };
                check_view(reducer, problem, view, &data, offset)?;
            }
        }
        for dtype in [DType::F32, DType::F64, DType::Bool] {
            // Windows of some elements: many dispatches for a long view.
            if view.0.iter().product::<u64>() > 400 {
                continue;
            }
            let data = tensor(dtype, [1, view.3, 1], view.2);
            for problem in view_problems(dtype, view.0)? {
                check_view(&tiny, &problem, view, &data, 0)?;
            }
        }
    }
    Ok(())
}

/// Views from host data that goes on behind them, as streams, and as partial results.
fn views_by_other_ways(reducer: &Reducer, view: &Viewed) -> Result<(), Failed> {
    let mut data = tensor(DType::F16, [1, view.3, 1], 1);
    data.extend([0; 40]);
    for plain in view_problems(DType::F16, view.0)? {
        let problem = plain.strided(0, view.1, view.2)?;
        let expected = wgreduce::reference::evaluate(&problem, &[&data])?;
        let actual = reducer.prepare(&problem)?.run_bytes_blocking(&[&data])?;
        assert_eq!(actual, expected, "{problem}");
        streamed(reducer, &problem, std::slice::from_ref(&data), 20_000)
            .map_err(|e| format!("{problem}: {e}"))?;
        if !problem.is_copy() {
            let ours = reducer.shard(&problem, 1 << 20)?.run_bytes(7, &data)?;
            assert_eq!(
                ours,
                Partial::from_reference(&problem, 7, &data)?,
                "{problem}"
            );
        }
    }
    Ok(())
}

/// All four results of the same problem, from operators of their own.
fn separately(fused: &Problem, shape: &[u64], axis: i64) -> Result<[Problem; 4], ProblemError> {
    let (dtype, nan) = (fused.dtype(), fused.nan_policy());
    let last = fused.selects_last_index();
    let axes: &[i64] = if shape.is_empty() { &[] } else { &[axis] };
    let index = match fused.outputs()[2].dtype {
        DType::I32 => IndexType::I32,
        _ => IndexType::I64,
    };
    let arg = |p: Problem| p.index_type(index)?.select_last_index(last);
    let all = [
        Problem::reduce_min(dtype, shape, axes)?,
        Problem::reduce_max(dtype, shape, axes)?,
        arg(Problem::arg_min(dtype, shape, axis)?)?,
        arg(Problem::arg_max(dtype, shape, axis)?)?,
    ];
    Ok(all.map(|p| p.nan(nan)))
}

/// Checks a fused problem against the reference, and this against four separate reductions.
fn fused(
    reducer: &Reducer,
    problem: &Problem,
    axis: i64,
    data: &[u8],
    offset: u64,
) -> Result<(), Failed> {
    let expected = wgreduce::reference::evaluate(problem, &[data])?;
    for (one, expected) in separately(problem, &problem.inputs()[0], axis)?
        .into_iter()
        .zip(expected)
    {
        let one = match problem.layout(0) {
            Some(layout) => one.strided(0, &layout.strides, layout.offset)?,
            None => one,
        };
        assert_eq!(
            wgreduce::reference::evaluate(&one, &[data])?,
            [expected],
            "{one} of {problem}"
        );
    }
    same(reducer, problem, &[data], offset)
}

fn extremes(reducer: &Reducer) -> Result<(), Failed> {
    let least = reducer.caps().offset_alignment + 16;
    let small = reducer.caps().tuned(Tuning {
        workgroup: 16,
        slice_bytes: 64,
        ..reducer.caps().tuning.clone()
    });
    let tiny = reducer.with_caps(small.lowered(least, 3));
    let abreast = tuned(reducer, |t| {
        (t.chunked, t.invocations) = (!t.chunked, 1 << 14);
        t.force = Some(Family::ExtremeRows);
    });
    let single = tuned(reducer, |t| t.force = Some(Family::Extremes));
    let shapes = [
        [1, 1, 1],
        [5, 1, 3],
        [9, 33, 1],
        [3, 129, 1],
        [1, 5000, 1],
        [1500, 19, 1],
        [1, 37, 24],
        [1, 300, 5],
        [2, 67, 16],
        [2, 40, 6],
        [3, 7, 70],
        [1, 900, 160],
    ];
    for dtype in DType::ALL {
        for (i, shape) in shapes.iter().enumerate() {
            let input = tensor(dtype, *shape, 29);
            let plain = Problem::extremes(dtype, shape, 1)?;
            let other = plain.clone().select_last_index(true)?.keepdims(false)?;
            let other = other.nan(NanPolicy::Ignore).index_type(IndexType::I32)?;
            for (j, problem) in [plain, other].into_iter().enumerate() {
                let offset = [0, dtype.size(), 48][i % 3];
                let reducer = [reducer, &abreast, &single][(i + 2 * j) % 3];
                fused(reducer, &problem, 1, &input, offset)?;
                if shape.iter().product::<u64>() < 300 {
                    fused(&tiny, &problem, 1, &input, 0)?;
                }
            }
        }
        for shape in [&[][..], &[1], &[3, 0], &[0, 3]] {
            let input = tensor(dtype, [shape.iter().product(), 1, 1], 3);
            for axis in 0..2 {
                if let Ok(problem) = Problem::extremes(dtype, shape, axis) {
                    fused(reducer, &problem, axis, &input, 0)?;
                }
            }
        }
    }
    for view in VIEWS {
        for dtype in [DType::F16, DType::F32, DType::I64, DType::Bool] {
            let data = tensor(dtype, [1, view.3, 1], view.2);
            for axis in 0..view.0.len() as i64 {
                let Ok(plain) = Problem::extremes(dtype, view.0, axis) else {
                    continue;
                };
                let problem = plain.strided(0, view.1, view.2)?;
                fused(reducer, &problem, axis, &data, dtype.size())?;
                if dtype == DType::F16 {
                    streamed(reducer, &problem, std::slice::from_ref(&data), 40_000)
                        .map_err(|e| format!("{problem}: {e}"))?;
                }
            }
        }
    }
    Ok(())
}

/// Inputs of Min and Max: by whole vec4 where all lies in them, and every other way.
const TOGETHER: &[&[Viewed]] = &[
    &[
        (&[6, 32], &[48, 1], 16, 400),
        (&[6, 32], &[32, 1], 0, 192),
        (&[32], &[0], 5, 6),
    ],
    &[(&[6, 32], &[-48, 1], 240, 400), (&[6, 1], &[-1, 0], 9, 10)],
    &[(&[37], &[-1], 36, 37), (&[37], &[2], 1, 74)],
    &[(&[5, 7], &[1, 5], 0, 35), (&[5, 7], &[7, 1], 3, 38)],
    &[(&[3, 1, 5], &[1, 9, 3], 2, 17), (&[4, 1], &[2, 0], 0, 7)],
    &[
        (&[300], &[1], 16, 330),
        (&[300], &[1], 1, 301),
        (&[1], &[5], 3, 4),
    ],
    &[(&[20, 20], &[1, 1], 0, 39), (&[20], &[0], 0, 1)],
    &[(&[0, 3], &[1, 1], 5, 0), (&[3], &[1], 0, 3)],
];

/// Min and Max of views and their tensors, once the reference gives what it gives on copies.
fn together(dtype: DType, views: &[Viewed]) -> Result<([Problem; 2], Vec<Vec<u8>>), Failed> {
    let data = views.iter().map(|v| tensor(dtype, [1, v.3, 1], v.2));
    let data: Vec<Vec<u8>> = data.collect();
    let copies = views.iter().zip(&data);
    let copies: Vec<_> = copies.map(|(v, d)| materialised(dtype, v, d)).collect();
    let shapes: Vec<&[u64]> = views.iter().map(|v| v.0).collect();
    let viewed = |plain: Problem| -> Result<Problem, Failed> {
        let mut problem = plain.clone();
        for (i, view) in views.iter().enumerate() {
            problem = problem.strided(i, view.1, view.2)?;
        }
        let [copies, data] =
            [&copies, &data].map(|t| t.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let expected = wgreduce::reference::evaluate(&plain, &copies)?;
        let viewed = wgreduce::reference::evaluate(&problem, &data)?;
        assert_eq!(viewed, expected, "{problem}");
        Ok(problem)
    };
    let [min, max] = [Problem::min(dtype, &shapes)?, Problem::max(dtype, &shapes)?];
    Ok(([viewed(min)?, viewed(max)?], data))
}

fn views_elementwise(reducer: &Reducer) -> Result<(), Failed> {
    let least = reducer.caps().offset_alignment + 16;
    let tiny = reducer.with_caps(reducer.caps().lowered(least, 3));
    for views in TOGETHER {
        for dtype in DType::ALL {
            let (problems, data) = together(dtype, views)?;
            let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            for problem in problems {
                for offset in [0, dtype.size()] {
                    same(reducer, &problem, &data, offset)?;
                }
                same(&tiny, &problem, &data, 0)?;
            }
        }
    }
    Ok(())
}

fn options(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        for shape in [[9, 70, 1], [2, 33, 8], [1, 3000, 1]] {
            let input = tensor(dtype, shape, 17);
            for problem in variants(dtype, &shape, 1)? {
                same(
                    reducer,
                    &problem.clone().nan(NanPolicy::Ignore),
                    &[&input],
                    0,
                )?;
                for index in [IndexType::I32, IndexType::U32] {
                    if problem.op().is_index() {
                        same(reducer, &problem.clone().index_type(index)?, &[&input], 0)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn degenerate(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        let shapes: [&[u64]; 8] = [
            &[],
            &[1],
            &[1, 1, 1],
            &[5],
            &[0],
            &[3, 0],
            &[0, 3],
            &[2, 0, 3],
        ];
        for shape in shapes {
            let n: u64 = shape.iter().product();
            let input = tensor(dtype, [n, 1, 1], 19);
            let mut problems = vec![
                Problem::reduce_min(dtype, shape, &[])?,
                Problem::reduce_max(dtype, shape, &[])?,
                Problem::reduce_min(dtype, shape, &[])?.noop_with_empty_axes(true)?,
                Problem::min(dtype, &[shape])?,
            ];
            for axis in 0..shape.len().max(1) as i64 {
                problems.extend(Problem::arg_min(dtype, shape, axis));
                problems.extend(Problem::reduce_max(dtype, shape, &[axis]));
            }
            for problem in problems {
                same(reducer, &problem, &[&input], 0)?;
            }
        }
    }
    Ok(())
}

/// Sizes of 4, 8 and 12 modulo 16 bytes, odd row lengths, and every kind of offset.
fn foreign(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        let size = dtype.size();
        for n in 1..=17 {
            let n = n * 4 / size.min(4);
            let input = tensor(dtype, [1, n, 1], n);
            for problem in variants(dtype, &[n], 0)? {
                same(reducer, &problem, &[&input], 0)?;
            }
        }
        for offset in [1, 2, 4, 8, 12, 20, 260] {
            if offset % size != 0 {
                continue;
            }
            for shape in [[3, 21, 1], [1, 999, 1], [2, 31, 5], [1, 40, 16]] {
                let input = tensor(dtype, shape, offset);
                for problem in variants(dtype, &shape, 1)? {
                    same(reducer, &problem, &[&input], offset)?;
                }
            }
        }
    }
    Ok(())
}

fn host(reducer: &Reducer) -> Result<(), Failed> {
    let scores = [0.5f32, 2.0, -1.0, f32::NAN, 9.0, 9.0];
    let problem = Problem::arg_max(DType::F32, &[2, 3], 1)?.keepdims(false)?;
    let winners: Vec<i64> = reducer.run_blocking(&problem, &scores)?;
    assert_eq!(winners, [1, 0]);
    let reduction = reducer.prepare(&problem)?;
    for _ in 0..3 {
        let again: Vec<i64> = pollster::block_on(reduction.run(&scores))?;
        assert_eq!(again, winners);
    }
    let wrong = reduction.run_blocking::<f64, i64>(&[0.0; 6]);
    let text = wrong.map_err(|e| e.to_string()).unwrap_err();
    assert_eq!(
        text,
        "input 0 is float32 in the problem but float64 in the call"
    );
    let (outputs, times) = reduction.run_timed_blocking(&[bytemuck::bytes_of(&scores)])?;
    assert_eq!(outputs[0], bytemuck::cast_slice::<i64, u8>(&winners));
    assert!(times.wall > std::time::Duration::ZERO);
    Ok(())
}

/// Inputs and outputs in buffers that end anywhere, of any operator and type.
fn several_buffers(reducer: &Reducer) -> Result<(), Failed> {
    let mut bits = Bits::new(3);
    for (t, dtype) in DType::ALL.into_iter().enumerate() {
        let mut problems = Vec::new();
        let shapes = [[3, 200, 1], [40, 8, 1], [2, 30, 5], [1, 3, 90]];
        for shape in [shapes[t % 2], shapes[2 + t / 2 % 2]] {
            problems.extend(variants(dtype, &shape, 1)?);
            let fused = Problem::arg_max(dtype, &shape, 1)?;
            problems.push(fused.select_last_index(t % 2 == 0)?.with_values(true)?);
            problems.push(Problem::extremes(dtype, &shape, 1)?);
        }
        problems.push(Problem::extremes(dtype, &[2, 1100, 1], 1)?);
        problems.push(Problem::reduce_min(dtype, &[6, 7, 8], &[0, 2])?);
        problems.push(Problem::reduce_min(dtype, &[90, 0], &[1])?);
        problems.push(Problem::max(dtype, &[&[500u64][..]])?);
        let wide: &[u64] = &[24, 32];
        for with in [&[24, 32][..], &[32], &[24, 1], &[]] {
            problems.push(Problem::min(dtype, &[wide, with, wide])?);
        }
        for (i, problem) in problems.into_iter().enumerate() {
            let inputs = (0..problem.inputs().len()).map(|i| {
                let elements = problem.input_bytes(i) / dtype.size();
                tensor(dtype, [elements, 1, 1], i as u64)
            });
            let inputs: Vec<Vec<u8>> = inputs.collect();
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            in_pieces(reducer, &problem, &inputs, i as u64, &mut bits)?;
        }
        views_in_pieces(reducer, dtype, t, &mut bits)?;
    }
    Ok(())
}

/// Checks a problem on tensors that are cut by chance, and from the host.
fn in_pieces(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    i: u64,
    bits: &mut Bits,
) -> Result<(), Failed> {
    // Every third with whole vec4 only, which take other kernels.
    let (vecs, offset) = if i.is_multiple_of(3) {
        (16, 48)
    } else {
        (1, 8 * (i % 5))
    };
    let mut cut = |n: u64| -> Vec<u64> {
        let mut cuts = cuts(n.max(1), 1 + bits.next() % 4, bits);
        cuts.iter_mut().for_each(|c| *c = *c / vecs * vecs);
        cuts.dedup();
        cuts.retain(|&c| c > 0 && c < n);
        cuts
    };
    let read = (0..inputs.len()).map(|i| problem.input_bytes(i) / problem.dtype().size());
    let read = read.map(&mut cut).collect();
    let written = problem.outputs().into_iter();
    let written = written.map(|o| o.bytes() / o.dtype.size());
    let cuts = Cuts {
        inputs: read,
        outputs: written.map(&mut cut).collect(),
    };
    let small = reducer.with_caps(reducer.caps().lowered(2048, 9));
    let bound = if i.is_multiple_of(2) { reducer } else { &small };
    if let Some(e) = differs_in_pieces(bound, problem, inputs, &cuts, offset) {
        return Err(e.into());
    }
    // With buffers of the library's own, no larger than this.
    let mut caps = bound.caps().clone();
    caps.buffer_bytes = 272;
    let reduction = reducer.with_caps(caps).prepare(problem)?;
    let outputs = reduction.run_bytes_blocking(inputs);
    let outputs = outputs.map_err(|e| format!("{problem}: {e}"))?;
    wgreduce::reference::verify(problem, inputs, &outputs)
        .map_err(|e| format!("{problem} from the host: {e}").into())
}

/// Views whose tensors are cut, held to the reference on the copies of their elements.
fn views_in_pieces(
    reducer: &Reducer,
    dtype: DType,
    t: usize,
    bits: &mut Bits,
) -> Result<(), Failed> {
    let long = |view: &&Viewed| view.3 <= 900;
    for (v, view) in VIEWS.iter().filter(long).enumerate() {
        let data = tensor(dtype, [1, view.3, 1], view.2);
        let copy = materialised(dtype, view, &data);
        let mut problems = view_problems(dtype, view.0)?;
        let axes = 0..view.0.len() as i64;
        problems.extend(axes.filter_map(|axis| Problem::extremes(dtype, view.0, axis).ok()));
        // All ways of a view over the types.
        for (i, plain) in problems
            .into_iter()
            .enumerate()
            .filter(|(i, _)| (i + t) % 5 == 0)
        {
            let problem = plain.clone().strided(0, view.1, view.2)?;
            let expected = wgreduce::reference::evaluate(&plain, &[&copy])?;
            let viewed = wgreduce::reference::evaluate(&problem, &[&data])?;
            assert_eq!(viewed, expected, "{problem}");
            in_pieces(reducer, &problem, &[&data], (i + v) as u64, bits)?;
        }
    }
    for views in TOGETHER {
        let (problems, data) = together(dtype, views)?;
        let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        in_pieces(reducer, &problems[t % 2], &data, t as u64, bits)?;
    }
    Ok(())
}

/// A tensor of 2^32 + 3 elements in many pieces, all but three of them the same small buffer:
/// extremes and ties at both ends, so that only an index of 64 bits tells them apart.
fn beyond_32_bits(reducer: &Reducer) -> Result<(), Failed> {
    let n = (1u64 << 32) + 3;
    // As large as bindings and the driver allow, and some elements at either end.
    let piece = reducer.caps().binding_bytes.min(1 << 27) - 1024;
    let end = 64;
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    let buffer = |size: u64, fill: u8, changed: &[(u64, u8)]| {
        let buffer = reducer.device().create_buffer(&BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        });
        let mut bytes = vec![fill; size as usize];
        changed
            .iter()
            .for_each(|&(at, byte)| bytes[at as usize] = byte);
        for (i, chunk) in bytes.chunks(1 << 24).enumerate() {
            reducer
                .queue()
                .write_buffer(&buffer, (i << 24) as u64, chunk);
        }
        buffer
    };
    // Least at 2 and n - 1, greatest at 1 and n - 2.
    let rest = (n - end) % piece;
    let first = buffer(end, 100, &[(1, 200), (2, 7)]);
    let same = buffer(piece, 100, &[]);
    let size = rest.next_multiple_of(4);
    let last = buffer(size, 100, &[(rest - 2, 200), (rest - 1, 7)]);
    let mut slices = vec![first.slice(..)];
    slices.extend((0..(n - end) / piece).map(|_| same.slice(..)));
    slices.push(last.slice(..rest));
    let index = |last| -> Result<[Problem; 2], ProblemError> {
        Ok([
            Problem::arg_min(DType::U8, &[n], 0)?
                .select_last_index(last)?
                .with_values(true)?,
            Problem::arg_max(DType::U8, &[n], 0)?
                .select_last_index(last)?
                .with_values(true)?,
        ])
    };
    let [first_min, first_max] = index(false)?;
    let [last_min, last_max] = index(true)?;
    for (problem, winner, value) in [
        (first_min, 2, 7),
        (first_max, 1, 200),
        (last_min, n - 1, 7),
        (last_max, n - 2, 200u8),
    ] {
        let reduction = reducer.prepare(&problem)?;
        let result = winner_of(reducer, &reduction, &slices)?;
        if result != (winner, value) {
            return Err(format!("{problem}: {result:?}, not {winner} and {value}").into());
        }
    }
    Ok(())
}

/// The index and the value of a reduction of one output.
fn winner_of(
    reducer: &Reducer,
    reduction: &Reduction,
    slices: &[BufferSlice<'_>],
) -> Result<(u64, u8), Failed> {
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let [index, value] = [usage; 2].map(|usage| sixteen(reducer, usage));
    let back = sixteen(reducer, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let bound = reduction.bind(Buffers {
        inputs: &[slices.into()],
        outputs: &[index.slice(..).into(), value.slice(..).into()],
        scratch: None,
    })?;
    let (device, queue) = (reducer.device(), reducer.queue());
    for part in 0..bound.parts() {
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.encode_part(part, &mut encoder);
        queue.submit([encoder.finish()]);
    }
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(&index, 0, &back, 0, 8);
    encoder.copy_buffer_to_buffer(&value, 0, &back, 8, 8);
    encoder.map_buffer_on_submit(&back, MapMode::Read, .., |r| r.expect("mapped"));
    queue.submit([encoder.finish()]);
    device.poll(PollType::wait_indefinitely())?;
    let bytes = back.slice(..).get_mapped_range()?;
    Ok((bytemuck::pod_read_unaligned(&bytes[..8]), bytes[8]))
}

fn sixteen(reducer: &Reducer, usage: BufferUsages) -> wgreduce::wgpu::Buffer {
    reducer.device().create_buffer(&BufferDescriptor {
        label: None,
        size: 16,
        usage,
        mapped_at_creation: false,
    })
}

/// Parts cut by chance, reduced by the device or by the reference and merged in any order.
fn shards(reducer: &Reducer) -> Result<(), Failed> {
    let mut bits = Bits::new(7);
    let shapes = [[8, 57, 1], [1, 900, 8], [3, 20, 5], [8, 1, 1]];
    for (t, dtype) in DType::ALL.into_iter().enumerate() {
        for shape in [shapes[t % 2], shapes[2 + t / 2 % 2]] {
            let input = tensor(dtype, shape, 23);
            let mut wholes = variants(dtype, &shape, 1)?;
            for i in 0..4 {
                wholes.push(wholes[i].clone().with_values(true)?);
            }
            for (i, whole) in wholes.iter().enumerate() {
                let nan = [NanPolicy::Propagate, NanPolicy::Ignore][i % 2];
                let whole = whole.clone().nan(nan);
                shard(reducer, &whole, shape, &input, &mut bits).map_err(|e| {
                    let why = e.message().unwrap_or_default();
                    format!("{whole}: {why}")
                })?;
            }
        }
    }
    Ok(())
}

fn shard(
    reducer: &Reducer,
    whole: &Problem,
    shape: [u64; 3],
    input: &[u8],
    bits: &mut Bits,
) -> Result<(), Failed> {
    let dtype = whole.dtype();
    let mut all: Option<Partial> = None;
    let cuts = cuts(shape[1], 4, bits);
    let mut ranges: Vec<_> = cuts.windows(2).map(|w| w[0]..w[1]).collect();
    while !ranges.is_empty() {
        let range = ranges.swap_remove(bits.next() as usize % ranges.len());
        let data = part(dtype, shape, range.clone(), input);
        let problem = resized(whole, [shape[0], range.end - range.start, shape[2]])?;
        let memory = [20_000, 1 << 30][bits.next() as usize % 2];
        let ours = reducer.shard(&problem, memory)?;
        let ours = ours.run_bytes(range.start, &data)?;
        let theirs = Partial::from_reference(&problem, range.start, &data)?;
        if ours != theirs {
            return Err(format!("elements {range:?} of dimension 1 differ").into());
        }
        let either = if bits.next() & 1 == 0 { ours } else { theirs };
        match &mut all {
            Some(all) => all.merge(&either)?,
            None => all = Some(either),
        }
    }
    let all = all.map(|all| all.finish()).transpose()?;
    match all == Some(wgreduce::reference::evaluate(whole, &[input])?) {
        true => Ok(()),
        false => Err("the merged parts differ from the whole".into()),
    }
}

/// The same problem over dimension 1 of another shape.
fn resized(problem: &Problem, shape: [u64; 3]) -> Result<Problem, ProblemError> {
    let (dtype, keepdims) = (problem.dtype(), problem.outputs()[0].shape.len() == 3);
    let resized = match problem.op() {
        Op::ArgMin => Problem::arg_min(dtype, &shape, 1),
        Op::ArgMax => Problem::arg_max(dtype, &shape, 1),
        Op::ArgMaxAbs => Problem::arg_max_abs(dtype, &shape, 1),
        Op::ReduceMin => Problem::reduce_min(dtype, &shape, &[1]),
        Op::ReduceMax => Problem::reduce_max(dtype, &shape, &[1]),
        _ => Problem::reduce_max_abs(dtype, &shape, &[1]),
    }?;
    let resized = resized.nan(problem.nan_policy()).keepdims(keepdims)?;
    if !problem.op().is_index() {
        return Ok(resized);
    }
    resized
        .select_last_index(problem.selects_last_index())?
        .with_values(problem.outputs().len() > 1)
}

/// Data that is read and written piece by piece, under bounds from the least to plenty.
fn streams(reducer: &Reducer) -> Result<(), Failed> {
    let alignment = reducer.caps().offset_alignment;
    for dtype in DType::ALL {
        let mut problems = Vec::new();
        for shape in [[3, 500, 1], [300, 9, 1], [2, 60, 7], [1, 3, 700], [5, 1, 3]] {
            problems.extend(variants(dtype, &shape, 1)?);
            problems.push(Problem::arg_max(dtype, &shape, 1)?.with_values(true)?);
        }
        let scattered = [12u64, 5, 9];
        problems.push(Problem::reduce_min(dtype, &scattered, &[0, 2])?);
        problems.push(Problem::reduce_max(dtype, &[40, 0], &[1])?);
        problems.push(Problem::reduce_max_abs(dtype, &[40, 0], &[1])?);
        problems.push(Problem::reduce_max_abs(dtype, &scattered, &[0, 2])?);
        problems.push(Problem::max(dtype, &[&[900u64][..]])?);
        problems.push(Problem::extremes(dtype, &[3, 200, 2], 1)?);
        problems.push(Problem::extremes(dtype, &[70, 20], 1)?);
        // Views: a transposed matrix, every third column from the last on, a repeated one.
        problems.push(Problem::arg_min(dtype, &[30, 40], 0)?.strided(0, &[1, 30], 7)?);
        problems.push(Problem::reduce_max(dtype, &[20, 9], &[1])?.strided(0, &[27, -3], 26)?);
        problems.push(Problem::min(dtype, &[[8, 50], [8, 50]])?.strided(1, &[0, 1], 3)?);
        let wide: &[u64] = &[30, 40];
        for with in [&[30, 40][..], &[40], &[30, 1], &[]] {
            problems.push(Problem::min(dtype, &[wide, with, wide])?);
        }
        for (i, problem) in problems.into_iter().enumerate() {
            let inputs = (0..problem.inputs().len()).map(|i| {
                let elements = problem.input_bytes(i) / dtype.size();
                tensor(dtype, [elements, 1, 1], i as u64)
            });
            let inputs: Vec<Vec<u8>> = inputs.collect();
            let memory = [24 * (alignment + 16), 40_000, 1 << 30][i % 3];
            streamed(reducer, &problem, &inputs, memory)
                .map_err(|e| format!("{problem} in {memory} bytes: {e}"))?;
        }
    }
    broken_streams(reducer)
}

/// What the caller's functions say ends the run, and the next one is as good as new.
fn broken_streams(reducer: &Reducer) -> Result<(), Failed> {
    use std::io::{Error as IoError, ErrorKind};
    let input = tensor(DType::U8, [1, 50_000, 1], 1);
    let problem = Problem::max(DType::U8, &[[50_000u64]])?;
    let stream = reducer.stream(&problem, 30_000)?;
    let fails = |failing: u64, at: u64| match at >= failing {
        true => Err(IoError::new(ErrorKind::StorageFull, "no more")),
        false => Ok(()),
    };
    let run = |source: u64, sink: u64| {
        let read = |_, at: u64, into: &mut [u8]| {
            into.copy_from_slice(&input[at as usize..][..into.len()]);
            fails(source, at)
        };
        stream.run(read, |_, at, _| fails(sink, at))
    };
    for (source, sink, whose) in [(20_000, u64::MAX, "input 0"), (u64::MAX, 9_000, "output 0")] {
        let error = run(source, sink)
            .expect_err("a failing function")
            .to_string();
        assert!(
            error.starts_with(whose) && error.ends_with("no more"),
            "{error}"
        );
        run(u64::MAX, u64::MAX)?;
    }
    streamed(reducer, &problem, std::slice::from_ref(&input), 30_000)?;
    let error = reducer
        .stream(&problem, 100)
        .expect_err("too little memory");
    assert!(error.to_string().contains("memory of a stream"), "{error}");
    // What lies between two steps must fit as well.
    let scattered = Problem::reduce_min(DType::F64, &[4, 9000, 5], &[0, 2])?;
    let error = reducer
        .stream(&scattered, 100_000)
        .expect_err("too little memory");
    assert!(
        error.to_string().ends_with("the limit of 100000"),
        "{error}"
    );
    Ok(())
}

fn streamed(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[Vec<u8>],
    memory: u64,
) -> Result<(), String> {
    let data: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let expected = wgreduce::reference::evaluate(problem, &data).map_err(|e| e.to_string())?;
    let stream = reducer.stream(problem, memory).map_err(|e| e.to_string())?;
    if stream.memory() > memory {
        return Err(format!("takes {} bytes", stream.memory()));
    }
    // Twice: a stream can be run again.
    for _ in 0..2 {
        let mut outputs = vec![Vec::new(); expected.len()];
        let mut read = 0;
        let run = stream.run(
            |input, at, into| {
                read += into.len() as u64;
                into.copy_from_slice(&data[input][at as usize..][..into.len()]);
                Ok(())
            },
            |output, at, bytes| {
                let output: &mut Vec<u8> = &mut outputs[output];
                assert_eq!(output.len() as u64, at, "bytes come in order, each once");
                output.extend_from_slice(bytes);
                Ok(())
            },
        );
        run.map_err(|e| e.to_string())?;
        if outputs != expected {
            return Err(format!("differs; plan {}", stream.plan()));
        }
        if read != stream.read_bytes() {
            return Err(format!("{read} bytes read, not {}", stream.read_bytes()));
        }
    }
    Ok(())
}

/// What the ONNX reference implementation answered; tests/reference.rs holds the CPU reference
/// to it.
fn golden_cases(reducer: &Reducer) -> Result<(), Failed> {
    for case in golden::cases() {
        let inputs: Vec<&[u8]> = case.inputs.iter().map(Vec::as_slice).collect();
        assert_eq!(case.expected.len() as u64, case.output.bytes());
        same(reducer, &case.problem, &inputs, 0)?;
    }
    Ok(())
}

/// Long axes, tensors above one binding, more rows than workgroups in a dimension.
fn large(reducer: &Reducer) -> Result<(), Failed> {
    let whole = |dtype, shape, axis| -> Result<(), Failed> {
        let [outer, len, inner] = shape;
        let input = ramp(dtype, outer * len * inner);
        for problem in [
            Problem::arg_min(dtype, &shape, axis)?,
            Problem::arg_max(dtype, &shape, axis)?.select_last_index(true)?,
            Problem::reduce_max(dtype, &shape, &[axis])?,
        ] {
            let outputs = reducer.prepare(&problem)?.run_bytes_blocking(&[&input])?;
            let verified = wgreduce::reference::verify(&problem, &[&input], &outputs);
            verified.map_err(|e| format!("{problem}: {e}"))?;
        }
        Ok(())
    };
    whole(DType::F32, [1, 1 << 25, 1], 1)?;
    whole(DType::U8, [3, 100_000_000, 1], 1)?;
    whole(DType::U8, [3_000_000, 100, 1], 0)?;
    whole(DType::F32, [140_000, 5, 1], 1)?;
    whole(DType::I16, [70_000, 300, 1], 0)
}

/// Elements that rise and fall slowly, with the extremes near the end and repeated.
fn ramp(dtype: DType, n: u64) -> Vec<u8> {
    let size = dtype.size() as usize;
    let mut bytes = vec![0x11u8; n as usize * size];
    for (i, element) in bytes.chunks_exact_mut(size).enumerate() {
        let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        element[0] = (x & 0x3f) as u8 | 0x40;
        if x == 77 || i + 3 == n as usize {
            element[size - 1] = 0;
            element[0] = 1;
        }
        if x == 78 || i + 2 == n as usize {
            element[size - 1] = 0x7e;
            element[0] = 0x7f;
        }
    }
    bytes
}

/// A run past its time is an error at once; its work goes on and harms nothing that follows.
fn late(reducer: &Reducer) -> Result<(), Failed> {
    let n = 1 << 26;
    let input = ramp(DType::U8, n);
    let problem = Problem::arg_max(DType::U8, &[n], 0)?;
    let expected = wgreduce::reference::evaluate(&problem, &[&input])?;
    let soon = reducer.with_timeout(Duration::ZERO).prepare(&problem)?;
    // OpenGL may compute while it is told to: then all is done in no time.
    let may_be_done = reducer.adapter_info().backend == Backend::Gl;
    for _ in 0..3 {
        match soon.run_bytes_blocking(&[&input]) {
            Err(Error::Timeout { seconds }) => assert_eq!(seconds, 0.0),
            Ok(outputs) if may_be_done => assert_eq!(outputs, expected),
            other => return Err(format!("{other:?}").into()),
        }
    }
    let patient = reducer.with_timeout(Duration::from_secs(600));
    let whole = patient.prepare(&problem)?;
    keep_busy(reducer, &whole)?;
    match reducer.clone().close(Duration::ZERO) {
        Err(Error::Timeout { seconds }) => assert_eq!(seconds, 0.0),
        Ok(()) if may_be_done => {}
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(whole.run_bytes_blocking(&[&input])?, expected);
    // Futures know no time.
    assert_eq!(pollster::block_on(soon.run_bytes(&[&input]))?, expected);
    Ok(reducer.clone().close(Duration::from_secs(600))?)
}

/// Submits a reduction many times, and waits for none.
fn keep_busy(reducer: &Reducer, reduction: &Reduction) -> Result<(), Error> {
    let buffer = |size| {
        reducer.device().create_buffer(&BufferDescriptor {
            label: None,
            size,
            usage: BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    };
    let [from, to] = [reduction.problem().input_bytes(0), 8].map(buffer);
    let bound = reduction.bind(Buffers {
        inputs: &[from.slice(..).into()],
        outputs: &[to.slice(..).into()],
        scratch: None,
    })?;
    for _ in 0..20 {
        let mut encoder = reducer.device().create_command_encoder(&Default::default());
        bound.encode(&mut encoder);
        reducer.queue().submit([encoder.finish()]);
    }
    Ok(())
}

/// The adapter's place in the list.
fn index_of(reducer: &Reducer) -> Result<usize, Failed> {
    let info = reducer.adapter_info();
    let adapters = adapters_blocking()?;
    let same = |a: &&wgreduce::Adapter| a.info.name == info.name && a.info.backend == info.backend;
    let found = adapters.iter().find(same);
    Ok(found.ok_or("the adapter is gone")?.index)
}

/// Opened, used and dropped by threads that know nothing of each other.
fn several(reducer: &Reducer) -> Result<(), Failed> {
    let index = index_of(reducer)?;
    let input = ramp(DType::U8, 100_000);
    let problem = Problem::arg_max(DType::U8, &[100, 1000], 1)?;
    let work = || -> Result<(), String> {
        for _ in 0..5 {
            let choice = AdapterChoice::Index(index);
            let reducer = Reducer::open_blocking(&choice).map_err(|e| e.to_string())?;
            let reduction = reducer.prepare(&problem).map_err(|e| e.to_string())?;
            for _ in 0..10 {
                let outputs = pollster::block_on(reduction.run_bytes(&[&input]));
                let outputs = outputs.map_err(|e| e.to_string())?;
                let verified = wgreduce::reference::verify(&problem, &[&input], &outputs);
                verified.map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

/// Losing a device loses its runs, and nothing else: another one on the same adapter works.
fn lost(reducer: &Reducer) -> Result<(), Failed> {
    let n = 1 << 24;
    let input = ramp(DType::U8, n);
    let problem = Problem::arg_max(DType::U8, &[n], 0)?;
    let expected = wgreduce::reference::evaluate(&problem, &[&input])?;
    let index = index_of(reducer)?;
    for wait in [0, 1, 5, 20] {
        let doomed = Reducer::open_blocking(&AdapterChoice::Index(index))?;
        let reduction = doomed.prepare(&problem)?;
        std::thread::scope(|scope| {
            let run = scope.spawn(|| reduction.run_bytes_blocking(&[&input]));
            std::thread::sleep(Duration::from_millis(wait));
            doomed.device().destroy();
            match run.join().map_err(|_| "the run panicked")? {
                Err(Error::DeviceLost { .. }) => Ok(()),
                // It was done by then.
                Ok(outputs) if outputs == expected => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })?;
        match reduction.run_bytes_blocking(&[&input]) {
            Err(Error::DeviceLost { .. }) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    let next = Reducer::open_blocking(&AdapterChoice::Index(index))?;
    assert_eq!(
        next.prepare(&problem)?.run_bytes_blocking(&[&input])?,
        expected
    );
    Ok(())
}

/// What `bench` measures: planned as it is, run where every long dimension is cut.
fn measured(reducer: &Reducer) -> Result<(), Failed> {
    for case in catalogue() {
        Plan::new(&case.problem()?, reducer.caps()).map_err(|e| format!("{case}: {e}"))?;
        let case = shrunk(case);
        let inputs = case.inputs();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        same(reducer, &case.problem()?, &inputs, 0)?;
    }
    Ok(())
}

/// The case with its longest dimension halved, in all inputs, until it has at most 1 MiB.
fn shrunk(mut case: Case) -> Case {
    while case.shapes[0].iter().product::<u64>() * case.dtype.size() > 1 << 20 {
        let longest = case.shapes[0].iter().max().copied();
        for size in case.shapes.iter_mut().flatten() {
            if Some(*size) == longest {
                // What is odd stays odd.
                *size = (*size / 2) | (*size % 2);
            }
        }
    }
    case
}
