//! .npy files, as a file of known length and as a pipe: both say the same.

#[expect(dead_code, reason = "the tool uses what is not driven here")]
#[path = "../../src/bin/wgreduce/npy.rs"]
mod reader;

use wgreduce::DType;

pub fn survive(data: &[u8]) {
    for dtype in [None, Some(DType::BF16)] {
        let file = reader::parse(data, Some(data.len() as u64), dtype);
        let pipe = reader::parse(data, None, dtype);
        assert_eq!(file.is_ok(), pipe.is_ok());
        if let (Ok(file), Ok(pipe)) = (file, pipe) {
            assert_eq!(file, pipe);
            let bytes = crate::tensor::byte_len(file.dtype, &file.shape);
            assert_eq!(bytes, Some(file.data.len() as u64));
        }
    }
}
