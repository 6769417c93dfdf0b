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
    ceiling_gbps: Option<f64>,
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
                ceiling_gbps: number("ceiling_gbps"),
                spreads: spreads(),
            };
            earlier.insert([case, op, dtype], before);
        }
        Ok(Earlier { rows: earlier })
    }

    /// One row per case that both runs have: GB/s and shares of the ceiling then and now, the speedup, and whether it is
    /// more than noise.
    pub fn text(&self, rows: &[Row]) -> String {
        let pairs: Vec<(&Before, &Row)> = rows
            .iter()
            .filter_map(|row| Some((self.before(row)?, row)))
            .collect();
        let drifts = [false, true].map(|elementwise| drift(&pairs, elementwise));
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
        for &(before, row) in &pairs {
            let bandwidth = [before.gbps, row.gbps()];
            let share = [before.ratio, row.ratio()];
            logs[0].extend(ratio(bandwidth).map(f64::ln));
            logs[1].extend(ratio(share).map(f64::ln));
            let drift = drifts[usize::from(row.case.op.is_elementwise())];
            // Either run may be off by it.
            let least = drift * drift;
            let spreads = before.spreads.zip(spreads(row));
            let verdict = match (spreads, ratio(bandwidth), ratio(share)) {
                (Some((was, is)), Some(bandwidth), Some(share)) => {
                    verdict([was, is], [bandwidth, share], least)
                }
                _ => UNKNOWN,
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
        let drift = drifts[0].max(drifts[1]);
        let drift = match verdicts.iter().all(|&verdict| verdict == UNKNOWN) {
            true => String::new(),
            false => format!(
                "  the ceilings varied by {drift:.2}x: changes below {:.2}x, or that some turns contradict, are noise\n",
                drift * drift
            ),
        };
        format!(
            "{}\n\ncompared: {} cases, {} are new{}\n  \
             {:.3}x the bandwidth and {:.3}x the share of the ceiling (geometric means)\n{drift}",
            table.trim_fmt(),
            logs[0].len(),
            rows.len() - pairs.len(),
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

fn spreads(row: &Row) -> Option<Spreads> {
    Some([row.gbps_spread()?, row.ratio_spread()?])
}

/// How many times the least the greatest ceiling of both runs is, of those that are read or copied: what differs with the
/// time of the day, not with the kernels.
fn drift(pairs: &[(&Before, &Row)], elementwise: bool) -> f64 {
    let of_kind = pairs
        .iter()
        .filter(|(_, row)| row.case.op.is_elementwise() == elementwise);
    let ceilings = of_kind.flat_map(|(before, row)| {
        let both = [before.ceiling_gbps, row.ceiling_gbps];
        both.into_iter().flatten()
    });
    let [least, most] = ceilings.fold([f64::MAX, 0.0], |[least, most], gbps| {
        [gbps.min(least), gbps.max(most)]
    });
    (most / least).max(1.0)
}

/// What changed, if all turns say so, in bandwidth and in the share of the ceiling, and the medians by at least so much: what
/// slows the machine down changes the first alone, and what slows the ceiling down the second alone.
fn verdict([was, is]: [Spreads; 2], ratios: [f64; 2], least: f64) -> &'static str {
    let above = |high: Spreads, low: Spreads| high.iter().zip(low).all(|(h, l)| h[0] > l[1]);
    match () {
        () if above(is, was) && ratios.iter().all(|ratio| *ratio > least) => FASTER,
        () if above(was, is) && ratios.iter().all(|ratio| ratio * least < 1.0) => SLOWER,
        () => SAME,
    }
}

fn ratio([was, is]: [Option<f64>; 2]) -> Option<f64> {
    Some(is? / was?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_in_all_turns_of_bandwidth_and_share_and_large_enough() {
        let was = [[10.0, 12.0], [0.5, 0.6]];
        for (is, ratios, least, said) in [
            ([[12.1, 13.0], [0.61, 0.7]], [1.2, 1.2], 1.1, FASTER),
            ([[12.1, 13.0], [0.61, 0.7]], [1.2, 1.2], 1.3, SAME),
            ([[12.1, 13.0], [0.61, 0.7]], [1.4, 1.2], 1.3, SAME),
            ([[11.9, 13.0], [0.61, 0.7]], [1.2, 1.2], 1.1, SAME),
            ([[12.1, 13.0], [0.59, 0.7]], [1.2, 1.2], 1.1, SAME),
            ([[8.0, 9.9], [0.4, 0.49]], [0.8, 0.8], 1.1, SLOWER),
            ([[8.0, 9.9], [0.4, 0.49]], [0.8, 0.8], 1.3, SAME),
            ([[8.0, 9.9], [0.61, 0.7]], [0.8, 1.2], 1.1, SAME),
            (was, [1.0, 1.0], 1.0, SAME),
        ] {
            assert_eq!(verdict([was, is], ratios, least), said, "{is:?} {least}");
        }
    }
}
