//! `wgreduce tune`: looks for a tuning that is faster on this device, a field at a time.
//!
//! Searches, and decides what counts as faster. Does not know what a field means; `gpu.rs` times passes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;
use wgreduce::wgpu::{Buffer, BufferUsages, ComputePass};
use wgreduce::{BoundReduction, Caps, DType, Error, Output, Plan, Problem, Reducer};

use super::catalogue::{Case, catalogue};
use super::ceiling::Ceiling;
use super::check::{Trial, bind, difference};
use super::gpu::{BATCH, Gpu, Repeats};
use super::noise::Noise;
use super::report;
use super::walks::{Kind, median};
use super::{case_bytes, opened};
use crate::args::{Common, Tune};
use crate::device::{Device, driver};
use crate::failure::{Failure, say, write_stdout};
use crate::output::{self, Content};
use crate::print::{align_right, plain, spinner};
use crate::tuning;

/// Not searched: it keeps watchdogs quiet.
const NOT_SEARCHED: &str = "submit_bytes";
/// Larger inputs are left out, unless all are that large: their plans are those of inputs a few times smaller.
const MOST_INPUT_BYTES: u64 = 256 << 20;
/// Most inputs of the largest size.
const MOST_INPUTS: u64 = 3;
/// Minutes after which `--quick` ends the search; the last measurement comes after it.
const QUICK_MINUTES: u64 = 6;
/// One of each width: others are compared alike.
const QUICK_TYPES: [DType; 4] = [DType::U8, DType::F16, DType::F32, DType::F64];
/// Rounds over all fields, unless the last one found nothing.
const MOST_ROUNDS: usize = 4;
/// How often a number is doubled or halved until a plan changes.
const MOST_STEPS: usize = 12;
/// A smaller gain does not count, whatever the noise.
const LEAST_GAIN: f64 = 0.02;
/// No case may lose more than this.
const MOST_LOSS: f64 = 0.1;
/// A first look at a candidate, which ends early where it is that much slower.
const ENOUGH_LOOKS: usize = 6;
const LOOK: Repeats = Repeats {
    warm_up: 0,
    least: 1,
    most: 1,
    enough: Duration::ZERO,
};
const MEASURE: Repeats = Repeats {
    least: 3,
    most: 15,
    enough: Duration::from_millis(400),
    ..LOOK
};

pub fn run(args: &Tune, common: &Common) -> Result<(), Failure> {
    output::check_writable(&args.output)?;
    let device = Device::open(common)?;
    let Device::Gpu(reducer) = &device else {
        let why = format!("tune needs a GPU adapter ({})", device.line());
        return Err(Failure::Request(why));
    };
    let gpu = opened(reducer, &args.measured)?;
    let bytes = case_bytes(&gpu, reducer, &args.measured)?;
    let cases = cases(args, common, &gpu, bytes)?;
    if !common.quiet {
        say(&device.line());
    }
    let mut search = Search {
        bench: Bench::new(reducer, &gpu, bytes, cases)?,
        until: args
            .minutes
            .or(args.quick.then_some(QUICK_MINUTES))
            .map(|minutes| Instant::now() + Duration::from_secs(60 * minutes)),
        progress: spinner(common.quiet),
        quiet: common.quiet,
    };
    let before = reducer.caps().clone();
    let (mut after, mut changes) = search.search(&before)?;
    let complete = !search.is_over();
    let gains = search.gains(&before, &after)?;
    search.progress.finish_and_clear();
    // The last measurement decides.
    let holds = mean(&gains) > LEAST_GAIN;
    if !changes.is_empty() && !holds {
        if !common.quiet {
            let gain = percent(mean(&gains));
            say(&format!(
                "what was found is not kept: it gained {gain} in the last measurement"
            ));
        }
        (after, changes) = (before, Vec::new());
    }
    let bytes = file(reducer, &after, complete, &changes, &gains);
    output::write_one(&args.output, Content::Bytes(bytes.as_bytes()))?;
    write_stdout(&text(complete, &changes, &gains))
}

/// The cases that are searched over; at least one.
fn cases(args: &Tune, common: &Common, gpu: &Gpu, bytes: u64) -> Result<Vec<Subject>, Failure> {
    let most = MOST_INPUT_BYTES.max(bytes);
    let most = most.min(gpu.device.limits().max_buffer_size);
    let mut cases = Vec::new();
    for case in catalogue() {
        let case = case.with_bytes(bytes);
        let problem = case.problem().map_err(Error::from)?;
        let problem = problem.nan(common.nan);
        let inputs = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
        let fits =
            inputs.clone().all(|bytes| bytes <= most) && inputs.sum::<u64>() <= MOST_INPUTS * most;
        let asked = args.filter.as_ref();
        let named = asked.is_none_or(|text| case.to_string().contains(text));
        let quick = case.quick && QUICK_TYPES.contains(&case.dtype);
        if fits && named && (quick || !args.quick) {
            cases.push(Subject { case, problem });
        }
    }
    // Neighbours have the same data.
    cases.sort_by_key(|subject| subject.case.noise());
    match (&args.filter, cases.is_empty()) {
        (Some(text), true) => Err(Failure::Request(format!(
            "--filter {text}: no case that is tuned for has this in its name, operator and type"
        ))),
        _ => Ok(cases),
    }
}

/// A case whose result was verified.
struct Subject {
    case: Case,
    problem: Problem,
}

/// The buffers that all cases share, on the device.
struct Bench<'a> {
    reducer: &'a Reducer,
    gpu: &'a Gpu<'a>,
    /// Of a case; the ceiling's are as large.
    bytes: u64,
    subjects: Vec<Subject>,
    inputs: Vec<Buffer>,
    /// What the inputs hold.
    held: RefCell<Vec<Option<Noise>>>,
    /// Room for two results.
    outputs: [Vec<Buffer>; 2],
}

impl<'a> Bench<'a> {
    fn new(
        reducer: &'a Reducer,
        gpu: &'a Gpu<'a>,
        bytes: u64,
        subjects: Vec<Subject>,
    ) -> Result<Bench<'a>, Failure> {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        let most = |all: &mut Vec<u64>, i: usize, bytes: u64| {
            all.resize(all.len().max(i + 1), 0);
            all[i] = all[i].max(bytes);
        };
        for Subject { problem, .. } in &subjects {
            (0..problem.inputs().len()).for_each(|i| most(&mut read, i, problem.input_bytes(i)));
            let outputs = problem.outputs();
            (0..outputs.len()).for_each(|i| most(&mut written, i, outputs[i].bytes()));
        }
        let buffers = |sizes: &[u64], usage| -> Result<Vec<Buffer>, Failure> {
            let buffers = sizes.iter().map(|&bytes| gpu.buffer(bytes, usage));
            buffers.collect()
        };
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let bench = Bench {
            reducer,
            gpu,
            bytes,
            subjects,
            inputs: buffers(&read, BufferUsages::STORAGE)?,
            held: RefCell::new(vec![None; read.len()]),
            outputs: [buffers(&written, usage)?, buffers(&written, usage)?],
        };
        for Subject { case, problem } in &bench.subjects {
            bench.fill(case);
            bench.clear();
            let trial = Trial {
                gpu,
                reducer,
                case,
                problem,
                sources: &bench.inputs,
                targets: &bench.outputs[0],
            };
            if let Some(difference) = trial.check()?.wrong {
                return Err(Failure::Check(format!("{case}: {difference}")));
            }
        }
        Ok(bench)
    }

    /// Makes the data of a case.
    fn fill(&self, case: &Case) {
        let mut held = self.held.borrow_mut();
        for (i, seed) in (0..case.shapes.len()).zip(1..) {
            if held[i].replace(case.noise()) != Some(case.noise()) {
                self.gpu.fill(&self.inputs[i], seed, case.noise());
            }
        }
    }

    /// Clears what earlier runs left, lest it be taken for a result.
    fn clear(&self) {
        let mut encoder = self.gpu.encoder();
        for buffer in self.outputs.iter().flatten() {
            encoder.clear_buffer(buffer, 0, None);
        }
        self.gpu.submit(encoder);
    }

    /// A case bound with two tunings, after verifying that the results are the same.
    fn pair<'b>(
        &'b self,
        subject: &'b Subject,
        base: &Caps,
        other: &Caps,
    ) -> Result<Pair<'b>, Failure> {
        let Subject { case, problem } = subject;
        let bound = |caps: &Caps, outputs| {
            let reducer = self.reducer.with_caps(caps.clone());
            bind(&reducer, problem, &self.inputs, outputs)
        };
        let [results, others] = &self.outputs;
        let [base, other] = [bound(base, results)?, bound(other, others)?];
        self.fill(case);
        self.clear();
        self.gpu.time(1, |pass| other.record(pass))?;
        let many = self.gpu.batch(BATCH, |pass| base.record(pass))?;
        match difference(self.gpu, problem, results, others)? {
            Some(difference) => Err(Failure::Check(format!("{case}: {difference}"))),
            None => Ok(Pair {
                bench: self,
                subject,
                base,
                other,
                many,
            }),
        }
    }

    /// Whether the plans of a case differ; an error if it cannot be planned.
    fn differs(&self, subject: &Subject, base: &Caps, other: &Caps) -> Result<bool, Error> {
        let plan = |caps| Plan::new(&subject.problem, caps);
        Ok(plan(base)? != plan(other)?)
    }
}

/// A case, bound with two tunings.
struct Pair<'a> {
    bench: &'a Bench<'a>,
    subject: &'a Subject,
    base: BoundReduction,
    other: BoundReduction,
    /// How often each runs in a row.
    many: u64,
}

impl Pair<'_> {
    /// Times three in turns, in nanoseconds a round.
    fn rounds(
        &self,
        repeats: Repeats,
        three: [&dyn Fn(&mut ComputePass<'_>); 3],
    ) -> Result<Vec<[u64; 3]>, Failure> {
        let gpu = self.bench.gpu;
        self.bench.fill(&self.subject.case);
        let mut rounds = Vec::new();
        let start = Instant::now();
        while rounds.len() < repeats.least
            || rounds.len() < repeats.most && start.elapsed() < repeats.enough
        {
            let mut round = [0; 3];
            for (ns, record) in round.iter_mut().zip(three) {
                *ns = gpu.batch_ns(self.many, record)?;
            }
            rounds.push(round);
        }
        Ok(rounds)
    }

    /// What the other one gains, timed between two runs of the base or, for a second opinion, with a run of the
    /// base between two of its own.
    fn sample(&self, repeats: Repeats, turned: bool) -> Result<Sample, Failure> {
        let base = |pass: &mut ComputePass<'_>| self.base.record(pass);
        let other = |pass: &mut ComputePass<'_>| self.other.record(pass);
        Ok(match turned {
            false => Sample::of(&self.rounds(repeats, [&base, &other, &base])?),
            true => Sample::of(&self.rounds(repeats, [&other, &base, &other])?).turned(),
        })
    }
}

/// What a case gained, as a logarithm, and what two equal runs differed by.
#[derive(Clone, Copy, Debug)]
struct Sample {
    gain: f64,
    noise: f64,
}

impl Sample {
    /// Each round times one, the one that gains, and the first again. The machine's speed may differ between
    /// rounds, so only the ratio within a round counts.
    fn of(rounds: &[[u64; 3]]) -> Sample {
        let ln = |ns: u64| (ns as f64).ln();
        let gain = |&[a, other, b]: &[u64; 3]| (ln(a) + ln(b)) / 2.0 - ln(other);
        let noise = |&[a, _, b]: &[u64; 3]| (ln(a) - ln(b)).abs();
        Sample {
            gain: middle(rounds.iter().map(gain)),
            noise: middle(rounds.iter().map(noise)),
        }
    }

    /// The same of the one that was twice in each round.
    fn turned(self) -> Sample {
        Sample {
            gain: -self.gain,
            ..self
        }
    }
}

/// The median, or 0.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// What some cases gained, on average, as a logarithm; and what two equal runs differed by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    gain: f64,
    noise: f64,
    /// The least gain of a case, with what its own equal runs differed by.
    worst: f64,
}

impl Verdict {
    fn of(samples: &[Sample]) -> Verdict {
        let count = samples.len().max(1) as f64;
        let least = |least: f64, s: &Sample| least.min(s.gain + s.noise);
        Verdict {
            gain: samples.iter().map(|s| s.gain).sum::<f64>() / count,
            noise: samples.iter().map(|s| s.noise).sum::<f64>() / count,
            worst: samples.iter().fold(f64::INFINITY, least),
        }
    }

    fn is_promising(&self) -> bool {
        self.gain > 0.0
    }

    fn is_gain(&self) -> bool {
        self.gain > LEAST_GAIN.max(self.noise) && self.worst > -MOST_LOSS
    }
}

/// A field whose other value was faster.
struct Change {
    field: &'static str,
    from: u64,
    to: u64,
    verdict: Verdict,
    cases: usize,
}

/// What a case takes with the tuning that was found, beside the one before.
struct Gain {
    case: Case,
    bytes: u64,
    before_ns: u64,
    after_ns: u64,
    ceiling_gbps: f64,
    /// As a logarithm, of the rounds' ratios.
    gain: f64,
}

impl Gain {
    /// Of the ceiling.
    fn shares(&self) -> [f64; 2] {
        [self.before_ns, self.after_ns].map(|ns| self.bytes as f64 / ns as f64 / self.ceiling_gbps)
    }
}

struct Search<'a> {
    bench: Bench<'a>,
    until: Option<Instant>,
    progress: ProgressBar,
    quiet: bool,
}

impl Search<'_> {
    /// Whether the time is up.
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The best tuning that was found, and how it came about.
    fn search(&mut self, start: &Caps) -> Result<(Caps, Vec<Change>), Failure> {
        let (mut best, mut changes) = (start.clone(), Vec::new());
        for _ in 0..MOST_ROUNDS {
            let known = changes.len();
            for (i, (field, _)) in start.tuning.fields().into_iter().enumerate() {
                if field != NOT_SEARCHED {
                    self.field(i, &mut best, &mut changes)?;
                }
            }
            if changes.len() == known {
                break;
            }
        }
        Ok((best, changes))
    }

    /// Moves the field of that number as long as that is a gain.
    fn field(
        &mut self,
        i: usize,
        best: &mut Caps,
        changes: &mut Vec<Change>,
    ) -> Result<(), Failure> {
        for up in [true, false] {
            let known = changes.len();
            while !self.is_over() {
                let Some(other) = self.next(i, best, up) else {
                    break;
                };
                let [(field, from), (_, to)] = [&*best, &other].map(|c| c.tuning.fields()[i]);
                let step = format!("{field} {from} -> {to}");
                let Some((verdict, cases)) = self.verdict(&step, best, &other)? else {
                    break;
                };
                if !self.quiet {
                    let Verdict { gain, noise, .. } = verdict;
                    let [gain, noise] = [gain, noise].map(percent);
                    let line = format!("{step}: {gain} over {cases} cases (noise {noise})");
                    self.progress.suspend(|| say(&line));
                }
                changes.push(Change {
                    field,
                    from,
                    to,
                    verdict,
                    cases,
                });
                *best = other;
            }
            // The other way was just come from.
            if changes.len() > known {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The next value of a field with which some case is planned otherwise.
    fn next(&self, i: usize, best: &Caps, up: bool) -> Option<Caps> {
        let (field, mut value) = best.tuning.fields()[i];
        let mut other = best.clone();
        for _ in 0..MOST_STEPS {
            value = stepped(value, up)?;
            other.tuning.set(field, value).ok()?;
            let subjects = self.bench.subjects.iter();
            let differs = subjects.map(|subject| self.bench.differs(subject, best, &other));
            // What cannot be planned for every case is no candidate.
            let differs: Vec<bool> = differs.collect::<Result<_, _>>().ok()?;
            if differs.contains(&true) {
                return Some(other);
            }
        }
        None
    }

    /// What the cases that are planned otherwise gain, and how many they are; none where it is no gain.
    fn verdict(
        &self,
        step: &str,
        base: &Caps,
        other: &Caps,
    ) -> Result<Option<(Verdict, usize)>, Failure> {
        let (mut pairs, mut looks) = (Vec::new(), Vec::new());
        for subject in &self.bench.subjects {
            if self.bench.differs(subject, base, other)? {
                self.progress
                    .set_message(format!("{step}: {}", subject.case));
                let pair = self.bench.pair(subject, base, other)?;
                looks.push(pair.sample(LOOK, false)?);
                pairs.push(pair);
                if looks.len() >= ENOUGH_LOOKS && Verdict::of(&looks).gain < -MOST_LOSS {
                    return Ok(None);
                }
            }
        }
        let measured = |turned| -> Result<Verdict, Failure> {
            let samples = pairs.iter().map(|pair| {
                self.progress
                    .set_message(format!("{step}: {}", pair.subject.case));
                self.bench.gpu.warm(|pass| pair.base.record(pass))?;
                pair.sample(MEASURE, turned)
            });
            Ok(Verdict::of(&samples.collect::<Result<Vec<_>, Failure>>()?))
        };
        if !Verdict::of(&looks).is_promising() || !measured(false)?.is_gain() {
            return Ok(None);
        }
        // Of many candidates one may be lucky once, or by its place in the round.
        let again = measured(true)?;
        Ok(again.is_gain().then_some((again, pairs.len())))
    }

    /// What was gained, by cases that are planned otherwise now.
    fn gains(&self, before: &Caps, after: &Caps) -> Result<Vec<Gain>, Failure> {
        let mut gains = Vec::new();
        for kind in [Kind::Read, Kind::Copy] {
            let mut subjects = Vec::new();
            for subject in &self.bench.subjects {
                let compared = Kind::of(subject.case.op);
                if compared == kind && self.bench.differs(subject, before, after)? {
                    subjects.push(subject);
                }
            }
            if subjects.is_empty() {
                continue;
            }
            let ceiling = Ceiling::new(self.bench.gpu, kind, self.bench.bytes)?;
            for subject in subjects {
                self.progress
                    .set_message(format!("gained: {}", subject.case));
                let pair = self.bench.pair(subject, before, after)?;
                let base = |pass: &mut ComputePass<'_>| pair.base.record(pass);
                let other = |pass: &mut ComputePass<'_>| pair.other.record(pass);
                let beside = |pass: &mut ComputePass<'_>| ceiling.record(pass);
                self.bench.gpu.warm(beside)?;
                let rounds = pair.rounds(MEASURE, [&base, &other, &beside])?;
                let of = |i: usize| median(rounds.iter().map(|round| round[i]).collect());
                let problem = &subject.problem;
                let read = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
                let written = problem.outputs().iter().map(Output::bytes).sum::<u64>();
                let ln = |ns: u64| (ns as f64).ln();
                gains.push(Gain {
                    case: subject.case.clone(),
                    bytes: read.sum::<u64>() + written,
                    before_ns: of(0).unwrap_or(1),
                    after_ns: of(1).unwrap_or(1),
                    ceiling_gbps: ceiling.gbps(of(2).unwrap_or(1)),
                    gain: middle(rounds.iter().map(|round| ln(round[0]) - ln(round[1]))),
                });
            }
        }
        Ok(gains)
    }
}

/// Twice or half of a number; none where there is nothing to go on to.
fn stepped(n: u64, up: bool) -> Option<u64> {
    match (n, up) {
        (0, true) => Some(1),
        (n, true) => n.checked_mul(2),
        (0 | 1, false) => None,
        (n, false) => Some(n / 2),
    }
}

fn percent(gain: f64) -> String {
    format!("{:+.1} %", 100.0 * gain.exp_m1())
}

/// What the cases gained on average.
fn mean(gains: &[Gain]) -> f64 {
    gains.iter().map(|g| g.gain).sum::<f64>() / gains.len().max(1) as f64
}

/// `tuning.json`: what `--tuning` takes, and where it comes from.
fn file(
    reducer: &Reducer,
    after: &Caps,
    complete: bool,
    changes: &[Change],
    gains: &[Gain],
) -> String {
    let info = reducer.adapter_info();
    let change = |c: &Change| {
        json!({
            "field": c.field,
            "from": c.from,
            "to": c.to,
            "gain": c.verdict.gain.exp_m1(),
            "noise": c.verdict.noise.exp_m1(),
            "cases": c.cases,
        })
    };
    let gain = |g: &Gain| {
        json!({
            "case": g.case.name,
            "op": g.case.command(),
            "dtype": g.case.dtype.name(),
            "inputs": g.case.shapes,
            "axes": g.case.axes,
            "before_ns": g.before_ns,
            "after_ns": g.after_ns,
            "gain": g.gain.exp_m1(),
            "ceiling_gbps": g.ceiling_gbps,
        })
    };
    let file = json!({
        "device": info.name,
        "backend": info.backend.to_str(),
        "driver": driver(info),
        "date": jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        "complete": complete,
        "tuning": tuning::json(&after.tuning),
        "changes": changes.iter().map(change).collect::<Vec<_>>(),
        "gains": gains.iter().map(gain).collect::<Vec<_>>(),
    });
    format!("{file:#}\n")
}

/// For people.
fn text(complete: bool, changes: &[Change], gains: &[Gain]) -> String {
    let end = match complete {
        true => "",
        false => "the search ended when its time was up\n",
    };
    if changes.is_empty() {
        return format!("nothing is faster than the tuning that was there\n{end}");
    }
    let mut table = plain([
        "case",
        "op",
        "type",
        "before",
        "after",
        "share before",
        "after",
    ]);
    for gain in gains {
        let [before, after] = gain.shares().map(|share| format!("{:.0} %", 100.0 * share));
        table.add_row([
            gain.case.name.to_string(),
            gain.case.command().into(),
            gain.case.dtype.to_string(),
            report::time(gain.before_ns),
            format!("{} ({:.2}x)", report::time(gain.after_ns), gain.gain.exp()),
            before,
            after,
        ]);
    }
    align_right(&mut table, 3..7);
    let mut steps = String::new();
    for change in changes {
        steps += &format!("{} {} -> {}\n", change.field, change.from, change.to);
    }
    format!(
        "{table}\n\n{steps}{} on average over {} cases that are planned otherwise\n{end}",
        percent(mean(gains)),
        gains.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn sample(a: u64, other: u64, b: u64) -> Sample {
        Sample::of(&[[a, other, b]])
    }

    #[test]
    fn a_sample_is_of_ratios_within_rounds() {
        // Twice as fast, on a machine that is ten times slower at times.
        let sample = Sample::of(&[[200, 100, 200], [2000, 1000, 2000], [210, 100, 200]]);
        assert_relative_eq!(sample.gain, 2f64.ln(), max_relative = 0.05);
        assert_relative_eq!(sample.noise, 0.0);
        // The same gain, told by rounds of the faster one, the slower, and the faster.
        let turned = Sample::of(&[[100, 200, 100]]).turned();
        assert_relative_eq!(turned.gain, 2f64.ln(), max_relative = 1e-9);
    }

    #[test]
    fn a_gain_beats_what_two_equal_runs_differ_by() {
        let verdict = Verdict::of(&[sample(200, 100, 200), sample(100, 100, 100)]);
        assert_relative_eq!(verdict.gain, 2f64.ln() / 2.0, max_relative = 1e-9);
        assert_relative_eq!(verdict.worst, 0.0);
        assert!(verdict.is_gain());
        // A fifth faster, where equal runs are a half apart.
        assert!(!Verdict::of(&[sample(100, 100, 150)]).is_gain());
        assert!(Verdict::of(&[sample(120, 100, 121)]).is_gain());
        assert!(!Verdict::of(&[sample(1000, 1000, 1000)]).is_gain());
        assert!(!Verdict::of(&[sample(1015, 1000, 1015)]).is_gain());
    }

    #[test]
    fn no_case_pays_for_the_others() {
        let fast = sample(200, 100, 200);
        assert!(Verdict::of(&[fast, sample(100, 108, 100)]).is_gain());
        let verdict = Verdict::of(&[fast, fast, sample(100, 120, 100)]);
        assert!(verdict.is_promising() && !verdict.is_gain());
        assert!(!Verdict::of(&[sample(100, 103, 100)]).is_promising());
    }

    #[test]
    fn numbers_are_doubled_and_halved() {
        for (value, up, other) in [
            (8, true, Some(16)),
            (8, false, Some(4)),
            (1, false, None),
            (0, true, Some(1)),
            (u64::MAX, true, None),
        ] {
            assert_eq!(stepped(value, up), other, "{value}");
        }
    }
}
