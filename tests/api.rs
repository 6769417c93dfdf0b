//! The API on wgpu's noop device, which validates and computes nothing: errors, the caller's own
//! buffers and encoders, loss. Needs no adapter.
//!
//! Every device here panics on an uncaptured error, so that each test also proves that none of
//! the library's calls, wrong ones included, reaches a foreign handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wgreduce::wgpu::{self, BufferSlice, BufferUsages};
use wgreduce::{
    AdapterChoice, Bound, Buffers, Caps, DType, Error, IndexType, Plan, Problem, ProblemError,
    Reducer, Reduction, Slot, Stream, Tuning, adapters_blocking,
};

/// A noop device with these limits.
fn noop(limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.flags = wgpu::InstanceFlags::empty();
    let mut options = wgpu::NoopBackendOptions::enabled();
    options.limits = Some(limits.clone());
    descriptor.backend_options.noop = options;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()));
    device_of(&adapter.expect("noop"), limits)
}

/// A device that panics on an uncaptured error.
fn device_of(adapter: &wgpu::Adapter, limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: limits,
        ..Default::default()
    };
    let opened = pollster::block_on(adapter.request_device(&descriptor));
    let (device, queue) = opened.expect("a device");
    device.on_uncaptured_error(Arc::new(|e| panic!("uncaptured: {e}")));
    (device, queue)
}

fn reducer_with(limits: wgpu::Limits) -> Reducer {
    let (device, queue) = noop(limits);
    Reducer::new(&device, &queue).expect("a reducer")
}

fn reducer() -> Reducer {
    reducer_with(wgpu::Limits::default())
}

fn prepared(reducer: &Reducer, problem: Result<Problem, ProblemError>) -> Reduction {
    let problem = problem.expect("a problem");
    reducer.prepare(&problem).expect("a reduction")
}

fn buffer(reducer: &Reducer, size: u64) -> wgpu::Buffer {
    buffer_for(reducer, size, BufferUsages::STORAGE)
}

fn buffer_for(reducer: &Reducer, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    reducer.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    })
}

fn bind(
    reduction: &Reduction,
    inputs: &[BufferSlice<'_>],
    outputs: &[BufferSlice<'_>],
) -> Result<Bound, Error> {
    let from = inputs.iter().map(|&s| s.into()).collect::<Vec<_>>();
    let to = outputs.iter().map(|&s| s.into()).collect::<Vec<_>>();
    reduction.bind(Buffers {
        inputs: &from,
        outputs: &to,
        scratch: None,
    })
}

/// Submits what the closure records; the device's handler panics if anything is wrong with it.
fn submit(reducer: &Reducer, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder = reducer.device().create_command_encoder(&Default::default());
    record(&mut encoder);
    reducer.queue().submit([encoder.finish()]);
    let waited = reducer.device().poll(wgpu::PollType::wait_indefinitely());
    waited.expect("the device answers");
}

#[test]
fn another_number_of_buffers_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).and_then(|p| p.with_values(true));
    let reduction = prepared(&reducer, problem);
    let all = [(); 4].map(|()| buffer(&reducer, 64));
    let slices: Vec<_> = all.iter().map(|b| b.slice(..)).collect();
    for (inputs, outputs, wrong, right, given) in [
        (&slices[..0], &slices[1..3], "input", 1, 0),
        (&slices[..2], &slices[2..], "input", 1, 2),
        (&slices[..1], &slices[1..2], "output", 2, 1),
        (&slices[..1], &slices[1..], "output", 2, 3),
    ] {
        match bind(&reduction, inputs, outputs) {
            Err(Error::BufferCount {
                what,
                expected,
                actual,
            }) => assert_eq!((what, expected, actual), (wrong, right, given)),
            other => panic!("{other:?}"),
        }
    }
    assert!(bind(&reduction, &slices[..1], &slices[1..3]).is_ok());
}

fn too_small(result: Result<Bound, Error>, expected: (&str, usize, u64, u64)) {
    match result {
        Err(Error::BufferTooSmall {
            what,
            index,
            needed,
            actual,
        }) => assert_eq!((what, index, needed, actual), expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_slice_shorter_than_its_tensor_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).and_then(|p| p.with_values(true));
    let reduction = prepared(&reducer, problem);
    let [a, b, c] = [(); 3].map(|()| buffer(&reducer, 64));
    let bound = bind(&reduction, &[a.slice(..20)], &[b.slice(..), c.slice(..)]);
    too_small(bound, ("input", 0, 24, 20));
    let bound = bind(&reduction, &[a.slice(..)], &[b.slice(..8), c.slice(..)]);
    too_small(bound, ("output", 0, 16, 8));
    let bound = bind(&reduction, &[a.slice(..)], &[b.slice(..), c.slice(60..)]);
    too_small(bound, ("output", 1, 8, 4));
    assert!(
        bind(
            &reduction,
            &[a.slice(40..)],
            &[b.slice(48..), c.slice(56..)]
        )
        .is_ok()
    );
}

#[test]
fn a_buffer_that_ends_inside_the_last_word_is_refused() {
    let reducer = reducer();
    let reduction = prepared(&reducer, Problem::reduce_max(DType::U8, &[5, 1], &[1]));
    let whole = buffer(&reducer, 8);
    let [five, ten] = [5, 10].map(|n| buffer(&reducer, n));
    let bound = bind(&reduction, &[five.slice(..)], &[whole.slice(..)]);
    too_small(bound, ("input", 0, 8, 5));
    let bound = bind(&reduction, &[ten.slice(5..)], &[whole.slice(..)]);
    too_small(bound, ("input", 0, 7, 5));
    let bound = bind(&reduction, &[whole.slice(..)], &[ten.slice(5..)]);
    too_small(bound, ("output", 0, 7, 5));
    assert!(bind(&reduction, &[ten.slice(2..7)], &[whole.slice(3..)]).is_ok());
}

#[test]
fn a_slice_that_begins_inside_an_element_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F16, &[2, 3], 1).and_then(|p| p.with_values(true));
    let reduction = prepared(&reducer, problem);
    let [a, b, c] = [(); 3].map(|()| buffer(&reducer, 64));
    for (offsets, expected) in [
        ([1, 0, 0], ("input", 0, 1, 2)),
        ([2, 4, 0], ("output", 0, 4, 8)),
        ([2, 8, 3], ("output", 1, 3, 2)),
    ] {
        let [i, j, k] = offsets;
        let outputs = [b.slice(j..), c.slice(k..)];
        match bind(&reduction, &[a.slice(i..)], &outputs) {
            Err(Error::BufferMisaligned {
                what,
                index,
                offset,
                element,
            }) => assert_eq!((what, index, offset, element), expected),
            other => panic!("{other:?}"),
        }
    }
    assert!(bind(&reduction, &[a.slice(2..)], &[b.slice(8..), c.slice(6..)]).is_ok());
}

#[test]
fn a_buffer_without_storage_usage_is_refused() {
    let reducer = reducer();
    let reduction = prepared(&reducer, Problem::reduce_min(DType::F32, &[4], &[]));
    let good = [(); 2].map(|()| buffer(&reducer, 16));
    let bad = buffer_for(&reducer, 16, BufferUsages::COPY_DST | BufferUsages::UNIFORM);
    for (input, output, expected) in [(&bad, &good[0], "input"), (&good[0], &bad, "output")] {
        match bind(&reduction, &[input.slice(..)], &[output.slice(..)]) {
            Err(Error::BufferUsage { what, index }) => assert_eq!((what, index), (expected, 0)),
            other => panic!("{other:?}"),
        }
    }
    assert!(bind(&reduction, &[good[0].slice(..)], &[good[1].slice(..)]).is_ok());
}

#[test]
fn an_output_in_a_buffer_that_is_bound_elsewhere_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).and_then(|p| p.with_values(true));
    let reduction = prepared(&reducer, problem);
    let [a, b] = [(); 2].map(|()| buffer(&reducer, 1024));
    // Disjoint ranges are refused as well: wgpu allows no buffer to be read and written.
    for (outputs, aliased) in [([&a, &b], 0), ([&b, &a], 1), ([&b, &b], 1)] {
        let outputs = [outputs[0].slice(256..), outputs[1].slice(512..)];
        match bind(&reduction, &[a.slice(..24)], &outputs) {
            Err(Error::Aliased { output }) => assert_eq!(output, aliased),
            other => panic!("{other:?}"),
        }
    }
    // An empty tensor is nowhere.
    let empty = prepared(&reducer, Problem::arg_min(DType::F32, &[0, 3], 1));
    assert!(bind(&empty, &[a.slice(..4)], &[a.slice(..4)]).is_ok());
}

/// A reduction of scattered axes, with partial results and two tensors between its steps, and
/// the buffers it needs.
fn scattered(reducer: &Reducer) -> (Reduction, [wgpu::Buffer; 2], Vec<wgpu::Buffer>) {
    let shape = [64, 5, 640, 5, 64];
    let reduction = prepared(reducer, Problem::reduce_max(DType::F16, &shape, &[0, 2, 4]));
    let tensors = [2 * 64 * 5 * 640 * 5 * 64, 64].map(|bytes| buffer(reducer, bytes));
    let scratch = reduction.scratch_sizes().into_iter();
    let scratch = scratch.map(|bytes| buffer(reducer, bytes + 256)).collect();
    (reduction, tensors, scratch)
}

fn bind_with(
    (reduction, [input, output], _): &(Reduction, [wgpu::Buffer; 2], Vec<wgpu::Buffer>),
    scratch: &[BufferSlice<'_>],
) -> Result<Bound, Error> {
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
    let slots = [Slot::Records, Slot::Temp(0), Slot::Temp(1)];
    for (slot, bytes) in slots.into_iter().zip(reduction.scratch_sizes()) {
        // Tensors that begin anywhere may need more.
        assert!(bytes >= plan.slot_bytes(slot) && plan.slot_bytes(slot) > 0);
    }
    let one = prepared(&reducer, Problem::arg_max(DType::F32, &[1 << 20], 0));
    assert_eq!(one.scratch_sizes(), [one.plan().scratch_bytes()]);
    let none = prepared(&reducer, Problem::arg_max(DType::F32, &[64, 100], 1));
    assert!(none.scratch_sizes().is_empty());
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
        match bind_with(&all, &slices[..given]) {
            Err(Error::BufferCount {
                what,
                expected,
                actual,
            }) => assert_eq!((what, expected, actual), ("scratch", 3, given)),
            other => panic!("{other:?}"),
        }
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
        let expected = ("scratch", i, sizes[i], sizes[i] - 4);
        too_small(bind_with(&all, &slices), expected);
        slices[i] = all.2[i].slice(16..);
        match bind_with(&all, &slices) {
            Err(Error::BufferMisaligned {
                what,
                index,
                offset,
                element,
            }) => assert_eq!((what, index, offset, element), ("scratch", i, 16, 256)),
            other => panic!("{other:?}"),
        }
    }
    let slices = [all.2[0].slice(..), plain.slice(..), all.2[2].slice(..)];
    match bind_with(&all, &slices) {
        Err(Error::BufferUsage { what, index }) => assert_eq!((what, index), ("scratch", 1)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn scratch_in_a_buffer_that_is_bound_elsewhere_is_refused() {
    let reducer = reducer();
    let all = scattered(&reducer);
    let (_, [input, output], _) = &all;
    let large = buffer(&reducer, 1 << 26);
    let half = 1 << 25;
    let fresh: Vec<_> = all.2.iter().map(|b| b.slice(..)).collect();
    for (first, second, aliased) in [
        (input.slice(..), fresh[1], 0),
        (fresh[0], input.slice(..), 1),
        // Disjoint ranges as well: a dispatch reads one and writes the other.
        (large.slice(..half), large.slice(half..), 1),
    ] {
        match bind_with(&all, &[first, second, fresh[2]]) {
            Err(Error::AliasedScratch { index }) => assert_eq!(index, aliased),
            other => panic!("{other:?}"),
        }
    }
    let one = prepared(&reducer, Problem::arg_max(DType::F32, &[1 << 14], 0));
    let buffers = Buffers {
        inputs: &[input.slice(..).into()],
        outputs: &[large.slice(..8).into()],
        scratch: Some(&[large.slice(256..)]),
    };
    match one.bind(buffers) {
        Err(Error::AliasedScratch { index }) => assert_eq!(index, 0),
        other => panic!("{other:?}"),
    }
    assert!(output.size() == 64 && bind_with(&all, &fresh).is_ok());
}

#[test]
fn a_view_is_refused_where_its_buffer_ends_before_it() {
    let reducer = reducer();
    let problem = Problem::arg_max(DType::F32, &[3, 4], 1).and_then(|p| p.strided(0, &[1, 3], 5));
    let reduction = prepared(&reducer, problem);
    let (input, output) = (buffer(&reducer, 68), buffer(&reducer, 24));
    let bind = |begin| {
        reduction.bind(Buffers {
            inputs: &[input.slice(begin..).into()],
            outputs: &[output.slice(..).into()],
            scratch: None,
        })
    };
    assert!(bind(0).is_ok());
    too_small(bind(4), ("input", 0, 68, 64));
}

#[test]
fn out_of_memory_is_an_error_with_its_bytes_and_the_device_lives_on() {
    // Limits no device has; the identity of nothing takes no input.
    let reducer = reducer_with(wgpu::Limits {
        max_buffer_size: 1 << 62,
        max_storage_buffer_binding_size: 1 << 40,
        ..Default::default()
    });
    let tuning = Tuning {
        submit_bytes: u64::MAX,
        ..reducer.caps().tuning.clone()
    };
    let reducer = reducer.with_caps(reducer.caps().tuned(tuning));
    let bytes = 1u64 << 48;
    let reduction = prepared(
        &reducer,
        Problem::reduce_min(DType::F64, &[0, bytes / 8], &[0]),
    );
    for _ in 0..2 {
        match reduction.run_bytes_blocking(&[&[]]) {
            Err(Error::OutOfMemory { what, bytes: asked }) => {
                assert_eq!((what, asked), ("an output", bytes));
            }
            other => panic!("{:?}", other.map(drop)),
        }
    }
    let small = Problem::reduce_min(DType::F64, &[0, 3], &[0]).expect("a problem");
    let outputs = reducer.prepare(&small).expect("a reduction");
    assert!(outputs.run_bytes_blocking(&[&[]]).is_ok());
}

#[test]
fn a_tensor_above_the_largest_buffer_takes_several_and_scratch_is_an_error_with_numbers() {
    let limit = 16 << 20;
    let reducer = reducer_with(wgpu::Limits {
        max_buffer_size: limit,
        max_storage_buffer_binding_size: limit,
        ..Default::default()
    });
    let run = |problem, bytes: u64| {
        prepared(&reducer, problem).run_bytes_blocking(&[&vec![0; bytes as usize]])
    };
    let n = limit / 8 + 5;
    let copied = run(Problem::min(DType::F64, &[[n]]), 8 * n).expect("a run");
    assert_eq!(copied[0].len() as u64, 8 * n);
    // Between its steps lie 16 bytes for each.
    let n = limit / 16 + 1;
    let scattered = Problem::reduce_min(DType::F64, &[2, n, 3], &[0, 2]);
    match run(scattered, 48 * n) {
        Err(Error::Limit {
            what,
            needed,
            limit: most,
        }) => assert_eq!((what, needed, most), ("a buffer", 16 * n, limit)),
        other => panic!("{:?}", other.map(drop)),
    }
}

/// Slices of one tensor that do not fit together.
#[test]
fn pieces_that_make_no_tensor_are_refused() {
    let reducer = reducer();
    let problem = Problem::reduce_min(DType::F32, &[4, 4], &[1]);
    let reduction = prepared(&reducer, problem);
    let [a, b, c] = [64, 64, 64].map(|size| buffer(&reducer, size));
    let bind = |inputs: &[wgpu::BufferSlice<'_>], outputs: &[wgpu::BufferSlice<'_>]| {
        let bound = reduction.bind(Buffers {
            inputs: &[inputs.into()],
            outputs: &[outputs.into()],
            scratch: None,
        });
        bound.map(drop).map_err(|e| e.to_string())
    };
    let whole = [a.slice(..40), b.slice(16..40)];
    assert_eq!(bind(&whole, &[c.slice(..8), c.slice(8..16)]), Ok(()));
    let error = |done: Result<(), String>| done.expect_err("no tensor");
    let short = error(bind(&[a.slice(..40), b.slice(..20)], &[c.slice(..)]));
    assert_eq!(short, "input 0 is bound to 60 bytes where 64 are needed");
    let none = error(bind(&[], &[c.slice(..)]));
    assert_eq!(none, "input 0 is bound to 0 bytes where 64 are needed");
    let inside = error(bind(&[a.slice(..42), b.slice(..24)], &[c.slice(..)]));
    assert_eq!(
        inside,
        "input 0 goes on in another buffer at byte 42, inside an element of 4 bytes"
    );
    let odd = error(bind(&[a.slice(..40), b.slice(2..26)], &[c.slice(..)]));
    assert!(odd.contains("input 0 begins at byte 2"), "{odd}");
    let overlapping = error(bind(&whole, &[c.slice(..8), c.slice(4..12)]));
    let shared = error(bind(&whole, &[c.slice(..8), b.slice(..8)]));
    for aliased in [overlapping, shared] {
        assert!(aliased.starts_with("output 0 shares"), "{aliased}");
    }
}

/// All shapes of bindings: at every offset, with sizes that end inside a vec4, and cut.
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
                        .and_then(|p| p.with_values(true)?.index_type(IndexType::I32));
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
        let to: Vec<_> = outputs
            .iter()
            .map(|o| input(o.bytes(), o.dtype.size()))
            .collect();
        let to: Vec<_> = to.iter().map(|(b, begin)| b.slice(*begin..)).collect();
        let bound = bind(reduction, &[from.0.slice(from.1..)], &to);
        let bound = bound.unwrap_or_else(|e| panic!("{reduction:?}: {e}"));
        assert_eq!(bound.dispatches(), reduction.plan().passes().len());
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
    // In two encoders.
    submit(&reducer, |encoder| one.encode(encoder));
    submit(&reducer, |encoder| one.encode(encoder));
    // Two in one encoder, and twice.
    submit(&reducer, |encoder| {
        one.encode(encoder);
        two.encode(encoder);
        one.encode(encoder);
    });
    // Inside of the caller's own pass.
    submit(&reducer, |encoder| {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        two.record(&mut pass);
        one.record(&mut pass);
    });
    // Without what they came from.
    drop((a, b, c));
    submit(&reducer, |encoder| two.encode(encoder));
}

/// What a `Bound` cannot know: it shows where the caller submits, and only there.
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
        // The library's own calls go on.
        assert!(reduction.run_bytes_blocking(&[&[0; 24]]).is_ok());
        // To bind it again is refused.
        let again = bind(&reduction, &[buffers[0].slice(..)], &[buffers[1].slice(..)]);
        assert!(matches!(again, Err(Error::Device { .. })), "{again:?}");
    }
}

#[test]
fn a_buffer_of_another_device_is_refused() {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop = wgpu::NoopBackendOptions::enabled();
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()));
    let adapter = adapter.expect("noop");
    let [reducer, other] = [(); 2].map(|()| {
        let (device, queue) = device_of(&adapter, wgpu::Limits::default());
        Reducer::new(&device, &queue).expect("a reducer")
    });
    let reduction = prepared(&reducer, Problem::arg_min(DType::F32, &[2, 3], 1));
    let [own, foreign] = [&reducer, &other].map(|r| buffer(r, 64));
    for (input, output) in [(&own, &foreign), (&foreign, &own)] {
        let bound = bind(&reduction, &[input.slice(..)], &[output.slice(..)]);
        assert!(matches!(bound, Err(Error::Device { .. })), "{bound:?}");
    }
}

#[test]
fn parts_are_recorded_one_by_one() {
    let reducer = reducer();
    let tuning = Tuning {
        submit_bytes: 1 << 20,
        ..reducer.caps().tuning.clone()
    };
    let small = reducer.with_caps(reducer.caps().tuned(tuning));
    let all = scattered(&small);
    let slices: Vec<_> = all.2.iter().map(|b| b.slice(..)).collect();
    let bound = bind_with(&all, &slices).expect("bound");
    assert_eq!(bound.parts(), all.0.plan().parts().len());
    assert!(bound.parts() > 100);
    // One part more than there are records nothing.
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

#[test]
fn everything_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>(_: &T) {}
    shared::<Reducer>();
    shared::<Reduction>();
    shared::<Bound>();
    shared::<Error>();
    shared::<Plan>();
    shared::<Problem>();
    shared::<Stream>();
    shared::<Buffers<'_>>();
    let reduction = prepared(&reducer(), Problem::arg_min(DType::F32, &[3], 0));
    sent(&reduction.run_bytes(&[&[0; 12]]));
}

#[test]
fn eight_threads_run_one_reduction() {
    let reduction = prepared(&reducer(), Problem::arg_min(DType::F32, &[3, 50], 1));
    std::thread::scope(|scope| {
        let run = |i| {
            let reduction = &reduction;
            scope.spawn(move || {
                for _ in 0..10 {
                    let outputs = match i % 2 {
                        0 => reduction.run_bytes_blocking(&[&[0; 600]]),
                        _ => pollster::block_on(reduction.run_bytes(&[&[0; 600]])),
                    };
                    assert_eq!(outputs.expect("a run")[0].len(), 24);
                }
            })
        };
        let threads: Vec<_> = (0..8).map(run).collect();
        for thread in threads {
            thread.join().expect("a thread that ends well");
        }
    });
}

#[test]
fn a_future_that_is_dropped_halfway_harms_no_later_run() {
    let reduction = prepared(&reducer(), Problem::arg_min(DType::F32, &[3, 50], 1));
    for _ in 0..10 {
        let mut future = Box::pin(reduction.run_bytes(&[&[0; 600]]));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = future.as_mut().poll(&mut context);
        drop(future);
        assert!(reduction.run_bytes_blocking(&[&[0; 600]]).is_ok());
    }
}

#[test]
fn data_that_does_not_fit_the_problem_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).expect("a problem");
    let reduction = reducer.prepare(&problem).expect("a reduction");
    let refused = |result: Result<Vec<Vec<u8>>, Error>| match result {
        Err(Error::Problem(e)) => e,
        other => panic!("{other:?}"),
    };
    let wrong = refused(reduction.run_bytes_blocking(&[&[0; 20]]));
    let expected = ProblemError::InputBytes {
        input: 0,
        dtype: DType::F32,
        shape: vec![2, 3],
        expected: 24,
        actual: 20,
    };
    assert_eq!(wrong, expected);
    let wrong = refused(reduction.run_bytes_blocking(&[]));
    let count = |actual| ProblemError::InputCount {
        op: problem.op(),
        expected: 1,
        actual,
    };
    assert_eq!(wrong, count(0));
    let wrong = refused(pollster::block_on(
        reduction.run_bytes(&[&[0; 24], &[0; 24]]),
    ));
    assert_eq!(wrong, count(2));

    let element = |what: &str, expected, actual| ProblemError::ElementType {
        what: what.into(),
        expected,
        actual,
    };
    match reducer.run_blocking::<f64, i64>(&problem, &[0.0; 6]) {
        Err(Error::Problem(e)) => assert_eq!(e, element("input 0", DType::F32, DType::F64)),
        other => panic!("{other:?}"),
    }
    match pollster::block_on(reducer.run::<f32, f32>(&problem, &[0.0; 6])) {
        Err(Error::Problem(e)) => assert_eq!(e, element("output 0", DType::I64, DType::F32)),
        other => panic!("{other:?}"),
    }
    match reducer.run_blocking::<f32, i64>(&problem, &[0.0; 7]) {
        Err(Error::Problem(ProblemError::InputBytes { actual, .. })) => assert_eq!(actual, 28),
        other => panic!("{other:?}"),
    }
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
    assert_eq!(count.load(Ordering::Relaxed), 0);
    // An error of the caller's own.
    let usage = BufferUsages::MAP_READ | BufferUsages::MAP_WRITE | BufferUsages::STORAGE;
    drop(buffer_for(&reducer, 16, usage));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn a_destroyed_device_is_lost() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).expect("a problem");
    let reduction = reducer.prepare(&problem).expect("a reduction");
    let used = reducer.prepare(&problem).expect("a reduction");
    assert!(used.run_bytes_blocking(&[&[0; 24]]).is_ok());
    let [a, b] = [(); 2].map(|()| buffer(&reducer, 64));
    let bound = bind(&reduction, &[a.slice(..)], &[b.slice(..)]).expect("bound");
    reducer.device().destroy();

    let lost = |what: &str, error: Option<Error>| match error {
        Some(Error::DeviceLost { message }) => assert!(!message.is_empty()),
        other => panic!("{what}: {other:?}"),
    };
    // What was recorded before does no harm.
    let mut encoder = reducer.device().create_command_encoder(&Default::default());
    bound.encode(&mut encoder);
    lost(
        "bind",
        bind(&reduction, &[a.slice(..)], &[b.slice(..)]).err(),
    );
    lost(
        "a first run",
        reduction.run_bytes_blocking(&[&[0; 24]]).err(),
    );
    lost("a second run", used.run_bytes_blocking(&[&[0; 24]]).err());
    lost(
        "a future",
        pollster::block_on(used.run_bytes(&[&[0; 24]])).err(),
    );
    lost("a timed run", used.run_timed_blocking(&[&[0; 24]]).err());
    let other = Problem::reduce_min(DType::I64, &[9, 90], &[1]).expect("a problem");
    lost("compiling", reducer.prepare(&other).err());
}

/// The same, found out by each call alone.
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
        ("prepare", |reducer, _| {
            let other = Problem::reduce_min(DType::I64, &[9, 90], &[1]).expect("a problem");
            reducer.prepare(&other).err()
        }),
    ];
    for (name, call) in calls {
        for ran_before in [false, true] {
            let reducer = reducer();
            let reduction = reducer.prepare(&problem).expect("a reduction");
            if ran_before {
                assert!(reduction.run_bytes_blocking(&[&[0; 24]]).is_ok());
            }
            reducer.device().destroy();
            match call(&reducer, &reduction) {
                Some(Error::DeviceLost { .. }) => {}
                other => panic!("{name}, ran before: {ran_before}: {other:?}"),
            }
        }
    }
}

/// wgpu panics inside of a poll when a device is lost for good; a callback that panics there does
/// the same.
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
        match run(&reduction) {
            Err(Error::DeviceLost { message }) => assert_eq!(message, "as wgpu does"),
            other => panic!("{other:?}"),
        }
        // What is known to be lost is not asked again.
        match (run(&reduction), reducer.prepare(reduction.problem())) {
            (Err(Error::DeviceLost { message }), Err(Error::DeviceLost { .. })) => {
                assert_eq!(message, "as wgpu does");
            }
            other => panic!("{other:?}"),
        }
        // Another device, in the same process, is none the worse.
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
        // Each poll gets as far as the device has answered: the upload, the run, the way back.
        let mut done = false;
        for _ in 0..polls {
            done = done || future.as_mut().poll(&mut context).is_ready();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        reducer.device().destroy();
        if !done {
            match pollster::block_on(future) {
                Err(Error::DeviceLost { .. }) => lost += 1,
                // It had gone that far already.
                Ok(outputs) => assert_eq!(outputs[0].len(), 24),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(
            reduction.run_bytes_blocking(&[&[0; 600]]),
            Err(Error::DeviceLost { .. })
        ));
    }
    assert!(lost > 0, "no device was lost in time");
}

#[test]
fn a_device_below_the_floor_is_refused() {
    let floor = wgpu::Limits::downlevel_defaults();
    assert!(Reducer::new(&noop(floor.clone()).0, &noop(floor.clone()).1).is_ok());
    let (device, queue) = noop(wgpu::Limits {
        max_storage_buffers_per_shader_stage: 3,
        ..floor
    });
    match Reducer::new(&device, &queue) {
        Err(Error::Unsupported { actual, needed, .. }) => assert_eq!((actual, needed), (3, 4)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn caps_never_exceed_the_device() {
    let reducer = reducer();
    let real = reducer.caps();
    let high = Caps {
        binding_bytes: u64::MAX,
        offset_alignment: 1,
        workgroups: u32::MAX,
        invocations: u32::MAX,
        workgroup_bytes: u32::MAX,
        ..real.clone()
    };
    assert_eq!(reducer.with_caps(high).caps(), real);
    let low = real.lowered(1000, 7);
    assert_eq!(reducer.with_caps(low.clone()).caps(), &low);
    assert_eq!((low.binding_bytes, low.workgroups), (1000, 7));
    assert_eq!(real.lowered(0, 0).binding_bytes, real.offset_alignment + 16);
}

#[test]
fn an_adapter_is_chosen_by_text() {
    use AdapterChoice::{Auto, Backend, Index, Name};
    for (text, choice) in [
        ("auto", Auto),
        ("AUTO", Auto),
        ("0", Index(0)),
        ("17", Index(17)),
        ("99999999999999999999999", Index(usize::MAX)),
        ("vulkan", Backend(wgpu::Backend::Vulkan)),
        ("Vulkan", Backend(wgpu::Backend::Vulkan)),
        ("gl", Backend(wgpu::Backend::Gl)),
        ("metal", Backend(wgpu::Backend::Metal)),
        ("dx12", Backend(wgpu::Backend::Dx12)),
        ("noop", Backend(wgpu::Backend::Noop)),
        ("llvmpipe", Name("llvmpipe".into())),
        ("RTX 4070", Name("RTX 4070".into())),
        ("-1", Name("-1".into())),
        ("4070 ", Name("4070 ".into())),
        ("", Name(String::new())),
    ] {
        assert_eq!(text.parse(), Ok(choice), "{text:?}");
    }
    assert_eq!(AdapterChoice::default(), Auto);
}

#[test]
fn no_adapter_is_an_error_that_names_the_request_and_what_there_is() {
    let there = adapters_blocking().expect("a backend");
    let names: Vec<String> = there.iter().map(ToString::to_string).collect();
    for (text, words) in [
        ("no such adapter", "named \"no such adapter\""),
        ("999", "number 999"),
        ("99999999999999999999999", "of so large a number"),
    ] {
        let choice = text.parse().unwrap_or_default();
        match Reducer::open_blocking(&choice) {
            Err(Error::NoAdapter { wanted, available }) => {
                assert_eq!((wanted.as_str(), &available), (words, &names));
            }
            other => panic!("{other:?}"),
        }
    }
    let none = Error::NoAdapter {
        wanted: "at all".into(),
        available: Vec::new(),
    };
    assert_eq!(none.to_string(), "no adapter at all; there are: none");
}

#[test]
fn a_device_that_computes_wrongly_is_not_opened() {
    let choice = AdapterChoice::Backend(wgpu::Backend::Noop);
    // Where the environment limits the backends there is no such device.
    let limited = std::env::var_os("WGPU_BACKEND").is_some();
    match Reducer::open_blocking(&choice) {
        Err(Error::SelfTest {
            case, difference, ..
        }) => {
            assert!(case.starts_with("ArgMin float32"), "{case}");
            let text = difference.to_string();
            assert!(
                text.starts_with("output 0 at [0, 0]: expected 2900 ("),
                "{text}"
            );
        }
        Err(Error::NoAdapter { wanted, .. }) if limited => assert_eq!(wanted, "of backend noop"),
        other => panic!("{other:?}"),
    }
}
