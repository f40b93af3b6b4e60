//! Builds the crate with the changes woven in, and lists the tests.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::mutant::Source;
use crate::weave::{self, Woven};

/// The changes of the crate.
#[derive(Debug, Default)]
pub struct Mutants {
    pub names: BTreeMap<u32, String>,
    /// Those that are woven in.
    pub woven: HashSet<u32>,
    /// Those that do not compile.
    pub refused: HashSet<u32>,
}

/// A test program, and the tests of it that are wanted.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    pub tests: Vec<String>,
}

/// Weaves in all changes that compile. What does not compile is found by the places of the compiler's errors.
pub fn weave(copy: &Path, sources: &[Source], arguments: &[String]) -> Result<Mutants, Box<dyn Error>> {
    let mut mutants = Mutants::default();
    mutants.names.extend(sources.iter().flat_map(|source| &source.mutants).map(|m| (m.id, m.name.clone())));
    // All changes are of one package.
    let folder = if sources.iter().all(|source| source.path.starts_with("files")) { "files/src" } else { "src" };
    fs::write(copy.join(folder).join("chosen.rs"), weave::MODULE)?;
    let root = copy.join(folder).join("lib.rs");
    let library = fs::read_to_string(&root)?;
    if !library.contains("mod chosen;") {
        fs::write(&root, library + "\nmod chosen;\n")?;
    }
    loop {
        let mut woven = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.path.ends_with("lib.rs")) {
            let file = weave::weave(source, |id| !mutants.refused.contains(&id))?;
            fs::write(copy.join(&source.path), &file.text)?;
            woven.insert(source.path.clone(), file);
        }
        mutants.woven = woven.values().flat_map(|file| file.ids.iter().copied()).collect();
        let refused = refused(copy, &woven, arguments)?;
        eprintln!("{} changes, of which {} do not compile", mutants.woven.len(), refused.len());
        if refused.is_empty() {
            return Ok(mutants);
        }
        mutants.refused.extend(refused);
    }
}

/// The changes that the compiler refuses.
fn refused(
    copy: &Path,
    woven: &BTreeMap<PathBuf, Woven>,
    arguments: &[String],
) -> Result<HashSet<u32>, Box<dyn Error>> {
    let output = cargo(copy).args(["test", "--no-run", "--message-format=json"]).args(arguments).output()?;
    let mut refused = HashSet::new();
    let mut unknown = String::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if message["reason"] != "compiler-message" || message["message"]["level"] != "error" {
            continue;
        }
        let message = &message["message"];
        let spans = message["spans"].as_array().cloned().unwrap_or_default();
        let blamed = |span: &Value| {
            let file = woven.get(Path::new(span["file_name"].as_str()?))?;
            Some(file.blamed(span["byte_start"].as_u64()? as usize))
        };
        let (primary, others): (Vec<_>, Vec<_>) = spans.iter().partition(|span| span["is_primary"] == true);
        let mut found: Vec<u32> = primary.into_iter().filter_map(blamed).flatten().collect();
        if found.is_empty() {
            found = others.into_iter().filter_map(blamed).flatten().collect();
        }
        if found.is_empty() {
            unknown += message["rendered"].as_str().unwrap_or_default();
        }
        refused.extend(found);
    }
    if refused.is_empty() && !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("no change explains why the crate does not compile:\n{unknown}{log}").into());
    }
    Ok(refused)
}

/// Builds the test programs.
pub fn tests(copy: &Path, arguments: &[String], filter: &str) -> Result<Vec<Program>, Box<dyn Error>> {
    let output = cargo(copy)
        .args(["nextest", "list", "--message-format=json", "-E", filter])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the tests do not compile".into());
    }
    let list: Value = serde_json::from_slice(&output.stdout)?;
    let suites = list["rust-suites"].as_object().ok_or("no suites")?;
    let programs = suites.values().filter_map(|suite| {
        let is_wanted = |case: &Value| case["filter-match"]["status"] == "matches" && case["ignored"] == false;
        let cases = suite["testcases"].as_object()?;
        let tests = cases.iter().filter(|(_, case)| is_wanted(case)).map(|(name, _)| name.clone()).collect();
        Some(Program { path: suite["binary-path"].as_str()?.into(), tests })
    });
    Ok(programs.collect())
}

fn cargo(copy: &Path) -> Command {
    let mut command = Command::new("cargo");
    // What a change makes suspicious is no error here. Most of the crate changes at once, so that nothing is kept for next time.
    command.current_dir(copy).env("RUSTFLAGS", "--cap-lints=allow").env("CARGO_INCREMENTAL", "0");
    command
}
