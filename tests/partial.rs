//! Partial results: parts of a tensor, cut anywhere and merged in any order, equal the whole. Needs no
//! adapter; `gpu/pieces.rs` compares the devices' partial results with these.

use num_bigint::BigInt;
use support::{
    Bits, SUMMANDS, index_problem, part, sum_of, sum_problem, summands, summed, tensor,
    value_problem,
};
use wgreduce::unstable::Sum;
use wgreduce::{
    Class, DType, Element, IndexType, NanPolicy, Op, Partial, PartialError, Problem, reference,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

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
        for (seed, shape) in [[8, 57, 1], [1, 300, 8], [3, 20, 5]]
            .into_iter()
            .enumerate()
        {
            let input = tensor(dtype, shape, seed as u64);
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

/// Parts of TopK, which may have fewer elements than are wanted of the whole.
#[test]
fn parts_of_top_k_cut_and_merged_anyhow_equal_the_whole() -> Outcome {
    let mut bits = Bits::new(47);
    for dtype in DType::ALL {
        for (seed, shape) in [[8, 57, 1], [1, 300, 8], [3, 20, 5]]
            .into_iter()
            .enumerate()
        {
            let input = tensor(dtype, shape, seed as u64);
            for k in [0, 1, 4, 19, shape[1] - 1, shape[1]] {
                let way = bits.draw();
                let top = |len: u64| -> Result<Problem, wgreduce::ProblemError> {
                    let nan = [NanPolicy::Propagate, NanPolicy::Ignore][(way / 2 % 2) as usize];
                    let problem = Problem::top_k(dtype, &[shape[0], len, shape[2]], 1, k)?;
                    Ok(problem.largest(way.is_multiple_of(2)).nan(nan))
                };
                let whole = top(shape[1])?.index_type(IndexType::U32);
                let cuts = support::cuts(shape[1], 1 + way / 4 % 6, &mut bits);
                let ranges: Vec<_> = cuts.windows(2).map(|w| w[0]..w[1]).collect();
                let parts = ranges.iter().map(|range| {
                    let problem = top(range.end - range.start)?.index_type(IndexType::U32);
                    let data = part(dtype, shape, range.clone(), &input);
                    let partial = Partial::from_reference(&problem, range.start, &data)?;
                    assert!(partial.is_of(&problem, range), "{problem}");
                    Ok(partial)
                });
                let parts: Vec<Partial> = parts.collect::<Result<_, wgreduce::Error>>()?;
                if ranges[0].end < k {
                    let held = ranges[0].end;
                    assert_eq!(parts[0].finish(), Err(PartialError::TooFew { k, held }));
                }
                let all = merged(parts, &mut bits)?;
                let expected = reference::evaluate(&whole, &[&input])?;
                assert_eq!(all.finish()?, expected, "{whole} cut at {cuts:?}");
                assert_eq!(all.outputs(), whole.outputs());
                assert!(all.is_of(&whole, &(0..shape[1])), "{whole}");
                // Some segments alone, side by side, in the order of the whole's.
                let [half, last] = [shape[0] * shape[2] / 2, shape[0] * shape[2]];
                let halves = [0..half, half..last].map(|some| all.slice(some).finish());
                let halves = halves.into_iter().collect::<Result<Vec<_>, _>>()?;
                if shape[2] == 1 {
                    assert_eq!(
                        [&*halves[0][1], &halves[1][1]].concat(),
                        expected[1],
                        "{whole}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// No part of TopK produces these bytes, or belongs to the others.
#[test]
fn parts_of_top_k_that_cannot_be_are_refused() -> Outcome {
    let top = |shape: &[u64], axis, k| Problem::top_k(DType::F32, shape, axis, k);
    let data = f32::bytes(&[1.0f32, 3.0, 2.0, 5.0, 5.0, -1.0]).to_vec();
    let good = Partial::from_reference(&top(&[2, 3], 1, 2)?, 0, &data)?;
    let bytes = good.to_bytes();
    assert_eq!(bytes.len(), 16 + 2 * 8 + 8 + 4 * 24);
    let changed = |at: usize, to: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        Partial::from_bytes(&bytes)
            .expect_err("changed bytes")
            .to_string()
    };
    // The flags: with values, and neither the last of equals nor without elements.
    for (flags, what) in [
        (0, "flag"),
        (4 + 2, "flag"),
        (4 + 32, "flag"),
        (4 + 8, "number of records"),
    ] {
        assert!(changed(8, &[flags]).contains(what), "{flags}");
    }
    assert!(changed(9, &[2]).contains("axis at byte 9"));
    assert!(changed(11, &[1]).contains("axis at byte 9"));
    assert!(changed(32, &[3]).contains("bytes where their header says"));
    assert!(changed(32, &[0xff; 8]).contains("bytes where their header says"));
    let mut fewer = bytes[..16 + 16 + 8 + 2 * 24].to_vec();
    fewer[32] = 1;
    assert!(Partial::from_bytes(&fewer).is_ok());
    // The records of a segment in another order, and one twice.
    let swapped = [&bytes[64..88], &bytes[40..64]].concat();
    assert!(changed(40, &swapped).contains("order of records at byte 64"));
    assert!(changed(64, &bytes[40..64]).contains("order of records at byte 64"));
    for (other, message) in [
        (
            top(&[2, 3], 1, 1)?,
            "the output's shape is [2, 1], not [2, 2]",
        ),
        (top(&[2, 3], 0, 2)?, "the axis is Some(0), not Some(1)"),
        (
            top(&[2, 3], 1, 2)?.largest(false),
            "smallest is true, not false",
        ),
    ] {
        let mut ours = good.clone();
        let other = Partial::from_reference(&other, 0, &data)?;
        let error = ours.merge(&other).expect_err(message).to_string();
        assert!(error.ends_with(message), "{error}");
        assert_eq!(ours, good);
    }
    // Shapes of more elements than a tensor has.
    for shape in [[1, u64::MAX], [1 << 62, 1], [u64::MAX, u64::MAX]] {
        let mut large = bytes[..16 + 2 * 8 + 8 + 24].to_vec();
        for (at, n) in [(16, shape[0]), (24, shape[1]), (32, 1)] {
            large[at..at + 8].copy_from_slice(&n.to_le_bytes());
        }
        assert!(Partial::from_bytes(&large).is_err(), "{shape:?}");
    }
    // No segments, of which each has very many records, or whose number exceeds 64 bits before the one that is 0.
    for shape in [[0, u64::MAX, 1, 1], [1 << 40, 5, 1 << 40, 0]] {
        let mut none = bytes[..12].to_vec();
        none[8] = 4;
        none.extend(4u32.to_le_bytes());
        none.extend(shape.iter().flat_map(|n| n.to_le_bytes()));
        none.extend(shape[1].to_le_bytes());
        let Ok(mut read) = Partial::from_bytes(&none) else {
            panic!("{shape:?}");
        };
        read.merge(&read.clone())?;
        assert_eq!(read.finish()?.concat(), [0u8; 0]);
    }
    // Nothing changes nothing.
    let none = Partial::from_reference(&top(&[2, 0], 1, 2)?, 0, &[])?;
    assert_eq!(none.finish(), Err(PartialError::TooFew { k: 2, held: 0 }));
    for (mut a, b) in [(none.clone(), good.clone()), (good.clone(), none)] {
        a.merge(&b)?;
        assert_eq!(a, good);
    }
    Ok(())
}

/// Each part is merged once, as a sum counts a part as often as it is merged.
#[test]
fn parts_of_sums_cut_and_merged_anyhow_equal_the_whole() -> Outcome {
    let mut bits = Bits::new(43);
    for (seed, dtype) in (0..SUMMANDS).flat_map(|seed| summed().map(move |t| (seed, t))) {
        let len = [1, 2, 3, 47, 70, 200][seed as usize % 6];
        let shape = [3, len, 2];
        let input = summands(dtype, shape.iter().product(), seed);
        for way in 0..10 {
            let whole = sum_problem(dtype, &shape, &[1], way)?;
            let cuts = support::cuts(shape[1], 1 + way % 6, &mut bits);
            let ranges = cuts.windows(2).map(|w| w[0]..w[1]);
            let parts = ranges.map(|range| {
                let own = [shape[0], range.end - range.start, shape[2]];
                let problem = sum_problem(dtype, &own, &[1], way)?;
                let data = part(dtype, shape, range.clone(), &input);
                Partial::from_reference(&problem, range.start, &data)
            });
            let parts: Vec<Partial> = parts.collect::<Result<_, _>>()?;
            let all = merged(parts.clone(), &mut bits)?;
            let expected = reference::evaluate(&whole, &[&input])?;
            assert_eq!(all.finish()?, expected, "{whole} cut at {cuts:?}");
            assert!(all.is_of(&whole, &(0..shape[1])), "{whole}");
            let rest = sum_problem(dtype, &[3, len + 1, 2], &[1], way)?;
            assert!(!all.is_of(&rest, &(0..len + 1)), "{whole}");
            // A part that is merged twice is counted twice.
            let mut twice = all.clone();
            twice.merge(&parts[0])?;
            assert_ne!(twice, all, "{whole}");
        }
    }
    Ok(())
}

/// No sum produces these bytes.
#[test]
fn partial_sums_that_cannot_be_are_refused() -> Outcome {
    let problem = sum_of(Op::ReduceMean, DType::F32, &[3], &[])?.nan(NanPolicy::Ignore);
    let problem = problem.keepdims(false);
    let input = f32::bytes(&[1.0, 2.0, 3.0]).to_vec();
    let good = Partial::from_reference(&problem, 0, &input)?.to_bytes();
    assert!(Partial::from_bytes(&good).is_ok());
    // After 16 bytes of header: the number of elements, the flags, 3 digits of 22 bits that count, 15 of the sum, and zeros.
    for (at, byte, what) in [
        (16, 0, "number of elements"),
        (23, 0x80, "number of elements"),
        (24, 32, "partial sum"),
        (24, 8 + 16, "partial sum"),
        (30, 0x40, "partial sum"),
        (42, 0x40, "partial sum"),
        (100, 1, "partial sum"),
    ] {
        let mut bad = good.clone();
        bad[at] = byte;
        match Partial::from_bytes(&bad) {
            Err(PartialError::Invalid { what: found, .. }) => assert_eq!(found, what, "byte {at}"),
            other => panic!("byte {at}: {other:?}"),
        }
    }
    Ok(())
}

/// Pieces of partial results, merged and finished one by one, are the outputs side by side.
#[test]
fn slices_of_outputs_are_merged_as_the_whole() -> Outcome {
    let shape = [4, 9, 3];
    let input = tensor(DType::F32, shape, 5);
    let count = variants(DType::F32, shape).len();
    let sums = summands(DType::F32, 4 * 9 * 3, 7);
    let sum = |shape: &[u64]| Problem::reduce_l2(DType::F32, shape, &[1]);
    let mut all = Vec::new();
    for i in 0..count {
        let parts = variants_of(&[0, 4, 9], DType::F32, shape, &input, i)?;
        all.push((
            variants(DType::F32, shape).swap_remove(i),
            input.clone(),
            parts,
        ));
    }
    let parts = [0..4, 4..9].map(|range| {
        let own = [shape[0], range.end - range.start, shape[2]];
        let data = part(DType::F32, shape, range.clone(), &sums);
        Partial::from_reference(&sum(&own)?, range.start, &data)
    });
    let parts = parts
        .into_iter()
        .collect::<Result<Vec<_>, wgreduce::Error>>()?;
    all.push((sum(&shape)?, sums, parts));
    for (whole, input, parts) in all {
        let mut outputs = vec![Vec::new(); whole.outputs().len()];
        for range in [0..5, 5..5, 5..12] {
            let mut merged = parts[0].slice(range.clone());
            let sent = parts[1].slice(range.clone()).to_bytes();
            merged.merge(&Partial::from_bytes(&sent)?)?;
            assert_eq!(merged.outputs()[0].shape, [range.end - range.start]);
            let finished = merged.finish()?;
            outputs
                .iter_mut()
                .zip(finished)
                .for_each(|(all, some)| all.extend(some));
        }
        assert_eq!(outputs, reference::evaluate(&whole, &[&input])?, "{whole}");
    }
    Ok(())
}

/// A partial sum of which a word is changed, and what is wrong with it then.
#[test]
fn sums_beyond_what_their_elements_can_have_are_refused() -> Outcome {
    let (ones, both) = (f32::bytes(&[1.0, 1.0]), [f32::INFINITY, f32::NEG_INFINITY]);
    let with_nan = [1.0, f32::NAN];
    let float = |op: Op| sum_of(op, DType::F32, &[2], &[]);
    let ignoring = |op| float(op).map(|problem| problem.nan(NanPolicy::Ignore));
    let byte = |op| sum_of(op, DType::I8, &[1], &[]);
    let short = |op| sum_of(op, DType::I8, &[2], &[]);
    // After the flags a mean that ignores NaNs has three digits of a count; a float32's sum has 15 digits, the last with a sign, and
    // its square's 28.
    let cases = [
        // A sum of two ones that would be infinite, and one that is negative.
        (float(Op::ReduceL1)?, ones, 15, 1, "size of a partial sum"),
        (float(Op::ReduceSum)?, ones, 15, 1, "size of a partial sum"),
        (
            float(Op::ReduceSum)?,
            ones,
            15,
            u32::MAX << 9,
            "size of a partial sum",
        ),
        (
            float(Op::ReduceL1)?,
            ones,
            15,
            u32::MAX,
            "sign of a partial sum",
        ),
        (
            float(Op::ReduceL2)?,
            ones,
            28,
            u32::MAX,
            "sign of a partial sum",
        ),
        (
            float(Op::ReduceSumSquare)?,
            ones,
            28,
            1 << 31,
            "sign of a partial sum",
        ),
        // A mean of two that counts 200, or none.
        (ignoring(Op::ReduceMean)?, ones, 1, 200, "count of numbers"),
        (ignoring(Op::ReduceMean)?, ones, 3, 1, "count of numbers"),
        (
            ignoring(Op::ReduceMean)?,
            ones,
            1,
            0,
            "flags of a partial sum",
        ),
        // A sum of two, and nothing that was met.
        (float(Op::ReduceSum)?, ones, 0, 0, "flags of a partial sum"),
        (float(Op::ReduceSum)?, ones, 0, 8, "flags of a partial sum"),
        (float(Op::ReduceSum)?, ones, 0, 1, "flags of a partial sum"),
        (
            ignoring(Op::ReduceSum)?,
            ones,
            0,
            0,
            "flags of a partial sum",
        ),
        // Two infinities of two elements, beside a NaN, and beside a sum.
        (
            float(Op::ReduceSum)?,
            f32::bytes(&both),
            0,
            16 + 7,
            "flags of a partial sum",
        ),
        (
            float(Op::ReduceSum)?,
            f32::bytes(&both),
            0,
            6,
            "flags of a partial sum",
        ),
        (
            float(Op::ReduceSum)?,
            f32::bytes(&both),
            1,
            1,
            "size of a partial sum",
        ),
        // A NaN that is ignored, and a magnitude of -infinity.
        (
            ignoring(Op::ReduceSum)?,
            f32::bytes(&with_nan),
            0,
            16 + 1,
            "flags of a partial sum",
        ),
        (
            float(Op::ReduceL1)?,
            f32::bytes(&both),
            0,
            16 + 4,
            "flags of a partial sum",
        ),
        // Integers: the magnitude of one, and squares of two.
        (
            byte(Op::ReduceL1)?,
            &[0x80],
            0,
            0xffff_ff81,
            "size of a partial sum",
        ),
        (
            short(Op::ReduceL2)?,
            &[1, 2],
            1,
            2 * 128 * 128 + 1,
            "size of a partial sum",
        ),
    ];
    for (problem, data, word, value, what) in cases {
        let partial = Partial::from_reference(&problem, 0, data)?;
        let mut bytes = partial.to_bytes();
        let at = 16 + 8 * problem.outputs()[0].shape.len() + 8 + 4 * word;
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        if value >> 31 == 1 && problem.dtype() == DType::I8 {
            bytes[at + 4..at + 8].fill(0xff);
        }
        match Partial::from_bytes(&bytes) {
            Err(PartialError::Invalid {
                what: found,
                at: place,
                ..
            }) => {
                assert_eq!(found, what, "{problem}, word {word}");
                assert!(place >= at as u64 - 4 * word as u64, "{problem}: {place}");
            }
            other => panic!("{problem}, word {word} = {value:#x}: {other:?}"),
        }
    }
    // A sum of bool, and an integer that is the mean of nothing.
    let sum = Partial::from_reference(&sum_of(Op::ReduceSum, DType::U8, &[2], &[])?, 0, &[1, 2])?;
    let empty = Partial::from_reference(&sum_of(Op::ReduceSum, DType::U8, &[0], &[])?, 0, &[])?;
    for (partial, at, to, what) in [(sum, 6, 9, "element type"), (empty, 5, 7, "flag")] {
        let mut bytes = partial.to_bytes();
        assert!(Partial::from_bytes(&bytes).is_ok());
        bytes[at] = to;
        match Partial::from_bytes(&bytes) {
            Err(PartialError::Invalid { what: found, .. }) => assert_eq!(found, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    Ok(())
}

/// Whether elements of a type can have the partial sum in `bytes`, which begins with their number: tries how many of
/// them are NaN, infinite, -0 or anything else, and compares the sum with what so many can have.
fn is_possible(problem: &Problem, bytes: &[u8]) -> bool {
    let (op, dtype) = (problem.op(), problem.dtype());
    let Some(sum) = Sum::new(op, dtype, problem.nan_policy()) else {
        return false;
    };
    let (count, words) = bytes.split_at(8);
    let count = u64::from_le_bytes(count.try_into().expect("eight bytes"));
    let word = |b: &[u8]| u32::from_le_bytes(b.try_into().expect("four bytes"));
    let words: Vec<u32> = words.chunks(4).map(word).collect();
    let bits = 8 * dtype.size();
    if count == 0 || count > i64::MAX as u64 / dtype.size() {
        return false;
    }
    let signed = dtype.class() == Class::Signed;
    if !sum.is_exact() {
        let low = u64::from(words[1]) << 32 | u64::from(words[0]);
        let extended = match signed {
            true => ((low << (64 - bits)) as i64 >> (64 - bits)) as u64,
            false => low << (64 - bits) >> (64 - bits),
        };
        let one_magnitude = op == Op::ReduceL1 && signed && count == 1;
        let half = 1u64 << (bits - 1);
        let fits = !one_magnitude || low << (64 - bits) >> (64 - bits) <= half;
        return words[2..] == [0, 0] && low == extended && fits;
    }
    let squares = matches!(op, Op::ReduceL2 | Op::ReduceSumSquare);
    let magnitudes = squares || op == Op::ReduceL1;
    let skips = problem.nan_policy() == NanPolicy::Ignore;
    let counts = op == Op::ReduceMean && skips;
    // Digits of 22 bits; the last one of each number is a whole word, of a count without a sign.
    let number = |digits: &[u32], signed: bool| {
        let (last, others) = digits.split_last().expect("digits");
        let last = if signed {
            BigInt::from(*last as i32)
        } else {
            BigInt::from(*last)
        };
        let value = others
            .iter()
            .rev()
            .fold(last, |n, &digit| (n << 22) + digit);
        (value, others.iter().all(|digit| digit >> 22 == 0))
    };
    let digits = sum.digits() as usize;
    let (counted, rest) = match counts {
        true => (number(&words[1..4], false), &words[4..]),
        false => ((BigInt::from(0), true), &words[1..]),
    };
    let (value, carried) = number(&rest[..digits], true);
    let rest = &rest[digits..];
    if !carried || !counted.1 || rest.iter().any(|&w| w != 0) || magnitudes && value < 0.into() {
        return false;
    }
    let greatest = match dtype {
        DType::F16 => BigInt::from(0x7ff) << 29,
        DType::BF16 => BigInt::from(0xff) << 253,
        DType::F32 => BigInt::from(0xff_ffff) << 253,
        DType::F64 => ((BigInt::from(1) << 53) - 1) << 2045,
        _ if signed => BigInt::from(1) << (bits - 1),
        _ => (BigInt::from(1) << bits) - 1,
    };
    let greatest = if squares {
        &greatest * &greatest
    } else {
        greatest
    };
    let within = |others: u64| value.magnitude() <= (&greatest * others).magnitude();
    if dtype.class() != Class::Float {
        return words[0] == 0 && within(count);
    }
    // A mean that ignores NaNs tells how many others there are.
    let taken = if counts { counted.0 } else { count.into() };
    let Some(taken) = u64::try_from(taken).ok().filter(|&n| n <= count) else {
        return false;
    };
    // NaNs, infinities of both signs, -0 and others: one of each, or none; and one of them is all the rest.
    let kinds = (0..32u32).flat_map(|some| (0..5).map(move |rest| (some, rest)));
    kinds.into_iter().any(|(some, rest)| {
        let Some(more) = taken.checked_sub(u64::from(some.count_ones())) else {
            return false;
        };
        let of = |kind: u32| u64::from(some >> kind & 1) + if kind == rest { more } else { 0 };
        let [nans, plus, minus, zeros, others] = [0, 1, 2, 3, 4].map(of);
        let mut flags = 0;
        flags |= if nans > 0 && !skips { 1 } else { 0 };
        flags |= if plus > 0 || minus > 0 && magnitudes {
            2
        } else {
            0
        };
        flags |= if minus > 0 && !magnitudes { 4 } else { 0 };
        let other = plus + minus + others > 0;
        flags |= if other { 16 } else { 0 };
        flags |= if zeros > 0 && !other { 8 } else { 0 };
        words[0] == flags && within(others) && !(counts && nans > 0)
    })
}

/// Bits of partial sums of every type and operator: a changed one is read if elements can have it, and else refused.
#[test]
fn a_flipped_bit_of_a_sum_is_refused_or_gives_a_sum_that_can_be() -> Outcome {
    let mut told = [0; 2];
    for (dtype, way) in summed().flat_map(|t| (0..10).map(move |way| (t, way))) {
        // Numbers, close to the largest, all -0, some special ones, and NaNs alone.
        for (seed, len) in [(0, 2), (4, 1), (5, 3), (7, 3), (10, 2)] {
            let problem = sum_problem(dtype, &[len], &[0], way)?.keepdims(false);
            let input = summands(dtype, len, seed);
            let mut bytes = Partial::from_reference(&problem, 0, &input)?.to_bytes();
            assert!(
                is_possible(&problem, &bytes[16..]),
                "{problem}, seed {seed}"
            );
            // The count, the flags and the first digits; some of the others.
            let every = if support::all() { 1 } else { 7 };
            let chosen = |bit: &usize| *bit < 8 * 32 || bit.is_multiple_of(every);
            for bit in (8 * 16..8 * bytes.len()).filter(chosen) {
                bytes[bit / 8] ^= 1 << (bit % 8);
                let possible = is_possible(&problem, &bytes[16..]);
                let read = Partial::from_bytes(&bytes);
                assert_eq!(
                    read.is_ok(),
                    possible,
                    "{problem}, seed {seed}, bit {bit}: {read:?}"
                );
                told[usize::from(possible)] += 1;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
    assert!(told[0] > 1000 && told[1] > 1000, "{told:?}");
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

/// The partial results of variant `i` between cuts.
fn variants_of(
    cuts: &[u64],
    dtype: DType,
    [outer, len, inner]: [u64; 3],
    input: &[u8],
    i: usize,
) -> Result<Vec<Partial>, wgreduce::Error> {
    let ranges = cuts.windows(2).map(|w| w[0]..w[1]);
    let partial = |range: std::ops::Range<u64>| {
        let shape = [outer, range.end - range.start, inner];
        let problem = variants(dtype, shape).swap_remove(i);
        let data = part(dtype, [outer, len, inner], range.clone(), input);
        Partial::from_reference(&problem, range.start, &data)
    };
    ranges.map(partial).collect()
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
        assert_eq!(
            part.finish()?,
            reference::evaluate(&problem, &[&[]])?,
            "{problem}"
        );
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
            let part = part(
                DType::BF16,
                [(end - begin) as u64 * 4, 10, 1],
                left..right,
                rows,
            );
            let shape = [(end - begin) as u64, 4, right - left];
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
    assert_eq!(
        error.to_string(),
        "index 4294967296 of output 0 does not fit uint32"
    );

    let error = Partial::from_reference(&problem, i64::MAX as u64 - 2, &[1, 9, 9]);
    let error = error.expect_err("an offset that overflows").to_string();
    assert!(
        error.contains("3 elements at offset 9223372036854775805"),
        "{error}"
    );
    Ok(())
}

#[test]
fn partial_results_of_other_problems_do_not_merge() -> Outcome {
    let data = [1u8; 12];
    let of =
        |problem: Result<Problem, wgreduce::ProblemError>| -> Result<Partial, wgreduce::Error> {
            let problem = problem?;
            Partial::from_reference(&problem, 0, &data[..problem.input_bytes(0) as usize])
        };
    let base = || Problem::arg_min(DType::U8, &[3, 2], 0);
    let others = [
        (
            Problem::arg_max(DType::U8, &[3, 2], 0),
            "the operator is ArgMax, not ArgMin",
        ),
        (
            Problem::arg_min(DType::I8, &[3, 2], 0),
            "the element type is int8, not uint8",
        ),
        (
            Ok(base()?.nan(NanPolicy::Ignore)),
            "the NaN policy is Ignore, not Propagate",
        ),
        (
            Ok(base()?.select_last_index(true)),
            "select_last_index is true, not false",
        ),
        (
            Ok(base()?.index_type(IndexType::I32)),
            "the index type is int32, not int64",
        ),
        (
            Ok(base()?.with_values(true)),
            "the presence of values is true, not false",
        ),
        (
            Problem::arg_min(DType::U8, &[2, 3], 0),
            "the output's shape is [1, 3], not [1, 2]",
        ),
    ];
    for (other, message) in others {
        let mut ours = of(base())?;
        let before = ours.clone();
        let error = ours.merge(&of(other)?).expect_err(message).to_string();
        assert!(error.ends_with(message), "{error}");
        assert_eq!(ours, before);
    }
    let nothing = Problem::min(DType::U8, &[[3]])?;
    let error = Partial::from_reference(&nothing, 0, &data[..3]).expect_err("no reduction");
    assert!(
        error
            .to_string()
            .starts_with("Min of this problem reduces nothing")
    );
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
        assert!(
            error.contains(&format!("impossible {what} at byte {at}: 0xee")),
            "{error}"
        );
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
fn several_results_have_no_partial_one() {
    let problem = Problem::extremes(DType::F32, &[3], 0).expect("a problem");
    let refused = Partial::from_reference(&problem, 0, &[0; 12]).expect_err("four results");
    assert_eq!(
        refused.to_string(),
        "Extremes has several results: take the partial results of each of its operators"
    );
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
