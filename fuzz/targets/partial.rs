//! Partial results from elsewhere: what is read is written the same, merged and finished.

use wgreduce::Partial;

pub fn survive(data: &[u8]) {
    let Ok(partial) = Partial::from_bytes(data) else {
        return;
    };
    assert_eq!(partial.to_bytes(), data);
    let mut merged = partial.clone();
    assert_eq!(merged.merge(&partial), Ok(()));
    // What is merged with itself stays what it is.
    assert_eq!(merged.to_bytes(), data);
    if let Ok(outputs) = merged.finish() {
        let expected = partial.outputs().into_iter().map(|o| o.bytes());
        let lens = outputs.iter().map(|o| o.len() as u64);
        assert!(lens.eq(expected));
    }
}
