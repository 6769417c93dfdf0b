//! Chooses the kernels that slow compilers compile.

use std::collections::HashSet;
use support::kernels::{Source, kernels_on};
use wgreduce::unstable::{Kernel, Walk};
use wgreduce::{Caps, DType};

/// The overrides that decide which code there is; the others are numbers in it.
const SHAPING: [&str; 4] = ["OUT", "LAST", "IS_FLOAT", "WG"];

/// A type of each width. Floats have all the code that integers have, and more; sums of both half types differ.
const WIDTHS: [DType; 5] = [DType::U8, DType::F16, DType::BF16, DType::F32, DType::F64];

/// The kernels that differ in more than numbers.
fn shapes_of(mut all: Vec<(Kernel, Source)>) -> Vec<(Kernel, Source)> {
    for name in SHAPING {
        let has = |(_, (_, constants)): &(Kernel, Source)| constants.iter().any(|c| c.0 == name);
        assert!(all.iter().any(has), "no kernel has {name}");
    }
    let mut seen = HashSet::new();
    all.retain(|(_, (text, constants))| {
        let value = |name| constants.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        let shape: Vec<u64> = SHAPING.iter().map(|&name| value(name)).collect();
        let magnitudes = value("SIGN") != value("UNSIGN");
        seen.insert((text.clone(), shape, magnitudes, value("FLIP") >> 30))
    });
    all
}

/// Fewer of the kernels that these devices plan, for compilers that take a second for each: of unrolled kernels
/// those for 0, 1, 2, 4, and so on; of each text one with results of whole words and one with results of parts of words.
pub fn few(devices: &[Caps]) -> Vec<(Kernel, Source)> {
    let mut seen = HashSet::new();
    let mut all = shapes_of(kernels_on(devices, &WIDTHS));
    all.retain(|(kernel, (text, constants))| {
        let value = |name| constants.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        // Units of a row, rows of columns, or vec4 that the text reads at once.
        let loads = match kernel.walk {
            Walk::Rows(text) => text.loads,
            Walk::Columns(text) => text.loads,
            Walk::Elementwise(text) => text.at_once(),
            _ => 0,
        };
        let written_out = loads == 0 || loads.is_power_of_two();
        // Teams of every size have the same text, but for the height of their tree.
        let of_team = match kernel.walk {
            Walk::Rows(text) => [1, 4, 256].contains(&text.lanes),
            _ => true,
        };
        let way = (text.clone(), value("WG"), value("OUT") >= 5);
        // The kernel has no order for sums.
        let floats = match kernel.acc.sum() {
            // Those of integers are squares alone.
            Some(sum) => sum.is_float(),
            None => value("IS_FLOAT") == 1,
        };
        written_out && of_team && floats == (kernel.acc.bits() > 8) && seen.insert(way)
    });
    all
}
