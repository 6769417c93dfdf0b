//! NumPy's .npy files: claims in a header are checked before anything is allocated for them.
//!
//! Keeps the format, its orders and byte orders; operators and devices are unknown here.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use wgreduce::{DType, Output};

use crate::failure::Failure;
use crate::header::{self, MAGIC, Text};
use crate::tensor::{byte_len, from_fortran, swap_bytes};

/// The longest header that is read; those of plain arrays have 128 bytes.
const MAX_HEADER: usize = 64 << 10;
/// NumPy's own bound.
const MAX_RANK: usize = 64;

/// A file whose header has been read, and checked against the file's length.
pub struct Source {
    header: Header,
    file: From,
    slab: Option<Slab>,
}

/// The part of a tensor between two places of a dimension: blocks of neighbouring bytes.
struct Slab {
    /// Bytes of all blocks.
    bytes: u64,
    /// Bytes of a block.
    block: u64,
    /// Bytes from one block to the next.
    pitch: u64,
    /// The first block's first byte.
    first: u64,
}

enum From {
    File(File),
    /// Can be read once; its length is not known beforehand.
    Pipe(Box<dyn Read>),
}

/// What a header says, and its own length.
struct Header {
    dtype: DType,
    shape: Vec<u64>,
    bytes: u64,
    start: u64,
    big_endian: bool,
    fortran: bool,
}

/// Opens a file. `dtype` must be the file's; bfloat16, which NumPy lacks, reads raw `<V2`.
pub fn open(path: &Path, dtype: Option<DType>) -> Result<Source, Failure> {
    Source::open(path, dtype).map_err(|why| Failure::input(path, why))
}

impl Source {
    fn open(path: &Path, dtype: Option<DType>) -> Result<Source, String> {
        if path == Path::new("-") {
            return Source::pipe(Box::new(io::stdin()), dtype);
        }
        let mut file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
        let about = file.metadata().map_err(|e| e.to_string())?;
        if about.is_dir() {
            return Err("is a folder, not an .npy file".into());
        }
        if !about.is_file() {
            return Source::pipe(Box::new(file), dtype);
        }
        Ok(Source {
            header: begin(&mut file, Some(about.len()), dtype)?,
            file: From::File(file),
            slab: None,
        })
    }

    /// A source whose length is not known beforehand.
    pub fn pipe(mut pipe: Box<dyn Read>, dtype: Option<DType>) -> Result<Source, String> {
        Ok(Source {
            header: begin(&mut pipe, None, dtype)?,
            file: From::Pipe(pipe),
            slab: None,
        })
    }

    pub fn dtype(&self) -> DType {
        self.header.dtype
    }

    pub fn shape(&self) -> &[u64] {
        &self.header.shape
    }

    /// Whether the first index runs fastest, and that makes a difference.
    pub fn is_fortran(&self) -> bool {
        let dims = self.shape().iter().filter(|&&d| d != 1);
        self.header.fortran && dims.count() > 1
    }

    /// Bytes of the tensor.
    pub fn bytes(&self) -> u64 {
        match &self.slab {
            Some(slab) => slab.bytes,
            None => self.header.bytes,
        }
    }

    /// Whether any part can be read at any time.
    pub fn is_file(&self) -> bool {
        matches!(self.file, From::File(_))
    }

    /// Copies what can be read once to a new file, of which any part can be read at any time.
    pub fn spool(&mut self, new: fn() -> io::Result<File>) -> Result<(), String> {
        let From::Pipe(pipe) = &mut self.file else {
            return Ok(());
        };
        let unable = |e: io::Error| format!("cannot be copied to a temporary file: {e}");
        let mut file = new().map_err(unable)?;
        let copied = io::copy(&mut pipe.take(self.header.bytes), &mut file);
        let bytes = copied.map_err(unable)?;
        check_length(self.header.bytes, bytes)?;
        self.header.start = 0;
        self.file = From::File(file);
        Ok(())
    }

    /// The whole tensor: little-endian elements in C order.
    pub fn read(self) -> Result<Vec<u8>, String> {
        match self.file {
            From::File(file) => finish(file, &self.header, true),
            From::Pipe(pipe) => finish(pipe, &self.header, false),
        }
    }

    /// Limits [`Source::read_at`] to a range of a dimension, which then is a tensor of its own.
    /// `shape` is the file's in the order of memory, the slowest dimension first.
    pub fn narrow(&mut self, shape: &[u64], dim: usize, range: &Range<u64>) {
        let mut slab = Slab {
            bytes: 0,
            block: 1,
            pitch: 1,
            first: 0,
        };
        // Without elements, the other dimensions may overflow.
        if self.header.bytes > 0 {
            let row = shape[dim + 1..].iter().product::<u64>() * self.header.dtype.size();
            slab.pitch = shape[dim] * row;
            slab.block = (range.end - range.start) * row;
            slab.bytes = self.header.bytes / slab.pitch * slab.block;
            slab.first = range.start * row;
        }
        self.slab = Some(slab);
    }

    /// The number of contiguous pieces of the file that are read.
    pub fn blocks(&self) -> u64 {
        match &self.slab {
            Some(slab) if slab.block > 0 && slab.block < slab.pitch => self.bytes() / slab.block,
            _ => 1,
        }
    }

    /// Reads elements from a byte of the tensor on, in the order of the file.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let Some(Slab {
            block,
            pitch,
            first,
            ..
        }) = self.slab
        else {
            return self.read_file(offset, into);
        };
        let (mut at, mut rest) = (offset, into);
        while !rest.is_empty() {
            let (number, within) = (at / block, at % block);
            let most = (block - within).min(rest.len() as u64);
            let (now, later) = rest.split_at_mut(most as usize);
            self.read_file(first + number * pitch + within, now)?;
            (at, rest) = (at + most, later);
        }
        Ok(())
    }

    fn read_file(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let From::File(file) = &mut self.file else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        file.seek(SeekFrom::Start(self.header.start + offset))?;
        if let Err(error) = file.read_exact(into) {
            let length = file.metadata()?.len().saturating_sub(self.header.start);
            // It was long enough when it was opened.
            return Err(match check_length(self.header.bytes, length) {
                Err(why) => io::Error::new(error.kind(), format!("it {why}")),
                Ok(()) => error,
            });
        }
        if self.header.big_endian {
            swap_bytes(into, self.header.dtype.size() as usize);
        }
        Ok(())
    }
}

/// Reads a header. `length`: of the whole file, where it is known beforehand.
fn begin(
    file: &mut impl Read,
    length: Option<u64>,
    dtype: Option<DType>,
) -> Result<Header, String> {
    let (text, start) = read_header(file)?;
    let (dtype, big_endian) = text.element_type(dtype)?;
    let shape = text.shape;
    if shape.len() > MAX_RANK {
        let rank = shape.len();
        return Err(format!("has {rank} dimensions, more than {MAX_RANK}"));
    }
    let bytes = byte_len(dtype, &shape);
    let bytes = bytes.ok_or_else(|| format!("claims the impossible shape {shape:?}"))?;
    if let Some(length) = length {
        check_length(bytes, length.saturating_sub(start))?;
    }
    Ok(Header {
        dtype,
        shape,
        bytes,
        start,
        big_endian,
        fortran: text.fortran,
    })
}

/// Reads the data. `known`: the file's length was checked.
fn finish(file: impl Read, header: &Header, known: bool) -> Result<Vec<u8>, String> {
    let bytes = header.bytes;
    let mut data = Vec::new();
    if known {
        let room = usize::try_from(bytes).unwrap_or(usize::MAX);
        let reserved = data.try_reserve_exact(room);
        reserved.map_err(|_| format!("does not fit in memory with its {bytes} bytes"))?;
    }
    // Without a known length, the header is not trusted: the buffer grows with the data that arrives. What comes
    // after the data, NumPy ignores as well.
    let mut file = file.take(bytes);
    let read = file.read_to_end(&mut data);
    read.map_err(|e| format!("cannot be read: {e}"))?;
    check_length(bytes, data.len() as u64)?;

    let size = header.dtype.size() as usize;
    if header.big_endian {
        swap_bytes(&mut data, size);
    }
    Ok(match header.fortran {
        true => from_fortran(data, &header.shape, size),
        false => data,
    })
}

/// The header, and where the data begins.
fn read_header(file: &mut impl Read) -> Result<(Text, u64), String> {
    let mut begin = [0; 10];
    let begun = file.read_exact(&mut begin);
    if begin.starts_with(b"PK\x03\x04") {
        return Err("is an archive, as .npz files are: the .npy files in it can be read".into());
    }
    if begun.is_err() || !begin.starts_with(MAGIC) {
        return Err("is not an .npy file".into());
    }
    let version = begin[6];
    let (length, before) = match version {
        1 => (usize::from(u16::from_le_bytes([begin[8], begin[9]])), 10),
        2 | 3 => {
            let mut high = [0; 2];
            read_exact(file, &mut high)?;
            let length = u32::from_le_bytes([begin[8], begin[9], high[0], high[1]]);
            (length as usize, 12)
        }
        version => return Err(format!("has the unknown .npy version {version}")),
    };
    if length > MAX_HEADER {
        return Err(format!(
            "claims a header of {length} bytes, more than {MAX_HEADER}"
        ));
    }
    let mut text = vec![0; length];
    read_exact(file, &mut text)?;
    Ok((Text::parse(&text, version < 3)?, before + length as u64))
}

fn read_exact(file: &mut impl Read, buffer: &mut [u8]) -> Result<(), String> {
    file.read_exact(buffer).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => "ends within its header".into(),
        _ => format!("cannot be read: {e}"),
    })
}

fn check_length(expected: u64, actual: u64) -> Result<(), String> {
    match actual < expected {
        false => Ok(()),
        true => Err(format!(
            "is truncated: {actual} bytes of data, {expected} claimed"
        )),
    }
}

/// Writes a tensor of little-endian bytes in C order.
pub fn write(mut file: impl Write, tensor: &Output, data: &[u8]) -> io::Result<()> {
    write_header(&mut file, tensor, false)?;
    file.write_all(data)?;
    file.flush()
}

/// Writes what comes before the data.
pub fn write_header(mut file: impl Write, tensor: &Output, fortran: bool) -> io::Result<()> {
    file.write_all(&header::written(tensor.dtype, &tensor.shape, fortran))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(mut file: impl Read, length: Option<u64>) -> Result<Vec<u8>, String> {
        let header = begin(&mut file, length, None)?;
        finish(file, &header, length.is_some())
    }

    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let dict =
            format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dict.len() as u16).to_le_bytes());
        bytes.extend(dict.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn error(bytes: &[u8]) -> String {
        parse(bytes, Some(bytes.len() as u64)).unwrap_err()
    }

    #[test]
    fn versions_two_and_three_are_read() {
        for version in [2, 3] {
            let mut bytes = file("'|u1'", "False", "(1,)", &[7]);
            bytes[6] = version;
            bytes.splice(10..10, [0, 0]);
            assert_eq!(parse(&bytes[..], None).unwrap(), [7]);
        }
        let mut bytes = file("'|u1'", "False", "(1,)", &[7]);
        bytes[6] = 4;
        assert!(error(&bytes).contains("version 4"));
    }

    /// Whole and piece by piece, a file that is shortened after it was opened is told by its numbers.
    #[test]
    fn a_file_that_is_shortened_while_it_is_read_is_told() {
        let data = file("'<f4'", "False", "(5,)", &[0; 20]);
        let open = || {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &data).unwrap();
            let source = Source::open(file.path(), None).unwrap();
            let shorter = data.len() as u64 - 9;
            file.as_file().set_len(shorter).unwrap();
            source
        };
        let told = "is truncated: 11 bytes of data, 20 claimed";
        assert_eq!(open().read().unwrap_err(), told);
        let mut pieces = open();
        assert!(pieces.read_at(4, &mut [0; 7]).is_ok());
        let error = pieces.read_at(4, &mut [0; 8]).unwrap_err();
        assert_eq!(error.to_string(), format!("it {told}"));
        let mut slab = open();
        slab.narrow(&[5], 0, &(2..5));
        let error = slab.read_at(0, &mut [0; 4]).unwrap_err();
        assert_eq!(error.to_string(), format!("it {told}"));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let huge = "(4294967296, 4294967296, 4294967296)";
        assert!(error(&file("'<f4'", "False", huge, &[])).contains("impossible shape"));
        assert!(error(&file("'<f4'", "False", "(9223372036854775807,)", &[])).contains("shape"));
        let dims = format!("({})", "1, ".repeat(65));
        assert!(error(&file("'<f4'", "False", &dims, &[0; 4])).contains("65 dimensions"));
        let claim = [MAGIC, &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(error(&claim).contains("4294967295"));
        for end in 0..30 {
            let whole = file("'<f4'", "False", "()", &[0; 4]);
            assert!(parse(&whole[..end], Some(end as u64)).is_err());
        }
    }
}
