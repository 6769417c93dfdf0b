//! Reductions by any walk: every type and way, scattered axes, degenerate shapes, buffers of foreign sizes,
//! host data.

use super::{
    check_all, check_data, data_for, same, same_from_host, slices, takes, takes_one_of, tuned, turn,
};
use libtest_mimic::Failed;
use std::ops::Range;
use support::device::{buffer, contents};
use support::{
    Bits, bytes, float_bits, golden, index_problem, mixed, tensor, types, value_problem, ways,
};
use wgreduce::wgpu::BufferUsages;
use wgreduce::{Buffers, Class, DType, Problem, Reducer, Tensor};

/// All types, each in every order: values of short rows, indices of long rows, both of columns.
pub fn every_type(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        // Only floats can be NaN, which the second half of the ways ignores.
        let policies = if dtype.class() == Class::Float { 2 } else { 1 };
        for (shape, values, indices) in [
            ([14, 3, 1], true, false),
            ([14, 70, 1], false, true),
            ([1, 37, 16], true, true),
        ] {
            let value = |way| value_problem(dtype, &shape, &[1], way);
            let index = |way| index_problem(dtype, &shape, 1, way);
            let values = (0..3 * policies).filter(|_| values).map(value);
            let indices = (0..6 * policies).filter(|_| indices).map(index);
            for problem in values.chain(indices) {
                let problem = problem?;
                if takes(reducer, "every type", &problem) {
                    if policies == 2 {
                        let zeros = zeros_and_nans(dtype, shape.iter().product());
                        same(reducer, &problem, &[&zeros], 0)?;
                    }
                    check_all(reducer, &[problem], shape)?;
                }
            }
        }
    }
    Ok(())
}

/// Floats whose magnitudes are the least there is, among NaNs.
fn zeros_and_nans(dtype: DType, n: u64) -> Vec<u8> {
    let mut bits = Bits::new(n);
    let all = [0, 1 << (8 * dtype.size() - 1), float_bits(dtype).1];
    bytes(dtype, (0..n).map(|_| *bits.pick(&all)))
}

pub fn scattered(reducer: &Reducer) -> Result<(), Failed> {
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
    for &(shape, axes) in cases {
        for dtype in types(turn()) {
            for way in 0..6 {
                let problem = value_problem(dtype, shape, axes, way)?;
                let problem = problem.keepdims(way % 2 == 0);
                if takes(reducer, "scattered", &problem) {
                    let data = (0..4).map(|seed| data_for(&problem, seed).remove(0));
                    check_data(reducer, &problem, 0, data)?;
                }
            }
        }
    }
    Ok(())
}

pub fn degenerate(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in types(6).into_iter().chain([DType::Bool, DType::BF16]) {
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
            let input = mixed(dtype, n, 19);
            let mut problems = vec![
                Problem::reduce_min(dtype, shape, &[])?,
                Problem::reduce_max(dtype, shape, &[])?,
                Problem::reduce_min(dtype, shape, &[])?.noop_with_empty_axes(true),
                Problem::min(dtype, &[shape])?,
            ];
            for axis in 0..shape.len().max(1) as i64 {
                problems.extend(Problem::arg_min(dtype, shape, axis));
                problems.extend(Problem::reduce_max(dtype, shape, &[axis]));
            }
            for problem in problems {
                if takes(reducer, "degenerate", &problem) {
                    same(reducer, &problem, &[&input], 0)?;
                }
            }
        }
    }
    Ok(())
}

/// Sizes of 4, 8 and 12 modulo 16 bytes, odd row lengths, and every kind of offset.
pub fn foreign(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    let check = |problem: &Problem, input: &[u8], offset: u64| match takes_one_of(
        reducer, 1, "foreign", problem, offset,
    ) {
        true => same(reducer, problem, &[input], offset),
        false => Ok(()),
    };
    for dtype in types(turn) {
        let size = dtype.size();
        for n in 1..=17 {
            let n = n * 4 / size.min(4);
            let input = mixed(dtype, n, n);
            for problem in ways(dtype, &[n], 0, turn)? {
                check(&problem, &input, 0)?;
            }
        }
        for offset in [1, 2, 4, 8, 12, 20, 260] {
            if offset % size != 0 {
                continue;
            }
            for shape in [[14, 21, 1], [1, 999, 1], [2, 31, 5], [1, 40, 16]] {
                let input = tensor(dtype, shape, offset);
                for problem in ways(dtype, &shape, 1, turn)? {
                    check(&problem, &input, offset)?;
                }
            }
        }
    }
    Ok(())
}

pub fn host(reducer: &Reducer) -> Result<(), Failed> {
    let scores = [0.5f32, 2.0, -1.0, f32::NAN, 9.0, 9.0];
    let problem = Problem::arg_max(DType::F32, &[2, 3], 1)?.keepdims(false);
    let winners: Vec<i64> = reducer.run_blocking(&problem, &scores)?;
    assert_eq!(winners, [1, 0]);
    let reduction = reducer.prepare_blocking(&problem)?;
    for _ in 0..3 {
        let again: Vec<i64> = pollster::block_on(reduction.run(&scores))?;
        assert_eq!(again, winners);
    }
    let (outputs, times) = reduction.run_timed_blocking(&[bytemuck::bytes_of(&scores)])?;
    assert_eq!(outputs[0], bytemuck::cast_slice::<i64, u8>(&winners));
    assert!(times.wall > std::time::Duration::ZERO);
    several_results(reducer, &scores)
}

/// Typed runs with several inputs and outputs, and runs that would drop an output.
fn several_results(reducer: &Reducer, scores: &[f32; 6]) -> Result<(), Failed> {
    let both = Problem::arg_max(DType::F32, &[2, 3], 1)?.with_values(true);
    let outputs = reducer.run_many_blocking(&both, &[scores])?;
    assert_eq!(outputs.get::<i64>(0)?, [1, 0]);
    let values = outputs.get::<f32>(1)?;
    assert!(values[0] == 2.0 && values[1].is_nan(), "{values:?}");
    let one = reducer.run_blocking::<f32, i64>(&both, scores);
    let refused = [one, outputs.get(1), outputs.get(2)];
    let right = [
        "ArgMax gives 2 outputs where the call takes 1",
        "output 1 is float32 (f32) in the problem but int64 (i64) in the call",
        "there is no output 2: ArgMax has 2",
    ];
    let told = refused.map(|refused| refused.unwrap_err().to_string());
    assert_eq!(told, right);
    let least = Problem::min(DType::F32, &[[6], [6]])?;
    let other = scores.map(|x| x - 1.0);
    let outputs = pollster::block_on(reducer.run_many(&least, &[scores, &other[..]]))?;
    assert_eq!(outputs.get::<f32>(0)?[..3], other[..3]);
    let inputs = [bytemuck::bytes_of(scores), bytemuck::bytes_of(&other)];
    let bytes = reducer.run_bytes_blocking(&least, &inputs)?;
    assert_eq!(bytes, outputs.into_bytes());
    Ok(())
}

/// Inputs, outputs and scratch side by side in one buffer, as in a caller's arena.
pub fn arena(reducer: &Reducer) -> Result<(), Failed> {
    let alignment = reducer.caps().offset_alignment;
    let sliced = tuned(reducer, |t| (t.invocations, t.slice_bytes) = (1 << 20, 64));
    for dtype in types(turn()) {
        let size = dtype.size();
        // Everything begins at a whole vec4, or anywhere.
        for (offset, multiple) in [(0, 16), (size, size)] {
            let problems = [
                Problem::arg_max(dtype, &[3, 700, 2], 1)?.with_values(true),
                Problem::reduce_min(dtype, &[5, 4, 60, 3], &[0, 2])?,
                Problem::extremes(dtype, &[9, 70], 1)?,
                Problem::min(dtype, &[[6, 50], [1, 50], [6, 1]])?,
                Problem::arg_min(dtype, &[50, 6], 1)?.strided(0, &[1, 50], 0),
            ];
            for problem in problems {
                for reducer in [reducer, &sliced] {
                    let tuning = &reducer.caps().tuning;
                    if !takes_one_of(reducer, 1, ("arena", tuning), &problem, offset) {
                        continue;
                    }
                    let reduction = reducer.prepare_blocking(&problem)?;
                    let data = data_for(&problem, size);
                    let mut at = offset;
                    let mut place = |bytes: u64, multiple: u64| {
                        let begin = at.next_multiple_of(multiple);
                        at = begin + bytes;
                        begin..at
                    };
                    let inputs = data.iter().map(|d| place(d.len() as u64, multiple));
                    let inputs: Vec<_> = inputs.collect();
                    let outputs = problem.outputs().into_iter();
                    let outputs = outputs.map(|o| place(o.bytes(), multiple.max(o.dtype.size())));
                    let outputs: Vec<_> = outputs.collect();
                    let scratch = reduction.scratch_sizes().into_iter();
                    let scratch: Vec<_> = scratch.map(|bytes| place(bytes, alignment)).collect();
                    let usage =
                        BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
                    let buffer = buffer(reducer, (at + 64).next_multiple_of(4), usage);
                    let mut before = vec![0xa5; buffer.size() as usize];
                    for (range, data) in inputs.iter().zip(&data) {
                        before[range.start as usize..range.end as usize].copy_from_slice(data);
                    }
                    reducer.queue().write_buffer(&buffer, 0, &before);
                    let slice = |r: &Range<u64>| buffer.slice(r.clone());
                    let tensors = |ranges: &[Range<u64>]| -> Vec<Tensor<'_>> {
                        ranges.iter().map(|r| slice(r).into()).collect()
                    };
                    let placed: Vec<_> = scratch.iter().map(slice).collect();
                    let (ins, outs) = (tensors(&inputs), tensors(&outputs));
                    let bound = reduction.bind(Buffers::new(&ins, &outs).with_scratch(&placed))?;
                    let mut encoder = reducer.device().create_command_encoder(&Default::default());
                    bound.encode(&mut encoder);
                    reducer.queue().submit([encoder.finish()]);
                    let after = contents(reducer, &buffer)?;
                    let bytes = |r: &Range<u64>| &after[r.start as usize..r.end as usize];
                    let written: Vec<_> = outputs.iter().map(bytes).collect();
                    wgreduce::reference::verify(&problem, &slices(&data), &written)
                        .map_err(|e| format!("{problem}: {e}"))?;
                    let free = |at: &usize| {
                        let mut taken = outputs.iter().chain(&scratch);
                        !taken.any(|r| r.contains(&(*at as u64)))
                    };
                    let mut places = (0..after.len()).filter(free);
                    if let Some(at) = places.find(|&at| after[at] != before[at]) {
                        return Err(format!("{problem}: byte {at} was changed").into());
                    }
                }
            }
        }
    }
    Ok(())
}

/// The answers of the ONNX reference implementation; tests/reference compares the CPU reference with them.
pub fn golden_cases(reducer: &Reducer) -> Result<(), Failed> {
    for case in golden::cases() {
        assert_eq!(case.expected.len() as u64, case.output.bytes());
        if takes_one_of(reducer, 1, "golden", &case.problem, &case.inputs) {
            same(reducer, &case.problem, &slices(&case.inputs), 0)?;
        }
    }
    Ok(())
}

/// Long axes, tensors above one binding, more rows than workgroups in a dimension.
pub fn large(reducer: &Reducer) -> Result<(), Failed> {
    let cases = [
        (DType::F32, [1u64, 1 << 25, 1], 1),
        (DType::U8, [2_000_000, 70, 1], 0),
        (DType::I16, [70_000, 300, 1], 0),
        (DType::F32, [140_000, 5, 1], 1),
        (DType::U8, [3, 50_000_000, 1], 1),
    ];
    for (dtype, shape, axis) in cases {
        let problems = [
            Problem::arg_min(dtype, &shape, axis)?,
            Problem::arg_max(dtype, &shape, axis)?.select_last_index(true),
            Problem::reduce_max(dtype, &shape, &[axis])?,
        ];
        let taken = problems.into_iter();
        let taken: Vec<_> = taken.filter(|p| takes(reducer, "large", p)).collect();
        if taken.is_empty() {
            continue;
        }
        let input = ramp(dtype, shape.iter().product());
        for problem in taken {
            same_from_host(&reducer.prepare_blocking(&problem)?, &[&input])?;
        }
    }
    folded(reducer)
}

/// More workgroups than WebGPU promises for a dimension, whatever the device's own limit.
fn folded(reducer: &Reducer) -> Result<(), Failed> {
    let small = tuned(reducer, |t| (t.workgroup, t.short_rows) = (4, 1));
    let reducer = small.with_caps(small.caps().lowered(u64::MAX, 65_535));
    let shape = [1_100_000, 5];
    let input = ramp(DType::F32, shape.iter().product());
    let problem = Problem::arg_min(DType::F32, &shape, 1)?;
    let reduction = reducer.prepare_blocking(&problem)?;
    let grid = reduction.plan().passes()[0].workgroups;
    if grid[0] > 65_535 || grid[1] < 2 {
        return Err(format!("{grid:?} is no folded grid").into());
    }
    same_from_host(&reduction, &[&input])
}

/// Elements in no particular order; the extremes are repeated, also near the end.
pub fn ramp(dtype: DType, n: u64) -> Vec<u8> {
    let size = dtype.size() as usize;
    let mut bytes = vec![0x11u8; n as usize * size];
    for (i, element) in (0..n).zip(bytes.chunks_exact_mut(size)) {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        element[0] = (x & 0x3f) as u8 | 0x40;
        if x == 77 || i + 3 == n {
            element[size - 1] = 0;
            element[0] = 1;
        }
        if x == 78 || i + 2 == n {
            element[size - 1] = 0x7e;
            element[0] = 0x7f;
        }
    }
    bytes
}
