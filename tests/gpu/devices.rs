//! What can happen to a device: a run that takes too long, a loss, many devices at once.

use super::reductions::ramp;
use libtest_mimic::Failed;
use std::time::Duration;
use support::device::buffer;
use wgreduce::wgpu::{Backend, BufferUsages};
use wgreduce::{
    AdapterChoice, Buffers, DType, Error, Problem, Reducer, Reduction, adapters_blocking,
};

/// A run beyond its timeout is an error at once; its work goes on and harms no later run.
pub fn late(reducer: &Reducer) -> Result<(), Failed> {
    let n = 1 << 26;
    let input = ramp(DType::U8, n);
    let problem = Problem::arg_max(DType::U8, &[n], 0)?;
    let expected = wgreduce::reference::evaluate(&problem, &[&input])?;
    let hasty = reducer.with_timeout(Duration::ZERO);
    let soon = hasty.prepare_blocking(&problem)?;
    // OpenGL may compute during the submit, so the run may be done in time.
    let may_be_done = reducer.adapter_info().backend == Backend::Gl;
    for _ in 0..3 {
        match soon.run_bytes_blocking(&[&input]) {
            Err(Error::Timeout { seconds }) => assert_eq!(seconds, 0.0),
            Ok(outputs) if may_be_done => assert_eq!(outputs, expected),
            other => return Err(format!("{other:?}").into()),
        }
    }
    let patient = reducer.with_timeout(Duration::from_secs(600));
    let whole = patient.prepare_blocking(&problem)?;
    keep_busy(reducer, &whole)?;
    match reducer.clone().close(Duration::ZERO) {
        Err(Error::Timeout { seconds }) => assert_eq!(seconds, 0.0),
        Ok(()) if may_be_done => {}
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(whole.run_bytes_blocking(&[&input])?, expected);
    // Futures have no timeout.
    assert_eq!(pollster::block_on(soon.run_bytes(&[&input]))?, expected);
    Ok(reducer.clone().close(Duration::from_secs(600))?)
}

/// Submits a reduction many times and waits for none of them.
fn keep_busy(reducer: &Reducer, reduction: &Reduction) -> Result<(), Error> {
    let bytes = [reduction.problem().input_bytes(0), 8];
    let [from, to] = bytes.map(|bytes| buffer(reducer, bytes, BufferUsages::STORAGE));
    let (inputs, outputs) = ([from.slice(..).into()], [to.slice(..).into()]);
    let bound = reduction.bind(Buffers::new(&inputs, &outputs))?;
    for _ in 0..20 {
        let mut encoder = reducer.device().create_command_encoder(&Default::default());
        bound.encode(&mut encoder);
        reducer.queue().submit([encoder.finish()]);
    }
    Ok(())
}

/// The adapter's place in the list.
fn index_of(reducer: &Reducer) -> Result<usize, Failed> {
    let info = reducer.adapter_info();
    let adapters = adapters_blocking()?;
    let same =
        |a: &&wgreduce::AdapterEntry| a.info.name == info.name && a.info.backend == info.backend;
    let found = adapters.iter().find(same);
    Ok(found.ok_or("the adapter is gone")?.index)
}

/// Threads open, use and drop devices independently of each other.
pub fn several(reducer: &Reducer) -> Result<(), Failed> {
    let index = index_of(reducer)?;
    let input = ramp(DType::U8, 100_000);
    let problem = Problem::arg_max(DType::U8, &[100, 1000], 1)?;
    let work = || -> Result<(), String> {
        for _ in 0..5 {
            let choice = AdapterChoice::Index(index);
            let reducer = Reducer::open_blocking(&choice).map_err(|e| e.to_string())?;
            let reduction = reducer.prepare_blocking(&problem);
            let reduction = reduction.map_err(|e| e.to_string())?;
            for _ in 0..10 {
                let outputs = pollster::block_on(reduction.run_bytes(&[&input]));
                let outputs = outputs.map_err(|e| e.to_string())?;
                let verified = wgreduce::reference::verify(&problem, &[&input], &outputs);
                verified.map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

/// A lost device loses its runs and nothing else: another device on the same adapter works.
pub fn lost(reducer: &Reducer) -> Result<(), Failed> {
    let n = 1 << 24;
    let input = ramp(DType::U8, n);
    let problem = Problem::arg_max(DType::U8, &[n], 0)?;
    let expected = wgreduce::reference::evaluate(&problem, &[&input])?;
    let index = index_of(reducer)?;
    for wait in [0, 1, 5, 20] {
        let doomed = Reducer::open_blocking(&AdapterChoice::Index(index))?;
        let reduction = doomed.prepare_blocking(&problem)?;
        std::thread::scope(|scope| {
            let run = scope.spawn(|| reduction.run_bytes_blocking(&[&input]));
            std::thread::sleep(Duration::from_millis(wait));
            doomed.device().destroy();
            match run.join().map_err(|_| "the run panicked")? {
                Err(Error::DeviceLost { .. }) => Ok(()),
                // The run was done before the loss.
                Ok(outputs) if outputs == expected => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })?;
        match reduction.run_bytes_blocking(&[&input]) {
            Err(Error::DeviceLost { .. }) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    let next = Reducer::open_blocking(&AdapterChoice::Index(index))?;
    let whole = next.prepare_blocking(&problem)?;
    assert_eq!(whole.run_bytes_blocking(&[&input])?, expected);
    Ok(())
}
