//! Keeps the kernels that a driver compiled for the next process, with wgpu's pipeline cache, which Vulkan has. Prints
//! the time of a reduction's first use; run it twice with the same file.
//!
//! ```sh
//! cargo run --example pipeline_cache -- FILE
//! ```

use std::error::Error;
use std::time::Instant;

use wgreduce::wgpu::{self, Features, PipelineCacheDescriptor};
use wgreduce::{DType, Problem, Reducer};

const LOGITS: u64 = 128 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args_os().nth(1);
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    // Some of Mesa's software drivers crash a process that unloads them.
    let instance = Box::leak(Box::new(instance));
    let adapter = pollster::block_on(instance.request_adapter(&Default::default()))?;
    println!("device: {}", adapter.get_info().name);
    let opened = adapter.request_device(&wgpu::DeviceDescriptor {
        required_features: adapter.features() & Features::PIPELINE_CACHE,
        ..Default::default()
    });
    let (device, queue) = pollster::block_on(opened)?;
    let mut reducer = Reducer::new(&device, &queue)?;
    let mut cache = None;
    if device.features().contains(Features::PIPELINE_CACHE) {
        // If there is no file yet, or one of another driver, the cache is empty.
        let data = file.as_ref().and_then(|file| std::fs::read(file).ok());
        println!("cache: {} bytes", data.as_ref().map_or(0, Vec::len));
        #[expect(unsafe_code)]
        // SAFETY: the file holds the data of a cache of this program.
        let made = unsafe {
            device.create_pipeline_cache(&PipelineCacheDescriptor {
                label: None,
                data: data.as_deref(),
                fallback: true,
            })
        };
        reducer = reducer.with_pipeline_cache(made.clone());
        cache = Some(made);
    } else {
        println!("cache: this adapter has none");
    }

    let logits: Vec<f32> = (0..LOGITS).map(|i| (i * 7919 % LOGITS) as f32).collect();
    let problem = Problem::arg_max(DType::F32, &[1, LOGITS], 1)?;
    let start = Instant::now();
    let reduction = reducer.prepare_blocking(&problem)?;
    let compiled = start.elapsed();
    let winner: Vec<i64> = reduction.run_blocking(&logits)?;
    println!(
        "prepared in {compiled:.2?}, first result after {:.2?}",
        start.elapsed()
    );
    let start = Instant::now();
    assert_eq!(reduction.run_blocking::<f32, i64>(&logits)?, winner);
    println!("the next after {:.2?}", start.elapsed());
    if logits[winner[0] as usize] != (LOGITS - 1) as f32 {
        return Err(format!("wrong: {winner:?}").into());
    }

    if let Some((file, data)) = file.zip(cache.and_then(|cache| cache.get_data())) {
        // A whole file or none: a half-written file must not be read.
        let mut beside = file.clone();
        beside.push(".new");
        std::fs::write(&beside, data)?;
        std::fs::rename(beside, file)?;
    }
    Ok(())
}
