//! Reductions of tensors as they are: rows, columns and what lies between, of every type, length and
//! option.
//!
//! Problems and data alone; how a result is compared the suite knows.

use super::common::tensor;
use super::{check, golden, same, slices, tuned, variants};
use libtest_mimic::Failed;
use wgreduce::{DType, IndexType, NanPolicy, Plan, Problem, Reducer};

pub fn rows(reducer: &Reducer) -> Result<(), Failed> {
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

/// Rows of tiles, written out and in a loop, and some that are no whole tile. What is written out
/// differs by the size of an element alone.
pub fn short_rows(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in [DType::U8, DType::BF16, DType::F32, DType::I64] {
        for len in [2, 3, 4, 5, 10, 16, 21, 150] {
            check(reducer, dtype, [1030, len, 1], len)?;
        }
    }
    Ok(())
}

pub fn columns(reducer: &Reducer) -> Result<(), Failed> {
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
        // Rows of 225 and 275 vec4: bands, and strips in slices.
        check(reducer, dtype, [1, 40, 3600 / dtype.size()], 3)?;
        check(reducer, dtype, [1, 530, 4400 / dtype.size()], 4)?;
    }
    bands(reducer)
}

/// Bands are written out for the vec4 that a lane takes: every number of them.
fn bands(reducer: &Reducer) -> Result<(), Failed> {
    use DType::{BF16, F32, F64, I8};
    let every: &[u64] = &[2, 4, 6, 8, 10, 12, 14, 16, 18, 24, 26, 32];
    for (dtype, runs) in [
        (F32, every),
        (F64, &[20, 22, 28, 30]),
        (BF16, &[6, 12]),
        (I8, &[10]),
    ] {
        for &runs in runs {
            // But for the first, lanes that have a vec4 less than others.
            let vecs = 8 * runs - 3 * u64::from(runs > 2);
            let shape = [2, 70, vecs * 16 / dtype.size()];
            let input = tensor(dtype, shape, runs);
            let problem = match runs % 4 {
                0 => Problem::arg_max(dtype, &shape, 1)?.select_last_index(true)?,
                _ => Problem::reduce_min(dtype, &shape, &[1])?,
            };
            let plan = Plan::new(&problem, reducer.caps())?;
            let times = u64::from(plan.passes()[0].kernel.times);
            let written = times == runs.next_multiple_of(if runs > 16 { 4 } else { 2 });
            if reducer.caps().long_kernels && reducer.caps().tuning.strips && !written {
                return Err(format!("{plan}: not for {runs} vec4 a lane").into());
            }
            same(reducer, &problem, &[&input], 0)?;
        }
    }
    Ok(())
}

/// Axes of few elements: in whole vec4 and not, of one matrix and many, and panels of them.
pub fn short_axes(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        for shape in [
            // Of the last vec4 that a line needs only a part is there.
            [1, 2, 1089],
            [1, 12, 1536],
            [3, 4, 1001],
            [1, 17, 1089],
            [300, 10, 7],
            [65, 20, 16],
            [130, 100, 16],
        ] {
            check(reducer, dtype, shape, shape[1])?;
        }
    }
    // What is written out differs by the size of an element alone.
    for dtype in [DType::I8, DType::BF16, DType::F32, DType::F64] {
        for shape in [[70, 25, 96], [66, 30, 208], [16, 23, 4848]] {
            check(reducer, dtype, shape, shape[1])?;
        }
    }
    Ok(())
}

pub fn middle_axes(reducer: &Reducer) -> Result<(), Failed> {
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

pub fn values(reducer: &Reducer) -> Result<(), Failed> {
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

pub fn options(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in DType::ALL {
        for shape in [
            [9, 70, 1],
            [2, 33, 8],
            [1, 3000, 1],
            [64, 7, 1],
            [48, 40, 1],
            [32, 4, 16],
            [9, 5, 33],
            [66, 30, 96],
        ] {
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

pub fn degenerate(reducer: &Reducer) -> Result<(), Failed> {
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
pub fn foreign(reducer: &Reducer) -> Result<(), Failed> {
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

pub fn host(reducer: &Reducer) -> Result<(), Failed> {
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

/// What the ONNX reference implementation answered; tests/reference holds the CPU reference
/// to it.
pub fn golden_cases(reducer: &Reducer) -> Result<(), Failed> {
    for case in golden::cases() {
        assert_eq!(case.expected.len() as u64, case.output.bytes());
        same(reducer, &case.problem, &slices(&case.inputs), 0)?;
    }
    Ok(())
}

/// Long axes, tensors above one binding, more rows than workgroups in a dimension.
pub fn large(reducer: &Reducer) -> Result<(), Failed> {
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
    whole(DType::I16, [70_000, 300, 1], 0)?;
    folded(reducer)
}

/// More workgroups than WebGPU promises for a dimension, whatever the device's own limit.
fn folded(reducer: &Reducer) -> Result<(), Failed> {
    let small = tuned(reducer, |t| (t.workgroup, t.short_rows) = (4, 1));
    let reducer = small.with_caps(small.caps().lowered(u64::MAX, 65_535));
    let shape = [1_100_000, 5];
    let input = ramp(DType::F32, shape.iter().product());
    let problem = Problem::arg_min(DType::F32, &shape, 1)?;
    let reduction = reducer.prepare(&problem)?;
    let grid = reduction.plan().passes()[0].workgroups;
    if grid[0] > 65_535 || grid[1] < 2 {
        return Err(format!("{grid:?} is no folded grid").into());
    }
    let outputs = reduction.run_bytes_blocking(&[&input])?;
    let verified = wgreduce::reference::verify(&problem, &[&input], &outputs);
    Ok(verified.map_err(|e| format!("{problem}: {e}"))?)
}

/// Elements that rise and fall slowly, with the extremes near the end and repeated.
pub fn ramp(dtype: DType, n: u64) -> Vec<u8> {
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
