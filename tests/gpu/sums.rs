//! Exact sums: every operator and type under every tuning, with data of every kind.

use super::pieces::{in_pieces, shard, streamed};
use super::walks::{self, SHAPES as WALKED, of_class};
use super::{check_data, same, takes, takes_case, takes_one_of, tuned};
use libtest_mimic::Failed;
use std::collections::BTreeSet;
use support::grid::CLASSES;
use support::views::VIEWS;
use support::{Bits, SUMMANDS, bytes, drawn, float_bits, sum_problem, summands, summed};
use wgreduce::reference::evaluate;
use wgreduce::{
    AdapterClass, Class, DType, Element, NanPolicy, Op, Plan, Problem, Reducer, Tuning,
};

/// `[outer, len, inner]`; the middle is summed. Segments of one invocation and of many, which begin and end
/// inside a vec4, or are cut into slices; columns of whole vec4s and others.
const SHAPES: [[u64; 3]; 17] = [
    [5, 1, 1],
    // Rows of whole vec4s for every type, which are taken at once.
    [33, 8, 1],
    [70, 16, 1],
    [40, 3, 1],
    [9, 33, 1],
    [3, 130, 1],
    [2, 1001, 1],
    [1, 5000, 1],
    [1, 70_003, 1],
    [3, 5, 7],
    [2, 3, 16],
    [1, 37, 33],
    [2, 67, 64],
    [1, 65, 512],
    [1, 3001, 3],
    [1, 9000, 16],
    [2, 301, 9],
];

/// Data of every kind.
fn data(problem: &Problem) -> impl Iterator<Item = Vec<u8>> + use<> {
    let dtype = problem.dtype();
    let n = problem.input_bytes(0) / dtype.size();
    (0..SUMMANDS).map(move |seed| summands(dtype, n, seed))
}

/// The same device with segments in many slices.
fn in_slices(reducer: &Reducer) -> Reducer {
    tuned(reducer, |t| (t.slice_bytes, t.invocations) = (64, 1 << 18))
}

/// Two of the ten ways to sum, which differ in what they do with NaNs.
fn two_ways(case: impl std::fmt::Debug) -> [u64; 2] {
    let way = drawn(case) % 10;
    [way, (way + 5) % 10]
}

pub fn sums(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in summed() {
        for shape in SHAPES {
            for way in two_ways((dtype, shape)) {
                let problem = sum_problem(dtype, &shape, &[1], way)?;
                let drawn = drawn(&problem);
                if takes(reducer, "sums", &problem) {
                    // The fourth: results of several invocations in turn.
                    let class = CLASSES[drawn as usize % 3];
                    let tuned = tuned(reducer, |t| match drawn % 4 {
                        3 => (t.invocations, t.short_rows) = (4, 3),
                        _ => *t = Tuning::of(class),
                    });
                    let offset = if drawn / 12 % 3 == 1 { dtype.size() } else { 0 };
                    check_data(&tuned, &problem, offset, data(&problem))?;
                }
            }
        }
    }
    // A bit far below the others decides.
    let rows = [0x4880_0000_u32, 0x3c80_0000, 0x2080_0000];
    let problem = Problem::reduce_sum(DType::F32, &[1, 3], &[1])?;
    same(reducer, &problem, &[bytemuck::cast_slice(&rows)], 0)?;
    let rows = [0x77ff_u16, 0x6400, 0x6400, 1];
    let problem = Problem::reduce_l2(DType::F16, &[1, 4], &[1])?;
    same(reducer, &problem, &[bytemuck::cast_slice(&rows)], 0)?;
    // Squares whose third word is all ones before a carry comes to it.
    let rows = [0xa265_b1f5_cdb2_7718_u64, 0, 0x91b7_584a_ba02_4cd1, 0];
    let problem = Problem::reduce_l2(DType::U64, &[2, 2], &[1])?;
    same(reducer, &problem, &[bytemuck::cast_slice(&rows)], 0)?;
    // Exact ties of a root, 3 m and 4 m, and of a mean whose sum has more than 64 bits.
    let rows = [0x4333_3333_3333_333b_u64, 0x4339_9999_9999_99a4];
    let problem = Problem::reduce_l2(DType::F64, &[1, 2], &[1])?;
    same(reducer, &problem, &[bytemuck::cast_slice(&rows)], 0)?;
    let half = [0x433f_ffff_ffff_fffe_u64, 0x433f_ffff_ffff_ffff];
    for inner in [1, 2] {
        let problem = Problem::reduce_mean(DType::F64, &[1, 2050, inner], &[1])?;
        let rows = half.map(|x| vec![x; 1025 * inner as usize]).concat();
        same(reducer, &problem, &[bytemuck::cast_slice(&rows)], 0)?;
    }
    // A mean that ignores NaNs counts its elements, also those of a run that ends inside a block.
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let problem = Problem::reduce_mean(dtype, &[3, 130], &[1])?.nan(NanPolicy::Ignore);
        for class in CLASSES {
            if takes_case(reducer, 1, ("means", class, dtype)) {
                let tuned = of_class(reducer, class);
                check_data(&tuned, &problem, 0, data(&problem))?;
            }
        }
        // One element of a segment is an infinity or a NaN among ones, or a 0 among -0, at each place of a vec4: in a
        // block, or in the vec4 behind the last block.
        let (infinity, nan, one) = float_bits(dtype);
        let minus_zero = 1 << (8 * dtype.size() - 1);
        for (len, first) in [(640, 80), (664, 648)] {
            for shape in [[16, len, 1], [1, len, 16]] {
                let inner = shape[2];
                let problem = Problem::reduce_sum(dtype, &shape, &[1])?;
                if !takes(reducer, "special", &problem) {
                    continue;
                }
                let data = |(special, others): (u64, u64)| {
                    let element = move |i: u64| {
                        let (segment, place) = (i / (len * inner) + i % inner, i / inner % len);
                        let there = place == first + segment;
                        if there { special } else { others }
                    };
                    bytes(dtype, (0..16 * len).map(element))
                };
                let pairs = [(infinity, one), (nan, one), (0, minus_zero)];
                check_data(reducer, &problem, 0, pairs.map(data).into_iter())?;
            }
        }
    }
    Ok(())
}

/// Random shapes, axes, types, tunings, limits and data: 100 problems of each operator, others for every seed.
pub fn random(reducer: &Reducer) -> Result<(), Failed> {
    let types: Vec<_> = summed().collect();
    for way in (0..500).filter(|way| takes_case(reducer, 1, ("random", way))) {
        let mut bits = Bits::new(drawn(("random", way)));
        let mut room = 20_000;
        let dims = (0..1 + bits.below(4)).map(|_| {
            let most = [4, 40, 700, room][bits.below(4) as usize].min(room);
            let dim = 1 + bits.below(most);
            room = (room / dim).max(1);
            dim
        });
        let shape: Vec<u64> = dims.collect();
        let some = 1 + bits.below((1 << shape.len()) - 1);
        let axes = (0..shape.len() as i64).filter(|a| some >> a & 1 == 1);
        let axes: Vec<i64> = axes.collect();
        let problem = sum_problem(*bits.pick(&types), &shape, &axes, way)?;
        let tuning = Tuning::of(CLASSES[bits.below(3) as usize]);
        let mut caps = reducer.caps().tuned(tuning);
        if bits.below(4) == 0 {
            caps = caps.lowered(1 << 14, 16);
        }
        let data = summands(problem.dtype(), shape.iter().product(), bits.draw());
        same(&reducer.with_caps(caps), &problem, &[&data], 0)?;
    }
    Ok(())
}

/// Integer sums are mapped like minima: every walk under every tuning, and every walk that can be forced.
pub fn integers(reducer: &Reducer) -> Result<(), Failed> {
    let types: Vec<_> = summed().filter(|t| t.class() != Class::Float).collect();
    let tuned = CLASSES.map(|class| of_class(reducer, class));
    let mut all: Vec<_> = tuned.into_iter().chain(walks::every_way(reducer)).collect();
    // Here workgroups merge the slices that they take.
    let discrete = of_class(reducer, AdapterClass::Discrete);
    all.push(super::tuned(&discrete, |t| t.invocations = 1 << 16));
    let mut walks = BTreeSet::new();
    for (r, reducer) in all.iter().enumerate() {
        // The tunings take every shape, the forced walks one of six.
        let few = if r < 3 { 1 } else { 6 };
        let tuning = &reducer.caps().tuning;
        for &[outer, len, inner] in WALKED {
            let way = drawn((tuning, outer, len, inner));
            for dtype in [0, 3, 5, 6].map(|k| types[(way as usize + k) % 8]) {
                let problem = sum_problem(dtype, &[outer, len, inner], &[1], way / 8)?;
                let plan = Plan::new(&problem, reducer.caps())?;
                let passes = plan.passes().iter().map(|pass| &pass.kernel);
                let passes = passes.filter(|kernel| kernel.acc.are_terms());
                walks.extend(passes.map(|kernel| kernel.walk.name()));
                if takes_one_of(reducer, few, ("integers", tuning), &problem, ()) {
                    let offset = if way % 3 == 1 { dtype.size() } else { 0 };
                    let data = summands(dtype, outer * len * inner, way);
                    same(reducer, &problem, &[&data], offset)?;
                }
            }
        }
    }
    let mut wanted = vec!["columns", "each", "finish", "rows"];
    wanted.retain(|walk| !walks.contains(walk));
    match wanted.as_slice() {
        [] => Ok(()),
        missing => Err(format!("never planned: {missing:?}").into()),
    }
}

/// Many of the largest mantissas, and sometimes an element far below them. Where it is every eighth, no window holds
/// a block, and digits must carry in time; where it is every 4001st, a window holds what comes before it, and the
/// second half of the numbers takes the first away, so that every element shows.
pub fn far(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in summed().filter(|t| t.class() == Class::Float) {
        let element = |i: u64, every: u64| match (dtype, i % every) {
            // A window has all exponents of this type, so the element is a NaN, which is ignored.
            (DType::F16, 5) => 0x7e00,
            (DType::F16, _) => 0x3bff,
            (DType::BF16, 5) => 0x0d80,
            (DType::BF16, _) => 0x4fff,
            (DType::F32, 5) => 0x0d80_0000,
            (DType::F32, _) => 0x4fff_ffff,
            (_, 5) => 0x1010_0000_0000_0000,
            _ => 0x43ff_ffff_ffff_ffff_u64,
        };
        for (every, shape) in [
            (8, [3, 9000, 1]),
            (8, [1, 700, 16]),
            (4001, [1, 70_003, 1]),
            (4001, [1, 9000, 16]),
        ] {
            let problem = Problem::reduce_sum(dtype, &shape, &[1])?.nan(NanPolicy::Ignore);
            if !takes(reducer, "far", &problem) {
                continue;
            }
            let n = shape.iter().product();
            let element = |i| {
                let minus = u64::from(every > 8 && i >= n / 2) << (8 * dtype.size() - 1);
                element(i, every) | minus
            };
            let data = bytes(dtype, (0..n).map(element));
            same(reducer, &problem, &[&data], 0)?;
        }
    }
    // Rows that leave their windows in different turns. Lavapipe counts the iterations of neighbouring invocations
    // together, so they must not wait for each other in turn after turn.
    let few = tuned(reducer, |tuning| tuning.invocations = 8);
    let problem = Problem::reduce_sum(DType::F64, &[16, 4434], &[1])?;
    let element =
        |(row, e): (u64, u64)| match (e % 264 < 8 && e < 528 * (row / 2), e / 2 % 4, e % 2) {
            (false, 0, 0) => 0x7f00_0000_0000_0000,
            (false, 0, _) => 1,
            _ => 1f64.to_bits(),
        };
    let places = (0..16).flat_map(|row| (0..4434).map(move |e| (row, e)));
    let data = bytes(DType::F64, places.map(element));
    same(&few, &problem, &[&data], 0)?;
    Ok(())
}

/// More numbers than a digit counts, and more partial sums than an invocation can add.
pub fn many(reducer: &Reducer) -> Result<(), Failed> {
    let problem = Problem::reduce_mean(DType::F16, &[1, 4_400_000], &[1])?.nan(NanPolicy::Ignore);
    if takes(reducer, "counts", &problem) {
        let (_, nan, one) = float_bits(DType::F16);
        let element = |i: u64| match i % 70 {
            0 => nan,
            _ => one + i % 7,
        };
        let data = bytes(DType::F16, (0..4_400_000).map(element));
        same(reducer, &problem, &[&data], 0)?;
    }
    let software = of_class(reducer, AdapterClass::Software);
    let cut = tuned(&software, |t| (t.invocations, t.slice_bytes) = (1, 64));
    let problem = Problem::reduce_sum(DType::F32, &[400_000, 4], &[0])?;
    if takes(reducer, "many", &problem) {
        let parts = Plan::new(&problem, cut.caps())?.passes()[0].params.parts;
        if parts <= 512 {
            return Err(format!("{parts} partial sums").into());
        }
        same(&cut, &problem, &[f32::bytes(&[-1.0; 1_600_000])], 0)?;
    }
    Ok(())
}

/// Sums, means and roots that lie in the middle between two numbers, and what decides: nothing, or one or two powers of two
/// anywhere below.
pub fn ties(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in summed().filter(|t| t.class() == Class::Float) {
        // Bits of the mantissa with the hidden one, and the exponent of the least power of two.
        let (mantissa, least) = match dtype {
            DType::F16 => (11, 24),
            DType::BF16 => (8, 126),
            DType::F32 => (24, 126),
            _ => (53, 180),
        };
        let bits = |x: f64| match dtype {
            DType::F16 => half::f16::from_f64(x).to_bits().into(),
            DType::BF16 => half::bf16::from_f64(x).to_bits().into(),
            DType::F32 => u64::from((x as f32).to_bits()),
            _ => x.to_bits(),
        };
        let segments = 4 * (least + 1);
        for op in [Op::ReduceSum, Op::ReduceMean, Op::ReduceL2] {
            for (len, inner) in [(8, 1), (8, segments), (200, 1), (200, segments)] {
                let outer = segments / inner;
                let problem = support::problem_of(op, dtype, &[outer, len, inner], &[1])?;
                let element = |segment: u64, place: u64| {
                    // 2 m is a number, 2 m + 1 is none; (2 m + 1)^2 = (2 m)^2 + (2 u + 1)^2 where m = u (u + 1).
                    let u = (1u64 << (mantissa - 1)).isqrt() + 1 + segment % 2;
                    let m = u * (u + 1);
                    // Two elements decide. The others of a mean are even, and are len (2 m + 1) together.
                    let others = len - 2;
                    let half = len * m + len / 2;
                    let share = half / others + u64::from(place < half % others);
                    let decides = 0.5f64.powi((segment / 4) as i32);
                    match (op, place, segment % 4) {
                        (_, place, 1 | 2) if place == others => decides,
                        (_, place, 3) if place == others => -decides,
                        (_, place, 2) if place > others => decides,
                        (_, place, _) if place >= others => 0.0,
                        (Op::ReduceMean, ..) => (2 * share) as f64,
                        (_, 0, _) => (2 * m) as f64,
                        (Op::ReduceL2, 1, _) => (2 * u + 1) as f64,
                        (_, 1, _) => 1.0,
                        _ => 0.0,
                    }
                };
                let element = |i| {
                    let segment = i / (len * inner) * inner + i % inner;
                    bits(element(segment, (i / inner + segment) % len))
                };
                for class in CLASSES {
                    if !takes(reducer, ("ties", class), &problem) {
                        continue;
                    }
                    let sliced = in_slices(&of_class(reducer, class));
                    let data = bytes(dtype, (0..outer * len * inner).map(element));
                    same(&sliced, &problem, &[&data], 0)?;
                }
            }
        }
    }
    Ok(())
}

/// Segments whose greatest exponents are all that there are, with the least ones at the ends of a window of any kind, of two,
/// and one beyond; zeros among them, only zeros, elements alone in what they are, and ties.
pub fn windows(reducer: &Reducer) -> Result<(), Failed> {
    // Exponents between the greatest and the least.
    const APART: [u64; 32] = [
        0, 1, 9, 14, 15, 20, 21, 22, 23, 24, 27, 28, 30, 31, 32, 34, 35, 36, 37, 42, 43, 46, 47,
        48, 57, 58, 64, 65, 88, 150, 200, 700,
    ];
    let bits_of = |dtype| match dtype {
        DType::F16 => (5, 10),
        DType::BF16 => (8, 7),
        DType::F32 => (8, 23_u32),
        _ => (11, 52),
    };
    for dtype in summed().filter(|t| t.class() == Class::Float) {
        let (exponent, mantissa) = bits_of(dtype);
        let most = (1 << exponent) - 2;
        let element = |segment: u64, place: u64, len: u64, kind: u64| {
            let mut bits = Bits::new(drawn((segment, place, kind)));
            // From the least exponent up, and from the greatest down.
            let top = match kind % 2 {
                0 => 1 + segment * 7 % most,
                _ => most - segment * 7 % most,
            };
            let apart = APART[(segment / 3 % 32) as usize].min(top - 1);
            let number =
                |field: u64, fraction: u64| field << mantissa | fraction & ((1 << mantissa) - 1);
            let any = number(top - bits.below(apart + 1), bits.draw());
            let sign = bits.below(2) << (exponent + mantissa);
            let alone = place == (segment * 5 + 3) % len;
            let minus_zero = 1 << (exponent + mantissa);
            match (kind, alone) {
                // Both ends are there.
                (0 | 1, _) if place == segment % len => number(top, bits.draw()) | sign,
                (0 | 1, true) => number(top - apart, 1) | sign,
                (1, _) if bits.below(2) == 0 => sign,
                (0 | 1, _) => any | sign,
                // All alike, and the greatest mantissa.
                (2, _) => number(top, u64::MAX),
                // Pairs that cancel, and an element alone: the least number that there is, or a last bit.
                (3, false) if place ^ 1 == (segment * 5 + 3) % len || place ^ 1 == len => 0,
                (3, true) if segment.is_multiple_of(5) => 1,
                (3, true) => number(top - apart, 1),
                (3, _) => {
                    number(top, (place / 2) * 0x2f_1234_5671) | (place % 2) << (exponent + mantissa)
                }
                // One subnormal, greatest, infinite number or NaN, or a zero among -0. Of eight columns one at most has an infinity or
                // a NaN: all that are taken together are far then.
                (4, true) => match segment % 17 {
                    0 => 1,
                    2 => number(most, u64::MAX),
                    5 => number(most + 1, 0) | sign,
                    8 => 0,
                    13 => number(most + 1, 1),
                    _ => any | sign,
                },
                (4, _) if segment % 17 == 8 => minus_zero,
                (4, _) => any | sign,
                // A tie, and what decides it far below.
                (5, _) if place == segment % len => number(top, segment / 42),
                (5, _) if place == (segment + 1) % len => {
                    number(top.saturating_sub(u64::from(mantissa) + 1).max(1), 0)
                }
                (5, true) => number(top - apart, 0) | sign,
                (5, _) => 0,
                // A mean that is a tie, of v, as many of v and its last bit, and 2 v; and what decides it far below.
                (6, true) => number(top - apart, 0) | sign,
                (6, _) => {
                    let v = number(top.min(most - 1), segment * 2);
                    match (place + 2 * len - segment * 5 % len - 4) % len {
                        0 => v + (1 << mantissa),
                        n if n <= len / 2 => v + 1,
                        _ => v,
                    }
                }
                _ if segment.is_multiple_of(2) => minus_zero,
                _ if segment.is_multiple_of(3) => 0,
                _ => bits.below(1 << mantissa) | sign,
            }
        };
        for shape in [
            [1024, 8, 1],
            [1024, 10, 1],
            [260, 33, 1],
            [260, 640, 1],
            [9, 20_004, 1],
            [1, 3, 1024],
            [1, 600, 256],
            [1, 5000, 3],
            [2, 77, 130],
        ] {
            let [_, len, inner] = shape;
            for way in two_ways(("windows", dtype, shape)) {
                let problem = sum_problem(dtype, &shape, &[1], way)?;
                for class in CLASSES {
                    if !takes(reducer, ("windows", class), &problem) {
                        continue;
                    }
                    let data = |kind| {
                        let element = |i| {
                            let segment = i / (len * inner) * inner + i % inner;
                            element(segment, i / inner % len, len, kind)
                        };
                        bytes(dtype, (0..shape.iter().product()).map(element))
                    };
                    check_data(&of_class(reducer, class), &problem, 0, (0..8).map(data))?;
                }
            }
        }
    }
    Ok(())
}

/// A driver may compile a kernel once more after some dispatches: every run is read.
pub fn a_hundred_times(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in [DType::F16, DType::BF16, DType::F32] {
        for shape in [[64, 200, 1], [2, 60, 40]] {
            let problem = Problem::reduce_sum(dtype, &shape, &[1])?;
            if !takes(reducer, "a hundred times", &problem) {
                continue;
            }
            let n = shape.iter().product();
            let inputs = [0, 6].map(|kind| summands(dtype, n, kind));
            let runs = (0..100).map(|run| inputs[run % 2].clone());
            check_data(reducer, &problem, 0, runs)?;
        }
    }
    Ok(())
}

/// Scattered axes, which take one pass over a view, and all kinds of views.
pub fn views(reducer: &Reducer) -> Result<(), Failed> {
    let scattered: [(&[u64], &[i64]); 6] = [
        (&[6, 8, 10], &[0, 2]),
        (&[3, 4, 5, 6, 7], &[0, 2, 4]),
        (&[2, 300, 2, 20], &[0, 3]),
        (&[4, 1, 9], &[1]),
        (&[40, 2, 150], &[0, 2]),
        // No two of twelve dimensions merge.
        (&[2, 2, 2, 3, 2, 2, 2, 3, 2, 2, 2, 2], &[0, 2, 4, 6, 8, 10]),
    ];
    let alone = tuned(reducer, |tuning| tuning.invocations = 1);
    for dtype in summed() {
        for (shape, axes) in scattered {
            let problem = sum_problem(dtype, shape, axes, drawn((dtype, shape, axes)))?;
            // In parts, and each by one invocation.
            for (name, reducer) in [("own", reducer), ("alone", &alone)] {
                if takes(reducer, ("scattered sums", name), &problem) {
                    check_data(reducer, &problem, 0, data(&problem))?;
                }
            }
        }
        for view in VIEWS.iter().filter(|(shape, ..)| !shape.is_empty()) {
            let (shape, strides, offset, _) = view;
            let drawn = drawn((dtype, view));
            let axis = (drawn % shape.len() as u64) as i64;
            let Ok(problem) = sum_problem(dtype, shape, &[axis], drawn / 30) else {
                // A mean of no integers is refused.
                continue;
            };
            let problem = problem.strided(0, strides, *offset);
            if takes_one_of(reducer, 4, "views of sums", &problem, ()) {
                check_data(reducer, &problem, 0, data(&problem))?;
            }
        }
    }
    Ok(())
}

/// Few workgroups, small bindings and small submits: regions whose partial sums meet, and slices that one
/// dispatch leaves and another finishes.
pub fn limits(reducer: &Reducer) -> Result<(), Failed> {
    let small = tuned(reducer, |t| {
        (t.workgroup, t.slice_bytes, t.submit_bytes) = (16, 64, 1 << 14);
    });
    let small = small.with_caps(small.caps().lowered(4096, 3));
    for dtype in summed() {
        for shape in [[1, 9000, 1], [3, 700, 9], [1, 130, 640], [600, 5, 1]] {
            let way = drawn((dtype, shape));
            let problem = sum_problem(dtype, &shape, &[1], way)?;
            if !takes(reducer, "limits of sums", &problem) {
                continue;
            }
            // Always with special elements, as those of an earlier region must not be lost.
            let some = |kind: usize| kind % 3 == way as usize % 3 || [7, 8].contains(&kind);
            let data = data(&problem).enumerate().filter(|(kind, _)| some(*kind));
            check_data(&small, &problem, 0, data.map(|(_, data)| data))?;
        }
    }
    Ok(())
}

/// Nothing to sum, no outputs, and no axes.
pub fn degenerate(reducer: &Reducer) -> Result<(), Failed> {
    let shapes: [&[u64]; 6] = [&[], &[1, 1], &[5], &[3, 0], &[0, 3], &[2, 0, 3]];
    for (dtype, shape) in summed().flat_map(|t| shapes.map(|s| (t, s))) {
        let ways = (0..10).filter(|way| takes_case(reducer, 3, ("no sums", dtype, shape, way)));
        let problems = ways.flat_map(|way| {
            let all = sum_problem(dtype, shape, &[], way);
            let none = all.clone().map(|p| p.noop_with_empty_axes(true));
            // A mean of no integers is refused and left out.
            let problems = [all, none, sum_problem(dtype, shape, &[-1], way)];
            let problems = problems.into_iter().flatten();
            problems.filter(|problem| problem.check().is_ok())
        });
        for problem in problems {
            check_data(reducer, &problem, 0, data(&problem).take(3))?;
        }
    }
    // Some invocations have no element, the others NaNs that are skipped: the sum is 0, not -0.
    let shared = tuned(reducer, |t| t.row_lanes = 64);
    for dtype in summed().filter(|dtype| takes_case(reducer, 1, ("shared", dtype))) {
        let problem = Problem::reduce_sum(dtype, &[3, 130], &[1])?.nan(NanPolicy::Ignore);
        check_data(&shared, &problem, 0, data(&problem))?;
    }
    Ok(())
}

/// The same elements in one dispatch, in slices, in up to seven parts that are merged in any order, through
/// small windows of a stream, and as a view of a transposed matrix.
pub fn every_way(reducer: &Reducer) -> Result<(), Failed> {
    let shape = [3, 1400, 1];
    let sliced = in_slices(reducer);
    for dtype in summed() {
        let size = dtype.size() as usize;
        // Always with a 0 among -0, which a part may have alone, and with a row of only negative numbers.
        for kind in 0..SUMMANDS {
            let way = drawn((dtype, kind));
            let few = if matches!(kind, 4 | 8) { 1 } else { 3 };
            let problem = sum_problem(dtype, &shape, &[1], way)?;
            if !takes_one_of(reducer, few, "every way", &problem, kind) {
                continue;
            }
            let data = summands(dtype, shape.iter().product(), kind);
            same(reducer, &problem, &[&data], 0)?;
            same(&sliced, &problem, &[&data], 0)?;
            shard(reducer, &problem, shape, &data, &mut Bits::new(way))?;
            let places = (0..1400 * 3).map(|i| size * (i % 3 * 1400 + i / 3));
            let transposed = places.map(|at| &data[at..at + size]);
            let transposed = transposed.collect::<Vec<_>>().concat();
            let view = problem.clone().strided(0, &[1, 3, 1], 0);
            let right = evaluate(&problem, &[&data])?;
            if reducer.run_bytes_blocking(&view, &[&transposed])? != right {
                return Err(format!("{view}: differs from {problem}").into());
            }
            streamed(reducer, &problem, &[data], 20_000)?;
        }
    }
    Ok(())
}

/// Parts cut anywhere and merged in any order, and streams with small windows.
pub fn parts(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in summed() {
        for shape in [[3, 470, 1], [2, 300, 5], [2, 40, 8]] {
            let way = drawn((dtype, shape));
            let problem = sum_problem(dtype, &shape, &[1], way)?;
            if takes(reducer, "parts", &problem) {
                // Any, and those whose digits are the highest ones.
                for kind in [way / 10 % SUMMANDS, 4] {
                    let input = summands(dtype, shape.iter().product(), kind);
                    shard(reducer, &problem, shape, &input, &mut Bits::new(way))?;
                    streamed(reducer, &problem, &[input], 20_000)?;
                }
            }
        }
    }
    Ok(())
}

/// Tensors in several buffers, which end anywhere or at whole vec4s.
pub fn pieces(reducer: &Reducer) -> Result<(), Failed> {
    for dtype in summed() {
        for shape in [[3, 1500, 1], [2, 300, 5], [40, 6, 8], [5, 6, 32]] {
            let way = drawn((dtype, shape));
            let problem = sum_problem(dtype, &shape, &[1], way)?;
            if !takes(reducer, "pieces of sums", &problem) {
                continue;
            }
            for (kind, data) in (0..).zip(data(&problem)).skip(way as usize % 3).step_by(3) {
                in_pieces(reducer, &problem, &[&data], way + kind)?;
            }
        }
    }
    Ok(())
}
