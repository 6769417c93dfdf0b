//! Why the tool did not do what it was asked, and the exit code that says so.
//!
//! Keeps the line on stderr and what a broken pipe or a full disk means; no command's own rules.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Style};
use wgreduce::Error;

const ERROR: Style = AnsiColor::Red.on_default().bold();

#[derive(Debug)]
pub enum Failure {
    /// A check failed: exit code 1.
    Check(String),
    /// Test cases failed, and were named on stdout: exit code 1.
    Cases,
    /// The request was wrong: exit code 2.
    Request(String),
    /// The device failed: exit code 3.
    Device(String),
    /// A defect of this program; exit code 3, for nothing is known about the result.
    Panic,
    /// Nobody reads the output any more: no failure.
    ClosedPipe,
}

impl Failure {
    /// A wrong request because of a file.
    pub fn file(path: &Path, why: impl fmt::Display) -> Failure {
        Failure::Request(format!("{}: {why}", path.display()))
    }

    /// A wrong request because of an input, of which `-` is standard input.
    pub fn input(path: &Path, why: impl fmt::Display) -> Failure {
        match path == Path::new("-") {
            true => Failure::Request(format!("standard input: {why}")),
            false => Failure::file(path, why),
        }
    }

    /// A wrong request because of an output, of which `-` is standard output.
    pub fn output(path: &Path, why: impl fmt::Display) -> Failure {
        match path == Path::new("-") {
            true => Failure::Request(format!("standard output: {why}")),
            false => Failure::file(path, why),
        }
    }

    /// Says what failed, in a first line `error: ...` on stderr.
    pub fn report(&self) -> ExitCode {
        if !matches!(self, Failure::ClosedPipe | Failure::Cases) {
            // As clap writes its own: red on a terminal, unless NO_COLOR is set.
            let (red, plain) = (ERROR.render(), ERROR.render_reset());
            let _ = writeln!(anstream::stderr(), "{red}error:{plain} {self}");
        }
        ExitCode::from(self.code())
    }

    pub fn code(&self) -> u8 {
        match self {
            Failure::ClosedPipe => 0,
            Failure::Check(_) | Failure::Cases => 1,
            Failure::Request(_) => 2,
            Failure::Device(_) | Failure::Panic => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Check(message) | Failure::Request(message) | Failure::Device(message) => {
                message
            }
            Failure::Panic => "a defect of wgreduce (RUST_LOG=error shows where)",
            Failure::Cases => "cases failed",
            Failure::ClosedPipe => "nobody reads the output",
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Problem(_)
            | Error::Partial(_)
            | Error::NoAdapter { .. }
            | Error::NoBackend
            | Error::NoDevice { .. }
            | Error::Unsupported { .. }
            | Error::Source { .. }
            | Error::Sink { .. }
            | Error::Limit { .. }
            | Error::Tuning { .. } => Failure::Request(error.to_string()),
            _ => Failure::Device(error.to_string()),
        }
    }
}

/// A line on stderr; where nobody reads it, it is lost.
pub fn say(line: &str) {
    // At once, or the lines of several processes would mix.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// A number of things: `1 file`, `2 files`, `2 dispatches`.
pub fn number_of(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ if what.ends_with("ch") => format!("{count} {what}es"),
        _ => format!("{count} {what}s"),
    }
}

/// Text on stdout, all of it or an error.
pub fn write_stdout(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    written.and_then(|()| stdout.flush()).map_err(not_printed)
}

/// What could not be written to stdout is lost, unless nobody wants it any more.
pub fn not_printed(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::output(Path::new("-"), format_args!("cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgreduce::{DType, Problem};

    /// Which side an error of the library is on, by the exit code.
    #[test]
    fn a_request_is_2_and_a_device_3() {
        let axis = Problem::arg_min(DType::F32, &[2, 3], 9).expect_err("no such axis");
        let lost = Error::DeviceLost {
            message: "unplugged".into(),
        };
        let full = Error::OutOfMemory {
            what: "a buffer",
            bytes: 9,
        };
        let old = Error::Unsupported {
            device: "adapter A".into(),
            what: "max_bindings_per_bind_group",
            actual: 3,
            needed: 11,
        };
        let late = Error::Timeout { seconds: 1.0 };
        let large = Error::Limit {
            what: "a buffer",
            needed: 2,
            limit: 1,
        };
        for (error, code) in [
            (Error::from(axis), 2),
            (Error::NoBackend, 2),
            (large, 2),
            (old, 2),
            (lost, 3),
            (full, 3),
            (late, 3),
        ] {
            let words = error.to_string();
            let failure = Failure::from(error);
            assert_eq!((failure.code(), failure.to_string()), (code, words));
        }
        assert_eq!((Failure::Panic.code(), Failure::Cases.code()), (3, 1));
        assert_eq!(Failure::ClosedPipe.code(), 0);
    }
}
