//! What the scripts in benches/peers measured, read from their JSON.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;
use crate::json;

/// What a peer reached in a case.
#[derive(Clone, Debug)]
pub struct Figure {
    pub peer: String,
    pub case: String,
    pub op: String,
    pub dtype: String,
    /// By its GPU's clock, or else the wall's.
    pub ns: u64,
    pub is_wall: bool,
    /// What a reader of its times must know.
    pub note: Option<String>,
}

/// The right results of all files, in their order. Wrong ones and refusals are left out.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for path in paths {
        read_one(path, &mut figures)?;
    }
    Ok(figures)
}

fn read_one(path: &Path, figures: &mut Vec<Figure>) -> Result<(), Failure> {
    let rows: Vec<Value> = json::read(path, "a script in benches/peers")?;
    for (i, row) in rows.iter().enumerate() {
        let text = |name: &str| {
            let no = || Failure::file(path, format!("row {i} has no {name}, as a peer's must"));
            row[name].as_str().map(str::to_owned).ok_or_else(no)
        };
        let [peer, case, op, dtype] = [text("peer")?, text("case")?, text("op")?, text("dtype")?];
        let ns = row["gpu_ns"].as_u64().or(row["wall_ns"].as_u64());
        // Nothing takes no time: an axis would have no end.
        let ns = ns.filter(|&ns| row["verified"] == true && ns > 0);
        figures.extend(ns.map(|ns| Figure {
            peer,
            case,
            op,
            dtype,
            ns,
            is_wall: row["gpu_ns"].is_null(),
            note: row["note"].as_str().map(str::to_owned),
        }));
    }
    Ok(())
}
