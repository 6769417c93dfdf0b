//! Tensors as text, the way NumPy prints them; times, tables, and what bars say.
//!
//! Knows an element's type and bytes, not where they come from.

use std::fmt;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use half::{bf16, f16};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use wgreduce::{DType, Output};

/// Tensors of more elements are elided, as NumPy's `threshold`.
const THRESHOLD: u64 = 1000;
/// Elements kept at either end of an elided dimension, as NumPy's `edgeitems`.
const EDGE: u64 = 3;
/// Where rows are broken, as NumPy's `linewidth`.
const LINE: usize = 75;
const GAP: &str = "...";
/// How often what moves without progress moves.
pub const TICK: Duration = Duration::from_millis(200);

/// A table without lines.
pub fn plain<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table
}

pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for number in columns {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A bar on a terminal, nothing elsewhere. Where its form has `{left}`, it says how long it will take.
pub fn bar(len: u64, form: &str, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(len).with_style(style.with_key("left", left))
}

/// A line that changes on a terminal, nothing elsewhere.
pub fn spinner(quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(TICK);
    spinner
}

fn left(state: &ProgressState, into: &mut dyn fmt::Write) {
    // Writing to a line does not fail.
    let _ = into.write_str(&left_after(state.pos(), state.eta()));
}

/// Nothing is known before something is done.
fn left_after(done: u64, left: Duration) -> String {
    match done {
        0 => String::new(),
        _ => format!("(about {:#} left)", HumanDuration(left)),
    }
}

pub fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// The tensor in nested brackets, closed by a newline.
pub fn render(tensor: &Output, data: &[u8]) -> String {
    if tensor.shape.contains(&0) {
        return match tensor.shape.len() {
            1 => "[]\n".into(),
            _ => format!("[] shape={:?}\n", tensor.shape),
        };
    }
    let elided = tensor.shape.iter().product::<u64>() > THRESHOLD;
    let mut shown = Shown {
        dtype: tensor.dtype,
        data,
        edge: if elided { EDGE } else { THRESHOLD },
        budget: THRESHOLD,
    };
    let tree = shown.node(&tensor.shape, 0);
    let mut text = String::new();
    write(&tree, tensor.shape.len(), 0, tree.width(), &mut text);
    text.push('\n');
    text
}

enum Node {
    Element(String),
    Gap,
    List(Vec<Node>),
}

struct Shown<'a> {
    dtype: DType,
    data: &'a [u8],
    edge: u64,
    /// Elements that may still be shown: many short dimensions would make a long text.
    budget: u64,
}

impl Shown<'_> {
    /// The part of `shape` that starts at element `at`.
    fn node(&mut self, shape: &[u64], at: u64) -> Node {
        let Some((&size, inner)) = shape.split_first() else {
            self.budget = self.budget.saturating_sub(1);
            let bytes = self.dtype.size() as usize;
            let at = at as usize * bytes;
            return Node::Element(element(self.dtype, &self.data[at..at + bytes]));
        };
        let stride: u64 = inner.iter().product();
        let mut nodes = Vec::new();
        let mut i = 0;
        while i < size {
            if self.budget == 0 {
                nodes.push(Node::Gap);
                break;
            }
            if size > 2 * self.edge && i == self.edge {
                nodes.push(Node::Gap);
                i = size - self.edge;
            }
            nodes.push(self.node(inner, at + i * stride));
            i += 1;
        }
        Node::List(nodes)
    }
}

impl Node {
    /// Characters of the longest element.
    fn width(&self) -> usize {
        match self {
            Node::Element(text) => text.len(),
            Node::Gap => 0,
            Node::List(nodes) => nodes.iter().map(Node::width).max().unwrap_or(0),
        }
    }
}

fn write(node: &Node, rank: usize, indent: usize, width: usize, text: &mut String) {
    match node {
        Node::Element(element) => text.push_str(&format!("{element:>width$}")),
        Node::Gap => text.push_str(GAP),
        Node::List(nodes) => {
            text.push('[');
            match rank {
                1 => write_row(nodes, indent + 1, width, text),
                _ => write_rows(nodes, rank, indent + 1, width, text),
            }
            text.push(']');
        }
    }
}

/// Lists one below the other, with a blank line per dimension below the rows.
fn write_rows(nodes: &[Node], rank: usize, indent: usize, width: usize, text: &mut String) {
    for (i, node) in nodes.iter().enumerate() {
        if i > 0 {
            text.push_str(&"\n".repeat(rank - 1));
            text.push_str(&" ".repeat(indent));
        }
        write(node, rank - 1, indent, width, text);
    }
}

/// Elements side by side, in as many lines as they take.
fn write_row(nodes: &[Node], indent: usize, width: usize, text: &mut String) {
    let mut column = indent;
    for (i, node) in nodes.iter().enumerate() {
        let wide = match node {
            Node::Gap => GAP.len(),
            _ => width,
        };
        if i > 0 && column + 1 + wide > LINE {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        write(node, 0, indent, width, text);
        column += wide;
    }
}

/// An element: floats by the fewest digits that read back as the same value.
fn element(dtype: DType, bytes: &[u8]) -> String {
    macro_rules! number {
        ($t:ty) => {
            <$t>::from_le_bytes(bytes.try_into().unwrap_or_default())
        };
    }
    let text = match dtype {
        DType::BF16 => shortest(number!(bf16).to_f32(), |f| bf16::from_f32(f).to_f32()),
        DType::F16 => shortest(number!(f16).to_f32(), |f| f16::from_f32(f).to_f32()),
        DType::F32 => format!("{:?}", number!(f32)),
        DType::F64 => format!("{:?}", number!(f64)),
        DType::I8 => number!(i8).to_string(),
        DType::I16 => number!(i16).to_string(),
        DType::I32 => number!(i32).to_string(),
        DType::I64 => number!(i64).to_string(),
        DType::U8 => number!(u8).to_string(),
        DType::U16 => number!(u16).to_string(),
        DType::U32 => number!(u32).to_string(),
        DType::U64 => number!(u64).to_string(),
        _ if bytes.iter().any(|&b| b != 0) => "True".into(),
        _ => "False".into(),
    };
    // As NumPy writes it.
    text.replace("NaN", "nan")
}

/// The fewest digits that the narrow type behind `narrow` reads back as `value`.
fn shortest(value: f32, narrow: impl Fn(f32) -> f32) -> String {
    let rounded = |digits: usize| format!("{value:.digits$e}").parse().ok();
    let found = (0..9).filter_map(rounded).find(|&f| narrow(f) == value);
    format!("{:?}", found.unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgreduce::Element;

    fn print<T: Element>(shape: &[u64], elements: &[T]) -> String {
        render(&Output::new(T::DTYPE, shape), T::bytes(elements))
    }

    #[test]
    fn a_bar_makes_no_guess_before_something_is_done() {
        assert_eq!(left_after(0, Duration::ZERO), "");
        let left = left_after(1, Duration::from_secs(25));
        assert_eq!(left, "(about 25s left)");
    }

    #[test]
    fn prints_as_numpy_does() {
        assert_eq!(print(&[], &[7i64]), "7\n");
        assert_eq!(print(&[3], &[1i8, -20, 3]), "[  1 -20   3]\n");
        assert_eq!(print(&[2, 2], &[1u8, 2, 3, 4]), "[[1 2]\n [3 4]]\n");
        assert_eq!(print(&[2, 1, 1], &[1u8, 2]), "[[[1]]\n\n [[2]]]\n");
        assert_eq!(print(&[2], &[true, false]), "[ True False]\n");
    }

    #[test]
    fn empty_tensors_show_their_shape() {
        assert_eq!(print::<f32>(&[0], &[]), "[]\n");
        assert_eq!(print::<f32>(&[2, 0], &[]), "[] shape=[2, 0]\n");
    }

    #[test]
    fn floats_have_the_fewest_digits_that_read_back() {
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.1];
        assert_eq!(print(&[5], &special), "[ nan  inf -inf -0.0  0.1]\n");
        assert_eq!(print(&[1], &[f16::from_f32(0.1)]), "[0.1]\n");
        assert_eq!(print(&[1], &[f16::MAX]), "[65500.0]\n");
        assert_eq!(print(&[1], &[bf16::from_f32(3.0e38)]), "[3e38]\n");
        let least = print(&[], &[f64::MIN_POSITIVE]);
        assert_eq!(least, "2.2250738585072014e-308\n");
    }

    #[test]
    fn every_finite_half_reads_back_from_its_text() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            if value.is_finite() {
                let text = element(DType::F16, &bits.to_le_bytes());
                let back = f16::from_f32(text.parse().unwrap());
                assert_eq!(back.to_bits(), bits, "{text}");
            }
        }
    }

    #[test]
    fn large_tensors_are_elided_in_every_long_dimension() {
        let row: Vec<u16> = (0..1001).collect();
        let text = print(&[1001], &row);
        assert_eq!(text, "[   0    1    2 ...  998  999 1000]\n");
        let text = print(&[500, 3], &vec![1u8; 1500]);
        assert_eq!(text.lines().count(), 7);
        assert!(text.starts_with("[[1 1 1]\n [1 1 1]\n [1 1 1]\n ...\n"));
    }

    #[test]
    fn many_short_dimensions_do_not_make_a_long_text() {
        let text = print(&[2; 16], &vec![1u8; 1 << 16]);
        assert!(text.matches('1').count() <= 1000, "{}", text.len());
        assert_eq!(text.matches('[').count(), text.matches(']').count());
    }

    #[test]
    fn long_rows_are_broken() {
        let text = print(&[2, 100], &(0..200).collect::<Vec<i32>>());
        assert!(text.lines().all(|line| line.len() <= LINE + 2));
        assert!(text.lines().nth(1).unwrap().starts_with("   1"), "{text}");
    }
}
