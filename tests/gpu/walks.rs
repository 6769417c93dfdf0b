//! Every walk under every tuning, also those that only a GPU would be given.

use super::{check, check_all, check_data, same, takes, takes_one_of, tuned, turn};
use libtest_mimic::Failed;
use std::collections::BTreeSet;
use support::grid::CLASSES;
use support::views::VIEWS;
use support::{Seed, diagonal, drawn, extremes, mixed, tensor, types, ways, worst};
use wgreduce::{AdapterClass, Caps, DType, Plan, Problem, Reducer, Tuning};

/// `[outer, len, inner]` in elements; the middle is reduced. For who tries all operators.
pub const SHAPES: &[[u64; 3]] = &[
    // Rows: of a few elements, around a vec4, by several invocations, and long ones.
    [40, 1, 1],
    [1030, 2, 1],
    [40, 3, 1],
    [1101, 5, 1],
    [33, 8, 1],
    [150, 10, 1],
    [9, 17, 1],
    [33, 31, 1],
    [64, 64, 1],
    [70, 127, 1],
    [9, 257, 1],
    [3, 1001, 1],
    [1, 5000, 1],
    // Columns: narrow and wide, of few rows and many, of one matrix and several.
    [1, 37, 2],
    [1, 300, 3],
    [2, 33, 5],
    [2, 67, 8],
    [1, 37, 17],
    [1, 16, 64],
    [2, 37, 129],
    // A last part with fewer rows than are read at once.
    [2, 577, 129],
    [1, 900, 160],
    // The last part of a matrix begins with rows of the one before.
    [1, 800, 160],
    [1, 3001, 3],
    [1, 3, 640],
    [3, 4, 1001],
    [40, 3, 3],
    [300, 10, 7],
    [7, 33, 16],
];

/// The same device with the tuning of a class.
pub fn of_class(reducer: &Reducer, class: AdapterClass) -> Reducer {
    reducer.with_caps(Caps {
        class,
        ..reducer.caps().tuned(Tuning::of(class))
    })
}

/// A class's turn. The tunings of GPUs share most kernels, and the software tuning has others.
fn turn_of(class: AdapterClass) -> u64 {
    turn() + u64::from(class != AdapterClass::Software)
}

/// Rows longer than 300 elements: around powers of two, of a workgroup, of several blocks, in slices.
const LONG_ROWS: [u64; 6] = [1000, 1001, 4096, 4097, 16_384, 70_000];
/// Lengths that are whole words or vec4, so that all rows of a tensor begin as the first one does.
const EVEN_ROWS: [u64; 5] = [12, 16, 64, 100, 1024];

/// Rows of every length, which begin and end anywhere in a vec4: of all kinds, with the winner at every place in turn, and
/// rows of only the worst value beside rows of the best.
pub fn rows(reducer: &Reducer) -> Result<(), Failed> {
    for class in CLASSES {
        let reducer = of_class(reducer, class);
        for dtype in types(turn_of(class)) {
            for len in (1..=300).chain(LONG_ROWS) {
                rows_of(&reducer, dtype, len, false)?;
            }
            for len in EVEN_ROWS {
                rows_of(&reducer, dtype, len, true)?;
            }
        }
    }
    Ok(())
}

/// An index or a value of rows, from a tensor that begins somewhere or, in turn, at every element of a vec4.
fn rows_of(reducer: &Reducer, dtype: DType, len: u64, everywhere: bool) -> Result<(), Failed> {
    let (class, size) = (reducer.caps().class, dtype.size());
    let count = match len {
        // Several for an invocation.
        _ if len * size <= 80 => 1024 + len % 7,
        0..=300 => len.max(48),
        301..=5000 => 20,
        _ => 5,
    };
    let shape = [count, len, 1];
    let index_or_value = drawn((class, dtype, len)) as usize % 2 * 2;
    let problem = ways(dtype, &shape, 1, turn_of(class))?.swap_remove(index_or_value);
    if !takes(reducer, ("rows", class, everywhere), &problem) {
        return Ok(());
    }
    let drawn = drawn((&problem, everywhere));
    let begins = match everywhere {
        true => 0..16 / size,
        // Half of them begin at a vec4, which plans may rely on.
        false => {
            let begin = drawn % 2 * (drawn / 2 % (16 / size));
            begin..begin + 1
        }
    };
    let order = problem.op().order().expect("an order");
    for begin in begins {
        let data = [
            tensor(dtype, shape, drawn + begin),
            diagonal(dtype, [count, len], true),
            worst(dtype, order, [count, len]),
        ];
        check_data(reducer, &problem, begin * size, data.into_iter())?;
    }
    Ok(())
}

/// Matrices `[len, inner]` beyond those of up to 40 rows and columns: wider, longer, and both.
const LARGE_COLUMNS: [[u64; 3]; 19] = [
    [1, 300, 1],
    [2, 300, 3],
    [2, 301, 3],
    [3, 265, 7],
    [1, 3001, 3],
    [1, 9001, 8],
    [1, 70_003, 2],
    [300, 10, 7],
    [1100, 3, 3],
    [1, 16, 64],
    [2, 37, 129],
    // A last part with fewer rows than are read at once.
    [2, 577, 129],
    [1, 900, 160],
    [7, 33, 256],
    [1, 2, 1089],
    [3, 4, 1001],
    [1, 130, 1024],
    [1, 257, 1023],
    [5, 9, 4096],
];

/// Columns of every width and length, of one matrix and of several.
pub fn columns(reducer: &Reducer) -> Result<(), Failed> {
    for class in CLASSES {
        let reducer = of_class(reducer, class);
        let turn = turn_of(class);
        let small = (1..=40).flat_map(|inner| (1..=40).map(move |len| [1 + len % 3, len, inner]));
        for shape in small.chain(LARGE_COLUMNS) {
            // A type each of the small ones.
            let few = if shape[1].max(shape[2]) <= 40 { 1 } else { 4 };
            let first = drawn((class, shape)) as usize;
            for dtype in types(turn).into_iter().cycle().skip(first % 4).take(few) {
                let index_or_value = first / 4 % 2 * 2;
                let problem = ways(dtype, &shape, 1, turn)?.swap_remove(index_or_value);
                if takes(&reducer, ("columns", class), &problem) {
                    check_all(&reducer, &[problem], shape)?;
                }
            }
        }
    }
    Ok(())
}

/// The walks that every tuning must dispatch.
const WALKS: &str = "rows columns each finish gather strided strided_gather";

/// Some rows and columns with values, both extremes and views under every tuning.
pub fn tunings(reducer: &Reducer) -> Result<(), Failed> {
    for class in CLASSES {
        let turn = turn_of(class);
        let mut walked = Walked {
            reducer: of_class(reducer, class),
            names: BTreeSet::new(),
        };
        for &shape in SHAPES {
            for dtype in types(turn) {
                let values = ways(dtype, &shape, 1, turn)?.swap_remove(1);
                walked.check(values, shape)?;
            }
        }
        walked.extremes(turn)?;
        walked.views(turn)?;
        let missing = |walk: &&str| !walked.names.contains(walk);
        let missing: Vec<_> = WALKS.split(' ').filter(missing).collect();
        if !missing.is_empty() {
            return Err(format!("{class:?}: never planned: {missing:?}").into());
        }
    }
    Ok(())
}

/// A reducer and the walks of all its cases, also of those that it does not take.
struct Walked {
    reducer: Reducer,
    names: BTreeSet<&'static str>,
}

impl Walked {
    /// Whether the adapter takes a case, see [`takes_one_of`].
    fn takes(&mut self, few: u64, problem: &Problem) -> Result<bool, Failed> {
        let plan = Plan::new(problem, self.reducer.caps())?;
        let names = plan.passes().iter().map(|pass| pass.kernel.walk.name());
        self.names.extend(names);
        let place = ("walks", &self.reducer.caps().tuning);
        Ok(takes_one_of(&self.reducer, few, place, problem, ()))
    }

    fn check(&mut self, problem: Problem, shape: [u64; 3]) -> Result<(), Failed> {
        match self.takes(1, &problem)? {
            true => check_all(&self.reducer, &[problem], shape),
            false => Ok(()),
        }
    }

    fn extremes(&mut self, turn: u64) -> Result<(), Failed> {
        let rows = [[9, 33, 1], [3, 4099, 1]];
        let columns = [[2, 67, 16], [1, 900, 40], [3, 7, 5]];
        for shape in rows.into_iter().chain(columns) {
            for dtype in types(turn) {
                let way = drawn((dtype, shape));
                self.check(extremes(dtype, &shape, 1, way)?, shape)?;
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
                    same(&sliced, &problem, &[&diagonal(dtype, [N, N], rows)], 0)?;
                }
            }
            // Segments of every kind side by side: a slice that ends late would take elements
            // of the next one.
            let shape = [kinds, N, 1];
            if let Some(problem) = index(shape)? {
                same(&sliced, &problem, &[&tensor(dtype, shape, turn)], 0)?;
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

/// Columns whose elements are all the worst possible, of one matrix and of several, which begin anywhere. An invocation
/// without elements must not win a tie.
pub fn worst_columns(reducer: &Reducer) -> Result<(), Failed> {
    let reducer = of_class(reducer, AdapterClass::Discrete);
    for dtype in [DType::U8, DType::U16, DType::U32, DType::I64] {
        let wide = 512 / dtype.size();
        for (len, inner) in [(2112, wide), (2143, wide), (4225, wide / 4 - 1), (301, 3)] {
            let shape = [2, len, inner];
            for (last, offset) in [(false, 0), (true, 0), (false, dtype.size()), (true, 8)] {
                let problem = Problem::arg_min(dtype, &shape, 1)?.select_last_index(last);
                if takes_one_of(&reducer, 1, "worst", &problem, offset) {
                    let order = problem.op().order().expect("an order");
                    // The last of three long rows.
                    let mut data = worst(dtype, order, [3, 2 * len * inner]);
                    let third = data.len() / 3;
                    let data = data.split_off(2 * third);
                    same(&reducer, &problem, &[&data], offset)?;
                }
            }
        }
    }
    Ok(())
}

/// Segments in as few slices as possible, with more elements than fit into the bits below a 16-bit element: each has its
/// winner twice, 2^16 places apart.
pub fn long_segments(reducer: &Reducer) -> Result<(), Failed> {
    let reducer = tuned(reducer, |t| t.slices = 1);
    let (len, inner) = (200_000, 8);
    for (shape, axis) in [([len, inner], 0), ([inner, len], 1)] {
        let mut data = vec![7u16; len * inner];
        for segment in 0..inner {
            for place in [10_000 * segment + 1234, 10_000 * segment + 1234 + (1 << 16)] {
                let at = match axis {
                    0 => place * inner + segment,
                    _ => segment * len + place,
                };
                data[at] = 3;
            }
        }
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        for last in [false, true] {
            let problem = Problem::arg_min(DType::U16, &shape.map(|n| n as u64), axis)?;
            let problem = problem.select_last_index(last);
            same(&reducer, &problem, &[&bytes], 0)?;
        }
    }
    Ok(())
}

/// Elements one by one wherever that is possible, rows by few and by many invocations, and in blocks.
pub fn every_way(reducer: &Reducer) -> Vec<Reducer> {
    let each = tuned(reducer, |t| {
        (t.each, t.invocations, t.short_rows) = (true, 4, 3);
    });
    let rows = |lanes| {
        tuned(reducer, move |t| {
            (t.workgroup, t.row_lanes, t.slice_bytes) = (64, lanes, 256);
        })
    };
    let narrow = tuned(reducer, |t| {
        (t.workgroup, t.invocations, t.slice_bytes) = (4, 1 << 16, 64);
    });
    let wide = tuned(reducer, |t| {
        (t.workgroup, t.row_lanes) = (256, 256);
        t.invocations = 1 << 18;
    });
    let rows = [1, 8, 64].map(rows).into_iter();
    rows.chain([each, narrow, wide]).collect()
}

pub fn forced(reducer: &Reducer) -> Result<(), Failed> {
    let turn = turn();
    for reducer in every_way(reducer) {
        for dtype in types(turn) {
            for shape in [
                // Rows shorter than a vec4.
                [5, 3, 1],
                [67, 5, 1],
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
