//! The command line, as clap reads it.
//!
//! Keeps names, defaults, help and examples; what a request then does, the commands know.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use wgreduce::{AdapterClass, DType, IndexType, NanPolicy, Op};

use crate::operator::{OPERATORS, is_operator};

/// ArgMin, ArgMax, ReduceMin, ReduceMax, Min, Max, TopK and exact sums of .npy files on the GPU.
///
/// Semantics and defaults are ONNX's. Exit codes: 0 done, 1 a check or a case failed,
/// 2 the request was wrong, 3 the device failed.
#[derive(Debug, Parser)]
#[command(name = "wgreduce", version, max_term_width = 100)]
// Without a command the first line is an error, like any other, not the help.
#[command(subcommand_required = true, arg_required_else_help = false)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// The tool's definition.
pub fn definition() -> clap::Command {
    with_used_options(Cli::command())
}

/// A tool with help of each command that has the options that it uses.
pub fn with_used_options(mut tool: clap::Command) -> clap::Command {
    // Before this, commands do not have the options of all.
    tool.build();
    tool.mut_subcommands(|command| {
        let used = used(command.get_name());
        command.mut_args(|arg| {
            let common = COMMON.contains(&arg.get_id().as_str());
            let hidden = arg.is_hide_set() || (common && !used.contains(&arg.get_id().as_str()));
            arg.hide(hidden)
        })
    })
}

/// The tool for completions, which would offer what is hidden: of the common options a command has those that it uses.
pub fn for_completions() -> clap::Command {
    let tool = Cli::command().mut_args(|arg| arg.global(false));
    let common: Vec<Arg> = tool.get_arguments().cloned().collect();
    tool.mut_subcommands(|command| {
        let used = used(command.get_name());
        let is_used = |arg: &&Arg| {
            let id = arg.get_id().as_str();
            used.contains(&id) || !COMMON.contains(&id)
        };
        command.args(common.iter().filter(is_used).cloned())
    })
}

/// Reads a command line, of which the first argument is the program.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut tool = definition();
    let line: Vec<OsString> = line.into_iter().collect();
    let matches = match tool.try_get_matches_from_mut(&line) {
        Ok(matches) => matches,
        // Clap does not say where. With a replacement character the text is refused by what reads it, by name.
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
            let readable = line.iter().map(|text| text.to_string_lossy().into_owned());
            return Err(tool.try_get_matches_from(readable).err().unwrap_or(error));
        }
        Err(error) => return Err(of_another_command(&mut tool, &line, &error).unwrap_or(error)),
    };
    let cli = Cli::from_arg_matches(&matches)?;
    let Some((name, options)) = matches.subcommand() else {
        return Ok(cli);
    };
    let given = |id: &&str| {
        let known = options.try_contains_id(id).is_ok();
        known && options.value_source(id) == Some(ValueSource::CommandLine)
    };
    let mut unused = unused(name, &cli.command).into_iter();
    match unused.find(|(_, id)| given(id)) {
        Some((what, id)) => {
            let why = format!("{what} has no option --{}", id.replace('_', "-"));
            Err(refusal(&mut tool, name, why))
        }
        None => Ok(cli),
    }
}

/// An error about an option, with the usage of the command.
fn refusal(tool: &mut clap::Command, name: &str, why: String) -> clap::Error {
    match tool.find_subcommand_mut(name) {
        Some(command) => command.error(ErrorKind::ArgumentConflict, why),
        None => tool.error(ErrorKind::ArgumentConflict, why),
    }
}

/// The refusal of an option that clap does not know for a command, if another command has it.
fn of_another_command(
    tool: &mut clap::Command,
    line: &[OsString],
    error: &clap::Error,
) -> Option<clap::Error> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option =
        text(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let named = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        let mut names = [long, short].into_iter().flatten();
        names.any(|name| name == option)
    };
    let has = |command: &clap::Command| command.get_arguments().any(named);
    if !tool.get_subcommands().any(has) {
        return None;
    }
    let lenient = tool.clone().ignore_errors(true);
    let matches = lenient.try_get_matches_from(line).ok()?;
    let name = matches.subcommand_name()?;
    let mut why = format!("{name} has no option {option}");
    // Any option is a little like another; a name that begins the same may be meant.
    let meant = text(ContextKind::SuggestedArg).filter(|meant| meant.get(..4) == option.get(..4));
    if let Some(meant) = meant {
        why += &format!("\n\n  tip: a similar option exists: '{meant}'");
    }
    Some(refusal(tool, name, why))
}

/// The options of [`Common`], without `--quiet`, which every command takes.
const COMMON: [&str; 7] = [
    "device", "check", "nan", "dtype", "memory", "tuning", "verbose",
];

/// Those of [`COMMON`] that a command uses; none if it is not named here.
fn used(command: &str) -> &'static [&'static str] {
    match command {
        "merge" => &["memory"],
        "onnx" => &["device", "check", "nan", "tuning"],
        "plan" => &["device", "nan", "dtype", "tuning"],
        "bench" | "tune" => &["device", "nan", "tuning"],
        _ if is_operator(command) => &COMMON,
        _ => &[],
    }
}

/// The options that would change nothing, each with what does not have it.
fn unused(name: &str, command: &Command) -> Vec<(String, &'static str)> {
    let without = |what: &str, ids: &[&'static str]| -> Vec<(String, &'static str)> {
        ids.iter().map(|&id| (what.to_string(), id)).collect()
    };
    let foreign: Vec<&str> = COMMON
        .into_iter()
        .filter(|id| !used(name).contains(id))
        .collect();
    let mut all = without(name, &foreign);
    match command {
        Command::Plan(plan) => {
            let op = plan.op;
            let (index, elementwise) = (op.is_index(), op.is_elementwise());
            let top = op == Op::TopK;
            let of_op = [
                ("axis", index),
                ("axes", !index && !elementwise),
                ("keepdims", !elementwise && !top),
                ("values", index && !top),
                ("select_last_index", index && !top),
                ("index_type", index),
                ("k", top),
                ("smallest", top),
            ];
            let foreign = of_op.into_iter().filter(|(_, has)| !has);
            let foreign: Vec<&str> = foreign.map(|(id, _)| id).collect();
            let mut operators = OPERATORS.iter();
            let name = operators.find_map(|(name, named)| (*named == op).then_some(*name));
            let plan_of = format!("plan {}", name.unwrap_or_default());
            all.extend(without(&plan_of, &foreign));
            if plan.class.is_some() {
                all.extend(without("plan --class", &["device"]));
            }
            if plan.wgsl {
                all.extend(without("plan --wgsl", &["json"]));
            }
        }
        Command::Bench(bench) if bench.from.is_some() => {
            all.extend(without("bench --from", &COMMON));
        }
        _ => {}
    }
    all
}

/// Options of every command, in any position; [`used`] tells which ones a command makes use of.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// `auto`, `cpu`, an index of `devices`, a backend (vulkan, metal, dx12, gl) or part of a name
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// Compare the result with the CPU reference, byte for byte
    #[arg(long, global = true)]
    pub check: bool,
    /// Whether a NaN wins over every number or is skipped
    #[arg(
        long,
        global = true,
        value_name = "POLICY",
        default_value = "propagate",
        value_parser = named(POLICIES)
    )]
    pub nan: NanPolicy,
    /// The element type to plan for, or that of the files; bfloat16 reads raw `<V2` files
    #[arg(long, global = true, value_name = "NAME", value_parser = dtypes())]
    pub dtype: Option<DType>,
    /// Most memory to use for data; inputs of more than a quarter of it are read piece by piece
    #[arg(long, global = true, value_name = "MIB", default_value_t = 512,
          allow_hyphen_values = true, value_parser = mib)]
    pub memory: u64,
    /// Map work to invocations as this file's object `tuning` says, field by field
    #[arg(long, global = true, value_name = "FILE", value_parser = saved)]
    pub tuning: Option<PathBuf>,
    /// Write nothing but the result and errors
    #[arg(long, global = true)]
    pub quiet: bool,
    /// Name the kernels of the plan, and what each reads and writes
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Operator(OperatorCommand),
    /// Merge what --part wrote to the result of the whole
    #[command(after_help = "Example:\n  wgreduce merge p0.part p1.part -o winner.npy")]
    Merge(Merge),
    /// Run ONNX test cases: folders of model.onnx and test_data_set_*
    #[command(after_help = "Example:\n  wgreduce onnx cases --save computed")]
    Onnx(Onnx),
    /// List the adapters, with what a bug report needs
    #[command(after_help = "Example:\n  wgreduce devices")]
    Devices(Devices),
    /// Show what would be dispatched and how it works, without running it
    #[command(
        override_usage = "wgreduce plan [OPTIONS] --shape <SHAPE> --dtype <NAME> <OP>",
        after_help = "Example:\n  wgreduce plan argmax --shape 64,512,512 --dtype float32 --axis 1"
    )]
    Plan(Plan),
    /// Benchmark this device: verify each case, and time it beside a plain read
    #[command(after_help = "Example:\n  wgreduce bench --quick --filter tiny --html bench.html")]
    Bench(Bench),
    /// Search for a tuning that is faster on this device, for --tuning
    #[command(after_help = "Example:\n  wgreduce tune --quick --filter tiny -o tuning.json")]
    Tune(Tune),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  wgreduce completions bash")]
    Completions(Completions),
    /// Print a man page: the tool's, or a command's
    #[command(after_help = "Example:\n  wgreduce man bench")]
    Man(Man),
}

#[derive(Debug, Subcommand)]
pub enum OperatorCommand {
    /// Index of the smallest element along an axis
    #[command(
        after_help = "Example:\n  wgreduce argmin scores.npy --axis -1 --values smallest.npy -o where.npy"
    )]
    Argmin(Index),
    /// Index of the largest element along an axis
    #[command(after_help = "Example:\n  wgreduce argmax scores.npy --axis -1 --keepdims false")]
    Argmax(Index),
    /// Smallest element over some or all axes
    #[command(
        after_help = "Example:\n  wgreduce reduce-min scores.npy --axes 0,-1 -o smallest.npy"
    )]
    ReduceMin(Reduce),
    /// Largest element over some or all axes
    #[command(after_help = "Example:\n  wgreduce reduce-max scores.npy --nan ignore")]
    ReduceMax(Reduce),
    /// Elementwise smallest of broadcast inputs
    #[command(after_help = "Example:\n  wgreduce min scores.npy limits.npy -o limited.npy")]
    Min(Elementwise),
    /// Elementwise largest of broadcast inputs
    #[command(after_help = "Example:\n  wgreduce max scores.npy limits.npy --check")]
    Max(Elementwise),
    /// Index of the element farthest from zero along an axis (not in ONNX)
    #[command(after_help = "Example:\n  wgreduce argmax-abs scores.npy --axis -1")]
    ArgmaxAbs(Index),
    /// Largest magnitude over some or all axes, the L-infinity norm (not in ONNX)
    #[command(after_help = "Example:\n  wgreduce reduce-max-abs scores.npy --axes -1")]
    ReduceMaxAbs(Reduce),
    /// Sum over some or all axes: exact, rounded once
    #[command(after_help = "Example:\n  wgreduce reduce-sum scores.npy --axes -1 -o sums.npy")]
    ReduceSum(Reduce),
    /// Mean over some or all axes: the exact sum divided, rounded once
    #[command(after_help = "Example:\n  wgreduce reduce-mean scores.npy --axes 0 --keepdims false")]
    ReduceMean(Reduce),
    /// Sum of magnitudes over some or all axes, the L1 norm: exact, rounded once
    #[command(after_help = "Example:\n  wgreduce reduce-l1 scores.npy --axes -1")]
    ReduceL1(Reduce),
    /// Root of the sum of squares over some or all axes, the L2 norm: exact, rounded once
    #[command(after_help = "Example:\n  wgreduce reduce-l2 scores.npy --axes -1 -o norms.npy")]
    ReduceL2(Reduce),
    /// Sum of squares over some or all axes: exact, rounded once
    #[command(after_help = "Example:\n  wgreduce reduce-sum-square scores.npy --nan ignore")]
    ReduceSumSquare(Reduce),
    /// The k largest or smallest elements along an axis, in order, and their indices
    #[command(
        after_help = "Example:\n  wgreduce topk scores.npy --k 2 --values best.npy -o where.npy"
    )]
    Topk(Top),
}

#[derive(Debug, Args)]
pub struct Index {
    /// The input; `-` reads standard input
    #[arg(value_name = "IN.npy")]
    pub input: PathBuf,
    /// The axis, counted from the end when negative
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = axis)]
    pub axis: i64,
    #[command(flatten)]
    pub keepdims: Keepdims,
    #[command(flatten)]
    pub options: IndexOptions,
    /// Also write the elements the indices point to
    #[arg(long, value_name = "OUT2.npy")]
    pub values: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// What index operators have in `argmin`, `argmax` and `plan`.
#[derive(Clone, Copy, Debug, Args)]
pub struct IndexOptions {
    /// Of equal elements the last one wins
    #[arg(long)]
    pub select_last_index: bool,
    /// The type of the indices
    #[arg(long, value_name = "TYPE", default_value = "int64", value_parser = named(INDICES))]
    pub index_type: IndexType,
}

#[derive(Debug, Args)]
pub struct Top {
    /// The input; `-` reads standard input
    #[arg(value_name = "IN.npy")]
    pub input: PathBuf,
    /// The axis, counted from the end when negative
    #[arg(long, default_value_t = -1, allow_hyphen_values = true, value_parser = axis)]
    pub axis: i64,
    /// How many elements
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = k)]
    pub k: u64,
    /// The smallest elements instead of the largest
    #[arg(long)]
    pub smallest: bool,
    /// The type of the indices
    #[arg(long, value_name = "TYPE", default_value = "int64", value_parser = named(INDICES))]
    pub index_type: IndexType,
    /// Write the elements here; without this and -o both are printed
    #[arg(long, value_name = "OUT2.npy")]
    pub values: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Reduce {
    /// The input; `-` reads standard input
    #[arg(value_name = "IN.npy")]
    pub input: PathBuf,
    /// The axes, as in `0,-1`; all when left out
    #[arg(long, allow_hyphen_values = true, value_parser = axes)]
    pub axes: Option<Axes>,
    #[command(flatten)]
    pub keepdims: Keepdims,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Elementwise {
    /// The inputs, one or more; `-` reads standard input
    #[arg(value_name = "IN.npy", required = true)]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct Keepdims {
    /// Whether reduced dimensions stay, with size 1
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set,
          value_parser = BoolishValueParser::new())]
    pub keepdims: bool,
}

#[derive(Debug, Args)]
pub struct Output {
    /// Write the result here instead of printing it; `-` is standard output
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: Option<PathBuf>,
    /// Reduce part I of N, from 0 to N - 1, to a file OUT.part for `merge`
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    pub part: Option<Share>,
}

#[derive(Debug, Args)]
pub struct Merge {
    /// What `--part` wrote, or `merge` itself
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
    /// Write the result here; to a name that ends in .part, what is merged so far
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Also write the elements the indices point to
    #[arg(long, value_name = "OUT2.npy")]
    pub values: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Onnx {
    /// Test case folders, or folders of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write what was computed to DIR/<case>/test_data_set_N/output_M.pb
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Devices {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Plan {
    /// The operator
    #[arg(value_name = "OP", value_parser = named(OPERATORS))]
    pub op: Op,
    /// An input's shape, as in `64,512,512`; once per input of min and max; `""` is a scalar
    #[arg(
        long = "shape",
        value_name = "SHAPE",
        required = true,
        allow_hyphen_values = true,
        value_parser = shape
    )]
    pub shapes: Vec<Shape>,
    /// The axis of argmin, argmax and topk
    #[arg(long, allow_hyphen_values = true, conflicts_with = "axes", value_parser = axis)]
    pub axis: Option<i64>,
    /// The axes of the operators named reduce-
    #[arg(long, allow_hyphen_values = true, value_parser = axes)]
    pub axes: Option<Axes>,
    #[command(flatten)]
    pub keepdims: Keepdims,
    #[command(flatten)]
    pub options: IndexOptions,
    /// Plan for indices and the elements they point to
    #[arg(long)]
    pub values: bool,
    /// How many elements topk gives
    #[arg(long, value_name = "N", required_if_eq("op", "topk"), allow_hyphen_values = true, value_parser = k)]
    pub k: Option<u64>,
    /// The smallest elements of topk instead of the largest
    #[arg(long)]
    pub smallest: bool,
    /// Plan for a typical device of a class; no adapter is needed
    #[arg(long, value_name = "CLASS")]
    pub class: Option<Class>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print the kernels' WGSL, each below its label and the values of its overrides
    #[arg(long)]
    pub wgsl: bool,
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Only cases with this in `CASE COMMAND TYPE`, as in `A argmin float32`
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Fewer cases and repeats: 1 to 20 minutes on a software adapter
    #[arg(long)]
    pub quick: bool,
    /// Leave out how cost grows with size, and the steps at the edges of plans
    #[arg(long)]
    pub no_growth: bool,
    #[command(flatten)]
    pub measured: Measured,
    /// Try another value of a field of the tuning, as in `row_lanes=64`
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Measure nothing: show what --json, or the page in a browser, saved
    #[arg(long, value_name = "SAVED.json", value_parser = saved,
          conflicts_with_all = ["quick", "no_growth", "bytes", "clock", "set", "json"])]
    pub from: Option<PathBuf>,
    /// Also write the results as JSON
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub json: Option<PathBuf>,
    /// Also write the results as a page with charts
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub html: Option<PathBuf>,
    /// Also draw the shares of the ceiling, by shape and type, as a picture
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub svg: Option<PathBuf>,
    /// Also show the ratios to an earlier run's --json
    #[arg(long, value_name = "OLD.json", value_parser = saved)]
    pub compare: Option<PathBuf>,
    /// Also show these figures of benches/peers on the page
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "html", value_parser = saved)]
    pub peers: Vec<PathBuf>,
}

/// How much is measured, in `bench` and `tune`.
#[derive(Debug, Args)]
pub struct Measured {
    /// Data of one of the cases A to F or of an input of min; 1024 on a GPU, which is more than its caches hold, and 64 on
    /// a software adapter when left out
    #[arg(long, value_name = "MIB", allow_hyphen_values = true, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub bytes: Option<u64>,
    /// Watch the clock of the processors, as on every GPU; for tests on software adapters
    #[arg(long, hide = true)]
    pub clock: bool,
}

#[derive(Debug, Args)]
pub struct Tune {
    /// Where to write what was found
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub output: PathBuf,
    /// Only cases with this in `CASE COMMAND TYPE`, as in `A argmin float32`
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Fewer cases, and 6 minutes for the search: at most 10 on a software adapter
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub measured: Measured,
    /// How long to search, in minutes; until nothing is faster when left out
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = minutes)]
    pub minutes: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The command; the tool when left out
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Class {
    /// Bindings of 2^31 - 4 bytes, buffers of 4 GiB, 1024 invocations, 48 KiB of workgroup memory
    Discrete,
    /// Bindings of 128 MiB, buffers of 256 MiB, 256 invocations, 16 KiB: WebGPU's default limits
    Integrated,
    /// Mesa's lavapipe: 128 MiB, 2 GiB, 1024 invocations, 32 KiB
    Software,
}

impl From<Class> for AdapterClass {
    fn from(class: Class) -> AdapterClass {
        match class {
            Class::Discrete => AdapterClass::Discrete,
            Class::Integrated => AdapterClass::Integrated,
            Class::Software => AdapterClass::Software,
        }
    }
}

const POLICIES: [(&str, NanPolicy); 2] = [
    ("propagate", NanPolicy::Propagate),
    ("ignore", NanPolicy::Ignore),
];

const INDICES: [(&str, IndexType); 3] = [
    ("int64", IndexType::I64),
    ("int32", IndexType::I32),
    ("uint32", IndexType::U32),
];

// Clap would take a type that is written `Vec` for an option that is given several times.
type Axes = Vec<i64>;
type Shape = Vec<u64>;

/// `3/16`: part 3 of 16, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub number: u64,
    pub of: u64,
}

impl FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Share, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if number < of => Ok(Share { number, of }),
            Some((_, 0)) => Err("there are no 0 parts".into()),
            Some((_, of)) => Err(format!("of {of} parts the last is {}/{of}", of - 1)),
            None => Err("a part is written like 3/16".into()),
        }
    }
}

/// `0,-1`; the empty text is the empty list.
fn axes(text: &str) -> Result<Axes, String> {
    list(text, "an axis", "0,-1")
}

/// `64,512,512`; the empty text is a scalar's shape.
fn shape(text: &str) -> Result<Shape, String> {
    list(text, "a dimension", "64,512")
}

/// Numbers between commas; `what` and an `example` are for who wrote something else.
fn list<T: FromStr>(text: &str, what: &str, example: &str) -> Result<Vec<T>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let wrong = |item| format!("'{item}' is not {what}; a list is written like {example}");
    let items = text.split(',');
    items
        .map(|item| item.trim().parse().map_err(|_| wrong(item)))
        .collect()
}

fn k(text: &str) -> Result<u64, String> {
    let wrong = |_| format!("k is a whole number, 0 or more, not {text}");
    text.trim().parse().map_err(wrong)
}

fn axis(text: &str) -> Result<i64, String> {
    let wrong = |_| "an axis is a whole number, counted from the end when negative".into();
    text.trim().parse().map_err(wrong)
}

/// A path beside which standard output holds a text.
fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("standard output holds the table: name a file".into()),
        path => Ok(Path::new(path).into()),
    }
}

/// A path of what is read where standard input is not.
fn saved(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("standard input is not read here: name a file".into()),
        path => Ok(Path::new(path).into()),
    }
}

fn mib(text: &str) -> Result<u64, String> {
    let mib = text.parse().ok().filter(|mib| (1..1 << 40).contains(mib));
    mib.ok_or_else(|| "a whole number of MiB, 1 or more".into())
}

fn minutes(text: &str) -> Result<u64, String> {
    let minutes = text.parse().ok().filter(|n| (1..=10_000).contains(n));
    minutes.ok_or_else(|| "a whole number of minutes, 1 to 10000".into())
}

/// What is told by one of these names; clap lists them.
fn named<T, const N: usize>(all: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let value = move |name: String| {
        let mut all = all.into_iter();
        let named = all.find(|(known, _)| *known == name);
        named.map(|(_, value)| value).ok_or("no such name")
    };
    PossibleValuesParser::new(all.map(|(name, _)| name)).try_map(value)
}

/// The element types by name, ONNX's and Rust's among them; clap lists them, and finds the one
/// that was meant.
fn dtypes() -> impl TypedValueParser<Value = DType> {
    let names = |t: DType| {
        let in_rust = t.rust_name().trim_start_matches("half::");
        [t.name(), t.onnx_name(), in_rust]
    };
    let value = move |t| PossibleValue::new(names(t)[0]).aliases(names(t));
    let meant = move |name: String| {
        let mut all = DType::ALL.into_iter();
        let named = all.find(|&t| names(t).contains(&name.as_str()));
        named.ok_or("no such type")
    };
    PossibleValuesParser::new(DType::ALL.map(value)).try_map(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_definition() {
        definition().debug_assert();
    }

    #[test]
    fn lists_take_negative_numbers_and_spaces_and_name_what_is_wrong() {
        assert_eq!(axes("-1, 0"), Ok(vec![-1, 0]));
        assert_eq!(shape(""), Ok(vec![]));
        let wrong = "'x' is not an axis; a list is written like 0,-1";
        assert_eq!(axes("0,x"), Err(wrong.into()));
        let wrong = "'-1' is not a dimension; a list is written like 64,512";
        assert_eq!(shape("2,-1"), Err(wrong.into()));
    }

    #[cfg(unix)]
    #[test]
    fn an_option_that_is_no_text_is_named() {
        use std::os::unix::ffi::OsStringExt;
        for (option, named) in [("--nan", "--nan <POLICY>"), ("--axis", "--axis <AXIS>")] {
            let line = ["wgreduce", "argmin", "in.npy", option].map(OsString::from);
            let line = line
                .into_iter()
                .chain([OsString::from_vec(b"x\xff".to_vec())]);
            let error = parse(line).unwrap_err().to_string();
            let words = format!("error: invalid value 'x\u{fffd}' for '{named}'");
            assert!(error.starts_with(&words), "{error}");
        }
    }

    #[test]
    fn negative_axes_and_global_options_stand_anywhere() {
        let line = "wgreduce --quiet reduce-min in.npy --axes -1,0 --device cpu --keepdims false";
        let cli = parse(line.split(' ').map(OsString::from)).unwrap();
        let Command::Operator(OperatorCommand::ReduceMin(reduce)) = cli.command else {
            panic!("{:?}", cli.command)
        };
        assert_eq!(reduce.axes, Some(vec![-1, 0]));
        assert!(cli.common.quiet && !reduce.keepdims.keepdims);
        assert_eq!(cli.common.device, "cpu");
    }
}
