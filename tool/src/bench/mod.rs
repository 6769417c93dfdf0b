//! `wgreduce bench`: verifies the cases of the catalogue, then times them and the device's
//! ceilings. `wgreduce tune` searches over the same cases.

#[path = "../../../benches/catalogue.rs"]
mod catalogue;
mod ceiling;
mod charts;
mod check;
mod compare;
mod gpu;
mod growth;
mod html;
#[path = "../../../benches/kernel.rs"]
mod kernel;
mod measure;
#[path = "../../../benches/noise.rs"]
mod noise;
mod peers;
mod report;
mod saved;
mod staging;
pub mod tune;
#[path = "../../../benches/walks.rs"]
mod walks;

use wgreduce::{AdapterClass, Caps, Reducer};

use crate::args::{Bench, Common, Measured};
use crate::device::Device;
use crate::failure::{Failure, say, write_stdout};
use crate::output::{self, Content, Target};
use crate::tuning;
use catalogue::{BYTES, Case, catalogue};
use compare::Earlier;
use gpu::Gpu;
use peers::Figure;
use report::Report;

/// Bytes of an input on a GPU that has the memory.
const GPU_BYTES: u64 = 1 << 30;
/// Buffers of this size that there must be room for: inputs, two results, and the ceiling's.
const BUFFERS: usize = 7;

/// What a case is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Catalogue,
    /// Growth with size.
    Size,
    /// A step where plans change.
    Edge,
}

/// A case and what it is for.
struct Asked {
    part: Part,
    case: Case,
}

pub fn run(args: &Bench, common: &Common) -> Result<(), Failure> {
    let earlier = args.compare.as_deref().map(Earlier::read).transpose()?;
    let peers = peers::read(&args.peers)?;
    // Check before minutes are spent on measuring.
    let outputs = args.json.iter().chain(&args.html).chain(&args.svg);
    let mut taken: Vec<&std::path::PathBuf> = args.from.iter().collect();
    for path in outputs {
        if !output::is_special(path) && taken.iter().any(|other| output::is_same(other, path)) {
            return Err(Failure::output(path, "is asked for twice"));
        }
        output::check_writable(path)?;
        taken.push(path);
    }
    if let Some(path) = &args.from {
        let mut report = saved::read(path)?;
        if let Some(text) = &args.filter {
            report
                .rows
                .retain(|row| row.case.to_string().contains(text));
            if report.rows.is_empty() {
                return Err(no_case(text, NO_CASE));
            }
        }
        return told(&report, &peers, earlier, args, || ());
    }
    let device = Device::open(common)?;
    let Device::Gpu(reducer) = &device else {
        let why = format!("bench needs a GPU adapter ({})", device.line());
        return Err(Failure::Request(why));
    };
    let reducer = reducer.with_caps(tuning::with_set(reducer.caps(), &args.set)?);
    let gpu = opened(&reducer, &args.measured)?;
    let bytes = case_bytes(&gpu, &reducer, &args.measured)?;
    let asked = chosen(args, reducer.caps(), bytes)?;
    let report = measure::measure(&reducer, &gpu, bytes, &asked, args, common)?;
    told(&report, &peers, earlier, args, || {
        if !common.quiet {
            say(&device.line());
        }
    })
}

/// Writes the files of a report and prints it; then, so that after a failure the first line is the error, says the rest.
fn told(
    report: &Report,
    peers: &[Figure],
    earlier: Option<Earlier>,
    args: &Bench,
    say_rest: impl FnOnce(),
) -> Result<(), Failure> {
    write_files(report, peers, args)?;
    let mut text = report.text();
    if let Some(earlier) = earlier {
        text += &format!("\n{}", earlier.text(&report.rows));
    }
    write_stdout(&text)?;
    say_rest();
    match report.rows.iter().all(|row| row.measured.is_ok()) {
        true => Ok(()),
        false => Err(Failure::Cases),
    }
}

fn write_files(report: &Report, peers: &[Figure], args: &Bench) -> Result<(), Failure> {
    let json = report.json();
    let html = match args.html {
        Some(_) => html::page(report, peers).map_err(Failure::Check)?,
        None => String::new(),
    };
    let picture = match args.svg {
        Some(_) => html::picture(report).map_err(Failure::Check)?,
        None => String::new(),
    };
    let files = [
        (&args.json, &json),
        (&args.html, &html),
        (&args.svg, &picture),
    ];
    let targets = files.into_iter().filter_map(|(path, text)| {
        let content = Content::Bytes(text.as_bytes());
        path.as_deref().map(|path| Target { path, content })
    });
    output::write(&targets.collect::<Vec<_>>())
}

/// A device to measure on. GPUs change their clock.
fn opened<'a>(reducer: &'a Reducer, asked: &Measured) -> Result<Gpu<'a>, Failure> {
    let is_gpu = reducer.caps().class != AdapterClass::Software;
    Gpu::new(reducer, is_gpu || asked.clock)
}

/// Bytes of an input of those cases whose size is free: on a GPU more than caches hold.
fn case_bytes(gpu: &Gpu, reducer: &Reducer, asked: &Measured) -> Result<u64, Failure> {
    let limit = gpu.device.limits().max_buffer_size;
    let most = gpu.binding_bytes().min(limit);
    if let Some(mib) = asked.bytes {
        return match mib << 20 {
            bytes if bytes > most => Err(Failure::Request(format!(
                "--bytes {mib}: the device binds {} MiB at most",
                most >> 20
            ))),
            bytes => Ok(bytes),
        };
    }
    let has_room = |bytes| bytes <= most && gpu.has_room(BUFFERS, bytes);
    Ok(default_bytes(reducer.caps().class, has_room))
}

fn default_bytes(class: AdapterClass, has_room: impl Fn(u64) -> bool) -> u64 {
    if class == AdapterClass::Software {
        return BYTES;
    }
    let mut bytes = GPU_BYTES;
    while bytes > BYTES && !has_room(bytes) {
        bytes /= 2;
    }
    bytes
}

const NO_CASE: &str = "no case has this in its name, operator and type";

fn no_case(filter: &str, why: &str) -> Failure {
    Failure::Request(format!("--filter {filter}: {why}"))
}

/// The cases that were asked for; at least one. Cases with the same kind of ceiling are neighbours.
fn chosen(args: &Bench, caps: &Caps, bytes: u64) -> Result<Vec<Asked>, Failure> {
    let mut cases = catalogue();
    cases.retain(|case| case.quick || !args.quick);
    let cases = cases.into_iter().map(|case| case.with_bytes(bytes));
    let mut parts = vec![(Part::Catalogue, cases.collect())];
    if !args.no_growth {
        parts.push((Part::Size, growth::sizes(args.quick)));
    }
    if !args.no_growth && !args.quick {
        parts.push((Part::Edge, growth::edges(caps)));
    }
    let of = |(part, cases): (Part, Vec<Case>)| {
        let asked = move |case| Asked { part, case };
        cases.into_iter().map(asked)
    };
    let mut asked: Vec<Asked> = parts.into_iter().flat_map(of).collect();
    if let Some(text) = &args.filter {
        asked.retain(|asked| asked.case.to_string().contains(text));
        if asked.is_empty() {
            let left_out = |case: &Case| args.quick && case.to_string().contains(text);
            let why = match catalogue().iter().any(left_out) {
                true => {
                    "all cases that have this in their name, operator and type --quick leaves out"
                }
                false => NO_CASE,
            };
            return Err(no_case(text, why));
        }
    }
    asked.sort_by_key(|asked| asked.case.op.is_elementwise());
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_gets_as_much_data_as_it_has_room_for() {
        for (class, room, bytes) in [
            (AdapterClass::Discrete, u64::MAX, 1 << 30),
            (AdapterClass::Integrated, 1 << 30, 1 << 30),
            (AdapterClass::Discrete, (1 << 30) - 1, 1 << 29),
            (AdapterClass::Discrete, 100, BYTES),
            (AdapterClass::Software, u64::MAX, BYTES),
        ] {
            assert_eq!(default_bytes(class, |bytes| bytes <= room), bytes);
        }
    }
}
