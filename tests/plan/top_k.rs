//! Plans of TopK: within every limit, or refused with the limit. What they compute is checked on devices
//! (`tests/gpu/top_k.rs`).

use super::grid::devices;
use super::interpret::limits;
use super::walks;
use support::grid::{CLASSES, SIZES, class};
use wgreduce::{AdapterClass, BufferSplits, Caps, DType, Error, Plan, Problem};

const SHAPES: [[u64; 3]; 11] = [
    [1, 1, 1],
    [7, 3, 1],
    [40, 16, 1],
    [3, 129, 1],
    [2, 5000, 1],
    [1, 70_000, 1],
    [2, 9, 7],
    [1, 300, 40],
    [3, 5000, 9],
    [0, 5, 3],
    [5, 7, 0],
];

#[test]
fn plans_stay_within_every_limit_or_name_it() {
    let (mut planned, mut refused) = (0, 0);
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
                for plan in [
                    Plan::new(&problem, &caps),
                    Plan::streamed(&problem, &caps),
                    Plan::in_pieces(&problem, &caps, &cuts, false),
                ] {
                    match plan {
                        Ok(plan) => {
                            for pass in plan.passes() {
                                limits(pass, &caps)
                                    .unwrap_or_else(|e| panic!("{name}: {problem}: {e}; {plan}"));
                            }
                            planned += 1;
                        }
                        Err(Error::Limit { needed, limit, .. }) => {
                            assert!(needed > limit, "{name}: {problem}");
                            // No device has such limits.
                            assert!(
                                caps.binding_bytes < 1 << 20 || caps.tuning.submit_bytes < 1 << 20,
                                "{name}: {problem}"
                            );
                            refused += 1;
                        }
                        Err(error) => panic!("{name}: {problem}: {error}"),
                    }
                }
            }
        }
    }
    assert!(
        planned > 20_000 && refused > 1000,
        "{planned} plans, {refused} refused"
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
        assert_eq!(
            of(&caps, DType::F16, [1000, 16, 1], 3),
            ["few", "strided_gather"]
        );
        assert_eq!(of(&caps, DType::F64, [1000, 128, 1], 17), ["top"]);
        let long = if software {
            vec!["few", "merge", "merge", "strided_gather"]
        } else {
            vec!["top"]
        };
        assert_eq!(of(&caps, DType::I32, [1000, 4096, 1], 16)[..1], long[..1]);
        assert_eq!(of(&caps, DType::I32, [1000, 4096, 1], 17), ["top"]);
        assert_eq!(
            of(&caps, DType::I32, [1000, 4097, 1], 17),
            ["top", "merge", "strided_gather"]
        );
        assert_eq!(
            of(&caps, DType::I32, [1, 100_000, 64], 16)[..2],
            ["few", "merge"]
        );
        assert_eq!(of(&caps, DType::I32, [5, 0, 3], 0), [""; 0]);
        // A workgroup holds such a row where the rows fill the device.
        assert_eq!(of(&caps, DType::F16, [2000, 16_384, 1], 17)[0], "top");
        assert_eq!(of(&caps, DType::F32, [2000, 16_384, 1], 17), ["top"]);
        let parts = ["top", "merge", "strided_gather"];
        assert_eq!(of(&caps, DType::F32, [2000, 16_385, 1], 17), parts);
    }
}
