//! Counts memory to the byte: wgpu's noop device keeps its buffers in memory, and this process's
//! allocator counts and takes a limit. Needs no adapter.

use cap::Cap;
use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::noop::reducer;
use wgreduce::wgpu;
use wgreduce::{DType, Error, Problem};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

const MIB: usize = 1 << 20;

/// Tests that count memory run alone.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A problem with a result of `mib` MiB, the identity, and an empty input.
fn fill(mib: u64) -> Problem {
    let columns = mib * MIB as u64 / 8;
    Problem::reduce_min(DType::F64, &[0, columns], &[0]).expect("a problem")
}

/// Runs with only `more` MiB of memory left.
fn with_mib<T>(more: usize, run: impl FnOnce() -> T) -> T {
    let limit = MEMORY.allocated() + more * MIB;
    MEMORY.set_limit(limit).expect("a limit above what is used");
    let result = run();
    MEMORY.set_limit(usize::MAX).expect("no limit");
    result
}

#[test]
fn out_of_memory_lets_go_of_idle_buffers_and_tries_once_more() {
    let _alone = alone();
    let reducer = reducer();
    let idle = reducer.prepare_blocking(&fill(96)).expect("a reduction");
    assert!(idle.run_bytes_blocking(&[&[]]).is_ok());
    let reduction = reducer.prepare_blocking(&fill(48)).expect("a reduction");
    // This is less than a buffer needs, but far more is free once the idle buffers are gone.
    let outputs = with_mib(24, || reduction.run_bytes_blocking(&[&[]]));
    assert_eq!(outputs.expect("room was made")[0].len(), 48 * MIB);

    // If nothing can be freed, the run fails after one more try.
    drop((idle, reduction));
    let reduction = reducer.prepare_blocking(&fill(48)).expect("a reduction");
    match with_mib(24, || reduction.run_bytes_blocking(&[&[]])) {
        Err(Error::OutOfMemory { bytes, .. }) => assert_eq!(bytes, 48 * MIB as u64),
        other => panic!("{:?}", other.map(drop)),
    }
    // The device still works.
    assert!(reduction.run_bytes_blocking(&[&[]]).is_ok());
}

#[test]
fn out_of_memory_lets_go_of_the_chunks_of_uploads() {
    let _alone = alone();
    let reducer = reducer();
    let n = 40 * MIB as u64;
    let problem = Problem::reduce_min(DType::U8, &[n], &[0]).expect("a problem");
    let large = reducer.prepare_blocking(&problem).expect("a reduction");
    let input = vec![0; n as usize];
    assert!(large.run_bytes_blocking(&[&input]).is_ok());
    drop(large);
    // Two chunks of 16 MiB are left.
    let reduction = reducer.prepare_blocking(&fill(13)).expect("a reduction");
    let outputs = with_mib(12, || reduction.run_bytes_blocking(&[&[]]));
    assert_eq!(outputs.expect("room was made")[0].len(), 13 * MIB);
}

#[test]
fn out_of_memory_waits_for_what_was_dropped_and_is_still_in_use() {
    let _alone = alone();
    let reducer = reducer();
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let before = MEMORY.allocated();
    let buffer = support::device::buffer(&reducer, 64 * MIB as u64, usage);
    // The mapping is not done until someone waits for it.
    buffer.map_async(wgpu::MapMode::Read, .., |_| ());
    drop(buffer);
    let held = MEMORY.allocated() - before;
    assert!(held >= 64 * MIB, "{held} bytes held");
    let reduction = reducer.prepare_blocking(&fill(13)).expect("a reduction");
    let outputs = with_mib(12, || reduction.run_bytes_blocking(&[&[]]));
    assert_eq!(outputs.expect("room was made")[0].len(), 13 * MIB);
}

#[test]
fn the_reference_of_top_k_holds_few_elements_more_than_are_wanted() {
    let _alone = alone();
    for shape in [[1, 8 * MIB as u64], [2 * MIB as u64, 4]] {
        let problem = Problem::top_k(DType::U8, &shape, 1, 3).expect("a problem");
        let input: Vec<u8> = (0..8 * MIB).map(|i| (i % 251) as u8).collect();
        let results: u64 = problem.outputs().iter().map(|o| o.bytes()).sum();
        let more = 12 + results as usize / MIB;
        // What exceeds the limit ends the process.
        let outputs = with_mib(more, || wgreduce::reference::evaluate(&problem, &[&input]));
        let best = if shape[0] == 1 { 250 } else { 3 };
        assert_eq!(outputs.expect("results")[0][0], best);
    }
}

#[test]
fn a_stream_makes_room_for_its_windows() {
    let _alone = alone();
    let reducer = reducer();
    let idle = reducer.prepare_blocking(&fill(128)).expect("a reduction");
    assert!(idle.run_bytes_blocking(&[&[]]).is_ok());
    let stream = reducer.stream_blocking(&fill(256), 120 * MIB as u64);
    let stream = stream.expect("a stream");
    let mut written = 0;
    let write = |_, _, part: &[u8]| {
        written += part.len();
        Ok(())
    };
    let read = |_, _, _: &mut [u8]| Ok(());
    with_mib(24, || stream.run_blocking(read, write)).expect("room was made");
    assert_eq!(written, 256 * MIB);
}

#[test]
fn ten_thousand_runs_of_all_kinds_take_no_more_memory_than_a_hundred() {
    let _alone = alone();
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[3, 50], 1).expect("a problem");
    let kept = reducer.prepare_blocking(&problem).expect("a reduction");
    let once = |i: usize| match i % 5 {
        0 => drop(kept.run_bytes_blocking(&[&[0; 600]]).expect("a run")),
        1 => drop(pollster::block_on(kept.run_bytes(&[&[0; 600]])).expect("a run")),
        2 => assert!(kept.run_bytes_blocking(&[&[0; 599]]).is_err()),
        3 => {
            let mut future = Box::pin(kept.run_bytes(&[&[0; 600]]));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = future.as_mut().poll(&mut context);
        }
        _ => {
            let reduction = reducer.prepare_blocking(&problem).expect("a reduction");
            drop(reduction.run_bytes_blocking(&[&[0; 600]]).expect("a run"));
        }
    };
    let after = |runs| {
        (0..runs).for_each(once);
        // The next run that waits frees what was dropped.
        once(0);
        MEMORY.allocated()
    };
    after(100);
    let before = after(100);
    let grown = after(10_000).saturating_sub(before);
    // A leak of one byte a run would be 10,000 bytes.
    assert!(grown < 4096, "{grown} bytes more after 10,000 runs");
}
