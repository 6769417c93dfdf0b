//! Random elements, made on the device or on the host by the same arithmetic.
//!
//! Every word of 64 bits is a function of its place and a seed, so that a part of the data can be made without the rest.

use std::fmt::Write;

use super::kernel::{self, Kernel, MOST_WORKGROUPS};
use wgreduce::{DType, wgpu};

/// What random elements are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noise {
    /// Any; these bits of each word of 64 are kept.
    Words(u64),
    /// Floats of a type that are spread evenly between -2 and 2: each exponent is half as frequent as the one above it.
    Even(DType),
}

/// How a word of 64 bits is made of a random one.
struct Form {
    /// Random bits that stay.
    kept: u64,
    /// Where exponents begin.
    exponents: &'static [u32],
    /// The exponent of 1, from which the number of a second draw's trailing zeros is taken.
    one: u32,
}

impl Noise {
    fn form(self) -> Form {
        let (kept, exponents, one): (_, &[u32], _) = match self {
            Noise::Words(kept) => (kept, &[], 0),
            Noise::Even(DType::F16) => (0x83ff_83ff_83ff_83ff, &[10, 26, 42, 58], 15),
            Noise::Even(DType::BF16) => (0x807f_807f_807f_807f, &[7, 23, 39, 55], 127),
            Noise::Even(DType::F32) => (0x807f_ffff_807f_ffff, &[23, 55], 127),
            Noise::Even(_) => (0x800f_ffff_ffff_ffff, &[52], 1023),
        };
        Form {
            kept,
            exponents,
            one,
        }
    }

    /// The word at a place, as the kernel makes it.
    fn word(
        &Form {
            kept,
            exponents,
            one,
        }: &Form,
        place: u32,
        seed: u32,
    ) -> u64 {
        let halves = [2 * place, 2 * place + 1].map(|at| hash(at ^ seed));
        let mut word = (u64::from(halves[1]) << 32 | u64::from(halves[0])) & kept;
        for &shift in exponents {
            let zeros = hash(halves[shift as usize / 32] ^ salt(shift)).trailing_zeros();
            word |= u64::from(one - zeros.min(one)) << shift;
        }
        word
    }

    /// Writes words from `fill.x` on; the seed is `fill.y`.
    fn wgsl(self) -> String {
        let Form {
            kept,
            exponents,
            one,
        } = self.form();
        let mut elements = String::new();
        for &shift in exponents {
            let (half, salt) = (["x", "y"][shift as usize / 32], salt(shift));
            let shift = shift % 32;
            // Writing to a String does not fail.
            let _ = writeln!(
                elements,
                "word.{half} |= ({one}u - min(countTrailingZeros(hash(drawn.{half} ^ {salt}u)), {one}u)) << {shift}u;"
            );
        }
        format!(
            "@group(0) @binding(0) var<storage, read_write> data: array<vec2<u32>>;
@group(0) @binding(1) var<uniform> fill: vec4<u32>;
fn hash(x: u32) -> u32 {{
let state = x * {FACTOR}u + {ADDEND}u;
let word = ((state >> ((state >> 28u) + 4u)) ^ state) * {LAST}u;
return (word >> 22u) ^ word;
}}
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {{
for (var i = id.x; i < arrayLength(&data); i += 256u * grid.x) {{
let at = 2u * (fill.x + i);
let drawn = vec2<u32>(hash(at ^ fill.y), hash((at + 1u) ^ fill.y));
var word = drawn & vec2<u32>({}u, {}u);
{elements}data[i] = word;
}}
}}
",
            kept as u32,
            kept >> 32,
        )
    }
}

/// O'Neill's permuted congruential generator of 32 bits (PCG-RXS-M-XS), one step from a place.
const FACTOR: u32 = 747_796_405;
const ADDEND: u32 = 2_891_336_453;
const LAST: u32 = 277_803_737;

fn hash(x: u32) -> u32 {
    let state = x.wrapping_mul(FACTOR).wrapping_add(ADDEND);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(LAST);
    (word >> 22) ^ word
}

/// Makes a second draw of a word, another one for each element in it.
fn salt(shift: u32) -> u32 {
    (shift + 1).wrapping_mul(0x9e37_79b9)
}

/// Noise of a seed; of fewer bytes it is the beginning.
pub fn noise(bytes: usize, seed: u32, noise: Noise) -> Vec<u8> {
    let (form, seed) = (noise.form(), hash(seed));
    let words = 0..bytes.div_ceil(8) as u32;
    let mut data = Vec::with_capacity(8 * words.len());
    words.for_each(|place| data.extend(Noise::word(&form, place, seed).to_le_bytes()));
    data.truncate(bytes);
    data
}

/// Fills a storage buffer, whose size is a multiple of 16 bytes, with what [`noise`] returns, through bindings of `most`
/// bytes. Submits and does not wait.
pub fn fill(
    (device, queue): (&wgpu::Device, &wgpu::Queue),
    buffer: &wgpu::Buffer,
    most: u64,
    seed: u32,
    noise: Noise,
) {
    let seed = hash(seed);
    let mut encoder = device.create_command_encoder(&Default::default());
    for range in kernel::ranges(buffer.size(), most) {
        let (first, words) = (range.0 / 8, range.1 / 8);
        let fill = kernel::uniform(device, queue, [first as u32, seed, 0, 0]);
        let resources = [kernel::part(buffer, range), fill.as_entire_binding()];
        let workgroups = words.div_ceil(256).min(MOST_WORKGROUPS) as u32;
        let kernel = Kernel::new(device, noise.wgsl(), &resources, workgroups);
        kernel.record(&mut encoder.begin_compute_pass(&Default::default()));
    }
    queue.submit([encoder.finish()]);
}
