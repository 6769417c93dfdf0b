//! Tuning for people and for programs, field by field, whatever fields there are.
//!
//! Knows no field by its meaning.

use serde_json::{Map, Value};
use wgreduce::{Caps, Tuning};

/// Columns of the text.
const WIDTH: usize = 96;

/// `tuned as software: workgroup 256, ...`, in lines that begin with `indent`. Of drivers that do not
/// take the kernels which tuning asks for, that too.
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

pub fn json(tuning: &Tuning) -> Value {
    let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::from(text));
    let fields = fields(tuning).into_iter();
    let fields: Map<String, Value> = fields.map(|(name, text)| (name, value(text))).collect();
    Value::from(fields)
}

/// Names and values as `Debug` prints them, a line each.
fn fields(tuning: &Tuning) -> Vec<(String, String)> {
    let lines = format!("{tuning:#?}");
    let field = |line: &str| {
        let (name, value) = line.strip_prefix("    ")?.split_once(": ")?;
        Some((name.to_string(), value.trim_end_matches(',').to_string()))
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
        let short = Caps {
            long_kernels: false,
            ..caps
        };
        let text = super::text(&short, "").replace("\n ", "");
        assert!(text.ends_with(", long_kernels false"), "{text}");
    }
}
