//! The model of memory: its loads are those of the interpreter, and the record of the catalogue is what it computes.

use super::interpret::run;
use super::memory::Memory;
use super::truth::Truth;
use std::collections::{HashMap, HashSet};
use support::cards::{CARDS, Card};
use support::catalogue::{Case, catalogue};
use support::grid::{SIZES, class, elementwise, reductions, views};
use support::{one_of, root, taken};
use wgreduce::{AdapterClass, Caps, Op, Plan, Problem};
use wgreduce_tool::memory::{Costs, Loads};

/// GPUs, and one on which an invocation takes more than one item.
fn devices() -> Vec<Caps> {
    let gpus = [AdapterClass::Integrated, AdapterClass::Discrete].map(class);
    let few = gpus[0].lowered(u64::MAX, 3);
    gpus.into_iter().chain([few]).collect()
}

#[test]
fn loads_are_those_of_the_shaders() {
    let mut told = 0;
    for dtype in SIZES {
        let problems = reductions(dtype).into_iter().chain(views(dtype));
        for problem in problems.chain(elementwise(dtype)) {
            for caps in &devices() {
                if taken(("loads", caps, &problem)) {
                    told += compare(&problem, caps);
                }
            }
        }
    }
    assert!(told > 40_000 / one_of() as usize, "{told} invocations");
}

/// Compares the loads of all invocations; returns how many invocations loaded something.
fn compare(problem: &Problem, caps: &Caps) -> usize {
    let plan = Plan::new(problem, caps).unwrap_or_else(|e| panic!("{problem}: {e}"));
    let (truth, passes) = (Truth::new(problem), plan.passes());
    let loaded = run(Memory::of(problem, caps, &plan), &truth, passes);
    let loaded = loaded.unwrap_or_else(|e| panic!("{problem}: {e}"));
    let mut told = 0;
    for (pass, loaded) in passes.iter().zip(loaded) {
        let mut own = HashMap::<u64, Vec<_>>::new();
        for (invocation, view, at) in loaded {
            own.entry(invocation.into()).or_default().push((view, at));
        }
        let loads = Loads::of(pass);
        for invocation in 0..loads.invocations() {
            let Some(expected) = loads.by(invocation) else {
                break;
            };
            let own = first_times(own.remove(&invocation).unwrap_or_default());
            let expected = first_times(expected.map(|load| (load.view, load.at)));
            let label = pass.label();
            assert_eq!(expected, own, "{problem}, {label}: {invocation}");
            told += usize::from(!own.is_empty());
        }
    }
    told
}

/// Drops repeated loads: they are cached.
fn first_times(loads: impl IntoIterator<Item = (usize, u64)>) -> Vec<(usize, u64)> {
    let mut met = HashSet::new();
    loads.into_iter().filter(|load| met.insert(*load)).collect()
}

/// The record's first lines.
const HEAD: &str = "\
# What the plans load, on paper

Written by the test `the_record_is_what_the_model_tells` (with WGREDUCE_RECORD=1), which fails where a change makes another table.
`wgreduce plan` tells the same of any shape. For each case of the catalogue but TopK's, by a type of each width, of the dispatch that reads most:

- *Lines at once*: of the 128-byte lines that one load of a subgroup of 32 (64) touches, the share that it uses.
- *Lines cached*: the same of a whole workgroup, where 16 KiB of lines stay at hand between loads.
- *In flight*: bytes that an invocation asks for before it needs the first of them. *Residents*: so many
  invocations must be at work on a unit of each card below, at least, so that its memory is never idle for 600 ns.
- *Partials*: bytes of partial results by the bytes of the inputs. *Barriers*: of an invocation, in all dispatches.

Goals: 0.95 of every line is used (cached); at most 1 % of partials; of cases from 16 MiB on no more residents are
needed than a unit has (1024), nor more invocations on all units of a card than the dispatch has.

";

/// Invocations that a unit holds of a kernel with 64 registers of 4 bytes, if the unit has 64 Ki registers.
const RESIDENTS: f64 = 1024.0;

#[test]
fn the_record_is_what_the_model_tells() {
    let mut text = String::from(HEAD);
    text += "| card | GB/s | units | bytes in flight a unit |\n|---|---|---|---|\n";
    for card in CARDS {
        let (name, bandwidth, units) = (card.name, card.bandwidth, card.units);
        let bytes = card.in_flight();
        text += &format!("| {name} | {bandwidth} | {units} | {bytes:.0} |\n");
    }
    for kind in [AdapterClass::Discrete, AdapterClass::Integrated] {
        let heading = "| case | kernel | lines at once | lines cached | in flight | invocations | residents | partials | dispatches | barriers |";
        text += &format!("\n## {kind:?}\n\n{heading}\n|{}\n", "---|".repeat(10));
        let mut missed = String::new();
        let mut cases = catalogue();
        cases.retain(|case| SIZES.contains(&case.dtype) && case.op != Op::TopK);
        for case in &cases {
            let (line, goals) = of_case(case, kind);
            let goals = goals.iter().map(|goal| format!("- {case}: {goal}\n"));
            missed.extend(goals);
            text += &line;
        }
        text += &format!("\nGoals that are missed:\n\n{missed}");
    }
    let path = root("benches/record/memory/README.md");
    if std::env::var_os("WGREDUCE_RECORD").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, &text).expect("the record is written");
    }
    let record = std::fs::read_to_string(&path).expect("a record");
    let same = record == text;
    assert!(same, "the plans load otherwise than the record tells");
}

/// The line of a case in the table, and the goals that it misses.
fn of_case(case: &Case, kind: AdapterClass) -> (String, Vec<String>) {
    let problem = case.problem().expect("a case");
    let plan = Plan::new(&problem, &class(kind)).expect("a plan");
    let costs = Costs::of(&problem, &plan).expect("a dispatch");
    let reads = plan.passes().iter().max_by_key(|pass| pass.src_bytes());
    let kernel = reads.expect("a dispatch").kernel.walk.name();
    let lines = costs.lines.expect("a walk of GPUs");
    let [at_once, cached] = [lines.map(|l| l.at_once), lines.map(|l| l.cached)];
    let resident = |card: &Card| card.in_flight() / costs.in_flight as f64;
    let most = CARDS.iter().map(resident).fold(0.0, f64::max);
    let read = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
    let large = read.sum::<u64>() >= 16 << 20;
    let has = costs.invocations as f64;
    let idle = |card: &&Card| resident(card) * card.units > has;
    let mut missed = Vec::new();
    for (name, share) in [("32", cached[0]), ("64", cached[1])] {
        if share < 0.95 {
            missed.push(format!("{share:.2} of the lines by subgroups of {name}"));
        }
    }
    if costs.partials > 0.01 {
        missed.push(format!("{:.1} % in partials", costs.partials * 100.0));
    }
    if large && most > RESIDENTS {
        missed.push(format!("{most:.0} residents"));
    }
    if let (true, Some(card)) = (large, CARDS.iter().find(idle)) {
        missed.push(format!("{has} invocations for {}", card.name));
    }
    let shares = [at_once, cached].map(|[of_32, of_64]| format!("{of_32:.2} ({of_64:.2})"));
    let (shares, in_flight) = (shares.join(" | "), costs.in_flight);
    let loads = format!("{shares} | {in_flight} | {has} | {most:.0}");
    let partials = costs.partials * 100.0;
    let steps = format!("{} | {}", costs.dispatches, costs.barriers);
    let line = format!("| {case} | {kernel} | {loads} | {partials:.2} % | {steps} |\n");
    (line, missed)
}
