//! What was measured, for people and for programs.

use comfy_table::Table;
use serde_json::{Value, json};
use wgreduce::wgpu::AdapterInfo;

use super::Part;
use super::catalogue::Case;
use super::gpu::{FULL_CLOCK, Spread, Timing};
use super::growth::{self, Fit};
use crate::device::driver;
use crate::failure::number_of;
use crate::print::{align_right, plain};

/// A row whose greatest time is more than this many times its least is marked.
const NOISY: f64 = 1.5;
/// From this size on, time must grow with size.
const LINEAR_BYTES: u64 = 4 << 20;

pub const HEADER: [&str; 10] = [
    "case",
    "op",
    "dtype",
    "GPU us",
    "alone",
    "wall",
    "GB/s",
    "spread",
    "of ceiling",
    "CPU us",
];

pub struct Report {
    pub info: AdapterInfo,
    pub rows: Vec<Row>,
    /// A line each.
    pub ceilings: Vec<String>,
    /// The best bandwidth of uploads, if a case ran from host data.
    pub staging_gbps: Option<f64>,
    /// Cases that the device has no room for, with the reason.
    pub left_out: Vec<String>,
    /// Whether it was read from a file: measured earlier, perhaps on another machine.
    pub saved: bool,
}

pub struct Row {
    pub part: Part,
    pub case: Case,
    /// A line a dispatch.
    pub plan: Vec<String>,
    /// Of inputs and outputs.
    pub bytes: u64,
    /// Nothing but the first difference where the result was wrong.
    pub measured: Result<Timing, String>,
    /// How the result was verified.
    pub how: String,
    /// The reference's time, where it computed the whole result.
    pub cpu_ns: Option<u64>,
    /// The ceiling of the case's kind, measured in turns with it; a page's row that failed has none.
    pub ceiling_gbps: Option<f64>,
    /// The clock of the processors after it, as a share of its height; none where it is not watched.
    pub clock: Option<f64>,
    /// A page in a browser does not know it.
    pub cost: Option<Cost>,
    /// From host data to host data, upload and readback included; the median.
    pub host_ns: Option<u64>,
}

/// What a call costs the CPU; medians.
#[derive(Clone, Copy)]
pub struct Cost {
    pub plan_ns: u64,
    /// Time to record a bound reduction into an encoder.
    pub encode_ns: u64,
}

impl Row {
    /// Bytes per nanosecond, which are GB/s.
    pub fn gbps(&self) -> Option<f64> {
        let timing = self.measured.as_ref().ok()?;
        Some(self.bytes as f64 / timing.ns() as f64)
    }

    /// Of the ceiling; none of one that a saved row has as nothing, for an axis would have no end.
    pub fn ratio(&self) -> Option<f64> {
        let share = self.gbps()? / self.ceiling_gbps?;
        share.is_finite().then_some(share)
    }

    /// From host data.
    pub fn host_gbps(&self) -> Option<f64> {
        Some(self.bytes as f64 / self.host_ns? as f64)
    }

    /// The least and the greatest bandwidth that was measured.
    pub fn gbps_spread(&self) -> Option<[f64; 2]> {
        let [least, most] = self.spread()?.ns;
        Some([most, least].map(|ns| self.bytes as f64 / ns as f64))
    }

    /// The least and the greatest share of the ceiling.
    pub fn ratio_spread(&self) -> Option<[f64; 2]> {
        let ratio = self.ratio()?;
        Some(self.spread()?.share.map(|share| share * ratio))
    }

    fn spread(&self) -> Option<Spread> {
        self.measured.as_ref().ok()?.spread
    }

    /// Whether its times differ too much for its figures to mean more than their order of magnitude.
    pub fn is_noisy(&self) -> bool {
        let ns = self.spread().map(|spread| spread.ns);
        ns.is_some_and(|[least, most]| most as f64 > NOISY * least as f64)
    }

    /// Whether the clock of the processors was too low for the row to count.
    pub fn is_slowed(&self) -> bool {
        self.clock.is_some_and(|share| share < FULL_CLOCK)
    }

    fn wall(&self) -> Option<(u64, u64)> {
        let timing = self.measured.as_ref().ok()?;
        Some((self.bytes, timing.wall_ns))
    }
}

impl Report {
    pub fn rows(&self, part: Part) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.part == part)
    }

    /// The line through the wall times of an operator's sizes.
    pub fn fit(&self, command: &str) -> Option<Fit> {
        let sizes = self.rows(Part::Size);
        let of = sizes.filter(|row| row.case.command() == command);
        Fit::new(&of.filter_map(Row::wall).collect::<Vec<_>>())
    }

    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        format!("{:#}\n", Value::from(rows))
    }

    fn row_json(&self, row: &Row) -> Value {
        let timing = row.measured.as_ref().ok();
        let fit = self.fit(row.case.command());
        let fit = fit.filter(|_| row.part == Part::Size);
        json!({
            "case": row.case.name,
            "op": row.case.command(),
            "dtype": row.case.dtype.name(),
            "shape": row.case.shapes[0],
            "inputs": row.case.shapes,
            "axes": row.case.axes,
            "device": self.info.name,
            "backend": self.info.backend.to_str(),
            "driver": driver(&self.info),
            "plan": row.plan,
            "bytes": row.bytes,
            "gpu_ns": timing.and_then(|t| t.gpu_ns),
            "single_gpu_ns": timing.and_then(|t| t.single_gpu_ns),
            "wall_ns": timing.map(|t| t.wall_ns),
            "gbps": row.gbps(),
            "ceiling_gbps": row.ceiling_gbps,
            "ratio": row.ratio(),
            "least_ns": row.spread().map(|spread| spread.ns[0]),
            "most_ns": row.spread().map(|spread| spread.ns[1]),
            "least_ratio": row.ratio_spread().map(|spread| spread[0]),
            "most_ratio": row.ratio_spread().map(|spread| spread[1]),
            "clock": row.clock,
            "verified": row.measured.is_ok(),
            "verified_how": row.how,
            "cpu_ns": row.cpu_ns,
            "plan_ns": row.cost.map(|cost| cost.plan_ns),
            "encode_ns": row.cost.map(|cost| cost.encode_ns),
            "call_ns": timing.and_then(|t| t.call_ns),
            "end_to_end_ns": row.host_ns,
            "staging_gbps": row.host_ns.and(self.staging_gbps),
            "fit_wall_ns": fit.map(|fit| fit.ns(row.bytes)),
        })
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let parts = [
            ("", table(self.rows(Part::Catalogue))),
            ("from host data to host data", self.host_table()),
            ("cost growth: one flat row, by wall time", self.size_table()),
            (
                "edges: time per byte beside the one below",
                self.edge_table(),
            ),
        ];
        for (title, table) in parts.into_iter().filter(|(_, table)| !table.is_empty()) {
            if !title.is_empty() {
                text += &format!("{title}\n");
            }
            text += &format!("{}\n\n", table.trim_fmt());
        }
        for note in self.notes() {
            text += &format!("{note}\n");
        }
        text
    }

    /// The ceilings; growth; how results were verified, what was wrong, slowed or left out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.ceilings.clone();
        let growth = ["argmin", "reduce-min"].map(|op| self.growth_note(op));
        notes.extend(growth.into_iter().flatten());
        notes.extend(self.cost_note());
        notes.extend(self.check_notes());
        let slowed = self.rows.iter().filter(|row| row.is_slowed()).count();
        if slowed > 0 {
            notes.push(format!(
                "slowed: {} (!), after which the clock was below {} of its height",
                number_of(slowed, "case"),
                percent(FULL_CLOCK)
            ));
        }
        let noisy = self.rows.iter().filter(|row| row.is_noisy()).count();
        if noisy > 0 {
            notes.push(format!(
                "noisy: {} (~), whose slowest turn took more than {NOISY} times the fastest",
                number_of(noisy, "case")
            ));
        }
        notes.extend(self.above_note());
        for row in &self.rows {
            if let Err(difference) = &row.measured {
                notes.push(format!("wrong: {}: {difference}", row.case));
            }
        }
        notes.extend(self.left_out.iter().map(|case| format!("left out: {case}")));
        notes
    }

    /// Why shares are above the ceiling, if some are.
    pub fn above_note(&self) -> Option<String> {
        let above = |row: &&Row| row.ratio().is_some_and(|ratio| ratio > 1.0);
        match self.rows.iter().filter(above).count() {
            0 => None,
            count => Some(format!(
                "above 100%: {}; the ceiling reads memory, and a cache is faster, or times vary",
                number_of(count, "case")
            )),
        }
    }

    /// How many results were verified in which way.
    fn check_notes(&self) -> Vec<String> {
        // A page does not tell how.
        let told = |row: &&Row| row.cpu_ns.is_some() || !row.how.is_empty();
        let right = self.rows.iter().filter(|row| row.measured.is_ok());
        let right = right.filter(told);
        let (whole, parts): (Vec<&Row>, Vec<&Row>) = right.partition(|row| row.cpu_ns.is_some());
        let ways = [
            ("by the reference", whole.len()),
            (
                "by another plan, their kernels by the reference on fewer bytes",
                parts.len(),
            ),
        ];
        let ways = ways.into_iter().filter(|(_, count)| *count > 0);
        ways.map(|(way, count)| format!("verified {way}: {}", number_of(count, "result")))
            .collect()
    }

    /// The fitted line, and the size that is farthest from it.
    fn growth_note(&self, command: &str) -> Option<String> {
        let fit = self.fit(command)?;
        let farthest = |large: bool| {
            let sizes = self.rows(Part::Size);
            let sizes = sizes.filter(|row| row.case.command() == command);
            let off = sizes.filter(|row| (row.bytes >= LINEAR_BYTES) == large);
            let off = off.filter_map(|row| Some((row, off_line(row, &fit)?)));
            let off = off.max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()))?;
            Some(format!("{:.2}x it at {}", off.1, off.0.case.name))
        };
        Some(format!(
            "growth of {command}: {} and {} GB/s\n  farthest from this line: {} below 4 MiB, {} above",
            time(fit.floor_ns.max(0.0) as u64),
            digits(1.0 / fit.ns_a_byte),
            or_dash(farthest(false)),
            or_dash(farthest(true)),
        ))
    }

    /// The CPU's part, at its median and at its worst.
    fn cost_note(&self) -> Option<String> {
        let line = |what: &str, of: &dyn Fn(&Row) -> Option<u64>| {
            let rows = self.rows.iter().filter_map(|row| Some((of(row)?, row)));
            let mut rows: Vec<(u64, &Row)> = rows.collect();
            rows.sort_by_key(|(ns, _)| *ns);
            let ((median, _), (most, worst)) = (rows.get(rows.len() / 2)?, rows.last()?);
            let [median, most] = [median, most].map(|ns| time(*ns));
            Some(format!("{what} {median} (most: {most}, {})", worst.case))
        };
        let lines = [
            line("planning", &|row| Some(row.cost?.plan_ns)),
            line("encoding", &|row| Some(row.cost?.encode_ns)),
            line("from call to submit", &|row| {
                row.measured.as_ref().ok()?.call_ns
            }),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        (!lines.is_empty()).then(|| format!("on the CPU: {}", lines.join("\n  ")))
    }

    fn host_table(&self) -> Table {
        let mut table = plain([
            "case",
            "op",
            "MB",
            "wall us",
            "GB/s",
            "of staging copy",
            "GPU us",
        ]);
        for row in self.rows.iter().filter(|row| row.host_ns.is_some()) {
            let gbps = row.host_gbps();
            let ratio = gbps.zip(self.staging_gbps).map(|(gbps, most)| gbps / most);
            table.add_row([
                row.case.name.to_string(),
                row.case.command().into(),
                digits(row.bytes as f64 / 1e6),
                or_dash(row.host_ns.map(micros)),
                or_dash(gbps.map(digits)),
                or_dash(ratio.map(percent)),
                or_dash(row.measured.as_ref().ok().map(|t| micros(t.ns()))),
            ]);
        }
        align_right(&mut table, 2..7);
        table
    }

    fn size_table(&self) -> Table {
        let mut table = plain([
            "elements",
            "op",
            "GPU us",
            "wall us",
            "fitted us",
            "wall/fitted",
            "GB/s",
        ]);
        for row in self.rows(Part::Size) {
            let timing = row.measured.as_ref().ok();
            let fit = self.fit(row.case.command());
            let off = fit.and_then(|fit| off_line(row, &fit));
            table.add_row([
                row.case.name.to_string(),
                row.case.command().into(),
                or_dash(timing.and_then(|t| t.gpu_ns).map(micros)),
                or_dash(timing.map(|t| micros(t.wall_ns))),
                or_dash(fit.map(|fit| micros(fit.ns(row.bytes).max(0.0) as u64))),
                or_dash(off.map(|off| format!("{off:.2}"))),
                or_dash(row.gbps().map(digits)),
            ]);
        }
        align_right(&mut table, 2..7);
        table
    }

    /// One line per edge and operator: the cost per byte at and above the edge, relative to below.
    fn edge_table(&self) -> Table {
        let mut table = plain(["edge", "op", "below", "GB/s", "at", "above"]);
        let rows: Vec<&Row> = self.rows(Part::Edge).collect();
        let at = |row: &Row| (growth::edge(&row.case).to_string(), row.case.command());
        for rows in rows.chunk_by(|a, b| at(a) == at(b)) {
            let step = |row: Option<&&Row>| {
                let (below, row) = (rows[0].gbps()?, row?.gbps()?);
                Some(format!("{:.2}x", below / row))
            };
            table.add_row([
                growth::edge(&rows[0].case).to_string(),
                rows[0].case.command().into(),
                format!("{:?}", rows[0].case.shapes[0]),
                or_dash(rows[0].gbps().map(digits)),
                or_dash(step(rows.get(1))),
                or_dash(step(rows.get(2))),
            ]);
        }
        align_right(&mut table, 3..6);
        table
    }
}

/// The measured time divided by the fitted time.
fn off_line(row: &Row, fit: &Fit) -> Option<f64> {
    let (bytes, ns) = row.wall()?;
    Some(ns as f64 / fit.ns(bytes))
}

fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> Table {
    let mut table = plain(HEADER);
    for row in rows {
        table.add_row(cells(row));
    }
    align_right(&mut table, 3..10);
    table
}

/// A row of the table, under [`HEADER`].
pub fn cells(row: &Row) -> [String; HEADER.len()] {
    let timing = row.measured.as_ref().ok();
    let spread = row.gbps_spread().map(|gbps| gbps.map(digits).join("-"));
    [
        row.case.name.to_string(),
        row.case.command().into(),
        row.case.dtype.to_string(),
        or_dash(timing.and_then(|t| t.gpu_ns).map(micros)),
        or_dash(timing.and_then(|t| t.single_gpu_ns).map(micros)),
        or_dash(timing.map(|t| micros(t.wall_ns))),
        or_dash(row.gbps().map(digits)),
        match timing {
            Some(_) => or_dash(spread) + if row.is_noisy() { "~" } else { "" },
            None => "WRONG".into(),
        },
        or_dash(row.ratio().map(percent)) + if row.is_slowed() { "!" } else { "" },
        or_dash(row.cpu_ns.map(micros)),
    ]
}

pub fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

pub fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

/// `1.23 ms`.
pub fn time(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        ..1e6 => (ns / 1e3, "us"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// In one unit, for tables.
fn micros(ns: u64) -> String {
    let value = ns as f64 / 1e3;
    match value {
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Three of them.
pub fn digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::catalogue;
    use wgreduce::wgpu::{Backend, DeviceType};

    /// As wide as rows get.
    fn row(case: Case) -> Row {
        Row {
            part: Part::Catalogue,
            case,
            plan: Vec::new(),
            bytes: 9_999 * 999_000_000,
            measured: Err("not yet".into()),
            how: String::new(),
            cpu_ns: Some(999_000_000),
            ceiling_gbps: Some(1100.0),
            clock: Some(0.5),
            cost: Some(Cost {
                plan_ns: 999_000,
                encode_ns: 999_000,
            }),
            host_ns: None,
        }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report {
            info: AdapterInfo::new(DeviceType::Cpu, Backend::Noop),
            rows,
            ceilings: Vec::new(),
            staging_gbps: None,
            left_out: vec!["huge: no room".into()],
            saved: false,
        }
    }

    #[test]
    fn the_table_of_the_whole_catalogue_fits_a_hundred_columns() {
        let slow = Timing {
            gpu_ns: Some(999_000_000),
            single_gpu_ns: Some(999_000_000),
            wall_ns: 999_000_000,
            call_ns: Some(999_000),
            spread: Some(Spread {
                ns: [999_000_000, 3_000_000_000],
                share: [0.5, 1.5],
            }),
        };
        let row = |(i, case)| Row {
            measured: if i == 0 { Err("x".into()) } else { Ok(slow) },
            ..row(case)
        };
        let rows: Vec<Row> = catalogue().into_iter().enumerate().map(row).collect();
        let text = table(rows.iter()).trim_fmt();
        let widths = text.lines().map(|line| line.chars().count());
        assert!(widths.max() <= Some(100), "{text}");
        let wrong = text.lines().nth(1).unwrap_or_default();
        assert!(wrong.contains(" - "), "{wrong}");
        assert!(wrong.contains(" WRONG "), "{wrong}");
        assert!(text.contains(" 3330-9999~ "), "{text}");
        assert!(text.contains(" 909%! "), "{text}");
    }

    #[test]
    fn a_wrong_result_is_said_and_not_timed() {
        let report = report(vec![Row {
            measured: Err("at [0]: expected 1, got 2".into()),
            ..row(catalogue()[0].clone())
        }]);
        let rows: Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(rows[0]["verified"], false);
        for absent in ["gpu_ns", "wall_ns", "gbps", "ratio"] {
            assert!(rows[0][absent].is_null(), "{absent}");
        }
        let text = report.text();
        assert!(text.contains("wrong: A argmin bfloat16: at [0]: expected 1, got 2"));
        assert!(text.ends_with("left out: huge: no room\n"), "{text}");
    }

    #[test]
    fn a_row_of_a_low_clock_is_marked() {
        let of = |clock| Row {
            clock,
            ..row(catalogue()[0].clone())
        };
        let rows = [of(Some(0.94)), of(Some(0.95)), of(None)];
        let marked = rows.each_ref().map(|row| cells(row)[8].ends_with('!'));
        assert_eq!(marked, [true, false, false]);
    }

    #[test]
    fn a_row_of_a_wide_spread_is_marked_and_a_share_above_the_ceiling_explained() {
        let of = |most, ceiling| Row {
            measured: Ok(Timing {
                gpu_ns: Some(110),
                single_gpu_ns: None,
                wall_ns: 200,
                call_ns: None,
                spread: Some(Spread {
                    ns: [100, most],
                    share: [0.9, 1.1],
                }),
            }),
            bytes: 1100,
            ceiling_gbps: Some(ceiling),
            ..row(catalogue()[0].clone())
        };
        let rows = vec![of(150, 10.0), of(151, 20.0), of(100, 8.0)];
        let spreads = rows.iter().map(|row| cells(row)[7].clone());
        let expected = ["7.33-11.0", "7.28-11.0~", "11.0-11.0"];
        assert_eq!(spreads.collect::<Vec<_>>(), expected);
        assert_eq!(rows[1].ratio_spread(), Some([0.45, 0.55]));
        let text = report(rows).text();
        assert!(text.contains("noisy: 1 case (~), "), "{text}");
        let why = "above 100%: 1 case; the ceiling reads memory";
        assert!(text.contains(why), "{text}");
        // What was not measured has no figure.
        assert!(!text.contains("from call to submit"), "{text}");
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!(time(950), "0.95 us");
        assert_eq!(time(12_340_000), "12.3 ms");
        assert_eq!(time(2_000_000_000), "2.00 s");
    }
}
