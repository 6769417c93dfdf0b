//! Measures cases: verifies each and times it in turns with the device's ceiling; between cases, measures
//! the kernels that may be the ceiling. Knows nothing of how results are shown.

use std::hint::black_box;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use wgreduce::wgpu::ComputePass;
use wgreduce::{BoundReduction, DType, Error, Op, Output, Plan, Problem, Reducer};

use super::catalogue::Case;
use super::ceiling::Ceiling;
use super::check::{Data, Trial, bind};
use super::gpu::{self, Gpu, Repeats};
use super::report::{Cost, Report, Row};
use super::staging::Staging;
use super::walks::{Kind, median};
use super::{Asked, Part};
use crate::args::{Bench, Common};
use crate::failure::Failure;
use crate::print::{TICK, bar};

/// Cases between two rounds of all kernels that may be the ceiling.
const CASES_A_ROUND: usize = 4;
const FULL: Repeats = Repeats {
    warm_up: 1,
    least: 5,
    most: 15,
    enough: Duration::from_millis(500),
};
const QUICK: Repeats = Repeats {
    most: 7,
    enough: Duration::from_millis(250),
    ..FULL
};
/// Repeats of measurements on the CPU alone, which take microseconds each.
const CPU_REPEATS: usize = 25;

/// Measures cases beside the ceilings over data of this size.
pub fn measure(
    reducer: &Reducer,
    gpu: &Gpu,
    bytes: u64,
    asked: &[Asked],
    args: &Bench,
    common: &Common,
) -> Result<Report, Failure> {
    let form = "{bar:40} {pos}/{len} {msg} {left}";
    let progress = bar(asked.len() as u64, form, common.quiet);
    progress.enable_steady_tick(TICK);
    let bench = Measuring {
        reducer,
        gpu,
        repeats: if args.quick { QUICK } else { FULL },
        common,
        progress,
    };
    let mut staging = Staging::default();
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    let mut lines = Vec::new();
    for asked in asked.chunk_by(|a, b| Kind::of(a.case.op) == Kind::of(b.case.op)) {
        let kind = Kind::of(asked[0].case.op);
        let mut ceiling = Ceiling::new(gpu, kind, bytes)?;
        let wide = match kind {
            Kind::Read => gpu::with_wide_integers(reducer),
            _ => None,
        };
        let wide = wide.as_ref().map(|reducer| Gpu::new(reducer, false));
        let wide = wide.transpose()?;
        let beside = |gpu| Ceiling::new(gpu, Kind::WideRead, bytes);
        let mut beside = wide.as_ref().map(beside).transpose()?;
        for asked in asked.chunks(CASES_A_ROUND) {
            let begin = rows.len();
            bench.round(asked, &ceiling, &mut rows, &mut left_out)?;
            ceiling.measure()?;
            if let Some(ceiling) = &mut beside {
                ceiling.measure()?;
            }
            if rows[begin..].iter().any(|row| row.host_ns.is_some()) {
                staging.measure(gpu)?;
            }
        }
        lines.push(ceiling.line());
        lines.extend(beside.map(|ceiling| ceiling.line()));
    }
    lines.extend(staging.line());
    bench.progress.finish_and_clear();
    match (rows.is_empty(), left_out.first()) {
        (true, Some(why)) => Err(Failure::Request(why.clone())),
        _ => Ok(Report {
            info: reducer.adapter_info().clone(),
            rows,
            ceilings: lines,
            staging_gbps: staging.gbps(),
            left_out,
            saved: false,
        }),
    }
}

/// What all cases are measured with.
struct Measuring<'a> {
    reducer: &'a Reducer,
    gpu: &'a Gpu<'a>,
    repeats: Repeats,
    common: &'a Common,
    progress: ProgressBar,
}

impl Measuring<'_> {
    /// Measures a few cases. Cases that exceed the device's limits are left out.
    fn round(
        &self,
        asked: &[Asked],
        ceiling: &Ceiling,
        rows: &mut Vec<Row>,
        left_out: &mut Vec<String>,
    ) -> Result<(), Failure> {
        for asked in asked {
            self.progress.set_message(asked.case.to_string());
            match self.row(asked, ceiling) {
                Ok(row) => rows.push(row),
                Err(Failure::Request(why)) => left_out.push(format!("{}: {why}", asked.case)),
                Err(failure) => return Err(failure),
            }
            self.progress.inc(1);
        }
        Ok(())
    }

    /// Verifies a case and, if it is right, times it in turns with the ceiling.
    fn row(&self, asked: &Asked, ceiling: &Ceiling) -> Result<Row, Failure> {
        let (gpu, case) = (self.gpu, &asked.case);
        let problem = case.problem().map_err(Error::from)?;
        let problem = problem.nan(self.common.nan);
        let data = Data::new(gpu, case, &problem)?;
        let (sources, targets) = (&data.sources, &data.targets);
        let trial = Trial {
            gpu,
            reducer: self.reducer,
            case,
            problem: &problem,
            sources,
            targets,
        };
        let checked = trial.check()?;
        let bound = bind(self.reducer, &problem, sources, targets)?;
        let beside = |pass: &mut ComputePass<'_>| ceiling.record(pass);
        let (measured, beside_ns) = match checked.wrong {
            Some(difference) => (Err(difference), gpu.batch_ns(1, beside)?),
            None => {
                gpu.warm(beside)?;
                let case = |pass: &mut ComputePass<'_>| bound.record(pass);
                let (timing, beside_ns) = gpu.measure(self.repeats, case, beside)?;
                (Ok(timing), beside_ns)
            }
        };
        let clock = gpu.clock()?;
        let cost = self.cost(&problem, &bound);
        drop((bound, data));
        let sizes = (0..problem.inputs().len()).map(|i| problem.input_bytes(i));
        let read: u64 = sizes.sum();
        // Only a few cases run from host data: its speed does not depend on the type or the operator.
        let is_plain = case.dtype == DType::F32 && matches!(case.op, Op::ArgMin | Op::Min);
        // Data that is too large for the reference is not moved either.
        let is_moved = asked.part == Part::Catalogue && is_plain && checked.cpu_ns.is_some();
        let host_ns = is_moved.then(|| self.host_ns(case, &problem));
        let host_ns = host_ns.transpose()?;
        Ok(Row {
            part: asked.part,
            case: case.clone(),
            plan: labels(&Plan::new(&problem, self.reducer.caps())?),
            bytes: read + problem.outputs().iter().map(Output::bytes).sum::<u64>(),
            measured,
            how: checked.how,
            cpu_ns: checked.cpu_ns,
            ceiling_gbps: Some(ceiling.gbps(beside_ns)),
            clock,
            cost: Some(cost),
            host_ns,
        })
    }

    /// What a call costs the CPU, apart from waiting.
    fn cost(&self, problem: &Problem, bound: &BoundReduction) -> Cost {
        let plan = || {
            let start = Instant::now();
            // The same plan was made before, so it cannot fail.
            let _ = black_box(Plan::new(problem, self.reducer.caps()));
            start.elapsed().as_nanos() as u64
        };
        let encode = || {
            let mut encoder = self.gpu.encoder();
            let start = Instant::now();
            bound.encode(&mut encoder);
            start.elapsed().as_nanos() as u64
        };
        let repeated = |once: &dyn Fn() -> u64| {
            let times = (0..CPU_REPEATS).map(|_| once()).collect();
            median(times).unwrap_or(0)
        };
        Cost {
            plan_ns: repeated(&plan),
            encode_ns: repeated(&encode),
        }
    }

    /// Runs from host data to host data.
    fn host_ns(&self, case: &Case, problem: &Problem) -> Result<u64, Failure> {
        let reduction = self.reducer.prepare_blocking(problem)?;
        let inputs = case.inputs();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let mut times = Vec::new();
        // The first run makes the buffers.
        for _ in 0..=self.repeats.least {
            let start = Instant::now();
            black_box(reduction.run_bytes_blocking(&inputs)?);
            times.push(start.elapsed().as_nanos() as u64);
        }
        Ok(median(times.split_off(1)).unwrap_or(0).max(1))
    }
}

/// The kernel and grid of each dispatch.
fn labels(plan: &Plan) -> Vec<String> {
    let label = |pass: &wgreduce::unstable::Pass| {
        let [x, y, _] = pass.workgroups;
        format!("{} on {x}x{y}", pass.label())
    };
    plan.passes().iter().map(label).collect()
}
