//! The page's calls: open a device, run one reduction on it, check all golden cases, and measure.
//!
//! They take and return JSON and bytes. The library defines reductions; the script defines the page.

mod check;
mod elements;
mod measure;

use futures::channel::oneshot;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;
use web_time::Instant;
use wgreduce::wgpu::{Buffer, MapMode};
use wgreduce::{AdapterChoice, DType, NanPolicy, Op, Output, Problem, Reducer, reference};

/// Elements of a result that are shown.
const SHOWN: usize = 1000;
/// Bytes of tensors that a reduction here may hold at once; a page's program has 4 GiB at most.
const ROOM: u64 = 1 << 30;

thread_local! {
    static LAST_WORDS: RefCell<Option<js_sys::Function>> = const { RefCell::new(None) };
}

type Failure = Box<dyn std::error::Error>;

/// The browser's GPU, ready to compute.
#[wasm_bindgen]
pub struct Device {
    reducer: Reducer,
}

/// What to compute from one tensor.
#[derive(Deserialize)]
struct Request {
    op: String,
    dtype: String,
    shape: Vec<u64>,
    axes: Vec<i64>,
    #[serde(default = "yes")]
    keepdims: bool,
    #[serde(default)]
    select_last_index: bool,
    #[serde(default)]
    ignore_nan: bool,
    /// TopK's alone, as `largest` is.
    #[serde(default)]
    k: u64,
    #[serde(default = "yes")]
    largest: bool,
    /// Whether the first index runs fastest.
    #[serde(default)]
    fortran: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize)]
struct Answer {
    problem: String,
    plan: String,
    outputs: Vec<Shown>,
    /// The time of a second run: the first one compiles.
    milliseconds: f64,
    /// The difference from the CPU reference, if there is one.
    difference: Option<String>,
}

/// An output, for the page.
#[derive(Serialize)]
struct Shown {
    dtype: &'static str,
    shape: Vec<u64>,
    elements: u64,
    /// The first elements.
    shown: Vec<String>,
}

impl Request {
    fn problem(&self) -> Result<Problem, Failure> {
        let (dtype, shape) = (self.dtype.parse::<DType>()?, &self.shape);
        let axis = || match self.axes[..] {
            [axis] => Ok(axis),
            _ => Err(format!(
                "{} takes one axis, not {}",
                self.op,
                self.axes.len()
            )),
        };
        let mut problem = match self.op.parse::<Op>()? {
            Op::ArgMin => Problem::arg_min(dtype, shape, axis()?)?,
            Op::ArgMax => Problem::arg_max(dtype, shape, axis()?)?,
            Op::ReduceMin => Problem::reduce_min(dtype, shape, &self.axes)?,
            Op::ReduceMax => Problem::reduce_max(dtype, shape, &self.axes)?,
            Op::TopK => Problem::top_k(dtype, shape, axis()?, self.k)?,
            Op::ReduceSum => Problem::reduce_sum(dtype, shape, &self.axes)?,
            Op::ReduceMean => Problem::reduce_mean(dtype, shape, &self.axes)?,
            Op::ReduceL1 => Problem::reduce_l1(dtype, shape, &self.axes)?,
            Op::ReduceL2 => Problem::reduce_l2(dtype, shape, &self.axes)?,
            Op::ReduceSumSquare => Problem::reduce_sum_square(dtype, shape, &self.axes)?,
            other => return Err(format!("{other} has no place on this page").into()),
        };
        problem = problem
            .keepdims(self.keepdims)
            .select_last_index(self.select_last_index)
            .largest(self.largest);
        if self.ignore_nan {
            problem = problem.nan(NanPolicy::Ignore);
        }
        if self.fortran {
            let strides = shape.iter().scan(1, |stride: &mut i64, &dim| {
                let own = *stride;
                *stride = stride.saturating_mul(dim as i64);
                Some(own)
            });
            let strides: Vec<i64> = strides.collect();
            problem = problem.strided(0, &strides, 0);
        }
        problem.check()?;
        Ok(problem)
    }
}

#[wasm_bindgen]
impl Device {
    /// Opens the browser's adapter and tests it with known answers. If the program panics, `last_words` is called with
    /// the reason before the end.
    pub async fn open(last_words: js_sys::Function) -> Result<Device, JsError> {
        LAST_WORDS.set(Some(last_words));
        std::panic::set_hook(Box::new(|panic| {
            let payload = panic.payload();
            let words = payload.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| payload.downcast_ref::<&str>().copied());
            // The first line says why; the others are details.
            let words = words.and_then(|words| words.lines().next());
            let words = words.unwrap_or("it panicked").into();
            LAST_WORDS
                .with_borrow(|tell| tell.as_ref().map(|tell| tell.call1(&JsValue::NULL, &words)));
        }));
        let reducer = Reducer::open(&AdapterChoice::Auto).await?;
        Ok(Device { reducer })
    }

    /// Describes the adapter, as JSON.
    pub fn about(&self) -> String {
        let caps = self.reducer.caps();
        let limits = self.reducer.device().limits();
        let features = self.reducer.device().features();
        let about = json!({
            "class": format!("{:?}", caps.class),
            "timestamps": features.contains(wgreduce::wgpu::Features::TIMESTAMP_QUERY),
            "limits": {
                "maxStorageBufferBindingSize": limits.max_storage_buffer_binding_size,
                "maxBufferSize": limits.max_buffer_size,
                "maxStorageBuffersPerShaderStage": limits.max_storage_buffers_per_shader_stage,
                "maxComputeInvocationsPerWorkgroup": limits.max_compute_invocations_per_workgroup,
                "maxComputeWorkgroupStorageSize": limits.max_compute_workgroup_storage_size,
                "maxComputeWorkgroupsPerDimension": limits.max_compute_workgroups_per_dimension,
            },
        });
        about.to_string()
    }

    /// Reduces a tensor of little-endian bytes as the request says, and verifies the result.
    pub async fn reduce(&self, request: &str, data: Vec<u8>) -> Result<String, JsError> {
        let answer = self.answer(request, &data).await.map_err(told)?;
        Ok(serde_json::to_string(&answer)?)
    }

    /// Checks the device with the golden cases and ONNX's own; each argument is the text of a file. `progress` is
    /// called with the number of finished cases and of all. Returns the number of cases of each kind and the failures,
    /// as JSON.
    pub async fn check(
        &self,
        cases: &str,
        official: &str,
        progress: &js_sys::Function,
    ) -> Result<String, JsError> {
        let progress = |done: usize, all: usize| {
            // A page that cannot show the progress loses nothing else.
            let _ = progress.call2(&JsValue::NULL, &done.into(), &all.into());
        };
        let checked = check::run(&self.reducer, cases, official, progress).await;
        Ok(serde_json::to_string(&checked.map_err(told)?)?)
    }

    /// Measures the quick cases of the catalogue that have `filter` in their name, operator and type. `progress` is
    /// called with the number of finished cases, of all cases, and the next case; if it returns something true, that one
    /// and the others are left out. Returns rows as JSON, as `wgreduce bench --json` does.
    pub async fn measure(
        &self,
        filter: &str,
        progress: &js_sys::Function,
    ) -> Result<String, JsError> {
        let progress = |done: usize, all: usize, next: &str| {
            let stop = progress.call3(&JsValue::NULL, &done.into(), &all.into(), &next.into());
            stop.is_ok_and(|stop| stop.is_truthy())
        };
        let rows = measure::run(&self.reducer, filter, progress)
            .await
            .map_err(told)?;
        Ok(serde_json::to_string(&rows)?)
    }

    /// Destroys the device, as a crashing driver does.
    pub fn destroy(&self) {
        self.reducer.device().destroy();
    }
}

impl Device {
    async fn answer(&self, request: &str, data: &[u8]) -> Result<Answer, Failure> {
        let request: Request = serde_json::from_str(request)?;
        let problem = request.problem()?;
        room(&problem)?;
        numbers(&problem, data)?;
        let reduction = self.reducer.prepare(&problem).await?;
        let first = reduction.run_bytes(&[data]).await?;
        let start = Instant::now();
        let outputs = reduction.run_bytes(&[data]).await?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        let difference = [&first, &outputs].into_iter().find_map(|outputs| {
            let verified = reference::verify(&problem, &[data], outputs);
            verified.err().map(|difference| difference.to_string())
        });
        let shown = |(output, bytes): (&Output, &Vec<u8>)| Shown {
            dtype: output.dtype.name(),
            shape: output.shape.clone(),
            elements: output.bytes() / output.dtype.size(),
            shown: elements::shown(output.dtype, bytes, SHOWN),
        };
        Ok(Answer {
            problem: problem.to_string(),
            plan: reduction.plan().to_string(),
            outputs: problem.outputs().iter().zip(&outputs).map(shown).collect(),
            milliseconds,
            difference,
        })
    }
}

/// Refuses problems that do not fit into the page's memory: the program would end without a message.
fn room(problem: &Problem) -> Result<(), Failure> {
    let outputs: u64 = problem.outputs().iter().map(|output| output.bytes()).sum();
    // The outputs of two runs, the reference's, and what it keeps to find them.
    let needed = problem
        .input_bytes(0)
        .saturating_add(outputs.saturating_mul(4));
    match needed <= ROOM {
        true => Ok(()),
        false => Err(format!(
            "this takes {} MB of the page's memory, and {} are the most: \
             the tool wgreduce takes tensors of any size",
            needed.div_ceil(1_000_000),
            ROOM / 1_000_000
        )
        .into()),
    }
}

/// Refuses data of another size than the shape's. The library would count bytes; people type numbers.
fn numbers(problem: &Problem, data: &[u8]) -> Result<(), Failure> {
    let size = problem.dtype().size();
    let (typed, wanted) = (data.len() as u64 / size, problem.input_bytes(0) / size);
    if typed == wanted {
        return Ok(());
    }
    let s = if wanted == 1 { "" } else { "s" };
    let shape = &problem.inputs()[0];
    Err(format!("shape {shape:?} takes {wanted} number{s}, not {typed}").into())
}

/// Bytes of tensors that a page may hold at once.
#[wasm_bindgen]
pub fn most_bytes() -> f64 {
    ROOM as f64
}

/// Charts of the rows from [`Device::measure`], as HTML.
#[wasm_bindgen]
pub fn charts_of(rows: &str) -> Result<String, JsError> {
    let rows: Vec<serde_json::Value> = serde_json::from_str(rows)?;
    measure::shares(&rows).map_err(told)
}

/// The bytes of elements written as text, separated by spaces, commas, semicolons or brackets.
#[wasm_bindgen]
pub fn elements_of(dtype: &str, text: &str) -> Result<Vec<u8>, JsError> {
    let dtype: DType = dtype.parse()?;
    elements::parsed(dtype, text).map_err(|why| JsError::new(&why))
}

/// The bytes of a buffer, after all submitted work is done.
async fn mapped(buffer: &Buffer) -> Result<Vec<u8>, Failure> {
    let (tell, told) = oneshot::channel();
    buffer.map_async(MapMode::Read, .., |mapped| {
        let _ = tell.send(mapped);
    });
    told.await??;
    Ok(buffer.get_mapped_range(..)?.to_vec())
}

fn told(error: Failure) -> JsError {
    JsError::new(&error.to_string())
}
