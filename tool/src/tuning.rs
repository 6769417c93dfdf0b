//! Tuning as text and as JSON, field by field. Does not know what a field means.

use serde_json::{Map, Value};
use wgreduce::{Caps, Tuning};

use crate::args::Common;
use crate::failure::Failure;

/// Columns of the text.
const WIDTH: usize = 96;

/// `tuned as software: workgroup 256, ...`, in lines that begin with `indent`. Also says if the driver cannot take
/// long kernels.
pub fn text(caps: &Caps, indent: &str) -> String {
    let mut text = format!("{indent}tuned as {:?}:", caps.class).to_lowercase();
    let mut column = text.len();
    let mut fields = fields(&caps.tuning);
    if !caps.long_kernels {
        fields.push(("long_kernels".into(), "false".into()));
    }
    for (i, (name, value)) in fields.iter().enumerate() {
        let end = if i + 1 < fields.len() { "," } else { "" };
        let field = format!(" {name} {value}{end}");
        if column + field.len() > WIDTH {
            text += &format!("\n{indent} ");
            column = indent.len() + 1;
        }
        column += field.len();
        text += &field;
    }
    text
}

/// What a `--tuning` file or `--set` gives: fields of the tuning by name.
type Changes = Map<String, Value>;

/// Caps with the tuning of the `--tuning` file, if one was named.
pub fn from_file(common: &Common, caps: &Caps) -> Result<Caps, Failure> {
    let Some(path) = &common.tuning else {
        return Ok(caps.clone());
    };
    let refused = |why: String| Failure::file(path, why);
    let text = std::fs::read_to_string(path).map_err(|e| refused(e.to_string()))?;
    let file: Value = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
    let Some(changes) = file.get("tuning").and_then(Value::as_object) else {
        let why = r#"no tuning: an object "tuning" of fields by name is wanted"#;
        return Err(refused(why.into()));
    };
    let tuning = changed(&caps.tuning, changes.clone()).map_err(refused)?;
    Ok(caps.tuned(tuning))
}

/// Caps with some fields of the tuning, as `NAME=VALUE`.
pub fn with_set(caps: &Caps, set: &[String]) -> Result<Caps, Failure> {
    let mut changes = Changes::new();
    for text in set {
        let refused = |why| Failure::Request(format!("--set {text}: {why}"));
        let Some((name, value)) = text.split_once('=') else {
            return Err(refused("a field is set as NAME=VALUE".to_string()));
        };
        // What is no JSON is refused as a string.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        changes.insert(name.into(), value);
        changed(&caps.tuning, changes.clone()).map_err(refused)?;
    }
    let tuning = changed(&caps.tuning, changes).map_err(Failure::Request)?;
    Ok(caps.tuned(tuning))
}

/// A tuning with another value of a field.
pub fn with(tuning: &Tuning, field: &str, value: Value) -> Result<Tuning, String> {
    changed(tuning, Changes::from_iter([(field.into(), value)]))
}

/// The names of the fields, in the order of their definition.
pub fn names(tuning: &Tuning) -> Vec<String> {
    fields(tuning).into_iter().map(|(name, _)| name).collect()
}

fn changed(tuning: &Tuning, changes: Changes) -> Result<Tuning, String> {
    let mut fields = serde_json::to_value(tuning).map_err(|e| e.to_string())?;
    let names: Vec<String> = fields
        .as_object()
        .into_iter()
        .flatten()
        .map(|(n, _)| n.clone())
        .collect();
    for (name, value) in changes {
        if !names.contains(&name) {
            return Err(format!(
                "no field of the tuning is {name}; there are: {}",
                names.join(", ")
            ));
        }
        let was = std::mem::replace(&mut fields[&name], value);
        if let Err(e) = serde_json::from_value::<Tuning>(fields.clone()) {
            return Err(format!("{name} of {}: {e}; it was {was}", fields[&name]));
        }
    }
    let tuning: Tuning = serde_json::from_value(fields).map_err(|e| e.to_string())?;
    tuning.check().map_err(|e| e.to_string())?;
    Ok(tuning)
}

pub fn json(tuning: &Tuning) -> Value {
    serde_json::to_value(tuning).unwrap_or_default()
}

/// Names and values, in the order that `Debug` has them.
fn fields(tuning: &Tuning) -> Vec<(String, String)> {
    let (lines, json) = (format!("{tuning:#?}"), json(tuning));
    let field = |line: &str| {
        let (name, _) = line.strip_prefix("    ")?.split_once(": ")?;
        let value = match json.get(name)? {
            Value::Null => "none".into(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        Some((name.to_string(), value))
    };
    lines.lines().filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_named_with_its_value() {
        let caps = Caps::webgpu_default();
        let json = json(&caps.tuning);
        assert_eq!(json["workgroup"], caps.tuning.workgroup);
        assert_eq!(json["slice_bytes"], caps.tuning.slice_bytes);
        let text = text(&caps, "  ");
        assert!(text.starts_with("  tuned as integrated: workgroup 256, "));
        assert!(text.lines().all(|line| line.len() <= WIDTH + 2), "{text}");
        for (name, _) in fields(&caps.tuning) {
            assert!(text.contains(&format!(" {name} ")), "{name}");
        }
        assert!(!text.contains("long_kernels"));
        let set = ["row_lanes=64", "each=true"].map(String::from);
        let other = with_set(&caps, &set).expect("fields of the tuning").tuning;
        let right = Tuning {
            row_lanes: 64,
            each: true,
            ..caps.tuning.clone()
        };
        assert_eq!(other, right);
        for (wrong, why) in [
            ("row_lanes", "--set row_lanes: a field is set as NAME=VALUE"),
            (
                "lanes=1",
                "--set lanes=1: no field of the tuning is lanes; there are: each, ",
            ),
            (
                "slices=many",
                "--set slices=many: slices of \"many\": invalid type: string \"many\", expected u64",
            ),
            (
                "slices=-1",
                "--set slices=-1: slices of -1: invalid value: integer `-1`, expected u64",
            ),
            (
                "workgroup=24",
                "--set workgroup=24: the tuning's workgroup is 24, which is no power of two",
            ),
            (
                "row_lanes=0",
                "--set row_lanes=0: the tuning's row_lanes is 0, which is no power of two",
            ),
            (
                "each=rows",
                "--set each=rows: each of \"rows\": invalid type: string \"rows\", expected a boolean",
            ),
        ] {
            let error = with_set(&caps, &[wrong.into()])
                .expect_err(wrong)
                .to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let short = Caps {
            long_kernels: false,
            ..caps
        };
        let text = super::text(&short, "").replace("\n ", "");
        assert!(text.ends_with(", long_kernels false"), "{text}");
    }
}
