//! Partial sums.

use super::{Outcome, merged, parts_of};
use num_bigint::BigInt;
use support::{Bits, SUMMANDS, bytes, float_bits, problem_of, sum_problem, summands, summed};
use wgreduce::unstable::Sum;
use wgreduce::{Class, DType, Element, NanPolicy, Op, Partial, PartialError, Problem, reference};

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
            let problem = |own: &[u64]| sum_problem(dtype, own, &[1], way);
            let parts = parts_of(shape, &cuts, &input, problem)?;
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

/// Every triple of zeros, infinities, a NaN and a number, each element a part of its own.
#[test]
fn special_elements_of_parts_meet_as_those_of_the_whole() -> Outcome {
    for dtype in summed().filter(|t| t.class() == Class::Float) {
        let (infinity, nan, one) = float_bits(dtype);
        let sign = 1 << (8 * dtype.size() - 1);
        let all = [0, sign, one, infinity, sign | infinity, nan];
        let size = dtype.size() as usize;
        for (way, n) in (0..10).flat_map(|way| (0..216).map(move |n| (way, n))) {
            let elements = [n / 36, n / 6 % 6, n % 6].map(|i| all[i]);
            let input = bytes(dtype, elements.into_iter());
            let whole = sum_problem(dtype, &[3], &[0], way)?;
            let expected = reference::evaluate(&whole, &[&input])?;
            let problem = sum_problem(dtype, &[1], &[0], way)?;
            let part = |(at, element)| Partial::from_reference(&problem, at, element);
            let mut parts = (0..).zip(input.chunks(size)).map(part);
            let mut merged = parts.next().ok_or("no part")??;
            for part in parts {
                merged.merge(&part?)?;
            }
            assert_eq!(merged.finish()?, expected, "{whole} of {elements:x?}");
        }
    }
    Ok(())
}

/// No sum produces these bytes.
#[test]
fn partial_sums_that_cannot_be_are_refused() -> Outcome {
    let problem = problem_of(Op::ReduceMean, DType::F32, &[3], &[])?.nan(NanPolicy::Ignore);
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

/// A partial sum of which a word is changed, and what is wrong with it then.
#[test]
fn sums_beyond_what_their_elements_can_have_are_refused() -> Outcome {
    const SIZE: &str = "size of a partial sum";
    const SIGN: &str = "sign of a partial sum";
    const COUNT: &str = "count of numbers";
    const FLAGS: &str = "flags of a partial sum";
    let (ones, with_nan) = (f32::bytes(&[1.0, 1.0]), f32::bytes(&[1.0, f32::NAN]));
    let both = f32::bytes(&[f32::INFINITY, f32::NEG_INFINITY]);
    let float = |op: Op| problem_of(op, DType::F32, &[2], &[]);
    let ignoring = |op| float(op).map(|problem| problem.nan(NanPolicy::Ignore));
    let byte = |op| problem_of(op, DType::I8, &[1], &[]);
    let short = |op| problem_of(op, DType::I8, &[2], &[]);
    // After the flags a mean that ignores NaNs has three digits of a count; a float32's sum has 15 digits, the last with a sign, and
    // its square's 28.
    let cases = [
        // A sum of two ones that would be infinite, and one that is negative.
        (float(Op::ReduceL1)?, ones, 15, 1, SIZE),
        (float(Op::ReduceSum)?, ones, 15, 1, SIZE),
        (float(Op::ReduceSum)?, ones, 15, u32::MAX << 9, SIZE),
        (float(Op::ReduceL1)?, ones, 15, u32::MAX, SIGN),
        (float(Op::ReduceL2)?, ones, 28, u32::MAX, SIGN),
        (float(Op::ReduceSumSquare)?, ones, 28, 1 << 31, SIGN),
        // A mean of two that counts 200, or none.
        (ignoring(Op::ReduceMean)?, ones, 1, 200, COUNT),
        (ignoring(Op::ReduceMean)?, ones, 3, 1, COUNT),
        (ignoring(Op::ReduceMean)?, ones, 1, 0, FLAGS),
        // A sum of two, and nothing that was met.
        (float(Op::ReduceSum)?, ones, 0, 0, FLAGS),
        (float(Op::ReduceSum)?, ones, 0, 8, FLAGS),
        (float(Op::ReduceSum)?, ones, 0, 1, FLAGS),
        (ignoring(Op::ReduceSum)?, ones, 0, 0, FLAGS),
        // Two infinities of two elements, beside a NaN, and beside a sum.
        (float(Op::ReduceSum)?, both, 0, 16 + 7, FLAGS),
        (float(Op::ReduceSum)?, both, 0, 6, FLAGS),
        (float(Op::ReduceSum)?, both, 1, 1, SIZE),
        // A NaN that is ignored, and a magnitude of -infinity.
        (ignoring(Op::ReduceSum)?, with_nan, 0, 16 + 1, FLAGS),
        (float(Op::ReduceL1)?, both, 0, 16 + 4, FLAGS),
        // Integers: the magnitude of one, and squares of two.
        (byte(Op::ReduceL1)?, &[0x80], 0, 0xffff_ff81, SIZE),
        (short(Op::ReduceL2)?, &[1, 2], 1, 2 * 128 * 128 + 1, SIZE),
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
    let of = |n| problem_of(Op::ReduceSum, DType::U8, &[n], &[]);
    let sum = Partial::from_reference(&of(2)?, 0, &[1, 2])?;
    let empty = Partial::from_reference(&of(0)?, 0, &[])?;
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
        let rest = others.iter().rev();
        let value = rest.fold(last, |n, &digit| (n << 22) + digit);
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
    let most = match dtype {
        DType::F16 => BigInt::from(0x7ff) << 29,
        DType::BF16 => BigInt::from(0xff) << 253,
        DType::F32 => BigInt::from(0xff_ffff) << 253,
        DType::F64 => ((BigInt::from(1) << 53) - 1) << 2045,
        _ if signed => BigInt::from(1) << (bits - 1),
        _ => (BigInt::from(1) << bits) - 1,
    };
    let greatest = if squares { &most * &most } else { most };
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
        let infinite = plus > 0 || minus > 0 && magnitudes;
        flags |= if infinite { 2 } else { 0 };
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
            let possible = is_possible(&problem, &bytes[16..]);
            assert!(possible, "{problem}, seed {seed}");
            // The count, the flags and the first digits; some of the others.
            let every = if support::all() { 1 } else { 7 };
            let chosen = |bit: &usize| *bit < 8 * 32 || bit.is_multiple_of(every);
            for bit in (8 * 16..8 * bytes.len()).filter(chosen) {
                bytes[bit / 8] ^= 1 << (bit % 8);
                let possible = is_possible(&problem, &bytes[16..]);
                let read = Partial::from_bytes(&bytes);
                let right = read.is_ok() == possible;
                assert!(right, "{problem}, seed {seed}, bit {bit}: {read:?}");
                told[usize::from(possible)] += 1;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
    assert!(told[0] > 1000 && told[1] > 1000, "{told:?}");
    Ok(())
}
