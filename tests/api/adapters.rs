//! Which adapter a request means, and which devices are refused.

use super::{buffer, noop, reducer, told};
use wgreduce::{
    AdapterChoice, AdapterClass, Buffers, Caps, DType, Error, Problem, Reducer, Tuning,
    adapters_blocking, wgpu,
};

#[test]
fn a_device_below_the_floor_is_refused() {
    let floor = wgpu::Limits::downlevel_defaults();
    let (device, queue) = noop(floor.clone());
    assert!(Reducer::new(&device, &queue).is_ok());
    type Lower = fn(&mut wgpu::Limits) -> &mut u32;
    macro_rules! limit {
        ($field:ident, $least:literal) => {
            (stringify!($field), |limits| &mut limits.$field, $least)
        };
    }
    let lower: [(&str, Lower, u32); 5] = [
        limit!(max_storage_buffers_per_shader_stage, 4),
        limit!(max_uniform_buffers_per_shader_stage, 2),
        limit!(max_bindings_per_bind_group, 9),
        limit!(max_compute_workgroup_storage_size, 16_352),
        limit!(max_compute_invocations_per_workgroup, 128),
    ];
    for (name, field, least) in lower {
        let mut limits = floor.clone();
        *field(&mut limits) = least;
        let (device, queue) = noop(limits.clone());
        assert!(Reducer::new(&device, &queue).is_ok(), "{name}");
        *field(&mut limits) = least - 1;
        let (device, queue) = noop(limits);
        let adapter = device.adapter_info().name;
        let why = format!("its {name} is {}, at least {least} is needed", least - 1);
        let text = format!("the device of {adapter} cannot be used: {why}");
        assert_eq!(told(Reducer::new(&device, &queue)), text);
    }
}

/// The device's largest buffer is smaller than what uploads would take.
#[test]
fn uploads_keep_to_the_largest_buffer() {
    let (device, queue) = noop(wgpu::Limits {
        max_buffer_size: 5 << 20,
        max_storage_buffer_binding_size: 5 << 20,
        ..wgpu::Limits::downlevel_defaults()
    });
    let reducer = Reducer::new(&device, &queue).expect("a reducer");
    for bytes in [5 << 20, (5 << 20) - 3, 12 << 20] {
        let problem = Problem::reduce_min(DType::U8, &[bytes], &[]).expect("a problem");
        let data = vec![0; bytes as usize];
        let run = reducer.run_bytes_blocking(&problem, &[&data]);
        assert_eq!(run.expect("a run")[0].len(), 1);
    }
}

/// Checked on devices that have done nothing, and again after a submit.
#[test]
fn a_queue_of_another_device_is_refused() {
    let [(ours, queue), (other, theirs)] = [(); 2].map(|()| noop(wgpu::Limits::default()));
    for _ in 0..2 {
        let why = "the queue belongs to another device than the given one, of adapter";
        let text = format!("{why} {}", ours.adapter_info().name);
        assert_eq!(told(Reducer::new(&ours, &theirs)), text);
        assert!(Reducer::new(&other, &queue).is_err());
        assert!(Reducer::new(&ours, &queue).is_ok());
        queue.submit([ours.create_command_encoder(&Default::default()).finish()]);
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
        buffer_bytes: u64::MAX,
        storage_buffers: u32::MAX,
        ..real.clone()
    };
    assert_eq!(reducer.with_caps(high).caps(), real);
    let low = real.lowered(1000, 7);
    assert_eq!(reducer.with_caps(low.clone()).caps(), &low);
    assert_eq!((low.binding_bytes, low.workgroups), (1000, 7));
    assert_eq!(real.lowered(0, 0).binding_bytes, real.offset_alignment + 16);
}

/// Every limit that a plan keeps to, and its value made stricter.
#[test]
fn stricter_caps_are_kept() {
    let reducer = reducer();
    let real = reducer.caps();
    assert!(real.long_kernels);
    let stricter = Caps {
        binding_bytes: real.binding_bytes / 2,
        buffer_bytes: real.buffer_bytes / 2,
        offset_alignment: 2 * real.offset_alignment,
        workgroups: real.workgroups / 2,
        invocations: real.invocations / 2,
        workgroup_bytes: real.workgroup_bytes / 2,
        storage_buffers: real.storage_buffers - 1,
        long_kernels: false,
        iterations: Some(40_000),
        class: AdapterClass::Discrete,
        tuning: Tuning::of(AdapterClass::Discrete),
    };
    assert_eq!(reducer.with_caps(stricter.clone()).caps(), &stricter);
    // Rows of 64 vec4, which an invocation of a software adapter reads by as many at once as a kernel may be long.
    let rows = Problem::arg_max(DType::F32, &[4000, 256], 1).expect("a problem");
    let planned = |long_kernels| {
        let caps = Caps {
            long_kernels,
            ..real.tuned(Tuning::of(AdapterClass::Software))
        };
        let reduction = reducer.with_caps(caps).prepare_blocking(&rows);
        reduction.expect("a reduction").plan().clone()
    };
    assert_ne!(planned(true), planned(false));
}

#[test]
fn limits_of_zero_and_alignments_of_no_device_are_refused() {
    type Change = fn(&mut Caps);
    let limits: [(&str, Change); 6] = [
        ("a storage binding", |c| c.binding_bytes = 0),
        ("a buffer", |c| c.buffer_bytes = 0),
        ("workgroups of a dispatch", |c| c.workgroups = 0),
        ("a workgroup", |c| c.invocations = 0),
        ("bytes of workgroup memory", |c| c.workgroup_bytes = 0),
        ("storage buffers of a shader", |c| c.storage_buffers = 0),
    ];
    let reducer = reducer();
    let problem = Problem::arg_max(DType::F32, &[3, 70], 1).expect("a problem");
    let refusals = |change: &dyn Fn(&mut Caps)| {
        let mut caps = reducer.caps().clone();
        change(&mut caps);
        let reducer = reducer.with_caps(caps);
        let prepared = reducer.prepare_blocking(&problem).map(drop);
        let stream = reducer.stream_blocking(&problem, 1 << 20).map(drop);
        [prepared, stream]
    };
    for (name, zero) in limits {
        for refused in refusals(&zero) {
            match refused {
                Err(Error::Limit { what, limit, .. }) => assert_eq!((what, limit), (name, 0)),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    for impossible in [0, 3, 48, 1 << 17, u64::MAX] {
        for refused in refusals(&|c| c.offset_alignment = impossible) {
            let why = "which is no power of two up to 65536";
            let text = format!("the offset alignment is {impossible}, {why}");
            assert_eq!(told(refused), text);
        }
    }
}

/// Bindings begin at multiples of it, and so must the caller's scratch.
#[test]
fn a_larger_offset_alignment_is_that_of_every_binding() {
    let device = reducer();
    let alignment = 4 * device.caps().offset_alignment;
    let reducer = device.with_caps(Caps {
        offset_alignment: alignment,
        ..device.caps().clone()
    });
    let problem = Problem::arg_max(DType::F32, &[1 << 20], 0).expect("a problem");
    let reduction = reducer.prepare_blocking(&problem).expect("a reduction");
    let [input, output, scratch] = [4 << 20, 8, 1 << 20].map(|bytes| buffer(&reducer, bytes));
    let bind = |begin: u64| {
        reduction.bind(Buffers {
            inputs: &[input.slice(..).into()],
            outputs: &[output.slice(..).into()],
            scratch: Some(&[scratch.slice(begin..)]),
        })
    };
    assert!(bind(alignment).is_ok());
    let text = format!("no multiple of {alignment} bytes");
    assert!(told(bind(alignment / 2)).ends_with(&text));
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
    // No system has both backends.
    let is_here = |backend| there.iter().any(|a| a.info.backend == backend);
    let absent = match is_here(wgpu::Backend::Metal) {
        true => ("dx12", "of backend dx12"),
        false => ("metal", "of backend metal"),
    };
    for (text, words) in [
        absent,
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
    // If the environment limits the backends, there is no such device.
    let limited = std::env::var_os("WGPU_BACKEND").is_some();
    match Reducer::open_blocking(&choice) {
        Err(Error::SelfTest {
            case, difference, ..
        }) => {
            assert!(case.starts_with("ArgMin float32"), "{case}");
            let text = difference.to_string();
            let words = "output 0 at [0, 0]: expected 2900 (";
            assert!(text.starts_with(words), "{text}");
        }
        Err(Error::NoAdapter { wanted, .. }) if limited => assert_eq!(wanted, "of backend noop"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn serde_reads_a_tuning_that_it_wrote() {
    let tuning = Tuning::of(AdapterClass::Software);
    let mut json = serde_json::to_value(&tuning).expect("a tuning");
    for (name, value) in tuning.fields() {
        assert_eq!(json[name], value, "{name}");
    }
    // The hidden field and unknown ones may be missing or more; the others are asked for by name.
    json["strips"] = 1.into();
    let fields = json.as_object_mut().expect("an object");
    fields.remove("each");
    let read = serde_json::from_value::<Tuning>(json.clone());
    assert_eq!(read.expect("a tuning"), tuning);
    json.as_object_mut().expect("an object").remove("slices");
    let refused = serde_json::from_value::<Tuning>(json).expect_err("a field is missing");
    assert_eq!(refused.to_string(), "missing field `slices`");
}
