//! ArgMax over real data: which digit does a classifier see in each of 1797 scanned images?
//!
//! ```sh
//! cargo run --example digits                # the data that comes with it, and how many are right
//! cargo run --example digits -- SCORES.npy  # yours: the last axis holds the scores of the classes
//! ```

use std::error::Error;
use std::fs::File;

use wgreduce::{AdapterChoice, DType, Element, Problem, Reducer, reference};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SCORES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/data/digits_logits.npy"
);
const LABELS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/examples/data/digits_labels.npy"
);

fn main() -> Result<()> {
    let own = std::env::args().nth(1);
    let (shape, scores) = read_scores(own.as_deref().unwrap_or(SCORES))?;
    let problem = Problem::arg_max(DType::F32, &shape, -1)?.keepdims(false);
    let winners = arg_max(&problem, &scores)?;

    println!("{problem}: {} rows", winners.len());
    match own {
        Some(_) => println!("winners: {}", list(&winners)),
        None => {
            let labels: Vec<i64> = npyz::NpyFile::new(File::open(LABELS)?)?.into_vec()?;
            let hits = winners.iter().zip(&labels).filter(|(w, l)| w == l).count();
            println!("seen:   {}", list(&winners));
            println!("labels: {}", list(&labels));
            println!("{hits} of {} labels hit", labels.len());
        }
    }
    Ok(())
}

/// Runs on the best adapter there is, else on the CPU reference.
fn arg_max(problem: &Problem, scores: &[f32]) -> Result<Vec<i64>> {
    let bytes = f32::bytes(scores);
    let outputs = match Reducer::open_blocking(&AdapterChoice::Auto) {
        Ok(reducer) => {
            let info = reducer.adapter_info();
            println!("device: {} ({})", info.name, info.backend);
            reducer
                .prepare_blocking(problem)?
                .run_timed_blocking(&[bytes])?
                .0
        }
        Err(wgreduce::Error::NoAdapter { .. }) => {
            println!("device: cpu reference (no GPU adapter found)");
            reference::evaluate(problem, &[bytes])?
        }
        Err(failed) => return Err(failed.into()),
    };
    Ok(i64::from_bytes(&outputs[0]))
}

fn read_scores(path: &str) -> Result<(Vec<u64>, Vec<f32>)> {
    let file = npyz::NpyFile::new(File::open(path).map_err(|e| format!("{path}: {e}"))?)?;
    if file.order() == npyz::Order::Fortran {
        return Err(format!("{path}: save it in C order, or use the wgreduce tool").into());
    }
    let shape = file.shape().to_vec();
    let scores = file.into_vec().map_err(|e| format!("{path}: {e}"))?;
    Ok((shape, scores))
}

fn list(numbers: &[i64]) -> String {
    let shown: Vec<String> = numbers.iter().take(20).map(i64::to_string).collect();
    let more = if numbers.len() > shown.len() {
        " ..."
    } else {
        ""
    };
    format!("{}{more}", shown.join(" "))
}
