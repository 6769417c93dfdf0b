//! Runs the fuzz targets without a fuzzer, on any toolchain: every seed, then mutations of them.
//!
//! Each target runs for a second, with the same mutations every time; WGREDUCE_FUZZ_SECONDS=60 runs it longer,
//! and WGREDUCE_SEED gives others. An input that fails is kept as a seed. The memory that an input may take is
//! bounded by its length, and its time by seconds. With coverage to guide it:
//! `cargo +nightly fuzz run npy fuzz/corpus/npy fuzz/seeds/npy`.

#[path = "../fuzz/targets/npy.rs"]
mod npy;
#[path = "../fuzz/targets/onnx_model.rs"]
mod onnx_model;
#[path = "../fuzz/targets/partial.rs"]
mod partial;
#[path = "../fuzz/targets/problem_plan.rs"]
mod problem_plan;
#[path = "../fuzz/targets/tensor.rs"]
mod tensor_proto;
#[path = "../fuzz/targets/tool.rs"]
mod tool;

use cap::Cap;
use std::alloc::System;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use support::{Bits, root};
use tool::{failure, header, tensor};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Least mutations of a target, however slow the machine.
const LEAST: u64 = 100;

/// Mutations grow no longer than this.
const LONGEST: usize = 4096;

/// The bytes that a target may allocate for an input of so many bytes.
type Room = fn(usize) -> usize;

fn drive(name: &str, survive: fn(&[u8]), room: Room) {
    // The allocator counts for the whole process, so targets run one at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seeds = seeds(name);
    for seed in &seeds {
        once(survive, seed, room);
    }
    let seconds = std::env::var("WGREDUCE_FUZZ_SECONDS").unwrap_or("1".into());
    let seconds = Duration::from_secs_f64(seconds.parse().expect("a number of seconds"));
    let begin = Instant::now();
    let mut bits = Bits::new(name.len() as u64 ^ support::seed() << 8);
    let mut runs = 0u64;
    while runs < LEAST || begin.elapsed() < seconds {
        let input = mutated(&seeds, &mut bits);
        if let Err(failure) = catch_unwind(|| once(survive, &input, room)) {
            let kept = root("fuzz/seeds").join(name).join("failed");
            std::fs::write(&kept, &input).expect("a new seed");
            println!("kept as {}", kept.display());
            resume_unwind(failure);
        }
        runs += 1;
    }
    println!("{name}: {} seeds, {runs} mutations", seeds.len());
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = root("fuzz/seeds").join(name);
    let files = std::fs::read_dir(&folder).expect("a folder of seeds");
    let mut files: Vec<_> = files.map(|file| file.expect("a seed").path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{}", folder.display());
    let read = |file| std::fs::read(file).expect("a seed");
    files.iter().map(read).collect()
}

fn once(survive: fn(&[u8]), input: &[u8], room: Room) {
    let most = room(input.len());
    let run = || {
        let (begin, before) = (Instant::now(), MEMORY.total_allocated());
        let survived = catch_unwind(|| survive(input)).is_ok();
        (survived, MEMORY.total_allocated() - before, begin.elapsed())
    };
    let fits = |&(survived, allocated, time): &(bool, usize, Duration)| {
        survived && allocated <= most && time < Duration::from_secs(5)
    };
    let first = run();
    // The test harness allocates and takes time, too: an input that exceeds a bound gets a second try.
    if fits(&first) || first.0 && fits(&run()) {
        return;
    }
    let (survived, allocated, time) = first;
    let input: String = input.iter().map(|b| format!("{b:02x}")).collect();
    panic!("survived: {survived}, in {time:?}, {allocated} of {most} bytes: {input}");
}

/// A seed with some changes, of all the kinds that readers stumble over.
fn mutated(seeds: &[Vec<u8>], bits: &mut Bits) -> Vec<u8> {
    let mut below = |n: usize| bits.draw() as usize % n.max(1);
    let mut input = seeds[below(seeds.len())].clone();
    for _ in 0..=below(6) {
        let at = below(input.len() + 1);
        let rest = input.len() - at;
        match below(9) {
            0 if rest > 0 => input[at] ^= 1 << below(8),
            1 if rest > 0 => input[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
            2 if rest > 0 => input[at] = below(256) as u8,
            3 => input.truncate(at),
            4 => drop(input.drain(at..at + below(rest.min(16) + 1))),
            5 => {
                let size = 1 << below(4);
                let number = [0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 62, u64::MAX >> 1][below(7)];
                let number = number.to_le_bytes();
                let end = (at + size).min(input.len());
                input.splice(at..end, number[..size].iter().copied());
            }
            6 => {
                let other = &seeds[below(seeds.len())];
                let from = below(other.len() + 1);
                let count = below((other.len() - from).min(64) + 1);
                let piece = other[from..from + count].to_vec();
                input.splice(at..at, piece);
            }
            7 => {
                let count = below(rest.min(64) + 1);
                let piece = input[at..at + count].to_vec();
                input.splice(at..at, piece);
            }
            _ => {
                let count = below(32);
                let noise: Vec<u8> = (0..count).map(|_| below(256) as u8).collect();
                input.splice(at..at, noise);
            }
        }
    }
    input.truncate(LONGEST);
    input
}

#[test]
fn npy_files_are_survived() {
    // Several reads may each allocate for a header of 64 KiB that is not there.
    drive("npy", npy::survive, |bytes| (1 << 20) + 64 * bytes);
}

#[test]
fn onnx_models_are_survived() {
    // A node's result may take 64 KiB, and a message of two bytes is a whole struct in memory.
    drive("onnx_model", onnx_model::survive, |bytes| {
        (1 << 22) + 2048 * bytes
    });
}

#[test]
fn tensors_are_survived() {
    drive("tensor", tensor_proto::survive, |bytes| {
        (1 << 16) + 256 * bytes
    });
}

#[test]
fn partial_results_are_survived() {
    drive("partial", partial::survive, |bytes| (1 << 16) + 64 * bytes);
}

#[test]
fn seeds_of_partial_results_can_be_read() {
    for seed in seeds("partial") {
        let read = wgreduce::Partial::from_bytes(&seed);
        assert!(read.is_ok(), "{:?}", read.err());
    }
}

#[test]
fn problems_and_plans_are_survived() {
    // A plan has a bound on its passes, whatever the numbers are.
    drive("problem_plan", problem_plan::survive, |bytes| {
        (1 << 30) + 64 * bytes
    });
}

#[test]
fn what_takes_too_much_or_panics_is_told_with_its_input() {
    let room: Room = |bytes| (1 << 16) + bytes;
    let greedy: fn(&[u8]) = |data| drop(Vec::<u8>::with_capacity(data.len() << 20));
    let panics: fn(&[u8]) = |data| assert!(data.is_empty());
    for survive in [greedy, panics] {
        let caught = catch_unwind(|| once(survive, &[0xab, 0xcd], room)).unwrap_err();
        let text = caught.downcast_ref::<String>().expect("a text");
        assert!(text.contains("abcd"), "{text}");
    }
}
