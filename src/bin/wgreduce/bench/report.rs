//! What was measured, for people and for programs.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use wgreduce::wgpu::AdapterInfo;

use super::catalogue::Case;
use super::gpu::Timing;

/// Cells of the small bar.
const BAR: usize = 8;

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
        let shape = match row.case.shapes.as_slice() {
            [shape] => json!(shape),
            shapes => json!(shapes),
        };
        json!({
            "case": row.case.name,
            "op": row.case.command(),
            "dtype": row.case.dtype.name(),
            "shape": shape,
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

    fn driver(&self) -> String {
        let driver = format!("{} {}", self.info.driver, self.info.driver_info);
        driver.trim().into()
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.table().trim_fmt());
        for line in &self.ceilings {
            text += &format!("{line}\n");
        }
        for row in &self.rows {
            if let Err(difference) = &row.measured {
                text += &format!("wrong: {}: {difference}\n", row.case);
            }
        }
        for line in &self.left_out {
            text += &format!("left out: {line}\n");
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "case",
            "op",
            "dtype",
            "GPU",
            "wall",
            "GB/s",
            "of ceiling",
            "CPU",
            "verified",
        ]);
        for row in &self.rows {
            table.add_row(cells(row));
        }
        for number in [3, 4, 5, 7] {
            if let Some(column) = table.column_mut(number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }
}

fn cells(row: &Row) -> [String; 9] {
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
