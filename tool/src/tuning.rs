//! Tuning as text and as JSON, field by field. Does not know what a field means.

use serde_json::Value;
use wgreduce::{Caps, Tuning};

use crate::args::Common;
use crate::failure::Failure;
use crate::json;

/// What writes the files that `--tuning` reads.
const WRITER: &str = "`wgreduce tune -o FILE`";
/// Columns of the text.
const WIDTH: usize = 96;

/// `tuned as software: workgroup 256, ...`, in lines that begin with `indent`. Also says if the driver cannot take
/// long kernels.
pub fn text(caps: &Caps, indent: &str) -> String {
    let mut text = format!("{indent}tuned as {:?}:", caps.class).to_lowercase();
    let mut column = text.len();
    let fields = caps.tuning.fields().into_iter();
    let mut fields: Vec<_> = fields.map(|(name, n)| (name, n.to_string())).collect();
    if !caps.long_kernels {
        fields.push(("long_kernels", "false".into()));
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

/// Caps with the tuning of the `--tuning` file, if one was named.
pub fn from_file(common: &Common, caps: &Caps) -> Result<Caps, Failure> {
    let Some(path) = &common.tuning else {
        return Ok(caps.clone());
    };
    let refused = |why: String| Failure::file(path, why);
    let file: Value = json::read(path, WRITER)?;
    let Some(fields) = file.get("tuning").and_then(Value::as_object) else {
        let why = format!("no object \"tuning\" in it; name a file that {WRITER} writes");
        return Err(refused(why));
    };
    let mut tuning = caps.tuning.clone();
    for (name, value) in fields {
        set(&mut tuning, name, &value.to_string()).map_err(refused)?;
    }
    Ok(caps.tuned(tuning))
}

/// Caps with some fields of the tuning, as `NAME=VALUE`.
pub fn with_set(caps: &Caps, texts: &[String]) -> Result<Caps, Failure> {
    let mut tuning = caps.tuning.clone();
    for text in texts {
        let parts = text.split_once('=').ok_or("a field is set as NAME=VALUE");
        parts
            .map_err(String::from)
            .and_then(|(name, value)| set(&mut tuning, name, value))
            .map_err(|why| Failure::Request(format!("--set {text}: {why}")))?;
    }
    Ok(caps.tuned(tuning))
}

/// Sets a field to a number, written out.
fn set(tuning: &mut Tuning, name: &str, value: &str) -> Result<(), String> {
    let number = value.parse().ok();
    // A wrong name is told before a wrong number.
    let set = tuning.set(name, number.unwrap_or(0));
    set.map_err(|e| e.to_string())?;
    match number {
        None => Err(format!(
            "{name} is {value}, which is no whole number below 2^64"
        )),
        Some(_) => tuning.check().map_err(|e| e.to_string()),
    }
}

/// An object of the fields by name.
pub fn json(tuning: &Tuning) -> Value {
    tuning.fields().into_iter().collect()
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
        assert_eq!(json.as_object().map(|fields| fields.len()), Some(7));
        let text = text(&caps, "  ");
        assert!(text.starts_with("  tuned as integrated: workgroup 256, "));
        assert!(text.lines().all(|line| line.len() <= WIDTH + 2), "{text}");
        for (name, _) in caps.tuning.fields() {
            assert!(text.contains(&format!(" {name} ")), "{name}");
        }
        assert!(!text.contains("long_kernels"));
        let set = ["row_lanes=64", "slices=7"].map(String::from);
        let other = with_set(&caps, &set).expect("fields of the tuning").tuning;
        let right = Tuning {
            row_lanes: 64,
            slices: 7,
            ..caps.tuning.clone()
        };
        assert_eq!(other, right);
        let refused = "
            --set row_lanes: a field is set as NAME=VALUE
            --set lanes=1: no field of the tuning is called \"lanes\"; there are: workgroup, row_lanes,
            --set slices=many: slices is many, which is no whole number below 2^64
            --set slices=-1: slices is -1, which is no whole number below 2^64
            --set workgroup=24: the tuning's workgroup is 24, which is no power of two
            --set row_lanes=0: the tuning's row_lanes is 0, which is no power of two
            --set each=true: no field of the tuning is called \"each\"; there are:
        ";
        for told in refused.trim().lines().map(str::trim) {
            let wrong = told.split([' ', ':']).nth(1).expect("a field");
            let error = with_set(&caps, &[wrong.into()]).expect_err(wrong);
            assert!(error.to_string().starts_with(told), "{error}");
        }
        let short = Caps {
            long_kernels: false,
            ..caps
        };
        let text = super::text(&short, "").replace("\n ", "");
        assert!(text.ends_with(", long_kernels false"), "{text}");
    }
}
