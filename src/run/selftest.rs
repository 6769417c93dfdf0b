//! Known answers that a device must give when it is opened, to find drivers that compute wrong results.
//!
//! Every row of the inputs checks for another fault of drivers; the tests below plant those faults. Knows nothing
//! of kernels.

use crate::device::platform::PollMode;
use crate::{DType, Error, Problem, ProblemError, Reducer, reference};

/// Runs the known-answer tests on a reducer; some milliseconds.
///
/// # Errors
/// [`Error::SelfTest`] with the first difference; the errors of a run.
pub(crate) async fn run(reducer: &Reducer) -> Result<(), Error> {
    for (problem, inputs) in questions()? {
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let reduction = reducer.prepare(&problem).await?;
        // Short, so it needs no thread to wait.
        let (answer, _) = reduction.run_on(&inputs, PollMode::SHORT, false).await?;
        judge(&reducer.adapter_info().name, &problem, &inputs, &answer)?;
    }
    Ok(())
}

/// Whether an answer is the right one.
fn judge(
    adapter: &str,
    problem: &Problem,
    inputs: &[&[u8]],
    answer: &[Vec<u8>],
) -> Result<(), Error> {
    reference::verify(problem, inputs, answer).map_err(|difference| Error::SelfTest {
        adapter: adapter.to_owned(),
        case: problem.to_string(),
        difference: Box::new(difference),
    })
}

/// Elements of a long row: more than a workgroup reads at once, and not a multiple of 4.
const LEN: usize = 3001;

/// A problem and its inputs.
type Question = (Problem, Vec<Vec<u8>>);

/// One of each kind: rows and columns, key widths, packed results, one axis and several, inputs
/// that are broadcast, sums of float32 and float16.
fn questions() -> Result<Vec<Question>, ProblemError> {
    let floats = float_rows();
    let rows = (floats.len() / LEN) as u64;
    let floats = bytemuck::cast_slice(&floats).to_vec();
    let longs = bytemuck::cast_slice(&long_columns()).to_vec();
    let halves = bits().take(5 * 33).map(|b| (b >> 40) as u16);
    // Clears two exponent bits so that there is no NaN; otherwise every row would have one.
    let halves: Vec<u16> = halves.map(|half| half & 0xbbff).collect();
    let halves = bytemuck::cast_slice(&halves).to_vec();
    let mut bytes = bits().map(|b| (b >> 40) as u8);
    let mut bytes = |n| bytes.by_ref().take(n).collect();
    let rows = Problem::arg_min(DType::F32, &[rows, LEN as u64], 1)?;
    let columns = Problem::arg_max(DType::I64, &[130, 6], 0)?.select_last_index(true);
    let packed = Problem::reduce_max(DType::F16, &[5, 33], &[1])?;
    let scattered = Problem::reduce_min(DType::I8, &[3, 40, 7], &[0, 2])?;
    let broadcast = Problem::max(DType::U8, &[&[5, 33][..], &[33]])?;
    let summands = bytemuck::cast_slice(&summands()).to_vec();
    let sums = Problem::reduce_sum(DType::F32, &[1024, 4], &[1])?;
    let specials = bytemuck::cast_slice(&specials()).to_vec();
    let half_sums = Problem::reduce_sum(DType::F16, &[64, 8], &[1])?;
    Ok(vec![
        (rows, vec![floats]),
        (columns, vec![longs]),
        (packed, vec![halves]),
        (scattered, vec![bytes(3 * 40 * 7)]),
        (broadcast, vec![bytes(5 * 33), bytes(33)]),
        (sums, vec![summands]),
        (half_sums, vec![specials]),
    ])
}

/// Rows of `LEN` float32 each, as bits.
fn float_rows() -> Vec<u32> {
    // Distinct numbers between 1 and 2; the smallest one planted below differs in its last bit only.
    let plain = || (0..LEN as u32).map(|i| 0x3f80_0002 + (i * 1999) % 3001 * 2000);
    let put = |at: &[(usize, u32)]| {
        let mut row: Vec<u32> = plain().collect();
        at.iter().for_each(|&(i, bits)| row[i] = bits);
        row
    };
    const NAN: u32 = 0xffc0_0001;
    [
        // The last bit; then what is last, after the last whole vec4.
        put(&[(700, 0x3f80_0001), (2900, 0x3f80_0000)]),
        put(&[(LEN - 1, 0xff7f_ffff)]),
        // Two NaNs, and an infinity; the infinity, and the number next to it.
        put(&[(5, 0xff80_0000), (1234, NAN), (2345, 0x7f80_0001)]),
        put(&[(10, 0xff7f_ffff), (2000, 0xff80_0000)]),
        // Zeros of both signs tie.
        put(&[(300, 0), (900, 0x8000_0000), (2000, 0)]),
        // Subnormals.
        put(&[(100, 9), (200, 0x8000_0001), (2500, 0x8000_0002)]),
        // Ties of numbers.
        put(&[
            (1500, 0xc000_0000),
            (1501, 0xc000_0000),
            (2999, 0xc000_0000),
        ]),
        vec![0x7f80_0000; LEN],
    ]
    .concat()
}

/// Rows of four float32 of both signs, up to 2^20 apart, whose last bits count: a device must round their digits to nearest, and
/// not see through additions.
fn summands() -> Vec<u32> {
    let element = |bits: u64| {
        let exponent = 120 + (bits >> 40) as u32 % 20;
        (bits >> 20) as u32 & 0x8000_0000 | exponent << 23 | bits as u32 & 0x007f_ffff
    };
    bits().take(4 * 1024).map(element).collect()
}

/// Rows of eight float16: in each a number, and an infinity, a NaN or subnormal numbers among zeros of both signs.
fn specials() -> Vec<u16> {
    const SPECIAL: [u16; 8] = [0x7c00, 0xfc00, 0x7e00, 0xfd01, 1, 0x8001, 0x03ff, 0x83fe];
    let row = |row: usize| {
        let mut elements = [0, 0x8000, 0, 0x8000, 0x0401, 0x8000, 0, 0];
        elements.rotate_left(row / 8);
        elements[row % 8] = SPECIAL[(row + row / 8) % 8];
        elements
    };
    (0..64).flat_map(row).collect()
}

/// 130 rows of six int64, reduced along the columns.
fn long_columns() -> Vec<i64> {
    let column = |row: i64| {
        [
            // The low half decides, then the high half against the low one, then the sign.
            (7 << 32) + (row * 37) % 130,
            (((row * 37) % 130) << 32) - row,
            if row == 50 { 3 } else { -5 - row },
            // Ties; what is last; what no double holds.
            if row % 40 == 7 { i64::MAX } else { row },
            row,
            (1 << 62) + (row * 37) % 130,
        ]
    };
    (0..130).flat_map(column).collect()
}

/// Pseudo-random bits with a fixed seed.
fn bits() -> impl Iterator<Item = u64> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partial::word;
    use crate::reference::VerifyError;
    use crate::{Class, NanPolicy};

    /// What a driver makes of a problem.
    type Driver = fn(&Problem, &[&[u8]]) -> Vec<Vec<u8>>;

    fn right(problem: &Problem, inputs: &[&[u8]]) -> Vec<Vec<u8>> {
        reference::evaluate(problem, inputs).expect("a question")
    }

    /// The right answer; if the problem is `meant`, for changed inputs. `change` maps an element's bits and position to its new
    /// bits.
    fn on(
        problem: &Problem,
        inputs: &[&[u8]],
        meant: bool,
        change: impl Fn(u64, usize) -> u64,
    ) -> Vec<Vec<u8>> {
        if !meant {
            return right(problem, inputs);
        }
        let size = problem.dtype().size() as usize;
        let changed = |input: &&[u8]| {
            let elements = input.chunks(size).map(word).enumerate();
            let changed = elements.map(|(at, bits)| change(bits, at).to_le_bytes());
            changed.flat_map(|bytes| bytes[..size].to_vec()).collect()
        };
        let inputs: Vec<Vec<u8>> = inputs.iter().map(changed).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        right(problem, &inputs)
    }

    fn is(problem: &Problem, class: Class, size: u64) -> bool {
        problem.dtype().class() == class && problem.dtype().size() == size
    }

    fn is_f32(problem: &Problem) -> bool {
        is(problem, Class::Float, 4)
    }

    fn is_half_sum(problem: &Problem) -> bool {
        problem.op().is_sum() && is(problem, Class::Float, 2)
    }

    fn is_i64(problem: &Problem) -> bool {
        is(problem, Class::Signed, 8)
    }

    /// The greatest float32.
    const GREATEST: u64 = 0x7f7f_ffff;

    const FAULTS: &[(&str, Driver)] = &[
        ("writes nothing", |p, i| {
            right(p, i).iter().map(|o| vec![0; o.len()]).collect()
        }),
        ("ignores NaN", |p, i| {
            right(&p.clone().nan(NanPolicy::Ignore), i)
        }),
        ("takes the other end of ties", |p, i| {
            let other = p.clone().select_last_index(!p.selects_last_index());
            right(if p.op().is_index() { &other } else { p }, i)
        }),
        ("has minimum for maximum", |p, i| {
            let (dtype, shape, axes) = (p.dtype(), &p.inputs()[0], p.reduced());
            let axes: Vec<i64> = (0..).zip(axes).filter(|a| *a.1).map(|a| a.0).collect();
            let other = match (p.op().is_index(), p.op().is_max()) {
                _ if p.op().is_elementwise() => Problem::min(dtype, p.inputs()),
                (true, true) => Problem::arg_min(dtype, shape, axes[0]),
                (true, false) => Problem::arg_max(dtype, shape, axes[0]),
                (false, true) => Problem::reduce_min(dtype, shape, &axes),
                (false, false) => Problem::reduce_max(dtype, shape, &axes),
            };
            right(&other.expect("the other operator"), i)
        }),
        ("flushes subnormals", |p, i| {
            let flushed = |e: u64| if e & 0x7f80_0000 == 0 { 0 } else { e };
            on(p, i, is_f32(p), |e, _| flushed(e))
        }),
        ("orders zeros for an index", |p, i| {
            let below = |e| if e == 0x8000_0000 { 0x8000_0001 } else { e };
            on(p, i, is_f32(p), |e, _| below(e))
        }),
        ("drops the last bits of float32", |p, i| {
            on(p, i, is_f32(p), |e, _| e & !1)
        }),
        ("rounds digits of sums toward zero", |p, i| {
            // What is left of a small negative number has no float.
            let small = |e| e >= 0x8000_0000 && e & 0x7f80_0000 < 124 << 23;
            let lost = |e| if small(e) { e & !0xf } else { e };
            on(p, i, p.op().is_sum(), |e, _| lost(e))
        }),
        ("takes subnormal float16 of a sum as 0", |p, i| {
            let flushed = |e| if e & 0x7c00 == 0 { e & 0x8000 } else { e };
            on(p, i, is_half_sum(p), |e, _| flushed(e))
        }),
        ("takes infinite float16 of a sum as numbers", |p, i| {
            let finite = |e| if e & 0x7fff == 0x7c00 { e - 1 } else { e };
            on(p, i, is_half_sum(p), |e, _| finite(e))
        }),
        ("drops what is behind the last whole vec4", |p, i| {
            let kept = |at: usize| at % LEN < LEN - 1;
            on(p, i, is_f32(p), |e, at| if kept(at) { e } else { GREATEST })
        }),
        ("drops what is behind the first 2048 of a row", |p, i| {
            let kept = |at: usize| at % LEN < 2048;
            on(p, i, is_f32(p), |e, at| if kept(at) { e } else { GREATEST })
        }),
        ("has no infinity", |p, i| {
            let is_infinite = |e: u64| e & 0x7fff_ffff == 0x7f80_0000;
            on(p, i, is_f32(p), |e, _| e - u64::from(is_infinite(e)))
        }),
        ("compares the low halves of 64 bits", |p, i| {
            on(p, i, is_i64(p), |e, _| e & 0xffff_ffff)
        }),
        ("compares the high halves of 64 bits", |p, i| {
            on(p, i, is_i64(p), |e, _| e >> 32 << 32)
        }),
        ("compares int64 as uint64", |p, i| {
            on(p, i, is_i64(p), |e, _| e ^ 1 << 63)
        }),
        ("compares int64 as double", |p, i| {
            on(p, i, is_i64(p), |e, _| (e as i64 as f64) as i64 as u64)
        }),
        ("unpacks a word's first element for all of it", |p, i| {
            let size = p.dtype().size() as usize;
            let first = |at: usize| word(&i[0][at * size / 4 * 4..][..size]);
            let packed = size < 4 && i.len() == 1;
            on(p, i, packed, |_, at| first(at))
        }),
        ("drops the sign of 16-bit floats", |p, i| {
            on(p, i, is(p, Class::Float, 2), |e, _| e & 0x7fff)
        }),
        ("does not walk along a broadcast input", |p, i| match i {
            [whole, row] => right(p, &[whole, &vec![row[0]; row.len()]]),
            _ => right(p, i),
        }),
        ("takes the first of several inputs", |p, i| match i {
            [whole, row] => right(p, &[whole, &vec![0; row.len()]]),
            _ => right(p, i),
        }),
        ("takes 8 bits as unsigned", |p, i| {
            on(p, i, is(p, Class::Signed, 1), |e, _| e & 0x7f)
        }),
        ("packs results one place off", |p, i| {
            let mut outputs = right(p, i);
            if !p.op().is_index() {
                let size = p.dtype().size() as usize;
                outputs.iter_mut().for_each(|o| o.rotate_left(size));
            }
            outputs
        }),
    ];

    fn asked(driver: Driver) -> Result<(), Error> {
        for (problem, inputs) in questions()? {
            let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
            judge("a driver", &problem, &inputs, &driver(&problem, &inputs))?;
        }
        Ok(())
    }

    #[test]
    fn every_planted_fault_is_found_and_told() {
        asked(right).expect("what is right is accepted");
        for (name, driver) in FAULTS {
            let found = match asked(*driver) {
                Err(Error::SelfTest { difference, .. }) => *difference,
                other => panic!("a driver that {name} is trusted: {other:?}"),
            };
            // The error names an element; it is not about a wrong number of bytes.
            let told = matches!(&found, VerifyError::Different { output: 0, difference }
                if difference.index.is_some());
            assert!(told, "a driver that {name}: {found}");
        }
    }
}
