//! The best elements in order, by every walk and in every way in.

use super::pieces::{cut, shard, streamed};
use super::walks::of_class;
use super::{check_data, same, takes, tuned, turn};
use libtest_mimic::Failed;
use support::device::differs_in_pieces;
use support::views::VIEWS;
use support::{Bits, bytes, drawn, mixed, seeds, tensor, top_problem as problem, types, zeros};
use wgreduce::{AdapterClass, BufferSplits, Caps, Class, DType, Reducer};

/// How many elements are wanted of so many: around the ends of lists, and of workgroups.
fn wanted(len: u64) -> impl Iterator<Item = u64> {
    let some = [0, 1, 2, 3, 7, 8, 16, 17, 32, 33, 100, 256, 257, 1024, 1025];
    let ends = [len.saturating_sub(1), len];
    let fit = some.into_iter().filter(move |&k| k + 1 < len);
    fit.chain(ends).filter(move |&k| k <= len)
}

/// Mappings that differ: the device's own, that of a GPU which few invocations fill, and one with small workgroups and many parts.
fn mappings(reducer: &Reducer) -> [Reducer; 3] {
    let gpu = of_class(reducer, AdapterClass::Discrete);
    let gpu = tuned(&gpu, |t| t.invocations = 32);
    let small = tuned(reducer, |t| (t.workgroup, t.invocations) = (16, 1 << 14));
    let small = small.with_caps(Caps {
        invocations: 16,
        ..small.caps().clone()
    });
    [reducer.clone(), gpu, small]
}

pub fn contiguous(reducer: &Reducer) -> Result<(), Failed> {
    let mappings = mappings(reducer);
    let shapes = [
        [5, 1, 1],
        [3, 1, 4],
        [1030, 2, 1],
        [70, 16, 1],
        [33, 31, 1],
        [9, 100, 1],
        [3, 128, 1],
        [3, 129, 1],
        [2, 515, 1],
        [2, 1000, 1],
        [1, 4095, 1],
        [2, 4097, 1],
        [1, 16_384, 1],
        [1, 40_000, 1],
        [2, 40, 7],
        [1, 37, 24],
        [3, 300, 9],
        [2, 130, 80],
        [2, 3000, 8],
        [1, 300_000, 1],
    ];
    for dtype in types(turn()) {
        for shape in shapes {
            for k in wanted(shape[1]) {
                let way = drawn((dtype, shape, k));
                let problem = problem(dtype, &shape, 1, k, way)?;
                let large = shape[1] > 5000;
                let left_out = large && way % 4 > 0;
                if left_out || !takes(reducer, ("top k", left_out), &problem) {
                    continue;
                }
                let reducer = &mappings[(way / 12 % 3) as usize];
                let data = seeds(shape).map(|seed| tensor(dtype, shape, seed));
                let data = data.take(if large { 2 } else { 12 });
                check_data(reducer, &problem, dtype.size() * (way / 36 % 2), data)?;
                if dtype.class() == Class::Float {
                    let zeros = [false, true].map(|nans| zeros(dtype, shape, nans));
                    check_data(reducer, &problem, 0, zeros.into_iter())?;
                }
            }
        }
    }
    Ok(())
}

/// Elements of which too many are as good as the last one wanted, and those that are in order.
pub fn equal(reducer: &Reducer) -> Result<(), Failed> {
    let mappings = mappings(reducer);
    for dtype in types(turn()) {
        for shape in [[3, 200, 1], [2, 3000, 1], [1, 17_008, 1], [1, 90, 33]] {
            for k in wanted(shape[1]) {
                let way = drawn((shape, k, dtype));
                let problem = problem(dtype, &shape, 1, k, way)?;
                if !takes(reducer, "top k of equal elements", &problem) {
                    continue;
                }
                let n = shape.iter().product::<u64>();
                let mask = if dtype == DType::Bool { 1 } else { u64::MAX };
                // One value; two, of which the better one is rare, not rare, or late; rising and falling ones.
                let value = |kind: u64, i: u64| match kind {
                    0 => 1,
                    1 => u64::from(i % 97 == 5),
                    2 => u64::from(i * 7 % 3 == 1),
                    3 => i / shape[2] % shape[1],
                    4 => u64::from(i / shape[2] % shape[1] * 5 > 3 * shape[1]),
                    _ => shape[1] - 1 - i / shape[2] % shape[1],
                };
                let data = (0..6).map(|kind| bytes(dtype, (0..n).map(|i| value(kind, i) & mask)));
                check_data(&mappings[(way / 12 % 3) as usize], &problem, 0, data)?;
            }
        }
    }
    Ok(())
}

pub fn views(reducer: &Reducer) -> Result<(), Failed> {
    let mappings = mappings(reducer);
    for dtype in types(turn()) {
        for view in VIEWS {
            for axis in 0..view.0.len() {
                let way = drawn((dtype, view, axis));
                let len = view.0[axis];
                let k = [1, len / 2, len][(way / 12 % 3) as usize].min(len);
                let plain = problem(dtype, view.0, axis as i64, k, way)?;
                let problem = plain.strided(0, view.1, view.2);
                if takes(reducer, "top k of views", &problem) {
                    let data = mixed(dtype, view.3, way);
                    let reducer = &mappings[(way / 36 % 3) as usize];
                    same(reducer, &problem, &[&data], dtype.size())?;
                }
            }
        }
    }
    Ok(())
}

/// Several buffers, bindings that hold a part, streams, and parts that are merged.
pub fn pieces(reducer: &Reducer) -> Result<(), Failed> {
    // A binding holds two lists of 3000 entries.
    let small = reducer.with_caps(reducer.caps().lowered(2 * 3000 * 16, 60));
    for dtype in types(turn()) {
        // Lists of a segment that no binding holds at once.
        let shape = [2, 9000, 1];
        let long = problem(dtype, &shape, 1, 50, drawn(dtype))?;
        if takes(reducer, "batches of top k", &long) {
            let small = reducer.with_caps(reducer.caps().lowered(9000, 60));
            let [_, gpu, cramped] = mappings(&small);
            same(&cramped, &long, &[&tensor(dtype, shape, 5)], 0)?;
            // Windows of whole vec4, of which an invocation holds 64 elements.
            let shape = [2, 8192, 1];
            let long = problem(dtype, &shape, 1, 20, drawn(dtype))?;
            same(&gpu, &long, &[&tensor(dtype, shape, 5)], 0)?;
            // More elements than a list has.
            let cramped = cramped.with_caps(reducer.caps().lowered(40_000, 60));
            let shape = [1, 9000, 1];
            let long = problem(dtype, &shape, 1, 1100, drawn(dtype))?;
            same(&cramped, &long, &[&tensor(dtype, shape, 5)], 0)?;
        }
        for shape in [
            [3, 200, 1],
            [40, 8, 1],
            [2, 30, 5],
            [1, 9, 90],
            [1, 3000, 1],
            [6, 7, 1],
            [2, 1, 3],
        ] {
            for k in [1, 3, 5, shape[1]] {
                let k = k.min(shape[1]);
                let way = drawn((dtype, shape, k));
                let problem = problem(dtype, &shape, 1, k, way)?;
                if !takes(reducer, "pieces of top k", &problem) {
                    continue;
                }
                let data = tensor(dtype, shape, way);
                let told = |e: String| format!("{problem}: {e}");
                same(&small, &problem, &[&data], 0)?;
                let bits = &mut Bits::new(way);
                let n = shape.iter().product();
                let results = shape[0] * k * shape[2];
                let cuts = BufferSplits {
                    inputs: vec![cut(n, 1, bits)],
                    outputs: vec![cut(results, 1, bits), cut(results, 1, bits)],
                };
                let (either, offset) = (*bits.pick(&[reducer, &small]), 8 * bits.below(5));
                if let Some(e) = differs_in_pieces(either, &problem, &[&data], &cuts, offset) {
                    return Err(e.into());
                }
                let memory = [600_000, 1 << 30][(way / 12 % 2) as usize];
                streamed(reducer, &problem, std::slice::from_ref(&data), memory).map_err(told)?;
                shard(reducer, &problem, shape, &data, bits)
                    .map_err(|e| told(e.message().unwrap_or_default().into()))?;
            }
        }
    }
    Ok(())
}

/// The places in a list are taken in any order, which must not show.
pub fn a_hundred_times(reducer: &Reducer) -> Result<(), Failed> {
    let gpu = of_class(reducer, AdapterClass::Discrete);
    for (shape, k) in [([4, 3000, 1], 40), ([1, 9000, 1], 7), ([2, 300, 1], 200)] {
        let problem = problem(DType::F32, &shape, 1, k, 0)?;
        if !takes(reducer, "top k a hundred times", &problem) {
            continue;
        }
        let inputs = [3, 8].map(|seed| tensor(DType::F32, shape, seed));
        let runs = (0..100).map(|run| inputs[run % 2].clone());
        check_data(&gpu, &problem, 0, runs)?;
    }
    Ok(())
}
