//! The caller's scratch: how much is needed, where it may lie, and what is refused.

use super::{buffer, buffer_for, prepared, reducer, submit, told};
use wgreduce::unstable::Slot;
use wgreduce::wgpu::{self, BufferSlice, BufferUsages};
use wgreduce::{BoundReduction, BufferSplits, Buffers, DType, Error, Problem, Reducer, Reduction};

/// A reduction of scattered axes, with partial results and two tensors between its steps, and
/// the buffers it needs.
pub fn scattered(reducer: &Reducer) -> (Reduction, [wgpu::Buffer; 2], Vec<wgpu::Buffer>) {
    let shape = [64, 5, 640, 5, 64];
    let reduction = prepared(reducer, Problem::reduce_max(DType::F16, &shape, &[0, 2, 4]));
    let tensors = [2 * 64 * 5 * 640 * 5 * 64, 64].map(|bytes| buffer(reducer, bytes));
    let scratch = reduction.scratch_sizes().into_iter();
    let scratch = scratch.map(|bytes| buffer(reducer, bytes + 256)).collect();
    (reduction, tensors, scratch)
}

pub fn bind_with(
    (reduction, [input, output], _): &(Reduction, [wgpu::Buffer; 2], Vec<wgpu::Buffer>),
    scratch: &[BufferSlice<'_>],
) -> Result<BoundReduction, Error> {
    reduction.bind(Buffers {
        inputs: &[input.slice(..).into()],
        outputs: &[output.slice(..).into()],
        scratch: Some(scratch),
    })
}

#[test]
fn scratch_is_as_large_as_the_plan_says() {
    let reducer = reducer();
    let (reduction, _, scratch) = scattered(&reducer);
    assert_eq!(scratch.len(), 3);
    let plan = reduction.plan();
    let slots = [Slot::Partials, Slot::Temp(0), Slot::Temp(1)];
    for (slot, bytes) in slots.into_iter().zip(reduction.scratch_sizes()) {
        // Tensors at other offsets may need more.
        assert!(bytes >= plan.slot_bytes(slot) && plan.slot_bytes(slot) > 0);
    }
    let one = prepared(&reducer, Problem::arg_max(DType::F32, &[1 << 20], 0));
    assert_eq!(one.scratch_sizes(), [one.plan().scratch_bytes()]);
    let none = prepared(&reducer, Problem::arg_max(DType::F32, &[64, 100], 1));
    assert!(none.scratch_sizes().is_empty());
}

/// What is said before is what `bind` takes and, where it is given nothing, asks for.
#[test]
fn tensors_in_pieces_need_the_scratch_that_is_said() {
    let reducer = reducer();
    let problems = [
        Problem::reduce_sum(DType::F32, &[4, 100], &[1]),
        Problem::reduce_min(DType::U8, &[4, 400], &[1]),
        Problem::arg_max(DType::F32, &[400], 0),
        Problem::reduce_max(DType::F16, &[20, 5, 8], &[0, 2]),
        Problem::arg_min(DType::F32, &[10, 40], 0).map(|p| p.strided(0, &[1, 10], 0)),
    ];
    let mut needing = 0;
    for problem in problems {
        let reduction = prepared(&reducer, problem);
        let problem = reduction.problem();
        let [bytes, out] = [problem.input_bytes(0), problem.outputs()[0].bytes()];
        let size = problem.dtype().size();
        let [input, other, output] = [bytes + 64, bytes + 64, out + 4].map(|n| buffer(&reducer, n));
        for cut in [1, 50, 52, 64, 100, bytes / size - 1] {
            let splits = BufferSplits {
                inputs: vec![vec![bytes, cut, 0]],
                outputs: Vec::new(),
            };
            let sizes = reduction.scratch_sizes_in_pieces(&splits).expect("sizes");
            // The second piece is aligned or not.
            for begin in [0, size] {
                let pieces = [input.slice(..cut * size), other.slice(begin..)];
                let bind = |scratch: &[BufferSlice<'_>]| {
                    let inputs = [(&pieces[..]).into()];
                    let outputs = [output.slice(..).into()];
                    let buffers = Buffers::new(&inputs, &outputs).with_scratch(scratch);
                    reduction.bind(buffers).map(drop)
                };
                let scratch: Vec<_> = sizes.iter().map(|&n| buffer(&reducer, n)).collect();
                let scratch: Vec<_> = scratch.iter().map(|b| b.slice(..)).collect();
                bind(&scratch).unwrap_or_else(|e| panic!("{problem} cut at {cut}: {e}"));
                match bind(&[]) {
                    Ok(()) => assert!(sizes.is_empty()),
                    Err(Error::BufferCount { needed, .. }) => assert_eq!(needed, sizes),
                    Err(other) => panic!("{problem} cut at {cut}: {other}"),
                }
            }
            needing += usize::from(sizes != reduction.scratch_sizes());
        }
        let whole = BufferSplits::default();
        let sizes = reduction.scratch_sizes_in_pieces(&whole).expect("sizes");
        assert_eq!(sizes, reduction.scratch_sizes());
    }
    assert!(needing > 5, "{needing}");
}

#[test]
fn scratch_of_the_callers_is_bound_wherever_it_may_begin() {
    let reducer = reducer();
    let all = scattered(&reducer);
    let slices: Vec<_> = all.2.iter().map(|b| b.slice(256..)).collect();
    let bound = bind_with(&all, &slices).expect("bound");
    submit(&reducer, |encoder| bound.encode(encoder));
    let none = prepared(&reducer, Problem::arg_max(DType::F32, &[64, 100], 1));
    let [a, b] = [(); 2].map(|()| buffer(&reducer, 64 * 400));
    let buffers = Buffers {
        inputs: &[a.slice(..).into()],
        outputs: &[b.slice(..).into()],
        scratch: Some(&[]),
    };
    assert!(none.bind(buffers).is_ok());
}

#[test]
fn another_number_of_scratch_buffers_is_refused() {
    let reducer = reducer();
    let all = scattered(&reducer);
    let mut slices: Vec<_> = all.2.iter().map(|b| b.slice(..)).collect();
    slices.push(slices[0]);
    for given in [0, 1, 2, 4] {
        let why = format!("3 are needed, of {:?} bytes", all.0.scratch_sizes());
        let text = format!("{given} scratch buffers were bound where {why}");
        assert_eq!(told(bind_with(&all, &slices[..given])), text);
    }
}

#[test]
fn scratch_that_is_unfit_is_refused() {
    let reducer = reducer();
    let all = scattered(&reducer);
    let sizes = all.0.scratch_sizes();
    let plain = buffer_for(&reducer, sizes[1], BufferUsages::COPY_DST);
    for i in 0..3 {
        let mut slices: Vec<_> = all.2.iter().map(|b| b.slice(..)).collect();
        slices[i] = all.2[i].slice(..sizes[i] - 4);
        let (has, needs) = (sizes[i] - 4, sizes[i]);
        let text = format!("scratch {i} is bound to {has} bytes where {needs} are needed");
        assert_eq!(told(bind_with(&all, &slices)), text);
        slices[i] = all.2[i].slice(16..);
        let text = format!("scratch {i} begins at byte 16, no multiple of 256 bytes");
        assert_eq!(told(bind_with(&all, &slices)), text);
    }
    let slices = [all.2[0].slice(..), plain.slice(..), all.2[2].slice(..)];
    let text = "scratch 1 is bound to a buffer without the usage STORAGE";
    assert_eq!(told(bind_with(&all, &slices)), text);
}

#[test]
fn scratch_that_overlaps_something_else_is_refused() {
    let reducer = reducer();
    let all = scattered(&reducer);
    let (_, [input, _], _) = &all;
    let large = buffer(&reducer, 1 << 26);
    let half = 1 << 25;
    let fresh: Vec<_> = all.2.iter().map(|b| b.slice(..)).collect();
    let [inside, twice] = [input, &large].map(|buffer| buffer.slice(..));
    for (first, second, aliased) in [
        (inside, fresh[1], "scratch 0 overlaps input 0"),
        (fresh[0], inside, "scratch 1 overlaps input 0"),
        (twice, twice, "scratch 1 overlaps scratch 0"),
    ] {
        assert_eq!(told(bind_with(&all, &[first, second, fresh[2]])), aliased);
    }
    // Slices that lie apart in one buffer: a dispatch reads one and writes the other.
    let thirds = [
        large.slice(..half / 2),
        large.slice(half / 2..half),
        large.slice(half..),
    ];
    let bound = bind_with(&all, &thirds).expect("apart");
    submit(&reducer, |encoder| bound.encode(encoder));
    let one = prepared(&reducer, Problem::arg_max(DType::F32, &[1 << 14], 0));
    let behind = |begin: u64| {
        one.bind(Buffers {
            inputs: &[input.slice(..).into()],
            outputs: &[large.slice(..8).into()],
            scratch: Some(&[large.slice(begin..)]),
        })
    };
    assert!(behind(256).is_ok());
    assert_eq!(told(behind(0)), "scratch 0 overlaps output 0");
    assert!(bind_with(&all, &fresh).is_ok());
}
