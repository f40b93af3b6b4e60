//! Mutation testing with one build: cargo-mutants says what to change, and this program weaves all changes into a copy of the
//! crate, where an environment variable chooses one of them. A change is then judged by running tests, without compiling.
//!
//! Each test runs once alone and records which changes it meets; only such tests judge a change: the quickest, as many as take half a
//! minute together.
//!
//! Arguments: the folder of a copy of the crate, which is changed; the file of results; a filter expression of nextest, for the
//! tests; arguments of cargo. Standard input is what `cargo mutants --list --json` prints.
//! Exit status: 2, no test notices a change that is not in `unnoticed.txt`; 1, a step failed.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

mod build;
mod judge;
mod mutant;
mod weave;

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [copy, results, filter, arguments @ ..] = &*arguments else { return Err("arguments are missing".into()) };
    let (copy, results) = (PathBuf::from(copy).canonicalize()?, PathBuf::from(results));
    let sources = mutant::read(io::stdin().lock(), &copy)?;
    let mutants = build::weave(&copy, &sources, arguments)?;
    let programs = build::tests(&copy, arguments, filter)?;
    let is_noticed = judge::judge(&copy, &results, &mutants, &programs)?;
    Ok(if is_noticed { ExitCode::SUCCESS } else { ExitCode::from(2) })
}
