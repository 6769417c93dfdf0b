//! Ratios to an earlier run: what `--compare` reads and says.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use comfy_table::{Table, presets};
use serde_json::Value;

use super::report::{self, Row};
use crate::failure::Failure;

/// An earlier run: its rows by case, operator and type.
pub struct Earlier {
    rows: HashMap<[String; 3], Before>,
}

/// What an earlier run measured: absent where its result was wrong.
struct Before {
    shapes: Value,
    gbps: Option<f64>,
    ratio: Option<f64>,
}

impl Earlier {
    /// Reads what `--json` wrote.
    pub fn read(path: &Path) -> Result<Earlier, Failure> {
        let text =
            fs::read(path).map_err(|e| Failure::file(path, format_args!("cannot be read: {e}")))?;
        let rows: Vec<Value> = serde_json::from_slice(&text)
            .map_err(|e| Failure::file(path, format_args!("is no list of bench --json: {e}")))?;
        let mut earlier = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            let text = |name: &str| row[name].as_str().map(str::to_owned);
            let (Some(case), Some(op), Some(dtype)) = (text("case"), text("op"), text("dtype"))
            else {
                let why = format!("row {i} has no case, op and dtype as bench --json writes");
                return Err(Failure::file(path, why));
            };
            let before = Before {
                shapes: row["inputs"].clone(),
                gbps: row["gbps"].as_f64(),
                ratio: row["ratio"].as_f64(),
            };
            earlier.insert([case, op, dtype], before);
        }
        Ok(Earlier { rows: earlier })
    }

    /// One row per case that both runs have: GB/s and shares of the ceiling then and now, and the speedup.
    pub fn text(&self, rows: &[Row]) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header([
            "case",
            "op",
            "dtype",
            "GB/s was",
            "is",
            "ratio",
            "share was",
            "is",
            "ratio",
        ]);
        let mut logs = [Vec::new(), Vec::new()];
        let mut new = 0;
        for row in rows {
            let Some(before) = self.before(row) else {
                new += 1;
                continue;
            };
            let bandwidth = [before.gbps, row.gbps()];
            let share = [before.ratio, row.ratio()];
            logs[0].extend(ratio(bandwidth).map(f64::ln));
            logs[1].extend(ratio(share).map(f64::ln));
            let times = |pair| report::or_dash(ratio(pair).map(|r| format!("{r:.2}x")));
            let [was, is] = bandwidth.map(|gbps| report::or_dash(gbps.map(report::digits)));
            let [share_was, share_is] =
                share.map(|share| report::or_dash(share.map(report::percent)));
            table.add_row([
                row.case.name.to_string(),
                row.case.command().into(),
                row.case.dtype.to_string(),
                was,
                is,
                times(bandwidth),
                share_was,
                share_is,
                times(share),
            ]);
        }
        report::align_right(&mut table, 3..9);
        let mean = |logs: &[f64]| (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
        format!(
            "{}\n\ncompared: {} cases, {new} are new\n  \
             {:.3}x the bandwidth and {:.3}x the share of the ceiling (geometric means)\n",
            table.trim_fmt(),
            logs[0].len(),
            mean(&logs[0]),
            mean(&logs[1]),
        )
    }

    /// The same case of the same shapes.
    fn before(&self, row: &Row) -> Option<&Before> {
        let case = &row.case;
        let key = [
            case.name.to_string(),
            case.command().into(),
            case.dtype.name().into(),
        ];
        let before = self.rows.get(&key)?;
        (before.shapes == serde_json::json!(case.shapes)).then_some(before)
    }
}

fn ratio([was, is]: [Option<f64>; 2]) -> Option<f64> {
    Some(is? / was?)
}
