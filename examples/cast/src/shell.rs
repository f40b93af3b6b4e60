//! `wgpu-cast completions` and `wgpu-cast man`: files for shells and for `man`, made from the command line.

use std::path::Path;

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs, ManArgs, PROGRAM};
use crate::atomic::{self, target::Existing};
use crate::failure::Failure;
use crate::help;
use crate::output;

/// Prints a shell's completions.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), PROGRAM, &mut text);
    output::bytes(&text)
}

/// Writes a manual page for the program and one for each command.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let fail = |error| Failure::at(&args.folder, error);
    std::fs::create_dir_all(&args.folder).map_err(fail)?;
    // Pages have no place for examples before the options.
    let command = Cli::command().mut_subcommand("convert", |convert| {
        let rest = convert.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        convert.after_long_help(format!("{}\n\n{rest}", help::EXAMPLES))
    });
    let mut command = command.disable_help_subcommand(true);
    command.build();
    pages(&command, &args.folder)
}

/// Writes the pages of a command and of all commands below it.
fn pages(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages(inner, folder)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| Failure::write(&path, error))?;
    atomic::write(&path, &[&text], Existing { force: true, ..Existing::default() })
}
