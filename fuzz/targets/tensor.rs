//! `TensorProto`: a tensor that can be read is complete, and is the same when written and read again.

use wgreduce::onnx::Tensor;

pub fn survive(data: &[u8]) {
    let Ok(tensor) = Tensor::decode(data) else {
        return;
    };
    let size = tensor.dtype().size();
    let mut sizes = tensor.shape().iter();
    let bytes = sizes.try_fold(size, |bytes, &n| bytes.checked_mul(n));
    // If one size is 0, the others may be anything.
    let bytes = if tensor.shape().contains(&0) {
        Some(0)
    } else {
        bytes
    };
    assert_eq!(bytes, Some(tensor.bytes().len() as u64));
    assert_eq!(Tensor::decode(&tensor.encode("again")), Ok(tensor));
}
