//! .npy files, read as a file and as a pipe, at once and in parts: all give the same.

#[expect(dead_code, reason = "the tool uses what is not driven here")]
#[path = "../../tool/src/npy.rs"]
mod reader;

use reader::Source;
use std::fs;
use std::io::Cursor;
use wgreduce::DType;

pub fn survive(data: &[u8]) {
    let path = std::env::temp_dir().join(format!("wgreduce-fuzz-{}.npy", std::process::id()));
    fs::write(&path, data).expect("a temporary file");
    for dtype in [None, Some(DType::BF16)] {
        let pipe = Source::pipe(Box::new(Cursor::new(data.to_vec())), dtype);
        let pipe = pipe.and_then(Source::read);
        let open = || reader::open(&path, dtype).ok();
        // A file has a known length and a pipe has not, but both must refuse the same data.
        assert_eq!(open().is_some(), pipe.is_ok());
        if let (Some(whole), Some(parts), Ok(pipe)) = (open(), open(), pipe) {
            assert_eq!(whole.read().as_ref(), Ok(&pipe));
            compare(parts, &pipe);
        }
    }
    fs::remove_file(&path).expect("the temporary file");
}

/// Compares the parts that are read, in the order of the file, with the whole.
fn compare(mut file: Source, whole: &[u8]) {
    let bytes = crate::tensor::byte_len(file.dtype(), file.shape());
    assert_eq!(bytes, Some(whole.len() as u64));
    if file.is_fortran() {
        return;
    }
    let few = 3 * file.dtype().size() as usize;
    for (i, part) in whole.chunks(few).enumerate() {
        let mut read = vec![0; part.len()];
        let at = (few * i) as u64;
        file.read_at(at, &mut read).expect("what was there");
        assert_eq!(read, part);
    }
}
