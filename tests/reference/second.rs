//! The reference against the oracle, which is a second implementation: any data, every operator, type and option.

use super::{to_bits, to_bytes};
use support::exact::cancelling;
use support::oracle::answers;
use support::views::VIEWS;
use support::{Bits, extremes, index_problem, mixed, problem_of, tensor, value_problem};
use wgreduce::{DType, NanPolicy, Op, Problem, reference};
use xsum::Xsum;

fn same(problem: &Problem, inputs: &[&[u8]]) {
    let actual = reference::evaluate(problem, inputs).expect("a result");
    assert_eq!(actual, answers(problem, inputs), "{problem}");
}

#[test]
fn the_reference_gives_what_the_oracle_gives() {
    let shape = [7, 19, 2];
    for dtype in DType::ALL {
        for seed in 0..2 {
            let data = tensor(dtype, shape, seed);
            for way in 0..36 {
                let none = value_problem(dtype, &[2, 0, 3], &[1], way);
                same(&none.expect("a problem"), &[&[]]);
                let index = index_problem(dtype, &shape, 1, way).expect("a problem");
                same(&index.clone().keepdims(false), &[&data]);
                same(&index.with_values(true), &[&data]);
                let both = extremes(dtype, &shape, (way % 3) as i64, way);
                same(&both.expect("a problem"), &[&data]);
                for axes in [&[1][..], &[0, 2], &[0, 1, 2], &[]] {
                    same(
                        &value_problem(dtype, &shape, axes, way).expect("a problem"),
                        &[&data],
                    );
                }
            }
        }
    }
}

/// All five sums of a type.
fn sums(dtype: DType, shape: &[u64], axes: &[i64]) -> Vec<Problem> {
    let ops = Op::SUMS.into_iter().filter(move |_| dtype != DType::Bool);
    let made = ops.map(|op| problem_of(op, dtype, shape, axes));
    made.collect::<Result<_, _>>().expect("problems")
}

#[test]
fn sums_are_those_of_big_integers() {
    let mut bits = Bits::new(7);
    let shape = [7, 19, 2];
    for dtype in DType::ALL {
        for seed in 0..3 {
            let data = match seed {
                // Mixed kinds of data: NaNs and infinities decide most results.
                0 | 1 => tensor(dtype, shape, seed),
                _ => to_bytes(dtype, &cancelling(dtype, 266, &mut || bits.draw())),
            };
            for axes in [&[1][..], &[0, 2], &[2], &[]] {
                for problem in sums(dtype, &shape, axes) {
                    same(&problem, &[&data]);
                    same(&problem.nan(NanPolicy::Ignore), &[&data]);
                }
            }
            for problem in sums(dtype, &shape, &[]) {
                let noop = problem.noop_with_empty_axes(true);
                same(&noop, &[&data]);
            }
        }
    }
}

#[test]
fn sums_that_cancel_are_exact_to_the_last_bit() {
    let mut bits = Bits::new(8);
    for dtype in [DType::BF16, DType::F16, DType::F32, DType::F64] {
        for n in [2, 3, 5, 17, 100, 301] {
            for _ in 0..20 {
                let row = cancelling(dtype, n, &mut || bits.draw());
                for problem in sums(dtype, &[n as u64], &[]) {
                    same(&problem, &[&to_bytes(dtype, &row)]);
                }
            }
        }
    }
}

#[test]
fn sums_of_float64_are_those_of_xsum() {
    let mut bits = Bits::new(9);
    for n in [1, 2, 10, 1000, 5000] {
        for _ in 0..20 {
            let row = cancelling(DType::F64, n, &mut || bits.draw());
            let row: Vec<f64> = row.into_iter().map(f64::from_bits).collect();
            let mut other = xsum::XsumAuto::new();
            other.add_list(&row);
            let problem = problem_of(Op::ReduceSum, DType::F64, &[n as u64], &[]);
            let data = bytemuck::cast_slice(&row);
            let sum = reference::evaluate(&problem.expect("a problem"), &[data]);
            let sum = sum.expect("a sum").swap_remove(0);
            assert_eq!(to_bits(DType::F64, &sum), [other.sum().to_bits()]);
        }
    }
}

#[test]
fn views_and_broadcast_inputs_are_what_the_oracle_sees() {
    let mut bits = Bits::new(5);
    for dtype in DType::ALL {
        for view in VIEWS.iter().filter(|view| view.3 < 2500) {
            let data = mixed(dtype, view.3, bits.draw());
            let problems = [
                index_problem(dtype, view.0, 0, bits.below(36)),
                value_problem(dtype, view.0, &[], bits.below(6)),
                extremes(dtype, view.0, 0, bits.below(12)),
                Problem::max(dtype, &[view.0, &[1]]),
            ];
            let mut problems: Vec<_> = problems.into_iter().flatten().collect();
            // Integers have no mean over an empty axis.
            if !view.0.contains(&0) {
                let last: Vec<i64> = (0..view.0.len() as i64).rev().take(1).collect();
                problems.extend(sums(dtype, view.0, &last));
            }
            for problem in problems {
                let one = mixed(dtype, 1, bits.draw());
                let problem = problem.strided(0, view.1, view.2);
                match problem.inputs().len() {
                    1 => same(&problem, &[&data]),
                    _ => same(&problem, &[&data, &one]),
                }
            }
        }
    }
}
