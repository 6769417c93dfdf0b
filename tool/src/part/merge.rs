//! `wgreduce merge`: parts to the result of the whole, or to a larger part.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use wgreduce::{Error, Output, Partial, reference};

use super::Cut;
use super::file::{self, PartFile};
use crate::args::{Common, Merge};
use crate::failure::{Failure, say};
use crate::output::{self, Content, Piece, Target};
use crate::stream;
use crate::tensor::from_fortran;

pub fn run(args: &Merge, common: &Common) -> Result<(), Failure> {
    if let Some(values) = &args.values
        && output::is_same(values, &args.output)
    {
        let why = "is asked for twice, by -o and --values";
        return Err(Failure::file(values, why));
    }
    // One after another: there may be more files than a process may have open.
    let first = PartFile::open(&args.parts[0])?;
    let mut covered: Vec<(Range<u64>, &PathBuf)> = Vec::new();
    for path in &args.parts {
        let part = PartFile::open(path)?;
        first.check_same(&part)?;
        covered.extend(part.parts.into_iter().map(|parts| (parts, path)));
    }
    covered.sort_by_key(|(parts, _)| parts.start);
    let cut = &first.cut;
    refuse_overlap(&covered, cut.of)?;
    let still_partial = file::is_named(&args.output);
    match (&args.values, still_partial) {
        (Some(values), true) => {
            let why = "is asked for where parts are merged to a part, which keeps the values";
            return Err(Failure::file(values, why));
        }
        (Some(_), _) if !cut.problem.op().is_index() => {
            let why = format!(
                "--values is for argmin and argmax, not for {}",
                cut.problem.op()
            );
            return Err(Failure::Request(why));
        }
        _ => {}
    }
    let ranges: Vec<Range<u64>> = covered.into_iter().map(|(parts, _)| parts).collect();
    if !still_partial {
        refuse_gaps(&ranges, cut.of)?;
    }
    let count = args.parts.len();
    match (cut.is_through_segments(), still_partial) {
        (true, true) => {
            let merged = merged(&args.parts)?;
            let bytes = merged.map_or(Vec::new(), |partial| partial.to_bytes());
            let content = [file::head(cut, &joined(ranges)), bytes].concat();
            let content = Content::Bytes(&content);
            output::write(&[Target {
                path: &args.output,
                content,
            }])?;
        }
        (true, false) => {
            let outputs = match merged(&args.parts)? {
                Some(partial) => partial.finish().map_err(Error::from)?,
                None => reference::evaluate(&cut.problem, &[&[]]).map_err(Error::from)?,
            };
            let outputs = outputs.into_iter().map(Data::Memory).collect();
            write(cut, outputs, args)?;
        }
        (false, true) => gather(cut, args)?,
        (false, false) => {
            let outputs = assembled(cut, args, common)?;
            write(cut, outputs, args)?;
        }
    }
    if !common.quiet {
        say(&format!("merged: {count} files of {} parts", cut.of));
    }
    Ok(())
}

/// An output, its elements in the order of the parts' memory.
enum Data {
    Memory(Vec<u8>),
    Spool(File),
}

fn named(parts: &Range<u64>, of: u64) -> String {
    match parts.end - parts.start {
        1 => format!("part {}/{of}", parts.start),
        _ => format!("parts {}/{of} to {}/{of}", parts.start, parts.end - 1),
    }
}

fn refuse_overlap(covered: &[(Range<u64>, &PathBuf)], of: u64) -> Result<(), Failure> {
    for pair in covered.windows(2) {
        let [(one, holder), (other, path)] = pair else {
            continue;
        };
        if other.start < one.end {
            let twice = named(&(other.start..one.end.min(other.end)), of);
            let why = format!("holds {twice}, as {} does", holder.display());
            return Err(Failure::file(path, why));
        }
    }
    Ok(())
}

fn refuse_gaps(ranges: &[Range<u64>], of: u64) -> Result<(), Failure> {
    const SHOWN: usize = 8;
    let ends = std::iter::once(0).chain(ranges.iter().map(|r| r.end));
    let starts = ranges.iter().map(|r| r.start).chain([of]);
    let gaps = ends.zip(starts).filter(|(end, start)| end < start);
    let mut gaps: Vec<String> = gaps.map(|(end, start)| named(&(end..start), of)).collect();
    if gaps.is_empty() {
        return Ok(());
    }
    if gaps.len() > SHOWN {
        let more = gaps.len() - SHOWN;
        gaps.truncate(SHOWN);
        gaps.push(format!("and {more} more gaps"));
    }
    Err(Failure::Request(format!("missing: {}", gaps.join(", "))))
}

/// Neighbouring runs as one.
fn joined(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

/// All partial results as one; none if there are no elements.
fn merged(paths: &[PathBuf]) -> Result<Option<Partial>, Failure> {
    let mut merged: Option<Partial> = None;
    for path in paths {
        match (&mut merged, PartFile::open(path)?.partial()?) {
            (_, None) => {}
            (None, partial) => merged = partial,
            (Some(all), Some(partial)) => {
                all.merge(&partial).map_err(|e| Failure::file(path, e))?
            }
        }
    }
    Ok(merged)
}

/// Writes the outputs of parts side by side, still apart.
fn gather(cut: &Cut, args: &Merge) -> Result<(), Failure> {
    let files = args.parts.iter().map(|path| PartFile::open(path));
    let files: Vec<PartFile> = files.collect::<Result<_, _>>()?;
    let runs = files.iter().flat_map(|file| {
        let outputs = cut.problem.outputs().len();
        let mut pieces = file.pieces().into_iter().map(|(_, piece)| piece);
        let run = |parts: &Range<u64>| (parts.clone(), pieces.by_ref().take(outputs).collect());
        file.parts.iter().map(run).collect::<Vec<(_, Vec<Piece>)>>()
    });
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by_key(|(parts, _)| parts.start);
    let (parts, pieces): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    let head = file::head(cut, &parts);
    let pieces: Vec<Piece> = pieces.into_iter().flatten().collect();
    let content = Content::Pieces(&head, &pieces);
    output::write(&[Target {
        path: &args.output,
        content,
    }])
}

/// The outputs of all parts, each in its place.
fn assembled(cut: &Cut, args: &Merge, common: &Common) -> Result<Vec<Data>, Failure> {
    let outputs = cut.problem.outputs();
    let spool = |path: &Path| output::spool(path);
    let mut spools = Vec::new();
    for path in [Some(&args.output), args.values.as_ref()] {
        spools.push(path.map(|path| spool(path)).transpose()?);
    }
    for path in &args.parts {
        let file = PartFile::open(path)?;
        for (i, (range, piece)) in file.pieces().into_iter().enumerate() {
            let output = i % outputs.len();
            if let Some(to) = &spools[output] {
                place(cut, &outputs[output], &range, &piece, to).map_err(|e| {
                    Failure::file(path, format_args!("cannot be put into its place: {e}"))
                })?;
            }
        }
    }
    let whole = |(file, output): (File, &Output)| {
        // What is in Fortran order is reordered if that fits.
        if !cut.fortran || output.bytes() > stream::memory(common) / 4 {
            return Ok(Data::Spool(file));
        }
        let piece = Piece {
            file: &file,
            start: 0,
            bytes: output.bytes(),
        };
        let mut data = Vec::new();
        let copied = piece.copy(&mut data);
        copied.map_err(|e| Failure::file(&args.output, e))?;
        Ok(Data::Memory(data))
    };
    spools
        .into_iter()
        .flatten()
        .zip(&outputs)
        .map(whole)
        .collect()
}

/// Copies the elements of a range of the cut dimension to where the whole has them.
fn place(
    cut: &Cut,
    output: &Output,
    range: &Range<u64>,
    piece: &Piece<'_>,
    mut to: &File,
) -> io::Result<()> {
    let Some(dim) = cut.output_dim() else {
        to.seek(SeekFrom::Start(0))?;
        return piece.copy(&mut to);
    };
    let row = output.shape[dim + 1..].iter().product::<u64>() * output.dtype.size();
    let block = (range.end - range.start) * row;
    let blocks = piece.bytes.checked_div(block).unwrap_or(0);
    for i in 0..blocks {
        to.seek(SeekFrom::Start(i * cut.len() * row + range.start * row))?;
        let block = Piece {
            file: piece.file,
            start: piece.start + i * block,
            bytes: block,
        };
        block.copy(&mut to)?;
    }
    Ok(())
}

/// Writes the outputs that were asked for.
fn write(cut: &Cut, outputs: Vec<Data>, args: &Merge) -> Result<(), Failure> {
    let whole = match cut.fortran {
        true => stream::reversed(cut.operator, &cut.problem).map_err(Error::from)?,
        false => cut.problem.clone(),
    };
    let tensors = whole.outputs();
    let in_order: Vec<Data> = outputs
        .into_iter()
        .zip(&tensors)
        .map(|(data, tensor)| match data {
            Data::Memory(data) if cut.fortran => {
                let size = tensor.dtype.size() as usize;
                Data::Memory(from_fortran(data, &tensor.shape, size))
            }
            data => data,
        })
        .collect();
    let paths = [Some(args.output.as_path()), args.values.as_deref()];
    let all = in_order.iter().zip(&tensors).zip(paths);
    let targets = all.filter_map(|((data, tensor), path)| {
        let content = match data {
            Data::Memory(data) => Content::Tensor(tensor, data),
            Data::Spool(file) => Content::Spooled(tensor, cut.fortran, file),
        };
        path.map(|path| Target { path, content })
    });
    output::write(&targets.collect::<Vec<_>>())
}
