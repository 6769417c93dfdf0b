//! The caller's buffers that `bind` refuses, and the numbers in each error.

use super::{bind, buffer, buffer_for, device_of, prepared, reducer, submit, tell, told};
use support::noop::{adapter, instance};
use wgreduce::wgpu::{self, BufferSlice, BufferUsages};
use wgreduce::{Buffers, DType, Error, Problem, Reducer, Tensor};

#[test]
fn slices_that_do_not_fit_are_refused_with_their_numbers() {
    let reducer = reducer();
    let [wide, short] = [DType::F32, DType::F16].map(|dtype| {
        let problem = Problem::arg_min(dtype, &[2, 3], 1);
        prepared(&reducer, problem.map(|p| p.with_values(true)))
    });
    let [x, y, z] = [(); 3].map(|()| buffer(&reducer, 64));
    let other = BufferUsages::COPY_DST | BufferUsages::UNIFORM;
    let other = buffer_for(&reducer, 64, other);
    let [a, b, c, other] = [&x, &y, &z, &other].map(|buffer| buffer.slice(..));
    // 24 bytes of input, 16 of indices and 8 of values.
    let results = vec![
        bind(&wide, &[], &[b, c]),
        bind(&wide, &[a, b], &[b, c]),
        bind(&wide, &[a], &[b]),
        bind(&wide, &[a], &[a, b, c]),
        bind(&wide, &[x.slice(..20)], &[b, c]),
        bind(&wide, &[a], &[y.slice(..8), c]),
        bind(&wide, &[a], &[b, z.slice(60..)]),
        bind(&wide, &[other], &[b, c]),
        bind(&wide, &[a], &[other, c]),
        bind(&wide, &[x.slice(..24)], &[x.slice(16..), c]),
        bind(&wide, &[x.slice(..24)], &[b, x.slice(20..)]),
        bind(&wide, &[a], &[y.slice(32..), y.slice(40..)]),
    ];
    let told = "
        0 input buffers were bound where 1 are needed, of [24] bytes
        2 input buffers were bound where 1 are needed, of [24] bytes
        1 output buffers were bound where 2 are needed, of [16, 8] bytes
        3 output buffers were bound where 2 are needed, of [16, 8] bytes
        input 0 is bound to 20 bytes where 24 are needed
        output 0 is bound to 8 bytes where 16 are needed
        output 1 is bound to 4 bytes where 8 are needed
        input 0 is bound to a buffer without the usage STORAGE
        output 0 is bound to a buffer without the usage STORAGE
        output 0 overlaps input 0
        output 1 overlaps input 0
        output 1 overlaps output 0
    ";
    tell(results, told);
    let results = vec![
        bind(&short, &[x.slice(1..)], &[b, c]),
        bind(&short, &[a], &[y.slice(4..), c]),
        bind(&short, &[a], &[b, z.slice(3..)]),
    ];
    let told = "
        input 0 begins at byte 1, no multiple of 2 bytes
        output 0 begins at byte 4, no multiple of 8 bytes
        output 1 begins at byte 3, no multiple of 2 bytes
    ";
    tell(results, told);
    assert!(bind(&wide, &[x.slice(40..)], &[y.slice(48..), z.slice(56..)]).is_ok());
    assert!(bind(&short, &[x.slice(2..)], &[y.slice(8..), z.slice(6..)]).is_ok());
    // The ranges lie side by side in one buffer, in any order.
    for outputs in [
        [x.slice(24..40), x.slice(40..48)],
        [y.slice(..16), y.slice(16..24)],
        [x.slice(24..40), b],
    ] {
        let bound = bind(&wide, &[x.slice(..24)], &outputs).expect("apart");
        submit(&reducer, |encoder| bound.encode(encoder));
    }
    // An empty tensor overlaps nothing.
    let empty = prepared(&reducer, Problem::arg_min(DType::F32, &[0, 3], 1));
    assert!(bind(&empty, &[x.slice(..4)], &[x.slice(..4)]).is_ok());
}

/// The buffer must hold the tensor's last word.
#[test]
fn a_buffer_that_ends_inside_the_last_word_is_refused() {
    let reducer = reducer();
    let reduction = prepared(&reducer, Problem::reduce_max(DType::U8, &[5, 1], &[1]));
    let [five, eight, ten] = [5, 8, 10].map(|n| buffer(&reducer, n));
    let whole = eight.slice(..);
    let results = vec![
        bind(&reduction, &[five.slice(..)], &[whole]),
        bind(&reduction, &[ten.slice(5..)], &[whole]),
        bind(&reduction, &[whole], &[ten.slice(5..)]),
    ];
    let told = "
        input 0 is bound to 5 bytes where 8 are needed
        input 0 is bound to 5 bytes where 7 are needed
        output 0 is bound to 5 bytes where 7 are needed
    ";
    tell(results, told);
    assert!(bind(&reduction, &[ten.slice(2..7)], &[eight.slice(3..)]).is_ok());
}

#[test]
fn a_view_is_refused_where_its_buffer_ends_before_it() {
    let reducer = reducer();
    let problem = Problem::arg_max(DType::F32, &[3, 4], 1).map(|p| p.strided(0, &[1, 3], 5));
    let reduction = prepared(&reducer, problem);
    let (input, output) = (buffer(&reducer, 68), buffer(&reducer, 24));
    let bound = |begin| bind(&reduction, &[input.slice(begin..)], &[output.slice(..)]);
    assert!(bound(0).is_ok());
    let text = "input 0 is bound to 64 bytes where 68 are needed";
    assert_eq!(told(bound(4)), text);
}

/// Slices of one tensor that do not fit together.
#[test]
fn pieces_that_make_no_tensor_are_refused() {
    let reducer = reducer();
    let problem = Problem::reduce_min(DType::F32, &[4, 4], &[1]);
    let reduction = prepared(&reducer, problem);
    let [a, b, c] = [64, 64, 64].map(|size| buffer(&reducer, size));
    let bound = |inputs: &[BufferSlice<'_>], outputs: &[BufferSlice<'_>]| {
        reduction.bind(Buffers::new(&[inputs.into()], &[outputs.into()]))
    };
    let (first, whole) = (a.slice(..40), [a.slice(..40), b.slice(16..40)]);
    assert!(bound(&whole, &[c.slice(..8), c.slice(8..16)]).is_ok());
    let results = vec![
        bound(&[first, b.slice(..20)], &[c.slice(..)]),
        bound(&[], &[c.slice(..)]),
        bound(&[a.slice(..42), b.slice(..24)], &[c.slice(..)]),
        bound(&[first, b.slice(2..26)], &[c.slice(..)]),
        bound(&whole, &[c.slice(..8), c.slice(4..12)]),
        bound(&whole, &[c.slice(..8), b.slice(12..20)]),
    ];
    let told = "
        input 0 is bound to 60 bytes where 64 are needed
        input 0 is bound to 0 bytes where 64 are needed
        input 0 goes on in another buffer at byte 42, inside an element of 4 bytes
        input 0 begins at byte 2, no multiple of 4 bytes
        output 0 overlaps output 0
        output 0 overlaps input 0
    ";
    tell(results, told);
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
    let told = told(four.bind(Buffers::new(&some, &none)));
    assert_eq!(told, "output 0 is bound to 0 bytes where 4 are needed");
}
