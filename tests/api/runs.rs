//! Runs from host data: wrong data, no memory, many threads, futures that nobody awaits.

use super::{bind, buffer, buffer_for, noop, prepared, reducer, reducer_with, tell, told};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::device::tuned;
use wgreduce::reference::{self, VerifyError};
use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{DType, Error, Partial, Problem, Reducer};

#[test]
fn out_of_memory_is_an_error_with_its_bytes_and_the_device_lives_on() {
    // No device has these limits; a reduction over an empty axis needs no input.
    let reducer = reducer_with(wgpu::Limits {
        max_buffer_size: 1 << 62,
        max_storage_buffer_binding_size: 1 << 40,
        ..Default::default()
    });
    let reducer = tuned(&reducer, |t| t.submit_bytes = u64::MAX);
    let bytes = 1u64 << 48;
    let problem = Problem::reduce_min(DType::F64, &[0, bytes / 8], &[0]);
    let reduction = prepared(&reducer, problem);
    for _ in 0..2 {
        let text = format!("out of device memory: an output of {bytes} bytes");
        assert_eq!(told(reduction.run_bytes_blocking(&[&[]])), text);
    }
    let small = Problem::reduce_min(DType::F64, &[0, 3], &[0]).expect("a problem");
    let outputs = reducer.prepare_blocking(&small).expect("a reduction");
    assert!(outputs.run_bytes_blocking(&[&[]]).is_ok());
}

#[test]
fn a_tensor_above_the_largest_buffer_takes_several_and_so_does_scratch() {
    let limit = 16 << 20;
    let reducer = reducer_with(wgpu::Limits {
        max_buffer_size: limit,
        max_storage_buffer_binding_size: limit,
        ..Default::default()
    });
    let run = |problem, bytes: u64| {
        let outputs = prepared(&reducer, problem).run_bytes_blocking(&[&vec![0; bytes as usize]]);
        outputs.expect("a run").swap_remove(0).len() as u64
    };
    let n = limit / 8 + 5;
    assert_eq!(run(Problem::min(DType::F64, &[[n]]), 8 * n), 8 * n);
    // The tensor between its passes takes 16 bytes for each output.
    let n = limit / 16 + 1;
    let scattered = Problem::reduce_min(DType::F64, &[2, n, 3], &[0, 2]);
    let sizes = prepared(&reducer, scattered.clone()).scratch_sizes();
    // A partial result has 8 bytes. The tensor between the passes takes two buffers.
    assert_eq!(sizes, [8 * n + 8, limit, 16]);
    assert_eq!(run(scattered, 48 * n), 8 * n);
}

#[test]
fn data_that_does_not_fit_the_problem_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).expect("a problem");
    let reduction = reducer.prepare_blocking(&problem).expect("a reduction");
    let inputs = [&[0; 24][..]; 2];
    let float32 = reducer.run::<f32, f32>(&problem, &[0.0; 6]);
    let float64 = reducer.run_blocking::<f64, i64>(&problem, &[0.0; 6]);
    let seven = reducer.run_blocking::<f32, i64>(&problem, &[0.0; 7]);
    let results = vec![
        reduction.run_bytes_blocking(&[&[0; 20]]).map(drop),
        reduction.run_bytes_blocking(&[]).map(drop),
        pollster::block_on(reduction.run_bytes(&inputs)).map(drop),
        float64.map(drop),
        pollster::block_on(float32).map(drop),
        seven.map(drop),
    ];
    let told = "
        input 0 has 20 bytes where float32 of shape [2, 3] takes 24
        ArgMin was given 0 inputs where the problem has 1
        ArgMin was given 2 inputs where the problem has 1
        input 0 is float32 (f32) in the problem but float64 (f64) in the call
        output 0 is int64 (i64) in the problem but float32 (f32) in the call
        input 0 has 28 bytes where float32 of shape [2, 3] takes 24
    ";
    tell(results, told);
}

/// Options are plain setters: what is wrong with them is told by whatever is asked to plan or to solve the problem.
#[test]
fn options_that_do_not_fit_are_refused_by_every_call() {
    let reducer = reducer();
    let sum = Problem::reduce_sum(DType::F32, &[2, 3], &[1]).expect("a problem");
    let far = Problem::arg_min(DType::F32, &[2, 3], 1).expect("a problem");
    // Its indices would have 2^63 bytes.
    let many = Problem::arg_min(DType::U8, &[1 << 60, 2], 1).expect("a problem");
    for problem in [sum.with_values(true), far.strided(0, &[-1, 1], 0), many] {
        let refusal = problem.check().expect_err("a refusal");
        let read = |_: usize, _: u64, _: &mut [u8]| Ok(());
        let write = |_: usize, _: u64, _: &[u8]| Ok(());
        let verdict = reference::verify(&problem, &[&[0; 24]], &[[0; 8]]);
        assert_eq!(verdict, Err(VerifyError::Problem(refusal.clone())));
        let typed = reducer.run_blocking::<f32, f32>(&problem, &[0.0; 6]);
        let calls = [
            reference::evaluate_streamed(&problem, read, write),
            reducer.prepare_blocking(&problem).map(drop),
            pollster::block_on(reducer.prepare(&problem)).map(drop),
            reducer.run_bytes_blocking(&problem, &[&[0; 24]]).map(drop),
            typed.map(drop),
            reducer.stream_blocking(&problem, 1 << 20).map(drop),
            reducer.shard_blocking(&problem, 1 << 20).map(drop),
            pollster::block_on(reducer.stream(&problem, 1 << 20)).map(drop),
            pollster::block_on(reducer.shard(&problem, 1 << 20)).map(drop),
            Partial::from_reference(&problem, 0, &[0; 24]).map(drop),
        ];
        for (i, call) in calls.into_iter().enumerate() {
            match call {
                Err(Error::Problem(told)) => assert_eq!(told, refusal, "call {i}"),
                other => panic!("call {i} of {problem}: {other:?}"),
            }
        }
    }
}

#[test]
fn outputs_are_counted_and_iterated_with_their_names() {
    let problem = Problem::arg_max(DType::F32, &[2, 3], 1).map(|p| p.with_values(true));
    let reduction = prepared(&reducer(), problem);
    let outputs = reduction.run_many_blocking(&[&[0f32; 6]]).expect("a run");
    assert_eq!((outputs.len(), outputs.is_empty()), (2, false));
    let all: Vec<_> = outputs.iter().collect();
    let bytes = outputs.bytes();
    assert_eq!(all, [("indices", &bytes[0][..]), ("values", &bytes[1])]);
    assert_eq!([all[0].1.len(), all[1].1.len()], [16, 8]);
    let named: Vec<(&str, Vec<u8>)> = outputs.clone().into_iter().collect();
    assert_eq!(named[1], ("values", bytes[1].clone()));
}

/// The work and the way back are one time there.
#[test]
fn without_timestamps_the_readback_is_part_of_the_wall_time() {
    let reduction = prepared(&reducer(), Problem::reduce_min(DType::F32, &[700], &[]));
    let (_, times) = reduction.run_timed_blocking(&[&[0; 2800]]).expect("a run");
    assert_eq!((times.gpu, times.readback), (None, Duration::ZERO));
    assert!(times.wall > Duration::ZERO);
}

#[test]
fn the_callers_error_handler_stays_and_gets_only_the_callers_errors() {
    let (device, queue) = noop(wgpu::Limits::default());
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    device.on_uncaptured_error(Arc::new(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    let reducer = Reducer::new(&device, &queue).expect("a reducer");
    let reduction = prepared(&reducer, Problem::arg_min(DType::F32, &[2, 3], 1));
    assert!(reduction.run_bytes_blocking(&[&[0; 24]]).is_ok());
    assert!(reduction.run_bytes_blocking(&[&[0; 2]]).is_err());
    let buffer = buffer(&reducer, 64);
    assert!(bind(&reduction, &[buffer.slice(..)], &[buffer.slice(..)]).is_err());
    // wgpu refuses this buffer; the library does not check it beforehand.
    let (gone, output) = (buffer_for(&reducer, 64, BufferUsages::STORAGE), buffer);
    gone.destroy();
    let bound = bind(&reduction, &[gone.slice(..)], &[output.slice(..)]);
    assert!(matches!(bound, Err(Error::Device { .. })), "{bound:?}");
    assert_eq!(count.load(Ordering::Relaxed), 0);
    // An error in a call of the caller's is counted.
    let usage = BufferUsages::MAP_READ | BufferUsages::MAP_WRITE | BufferUsages::STORAGE;
    drop(buffer_for(&reducer, 16, usage));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}
