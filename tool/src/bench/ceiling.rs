//! The device's best bandwidth: plain kernels that read, or read and write, 64 MiB and do
//! almost nothing else. All of them are measured between the cases. The fastest so far is also measured in turns
//! with each case, so that whatever slows the machine down slows both.

use wgreduce::wgpu::{self, BufferUsages};

use super::gpu::Gpu;
use super::walks::{self, BYTES, Kind, Plain, fastest};
use crate::failure::Failure;

/// Rounds of every walk before the first case.
const FIRST_ROUNDS: usize = 5;

struct Variant {
    plain: Plain,
    /// Its time in each round.
    ns: Vec<u64>,
}

/// The ceiling of one kind, with the times of all its kernels.
pub struct Ceiling<'a> {
    gpu: &'a Gpu<'a>,
    kind: Kind,
    variants: Vec<Variant>,
    /// The index of the fastest so far.
    best: usize,
}

impl<'a> Ceiling<'a> {
    /// Measures the first rounds.
    pub fn new(gpu: &'a Gpu<'a>, kind: Kind) -> Result<Ceiling<'a>, Failure> {
        let src = gpu.upload(&walks::data())?;
        let dst = gpu.buffer(BYTES, BufferUsages::STORAGE)?;
        let variant = |walk| Variant {
            plain: Plain::new(gpu.device, kind, walk, [&src, &dst]),
            ns: Vec::new(),
        };
        let mut ceiling = Ceiling {
            gpu,
            kind,
            variants: kind.walks().map(variant).collect(),
            best: 0,
        };
        // The first times include compilation and the first access to memory.
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
            let timing = self.gpu.time(|pass| variant.plain.record(pass))?;
            variant.ns.push(timing.ns().max(1));
        }
        let times: Vec<&[u64]> = self.variants.iter().map(|v| &v.ns[..]).collect();
        self.best = fastest(&times);
        Ok(())
    }

    /// Records the fastest walk.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.variants[self.best].plain.record(pass);
    }

    /// GB/s, of the time that a walk took.
    pub fn gbps(&self, ns: u64) -> f64 {
        // Bytes per nanosecond are GB/s.
        self.kind.moved() as f64 / ns as f64
    }

    /// For people.
    pub fn line(&self) -> String {
        let Variant { plain, ns } = &self.variants[self.best];
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
            "{name} ceiling: {half:.1} GB/s ({least:.1} to {most:.1} in {count} rounds)\n  by {}",
            plain.walk
        )
    }
}
