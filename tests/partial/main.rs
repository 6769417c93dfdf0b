//! Partial results: parts of a tensor, cut anywhere and merged in any order, equal the whole. Needs no
//! adapter; `gpu/pieces.rs` compares the devices' partial results with these.

mod lists;
mod sums;

use support::{Bits, index_problem, part, sum_problem, summands, summed, tensor, value_problem};
use wgreduce::{
    DType, Element, IndexType, NanPolicy, Partial, PartialError, Problem, ProblemError, reference,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// `[outer, len, inner]`; the middle is cut.
const SHAPES: [[u64; 3]; 3] = [[8, 57, 1], [1, 300, 8], [3, 20, 5]];

/// Every way to reduce dimension 1 of `shape`, with indices of 64 bits.
fn variants(dtype: DType, shape: [u64; 3]) -> Vec<Problem> {
    let mut all = Vec::new();
    for way in 0..12 {
        let index = index_problem(dtype, &shape, 1, way).expect("a problem");
        all.push(index.clone());
        all.push(index.with_values(true));
    }
    all.extend((0..6).map(|way| value_problem(dtype, &shape, &[1], way).expect("a problem")));
    all
}

/// Merges all partial results, two at a time, in a random order. Each is read again from its bytes.
fn merged(mut parts: Vec<Partial>, bits: &mut Bits) -> Result<Partial, PartialError> {
    let again = |partial: &Partial| -> Result<(), PartialError> {
        assert_eq!(Partial::from_bytes(&partial.to_bytes())?, *partial);
        Ok(())
    };
    parts.iter().try_for_each(again)?;
    while parts.len() > 1 {
        let other = parts.swap_remove(bits.draw() as usize % parts.len());
        let i = bits.draw() as usize % parts.len();
        parts[i].merge(&other)?;
        again(&parts[i])?;
    }
    Ok(parts.remove(0))
}

#[test]
fn parts_cut_and_merged_anyhow_equal_the_whole() -> Outcome {
    let mut bits = Bits::new(41);
    for dtype in DType::ALL {
        for (seed, shape) in (0..).zip(SHAPES) {
            let input = tensor(dtype, shape, seed);
            for (i, whole) in variants(dtype, shape).into_iter().enumerate() {
                let expected = reference::evaluate(&whole, &[&input])?;
                let cuts = support::cuts(shape[1], 1 + i as u64 % 6, &mut bits);
                let parts = variants_of(&cuts, dtype, shape, &input, i)?;
                let all = merged(parts, &mut bits)?;
                assert_eq!(all.finish()?, expected, "{whole} cut at {cuts:?}");
                assert_eq!(all.outputs(), whole.outputs());
            }
        }
    }
    Ok(())
}

/// Pieces of partial results, merged and finished one by one, are the outputs side by side.
#[test]
fn slices_of_outputs_are_merged_as_the_whole() -> Outcome {
    let shape = [4, 9, 3];
    let input = tensor(DType::F32, shape, 5);
    let sums = summands(DType::F32, 4 * 9 * 3, 7);
    let sum = |shape: &[u64]| Problem::reduce_l2(DType::F32, shape, &[1]);
    let mut all = Vec::new();
    for (i, whole) in variants(DType::F32, shape).into_iter().enumerate() {
        let parts = variants_of(&[0, 4, 9], DType::F32, shape, &input, i)?;
        all.push((whole, input.clone(), parts));
    }
    let parts = parts_of(shape, &[0, 4, 9], &sums, sum)?;
    all.push((sum(&shape)?, sums, parts));
    for (whole, input, parts) in all {
        let mut outputs = vec![Vec::new(); whole.outputs().len()];
        for range in [0..5, 5..5, 5..12] {
            let mut merged = parts[0].slice(range.clone());
            let sent = parts[1].slice(range.clone()).to_bytes();
            merged.merge(&Partial::from_bytes(&sent)?)?;
            assert_eq!(merged.outputs()[0].shape, [range.end - range.start]);
            for (all, some) in outputs.iter_mut().zip(merged.finish()?) {
                all.extend(some);
            }
        }
        assert_eq!(outputs, reference::evaluate(&whole, &[&input])?, "{whole}");
    }
    Ok(())
}

/// Likewise of the best elements: the element that is read, reduced alone where it is said to be, gives the bytes.
#[test]
fn a_flipped_bit_of_a_best_element_is_refused_or_gives_one_that_can_be() -> Outcome {
    let mut told = [0; 2];
    for dtype in DType::ALL {
        let (whole, one) = (variants(dtype, [1, 5, 1]), variants(dtype, [1, 1, 1]));
        let input = tensor(dtype, [1, 5, 1], 3);
        let both = whole.iter().zip(&one);
        for (problem, one) in both.filter(|(p, _)| !p.op().is_index() || p.gives_values()) {
            let good = Partial::from_reference(problem, 7, &input)?.to_bytes();
            for bit in 8 * (16 + 8 * 3)..8 * good.len() {
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let Ok(read) = Partial::from_bytes(&bytes) else {
                    told[0] += 1;
                    continue;
                };
                told[1] += 1;
                let index = u64::from_le_bytes(bytes[48..56].try_into()?);
                let element = match problem.op().is_index() {
                    true => bytes[56..56 + dtype.size() as usize].to_vec(),
                    false => read.finish()?.remove(0),
                };
                let again = Partial::from_reference(one, index, &element)?;
                assert_eq!(again.to_bytes(), bytes, "{problem}, bit {bit}");
            }
        }
    }
    assert!(told[0] > 1000 && told[1] > 1000, "{told:?}");
    Ok(())
}

/// The partial results between cuts of dimension 1, of the problem that each part's shape has.
fn parts_of(
    shape @ [outer, _, inner]: [u64; 3],
    cuts: &[u64],
    input: &[u8],
    problem: impl Fn(&[u64]) -> Result<Problem, ProblemError>,
) -> Result<Vec<Partial>, wgreduce::Error> {
    let partial = |w: &[u64]| {
        let problem = problem(&[outer, w[1] - w[0], inner])?;
        let data = part(problem.dtype(), shape, w[0]..w[1], input);
        let partial = Partial::from_reference(&problem, w[0], &data)?;
        assert!(partial.is_of(&problem, &(w[0]..w[1])), "{problem}");
        Ok(partial)
    };
    cuts.windows(2).map(partial).collect()
}

/// The partial results of variant `i` between cuts.
fn variants_of(
    cuts: &[u64],
    dtype: DType,
    shape: [u64; 3],
    input: &[u8],
    i: usize,
) -> Result<Vec<Partial>, wgreduce::Error> {
    let problem = |own: &[u64]| Ok(variants(dtype, [own[0], own[1], own[2]]).swap_remove(i));
    parts_of(shape, cuts, input, problem)
}

#[test]
fn merging_is_associative_commutative_and_idempotent() -> Outcome {
    let shape = [8, 60, 2];
    for dtype in [DType::F32, DType::F16, DType::U8, DType::F64] {
        let input = tensor(dtype, shape, 3);
        for i in 0..variants(dtype, shape).len() {
            let [a, b, c] = &variants_of(&[0, 13, 14, 60], dtype, shape, &input, i)?[..] else {
                return Err("three parts".into());
            };
            let merge = |a: &Partial, b: &Partial| -> Result<Partial, PartialError> {
                let mut both = a.clone();
                both.merge(b)?;
                Ok(both)
            };
            assert_eq!(merge(a, b)?, merge(b, a)?);
            assert_eq!(merge(&merge(a, b)?, c)?, merge(a, &merge(b, c)?)?);
            assert_eq!(merge(&merge(a, b)?, b)?, merge(a, b)?);
        }
    }
    Ok(())
}

#[test]
fn parts_of_no_elements_change_nothing_and_alone_give_the_empty_result() -> Outcome {
    let nans = [f32::NAN; 3];
    let empty = Problem::reduce_min(DType::F32, &[0], &[0])?.nan(NanPolicy::Ignore);
    let full = Problem::reduce_min(DType::F32, &[3], &[0])?.nan(NanPolicy::Ignore);
    let none = Partial::from_reference(&empty, 0, &[])?;
    assert_eq!(f32::from_bytes(&none.finish()?[0]), [f32::INFINITY]);
    assert_eq!(Partial::from_bytes(&none.to_bytes())?, none);
    // The result of only NaNs is a NaN, not the infinity that no elements give.
    let some = Partial::from_reference(&full, 0, f32::bytes(&nans))?;
    for (mut a, b) in [(none.clone(), some.clone()), (some.clone(), none.clone())] {
        a.merge(&b)?;
        assert_eq!(a, some);
        assert!(f32::from_bytes(&a.finish()?[0])[0].is_nan());
    }
    let mut twice = none.clone();
    twice.merge(&none)?;
    assert_eq!(twice, none);
    Ok(())
}

/// The products of the dimensions that are not 0 exceed 64 bits.
#[test]
fn parts_of_huge_empty_tensors_have_no_results() -> Outcome {
    let large = 1 << 40;
    let of_none = Problem::top_k(DType::F32, &[large, 0, large], 1, 0)?;
    let of_no_segment = Problem::arg_max(DType::F32, &[0, 2, large, large], 1)?.with_values(true);
    for problem in [of_none, of_no_segment] {
        let partial = Partial::from_reference(&problem, 0, &[])?;
        assert!(partial.finish()?.iter().all(Vec::is_empty));
        let shard = support::noop::reducer().shard_blocking(&problem, 1 << 20)?;
        let partial = shard.run_bytes_blocking(0, &[])?;
        assert!(partial.finish()?.iter().all(Vec::is_empty));
    }
    Ok(())
}

#[test]
fn no_elements_of_any_type_give_what_the_reference_gives() -> Outcome {
    let shape = [2u64, 0];
    let values = DType::ALL
        .into_iter()
        .flat_map(|t| (0..6).map(move |way| (t, way)));
    let values = values.map(|(t, way)| value_problem(t, &shape, &[1], way));
    let sums = summed().flat_map(|t| (0..10).map(move |way| (t, way)));
    let sums = sums.map(|(t, way)| sum_problem(t, &shape, &[1], way));
    let mut given = 0;
    for problem in values.chain(sums) {
        // Integers have no mean of no elements.
        let Ok(problem) = problem else {
            continue;
        };
        let part = Partial::from_reference(&problem, 0, &[])?;
        let expected = reference::evaluate(&problem, &[&[]])?;
        assert_eq!(part.finish()?, expected, "{problem}");
        given += 1;
    }
    assert_eq!(given, 13 * 6 + 12 * 10 - 8 * 2);
    Ok(())
}

#[test]
fn scattered_axes_are_cut_along_any_reduced_axis() -> Outcome {
    let shape = [6u64, 4, 10];
    let input = tensor(DType::BF16, shape, 9);
    let whole = Problem::reduce_max(DType::BF16, &shape, &[0, 2])?;
    let expected = reference::evaluate(&whole, &[&input])?;
    let mut parts = Vec::new();
    for (begin, end) in [(0, 1), (1, 6)] {
        let rows = &input[begin * 80..end * 80];
        for (left, right) in [(0, 7), (7, 10)] {
            let count = (end - begin) as u64;
            let part = part(DType::BF16, [count * 4, 10, 1], left..right, rows);
            let shape = [count, 4, right - left];
            let problem = Problem::reduce_max(DType::BF16, &shape, &[0, 2])?;
            parts.push(Partial::from_reference(&problem, 0, &part)?);
        }
    }
    assert_eq!(merged(parts, &mut Bits::new(1))?.finish()?, expected);
    Ok(())
}

#[test]
fn indices_count_from_the_start_of_the_whole_in_64_bits() -> Outcome {
    let problem = Problem::arg_max(DType::U8, &[3], 0)?;
    let far = (1u64 << 40) + 5;
    let mut all = Partial::from_reference(&problem, far, &[1, 9, 9])?;
    all.merge(&Partial::from_reference(&problem, 0, &[1, 2, 3])?)?;
    assert_eq!(i64::from_bytes(&all.finish()?[0]), [far as i64 + 1]);

    let narrow = problem.clone().index_type(IndexType::U32);
    let near = Partial::from_reference(&narrow, u64::from(u32::MAX) - 1, &[1, 9, 9])?;
    assert_eq!(u32::from_bytes(&near.finish()?[0]), [u32::MAX]);
    let beyond = Partial::from_reference(&narrow, u64::from(u32::MAX), &[1, 9, 9])?;
    let error = beyond.finish().expect_err("out of range");
    let text = "index 4294967296 of output 0 does not fit uint32";
    assert_eq!(error.to_string(), text);
    let columns = Problem::top_k(DType::U8, &[2, 2], 0, 2)?.index_type(IndexType::U32);
    let beyond = Partial::from_reference(&columns, u64::from(u32::MAX), &[9, 9, 1, 1])?;
    let error = beyond.finish().expect_err("out of range");
    let text = "index 4294967296 of output 2 does not fit uint32";
    assert_eq!(error.to_string(), text);

    let error = Partial::from_reference(&problem, i64::MAX as u64 - 2, &[1, 9, 9]);
    let error = error.expect_err("an offset that overflows").to_string();
    let words = "3 elements at offset 9223372036854775805";
    assert!(error.contains(words), "{error}");
    Ok(())
}

#[test]
fn partial_results_of_other_problems_do_not_merge() -> Outcome {
    let data = [1u8; 12];
    let of = |problem: Result<Problem, ProblemError>| -> Result<Partial, wgreduce::Error> {
        let problem = problem?;
        Partial::from_reference(&problem, 0, &data[..problem.input_bytes(0) as usize])
    };
    let base = || Problem::arg_min(DType::U8, &[3, 2], 0);
    let others = [
        Problem::arg_max(DType::U8, &[3, 2], 0),
        Problem::arg_min(DType::I8, &[3, 2], 0),
        base().map(|p| p.nan(NanPolicy::Ignore)),
        base().map(|p| p.select_last_index(true)),
        base().map(|p| p.index_type(IndexType::I32)),
        base().map(|p| p.with_values(true)),
        Problem::arg_min(DType::U8, &[2, 3], 0),
    ];
    let messages = [
        "the operator is ArgMax, not ArgMin",
        "the element type is int8, not uint8",
        "the NaN policy is Ignore, not Propagate",
        "select_last_index is true, not false",
        "the index type is int32, not int64",
        "the presence of values is true, not false",
        "the output's shape is [1, 3], not [1, 2]",
    ];
    for (other, message) in others.into_iter().zip(messages) {
        let mut ours = of(base())?;
        let before = ours.clone();
        let error = ours.merge(&of(other)?).expect_err(message).to_string();
        assert!(error.ends_with(message), "{error}");
        assert_eq!(ours, before);
    }
    let nothing = Problem::min(DType::U8, &[[3]])?;
    let error = Partial::from_reference(&nothing, 0, &data[..3]).expect_err("no reduction");
    let words = "Min of this problem reduces nothing";
    assert!(error.to_string().starts_with(words), "{error}");
    Ok(())
}

#[test]
fn bytes_from_anywhere_are_refused_with_what_is_wrong() -> Outcome {
    let problem = Problem::arg_min(DType::F32, &[2, 3], 1)?.with_values(true);
    let data = f32::bytes(&[1.0f32, 2.0, 3.0, -0.0, 0.0, f32::NAN]).to_vec();
    let good = Partial::from_reference(&problem, 0, &data)?.to_bytes();
    assert_eq!(good.len(), 16 + 2 * 8 + 2 * 24);
    let changed = |at: usize, to: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        let error = Partial::from_bytes(&bytes).expect_err("changed bytes");
        error.to_string()
    };
    assert!(changed(0, b"X").contains("begin with"));
    assert!(changed(4, &[2]).contains("layout 2"));
    for (at, what) in [
        (5, "operator"),
        (6, "element type"),
        (7, "index type"),
        (8, "flag"),
        (9, "reserved byte"),
        (11, "reserved byte"),
    ] {
        let error = changed(at, &[0xee]);
        let words = format!("impossible {what} at byte {at}: 0xee");
        assert!(error.contains(&words), "{error}");
    }
    // A rank and dimensions that claim more bytes than there are, or more than 64 bits can count.
    for (at, to) in [
        (12, &[3][..]),
        (12, &[0xff; 4]),
        (16, &[3]),
        (16, &[0xff; 8]),
        (16, &[0xff; 16]),
        (20, &[1]),
    ] {
        let error = changed(at, to);
        assert!(error.contains("bytes where their header says"), "{error}");
    }
    // A key with bits below its element's, an index beyond 2^63, an element that its key does not have.
    assert!(changed(32, &[1]).contains("key at byte 32"));
    assert!(changed(47, &[0x80]).contains("index at byte 40"));
    assert!(changed(48, &[1]).contains("element at byte 48"));
    assert!(changed(52, &[1]).contains("element at byte 48"));
    for end in 0..good.len() {
        assert!(Partial::from_bytes(&good[..end]).is_err(), "{end}");
    }
    Ok(())
}

#[test]
fn an_input_of_the_wrong_size_is_refused_before_memory_is_asked_for() -> Outcome {
    for shape in [[1 << 60, 1], [1 << 42, 1]] {
        for whole in [
            Problem::reduce_min(DType::U8, &shape, &[1])?,
            Problem::reduce_l2(DType::U8, &shape, &[1])?,
        ] {
            let refused = Partial::from_reference(&whole, 0, &[]).expect_err("a refusal");
            let told = refused.to_string();
            assert!(told.contains(&shape[0].to_string()), "{told}");
        }
    }
    Ok(())
}

#[test]
fn several_results_have_no_partial_one() {
    let problem = Problem::extremes(DType::F32, &[3], 0).expect("a problem");
    let refused = Partial::from_reference(&problem, 0, &[0; 12]).expect_err("four results");
    let text = "Extremes has several results: take the partial results of each of its operators";
    assert_eq!(refused.to_string(), text);
}

/// As many parts as a large job has, merged as a tree and in a random order.
#[test]
fn a_hundred_thousand_parts_merge_to_the_whole_in_any_order() -> Outcome {
    const PARTS: u64 = 100_000;
    const ROWS: u64 = 2;
    const COLUMNS: u64 = 3;
    let input = support::mixed(DType::F16, PARTS * ROWS * COLUMNS, 18);
    let whole = Problem::arg_min(DType::F16, &[PARTS * ROWS, COLUMNS], 0)?;
    let whole = whole.select_last_index(true).with_values(true);
    let expected = reference::evaluate(&whole, &[&input])?;
    let own = Problem::arg_min(DType::F16, &[ROWS, COLUMNS], 0)?;
    let own = own.select_last_index(true).with_values(true);
    let bytes = (ROWS * COLUMNS * DType::F16.size()) as usize;
    let of = |(i, data): (usize, &[u8])| Partial::from_reference(&own, i as u64 * ROWS, data);
    let parts = input.chunks(bytes).enumerate().map(of);
    let parts: Vec<Partial> = parts.collect::<Result<_, _>>()?;
    assert_eq!(parts.len() as u64, PARTS);

    let mut tree = parts.clone();
    while tree.len() > 1 {
        let pairs = tree.chunks(2).map(|pair| match pair {
            [one, other] => {
                let mut one = one.clone();
                one.merge(other).map(|()| one)
            }
            pair => Ok(pair[0].clone()),
        });
        tree = pairs.collect::<Result<_, _>>()?;
    }
    assert_eq!(tree[0].finish()?, expected);

    let mut bits = Bits::new(7);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, bits.below(i as u64 + 1) as usize);
    }
    let mut any = parts[order[0]].clone();
    for &i in &order[1..] {
        any.merge(&parts[i])?;
    }
    assert_eq!(any.finish()?, expected);
    Ok(())
}
