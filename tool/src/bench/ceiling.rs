//! The device's best bandwidth: plain kernels that read, or read and write, as many bytes as the cases and do
//! almost nothing else. All of them are measured between the cases. The fastest so far is also measured in turns
//! with each case, so that whatever slows the machine down slows both.

use wgreduce::wgpu::{self, BufferUsages};

use super::gpu::{BATCH, Gpu};
use super::noise::Noise;
use super::walks::{Kind, Plain, fastest};
use crate::failure::Failure;

/// Rounds of every walk before the first case.
const FIRST_ROUNDS: usize = 5;

struct Variant {
    plain: Plain,
    /// How often it runs in a row.
    many: u64,
    /// Its time in each round.
    ns: Vec<u64>,
}

/// The ceiling of one kind, with the times of all its kernels.
pub struct Ceiling<'a> {
    gpu: &'a Gpu<'a>,
    kind: Kind,
    bytes: u64,
    variants: Vec<Variant>,
    /// The index of the fastest so far.
    best: usize,
}

impl<'a> Ceiling<'a> {
    /// Measures the first rounds, over the largest power of two of bytes that a case has.
    pub fn new(gpu: &'a Gpu<'a>, kind: Kind, bytes: u64) -> Result<Ceiling<'a>, Failure> {
        let bytes = 1 << bytes.ilog2();
        let src = gpu.noise(bytes, 0, Noise::Words(u64::MAX))?;
        let dst = gpu.buffer(kind.written(bytes), BufferUsages::STORAGE)?;
        let plains = kind
            .walks(bytes)
            .map(|walk| Plain::new(gpu.device, kind, walk, bytes, [&src, &dst]));
        let plains: Vec<Plain> = plains.collect();
        if let Some(plain) = plains.last() {
            gpu.warm(|pass| plain.record(pass))?;
        }
        let variant = |plain: Plain| {
            Ok(Variant {
                // The first times include compilation and the first access to memory.
                many: gpu.batch(BATCH, |pass| plain.record(pass))?,
                plain,
                ns: Vec::new(),
            })
        };
        let variants = plains.into_iter().map(variant);
        let mut ceiling = Ceiling {
            gpu,
            kind,
            bytes,
            variants: variants.collect::<Result<_, Failure>>()?,
            best: 0,
        };
        for _ in 0..FIRST_ROUNDS {
            ceiling.measure()?;
        }
        Ok(ceiling)
    }

    /// Measures every walk once more.
    pub fn measure(&mut self) -> Result<(), Failure> {
        for Variant { plain, many, ns } in &mut self.variants {
            ns.push(self.gpu.batch_ns(*many, |pass| plain.record(pass))?);
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
        self.kind.moved(self.bytes) as f64 / ns as f64
    }

    /// For people.
    pub fn line(&self) -> String {
        let Variant { plain, ns, .. } = &self.variants[self.best];
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
            "{name} ceiling: {half:.1} GB/s ({least:.1} to {most:.1} in {count} rounds) over {} MiB\n  by {}",
            self.bytes >> 20,
            plain.walk
        )
    }
}
