//! Every adapter against the CPU reference, byte for byte.
//!
//! A trial per adapter and subject, with the adapter's name. Without an adapter the trials show
//! as ignored; a backend that WGREDUCE_REQUIRE_ADAPTER names and that is not there is a failure.

#[path = "../common/mod.rs"]
mod common;
mod devices;
mod elementwise;
mod extremes;
#[path = "../golden/mod.rs"]
mod golden;
mod limits;
mod measured;
mod pieces;
mod reductions;
mod sessions;
mod views;

use common::{differs, tensor};
use libtest_mimic::{Arguments, Failed, Trial};
use wgreduce::{AdapterChoice, DType, Problem, ProblemError, Reducer, Tuning, adapters_blocking};

type Subject = (&'static str, fn(&Reducer) -> Result<(), Failed>);

const SUBJECTS: &[Subject] = &[
    ("rows_of_every_length_and_type", reductions::rows),
    ("columns_of_every_width_and_type", reductions::columns),
    ("short_rows_in_tiles", reductions::short_rows),
    ("axes_of_few_elements", reductions::short_axes),
    ("middle_axes", reductions::middle_axes),
    ("forced_families_and_tunings_agree", limits::forced),
    ("limits_change_nothing", limits::least_and_most),
    ("rows_of_which_a_binding_holds_few", limits::wide_rows),
    ("submits_of_any_size_change_nothing", limits::submits),
    ("scattered_axes", reductions::scattered),
    ("min_and_max_of_broadcast_inputs", elementwise::broadcast),
    ("values_beside_indices", reductions::values),
    (
        "strided_views_equal_the_reference_on_the_materialised_copy",
        views::views,
    ),
    ("extremes_in_one_read", extremes::extremes),
    ("min_and_max_of_strided_views", elementwise::of_views),
    ("options", reductions::options),
    ("empty_and_degenerate_shapes", reductions::degenerate),
    ("buffers_of_foreign_size_and_offset", reductions::foreign),
    ("run_from_host_data", reductions::host),
    ("tensors_of_several_buffers", pieces::several_buffers),
    ("more_than_2_to_the_32_elements", pieces::beyond_32_bits),
    ("shards_merge_to_the_whole", pieces::shards),
    ("streams_equal_the_reference", pieces::streams),
    ("golden_cases", reductions::golden_cases),
    ("large_shapes", reductions::large),
    ("catalogue_of_measurements", measured::measured),
    ("frames_of_a_foreign_program", sessions::frames),
    ("eight_threads_on_one_reducer", sessions::threads),
    ("futures_under_any_executor", sessions::futures),
    #[cfg(feature = "ndarray")]
    ("arrays_as_they_lie", sessions::arrays),
    ("a_run_that_takes_too_long", devices::late),
    ("a_device_that_is_lost", devices::lost),
    ("several_devices_of_one_adapter_at_once", devices::several),
];

fn main() {
    let arguments = Arguments::from_args();
    let adapters = adapters_blocking().unwrap_or_default();
    let mut trials = vec![Trial::test("required_adapters_are_there", {
        let found: Vec<String> = adapters
            .iter()
            .map(|a| a.info.backend.to_string())
            .collect();
        move || required(&found)
    })];
    for &(name, subject) in SUBJECTS {
        for adapter in &adapters {
            let index = adapter.index;
            let named = format!("{name}::{}_{}", adapter.info.backend, adapter.info.name);
            let named = named.replace(|c: char| !c.is_alphanumeric() && c != ':', "_");
            trials.push(Trial::test(named, move || {
                // A device of its own: what it has compiled, gigabytes in all, goes with it.
                let adapter = AdapterChoice::Index(index);
                subject(&Reducer::open_blocking(&adapter)?)
            }));
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

/// The ways to reduce a dimension.
fn variants(dtype: DType, shape: &[u64], axis: i64) -> Result<Vec<Problem>, ProblemError> {
    Ok(vec![
        Problem::arg_min(dtype, shape, axis)?,
        Problem::arg_max(dtype, shape, axis)?.keepdims(false)?,
        Problem::arg_min(dtype, shape, axis)?.select_last_index(true)?,
        Problem::arg_max(dtype, shape, axis)?.select_last_index(true)?,
        Problem::reduce_min(dtype, shape, &[axis])?,
        Problem::reduce_max(dtype, shape, &[axis])?.keepdims(false)?,
        Problem::arg_max_abs(dtype, shape, axis)?,
        Problem::arg_max_abs(dtype, shape, axis)?.select_last_index(true)?,
        Problem::reduce_max_abs(dtype, shape, &[axis])?,
    ])
}

/// Checks all ways over a `[outer, len, inner]` tensor.
fn check(reducer: &Reducer, dtype: DType, shape: [u64; 3], seed: u64) -> Result<(), Failed> {
    let input = tensor(dtype, shape, seed);
    for (i, problem) in (0..).zip(variants(dtype, &shape, 1)?) {
        // Most in whole vec4, some an element further.
        let offset = if i % 3 == 2 { dtype.size() } else { 0 };
        same(reducer, &problem, &[&input], offset)?;
    }
    Ok(())
}

fn same(reducer: &Reducer, problem: &Problem, inputs: &[&[u8]], offset: u64) -> Result<(), Failed> {
    match differs(reducer, problem, inputs, offset) {
        None => Ok(()),
        Some(difference) => Err(difference.into()),
    }
}

/// Data for every input of a problem.
fn data_for(problem: &Problem) -> Vec<Vec<u8>> {
    let size = problem.dtype().size();
    let elements = (0..problem.inputs().len()).map(|i| problem.input_bytes(i) / size);
    let data = elements.zip(0..);
    data.map(|(n, seed)| tensor(problem.dtype(), [n, 1, 1], seed))
        .collect()
}

fn slices(data: &[Vec<u8>]) -> Vec<&[u8]> {
    data.iter().map(Vec::as_slice).collect()
}

/// A reducer on the same device with another tuning.
fn tuned(reducer: &Reducer, change: impl Fn(&mut Tuning)) -> Reducer {
    let mut tuning = reducer.caps().tuning.clone();
    change(&mut tuning);
    reducer.with_caps(reducer.caps().tuned(tuning))
}

/// With windows of the least size and three workgroups a dimension.
fn tiny(reducer: &Reducer) -> Reducer {
    let least = reducer.caps().offset_alignment + 16;
    let small = tuned(reducer, |t| (t.workgroup, t.slice_bytes) = (16, 64));
    small.with_caps(small.caps().lowered(least, 3))
}
