//! Compares every adapter with the CPU reference, byte for byte.
//!
//! Each adapter and subject has a trial, with the adapter's name. Without an adapter the trials show as
//! ignored; a missing backend that WGREDUCE_REQUIRE_ADAPTER names is a failure.
//!
//! The seed chooses a turn of types and ways (see `support::ways`), and an adapter takes a share of the turn's cases,
//! by their names (docs/testing.md).

mod devices;
mod elementwise;
mod extremes;
mod limits;
mod measured;
mod onnx;
mod pieces;
mod reductions;
mod sessions;
mod sums;
mod top_k;
mod views;
mod walks;

use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::{Debug, Display};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use support::device::{differs, reduction_differs, tuned};
use support::{
    TURNS, all, drawn, mixed, one_of, seed, seeds, taken_of, taken_problem, tensor, ways,
};
use wgreduce::wgpu::Backend;
use wgreduce::{AdapterChoice, DType, Problem, Reducer, Reduction, adapters_blocking, reference};

type Subject = (&'static str, fn(&Reducer) -> Result<(), Failed>);

const SUBJECTS: &[Subject] = &[
    ("rows_of_every_length", walks::rows),
    ("columns_of_every_width", walks::columns),
    ("walks_of_every_tuning", walks::tunings),
    ("winners_anywhere_in_long_segments", walks::spots),
    ("columns_of_the_worst_element", walks::worst_columns),
    ("segments_of_very_many_elements", walks::long_segments),
    ("forced_walks_and_tunings_agree", walks::forced),
    ("every_type_and_way", reductions::every_type),
    ("limits_change_nothing", limits::least_and_most),
    ("rows_of_which_a_binding_holds_few", limits::wide_rows),
    ("columns_of_matrices_above_a_binding", limits::columns_apart),
    ("submits_of_any_size_change_nothing", limits::submits),
    ("scattered_axes", reductions::scattered),
    ("min_and_max_of_broadcast_inputs", elementwise::broadcast),
    (
        "strided_views_equal_the_reference_on_the_materialised_copy",
        views::views,
    ),
    ("sums_are_exact", sums::sums),
    ("sums_of_random_problems", sums::random),
    ("sums_of_integers_take_every_walk", sums::integers),
    ("sums_of_elements_far_apart", sums::far),
    ("sums_at_the_ends_of_windows", sums::windows),
    ("sums_at_ties", sums::ties),
    ("sums_of_many_partial_sums", sums::many),
    ("sums_a_hundred_times", sums::a_hundred_times),
    ("sums_of_views_and_scattered_axes", sums::views),
    ("sums_under_small_limits", sums::limits),
    ("sums_of_nothing_and_over_no_axes", sums::degenerate),
    ("sums_by_every_way_are_one", sums::every_way),
    ("sums_of_parts_and_streams", sums::parts),
    ("sums_of_several_buffers", sums::pieces),
    ("extremes_in_one_read", extremes::extremes),
    ("top_k_of_rows_and_columns", top_k::contiguous),
    ("top_k_of_equal_elements", top_k::equal),
    ("top_k_of_views", top_k::views),
    ("top_k_of_pieces_streams_and_parts", top_k::pieces),
    ("top_k_a_hundred_times", top_k::a_hundred_times),
    ("min_and_max_of_strided_views", elementwise::of_views),
    ("empty_and_degenerate_shapes", reductions::degenerate),
    ("buffers_of_foreign_size_and_offset", reductions::foreign),
    ("everything_in_one_buffer", reductions::arena),
    ("run_from_host_data", reductions::host),
    ("tensors_of_several_buffers", pieces::several_buffers),
    ("more_than_2_to_the_32_elements", pieces::beyond_32_bits),
    ("shards_merge_to_the_whole", pieces::shards),
    ("streams_equal_the_reference", pieces::streams),
    ("golden_cases", reductions::golden_cases),
    ("official_onnx_cases", onnx::official),
    ("large_shapes", reductions::large),
    ("catalogue_of_measurements", measured::measured),
    ("data_made_on_the_device", measured::made),
    ("frames_of_a_foreign_program", sessions::frames),
    ("eight_threads_on_one_reducer", sessions::threads),
    ("futures_under_any_executor", sessions::futures),
    ("arrays_as_they_lie", sessions::arrays),
    ("a_run_that_takes_too_long", devices::late),
    ("a_device_that_is_lost", devices::lost),
    ("several_devices_of_one_adapter_at_once", devices::several),
];

fn main() {
    let arguments = Arguments::from_args();
    let mut adapters = adapters_blocking().unwrap_or_default();
    adapters.retain(|adapter| adapter.refusal().is_none());
    let mut trials = vec![Trial::test("required_adapters_are_there", {
        let found = adapters.iter().map(|a| a.info.backend.to_string());
        let found: Vec<String> = found.collect();
        move || required(&found)
    })];
    let name = "official_onnx_cases::reference";
    let by_reference = Trial::test(name, onnx::official_by_reference);
    trials.push(by_reference.with_ignored_flag(onnx::folder().is_none()));
    for &(name, subject) in SUBJECTS {
        let missing = name == "official_onnx_cases" && onnx::folder().is_none();
        for adapter in &adapters {
            let (index, backend) = (adapter.index, adapter.info.backend);
            let named = format!("{name}::{}_{}", adapter.info.backend, adapter.info.name);
            let named = named.replace(|c: char| !c.is_alphanumeric() && c != ':', "_");
            let trial = Trial::test(named.clone(), move || {
                // OpenGL's devices share a context, and wgpu panics if a thread waits for it for seconds.
                static OPENGL: Mutex<()> = Mutex::new(());
                let alone = || OPENGL.lock().unwrap_or_else(PoisonError::into_inner);
                let _alone = (backend == Backend::Gl).then(alone);
                let begin = Instant::now();
                // Each trial has its own device, which takes its compiled kernels, gigabytes, with it.
                let adapter = AdapterChoice::Index(index);
                let result = subject(&Reducer::open_blocking(&adapter)?);
                println!("{named}: {:.1} s", begin.elapsed().as_secs_f64());
                result
            });
            trials.push(trial.with_ignored_flag(missing));
        }
        if adapters.is_empty() {
            let skipped = Trial::test(format!("{name}::no_adapter"), || Ok(()));
            trials.push(skipped.with_ignored_flag(true));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Whether the backends that WGREDUCE_REQUIRE_ADAPTER names (`vulkan,gl`) have been found.
fn required(found: &[String]) -> Result<(), Failed> {
    let wanted = std::env::var("WGREDUCE_REQUIRE_ADAPTER").unwrap_or_default();
    let missing = |name: &&str| !name.is_empty() && !found.iter().any(|f| f == name);
    match wanted.split(',').find(missing) {
        Some(name) => Err(format!("no {name} adapter; found: {found:?}").into()),
        None => Ok(()),
    }
}

/// The second backend of the first driver and the third driver take fewer cases than the first driver, by this factor,
/// unless a run takes all.
const OTHERS: u64 = 4;

/// Whether an adapter takes a problem. `place` tells apart who asks, and the tuning if it is not the adapter's own.
fn takes(reducer: &Reducer, place: impl Debug, problem: &Problem) -> bool {
    takes_one_of(reducer, 1, place, problem, ())
}

/// [`takes`] where a run of all cases is content with one of `few`, and for one of several uses of a problem.
fn takes_one_of(
    reducer: &Reducer,
    few: u64,
    place: impl Debug,
    problem: &Problem,
    used: impl Debug,
) -> bool {
    let (one_of, driver) = share(reducer);
    taken_problem(one_of * few, (driver, place), problem, used)
}

/// Whether an adapter takes a case that is no problem; see [`takes_one_of`].
fn takes_case(reducer: &Reducer, few: u64, case: impl Debug) -> bool {
    let (one_of, driver) = share(reducer);
    taken_of((one_of * few) as f64, (driver, case))
}

/// One of how many cases an adapter takes, and what tells its driver apart: each takes other cases.
fn share(reducer: &Reducer) -> (u64, (Backend, bool)) {
    let info = reducer.adapter_info();
    let third = info.name.contains("SwiftShader");
    let others = third || info.backend == Backend::Gl;
    let fewer = if others && !all() { OTHERS } else { 1 };
    (one_of() * fewer, (info.backend, third))
}

/// The turn of types and ways that every subject takes.
fn turn() -> u64 {
    seed() % TURNS
}

/// Checks a share of a turn's ways to reduce dimension 1 of a `[outer, len, inner]` tensor. `place` tells apart who asks.
fn check(
    reducer: &Reducer,
    place: &str,
    dtype: DType,
    shape: [u64; 3],
    turn: u64,
) -> Result<(), Failed> {
    let tuning = &reducer.caps().tuning;
    let mut ways = ways(dtype, &shape, 1, turn)?;
    ways.retain(|way| takes(reducer, (place, tuning), way));
    check_all(reducer, &ways, shape)
}

/// Checks problems over dimension 1 of a tensor, each with data of every kind for every segment.
fn check_all(reducer: &Reducer, problems: &[Problem], shape: [u64; 3]) -> Result<(), Failed> {
    for problem in problems {
        let dtype = problem.dtype();
        // Most data begins at a vec4, some an element later.
        let offset = match drawn(problem) % 3 {
            1 => dtype.size(),
            _ => 0,
        };
        let data = seeds(shape).map(|seed| tensor(dtype, shape, seed));
        check_data(reducer, problem, offset, data)?;
    }
    Ok(())
}

/// Checks a problem of one input with different data, which begins `offset` bytes into a buffer.
fn check_data(
    reducer: &Reducer,
    problem: &Problem,
    offset: u64,
    data: impl Iterator<Item = Vec<u8>>,
) -> Result<(), Failed> {
    let reduction = reducer.prepare_blocking(problem)?;
    for data in data {
        if let Some(e) = reduction_differs(reducer, &reduction, &[&data], offset) {
            return Err(e.into());
        }
    }
    Ok(())
}

fn same(reducer: &Reducer, problem: &Problem, inputs: &[&[u8]], offset: u64) -> Result<(), Failed> {
    match differs(reducer, problem, inputs, offset) {
        None => Ok(()),
        Some(difference) => Err(difference.into()),
    }
}

/// Compares a run on host data with the reference.
fn same_from_host(reduction: &Reduction, inputs: &[&[u8]]) -> Result<(), Failed> {
    let problem = reduction.problem();
    let told = |e: &dyn Display| format!("{problem} from the host: {e}");
    let outputs = reduction.run_bytes_blocking(inputs);
    let outputs = outputs.map_err(|e| told(&e))?;
    Ok(reference::verify(problem, inputs, &outputs).map_err(|e| told(&e))?)
}

/// Data for every input of a problem, in which each element may decide the result.
fn data_for(problem: &Problem, seed: u64) -> Vec<Vec<u8>> {
    let size = problem.dtype().size();
    let elements = (0..problem.inputs().len()).map(|i| problem.input_bytes(i) / size);
    let data = elements.zip(seed..);
    data.map(|(n, seed)| mixed(problem.dtype(), n, seed))
        .collect()
}

fn slices(data: &[Vec<u8>]) -> Vec<&[u8]> {
    data.iter().map(Vec::as_slice).collect()
}

/// The same device with windows of the least size and three workgroups a dimension.
fn tiny(reducer: &Reducer) -> Reducer {
    let least = reducer.caps().offset_alignment + 16;
    let small = tuned(reducer, |t| (t.workgroup, t.slice_bytes) = (16, 64));
    small.with_caps(small.caps().lowered(least, 3))
}
