//! The directives in the shaders' text: they repeat or leave out lines, by numbers that are known when a
//! kernel is made.
//!
//! `//# for x in A..B`, `//# if E`, `//# else` and `//# end` stand on lines of their own and
//! nest; `{E}` anywhere else becomes a number. E is an expression over integers: names, literals,
//! parentheses and Rust's operators `+ - * / % >> & == != < <= > >=`. A `{` that no letter,
//! digit or parenthesis follows is WGSL's own. Mistakes panic: the shaders are a part of the crate, and
//! tests expand every one.

/// The names that directives may use, the innermost last.
pub(super) type Names<'a> = Vec<(&'a str, i64)>;

/// The text with every directive carried out.
pub(super) fn expand<'a>(text: &'a str, mut names: Names<'a>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(2 * text.len());
    block(&lines, &mut names, &mut out);
    out
}

/// What a directive says; `None` for a line of WGSL.
fn directive(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//#").map(str::trim)
}

fn block<'a>(lines: &[&'a str], names: &mut Names<'a>, out: &mut String) {
    let mut at = 0;
    while at < lines.len() {
        let Some(told) = directive(lines[at]) else {
            line(lines[at], names, out);
            at += 1;
            continue;
        };
        let end = at + closing(&lines[at..], "end");
        let body = &lines[at + 1..end];
        if let Some(condition) = told.strip_prefix("if ") {
            let other = closing(&lines[at..end], "else");
            let (yes, no) = body.split_at(body.len().min(other.saturating_sub(1)));
            match value(condition, names) != 0 {
                true => block(yes, names, out),
                false => block(no.get(1..).unwrap_or(&[]), names, out),
            }
        } else if let Some(range) = told.strip_prefix("for ") {
            let (name, range) = range.split_once(" in ").expect("for x in");
            let (first, last) = range.split_once("..").expect("a range");
            let (first, last) = (value(first, names), value(last, names));
            for x in first..last {
                names.push((name, x));
                block(body, names, out);
                names.pop();
            }
        } else {
            panic!("no directive: {told}");
        }
        at = end + 1;
    }
}

/// The line of the `end` or `else` that belongs to the directive on the first line, or behind the last.
fn closing(lines: &[&str], wanted: &str) -> usize {
    let mut depth = 0;
    for (i, words) in lines.iter().enumerate() {
        match directive(words) {
            Some(words) if depth == 1 && words == wanted => return i,
            Some("end") => depth -= 1,
            Some("else") | None => {}
            Some(_) => depth += 1,
        }
    }
    assert!(wanted == "else", "no end: {}", lines[0]);
    lines.len()
}

/// A line of WGSL with its numbers put in.
fn line(text: &str, names: &Names<'_>, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let ours = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(');
        match after.split_once('}').filter(|_| ours) {
            Some((expression, after)) => {
                out.push_str(&value(expression, names).to_string());
                rest = after;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.push('\n');
}

fn value(text: &str, names: &Names<'_>) -> i64 {
    let mut rest = text;
    let value = expression(&mut rest, names, 0);
    assert!(rest.trim().is_empty(), "{rest:?} behind {text:?}");
    value
}

/// A binary operator: how strongly it binds, and what it does.
type Operator = (&'static str, u8, fn(i64, i64) -> i64);

/// Those that begin with another come before it.
const OPERATORS: [Operator; 13] = [
    ("==", 1, |a, b| (a == b).into()),
    ("!=", 1, |a, b| (a != b).into()),
    ("<=", 1, |a, b| (a <= b).into()),
    (">=", 1, |a, b| (a >= b).into()),
    (">>", 3, |a, b| a >> b),
    ("<", 1, |a, b| (a < b).into()),
    (">", 1, |a, b| (a > b).into()),
    ("&", 2, |a, b| a & b),
    ("+", 4, |a, b| a + b),
    ("-", 4, |a, b| a - b),
    ("*", 5, |a, b| a * b),
    ("/", 5, |a, b| a / b),
    ("%", 5, |a, b| a % b),
];

fn expression(rest: &mut &str, names: &Names<'_>, least: u8) -> i64 {
    let mut a = operand(rest, names);
    loop {
        *rest = rest.trim_start();
        let next = OPERATORS.iter().find(|next| rest.starts_with(next.0));
        let Some(&(sign, strength, apply)) = next.filter(|next| next.1 > least) else {
            return a;
        };
        *rest = &rest[sign.len()..];
        a = apply(a, expression(rest, names, strength));
    }
}

fn operand(rest: &mut &str, names: &Names<'_>) -> i64 {
    *rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('(') {
        *rest = inside;
        let value = expression(rest, names, 0);
        let after = rest.trim_start().strip_prefix(')');
        *rest = after.unwrap_or_else(|| panic!("no ) before {rest:?}"));
        return value;
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    if let Ok(number) = word.parse() {
        return number;
    }
    let known = names.iter().rev().find(|(name, _)| *name == word);
    known.unwrap_or_else(|| panic!("{word:?} has no value")).1
}

#[cfg(test)]
mod tests {
    use super::expand;

    fn expanded(text: &str) -> String {
        expand(text, vec![("N", 3), ("ON", 1)]).replace('\n', ";")
    }

    #[test]
    fn loops_repeat_their_lines_and_may_nest() {
        let text = "//# for i in 0..N\na{i}\n  //# for j in i..N\nb{i}{j}\n  //# end\n//# end\nc";
        assert_eq!(expanded(text), "a0;b00;b01;b02;a1;b11;b12;a2;b22;c;");
        assert_eq!(expanded("//# for i in N..N\na\n//# end\n"), "");
    }

    #[test]
    fn conditions_take_one_side_or_the_other() {
        let text = "//# if N > 2\nyes\n//# else\nno\n//# end\n//# if N == ON\nyes\n//# end\nend";
        assert_eq!(expanded(text), "yes;end;");
        let inner = "//# if ON == 0\n//# if N\na\n//# else\nb\n//# end\n//# else\nc\n//# end";
        assert_eq!(expanded(inner), "c;");
    }

    #[test]
    fn numbers_follow_the_order_of_operations() {
        let text = "{1 + 2 * N} {(1 + 2) * N} {N - 1 - 1} {13 >> ON & 1} {7 / 2 % 2}";
        assert_eq!(expanded(text), "7 9 1 0 1;");
        assert_eq!(expanded("{N != 3}{N <= 3}{N >= 4}{2 < N}"), "0101;");
    }

    #[test]
    fn braces_of_wgsl_are_left_alone() {
        assert_eq!(expanded("fn f() { } {"), "fn f() { } {;");
        assert_eq!(expanded("if x {"), "if x {;");
    }
}
