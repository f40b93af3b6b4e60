//! The program `wgpu-cast`: ONNX Cast for files, and tools to print, verify and measure the kernels. `wgpu-cast --help` is its
//! documentation.
//!
//! This library is the program, and [`main`] runs it; [`embedded`] runs its commands inside another program, such as the
//! Python module `wgpu_cast`. The other items are shared with tests. Other programs use the crate `wgpu-cast`.

// As in src/lib.rs: wgpu's types nest deeply.
#![recursion_limit = "256"]

mod adapters;
mod args;
mod atomic;
mod bench;
mod cache;
pub mod checks;
mod convert;
pub mod embedded;
mod environment;
mod failure;
mod files;
mod help;
mod identity;
mod info;
mod merge;
mod output;
mod outputs;
mod progress;
mod roles;
mod run;
mod session;
mod shader;
mod shell;
mod signals;
mod stdout;
mod temporary;
mod text;
pub mod translate;
mod types;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use args::{Cli, Command};
use failure::Failure;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    ExitCode::from(program(std::env::args_os()))
}

/// Runs the program with these arguments, of which the first is its name. Returns the exit status.
///
/// The program prints, and ends the process when a signal interrupts a conversion. To look for GPU adapters, it may start
/// the process again with its arguments.
pub fn program(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    signals::may_end_the_process();
    // Logging is off unless RUST_LOG is set, because drivers log a lot.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).init();
    let result = match Cli::try_parse_from(arguments) {
        Ok(cli) => {
            if cli.command.loads_drivers() {
                environment::prepare_for_drivers();
            }
            if cli.command.is_quiet() {
                output::hide_notes();
            }
            run(&cli.command)
        }
        Err(error) if is_help(&error) => {
            // There is no other place to report that this fails.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(1);
        }
        Err(error) => Err(Failure::Usage(one_line(&error))),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => {
            output::error(&failure);
            failure.status()
        }
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Adapters(args) => adapters::list(args),
        Command::Convert(args) => convert::convert(args),
        Command::MergeIndex(args) => merge::merge(args),
        Command::Info(args) => info::info(args),
        Command::Run(args) => run::run(args),
        Command::Shader(args) => shader::print(args),
        Command::Verify(args) => verify::verify(args),
        Command::Bench(args) => bench::bench(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

fn is_help(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// The error of clap and its tip, without the block about usage that follows.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text.split("\n\n").enumerate();
    let told = paragraphs.filter(|(index, part)| *index == 0 || part.trim_start().starts_with("tip:"));
    let told: Vec<_> = told.map(|(_, part)| part.trim().trim_start_matches("error: ")).collect();
    match option_meant(error) {
        Some(meant) => format!("{}; tip: {meant}", told[0]),
        None => told.join("; "),
    }
}

/// The option of `convert` that corresponds to an option of other programs.
fn option_meant(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    if error.kind() != ErrorKind::UnknownArgument || !usage.contains("wgpu-cast convert") {
        return None;
    }
    match option.as_str() {
        "--exclude" | "--skip" | "--ignore" | "--exclude-pattern" => Some("--except GLOB leaves tensors out"),
        "--include" | "--filter" | "--select" => Some("--only GLOB chooses tensors"),
        "--dtype" | "--type" | "--outtype" | "--out-type" | "--precision" | "--target" => Some("--to TYPE is the type"),
        "--output" | "--out" | "-o" | "--output-file" => Some("the output is the last path"),
        "--output-dir" | "--outdir" | "--out-folder" => Some("--out-dir DIR is the folder of the outputs"),
        "--overwrite" | "-f" | "-y" | "--yes" => Some("outputs are replaced without it, read-only ones with --force"),
        "--cpu" | "--gpu" | "--cuda" => Some("--device cpu|gpu chooses"),
        _ => None,
    }
}
