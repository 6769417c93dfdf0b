//! Finds the loop of a disassembly that reads the most memory.

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

/// The loop that reads the most, of the loops that hold no other reading loop; loops that read only vec4s come
/// first. The whole kernel, if no loop reads.
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
    let mut loops: Vec<(usize, usize, u64)> = Vec::new();
    let bytes_of = |lines: &[&str]| lines.iter().map(|l| read(l)).sum();
    for (end, line) in lines.iter().enumerate() {
        let Some((operation, target)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let label = labels.iter().find(|(label, _)| *label == target.trim());
        if let (true, Some(&(_, begin))) = (operation.contains("branch"), label) {
            let bytes = bytes_of(lines.get(begin..=end).unwrap_or_default());
            if bytes > 0 {
                loops.push((begin, end, bytes));
            }
        }
    }
    let bytes = bytes_of(&lines);
    if loops.is_empty() && bytes > 0 {
        loops.push((0, lines.len() - 1, bytes));
    }
    let inner = |a: &&(usize, usize, u64)| {
        let within = |b: &(usize, usize, u64)| a.0 <= b.0 && b.1 <= a.1 && (a.0, a.1) != (b.0, b.1);
        !loops.iter().any(within)
    };
    // The source is read in whole vec4s, partials are not.
    let vecs = |l: &&(usize, usize, u64)| {
        let lines = lines.get(l.0..=l.1).unwrap_or_default();
        let mut reads = lines.iter().map(|l| read(l)).filter(|&bytes| bytes > 0);
        reads.all(|bytes| bytes == 16)
    };
    let hot = loops.iter().filter(inner).max_by_key(|l| (vecs(l), l.2))?;
    let instructions = lines.get(hot.0..=hot.1)?.iter().map(|l| vector(l)).sum();
    Some(Loop {
        instructions,
        bytes: hot.2,
    })
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
    let Some(kind) = loads
        .iter()
        .find_map(|prefix| operation.strip_prefix(prefix))
    else {
        return 0;
    };
    match kind {
        "dwordx4" | "b128" => 16,
        "dwordx3" | "b96" => 12,
        "dwordx2" | "b64" => 8,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_loop_that_reads_is_found() {
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
