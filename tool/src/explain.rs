//! Draws a plan, so that a reader sees how a reduction works: which buffer is read by which pass,
//! and how each kind of kernel walks it. Knows what plans show of themselves, nothing else.

use std::fmt::Write;

use wgreduce::unstable::{Family, Kernel, Pass, Slot, Unit, Walk};
use wgreduce::{Plan, Problem};

/// Stages that are drawn.
const SHOWN: usize = 12;

/// Neighbouring passes that do the same to different parts.
struct Stage<'a> {
    first: usize,
    passes: &'a [Pass],
}

/// The drawing, and a paragraph a kernel family.
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
        last = vec![stage.passes[0].dst.slot];
        let _ = writeln!(text, "  {}", names(&last));
    }
    if stages.len() > SHOWN {
        let _ = writeln!(text, "  ... and {} stages more", stages.len() - SHOWN);
    }
    text += "\nhow they walk\n";
    let mut told = Vec::new();
    for kernel in stages.iter().map(|stage| &stage.passes[0].kernel) {
        if !told.contains(&kernel.family()) {
            told.push(kernel.family());
            text += &walk(kernel);
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
        sizes.map(|d| d.size).product()
    };
    let (segments, len) = (product(false), product(true));
    let lie = match dims.iter().rposition(|d| d.reduced) {
        Some(at) if at + 1 == dims.len() => "neighbours in memory",
        Some(_) => "apart in memory, their neighbours belonging to other segments",
        None => "their own segments",
    };
    let done = match problem.op().is_sum() {
        true => "all of which are summed",
        false => "of which one is chosen",
    };
    format!(
        "Segments: {segments}, of {len} elements each, {done}. The elements of \
         one are\n{lie}."
    )
}

fn stages(plan: &Plan) -> Vec<Stage<'_>> {
    let alike = |a: &Pass, b: &Pass| {
        a.kernel.family() == b.kernel.family() && a.dst.slot == b.dst.slot && read(a) == read(b)
    };
    let mut first = 0;
    let chunks = plan.passes().chunk_by(alike);
    let stage = |passes: &'_ [Pass]| {
        first += passes.len();
        (first - passes.len(), passes.len())
    };
    let places: Vec<(usize, usize)> = chunks.map(stage).collect();
    let of = |(first, count): (usize, usize)| Stage {
        first,
        passes: &plan.passes()[first..first + count],
    };
    places.into_iter().map(of).collect()
}

/// The buffers a pass reads.
fn read(pass: &Pass) -> Vec<Slot> {
    let strided = pass.stride_table.iter().flat_map(|(_, views)| views);
    let views = pass.indices.iter().chain(&pass.src).chain(strided);
    views.map(|view| view.slot).collect()
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
            "    |  {passes}: {}, workgroups: {groups} of {}\n    |  \
             reads {} bytes, writes {}, at most {} iterations an invocation\n    v\n",
            kernel.family().name(),
            kernel.workgroup,
            sum(&Pass::src_bytes),
            sum(&Pass::dst_bytes),
            most.unwrap_or(0),
        );
    }
}

/// How a family maps memory, left to right, to lanes, which are invocations: in words, drawn.
fn walk(kernel: &Kernel) -> String {
    let mut text = format!("  {}: {}\n", kernel.family().name(), told(kernel));
    let lines: Vec<String> = match kernel.walk {
        Walk::Rows { lanes, blocked, .. } => shared(lanes, blocked).into(),
        _ => drawn(kernel.family())
            .iter()
            .map(|&line| line.into())
            .collect(),
    };
    for line in lines {
        text += &format!("          {line}\n");
    }
    text
}

/// Two segments of twelve elements and the invocations that share each; of many invocations, four.
fn shared(lanes: u32, blocked: bool) -> [String; 2] {
    let lanes = lanes.min(4);
    let lane = |i: u32| match blocked {
        true => i / (12 / lanes),
        false => i % lanes,
    };
    let digit = |i: u32| char::from_digit(i, 10).unwrap_or('?');
    let segment = |first: u32| -> String { (0..12).map(|i| digit(first + lane(i))).collect() };
    [
        format!("memory |{}|{}|", "a".repeat(12), "b".repeat(12)),
        format!("by      {} {}", segment(0), segment(lanes)),
    ]
}

fn told(kernel: &Kernel) -> String {
    let sums = kernel.sum.is_some();
    let words = match kernel.walk {
        Walk::Rows {
            vecs: 1..,
            whole: true,
            ..
        } => {
            "one invocation takes a segment, which is a few whole vec4, at once, then the next one."
        }
        Walk::Rows { lanes: 1, .. } if sums => {
            "one invocation sums a segment, or a slice of one, by whole vec4; what lies before and behind\n\
             them one by one."
        }
        Walk::Rows { lanes, blocked, .. } if sums => {
            let walk = match blocked {
                true => "each takes a run of its own",
                false => "and takes every nth vec4 of it",
            };
            let some = if lanes > 4 { " (four are drawn)" } else { "" };
            return format!(
                "{lanes} invocations{some} share a segment, or a slice of one,\n        {walk}; their sums \
                 meet in workgroup memory."
            );
        }
        Walk::ShallowSums => "an invocation sums all rows of a vec4 of columns, then of others.",
        Walk::Columns { .. } if sums => {
            "an invocation sums a column of a slice, or those of some vec4, row by row."
        }
        Walk::Finish { lanes, .. } if sums => {
            return format!("partial sums become results, invocations an output: {lanes}.");
        }
        Walk::Rows { lanes: 1, .. } => {
            "one invocation takes a segment, or a slice of one, by blocks of eight vec4. Of a block\n\
             only the least key is kept, and where the block was; the element is found at the end."
        }
        Walk::Rows { lanes, blocked, .. } => {
            let walk = match blocked {
                true => "each takes a run of its own",
                false => "and takes every nth vec4 of it",
            };
            let some = if lanes > 4 { " (four are drawn)" } else { "" };
            return format!(
                "{lanes} invocations{some} share a segment, or a slice of one,\n        {walk}; then a \
                 tree in workgroup memory finds the best of them."
            );
        }
        Walk::SmallRows { .. } => {
            "an invocation takes as many segments as are whole vec4, whatever their length,\n\
             and writes what they give by whole vec4."
        }
        Walk::Panels { lanes: 1, runs, .. } => {
            let vecs = match runs {
                0 | 1 => "a vec4 of columns, then of another one".to_owned(),
                n => format!("{n} neighbouring vec4 of columns, then of others"),
            };
            return format!(
                "an invocation takes all rows of {vecs},\n        and writes what they give by whole vec4."
            );
        }
        Walk::Panels { runs, .. } => {
            return format!(
                "eight invocations take all rows of {} vec4 of columns, in the order of memory,\n        \
                 and write what they give by whole vec4.",
                8 * runs
            );
        }
        Walk::Columns { runs, shared, .. } => {
            let merged = match shared {
                false => "",
                true => ",\n        and a workgroup merges some of them",
            };
            let vecs = match runs {
                1 => "a vec4 of columns".to_owned(),
                _ => format!("{runs} vec4 of columns, every eighth one"),
            };
            return format!(
                "an invocation takes {vecs},\n        row by row, and keeps the best of each. Narrow rows \
                 are laid side by side;\n        tall ones are cut into slices{merged}."
            );
        }
        Walk::Each { .. } => {
            "an invocation takes the segments of one output word, element by element."
        }
        Walk::Finish { lanes, .. } => {
            return format!(
                "the partials of a segment, invocations: {lanes}; the least key wins, of equal ones the \
                 index\n        that the tie rule wants."
            );
        }
        Walk::Strided { .. } => {
            "an invocation takes the segments of one output word, each element where the view\n\
             has it: by its coordinates times the strides."
        }
        Walk::StridedGather { .. } => "the elements of the view that the indices point to.",
        Walk::Extremes { .. } => {
            "an invocation takes a part of a segment, element by element, and leaves two\n\
             partials: of the least and of the greatest."
        }
        Walk::ExtremeRows { .. } => {
            "invocations walk a slice of a segment abreast, by blocks of four vec4, and each\n\
             leaves two partials: of the least and of the greatest."
        }
        Walk::Gather { .. } => "the elements that the indices point to.",
        Walk::Fill => "the same element everywhere; nothing is read.",
        Walk::Elementwise(taken) => match taken.unit {
            Unit::Word => "an invocation takes the elements of one output word.",
            _ => {
                return format!(
                    "an invocation takes {} vec4 of each input, all at once, and writes as many.\n        \
                     Between them others take theirs.",
                    taken.vecs()
                );
            }
        },
        _ => return format!("see shaders/walk/{}.wgsl", kernel.entry_point()),
    };
    words.replace('\n', "\n        ")
}

fn drawn(family: Family) -> &'static [&'static str] {
    match family {
        Family::SmallRows => &[
            "memory |aaab|bbcc|cddd|eeef|ffgg|ghhh|   rows of three, a line of four",
            "by      0000 0000 0000 1111 1111 1111",
        ],
        Family::Strips | Family::Panels => &[
            "row 0  |abcdefgh|ijklmnop|   a letter is a vec4",
            "row 1  |abcdefgh|ijklmnop|",
            "by      01234567 01234567",
        ],
        Family::Columns | Family::Shallow => &[
            "row 0  |a b c d|e f g h|",
            "row 1  |a b c d|e f g h|",
            "by      0 0 0 0 1 1 1 1",
        ],
        Family::Each => &["memory |aa|bb|cc|dd|", "by      00 11 22 33"],
        Family::Finish => &[
            "partials |a0 a1 a2 a3|b0 b1 b2 b3|",
            "output  |     a     |     b     |",
        ],
        Family::Strided | Family::Extremes => &[
            "view   |a0 b0|a1 b1|a2 b2|   and so on, in any order",
            "by       0  1  0  1  0  1",
        ],
        Family::ElementwiseVecs => &[
            "a      |abcdefghijklmnop|   a letter is a vec4",
            "b      |abcdefghijklmnop|",
            "by      0123012301230123",
        ],
        _ => &[],
    }
}
