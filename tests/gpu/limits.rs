//! Limits, tunings and budgets: whatever they cut the work into, the results stay.

use super::common::{Bits, tensor};
use super::pieces::{shard, streamed};
use super::{check, same, slices, tuned};
use libtest_mimic::Failed;
use wgreduce::wgpu::{DeviceDescriptor, Instance, InstanceDescriptor, Limits};
use wgreduce::{DType, Family, NanPolicy, Problem, Reducer, Tuning};

/// Every family wherever it is possible, rows in every way, and two tunings far apart.
fn every_way(reducer: &Reducer) -> Vec<Reducer> {
    use Family::{Bands, Columns, Each, Panels, Rows, Shallow, ShortRows, Strips, Tiles};
    let force = |family| tuned(reducer, move |t| t.force = Some(family));
    let rows = |(lanes, chunked)| {
        tuned(reducer, move |t| {
            (t.workgroup, t.row_lanes, t.lane_bytes, t.slice_bytes) = (64, lanes, 16, 256);
            (t.chunked, t.force) = (chunked, Some(Rows));
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
    let lanes = [1, 8, 64].into_iter();
    let rows = lanes.flat_map(|lanes| [true, false].map(|chunked| rows((lanes, chunked))));
    let families = [
        Each, Columns, Strips, Bands, ShortRows, Tiles, Shallow, Panels,
    ];
    let families = families.map(force);
    let all = families.into_iter().chain(rows);
    all.chain([narrow, wide]).collect()
}

pub fn forced(reducer: &Reducer) -> Result<(), Failed> {
    use DType::{F16, F32, I64, U8, U32};
    for reducer in &every_way(reducer) {
        // Rows shorter than a vec4, one of them of nothing but the largest number.
        check(reducer, U32, [9, 3, 1], 7)?;
        for dtype in [F16, F32, I64, U8] {
            for shape in [
                [5, 3, 1],
                [3, 67, 1],
                [2, 1030, 1],
                [1, 300, 5],
                [2, 67, 24],
                [35, 6, 16],
            ] {
                check(reducer, dtype, shape, 7)?;
            }
        }
        check(reducer, F32, [1, 50_000, 1], 8)?;
        check(reducer, U8, [1, 50_000, 1], 9)?;
    }
    Ok(())
}

/// Rows of which a binding holds a few: records of shallow columns, in whole vec4 and anywhere. Those
/// of many outputs, also several of each, become results in turn.
pub fn wide_rows(reducer: &Reducer) -> Result<(), Failed> {
    let turns = tuned(reducer, |t| (t.invocations, t.short_rows) = (16, 8));
    let few = turns.with_caps(turns.caps().lowered(8192, 65_535));
    let mut bits = Bits::new(19);
    for dtype in DType::ALL {
        check(&few, dtype, [1, 23, (2048 / dtype.size()).min(512)], 3)?;
        check(&few, dtype, [2, 19, (1100 / dtype.size()).min(480) + 1], 4)?;
        check(&turns, dtype, [2, 300, 96], 5)?;
        let shape = [1, 9, 401];
        let input = tensor(dtype, shape, 6);
        let extremes = Problem::extremes(dtype, &shape, 1)?;
        let fused = Problem::arg_max(dtype, &shape, 1)?.with_values(true)?;
        same(&turns, &extremes, &[&input], 0)?;
        same(&few, &fused, &[&input], 0)?;
        same(&few, &fused.clone().nan(NanPolicy::Ignore), &[&input], 0)?;
        // Records that are the result.
        shard(&few, &fused, shape, &input, &mut bits)?;
        shard(
            &few,
            &Problem::reduce_min(dtype, &shape, &[1])?,
            shape,
            &input,
            &mut bits,
        )?;
    }
    // Of the rows a part: results begin inside a word.
    check(&few, DType::U8, [1, 5, 1101], 7)
}

/// The same suite at WebGPU's default limits, on a device that has no more; with windows of the
/// least size, three workgroups a dimension and buffers of some vec4; at the adapter's limits.
pub fn least_and_most(reducer: &Reducer) -> Result<(), Failed> {
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
            let inputs = slices(&inputs);
            let outputs = reducer.prepare(&problem)?.run_bytes_blocking(&inputs)?;
            wgreduce::reference::verify(&problem, &inputs, &outputs)?;
        }
    }
    Ok(())
}

/// Budgets that cut the work into many dispatches and these into many submits.
pub fn submits(reducer: &Reducer) -> Result<(), Failed> {
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
