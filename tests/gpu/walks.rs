//! Every walk under every tuning, also those that only a GPU would be given.

use super::{check, check_all, check_data, same, takes, takes_one_of, tuned, turn};
use libtest_mimic::Failed;
use std::collections::BTreeSet;
use support::grid::CLASSES;
use support::views::VIEWS;
use support::{Seed, diagonal, drawn, extremes, mixed, tensor, types, ways};
use wgreduce::unstable::Family;
use wgreduce::{AdapterClass, DType, Plan, Problem, Reducer, Tuning};

/// `[outer, len, inner]` in elements; the middle is reduced.
pub const SHAPES: &[[u64; 3]] = &[
    // Rows: of a few elements, around a vec4, by several invocations, and long ones.
    [40, 1, 1],
    [1030, 2, 1],
    [40, 3, 1],
    [9, 4, 1],
    [150, 5, 1],
    [9, 7, 1],
    [33, 8, 1],
    [150, 10, 1],
    [9, 16, 1],
    [9, 17, 1],
    [144, 21, 1],
    // Three whole vec4s of 16-bit elements, and of 8-bit elements.
    [33, 24, 1],
    [9, 48, 1],
    [33, 31, 1],
    [9, 33, 1],
    [64, 64, 1],
    [9, 65, 1],
    [70, 127, 1],
    [9, 130, 1],
    [32, 150, 1],
    [9, 257, 1],
    [3, 1001, 1],
    [2, 4099, 1],
    [1, 5000, 1],
    // Columns: narrow and wide, of few rows and many, of one matrix and several.
    [1, 37, 2],
    [1, 300, 3],
    [1, 37, 4],
    [2, 33, 5],
    [2, 67, 8],
    [1, 37, 17],
    [1, 65, 24],
    [1, 200, 9],
    [1, 37, 33],
    [1, 16, 64],
    [2, 37, 129],
    [1, 900, 160],
    [1, 3001, 3],
    [1, 2, 1089],
    [1, 3, 640],
    [1, 12, 1536],
    [3, 4, 1001],
    [1, 17, 1089],
    [40, 3, 3],
    [300, 10, 7],
    [65, 20, 16],
    [130, 100, 16],
    [7, 33, 16],
    [5, 9, 130],
    [70, 25, 96],
];

/// The same with `inner` in bytes: rows that the software tuning takes by strips, whole and in parts, and by
/// panels that are parts of rows.
pub const WIDE: [[u64; 3]; 5] = [
    [1, 40, 3600],
    [1, 530, 4400],
    [1, 40, 4160],
    [1, 530, 4448],
    [30, 17, 6144],
];

/// The families that every tuning must dispatch, besides its own.
const SHARED: [Family; 11] = [
    Family::Rows,
    Family::SmallRows,
    Family::Columns,
    Family::Shallow,
    Family::Each,
    Family::Finish,
    Family::Gather,
    Family::Strided,
    Family::StridedGather,
    Family::Extremes,
    Family::ExtremeRows,
];

pub fn software(reducer: &Reducer) -> Result<(), Failed> {
    let own: &[Family] = match reducer.caps().long_kernels {
        true => &[Family::Strips, Family::Panels],
        false => &[],
    };
    walks(reducer, AdapterClass::Software, own)
}

pub fn integrated(reducer: &Reducer) -> Result<(), Failed> {
    walks(reducer, AdapterClass::Integrated, &[])
}

pub fn discrete(reducer: &Reducer) -> Result<(), Failed> {
    walks(reducer, AdapterClass::Discrete, &[])
}

/// The same device with the tuning of a class.
pub fn of_class(reducer: &Reducer, class: AdapterClass) -> Reducer {
    reducer.with_caps(reducer.caps().tuned(Tuning::of(class)))
}

/// A class's turn. The tunings of GPUs share most kernels, and the software tuning has others.
fn turn_of(class: AdapterClass) -> u64 {
    turn() + u64::from(class != AdapterClass::Software)
}

fn walks(reducer: &Reducer, class: AdapterClass, own: &[Family]) -> Result<(), Failed> {
    let mut walked = Walked {
        reducer: of_class(reducer, class),
        families: BTreeSet::new(),
    };
    let turn = turn_of(class);
    walked.shapes(turn)?;
    walked.extremes(turn)?;
    walked.views(turn)?;
    let missing = |family: &&Family| !walked.families.contains(family);
    let missing: Vec<_> = SHARED.iter().chain(own).filter(missing).collect();
    match missing.as_slice() {
        [] => Ok(()),
        missing => Err(format!("{class:?}: never planned: {missing:?}").into()),
    }
}

/// A reducer and the families of all its cases, also of those that it does not take.
struct Walked {
    reducer: Reducer,
    families: BTreeSet<Family>,
}

impl Walked {
    /// Whether the adapter takes a case, see [`takes_one_of`].
    fn takes(&mut self, few: u64, problem: &Problem) -> Result<bool, Failed> {
        let plan = Plan::new(problem, self.reducer.caps())?;
        let families = plan.passes().iter().map(|pass| pass.kernel.family());
        self.families.extend(families);
        let tuning = &self.reducer.caps().tuning;
        Ok(takes_one_of(
            &self.reducer,
            few,
            ("walks", tuning),
            problem,
            (),
        ))
    }

    fn check(&mut self, problems: &[Problem], shape: [u64; 3]) -> Result<(), Failed> {
        for problem in problems {
            if self.takes(1, problem)? {
                check_all(&self.reducer, std::slice::from_ref(problem), shape)?;
            }
        }
        Ok(())
    }

    fn shapes(&mut self, turn: u64) -> Result<(), Failed> {
        let shapes = SHAPES.iter().map(|&shape| (shape, false));
        let wide = WIDE.iter().map(|&shape| (shape, true));
        for ([outer, len, inner], in_bytes) in shapes.chain(wide) {
            for dtype in types(turn) {
                let inner = if in_bytes {
                    inner / dtype.size()
                } else {
                    inner
                };
                let shape = [outer, len, inner];
                self.check(&ways(dtype, &shape, 1, turn)?, shape)?;
            }
        }
        Ok(())
    }

    fn extremes(&mut self, turn: u64) -> Result<(), Failed> {
        let rows = [[9, 33, 1], [3, 4099, 1]];
        let columns = [[2, 67, 16], [1, 900, 40], [3, 7, 5]];
        for shape in rows.into_iter().chain(columns) {
            for dtype in types(turn) {
                let way = drawn((dtype, shape));
                self.check(&[extremes(dtype, &shape, 1, way)?], shape)?;
            }
        }
        Ok(())
    }

    fn views(&mut self, turn: u64) -> Result<(), Failed> {
        for view in VIEWS.iter().filter(|view| view.0.len() > 1) {
            for dtype in types(turn) {
                let mut problems = ways(dtype, view.0, 1, turn)?;
                problems.extend(extremes(dtype, view.0, 1, turn + 1));
                for problem in problems {
                    let data = mixed(dtype, view.3, turn);
                    let problem = problem.strided(0, view.1, view.2);
                    if self.takes(4, &problem)? {
                        same(&self.reducer, &problem, &[&data], 0)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Segments in many slices under every tuning, where every position wins in one segment; and long segments,
/// whose winners lie on both sides of the borders of vec4s, invocations and windows.
pub fn spots(reducer: &Reducer) -> Result<(), Failed> {
    const N: u64 = 1031;
    const PLACES: u64 = 16;
    let kinds = Seed::ALL.len() as u64;
    for class in CLASSES {
        let turn = turn_of(class);
        let reducer = of_class(reducer, class);
        let sliced = tuned(&reducer, |t| {
            (t.invocations, t.slice_bytes) = (1 << 24, 256);
        });
        for dtype in types(turn) {
            // An index alone, or with values.
            let index = |shape: [u64; 3]| -> Result<Option<Problem>, Failed> {
                let problem =
                    ways(dtype, &shape, 1, turn)?.remove(drawn((dtype, shape)) as usize % 2);
                Ok(Some(problem).filter(|problem| takes(&reducer, ("spots", class), problem)))
            };
            for (shape, rows) in [([N, N, 1], true), ([1, N, N], false)] {
                if let Some(problem) = index(shape)? {
                    let data = std::iter::once(diagonal(dtype, N, rows));
                    check_data(&sliced, &problem, 0, data)?;
                }
            }
            // Segments of every kind side by side: a slice that ends late would take elements
            // of the next one.
            let shape = [kinds, N, 1];
            if let Some(problem) = index(shape)? {
                let data = std::iter::once(tensor(dtype, shape, turn));
                check_data(&sliced, &problem, 0, data)?;
            }
            for shape in [[1, 70_003, 1], [1, 9001, 8]] {
                if let Some(problem) = index(shape)? {
                    // The first kind of seed, with other places every time.
                    let seeds = (0..PLACES).map(|place| (turn * PLACES + place) * kinds);
                    let data = seeds.map(|seed| tensor(dtype, shape, seed));
                    check_data(&reducer, &problem, 0, data)?;
                }
            }
        }
    }
    Ok(())
}

/// Columns whose elements are all the worst possible, in slices whose first row lacks some columns; the last
/// slices have nothing of some columns, or nothing at all. An invocation without elements must not win a tie.
pub fn nothing_wins_no_tie(reducer: &Reducer) -> Result<(), Failed> {
    let reducer = of_class(reducer, AdapterClass::Discrete);
    for dtype in [DType::U8, DType::U16, DType::U32, DType::I64] {
        let worst = match dtype {
            DType::I64 => i64::MAX.to_le_bytes().to_vec(),
            _ => vec![0xff; dtype.size() as usize],
        };
        // 64 slices of 34 rows, of which the last is empty, or has one row; rows side by side; two slices.
        let wide = 512 / dtype.size();
        for (len, inner) in [(2112, wide), (2143, wide), (4225, wide / 4 - 1), (301, 3)] {
            let shape = [2, len, inner];
            let data = worst.repeat((2 * len * inner) as usize);
            for (last, offset) in [(false, 0), (true, 0), (false, dtype.size()), (true, 8)] {
                let problem = Problem::arg_min(dtype, &shape, 1)?.select_last_index(last);
                if takes_one_of(&reducer, 1, "worst", &problem, offset) {
                    check_data(&reducer, &problem, offset, std::iter::once(data.clone()))?;
                }
            }
        }
    }
    Ok(())
}

/// Columns in as few slices as possible, with more rows than fit into the bits below a 16-bit element: each has
/// its winner twice, 2^16 rows apart.
pub fn many_rows(reducer: &Reducer) -> Result<(), Failed> {
    let reducer = tuned(reducer, |t| {
        (t.slices, t.force) = (1, Some(Family::Columns));
    });
    let (len, inner) = (200_000, 8);
    let mut data = vec![7u16; len * inner];
    for column in 0..inner {
        for row in [10_000 * column + 1234, 10_000 * column + 1234 + (1 << 16)] {
            data[row * inner + column] = 3;
        }
    }
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    for last in [false, true] {
        let problem = Problem::arg_min(DType::U16, &[len as u64, inner as u64], 0)?;
        let problem = problem.select_last_index(last);
        check_data(&reducer, &problem, 0, std::iter::once(bytes.clone()))?;
    }
    Ok(())
}

/// Every family wherever it is possible, rows in every way, and two tunings that are far apart.
pub fn every_way(reducer: &Reducer) -> Vec<Reducer> {
    use Family::{Columns, Each, Panels, Rows, Shallow, SmallRows, Strips};
    let force = |family| tuned(reducer, move |t| t.force = Some(family));
    let rows = |(lanes, blocked)| {
        tuned(reducer, move |t| {
            (t.workgroup, t.row_lanes, t.lane_bytes, t.slice_bytes) = (64, lanes, 16, 256);
            (t.blocked, t.force, t.short_row_bytes) = (blocked, Some(Rows), 0);
        })
    };
    let narrow = tuned(reducer, |t| {
        (t.workgroup, t.invocations, t.slice_bytes, t.wide_bytes) = (4, 1 << 16, 64, 16);
        t.each_column_len = 2;
    });
    let wide = tuned(reducer, |t| {
        (t.workgroup, t.row_lanes, t.blocked) = (256, 256, false);
        (t.wide_bytes, t.invocations) = (4096, 1 << 18);
    });
    let lanes = [1, 8, 64].into_iter();
    let rows = lanes.flat_map(|lanes| [true, false].map(|blocked| rows((lanes, blocked))));
    let families = [Each, Columns, Strips, SmallRows, Shallow, Panels];
    let families = families.map(force);
    // Rows of whole vec4s by one invocation alone, whatever their length.
    let whole = tuned(reducer, |t| {
        (t.force, t.short_row_bytes) = (Some(Rows), u64::MAX)
    });
    let all = families.into_iter().chain(rows);
    all.chain([whole, narrow, wide]).collect()
}

pub fn forced(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    for reducer in every_way(reducer) {
        for dtype in types(turn) {
            for shape in [
                // Rows shorter than a vec4.
                [5, 3, 1],
                [3, 67, 1],
                [2, 1030, 1],
                [1, 300, 5],
                [2, 67, 24],
                [35, 6, 16],
                [1, 50_000, 1],
            ] {
                check(&reducer, "forced", dtype, shape, turn)?;
            }
        }
    }
    Ok(())
}

/// Rows of whole vec4s, of which an invocation takes several, at once and in blocks. Results share words, and
/// the last word is not full. Also rows that are taken element by element, several an invocation.
pub fn whole_rows(reducer: &Reducer) -> Result<(), Failed> {
    let several = tuned(reducer, |t| {
        (t.invocations, t.short_rows, t.short_row_bytes) = (4, 3, u64::MAX);
        (t.small_row_len, t.each_row_bytes) = (0, 0);
    });
    let each = tuned(&several, |t| t.force = Some(Family::Each));
    let turn = turn();
    for dtype in types(turn) {
        for vecs in [1, 3, 4, 9] {
            let shape = [67, vecs * 16 / dtype.size(), 1];
            check(&several, "whole rows", dtype, shape, turn)?;
        }
        check(&each, "whole rows", dtype, [67, 5, 1], turn)?;
    }
    // Every run takes the least element of rows of 8-bit elements.
    let shape = [67, 48, 1];
    let least = Problem::reduce_min(DType::I8, &shape, &[1])?;
    check_all(&several, &[least], shape)
}

/// Panels and strips are unrolled for the number of vec4s that an invocation takes; of strips rounded up to a multiple
/// of 2 or 4.
pub fn unrolled(reducer: &Reducer) -> Result<(), Failed> {
    use DType::{BF16, F32, F64, I8};
    use Family::{Panels, Strips};
    let of_family = |family| {
        tuned(&of_class(reducer, AdapterClass::Software), move |t| {
            t.force = Some(family);
        })
    };
    let (panels, strips) = (of_family(Panels), of_family(Strips));
    // A team takes both matrices.
    let in_turn = tuned(&panels, |t| t.invocations = 8);
    let to_16: Vec<u64> = (1..=16).collect();
    let every: &[u64] = &[2, 4, 6, 8, 10, 12, 14, 16, 18, 24, 26, 32];
    for (reducer, dtype, counts) in [
        (&panels, F32, &to_16[..]),
        (&panels, F64, &[13, 16]),
        (&panels, BF16, &[9, 12]),
        (&panels, I8, &[5, 8]),
        (&in_turn, F32, &[4, 9]),
        (&strips, F32, every),
        (&strips, F64, &[20, 22, 28, 30]),
        (&strips, BF16, &[6, 12]),
        (&strips, I8, &[10]),
    ] {
        for &count in counts {
            // Except for counts of 1 and 2, some invocations have a vec4 less than others.
            let vecs = 8 * count - 3 * u64::from(count > 2);
            let shape = [2, 70, vecs * 16 / dtype.size()];
            let problem = match count % 4 {
                0 | 1 => Problem::arg_max(dtype, &shape, 1)?.select_last_index(true),
                _ => Problem::reduce_min(dtype, &shape, &[1])?,
            };
            let plan = Plan::new(&problem, reducer.caps())?;
            let kernel = &plan.passes()[0].kernel;
            let times = match kernel.family() {
                Strips => count.next_multiple_of(if count > 16 { 4 } else { 2 }),
                _ => count,
            };
            let forced = Some(kernel.family()) == reducer.caps().tuning.force;
            let unrolled = forced && u64::from(kernel.unrolled()) == times;
            if reducer.caps().long_kernels && !unrolled {
                return Err(format!("{plan}: not unrolled for {count} vec4").into());
            }
            if takes(reducer, ("unrolled", &reducer.caps().tuning), &problem) {
                check_all(reducer, &[problem], shape)?;
            }
        }
    }
    Ok(())
}
