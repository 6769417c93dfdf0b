//! What the tests of results share: seeds, and the comparison of a device with the reference.

use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{Buffers, Class, DType, Problem, Reducer, reference};

/// A small, fast and reproducible source of bits.
pub struct Bits(u64);

impl Bits {
    pub fn new(seed: u64) -> Bits {
        Bits(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1
    }
}

/// Kinds of rows: what each is there to catch.
#[derive(Clone, Copy, Debug)]
pub enum Seed {
    /// Any bits: NaNs with payloads and signs, subnormals.
    Random,
    /// Few values, zeros of both signs among them: ties everywhere.
    Ties,
    /// Numbers with some NaNs between.
    Nans,
    /// Only NaNs, of all kinds; for other types only one value.
    AllNan,
    /// Only the largest value (+inf).
    Top,
    /// Only the smallest value (-inf).
    Bottom,
    /// Each element larger than the one before, as far as the type goes.
    Rising,
    /// The reverse.
    Falling,
}

impl Seed {
    pub const ALL: [Seed; 8] = [
        Seed::Random,
        Seed::Ties,
        Seed::Nans,
        Seed::AllNan,
        Seed::Top,
        Seed::Bottom,
        Seed::Rising,
        Seed::Falling,
    ];
}

/// (infinity, quiet NaN, one) of a float type, as bits.
fn float_bits(dtype: DType) -> (u64, u64, u64) {
    match dtype {
        DType::F16 => (0x7c00, 0x7e00, 0x3c00),
        DType::BF16 => (0x7f80, 0x7fc0, 0x3f80),
        DType::F32 => (0x7f80_0000, 0x7fc0_0000, 0x3f80_0000),
        _ => (0x7ff0 << 48, 0x7ff8 << 48, 0x3ff0 << 48),
    }
}

/// The bits of element `i` of `n` of a row.
pub fn element(dtype: DType, seed: Seed, i: u64, n: u64, bits: &mut Bits) -> u64 {
    let width = 8 * dtype.size();
    let ones = u64::MAX >> (64 - width);
    let sign = 1u64 << (width - 1);
    let any = ((bits.next() << 20) ^ bits.next()) & ones;
    let float = dtype.class() == Class::Float;
    let (infinity, nan, one) = float_bits(dtype);
    let (top, bottom) = match dtype.class() {
        Class::Float => (infinity, infinity | sign),
        Class::Signed => (ones ^ sign, sign),
        Class::Unsigned => (ones, 0),
        Class::Bool => (1, 0),
    };
    // NaNs differ in sign and payload.
    let some_nan = (infinity + 1 + any % (nan - infinity)) | (any & sign);
    match seed {
        Seed::Random => any,
        Seed::Ties if float => [0, sign, one, one | sign][any as usize % 4],
        Seed::Ties => [0, 1, ones, 2][any as usize % 4],
        Seed::Nans if float && any.is_multiple_of(61) => some_nan,
        Seed::Nans => any & !(infinity & (ones >> 2)),
        Seed::AllNan if float => some_nan,
        Seed::AllNan => one & ones,
        Seed::Top => top,
        Seed::Bottom => bottom,
        Seed::Rising => i.min(infinity - 1) & ones,
        Seed::Falling => (n - i).min(infinity - 1) & ones,
    }
}

/// Appends an element's bytes.
pub fn push(bytes: &mut Vec<u8>, dtype: DType, element: u64) {
    bytes.extend_from_slice(&element.to_le_bytes()[..dtype.size() as usize]);
}

/// A tensor `[outer, len, inner]` whose segments cycle through all seeds.
pub fn tensor(dtype: DType, [outer, len, inner]: [u64; 3], seed: u64) -> Vec<u8> {
    let mut bits = Bits::new(seed ^ (len << 20) ^ (inner << 8) ^ outer);
    let mut bytes = Vec::with_capacity((outer * len * inner * dtype.size()) as usize);
    for o in 0..outer {
        for i in 0..len {
            for c in 0..inner {
                let kind = Seed::ALL[(o * inner + c + seed) as usize % Seed::ALL.len()];
                push(&mut bytes, dtype, element(dtype, kind, i, len, &mut bits));
            }
        }
    }
    bytes
}

/// What outputs are filled with before a run, and what stands round them.
const POISON: u8 = 0xa5;

/// Solves a problem on a device, from and to buffers like a caller's own: inputs that end with
/// the data, `offset` bytes into the buffer; outputs poisoned, with guards on both sides.
/// Returns what differs from the reference.
pub fn differs(
    reducer: &Reducer,
    problem: &Problem,
    inputs: &[&[u8]],
    offset: u64,
) -> Option<String> {
    let reduction = match reducer.prepare(problem) {
        Ok(reduction) => reduction,
        Err(e) => return Some(format!("{problem}: {e}")),
    };
    let outputs = run_bound(reducer, &reduction, inputs, offset);
    let outputs = match outputs.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(outputs) => outputs,
        Err(e) => return Some(format!("{problem}: {e}")),
    };
    let difference = reference::verify(problem, inputs, &outputs).err()?;
    let plan = reduction.plan();
    Some(format!("{problem}: {difference}; plan {plan}"))
}

fn run_bound(
    reducer: &Reducer,
    reduction: &wgreduce::Reduction,
    inputs: &[&[u8]],
    offset: u64,
) -> Vec<Result<Vec<u8>, String>> {
    let (device, queue) = (reducer.device(), reducer.queue());
    let problem = reduction.problem();
    let outputs = problem.outputs();
    let buffer = |size: u64, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let sources: Vec<wgpu::Buffer> = inputs
        .iter()
        .map(|data| {
            let mut bytes = vec![POISON; offset as usize];
            bytes.extend_from_slice(data);
            bytes.resize(bytes.len().next_multiple_of(4).max(4), POISON);
            let source = buffer(bytes.len() as u64, storage);
            queue.write_buffer(&source, 0, &bytes);
            source
        })
        .collect();
    // The slice begins a guard's length in, and a guard follows it.
    let guard = offset.next_multiple_of(8).max(8);
    let places: Vec<(wgpu::Buffer, wgpu::Buffer, u64)> = outputs
        .iter()
        .map(|o| {
            let begin = guard + offset / o.dtype.size() * o.dtype.size();
            let size = (begin + o.bytes() + guard).next_multiple_of(4);
            let target = buffer(size, storage);
            queue.write_buffer(&target, 0, &vec![POISON; size as usize]);
            let back = buffer(size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            (target, back, begin)
        })
        .collect();
    let ins: Vec<_> = sources.iter().map(|b| b.slice(offset..).into()).collect();
    let outs: Vec<_> = places
        .iter()
        .map(|(b, _, begin)| b.slice(*begin..).into())
        .collect();
    let bound = match reduction.bind(Buffers {
        inputs: &ins,
        outputs: &outs,
    }) {
        Ok(bound) => bound,
        Err(e) => return outputs.iter().map(|_| Err(e.to_string())).collect(),
    };
    // Twice: the second run meets dirty scratch and records of the first.
    for _ in 0..2 {
        let mut encoder = device.create_command_encoder(&Default::default());
        bound.encode(&mut encoder);
        for (target, back, _) in &places {
            encoder.copy_buffer_to_buffer(target, 0, back, 0, back.size());
        }
        queue.submit([encoder.finish()]);
    }
    for (_, back, _) in &places {
        back.slice(..)
            .map_async(wgpu::MapMode::Read, |r| r.expect("mapped"));
    }
    device
        .poll(wgpu::PollType::wait_indefinitely())
        .expect("polled");
    let check = |((_, back, begin), output): (&(_, wgpu::Buffer, u64), &wgreduce::Output)| {
        let view = back.slice(..).get_mapped_range().expect("mapped");
        let (begin, end) = (*begin as usize, (begin + output.bytes()) as usize);
        let guards = view[..begin].iter().chain(&view[end..]);
        match guards.into_iter().all(|&b| b == POISON) {
            true => Ok(view[begin..end].to_vec()),
            false => Err("bytes outside of the output were written".to_owned()),
        }
    };
    places.iter().zip(&outputs).map(check).collect()
}
