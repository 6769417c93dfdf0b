//! What was measured, for people and for programs.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use wgreduce::wgpu::AdapterInfo;

use super::catalogue::Case;
use super::gpu::Timing;

/// Cells of the small bar.
const BAR: usize = 8;

pub const HEADER: [&str; 9] = [
    "case",
    "op",
    "dtype",
    "GPU",
    "wall",
    "GB/s",
    "of ceiling",
    "CPU",
    "verified",
];

pub struct Report {
    pub info: AdapterInfo,
    pub rows: Vec<Row>,
    /// A line each.
    pub ceilings: Vec<String>,
    /// Cases that the device has no room for, with the reason.
    pub left_out: Vec<String>,
}

pub struct Row {
    pub case: Case,
    /// A line a dispatch.
    pub plan: Vec<String>,
    /// Of inputs and outputs.
    pub bytes: u64,
    /// Nothing but the first difference where the result was wrong.
    pub measured: Result<Timing, String>,
    /// The reference's time.
    pub cpu_ns: u64,
    /// Of the kind and the time of the case.
    pub ceiling_gbps: f64,
}

impl Row {
    /// Bytes a nanosecond, which are GB/s.
    pub fn gbps(&self) -> Option<f64> {
        let timing = self.measured.as_ref().ok()?;
        Some(self.bytes as f64 / timing.ns() as f64)
    }

    /// Of the ceiling.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.gbps()? / self.ceiling_gbps)
    }
}

impl Report {
    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_json(row)).collect();
        format!("{:#}\n", Value::from(rows))
    }

    fn row_json(&self, row: &Row) -> Value {
        let timing = row.measured.as_ref().ok();
        json!({
            "case": row.case.name,
            "op": row.case.command(),
            "dtype": row.case.dtype.name(),
            "shape": row.case.shapes[0],
            "inputs": row.case.shapes,
            "axes": row.case.axes,
            "device": self.info.name,
            "backend": self.info.backend.to_str(),
            "driver": self.driver(),
            "plan": row.plan,
            "bytes": row.bytes,
            "gpu_ns": timing.and_then(|t| t.gpu_ns),
            "wall_ns": timing.map(|t| t.wall_ns),
            "gbps": row.gbps(),
            "ceiling_gbps": row.ceiling_gbps,
            "ratio": row.ratio(),
            "verified": row.measured.is_ok(),
            "cpu_ns": row.cpu_ns,
        })
    }

    pub fn driver(&self) -> String {
        let driver = format!("{} {}", self.info.driver, self.info.driver_info);
        driver.trim().into()
    }

    pub fn text(&self) -> String {
        let notes: String = self
            .notes()
            .iter()
            .map(|note| format!("{note}\n"))
            .collect();
        format!("{}\n\n{notes}", table(&self.rows).trim_fmt())
    }

    /// The ceilings; what was wrong, and what was left out.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.ceilings.clone();
        for row in &self.rows {
            if let Err(difference) = &row.measured {
                notes.push(format!("wrong: {}: {difference}", row.case));
            }
        }
        notes.extend(self.left_out.iter().map(|case| format!("left out: {case}")));
        notes
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEADER);
    for row in rows {
        table.add_row(cells(row));
    }
    for number in [3, 4, 5, 7] {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A row of the table, under [`HEADER`].
pub fn cells(row: &Row) -> [String; 9] {
    let timing = row.measured.as_ref().ok();
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    [
        row.case.name.into(),
        row.case.command().into(),
        row.case.dtype.to_string(),
        or_dash(timing.and_then(|t| t.gpu_ns).map(time)),
        or_dash(timing.map(|t| time(t.wall_ns))),
        or_dash(row.gbps().map(digits)),
        or_dash(row.ratio().map(share)),
        time(row.cpu_ns),
        if timing.is_some() { "yes" } else { "NO" }.into(),
    ]
}

/// `1.23 ms`.
fn time(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        ..1e6 => (ns / 1e3, "us"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Three of them.
fn digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A bar of the share, and the share.
fn share(ratio: f64) -> String {
    let full = (ratio * BAR as f64).round().clamp(0.0, BAR as f64) as usize;
    let bar = "#".repeat(full) + &".".repeat(BAR - full);
    format!("{bar} {:>3.0}%", 100.0 * ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::catalogue;
    use wgreduce::wgpu::{Backend, DeviceType};

    #[test]
    fn the_table_of_the_whole_catalogue_fits_a_hundred_columns() {
        let slow = Timing {
            gpu_ns: Some(999_000_000),
            wall_ns: 999_000_000,
        };
        let row = |(i, case)| Row {
            case,
            plan: Vec::new(),
            bytes: 9_999 * 999_000_000,
            measured: if i == 0 { Err("x".into()) } else { Ok(slow) },
            cpu_ns: 999_000,
            ceiling_gbps: 1100.0,
        };
        let table = table(
            &catalogue()
                .into_iter()
                .enumerate()
                .map(row)
                .collect::<Vec<_>>(),
        );
        let text = table.trim_fmt();
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        let wrong = text.lines().nth(1).unwrap_or_default();
        assert!(wrong.contains(" - ") && wrong.ends_with("NO"), "{wrong}");
        assert!(text.contains("######## 909%"), "{text}");
    }

    #[test]
    fn a_wrong_result_is_said_and_not_timed() {
        let report = Report {
            info: AdapterInfo::new(DeviceType::Cpu, Backend::Noop),
            rows: vec![Row {
                case: catalogue()[0].clone(),
                plan: Vec::new(),
                bytes: 1,
                measured: Err("at [0]: expected 1, got 2".into()),
                cpu_ns: 1,
                ceiling_gbps: 1.0,
            }],
            ceilings: Vec::new(),
            left_out: vec!["huge: no room".into()],
        };
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
    fn times_have_three_digits_and_a_unit() {
        assert_eq!(time(950), "0.95 us");
        assert_eq!(time(12_340_000), "12.3 ms");
        assert_eq!(time(2_000_000_000), "2.00 s");
    }
}
