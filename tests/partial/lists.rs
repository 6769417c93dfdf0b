//! Partial results of TopK: lists.

use super::{Outcome, SHAPES, merged, parts_of};
use support::{Bits, tensor, top_problem};
use wgreduce::{DType, Element, Partial, PartialError, Problem, reference};

/// Parts of TopK, which may have fewer elements than are wanted of the whole.
#[test]
fn parts_of_top_k_cut_and_merged_anyhow_equal_the_whole() -> Outcome {
    let mut bits = Bits::new(47);
    for dtype in DType::ALL {
        for (seed, shape) in (0..).zip(SHAPES) {
            let input = tensor(dtype, shape, seed);
            for k in [0, 1, 4, 19, shape[1] - 1, shape[1]] {
                let way = bits.draw();
                let top = |own: &[u64]| top_problem(dtype, own, 1, k, way);
                let whole = top(&shape)?;
                let cuts = support::cuts(shape[1], 1 + way / 4 % 6, &mut bits);
                let parts = parts_of(shape, &cuts, &input, top)?;
                let held = cuts[1];
                if held < k {
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
                    let merged = [&*halves[0][1], &halves[1][1]].concat();
                    assert_eq!(merged, expected[1], "{whole}");
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
        let error = Partial::from_bytes(&bytes).expect_err("changed bytes");
        error.to_string()
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
    let [fewer, across] = [top(&[2, 3], 1, 1)?, top(&[2, 3], 0, 2)?];
    let smallest = top(&[2, 3], 1, 2)?.largest(false);
    for (other, message) in [
        (fewer, "the output's shape is [2, 1], not [2, 2]"),
        (across, "the axis is Some(0), not Some(1)"),
        (smallest, "smallest is true, not false"),
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
