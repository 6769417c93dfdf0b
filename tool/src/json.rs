//! JSON files that the tool reads.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// What a file holds. `writer` is what writes such files, for the error.
pub fn read<T: DeserializeOwned>(path: &Path, writer: &str) -> Result<T, Failure> {
    let text =
        fs::read(path).map_err(|e| Failure::file(path, format_args!("cannot be read: {e}")))?;
    serde_json::from_slice(&text).map_err(|e| {
        let why = match e.is_data() {
            true => "no list at its top".to_owned(),
            false => format!("no JSON at line {}, column {}", e.line(), e.column()),
        };
        Failure::file(
            path,
            format_args!("{why}; name a file that {writer} writes"),
        )
    })
}
