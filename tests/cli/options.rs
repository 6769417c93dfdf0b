//! Options: each command has those that it uses, and refuses the others.

use super::help::commands;
use super::{Folder, assert_has, rows, text};

/// The options of all commands that have an effect on some, with a value.
const COMMON: &str = "device nothere, check, nan ignore, dtype int8, memory 3, tuning none.json";

/// A command line that ends early, and which of the options the command uses.
fn line_and_used(command: &str) -> (&'static str, &'static str) {
    match command {
        "argmin" | "argmax" | "argmax-abs" | "min" | "max" | "reduce-min" | "reduce-max"
        | "reduce-max-abs" | "reduce-sum" | "reduce-mean" | "reduce-l1" | "reduce-l2"
        | "reduce-sum-square" => ("none.npy", "device check nan dtype memory tuning"),
        "topk" => ("none.npy --k 1", "device check nan dtype memory tuning"),
        "merge" => ("none.part -o out.npy", "memory"),
        "onnx" => ("none", "device check nan tuning"),
        "plan" => ("argmin --shape 3 --axis 1", "device nan dtype tuning"),
        "bench" => ("--compare none.json", "device nan tuning"),
        "tune" => ("-o none/tuning.json", "device nan tuning"),
        "completions" => ("bash", ""),
        "devices" | "man" => ("", ""),
        new => panic!("which options does {new} use?"),
    }
}

#[test]
fn every_command_refuses_the_options_that_it_does_not_use() {
    let folder = Folder::new();
    let script = text(&folder.run("completions bash").stdout);
    for command in commands(&folder) {
        let (rest, used) = line_and_used(&command);
        let place = command.replace('-', "__subcmd__");
        let place = format!("wgreduce__subcmd__{place})\n");
        let (_, completed) = script.split_once(&place).expect(&command);
        let completed = completed.lines().next().unwrap();
        let help = text(&folder.run(&format!("{command} --help")).stdout);
        for option in COMMON.split(", ") {
            let name = option.split(' ').next().unwrap();
            let is_used = used.split(' ').any(|used| used == name);
            let listed =
                help.contains(&format!(" --{name} ")) || help.contains(&format!(" --{name}\n"));
            assert_eq!(listed, is_used, "{command} --help: {name}");
            let offered = completed.contains(&format!(" --{name} "));
            assert_eq!(offered, listed, "completions of {command}: {completed}");
            for line in [
                format!("{command} {rest} --{option}"),
                format!("--{option} {command} {rest}"),
            ] {
                let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
                let refusal = format!("error: {command} has no option --{name}");
                match is_used {
                    true => {
                        let stderr = text(&folder.run(&line).stderr);
                        assert!(!stderr.contains("has no option"), "{line}: {stderr}");
                    }
                    false => assert_eq!(folder.refused(&line), refusal, "{line}"),
                }
            }
        }
        let line = format!("--quiet {command} {rest}");
        let stderr = text(&folder.run(line.trim_end()).stderr);
        assert!(!stderr.contains("has no option"), "{line}: {stderr}");
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

/// Wherever it stands, and however it is written.
#[test]
fn an_option_of_another_command_is_refused_by_name() {
    let folder = Folder::new();
    let table = "
        min d.npy --keepdims false | min has no option --keepdims
        min --keepdims=false d.npy | min has no option --keepdims
        reduce-sum d.npy --values x.npy | reduce-sum has no option --values
        --device min reduce-max d.npy --axis 1 | reduce-max has no option --axis
        bench --minutes 3 | bench has no option --minutes
        devices -o x.json | devices has no option -o
        merge --part 0/1 | merge has no option --part
    ";
    for (line, refusal) in rows(table) {
        assert_eq!(folder.refused(line), format!("error: {refusal}"), "{line}");
        let stderr = text(&folder.run(line).stderr);
        let tipped = stderr.contains("tip: ");
        assert_eq!(tipped, line.contains("--axis"), "{stderr}");
        assert!(stderr.contains("Usage: wgreduce "), "{stderr}");
    }
    folder.refuses(
        "min d.npy --keepdim false | unexpected argument '--keepdim'
         --keepdims false min d.npy | unexpected argument '--keepdims'",
    );
}

#[test]
fn a_plan_refuses_the_options_that_its_operator_does_not_have() {
    let folder = Folder::new();
    let options = "
        --axis 0 | argmin argmax argmax-abs
        --axes 0 | reduce-min reduce-sum reduce-max-abs
        --keepdims false | argmin argmax argmax-abs reduce-min reduce-sum reduce-max-abs
        --values | argmin argmax argmax-abs
        --select-last-index | argmin argmax argmax-abs
        --index-type int64 | argmin argmax argmax-abs
    ";
    for op in "argmin argmax argmax-abs reduce-min reduce-sum reduce-max-abs min max".split(' ') {
        for (option, having) in rows(options) {
            let line = format!("plan {op} --shape 3 --dtype int8 --device cpu {option}");
            match having.split(' ').any(|having| having == op) {
                true => drop(folder.done(&line)),
                false => {
                    let name = option.split(' ').next().unwrap();
                    let refusal = format!("error: plan {op} has no option {name}");
                    assert_eq!(folder.refused(&line), refusal);
                }
            }
        }
    }
    let table = "
        --device cpu | plan --class has no option --device
        --device auto | plan --class has no option --device
        --wgsl --json | plan --wgsl has no option --json
    ";
    for (more, refusal) in rows(table) {
        let line = format!("plan argmin --shape 3 --dtype int8 --class discrete {more}");
        assert_eq!(folder.refused(&line), format!("error: {refusal}"));
    }
}

#[test]
fn what_is_measured_no_more_takes_no_device() {
    let folder = Folder::new();
    for option in ["--device cpu", "--nan ignore", "--tuning none.json"] {
        let refused = folder.refused(&format!("bench --from saved.json {option}"));
        let name = option.split(' ').next().unwrap();
        assert_eq!(refused, format!("error: bench --from has no option {name}"));
    }
}

#[test]
fn what_was_saved_is_not_read_from_standard_input() {
    let folder = Folder::new();
    let table = "
        bench --from - | --from <SAVED.json>
        bench --compare - | --compare <OLD.json>
        bench --html x.html --peers - | --peers <FILE>...
        argmin f.npy --tuning - | --tuning <FILE>
    ";
    for (line, option) in rows(table) {
        let refused = folder.refused(line);
        let why = "standard input is not read here: name a file";
        let expected = format!("error: invalid value '-' for '{option}': {why}");
        assert_eq!(refused, expected, "{line}");
    }
}

/// The number is told, not how a file of that name would be given.
#[test]
fn negative_numbers_are_refused_as_numbers() {
    let folder = Folder::new();
    let table = "
        argmin f.npy --memory -1 | '-1' for '--memory <MIB>': a whole number of MiB, 1 or more
        argmin f.npy --part -1/4 | '-1/4' for '--part <I/N>': a part is written like 3/16
        plan min --dtype int8 --shape -1 | '-1' is not a dimension
        tune -o t.json --minutes -1 | a whole number of minutes, 1 to 10000
        tune -o t.json --minutes 0 | a whole number of minutes, 1 to 10000
    ";
    for (line, why) in rows(table) {
        assert_has(&folder.refused(line), &["error: invalid value ", why]);
        let stderr = text(&folder.run(line).stderr);
        assert!(!stderr.contains("-- -"), "{line}: {stderr}");
    }
}
