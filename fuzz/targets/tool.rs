//! What the tool's reader of .npy files uses of the tool, at the root of a crate as it is there.

#[expect(dead_code, reason = "the tool uses what is not driven here")]
#[path = "../../tool/src/tensor.rs"]
pub mod tensor;

/// In place of the tool's own, which knows its exit codes.
pub mod failure {
    pub struct Failure;

    impl Failure {
        pub fn input(_: &std::path::Path, _: impl std::fmt::Display) -> Failure {
            Failure
        }
    }
}
