//! Caps that no device has: whatever their fields are, the plan is right or the error typed.

use super::interpret::run;
use super::memory::Memory;
use super::truth::Truth;
use support::grid::class;
use wgreduce::{AdapterClass, Caps, DType, Error, Plan, Problem};

type Change = (&'static str, fn(&mut Caps, u64));

/// Every limit and every number of the tuning.
const FIELDS: [Change; 15] = [
    ("binding_bytes", |c, n| c.binding_bytes = n),
    ("buffer_bytes", |c, n| c.buffer_bytes = n),
    ("offset_alignment", |c, n| c.offset_alignment = n),
    ("workgroups", |c, n| c.workgroups = n as u32),
    ("invocations", |c, n| c.invocations = n as u32),
    ("workgroup_bytes", |c, n| c.workgroup_bytes = n as u32),
    ("storage_buffers", |c, n| c.storage_buffers = n as u32),
    ("iterations", |c, n| c.iterations = Some(n as u32)),
    ("workgroup", |c, n| c.tuning.workgroup = n as u32),
    ("row_lanes", |c, n| c.tuning.row_lanes = n as u32),
    ("tuning.invocations", |c, n| c.tuning.invocations = n),
    ("slice_bytes", |c, n| c.tuning.slice_bytes = n),
    ("slices", |c, n| c.tuning.slices = n),
    ("short_rows", |c, n| c.tuning.short_rows = n),
    ("submit_bytes", |c, n| c.tuning.submit_bytes = n),
];

const VALUES: [u64; 10] = [0, 1, 2, 3, 5, 24, 48, 1000, 1 << 31, u64::MAX];

fn problems() -> Vec<Problem> {
    let all = [
        Problem::arg_min(DType::F32, &[7, 300], 1),
        Problem::arg_max(DType::U8, &[3, 1000], 1).map(|p| p.with_values(true)),
        Problem::arg_max(DType::F16, &[2, 40, 33], 1),
        Problem::reduce_min(DType::I64, &[5, 3, 8], &[1]),
        Problem::reduce_max(DType::U16, &[5, 4, 3, 8], &[1, 3]),
        Problem::reduce_max(DType::I8, &[700], &[]),
        Problem::reduce_min(DType::F32, &[0, 30], &[0]),
        Problem::extremes(DType::F32, &[9, 70], 1),
        Problem::extremes(DType::BF16, &[3, 70, 16], 1),
        Problem::arg_min(DType::F32, &[6, 50], 1).map(|p| p.strided(0, &[-1, 6], 5)),
        Problem::reduce_sum(DType::F32, &[9, 70], &[1]),
        Problem::reduce_mean(DType::F16, &[3, 70, 16], &[1]),
        Problem::reduce_l2(DType::I32, &[7, 5, 3], &[0, 2]),
        Problem::min(DType::F32, &[[6, 50], [1, 50], [6, 1]]),
        Problem::max(DType::U8, &[[70]; 9]),
    ];
    all.map(|p| p.expect("a problem")).into()
}

/// The plan under these caps, if there is one; it is run.
fn planned(problem: &Problem, truth: &Truth, caps: &Caps) -> Result<Option<Plan>, String> {
    match Plan::new(problem, caps) {
        Ok(plan) => {
            run(Memory::of(problem, caps, &plan), truth, plan.passes())?;
            Ok(Some(plan))
        }
        Err(Error::Limit { needed, limit, .. }) if needed > limit => Ok(None),
        Err(Error::OffsetAlignment { .. } | Error::Tuning { .. }) => Ok(None),
        Err(other) => Err(other.to_string()),
    }
}

#[test]
fn any_value_of_any_field_gives_a_right_plan_or_a_typed_error() {
    let (mut plans, mut errors) = (0, 0);
    for problem in problems() {
        let truth = Truth::new(&problem);
        for adapter in [AdapterClass::Software, AdapterClass::Discrete] {
            for (field, change) in FIELDS {
                for value in VALUES {
                    let mut caps = class(adapter);
                    change(&mut caps, value);
                    let done = planned(&problem, &truth, &caps);
                    match done.unwrap_or_else(|e| panic!("{problem}, {field} {value}: {e}")) {
                        Some(_) => plans += 1,
                        None => errors += 1,
                    }
                }
            }
        }
    }
    let enough = plans > 2000 && errors > 500;
    assert!(enough, "{plans} plans, {errors} errors");
}

/// Both extremes leave two partial results at once, of 16 bytes each where elements have 64 bits.
#[test]
fn a_binding_holds_both_extremes_however_small_the_alignment_is() {
    let row = Problem::extremes(DType::F64, &[5], 0).expect("a problem");
    let view = row.clone().strided(0, &[2], 1);
    for offset_alignment in [1, 2, 4, 8, 16] {
        for binding_bytes in offset_alignment + 16..40 {
            let caps = Caps {
                binding_bytes,
                offset_alignment,
                ..class(AdapterClass::Discrete)
            };
            for problem in [&row, &view] {
                let plan = Plan::new(problem, &caps);
                assert_eq!(plan.is_ok(), binding_bytes >= 32, "{caps:?}");
            }
        }
    }
}

#[test]
fn numbers_that_must_be_powers_of_two_and_are_none_are_told() {
    let of_tunings = [0, 3, 24, 1000, u64::from(u32::MAX)];
    for (name, numbers) in [
        ("workgroup", of_tunings),
        ("row_lanes", of_tunings),
        // One is larger than any device has.
        ("offset_alignment", [0, 3, 48, 1 << 17, u64::MAX]),
    ] {
        let (_, change) = FIELDS.into_iter().find(|f| f.0 == name).expect(name);
        for number in numbers {
            let mut caps = class(AdapterClass::Discrete);
            change(&mut caps, number);
            for problem in problems() {
                let told = match Plan::new(&problem, &caps) {
                    Err(Error::Tuning { field, value }) => (field, value.into()),
                    Err(Error::OffsetAlignment { alignment }) => ("offset_alignment", alignment),
                    other => panic!("{name} {number}, {problem}: {other:?}"),
                };
                assert_eq!(told, (name, number), "{problem}");
            }
        }
    }
}
