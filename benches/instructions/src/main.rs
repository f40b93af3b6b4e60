//! Counts the instructions that a real GPU's compiler makes of each kernel, on any machine with Mesa's RADV. It
//! compiles for AMD chips that the machine does not have. The counts are exact and repeatable, because they need no
//! device and no clock.
//!
//! The measure is instructions that an invocation executes for each byte that it reads or writes. No kernel has a loop,
//! and the one branch around a store is taken except at a tensor's end. So the length of the code is the number of
//! executed instructions. If a kernel has a table, each workgroup fills it once, an entry by each invocation. These
//! instructions count in full.

mod chip;
mod decoders;
mod kernels;
mod limits;
mod table;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use chip::{CHIP, Compiler};
use decoders::Decoders;
use table::{Row, Table};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The chips, one of each generation: RDNA 2 and RDNA 3.
const CHIPS: [&str; 2] = ["navi21", "gfx1100"];

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.csv");

/// The functions that decode weights, and those of engines.
const DECODERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/decoders.csv");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => write(),
        ["--check"] => check(),
        ["--chip", chip] => count(chip),
        ["--decoders", chip] => count_decoders(chip),
        _ => Err("usage: run.sh [--check]".into()),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(2)
    })
}

/// Counts the instructions, and replaces the table.
fn write() -> Result<ExitCode> {
    let table = count_all()?;
    std::fs::write(TABLE, table.to_string())?;
    print!("{}", limits::report(&table)?);
    let decoders = all_decoders()?;
    std::fs::write(DECODERS, decoders.to_string())?;
    let mut wrong = limits::passed(&table)?;
    wrong.extend(decoders.passed());
    Ok(verdict(&wrong))
}

/// The exit status if nothing can be compared: there is no RADV, or one of another version.
const NOT_COMPARED: u8 = 3;

/// Counts the instructions, and compares them with the table and the limits.
fn check() -> Result<ExitCode> {
    let before: Table = std::fs::read_to_string(TABLE)?.parse().map_err(|error| format!("{TABLE}: {error}"))?;
    let decoders: Decoders =
        std::fs::read_to_string(DECODERS)?.parse().map_err(|error| format!("{DECODERS}: {error}"))?;
    if let Err(error) = driver_file() {
        eprintln!("NOT COMPARED: {error}");
        return Ok(ExitCode::from(NOT_COMPARED));
    }
    let now = count_all()?;
    print!("{}", limits::report(&now)?);
    if now.driver != before.driver {
        eprintln!("NOT COMPARED: counts.csv was made with {}, this machine has another version", before.driver);
        return Ok(ExitCode::from(NOT_COMPARED));
    }
    let mut wrong = limits::passed(&now)?;
    wrong.extend(limits::worsened(&before, &now));
    let now = all_decoders()?;
    wrong.extend(now.passed());
    wrong.extend(now.worsened(&decoders));
    Ok(verdict(&wrong))
}

fn verdict(wrong: &[String]) -> ExitCode {
    wrong.iter().for_each(|line| println!("{line}"));
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The counts of all chips.
fn count_all() -> Result<Table> {
    let mut all = Table { driver: String::new(), rows: Vec::new() };
    for text in on_each_chip("--chip")? {
        let table: Table = text.parse()?;
        all.driver = table.driver;
        all.rows.extend(table.rows);
    }
    Ok(all)
}

/// The counts of the decoders on all chips.
fn all_decoders() -> Result<Decoders> {
    let mut all = Decoders::none();
    for text in on_each_chip("--decoders")? {
        all.append(text.parse()?);
    }
    Ok(all)
}

/// What this program prints for each chip. Each chip has a process of its own, because the driver reads the chip from
/// the environment.
fn on_each_chip(what: &str) -> Result<Vec<String>> {
    let driver = driver_file()?;
    let start = |chip| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([what, chip]).env(CHIP, chip).env("MESA_SHADER_CACHE_DISABLE", "true");
        // The loader has two names for this variable; the newer one is the last.
        command.env("VK_ICD_FILENAMES", &driver).env("VK_DRIVER_FILES", &driver);
        command.stdout(Stdio::piped()).spawn()
    };
    let started = CHIPS.map(start);
    let mut texts = Vec::new();
    for (chip, child) in CHIPS.into_iter().zip(started) {
        let output = child?.wait_with_output()?;
        if !output.status.success() {
            return Err(format!("{chip}: not counted").into());
        }
        texts.push(String::from_utf8(output.stdout)?);
    }
    Ok(texts)
}

/// Prints the counts of the decoders on one chip, which the environment names too.
fn count_decoders(chip: &str) -> Result<ExitCode> {
    print!("{}", Decoders::count(&Compiler::new()?, chip)?);
    Ok(ExitCode::SUCCESS)
}

/// Prints the table of one chip, which the environment names too.
fn count(chip: &str) -> Result<ExitCode> {
    let compiler = Compiler::new()?;
    // Options that do not matter to a pair give the same kernel.
    let mut known = HashMap::new();
    let mut rows = Vec::new();
    for subject in kernels::all()? {
        let spirv = subject.spirv()?;
        let code = match known.get(&spirv) {
            Some(&code) => code,
            None => compiler.compile(&spirv)?,
        };
        known.insert(spirv, code);
        rows.push(Row::new(&subject, chip, code));
    }
    print!("{}", Table { driver: compiler.driver, rows });
    Ok(ExitCode::SUCCESS)
}

/// The file by which the loader finds RADV.
fn driver_file() -> Result<PathBuf> {
    let folder = Path::new("/usr/share/vulkan/icd.d");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_radv = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("radeon_icd."))
    };
    let mut found: Vec<_> = files.filter(is_radv).collect();
    found.sort();
    found
        .pop()
        .ok_or_else(|| format!("no radeon_icd.*.json in {}: install mesa-vulkan-drivers", folder.display()).into())
}
