//! burn's minima and sums on its wgpu backend, for `peer_burn.py`, which sends lines on stdin:
//!
//! - `hello`: answered by the peer's name and the device's, with a tab between
//! - `job OP DTYPE AXIS SHAPE` and the data: computes once; answered by `DTYPE LENGTH` and as many
//!   bytes
//! - `make OP DTYPE AXIS SHAPE`: a job on noise that the device makes; computes once; answered by `made`
//! - `time CALLS`: runs the job so often, then waits; answered by the nanoseconds of all of them
//!
//! Whatever fails panics: the other side reads stderr and starts a new process.

use std::io::{self, BufRead, Read, Write};
use std::time::Instant;

use burn::tensor::kind::Ordered;
use burn::tensor::{DType, Device, DeviceKind, Distribution, Float, Int, Tensor, TensorData};

/// Runs once; waits only where the result is asked for.
type Job = Box<dyn Fn(bool) -> Option<TensorData>>;

fn main() -> io::Result<()> {
    // CUBECL_WGPU_DEFAULT_DEVICE chooses another adapter, as in any program that uses burn.
    let device = Device::wgpu(DeviceKind::DefaultDevice);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut job: Option<Job> = None;
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["hello"] => {
                let device = device.identity().map_or("?".into(), |d| d.name);
                writeln!(output, "{}\t{device}", name())?;
            }
            ["job", op, dtype, axis, shape] => {
                drop(job.take()); // Its memory first.
                let (dtype, shape) = (parse(dtype), lengths(shape));
                let mut bytes = vec![0; shape.iter().product::<usize>() * dtype.size()];
                input.read_exact(&mut bytes)?;
                let rank = shape.len();
                let data = TensorData::from_bytes_vec(bytes, shape, dtype);
                let next = prepare(data, rank, op, axis.parse().unwrap(), &device);
                let result = next(true).unwrap();
                let bytes = result.as_bytes();
                writeln!(output, "{} {}", print(result.dtype()), bytes.len())?;
                output.write_all(bytes)?;
                job = Some(next);
            }
            ["make", op, dtype, axis, shape] => {
                drop(job.take());
                let (dtype, shape) = (parse(dtype), lengths(shape));
                assert!(dtype.is_float(), "floats alone are made here");
                let axis = axis.parse().unwrap();
                let next = match shape[..] {
                    [a, b] => made([a, b], dtype, op, axis, &device),
                    [a, b, c] => made([a, b, c], dtype, op, axis, &device),
                    _ => panic!("only 2 and 3 dimensions here"),
                };
                next(false);
                device.sync().unwrap();
                writeln!(output, "made")?;
                job = Some(next);
            }
            ["time", calls] => {
                let job = job.as_ref().expect("a job comes first");
                let start = Instant::now();
                for _ in 0..calls.parse::<u64>().unwrap() {
                    job(false);
                }
                device.sync().unwrap();
                writeln!(output, "{}", start.elapsed().as_nanos())?;
            }
            _ => panic!("unknown request {line:?}"),
        }
        output.flush()?;
        line.clear();
    }
    Ok(())
}

fn name() -> String {
    let version = option_env!("BURN_VERSION").unwrap_or("?");
    let compiler = if cfg!(feature = "spirv") {
        "SPIR-V"
    } else {
        "WGSL"
    };
    format!("burn {version} {compiler}")
}

fn lengths(shape: &str) -> Vec<usize> {
    shape.split(',').map(|n| n.parse().unwrap()).collect()
}

fn made<const D: usize>(
    shape: [usize; D],
    dtype: DType,
    op: &str,
    axis: usize,
    device: &Device,
) -> Job {
    let even = Distribution::Uniform(-0.5, 0.5);
    let tensor = Tensor::<D, Float>::random(shape, even, (device, dtype));
    job(tensor, op, axis)
}

/// burn's tensors have their rank and their kind in their types.
fn prepare(data: TensorData, rank: usize, op: &str, axis: usize, device: &Device) -> Job {
    match (rank, data.dtype().is_float()) {
        (2, true) => typed::<2, Float>(data, op, axis, device),
        (2, false) => typed::<2, Int>(data, op, axis, device),
        (3, true) => typed::<3, Float>(data, op, axis, device),
        (3, false) => typed::<3, Int>(data, op, axis, device),
        _ => panic!("rank {rank}: only 2 and 3 here"),
    }
}

fn typed<const D: usize, K>(data: TensorData, op: &str, axis: usize, device: &Device) -> Job
where
    K: Ordered + 'static,
{
    let dtype = data.dtype();
    let tensor = Tensor::<D, K>::from_data(data, (device, dtype));
    // Uploads are lazy too.
    device.sync().unwrap();
    job(tensor, op, axis)
}

fn job<const D: usize, K>(tensor: Tensor<D, K>, op: &str, axis: usize) -> Job
where
    K: Ordered + 'static,
{
    let op = op.to_owned();
    Box::new(move |read| {
        let x = tensor.clone();
        match &op[..] {
            "argmin" => finish(x.argmin(axis), read),
            "reduce-sum" => finish(x.sum_dim(axis), read),
            _ => finish(x.min_dim(axis), read),
        }
    })
}

fn finish<const D: usize, K: Ordered>(result: Tensor<D, K>, read: bool) -> Option<TensorData> {
    read.then(|| result.into_data())
}

fn parse(name: &str) -> DType {
    let mut types = TYPES.into_iter();
    let found = types.find(|(n, _)| *n == name);
    found.unwrap_or_else(|| panic!("burn has no {name}")).1
}

fn print(dtype: DType) -> &'static str {
    let found = TYPES.into_iter().find(|(_, d)| *d == dtype);
    found.unwrap_or_else(|| panic!("unexpected {dtype:?}")).0
}

const TYPES: [(&str, DType); 12] = [
    ("float64", DType::F64),
    ("float32", DType::F32),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("int64", DType::I64),
    ("int32", DType::I32),
    ("int16", DType::I16),
    ("int8", DType::I8),
    ("uint64", DType::U64),
    ("uint32", DType::U32),
    ("uint16", DType::U16),
    ("uint8", DType::U8),
];
