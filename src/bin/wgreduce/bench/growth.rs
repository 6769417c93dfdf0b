//! How cost grows with size: the cases that show it, a line fitted to their times, and the steps
//! at sizes where plans change. Knows cases and times, not how they are measured or shown.

use std::borrow::Cow;

use wgreduce::{DType, Op};

use super::catalogue::Case;

const OPS: [Op; 2] = [Op::ArgMin, Op::ReduceMin];
/// From 4 KiB to 1 GiB of float32.
const SIZES: std::ops::RangeInclusive<u32> = 10..=28;
/// The quick ones: every second, up to 64 MiB.
const QUICK_LARGEST: u32 = 24;

/// A shape at an edge, the axis that is reduced, and what makes the one below and above it.
type Edge = (&'static str, [u64; 2], i64, [u64; 2]);

/// Sizes where a plan changes its kernel, its cut or its grid.
const EDGES: [Edge; 6] = [
    // Lengths that are no whole vec4, beside one that is.
    ("rows128", [1 << 16, 128], 1, [0, 1]),
    ("rows1024", [1 << 12, 1024], 1, [0, 1]),
    ("slice16K", [1 << 11, 4096], 1, [0, 1]),
    ("columns1024", [1 << 12, 1024], 0, [0, 1]),
    // With an invocation a row of 8 bytes, 65,535 workgroups of 256.
    ("groups65535", [65_535 * 256, 2], 1, [256, 0]),
    // WebGPU's default for a binding: 128 MiB.
    ("binding128M", [1, 1 << 25], 1, [0, 4]),
];

/// A flat row of 2^10, 2^11, ... elements.
pub fn sizes(quick: bool) -> Vec<Case> {
    let asked = SIZES.filter(|log2| !quick || log2 % 2 == 0 && *log2 <= QUICK_LARGEST);
    let of = |log2: u32| OPS.map(|op| case(format!("2^{log2}"), op, [1, 1 << log2], 1));
    asked.flat_map(of).collect()
}

/// Below, at and above every edge.
pub fn edges() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, [rows, len], axis, [more_rows, more_len]) in EDGES {
        for op in OPS {
            let below = [rows - more_rows, len - more_len];
            let above = [rows + more_rows, len + more_len];
            cases.push(case(format!("{name}-"), op, below, axis));
            cases.push(case(name.into(), op, [rows, len], axis));
            cases.push(case(format!("{name}+"), op, above, axis));
        }
    }
    cases
}

/// The edge a case is at.
pub fn edge(case: &Case) -> &str {
    case.name.trim_end_matches(['-', '+'])
}

fn case(name: String, op: Op, shape: [u64; 2], axis: i64) -> Case {
    Case {
        name: Cow::Owned(name),
        op,
        dtype: DType::F32,
        shapes: vec![shape.into()],
        axes: vec![axis],
        quick: true,
    }
}

/// What a size costs, as a line: a floor, and so much a byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub floor_ns: f64,
    pub ns_a_byte: f64,
}

impl Fit {
    /// The line through (bytes, nanoseconds) with the least sum of squared relative errors; none
    /// through less than three.
    pub fn new(points: &[(u64, u64)]) -> Option<Fit> {
        if points.len() < 3 {
            return None;
        }
        let [mut w, mut wx, mut wxx, mut wt, mut wxt] = [0.0; 5];
        for &(bytes, ns) in points {
            let (x, t) = (bytes as f64, ns.max(1) as f64);
            let weight = 1.0 / (t * t);
            w += weight;
            wx += weight * x;
            wxx += weight * x * x;
            wt += weight * t;
            wxt += weight * x * t;
        }
        let det = w * wxx - wx * wx;
        let slope = (w * wxt - wx * wt) / det;
        let fit = Fit {
            floor_ns: (wt - slope * wx) / w,
            ns_a_byte: slope,
        };
        (det > 0.0 && slope > 0.0).then_some(fit)
    }

    pub fn ns(&self, bytes: u64) -> f64 {
        self.floor_ns + self.ns_a_byte * bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_too_little_gives_none() {
        let points: Vec<(u64, u64)> = (0..9).map(|i| (1 << i, 500 + 3 * (1 << i))).collect();
        let fit = Fit::new(&points).unwrap();
        assert!((fit.floor_ns - 500.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.ns_a_byte - 3.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.ns(1000) - 3500.0).abs() < 1e-6);
        assert_eq!(Fit::new(&points[..2]), None);
        assert_eq!(Fit::new(&[(8, 9), (8, 9), (8, 9)]), None);
    }

    #[test]
    fn every_point_counts_by_its_relative_error() {
        // A large time that is off by a tenth must not drown small ones.
        let mut points: Vec<(u64, u64)> = (0..20).map(|i| (i * 100, 1000 + i * 100)).collect();
        points.push((1_000_000, 1_100_000));
        let fit = Fit::new(&points).unwrap();
        assert!((fit.floor_ns / 1000.0 - 1.0).abs() < 0.1, "{fit:?}");
    }

    #[test]
    fn edges_come_in_threes_and_all_cases_are_valid() {
        let edges = edges();
        for three in edges.chunks(3) {
            let elements = |case: &Case| case.shapes[0].iter().product::<u64>();
            assert!(elements(&three[0]) < elements(&three[1]));
            assert!(elements(&three[1]) < elements(&three[2]));
            assert_eq!(edge(&three[0]), edge(&three[2]));
        }
        for case in edges.iter().chain(&sizes(false)) {
            case.problem().unwrap();
        }
        assert_eq!(sizes(false).len(), 2 * 19);
        assert_eq!(sizes(true).last().unwrap().name, "2^24");
    }
}
