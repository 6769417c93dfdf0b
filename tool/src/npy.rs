//! NumPy's .npy files: claims in a header are checked before anything is allocated for them.
//!
//! Keeps the format, its orders and byte orders; operators and devices are unknown here.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::panic;
use std::path::Path;

use npyz::{Endianness, NpyHeader, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};
use wgreduce::{DType, Output};

use crate::failure::Failure;
use crate::tensor::{Tensor, byte_len, from_fortran, swap_bytes};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is read; those of plain arrays have 128 bytes.
const MAX_HEADER: usize = 64 << 10;
/// The deepest nesting of brackets that is parsed: the parser's time grows exponentially with it.
const MAX_NESTING: usize = 4;
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

    /// The whole tensor, in C order.
    pub fn read(self) -> Result<Tensor, String> {
        match self.file {
            From::File(file) => finish(file, self.header, true),
            From::Pipe(pipe) => finish(pipe, self.header, false),
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
        file.read_exact(into)?;
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
    let text = read_header(file)?;
    let header = parse_header(&text)?;
    let (dtype, big_endian) = element_type(&header.dtype(), dtype)?;
    let shape = header.shape().to_vec();
    if shape.len() > MAX_RANK {
        let rank = shape.len();
        return Err(format!("has {rank} dimensions, more than {MAX_RANK}"));
    }
    let bytes = byte_len(dtype, &shape);
    let bytes = bytes.ok_or_else(|| format!("claims the impossible shape {shape:?}"))?;
    let start = text.len() as u64;
    if let Some(length) = length {
        check_length(bytes, length.saturating_sub(start))?;
    }
    Ok(Header {
        dtype,
        shape,
        bytes,
        start,
        big_endian,
        fortran: header.order() == Order::Fortran,
    })
}

/// Reads the data. `known`: the file's length was checked.
fn finish(file: impl Read, header: Header, known: bool) -> Result<Tensor, String> {
    let Header {
        dtype,
        shape,
        bytes,
        ..
    } = header;
    let mut data = Vec::new();
    if known {
        let room = usize::try_from(bytes).unwrap_or(usize::MAX);
        let reserved = data.try_reserve_exact(room);
        reserved.map_err(|_| format!("does not fit in memory with its {bytes} bytes"))?;
    }
    // Without a known length, the header is not trusted: the buffer grows with the data that arrives.
    let mut file = file.take(bytes.saturating_add(1));
    let read = file.read_to_end(&mut data);
    read.map_err(|e| format!("cannot be read: {e}"))?;
    check_length(bytes, data.len() as u64)?;

    let size = dtype.size() as usize;
    if header.big_endian {
        swap_bytes(&mut data, size);
    }
    if header.fortran {
        data = from_fortran(data, &shape, size);
    }
    Ok(Tensor { dtype, shape, data })
}

/// The header with all that is before it.
fn read_header(file: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut text = vec![0; 10];
    let begun = file.read_exact(&mut text);
    if text.starts_with(b"PK\x03\x04") {
        return Err("is an archive, as .npz files are: the .npy files in it can be read".into());
    }
    if begun.is_err() || !text.starts_with(MAGIC) {
        return Err("is not an .npy file".into());
    }
    let length = match text[6] {
        1 => usize::from(u16::from_le_bytes([text[8], text[9]])),
        2 | 3 => {
            let mut high = [0; 2];
            read_exact(file, &mut high)?;
            text.extend(high);
            u32::from_le_bytes([text[8], text[9], high[0], high[1]]) as usize
        }
        version => return Err(format!("has the unknown .npy version {version}")),
    };
    if length > MAX_HEADER {
        return Err(format!(
            "claims a header of {length} bytes, more than {MAX_HEADER}"
        ));
    }
    let start = text.len();
    text.resize(start + length, 0);
    read_exact(file, &mut text[start..])?;
    Ok(text)
}

fn read_exact(file: &mut impl Read, buffer: &mut [u8]) -> Result<(), String> {
    file.read_exact(buffer)
        .map_err(|e| format!("ends within its header: {e}"))
}

fn parse_header(text: &[u8]) -> Result<NpyHeader, String> {
    if nesting(text) > MAX_NESTING {
        return Err("has a malformed header: too many nested brackets".into());
    }
    // npyz multiplies the dimensions unchecked and so may panic.
    match panic::catch_unwind(|| NpyHeader::from_reader(text)) {
        Ok(header) => header.map_err(|e| format!("has a malformed header: {e}")),
        Err(_) => Err("has a malformed header: an impossible shape".into()),
    }
}

fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The element type, and whether its bytes are in big-endian order.
fn element_type(found: &npyz::DType, wanted: Option<DType>) -> Result<(DType, bool), String> {
    let npyz::DType::Plain(found) = found else {
        return Err(foreign("a structured type"));
    };
    let dtype = match (found.type_char(), found.size_field()) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        (TypeChar::RawData, 2) if wanted == Some(DType::BF16) => DType::BF16,
        (TypeChar::RawData, 2) => {
            return Err(format!(
                "holds raw {found}: with --dtype bfloat16 it reads as that"
            ));
        }
        _ => return Err(foreign(found)),
    };
    match wanted {
        Some(wanted) if wanted != dtype => {
            Err(format!("holds {dtype}, not {wanted} as --dtype says"))
        }
        _ => Ok((dtype, found.endianness() == Endianness::Big)),
    }
}

fn foreign(found: impl fmt::Display) -> String {
    let names = DType::ALL.map(DType::name).join(", ");
    format!("holds {found}; what can be read is {names}")
}

fn check_length(expected: u64, actual: u64) -> Result<(), String> {
    let what = match actual.cmp(&expected) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "is truncated",
        std::cmp::Ordering::Greater => "is longer than its header says",
    };
    Err(format!(
        "{what}: {actual} bytes of data, {expected} claimed"
    ))
}

/// Writes a tensor of little-endian bytes in C order.
pub fn write(mut file: impl Write, tensor: &Output, data: &[u8]) -> io::Result<()> {
    write_header(&mut file, tensor, false)?;
    file.write_all(data)?;
    file.flush()
}

/// Writes what comes before the data.
pub fn write_header(file: impl Write, tensor: &Output, fortran: bool) -> io::Result<()> {
    let dtype: TypeStr = type_string(tensor.dtype)
        .parse()
        .map_err(|e| io::Error::other(format!("{e}")))?;
    WriteOptions::new_header_only()
        .dtype(npyz::DType::new_scalar(dtype))
        .order(if fortran { Order::Fortran } else { Order::C })
        .shape(&tensor.shape)
        .writer(file)
        .write_header_only()
        .map(drop)
}

fn type_string(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::Bool => "|b1",
        // NumPy has no bfloat16; ml_dtypes, which adds one, writes it so.
        _ => "<V2",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(
        mut file: impl Read,
        length: Option<u64>,
        dtype: Option<DType>,
    ) -> Result<Tensor, String> {
        let header = begin(&mut file, length, dtype)?;
        finish(file, header, length.is_some())
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
        parse(bytes, Some(bytes.len() as u64), None).unwrap_err()
    }

    #[test]
    fn every_type_is_read_back_as_it_was_written() {
        for dtype in DType::ALL {
            let data: Vec<u8> = (0..6 * dtype.size() as u8).map(|b| b % 2).collect();
            let shape = vec![2, 3];
            let mut bytes = Vec::new();
            write(&mut bytes, &Output::new(dtype, shape.clone()), &data).unwrap();
            let read = parse(&bytes[..], Some(bytes.len() as u64), Some(dtype));
            assert_eq!(read, Ok(Tensor { dtype, shape, data }), "{dtype}");
        }
    }

    #[test]
    fn big_endian_and_fortran_order_are_converted() {
        let data = [0, 1, 0, 2, 0, 3, 0, 4];
        let bytes = file("'>i2'", "True", "(2, 2)", &data);
        let read = parse(&bytes[..], None, None).unwrap();
        assert_eq!(read.data, [1, 0, 3, 0, 2, 0, 4, 0]);
    }

    #[test]
    fn versions_two_and_three_are_read() {
        for version in [2, 3] {
            let mut bytes = file("'|u1'", "False", "(1,)", &[7]);
            bytes[6] = version;
            bytes.splice(10..10, [0, 0]);
            assert_eq!(parse(&bytes[..], None, None).unwrap().data, [7]);
        }
        let mut bytes = file("'|u1'", "False", "(1,)", &[7]);
        bytes[6] = 4;
        assert!(error(&bytes).contains("version 4"));
    }

    #[test]
    fn lengths_must_match_the_claim_known_beforehand_or_not() {
        let short = file("'<f4'", "False", "(2,)", &[0; 7]);
        assert!(error(&short).contains("truncated: 7 bytes of data, 8 claimed"));
        assert!(
            parse(&short[..], None, None)
                .unwrap_err()
                .contains("truncated")
        );
        let long = file("'<f4'", "False", "(2,)", &[0; 9]);
        assert!(error(&long).contains("longer"));
        assert!(parse(&long[..], None, None).unwrap_err().contains("longer"));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let huge = "(4294967296, 4294967296, 4294967296)";
        assert!(error(&file("'<f4'", "False", huge, &[])).contains("impossible shape"));
        assert!(error(&file("'<f4'", "False", "(9223372036854775807,)", &[])).contains("shape"));
        assert!(error(&file("'<f4'", "False", "(-1,)", &[])).contains("negative"));
        for depth in [4, 20, 60] {
            let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
            assert!(error(&file("'<f4'", "False", &nested, &[])).contains("nested"));
        }
        let dims = format!("({})", "1, ".repeat(65));
        assert!(error(&file("'<f4'", "False", &dims, &[0; 4])).contains("65 dimensions"));
        let claim = [MAGIC, &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(error(&claim).contains("4294967295"));
        for end in 0..30 {
            let whole = file("'<f4'", "False", "()", &[0; 4]);
            assert!(parse(&whole[..end], Some(end as u64), None).is_err());
        }
    }

    #[test]
    fn types_outside_the_thirteen_are_named() {
        let of = |descr| error(&file(descr, "False", "()", &[0; 16]));
        assert!(of("'<c8'").contains("<c8"));
        assert!(of("'|O'").contains("|O"));
        assert!(of("'<f16'").contains("<f16"));
        assert!(of("'<V2'").contains("--dtype bfloat16"));
        assert!(of("[('a', '<f4')]").contains("structured"));
    }
}
