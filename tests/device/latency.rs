//! A small argmax over one row of logits: its calls to the device are counted. The times are in
//! `benches/record`.

use super::noop::Noop;
use super::steady::count;
use support::grid::CLASSES;
use wgreduce::wgpu::{Features, PipelineCacheDescriptor};
use wgreduce::{AdapterClass, DType, Plan, Problem, Reducer, Tuning};
use wgreduce_tool::memory::Costs;

fn logits(n: u64) -> Problem {
    Problem::arg_max(DType::F32, &[1, n], 1).expect("a problem")
}

fn tuned(reducer: &Reducer, class: AdapterClass) -> Reducer {
    support::device::tuned(reducer, |t| *t = Tuning::of(class))
}

#[test]
fn a_small_argmax_is_two_dispatches_in_one_submit() {
    // On a CPU one invocation walks each slice alone, and eight invocations finish the slices.
    for (class, barriers) in CLASSES.into_iter().zip([3, 11, 11]) {
        let noop = Noop::new();
        let reducer = tuned(&noop.reducer, class);
        let problem = logits(128 << 10);
        let plan = Plan::new(&problem, reducer.caps()).expect("a plan");
        let costs = Costs::of(&problem, &plan).expect("dispatches");
        let planned = (costs.dispatches, costs.barriers);
        assert_eq!(planned, (2, barriers), "{class:?}");
        assert_eq!(plan.parts().len(), 1);

        let mut reduction = None;
        let calls = noop.calls_of(|| reduction = reducer.prepare_blocking(&problem).ok());
        assert_eq!(count(&calls, "CreateComputePipeline"), 2, "{calls:?}");
        assert_eq!(count(&calls, "CreateShaderModule"), 2);
        let reduction = reduction.expect("prepared");
        let input = vec![0u8; 512 << 10];
        let run = || drop(reduction.run_bytes_blocking(&[&input]).expect("a run"));
        run();
        assert_eq!(noop.calls_of(run), ["Submit"], "{class:?}");
    }
}

#[test]
fn other_numbers_of_logits_compile_next_to_nothing() {
    for class in CLASSES {
        let noop = Noop::new();
        let reducer = tuned(&noop.reducer, class);
        let compiled = |numbers: &[u64]| {
            let prepare = |&n: &u64| drop(reducer.prepare_blocking(&logits(n)).expect("prepared"));
            let calls = noop.calls_of(|| numbers.iter().for_each(prepare));
            count(&calls, "CreateComputePipeline")
        };
        assert_eq!(compiled(&[128 << 10]), 2, "{class:?}");
        assert_eq!(compiled(&[70_000, 129_280, 151_936, 256_000, 500_000]), 0);
        // A kernel finishes few partial results, and on a GPU another one finishes many.
        let few = compiled(&[9000, 20_000, 32_000, 50_257]);
        let many = compiled(&[600_000, 1 << 21, (1 << 24) + 1]);
        // An odd length, and fewer partial results; on a GPU also longer blocks, even and odd, and more partial results.
        let gpu = class != AdapterClass::Software;
        assert_eq!((few, many), (2, if gpu { 3 } else { 0 }), "{class:?}");
    }
}

#[test]
fn what_is_compiled_goes_through_the_callers_cache() {
    let noop = Noop::with(Features::PIPELINE_CACHE);
    let descriptor = PipelineCacheDescriptor {
        label: None,
        data: None,
        fallback: true,
    };
    #[expect(unsafe_code)]
    // SAFETY: there is no data.
    let cache = unsafe { noop.reducer.device().create_pipeline_cache(&descriptor) };
    let cached = noop.reducer.with_pipeline_cache(cache);
    let uses = || noop.trace().matches("cache: Some(").count();
    let prepare = |reducer: &Reducer, n| {
        let reduction = reducer.prepare_blocking(&logits(n));
        drop(reduction.expect("prepared"));
    };
    prepare(&noop.reducer, 10);
    assert_eq!(uses(), 0);
    let calls = noop.calls_of(|| prepare(&cached, 128 << 10));
    assert_eq!(count(&calls, "CreateComputePipeline"), 2);
    assert_eq!(uses(), 2);
}
