//! The rules of problems: shapes, options, refusals with their numbers, and the text of both.

use half::{bf16, f16};
use support::problem_of;
use wgreduce::reference::evaluate;
use wgreduce::{
    Caps, Class, DType, Element, Error, IndexType, NanPolicy, Op, Plan, Problem, ProblemError,
};

const ARGS: [Op; 2] = [Op::ArgMin, Op::ArgMax];
const REDUCES: [Op; 2] = [Op::ReduceMin, Op::ReduceMax];

fn shape(problem: Result<Problem, ProblemError>) -> Vec<u64> {
    let mut outputs = problem.unwrap().outputs();
    assert_eq!(outputs.len(), 1);
    outputs.remove(0).shape
}

// Names and sizes.

#[test]
fn a_type_is_found_by_both_of_its_names_and_by_no_other_text() {
    let names = DType::ALL.map(DType::name).join(" ");
    let expected = "bfloat16 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 \
                    uint64 bool";
    assert_eq!(names, expected);
    for dtype in DType::ALL {
        assert_eq!(dtype.name().parse(), Ok(dtype));
        assert_eq!(dtype.onnx_name().parse(), Ok(dtype));
    }
    assert_eq!(DType::F32.onnx_name(), "float");
    assert_eq!(DType::F64.onnx_name(), "double");
    assert_eq!(DType::BF16.onnx_name(), "bfloat16");
    for text in ["", "Float", "float 32", "f32", "string"] {
        assert!(text.parse::<DType>().is_err(), "{text}");
    }
    let told = "f32".parse::<DType>().unwrap_err().to_string();
    assert!(told.starts_with("no element type is called \"f32\"; there are: bfloat16, float16"));
}

#[test]
fn an_operator_is_found_by_its_name() {
    for op in Op::ALL {
        assert_eq!(op.name().parse(), Ok(op));
    }
    let told = "argmin".parse::<Op>().unwrap_err().to_string();
    assert!(told.starts_with("no operator is called \"argmin\"; there are: ArgMin, ArgMax"));
    let last = "ReduceL1, ReduceL2, ReduceSumSquare";
    assert!(told.ends_with(last), "{told}");
}

#[test]
fn options_have_onnx_s_defaults_and_can_be_asked_for() {
    let problem = Problem::arg_min(DType::I8, &[3, 4], 0).expect("a problem");
    let asked = |p: &Problem| {
        let options = (p.keeps_dims(), p.selects_last_index(), p.gives_values());
        (options, p.index_result_type(), p.nan_policy())
    };
    let defaults = (true, false, false);
    let right = (defaults, Some(IndexType::I64), NanPolicy::Propagate);
    assert_eq!(asked(&problem), right);
    let other = problem.keepdims(false).select_last_index(true);
    let other = other.with_values(true).index_type(IndexType::U32);
    let right = ((false, true, true), Some(IndexType::U32), NanPolicy::Ignore);
    assert_eq!(asked(&other.nan(NanPolicy::Ignore)), right);
    let values = Problem::reduce_min(DType::I8, &[3], &[0]).expect("a problem");
    assert_eq!(asked(&values), (defaults, None, NanPolicy::Propagate));
}

#[test]
fn sizes_and_classes_are_those_of_the_names() {
    for dtype in DType::ALL {
        let digits = dtype.name().trim_start_matches(char::is_alphabetic);
        let bits = digits.parse().unwrap_or(8);
        assert_eq!(dtype.size() * 8, bits, "{dtype}");
        let class = match dtype.name().trim_end_matches(char::is_numeric) {
            "int" => Class::Signed,
            "uint" => Class::Unsigned,
            "bool" => Class::Bool,
            _ => Class::Float,
        };
        assert_eq!(dtype.class(), class, "{dtype}");
    }
}

#[test]
fn elements_go_to_bytes_and_back() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(dtype: DType, elements: &[T]) {
        assert_eq!(T::DTYPE, dtype);
        let bytes = T::bytes(elements);
        assert_eq!(bytes.len() as u64, dtype.size() * elements.len() as u64);
        // Shifted by one byte, so that nothing relies on alignment; the bytes left over make no element.
        let shifted = [&[9][..], bytes].concat();
        assert_eq!(T::from_bytes(&shifted[1..]), elements);
        if dtype.size() > 1 {
            assert_eq!(T::from_bytes(&shifted).len(), elements.len());
        }
    }
    check(DType::BF16, &[bf16::ONE, bf16::MIN]);
    check(DType::F16, &[f16::ONE, f16::MIN]);
    check(DType::F32, &[1.5f32, -2.0]);
    check(DType::F64, &[1.5f64, -2.0]);
    check(DType::I8, &[1i8, -2]);
    check(DType::I16, &[1i16, -2]);
    check(DType::I32, &[1i32, -2]);
    check(DType::I64, &[1i64, -2]);
    check(DType::U8, &[1u8, 2]);
    check(DType::U16, &[1u16, 2]);
    check(DType::U32, &[1u32, 2]);
    check(DType::U64, &[1u64, 2]);
    check(DType::Bool, &[true, false]);
    assert_eq!(bool::from_bytes(&[0, 1, 7]), [false, true, true]);
}

#[test]
fn operators_say_what_they_are() {
    let named = |op: &Op| op.is_in_onnx() && *op != Op::TopK;
    for op in Op::ALL.into_iter().filter(named) {
        assert_eq!(op.is_max(), op.name().contains("Max"), "{op}");
        assert_eq!(op.is_index(), op.name().starts_with("Arg"), "{op}");
        assert_eq!(op.is_elementwise(), op.name().len() == 3, "{op}");
    }
    assert!(Op::Extremes.is_index() && Op::ArgMaxAbs.is_index());
    assert!(Op::TopK.is_index() && Op::TopK.is_max() && !Op::TopK.is_elementwise());
    let (onnx, beyond): (Vec<Op>, Vec<Op>) = Op::ALL.into_iter().partition(|op| op.is_in_onnx());
    let names = |ops: Vec<Op>| ops.into_iter().map(Op::name).collect::<Vec<_>>().join(" ");
    let right = "ArgMin ArgMax ReduceMin ReduceMax Min Max TopK \
                 ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare";
    assert_eq!(names(onnx), right);
    assert_eq!(names(beyond), "Extremes ArgMaxAbs ReduceMaxAbs");
}

// Shapes.

#[test]
fn reductions_keep_or_drop_their_axes_in_any_order() {
    for (axes, kept, dropped) in [
        (&[][..], [1, 1, 1], &[][..]),
        (&[0], [1, 3, 4], &[3, 4]),
        (&[1], [2, 1, 4], &[2, 4]),
        (&[-1], [2, 3, 1], &[2, 3]),
        (&[-3], [1, 3, 4], &[3, 4]),
        (&[0, 2], [1, 3, 1], &[3]),
        (&[-1, 0], [1, 3, 1], &[3]),
        (&[2, 1, 0], [1, 1, 1], &[]),
    ] {
        let from = [2, 3, 4];
        // An index has one axis.
        let args = ARGS.into_iter().filter(|_| axes.len() == 1);
        for op in REDUCES.into_iter().chain(args) {
            let problem = problem_of(op, DType::F32, &from, axes);
            assert_eq!(problem.as_ref().unwrap().op(), op);
            assert_eq!(shape(problem.clone()), kept, "{op} {axes:?}");
            let flat = shape(problem.map(|p| p.keepdims(false)));
            assert_eq!(flat, dropped, "{op} {axes:?}");
        }
    }
}

#[test]
fn a_problem_says_which_dimensions_it_reduces_and_how_many_elements_that_is() {
    let problem = Problem::reduce_min(DType::F64, &[2, 3, 4], &[-1, 0]).unwrap();
    assert_eq!(problem.reduced(), [true, false, true]);
    assert_eq!(problem.reduced_len(), 8);
    assert_eq!(problem.inputs(), [[2, 3, 4]]);
    assert_eq!(problem.input_bytes(0), 192);
    let scalar = Problem::reduce_max(DType::U8, &[], &[]).unwrap();
    assert_eq!((scalar.reduced(), scalar.reduced_len()), (&[][..], 1));
    let empty = Problem::reduce_max(DType::U8, &[3, 0], &[]).unwrap();
    assert_eq!((empty.reduced_len(), empty.input_bytes(0)), (0, 0));
}

#[test]
fn a_length_beyond_64_bits_next_to_a_zero_is_no_overflow() {
    let problem = Problem::reduce_min(DType::U8, &[1 << 40, 1 << 40, 0], &[0, 1]).unwrap();
    assert_eq!(problem.reduced_len(), u64::MAX);
    assert_eq!(problem.outputs()[0].bytes(), 0);
}

#[test]
fn a_noop_keeps_the_shape_and_has_no_effect_where_there_are_axes() {
    for keepdims in [false, true] {
        let noop = Problem::reduce_min(DType::F32, &[2, 3], &[]);
        let noop = noop.map(|p| p.noop_with_empty_axes(true).keepdims(keepdims));
        assert!(noop.as_ref().unwrap().is_copy());
        assert_eq!(shape(noop), [2, 3]);
    }
    let axes = Problem::reduce_min(DType::F32, &[2, 3], &[1]);
    let axes = axes.map(|p| p.noop_with_empty_axes(true));
    assert!(!axes.as_ref().unwrap().is_copy());
    assert_eq!(shape(axes), [2, 1]);
    let off = Problem::reduce_min(DType::F32, &[2, 3], &[]);
    let off = off.map(|p| p.noop_with_empty_axes(false));
    assert_eq!(shape(off), [1, 1]);
}

#[test]
fn shapes_broadcast_aligned_at_the_last_dimension() {
    for (shapes, expected) in [
        (&[&[3, 1, 5][..], &[4, 1]][..], &[3, 4, 5][..]),
        (&[&[4, 1], &[3, 1, 5]], &[3, 4, 5]),
        (&[&[], &[2]], &[2]),
        (&[&[1], &[], &[2, 1], &[3]], &[2, 3]),
        (&[&[0], &[1]], &[0]),
        (&[&[1, 3], &[0, 1]], &[0, 3]),
        (&[&[7]], &[7]),
    ] {
        let min = shape(Problem::min(DType::F32, shapes));
        assert_eq!(min, expected, "{shapes:?}");
        let max = shape(Problem::max(DType::Bool, shapes));
        assert_eq!(max, expected, "{shapes:?}");
    }
    assert!(Problem::max(DType::F32, &[[7]]).unwrap().is_copy());
    assert!(!Problem::max(DType::F32, &[[7], [7]]).unwrap().is_copy());
}

#[test]
fn outputs_have_names_types_and_shapes() {
    let arg = Problem::arg_max(DType::BF16, &[4, 2], 0);
    let values = arg.clone().map(|p| p.with_values(true).keepdims(false));
    let extremes = Problem::extremes(DType::F16, &[3, 4], -1);
    let flat = extremes.clone().map(|p| p.keepdims(false));
    let problems = [
        arg,
        values.map(|p| p.index_type(IndexType::U32)),
        Problem::reduce_sum(DType::F32, &[2, 3], &[1]),
        Problem::reduce_max_abs(DType::I8, &[2, 3], &[1]),
        extremes,
        flat.map(|p| p.index_type(IndexType::U32)),
        Problem::top_k(DType::F16, &[2, 5, 3], 1, 4),
        Problem::top_k(DType::F16, &[2, 5, 3], -1, 0),
    ];
    let texts = "
        indices int64 [1, 2]
        indices uint32 [2], values bfloat16 [2]
        values float32 [2, 1]
        values uint8 [2, 1]
        min float16 [3, 1], max float16 [3, 1], argmin int64 [3, 1], argmax int64 [3, 1]
        min float16 [3], max float16 [3], argmin uint32 [3], argmax uint32 [3]
        values float16 [2, 4, 3], indices int64 [2, 4, 3]
        values float16 [2, 5, 0], indices int64 [2, 5, 0]
    ";
    let outputs = problems.map(|problem| {
        let problem = problem.unwrap();
        let (names, outputs) = (problem.output_names(), problem.outputs());
        assert_eq!(names.len(), outputs.len(), "{problem}");
        let all = names.iter().zip(outputs);
        let all = all.map(|(name, o)| format!("{name} {} {:?}", o.dtype, o.shape));
        all.collect::<Vec<_>>().join(", ")
    });
    assert_eq!(lines(texts), outputs);
}

#[test]
fn options_are_set_in_any_order() {
    let problem = || Problem::arg_max(DType::BF16, &[4, 2], 0).unwrap();
    let one = problem()
        .select_last_index(true)
        .nan(NanPolicy::Ignore)
        .with_values(true)
        .index_type(IndexType::U32)
        .keepdims(false)
        .strided(0, &[1, 4], 3);
    let other = problem()
        .strided(0, &[2, 1], 0)
        .keepdims(false)
        .strided(0, &[1, 4], 3)
        .index_type(IndexType::U32)
        .with_values(true)
        .nan(NanPolicy::Ignore)
        .select_last_index(true);
    assert_eq!(one, other);
    assert_eq!(one.check(), Ok(()));
}

// Refusals.

#[test]
fn an_axis_out_of_range_is_named_as_it_was_written() {
    for (rank, axes) in [
        (0, &[1, -2][..]),
        (1, &[1, -2]),
        (3, &[3, -4, i64::MAX, i64::MIN]),
    ] {
        for &axis in axes {
            let expected = Err(ProblemError::AxisOutOfRange { axis, rank });
            for op in Op::ALL.into_iter().filter(|op| !op.is_elementwise()) {
                let refused = problem_of(op, DType::F32, &vec![2; rank], &[axis]);
                assert_eq!(refused, expected, "{op}");
            }
        }
    }
    // Only the index operators accept an axis of a scalar.
    let expected = ProblemError::AxisOutOfRange { axis: 0, rank: 0 };
    for op in Op::ALL.into_iter().filter(|op| !op.is_elementwise()) {
        let refused = problem_of(op, DType::F32, &[], &[0]).err();
        let accepts = op.is_index() && op != Op::TopK;
        assert_eq!(refused, (!accepts).then(|| expected.clone()), "{op}");
    }
}

#[test]
fn two_axes_of_one_dimension_are_refused() {
    let many = |op: &Op| op.name().starts_with("Reduce");
    for op in Op::ALL.into_iter().filter(many) {
        for (axes, axis, first) in [(&[1, 1][..], 1, 1), (&[2, 0, -1], -1, 2), (&[-3, 0], 0, -3)] {
            let expected = Err(ProblemError::DuplicateAxis { axis, first });
            assert_eq!(problem_of(op, DType::F32, &[2, 3, 4], axes), expected);
        }
    }
}

#[test]
fn an_index_over_an_axis_without_elements_is_refused_even_if_the_output_is_empty() {
    let one = |op: &Op| op.is_index() && *op != Op::TopK;
    for op in Op::ALL.into_iter().filter(one) {
        for (from, axis) in [(&[0][..], 0), (&[2, 0], -1), (&[0, 0], 1), (&[3, 0, 0], 1)] {
            let refused = problem_of(op, DType::F32, from, &[axis]);
            let shape = from.to_vec();
            assert_eq!(refused, Err(ProblemError::EmptyAxis { op, axis, shape }));
        }
        assert!(problem_of(op, DType::F32, &[2, 0], &[0]).is_ok());
    }
}

#[test]
fn a_tensor_of_more_than_63_bits_of_bytes_is_refused() {
    let too_large = |dtype, shape: &[u64]| {
        let shape = shape.to_vec();
        Err(ProblemError::TooLarge { shape, dtype })
    };
    let most = i64::MAX as u64;
    assert!(Problem::reduce_min(DType::U8, &[most], &[]).is_ok());
    for (dtype, shape) in [
        (DType::U8, &[most + 1][..]),
        (DType::I16, &[most / 2 + 1]),
        (DType::F64, &[1 << 32, 1 << 32]),
        (DType::F64, &[u64::MAX; 3]),
    ] {
        let problem = Problem::reduce_min(dtype, shape, &[]);
        assert_eq!(problem, too_large(dtype, shape));
    }
    // The output can be too large even if no input is.
    let output = [1 << 40, 1 << 40];
    let problem = Problem::min(DType::U8, &[[1 << 40, 1], [1, 1 << 40]]);
    assert_eq!(problem, too_large(DType::U8, &output));
    let problem = Problem::reduce_max(DType::U8, &[1 << 40, 0, 1 << 40], &[1]);
    assert_eq!(problem, too_large(DType::U8, &[1 << 40, 1, 1 << 40]));
}

#[test]
fn a_mean_of_no_integers_is_refused_unless_it_reduces_nothing() {
    let refused = Err(ProblemError::EmptyAxis {
        op: Op::ReduceMean,
        axis: 0,
        shape: vec![0, 3],
    });
    let mean = |axes| Problem::reduce_mean(DType::I32, &[0, 3], axes);
    // An option may still say that no axis is reduced, in any order of options.
    let all = mean(&[]).expect("complete only with its options");
    assert_eq!(all.check(), refused);
    assert_eq!(evaluate(&all, &[&[]]), refused.clone().map(|()| Vec::new()));
    let kept = all.clone().keepdims(false).noop_with_empty_axes(false);
    assert_eq!(kept.check(), refused);
    let noop = all.noop_with_empty_axes(true);
    assert_eq!(noop.check(), Ok(()));
    assert_eq!(evaluate(&noop, &[&[]]), Ok(vec![Vec::new()]));
    // With axes the option changes nothing.
    assert_eq!(mean(&[0]).map(|_| ()), refused);
    assert_eq!(mean(&[1]).and_then(|p| p.check()), Ok(()));
}

#[test]
fn indices_of_more_than_63_bits_of_bytes_are_refused_unless_their_type_is_smaller() {
    let many = Problem::arg_min(DType::U8, &[1 << 60, 2], 1).expect("its index type is not known");
    let refused = |problem: &Problem, dtype| {
        let shape = vec![1 << 60, 1];
        let error = ProblemError::TooLarge { shape, dtype };
        assert_eq!(problem.check(), Err(error));
    };
    refused(&many, DType::I64);
    let small = many.clone().select_last_index(true);
    assert_eq!(small.index_type(IndexType::U32).check(), Ok(()));
    let plan = Plan::new(&many, &Caps::webgpu_default()).map(drop);
    let large = matches!(&plan, Err(Error::Problem(ProblemError::TooLarge { .. })));
    assert!(large, "{plan:?}");
}

#[test]
fn an_axis_longer_than_its_index_type_is_refused() {
    let index = |shape: &[u64], t| {
        let problem = Problem::arg_min(DType::U8, shape, -1).expect("a problem");
        problem.index_type(t).check()
    };
    for (index_type, longest) in [(IndexType::I32, 1 << 31), (IndexType::U32, 1 << 32)] {
        assert_eq!(index(&[longest], index_type), Ok(()));
        let len = longest + 1;
        let expected = Err(ProblemError::IndexRange { len, index_type });
        assert_eq!(index(&[len], index_type), expected);
        assert_eq!(index(&[len], IndexType::I64), Ok(()));
        // Only the length of the reduced axis counts.
        assert_eq!(index(&[len, 3], index_type), Ok(()));
    }
}

#[test]
fn an_option_that_the_operator_does_not_have_is_refused() {
    type Setter = fn(Problem, bool) -> Problem;
    const TYPES: [IndexType; 2] = [IndexType::I64, IndexType::U32];
    // Each is given a value that is not the default, or the default.
    let options: [(&str, Setter); 6] = [
        ("keepdims", |p, set| p.keepdims(!set)),
        ("select_last_index", |p, set| p.select_last_index(set)),
        ("largest", |p, set| p.largest(!set)),
        ("index_type", |p, set| p.index_type(TYPES[usize::from(set)])),
        ("with_values", |p, set| p.with_values(set)),
        ("noop_with_empty_axes", |p, set| p.noop_with_empty_axes(set)),
    ];
    let has = |op: Op, option| match option {
        "keepdims" => !op.is_elementwise() && op != Op::TopK,
        "select_last_index" => op.is_index() && op != Op::TopK,
        "largest" => op == Op::TopK,
        "index_type" => op.is_index(),
        "with_values" => op.name().starts_with("Arg"),
        _ => op.name().starts_with("Reduce") && op.is_in_onnx(),
    };
    let caps = Caps::webgpu_default();
    for op in Op::ALL {
        let problem = plain(op);
        assert_eq!(problem.op(), op);
        for (option, set) in options {
            assert_eq!(set(problem.clone(), false).check(), Ok(()), "{op} {option}");
            let other = set(problem.clone(), true);
            let expected = match has(op, option) {
                true => Ok(()),
                false => Err(ProblemError::NoSuchOption { op, option }),
            };
            assert_eq!(other.check(), expected, "{op} {option}");
            // All that solves or plans a problem checks it.
            let inputs = vec![&[0u8; 8][..]; other.inputs().len()];
            assert_eq!(evaluate(&other, &inputs).map(drop), expected);
            let planned = Plan::new(&other, &caps).map(drop);
            match expected {
                Ok(()) => assert!(planned.is_ok()),
                Err(expected) => {
                    assert!(matches!(planned, Err(Error::Problem(e)) if e == expected))
                }
            }
        }
    }
}

/// Each operator's problem over two float32, with the default options.
fn plain(op: Op) -> Problem {
    problem_of(op, DType::F32, &[2], &[0]).expect("a problem")
}

#[test]
fn top_k_takes_as_many_elements_as_there_are() {
    let top = |shape: &[u64], axis, k| Problem::top_k(DType::F16, shape, axis, k);
    let problem = top(&[2, 5, 3], 1, 4).expect("a problem");
    assert_eq!(problem.k(), Some(4));
    assert_eq!(plain(Op::ArgMax).k(), None);
    assert!(!problem.gives_smallest() && problem.largest(false).gives_smallest());
    assert!(top(&[7, 0], 1, 0).is_ok_and(|p| p.check().is_ok()));
    let caps = Caps::webgpu_default();
    for (shape, axis, k) in [
        (&[2, 5][..], 1, 6),
        (&[2, 5], 0, 3),
        (&[7, 0], 1, 1),
        (&[4], 0, u64::MAX),
    ] {
        let problem = top(shape, axis, k).expect("a problem");
        let len = shape[axis as usize];
        let expected = ProblemError::MoreThanAll { k, len };
        assert_eq!(problem.check(), Err(expected.clone()));
        assert_eq!(evaluate(&problem, &[&[0; 20]]), Err(expected.clone()));
        let planned = Plan::new(&problem, &caps);
        assert!(matches!(planned, Err(Error::Problem(e)) if e == expected));
    }
}

#[test]
fn a_problem_that_is_refused_can_be_asked_about() {
    let matrix = || Problem::arg_min(DType::F64, &[3, 4], 1).expect("a problem");
    let far = i64::MAX;
    let empty = Problem::reduce_min(DType::F64, &[u64::MAX, u64::MAX, 0], &[]);
    let empty = empty.expect("a problem");
    let last = plain(Op::ReduceSum).select_last_index(true);
    let beyond = matrix().strided(0, &[far, far], u64::MAX);
    assert_eq!(beyond.input_bytes(0), u64::MAX);
    for refused in [
        beyond,
        matrix().strided(0, &[0, 0], u64::MAX),
        matrix().strided(0, &[-far, -far], 0),
        matrix().strided(0, &[], 0),
        matrix().strided(usize::MAX, &[1], 0),
        matrix().noop_with_empty_axes(true),
        empty.strided(0, &[far; 3], 0).with_values(true),
        last.with_values(true),
        plain(Op::Min).noop_with_empty_axes(true).keepdims(false),
    ] {
        assert!(refused.check().is_err(), "{refused}");
        let names = refused.output_names();
        assert_eq!(refused.outputs().len(), names.len(), "{refused}");
        let asked = (refused.input_bytes(0), refused.dims(), refused.is_copy());
        drop(format!("{refused} {asked:?}"));
    }
    // An option changes nothing but its own.
    assert!(!matrix().noop_with_empty_axes(true).is_copy());
}

#[test]
fn shapes_that_do_not_broadcast_are_refused_with_what_came_before() {
    let refused = |input, shape: &[u64], with: &[u64]| {
        let (shape, with) = (shape.to_vec(), with.to_vec());
        Err(ProblemError::NotBroadcastable { input, shape, with })
    };
    let min = |shapes: &[&[u64]]| Problem::min(DType::F32, shapes);
    assert_eq!(min(&[&[2, 3], &[2]]), refused(1, &[2], &[2, 3]));
    assert_eq!(min(&[&[3, 1], &[2], &[4, 2]]), refused(2, &[4, 2], &[3, 2]));
    assert_eq!(min(&[&[0], &[2]]), refused(1, &[2], &[0]));
    assert_eq!(min(&[]), Err(ProblemError::NoInputs { op: Op::Min }));
    let none: [&[u64]; 0] = [];
    let error = ProblemError::NoInputs { op: Op::Max };
    assert_eq!(Problem::max(DType::F32, &none), Err(error));
}

// Views.

#[test]
fn a_view_needs_the_bytes_up_to_its_highest_element() {
    let matrix = Problem::arg_min(DType::F32, &[3, 4], 1).unwrap();
    assert_eq!((matrix.layout(0), matrix.input_bytes(0)), (None, 48));
    for (strides, offset, elements) in [
        ([4, 1], 0, 12),
        ([1, 3], 5, 17),
        ([10, 2], 1, 28),
        ([0, 0], 7, 8),
        ([-4, 1], 8, 12),
        ([-4, -1], 11, 12),
    ] {
        let view = matrix.clone().strided(0, &strides, offset);
        assert_eq!(view.input_bytes(0), 4 * elements, "{view}");
        let layout = view.layout(0).unwrap();
        assert_eq!((&layout.strides[..], layout.offset), (&strides[..], offset));
        assert_eq!(view.outputs(), matrix.outputs());
    }
    let empty = Problem::reduce_min(DType::F32, &[0, 4], &[0]).unwrap();
    let empty = empty.strided(0, &[i64::MIN, i64::MAX], 9);
    assert_eq!(empty.input_bytes(0), 0);
}

#[test]
fn a_view_that_reaches_outside_is_refused_with_its_numbers() {
    let matrix = Problem::arg_min(DType::F32, &[3, 4], 1).unwrap();
    let refused = |strides: [i64; 2], offset, first, last, elements| {
        Err::<(), _>(ProblemError::ViewOutOfRange {
            input: 0,
            shape: vec![3, 4],
            strides: strides.to_vec(),
            offset,
            first,
            last,
            elements,
        })
    };
    let most = i64::MAX as u64 / 4;
    let of = |strides: [i64; 2], offset| matrix.clone().strided(0, &strides, offset);
    let view = |strides, offset| of(strides, offset).check();
    assert_eq!(view([-4, 1], 7), refused([-4, 1], 7, -1, 10, most));
    let far = refused([1, 1 << 61], 0, 0, 3 * (1 << 61) + 2, most);
    assert_eq!(view([1, 1 << 61], 0), far);
    assert_eq!(view([1, 1], most - 6), Ok(()));
    let last = most as i64;
    let beyond = refused([1, 1], most - 5, last - 5, last, most);
    assert_eq!(view([1, 1], most - 5), beyond);
    // The data is the whole tensor's, and must reach the view's highest element.
    let problem = of([1, 3], 5);
    let run = |elements: usize| evaluate(&problem, &[&vec![0; 4 * elements]]).map(drop);
    assert_eq!(run(16), refused([1, 3], 5, 5, 16, 16));
    assert_eq!(run(0), refused([1, 3], 5, 5, 16, 0));
    assert_eq!((run(17), run(40)), (Ok(()), Ok(())));
}

// Text.

fn lines(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_problem_reads_as_operator_type_shapes_and_axes() {
    let problems = [
        Problem::arg_min(DType::F32, &[64, 512, 512], -2),
        Problem::reduce_max(DType::Bool, &[2, 3], &[]),
        Problem::min(DType::U8, &[&[3, 1][..], &[]]),
        Problem::extremes(DType::I8, &[3, 4], 0),
        Problem::arg_max(DType::F16, &[3, 4], 0).map(|p| p.strided(0, &[-1, 3], 2)),
        Problem::top_k(DType::F16, &[2, 5, 3], 1, 4),
        Problem::top_k(DType::F16, &[2, 5, 3], 1, 4).map(|p| p.largest(false)),
    ];
    let texts = "
        ArgMin float32 [64, 512, 512] axes [1]
        ReduceMax bool [2, 3] axes [0, 1]
        Min uint8 [3, 1] []
        Extremes int8 [3, 4] axes [0]
        ArgMax float16 [3, 4] by [-1, 3] from 2 axes [0]
        TopK float16 [2, 5, 3] axes [1] k 4
        TopK float16 [2, 5, 3] axes [1] k 4 smallest
    ";
    let problems = problems.map(|problem| problem.unwrap().to_string());
    assert_eq!(lines(texts), problems);
}

#[test]
fn a_refusal_says_what_is_wrong_with_its_numbers() {
    let pair = Problem::min(DType::F32, &[&[3, 4][..], &[4]]);
    let refused = [
        Problem::arg_min(DType::F32, &[2, 3], 2),
        Problem::reduce_min(DType::F32, &[], &[0]),
        Problem::reduce_min(DType::F32, &[2, 3], &[1, -1]),
        Problem::arg_max(DType::F32, &[2, 0], -1),
        Problem::reduce_min(DType::F64, &[1 << 60], &[]),
        Problem::arg_min(DType::U8, &[4294967297], 0).map(|p| p.index_type(IndexType::U32)),
        Problem::min(DType::F32, &[[2]]).map(|p| p.keepdims(false)),
        Problem::max::<[u64; 1]>(DType::F32, &[]),
        Problem::max(DType::F32, &[[2], [3]]),
        pair.clone().map(|p| p.strided(2, &[1], 0)),
        pair.map(|p| p.strided(1, &[4, 1], 0)),
        Problem::max(DType::I64, &[[2]]).map(|p| p.strided(0, &[-3], 1)),
    ];
    let texts = "
        axis 2 is out of range for rank 2 (legal: -2..=1, the nearest: 1)
        axis 0 is out of range for rank 0 (a scalar has no axis)
        axis -1 names the same dimension as axis 1: axes must differ
        ArgMax over axis -1 of shape [2, 0]: the axis has no element to point to
        a float64 tensor of shape [1152921504606846976] has more than 2^63 - 1 bytes
        an axis of 4294967297 elements needs indices that uint32 cannot hold
        Min has no option keepdims
        Max needs at least one input
        input 1 of shape [3] does not broadcast with [2] \
        (dimensions must be equal or 1, aligned at the last)
        there is no input 2: Min has 2 here
        input 1 of shape [4] was given 2 strides
        input 0, shape [2] with strides [-3] from element 1, reaches from element -2 to 1 \
        where there are 0 to 1152921504606846974
    ";
    let refused = refused.map(|p| p.and_then(|p| p.check()).unwrap_err().to_string());
    assert_eq!(lines(texts), refused);
}
