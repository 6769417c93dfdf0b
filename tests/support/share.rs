//! Which cases of the suite a run takes.
//!
//! A case is taken by a hash of its own name and the seed: a case that is added changes nothing for the others, and
//! another seed takes others. docs/testing.md says what a share can miss.

use std::fmt::{Debug, Write};
use wgreduce::Problem;

/// The plain suite takes one of so many cases.
const PLAIN: u64 = 12;

/// A run takes one of so many cases: WGREDUCE_SHARE, which is `1` or `1/N`; the plain suite's share without it.
pub fn one_of() -> u64 {
    let Ok(share) = std::env::var("WGREDUCE_SHARE") else {
        return PLAIN;
    };
    let one_of = share.strip_prefix("1/").unwrap_or(&share);
    match one_of.parse() {
        Ok(n) if n > 0 && (n == 1 || share.len() > one_of.len()) => n,
        _ => panic!("WGREDUCE_SHARE is 1 or 1/N, not {share:?}"),
    }
}

/// Whether a run takes every case.
pub fn all() -> bool {
    one_of() == 1
}

/// The seed of the run: WGREDUCE_SEED, or always the same.
pub fn seed() -> u64 {
    let seed = std::env::var("WGREDUCE_SEED").unwrap_or("0".into());
    seed.parse().expect("WGREDUCE_SEED is a number")
}

/// Whether a run takes a case.
pub fn taken(name: impl Debug) -> bool {
    taken_of(one_of() as f64, name)
}

/// Whether a run that takes one of `one_of` cases takes this one. Who takes fewer takes a part of the same cases.
pub fn taken_of(one_of: f64, name: impl Debug) -> bool {
    hash(name) as f64 * one_of <= u64::MAX as f64
}

/// [`taken_of`] for a problem whose kernels take longer to compile than to run. Some kinds of problems are taken, and of
/// these some problems, as problems of a kind share kernels. `place` tells apart who asks.
pub fn taken_problem(one_of: u64, place: impl Debug, problem: &Problem, used: impl Debug) -> bool {
    let kinds = one_of.isqrt();
    let options = (problem.nan_policy(), problem.selects_last_index());
    let results = (problem.index_result_type(), problem.gives_values());
    let kind = (problem.dtype(), problem.op(), options, results);
    taken_of(kinds as f64, (&place, kind))
        && taken_of(one_of as f64 / kinds as f64, (&place, problem, used))
}

/// A number of 48 bits for a name, another for each seed: chooses among the ways to try a case.
pub fn drawn(name: impl Debug) -> u64 {
    hash(name) >> 16
}

fn hash(name: impl Debug) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    write!(hash, "{} {name:?}", seed()).expect("a hash takes everything");
    // The last bytes must reach the high bits.
    let mixed = (hash.0 ^ hash.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

/// FNV-1a, of 64 bits.
struct Fnv(u64);

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_takes_its_part_of_the_names_and_of_a_larger_share() {
        let count = |n| (0..40_000).filter(|i| taken_of(n, ("case", i))).count();
        assert_eq!(count(1.0), 40_000);
        for n in [2.0, 4.0, 6.4, 64.0] {
            let expected = 40_000.0 / n;
            let off = (count(n) as f64 - expected).abs();
            assert!(off < 5.0 * expected.sqrt(), "off by {off} for 1/{n}");
        }
        assert!((0..40_000).all(|i| !taken_of(64.0, i) || taken_of(4.0, i)));
    }

    #[test]
    fn each_name_draws_each_number() {
        let drawn: std::collections::BTreeSet<_> = (0..200).map(|i| drawn(i) % 10).collect();
        assert_eq!(drawn.len(), 10);
    }
}
