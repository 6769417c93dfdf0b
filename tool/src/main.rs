//! The tool's program.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    wgreduce_tool::main()
}
