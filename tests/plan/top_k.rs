//! Plans of TopK: run on the host, within every limit, or refused with the limit.

use super::grid::{Break, devices, last, refused_by, table};
use super::memory::{Memory, limits};
use super::walks;
use super::walks::top::run;
use support::grid::{CLASSES, SIZES, class};
use support::{one_of, taken};
use wgreduce::unstable::{Pass, Slot};
use wgreduce::{AdapterClass, BufferSplits, Caps, DType, Error, Plan, Problem};

const SHAPES: [[u64; 3]; 11] = [
    [1, 1, 1],
    [7, 3, 1],
    [40, 16, 1],
    [3, 129, 1],
    [2, 5000, 1],
    [1, 20_000, 1],
    [2, 9, 7],
    [1, 300, 40],
    [3, 2000, 9],
    [0, 5, 3],
    [5, 7, 0],
];

/// Segments side by side, whose results lie in rows as long as the tensor's.
#[test]
fn results_are_written_once_however_many_dispatches_share_their_rows() {
    for (k, len, dispatches, bytes) in [(64, 64, 600, 45 << 30), (5, 1000, 21_000, 100 << 30)] {
        let problem = Problem::top_k(DType::F32, &[len, 1000, 4096], 0, k).expect("a problem");
        let plan = Plan::new(&problem, &class(AdapterClass::Software)).expect("a plan");
        let passes = plan.passes();
        let moved: u64 = passes.iter().map(|p| p.src_bytes() + p.dst_bytes()).sum();
        let written = |slot| passes.iter().filter(move |p| p.dst.slot == slot);
        let indices: u64 = written(Slot::Output(1)).map(Pass::dst_bytes).sum();
        assert!(passes.len() < dispatches, "{} dispatches", passes.len());
        assert!(moved < bytes, "{moved} bytes");
        assert!(indices < 2 * 8 * k * 4_096_000, "{indices} of indices");
    }
}

#[test]
fn a_plan_of_too_many_dispatches_is_refused_before_it_fills_memory() {
    let problem = Problem::top_k(DType::U32, &[256, 1000, 520], 0, 4).expect("a problem");
    let caps = class(AdapterClass::Software).lowered(1 << 18, 65_535);
    match Plan::new(&problem, &caps) {
        Err(Error::Limit { needed, limit, .. }) => {
            assert_eq!((needed, limit), ((1 << 18) + 1, 1 << 18));
        }
        other => panic!("{:?}", other.map(|plan| plan.passes().len())),
    }
}

#[test]
fn plans_stay_within_every_limit_or_name_it() {
    let (mut planned, mut interpreted, mut refused) = (0, 0, 0);
    for (name, caps) in devices() {
        for (dtype, shape) in SIZES.into_iter().flat_map(|t| SHAPES.map(|s| (t, s))) {
            // Bindings of a few elements take a window for each.
            if caps.binding_bytes < 2048 && shape.iter().product::<u64>() > 2000 {
                continue;
            }
            for k in [0, 1, 3, 16, 17, 100, shape[1]] {
                let k = k.min(shape[1]);
                let problem = Problem::top_k(dtype, &shape, 1, k).expect("a problem");
                let cuts = BufferSplits {
                    inputs: vec![vec![shape[1] / 2, 11]],
                    outputs: vec![vec![k / 2 + 1, 6], vec![5]],
                };
                let whole = BufferSplits::default();
                let size = dtype.size();
                let in_pieces = Plan::in_pieces(&problem, &caps, &cuts, false);
                for (plan, shift, cuts) in [
                    (Plan::new(&problem, &caps), [16 * size; 2], &whole),
                    (Plan::streamed(&problem, &caps), [0; 2], &whole),
                    (in_pieces, [size, 8], &cuts),
                ] {
                    match plan {
                        Ok(plan) => {
                            let done = match taken(("top", &name, &problem, shift)) {
                                true => {
                                    interpreted += 1;
                                    let memory = Memory {
                                        shift,
                                        cuts,
                                        ..Memory::of(&problem, &caps, &plan)
                                    };
                                    run(memory, plan.passes())
                                }
                                false => plan.passes().iter().try_for_each(|p| limits(p, &caps)),
                            };
                            done.unwrap_or_else(|e| panic!("{name}: {problem}: {e}; {plan}"));
                            planned += 1;
                        }
                        Err(Error::Limit { needed, limit, .. }) => {
                            assert!(needed > limit, "{name}: {problem}");
                            // No device has such limits.
                            let least = caps.binding_bytes.min(caps.tuning.submit_bytes);
                            assert!(least < 1 << 20, "{name}: {problem}");
                            refused += 1;
                        }
                        Err(error) => panic!("{name}: {problem}: {error}"),
                    }
                }
            }
        }
    }
    assert!(
        planned > 20_000 && refused > 1000 && interpreted > planned / one_of() / 2,
        "{planned} plans, {interpreted} of them run, {refused} refused"
    );
}

/// Rounds of merging round the number of lists up, so a later one may take more than the first.
#[test]
fn no_round_of_merging_exceeds_a_binding() {
    let caps = Caps {
        invocations: 16,
        ..class(AdapterClass::Discrete)
    };
    let mut planned = 0;
    for binding in [280_000, 300_000, 400_000, 524_284, 700_000] {
        let caps = caps.lowered(binding, 65_535);
        for len in (4000..40_000).step_by(500) {
            let problem = Problem::top_k(DType::F64, &[len], 0, len).expect("a problem");
            let Ok(plan) = Plan::new(&problem, &caps) else {
                continue;
            };
            for pass in plan.passes() {
                limits(pass, &caps).unwrap_or_else(|e| panic!("{problem} by {binding}: {e}"));
            }
            planned += 1;
        }
    }
    assert!(planned > 100, "{planned}");
}

/// Each batch of lists that a binding holds leaves one of as many entries as are wanted, also where that is more than one list has.
#[test]
fn lists_of_a_long_segment_are_merged_in_batches() {
    let caps = class(AdapterClass::Discrete).lowered(1 << 16, 65_535);
    // The last batch has fewer elements than are wanted.
    let cuts = BufferSplits {
        inputs: vec![vec![500]],
        outputs: Vec::new(),
    };
    for (dtype, k) in [(DType::F32, 20), (DType::F32, 2000), (DType::U8, 1025)] {
        let problem = Problem::top_k(dtype, &[128_000], 0, k).expect("a problem");
        let plan = Plan::in_pieces(&problem, &caps, &cuts, true).expect("a plan");
        let kept = plan.slot_bytes(Slot::Temp(1));
        assert_eq!(kept > 0, k > 1000, "{problem}: {kept} bytes");
        let memory = Memory {
            cuts: &cuts,
            ..Memory::of(&problem, &caps, &plan)
        };
        run(memory, plan.passes()).unwrap_or_else(|e| panic!("{problem}: {e}; {plan}"));
    }
    // Two of these lists are more than a binding holds.
    let problem = Problem::top_k(DType::F32, &[128_000], 0, 4097).expect("a problem");
    let refused = Plan::new(&problem, &caps).map(drop);
    let Err(Error::Limit { needed, limit, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(needed > limit && limit == 8192, "{needed} of {limit}");
}

#[test]
fn walks_are_chosen_by_length_and_by_how_many_are_wanted() {
    let of = |caps: &Caps, dtype, shape: [u64; 3], k| {
        let problem = Problem::top_k(dtype, &shape, 1, k).expect("a problem");
        walks(&Plan::new(&problem, caps).expect("a plan"))
    };
    for caps in CLASSES.map(class) {
        let software = caps.class == AdapterClass::Software;
        // A segment that leaves one list writes results; values of 8 and 16 bits are gathered.
        assert_eq!(of(&caps, DType::F32, [1000, 16, 1], 3), ["few"]);
        let gathered = ["few", "strided_gather"];
        assert_eq!(of(&caps, DType::F16, [1000, 16, 1], 3), gathered);
        assert_eq!(of(&caps, DType::F64, [1000, 128, 1], 17), ["top"]);
        let long = if software { "few" } else { "top" };
        let parts = ["top", "merge", "strided_gather"];
        assert_eq!(of(&caps, DType::I32, [1000, 4096, 1], 16)[0], long);
        assert_eq!(of(&caps, DType::I32, [1000, 4096, 1], 17), ["top"]);
        assert_eq!(of(&caps, DType::I32, [1000, 4097, 1], 17), parts);
        let columns = of(&caps, DType::I32, [1, 100_000, 64], 16);
        assert_eq!(columns[..2], ["few", "merge"]);
        assert_eq!(of(&caps, DType::I32, [5, 0, 3], 0), [""; 0]);
        // A workgroup holds such a row where the rows fill the device.
        assert_eq!(of(&caps, DType::F16, [2000, 16_384, 1], 17)[0], "top");
        assert_eq!(of(&caps, DType::F32, [2000, 16_384, 1], 17), ["top"]);
        assert_eq!(of(&caps, DType::F32, [2000, 16_385, 1], 17), parts);
    }
}

/// Tests `walks::top`: it must refuse plans that are slightly wrong.
#[test]
fn broken_plans_are_refused() {
    let breaks: &[(&str, Break)] = &[
        ("shorter parts", |all| all[0].params.slice /= 4),
        ("longer parts", |all| all[0].params.slice *= 2),
        ("fewer entries", |all| all[0].params.entries -= 1),
        ("another list", |all| all[1].params.first_list += 1),
        ("the first list", |all| all[1].params.first_list = 0),
        ("another base", |all| all[1].params.base -= 1),
        ("another stride", |all| all[0].params.stride += 1),
        ("a longer segment", |all| all[0].params.len += 1),
        ("another segment", |all| table(all, 0).strides[0][0] += 1),
        ("a list less", |all| merge(all).params.lists -= 1),
        ("a smaller group", |all| merge(all).params.group -= 1),
        ("fewer results", |all| merge(all).params.results -= 1),
        ("a later result", |all| merge(all).params.first_result += 1),
        ("later segments", |all| merge(all).params.first_output += 1),
        ("another rank", |all| merge(all).params.best -= 1),
        ("an iteration less", |all| merge(all).iterations = 1),
        ("other values", |all| last(all).params.base += 1),
        ("other segments", |all| last(all).params.first_result += 1),
        ("a window less", |all| {
            let last = all.len() - 1;
            all.swap(last - 1, last);
            all.truncate(last);
        }),
    ];
    // Windows over three bindings, of segments side by side; by workgroups, and by invocations.
    for (class_of, k, first) in [
        (AdapterClass::Discrete, 20, "top"),
        (AdapterClass::Software, 9, "few"),
    ] {
        let caps = class(class_of).lowered(40_000, 65_535);
        let problem = Problem::top_k(DType::F32, &[2, 5000, 3], 1, k).expect("a problem");
        let plan = Plan::new(&problem, &caps).expect("a plan");
        assert_eq!(walks(&plan)[..3], [first; 3]);
        let run = |passes: &[Pass]| run(Memory::of(&problem, &caps, &plan), passes);
        assert_eq!(run(plan.passes()), Ok(()));
        refused_by(&plan, breaks, run);
    }
}

/// The first merge that writes results.
fn merge(passes: &mut [Pass]) -> &mut Pass {
    let writes = |p: &&mut Pass| p.dst.slot == Slot::Output(1);
    passes.iter_mut().find(writes).expect("results")
}
