//! Limits, tunings and budgets: however they cut the work, the results stay the same.

use super::pieces::{shard, streamed};
use super::{check, check_all, data_for, same, same_from_host, slices, takes, tuned, turn};
use libtest_mimic::Failed;
use support::{
    Bits, drawn, extremes, index_problem, mixed, sum_problem, tensor, types, value_problem, ways,
};
use wgreduce::wgpu::{DeviceDescriptor, Instance, InstanceDescriptor, Limits};
use wgreduce::{DType, Plan, Problem, Reducer};

/// Bindings that hold only a few rows: partials of short columns, in whole vec4s and elsewhere. An invocation
/// finishes many outputs, or several partials of each, one after another.
pub fn wide_rows(reducer: &Reducer) -> Result<(), Failed> {
    let several = tuned(reducer, |t| (t.invocations, t.short_rows) = (16, 8));
    let few = several.with_caps(several.caps().lowered(8192, 65_535));
    let turn = turn();
    for dtype in types(turn) {
        let size = dtype.size();
        let wide = [(2048 / size).min(512), (1100 / size).min(480) + 1];
        check(&few, "wide rows", dtype, [1, 23, wide[0]], turn)?;
        check(&few, "wide rows", dtype, [2, 19, wide[1]], turn)?;
        check(&several, "wide rows", dtype, [2, 300, 96], turn)?;
        let shape = [1, 9, 401];
        let both = extremes(dtype, &shape, 1, turn)?;
        if takes(reducer, "wide rows", &both) {
            check_all(&several, &[both], shape)?;
        }
        let fused = index_problem(dtype, &shape, 1, turn)?.with_values(true);
        let value = value_problem(dtype, &shape, &[1], turn)?;
        for problem in [fused, value] {
            if takes(reducer, "wide rows", &problem) {
                check_all(&few, std::slice::from_ref(&problem), shape)?;
                // Here the partial results are the output.
                let input = tensor(dtype, shape, turn);
                let mut bits = Bits::new(drawn(&problem));
                shard(&few, &problem, shape, &input, &mut bits)?;
            }
        }
    }
    // Only some of the rows fit a binding, so results begin inside a word.
    check(&few, "wide rows", DType::U8, [1, 5, 1101], turn)
}

/// Matrices just above a binding and what is left of partial sums: plans take some columns of all rows, streams gather
/// them.
pub fn columns_apart(reducer: &Reducer) -> Result<(), Failed> {
    let few = reducer.with_caps(reducer.caps().lowered(32 << 10, 65_535));
    let apart = |plan: &Plan| {
        let views = plan.passes().iter().flat_map(|pass| pass.src);
        views.filter(|view| view.rows.is_some()).count() > 1
    };
    let turn = turn();
    for dtype in types(turn) {
        for (i, len) in (turn..).zip([3, 9, 21]) {
            let inner = (32 << 10) / dtype.size() / len;
            // Rows that are whole vec4, rows that are not, and a column that is left over.
            let left_over = inner.next_multiple_of(64) + 1;
            // Rows of which a binding holds one: their columns are copied, if partial results are larger than a copy.
            let wide = (20 << 10) / dtype.size() + i;
            for inner in [inner + 3, (inner + 1).next_multiple_of(16), left_over, wide] {
                let shape = [2, len, inner];
                let mut problems = ways(dtype, &shape, 1, i)?;
                if dtype != DType::Bool {
                    problems.push(sum_problem(dtype, &shape, &[1], i)?);
                    problems.push(Problem::reduce_sum(dtype, &shape, &[1])?);
                }
                // Two steps, the second over what the first has left.
                let scattered = value_problem(dtype, &shape, &[0, 2], i)?;
                problems.push(scattered.clone());
                problems.retain(|problem| takes(reducer, "columns apart", problem));
                for problem in problems {
                    let input = mixed(dtype, shape.iter().product(), drawn(&problem));
                    let memory = 6 << 15;
                    // A binding must hold all rows but the last, and some columns of that.
                    let seen = ((len - 1) * inner + 64) * dtype.size() <= 32 << 10;
                    let reduction = few.prepare_blocking(&problem)?;
                    let plan = reduction.plan();
                    assert!(apart(plan) || !seen || problem == scattered, "{plan}");
                    same(&few, &problem, &[&input], i % 2 * dtype.size())?;
                    streamed(reducer, &problem, &[input], memory)?;
                }
            }
        }
    }
    Ok(())
}

/// The same suite at the adapter's limits; at WebGPU's default limits, on a device that has no more; and with
/// small windows, two or three workgroups a dimension and buffers of three windows, once with a larger alignment.
pub fn least_and_most(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    suite(reducer, "own limits", turn)?;
    suite(&at_default_limits(reducer)?, "default limits", turn)?;
    let caps = reducer.caps();
    let small = support::grid::tuned(caps, |t| (t.workgroup, t.slice_bytes) = (16, 64));
    let least = caps.offset_alignment + 16;
    for (name, mut caps, times) in [
        ("least limits", small.lowered(least, 3), 1),
        ("small limits", small.lowered(4096, 2), 8),
    ] {
        caps.buffer_bytes = 3 * caps.binding_bytes;
        caps.offset_alignment *= times;
        suite(&reducer.with_caps(caps), name, turn + 1)?;
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
    // Never unloaded, as Mesa's drivers do not survive it.
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

/// Some of everything: operators, types, rows and columns, scattered axes, values, Min and Max, the caller's
/// buffers and host data, streams and shards.
fn suite(reducer: &Reducer, name: &str, turn: u64) -> Result<(), Failed> {
    for dtype in types(turn) {
        for shape in [[2, 150, 1], [3, 9, 7], [40, 3, 1], [1, 5, 40], [2, 33, 4]] {
            check(reducer, name, dtype, shape, turn)?;
        }
        let shape = [2, 30, 3];
        let fused = index_problem(dtype, &shape, 1, turn)?.with_values(true);
        if takes(reducer, (name, "a shard"), &fused) {
            let mut bits = Bits::new(drawn(&fused));
            let input = tensor(dtype, shape, turn);
            shard(reducer, &fused, shape, &input, &mut bits)?;
        }
        let scattered = value_problem(dtype, &shape, &[0, 2], turn)?;
        let equal = Problem::min(dtype, &[shape, shape])?;
        let broadcast = Problem::max(dtype, &[shape, [2, 1, 3]])?;
        for problem in [fused, scattered, equal, broadcast] {
            if !takes(reducer, name, &problem) {
                continue;
            }
            let drawn = drawn(&problem);
            let inputs = data_for(&problem, drawn >> 1);
            let offset = drawn % 2 * dtype.size();
            same(reducer, &problem, &slices(&inputs), offset)?;
            let memory = 24 * (reducer.caps().offset_alignment + 16);
            streamed(reducer, &problem, &inputs, memory)?;
            same_from_host(&reducer.prepare_blocking(&problem)?, &slices(&inputs))?;
        }
    }
    Ok(())
}

/// Budgets that cut the work into many dispatches, and the dispatches into many submits.
pub fn submits(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    for budget in [0, 6000] {
        let reducer = &tuned(reducer, |t| t.submit_bytes = budget);
        for dtype in types(turn) {
            let n = 30_000 / dtype.size();
            for shape in [[1, n, 1], [n / 40, 40, 1], [1, n / 30, 30], [9, n / 90, 10]] {
                check(reducer, "submits", dtype, shape, turn)?;
            }
            let shape = [9, n / 90, 10];
            let fused = index_problem(dtype, &shape, 1, turn)?.with_values(true);
            let whole = reducer.prepare_blocking(&fused)?;
            assert!(whole.plan().parts().len() > 1, "{whole:?}");
            if takes(reducer, ("timed submits", budget), &fused) {
                let input = mixed(dtype, shape.iter().product(), turn);
                let expected = wgreduce::reference::evaluate(&fused, &[&input])?;
                assert_eq!(whole.run_timed_blocking(&[&input])?.0, expected);
            }
            let scattered = value_problem(dtype, &shape, &[0, 2], turn)?;
            // Four dimensions, of which the budget takes the last and some of the third.
            let min = Problem::min(dtype, &[[3, 3, n / 90, 10], [1, 3, 1, 10]])?;
            for problem in [fused, scattered, min] {
                if takes(reducer, ("submits", budget), &problem) {
                    same(reducer, &problem, &slices(&data_for(&problem, turn)), 0)?;
                }
            }
        }
    }
    Ok(())
}
