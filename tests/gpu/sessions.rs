//! Reductions inside other programs: encoders with the program's own dispatches in between, many threads on one
//! reducer, futures under executors that do not poll.

use libtest_mimic::Failed;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use support::device::contents;
use support::{Bits, device, mixed, tensor};
use wgreduce::wgpu::{self, BufferUsages};
use wgreduce::{
    BoundReduction, Buffers, DType, Element, Error, IndexType, Polling, Problem, Reducer,
    Reduction, reference,
};

/// A program's shader that flips every bit of a buffer, and is its own inverse.
struct Flip {
    pipeline: wgpu::ComputePipeline,
}

impl Flip {
    fn new(device: &wgpu::Device) -> Flip {
        let source = "
            @group(0) @binding(0) var<storage, read_write> words: array<u32>;
            @compute @workgroup_size(64)
            fn flip(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&words) { words[id.x] = ~words[id.x]; }
            }";
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("flip"),
            compilation_options: Default::default(),
            cache: None,
        });
        Flip { pipeline }
    }

    fn record(
        &self,
        device: &wgpu::Device,
        pass: &mut wgpu::ComputePass<'_>,
        buffer: &wgpu::Buffer,
    ) {
        let entry = wgpu::BindGroupEntry {
            binding: 0,
            resource: buffer.as_entire_binding(),
        };
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[entry],
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups((buffer.size() / 4).div_ceil(64) as u32, 1, 1);
    }
}

fn buffer(reducer: &Reducer, size: u64) -> wgpu::Buffer {
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    device::buffer(reducer, size, storage)
}

/// A program with an input, three outputs of two reductions, and its own dispatches.
struct Program<'a> {
    device: &'a wgpu::Device,
    flip: Flip,
    rows: BoundReduction,
    columns: BoundReduction,
    input: wgpu::Buffer,
    first: wgpu::Buffer,
    second: wgpu::Buffer,
    third: wgpu::Buffer,
}

impl Program<'_> {
    /// Everything in two passes, with a copy between them.
    fn in_two_passes(&self, encoder: &mut wgpu::CommandEncoder) {
        let flip = |pass: &mut wgpu::ComputePass<'_>, buffer| {
            self.flip.record(self.device, pass, buffer);
        };
        let mut pass = encoder.begin_compute_pass(&Default::default());
        // Two flips cancel out.
        flip(&mut pass, &self.input);
        flip(&mut pass, &self.input);
        self.rows.record(&mut pass);
        drop(pass);
        encoder.copy_buffer_to_buffer(&self.first, 0, &self.third, 0, 28);
        let mut pass = encoder.begin_compute_pass(&Default::default());
        flip(&mut pass, &self.input);
        self.columns.record(&mut pass);
        self.rows.record(&mut pass);
        flip(&mut pass, &self.first);
    }

    /// Everything in a pass of its own.
    fn one_by_one(&self, encoder: &mut wgpu::CommandEncoder) {
        let flip = |encoder: &mut wgpu::CommandEncoder, buffer| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.flip.record(self.device, &mut pass, buffer);
        };
        self.rows.encode(encoder);
        encoder.copy_buffer_to_buffer(&self.first, 0, &self.third, 0, 28);
        flip(encoder, &self.input);
        self.columns.encode(encoder);
        self.rows.encode(encoder);
        flip(encoder, &self.first);
    }
}

/// Two reductions of different shapes, and one of them again over changed input, in one encoder, with the
/// program's own dispatches before, between and after.
pub fn frames(reducer: &Reducer) -> Result<(), Failed> {
    let device = reducer.device();
    // The first reduces [7, 900] by rows, the second the same bytes by columns.
    let rows = Problem::arg_max(DType::U32, &[7, 900], 1)?.index_type(IndexType::U32);
    let columns = Problem::reduce_min(DType::I16, &[450, 28], &[0])?;
    let data = tensor(DType::U32, [7, 900, 1], 3);
    let flipped: Vec<u8> = data.iter().map(|byte| !byte).collect();
    let sizes = [data.len() as u64, 28, 56, 28];
    let [input, first, second, third] = sizes.map(|size| buffer(reducer, size));
    let bind = |problem: &Problem, to: &wgpu::Buffer| {
        let (inputs, outputs) = ([input.slice(..).into()], [to.slice(..).into()]);
        let reduction = reducer.prepare_blocking(problem)?;
        reduction.bind(Buffers::new(&inputs, &outputs))
    };
    let program = Program {
        device,
        flip: Flip::new(device),
        rows: bind(&rows, &first)?,
        columns: bind(&columns, &second)?,
        input: input.clone(),
        first: first.clone(),
        second,
        third,
    };
    let plain = reference::evaluate(&rows, &[&data])?.remove(0);
    let columns = reference::evaluate(&columns, &[&flipped])?.remove(0);
    let again = reference::evaluate(&rows, &[&flipped])?.remove(0);
    assert_ne!(plain, again);
    let last: Vec<u8> = again.iter().map(|byte| !byte).collect();
    for two_passes in [true, false] {
        reducer.queue().write_buffer(&input, 0, &data);
        let mut encoder = device.create_command_encoder(&Default::default());
        match two_passes {
            true => program.in_two_passes(&mut encoder),
            false => program.one_by_one(&mut encoder),
        }
        reducer.queue().submit([encoder.finish()]);
        for (buffer, expected) in [
            (&program.third, &plain),
            (&program.second, &columns),
            (&program.first, &last),
        ] {
            let actual = contents(reducer, buffer)?;
            if actual != *expected {
                let what = format!("two passes {two_passes}: {actual:?}, not {expected:?}");
                return Err(what.into());
            }
        }
    }
    Ok(())
}

const THREADS: u64 = 8;
const RUNS: u64 = 200;

/// A prepared problem, its data, and the right answer.
type Case = (Reduction, Vec<u8>, Vec<Vec<u8>>);

fn cases(reducer: &Reducer) -> Result<Vec<Case>, Failed> {
    let problems = [
        Problem::arg_min(DType::F32, &[9, 333], 1)?.with_values(true),
        Problem::reduce_max(DType::U8, &[70, 41], &[0])?,
        Problem::arg_max(DType::I64, &[1, 20_000], 1)?.select_last_index(true),
        Problem::reduce_min(DType::F16, &[12, 5, 30], &[0, 2])?,
    ];
    let case = |problem: &Problem| {
        let n = problem.inputs()[0].iter().product();
        let input = mixed(problem.dtype(), n, 4 * n);
        let expected = reference::evaluate(problem, &[&input])?;
        Ok((reducer.prepare_blocking(problem)?, input, expected))
    };
    problems.iter().map(case).collect()
}

/// Eight threads make two hundred runs each on one reducer: shared reductions, single calls and futures, each
/// with its own data.
pub fn threads(reducer: &Reducer) -> Result<(), Failed> {
    let cases = cases(reducer)?;
    let single = Problem::arg_max(DType::I32, &[5, 40], 1)?;
    let run = |thread: u64| -> Result<(), String> {
        let mut bits = Bits::new(thread);
        for _ in 0..RUNS {
            let (reduction, input, expected) = &cases[bits.draw() as usize % cases.len()];
            let actual = match bits.draw() % 3 {
                0 => reduction.run_bytes_blocking(&[input]),
                1 => pollster::block_on(reduction.run_bytes(&[input])),
                _ => {
                    let numbers: Vec<i32> = (0..200).map(|_| bits.draw() as i32).collect();
                    let data: &[u8] = bytemuck::cast_slice(&numbers);
                    let winners: Result<Vec<i64>, _> = reducer.run_blocking(&single, &numbers);
                    let winners = i64::bytes(&winners.map_err(|e| e.to_string())?).to_vec();
                    let right = reference::verify(&single, &[data], &[&winners]);
                    right.map_err(|e| e.to_string())?;
                    continue;
                }
            };
            let actual = actual.map_err(|e| e.to_string())?;
            if actual != *expected {
                return Err(format!("{reduction:?} differs"));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let spawn = |thread| scope.spawn(move || run(thread));
        let threads: Vec<_> = (0..THREADS).map(spawn).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
        let results: Vec<_> = threads.into_iter().map(join).collect();
        for result in results {
            result.map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })
}

/// Hundreds of futures under tokio, some of which are dropped at any point; and, with the caller's polling, a
/// loop that polls the device as an application does.
pub fn futures(reducer: &Reducer) -> Result<(), Failed> {
    let cases = Arc::new(cases(reducer)?);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).build()?;
    let task = |i: usize| {
        let cases = cases.clone();
        runtime.spawn(async move {
            let (reduction, input, expected) = &cases[i % cases.len()];
            let actual = reduction.run_bytes(&[input]).await?;
            Ok::<_, Error>(actual == *expected)
        })
    };
    let tasks: Vec<_> = (0..200).map(task).collect();
    for (i, task) in tasks.into_iter().enumerate() {
        match i % 5 {
            0 => task.abort(),
            _ if !runtime.block_on(task)?? => return Err(format!("task {i} differs").into()),
            _ => {}
        }
    }
    let caller = reducer.with_polling(Polling::Caller);
    for (reduction, input, expected) in cases.iter() {
        let reduction = caller.prepare_blocking(reduction.problem())?;
        let inputs = [input.as_slice()];
        let mut future = Box::pin(reduction.run_bytes(&inputs));
        let mut context = Context::from_waker(Waker::noop());
        let actual = loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(actual) => break actual?,
                Poll::Pending => reducer.device().poll(wgpu::PollType::Poll)?,
            };
        };
        if actual != *expected {
            return Err(format!("{reduction:?} differs").into());
        }
    }
    Ok(())
}

/// Arrays as they lie in memory: in C order, transposed, flipped, sliced, broadcast.
pub fn arrays(reducer: &Reducer) -> Result<(), Failed> {
    use ndarray::{Array3, ArrayView3, s};
    let mut bits = Bits::new(7);
    let whole = Array3::from_shape_fn((6, 35, 40), |_| bits.draw() as i16 % 50);
    let row = whole.slice(s![0..1, 0..1, ..]);
    let views: Vec<ArrayView3<'_, i16>> = vec![
        whole.view(),
        whole.view().permuted_axes([2, 0, 1]),
        whole.slice(s![.., ..;-1, ..]),
        whole.slice(s![..;-1, ..;-1, ..;-1]).reversed_axes(),
        whole.slice(s![2..5, 3..;2, ..30]),
        whole.slice(s![.., 0..0, ..]),
        row.broadcast((3, 4, 40)).ok_or("no broadcast")?,
    ];
    for view in views {
        let shape: Vec<u64> = view.shape().iter().map(|&size| size as u64).collect();
        let copy: Vec<i16> = view.iter().copied().collect();
        let input: &[u8] = bytemuck::cast_slice(&copy);
        let max = Problem::reduce_max(DType::I16, &shape, &[0, 1])?.keepdims(false);
        let expected = reference::evaluate(&max, &[input])?.remove(0);
        let actual = reducer.run_array_blocking::<i16, i16, _>(&max, view)?;
        assert_eq!(actual.shape(), [view.shape()[2]]);
        assert!(actual.into_iter().eq(i16::from_bytes(&expected)));
        let Ok(last) = Problem::arg_min(DType::I16, &shape, 1) else {
            continue;
        };
        let last = last.select_last_index(true);
        let expected = reference::evaluate(&last, &[input])?.remove(0);
        let actual = reducer.run_array::<i16, i64, _>(&last, view);
        let actual = pollster::block_on(actual)?;
        assert_eq!(actual.shape(), [view.shape()[0], 1, view.shape()[2]]);
        assert!(actual.into_iter().eq(i64::from_bytes(&expected)));
    }
    let wrong = Problem::reduce_max(DType::I16, &[35, 6, 40], &[])?;
    let wrong = reducer.run_array_blocking::<i16, i16, _>(&wrong, whole.view());
    assert_eq!(
        wrong.map_err(|e| e.to_string()),
        Err("input 0 is of shape [35, 6, 40] in the problem but [6, 35, 40] in the call".into())
    );
    several_arrays(reducer, &whole)
}

/// Several inputs, several outputs, and an array that is bound.
fn several_arrays(reducer: &Reducer, whole: &ndarray::Array3<i16>) -> Result<(), Failed> {
    use ndarray::s;
    let (a, b) = (whole.slice(s![0, .., ..;-1]), whole.slice(s![1, ..1, ..]));
    let shapes = [vec![35, 40], vec![1, 40]];
    let min = Problem::min(DType::I16, &shapes)?;
    let right = ndarray::Zip::from(&a)
        .and_broadcast(b.row(0))
        .map_collect(|&x, &y| x.min(y));
    let inputs = [a.into_dyn(), b.into_dyn()];
    let outputs = reducer.run_arrays_blocking(&min, &inputs)?;
    assert_eq!(outputs.array::<i16>(0)?, right.into_dyn());

    let turned = || whole.view().permuted_axes([2, 0, 1]);
    let both = Problem::arg_max(DType::I16, &[40, 6, 35], 0)?.with_values(true);
    let outputs = pollster::block_on(reducer.run_arrays(&both, &[turned().into_dyn()]))?;
    let (winners, values) = (outputs.array::<i64>(0)?, outputs.array::<i16>(1)?);
    assert_eq!(winners.shape(), [1, 6, 35]);
    for ((_, y, x), &value) in values.into_dimensionality::<ndarray::Ix3>()?.indexed_iter() {
        assert_eq!(whole[[y, x, winners[[0, y, x]] as usize]], value);
        let segment = whole.slice(s![y, x, ..]);
        assert!(segment.iter().all(|&other| other <= value));
    }

    let (viewed, data) = both.of_array(0, turned())?;
    assert_eq!(data.len(), whole.len());
    assert_eq!(reducer.run_many_blocking(&viewed, &[&data])?, outputs);

    // The array's view replaces a view that was there before.
    let stale = both.clone().strided(0, &[0, 0, 0], 7);
    let straight = turned().as_standard_layout().into_owned();
    let wide = ndarray::concatenate(ndarray::Axis(2), &[straight.view(), straight.view()])?;
    for (problem, array) in [
        (&stale, turned()),
        (&viewed, straight.view()),
        (&viewed, wide.slice(s![.., .., ..35])),
    ] {
        let again = reducer.run_arrays_blocking(problem, &[array.into_dyn()])?;
        assert_eq!(again.bytes(), outputs.bytes());
    }

    let one = reducer.run_arrays_blocking(&min, &inputs[..1]);
    let floats = ndarray::Array3::<f32>::zeros((40, 6, 35));
    let told = [
        one.unwrap_err().to_string(),
        both.of_array(1, turned()).unwrap_err().to_string(),
        both.of_array(0, floats.view()).unwrap_err().to_string(),
    ];
    let right = [
        "Min was given 1 inputs where the problem has 2",
        "there is no input 1: ArgMax has 1 here",
        "input 0 is int16 (i16) in the problem but float32 (f32) in the call",
    ];
    assert_eq!(told, right);
    Ok(())
}
