//! Lost devices: every call reports the loss, none hangs, and other devices work on.

use std::time::Duration;

use super::{bind, buffer, buffer_for, prepared, reducer, told};
use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{DType, Error, Problem, Reducer, Reduction};

/// A device that is destroyed. What was bound before may still be encoded.
#[test]
fn every_call_notices_by_itself_that_the_device_is_gone() {
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).expect("a problem");
    type Call = fn(&Reducer, &Reduction) -> Option<Error>;
    let calls: &[(&str, Call)] = &[
        ("bind", |reducer, reduction| {
            let [a, b] = [(); 2].map(|()| buffer(reducer, 64));
            bind(reduction, &[a.slice(..)], &[b.slice(..)]).err()
        }),
        ("run", |_, r| r.run_bytes_blocking(&[&[0; 24]]).err()),
        ("future", |_, r| {
            pollster::block_on(r.run_bytes(&[&[0; 24]])).err()
        }),
        ("timed", |_, r| r.run_timed_blocking(&[&[0; 24]]).err()),
        ("new", |r, _| Reducer::new(r.device(), r.queue()).err()),
        ("close", |r, _| {
            r.clone().close(Duration::from_secs(9)).err()
        }),
        ("prepare", |reducer, _| {
            let other = Problem::reduce_min(DType::I64, &[9, 90], &[1]).expect("a problem");
            reducer.prepare_blocking(&other).err()
        }),
    ];
    for (name, call) in calls {
        for (ran_before, encodes) in [(false, false), (true, false), (false, true)] {
            let reducer = reducer();
            let reduction = reducer.prepare_blocking(&problem).expect("a reduction");
            if ran_before {
                assert!(reduction.run_bytes_blocking(&[&[0; 24]]).is_ok());
            }
            let [a, b] = [(); 2].map(|()| buffer(&reducer, 64));
            let bound = bind(&reduction, &[a.slice(..)], &[b.slice(..)]).expect("bound");
            reducer.device().destroy();
            let mut encoder = reducer.device().create_command_encoder(&Default::default());
            if encodes {
                bound.encode(&mut encoder);
            }
            for _ in 0..2 {
                match call(&reducer, &reduction) {
                    Some(Error::DeviceLost { message }) => assert!(!message.is_empty(), "{name}"),
                    other => panic!("{name}, ran before: {ran_before}: {other:?}"),
                }
            }
        }
    }
}

/// wgpu panics inside a poll when a device is lost for good; a callback that panics there does the same.
#[test]
fn a_panic_while_the_device_is_polled_is_a_lost_device_and_ends_no_process() {
    type Run = fn(&Reduction) -> Result<Vec<Vec<u8>>, Error>;
    let runs: [Run; 2] = [
        |r| r.run_bytes_blocking(&[&[0; 24]]),
        |r| pollster::block_on(r.run_bytes(&[&[0; 24]])),
    ];
    for run in runs {
        let reducer = reducer();
        let reduction = prepared(&reducer, Problem::arg_min(DType::F32, &[2, 3], 1));
        let mapped = buffer_for(&reducer, 16, BufferUsages::MAP_READ);
        let panics = |_| panic!("as wgpu does");
        mapped.slice(..).map_async(wgpu::MapMode::Read, panics);
        let lost = "the device is lost: as wgpu does";
        assert_eq!(told(Reducer::new(reducer.device(), reducer.queue())), lost);
        let mapped = buffer_for(&reducer, 16, BufferUsages::MAP_READ);
        mapped.slice(..).map_async(wgpu::MapMode::Read, panics);
        assert_eq!(told(run(&reduction)), lost);
        // A device that is known to be lost is not asked again.
        assert_eq!(told(run(&reduction)), lost);
        let again = told(reducer.prepare_blocking(reduction.problem()));
        assert!(again.starts_with("the device is lost: "), "{again}");
        // Another device in the same process still works.
        let other = prepared(&self::reducer(), Ok(reduction.problem().clone()));
        assert!(run(&other).is_ok());
    }
}

#[test]
fn a_device_that_is_lost_during_a_run_loses_the_run_and_hangs_nobody() {
    let mut lost = 0;
    for polls in (1..4).cycle().take(12) {
        let reducer = reducer();
        let reduction = prepared(&reducer, Problem::arg_min(DType::F32, &[3, 50], 1));
        let mut future = Box::pin(reduction.run_bytes(&[&[0; 600]]));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        // Each poll gets as far as the device has answered: the upload, the run, the readback.
        let mut done = false;
        for _ in 0..polls {
            done = done || future.as_mut().poll(&mut context).is_ready();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        reducer.device().destroy();
        if !done {
            match pollster::block_on(future) {
                Err(Error::DeviceLost { .. }) => lost += 1,
                // The run was done before the loss.
                Ok(outputs) => assert_eq!(outputs[0].len(), 24),
                other => panic!("{other:?}"),
            }
        }
        let again = reduction.run_bytes_blocking(&[&[0; 600]]);
        assert!(matches!(again, Err(Error::DeviceLost { .. })), "{again:?}");
    }
    assert!(lost > 0, "no device was lost in time");
}

/// Destroys the device when a stream reads beyond `after` bytes; returns its result and the bytes written.
fn stream_of_a_lost_device(blocking: bool, after: u64) -> (Result<(), Error>, u64) {
    let reducer = reducer();
    let problem = Problem::max(DType::U8, &[[50_000u64]]).expect("a problem");
    let stream = reducer.stream_blocking(&problem, 20_000).expect("a stream");
    let mut written = 0;
    let device = reducer.device().clone();
    let read = |_, at: u64, into: &mut [u8]| {
        if at + into.len() as u64 > after {
            device.destroy();
        }
        into.fill(1);
        Ok(())
    };
    let write = |_, _, part: &[u8]| {
        written += part.len() as u64;
        Ok(())
    };
    let done = match blocking {
        true => stream.run_blocking(read, write),
        false => pollster::block_on(stream.run(read, write)),
    };
    (done, written)
}

#[test]
fn a_device_that_is_lost_during_a_stream_ends_it_with_an_error() {
    for blocking in [true, false] {
        for after in [0, 1, 20_000, 49_999] {
            let (done, written) = stream_of_a_lost_device(blocking, after);
            let lost = matches!(done, Err(Error::DeviceLost { .. }));
            assert!(lost, "{after}: {done:?}");
            assert!(written < 50_000, "{after}: all was written");
        }
        let (done, written) = stream_of_a_lost_device(blocking, 50_000);
        assert!(done.is_ok() && written == 50_000, "{done:?}");
    }
}

#[test]
fn a_device_that_is_lost_gives_no_partial_result() {
    let problem = Problem::arg_min(DType::U8, &[3, 50_000], 1).expect("a problem");
    let data = vec![1; 150_000];
    for blocking in [true, false] {
        let reducer = reducer();
        let shard = reducer.shard_blocking(&problem, 60_000).expect("a shard");
        reducer.device().destroy();
        let done = match blocking {
            true => shard.run_bytes_blocking(0, &data),
            false => pollster::block_on(shard.run_bytes(0, &data)),
        };
        assert!(matches!(done, Err(Error::DeviceLost { .. })), "{done:?}");
    }
}
