//! Ratios to an earlier run: what `--compare` reads and says.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::report::{self, Row};
use super::saved::WRITER;
use crate::failure::Failure;
use crate::json;
use crate::print::{align_right, plain};

/// An earlier run: its rows by case, operator and type.
pub struct Earlier {
    rows: HashMap<[String; 3], Before>,
}

/// What an earlier run measured: absent where its result was wrong.
struct Before {
    shapes: Value,
    gbps: Option<f64>,
    ratio: Option<f64>,
    spreads: Option<Spreads>,
}

/// The least and the greatest bandwidth and share of the ceiling.
type Spreads = [[f64; 2]; 2];

impl Earlier {
    /// Reads what `--json` wrote.
    pub fn read(path: &Path) -> Result<Earlier, Failure> {
        let rows: Vec<Value> = json::read(path, WRITER)?;
        let mut earlier = HashMap::new();
        for (i, row) in rows.iter().enumerate() {
            let text = |name: &str| row[name].as_str().map(str::to_owned);
            let (Some(case), Some(op), Some(dtype)) = (text("case"), text("op"), text("dtype"))
            else {
                let why =
                    format!("row {i} has no case, op and dtype; name a file that {WRITER} writes");
                return Err(Failure::file(path, why));
            };
            let number = |name: &str| row[name].as_f64();
            let spreads = || {
                let gbps = |name: &str| Some(number("bytes")? / number(name)?);
                Some([
                    [gbps("most_ns")?, gbps("least_ns")?],
                    [number("least_ratio")?, number("most_ratio")?],
                ])
            };
            let before = Before {
                shapes: row["inputs"].clone(),
                gbps: number("gbps"),
                ratio: number("ratio"),
                spreads: spreads(),
            };
            earlier.insert([case, op, dtype], before);
        }
        Ok(Earlier { rows: earlier })
    }

    /// One row per case that both runs have: GB/s and shares of the ceiling then and now, the speedup, and whether it is
    /// more than noise.
    pub fn text(&self, rows: &[Row]) -> String {
        let mut table = plain([
            "case",
            "op",
            "dtype",
            "GB/s was",
            "is",
            "ratio",
            "share was",
            "is",
            "ratio",
            "so it is",
        ]);
        let mut verdicts = Vec::new();
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
            let spreads = row.gbps_spread().zip(row.ratio_spread());
            let spreads = spreads.map(|(gbps, ratio)| [gbps, ratio]);
            let verdict = match before.spreads.zip(spreads) {
                Some((was, is)) => verdict(was, is),
                None => UNKNOWN,
            };
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
                verdict.into(),
            ]);
            verdicts.push(verdict);
        }
        align_right(&mut table, 3..9);
        let mean = |logs: &[f64]| (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
        let counted = [FASTER, SLOWER, SAME, UNKNOWN].map(|verdict| {
            match verdicts.iter().filter(|&&v| v == verdict).count() {
                0 => String::new(),
                count => format!("; {count} {verdict}"),
            }
        });
        format!(
            "{}\n\ncompared: {} cases, {new} are new{}\n  \
             {:.3}x the bandwidth and {:.3}x the share of the ceiling (geometric means)\n",
            table.trim_fmt(),
            logs[0].len(),
            counted.concat(),
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

const FASTER: &str = "faster";
const SLOWER: &str = "slower";
const SAME: &str = "within noise";
/// A run has no spreads: of an older version, or its result was wrong.
const UNKNOWN: &str = "no spread";

/// What changed, if all turns say so, in bandwidth and in the share of the ceiling: whatever slows the machine down changes
/// the first alone, and whatever slows the ceiling down the second alone.
fn verdict(was: Spreads, is: Spreads) -> &'static str {
    let above = |high: Spreads, low: Spreads| {
        let mut pairs = high.into_iter().zip(low);
        pairs.all(|([least, _], [_, most])| least > most)
    };
    match (above(is, was), above(was, is)) {
        (true, _) => FASTER,
        (_, true) => SLOWER,
        _ => SAME,
    }
}

fn ratio([was, is]: [Option<f64>; 2]) -> Option<f64> {
    Some(is? / was?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_in_all_turns_of_bandwidth_and_share() {
        let was = [[10.0, 12.0], [0.5, 0.6]];
        for (is, said) in [
            ([[12.1, 13.0], [0.61, 0.7]], FASTER),
            ([[8.0, 9.9], [0.4, 0.49]], SLOWER),
            ([[11.9, 13.0], [0.61, 0.7]], SAME),
            ([[12.1, 13.0], [0.59, 0.7]], SAME),
            ([[8.0, 9.9], [0.61, 0.7]], SAME),
            (was, SAME),
        ] {
            assert_eq!(verdict(was, is), said, "{is:?}");
        }
    }
}
