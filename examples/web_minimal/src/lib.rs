//! Finds the place of the greatest number, on the browser's GPU.
//!
//! ```sh
//! rustup target add wasm32-unknown-unknown
//! cargo install wasm-bindgen-cli --version "$(cargo pkgid wasm-bindgen | cut -d@ -f2)"    # that of the crate
//! cargo build --release --target wasm32-unknown-unknown
//! wasm-bindgen --target web --out-dir . target/wasm32-unknown-unknown/release/web_minimal.wasm
//! python3 -m http.server    # and open http://localhost:8000
//! ```

use wasm_bindgen::prelude::*;
use wgreduce::{AdapterChoice, DType, Error, IndexType, Problem, Reducer};

/// The greatest number's place, for JavaScript. An error of the library becomes an `Error` there.
#[wasm_bindgen]
pub async fn greatest(numbers: Vec<f32>) -> Result<u32, JsError> {
    Ok(place(&numbers).await?)
}

async fn place(numbers: &[f32]) -> Result<u32, Error> {
    // A page that reduces often keeps the reducer: opening a device takes time.
    let reducer = Reducer::open(&AdapterChoice::Auto).await?;
    let problem = Problem::arg_max(DType::F32, &[numbers.len() as u64], 0)?;
    let problem = problem.index_type(IndexType::U32);
    let places: Vec<u32> = reducer.run(&problem, numbers).await?;
    Ok(places[0])
}
