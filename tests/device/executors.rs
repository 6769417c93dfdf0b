//! Futures: under any executor, with and without the library's own thread, and dropped at every point.

use super::noop::Noop;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use wgreduce::{DType, Error, Polling, Problem, Reducer, Reduction, StreamedReduction, wgpu};

fn reduction(noop: &Noop, polling: Polling, shape: &[u64]) -> Reduction {
    let problem = Problem::arg_max(DType::U8, shape, 1).expect("a problem");
    let reducer = noop.reducer.with_polling(polling);
    reducer.prepare_blocking(&problem).expect("a reduction")
}

fn streamed(reducer: &Reducer, problem: &Problem, memory: u64) -> StreamedReduction {
    let stream = reducer.stream_blocking(problem, memory);
    stream.expect("a stream")
}

/// Tests that count threads run alone, once the threads of other tests have ended.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    while waiters() > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "a waiter stays");
        std::thread::sleep(Duration::from_millis(5));
    }
    alone
}

/// The number of waiter threads of this process; 0 where the system cannot tell.
fn waiters() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    let ours = tasks.filter_map(name);
    let ours = ours.filter(|name| name.trim_end() == "wgreduce waiter");
    ours.count()
}

fn two_workers() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).build().expect("a runtime")
}

fn poll_once<F: Future>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    future.as_mut().poll(&mut context)
}

#[test]
fn futures_complete_under_any_executor() {
    let _alone = alone();
    let noop = Noop::new();
    let reduction = reduction(&noop, Polling::Thread, &[3, 700]);
    let right = |outputs: Result<Vec<Vec<u8>>, _>| assert_eq!(outputs.expect("a run")[0].len(), 24);
    right(pollster::block_on(reduction.run_bytes(&[&[0; 2100]])));
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.build().expect("a runtime");
    right(runtime.block_on(reduction.run_bytes(&[&[0; 2100]])));
    let runtime = two_workers();
    let reduction = std::sync::Arc::new(reduction);
    let task = || {
        let reduction = reduction.clone();
        runtime.spawn(async move { reduction.run_bytes(&[&[0; 2100]]).await })
    };
    let tasks: Vec<_> = (0..50).map(|_| task()).collect();
    for task in tasks {
        right(runtime.block_on(task).expect("a task that ends well"));
    }
    if cfg!(target_os = "linux") {
        assert_eq!(waiters(), 1);
    }
}

#[test]
fn a_thread_starts_with_the_first_future_that_waits_and_ends_with_the_reducer() {
    let _alone = alone();
    let noop = Noop::new();
    let reduction = reduction(&noop, Polling::Thread, &[3, 700]);
    assert!(reduction.run_bytes_blocking(&[&[0; 2100]]).is_ok());
    assert_eq!(waiters(), 0);
    assert!(pollster::block_on(reduction.run_bytes(&[&[0; 2100]])).is_ok());
    if cfg!(target_os = "linux") {
        assert_eq!(waiters(), 1);
    }
    drop((reduction, noop));
    drop(_alone);
    // The thread has nothing left to wait for.
    drop(alone());
}

#[test]
fn with_the_callers_polling_there_is_no_thread_and_futures_follow_the_polls() {
    let _alone = alone();
    let noop = Noop::new();
    let reduction = reduction(&noop, Polling::Caller, &[3, 700]);
    let mut future = Box::pin(reduction.run_bytes(&[&[0; 2100]]));
    for _ in 0..100 {
        assert!(poll_once(&mut future).is_pending());
    }
    let (outputs, polls) = polls_of(&noop, future);
    assert_eq!(outputs.expect("a run")[0].len(), 24);
    assert!((2..11).contains(&polls), "{polls} polls");
    // Blocking calls poll the device themselves.
    assert!(reduction.run_bytes_blocking(&[&[0; 2100]]).is_ok());
    assert_eq!(waiters(), 0);
}

#[test]
fn streams_and_shards_are_futures_of_any_executor_and_block_none() {
    let _alone = alone();
    let noop = Noop::new();
    let problem = Problem::arg_max(DType::U8, &[3, 70_000], 1).expect("a problem");
    let stream = streamed(&noop.reducer, &problem, 100_000);
    let shard = noop.reducer.shard_blocking(&problem, 100_000);
    let shard = shard.expect("a shard");
    let runtime = two_workers();
    let run = runtime.spawn(async move {
        let mut written = 0;
        let write = |_, _, bytes: &[u8]| {
            written += bytes.len();
            Ok(())
        };
        stream.run(|_, _, _| Ok(()), write).await?;
        let partial = shard.run(0, |_, _| Ok(())).await?;
        Ok::<_, Error>((written, partial.outputs()[0].bytes()))
    });
    let done = runtime.block_on(run).expect("a task that ends well");
    assert_eq!(done.expect("both runs"), (24, 24));
    drop(runtime);

    // With the caller's polling, nothing else makes a stream go on.
    let reducer = noop.reducer.with_polling(Polling::Caller);
    let stream = streamed(&reducer, &problem, 100_000);
    let mut future = Box::pin(stream.run(|_, _, _| Ok(()), |_, _, _| Ok(())));
    for _ in 0..100 {
        assert!(poll_once(&mut future).is_pending());
    }
    let (done, polls) = polls_of(&noop, future);
    assert!(done.is_ok(), "{done:?}");
    assert!((3..101).contains(&polls), "{polls} polls");
}

#[test]
fn a_stream_is_bounded_in_time_as_a_run_is() {
    let _alone = alone();
    let noop = Noop::new();
    let problem = Problem::arg_max(DType::U8, &[3, 70_000], 1).expect("a problem");
    let run = |reducer: &Reducer| {
        let stream = streamed(reducer, &problem, 100_000);
        stream.run_blocking(|_, _, _| Ok(()), |_, _, _| Ok(()))
    };
    match run(&noop.reducer.with_timeout(Duration::ZERO)) {
        Err(Error::Timeout { seconds }) => assert_eq!(seconds, 0.0),
        other => panic!("{other:?}"),
    }
    assert!(run(&noop.reducer).is_ok());
    assert!(run(&noop.reducer.with_timeout(Duration::MAX)).is_ok());
}

/// Drops a run after some polls; returns whether it was done by then.
fn dropped_after(polls: usize, noop: &Noop, reduction: &Reduction, input: &[&[u8]]) -> bool {
    let mut future = Box::pin(reduction.run_bytes(input));
    let once = |_| {
        let ready = poll_once(&mut future).is_ready();
        noop.buffers();
        ready
    };
    (0..polls).any(once)
}

#[test]
fn a_future_dropped_at_any_point_leaks_nothing_and_harms_no_later_run() {
    let noop = Noop::new();
    let data = vec![0; 40 << 20];
    let (input, shape) = ([data.as_slice()], [1, 40 << 20]);
    let run = |r: &Reduction| drop(r.run_bytes_blocking(&input).expect("a run"));
    let reduction = reduction(&noop, Polling::Caller, &shape);
    run(&reduction);
    let kept = noop.buffers();
    let mut points = 0;
    for polls in (1..).step_by(19) {
        let done = dropped_after(polls, &noop, &reduction, &input);
        assert!(noop.buffers() <= kept, "dropped after {polls} polls");
        run(&reduction);
        assert_eq!(noop.buffers(), kept, "dropped after {polls} polls");
        if done {
            break;
        }
        points += 1;
    }
    // Each on its own reducer, whose buffers are all new and are awaited.
    for polls in (1..).step_by(19) {
        let reducer = Reducer::new(noop.reducer.device(), noop.reducer.queue());
        let reducer = reducer.expect("a reducer").with_polling(Polling::Caller);
        let fresh = reducer.prepare_blocking(reduction.problem());
        let fresh = fresh.expect("a reduction");
        let done = dropped_after(polls, &noop, &fresh, &input);
        run(&fresh);
        drop((reducer, fresh));
        assert_eq!(noop.buffers(), kept, "dropped after {polls} polls");
        if done {
            break;
        }
        points += 1;
    }
    assert!(points >= 6, "only {points} points");
    // A future that is dropped before its first poll has done nothing.
    let calls = noop.calls_of(|| drop(reduction.run_bytes(&input)));
    assert!(calls.is_empty(), "{calls:?}");
}

/// Polls a future until it is done, and the device in between; returns its output and the number of polls.
fn polls_of<F: Future>(noop: &Noop, future: F) -> (F::Output, usize) {
    let mut future = Box::pin(future);
    for polls in 1..10_000 {
        if let Poll::Ready(output) = poll_once(&mut future) {
            return (output, polls);
        }
        let polled = noop.reducer.device().poll(wgpu::PollType::Poll);
        polled.expect("polled");
    }
    panic!("it does not end");
}

#[test]
fn futures_copy_a_mebibyte_a_poll_and_compile_a_kernel_a_poll() {
    let noop = Noop::new();
    let reducer = noop.reducer.with_polling(Polling::Caller);
    // 20 MiB in, 20 MiB out.
    let copy = Problem::min(DType::U8, &[[20 << 20]]).expect("a problem");
    let reduction = reducer.prepare_blocking(&copy).expect("a reduction");
    let data = vec![0; 20 << 20];
    let (_, polls) = polls_of(&noop, reduction.run_bytes(&[&data]));
    assert!(polls > 40, "{polls} polls");
    let stream = streamed(&reducer, &copy, 64 << 20);
    let (_, polls) = polls_of(&noop, stream.run(|_, _, _| Ok(()), |_, _, _| Ok(())));
    assert!(polls > 20, "{polls} polls of a stream");
    // A long row: a pass over slices, and a pass that finishes them.
    let row = Problem::arg_max(DType::F32, &[1, 1 << 22], 1).expect("a problem");
    let (reduction, polls) = polls_of(&noop, reducer.prepare(&row));
    let kernels = reduction.expect("a reduction").plan().passes().len();
    assert_eq!((kernels, polls), (2, 3));
}

#[test]
fn streams_read_each_byte_once_also_for_indices_with_their_values() {
    let noop = Noop::new();
    // Rows longer than a window, columns of several windows, and views of both.
    let problem = |shape: &[u64], axis| {
        let problem = Problem::arg_max(DType::F32, shape, axis).expect("a problem");
        problem.with_values(true)
    };
    let problems = [
        problem(&[3, 100_000], 1),
        problem(&[1000, 300], 0),
        problem(&[300, 1000], 1).strided(0, &[1, 300], 0),
        problem(&[10, 30_000], 1).strided(0, &[-30_000, -1], 299_999),
    ];
    for problem in problems {
        let stream = streamed(&noop.reducer, &problem, 300_000);
        let (mut read, mut written) = (0, [0; 2]);
        let bring = |_, _, into: &mut [u8]| {
            read += into.len() as u64;
            Ok(())
        };
        let take = |output: usize, at, bytes: &[u8]| {
            assert_eq!(written[output], at, "{problem}");
            written[output] += bytes.len() as u64;
            Ok(())
        };
        stream.run_blocking(bring, take).expect("a run");
        assert_eq!(read, problem.input_bytes(0), "{problem}");
        assert_eq!(stream.read_bytes(), read, "{problem}");
        let outputs = problem.outputs();
        assert!(outputs.iter().map(|o| o.bytes()).eq(written), "{problem}");
    }
}

#[test]
fn what_was_kept_goes_with_the_reducer() {
    let noop = Noop::new();
    let none = noop.buffers();
    let reducer = noop.reducer.with_caps(noop.reducer.caps().clone());
    let problem = Problem::arg_max(DType::U8, &[3, 700], 1).expect("a problem");
    for _ in 0..3 {
        let winners: Vec<i64> = reducer.run_blocking(&problem, &[0u8; 2100]).expect("a run");
        assert_eq!(winners.len(), 3);
    }
    assert!(noop.buffers() > none);
    drop(reducer);
    // The upload's chunk stays, as it belongs to all reducers of the device.
    assert_eq!(noop.buffers(), none + 1);
}
