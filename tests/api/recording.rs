//! Bound reductions in the caller's encoders and passes.

use super::scratch::{bind_with, scattered};
use super::{bind, buffer, prepared, reducer, reducer_with, submit};
use wgreduce::{DType, Error, IndexType, Problem, Reducer, Reduction, wgpu};

/// All kinds of bindings: at many offsets, with sizes that end inside a vec4, and cut into windows.
#[test]
fn whatever_binds_records_and_submits_without_an_error() {
    let limits = |alignment| wgpu::Limits {
        min_storage_buffer_offset_alignment: alignment,
        ..Default::default()
    };
    for alignment in [32, 256] {
        let whole = reducer_with(limits(alignment));
        let caps = whole.caps().lowered(512, 3);
        for reducer in [&whole, &whole.with_caps(caps)] {
            for dtype in [DType::U8, DType::BF16, DType::I32, DType::F64] {
                // One element more than the small bindings surely hold.
                let more = (512 - u64::from(alignment)) / dtype.size() + 2;
                let shapes = [[3, 21, 1], [1, 700, 1], [2, 31, 5], [1, 40, 16], [4, 1, 1]];
                for shape in shapes.into_iter().chain([[1, more, 1]]) {
                    let problem = Problem::arg_max(dtype, &shape, 1)
                        .map(|p| p.with_values(true).index_type(IndexType::I32));
                    bound_and_run(reducer, &prepared(reducer, problem));
                    let problem = Problem::reduce_min(dtype, &shape, &[0, 2]);
                    bound_and_run(reducer, &prepared(reducer, problem));
                }
            }
        }
    }
}

fn bound_and_run(reducer: &Reducer, reduction: &Reduction) {
    let problem = reduction.problem();
    for step in [0, 1, 3, 37] {
        let input = |bytes: u64, size: u64| {
            let begin = step * size;
            let end = (begin + bytes).next_multiple_of(4);
            (buffer(reducer, end), begin)
        };
        let from = input(problem.input_bytes(0), problem.dtype().size());
        let outputs = problem.outputs();
        let to = outputs.iter().map(|o| input(o.bytes(), o.dtype.size()));
        let to: Vec<_> = to.collect();
        let to: Vec<_> = to.iter().map(|(b, begin)| b.slice(*begin..)).collect();
        let bound = bind(reduction, &[from.0.slice(from.1..)], &to);
        let bound = bound.unwrap_or_else(|e| panic!("{reduction:?}: {e}"));
        // Data that begins at another offset may take another plan.
        let planned = reduction.plan().passes().len();
        assert!(step > 0 || bound.dispatches() == planned, "{reduction:?}");
        assert!(bound.dispatches() > 0, "{reduction:?}");
        submit(reducer, |encoder| bound.encode(encoder));
    }
}

#[test]
fn a_bound_reduction_is_recorded_any_number_of_times() {
    let reducer = reducer();
    let one = prepared(&reducer, Problem::arg_max(DType::F32, &[1 << 16], 0));
    let two = prepared(&reducer, Problem::reduce_max(DType::U8, &[70, 70], &[0]));
    let [a, b, c] = [(); 3].map(|()| buffer(&reducer, 1 << 18));
    let one = bind(&one, &[a.slice(..)], &[b.slice(..)]).expect("bound");
    let two = bind(&two, &[a.slice(..)], &[c.slice(..)]).expect("bound");
    // In two encoders, one after the other.
    submit(&reducer, |encoder| one.encode(encoder));
    submit(&reducer, |encoder| one.encode(encoder));
    // Two reductions in one encoder, one of them twice.
    submit(&reducer, |encoder| {
        one.encode(encoder);
        two.encode(encoder);
        one.encode(encoder);
    });
    // In the caller's own pass.
    submit(&reducer, |encoder| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        two.record(&mut pass);
        one.record(&mut pass);
    });
    // After the caller has dropped the buffers.
    drop((a, b, c));
    submit(&reducer, |encoder| two.encode(encoder));
}

/// A `BoundReduction` cannot know this; the error appears in the caller's submit, and only there.
#[test]
fn a_buffer_that_is_destroyed_after_it_was_bound_fails_the_callers_submit() {
    let reducer = reducer();
    let reduction = prepared(&reducer, Problem::arg_min(DType::F32, &[2, 3], 1));
    for destroyed in 0..2 {
        let buffers = [(); 2].map(|()| buffer(&reducer, 64));
        let bound = bind(&reduction, &[buffers[0].slice(..)], &[buffers[1].slice(..)]);
        let bound = bound.expect("bound");
        buffers[destroyed].destroy();
        let device = reducer.device();
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.encode(&mut encoder);
        let commands = encoder.finish();
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        reducer.queue().submit([commands]);
        let error = pollster::block_on(scope.pop()).expect("an error");
        assert!(error.to_string().contains("destroyed"), "{error}");
        // The library's own calls still work.
        assert!(reduction.run_bytes_blocking(&[&[0; 24]]).is_ok());
        // Binding the destroyed buffer again is refused.
        let again = bind(&reduction, &[buffers[0].slice(..)], &[buffers[1].slice(..)]);
        assert!(matches!(again, Err(Error::Device { .. })), "{again:?}");
    }
}

#[test]
fn parts_are_recorded_one_by_one() {
    let small = support::device::tuned(&reducer(), |t| t.submit_bytes = 1 << 20);
    let all = scattered(&small);
    let slices: Vec<_> = all.2.iter().map(|b| b.slice(..)).collect();
    let bound = bind_with(&all, &slices).expect("bound");
    assert_eq!(bound.parts(), all.0.plan().parts().len());
    assert!(bound.parts() > 100);
    // A part number one past the last records nothing.
    for part in 0..=bound.parts() {
        submit(&small, |encoder| bound.encode_part(part, encoder));
    }
    submit(&small, |encoder| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        (0..bound.parts()).for_each(|part| bound.record_part(part, &mut pass));
    });
    let empty = prepared(&small, Problem::arg_min(DType::F32, &[0, 3], 1));
    let tensor = buffer(&small, 4);
    let bound = bind(&empty, &[tensor.slice(..)], &[tensor.slice(..)]).expect("bound");
    assert_eq!((bound.parts(), bound.dispatches()), (0, 0));
    let data = vec![0; all.0.problem().input_bytes(0) as usize];
    assert!(all.0.run_bytes_blocking(&[&data]).is_ok());
}
