//! The reference against the oracle, which was written a second time: any data, every operator, type and
//! option.

use support::oracle::answers;
use support::views::VIEWS;
use support::{Bits, extremes, index_problem, mixed, tensor, value_problem};
use wgreduce::{DType, Problem, reference};

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
                let index = index_problem(dtype, &shape, 1, way).expect("a problem");
                same(&index.clone().keepdims(false).expect("a problem"), &[&data]);
                same(&index.with_values(true).expect("a problem"), &[&data]);
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
            for problem in problems.into_iter().flatten() {
                let one = mixed(dtype, 1, bits.draw());
                let problem = problem.strided(0, view.1, view.2).expect("a view");
                match problem.inputs().len() {
                    1 => same(&problem, &[&data]),
                    _ => same(&problem, &[&data, &one]),
                }
            }
        }
    }
}
