//! The tool's texts about itself: help, examples, completions, manual, colours.

use super::onnx::case;
use super::{Folder, adapters, assert_has, floats, text};

/// The commands' names, as the help lists them.
pub fn commands(folder: &Folder) -> Vec<String> {
    let help = text(&folder.run("--help").stdout);
    let list = help.split("Commands:").nth(1).unwrap();
    let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
    let name = |line: &str| line.split_whitespace().next().unwrap().to_string();
    // A long description continues on a line that begins further right.
    let own = lines.filter(|line| !line.starts_with("   "));
    own.map(name).filter(|name| name != "help").collect()
}

#[test]
fn the_example_of_every_command_runs() {
    let folder = Folder::new();
    let scores = floats("(2, 3)", &[1.0, 9.0, 3.0, 7.0, 5.0, 8.0]);
    folder.write("scores.npy", &scores);
    folder.write("limits.npy", &floats("(3,)", &[4.0, 5.0, 6.0]));
    case(&folder, "cases/argmin", "ArgMin", 1);
    for i in 0..2 {
        folder.cpu(&format!("argmin scores.npy --part {i}/2 -o p{i}.part"));
    }
    let commands = commands(&folder);
    assert_eq!(commands.len(), 22, "{commands:?}");
    for command in commands {
        // These measure for half a minute.
        if ["bench", "tune"].contains(&command.as_str()) && !support::taken(("example", &command)) {
            continue;
        }
        let help = text(&folder.run(&format!("{command} --help")).stdout);
        let example = help.split("Example:\n  wgreduce ").nth(1).expect(&command);
        let example = example.trim_end();
        assert!(example.starts_with(&command), "{example}");
        let output = folder.run(example);
        let stderr = text(&output.stderr);
        // Without an adapter, these have nothing to measure or to compare with, and say so.
        let needs_adapter = ["bench", "tune", "max"].contains(&command.as_str());
        let expected = match needs_adapter && adapters(&folder).is_empty() {
            true => 2,
            false => 0,
        };
        assert_eq!(output.status.code(), Some(expected), "{example}: {stderr}");
    }
}

#[test]
fn colours_are_for_terminals_and_no_color_turns_them_off() {
    let folder = Folder::new();
    let escapes = |line: &str, variables: &[(&str, &str)]| {
        let mut command = folder.command(line);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let both = [output.stdout, output.stderr].concat();
        both.contains(&0x1b)
    };
    for line in ["--help", "argmin none.npy", "argmin --unheard"] {
        assert!(!escapes(line, &[]), "{line}: in a pipe");
        // Colours are forced, as on a terminal.
        let forced = ("CLICOLOR_FORCE", "1");
        assert!(escapes(line, &[forced]), "{line}");
        assert!(!escapes(line, &[forced, ("NO_COLOR", "1")]), "{line}");
    }
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&folder.run(&format!("completions {shell}")).stdout);
        assert!(script.contains("reduce-min") && script.contains("index-type"));
    }
    assert!(text(&folder.run("man").stdout).contains(".TH wgreduce 1"));
    for command in commands(&folder) {
        let page = text(&folder.run(&format!("man {command}")).stdout);
        assert_has(&page, &[&format!(".TH wgreduce-{command} 1")]);
    }
    assert_has(&folder.refused("man unheard"), &["unheard", "reduce-min"]);
}

#[test]
fn help_and_version_succeed() {
    let folder = Folder::new();
    for line in ["--help", "argmin --help", "--version", "help plan"] {
        let [stdout, _] = folder.done(line);
        assert!(stdout.contains("wgreduce"), "{line}");
    }
}
