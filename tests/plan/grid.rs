//! Plans run on the host, over a grid of problems and on random ones.

use super::interpret::run;
use super::memory::{Check, Memory, ensure};
use super::truth::Truth;
use super::views::{any_pair, any_view};
use super::{eager, fake};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use support::grid::{CLASSES, SIZES, class, elementwise, reductions, sums, tuned, variants};
use support::{drawn, one_of, taken, taken_of};
use wgreduce::unstable::{
    Accumulator, ElementwiseText, Pass, RowsText, Slot, StrideTable, Sum, View, Walk,
};
use wgreduce::{AdapterClass, BufferSplits, Caps, Class, DType, Plan, Problem, Tuning};

/// Devices and tunings that plans must work on, with their names.
pub fn devices() -> Vec<(String, Caps)> {
    let classes = CLASSES.map(|c| (format!("{c:?}"), class(c)));
    let few = Caps {
        storage_buffers: 4,
        ..class(AdapterClass::Integrated)
    };
    let few = ("four storage buffers".into(), few);
    let all = classes.into_iter().chain(tight_limits());
    let all = all.chain(forced_walks()).chain([few]);
    all.chain(small_submits()).chain(odd_tunings()).collect()
}

/// Limits that no device has, with a class's tuning and with one that cuts wherever it can.
fn tight_limits() -> Vec<(String, Caps)> {
    let mut all = Vec::new();
    for (binding, alignment, workgroups, wg) in [
        (64, 16, 3, 4),
        (64, 32, 3, 4),
        (80, 64, 3, 16),
        (128, 16, 2, 8),
        (272, 256, 3, 4),
        (1024, 16, 2, 4),
        (4096, 256, 3, 16),
    ] {
        let name = format!("{binding} bytes at {alignment}, {workgroups} groups of {wg}");
        let mut caps = fake(binding, alignment, workgroups, wg);
        all.push((name.clone(), caps.clone()));
        caps.tuning = eager(|t| t.workgroup = wg).tuning;
        all.push((format!("{name}, eager"), caps));
    }
    all
}

/// Elements one by one wherever that is possible, and rows by several numbers of invocations.
fn forced_walks() -> Vec<(String, Caps)> {
    let caps = class(AdapterClass::Integrated);
    let each = tuned(&caps, |t| t.each = true);
    let mut all = vec![("each forced".into(), each)];
    for lanes in [1, 8, 64] {
        let caps = eager(|t| (t.workgroup, t.row_lanes) = (64, lanes));
        all.push((format!("rows by {lanes}"), caps));
    }
    let short = Caps {
        long_kernels: false,
        ..class(AdapterClass::Software)
    };
    all.push(("no long kernels".into(), short));
    all
}

fn small_submits() -> Vec<(String, Caps)> {
    let mut all = Vec::new();
    for budget in [0, 3000, 20_000] {
        let whole = class(AdapterClass::Integrated);
        let small = tuned(&whole, |t| t.submit_bytes = budget);
        all.push((format!("submits of {budget} bytes"), small));
        let small = eager(|t| t.submit_bytes = budget);
        all.push((format!("submits of {budget} bytes, eager"), small));
    }
    all
}

fn odd_tunings() -> [(String, Caps); 3] {
    let few = eager(|t| {
        (t.workgroup, t.row_lanes, t.invocations, t.short_rows) = (16, 4, 1, 3);
    });
    let narrow = eager(|t| (t.workgroup, t.invocations) = (4, 1 << 16));
    let wide = eager(|t| {
        (t.workgroup, t.row_lanes, t.invocations) = (256, 256, 1 << 18);
    });
    [
        ("three a lane".into(), few),
        ("narrow".into(), narrow),
        ("wide".into(), wide),
    ]
}

/// Plans a problem and runs the plan at some offsets in foreign buffers, or at none.
pub fn check(problem: &Problem, caps: &Caps, steps: &[u64]) -> Check<Plan> {
    let plan = Plan::new(problem, caps).map_err(|e| format!("no plan: {e}"))?;
    if steps.is_empty() {
        return Ok(plan);
    }
    let again = Plan::new(problem, caps).map_err(|e| format!("no second plan: {e}"))?;
    if plan != again {
        return Err(format!("planned twice: {plan}; and {again}"));
    }
    // Tensors that begin anywhere in a buffer may need another plan.
    let loose = Plan::in_pieces(problem, caps, &BufferSplits::default(), false);
    let loose = loose.map_err(|e| format!("no plan for any place: {e}"))?;
    let outputs = problem.outputs();
    let largest = outputs.iter().map(|o| o.dtype.size()).max().unwrap_or(1);
    let truth = Truth::new(problem);
    for step in steps {
        let anywhere = [step * problem.dtype().size(), step * largest];
        let ways = [(&plan, [step * 16; 2]), (&loose, anywhere)];
        let chosen = match step {
            0 => &ways[..1],
            _ if plan == loose => &ways[1..],
            _ => &ways,
        };
        for &(plan, shift) in chosen {
            in_parts(plan, caps)?;
            let memory = Memory {
                shift,
                ..Memory::of(problem, caps, plan)
            };
            run(memory, &truth, plan.passes())
                .map_err(|e| format!("{shift:?} bytes in: {e}; plan {plan}"))?;
        }
    }
    Ok(plan)
}

/// Checks that the parts are all passes in order, each with as many as the budget allows.
fn in_parts(plan: &Plan, caps: &Caps) -> Check {
    let budget = caps.tuning.submit_bytes.max(1024);
    let (mut done, mut before) = (0, budget);
    for part in plan.parts() {
        let passes = &plan.passes()[part.clone()];
        let cost: u64 = passes.iter().map(Pass::cost).sum();
        ensure!(part.start == done && part.end > done, "{:?}", plan.parts());
        ensure!(cost <= budget, "{part:?} take {cost} of {budget}");
        let first = passes[0].cost();
        ensure!(done == 0 || before + first > budget, "{part:?} is cut off");
        (done, before) = (part.end, cost);
    }
    ensure!(done == plan.passes().len(), "{:?}", plan.parts());
    Ok(())
}

/// Adds the features that a plan uses, so that the grid can check what it covers.
fn features(plan: &Plan, seen: &mut BTreeSet<&'static str>) {
    for pass in plan.passes() {
        let (kernel, p) = (&pass.kernel, &pass.params);
        let name = kernel.walk.name();
        let rows = match kernel.walk {
            Walk::Rows(text) => text,
            _ => RowsText::default(),
        };
        let runs = match kernel.walk {
            Walk::Columns(text) => text.runs,
            _ => 1,
        };
        let (shared, several) = (rows.loads > 0 && rows.rows == 0, rows.rows > 0);
        let words = kernel.out.per_word() > 1;
        let (mut lanes, mut raw) = (1, false);
        let mut taken = None;
        match kernel.walk {
            Walk::Finish(text) => lanes = text.lanes,
            Walk::Each(_) | Walk::Strided => raw = matches!(kernel.acc, Accumulator::Raw(_)),
            Walk::Elementwise(t) => taken = Some(t),
            _ => {}
        }
        let zip = pass.stride_table.as_ref().map(|(zip, _)| zip);
        let outer = pass.src.map_or(0, |v| v.bytes / v.element)
            / (u64::from(p.len) * u64::from(p.pitch)).max(1);
        let columns = name == "columns";
        let sums = kernel.acc.sum().is_some();
        // Whether an invocation's vec4 lie along the last of several dimensions.
        let zipped = zip.filter(|z| z.shape.len() > 1 && taken.is_some_and(|t| t.vecs));
        let along = zipped.map(|z| z.strides[z.shape.len() - 1][7]);
        let cases = [
            (name, true),
            ("merged partials", p.merge == 1),
            ("a base", p.base > 0),
            ("a folded grid", pass.workgroups[1] > 1),
            ("temporary tensors", matches!(pass.dst.slot, Slot::Temp(_))),
            ("rows in slices", shared && p.slices > 1),
            ("rows by several", shared && rows.lanes > 1),
            ("rows by one", shared && rows.lanes == 1),
            ("rows in blocks", rows.looped),
            ("rows with edges", rows.masked),
            ("rows by words", shared && rows.words == 1),
            ("results in words of a workgroup", shared && words),
            ("several rows", several),
            ("several rows by words", several && rows.words == 1),
            ("results of several rows in words", several && words),
            ("sums in slices", sums && shared && p.slices > 1),
            ("sums by several", sums && shared && rows.lanes > 1),
            ("sums of several rows", sums && several),
            ("finished in turn", name == "finish" && p.coarsening > 1),
            ("four vec4", taken.is_some_and(|t| t.at_once() == 4)),
            ("two vec4", taken.is_some_and(|t| t.at_once() == 2)),
            ("vec4 along a row", along == Some(1)),
            ("vec4 across rows", along == Some(0)),
            ("chained inputs", taken.is_some_and(|t| t.chained)),
            ("repeated elements", taken.is_some_and(|t| t.scalars > 0)),
            ("many dimensions", zip.is_some_and(|z| z.shape.len() > 5)),
            ("columns direct", columns && !kernel.out.is_partial()),
            ("columns in slices", columns && p.slices.max(p.parts) > 1),
            ("columns in matrices", columns && outer > 1),
            ("columns in runs", runs > 1),
            ("columns in runs that meet", !p.width.is_multiple_of(runs)),
            ("finished by lanes", name == "finish" && lanes > 1),
            ("raw copies", raw),
        ];
        seen.extend(cases.iter().filter(|c| c.1).map(|c| c.0));
    }
}

const FEATURES: usize = 38;

/// Runs the two halves of the grid at the same time.
#[test]
fn every_element_reaches_its_output_once_over_the_grid() {
    let halves = std::thread::scope(|scope| {
        let halves = [&SIZES[..2], &SIZES[2..]].map(|types| scope.spawn(|| grid(types)));
        halves.map(|half| half.join().expect("no overflow"))
    });
    let [mut seen, more] = halves;
    seen.extend(more);
    assert_eq!(seen.len(), FEATURES, "{seen:?}");
}

fn grid(types: &[DType]) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::new();
    let mut failures = Vec::new();
    for (name, caps) in devices() {
        for &dtype in types {
            let mut problems = reductions(dtype);
            // Going element by element changes nothing for them.
            if !caps.tuning.each {
                problems.extend(elementwise(dtype));
            }
            for problem in problems {
                let mut steps = match problem.op().is_elementwise() {
                    true => vec![1],
                    false => vec![0, 1, 5],
                };
                // What the grid covers is shown by all plans, run or not.
                steps.retain(|step| taken(("grid", &name, &problem, step)));
                match check(&problem, &caps, &steps) {
                    Ok(plan) => features(&plan, &mut seen),
                    Err(e) => failures.push(format!("{name}: {problem}: {e}")),
                }
            }
        }
    }
    failures.truncate(8);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    seen
}

/// Sums on the same devices: no element may be taken twice.
#[test]
fn every_element_is_summed_once_over_the_grid() {
    let mut failures = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, caps) in devices() {
        for dtype in support::summed() {
            for problem in sums(dtype) {
                let case = ("sums", &name, &problem);
                if !taken_of(3.0, case) {
                    continue;
                }
                let mut steps = vec![[0, 1, 5][drawn(case) as usize % 3]];
                steps.retain(|_| taken_of(3.0 * one_of() as f64, case));
                let sum = Sum::new(problem.op(), dtype, problem.nan_policy()).expect("a sum");
                let partial = 4 * u64::from(sum.partial_words());
                let needed = partial + caps.offset_alignment;
                let least = caps.binding_bytes.min(caps.tuning.submit_bytes.max(1024));
                match check(&problem, &caps, &steps) {
                    Ok(plan) => features(&plan, &mut seen),
                    // A partial sum may be larger than a small binding or submit.
                    Err(e) if needed > least && e.contains("partial sums") => {}
                    Err(e) => failures.push(format!("{name}: {problem}: {e}")),
                }
            }
        }
    }
    failures.truncate(8);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let wanted = "rows, columns, each, strided, finish, fill, merged partials, \
        sums in slices, sums by several, sums of several rows, \
        columns direct, columns in slices, finished by lanes";
    let missing = wanted.split(", ").filter(|name| !seen.contains(name));
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The loops over a column's elements count, beside the digits.
#[test]
fn long_columns_are_summed_in_as_many_iterations_as_were_planned() {
    let caps = tuned(&class(AdapterClass::Software), |t| t.invocations = 1);
    for dtype in support::summed().filter(|t| t.class() == Class::Float) {
        let problem = Problem::reduce_sum(dtype, &[30_000, 3], &[0]).expect("a problem");
        let plan = check(&problem, &caps, &[0]).unwrap_or_else(|e| panic!("{problem}: {e}"));
        let first = &plan.passes()[0];
        let rows = match first.kernel.walk {
            Walk::Columns(_) => first.params.slice_rows * first.params.joined,
            _ => 0,
        };
        assert!(rows > 500, "{plan}");
    }
}

/// Slices of any length, and regions with fewer of them than the first.
#[test]
fn columns_are_cut_at_every_length() {
    let caps = Caps {
        binding_bytes: 8192,
        offset_alignment: 16,
        ..eager(|_| ())
    };
    let mut merged = 0;
    for dtype in SIZES {
        for inner in 2..6 {
            for bytes in (8000..8300).step_by(13).chain((15_000..17_000).step_by(97)) {
                let shape = [1, bytes / dtype.size() / inner, inner];
                let problem = Problem::arg_min(dtype, &shape, 1).expect("a problem");
                let plan = check(&problem, &caps, &[0, 1]);
                let plan = plan.unwrap_or_else(|e| panic!("{problem}: {e}"));
                let sliced = |p: &&Pass| p.params.merge == 1 && p.kernel.walk.name() == "columns";
                merged += plan.passes().iter().filter(sliced).count();
            }
        }
    }
    assert!(merged > 100, "only {merged} regions of columns");
}

/// A tuning that a caller may choose.
pub fn any_tuning() -> impl Strategy<Value = Tuning> {
    let size = || prop::sample::select(vec![0, 1, 3, 16, 64, 1000, 1 << 20, u64::MAX]);
    let power = || prop::sample::select(vec![1, 2, 4, 16, 64, 256, 1 << 31]);
    let each = || prop::sample::select(vec![false, false, false, true]);
    let sizes = prop::array::uniform5(size());
    (power(), power(), each(), sizes).prop_map(|(workgroup, row_lanes, each, s)| Tuning {
        workgroup,
        row_lanes,
        invocations: s[0],
        slice_bytes: s[1],
        slices: s[2],
        short_rows: s[3],
        submit_bytes: s[4],
        each,
    })
}

/// Limits from tiny to WebGPU's.
pub fn any_limits() -> impl Strategy<Value = Caps> {
    let alignment = prop::sample::select(vec![16u64, 32, 64, 256]);
    let binding = prop_oneof![0u64..400, Just(1 << 27)];
    let workgroups = prop_oneof![1u32..9, Just(65_535)];
    (alignment, binding, workgroups, any_tuning()).prop_map(
        |(offset_alignment, more, workgroups, tuning)| Caps {
            binding_bytes: offset_alignment + 16 + more,
            offset_alignment,
            workgroups,
            tuning,
            ..class(AdapterClass::Software)
        },
    )
}

/// One of the ways to reduce an axis, or the least over some axes: bits choose.
pub fn reduction(dtype: DType, shape: &[u64], bits: u8, axis: Index) -> Option<Problem> {
    if bits & 3 == 0 && !shape.is_empty() {
        let axis = axis.index(shape.len()) as i64;
        let mut all = variants(dtype, shape, axis).ok()?;
        all.push(Problem::extremes(dtype, shape, axis).ok()?);
        return Some(all.swap_remove(usize::from(bits >> 2) % all.len()));
    }
    let dims = 0..shape.len() as i64;
    let axes: Vec<i64> = dims.filter(|d| bits >> (2 + d) & 1 == 1).collect();
    Problem::reduce_min(dtype, shape, &axes).ok()
}

pub fn any_problem() -> impl Strategy<Value = Problem> {
    let dim = prop_oneof![4 => 1u64..9, 1 => 9u64..70, 1 => Just(1)];
    let dims = prop::collection::vec(dim, 0..5);
    let size = prop::sample::select(DType::ALL.to_vec());
    let most = |shape: &Vec<u64>| shape.iter().product::<u64>() <= 3000;
    let shape = dims.prop_filter("small", most);
    (shape, size, any::<u8>(), any::<Index>())
        .prop_filter_map("a valid problem", |(shape, dtype, bits, axis)| {
            reduction(dtype, &shape, bits, axis)
        })
}

/// Max of two to twelve inputs that broadcast, with up to eleven dimensions.
pub fn any_zip() -> impl Strategy<Value = Problem> {
    let size = prop::sample::select(vec![1u64, 2, 2, 3, 4, 5, 7, 8, 16, 33, 64]);
    let some = prop::collection::vec(size, 0..6);
    let many = prop::collection::vec(1u64..4, 6..12);
    let shape = prop_oneof![2 => some, 1 => many];
    let most = |shape: &Vec<u64>| shape.iter().product::<u64>() <= 2000;
    let dtype = prop::sample::select(DType::ALL.to_vec());
    // For each input, a mask of its dimensions and how many of the first ones it leaves out.
    let masks = prop_oneof![any::<u16>(), Just(u16::MAX)];
    let inputs = prop::collection::vec((masks, 0usize..4), 2..13);
    (shape.prop_filter("small", most), dtype, inputs).prop_map(|(shape, dtype, inputs)| {
        let input = |(mask, less): (u16, usize)| {
            let has = |d: usize| mask >> d & 1 == 1;
            let size = |(d, &s): (usize, &u64)| if has(d) { s } else { 1 };
            let dims = shape.iter().enumerate().map(size);
            dims.skip(less.saturating_sub(1)).collect::<Vec<u64>>()
        };
        let shapes: Vec<_> = inputs.into_iter().map(input).collect();
        Problem::max(dtype, &shapes).expect("shapes that broadcast")
    })
}

proptest! {
    #![proptest_config(support::property(9000))]

    #[test]
    fn every_element_reaches_its_output_once_by_chance(
        problem in prop_oneof![3 => any_problem(), 2 => any_zip(), 2 => any_view(), 2 => any_pair()],
        caps in any_limits(),
        storage_buffers in 2u32..10,
        step in 0u64..40,
    ) {
        // Two storage buffers must be enough for contiguous inputs, for copies as well.
        let caps = match problem.op().is_elementwise() && problem.layout(0).is_none() {
            true => Caps { storage_buffers, ..caps },
            false => caps,
        };
        let done = check(&problem, &caps, &[step]);
        prop_assert!(done.is_ok(), "{problem} on {caps:?}: {}", done.err().unwrap_or_default());
    }
}

#[test]
fn more_than_a_row_of_workgroups_folds() {
    let caps = class(AdapterClass::Integrated).lowered(1 << 27, 1000);
    let small = tuned(&caps, |t| t.workgroup = 4);
    let problem = Problem::arg_min(DType::F32, &[5000, 21], 1).expect("a problem");
    let plan = check(&problem, &small, &[0]).expect("a run that ends well");
    let [x, y, _] = plan.passes()[0].workgroups;
    assert!(x <= 1000 && y > 1, "{plan}");
}

/// Tests the interpreter: it must refuse plans that are slightly wrong.
#[test]
fn broken_plans_are_refused() {
    let breaks: &[(&str, Break)] = &[
        ("a shorter segment", |all| {
            let p = &mut all[0].params;
            // Columns count wide rows.
            *if p.rows > 0 { &mut p.rows } else { &mut p.len } -= 1;
        }),
        ("shorter slices", |all| {
            let p = &mut all[0].params;
            (p.slice, p.slice_rows) = (p.slice / 2, p.slice_rows / 2);
        }),
        ("a base", |all| all[0].params.base += 1),
        ("a base less", |all| all[1].params.base = 0),
        ("no merge", |all| all[1].params.merge = 0),
        ("too much merge", |all| all[0].params.merge = 1),
        ("a workgroup less", |all| {
            let last = last(all);
            last.workgroups[0] -= 1;
            last.params.grid -= 1;
        }),
        ("a shorter view", |all| shorten(source(&mut all[0]))),
        ("a view elsewhere", |all| source(&mut all[1]).offset -= 4),
        ("an iteration less", |all| all[0].iterations = 1),
        ("another order", |all| match &mut all[0].kernel.acc {
            Accumulator::Index { last, .. } => *last = true,
            other => panic!("{other:?}"),
        }),
    ];
    // Rows in slices over two bindings; columns likewise.
    for (shape, axis) in [([200, 1], 0), ([60, 3], 0)] {
        let caps = Caps {
            binding_bytes: 480,
            offset_alignment: 16,
            ..eager(|_| ())
        };
        let problem = Problem::arg_min(DType::F32, &shape, axis).expect("a problem");
        let plan = check(&problem, &caps, &[0]).expect("a run that ends well");
        refused(&problem, &caps, &plan, breaks);
    }
}

pub type Break = fn(&mut Vec<Pass>);

/// What makes any plan of several passes wrong.
const BREAKS: [(&str, Break); 4] = [
    ("a pass less", |all| all.truncate(all.len() - 1)),
    ("a pass twice", |all| all.push(all[0].clone())),
    ("passes reversed", |all| all.reverse()),
    ("an item less", |all| all[0].params.items -= 1),
];

/// Checks that the interpreter refuses a plan that is broken in these ways, or in those of [`BREAKS`].
pub fn refused(problem: &Problem, caps: &Caps, plan: &Plan, breaks: &[(&str, Break)]) {
    let truth = Truth::new(problem);
    refused_by(plan, breaks, |passes| {
        run(Memory::of(problem, caps, plan), &truth, passes).map(drop)
    });
}

/// The same for another way to run passes.
pub fn refused_by(plan: &Plan, breaks: &[(&str, Break)], run: impl Fn(&[Pass]) -> Check) {
    for (name, wrong) in BREAKS.iter().chain(breaks) {
        let mut passes = plan.passes().to_vec();
        wrong(&mut passes);
        // An overflow panics, which refuses the plan as well.
        let run = || run(&passes);
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        assert!(!matches!(ran, Ok(Ok(()))), "{name} passes: {plan}");
    }
}

pub fn last(passes: &mut [Pass]) -> &mut Pass {
    passes.last_mut().expect("passes")
}

pub fn source(pass: &mut Pass) -> &mut View {
    pass.src.as_mut().expect("a source")
}

pub fn table(passes: &mut [Pass], i: usize) -> &mut StrideTable {
    &mut passes[i].stride_table.as_mut().expect("a table").0
}

/// A view that a pass reads by its stride table.
pub fn input(pass: &mut Pass, i: usize) -> &mut View {
    &mut pass.stride_table.as_mut().expect("a table").1[i]
}

pub fn shorten(view: &mut View) {
    view.bytes -= view.element;
}

fn zipped(passes: &mut [Pass], i: usize) -> &mut ElementwiseText {
    match &mut passes[i].kernel.walk {
        Walk::Elementwise(taken) => taken,
        other => panic!("{other:?}"),
    }
}

#[test]
fn broken_elementwise_plans_are_refused() {
    let breaks: &[(&str, Break)] = &[
        ("not chained", |all| zipped(all, 1).chained = false),
        ("chained to nothing", |all| zipped(all, 0).chained = true),
        ("a dimension less", |all| all[0].params.dims -= 1),
        ("repeated elements", |all| zipped(all, 0).scalars ^= 1),
        ("an iteration too many", |all| all[0].iterations = u64::MAX),
        ("another stride", |all| table(all, 0).strides[0][0] += 1),
        ("another size", |all| table(all, 0).shape.swap(0, 1)),
        ("an input less", |all| {
            let (table, views) = all[0].stride_table.as_mut().expect("inputs");
            views.pop();
            let strides = table.strides.iter_mut();
            strides.for_each(|s| s.truncate(views.len()));
            zipped(all, 0).inputs -= 1;
        }),
        ("an input for another", |all| {
            input(&mut all[0], 0).slot = Slot::Input(2)
        }),
        ("a shorter view", |all| shorten(input(&mut all[0], 0))),
        ("a view elsewhere", |all| input(last(all), 0).offset += 4),
        ("a shorter output", |all| shorten(&mut all[0].dst)),
    ];
    // Of rows of 17 vec4 the invocations of a workgroup take five at once.
    let by_vec: &[(&str, Break)] = &[
        ("a longer dimension", |all| all[0].params.along += 1),
        ("a shorter dimension", |all| all[0].params.along -= 1),
        ("a shorter step", |all| {
            table(all, 0).strides.last_mut().expect("a step")[0] -= 1
        }),
    ];
    for (inner, more) in [(68, by_vec), (5, &[])] {
        let caps = Caps {
            storage_buffers: 3,
            iterations: Some(1 << 15),
            ..class(AdapterClass::Integrated)
        };
        let shapes = [[3, inner], [3, inner], [3, 1], [1, inner]];
        let problem = Problem::min(DType::F32, &shapes).expect("a problem");
        let plan = check(&problem, &caps, &[0]).expect("a run that ends well");
        refused(&problem, &caps, &plan, breaks);
        refused(&problem, &caps, &plan, more);
    }
}

/// A part of a region that begins within a unit is taken element by element, in as many parts as the others: more invocations.
#[test]
fn what_begins_within_a_unit_fits_a_dispatch_too() {
    let real = class(AdapterClass::Software);
    let (mut planned, mut pieces) = (0, 0);
    let bindings = |wg| (260..420).map(move |binding| (wg, binding));
    for (wg, binding_bytes) in [4, 16, 64].into_iter().flat_map(bindings) {
        let caps = Caps {
            binding_bytes,
            offset_alignment: 16,
            workgroups: 1,
            ..tuned(&real, |t| {
                (t.workgroup, t.row_lanes) = (wg, 1);
                (t.invocations, t.slice_bytes, t.short_rows) = (0, 0, 0);
            })
        };
        for shape in [[36, 9], [50, 7], [70, 3]] {
            let problem = Problem::reduce_min(DType::I8, &shape, &[0]).expect("a problem");
            let plan = check(&problem, &caps, &[0]);
            let plan = plan.unwrap_or_else(|e| panic!("{problem} on {caps:?}: {e}"));
            let names = super::walks(&plan);
            planned += 1;
            pieces += usize::from(names.contains(&"columns") && names.contains(&"each"));
        }
    }
    assert!(pieces > planned / 20, "{pieces} of {planned}");
}
