//! The README's commands print what it shows, where that does not depend on the machine.

use super::{Folder, adapters, text};
use std::fs;
use support::root;

/// Commands and the output shown under each, in order.
fn shown(readme: &str) -> Vec<(String, Vec<String>)> {
    let blocks = readme.split("```console\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ wgreduce "), all.last_mut()) {
            (Some(command), _) => all.push((command.into(), Vec::new())),
            (None, Some((_, output))) => output.push(line.into()),
            (None, None) => panic!("no command before {line}"),
        }
    }
    all
}

/// A line without its machine-dependent part: adapters, times, and plans unless they are for the adapter on
/// which the README was written.
fn known(line: &str, planned: bool) -> String {
    let cuts = [
        ("device: ", "device: cpu"),
        ("plan: ", "]: "),
        ("time: ", "time: "),
        ("error: --device", "there are: "),
    ];
    let mut cuts = cuts.into_iter().filter(|c| !planned || c.0 != "plan: ");
    let machine = cuts.find(|(begin, _)| line.starts_with(begin));
    let Some((begin, last)) = machine else {
        return line.into();
    };
    let end = line.rfind(last).map_or(begin.len(), |at| at + last.len());
    line[..end].into()
}

#[test]
fn the_commands_of_the_readme_print_what_it_shows() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("examples/data")).unwrap();
    let digits = "examples/data/digits_logits.npy";
    fs::copy(root(digits), folder.path(digits)).unwrap();
    let commands = shown(&fs::read_to_string(root("README.md")).unwrap());
    assert!(commands.len() >= 5, "{commands:?}");
    let adapters = adapters(&folder);
    for (line, expected) in commands {
        // Without an adapter, nothing is planned, so nothing can be checked.
        let needs_one = !line.contains("--device cpu") && !line.contains("--axis 5");
        if needs_one && adapters.is_empty() {
            continue;
        }
        let output = folder.run(&line);
        let lines = [text(&output.stdout), text(&output.stderr)].concat();
        let device = |line: &&str| line.starts_with("device: ");
        let planned = lines.lines().find(device) == expected.iter().map(|l| &**l).find(device);
        let known = |line| known(line, planned);
        let shown: Vec<String> = expected.iter().map(|line| known(line)).collect();
        let told: Vec<_> = lines.lines().map(known).collect();
        assert_eq!(told, shown, "{line}");
    }
}

#[test]
fn the_readme_shows_an_example_as_it_is() {
    let read = |name| fs::read_to_string(root(name)).unwrap();
    let (readme, example) = (read("README.md"), read("examples/own_buffers.rs"));
    let (_, program) = example.split_once("\n\n").unwrap();
    assert!(readme.contains(&format!("```rust,no_run\n{program}```")));
}
