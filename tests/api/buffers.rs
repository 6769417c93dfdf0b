//! The caller's buffers that `bind` refuses, and the numbers in each error.

use super::{bind, buffer, buffer_for, device_of, prepared, reducer, submit};
use support::noop::{adapter, instance};
use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{BoundReduction, Buffers, DType, Error, Problem, Reducer, Tensor};

#[test]
fn another_number_of_buffers_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).map(|p| p.with_values(true));
    let reduction = prepared(&reducer, problem);
    let all = [(); 4].map(|()| buffer(&reducer, 64));
    let slices: Vec<_> = all.iter().map(|b| b.slice(..)).collect();
    for (inputs, outputs, wrong, right, given) in [
        (&slices[..0], &slices[1..3], "input", &[24][..], 0),
        (&slices[..2], &slices[2..], "input", &[24], 2),
        (&slices[..1], &slices[1..2], "output", &[16, 8], 1),
        (&slices[..1], &slices[1..], "output", &[16, 8], 3),
    ] {
        match bind(&reduction, inputs, outputs) {
            Err(Error::BufferCount {
                what,
                needed,
                actual,
            }) => assert_eq!((what, &needed[..], actual), (wrong, right, given)),
            other => panic!("{other:?}"),
        }
    }
    assert!(bind(&reduction, &slices[..1], &slices[1..3]).is_ok());
}

pub fn too_small(result: Result<BoundReduction, Error>, expected: (&str, usize, u64, u64)) {
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
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).map(|p| p.with_values(true));
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
    let problem = Problem::arg_min(DType::F16, &[2, 3], 1).map(|p| p.with_values(true));
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
fn an_output_that_overlaps_another_tensor_is_refused() {
    let reducer = reducer();
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1).map(|p| p.with_values(true));
    let reduction = prepared(&reducer, problem);
    // 24 bytes of input, 16 of indices, 8 of values.
    let [a, b] = [(); 2].map(|()| buffer(&reducer, 1024));
    for (outputs, aliased) in [
        ([a.slice(16..), b.slice(..)], "output 0 overlaps input 0"),
        ([b.slice(..), a.slice(20..)], "output 1 overlaps input 0"),
        (
            [b.slice(512..), b.slice(520..)],
            "output 1 overlaps output 0",
        ),
    ] {
        match bind(&reduction, &[a.slice(..24)], &outputs) {
            Err(error @ Error::Aliased { .. }) => assert_eq!(error.to_string(), aliased),
            other => panic!("{other:?}"),
        }
    }
    // The ranges lie side by side in one buffer, in any order.
    for outputs in [
        [a.slice(24..40), a.slice(40..48)],
        [b.slice(..16), b.slice(16..24)],
        [a.slice(24..40), b.slice(..)],
    ] {
        let bound = bind(&reduction, &[a.slice(..24)], &outputs).expect("apart");
        submit(&reducer, |encoder| bound.encode(encoder));
    }
    // An empty tensor overlaps nothing.
    let empty = prepared(&reducer, Problem::arg_min(DType::F32, &[0, 3], 1));
    assert!(bind(&empty, &[a.slice(..4)], &[a.slice(..4)]).is_ok());
}

#[test]
fn a_view_is_refused_where_its_buffer_ends_before_it() {
    let reducer = reducer();
    let problem = Problem::arg_max(DType::F32, &[3, 4], 1).map(|p| p.strided(0, &[1, 3], 5));
    let reduction = prepared(&reducer, problem);
    let (input, output) = (buffer(&reducer, 68), buffer(&reducer, 24));
    let bind = |begin| {
        reduction.bind(Buffers::new(
            &[input.slice(begin..).into()],
            &[output.slice(..).into()],
        ))
    };
    assert!(bind(0).is_ok());
    too_small(bind(4), ("input", 0, 68, 64));
}

/// Slices of one tensor that do not fit together.
#[test]
fn pieces_that_make_no_tensor_are_refused() {
    let reducer = reducer();
    let problem = Problem::reduce_min(DType::F32, &[4, 4], &[1]);
    let reduction = prepared(&reducer, problem);
    let [a, b, c] = [64, 64, 64].map(|size| buffer(&reducer, size));
    let bind = |inputs: &[wgpu::BufferSlice<'_>], outputs: &[wgpu::BufferSlice<'_>]| {
        let bound = reduction.bind(Buffers::new(&[inputs.into()], &[outputs.into()]));
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
    let shared = error(bind(&whole, &[c.slice(..8), b.slice(12..20)]));
    for aliased in [overlapping, shared] {
        assert!(aliased.starts_with("output 0 overlaps"), "{aliased}");
    }
}

#[test]
fn a_buffer_of_another_device_is_refused() {
    let adapter = adapter(&instance(None));
    let [reducer, other] = [(); 2].map(|()| {
        let (device, queue) = device_of(&adapter, wgpu::Limits::default());
        Reducer::new(&device, &queue).expect("a reducer")
    });
    let reduction = prepared(&reducer, Problem::arg_min(DType::F32, &[2, 3], 1));
    let [own, foreign] = [&reducer, &other].map(|r| buffer(r, 64));
    for (input, output) in [(&own, &foreign), (&foreign, &own)] {
        let bound = bind(&reduction, &[input.slice(..)], &[output.slice(..)]);
        match bound {
            Err(Error::Device { message, .. }) => {
                assert!(!message.is_empty() && !message.contains('\n'), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_tensor_without_elements_needs_no_slice() {
    let reducer = reducer();
    let reduction = prepared(&reducer, Problem::reduce_min(DType::F32, &[0, 4], &[0]));
    let output = buffer(&reducer, 16);
    let (none, some) = ([Tensor::from(&[][..])], [output.slice(..).into()]);
    assert!(reduction.bind(Buffers::new(&none, &some)).is_ok());
    let four = prepared(&reducer, Problem::reduce_min(DType::F32, &[4], &[]));
    match four.bind(Buffers::new(&some, &none)) {
        Err(Error::BufferTooSmall {
            what,
            needed,
            actual,
            ..
        }) => assert_eq!((what, needed, actual), ("output", 4, 0)),
        other => panic!("{other:?}"),
    }
}
