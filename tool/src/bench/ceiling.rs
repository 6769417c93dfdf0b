//! What the device can do at best: plain kernels that read, or read and write, 64 MiB and do
//! next to nothing else. All of them are measured between the cases, and the one that is the
//! fastest so far in turns with each: what slows the machine down slows both.

use std::fmt;

use wgreduce::wgpu::{self, BufferUsages};

use super::catalogue::Case;
use super::gpu::{Gpu, median};
use crate::failure::Failure;

const BYTES: u64 = 64 << 20;
/// Of every walk, before the first case.
const FIRST_ROUNDS: usize = 5;

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
    /// What a case is compared with.
    pub fn of(case: &Case) -> Kind {
        match case.op.is_elementwise() {
            true => Kind::Copy,
            false => Kind::Read,
        }
    }

    fn vecs(self) -> u32 {
        let of = match self {
            Kind::WideRead => 32,
            Kind::Read | Kind::Copy => 16,
        };
        (BYTES / of) as u32
    }

    /// Those whose lanes all have something to read.
    fn walks(self) -> impl Iterator<Item = Walk> {
        let fits = move |walk: &Walk| walk.lanes * walk.loads <= self.vecs();
        WALKS.into_iter().filter(fits)
    }
}

/// One way to walk the data. Teams of `team` lanes read neighbouring vec4 and walk a contiguous
/// chunk; 1: every lane its own chunk; all lanes: the whole data abreast.
#[derive(Clone, Copy)]
struct Walk {
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

const WALKS: [Walk; 16] = [
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
    fn wgsl(self, kind: Kind) -> String {
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
            // No word of the data is zero, which only its author knows: nothing is written.
            Kind::Read | Kind::WideRead => (
                "u32",
                each(&|k| format!("best = min(best, v{k});\n")),
                format!("if (any(best == vec4<{word}>({zero}))) {{ dst[lane] = 1u; }}\n"),
            ),
        };
        let per_lane = kind.vecs() / lanes;
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

struct Variant {
    walk: Walk,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    /// What it took, a time a round.
    ns: Vec<u64>,
}

/// The ceiling of one kind, and how it went.
pub struct Ceiling<'a> {
    gpu: &'a Gpu<'a>,
    kind: Kind,
    variants: Vec<Variant>,
    /// Which is the fastest so far.
    best: usize,
}

impl<'a> Ceiling<'a> {
    /// Measures the first rounds.
    pub fn new(gpu: &'a Gpu<'a>, kind: Kind) -> Result<Ceiling<'a>, Failure> {
        // Odd words, none of which is zero.
        let words = (1..=BYTES as u32 / 4).map(|i| i.wrapping_mul(0x9e37_79b1) | 1);
        let data: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        let src = gpu.upload(&data)?;
        let dst = gpu.buffer(BYTES, BufferUsages::STORAGE)?;
        let mut ceiling = Ceiling {
            gpu,
            kind,
            variants: kind
                .walks()
                .map(|w| variant(gpu, kind, w, &src, &dst))
                .collect(),
            best: 0,
        };
        // The first times have compilation and first touches in them.
        ceiling.measure()?;
        ceiling.variants.iter_mut().for_each(|v| v.ns.clear());
        for _ in 0..FIRST_ROUNDS {
            ceiling.measure()?;
        }
        Ok(ceiling)
    }

    /// Measures every walk once more.
    pub fn measure(&mut self) -> Result<(), Failure> {
        for variant in &mut self.variants {
            let timing = self.gpu.time(|pass| variant.record(pass))?;
            variant.ns.push(timing.ns().max(1));
        }
        let times: Vec<&[u64]> = self.variants.iter().map(|v| &v.ns[..]).collect();
        self.best = fastest(&times);
        Ok(())
    }

    /// Records the fastest walk.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.variants[self.best].record(pass);
    }

    /// GB/s, of the time that a walk took.
    pub fn gbps(&self, ns: u64) -> f64 {
        let bytes = match self.kind {
            Kind::Read | Kind::WideRead => BYTES,
            Kind::Copy => 2 * BYTES,
        };
        // Bytes a nanosecond are GB/s.
        bytes as f64 / ns as f64
    }

    /// For people.
    pub fn line(&self) -> String {
        let Variant { walk, ns, .. } = &self.variants[self.best];
        let mut ns = ns.clone();
        ns.sort_unstable();
        let (count, [least, half, most]) = (ns.len(), [ns.len() - 1, ns.len() / 2, 0]);
        let [least, half, most] = [least, half, most].map(|i| self.gbps(ns[i]));
        let name = match self.kind {
            Kind::Read => "read",
            Kind::WideRead => "vec4<u64> read",
            Kind::Copy => "copy",
        };
        format!(
            "{name} ceiling: {half:.1} GB/s ({least:.1} to {most:.1} in {count} rounds)\n  by {walk}"
        )
    }
}

/// The fastest of some walks, by their times round by round. The machine may be twice as fast in one
/// round as in the next: what counts is a time's share of its round's median.
fn fastest(times: &[&[u64]]) -> usize {
    let rounds = times.iter().map(|ns| ns.len()).min().unwrap_or(0);
    let middle = |ns: Vec<u64>| median(ns).unwrap_or(0).max(1);
    let of_round = |r: usize| middle(times.iter().map(|ns| ns[r]).collect());
    let medians: Vec<u64> = (0..rounds).map(of_round).collect();
    let millionths = |(ns, median): (&u64, &u64)| ns * 1_000_000 / median;
    let share = |ns: &&[u64]| middle(ns.iter().zip(&medians).map(millionths).collect());
    let shares = times.iter().map(share).enumerate();
    shares.min_by_key(|&(_, share)| share).map_or(0, |(i, _)| i)
}

impl Variant {
    fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.walk.lanes / self.walk.workgroup, 1, 1);
    }
}

fn variant(gpu: &Gpu, kind: Kind, walk: Walk, src: &wgpu::Buffer, dst: &wgpu::Buffer) -> Variant {
    let module = gpu
        .device
        .create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("ceiling"),
            source: wgpu::ShaderSource::Wgsl(walk.wgsl(kind).into()),
        });
    let pipeline = gpu
        .device
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("ceiling"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
    let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("ceiling"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[(0, src), (1, dst)].map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        }),
    });
    Variant {
        walk,
        pipeline,
        group,
        ns: Vec::new(),
    }
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
        let kinds = [(Kind::Read, 16), (Kind::Copy, 16), (Kind::WideRead, 15)];
        for (kind, walks) in kinds {
            assert_eq!(kind.walks().count(), walks);
            for walk in kind.walks() {
                assert_eq!(kind.vecs() % (walk.lanes * walk.loads), 0);
                assert_eq!(walk.lanes % walk.team, 0);
                assert!(kind.vecs() / walk.lanes <= 32_768);
                assert!(walk.lanes / walk.workgroup <= 65_535);
            }
        }
    }
}
