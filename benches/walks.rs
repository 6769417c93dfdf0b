//! What a device can do at best: plain kernels that read, or read and write, as many bytes as the cases and do next to
//! nothing else. Several walks of each kind; which is the fastest, a device tells.

use std::fmt;

use super::kernel::Kernel;
use wgreduce::{Op, wgpu};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The minimum of vec4<u32>; what is read counts.
    Read,
    /// The same of vec4<u64>, which shaders know only on some devices.
    WideRead,
    /// A copy of vec4<u32>; what is read and what is written counts.
    Copy,
}

impl Kind {
    /// What an operator is compared with.
    pub fn of(op: Op) -> Kind {
        match op.is_elementwise() {
            true => Kind::Copy,
            false => Kind::Read,
        }
    }

    /// Bytes that are read and written, of a source of this many bytes.
    pub fn moved(self, bytes: u64) -> u64 {
        match self {
            Kind::Read | Kind::WideRead => bytes,
            Kind::Copy => 2 * bytes,
        }
    }

    /// The size of the buffer that is written to.
    pub fn written(self, bytes: u64) -> u64 {
        match self {
            Kind::Read | Kind::WideRead => 4 << MOST_LANES_LOG2,
            Kind::Copy => bytes,
        }
    }

    fn vecs(self, bytes: u64) -> u32 {
        let of = match self {
            Kind::WideRead => 32,
            Kind::Read | Kind::Copy => 16,
        };
        (bytes / of) as u32
    }

    /// Those whose lanes all have something to read, of a power of two of bytes.
    pub fn walks(self, bytes: u64) -> impl Iterator<Item = Walk> {
        let fits = move |walk: &Walk| walk.lanes * walk.loads <= self.vecs(bytes);
        WALKS.into_iter().filter(fits)
    }
}

/// One way to walk the data. Teams of `team` lanes read neighbouring vec4 and walk a contiguous
/// chunk; 1: every lane its own chunk; all lanes: the whole data abreast.
#[derive(Clone, Copy)]
pub struct Walk {
    team: u32,
    workgroup: u32,
    /// In flight.
    loads: u32,
    lanes: u32,
}

const fn walk(team: u32, workgroup: u32, loads: u32, lanes_log2: u32) -> Walk {
    let lanes = 1 << lanes_log2;
    let team = if team == 0 { lanes } else { team };
    Walk {
        team,
        workgroup,
        loads,
        lanes,
    }
}

const MOST_LANES_LOG2: u32 = 22;

/// The last three are for data that is larger than 64 MiB.
const WALKS: [Walk; 19] = [
    walk(1, 64, 4, 12),
    walk(1, 64, 4, 16),
    walk(1, 64, 8, 16),
    walk(1, 256, 4, 16),
    walk(8, 64, 4, 12),
    walk(8, 64, 4, 16),
    walk(8, 64, 8, 16),
    walk(64, 64, 4, 18),
    walk(256, 256, 4, 16),
    walk(256, 256, 4, 18),
    walk(256, 256, 8, 18),
    walk(0, 64, 4, 16),
    walk(0, 256, 4, 16),
    walk(0, 256, 4, 18),
    walk(0, 256, 8, 18),
    walk(0, 256, 4, 20),
    walk(256, 256, 2, MOST_LANES_LOG2),
    walk(0, 256, 2, MOST_LANES_LOG2),
    walk(256, 256, 4, MOST_LANES_LOG2),
];

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Walk {
            workgroup,
            loads,
            lanes,
            ..
        } = self;
        match self.team {
            1 => write!(f, "{lanes} lanes apart")?,
            all if all == *lanes => write!(f, "{lanes} lanes abreast")?,
            team => write!(f, "{lanes} lanes in teams of {team}")?,
        }
        write!(f, ", workgroups of {workgroup}, {loads} loads")
    }
}

impl Walk {
    pub fn workgroups(self) -> u32 {
        self.lanes / self.workgroup
    }

    /// Binds the source at 0 and what is written at 1; the entry point is `main`.
    pub fn wgsl(self, kind: Kind, bytes: u64) -> String {
        let Walk {
            team,
            workgroup,
            loads,
            lanes,
        } = self;
        let each = |line: &dyn Fn(u32) -> String| (0..loads).map(line).collect::<String>();
        let load = each(&|k| format!("let v{k} = src[at + {}u];\n", k * team));
        let (word, largest, zero) = match kind {
            Kind::WideRead => ("u64", "0xfffffffffffffffflu", "0lu"),
            Kind::Read | Kind::Copy => ("u32", "0xffffffffu", "0u"),
        };
        let (element, body, end) = match kind {
            Kind::Copy => (
                "vec4<u32>",
                each(&|k| format!("dst[at + {}u] = v{k};\n", k * team)),
                String::new(),
            ),
            // Of random words next to none is zero, which only their author knows: next to nothing is written.
            Kind::Read | Kind::WideRead => (
                "u32",
                each(&|k| format!("best = min(best, v{k});\n")),
                format!("if (any(best == vec4<{word}>({zero}))) {{ dst[lane] = 1u; }}\n"),
            ),
        };
        let per_lane = kind.vecs(bytes) / lanes;
        let steps = per_lane / loads;
        format!(
            "@group(0) @binding(0) var<storage, read> src: array<vec4<{word}>>;
@group(0) @binding(1) var<storage, read_write> dst: array<{element}>;
@compute @workgroup_size({workgroup})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
let lane = id.x;
var at = lane / {team}u * {chunk}u + lane % {team}u;
var best = vec4<{word}>({largest});
for (var i = 0u; i < {steps}u; i += 1u) {{
{load}{body}at += {stride}u;
}}
{end}}}
",
            chunk = team * per_lane,
            stride = team * loads,
        )
    }
}

/// A walk, compiled and bound.
pub struct Plain {
    pub walk: Walk,
    kernel: Kernel,
}

impl Plain {
    /// From a buffer of this many bytes to another of [`Kind::written`].
    pub fn new(
        device: &wgpu::Device,
        kind: Kind,
        walk: Walk,
        bytes: u64,
        buffers: [&wgpu::Buffer; 2],
    ) -> Plain {
        let resources = buffers.map(wgpu::Buffer::as_entire_binding);
        let wgsl = walk.wgsl(kind, bytes);
        Plain {
            walk,
            kernel: Kernel::new(device, wgsl, &resources, walk.workgroups()),
        }
    }

    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.kernel.record(pass);
    }
}

/// The fastest of some walks, by their times round by round. The machine may be twice as fast in one
/// round as in the next: what counts is a time's share of its round's median.
pub fn fastest(times: &[&[u64]]) -> usize {
    let rounds = times.iter().map(|ns| ns.len()).min().unwrap_or(0);
    let middle = |ns: Vec<u64>| median(ns).unwrap_or(0).max(1);
    let of_round = |r: usize| middle(times.iter().map(|ns| ns[r]).collect());
    let medians: Vec<u64> = (0..rounds).map(of_round).collect();
    let millionths = |(ns, median): (&u64, &u64)| ns * 1_000_000 / median;
    let share = |ns: &&[u64]| middle(ns.iter().zip(&medians).map(millionths).collect());
    let shares = times.iter().map(share).enumerate();
    shares.min_by_key(|&(_, share)| share).map_or(0, |(i, _)| i)
}

pub fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_met_a_faster_machine_is_not_the_fastest_for_that() {
        let better: &[u64] = &[100, 100, 200, 200, 200];
        let lucky: &[u64] = &[110, 110, 115, 220, 220];
        let others: &[u64] = &[130, 130, 260, 260, 260];
        assert!(median(better.to_vec()) > median(lucky.to_vec()));
        assert_eq!(fastest(&[lucky, better, others, others]), 1);
    }

    #[test]
    fn every_walk_covers_the_data_once_and_stays_below_the_iterations_drivers_allow() {
        let kinds = [
            (Kind::Read, 64 << 20, 16),
            (Kind::Copy, 64 << 20, 16),
            (Kind::WideRead, 64 << 20, 15),
            (Kind::Read, 1 << 20, 2),
            (Kind::Read, 1 << 30, 19),
            (Kind::Copy, 1 << 30, 19),
        ];
        for (kind, bytes, walks) in kinds {
            assert_eq!(kind.walks(bytes).count(), walks);
            for walk in kind.walks(bytes) {
                let vecs = kind.vecs(bytes);
                assert_eq!(vecs % (walk.lanes * walk.loads), 0);
                assert_eq!(walk.lanes % walk.team, 0);
                assert!(vecs / walk.lanes / walk.loads <= 32_768);
                assert!(walk.lanes / walk.workgroup <= 65_535);
                assert!(4 * u64::from(walk.lanes) <= Kind::Read.written(bytes));
            }
        }
    }
}
