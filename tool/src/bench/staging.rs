//! The best upload bandwidth: several ways to move 64 MiB through mapped buffers or `Queue::write_buffer`.

use std::time::Instant;

use wgreduce::wgpu::{self, BufferUsages as U};

use super::gpu::Gpu;
use super::walks::median;
use crate::failure::Failure;

const BYTES: usize = 64 << 20;
const REPEATS: usize = 3;

/// A way to move the data.
#[derive(Clone, Copy)]
enum Way {
    /// Through two mapped buffers of this many bytes; one is filled while the other is read.
    Ring(usize),
    /// By `Queue::write_buffer`, this many bytes per submission.
    Queue(usize),
}

const WAYS: [Way; 5] = [
    Way::Ring(1 << 20),
    Way::Ring(4 << 20),
    Way::Ring(16 << 20),
    Way::Queue(4 << 20),
    Way::Queue(16 << 20),
];

/// The fastest way of every round.
#[derive(Default)]
pub struct Staging {
    rounds: Vec<(f64, Option<Way>)>,
}

impl Staging {
    /// Measures a round.
    pub fn measure(&mut self, gpu: &Gpu) -> Result<(), Failure> {
        let data = vec![0x5a; BYTES];
        let target = gpu.buffer(BYTES as u64, U::STORAGE | U::COPY_DST)?;
        let mut fastest = (0.0, None);
        for way in WAYS {
            let gbps = way.gbps(gpu, &data, &target)?;
            if gbps > fastest.0 {
                fastest = (gbps, Some(way));
            }
        }
        self.rounds.push(fastest);
        Ok(())
    }

    /// The median of the rounds.
    pub fn gbps(&self) -> Option<f64> {
        let mut rounds: Vec<f64> = self.rounds.iter().map(|round| round.0).collect();
        rounds.sort_by(f64::total_cmp);
        rounds.get(rounds.len() / 2).copied()
    }

    /// For people.
    pub fn line(&self) -> Option<String> {
        let gbps = self.gbps()?;
        let way = match self.rounds.last()?.1? {
            Way::Ring(bytes) => format!("two mapped buffers of {} MiB", bytes >> 20),
            Way::Queue(bytes) => format!("Queue::write_buffer, {} MiB at a time", bytes >> 20),
        };
        let count = self.rounds.len();
        Some(format!(
            "staging copy: {gbps:.1} GB/s from the host (median of {count} rounds)\n  by {way}"
        ))
    }
}

impl Way {
    fn gbps(self, gpu: &Gpu, data: &[u8], target: &wgpu::Buffer) -> Result<f64, Failure> {
        let buffer = |bytes: usize| gpu.buffer(bytes as u64, U::MAP_WRITE | U::COPY_SRC);
        let ring = match self {
            Way::Ring(bytes) => vec![buffer(bytes)?, buffer(bytes)?],
            Way::Queue(_) => Vec::new(),
        };
        let mut times = Vec::new();
        for _ in 0..=REPEATS {
            let start = Instant::now();
            match self {
                Way::Ring(_) => gpu.stage(target, data, &ring)?,
                Way::Queue(bytes) => gpu.write(target, data, bytes)?,
            }
            times.push(start.elapsed().as_nanos() as u64);
        }
        // The first one touches the memory.
        let ns = median(times.split_off(1)).unwrap_or(0).max(1);
        Ok(data.len() as f64 / ns as f64)
    }
}
