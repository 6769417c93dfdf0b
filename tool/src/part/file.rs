//! Files of parts: what `--part` and `merge` write, and `merge` reads.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | `WGPT` |
//! | 4..8 | the layout: 2 |
//! | 8..12 | the length of the header |
//! | the header | JSON: the task (the whole problem, the dimension that is cut, how many parts there are, the fingerprints of the inputs), which of the parts are here, and the kind and the length of what they leave |
//! | as the header says | what they leave |
//! | the last 16 | the checksum of all before them: XXH3 of 128 bits |
//!
//! Numbers are little endian. Where the cut goes through the segments, the parts leave one partial
//! result ([`wgreduce::Partial`]), or nothing if none has elements. Elsewhere each run of
//! neighbouring parts leaves its outputs, one after another.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wgreduce::{DType, IndexType, NanPolicy, Partial};

use super::Cut;
use crate::failure::Failure;
use crate::operator::{self, OPERATORS};
use crate::output::{Piece, Summed};

const MAGIC: [u8; 4] = *b"WGPT";
const VERSION: u32 = 2;
/// Bytes of the checksum.
const CHECKSUM: u64 = 16;

/// What parts of one reduction have in common.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    op: String,
    dtype: String,
    /// Dimensions in the order of memory, here and below.
    shapes: Vec<Vec<u64>>,
    axes: Vec<i64>,
    keepdims: bool,
    select_last_index: bool,
    index_type: String,
    /// Of topk alone: how many elements, and whether the smallest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    k: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    smallest: bool,
    nan: String,
    fortran: bool,
    dim: Option<usize>,
    of: u64,
    /// The fingerprint of each input.
    data: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    task: Task,
    /// Runs of neighbouring parts, in order.
    parts: Vec<Range<u64>>,
    leave: Leave,
}

/// What the parts leave.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leave {
    kind: String,
    bytes: u64,
}

impl Leave {
    fn of(cut: &Cut, bytes: u64) -> Leave {
        let kind = match cut.is_through_segments() {
            true => "partial result",
            false => "outputs",
        };
        Leave {
            kind: kind.into(),
            bytes,
        }
    }
}

impl Task {
    pub fn of(cut: &Cut) -> Task {
        let problem = &cut.problem;
        let axes = problem.reduced().iter().enumerate();
        let index = match problem.index_result_type() {
            Some(index_type) => index_type.dtype().to_string(),
            None => "none".into(),
        };
        let nan = match problem.nan_policy() {
            NanPolicy::Ignore => "ignore",
            _ => "propagate",
        };
        Task {
            op: problem.op().name().into(),
            dtype: problem.dtype().name().into(),
            shapes: problem.inputs().to_vec(),
            axes: axes.filter(|(_, r)| **r).map(|(i, _)| i as i64).collect(),
            // False for Min and Max of a first input with fewer dimensions than the result.
            keepdims: problem.outputs()[0].shape.len() == problem.inputs()[0].len(),
            select_last_index: problem.selects_last_index(),
            index_type: index,
            k: problem.k(),
            smallest: problem.gives_smallest(),
            nan: nan.into(),
            fortran: cut.fortran,
            dim: cut.dim,
            of: cut.of,
            data: cut.data.clone(),
        }
    }

    /// To be sent to another rank.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Task> {
        serde_json::from_slice(bytes).ok()
    }

    /// The cut that is described, if there can be one.
    fn cut(&self) -> Option<Cut> {
        let mut ops = OPERATORS.into_iter().map(|(_, op)| op);
        let op = ops.find(|op| op.name() == self.op)?;
        let dtype = DType::ALL.into_iter().find(|t| t.name() == self.dtype)?;
        let elementwise = op.is_elementwise();
        // An empty list would stand for all axes.
        if !elementwise && self.axes.is_empty() != self.shapes.first()?.is_empty() {
            return None;
        }
        let k = self.k.unwrap_or(0);
        let problem = operator::problem(op, dtype, &self.shapes, &self.axes, k).ok()?;
        let problem = problem.nan(match self.nan.as_str() {
            "propagate" => NanPolicy::Propagate,
            "ignore" => NanPolicy::Ignore,
            _ => return None,
        });
        let mut problem = problem.keepdims(self.keepdims || elementwise);
        if op.is_index() {
            let types = [IndexType::I64, IndexType::I32, IndexType::U32];
            let named = |t: &IndexType| t.dtype().to_string() == self.index_type;
            let index = types.into_iter().find(named)?;
            let has_values = problem.k().is_none();
            problem = problem.select_last_index(self.select_last_index);
            problem = problem.largest(!self.smallest).index_type(index);
            problem = problem.with_values(has_values);
        }
        problem.check().ok()?;
        // As it was chosen when the parts were cut.
        let whole = Cut::of(problem, self.fortran, self.of, self.data.clone());
        let fingerprints = self.data.len() == self.shapes.len();
        // The task must be exactly the one that the tool writes for this cut.
        (fingerprints && *self == Task::of(&whole)).then_some(whole)
    }

    /// The first difference of another task to this one, in words that go on with where this one is.
    pub fn difference(&self, other: &Task) -> Option<String> {
        let pair = |what, of: &dyn Fn(&Task) -> String| (what, of(self), of(other));
        let order = |h: &Task| if h.fortran { "Fortran" } else { "C" };
        let shapes = |h: &Task| {
            let mut shapes = h.shapes.clone();
            if h.fortran {
                shapes.iter_mut().for_each(|shape| shape.reverse());
            }
            let shapes: Vec<String> = shapes.iter().map(|s| format!("{s:?}")).collect();
            shapes.join(" and ")
        };
        let axes = |h: &Task| {
            let rank = h.shapes.first().map_or(0, Vec::len) as i64;
            let axis = |&a: &i64| if h.fortran { rank - 1 - a } else { a };
            let mut axes: Vec<i64> = h.axes.iter().map(axis).collect();
            axes.sort_unstable();
            format!("{axes:?}")
        };
        let pairs = [
            pair("the operator", &|h| h.op.clone()),
            pair("the element type", &|h| h.dtype.clone()),
            pair("the input's shape", &shapes),
            pair("the order of the file", &|h| order(h).into()),
            pair("the axes", &axes),
            pair("keepdims", &|h| h.keepdims.to_string()),
            pair("select-last-index", &|h| h.select_last_index.to_string()),
            pair("the index type", &|h| h.index_type.clone()),
            pair("k", &|h| h.k.map_or("none".into(), |k| k.to_string())),
            pair("smallest", &|h| h.smallest.to_string()),
            pair("the NaN policy", &|h| h.nan.clone()),
            pair("the number of parts", &|h| h.of.to_string()),
        ];
        if let Some((what, ours, theirs)) = pairs.into_iter().find(|(_, a, b)| a != b) {
            return Some(format!("another problem: {what} is {theirs}, and {ours}"));
        }
        let mut data = self.data.iter().zip(&other.data).enumerate();
        let (i, (ours, theirs)) = data.find(|(_, (ours, theirs))| ours != theirs)?;
        let input = match self.data.len() {
            1 => "the input".into(),
            _ => format!("input {}", i + 1),
        };
        Some(format!(
            "other data: the contents of {input} have the fingerprint {theirs}, and {ours}"
        ))
    }
}

impl Header {
    /// The cut that is described, if there can be one.
    fn cut(&self) -> Option<Cut> {
        let cut = self.task.cut()?;
        let parts = &self.parts;
        let inside = parts.iter().all(|p| p.start < p.end && p.end <= cut.of);
        let apart = parts.windows(2).all(|p| p[0].end <= p[1].start);
        (inside && apart && !parts.is_empty()).then_some(cut)
    }
}

/// The bytes before what the parts leave, which are `bytes`.
pub fn head(cut: &Cut, parts: &[Range<u64>], bytes: u64) -> Vec<u8> {
    let header = Header {
        task: Task::of(cut),
        parts: parts.to_vec(),
        leave: Leave::of(cut, bytes),
    };
    let header = serde_json::to_vec(&header).unwrap_or_default();
    let length = (header.len() as u32).to_le_bytes();
    [&MAGIC[..], &VERSION.to_le_bytes(), &length, &header].concat()
}

fn unreadable(e: io::Error) -> String {
    format!("cannot be read: {e}")
}

/// Reads the header and where the results of the parts begin. The bytes need not be trusted: no more than the
/// file's length is allocated.
fn begin(mut file: impl Read, length: u64) -> Result<(Header, Cut, u64), String> {
    let cut_off =
        |expected: u64| format!("is cut off: it has {length} bytes and should have {expected}");
    let mut begin = Vec::new();
    let read = file.by_ref().take(12).read_to_end(&mut begin);
    read.map_err(unreadable)?;
    if !begin.starts_with(&MAGIC) {
        return Err("is no part: --part and merge write those".into());
    }
    let [_, version, size] = match *begin.as_chunks::<4>().0 {
        [a, b, c] => [a, b, c].map(u32::from_le_bytes),
        _ => return Err(cut_off(12)),
    };
    if version != VERSION {
        return Err(format!(
            "is a part of layout {version}; this version reads layout {VERSION}"
        ));
    }
    let start = 12 + u64::from(size);
    if length < start {
        return Err(cut_off(start));
    }
    let mut text = vec![0; size as usize];
    file.read_exact(&mut text).map_err(unreadable)?;
    let malformed = "is a part with a malformed header";
    let header: Header = serde_json::from_slice(&text).map_err(|e| format!("{malformed}: {e}"))?;
    let cut = header.cut().ok_or(malformed)?;
    let Leave { kind, bytes } = &header.leave;
    let expected = Leave::of(&cut, *bytes).kind;
    if *kind != expected {
        return Err(format!("{malformed}: it leaves {kind:?}, not {expected:?}"));
    }
    // Partial results tell their own length.
    if !cut.is_through_segments() {
        let runs = header.parts.iter().map(|parts| cut.range(parts));
        let mut all = runs.flat_map(|run| cut.output_bytes(&run));
        let expected = all.try_fold(0, u64::checked_add).ok_or(malformed)?;
        if *bytes != expected {
            return Err(format!(
                "{malformed}: it leaves {bytes} bytes, and its parts have {expected}"
            ));
        }
    }
    let expected = [*bytes, CHECKSUM]
        .into_iter()
        .try_fold(start, u64::checked_add);
    let expected = expected.ok_or(malformed)?;
    match length.cmp(&expected) {
        Ordering::Less => Err(cut_off(expected)),
        Ordering::Greater => Err(format!("is longer than the {expected} bytes of its parts")),
        Ordering::Equal => Ok((header, cut, start)),
    }
}

/// A file of parts whose header has been read, and checked against the file's length.
pub struct PartFile {
    pub path: PathBuf,
    pub cut: Cut,
    /// Runs of neighbouring parts, in order.
    pub parts: Vec<Range<u64>>,
    header: Header,
    file: File,
    /// Where the results of the parts begin.
    start: u64,
}

impl PartFile {
    pub fn open(path: &Path) -> Result<PartFile, Failure> {
        PartFile::read(path).map_err(|why| Failure::file(path, why))
    }

    fn read(path: &Path) -> Result<PartFile, String> {
        let mut file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err("is no file: merge reads it more than once".into());
        }
        let length = about.len();
        let (header, cut, start) = begin(&mut file, length)?;
        Ok(PartFile {
            path: path.to_path_buf(),
            parts: header.parts.clone(),
            start,
            header,
            cut,
            file,
        })
    }

    /// Refuses a file whose bytes are not those that were written.
    pub fn check_bytes(&self) -> Result<(), Failure> {
        let checksum = || {
            let mut file = &self.file;
            file.seek(SeekFrom::Start(0))?;
            let mut sums = Summed::new(io::sink());
            let covered = self.start + self.header.leave.bytes;
            io::copy(&mut file.take(covered), &mut sums)?;
            let mut written = [0; CHECKSUM as usize];
            file.read_exact(&mut written)?;
            Ok((sums.checksum(), u128::from_le_bytes(written)))
        };
        let why = match checksum() {
            Ok((ours, written)) if ours == written => return Ok(()),
            Ok((ours, written)) => format!(
                "is damaged: its checksum is {written:032x}, and its bytes have {ours:032x}"
            ),
            Err(e) => unreadable(e),
        };
        Err(Failure::file(&self.path, why))
    }

    /// Refuses a file of another problem, another cut or other data.
    pub fn check_same(&self, other: &PartFile) -> Result<(), Failure> {
        match self.header.task.difference(&other.header.task) {
            None => Ok(()),
            Some(difference) => {
                let why = format!("is of {difference} in {}", self.path.display());
                Err(Failure::file(&other.path, why))
            }
        }
    }

    /// What the parts leave where the cut goes through the segments: nothing if they have no elements.
    pub fn partial(&self) -> Result<Option<Partial>, Failure> {
        let ranges: Vec<Range<u64>> = self.parts.iter().map(|p| self.cut.range(p)).collect();
        let bytes = self.header.leave.bytes;
        if bytes == 0 && ranges.iter().all(Range::is_empty) {
            return Ok(None);
        }
        let mut all = Vec::new();
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(self.start));
        read.and_then(|_| file.take(bytes).read_to_end(&mut all))
            .map_err(|e| Failure::file(&self.path, unreadable(e)))?;
        let partial = Partial::from_bytes(&all).map_err(|e| Failure::file(&self.path, e))?;
        let first = ranges.first().map_or(0, |range| range.start);
        let last = ranges.last().map_or(0, |range| range.end);
        let len = ranges.iter().map(|range| range.end - range.start).sum();
        let own = self.cut.between(&(0..len)).map_err(wgreduce::Error::from)?;
        match partial.is_of(&own, &(first..last)) {
            true => Ok(Some(partial)),
            false => Err(Failure::file(
                &self.path,
                "holds partial results of another problem or part than its header's",
            )),
        }
    }

    /// Elsewhere: of each run of parts the outputs, with the range of the cut dimension.
    pub fn pieces(&self) -> Vec<(Range<u64>, Piece<'_>)> {
        let mut start = self.start;
        let mut pieces = Vec::new();
        for parts in &self.parts {
            let range = self.cut.range(parts);
            for bytes in self.cut.output_bytes(&range) {
                let file = &self.file;
                pieces.push((range.clone(), Piece { file, start, bytes }));
                start += bytes;
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use support::Bits;
    use wgreduce::Problem;

    /// Headers of all kinds, with changes: each is read or refused.
    #[test]
    fn headers_from_anywhere_are_survived() {
        let (f32, u8) = (DType::F32, DType::U8);
        let cut = |problem: Result<Problem, _>, fortran| {
            let problem = problem.expect("a problem");
            let data = vec!["0".repeat(32); problem.inputs().len()];
            Cut::of(problem, fortran, 16, data)
        };
        let argmax = Problem::arg_max(f32, &[40, 3], 0).map(|p| p.with_values(true));
        let cuts = [
            cut(argmax, false),
            cut(Problem::reduce_min(u8, &[5, 60, 7], &[0, 2]), true),
            cut(Problem::min(u8, &[&[20, 1][..], &[3]]), false),
            cut(Problem::reduce_max(u8, &[], &[]), false),
        ];
        let heads = cuts.iter().map(|cut| head(cut, &[2..5, 7..8], 29));
        let heads: Vec<Vec<u8>> = heads.collect();
        let mut bits = Bits::new(3);
        let mut read = 0;
        for i in 0..40_000 {
            let mut bytes = heads[i % heads.len()].clone();
            for _ in 0..bits.below(4) {
                let at = bits.below(bytes.len() as u64) as usize;
                match bits.below(4) {
                    0 => bytes[at] = bits.draw() as u8,
                    // Digits are most of what can be meant otherwise.
                    1 => bytes[at] = b'0' + bits.below(10) as u8,
                    2 => bytes.insert(at, b'9'),
                    _ => drop(bytes.remove(at)),
                }
            }
            // As long as its parts should be, or nearly.
            let length = bytes.len() as u64;
            for length in [length, length + 45] {
                read += usize::from(begin(&bytes[..], length).is_ok());
            }
        }
        assert!(read > 1000, "{read} were read");
    }
    /// A part of which any byte is changed, or the last ones are missing.
    #[test]
    fn a_damaged_part_is_refused() {
        let problem = Problem::reduce_sum(DType::I16, &[40, 3], &[0]).expect("a problem");
        let cut = Cut::of(problem, false, 16, vec!["0".repeat(32)]);
        let own = cut.between(&(0..3)).expect("a problem");
        let partial = Partial::from_reference(&own, 0, &[5; 18]).expect("a partial result");
        let bytes = partial.to_bytes();
        let parts = 0..1;
        let begin = [head(&cut, &[parts], bytes.len() as u64), bytes].concat();
        let mut part = Vec::new();
        let mut to = Summed::new(&mut part);
        let written = to.write_all(&begin).and_then(|()| to.end());
        written.expect("memory");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p.part");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            let part = PartFile::open(&path)?;
            part.check_bytes()?;
            part.partial()
        };
        assert_eq!(read(&part).expect("what was written"), Some(partial));
        for i in 0..part.len() {
            assert!(read(&part[..i]).is_err(), "{i} bytes");
            let mut damaged = part.clone();
            damaged[i] ^= 1 << (i % 8);
            assert!(read(&damaged).is_err(), "byte {i}");
        }
    }
}
