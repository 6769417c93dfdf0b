//! The parts of the tool that its reader of .npy files uses, at the root of a crate as in the tool.

#[path = "../../tool/src/header.rs"]
pub mod header;
#[expect(dead_code, reason = "the tool uses what is not driven here")]
#[path = "../../tool/src/tensor.rs"]
pub mod tensor;

/// Replaces the tool's own module, which knows its exit codes.
pub mod failure {
    pub struct Failure;

    impl Failure {
        pub fn input(_: &std::path::Path, _: impl std::fmt::Display) -> Failure {
            Failure
        }
    }
}
