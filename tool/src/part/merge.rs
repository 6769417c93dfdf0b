//! `wgreduce merge`: parts to the result of the whole, or to a larger part.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use wgreduce::{Error, Output, Partial, reference};

use super::Cut;
use super::file::{self, PartFile};
use crate::args::{Common, Merge};
use crate::failure::{Failure, number_of, say};
use crate::output::{self, Content, Piece, Target};
use crate::request::{apart, in_order};
use crate::stream;
use crate::tensor::from_fortran;

pub fn run(args: &Merge, common: &Common) -> Result<(), Failure> {
    apart(args.values.as_deref(), Some(&args.output))?;
    if args.parts.iter().any(|path| path.as_os_str() == "-") {
        let why = "standard input: parts are files, which are read more than once".into();
        return Err(Failure::Request(why));
    }
    // One after another: there may be more files than a process may have open.
    let first = PartFile::open(&args.parts[0])?;
    let mut covered: Vec<(Range<u64>, &PathBuf)> = Vec::new();
    for path in &args.parts {
        let part = PartFile::open(path)?;
        part.check_bytes()?;
        first.check_same(&part)?;
        covered.extend(part.parts.into_iter().map(|parts| (parts, path)));
    }
    covered.sort_by_key(|(parts, _)| parts.start);
    let cut = &first.cut;
    refuse_overlap(&covered, cut.of)?;
    let still_partial = output::is_part(&args.output);
    match (&args.values, still_partial) {
        (Some(values), true) => {
            let why = "is asked for where parts are merged to a part, which keeps the values";
            return Err(Failure::file(values, why));
        }
        (Some(_), _) if !cut.problem.op().is_index() => {
            let why = format!(
                "--values is for argmin, argmax and topk, not for {}",
                cut.problem.op()
            );
            return Err(Failure::Request(why));
        }
        (Some(values), false) if output::is_part(values) => {
            let why = "is a part's name; the values are an .npy file";
            return Err(Failure::file(values, why));
        }
        _ => {}
    }
    let ranges: Vec<Range<u64>> = covered.iter().map(|(parts, _)| parts.clone()).collect();
    if !still_partial {
        refuse_gaps(&ranges, cut.of)?;
    }
    let paths = [Some(args.output.as_path()), args.values.as_deref()];
    let paths = in_order(&cut.problem, paths);
    for path in paths.into_iter().flatten() {
        output::check_writable(path)?;
    }
    match (cut.is_through_segments(), still_partial) {
        (true, true) => {
            let merged = merged_files(&args.parts)?;
            let bytes = merged.map_or(Vec::new(), |partial| partial.to_bytes());
            let head = file::head(cut, &joined(ranges), bytes.len() as u64);
            let content = [head, bytes].concat();
            output::write_one(&args.output, Content::Part(&content, &[]))?;
        }
        (true, false) => {
            let outputs = finished(cut, merged_files(&args.parts)?)?;
            write(cut, outputs, paths)?;
        }
        (false, true) => gather(cut, &covered, &args.output)?,
        (false, false) => {
            let outputs = assembled(cut, &args.parts, paths, common)?;
            write(cut, outputs, paths)?;
        }
    }
    if !common.quiet {
        let (files, of) = (number_of(args.parts.len(), "file"), cut.of);
        say(&format!(
            "merged: {files} of {}",
            number_of(of as usize, "part")
        ));
    }
    Ok(())
}

/// An output, its elements in the order of the parts' memory.
pub enum Data {
    Memory(Vec<u8>),
    Spool(File),
}

impl Data {
    /// Of a file. What is in Fortran order, and will be reordered if that fits, is read.
    pub fn of(cut: &Cut, file: File, output: &Output, common: &Common) -> io::Result<Data> {
        if !cut.fortran || output.bytes() > stream::memory(common) / 4 {
            return Ok(Data::Spool(file));
        }
        let piece = Piece {
            file: &file,
            start: 0,
            bytes: output.bytes(),
        };
        let mut data = Vec::new();
        piece.copy(&mut data)?;
        Ok(Data::Memory(data))
    }
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
            let why = format!("{twice} given twice, also by {}", holder.display());
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

/// The partial results of files as one.
fn merged_files(paths: &[PathBuf]) -> Result<Option<Partial>, Failure> {
    super::merged(paths.iter().map(|path| PartFile::open(path)?.partial()))
}

/// The outputs of a partial result of all parts, or of no elements.
pub fn finished(cut: &Cut, partial: Option<Partial>) -> Result<Vec<Option<Data>>, Failure> {
    let outputs = match partial {
        Some(partial) => partial.finish().map_err(Error::from)?,
        None => reference::evaluate(&cut.problem, &[&[]]).map_err(Error::from)?,
    };
    let data = |bytes| Some(Data::Memory(bytes));
    Ok(outputs.into_iter().map(data).collect())
}

/// Writes the outputs of parts side by side, still apart. `covered` is in order.
fn gather(cut: &Cut, covered: &[(Range<u64>, &PathBuf)], output: &Path) -> Result<(), Failure> {
    let spool = output::spool(output)?;
    let outputs = cut.problem.outputs().len();
    for (parts, path) in covered {
        let file = PartFile::open(path)?;
        let run = file.parts.iter().position(|own| own == parts);
        let pieces = file.pieces().into_iter().skip(run.unwrap_or(0) * outputs);
        for (_, piece) in pieces.take(outputs) {
            let copied = piece.copy(&mut &spool);
            copied.map_err(|e| Failure::file(path, format_args!("cannot be copied: {e}")))?;
        }
    }
    let runs: Vec<Range<u64>> = covered.iter().map(|(parts, _)| parts.clone()).collect();
    let bytes = runs
        .iter()
        .flat_map(|parts| cut.output_bytes(&cut.range(parts)));
    let piece = Piece {
        file: &spool,
        start: 0,
        bytes: bytes.sum(),
    };
    let head = file::head(cut, &runs, piece.bytes);
    output::write_one(output, Content::Part(&head, &[piece]))
}

/// The outputs of all parts that were asked for, each in its place.
fn assembled(
    cut: &Cut,
    parts: &[PathBuf],
    paths: [Option<&Path>; 2],
    common: &Common,
) -> Result<Vec<Option<Data>>, Failure> {
    let outputs = cut.problem.outputs();
    let mut spools = Vec::new();
    for path in paths {
        spools.push(path.map(output::spool).transpose()?);
    }
    for path in parts {
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
    let spools = spools.into_iter().zip(&outputs);
    let whole = |(file, output): (Option<File>, _)| {
        file.map(|file| Data::of(cut, file, output, common))
            .transpose()
    };
    let data: io::Result<Vec<Option<Data>>> = spools.map(whole).collect();
    data.map_err(|e| Failure::Request(format!("what was merged cannot be read: {e}")))
}

/// Copies the elements of a range of the cut dimension to where the whole has them.
pub fn place(
    cut: &Cut,
    output: &Output,
    range: &Range<u64>,
    piece: &Piece<'_>,
    mut to: &File,
) -> io::Result<()> {
    if piece.bytes == 0 {
        return Ok(());
    }
    let Some(dim) = cut.output_dim() else {
        to.seek(SeekFrom::Start(0))?;
        return piece.copy(&mut to);
    };
    let row = output.shape[dim + 1..].iter().product::<u64>() * output.dtype.size();
    let block = (range.end - range.start) * row;
    for i in 0..piece.bytes / block {
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

/// Writes the outputs that were asked for, and have a path.
pub fn write(
    cut: &Cut,
    outputs: Vec<Option<Data>>,
    paths: [Option<&Path>; 2],
) -> Result<(), Failure> {
    let whole = match cut.fortran {
        true => stream::reversed(&cut.problem).map_err(Error::from)?,
        false => cut.problem.clone(),
    };
    let tensors = whole.outputs();
    let all = outputs.into_iter().zip(&tensors);
    let in_order = all.map(|(data, tensor)| match data {
        Some(Data::Memory(data)) if cut.fortran => {
            let size = tensor.dtype.size() as usize;
            Some(Data::Memory(from_fortran(data, &tensor.shape, size)))
        }
        data => data,
    });
    let in_order: Vec<Option<Data>> = in_order.collect();
    let all = in_order.iter().zip(&tensors).zip(paths);
    let targets = all.filter_map(|((data, tensor), path)| {
        let content = match data.as_ref()? {
            Data::Memory(data) => Content::Tensor(tensor, data),
            Data::Spool(file) => Content::Spooled(tensor, cut.fortran, file),
        };
        path.map(|path| Target { path, content })
    });
    output::write(&targets.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of a large job's parts given twice, overlapped or left out is told.
    #[test]
    fn a_hundred_thousand_parts_cover_the_whole_once() {
        const OF: u64 = 100_000;
        let path = PathBuf::from("p.part");
        let mut covered: Vec<(Range<u64>, &PathBuf)> = (0..OF).map(|i| (i..i + 1, &path)).collect();
        let ranges = |covered: &[(Range<u64>, &PathBuf)]| -> Vec<Range<u64>> {
            covered.iter().map(|(parts, _)| parts.clone()).collect()
        };
        assert!(refuse_overlap(&covered, OF).is_ok());
        assert!(refuse_gaps(&ranges(&covered), OF).is_ok());
        let all = joined(ranges(&covered));
        assert!(all.len() == 1 && all[0] == (0..OF), "{all:?}");
        for i in 0..OF as usize {
            let (parts, _) = covered[i].clone();
            covered[i].0.end += 1;
            let overlaps = refuse_overlap(&covered[i..covered.len().min(i + 2)], OF).is_err();
            assert_eq!(overlaps, i + 1 < OF as usize, "part {i} and the next");
            covered[i].0 = parts.clone();
            let twice = [covered[i].clone(), covered[i].clone()];
            assert!(refuse_overlap(&twice, OF).is_err(), "part {i} twice");
        }
        for i in [0, 1, OF / 2, OF - 1] {
            let mut some = ranges(&covered);
            some.remove(i as usize);
            match refuse_gaps(&some, OF) {
                Err(Failure::Request(told)) => assert_eq!(told, format!("missing: part {i}/{OF}")),
                other => panic!("{other:?}"),
            }
        }
    }
}
