//! Partial results from elsewhere: bytes that can be read are written the same, and can be merged and finished.

use wgreduce::{Partial, PartialError};

pub fn survive(data: &[u8]) {
    let Ok(partial) = Partial::from_bytes(data) else {
        return;
    };
    assert_eq!(partial.to_bytes(), data);
    let mut merged = partial.clone();
    match merged.merge(&partial) {
        // The same again, or twice the sum.
        Ok(()) => assert_eq!(
            Partial::from_bytes(&merged.to_bytes()).as_ref(),
            Ok(&merged)
        ),
        Err(error) => assert!(matches!(error, PartialError::TooMany { .. }), "{error}"),
    }
    match merged.finish() {
        Ok(outputs) => {
            let expected = partial.outputs().into_iter().map(|o| o.bytes());
            let lens = outputs.iter().map(|o| o.len() as u64);
            assert!(lens.eq(expected));
        }
        Err(error) => assert!(matches!(error, PartialError::Index { .. }), "{error}"),
    }
}
