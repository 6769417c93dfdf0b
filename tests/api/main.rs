//! The API on wgpu's noop device, which validates calls but computes nothing: errors, the caller's buffers and
//! encoders, device loss. Needs no adapter.
//!
//! Every device here panics on an uncaptured error, so each test also proves that none of the library's calls,
//! not even a wrong one, reaches the caller's error handler.

mod adapters;
mod buffers;
mod loss;
mod recording;
mod runs;
mod scratch;
mod streams;

use support::device::buffer as buffer_for;
use support::noop::{adapter, instance, reducer};
use wgreduce::wgpu::{self, BufferSlice, BufferUsages};
use wgreduce::{
    BoundReduction, Buffers, DType, Error, Plan, Problem, ProblemError, Reducer, Reduction,
    StreamedReduction,
};

/// A noop device with these limits.
fn noop(limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    device_of(&adapter(&instance(Some(limits.clone()))), limits)
}

fn device_of(adapter: &wgpu::Adapter, limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: limits,
        ..Default::default()
    };
    support::noop::device(adapter, &descriptor)
}

fn reducer_with(limits: wgpu::Limits) -> Reducer {
    let (device, queue) = noop(limits);
    Reducer::new(&device, &queue).expect("a reducer")
}

fn prepared(reducer: &Reducer, problem: Result<Problem, ProblemError>) -> Reduction {
    let problem = problem.expect("a problem");
    reducer.prepare_blocking(&problem).expect("a reduction")
}

fn buffer(reducer: &Reducer, size: u64) -> wgpu::Buffer {
    buffer_for(reducer, size, BufferUsages::STORAGE)
}

fn bind(
    reduction: &Reduction,
    inputs: &[BufferSlice<'_>],
    outputs: &[BufferSlice<'_>],
) -> Result<BoundReduction, Error> {
    let from = inputs.iter().map(|&s| s.into()).collect::<Vec<_>>();
    let to = outputs.iter().map(|&s| s.into()).collect::<Vec<_>>();
    reduction.bind(Buffers::new(&from, &to))
}

/// Submits what the closure records; the device's error handler panics if anything in it is wrong.
fn submit(reducer: &Reducer, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder = reducer.device().create_command_encoder(&Default::default());
    record(&mut encoder);
    reducer.queue().submit([encoder.finish()]);
    let waited = reducer.device().poll(wgpu::PollType::wait_indefinitely());
    waited.expect("the device answers");
}

/// What an error tells.
fn told<T>(result: Result<T, Error>) -> String {
    let result = result.map(drop);
    result.expect_err("an error").to_string()
}

/// Checks what errors tell: each is a line of a table.
#[track_caller]
fn tell<T>(results: Vec<Result<T, Error>>, table: &str) {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let told: Vec<String> = results.into_iter().map(told).collect();
    assert_eq!(told, lines.collect::<Vec<_>>());
}

#[test]
fn everything_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>(_: &T) {}
    shared::<Reducer>();
    shared::<Reduction>();
    shared::<BoundReduction>();
    shared::<Error>();
    shared::<Plan>();
    shared::<Problem>();
    shared::<StreamedReduction>();
    shared::<Buffers<'_>>();
    let (reducer, problem) = (reducer(), Problem::arg_min(DType::F32, &[3], 0));
    let reduction = prepared(&reducer, problem.clone());
    sent(&reduction.run_bytes(&[&[0; 12]]));
    let problem = problem.expect("a problem");
    sent(&reducer.prepare(&problem));
    sent(&reducer.stream(&problem, 0));
    sent(&reducer.shard(&problem, 0));
}
