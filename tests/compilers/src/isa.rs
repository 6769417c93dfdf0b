//! Finds the loop of a disassembly that reads the most memory.

use std::ops::Range;

/// A loop: its instructions of the vector units, and the bytes that an invocation reads in one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loop {
    pub instructions: usize,
    pub bytes: u64,
}

impl Loop {
    pub fn per_byte(&self) -> f64 {
        self.instructions as f64 / self.bytes as f64
    }
}

/// The loop that reads the most, or the whole kernel, without the loops within it: those are for what data seldom has. What reads
/// only vec4s comes first.
pub fn hot_loop(assembly: &str) -> Option<Loop> {
    let mut lines: Vec<&str> = Vec::new();
    let mut labels: Vec<(&str, usize)> = Vec::new();
    for line in assembly.lines() {
        let line = line.split(';').next().unwrap_or_default().trim();
        match line.strip_suffix(':') {
            Some(label) => labels.push((label, lines.len())),
            None if line.starts_with(|c: char| c.is_ascii_lowercase()) => lines.push(line),
            None => {}
        }
    }
    // A branch back to a label ends a loop.
    let mut loops: Vec<Range<usize>> = std::iter::once(0..lines.len()).collect();
    for (end, line) in lines.iter().enumerate() {
        let Some((operation, target)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let label = labels.iter().find(|(label, _)| *label == target.trim());
        if let (true, Some(&(_, begin))) = (operation.contains("branch"), label) {
            loops.push(begin..end + 1);
        }
    }
    let within =
        |a: &Range<usize>, b: &Range<usize>| a != b && b.start <= a.start && a.end <= b.end;
    let found = loops.iter().map(|own| {
        let inner: Vec<_> = loops.iter().filter(|l| within(l, own)).collect();
        let alone = own.clone().filter(|i| !inner.iter().any(|l| l.contains(i)));
        let lines: Vec<&str> = alone.filter_map(|i| lines.get(i).copied()).collect();
        let reads: Vec<u64> = lines.iter().map(|l| read(l)).filter(|&n| n > 0).collect();
        let vecs = reads.iter().all(|&bytes| bytes == 16);
        let found = Loop {
            instructions: lines.iter().map(|l| vector(l)).sum(),
            bytes: reads.iter().sum(),
        };
        (vecs, found)
    });
    let reading = found.filter(|(_, l)| l.bytes > 0);
    let hot = reading.max_by_key(|(vecs, l)| (*vecs, l.bytes));
    hot.map(|(_, l)| l)
}

/// The instructions of a line that every invocation of a wave takes: scalar ones, branches and loads go to
/// other units. RDNA 3 writes two on a line if it starts them together.
fn vector(line: &str) -> usize {
    let parts = line.split("::");
    parts.filter(|p| p.trim_start().starts_with("v_")).count()
}

/// The bytes that an instruction reads from a storage buffer.
fn read(line: &str) -> u64 {
    let operation = line.split_whitespace().next().unwrap_or_default();
    let loads = ["buffer_load_", "global_load_", "flat_load_"];
    let kind = loads.iter().find_map(|load| operation.strip_prefix(load));
    match kind {
        None => 0,
        Some("dwordx4" | "b128") => 16,
        Some("dwordx3" | "b96") => 12,
        Some("dwordx2" | "b64") => 8,
        Some(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_that_reads_the_most_is_found() {
        let text = "BB0:\n\ts_mov_b32 s0, 0 ; be800080\nBB1:\n\tv_add_u32 v1, v1, v2\nBB2:\n\
                    \tbuffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen ; e05c1000\n\
                    \tv_min_u32_e32 v5, v0, v5\n\tv_dual_mov_b32 v6, v7 :: v_dual_add_nc_u32 v8, v9, v10\n\
                    \ts_cbranch_scc1 BB2\nBB3:\n\ts_cbranch_scc0 BB1\n\ts_endpgm\n";
        let found = Loop {
            instructions: 3,
            bytes: 16,
        };
        assert_eq!(hot_loop(text), Some(found));
        assert_eq!(hot_loop("BB0:\n\ts_endpgm\n"), None);
        let partials = "BB4:\n\tbuffer_load_b128 v[0:3], v4, s[0:3], 0 offen\n\
                        \tbuffer_load_b96 v[0:2], v4, s[0:3], 0 offen\n\ts_cbranch_scc0 BB4\n";
        assert_eq!(hot_loop(&format!("{text}{partials}")), Some(found));
        let straight = text
            .replace("s_cbranch_scc1 BB2", "s_nop")
            .replace("s_cbranch_scc0 BB1", "s_nop");
        let whole = Loop {
            instructions: 4,
            bytes: 16,
        };
        assert_eq!(hot_loop(&straight), Some(whole));
    }
}
