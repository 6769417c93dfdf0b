//! Graphics cards with the numbers that their makers publish, for estimates on paper.

/// A card, with the numbers that bound a reduction on it.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    pub name: &'static str,
    /// The family whose instructions ACO counts: the card's own, or RDNA 3 in its place.
    pub family: &'static str,
    /// GB/s of its memory.
    pub bandwidth: f64,
    /// Compute units, multiprocessors, cores or subslices: each has a first-level cache.
    pub units: f64,
    /// Operations on 32-bit integers a clock, of all units.
    pub integers: f64,
    /// GHz.
    pub clock: f64,
}

impl Card {
    /// Instructions that an invocation may spend on a byte before arithmetic takes longer than memory.
    pub fn affords(&self) -> f64 {
        self.integers * self.clock / self.bandwidth
    }

    /// Bytes that a unit must have requested so that the memory is never idle: bandwidth times a latency of 600 ns
    /// (Little's law).
    pub fn in_flight(&self) -> f64 {
        self.bandwidth * 600.0 / self.units
    }
}

const fn card(
    name: &'static str,
    family: &'static str,
    [bandwidth, units, integers, clock]: [f64; 4],
) -> Card {
    Card {
        name,
        family,
        bandwidth,
        units,
        integers,
        clock,
    }
}

/// AMD's cards, one of each family that ACO compiles for, and others.
pub const CARDS: [Card; 9] = [
    card("Radeon RX 580", "polaris10", [256.0, 36.0, 2304.0, 1.34]),
    card("Radeon VII", "vega20", [1024.0, 60.0, 3840.0, 1.75]),
    card("Radeon RX 5700 XT", "navi10", [448.0, 40.0, 2560.0, 1.755]),
    card("Radeon RX 6800 XT", "navi21", [512.0, 72.0, 4608.0, 2.015]),
    card(
        "Radeon RX 7900 XTX",
        "gfx1100",
        [960.0, 96.0, 6144.0, 2.269],
    ),
    // Half of the cores of Ada and Hopper compute integers.
    card("GeForce RTX 4090", "gfx1100", [1008.0, 128.0, 8192.0, 2.52]),
    card("H100 SXM", "gfx1100", [3350.0, 132.0, 8448.0, 1.755]),
    card("Apple M2 Max", "gfx1100", [400.0, 38.0, 4864.0, 1.398]),
    card("Intel Iris Xe (96 EU)", "gfx1100", [68.3, 6.0, 768.0, 1.35]),
];
