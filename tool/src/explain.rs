//! Draws a plan, so that a reader sees how a reduction works: which buffer is read by which pass,
//! and how each kind of kernel walks it. Knows what plans show of themselves, nothing else.

use std::fmt::Write;

use wgreduce::unstable::{Accumulator, ColumnsText, EachText, Pass, RowsText, Slot, Walk};
use wgreduce::{Plan, Problem};

use crate::failure::number_of;

/// Stages that are drawn.
const SHOWN: usize = 12;

/// Neighbouring passes that do the same to different parts.
struct Stage<'a> {
    first: usize,
    passes: &'a [Pass],
}

/// The drawing, and a paragraph a walk.
pub fn explain(problem: &Problem, plan: &Plan) -> String {
    let stages = stages(plan);
    let mut text = format!("{}\n\nwho reads what\n", segments(problem));
    let mut last = Vec::new();
    for stage in stages.iter().take(SHOWN) {
        let read = read(&stage.passes[0]);
        // What the stage above has written needs no second line.
        if read != last {
            let _ = writeln!(text, "  {}", names(&read));
        }
        stage.draw(&mut text);
        last = written(&stage.passes[0]);
        let _ = writeln!(text, "  {}", names(&last));
    }
    if stages.len() > SHOWN {
        let _ = writeln!(text, "  ... and {} stages more", stages.len() - SHOWN);
    }
    text += "\nhow they walk\n";
    let mut told = Vec::new();
    for pass in stages.iter().map(|stage| &stage.passes[0]) {
        let walk = walk(pass);
        if !told.contains(&walk) {
            text += &walk;
            told.push(walk);
        }
    }
    text.trim_end().into()
}

/// What is reduced, in words.
fn segments(problem: &Problem) -> String {
    if problem.op().is_elementwise() {
        return "Every output element is chosen among the inputs' elements at its place; an input \
                of size 1\nthere lends its one element to all places."
            .into();
    }
    let dims = problem.dims();
    let product = |reduced: bool| -> u64 {
        let sizes = dims.iter().filter(|d| d.reduced == reduced);
        sizes.fold(1, |all: u64, d| all.saturating_mul(d.size))
    };
    let (segments, len) = (product(false), product(true));
    let reduced: Vec<usize> = (0..dims.len()).filter(|&d| dims[d].reduced).collect();
    let lie = match reduced[..] {
        [] => "a segment each",
        [at] if at + 1 == dims.len() => "neighbours in memory",
        [_] => "apart in memory, their neighbours belonging to other segments",
        [.., last] => {
            let runs = match last + 1 == dims.len() {
                true => format!("in runs of {} in memory", dims[last].size),
                false => "scattered in memory".into(),
            };
            &format!("{runs}, because dimensions that are kept lie between those that are reduced")
        }
    };
    let done = match problem.op().is_sum() {
        true => "all of which are summed".to_owned(),
        false => match problem.k() {
            Some(k) => format!("of which {k} are chosen, in order"),
            None => "of which one is chosen".to_owned(),
        },
    };
    let text = format!(
        "Segments: {segments}, of {len} elements each, {done}. The elements of one are {lie}."
    );
    folded(&text, "")
}

fn stages(plan: &Plan) -> Vec<Stage<'_>> {
    let alike = |a: &Pass, b: &Pass| {
        a.kernel.walk.name() == b.kernel.walk.name()
            && written(a) == written(b)
            && read(a) == read(b)
    };
    let (mut stages, mut first) = (Vec::new(), 0);
    for passes in plan.passes().chunk_by(alike) {
        stages.push(Stage { first, passes });
        first += passes.len();
    }
    stages
}

/// The buffers a pass reads.
fn read(pass: &Pass) -> Vec<Slot> {
    let strided = pass.stride_table.iter().flat_map(|(_, views)| views);
    let views = pass.indices.iter().chain(&pass.src).chain(strided);
    views.map(|view| view.slot).collect()
}

/// The buffers a pass writes.
fn written(pass: &Pass) -> Vec<Slot> {
    let beside = pass.beside.iter().map(|view| view.slot);
    std::iter::once(pass.dst.slot).chain(beside).collect()
}

fn names(slots: &[Slot]) -> String {
    let name = |slot: &Slot| match slot {
        Slot::Input(i) => format!("[input {i}]"),
        Slot::Output(i) => format!("[output {i}]"),
        Slot::Partials => "[partials: a partial result for each part of a segment]".into(),
        Slot::Temp(i) => format!("[scratch {i}]"),
    };
    slots.iter().map(name).collect::<Vec<_>>().join(" ")
}

impl Stage<'_> {
    fn draw(&self, text: &mut String) {
        let count = self.passes.len();
        let passes = match count {
            1 => format!("pass {}", self.first),
            _ => format!("passes {} to {}", self.first, self.first + count - 1),
        };
        let kernel = &self.passes[0].kernel;
        let sum = |of: &dyn Fn(&Pass) -> u64| -> u64 { self.passes.iter().map(of).sum() };
        let groups = sum(&|pass| pass.workgroups.iter().map(|&n| u64::from(n)).product());
        let most = self.passes.iter().map(|pass| pass.iterations).max();
        let _ = write!(
            text,
            "    |  {passes}: {}, {} of {}\n    |  \
             reads {} bytes, writes {}, at most {} an invocation\n    v\n",
            kernel.walk.name(),
            number_of(groups as usize, "workgroup"),
            number_of(kernel.workgroup as usize, "invocation"),
            sum(&Pass::src_bytes),
            sum(&Pass::dst_bytes),
            number_of(most.unwrap_or(0) as usize, "iteration"),
        );
    }
}

/// Columns of a line.
const WIDTH: usize = 96;

/// A text in lines, all but the first of which begin with `indent`.
fn folded(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut column = indent.len();
    for word in text.split(' ') {
        if column + word.len() > WIDTH {
            lines.truncate(lines.trim_end().len());
            lines += &format!("\n{indent}");
            column = indent.len();
        }
        lines += &format!("{word} ");
        column += word.len() + 1;
    }
    lines.trim_end().into()
}

/// How a pass walks memory, in words and drawn: memory from left to right, and which invocation reads what.
fn walk(pass: &Pass) -> String {
    let name = pass.kernel.walk.name();
    let both = match pass.kernel.acc.is_both() && pass.kernel.beside.is_none() {
        true => " Each part leaves two partials: of the least and of the greatest.",
        false => "",
    };
    let told = folded(&format!("  {name}: {}{both}", told(pass)), "        ");
    let lines = match pass.kernel.walk {
        Walk::Rows(text) if text.rows == 0 => shared(text.lanes).into(),
        walk => drawn(walk),
    };
    let lines = lines.iter().map(|line| format!("          {line}\n"));
    format!("{told}\n{}", lines.collect::<String>())
}

/// Two segments of twelve units and the invocations that share each; of many invocations, four.
fn shared(lanes: u32) -> [String; 2] {
    let lanes = lanes.min(4);
    let digit = |i: u32| char::from_digit(i, 10).unwrap_or('?');
    let segment = |first: u32| -> String { (0..12).map(|i| digit(first + i % lanes)).collect() };
    [
        format!("memory |{}|{}|", "a".repeat(12), "b".repeat(12)),
        format!("by      {} {}", segment(0), segment(lanes)),
    ]
}

/// What was chosen, with its numbers.
fn told(pass: &Pass) -> String {
    let kernel = &pass.kernel;
    let sums = kernel.acc.sum().is_some() || kernel.acc.are_terms();
    let words = match kernel.walk {
        Walk::Rows(text) => return rows(pass, text),
        Walk::Columns(text) => return columns(pass, text),
        Walk::Finish(text) => {
            let done = match sums {
                true => "partial sums of a segment become a result",
                false => {
                    "of the partials of a segment the least key wins, of equal ones the index that the tie \
                     rule wants"
                }
            };
            return format!("{done}; invocations a segment: {}.", text.lanes);
        }
        Walk::Top(text) => {
            return format!(
                "a workgroup holds {} elements of a segment, {} an invocation. What {} at \
                 best tells which elements may be among the {}: these are listed, and sorted.",
                pass.params.slice,
                text.held,
                match kernel.workgroup / pass.params.groups.max(1) {
                    1 => "each invocation has".to_owned(),
                    n => format!("groups of {n} invocations have"),
                },
                pass.params.entries
            );
        }
        Walk::Few(text) => {
            return format!(
                "an invocation takes {} and keeps its {} best elements in registers, in order.",
                match pass.params.slices {
                    1 => "a segment".to_owned(),
                    n => format!("one of {n} parts of a segment"),
                },
                text.entries
            );
        }
        Walk::Merge(_) if pass.params.lists == 1 => {
            return format!(
                "of each list of {} entries {} become results: an invocation writes one.",
                pass.params.entries, pass.params.taken
            );
        }
        Walk::Merge(_) => {
            return format!(
                "{} lists of {} entries, each in order, become one of {}: an invocation counts those before its own.",
                pass.params.group, pass.params.entries, pass.params.best
            );
        }
        Walk::Each(EachText { sliced: true, .. }) => {
            "an invocation reduces a part of a segment, element by element, and leaves a partial result."
        }
        Walk::Each(_) if matches!(pass.kernel.acc, Accumulator::Raw(_)) => "copies elements.",
        Walk::Each(EachText {
            coarsened: true, ..
        }) => {
            "an invocation reduces the segments of several output words, one after another, element by element."
        }
        Walk::Each(_) => {
            "an invocation reduces the segments of one output word, element by element."
        }
        Walk::Strided if pass.params.slices > 1 => {
            "an invocation reduces a part of a segment, each element where the view has it: by its coordinates \
             times the strides. It leaves a partial result."
        }
        Walk::Strided => {
            "an invocation reduces the segments of one output word, each element where the view has it: by \
             its coordinates times the strides."
        }
        Walk::Gather(text) if text.strided => {
            "copies the elements of the view that the indices point to."
        }
        Walk::Gather(_) => "copies the elements that the indices point to.",
        Walk::Fill => "writes the same element everywhere; nothing is read.",
        Walk::Elementwise(text) if !text.vecs => {
            "an invocation makes the elements of one output word."
        }
        Walk::Elementwise(text) => {
            return format!(
                "an invocation reads {} vec4 of each input, all at once, and writes as many.\n        \
                 Other invocations have those between them.",
                text.at_once()
            );
        }
        _ => return format!("see shaders/walk/{}.wgsl", kernel.walk.entry_point()),
    };
    words.into()
}

fn columns(pass: &Pass, text: ColumnsText) -> String {
    let p = &pass.params;
    let units = match (text.words, text.runs) {
        (4, 1) => "a vec4".to_owned(),
        (4, n) => format!("{n} vec4"),
        (1, 1) => "a word".to_owned(),
        (1, n) => format!("{n} words"),
        (_, 1) => "an element".to_owned(),
        (_, n) => format!("{n} elements"),
    };
    let mut told = format!(
        "an invocation reduces {units} of columns, and reads {} of their rows before it uses one",
        text.loads
    );
    if p.slice_rows > text.loads {
        told += ", then the next";
    }
    told += ".";
    if p.joined > 1 {
        told += &format!(
            " {} rows are joined to one of {} such units.",
            p.joined, p.width
        );
    }
    if text.shifted {
        told += " A matrix may begin within a word: each is made of two.";
    }
    let parts = u64::from(p.parts) * u64::from(p.team);
    if parts > 1 {
        let merged = match p.team {
            1 => String::new(),
            team => format!(", {team} of which a workgroup merges"),
        };
        let rows = p.slice_rows;
        told += &format!(" Columns are cut into {parts} slices of {rows} rows{merged}.");
    }
    told
}

/// As `1 invocation`, or `32 invocations (four are drawn)`.
fn invocations(lanes: u32) -> String {
    match lanes {
        1 => "1 invocation".into(),
        2..=4 => format!("{lanes} invocations"),
        _ => format!("{lanes} invocations (four are drawn)"),
    }
}

fn rows(pass: &Pass, text: RowsText) -> String {
    let p = &pass.params;
    let units = |n: u32| match (n, text.words) {
        (_, 4) => format!("{n} vec4"),
        (1, _) => "1 word".into(),
        _ => format!("{n} words"),
    };
    let loads = units(text.loads);
    if text.rows > 0 {
        let (rows, s) = match text.rows {
            1 => ("row", "s"),
            _ => ("rows", ""),
        };
        return format!(
            "an invocation reduces {} {rows} of {} elements, {loads}, and reads all of them before it uses one; \
             then it writes what the {rows} give{s}.",
            text.rows, text.len
        );
    }
    let row = match p.slices {
        1 => "a row".to_owned(),
        n => format!(
            "one of {n} slices of a row, of at most {} elements each",
            p.slice
        ),
    };
    let mut told = match text.lanes {
        1 => format!("1 invocation reduces {row}: it reads {loads}"),
        n => format!(
            "{} share {row}; each reads {loads} of it, {} bytes apart,",
            invocations(n),
            4 * text.words * n
        ),
    };
    told += " before it uses one";
    let block = 4 * text.words * text.lanes * text.loads;
    let held = if p.slices == 1 { p.len } else { p.slice };
    if text.looped && u64::from(held) * pass.kernel.acc.bytes() > block.into() {
        told += &format!(", then the next {}", text.loads);
    }
    told += ".";
    if text.masked {
        let unit = if text.words == 4 { "vec4" } else { "word" };
        told += &format!(
            " Rows may begin and end within a {unit}: what lies before the first whole one and behind the \
             last is read apart."
        );
    }
    if pass.kernel.out.per_word() > 1 {
        told += " Results share words, each of which one workgroup writes.";
    }
    told
}

fn drawn(walk: Walk) -> Vec<String> {
    let lines: &[&str] = match walk {
        Walk::Rows(_) => &[
            "memory |aaa|bbb|ccc|ddd|   rows of three",
            "by      000 000 111 111",
        ],
        Walk::Columns(_) => &[
            "row 0  |a b c d|e f g h|",
            "row 1  |a b c d|e f g h|",
            "by      0 0 0 0 1 1 1 1",
        ],
        Walk::Each(_) => &["memory |aa|bb|cc|dd|", "by      00 11 22 33"],
        Walk::Finish(_) => &[
            "partials |a0 a1 a2 a3|b0 b1 b2 b3|",
            "output  |     a     |     b     |",
        ],
        Walk::Merge(_) => &["lists  |a0 a1 a2|b0 b1 b2|", "output |a0 b0 b1|"],
        Walk::Strided => &[
            "view   |a0 b0|a1 b1|a2 b2|   and so on, in any order",
            "by       0  1  0  1  0  1",
        ],
        Walk::Elementwise(text) if text.vecs => &[
            "a      |abcdefghijklmnop|   a letter is a vec4",
            "b      |abcdefghijklmnop|",
            "by      0123012301230123",
        ],
        _ => &[],
    };
    lines.iter().map(|&line| line.to_owned()).collect()
}
