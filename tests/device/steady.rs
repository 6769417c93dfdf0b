//! The calls that prepared runs make to a device, by wgpu's own trace: nothing is allocated, nothing is
//! compiled, and each run is one submit.

use super::executors::alone;
use super::noop::Noop;
use support::device::buffer;
use wgreduce::wgpu::BufferUsages;
use wgreduce::{Buffers, DType, Problem, Reduction};

fn problem(shape: &[u64]) -> Problem {
    Problem::arg_min(DType::F32, shape, 1).expect("a problem")
}

fn prepared(noop: &Noop, shape: &[u64]) -> Reduction {
    let reduction = noop.reducer.prepare_blocking(&problem(shape));
    reduction.expect("prepared")
}

pub fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|call| call.starts_with(name)).count()
}

/// Fails unless the calls are this many submits and nothing else.
#[track_caller]
fn only_submits(calls: &[String], submits: usize) {
    assert!(calls.iter().all(|call| call == "Submit"), "{calls:?}");
    assert_eq!(calls.len(), submits);
}

#[test]
fn the_record_of_calls_tells_what_is_made() {
    let noop = Noop::new();
    let calls = noop.calls_of(|| drop(prepared(&noop, &[3, 50])));
    assert_eq!(count(&calls, "CreateShaderModule"), 1, "{calls:?}");
    assert_eq!(count(&calls, "CreateComputePipeline"), 1);
    let reducer = &noop.reducer;
    let run = || reducer.run_blocking::<f32, i64>(&problem(&[3, 50]), &[0.0; 150]);
    let calls = noop.calls_of(|| drop(run().expect("a run")));
    // Input, upload, parameters, output and readback; a device may also have timestamps.
    assert!(count(&calls, "CreateBuffer") >= 5, "{calls:?}");
    assert_eq!(count(&calls, "CreateBindGroup"), 1);
    assert_eq!(count(&calls, "Submit"), 1);
}

#[test]
fn a_prepared_run_is_one_submit_and_makes_nothing() {
    // Its futures make a thread wait, and other tests count threads.
    let _alone = alone();
    let noop = Noop::new();
    let reduction = prepared(&noop, &[40, 5000]);
    let input = vec![0u8; 40 * 5000 * 4];
    let blocking = || drop(reduction.run_bytes_blocking(&[&input]).expect("a run"));
    let future = || drop(pollster::block_on(reduction.run_bytes(&[&input])).expect("a run"));
    blocking();
    for run in [&blocking as &dyn Fn(), &future] {
        only_submits(&noop.calls_of(|| (0..20).for_each(|_| run())), 20);
    }
    // A chunk that held this input holds every smaller one, of any reduction.
    let other = prepared(&noop, &[9, 700]);
    let input = [0u8; 9 * 700 * 4];
    let run = || drop(other.run_bytes_blocking(&[&input]).expect("a run"));
    let first = noop.calls_of(run);
    assert!(first.iter().any(|call| call == "CreateBuffer"));
    only_submits(&noop.calls_of(run), 1);
}

#[test]
fn an_upload_of_many_chunks_takes_two_buffers_and_no_more() {
    let noop = Noop::new();
    let n = 11 << 20;
    let reduction = prepared(&noop, &[1, n]);
    let input = vec![0u8; 4 * n as usize];
    let run = || drop(reduction.run_bytes_blocking(&[&input]).expect("a run"));
    run();
    assert_eq!(noop.made("an upload"), 2);
    // 44 MiB: two full chunks are submitted before the work, and the rest with it.
    only_submits(&noop.calls_of(run), 3);
    let smaller = prepared(&noop, &[2, n / 2]);
    let made = noop.calls_of(|| drop(smaller.run_bytes_blocking(&[&input]).expect("a run")));
    let chunks = noop.calls_of(|| drop(prepared(&noop, &[2, n / 2])));
    assert!(chunks.is_empty(), "{chunks:?}");
    // Input, output, readback, and perhaps parameters, scratch and timestamps, but no upload.
    assert!(count(&made, "CreateBuffer") <= 7, "{made:?}");
    assert_eq!(noop.made("an upload"), 2);
}

#[test]
fn inputs_of_one_run_share_a_submit() {
    let noop = Noop::new();
    let problem = Problem::min(DType::I16, &[[30, 7]; 6]).expect("a problem");
    let reduction = noop.reducer.prepare_blocking(&problem).expect("prepared");
    let inputs = [[0u8; 420].as_slice(); 6];
    let run = || drop(reduction.run_bytes_blocking(&inputs).expect("a run"));
    run();
    only_submits(&noop.calls_of(run), 1);
}

#[test]
fn single_calls_of_the_same_small_problems_make_nothing_after_the_first() {
    let noop = Noop::new();
    let call = |n: u64| {
        let (problem, row) = (problem(&[3, n]), vec![0.0f32; 3 * n as usize]);
        let winners: Vec<i64> = noop.reducer.run_blocking(&problem, &row).expect("a run");
        assert_eq!(winners.len(), 3);
    };
    // As many problems as are kept, one after another.
    let all = || (1..=8).for_each(|i| call(10 * i));
    all();
    only_submits(&noop.calls_of(all), 8);
    // With one more, the oldest is forgotten.
    call(90);
    let forgotten = noop.calls_of(|| call(10));
    assert!(count(&forgotten, "CreateBuffer") > 0, "{forgotten:?}");
    only_submits(&noop.calls_of(|| call(90)), 1);
    // A large problem is not kept.
    let large = || call(1 << 20);
    large();
    assert!(count(&noop.calls_of(large), "CreateBuffer") > 0);
}

#[test]
fn a_new_shape_of_a_known_kernel_compiles_nothing() {
    let noop = Noop::new();
    let kernel = |r: &Reduction| r.plan().passes()[0].kernel;
    // Rows of whole vec4s, and other rows.
    for shapes in [
        [[64, 1000], [8, 1000], [3000, 1024]],
        [[64, 1001], [8, 999], [3000, 1234]],
    ] {
        let first = prepared(&noop, &shapes[0]);
        for shape in &shapes[1..] {
            let same = || assert_eq!(kernel(&first), kernel(&prepared(&noop, shape)));
            let calls = noop.calls_of(same);
            assert!(calls.is_empty(), "{calls:?}");
        }
    }
}

#[test]
fn recording_asks_nothing_of_the_device() {
    let noop = Noop::new();
    let (device, queue) = (noop.reducer.device(), noop.reducer.queue());
    let reduction = prepared(&noop, &[1, 1 << 20]);
    let buffer = |size| buffer(&noop.reducer, size, BufferUsages::STORAGE);
    let sizes = reduction.scratch_sizes();
    let scratch: Vec<_> = sizes.into_iter().map(buffer).collect();
    assert!(!scratch.is_empty());
    let (input, output) = (buffer(4 << 20), buffer(8));
    let scratch: Vec<_> = scratch.iter().map(|b| b.slice(..)).collect();
    let mut bound = None;
    let calls = noop.calls_of(|| {
        let buffers = Buffers {
            inputs: &[input.slice(..).into()],
            outputs: &[output.slice(..).into()],
            scratch: Some(&scratch),
        };
        bound = Some(reduction.bind(buffers).expect("bound"));
    });
    // The caller's scratch is used; only the parameters have a buffer of their own.
    assert_eq!(count(&calls, "CreateBuffer"), 1, "{calls:?}");
    let bound = bound.expect("bound");
    let mut encoder = device.create_command_encoder(&Default::default());
    let calls = noop.calls_of(|| (0..100).for_each(|_| bound.encode(&mut encoder)));
    assert!(calls.is_empty(), "{calls:?}");
    let calls = noop.calls_of(|| {
        queue.submit([encoder.finish()]);
    });
    only_submits(&calls, 1);
}

#[test]
fn a_run_submits_part_by_part() {
    let noop = Noop::new();
    let small = support::device::tuned(&noop.reducer, |t| t.submit_bytes = 100_000);
    let reduction = small.prepare_blocking(&problem(&[100, 3000]));
    let reduction = reduction.expect("prepared");
    let parts = reduction.plan().parts().len();
    assert!(parts >= 12, "{reduction:?}");
    let input = vec![0u8; 1_200_000];
    let run = || drop(reduction.run_bytes_blocking(&[&input]).expect("a run"));
    run();
    only_submits(&noop.calls_of(run), parts);
}
