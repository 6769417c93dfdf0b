//! One sum in five ways: one by one, in NumPy's order, by a plain shader with few and with many workgroups, and by this
//! library. The plain ways round after every addition, so their answers depend on the order; the library's answer is
//! the exact sum, rounded once, on every adapter.
//!
//! ```sh
//! cargo run --example exact_sum
//! ```

use std::error::Error;

use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{AdapterChoice, DType, Element, Problem, Reducer, adapters_blocking, reference};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PAIRS: usize = 1 << 19;
/// The sum that is left when all pairs have cancelled.
const REST: f32 = 1.5;

/// Each invocation adds elements at a stride, and a workgroup adds its invocations' sums as a tree.
const PLAIN: &str = "
@group(0) @binding(0) var<storage, read> src: array<f32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn plain(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    var sum = 0.0;
    for (var i = group.x * 64u + lid; i < arrayLength(&src); i += groups.x * 64u) {
        sum += src[i];
    }
    sums[lid] = sum;
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lid < half { sums[lid] += sums[lid + half]; }
    }
    if lid == 0u { dst[group.x] = sums[0]; }
}
";

fn main() -> Result<()> {
    let data = data();
    let problem = Problem::reduce_sum(DType::F32, &[data.len() as u64], &[])?.keepdims(false);
    let outputs = reference::evaluate(&problem, &[f32::bytes(&data)])?;
    let exact = f32::from_bytes(&outputs[0])[0];
    assert_eq!(exact, REST, "the pairs cancel");

    println!("{problem}: {PAIRS} pairs that cancel, and {REST}");
    println!("{:<38} {:>14} {:>14}  on", "who", "sum", "off by");
    let show = |who: &str, sum: f32, device: &str| {
        let off = f64::from(sum) - f64::from(exact);
        println!("{who:<38} {sum:>14} {off:>14}  {device}");
        sum
    };
    show("CPU reference", exact, "cpu");
    let one_by_one = data.iter().fold(0.0, |sum, x| sum + x);
    let mut plain = vec![
        show("one by one", one_by_one, "cpu"),
        show("NumPy's order", pairwise(&data), "cpu"),
    ];
    for adapter in adapters_blocking()? {
        let device = adapter.to_string();
        let reducer = match Reducer::open_blocking(&AdapterChoice::Index(adapter.index)) {
            Ok(reducer) => reducer,
            Err(error) => {
                println!("not opened: {device}: {error}");
                continue;
            }
        };
        for groups in [16, 256] {
            let who = format!("a plain shader, {groups} workgroups");
            plain.push(show(&who, plain_sum(&reducer, &data, groups)?, &device));
        }
        let ours: Vec<f32> = reducer.run_blocking(&problem, &data)?;
        show("wgreduce", ours[0], &device);
        assert_eq!(ours[0].to_bits(), exact.to_bits(), "{device}");
    }

    plain.sort_by(f32::total_cmp);
    plain.dedup();
    assert!(plain.len() > 1, "the plain ways agree on {plain:?}");
    let answers = plain.len();
    println!("the plain ways give {answers} answers, the library one");
    Ok(())
}

/// Amounts of all sizes, each with both signs, and `REST`; shuffled, the same in every run.
fn data() -> Vec<f32> {
    let mut state = 1u64;
    let mut draw = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        state >> 40
    };
    let mut data = vec![REST];
    for _ in 0..PAIRS {
        // A mantissa of 24 bits and one of 24 exponents.
        let amount = (draw() as f32) * f32::powi(2.0, draw() as i32 % 24 - 20);
        data.extend([amount, -amount]);
    }
    for i in (1..data.len()).rev() {
        data.swap(i, draw() as usize % (i + 1));
    }
    data
}

/// Adds as NumPy does along a contiguous axis (`@TYPE@_pairwise_sum` in numpy/_core/src/umath/loops_utils.h.src):
/// blocks of at most 128 elements with eight accumulators, and the blocks in pairs.
fn pairwise(data: &[f32]) -> f32 {
    let n = data.len();
    if n < 8 {
        return data.iter().fold(-0.0, |sum, x| sum + x);
    }
    if n > 128 {
        let (front, back) = data.split_at(n / 2 - n / 2 % 8);
        return pairwise(front) + pairwise(back);
    }
    let (eights, rest) = data.as_chunks::<8>();
    let mut r = eights[0];
    for eight in &eights[1..] {
        r.iter_mut().zip(eight).for_each(|(r, x)| *r += x);
    }
    let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    rest.iter().fold(sum, |sum, x| sum + x)
}

/// The sum by the plain shader: over the data with `groups` workgroups, then over their sums with one.
fn plain_sum(reducer: &Reducer, data: &[f32], groups: u32) -> Result<f32> {
    let device = reducer.device();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(PLAIN.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("plain"),
        compilation_options: Default::default(),
        cache: None,
    });
    let buffer = |words: u32, usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * u64::from(words),
            usage,
            mapped_at_creation: false,
        })
    };
    let src = buffer(
        data.len() as u32,
        BufferUsages::STORAGE | BufferUsages::COPY_DST,
    );
    reducer.queue().write_buffer(&src, 0, f32::bytes(data));
    let sums = buffer(groups, BufferUsages::STORAGE);
    let sum = buffer(1, BufferUsages::STORAGE | BufferUsages::COPY_SRC);
    let back = buffer(1, BufferUsages::MAP_READ | BufferUsages::COPY_DST);

    let mut encoder = device.create_command_encoder(&Default::default());
    for (buffers, groups) in [([&src, &sums], groups), ([&sums, &sum], 1)] {
        let entry = |i: usize| wgpu::BindGroupEntry {
            binding: i as u32,
            resource: buffers[i].as_entire_binding(),
        };
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[entry(0), entry(1)],
        });
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&sum, 0, &back, 0, 4);
    encoder.map_buffer_on_submit(&back, wgpu::MapMode::Read, .., |_| ());
    reducer.queue().submit([encoder.finish()]);
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = back.slice(..).get_mapped_range()?;
    Ok(f32::from_bytes(&view)[0])
}
