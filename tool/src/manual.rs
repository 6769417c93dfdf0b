//! What shells and `man` are told of the tool: made of the same definition that clap parses by.
//!
//! Knows no command by name.

use clap::Command;

use crate::args::{Completions, Man, definition, for_completions};
use crate::failure::{Failure, write_stdout};

pub fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut for_completions(), "wgreduce", &mut script);
    write_stdout(&String::from_utf8_lossy(&script))
}

pub fn man(args: &Man) -> Result<(), Failure> {
    let tool = definition();
    let command = match &args.command {
        None => tool,
        Some(name) => match tool.find_subcommand(name) {
            Some(command) => command.clone().display_name(format!("wgreduce-{name}")),
            None => {
                let names: Vec<&str> = tool.get_subcommands().map(Command::get_name).collect();
                let why = format!("no command {name:?}; there are: {}", names.join(", "));
                return Err(Failure::Request(why));
            }
        },
    };
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command)
        .manual("wgreduce")
        .render(&mut page);
    rendered.map_err(|e| Failure::Request(format!("the man page: {e}")))?;
    write_stdout(&String::from_utf8_lossy(&page))
}
