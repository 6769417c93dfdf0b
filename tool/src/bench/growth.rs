//! How cost grows with size: cases of growing size, a line fitted to their times, and the sizes at which a
//! device's plans change. Does not know how cases are measured or shown.

use std::borrow::Cow;

use wgreduce::unstable::{Kernel, Pass, RowsText, Walk};
use wgreduce::{Caps, DType, Op, Plan};

use super::catalogue::Case;

const OPS: [Op; 2] = [Op::ArgMin, Op::ReduceMin];
/// From 4 KiB to 1 GiB of float32.
const SIZES: std::ops::RangeInclusive<u32> = 10..=28;
/// Sizes of `--quick`: every second one, up to 64 MiB.
const QUICK_LARGEST: u32 = 24;

/// Elements of the shapes around an edge, unless the sweep changes them: 64 MiB.
const ELEMENTS: u64 = 16 << 20;

/// Shapes of float32 that grow with a number, to be searched for edges: their name, the shape for a number, the axis, and
/// which powers of two the least and the greatest number are.
type Sweep = (&'static str, fn(u64) -> Vec<u64>, i64, [u32; 2]);

const SWEEPS: [Sweep; 6] = [
    // Numbers of rows and of lines are multiples of 4, so that leftovers make no edge.
    ("rows", |n| vec![ELEMENTS / n / 4 * 4, n], 1, [1, 20]),
    ("columns", |n| vec![n, ELEMENTS / n / 4 * 4], 0, [1, 20]),
    ("middle", |n| vec![ELEMENTS / n / 512, n, 512], 1, [1, 14]),
    ("narrow", |n| vec![ELEMENTS / n / 8, n, 8], 1, [1, 20]),
    // From 4 MiB, where time begins to grow, to 1 GiB: the binding's size, and the workgroups of a
    // dimension.
    ("flat", |n| vec![1, n], 1, [20, 28]),
    ("pairs", |n| vec![4 * n, 2], 1, [17, 25]),
];

/// A flat row of 2^10, 2^11, ... elements.
pub fn sizes(quick: bool) -> Vec<Case> {
    let asked = SIZES.filter(|log2| !quick || log2 % 2 == 0 && *log2 <= QUICK_LARGEST);
    let of = |log2: u32| OPS.map(|op| case(format!("2^{log2}"), op, vec![1, 1 << log2], 1));
    asked.flat_map(of).collect()
}

/// Cases below, at and above every size where a device's plan changes its kernels, its cut or the dimensions of its
/// grids: at `rows257`, rows of 257 elements have another plan than rows of 256.
pub fn edges(caps: &Caps) -> Vec<Case> {
    let mut cases = Vec::new();
    for op in OPS {
        for sweep @ (name, shape, axis, _) in SWEEPS {
            for edge in found(sweep, op, caps) {
                for (n, sign) in [(edge - 1, "-"), (edge, ""), (edge + 1, "+")] {
                    let name = format!("{name}{edge}{sign}");
                    cases.push(case(name, op, shape(n), axis));
                }
            }
        }
    }
    cases
}

/// The numbers at which the plan changes, found by bisection between `low` and `2 * low` wherever the plans at
/// the two ends differ.
fn found((_, shape, axis, range): Sweep, op: Op, caps: &Caps) -> Vec<u64> {
    let [least, most] = range.map(|log2| 1u64 << log2);
    let plan = |n| outline(&case(String::new(), op, shape(n), axis), caps);
    let (mut edges, mut low) = (Vec::new(), least);
    while low < most {
        let (mut same, mut other) = (low, (2 * low).min(most));
        let before = plan(low);
        if plan(other) != before {
            while other - same > 1 {
                let middle = same.midpoint(other);
                match plan(middle) == before {
                    true => same = middle,
                    false => other = middle,
                }
            }
            edges.push(other);
        }
        // Another may lie below the power of two.
        low = other;
    }
    edges
}

/// The properties of a plan whose change makes an edge: its kernels, whether their grids have two dimensions, and
/// whether a kernel occurs several times. Rows by as many invocations are the same: how many loads each has, and of which
/// size, changes from one length to the next.
fn outline(case: &Case, caps: &Caps) -> (Vec<(Kernel, bool)>, bool) {
    let plan = case.problem().ok().and_then(|p| Plan::new(&p, caps).ok());
    let of = |pass: &Pass| {
        let mut kernel = pass.kernel;
        if let Walk::Rows(text) = &mut kernel.walk {
            *text = RowsText {
                lanes: text.lanes,
                looped: text.looped,
                rows: text.rows.min(1),
                ..RowsText::default()
            };
        }
        (kernel, pass.workgroups[1] > 1)
    };
    let all: Vec<_> = plan.iter().flat_map(Plan::passes).map(of).collect();
    let mut different = all.clone();
    different.dedup();
    let several = different.len() < all.len();
    (different, several)
}

/// The edge a case is at.
pub fn edge(case: &Case) -> &str {
    case.name.trim_end_matches(['-', '+'])
}

fn case(name: String, op: Op, shape: Vec<u64>, axis: i64) -> Case {
    Case {
        name: Cow::Owned(name),
        op,
        dtype: DType::F32,
        shapes: vec![shape],
        axes: vec![axis],
        k: 0,
        quick: true,
    }
}

/// The time of a size as a line: a floor, and nanoseconds per byte.
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
    use approx::assert_relative_eq;
    use support::grid::{CLASSES, class};
    use wgreduce::AdapterClass;

    #[test]
    fn a_line_is_found_and_too_little_gives_none() {
        let points: Vec<(u64, u64)> = (0..9).map(|i| (1 << i, 500 + 3 * (1 << i))).collect();
        let fit = Fit::new(&points).unwrap();
        assert_relative_eq!(fit.floor_ns, 500.0, max_relative = 1e-9);
        assert_relative_eq!(fit.ns_a_byte, 3.0, max_relative = 1e-9);
        assert_relative_eq!(fit.ns(1000), 3500.0, max_relative = 1e-9);
        assert_eq!(Fit::new(&points[..2]), None);
        assert_eq!(Fit::new(&[(8, 9), (8, 9), (8, 9)]), None);
    }

    #[test]
    fn every_point_counts_by_its_relative_error() {
        // A large time that is off by a tenth must not outweigh small ones.
        let mut points: Vec<(u64, u64)> = (0..20).map(|i| (i * 100, 1000 + i * 100)).collect();
        points.push((1_000_000, 1_100_000));
        let fit = Fit::new(&points).unwrap();
        assert_relative_eq!(fit.floor_ns, 1000.0, max_relative = 0.1);
    }

    #[test]
    fn plans_differ_below_and_at_every_edge() {
        for caps in CLASSES.map(class) {
            let edges = edges(&caps);
            for three in edges.chunks(3) {
                let [below, at, above] = three else {
                    panic!("{three:?}")
                };
                assert_ne!(outline(below, &caps), outline(at, &caps), "{at}");
                assert_eq!([edge(below), edge(above)], [edge(at); 2]);
                for case in three {
                    let bytes = case.shapes[0].iter().product::<u64>() * 4;
                    assert!((1..=(1 << 30) + 64).contains(&bytes), "{case}: {bytes}");
                }
            }
        }
    }

    #[test]
    fn edges_are_where_tuning_and_limits_put_them() {
        let names = |caps: &Caps| -> Vec<String> {
            let argmin = |case: &Case| case.op == OPS[0] && edge(case) == case.name;
            let edges = edges(caps).into_iter().filter(argmin);
            edges.map(|case| case.name.into_owned()).collect()
        };
        for caps in CLASSES.map(class) {
            let names = names(&caps);
            // The first row of which an invocation takes only one, or a part.
            let (_, shape, ..) = SWEEPS[0];
            let alone = |n: &u64| {
                let row = case(String::new(), OPS[0], shape(*n), 1);
                let plan = Plan::new(&row.problem().unwrap(), &caps).unwrap();
                matches!(plan.passes()[0].kernel.walk, Walk::Rows(text) if text.rows == 0)
            };
            let longer = format!("rows{}", (2..).find(alone).unwrap());
            assert!(names.contains(&longer), "{longer}: {names:?}");
            let split = names.iter().filter_map(|name| name.strip_prefix("flat"));
            let split: Vec<u64> = split.map(|n| n.parse().unwrap()).collect();
            let binding = caps.binding_bytes / 4;
            assert!(split.iter().any(|n| n.abs_diff(binding) < 64), "{split:?}");
        }
        // Where lanes take four rows each, a dimension's workgroups come to their end.
        let one = Caps {
            binding_bytes: 1 << 32,
            ..class(AdapterClass::Discrete)
        };
        let folded = format!("pairs{}", 65_535 * 256 + 1);
        assert!(names(&one).contains(&folded), "{folded}: {:?}", names(&one));
    }

    #[test]
    fn all_sizes_are_valid() {
        for case in sizes(false) {
            case.problem().unwrap();
        }
        assert_eq!(sizes(false).len(), 2 * 19);
        assert_eq!(sizes(true).last().unwrap().name, "2^24");
    }
}
